"""Adding datasets: checked whole, then all of them or none."""

import json
from pathlib import Path

import pytest
from odf_coordinator.errors import ConflictError, IntegrityError, Invalid, InvalidText, NotFound
from odf_coordinator.model.event import (
    DatasetKind,
    Seed,
    SetDataSchema,
    SetPollingSource,
    SetTransform,
)
from odf_coordinator.rules import signing

from tests.builders import TIME
from tests.engines import REFUSED
from tests.worlds import COPY, OTHER, ROOT, World, copy_text, known_keys, root_text


@pytest.fixture
def world(tmp_path: Path) -> World:
    """An empty workspace."""
    return World(folder=tmp_path)


def test_a_root_starts_with_its_identity_its_source_and_its_schema(world: World) -> None:
    world.add(root_text())
    blocks = world.dataset(ROOT).blocks()
    assert [type(each.block.event) for each in blocks] == [Seed, SetPollingSource, SetDataSchema]
    assert {each.block.system_time for each in blocks} == {TIME}
    seed = blocks[0].block.event
    assert seed == Seed(
        dataset_id=signing.dataset_id(next(known_keys())), dataset_kind=DatasetKind.ROOT
    )
    schema = world.dataset(ROOT).state().schema
    assert schema is not None
    assert [(c.id, c.name) for c in schema.columns] == [
        (1, "event_time"),
        (2, "city"),
        (3, "value"),
    ]


def test_manifests_may_come_in_any_order(world: World) -> None:
    added = world.add(copy_text("c", "b"), copy_text("b", ROOT), root_text())
    assert [each.name for each in added] == [ROOT, "b", "c"]
    transform = world.dataset("c").state().transform
    assert isinstance(transform, SetTransform)
    assert transform.inputs[0].dataset_id == world.dataset("b").state().dataset_id
    assert transform.engine.build_id == world.engine.run.build_id


def test_an_input_may_be_there_already(world: World) -> None:
    world.add(root_text())
    world.add(copy_text())
    assert set(world.heads()) == {ROOT, COPY}


def test_a_dry_run_checks_everything_and_writes_nothing(world: World) -> None:
    assert [new.name for new in world.add(root_text(), copy_text(), dry_run=True)] == [ROOT, COPY]
    assert world.content() == {}
    with pytest.raises(InvalidText):
        world.add(copy_text(COPY, "nowhere"), dry_run=True)


def test_an_unknown_input_is_shown_where_it_is_written_with_a_guess(world: World) -> None:
    world.add(root_text())
    with pytest.raises(InvalidText) as caught:
        world.add(copy_text(COPY, "org.example.reading", "zzz"))
    first, second = caught.value.problems
    assert (first.file, first.line, first.column) == ("0.yaml", 7, 14)
    assert first.path == "content.source.inputs.0"
    assert "no dataset 'org.example.reading'" in first.message
    assert first.hint == f"did you mean '{ROOT}'?"
    assert (second.column, second.path) == (35, "content.source.inputs.1")
    assert "odf ls" in second.hint


def test_mistakes_of_all_manifests_are_told_and_nothing_is_added(world: World) -> None:
    with pytest.raises(InvalidText) as caught:
        world.add(root_text(), copy_text("b", "nowhere"), copy_text("c", ROOT, query="refuse me"))
    assert sorted(problem.file for problem in caught.value.problems) == ["1.yaml", "2.yaml"]
    assert world.content() == {}


def test_a_query_that_the_engine_refuses_is_shown_in_its_file(world: World) -> None:
    with pytest.raises(InvalidText) as caught:
        world.add(root_text(), copy_text(query=REFUSED))
    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.column) == ("1.yaml", 12, 11)
    assert problem.message == "no such thing"
    assert problem.path == "content.source.transform.query"


@pytest.mark.parametrize("name", [ROOT, ROOT.upper()])
def test_the_same_name_twice_is_refused_whatever_its_case(world: World, name: str) -> None:
    with pytest.raises(ConflictError, match=name):
        world.add(root_text(), root_text(name))
    assert world.content() == {}


@pytest.mark.parametrize("name", [ROOT, ROOT.upper()])
def test_a_dataset_that_exists_is_not_touched(world: World, name: str) -> None:
    world.add(root_text())
    before = world.content()
    with pytest.raises(ConflictError, match="already exists"):
        world.add(root_text(OTHER), root_text(name, url="elsewhere.csv"))
    assert world.content() == before


