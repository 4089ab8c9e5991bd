"""How many bytes datasets take, by kind."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from odf_coordinator.flows.collect import Collector
from odf_coordinator.model.identity import DatasetName
from odf_coordinator.model.report import Usage
from odf_coordinator.model.timeline import Instant
from odf_coordinator.ports import Clock
from odf_coordinator.rules.garbage import Stored
from odf_coordinator.workspace import Workspace, local_id

WORKSPACE = "(workspace)"
TOTAL = "(total)"
_KINDS = {"data": "data", "blocks": "blocks", "checkpoints": "checkpoints", "info": "caches"}


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReader:
    """Adds up what one workspace stores."""

    workspace: Workspace
    collector: Collector
    clock: Clock

    def of_datasets(self, names: Sequence[DatasetName]) -> list[Usage]:
        """Each of the datasets; its plans and its key are `other`."""
        return [self._of(name) for name in names]

    def of_workspace(self) -> Usage:
        """What belongs to no dataset: the catalog, and garbage of all kinds."""
        before = self._now()
        garbage = [*self.collector.of_nobody(before)]
        garbage.extend(
            each for litter in self.collector.litter for each in litter.find(before=before)
        )
        catalog = self.workspace.stored("catalog/")
        return Usage(
            name=WORKSPACE,
            garbage=sum(each.size for each in garbage),
            other=sum(each.size for each in catalog),
        )

    def _of(self, name: DatasetName) -> Usage:
        entry = self.workspace.entry(name)
        identity = local_id(entry.dataset_id)
        prefix = f"datasets/{name}/"
        stored = [
            *self.workspace.stored(prefix),
            *self.workspace.stored(f"plans/{identity}/"),
            *(each for each in self.workspace.stored("keys/") if each.key == f"keys/{identity}"),
        ]
        garbage = {each.key for each in self.collector.of_dataset(entry, self._now())}
        return Usage(name=name, **_sizes(stored, prefix, garbage))

    def _now(self) -> Instant:
        return Instant(self.clock.now() + 1)


def total(usages: Iterable[Usage]) -> Usage:
    """All of them together."""
    found = list(usages)
    return Usage(
        name=TOTAL,
        data=sum(each.data for each in found),
        blocks=sum(each.blocks for each in found),
        checkpoints=sum(each.checkpoints for each in found),
        caches=sum(each.caches for each in found),
        garbage=sum(each.garbage for each in found),
        other=sum(each.other for each in found),
    )


def _sizes(stored: Iterable[Stored], prefix: str, garbage: set[str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for each in stored:
        folder = each.key.removeprefix(prefix).partition("/")[0]
        kind = "garbage" if each.key in garbage else _KINDS.get(folder, "other")
        sizes[kind] = sizes.get(kind, 0) + each.size
    return sizes
