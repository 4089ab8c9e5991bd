"""Cut before and after every write of each flow; the next run ends where an uncut one does.

A new flow is one more entry of FLOWS.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from odf_coordinator.errors import ConflictError
from odf_coordinator.model.event import DatasetKind, Seed
from odf_coordinator.model.timeline import Instant
from odf_coordinator.ports import Store
from odf_coordinator.rules import chain, signing
from odf_coordinator.rules.indexing import Pace
from odf_coordinator.storage.local import LocalStore
from odf_coordinator.storage.memory import MemoryStore
from odf_coordinator.workspace import NewDataset

from tests.builders import TIME
from tests.contract.store_contract import StoreContract
from tests.crash.cutting import Cut, CuttingStore, Fuse
from tests.worlds import COPY, ROOT, World, copy_text, known_keys, root_text

_BEFORE_OR_AFTER = (False, True)


class TestCuttingStore(StoreContract):
    @pytest.fixture
    def store(self) -> CuttingStore:
        return CuttingStore(below=MemoryStore(), fuse=Fuse())


@dataclass(frozen=True, kw_only=True)
class Flow:
    """What is there before, what is cut, and how many writes it has."""

    given: Callable[[World], None]
    run: Callable[[World], object]
    writes: int


def _nothing(world: World) -> None:
    world.write("1.csv", (1, "A", 1), (2, "B", 2))
    world.write("2.csv", (3, "A", 3))


def _added(world: World) -> None:
    _nothing(world)
    _add(world)


def _root_pulled(world: World) -> None:
    _added(world)
    world.pull(ROOT)


def _all_pulled_and_more(world: World) -> None:
    _root_pulled(world)
    world.pull(COPY)
    world.write("3.csv", (4, "C", 4), (4, "D", 5))
    world.pull(ROOT)


def _add(world: World) -> None:
    """Like a person: who sees the datasets does not add them again."""
    if not world.workspace.entries():
        world.add(copy_text(), root_text())


def _whole(world: World) -> None:
    _add(world)
    world.pull(ROOT, COPY)


def _rename(world: World) -> None:
    if ROOT in world.heads():
        world.rename(ROOT, "org.example.renamed")


def _reset(world: World) -> None:
    """Take back the root's last block, which the copy has not consumed."""
    blocks = world.dataset(ROOT).blocks()
    if len(blocks) == 6:
        world.reset(ROOT, blocks[-2].hash)


def _without_key(world: World) -> None:
    _all_pulled_and_more(world)
    world.store.delete(f"keys/{world.workspace.entry(ROOT).dataset_id.rpartition(':')[2]}")


def _import_key(world: World) -> None:
    """The manifests are sorted: the root was the first to get a key."""
    world.workspace.import_key(next(known_keys()))


def _drop_and_rebuild(world: World) -> None:
    world.drop(COPY)
    world.pull(COPY)


def _delete(world: World, name: str) -> None:
    if name in world.heads():
        world.delete(name, recursive=True)


def _collect(world: World) -> None:
    """However young: a store on disk has the machine's clock, not the world's."""
    world.collect(age=-(10**16))


def _litter(world: World) -> None:
    """A block that nobody saw, a part, a plan of an old head, a key, a chain without a name."""
    _all_pulled_and_more(world)
    identity = world.workspace.entry(COPY).dataset_id.rpartition(":")[2]
    for key in (
        f"datasets/{ROOT}/blocks/1620",
        f"datasets/{ROOT}/data/1620",
        f"plans/{identity}/1620",
        "keys/fed01",
        "datasets/org.example.cut/refs/head",
    ):
        world.store.put(key, b"left")


# Each of two datasets: its key, no head left of an earlier attempt, the seed and its head, two
# blocks and their head. Then the journal, two names in the catalog, the end of the journal.
_ADD = 2 * (2 + 2 + 3) + 1 + 2 + 1
_INGEST = 3  # part, block, head
_STEP = 5  # plan, part, block, head, end of the plan
_EDIT = 4  # two blocks, one head, the folder in the catalog


def _edit(world: World) -> None:
    text = root_text().replace("in/*.csv", "more/*.csv").replace("value INT", "value INT, more INT")
    world.edit(ROOT, text, base=world.folder / "elsewhere")


def _replace(world: World) -> None:
    """Like a person: who sees the new dataset does not replace it again."""
    if world.heads().keys() == {ROOT, COPY} and world.dataset(COPY).state().next_offset:
        world.add(root_text(), copy_text(), replace=True, first_key=10)


