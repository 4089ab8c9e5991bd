"""What commands tell: the outcome of pulls, verifications and upkeep, as values."""

from dataclasses import dataclass

from odf_coordinator.errors import OdfError
from odf_coordinator.model.identity import BlockHash, DatasetName
from odf_coordinator.model.timeline import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """One dataset after a pull: what was added, and where it stands now.

    `rebuilt` is how many data files were missing and made again.
    """

    name: DatasetName
    how: str
    blocks: int
    rows: int
    head: BlockHash
    watermark: Instant | None
    rebuilt: int = 0


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A stored file or folder that nothing leads to any more; `why` nobody needs it."""

    key: str
    size: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was looked at in the store of one dataset: damage, and notes that are no damage."""

    name: str
    blocks: int
    parts: int
    damage: tuple[Finding, ...]
    notes: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """How many bytes a dataset takes, by kind; `garbage` is what `odf gc` would collect."""

    name: str
    data: int = 0
    blocks: int = 0
    checkpoints: int = 0
    caches: int = 0
    garbage: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        """All of it."""
        return self.data + self.blocks + self.checkpoints + self.caches + self.garbage + self.other


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """A head that moves back, and how much goes with that."""

    name: DatasetName
    before: BlockHash
    after: BlockHash
    blocks: int
    rows: int
