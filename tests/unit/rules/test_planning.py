"""What a derivative does next."""

from odf_coordinator.model.event import AddData, DatasetKind
from odf_coordinator.model.timeline import Instant, Mark
from odf_coordinator.rules import planning
from odf_coordinator.rules.planning import InputHistory

from tests.builders import ROOT_ID, Chain


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
