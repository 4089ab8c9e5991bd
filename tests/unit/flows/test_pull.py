"""Which datasets a pull takes, and in which order."""

from pathlib import Path

import pytest
from odf_coordinator.errors import IntegrityError, Invalid, InvalidText, NotFound
from odf_coordinator.flows.pull import with_inputs
from odf_coordinator.model.identity import DatasetName
from odf_coordinator.model.report import NotPulled, Pulled

from tests.worlds import COPY, OTHER, ROOT, World, copy_text, root_text

# By name the top comes first, by dependency the middle one does.
A, M, Z = (DatasetName(name) for name in ("a.top", "m.side", "z.middle"))


@pytest.fixture
def world(tmp_path: Path) -> World:
    """readings -> z.middle -> a.top; more -> m.side; a.top takes from `more` as well."""
    made = World(folder=tmp_path)
    made.add(
        copy_text(A, Z, OTHER),
        copy_text(M, OTHER),
        copy_text(Z, ROOT),
        root_text(ROOT),
        root_text(OTHER),
    )
    made.write("1.csv", (1, "A", 1))
    return made


def _before(order: list[DatasetName], first: str, second: str) -> bool:
    return order.index(DatasetName(first)) < order.index(DatasetName(second))


def test_inputs_of_inputs_come_first_and_each_once(world: World) -> None:
    order = with_inputs(world.workspace, [A, Z, A])
    assert sorted(order) == sorted([A, Z, ROOT, OTHER])
    assert _before(order, ROOT, Z)
    assert _before(order, Z, A)
    assert _before(order, OTHER, A)


def test_what_nobody_asked_for_is_left_alone(world: World) -> None:
    assert M not in with_inputs(world.workspace, [A])
    assert with_inputs(world.workspace, [OTHER]) == [OTHER]


def test_only_the_named_are_pulled_but_in_order_of_dependency(world: World) -> None:
    pulled = world.pull(A, Z, ROOT)
    assert [each.name for each in pulled] == [ROOT, Z, A]
    assert [each.rows for each in pulled] == [1, 1, 1]


def test_a_derivative_pulled_alone_takes_what_its_inputs_have(world: World) -> None:
    assert [each.blocks for each in world.pull(A)] == [0]
    world.pull(ROOT)
    assert [each.blocks for each in world.pull(A)] == [0]
    world.pull(Z)
    assert [each.rows for each in world.pull(A)] == [1]


def test_one_pull_of_all_leaves_nothing_to_do(world: World) -> None:
    names = [entry.name for entry in world.workspace.entries()]
    assert sum(each.blocks for each in world.pull(*names)) == 5
    assert sum(each.blocks for each in world.pull(*names)) == 0
    assert [world.verify(name).findings for name in names] == [()] * 5


def test_one_that_fails_stops_only_what_derives_from_it(world: World) -> None:
    world.write("2.csv", (2, "A", 2), (3, "B,C", 2))
    told = {each.name: each for each in world.try_pull(A, M, Z, ROOT, OTHER)}
    failed = [each.name for each in told.values() if isinstance(each, NotPulled)]
    assert sorted(failed) == sorted([ROOT, OTHER, M, Z, A])  # both roots read the same files
    root = told[ROOT]
    assert isinstance(root, NotPulled)
    assert isinstance(root.error, Invalid)
    assert (root.blocks, root.rows) == (1, 1)
    middle = told[Z]
    assert isinstance(middle, NotPulled)
    assert (middle.error, middle.waits_for, middle.blocks) == (None, ROOT, 0)


def test_a_damaged_dataset_fails_alone(world: World) -> None:
    world.store.put(f"datasets/{ROOT}/refs/head", b"nonsense")
    told = {each.name: each for each in world.try_pull(A, M, Z, ROOT, OTHER)}
    root, middle, top, side = told[ROOT], told[Z], told[A], told[M]
    assert isinstance(root, NotPulled)
    assert isinstance(root.error, IntegrityError)
    assert isinstance(middle, NotPulled)
    assert isinstance(top, NotPulled)
    assert isinstance(side, Pulled)
    assert side.rows == 1


def test_an_unknown_name_is_told_before_anything_is_pulled(world: World) -> None:
    before = world.content()
    with pytest.raises(NotFound, match=r"a\.tob") as caught:
        world.pull(ROOT, "a.tob")
    assert caught.value.hint == "did you mean 'a.top'?"
    assert world.content() == before


@pytest.mark.parametrize("ring", [("x",), ("x", "y"), ("x", "y", "z")])
def test_a_circle_cannot_be_added(tmp_path: Path, ring: tuple[str, ...]) -> None:
    world = World(folder=tmp_path)
    texts = [
        copy_text(name, following)
        for name, following in zip(ring, (*ring[1:], ring[0]), strict=True)
    ]
    message = "x cannot be an input of itself" if ring == ("x",) else "in a circle: . <- . <- "
    with pytest.raises(InvalidText, match=message) as caught:
        world.add(*texts)
    assert caught.value.problems[0].line == 7
    assert world.content() == {}


def test_what_a_pull_would_do_is_foreseen_and_nothing_is_written(tmp_path: Path) -> None:
    world = World(folder=tmp_path)
    world.add(root_text(), copy_text())
    world.write("1.csv", (1, "A", 1))
    before = world.content()
    told = [(ROOT, "would take in 1 file"), (COPY, "would run after its inputs")]
    assert world.foresee(COPY, ROOT) == told
    assert world.foresee(COPY) == [(COPY, "")]
    assert world.content() == before
    assert world.engine.requests == []
    world.pull(ROOT, COPY)
    assert world.foresee(ROOT, COPY) == [(ROOT, ""), (COPY, "")]
    world.drop(COPY)
    assert world.foresee(COPY) == [(COPY, "would run")]
