"""What a derivative does next: which blocks of its inputs make up the next step, tick by tick."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from odf_coordinator.model.block import SealedBlock
from odf_coordinator.model.event import (
    AddData,
    DataSlice,
    EnginePin,
    ExecuteTransform,
    InputInterval,
)
from odf_coordinator.model.identity import BlockHash, DatasetId
from odf_coordinator.model.plan import Batch
from odf_coordinator.model.timeline import Instant, Mark
from odf_coordinator.rules.chain import DatasetState

MAX_ROWS = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """What an input brought between two of its marks: rows (start to mark.offset) of one slice."""

    slice: DataSlice | None
    start: int
    mark: Mark

    @property
    def rows(self) -> int:
        """How many rows there are, perhaps none."""
        return self.mark.offset - self.start + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class InputHistory:
    """The part of an input's chain that a step may consume: its blocks after the cursor."""

    dataset_id: DatasetId
    cursor: BlockHash | None
    last_mark: Mark | None
    blocks: tuple[SealedBlock, ...]


def cursors(output: DatasetState) -> tuple[InputInterval, ...]:
    """Where the last step stopped in each input of the transform; a new input is at its start."""
    last = {each.dataset_id: each for each in output.inputs}
    declared = output.transform.inputs if output.transform else ()
    return tuple(last.get(each.dataset_id) or _start(each.dataset_id) for each in declared)


def _start(dataset_id: DatasetId) -> InputInterval:
    return InputInterval(
        dataset_id=dataset_id,
        prev_block_hash=None,
        new_block_hash=None,
        prev_offset=None,
        new_offset=None,
    )


def block_ticks(sealed: SealedBlock, before: Mark | None) -> tuple[Tick, ...]:
    """The ticks that a block holds, after the mark `before`: none for a block of information."""
    event, block = sealed.block.event, sealed.block
    if not isinstance(event, AddData | ExecuteTransform):
        return ()
    if isinstance(event, ExecuteTransform):
        marks = event.marks
    else:
        offset = event.new_data.offset_interval.end if event.new_data else _offset(before)
        mark = Mark(offset=offset, watermark=event.new_watermark, time=block.system_time)
        unchanged = (offset, mark.watermark) == (_offset(before), before and before.watermark)
        marks = () if unchanged else (mark,)
    ticks = []
    for mark in marks:
        ticks.append(Tick(slice=event.new_data, start=_offset(before) + 1, mark=mark))
        before = mark
    return tuple(ticks)


def history_ticks(history: InputHistory) -> list[tuple[SealedBlock, tuple[Tick, ...]]]:
    """Each block of a history with its ticks, in order."""
    before, found = history.last_mark, []
    for sealed in history.blocks:
        ticks = block_ticks(sealed, before)
        before = ticks[-1].mark if ticks else before
        found.append((sealed, ticks))
    return found


def plan_next(
    output: DatasetState,
    inputs: Sequence[InputHistory],
    *,
    now: Instant,
    max_rows: int = MAX_ROWS,
) -> Batch | None:
    """The next step of a derivative, or None when there is nothing to consume.

    Blocks of all inputs are taken by (time of their first mark, input index) up to `max_rows` rows;
    a block larger than that travels alone; a block without a tick goes with the one before it and
    never causes a step by itself.
    """
    if output.transform is None or output.transform_block is None:
        return None
    taken = _take(inputs, max_rows)
    if not any(taken):
        return None
    return Batch(
        dataset_id=output.dataset_id,
        expected_head=output.head,
        transform_block=output.transform_block,
        engine=output.transform.engine,
        inputs=_intervals(output, inputs, taken),
        next_offset=output.next_offset,
        previous_mark=output.last_mark,
        system_time=Instant(max(now, output.system_time)),
    )


def _take(inputs: Sequence[InputHistory], max_rows: int) -> list[int]:
    """How many blocks of each input the step consumes."""
    queues = [history_ticks(history) for history in inputs]
    counts, rows = [0 for _ in inputs], 0
    order = sorted(
        (ticks[0].mark.time, index, position)
        for index, queue in enumerate(queues)
        for position, (_, ticks) in enumerate(queue)
        if ticks
    )
    for _, index, position in order:
        size = sum(tick.rows for tick in queues[index][position][1])
        if rows and rows + size > max_rows:
            break
        rows += size
        counts[index] = position + 1
        if rows > max_rows:
            break
    return [_with_followers(queue, count) for queue, count in zip(queues, counts, strict=True)]


def _with_followers(queue: list[tuple[SealedBlock, tuple[Tick, ...]]], count: int) -> int:
    while 0 < count < len(queue) and not queue[count][1]:
        count += 1
    return count


def _intervals(
    output: DatasetState, inputs: Sequence[InputHistory], taken: Sequence[int]
) -> tuple[InputInterval, ...]:
    found = []
    last = {each.dataset_id: each.new_offset for each in output.inputs}
    for history, count in zip(inputs, taken, strict=True):
        consumed = history_ticks(replace(history, blocks=history.blocks[:count]))
        marks = [tick.mark for _, ticks in consumed for tick in ticks]
        prev_offset = last.get(history.dataset_id)
        found.append(
            InputInterval(
                dataset_id=history.dataset_id,
                prev_block_hash=history.cursor,
                new_block_hash=history.blocks[count - 1].hash if count else history.cursor,
                prev_offset=prev_offset,
                new_offset=marks[-1].offset if marks and marks[-1].offset >= 0 else prev_offset,
            )
        )
    return tuple(found)


def rebuild(before: DatasetState, sealed: SealedBlock, pin: EnginePin) -> Batch:
    """The plan that a committed step must have had: what verify replays."""
    event = sealed.block.event
    if not isinstance(event, ExecuteTransform) or before.transform_block is None:
        raise ValueError("only steps of a derivative have a plan")
    return Batch(
        dataset_id=before.dataset_id,
        expected_head=before.head,
        transform_block=before.transform_block,
        engine=pin,
        inputs=event.inputs,
        next_offset=before.next_offset,
        previous_mark=before.last_mark,
        system_time=sealed.block.system_time,
    )


def _offset(mark: Mark | None) -> int:
    return -1 if mark is None else mark.offset
