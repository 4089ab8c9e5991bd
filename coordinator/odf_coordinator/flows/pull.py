"""Pull: which datasets, in which order; each by its own walk."""

import graphlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from odf_coordinator.flows.pull_derivative import DerivativePuller
from odf_coordinator.flows.pull_root import RootPuller
from odf_coordinator.model.event import DatasetKind
from odf_coordinator.model.identity import DatasetName
from odf_coordinator.model.report import Pulled
from odf_coordinator.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Puller:
    """Pulls datasets of one workspace, inputs before what is derived from them."""

    workspace: Workspace
    roots: RootPuller
    derivatives: DerivativePuller

    def pull(self, names: Iterable[DatasetName]) -> Iterator[Pulled]:
        """Pull each of the named datasets, in order of dependency."""
        for name in with_inputs(self.workspace, names, only_named=True):
            dataset = self.workspace.dataset(name)
            kind = dataset.state().kind
            puller = self.roots if kind is DatasetKind.ROOT else self.derivatives
            yield puller.pull(dataset)


def with_inputs(
    workspace: Workspace, names: Iterable[DatasetName], *, only_named: bool = False
) -> list[DatasetName]:
    """The named datasets and all they derive from, inputs first; or only the named ones."""
    wanted = list(names)
    graph = graphlib.TopologicalSorter[DatasetName]()
    waiting, seen = list(wanted), set(wanted)
    while waiting:
        name = waiting.pop()
        transform = workspace.dataset(name).state().transform
        inputs = transform.inputs if transform else ()
        found = [workspace.entry_of(each.dataset_id).name for each in inputs]
        graph.add(name, *found)
        waiting.extend(each for each in found if each not in seen)
        seen.update(found)
    ordered = list(graph.static_order())
    return [name for name in ordered if name in wanted] if only_named else ordered
