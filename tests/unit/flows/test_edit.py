"""A dataset becomes what its manifest says now, as far as rows that are there allow it."""

from pathlib import Path

import pytest
from odf_coordinator.errors import EngineError, InvalidText
from odf_coordinator.model.event import (
    SetDataSchema,
    SetInfo,
    SetPollingSource,
    SetTransform,
)

from tests.worlds import COPY, OTHER, ROOT, World, copy_text, root_text

GROWN = root_text().replace("value INT", "value INT, more STRING")


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(folder=tmp_path)
    made.add(copy_text(), root_text(), root_text(OTHER))
    made.write("1.csv", (1, "A", 1))
    made.pull(ROOT, COPY)
    return made


def test_the_same_manifest_changes_nothing(world: World) -> None:
    before = world.content()
    assert world.edit(ROOT, root_text()) == ()
    assert world.edit(COPY, copy_text()) == ()
    assert world.content() == before


def test_a_new_column_comes_last_and_old_rows_have_none_of_it(world: World) -> None:
    source, schema = world.edit(ROOT, GROWN)
    assert isinstance(source, SetPollingSource)
    assert isinstance(schema, SetDataSchema)
    assert [(c.id, c.name) for c in schema.schema.columns][-1] == (4, "more")
    (world.folder / "in" / "2.csv").write_text(
        "event_time,city,value,more\n2024-05-01T02:00:00Z,B,2,new\n"
    )
    world.pull(ROOT)
    dataset = world.dataset(ROOT)
    state = dataset.state()
    assert state.schema is not None
    rows = dataset.tail(9, state.schema, state.vocabulary)
    assert rows.column("more").to_pylist() == [None, "new"]
    scanned = dataset.scan(state.schema, state.vocabulary).to_table()
    assert scanned.column("more").to_pylist() == [None, "new"]
    assert world.verify(ROOT).findings == ()


def test_a_derivative_that_takes_all_columns_grows_with_its_root_when_it_is_edited(
    world: World,
) -> None:
    world.write("2.csv", (2, "B", 2))
    world.pull(ROOT)
    world.edit(ROOT, GROWN)
    (world.folder / "in" / "3.csv").write_text(
        "event_time,city,value,more\n2024-05-01T03:00:00Z,C,3,new\n"
    )
    world.pull(ROOT)
    with pytest.raises(EngineError, match="does not have the dataset's columns"):
        world.pull(COPY)
    assert [type(event) for event in world.edit(COPY, copy_text())] == [SetDataSchema]
    world.pull(COPY)
    state = world.dataset(COPY).state()
    assert state.next_offset == 3
    assert world.verify(COPY).findings == ()


def test_a_dry_run_tells_and_changes_nothing(world: World) -> None:
    before = world.content()
    assert len(world.edit(ROOT, GROWN, dry_run=True)) == 2
    assert world.content() == before


def test_another_query_runs_from_where_the_last_one_stopped(world: World) -> None:
    (transform,) = world.edit(COPY, copy_text(query="select * from other_words"))
    assert isinstance(transform, SetTransform)
    world.write("2.csv", (2, "B", 2))
    world.pull(ROOT, COPY)
    assert world.dataset(COPY).state().next_offset == 2
    assert world.verify(COPY).findings == ()


def test_a_new_input_is_read_from_its_beginning(world: World) -> None:
    world.pull(OTHER)
    world.edit(COPY, copy_text(COPY, ROOT, OTHER))
    world.pull(COPY)
    state = world.dataset(COPY).state()
    assert [each.new_offset for each in state.inputs] == [0, 0]
    assert world.verify(COPY).findings == ()


def test_what_a_dataset_tells_about_itself_is_recorded(world: World) -> None:
    text = root_text() + "  info: {description: Readings}\n"
    (event,) = world.edit(ROOT, text)
    assert isinstance(event, SetInfo)
    assert world.edit(ROOT, text) == ()
    assert world.dataset(ROOT).state().info == event.info


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (root_text().replace("value INT", "value BIGINT"), "'value' cannot change its type"),
        (root_text().replace("value INT", "worth INT"), "'value' cannot be removed"),
        (root_text().replace(ROOT, "other.name"), f"not of {ROOT}"),
        (copy_text(ROOT, OTHER), "cannot become a derivative"),
        (root_text() + "  vocab: {offsetColumn: n}\n", "system columns cannot change"),
    ],
)
def test_what_a_dataset_cannot_become_is_told_and_changes_nothing(
    world: World, text: str, message: str
) -> None:
    before = world.content()
    with pytest.raises(InvalidText, match=message):
        world.edit(ROOT, text)
    assert world.content() == before
