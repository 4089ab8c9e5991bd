"""fsck and gc: what is damage, what is left over, and what must stay."""

from collections.abc import Callable
from pathlib import Path

import pytest
from odf_coordinator.flows import usage
from odf_coordinator.flows.usage import UsageReader
from odf_coordinator.model.report import Leftover
from odf_coordinator.model.timeline import Instant
from odf_coordinator.storage.local import FileLocks, LocalStore, UnfinishedFiles, written
from odf_coordinator.storage.memory import MemoryStore

from tests.builders import TIME
from tests.worlds import COPY, ROOT, StandingClock, World, copy_text, root_text

HOUR = 3_600_000_000
NONE = "1620" + "0" * 64


@pytest.fixture
def world(tmp_path: Path) -> World:
    clock = StandingClock()
    world = World(folder=tmp_path, store=MemoryStore(clock), clock=clock)
    world.write("1.csv", (1, "A", 1))
    world.add(root_text(), copy_text())
    world.pull(ROOT, COPY)
    return world


def _part(world: World, name: str = ROOT) -> str:
    (key,) = world.store.list(f"datasets/{name}/data/")
    return key


def _local_id(world: World, name: str) -> str:
    return world.workspace.entry(name).dataset_id.rpartition(":")[2]


def _copy_over(world: World) -> None:
    for key in world.store.list(f"datasets/{COPY}/"):
        world.store.put(key.replace(COPY, ROOT), world.store.get(key))


def test_a_sound_store_has_nothing_to_tell(world: World) -> None:
    root, copy, workspace = world.fsck(ROOT, COPY)
    assert (root.blocks, root.parts, copy.blocks, copy.parts) == (4, 1, 4, 1)
    assert all(not each.damage and not each.notes for each in (root, copy, workspace))


