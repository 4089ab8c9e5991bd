"""Add datasets: manifests in any order, checked whole, then all of them or none."""

import graphlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from odf_wire import messages

from odf_coordinator.codec.manifest import Manifest
from odf_coordinator.errors import (
    ConflictError,
    InvalidQuery,
    InvalidText,
    NotFound,
    Problem,
)
from odf_coordinator.flows import execute
from odf_coordinator.model.event import (
    DatasetKind,
    EnginePin,
    Event,
    Seed,
    SetAttachments,
    SetDataSchema,
    SetInfo,
    SetLicense,
    SetPollingSource,
    SetPushSource,
    SetTransform,
    SetVocab,
)
from odf_coordinator.model.identity import BlockHash, DatasetName
from odf_coordinator.model.schema import Schema, Vocabulary
from odf_coordinator.model.source import (
    DatasetSnapshot,
    DerivativeSource,
    LateDrop,
    PollingSource,
    PushSource,
    TransformInput,
)
from odf_coordinator.model.timeline import Instant
from odf_coordinator.ports import Clock, Engines, Listener
from odf_coordinator.rules import signing, slices
from odf_coordinator.rules.chain import DatasetState
from odf_coordinator.rules.signing import PrivateKey
from odf_coordinator.workspace import NewDataset, Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredDataset:
    """A manifest and the folder that its relative paths start from."""

    manifest: Manifest
    base: Path

    @property
    def name(self) -> DatasetName:
        """The dataset's name."""
        return self.manifest.snapshot.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Adder:
    """Adds datasets to one workspace. `new_key` draws a key: chance comes in from outside."""

    workspace: Workspace
    engines: Engines
    clock: Clock
    listener: Listener
    new_key: Callable[[], PrivateKey]

    def add(self, declared: Sequence[DeclaredDataset], *, dry_run: bool) -> list[NewDataset]:
        """Check everything, then add all or none; with `dry_run` only check.

        Raises InvalidText with every mistake and its place, ConflictError when a name is taken.
        """
        self._check_names(declared)
        known: dict[str, DatasetState] = {}
        prepared: list[NewDataset] = []
        problems: list[Problem] = []
        for each in _sorted(declared):
            try:
                new, state = self._prepare(each, known)
            except InvalidText as error:
                problems.extend(error.problems)
                continue
            prepared.append(new)
            known[each.name] = state
        if problems:
            raise InvalidText(problems)
        if not dry_run:
            self.workspace.add(prepared, now=self.clock.now())
        return prepared

    def _check_names(self, declared: Sequence[DeclaredDataset]) -> None:
        there = {entry.name.lower() for entry in self.workspace.entries()}
        seen: set[str] = set()
        for each in declared:
            if each.name.lower() in there:
                raise ConflictError(
                    f"dataset '{each.name}' already exists",
                    hint="give it another id, or work with the one that is there",
                )
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
        source, schema = self._source(declared, known)
        events = (seed, *_named(snapshot), *source, *_about(snapshot))
        state = DatasetState(
            dataset_id=seed.dataset_id,
            kind=kind,
            head=BlockHash(""),
            sequence_number=0,
            system_time=Instant(0),
            schema=schema,
            vocabulary=snapshot.vocab,
        )
        new = NewDataset(name=declared.name, key=key, events=events, base=declared.base)
        return new, state

    def _source(
        self, declared: DeclaredDataset, known: dict[str, DatasetState]
    ) -> tuple[tuple[Event, ...], Schema | None]:
        """The events that say where rows come from, and the schema where it is known already."""
        snapshot = declared.manifest.snapshot
        source = snapshot.source
        match source:
            case PollingSource():
                event: Event = SetPollingSource(source=source)
            case PushSource():
                event = SetPushSource(source=source)
            case DerivativeSource():
                return self._derivative(declared, source, known)
            case _:
                assert_never(source)
        if not source.read.schema or source.preprocess is not None:
            return (event,), None
        schema = slices.root_schema(slices.declared_fields(source), snapshot.vocab)
        return (event, SetDataSchema(schema=schema)), schema

    def _derivative(
        self,
        declared: DeclaredDataset,
        source: DerivativeSource,
        known: dict[str, DatasetState],
    ) -> tuple[tuple[Event, ...], Schema]:
        """Resolve the inputs and have the engine that will run the query accept it."""
        _refuse_what_no_engine_runs(declared.manifest, source)
        inputs = self._inputs(declared.manifest, source, known)
        vocabulary = declared.manifest.snapshot.vocab
        request = messages.ValidateRequest(
            inputs=tuple(
                execute.input_shape(state, each.known_as)
                for state, each in zip(inputs, source.inputs, strict=True)
            ),
            query=source.transform.queries[-1].query,
            vocabulary=execute.wire_vocabulary(vocabulary),
        )
        self.listener.progress(declared.name, "validating the query")
        with self.engines.acquire(None) as engine:
            try:
                result = engine.validate(request)
            except InvalidQuery as error:
                place = (error.line, error.column)
                problem = declared.manifest.query_problem(error, number=0, place=place)
                raise InvalidText([problem]) from error
            pin = EnginePin(build_id=engine.run.build_id, image_digest=engine.run.image_digest)
        schema = slices.numbered(execute.fields_in(result.columns), vocabulary)
        transform = SetTransform(
            inputs=tuple(
                TransformInput(dataset_id=state.dataset_id, alias=each.known_as, view=each.view)
                for state, each in zip(inputs, source.inputs, strict=True)
            ),
            transform=source.transform,
            engine=pin,
        )
        return (transform, SetDataSchema(schema=schema)), schema

    def _inputs(
        self, manifest: Manifest, source: DerivativeSource, known: dict[str, DatasetState]
    ) -> list[DatasetState]:
        """The states of the inputs, in the workspace or about to be added. Raises InvalidText."""
        found, problems = [], []
        for number, each in enumerate(source.inputs):
            name = str(each.id)
            try:
                state = known.get(name) or self.workspace.dataset(name).state()
            except NotFound as error:
                problems.append(manifest.input_problem(number, str(error), error.hint))
                continue
            if state.schema is None:
                message = f"{name} has no schema yet"
                problems.append(manifest.input_problem(number, message, "pull it first"))
                continue
            found.append(state)
        if problems:
            raise InvalidText(problems)
        return found


