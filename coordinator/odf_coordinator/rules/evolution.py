"""How a dataset may change: what is a new event, and what needs a new dataset."""

from collections.abc import Iterable
from typing import assert_never

from odf_coordinator.errors import Invalid
from odf_coordinator.model import event as ev
from odf_coordinator.model.schema import Column, Schema, Vocabulary
from odf_coordinator.rules.chain import DatasetState

_HINT = "make a new dataset that derives from this one, or that reads the source anew"


def changes(
    state: DatasetState, declared: Iterable[ev.Event], vocabulary: Vocabulary
) -> tuple[ev.Event, ...]:
    """Of the events that a manifest declares, those that change something.

    Raises Invalid for what a dataset cannot become.
    """
    if vocabulary != state.vocabulary:
        raise Invalid("the names of system columns cannot change", hint=_HINT)
    found = []
    for event in declared:
        changed = _changed(state, event)
        if changed is not None:
            found.append(changed)
    return tuple(found)


def _changed(  # noqa: PLR0911 one arm an event
    state: DatasetState, event: ev.Event
) -> ev.Event | None:
    match event:
        case ev.SetPollingSource() | ev.SetPushSource():
            _require_kind(state, ev.DatasetKind.ROOT)
            return None if event.source == state.source else event
        case ev.SetTransform():
            _require_kind(state, ev.DatasetKind.DERIVATIVE)
            return None if event == state.transform else event
        case ev.SetDataSchema():
            grown = grow(state.schema, event.schema)
            return None if grown == state.schema else ev.SetDataSchema(schema=grown)
        case ev.SetInfo():
            return None if event.info == state.info else event
        case ev.SetLicense():
            return None if event.license == state.license else event
        case ev.SetAttachments():
            return None if event.attachments == state.attachments else event
        case (
            ev.SetVocab() | ev.Seed() | ev.AddData() | ev.ExecuteTransform() | ev.DeprecateEngine()
        ):
            return None
        case _:
            assert_never(event)


def _require_kind(state: DatasetState, kind: ev.DatasetKind) -> None:
    if state.kind is not kind:
        raise Invalid(f"a {state.kind.value} dataset cannot become a {kind.value} one", hint=_HINT)


def grow(before: Schema | None, declared: Schema) -> Schema:
    """The schema after a change: all columns that were there keep their ids, new ones come last.

    Raises Invalid when a column went away or has another type.
    """
    if before is None:
        return declared
    wanted = {column.name: column for column in declared.columns}
    for column in before.columns:
        there = wanted.pop(column.name, None)
        if there is None:
            raise Invalid(f"column '{column.name}' cannot be removed or renamed", hint=_HINT)
        if there.type != column.type:
            raise Invalid(f"column '{column.name}' cannot change its type", hint=_HINT)
    first = len(before.columns) + 1
    new = (
        Column(id=number, name=column.name, type=column.type)
        for number, column in enumerate(wanted.values(), start=first)
    )
    return Schema(columns=(*before.columns, *new))
