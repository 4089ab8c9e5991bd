"""Pulling a root."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from odf_coordinator.errors import Invalid, NotFound, UserError
from odf_coordinator.flows.pull_root import RootPuller
from odf_coordinator.ingest.source import FileSource
from odf_coordinator.model.event import AddData, SourceState, SourceStateKind
from odf_coordinator.model.source import PollingSource
from odf_coordinator.model.timeline import Instant
from odf_coordinator.ports import Fetched, Store

from tests.builders import TIME
from tests.engines import Quiet
from tests.worlds import ROOT, StandingClock, World, root_text, rows_text

_HOUR = 3_600_000_000
_HEAD = f"datasets/{ROOT}/refs/head"
_DAY = 1_714_521_600_000_000  # 2024-05-01


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A root that reads one file."""
    made = World(folder=tmp_path)
    made.add(root_text(url="in/readings.csv"))
    return made


def _rows(world: World) -> pa.Table:
    dataset = world.dataset(ROOT)
    state = dataset.state()
    assert state.schema is not None
    return dataset.scan(state.schema, state.vocabulary).to_table()


def _values(world: World) -> list[int]:
    values: list[int] = _rows(world).column("value").to_pylist()
    return values


def test_rows_are_stamped_with_offset_operation_and_the_time_of_their_block(world: World) -> None:
    world.write("readings.csv", (1, "A", 10), (2, "B", 20))
    (pulled,) = world.pull(ROOT)
    assert (pulled.blocks, pulled.rows, pulled.watermark) == (1, 2, _DAY + 2 * _HOUR)
    rows = _rows(world)
    assert rows.column_names == ["offset", "op", "system_time", "event_time", "city", "value"]
    assert rows.column("offset").to_pylist() == [0, 1]
    assert rows.column("op").to_pylist() == [0, 0]
    assert set(rows.column("system_time").cast(pa.int64()).to_pylist()) == {TIME}
    assert pulled.head == world.dataset(ROOT).head()


def test_an_unchanged_source_gives_no_block(world: World) -> None:
    world.write("readings.csv", (1, "A", 10))
    world.pull(ROOT)
    before = world.content()
    world.clock.time = Instant(TIME + _HOUR)
    (pulled,) = world.pull(ROOT)
    assert (pulled.blocks, pulled.rows) == (0, 0)
    assert world.content() == before


def test_a_changed_file_is_appended_whole_in_one_block(world: World) -> None:
    world.write("readings.csv", (1, "A", 10))
    world.pull(ROOT)
    world.write("readings.csv", (1, "A", 10), (2, "B", 20))
    (pulled,) = world.pull(ROOT)
    assert (pulled.blocks, pulled.rows) == (1, 2)
    assert _values(world) == [10, 10, 20]
    assert _rows(world).column("offset").to_pylist() == [0, 1, 2]


def test_a_source_that_shrinks_takes_nothing_back(world: World) -> None:
    world.write("readings.csv", (1, "A", 10), (5, "B", 20))
    world.pull(ROOT)
    world.write("readings.csv", (1, "A", 10))
    (pulled,) = world.pull(ROOT)
    assert (pulled.blocks, pulled.rows) == (1, 1)
    assert _values(world) == [10, 20, 10]
    assert pulled.watermark == _DAY + 5 * _HOUR


def test_a_source_without_rows_is_remembered_in_a_block_without_data(world: World) -> None:
    world.write("readings.csv")
    (pulled,) = world.pull(ROOT)
    assert (pulled.blocks, pulled.rows, pulled.watermark) == (1, 0, None)
    event = world.dataset(ROOT).blocks()[-1].block.event
    assert isinstance(event, AddData)
    assert event.new_data is None
    assert event.new_source_state is not None
    assert event.new_source_state.kind is SourceStateKind.DIGEST
    assert world.pull(ROOT)[0].blocks == 0


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("2024-05-01T02:00:00Z,B,twenty", r"readings\.csv:3"),
        ("2024-05-01T02:00:00Z,B", r"readings\.csv:3"),
        ("yesterday,B,20", r"readings\.csv:3"),
        (",B,20", r"readings\.csv: 1 row without event_time, first: row 2"),
    ],
)
def test_one_bad_row_and_nothing_of_the_file_is_taken_in(
    world: World, last: str, message: str
) -> None:
    text = rows_text((1, "A", 10)) + last + "\n"
    (world.folder / "in/readings.csv").write_text(text)
    before = world.content()
    with pytest.raises(Invalid, match=message):
        world.pull(ROOT)
    assert world.content() == before
    world.write("readings.csv", (1, "A", 10))
    assert world.pull(ROOT)[0].rows == 1


def test_files_before_a_bad_one_stay_taken_in(tmp_path: Path) -> None:
    world = World(folder=tmp_path)
    world.add(root_text())
    world.write("1.csv", (1, "A", 10))
    (tmp_path / "in/2.csv").write_text("event_time,city,value\nnever,B,2\n")
    with pytest.raises(Invalid, match=r"2\.csv:2"):
        world.pull(ROOT)
    assert _values(world) == [10]
    world.write("2.csv", (2, "B", 20))
    world.write("3.csv", (3, "C", 30))
    (pulled,) = world.pull(ROOT)
    assert (pulled.blocks, pulled.rows) == (2, 2)
    assert _values(world) == [10, 20, 30]


def test_a_source_that_is_gone_is_told_and_changes_nothing(world: World) -> None:
    before = world.content()
    with pytest.raises(NotFound, match=r"readings\.csv"):
        world.pull(ROOT)
    assert world.content() == before


def test_a_clock_that_went_back_does_not_take_the_chain_back(world: World) -> None:
    world.write("readings.csv", (1, "A", 10))
    world.clock.time = Instant(TIME - _HOUR)
    world.pull(ROOT)
    assert world.dataset(ROOT).state().system_time == TIME
    assert set(_rows(world).column("system_time").cast(pa.int64()).to_pylist()) == {TIME}


def test_without_its_key_a_dataset_is_not_extended(world: World) -> None:
    world.write("readings.csv", (1, "A", 10))
    for key in world.store.list("keys/"):
        world.store.delete(key)
    head = world.dataset(ROOT).head()
    with pytest.raises(UserError, match="private key"):
        world.pull(ROOT)
    assert world.dataset(ROOT).head() == head


class _Overtaken:
    """The files as a source; but while it is asked the first time, somebody else moves the head."""

    def __init__(self, store: Store, head: str) -> None:
        self._store = store
        self._waiting = [head]

    def poll(
        self, source: PollingSource, *, base: Path, after: SourceState | None
    ) -> Iterator[Fetched]:
        """See ports.ExternalSource."""
        for fetched in FileSource().poll(source, base=base, after=after):
            while self._waiting:
                before = self._store.get(_HEAD)
                self._store.swap(_HEAD, expected=before, new=self._waiting.pop().encode())
            yield fetched


def test_rows_that_somebody_else_took_in_meanwhile_are_not_taken_in_twice(world: World) -> None:
    world.write("readings.csv", (1, "A", 10))
    before = world.dataset(ROOT).head()
    world.pull(ROOT)
    theirs = world.dataset(ROOT).head()
    world.store.swap(_HEAD, expected=theirs.encode(), new=before.encode())
    workspace = world.workspace
    puller = RootPuller(
        workspace=workspace,
        source=_Overtaken(world.store, theirs),
        clock=StandingClock(Instant(TIME + _HOUR)),
        listener=Quiet(),
    )
    pulled = puller.pull(workspace.dataset(ROOT))
    assert pulled.head == theirs
    assert _values(world) == [10]
