"""Pulling a derivative, over an engine that passes rows through."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from odf_coordinator.errors import (
    EngineError,
    EngineLost,
    IntegrityError,
    InvalidQuery,
    SandboxUnavailable,
)
from odf_coordinator.model.event import ExecuteTransform
from odf_coordinator.model.timeline import Instant
from odf_wire import messages

from tests.builders import TIME
from tests.engines import RUN
from tests.worlds import COPY, OTHER, ROOT, World, copy_text, root_text


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A root with two blocks of rows, and its copy."""
    made = World(folder=tmp_path)
    made.add(root_text(), copy_text())
    made.write("1.csv", (1, "A", 1), (2, "B", 2))
    made.write("2.csv", (3, "C", 3))
    made.pull(ROOT)
    return made


def _values(world: World, name: str = COPY) -> list[int]:
    state = world.dataset(name).state()
    assert state.schema is not None
    values: list[int] = (
        world.dataset(name).tail(100, state.schema, state.vocabulary).column("value").to_pylist()
    )
    return values


def _step(world: World) -> ExecuteTransform:
    event = world.dataset(COPY).blocks()[-1].block.event
    assert isinstance(event, ExecuteTransform)
    return event


def test_one_step_consumes_all_blocks_and_tells_where_it_stands(world: World) -> None:
    (pulled,) = world.pull(COPY)
    root = world.dataset(ROOT).state()
    assert (pulled.blocks, pulled.rows, pulled.watermark) == (1, 3, root.watermark)
    assert _values(world) == [1, 2, 3]
    step = _step(world)
    assert (step.inputs[0].prev_block_hash, step.inputs[0].new_block_hash) == (None, root.head)
    assert (step.inputs[0].prev_offset, step.inputs[0].new_offset) == (None, 2)
    assert [mark.offset for mark in step.marks] == [1, 2]
    assert step.engine == RUN
    assert world.store.list("plans/") == []


def test_nothing_new_gives_no_step_and_does_not_start_an_engine(world: World) -> None:
    world.pull(COPY)
    before = world.content()
    world.clock.time = Instant(TIME + 1)
    assert world.pull(COPY)[0].blocks == 0
    assert len(world.engine.requests) == 1
    assert world.content() == before


def test_the_next_step_starts_where_the_last_one_stopped(world: World) -> None:
    world.pull(COPY)
    first = _step(world)
    world.write("3.csv", (4, "D", 4))
    world.pull(ROOT)
    world.pull(COPY)
    second = _step(world)
    assert second.inputs[0].prev_block_hash == first.inputs[0].new_block_hash
    assert (second.inputs[0].prev_offset, second.inputs[0].new_offset) == (2, 3)
    request = world.engine.requests[-1]
    assert request.next_offset == 3
    assert [tick.rows for tick in request.inputs[0].ticks] == [1]
    assert request.inputs[0].previous_watermark == first.new_watermark
    assert _values(world) == [1, 2, 3, 4]


def test_two_inputs_are_consumed_together_in_order_of_time(tmp_path: Path) -> None:
    world = World(folder=tmp_path)
    world.add(
        root_text(ROOT, files="in/a*.csv"),
        root_text(OTHER, files="in/b*.csv"),
        copy_text(COPY, ROOT, OTHER),
    )
    for time, (name, value) in enumerate([("b1", 10), ("a1", 1), ("b2", 20)]):
        world.clock.time = Instant(TIME + time)
        world.write(f"{name}.csv", (1, name, value))
        world.pull(ROOT if name.startswith("a") else OTHER)
    (pulled,) = world.pull(COPY)
    assert (pulled.blocks, pulled.rows) == (1, 3)
    assert _values(world) == [10, 1, 20]
    heads = world.heads()
    assert [each.new_block_hash for each in _step(world).inputs] == [heads[ROOT], heads[OTHER]]


def test_an_input_that_did_not_move_keeps_its_cursor(tmp_path: Path) -> None:
    world = World(folder=tmp_path)
    world.add(
        root_text(ROOT, files="in/a*.csv"),
        root_text(OTHER, files="in/b*.csv"),
        copy_text(COPY, ROOT, OTHER),
    )
    world.write("a1.csv", (5, "a", 1))
    world.pull(ROOT)
    assert world.pull(COPY)[0].watermark is None
    assert _step(world).inputs[1].new_block_hash is None
    world.write("b1.csv", (3, "b", 2))
    world.pull(OTHER)
    (pulled,) = world.pull(COPY)
    first, second = _step(world).inputs
    assert first.prev_block_hash == first.new_block_hash == world.dataset(ROOT).head()
    assert (second.prev_offset, second.new_offset) == (None, 0)
    assert pulled.watermark == world.dataset(OTHER).state().watermark
    assert _values(world) == [1, 2]
    assert world.verify(COPY).findings == ()


