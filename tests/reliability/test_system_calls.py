"""R1 and R2: a kill, and each error of the disk, at every system call that changes a workspace."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest

from tests.reliability.conftest import Case
from tests.reliability.stories import DERIVED_STORIES, STORIES
from tests.reliability.sweep import ERRORS, Sweep, prepare

_ALL = [*STORIES, *(pytest.param(name, marks=pytest.mark.spark) for name in DERIVED_STORIES)]
TryAll = Callable[[Iterable[Case]], None]
pytestmark = [pytest.mark.strace, pytest.mark.timeout(7200)]


@pytest.fixture(scope="module", params=_ALL)
def sweep(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engines: Path
) -> Sweep:
    """A story, ready."""
    folder = tmp_path_factory.mktemp("story") / "workspace"
    if request.param in STORIES:
        return prepare(folder, STORIES[request.param])
    return prepare(folder, DERIVED_STORIES[request.param], engines)


@pytest.mark.reliability("R1")
def test_a_kill_at_every_call(sweep: Sweep, try_all: TryAll) -> None:
    try_all((at.what, partial(sweep.killed, at)) for at in sweep.points)


@pytest.mark.reliability("R2")
def test_every_error_at_every_call(sweep: Sweep, try_all: TryAll) -> None:
    try_all(
        (f"{error} at {at.what}", partial(sweep.failed, at, error))
        for error in ERRORS
        for at in sweep.points
    )