def _named(snapshot: DatasetSnapshot) -> tuple[Event, ...]:
    """System columns, when they have names of their own."""
    default = snapshot.vocab == Vocabulary()
    return () if default else (SetVocab(vocabulary=snapshot.vocab),)


def _about(snapshot: DatasetSnapshot) -> tuple[Event, ...]:
    """What the dataset tells about itself."""
    events: list[Event] = []
    if snapshot.info is not None:
        events.append(SetInfo(info=snapshot.info))
    if snapshot.license is not None:
        events.append(SetLicense(license=snapshot.license))
    if snapshot.attachments:
        events.append(SetAttachments(attachments=snapshot.attachments))
    return tuple(events)


def _refuse_what_no_engine_runs(manifest: Manifest, source: DerivativeSource) -> None:
    """Raises InvalidText for what a manifest can say and this version's engine cannot do."""
    transform = source.transform
    path = ("source", "transform")
    unable = [
        ((*path, "version"), transform.version is not None, "another engine version"),
        ((*path, "queries"), len(transform.queries) > 1, "more than one query"),
        ((*path, "temporalTables"), bool(transform.temporal_tables), "temporal tables"),
        ((*path, "lateData"), transform.late_data != LateDrop(), "correction of late data"),
        *(
            (("source", "inputs", number, "view"), each.view is not None, "the log view")
            for number, each in enumerate(source.inputs)
        ),
    ]
    problems = [
        manifest.problem(place, f"{what} cannot be run by this version of odf")
        for place, used, what in unable
        if used
    ]
    if problems:
        raise InvalidText(problems)


def _sorted(declared: Sequence[DeclaredDataset]) -> list[DeclaredDataset]:
    """Inputs before what is derived from them. Raises InvalidText when there is a circle."""
    by_name = {each.name: each for each in declared}
    graph = graphlib.TopologicalSorter[DatasetName]()
    for each in declared:
        source = each.manifest.snapshot.source
        inputs = source.inputs if isinstance(source, DerivativeSource) else ()
        graph.add(each.name, *(i.id.dataset for i in inputs if str(i.id) in by_name))
    try:
        return [by_name[name] for name in graph.static_order()]
    except graphlib.CycleError as error:
        raise InvalidText([_circle(by_name, error.args[1])]) from error


def _circle(by_name: dict[DatasetName, DeclaredDataset], names: list[DatasetName]) -> Problem:
    """The circle, told at one of the inputs that close it."""
    first, second = names[1], names[0]  # each is an input of the next
    manifest = by_name[first].manifest
    source = manifest.snapshot.source
    inputs = source.inputs if isinstance(source, DerivativeSource) else ()
    number = next(n for n, each in enumerate(inputs) if str(each.id) == second)
    if first == second:
        return manifest.input_problem(number, f"{first} cannot be an input of itself")
    path = " <- ".join(reversed(names))
    return manifest.input_problem(number, f"datasets derive from each other in a circle: {path}")
