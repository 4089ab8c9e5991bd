"""The rules of a chain: what state a history adds up to, and what may come next."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import assert_never

from odf_coordinator.errors import InvalidBlock
from odf_coordinator.model.block import MetadataBlock, SealedBlock
from odf_coordinator.model.event import (
    AddData,
    Checkpoint,
    DatasetKind,
    DeprecateEngine,
    EnginePin,
    Event,
    ExecuteTransform,
    InputInterval,
    Seed,
    SetAttachments,
    SetDataSchema,
    SetInfo,
    SetLicense,
    SetPollingSource,
    SetPushSource,
    SetTransform,
    SetVocab,
    SourceState,
)
from odf_coordinator.model.identity import BlockHash, DatasetId
from odf_coordinator.model.schema import Schema, Vocabulary
from odf_coordinator.model.source import (
    Attachment,
    DatasetInfo,
    License,
    PollingSource,
    PushSource,
)
from odf_coordinator.model.timeline import Instant, Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetState:
    """What a chain adds up to at one of its blocks."""

    dataset_id: DatasetId
    kind: DatasetKind
    head: BlockHash
    sequence_number: int
    system_time: Instant
    source: PollingSource | PushSource | None = None
    transform: SetTransform | None = None
    transform_block: BlockHash | None = None
    schema: Schema | None = None
    last_offset: int | None = None
    watermark: Instant | None = None
    source_state: SourceState | None = None
    inputs: tuple[InputInterval, ...] = ()
    last_mark: Mark | None = None
    checkpoint: Checkpoint | None = None
    vocabulary: Vocabulary = Vocabulary()
    info: DatasetInfo | None = None
    license: License | None = None
    attachments: tuple[Attachment, ...] = ()

    @property
    def next_offset(self) -> int:
        """The offset of the next row."""
        return 0 if self.last_offset is None else self.last_offset + 1


def next_block(state: DatasetState, event: Event, *, now: Instant) -> MetadataBlock:
    """The block that adds an event after `state`. System time never goes back."""
    return MetadataBlock(
        prev_block_hash=state.head,
        sequence_number=state.sequence_number + 1,
        system_time=Instant(max(now, state.system_time)),
        event=event,
    )


def seed_block(event: Seed, *, now: Instant) -> MetadataBlock:
    """The first block of a chain."""
    return MetadataBlock(prev_block_hash=None, sequence_number=0, system_time=now, event=event)


def fold(blocks: Iterable[SealedBlock]) -> DatasetState:
    """The state after all blocks, from the seed on, each checked against the state before it."""
    state: DatasetState | None = None
    for sealed in blocks:
        check_append(state, sealed.block)
        state = advance(state, sealed)
    if state is None:
        raise InvalidBlock("an empty chain")
    return state


def advance(state: DatasetState | None, sealed: SealedBlock) -> DatasetState:
    """The state after one more block, which must have passed `check_append`."""
    block = sealed.block
    if state is None:
        if not isinstance(block.event, Seed):
            raise InvalidBlock(f"block {sealed.hash}: a chain starts with its seed")
        return DatasetState(
            dataset_id=block.event.dataset_id,
            kind=block.event.dataset_kind,
            head=sealed.hash,
            sequence_number=block.sequence_number,
            system_time=block.system_time,
        )
    moved = replace(
        state,
        head=sealed.hash,
        sequence_number=block.sequence_number,
        system_time=block.system_time,
    )
    return _apply(moved, block)


def _apply(  # noqa: C901, PLR0911, PLR0912 one arm an event
    state: DatasetState, block: MetadataBlock
) -> DatasetState:
    event = block.event
    match event:
        case Seed():
            return state
        case SetPollingSource() | SetPushSource():
            return replace(state, source=event.source)
        case SetVocab():
            return replace(state, vocabulary=event.vocabulary)
        case SetInfo():
            return replace(state, info=event.info)
        case SetLicense():
            return replace(state, license=event.license)
        case SetAttachments():
            return replace(state, attachments=event.attachments)
        case DeprecateEngine():
            return replace(state, transform=_on_engine(state.transform, event.new_engine))
        case SetTransform():
            return replace(state, transform=event, transform_block=state.head)
        case SetDataSchema():
            return replace(state, schema=event.schema)
        case AddData():
            mark = Mark(
                offset=_offset_after(state, event),
                watermark=event.new_watermark,
                time=block.system_time,
            )
            return replace(
                state,
                last_offset=_last_offset(state, event),
                watermark=event.new_watermark,
                source_state=event.new_source_state,
                last_mark=mark,
            )
        case ExecuteTransform():
            return replace(
                state,
                last_offset=_last_offset(state, event),
                watermark=event.new_watermark,
                inputs=event.inputs,
                checkpoint=event.new_checkpoint,
                last_mark=event.marks[-1] if event.marks else state.last_mark,
            )
        case _:
            assert_never(event)


def _on_engine(transform: SetTransform | None, engine: EnginePin) -> SetTransform | None:
    return None if transform is None else replace(transform, engine=engine)


def _last_offset(state: DatasetState, event: AddData | ExecuteTransform) -> int | None:
    return event.new_data.offset_interval.end if event.new_data else state.last_offset


def _offset_after(state: DatasetState, event: AddData | ExecuteTransform) -> int:
    last = _last_offset(state, event)
    return -1 if last is None else last


Rule = Callable[[DatasetState | None, MetadataBlock], str | None]
"""A rule gives what is wrong, or None."""


def check_append(state: DatasetState | None, block: MetadataBlock) -> None:
    """May this block come after `state`? The same list on commit and in verify. Raises
    InvalidBlock."""
    for rule in RULES:
        wrong = rule(state, block)
        if wrong is not None:
            raise InvalidBlock(f"block number {block.sequence_number}: {wrong}")


def _seed_is_first_and_only(state: DatasetState | None, block: MetadataBlock) -> str | None:
    if state is None and not isinstance(block.event, Seed):
        return "a chain starts with its seed"
    if state is not None and isinstance(block.event, Seed):
        return "a chain has one seed"
    return None


def _links_to_the_head(state: DatasetState | None, block: MetadataBlock) -> str | None:
    expected = None if state is None else state.head
    if block.prev_block_hash != expected:
        return f"follows {block.prev_block_hash}, but the block before is {expected}"
    return None


def _sequence_grows_by_one(state: DatasetState | None, block: MetadataBlock) -> str | None:
    expected = 0 if state is None else state.sequence_number + 1
    return None if block.sequence_number == expected else f"expected number {expected}"


def _system_time_never_goes_back(state: DatasetState | None, block: MetadataBlock) -> str | None:
    if state is not None and block.system_time < state.system_time:
        return "system time goes back"
    return None


def _event_fits_the_kind(state: DatasetState | None, block: MetadataBlock) -> str | None:
    if state is None:
        return None
    only_root = isinstance(block.event, SetPollingSource | SetPushSource | AddData)
    only_derivative = isinstance(block.event, SetTransform | ExecuteTransform | DeprecateEngine)
    if only_root and state.kind is not DatasetKind.ROOT:
        return f"{type(block.event).__name__} in a derivative dataset"
    if only_derivative and state.kind is not DatasetKind.DERIVATIVE:
        return f"{type(block.event).__name__} in a root dataset"
    return None


def _data_has_a_source_and_a_schema(state: DatasetState | None, block: MetadataBlock) -> str | None:
    if state is None or not isinstance(block.event, AddData | ExecuteTransform):
        return None
    if state.source is None and state.transform is None:
        return "data before its source is declared"
    if block.event.new_data is not None and state.schema is None:
        return "data before its schema is declared"
    return None


def _offsets_are_contiguous(state: DatasetState | None, block: MetadataBlock) -> str | None:
    if state is None or not isinstance(block.event, AddData | ExecuteTransform):
        return None
    event = block.event
    if event.prev_offset != state.last_offset:
        return f"previous offset {event.prev_offset}, but the last row is {state.last_offset}"
    if event.new_data and event.new_data.offset_interval.start != state.next_offset:
        found = event.new_data.offset_interval.start
        return f"rows start at {found}, expected {state.next_offset}"
    return None


def _watermark_never_goes_back(state: DatasetState | None, block: MetadataBlock) -> str | None:
    if state is None or not isinstance(block.event, AddData | ExecuteTransform):
        return None
    before, after = state.watermark, block.event.new_watermark
    if before is not None and (after is None or after < before):
        return "the watermark goes back"
    return None


def _schema_only_grows(state: DatasetState | None, block: MetadataBlock) -> str | None:
    if state is None or not isinstance(block.event, SetDataSchema):
        return None
    columns = block.event.schema.columns
    ids = [column.id for column in columns]
    if ids != list(range(1, len(ids) + 1)):
        return "column ids are not 1, 2, 3 ..."
    kept = state.schema.columns if state.schema else ()
    if columns[: len(kept)] != kept:
        return "a column was removed, renamed or changed its type"
    return None


def _system_columns_are_named_before_rows(
    state: DatasetState | None, block: MetadataBlock
) -> str | None:
    if state is None or not isinstance(block.event, SetVocab):
        return None
    return None if state.schema is None else "system columns are named before the schema is"


def _inputs_continue(state: DatasetState | None, block: MetadataBlock) -> str | None:
    if state is None or not isinstance(block.event, ExecuteTransform):
        return None
    inputs = block.event.inputs
    declared = state.transform.inputs if state.transform else ()
    if [i.dataset_id for i in inputs] != [d.dataset_id for d in declared]:
        return "inputs are not those of the transform, in its order"
    cursors = {i.dataset_id: (i.new_block_hash, i.new_offset) for i in state.inputs}
    for after in inputs:
        expected = cursors.get(after.dataset_id, (None, None))
        if (after.prev_block_hash, after.prev_offset) != expected:
            return f"input {after.dataset_id} does not continue where the last step stopped"
    return None


def _checkpoints_continue(state: DatasetState | None, block: MetadataBlock) -> str | None:
    if state is None or not isinstance(block.event, ExecuteTransform):
        return None
    expected = state.checkpoint.physical_hash if state.checkpoint else None
    if block.event.prev_checkpoint != expected:
        return f"previous checkpoint {block.event.prev_checkpoint}, but the last one is {expected}"
    return None


def _counts_are_not_negative(state: DatasetState | None, block: MetadataBlock) -> str | None:
    match block.event:
        case AddData(ignored=ignored, quarantined=quarantined):
            negative = min(ignored, quarantined) < 0
        case ExecuteTransform(late_rows=late_rows):
            negative = late_rows < 0
        case _:
            negative = False
    return "a count of rows is negative" if negative else None


def _migration_leaves_an_older_transform(
    state: DatasetState | None, block: MetadataBlock
) -> str | None:
    if state is None or not isinstance(block.event, ExecuteTransform):
        return None
    if block.event.migrated_from is not None and (
        block.event.migrated_from == state.transform_block
    ):
        return "a step migrates from the transform that it runs"
    return None


def _engine_changes_to_another(state: DatasetState | None, block: MetadataBlock) -> str | None:
    if state is None or not isinstance(block.event, DeprecateEngine):
        return None
    if state.transform is None or state.transform.engine != block.event.old_engine:
        return "the engine that is left is not the one that the transform runs on"
    if block.event.old_engine == block.event.new_engine:
        return "the engine did not change"
    return None


def _goes_back(mark: Mark, before: Mark) -> bool:
    was, now = before.watermark, mark.watermark
    earlier = was is not None and (now is None or now < was)
    return earlier or mark.offset < before.offset or mark.time < before.time


def _marks_tell_the_step(state: DatasetState | None, block: MetadataBlock) -> str | None:
    if state is None or not isinstance(block.event, ExecuteTransform):
        return None
    event, before = block.event, state.last_mark
    for mark in event.marks:
        if before and _goes_back(mark, before):
            return "marks go back"
        if before and (mark.offset, mark.watermark) == (before.offset, before.watermark):
            return "a mark repeats the one before"
        before = mark
    last = (before.offset, before.watermark) if before else (-1, None)
    if last != (_offset_after(state, event), event.new_watermark):
        return "the last mark is not where the step ends"
    return None


def _no_empty_event(state: DatasetState | None, block: MetadataBlock) -> str | None:
    if state is None:
        return None
    match block.event:
        case AddData(new_data=None, new_watermark=watermark, new_source_state=source_state):
            same = (watermark, source_state) == (state.watermark, state.source_state)
            same = same and not block.event.push_keys and not block.event.quarantined
            return "nothing was added" if same else None
        case ExecuteTransform(inputs=inputs, migrated_from=migrated_from):
            consumed = any(i.prev_block_hash != i.new_block_hash for i in inputs)
            return None if consumed or migrated_from else "nothing was consumed"
        case (
            SetDataSchema(schema=state.schema)
            | SetPollingSource(source=state.source)
            | SetPushSource(source=state.source)
            | SetVocab(vocabulary=state.vocabulary)
            | SetInfo(info=state.info)
            | SetLicense(license=state.license)
            | SetAttachments(attachments=state.attachments)
        ):
            return "the event did not change anything"
        case SetTransform() if block.event == state.transform:
            return "the transform did not change"
    return None


RULES: tuple[Rule, ...] = (
    _seed_is_first_and_only,
    _links_to_the_head,
    _sequence_grows_by_one,
    _system_time_never_goes_back,
    _event_fits_the_kind,
    _data_has_a_source_and_a_schema,
    _offsets_are_contiguous,
    _watermark_never_goes_back,
    _schema_only_grows,
    _system_columns_are_named_before_rows,
    _inputs_continue,
    _checkpoints_continue,
    _counts_are_not_negative,
    _migration_leaves_an_older_transform,
    _engine_changes_to_another,
    _marks_tell_the_step,
    _no_empty_event,
)