FLOWS = {
    "add": Flow(given=_nothing, run=_add, writes=_ADD),
    "pull a root": Flow(given=_added, run=lambda world: world.pull(ROOT), writes=2 * _INGEST),
    "first pull of a derivative": Flow(
        given=_root_pulled, run=lambda world: world.pull(COPY), writes=_STEP
    ),
    "next pull of a derivative": Flow(
        given=_all_pulled_and_more, run=lambda world: world.pull(COPY), writes=_STEP
    ),
    "edit a root": Flow(given=_root_pulled, run=_edit, writes=_EDIT),
    # Each of two: as when it is added, and two folders that move; then the journal, its two names.
    "replace": Flow(given=_all_pulled_and_more, run=_replace, writes=_ADD + 2 * 2),
    "the whole way": Flow(given=_nothing, run=_whole, writes=_ADD + 2 * _INGEST + _STEP),
}
CHANGES = {
    # Journal, folder, old name, new name, end of the journal.
    "rename": Flow(given=_all_pulled_and_more, run=_rename, writes=5),
    # The name; then four blocks, a part, the head, the key.
    "delete": Flow(given=_all_pulled_and_more, run=lambda world: _delete(world, COPY), writes=8),
    # Journal, two names, end of the journal; then all that was stored.
    "delete with dependents": Flow(
        given=_all_pulled_and_more, run=lambda world: _delete(world, ROOT), writes=4 + 18
    ),
    "key import": Flow(given=_without_key, run=_import_key, writes=1),
    "reset": Flow(given=_all_pulled_and_more, run=_reset, writes=1),
    # What was dropped, the file, the map; the file again, no longer dropped.
    "drop and rebuild": Flow(given=_all_pulled_and_more, run=_drop_and_rebuild, writes=3 + 2 + 5),
    "collect": Flow(given=_litter, run=_collect, writes=5),
}
STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda _: MemoryStore(),
    "local": lambda folder: LocalStore(folder / "store"),
}


@contextmanager
def _cut(world: World, fuse: Fuse) -> Iterator[None]:
    """Inside, the world's writes burn the fuse; a cut ends here."""
    below = world.store
    world.store = CuttingStore(below=below, fuse=fuse)
    try:
        yield
    except Cut:
        pass
    finally:
        world.store = below


def _uncut(flow: Flow, folder: Path, *, collected: bool = False) -> dict[str, bytes]:
    world = World(folder=folder)
    flow.given(world)
    fuse = Fuse()
    with _cut(world, fuse):
        flow.run(world)
    assert fuse.writes == flow.writes
    if collected:
        _collect(world)
    return world.content()


def _check_whole(world: World) -> None:
    """All datasets are visible or none, and each one that is proves itself."""
    heads = world.heads()
    assert set(heads) in (set(), {ROOT, COPY})
    for name in heads:
        assert world.verify(name).findings == ()


def _check_same(world: World, uncut: dict[str, bytes]) -> None:
    """The same bytes; a plan that was committed but not yet forgotten may be left."""
    content = world.content()
    left = {key for key in content if key not in uncut}
    assert all(key.startswith("plans/") for key in left)
    assert {key: content[key] for key in uncut} == uncut


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", FLOWS)
def test_after_any_cut_the_next_run_gives_the_same_bytes(
    name: str, store: str, tmp_path: Path
) -> None:
    flow = FLOWS[name]
    uncut = _uncut(flow, tmp_path / "uncut")
    for at in range(1, flow.writes + 1):
        for after in _BEFORE_OR_AFTER:
            folder = tmp_path / f"{at}-{after}"
            world = World(folder=folder, store=STORES[store](folder))
            flow.given(world)
            fuse = Fuse(at=at, after=after)
            with _cut(world, fuse):
                flow.run(world)
            assert fuse.blown
            _check_whole(world)
            flow.run(world)
            _check_same(world, uncut)
            _check_whole(world)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", CHANGES)
def test_after_any_cut_of_a_change_it_is_done_or_not_and_the_next_run_does_it(
    name: str, store: str, tmp_path: Path
) -> None:
    flow = CHANGES[name]
    uncut = _uncut(flow, tmp_path / "uncut", collected=True)
    for at in range(1, flow.writes + 1):
        for after in _BEFORE_OR_AFTER:
            folder = tmp_path / f"{at}-{after}"
            world = World(folder=folder, store=STORES[store](folder))
            flow.given(world)
            before = set(world.heads())
            with _cut(world, Fuse(at=at, after=after)):
                flow.run(world)
            heads = set(world.heads())
            assert heads in (before, {key.split("/")[1] for key in uncut if "catalog/" in key})
            assert [each.damage for each in world.fsck() if each.damage] == []
            for each in heads:
                if not world.dataset(each).is_dropped():
                    assert world.verify(each).findings == ()
            flow.run(world)
            _collect(world)
            assert world.content() == uncut


