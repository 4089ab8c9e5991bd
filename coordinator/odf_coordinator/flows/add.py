"""Add datasets: manifests in any order, checked whole, then all of them or none."""

import graphlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from odf_coordinator.errors import ConflictError, InvalidText, Problem
from odf_coordinator.flows.declare import DeclaredDataset, Declarer
from odf_coordinator.flows.dependents import with_dependents
from odf_coordinator.model.event import DatasetKind, Seed
from odf_coordinator.model.identity import BlockHash, DatasetName
from odf_coordinator.model.source import DerivativeSource
from odf_coordinator.model.timeline import Instant
from odf_coordinator.ports import Clock, Engines, Listener
from odf_coordinator.rules import signing
from odf_coordinator.rules.chain import DatasetState
from odf_coordinator.rules.signing import PrivateKey
from odf_coordinator.workspace import Entry, NewDataset, Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Adder:
    """Adds datasets to one workspace. `new_key` draws a key: chance comes in from outside."""

    workspace: Workspace
    engines: Engines
    clock: Clock
    listener: Listener
    new_key: Callable[[], PrivateKey]

    def add(
        self, declared: Sequence[DeclaredDataset], *, dry_run: bool, replace: bool = False
    ) -> list[NewDataset]:
        """Check everything, then add all or none; with `dry_run` only check.

        With `replace`, datasets of the same name are replaced: they get a new identity. Raises
        InvalidText with every mistake and its place, ConflictError when a name is taken or a
        dataset that is not replaced itself derives from one that is.
        """
        self._check_twice(declared)
        replaced = self.replaced(declared) if replace else []
        self._check_taken(declared, replaced)
        self._check_dependents(replaced)
        known: dict[str, DatasetState] = {}
        prepared: list[NewDataset] = []
        problems: list[Problem] = []
        failed: set[str] = set()
        for each in _sorted(declared):
            if failed.intersection(_inputs(each)):
                failed.add(each.name)  # what is wrong with its input is told
                continue
            try:
                new, state = self._prepare(each, known)
            except InvalidText as error:
                problems.extend(error.problems)
                failed.add(each.name)
                continue
            prepared.append(new)
            known[each.name] = state
        if problems:
            raise InvalidText(problems)
        if not dry_run:
            names = [entry.name for entry in replaced]
            self.workspace.add(prepared, now=self.clock.now(), replacing=names)
        return prepared

    def replaced(self, declared: Sequence[DeclaredDataset]) -> list[Entry]:
        """The datasets of the workspace that have the names of these."""
        names = {each.name for each in declared}
        return [entry for entry in self.workspace.entries() if entry.name in names]

    def _check_taken(self, declared: Sequence[DeclaredDataset], replaced: list[Entry]) -> None:
        free = {entry.name for entry in replaced}
        there = {name.lower() for name in self.workspace.names() if name not in free}
        for each in declared:
            if each.name.lower() in there:
                raise ConflictError(
                    f"dataset '{each.name}' already exists",
                    hint="give it another id, change it with `odf edit`, or add it with --replace",
                )

    def _check_dependents(self, replaced: list[Entry]) -> None:
        left = with_dependents(self.workspace, replaced)[len(replaced) :] if replaced else []
        if left:
            raise ConflictError(
                f"{', '.join(sorted(entry.name for entry in left))} would lose an input",
                hint="replace or delete what derives from it too",
            )

    def _check_twice(self, declared: Sequence[DeclaredDataset]) -> None:
        seen: set[str] = set()
        for each in declared:
            if each.name.lower() in seen:
                raise ConflictError(
                    f"dataset '{each.name}' is in two manifests", hint="give one another id"
                )
            seen.add(each.name.lower())

    def _prepare(
        self, declared: DeclaredDataset, known: dict[str, DatasetState]
    ) -> tuple[NewDataset, DatasetState]:
        """A dataset's key and first events, and the state that they will add up to."""
        key = self.new_key()
        snapshot = declared.manifest.snapshot
        is_derived = isinstance(snapshot.source, DerivativeSource)
        kind = DatasetKind.DERIVATIVE if is_derived else DatasetKind.ROOT
        seed = Seed(dataset_id=signing.dataset_id(key), dataset_kind=kind)
        declarer = Declarer(workspace=self.workspace, engines=self.engines, listener=self.listener)
        events, schema = declarer.events(declared, known)
        state = DatasetState(
            dataset_id=seed.dataset_id,
            kind=kind,
            head=BlockHash(""),
            sequence_number=0,
            system_time=Instant(0),
            schema=schema,
            vocabulary=snapshot.vocab,
        )
        new = NewDataset(name=declared.name, key=key, events=(seed, *events), base=declared.base)
        return new, state


def _sorted(declared: Sequence[DeclaredDataset]) -> list[DeclaredDataset]:
    """Inputs before what is derived from them. Raises InvalidText when there is a circle."""
    by_name = {each.name: each for each in declared}
    graph = graphlib.TopologicalSorter[DatasetName]()
    for each in declared:
        graph.add(each.name, *(DatasetName(i) for i in _inputs(each) if i in by_name))
    try:
        return [by_name[name] for name in graph.static_order()]
    except graphlib.CycleError as error:
        raise InvalidText([_circle(by_name, error.args[1])]) from error


def _inputs(declared: DeclaredDataset) -> list[str]:
    source = declared.manifest.snapshot.source
    return [str(each.id) for each in source.inputs] if isinstance(source, DerivativeSource) else []


def _circle(by_name: dict[DatasetName, DeclaredDataset], names: list[DatasetName]) -> Problem:
    """The circle, told at one of the inputs that close it."""
    first, second = names[1], names[0]  # each is an input of the next
    manifest = by_name[first].manifest
    number = _inputs(by_name[first]).index(second)
    if first == second:
        return manifest.input_problem(number, f"{first} cannot be an input of itself")
    path = " <- ".join(reversed(names))
    return manifest.input_problem(number, f"datasets derive from each other in a circle: {path}")
