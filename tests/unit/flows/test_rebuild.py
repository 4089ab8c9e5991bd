"""Data files of a derivative that were dropped come back by replay."""

import functools
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from odf_coordinator.errors import EngineLost, IntegrityError, Invalid

from tests.worlds import COPY, ROOT, World, copy_text, root_text


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(folder=tmp_path)
    world.add(root_text(), copy_text())
    for number in (1, 2):
        world.write(f"{number}.csv", (number, "A", number))
        world.pull(ROOT, COPY)
    return world


@pytest.fixture
def other_writer(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """From here on, files are written as another version of pyarrow might."""
    write = functools.partial(pq.write_table, use_dictionary=False, write_statistics=False)
    monkeypatch.setattr(pq, "write_table", write)
    return world


def _rows(world: World) -> list[int]:
    state = world.dataset(COPY).state()
    assert state.schema is not None
    rows: list[int] = (
        world.dataset(COPY).tail(9, state.schema, state.vocabulary)["value"].to_pylist()
    )
    return rows


def _data(world: World) -> list[str]:
    return world.store.list(f"datasets/{COPY}/data/")


def _maps(world: World) -> list[str]:
    return world.store.list(f"datasets/{COPY}/info/parts/")


def test_dropped_files_come_back_with_the_next_pull(world: World) -> None:
    before = world.content()
    assert world.drop(COPY) == 2
    assert _data(world) == []
    with pytest.raises(IntegrityError) as raised:
        _rows(world)
    assert f"`odf pull {COPY}`" in raised.value.hint
    copy, *_ = world.fsck(COPY)
    assert copy.damage == ()
    assert [note.where for note in copy.notes] == ["data"]
    (pulled,) = world.pull(COPY)
    assert (pulled.rebuilt, pulled.blocks) == (2, 0)
    assert world.content() == before
    (again,) = world.pull(COPY)
    assert again.rebuilt == 0


def test_a_file_of_another_writer_is_kept_under_its_own_name(other_writer: World) -> None:
    world, before = other_writer, _data(other_writer)
    world.drop(COPY)
    world.pull(COPY)
    assert len(_data(world)) == len(_maps(world)) == 2
    assert set(_data(world)) & set(before) == set()
    assert _rows(world) == [1, 2]
    verified = world.verify(COPY)
    assert (verified.findings, verified.slices, verified.replayed) == ((), 2, 2)
    assert [each for each in world.fsck() if each.damage or each.notes] == []
    assert world.collect() == []
    world.write("3.csv", (3, "A", 3))
    world.pull(ROOT, COPY)
    assert _rows(world) == [1, 2, 3]
    assert world.drop(COPY) == 3
    assert _maps(world) == []
    world.pull(COPY)
    assert _rows(world) == [1, 2, 3]


def test_a_damaged_rebuilt_file_is_found(other_writer: World) -> None:
    world = other_writer
    world.drop(COPY)
    world.pull(COPY)
    key = _data(world)[0]
    world.store.put(key, world.store.get(key)[:-1] + b"?")
    assert len(world.verify(COPY).findings) == 1


def test_other_rows_under_a_mapped_name_are_found(other_writer: World) -> None:
    world = other_writer
    world.drop(COPY)
    world.pull(COPY)
    first, second = _maps(world)
    world.store.put(first, world.store.get(second))
    findings = world.verify(COPY).findings
    assert ["rows have the hash" in finding.message for finding in findings] == [True]


@pytest.mark.parametrize("content", [b"?", b"{}", b'{"file": "../x", "size": 1}'])
def test_a_map_that_leads_nowhere_is_dropped_by_repair(content: bytes, world: World) -> None:
    before = world.content()
    world.store.put(f"datasets/{COPY}/info/parts/1620", content)
    copy, *_ = world.fsck(COPY)
    assert (copy.damage, len(copy.notes)) == ((), 1)
    world.store_checker().repair(age=0)
    assert world.content() == before


def test_repair_keeps_what_was_rebuilt(other_writer: World) -> None:
    world = other_writer
    world.drop(COPY)
    world.pull(COPY)
    before = world.content()
    assert world.store_checker().repair(age=0) == []
    assert world.content() == before


def test_rows_that_are_not_the_recorded_ones_are_refused(world: World) -> None:
    world.drop(COPY)
    world.engine.rows = lambda rows: rows.set_column(2, "value", pa.array([9], pa.int32()))
    with pytest.raises(IntegrityError, match="rebuilt"):
        world.pull(COPY)
    assert _data(world) == []


def test_a_rebuilding_that_was_cut_off_is_carried_on(world: World) -> None:
    before = world.content()
    world.drop(COPY)
    world.engine.mishap = EngineLost("gone")
    with pytest.raises(EngineLost):
        world.pull(COPY)
    world.engine.mishap = None
    world.pull(COPY)
    assert world.content() == before


def test_a_root_cannot_be_rebuilt(world: World) -> None:
    with pytest.raises(Invalid, match="is a root"):
        world.drop(ROOT)
