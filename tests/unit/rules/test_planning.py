"""What a derivative does next."""

from dataclasses import replace

from odf_coordinator.model.block import SealedBlock
from odf_coordinator.model.event import AddData, DatasetKind
from odf_coordinator.model.identity import BlockHash, DatasetId
from odf_coordinator.model.timeline import Instant, Mark
from odf_coordinator.rules import planning
from odf_coordinator.rules.planning import InputHistory

from tests.builders import ROOT_ID, Chain

SECOND_ID = DatasetId("did:odf:fed01" + "cc" * 32)


def _history(built: Chain) -> InputHistory:
    return InputHistory(dataset_id=ROOT_ID, cursor=None, last_mark=None, blocks=tuple(built.blocks))


def _output() -> Chain:
    return Chain(kind=DatasetKind.DERIVATIVE)


def test_an_input_without_data_gives_no_step() -> None:
    plan = planning.plan_next(_output().state, [_history(Chain())], now=Instant(0))
    assert plan is None


def test_a_step_takes_all_there_is() -> None:
    root = Chain()
    root.data(3, watermark=5)
    last = root.data(2, watermark=9)
    output = _output().state
    plan = planning.plan_next(output, [_history(root)], now=Instant(0))
    assert plan is not None
    assert plan.inputs[0].new_block_hash == last.hash
    assert (plan.inputs[0].prev_offset, plan.inputs[0].new_offset) == (None, 4)
    assert plan.system_time == output.system_time
    assert plan.expected_head == output.head


def test_a_step_stops_at_the_size_limit_between_blocks() -> None:
    root = Chain()
    first = root.data(3, watermark=5)
    root.data(3, watermark=6)
    plan = planning.plan_next(_output().state, [_history(root)], now=Instant(0), max_rows=4)
    assert plan is not None
    assert plan.inputs[0].new_block_hash == first.hash


def test_a_block_larger_than_the_limit_travels_alone() -> None:
    root = Chain()
    first = root.data(9, watermark=5)
    root.data(1, watermark=6)
    plan = planning.plan_next(_output().state, [_history(root)], now=Instant(0), max_rows=4)
    assert plan is not None
    assert plan.inputs[0].new_block_hash == first.hash


def test_a_block_without_a_tick_goes_with_the_one_before() -> None:
    root = Chain()
    root.data(1, watermark=5)
    silent = root.data(0)
    plan = planning.plan_next(_output().state, [_history(root)], now=Instant(0))
    assert plan is not None
    assert plan.inputs[0].new_block_hash == silent.hash


def test_a_block_without_a_tick_causes_no_step() -> None:
    root = Chain()
    root.data(1, watermark=5)
    cursor = root.blocks[-1]
    mark = root.state.last_mark
    root.data(0)
    history = InputHistory(
        dataset_id=ROOT_ID, cursor=cursor.hash, last_mark=mark, blocks=(root.blocks[-1],)
    )
    assert planning.plan_next(_output().state, [history], now=Instant(0)) is None


def test_a_watermark_alone_is_a_tick() -> None:
    root = Chain()
    root.data(0, watermark=5)
    ticks = [tick for _, ticks in planning.history_ticks(_history(root)) for tick in ticks]
    time = root.blocks[-1].block.system_time
    assert [tick.rows for tick in ticks] == [0]
    assert ticks[0].mark == Mark(offset=-1, watermark=Instant(5), time=time)


def test_ticks_of_a_root_are_its_blocks() -> None:
    root = Chain()
    root.data(3, watermark=5)
    root.data(0)
    root.data(2, watermark=5)
    ticks = [tick for _, ticks in planning.history_ticks(_history(root)) for tick in ticks]
    assert [(tick.start, tick.rows) for tick in ticks] == [(0, 3), (3, 2)]
    assert all(isinstance(block.block.event, AddData) for block in root.blocks[3:])


def _two(first: Chain, second: Chain) -> list[InputHistory]:
    return [_history(first), replace(_history(second), dataset_id=SECOND_ID)]


def _taken(
    first: Chain, second: Chain, *, max_rows: int = planning.MAX_ROWS
) -> tuple[BlockHash | None, ...]:
    """The last block that the next step takes of each of two inputs."""
    inputs = _two(first, second)
    plan = planning.plan_next(_output().state, inputs, now=Instant(0), max_rows=max_rows)
    assert plan is not None
    assert [each.dataset_id for each in plan.inputs] == [ROOT_ID, SECOND_ID]
    return tuple(each.new_block_hash for each in plan.inputs)


def _at(chain: Chain, *times: int) -> list[SealedBlock]:
    """One block of two rows at each of some times."""
    found = []
    for time in times:
        last = chain.blocks[-1].block.system_time
        start = chain.blocks[0].block.system_time
        found.append(chain.data(2, watermark=time, later=start + time - last))
    return found


def test_two_inputs_are_taken_in_order_of_time_up_to_the_limit() -> None:
    first, second = Chain(), Chain()
    early, _ = _at(first, 10, 40)
    middle, _ = _at(second, 20, 50)
    assert _taken(first, second, max_rows=4) == (early.hash, middle.hash)


def test_the_limit_stops_all_inputs_at_the_same_time() -> None:
    first, second = Chain(), Chain()
    _at(first, 30, 40)
    *_, last = _at(second, 10, 20)
    assert _taken(first, second, max_rows=4) == (None, last.hash)


def test_at_the_same_time_the_first_input_goes_first() -> None:
    first, second = Chain(), Chain()
    (mine,) = _at(first, 10)
    _at(second, 10)
    assert _taken(first, second, max_rows=2) == (mine.hash, None)


def test_one_input_with_something_new_is_enough() -> None:
    first, second = Chain(), Chain()
    (mine,) = _at(first, 10)
    assert _taken(first, second) == (mine.hash, None)


def test_steps_of_any_size_consume_the_same_blocks_in_the_end() -> None:
    first, second = Chain(), Chain()
    _at(first, 10, 25, 40)
    _at(second, 20, 25, 50)
    for max_rows in (1, 2, 3, 4, 5, 12):
        histories, order = _two(first, second), []
        while True:
            plan = planning.plan_next(_output().state, histories, now=Instant(0), max_rows=max_rows)
            if plan is None:
                break
            order.append(tuple(each.new_offset for each in plan.inputs))
            histories = [
                _after(history, interval.new_block_hash)
                for history, interval in zip(histories, plan.inputs, strict=True)
            ]
        assert [history.blocks for history in histories] == [(), ()]
        assert len(order) == {1: 6, 2: 6, 3: 6, 4: 3, 5: 3, 12: 1}[max_rows]


def _after(history: InputHistory, cursor: BlockHash | None) -> InputHistory:
    """What is left of a history behind a block of it."""
    hashes = [sealed.hash for sealed in history.blocks]
    if cursor is None or cursor not in hashes:
        return history
    count = hashes.index(cursor) + 1
    ticks = planning.history_ticks(replace(history, blocks=history.blocks[:count]))
    marks = [tick.mark for _, of_block in ticks for tick in of_block]
    return InputHistory(
        dataset_id=history.dataset_id,
        cursor=cursor,
        last_mark=marks[-1] if marks else history.last_mark,
        blocks=history.blocks[count:],
    )
