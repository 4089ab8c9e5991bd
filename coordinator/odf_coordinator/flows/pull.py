"""Pull: which datasets, in which order; each by its own walk. One that fails stops no other."""

import graphlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from odf_coordinator.dataset import Dataset
from odf_coordinator.errors import IntegrityError, NotFound, OdfError, StorageError
from odf_coordinator.flows.pull_derivative import DerivativePuller
from odf_coordinator.flows.pull_root import RootPuller
from odf_coordinator.model.event import DatasetKind
from odf_coordinator.model.identity import DatasetName
from odf_coordinator.model.report import NotPulled, Pulled
from odf_coordinator.rules.chain import DatasetState
from odf_coordinator.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Puller:
    """Pulls datasets of one workspace, inputs before what is derived from them."""

    workspace: Workspace
    roots: RootPuller
    derivatives: DerivativePuller

    def pull(self, names: Iterable[DatasetName]) -> Iterator[Pulled | NotPulled]:
        """Pull each of the named datasets, in order of dependency.

        One that fails is told and the others go on, except those that derive from it. Raises
        NotFound, before anything is pulled, when a name is unknown.
        """
        known = [self.workspace.entry(name).name for name in names]
        failed: set[DatasetName] = set()
        for name in with_inputs(self.workspace, known, only_named=True):
            waits_for = next(
                (each for each in _inputs(self.workspace, name) if each in failed), None
            )
            if waits_for is not None:
                told: Pulled | NotPulled = NotPulled(
                    name=name, error=None, waits_for=waits_for, blocks=0, rows=0
                )
            else:
                told = self._pull(name)
            if isinstance(told, NotPulled):
                failed.add(name)
            yield told

    def foresee(self, names: Iterable[DatasetName]) -> Iterator[tuple[DatasetName, str]]:
        """What a pull of the named datasets would do, in its order; nothing to say when nothing.

        Sources are read and nothing is written. Raises the first error.
        """
        known = [self.workspace.entry(name).name for name in names]
        moving: set[DatasetName] = set()
        for name in with_inputs(self.workspace, known, only_named=True):
            dataset = self.workspace.dataset(name)
            told = ""
            if dataset.state().kind is DatasetKind.ROOT:
                steps = self.roots.foresee(dataset)
                told = f"would take in {steps} {'file' if steps == 1 else 'files'}" if steps else ""
            elif any(each in moving for each in _inputs(self.workspace, name)):
                told = "would run after its inputs"
            elif self.derivatives.foresee(dataset):
                told = "would run"
            if told:
                moving.add(name)
            yield name, told

    def _pull(self, name: DatasetName) -> Pulled | NotPulled:
        dataset = self.workspace.dataset(name)
        before: DatasetState | None = None
        try:
            before = dataset.state()
            puller = self.roots if before.kind is DatasetKind.ROOT else self.derivatives
            return puller.pull(dataset)
        except (OdfError, OSError) as error:
            told = StorageError.told_by(error) if isinstance(error, OSError) else error
            blocks, rows = _progress(dataset, before)
            return NotPulled(name=name, error=told, waits_for=None, blocks=blocks, rows=rows)


def _progress(dataset: Dataset, before: DatasetState | None) -> tuple[int, int]:
    """Blocks and rows that were committed since; none when the dataset cannot be read."""
    try:
        after = dataset.state()
    except OdfError:
        return 0, 0
    if before is None:
        return 0, 0
    return after.sequence_number - before.sequence_number, after.next_offset - before.next_offset


def with_inputs(
    workspace: Workspace, names: Iterable[DatasetName], *, only_named: bool = False
) -> list[DatasetName]:
    """The named datasets and all they derive from, inputs first; or only the named ones."""
    wanted = list(names)
    graph = graphlib.TopologicalSorter[DatasetName]()
    waiting, seen = list(wanted), set(wanted)
    while waiting:
        name = waiting.pop()
        found = _inputs(workspace, name)
        graph.add(name, *found)
        waiting.extend(each for each in found if each not in seen)
        seen.update(found)
    ordered = list(graph.static_order())
    named = set(wanted)
    return [name for name in ordered if name in named] if only_named else ordered


def _inputs(workspace: Workspace, name: DatasetName) -> list[DatasetName]:
    """What a dataset derives from. One that cannot be read says so when its own turn comes."""
    try:
        transform = workspace.dataset(name).state().transform
        inputs = transform.inputs if transform else ()
        return [workspace.entry_of(each.dataset_id).name for each in inputs]
    except (IntegrityError, NotFound):
        return []