def test_a_step_without_rows_still_moves_on(world: World) -> None:
    world.engine.rows = lambda rows: rows.slice(0, 0)
    world.engine.answer = lambda result: replace(
        result, marks=tuple(replace(mark, offset=-1) for mark in result.marks)
    )
    (pulled,) = world.pull(COPY)
    assert (pulled.blocks, pulled.rows) == (1, 0)
    assert _step(world).new_data is None
    assert world.pull(COPY)[0].blocks == 0


def test_a_step_without_an_answer_stays_claimed_and_is_run_again_as_it_was(world: World) -> None:
    world.engine.mishap = EngineLost("gone")
    with pytest.raises(EngineLost):
        world.pull(COPY)
    assert len(world.store.list("plans/")) == 1
    world.engine.mishap = None
    world.clock.time = Instant(TIME + 1)
    world.pull(COPY)
    lost, run = world.engine.requests
    assert replace(lost, exchange="") == replace(run, exchange="")
    assert lost.exchange != run.exchange
    assert world.dataset(COPY).state().system_time == TIME
    assert world.store.list("plans/") == []


@pytest.mark.parametrize("error", [EngineError("failed"), InvalidQuery("division by zero")])
def test_a_step_that_was_answered_with_an_error_is_planned_anew(
    world: World, error: Exception
) -> None:
    before = world.heads()
    world.engine.mishap = error
    with pytest.raises(type(error)):
        world.pull(COPY)
    assert world.store.list("plans/") == []
    assert world.heads() == before
    world.engine.mishap = None
    world.write("3.csv", (4, "D", 4))
    world.pull(ROOT)
    world.pull(COPY)
    assert _values(world) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": 2}, "promised 2 rows and wrote 3"),
        ({"file": None}, "promised 3 rows and wrote no file"),
        ({"file": "../in/input-0.arrow"}, "outside of its folder"),
        ({"file": "nothing"}, "outside of its folder"),
        ({"columns": ()}, "does not have the dataset's columns"),
        ({"columns": (messages.Column(name="a", type="WHAT"),)}, "unknown type"),
    ],
)
def test_an_engine_that_breaks_its_word_is_not_believed(
    world: World, changes: dict[str, Any], message: str
) -> None:
    before = world.heads()
    world.engine.answer = lambda result: replace(result, **changes)
    with pytest.raises(EngineError, match=message):
        world.pull(COPY)
    assert world.heads() == before
    assert world.store.list("plans/") == []


def test_rows_of_other_types_than_agreed_are_refused(world: World) -> None:
    def widened(rows: pa.Table) -> pa.Table:
        return rows.set_column(2, "value", rows.column("value").cast(pa.int64()))

    world.engine.rows = widened
    with pytest.raises(EngineError, match=r"cannot be read.*int64"):
        world.pull(COPY)


@pytest.mark.parametrize("changes", [{"marks": ()}, {"watermark": None}, {"watermark": 5}], ids=str)
def test_marks_and_watermark_that_do_not_fit_are_never_committed(
    world: World, changes: dict[str, Any]
) -> None:
    before = world.heads()
    world.engine.answer = lambda result: replace(result, **changes)
    with pytest.raises(EngineError, match="mark"):
        world.pull(COPY)
    assert world.heads() == before
    world.engine.answer = lambda result: result
    world.pull(COPY)
    assert world.verify(COPY).findings == ()


def test_rows_without_an_event_time_are_never_committed(world: World) -> None:
    before = world.heads()

    def forget(rows: pa.Table) -> pa.Table:
        nothing = pa.nulls(rows.num_rows, rows.schema.field("event_time").type)
        return rows.set_column(rows.column_names.index("event_time"), "event_time", nothing)

    world.engine.rows = forget
    with pytest.raises(EngineError, match="event time"):
        world.pull(COPY)
    assert world.heads() == before


def test_a_damaged_input_stops_the_step_before_the_engine_sees_it(world: World) -> None:
    part = world.store.list(f"datasets/{ROOT}/data/")[0]
    content = bytearray(world.store.get(part))
    content[100] ^= 1
    world.store.put(part, bytes(content))
    with pytest.raises(IntegrityError, match=part.rpartition("/")[2]):
        world.pull(COPY)
    assert world.engine.requests == []


def test_a_step_runs_on_the_engine_that_its_transform_names_and_no_other(world: World) -> None:
    before = world.heads()
    world.engine.run = replace(RUN, build_id="sha256:other")
    with pytest.raises(SandboxUnavailable):
        world.pull(COPY)
    assert world.heads() == before
    world.engine.run = RUN
    assert world.pull(COPY)[0].rows == 3


def test_of_two_plans_for_one_head_the_first_is_run_by_everybody(world: World) -> None:
    world.engine.mishap = EngineLost("gone")
    with pytest.raises(EngineLost):
        world.pull(COPY)
    state = world.dataset(COPY).state()
    first = world.workspace.saved_plan(state.dataset_id, state.head)
    assert first is not None
    assert world.workspace.claim(replace(first, system_time=Instant(TIME + 1))) == first
    assert world.workspace.saved_plan(state.dataset_id, state.head) == first
