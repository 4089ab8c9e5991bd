"""What commands tell: the outcome of pulls and verifications, as values."""

from dataclasses import dataclass

from odf_coordinator.errors import OdfError
from odf_coordinator.model.identity import BlockHash, DatasetName
from odf_coordinator.model.timeline import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """One dataset after a pull: what was added, and where it stands now."""

    name: DatasetName
    how: str
    blocks: int
    rows: int
    head: BlockHash
    watermark: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotPulled:
    """One dataset that a pull did not bring up to date, and what it did commit before that.

    `error` is why; without one, the dataset was left alone because its input `waits_for` failed.
    """

    name: DatasetName
    error: OdfError | None
    waits_for: DatasetName | None
    blocks: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that verification found wrong: which block or file, and what about it."""

    dataset: DatasetName
    where: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was proven of one dataset, and what was found wrong."""

    name: DatasetName
    blocks: int
    slices: int
    replayed: int
    steps: int
    findings: tuple[Finding, ...]
