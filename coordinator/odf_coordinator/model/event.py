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
from odf_coordinator.model.schema import Schema, Vocabulary
from odf_coordinator.model.source import (
    Attachment,
    DatasetInfo,
    License,
    PollingSource,
    PushSource,
    Transform,
    TransformInput,
)
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
class SetPushSource:
    """From here on, rows are given to this root from outside."""

    source: PushSource


@dataclass(frozen=True, slots=True, kw_only=True)
class SetVocab:
    """The names of the system columns; fixed before the first row."""

    vocabulary: Vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class SetInfo:
    """What the dataset is about."""

    info: DatasetInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class SetLicense:
    """What others may do with the dataset."""

    license: License


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAttachments:
    """The text files that travel with the dataset; all of them, perhaps none."""

    attachments: tuple[Attachment, ...]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """An engine's state after a step: a file of checkpoints/, which names its segments."""

    physical_hash: PhysicalHash
    size: int


class SourceStateKind(Enum):
    """How a source remembers what was already read."""

    ETAG = "etag"
    LAST_MODIFIED = "last-modified"
    DIGEST = "digest"
    LAST_FILE = "last-file"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """How far a source has been read: what the server said of the file, the digest of the fetched
    bytes, or the last file's name."""

    kind: SourceStateKind
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRun:
    """Which engine ran a step, and how; `image_digest` is None for the process runner."""

    name: str
    build_id: str
    image_digest: str | None
    runner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddData:
    """A root took something in: rows, a new watermark, or at least a new source state.

    Watermark and source state are carried over: each block says what holds after it. `ignored` and
    `quarantined` count rows that the merge left out and rows that could not be read; `engine` ran
    the preprocess step; `push_keys` are the idempotency keys that this block settles.
    """

    prev_offset: int | None
    new_data: DataSlice | None
    new_watermark: Instant | None
    new_source_state: SourceState | None
    ignored: int = 0
    quarantined: int = 0
    engine: EngineRun | None = None
    push_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputInterval:
    """What a step consumed of one input: blocks and offsets in (prev, new]."""

    dataset_id: DatasetId
    prev_block_hash: BlockHash | None
    new_block_hash: BlockHash | None
    prev_offset: int | None
    new_offset: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteTransform:
    """A derivative consumed the next part of its inputs.

    Watermark and checkpoint are carried over. `late_rows` counts rows that came too late;
    `migrated_from` is the SetTransform whose state this step took over, if it did.
    """

    inputs: tuple[InputInterval, ...]
    prev_offset: int | None
    prev_checkpoint: PhysicalHash | None = None
    new_data: DataSlice | None
    new_checkpoint: Checkpoint | None = None
    new_watermark: Instant | None
    marks: tuple[Mark, ...]
    late_rows: int = 0
    engine: EngineRun
    transaction_id: TransactionId
    migrated_from: BlockHash | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeprecateEngine:
    """From here on the transform runs on another engine, proven to give the same results.

    `first_block` to `last_block` are the steps that were replayed and found identical.
    """

    old_engine: EnginePin
    new_engine: EnginePin
    first_block: BlockHash
    last_block: BlockHash


Event = (
    Seed
    | SetPollingSource
    | SetTransform
    | SetDataSchema
    | AddData
    | ExecuteTransform
    | SetPushSource
    | SetVocab
    | SetInfo
    | SetLicense
    | SetAttachments
    | DeprecateEngine
)
