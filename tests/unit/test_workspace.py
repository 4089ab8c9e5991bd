"""What a workspace refuses to believe of its own files, and to overwrite."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from odf_coordinator.errors import ConflictError, IntegrityError
from odf_coordinator.rules import signing

from tests.worlds import COPY, OTHER, ROOT, World, copy_text, known_keys, root_text


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A root and its copy, with rows to pull."""
    world = World(folder=tmp_path)
    world.add(root_text(), copy_text())
    world.write("1.csv", (1, "A", 1))
    return world


def _key_of(world: World, name: str) -> str:
    return "keys/" + world.workspace.entry(name).dataset_id.rpartition(":")[2]


@pytest.mark.parametrize("name", [ROOT, COPY])
def test_another_datasets_key_signs_nothing(world: World, name: str) -> None:
    if name == COPY:
        world.pull(ROOT)
    strange = list(known_keys())[-1]
    world.store.put(_key_of(world, name), strange.private_bytes_raw().hex().encode())
    before = world.heads()
    with pytest.raises(IntegrityError, match=_key_of(world, name)) as caught:
        world.pull(name)
    assert signing.dataset_id(strange) in str(caught.value)
    assert "copy" in caught.value.hint
    assert world.heads() == before


def _whole(world: World) -> None:
    world.pull(ROOT)


def _without_its_head(world: World) -> None:
    world.pull(ROOT)
    world.store.delete(f"datasets/{ROOT}/blocks/{world.dataset(ROOT).head()}")


def _with_a_head_that_is_none(world: World) -> None:
    world.pull(ROOT)
    world.store.put(f"datasets/{ROOT}/refs/head", b"nothing")
    for key in world.store.list(f"datasets/{ROOT}/data/"):
        world.store.delete(key)


@pytest.mark.parametrize("given", [_whole, _without_its_head, _with_a_head_that_is_none])
def test_a_chain_with_data_that_the_catalog_lost_is_not_replaced(
    world: World, given: Callable[[World], None]
) -> None:
    given(world)
    identity = world.workspace.entry(ROOT).dataset_id
    world.store.delete(f"catalog/{ROOT}")
    before = world.content()
    with pytest.raises(ConflictError, match=f"datasets/{ROOT} holds") as caught:
        world.add(root_text(OTHER), root_text())
    assert (identity in str(caught.value)) is (given is _whole)
    assert "catalog" in caught.value.hint
    assert world.content() == before


@pytest.mark.parametrize("head", [None, b"nothing", b""])
def test_what_an_interrupted_add_left_is_replaced(world: World, head: bytes | None) -> None:
    world.store.delete(f"catalog/{ROOT}")
    if head is not None:
        world.store.put(f"datasets/{ROOT}/refs/head", head)
    world.add(root_text())
    assert len(world.dataset(ROOT).blocks()) == 3


_IDENTITY = signing.dataset_id(next(known_keys()))


@pytest.mark.parametrize(
    "change",
    [
        {"name": OTHER},
        {"name": "../x"},
        {"name": 1},
        {"dataset_id": "did:odf:x"},
        {"dataset_id": _IDENTITY[:-1]},
        {"dataset_id": None},
        {"base": None},
    ],
)
def test_an_entry_that_cannot_be_is_damage(world: World, change: dict[str, object]) -> None:
    key = f"catalog/{ROOT}"
    entry = json.loads(world.store.get(key)) | change
    world.store.put(key, json.dumps(entry).encode())
    with pytest.raises(IntegrityError, match=f"{key} is damaged"):
        world.workspace.entries()
