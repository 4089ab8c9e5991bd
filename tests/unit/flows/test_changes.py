"""Renaming, deleting, moving back: names, dependents, what is left."""

from collections.abc import Callable
from pathlib import Path

import pytest
from odf_coordinator.errors import ConflictError, EngineLost, Invalid, NotFound
from odf_coordinator.model.identity import DatasetName, short

from tests.worlds import COPY, OTHER, ROOT, World, copy_text, root_text

NEW = DatasetName("org.example.renamed")


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(folder=tmp_path)
    world.write("1.csv", (1, "A", 1))
    world.add(root_text(), copy_text())
    world.pull(ROOT, COPY)
    return world


def test_what_derives_from_a_renamed_dataset_goes_on(world: World) -> None:
    world.rename(ROOT, NEW)
    world.write("2.csv", (2, "B", 2))
    world.pull(NEW, COPY)
    assert world.dataset(COPY).state().next_offset == 2
    assert world.verify(NEW).findings == world.verify(COPY).findings == ()
    assert sorted(world.heads()) == [COPY, NEW]


def test_a_name_that_is_taken_in_any_case_is_refused(world: World) -> None:
    before = world.content()
    with pytest.raises(ConflictError, match="nothing was renamed"):
        world.rename(ROOT, COPY.upper())
    assert world.content() == before


def test_a_name_can_change_its_case(world: World) -> None:
    world.rename(ROOT, ROOT.upper())
    assert sorted(world.heads()) == sorted([COPY, ROOT.upper()])
    world.rename(ROOT.upper(), ROOT.upper())
    assert world.verify(ROOT.upper()).findings == ()


def test_the_old_name_is_free_again(world: World) -> None:
    world.rename(ROOT, NEW)
    world.add(root_text(files="other/*.csv"))
    assert world.verify(ROOT).blocks == 3
    assert world.verify(NEW).blocks == 4


def test_a_name_with_remains_of_a_deleted_dataset_can_be_taken(world: World) -> None:
    world.store.put(f"datasets/{NEW}/blocks/1620", b"remains")
    world.rename(ROOT, NEW)
    assert world.fsck(NEW)[0].notes == ()


def test_what_others_derive_from_is_not_deleted(world: World) -> None:
    before = world.content()
    with pytest.raises(ConflictError, match=f"{COPY} derives from {ROOT}; nothing") as raised:
        world.delete(ROOT)
    assert "-r" in raised.value.hint
    assert world.content() == before


def test_dependents_of_dependents_go_too(world: World) -> None:
    world.add(copy_text("org.example.third", COPY), root_text(OTHER, files="other/*.csv"))
    assert world.delete(ROOT, recursive=True) == [ROOT, COPY, "org.example.third"]
    assert list(world.heads()) == [OTHER]
    assert not [key for key in world.content() if "copy" in key or "readings" in key]
    assert world.fsck()[-1].notes == ()


def test_both_are_deleted_when_both_are_named(world: World) -> None:
    assert world.delete(ROOT, COPY, ROOT) == [ROOT, COPY]
    assert world.content() == {}


def test_a_dataset_that_cannot_be_read_can_be_deleted_and_stops_others(world: World) -> None:
    world.store.delete(f"datasets/{COPY}/blocks/{world.heads()[COPY]}")
    with pytest.raises(ConflictError, match=f"{COPY} cannot be read"):
        world.delete(ROOT)
    world.delete(COPY)
    world.delete(ROOT)
    assert world.content() == {}


def test_nothing_is_deleted_when_one_is_unknown(world: World) -> None:
    with pytest.raises(NotFound):
        world.delete(COPY, "org.example.none")
    assert sorted(world.heads()) == [COPY, ROOT]


def _longer(world: World) -> list[str]:
    """The root with one more block, which the copy has not consumed; gives the hashes."""
    world.write("2.csv", (2, "B", 2), (3, "C", 3))
    world.pull(ROOT)
    return [sealed.hash for sealed in world.dataset(ROOT).blocks()]


def test_a_head_moves_back_and_the_next_pull_goes_on_from_there(world: World) -> None:
    blocks = _longer(world)
    planned = world.reset(ROOT, blocks[-2])
    assert (planned.blocks, planned.rows) == (1, 2)
    assert world.heads()[ROOT] == blocks[-2]
    assert len(world.collect()) == 2
    world.pull(ROOT, COPY)
    assert world.heads()[ROOT] == blocks[-1]
    assert world.verify(COPY).findings == ()


@pytest.mark.parametrize("spell", [lambda h: h[:12], lambda h: h[4:10].upper(), short, str])
def test_a_block_may_be_named_by_its_first_digits(
    spell: Callable[[str], str], world: World
) -> None:
    blocks = _longer(world)
    assert world.reset(ROOT, spell(blocks[-2])).after == blocks[-2]


@pytest.mark.parametrize(
    ("block", "error"),
    [("16", Invalid), ("1620", Invalid), ("abc", Invalid), ("f" * 64, NotFound), ("..", Invalid)],
)
def test_a_block_that_is_not_meant_is_refused(
    block: str, error: type[Exception], world: World
) -> None:
    with pytest.raises(error):
        world.reset(ROOT, block)


def test_what_others_consumed_does_not_go(world: World) -> None:
    before, blocks = world.content(), world.dataset(ROOT).blocks()
    with pytest.raises(ConflictError, match=f"{COPY} consumed"):
        world.reset(ROOT, blocks[2].hash)
    assert world.content() == before
    world.reset(COPY, world.dataset(COPY).blocks()[2].hash)
    world.reset(ROOT, blocks[2].hash)
    world.pull(ROOT, COPY)
    assert world.verify(COPY).findings == ()


def test_what_a_step_under_way_consumes_does_not_go(world: World) -> None:
    blocks = _longer(world)
    world.engine.mishap = EngineLost("gone")
    with pytest.raises(EngineLost):
        world.pull(COPY)
    with pytest.raises(ConflictError, match=f"{COPY} consumed"):
        world.reset(ROOT, blocks[-2])


def test_a_dataset_keeps_its_source(world: World) -> None:
    world.delete(COPY)
    with pytest.raises(Invalid, match="before the dataset's source"):
        world.reset(ROOT, world.dataset(ROOT).blocks()[0].hash)
    assert world.reset(ROOT, world.dataset(ROOT).blocks()[1].hash).blocks == 2
