"""The real command, killed at a system call or told of a full or broken disk: nothing is lost.

Some points of every story, evenly spread; `make reliability` does all of them.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reliability.stories import DERIVED_STORIES, STORIES, odf
from tests.reliability.sweep import ERRORS, Sweep, prepare, spread

KILLS = 9
FAULTS = 4
_ALL = [
    *STORIES,
    *(pytest.param(name, marks=pytest.mark.spark) for name in ("pull of a derivative",)),
]
pytestmark = pytest.mark.strace


@pytest.fixture(scope="module", params=_ALL)
def sweep(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sweep]:
    """A story, ready."""
    folder: Path = tmp_path_factory.mktemp("story") / "workspace"
    if request.param in STORIES:
        yield prepare(folder, STORIES[request.param])
        return
    yield prepare(folder, DERIVED_STORIES[request.param], folder.with_name("engines"))
    odf(folder, "engine", "stop", "--force")


def test_a_killed_command_leaves_a_whole_workspace_and_the_next_one_carries_on(
    sweep: Sweep,
) -> None:
    assert [each for at in spread(sweep.points, KILLS) for each in sweep.killed(at)] == []


def test_an_error_of_the_disk_is_told_and_the_next_command_carries_on(sweep: Sweep) -> None:
    cases = [(at, error) for at in sweep.points for error in ERRORS]
    assert [each for at, error in spread(cases, FAULTS) for each in sweep.failed(at, error)] == []
