"""What a manifest declares, as events: inputs resolved, queries accepted by the engine."""

from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from odf_wire import messages

from odf_coordinator.codec.manifest import Manifest
from odf_coordinator.errors import InvalidQuery, InvalidText, NotFound
from odf_coordinator.flows import execute
from odf_coordinator.model.event import (
    EnginePin,
    Event,
    SetAttachments,
    SetDataSchema,
    SetInfo,
    SetLicense,
    SetPollingSource,
    SetPushSource,
    SetTransform,
    SetVocab,
)
from odf_coordinator.model.identity import DatasetName
from odf_coordinator.model.schema import Schema, Vocabulary
from odf_coordinator.model.source import (
    DatasetSnapshot,
    DerivativeSource,
    LateDrop,
    PollingSource,
    PushSource,
    TransformInput,
)
from odf_coordinator.ports import Engines, Listener
from odf_coordinator.rules import slices
from odf_coordinator.rules.chain import DatasetState
from odf_coordinator.workspace import Workspace


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
class Declarer:
    """Turns manifests into the events that a chain would start with, after its seed."""

    workspace: Workspace
    engines: Engines
    listener: Listener

    def events(
        self, declared: DeclaredDataset, known: dict[str, DatasetState]
    ) -> tuple[tuple[Event, ...], Schema | None]:
        """The events, and the schema where it is known already.

        `known` are datasets that are not in the workspace yet. Raises InvalidText.
        """
        snapshot = declared.manifest.snapshot
        source, schema = self._source(declared, known)
        return (*_named(snapshot), *source, *_about(snapshot)), schema

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
