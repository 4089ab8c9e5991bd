"""What in a workspace nobody needs any more, decided from listings. Collecting is elsewhere."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from odf_coordinator.model.identity import BlockHash, DatasetName
from odf_coordinator.model.report import Leftover
from odf_coordinator.model.timeline import Instant

_DATASET_DEPTH = 3  # datasets/<name>/<the rest>


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A key as a listing tells it."""

    key: str
    size: int
    modified: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What the head of a dataset leads to: names of block files and of data files."""

    head: BlockHash
    blocks: frozenset[str]
    parts: frozenset[str]


def of_dataset(stored: Iterable[Stored], reach: Reach) -> list[tuple[Stored, str]]:
    """What is stored for a dataset, its plans included, and not reached; with the reason.

    Only blocks, parts and plans are judged: checkpoints and caches are left alone.
    """
    found = []
    for each in stored:
        kind, name = _kind(each.key)
        if kind == "blocks" and name not in reach.blocks:
            found.append((each, "a block that the head does not lead to"))
        elif kind == "data" and name not in reach.parts:
            found.append((each, "a data file that no block names"))
        elif kind == "plans" and name != reach.head:
            found.append((each, "the plan of a head that moved on"))
    return found


def of_nobody(
    stored: Iterable[Stored], owners: Mapping[DatasetName, str]
) -> list[tuple[Stored, str]]:
    """What belongs to no dataset of the catalog; `owners` has each dataset's id under its name.

    These are remains of deleted datasets and of additions that were cut off.
    """
    ids = frozenset(owners.values())
    found = []
    for each in stored:
        place, _, rest = each.key.partition("/")
        owner = rest.partition("/")[0]
        if place == "datasets" and owner not in owners:
            found.append((each, "of no dataset in the catalog"))
        elif place == "replacing":
            found.append((each, "of a dataset that was replaced"))
        elif place in ("keys", "plans") and owner not in ids:
            found.append((each, f"{'a key' if place == 'keys' else 'a plan'} of no dataset"))
    return found


def older(found: Iterable[tuple[Stored, str]], *, before: Instant) -> list[Leftover]:
    """Those that were written before a moment: younger ones may be somebody's work in progress."""
    return [
        Leftover(key=each.key, size=each.size, why=why)
        for each, why in found
        if each.modified < before
    ]


def _kind(key: str) -> tuple[str, str]:
    """`blocks`, `data` and so on, or `plans`; and the name of the file."""
    parts = key.split("/")
    if parts[0] == "plans":
        return "plans", parts[-1]
    return (parts[2] if len(parts) > _DATASET_DEPTH else ""), parts[-1]