DAMAGE: dict[str, tuple[Callable[[World], None], str]] = {
    "no part": (lambda w: w.store.delete(_part(w)), "is missing"),
    "a short part": (lambda w: w.store.put(_part(w), b"x"), "has 1 bytes"),
    "no head": (lambda w: w.store.delete(f"datasets/{ROOT}/refs/head"), "the head is missing"),
    "another head": (
        lambda w: w.store.put(f"datasets/{ROOT}/refs/head", b"what?"),
        "not the hash of a block",
    ),
    "no block": (
        lambda w: w.store.delete(f"datasets/{ROOT}/blocks/{w.dataset(ROOT).blocks()[1].hash}"),
        "is missing",
    ),
    "a changed block": (
        lambda w: w.store.put(f"datasets/{ROOT}/blocks/{w.heads()[ROOT]}", b"x" * 100),
        "bytes have the hash",
    ),
    "another chain": (_copy_over, "it is that of did:odf"),
    "another key": (
        lambda w: w.store.put(
            f"keys/{_local_id(w, ROOT)}", w.store.get(f"keys/{_local_id(w, COPY)}")
        ),
        "is the key of did:odf",
    ),
    "a broken key": (lambda w: w.store.put(f"keys/{_local_id(w, ROOT)}", b"?"), "is damaged"),
    "a broken plan": (
        lambda w: w.store.put(f"plans/{_local_id(w, ROOT)}/{w.heads()[ROOT]}", b"{}"),
        "saved plan is damaged",
    ),
    "a broken entry": (lambda w: w.store.put(f"catalog/{ROOT}", b"{}"), "is damaged"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found(name: str, world: World) -> None:
    damage, told = DAMAGE[name]
    damage(world)
    first, *_ = world.fsck(ROOT)
    assert any(told in finding.message for finding in first.damage), first


def test_a_consumed_block_that_is_not_in_the_inputs_chain_is_damage(world: World) -> None:
    seed = world.dataset(ROOT).blocks()[2]
    world.store.put(f"datasets/{ROOT}/refs/head", seed.hash.encode())
    copy, _ = world.fsck(COPY)
    assert ["not in its chain" in finding.message for finding in copy.damage] == [True]


def test_no_key_is_no_damage(world: World) -> None:
    world.store.delete(f"keys/{_local_id(world, ROOT)}")
    root, _ = world.fsck(ROOT)
    assert root.damage == ()
    assert [note.where for note in root.notes] == ["key"]


def _leave(world: World) -> list[str]:
    """What crashes and other coordinators leave."""
    left = [
        f"datasets/{ROOT}/blocks/{NONE}",
        f"datasets/{ROOT}/data/{NONE}",
        "datasets/org.example.gone/blocks/1620",
        "datasets/org.example.gone/refs/head",
        "keys/fed01",
        f"plans/{_local_id(world, COPY)}/{NONE}",
        "plans/fed01/1620",
    ]
    for key in left:
        world.store.put(key, b"left")
    return sorted(left)


def test_leftovers_are_noted_and_collected_and_nothing_else(world: World) -> None:
    before = world.content()
    left = _leave(world)
    found = world.fsck()
    assert not any(each.damage for each in found)
    assert sum(len(each.notes) for each in found) == len(left)
    assert sorted(each.key for each in world.collector().find()) == left
    assert sorted(world.collect()) == left
    assert world.content() == before


def test_what_is_young_is_left_alone(world: World) -> None:
    left = _leave(world)
    assert world.collect(age=HOUR) == []
    world.clock.time = Instant(TIME + HOUR - 1)
    assert world.collect(age=HOUR) == []
    world.clock.time = Instant(TIME + HOUR)
    assert sorted(world.collect(age=HOUR)) == left


def test_the_saved_plan_of_the_head_is_no_garbage(world: World) -> None:
    world.store.put(f"plans/{_local_id(world, COPY)}/{world.heads()[COPY]}", b"{}")
    assert world.collect() == []


def test_of_a_broken_chain_nothing_is_collected(world: World) -> None:
    world.store.delete(f"datasets/{ROOT}/blocks/{world.heads()[ROOT]}")
    before = world.content()
    assert world.collect() == []
    assert world.content() == before


def test_repair_drops_caches_and_plans_that_cannot_be_read(world: World) -> None:
    before = world.content()
    world.store.put(f"datasets/{ROOT}/info/index", b"cache")
    world.store.put(f"plans/{_local_id(world, COPY)}/{world.heads()[COPY]}", b"{}")
    assert len(world.store_checker().repair(age=HOUR)) == 2
    assert world.content() == before


def test_held_locks_are_told(tmp_path: Path) -> None:
    locks = FileLocks(tmp_path / "locks")
    assert locks.held() == []
    with locks.hold("a"), locks.hold("b"):
        assert locks.held() == ["a", "b"]
    assert locks.held() == []


def test_unfinished_files_and_empty_folders_are_litter(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.put("datasets/a/refs/head", b"kept")
    store.put("datasets/b/refs/head", b"gone")
    store.delete("datasets/b/refs/head")
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / "part").write_bytes(b"1234")
    (tmp_path / "datasets/a/refs/.tmp-x").write_bytes(b"12")
    litter = UnfinishedFiles(tmp_path, scratch=tmp_path / "tmp")
    oldest = min(written(path) for path in tmp_path.rglob("*"))
    assert litter.find(before=oldest) == []
    found = litter.find(before=Instant(2**60))
    assert [(each.key, each.size) for each in found] == [
        ("datasets/a/refs/.tmp-x", 2),
        ("tmp/part", 4),
        ("datasets/b", 0),
    ]
    for each in [*found, Leftover(key="datasets/a", size=0, why="")]:
        litter.remove(each)
        litter.remove(each)
    assert litter.find(before=Instant(2**60)) == []
    assert store.get("datasets/a/refs/head") == b"kept"
    assert not (tmp_path / "datasets/b").exists()


def test_every_byte_is_counted_once(world: World) -> None:
    data = len(world.store.get(_part(world)))
    left = _leave(world)
    world.store.put(f"datasets/{ROOT}/info/index", b"cache")
    reader = UsageReader(workspace=world.workspace, collector=world.collector(), clock=world.clock)
    usages = [*reader.of_datasets([COPY, ROOT]), reader.of_workspace()]
    copy, root, workspace = usages
    assert (copy.garbage, root.garbage, workspace.garbage) == (4, 8, 4 * (len(left) - 3))
    assert (root.caches, copy.caches) == (5, 0)
    assert root.data == data
    assert usage.total(usages).total == sum(map(len, world.content().values()))
