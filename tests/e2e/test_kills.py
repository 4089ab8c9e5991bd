"""Kill the coordinator, or the container, in the middle of a pull: the next pull carries on.

After the kill the whole workspace is copied. The pull that carries on there and the one that
carries on here must end in the same chain, byte by byte: the saved plan decides, not the moment.
"""

import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Desk, desk_in
from tests.e2e.manifests import STATIONS, WARM

ROOT, DERIVED = "net.example.stations", "net.example.warm"
ROWS = 300_000
SECONDS = 120

pytestmark = pytest.mark.docker


@pytest.fixture
def busy_desk(tmp_path: Path) -> Iterator[Desk]:
    """A root with many rows, a derivative that has not seen them, a warm engine."""
    folder = tmp_path / "here"
    folder.mkdir()
    for desk in desk_in(folder, "docker"):
        lines = (f"2024-03-01T06:00:00Z,station {n % 97},{n % 40},true" for n in range(ROWS))
        desk.write("stations.csv", "\n".join(["event_time,station,temp_c,wet", *lines]) + "\n")
        desk.write("stations.yaml", STATIONS)
        slow = "sha2(repeat(concat(station, temp_c), 50), 256) AS digest"
        desk.write("warm.yaml", WARM.replace("temp_c * 2 AS doubled", slow))
        desk.odf("add", "stations.yaml", "warm.yaml")
        desk.odf("pull", ROOT)
        yield desk


def _wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def _is_in_the_engine(desk: Desk) -> bool:
    """The plan is saved and the inputs lie in the exchange folder."""
    return any(path.is_file() for path in desk.folder.glob(".odf/run/*/in/*/*.arrow"))


def _containers(desk: Desk) -> list[str]:
    workspace = f"label=odf.workspace={desk.folder / '.odf/run'}"
    command = ["docker", "ps", "--quiet", "--filter", workspace]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.split()


def _blocks(desk: Desk) -> dict[str, bytes]:
    return {
        str(path.relative_to(desk.folder)): path.read_bytes()
        for path in desk.folder.glob(".odf/datasets/*/*/*")
        if path.parent.name in ("blocks", "data", "refs") and not path.name.startswith(".")
    }


def _both_carry_on_alike(desk: Desk, head: str) -> None:
    assert desk.head(DERIVED) == head
    (plan,) = [path for path in desk.folder.glob(".odf/plans/*/*") if path.name == head]
    copy = desk.folder.with_name("there")
    shutil.copytree(desk.folder, copy, ignore=shutil.ignore_patterns("run"))
    other = Desk(folder=copy, environment=desk.environment)
    expected = f"+{ROWS // 40 * 38} rows"
    try:
        assert expected in desk.odf("pull", DERIVED)
        assert expected in other.odf("pull", DERIVED)
        assert _blocks(desk) == _blocks(other)
        assert not plan.exists()
        assert "replay 1/1" in desk.odf("verify", "-r", DERIVED)
    finally:
        other.odf("engine", "stop", "--force")


def test_a_killed_coordinator_carries_on_with_the_same_chain(busy_desk: Desk) -> None:
    head = busy_desk.head(DERIVED)
    with busy_desk.start("pull", DERIVED) as running:
        _wait_until(lambda: _is_in_the_engine(busy_desk))
        running.send_signal(signal.SIGKILL)
        running.communicate(timeout=SECONDS)
    assert running.returncode == -signal.SIGKILL
    _both_carry_on_alike(busy_desk, head)


def test_a_killed_container_carries_on_with_the_same_chain(busy_desk: Desk) -> None:
    head = busy_desk.head(DERIVED)
    with busy_desk.start("pull", DERIVED) as running:
        _wait_until(lambda: _is_in_the_engine(busy_desk))
        for container in _containers(busy_desk):
            subprocess.run(["docker", "kill", container], check=True, capture_output=True)
        out, err = running.communicate(timeout=SECONDS)
    assert running.returncode == 7, out + err
    assert "run the same command again" in err
    _both_carry_on_alike(busy_desk, head)