@pytest.mark.parametrize("after", _BEFORE_OR_AFTER)
def test_a_cut_while_the_block_index_is_written_is_no_matter(after: bool, tmp_path: Path) -> None:
    flow, pace = FLOWS["the whole way"], Pace(lag=1, segment=2)
    counted, plain = Fuse(), _uncut(flow, tmp_path / "plain")
    world = World(folder=tmp_path / "uncut", pace=pace)
    flow.given(world)
    with _cut(world, counted):
        flow.run(world)
    assert counted.writes > flow.writes
    for at in range(1, counted.writes + 1):
        world = World(folder=tmp_path / f"{at}", pace=pace)
        flow.given(world)
        with _cut(world, Fuse(at=at, after=after)):
            flow.run(world)
        _check_whole(world)
        flow.run(world)
        _check_whole(world)
        content = {key: data for key, data in world.content().items() if "/info/" not in key}
        assert {key: content.get(key) for key in plain} == plain
        for name in world.heads():
            dataset = world.dataset(name)
            assert dataset.state() == chain.fold(dataset.blocks())
            assert dataset.check_links() == len(dataset.blocks())


def test_adding_survives_a_cut_in_its_recovery(tmp_path: Path) -> None:
    flow = FLOWS["add"]
    uncut = _uncut(flow, tmp_path / "uncut")
    for first in range(1, flow.writes + 1):
        for second in range(1, flow.writes + 1):
            world = World(folder=tmp_path / f"{first}-{second}")
            flow.given(world)
            for fuse in (Fuse(at=first), Fuse(at=second, after=True)):
                with _cut(world, fuse):
                    flow.run(world)
            flow.run(world)
            _check_same(world, uncut)


def test_what_another_one_added_and_could_not_finish_is_not_added_over(tmp_path: Path) -> None:
    world = World(folder=tmp_path)
    _nothing(world)
    workspace = world.workspace  # opened before there is a journal to roll forward
    with _cut(world, Fuse(at=_ADD - 3, after=True)):
        _add(world)
    assert world.store.size("adding") is not None
    (key,) = itertools.islice(known_keys(), 5, 6)
    seed = Seed(dataset_id=signing.dataset_id(key), dataset_kind=DatasetKind.ROOT)
    mine = NewDataset(name=ROOT, key=key, events=(seed,), base=tmp_path)
    with pytest.raises(ConflictError, match="already exists"):
        workspace.add([mine], now=TIME)
    _check_whole(world)
    assert set(world.heads()) == {ROOT, COPY}


@pytest.mark.parametrize("at", range(1, _STEP))
def test_a_claimed_step_is_run_as_claimed_however_late_and_whatever_came_since(
    at: int, tmp_path: Path
) -> None:
    flow = FLOWS["first pull of a derivative"]
    uncut = _uncut(flow, tmp_path / "uncut")
    world = World(folder=tmp_path / "cut")
    flow.given(world)
    with _cut(world, Fuse(at=at, after=True)):
        flow.run(world)
    world.clock.time = Instant(TIME + 1_000_000)
    world.write("3.csv", (9, "later", 9))
    world.pull(ROOT)
    flow.run(world)
    *first, last = world.dataset(COPY).blocks()
    assert first[-1].hash.encode() == uncut[f"datasets/{COPY}/refs/head"]
    assert last.block.system_time == world.clock.time
    ids = {request.transaction_id for request in world.engine.requests}
    assert len(ids) == 2
    assert world.verify(COPY).findings == ()


@pytest.mark.parametrize("after", _BEFORE_OR_AFTER)
@pytest.mark.parametrize("at", range(1, 2 * _INGEST + 1))
def test_no_row_is_taken_in_twice_or_lost_by_a_later_pull(
    at: int, after: bool, tmp_path: Path
) -> None:
    world = World(folder=tmp_path)
    _added(world)
    with _cut(world, Fuse(at=at, after=after)):
        world.pull(ROOT)
    world.clock.time = Instant(TIME + 1_000_000)
    world.pull(ROOT)
    state = world.dataset(ROOT).state()
    assert state.schema is not None
    rows = world.dataset(ROOT).tail(10, state.schema, state.vocabulary)
    assert rows.column("value").to_pylist() == [1, 2, 3]
    assert rows.column("offset").to_pylist() == [0, 1, 2]
