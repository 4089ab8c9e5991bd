"""What can happen to a dataset: one typed event per block."""

from dataclasses import dataclass
from enum import Enum

from odf_coordinator.model.identity import (
    BlockHash,
    DatasetId,
    LogicalHash,
    PhysicalHash,
    TransactionId,
)
from odf_coordinator.model.schema import Schema
from odf_coordinator.model.source import PollingSource, Transform, TransformInput
from odf_coordinator.model.timeline import Instant, Mark, OffsetInterval


class DatasetKind(Enum):
    """Root datasets are fed from outside, derivatives are computed from other datasets."""

    ROOT = "root"
    DERIVATIVE = "derivative"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """The first block of every chain: the dataset's identity."""

    dataset_id: DatasetId
    dataset_kind: DatasetKind


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPollingSource:
    """From here on, rows come from this source."""

    source: PollingSource


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePin:
    """The engine that a transform runs on; `image_digest` is None for the process runner."""

    build_id: str
    image_digest: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTransform:
    """From here on, rows are computed by this transform, on exactly this engine."""

    inputs: tuple[TransformInput, ...]
    transform: Transform
    engine: EnginePin


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDataSchema:
    """The columns of all slices from here on."""

    schema: Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSlice:
    """Rows that one step added. The logical hash says what they are, the physical names a file."""

    logical_hash: LogicalHash
    physical_hash: PhysicalHash
    offset_interval: OffsetInterval
    size: int

    @property
    def num_records(self) -> int:
        """How many rows there are."""
        return len(self.offset_interval)


class SourceStateKind(Enum):
    """How a source remembers what was already read."""

    DIGEST = "digest"
    LAST_FILE = "last-file"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """How far a source has been read: the digest of the fetched bytes, or the last file's name."""

    kind: SourceStateKind
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddData:
    """A root took something in: rows, a new watermark, or at least a new source state.

    Watermark and source state are carried over: each block says what holds after it.
    """

    prev_offset: int | None
    new_data: DataSlice | None
    new_watermark: Instant | None
    new_source_state: SourceState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputInterval:
    """What a step consumed of one input: blocks and offsets in (prev, new]."""

    dataset_id: DatasetId
    prev_block_hash: BlockHash | None
    new_block_hash: BlockHash | None
    prev_offset: int | None
    new_offset: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRun:
    """Which engine ran a step, and how; `image_digest` is None for the process runner."""

    name: str
    build_id: str
    image_digest: str | None
    runner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteTransform:
    """A derivative consumed the next part of its inputs."""

    inputs: tuple[InputInterval, ...]
    prev_offset: int | None
    new_data: DataSlice | None
    new_watermark: Instant | None
    marks: tuple[Mark, ...]
    engine: EngineRun
    transaction_id: TransactionId


Event = Seed | SetPollingSource | SetTransform | SetDataSchema | AddData | ExecuteTransform