def test_a_name_that_was_taken_while_the_query_was_checked_is_a_conflict(world: World) -> None:
    new = world.add(root_text(OTHER), root_text(), dry_run=True)
    world.add(root_text())
    before = world.content()
    with pytest.raises(ConflictError, match="nothing was added"):
        world.workspace.add(new, now=TIME)
    assert world.content() == before


@pytest.mark.parametrize("columns", ["offset BIGINT, value INT", "Event_Time INT, event_time DATE"])
def test_columns_with_names_of_ours_are_refused(world: World, columns: str) -> None:
    text = root_text().replace("event_time TIMESTAMP(3), city STRING, value INT", columns)
    with pytest.raises(Invalid, match="column"):
        world.add(text)


def test_the_journal_of_an_interrupted_add_is_carried_out_by_whoever_comes_next(
    world: World, tmp_path: Path
) -> None:
    world.add(root_text(), copy_text())
    whole = world.content()
    names = [f"catalog/{name}" for name in (ROOT, COPY)]
    entries = [json.loads(whole[name]) for name in names]
    for missing in (names, names[1:], []):
        for name in missing:
            world.store.delete(name)
        world.store.put("adding", json.dumps(entries).encode())
        assert set(world.heads()) == {ROOT, COPY}
        assert world.content() == whole


def test_a_chain_without_a_journal_is_nobodys_dataset(world: World) -> None:
    world.add(root_text())
    world.store.delete(f"catalog/{ROOT}")
    assert world.heads() == {}
    with pytest.raises(NotFound, match=ROOT):
        world.dataset(ROOT)
    world.clock.time = type(TIME)(TIME + 1)
    world.add(root_text())
    assert world.dataset(ROOT).state().system_time == TIME + 1
    assert world.verify(ROOT).findings == ()


def test_a_damaged_catalog_is_told(world: World) -> None:
    world.add(root_text())
    world.store.put(f"catalog/{ROOT}", b"{}")
    with pytest.raises(IntegrityError, match=f"catalog/{ROOT} is damaged"):
        world.workspace.entries()


def test_a_damaged_journal_is_told(world: World) -> None:
    world.store.put("adding", b"[{")
    with pytest.raises(IntegrityError, match="adding is damaged"):
        world.workspace.entries()


def test_a_replaced_dataset_has_a_new_identity_and_no_rows(tmp_path: Path) -> None:
    world = World(folder=tmp_path)
    world.add(root_text(), copy_text())
    world.write("1.csv", (1, "A", 1))
    world.pull(ROOT, COPY)
    before = world.dataset(ROOT).state()
    world.add(root_text(), copy_text(), replace=True, first_key=10)
    after = world.dataset(ROOT).state()
    assert after.dataset_id != before.dataset_id
    assert after.next_offset == 0
    world.pull(ROOT, COPY)
    assert world.dataset(COPY).state().next_offset == 1
    assert [world.verify(name).findings for name in (ROOT, COPY)] == [(), ()]


def test_a_dataset_that_others_derive_from_is_not_replaced_alone(tmp_path: Path) -> None:
    world = World(folder=tmp_path)
    world.add(root_text(), copy_text())
    before = world.content()
    with pytest.raises(ConflictError, match=f"{COPY} would lose an input"):
        world.add(root_text(), replace=True, first_key=10)
    assert world.content() == before
    world.add(copy_text(), replace=True, first_key=10)


def test_a_dry_run_replaces_nothing(tmp_path: Path) -> None:
    world = World(folder=tmp_path)
    world.add(root_text())
    before = world.content()
    assert len(world.add(root_text(), replace=True, first_key=10, dry_run=True)) == 1
    assert world.content() == before


def test_what_was_replaced_is_garbage(tmp_path: Path) -> None:
    world = World(folder=tmp_path)
    world.add(root_text())
    world.write("1.csv", (1, "A", 1))
    world.pull(ROOT)
    world.add(root_text(), replace=True, first_key=10)
    world.collect(age=-(10**16))
    assert not [key for key in world.content() if key.startswith("replacing/")]
    assert not any(checked.damage for checked in world.fsck(ROOT))


def test_what_derives_from_a_mistake_is_not_told_as_one(tmp_path: Path) -> None:
    world = World(folder=tmp_path)
    with pytest.raises(InvalidText) as caught:
        world.add(copy_text("c", "b"), copy_text("b", ROOT, query=REFUSED), root_text())
    (problem,) = caught.value.problems
    assert problem.file == "1.yaml"
