"""Kill the real command, or let the system refuse, at calls spread over each flow.

`make reliability` does it at every call.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.sweep import FLOWS, Sweep

KILLS, ERRORS = 18, 12
MISSED = 1

pytestmark = pytest.mark.strace


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[pytest.mark.spark] if flow.spark else [])
        for name, flow in FLOWS.items()
    ],
)
def sweep(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sweep]:
    name: str = request.param
    folder: Path = tmp_path_factory.mktemp("sweep") / name.replace(" ", "-")
    prepared = Sweep(name, folder)
    yield prepared
    prepared.close()


def test_after_a_kill_the_workspace_is_whole_and_the_next_run_ends_alike(sweep: Sweep) -> None:
    cases = sweep.kills(KILLS)
    assert len(cases) == KILLS
    swept = sweep.run(cases)
    assert swept.wrong == ()
    assert swept.missed <= MISSED


def test_an_error_of_the_system_is_told_and_never_a_success(sweep: Sweep) -> None:
    cases = sweep.errors(ERRORS)
    assert {injected for injected, _ in cases} >= {"error=EIO", "error=ENOSPC"}
    swept = sweep.run(cases)
    assert swept.wrong == ()
    assert swept.missed <= MISSED
