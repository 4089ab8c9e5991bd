"""Eight writers on one dataset: one winner a block, no fork, no commit lost."""

import multiprocessing
import os
import signal
from multiprocessing.synchronize import Event
from pathlib import Path

from odf_coordinator.storage.local import FileLocks, LocalStore, locked

from tests.crash.racing import race_of_processes, race_of_threads

WRITERS, COMMITS = 8, 40
SECONDS = 60


def test_processes_over_one_folder(tmp_path: Path) -> None:
    race = race_of_processes(tmp_path, writers=WRITERS, commits=COMMITS)
    assert race.wrong == ()
    assert race.commits == WRITERS * COMMITS
    assert race.lost_races > 0  # else nobody raced


def test_threads_over_one_memory() -> None:
    race = race_of_threads(writers=WRITERS, commits=COMMITS)
    assert race.wrong == ()
    assert race.commits == WRITERS * COMMITS


def _hold_for_ever(folder: Path, held: Event) -> None:
    with FileLocks(folder / "locks").hold("dataset-a"), locked(folder / "refs" / ".lock"):
        held.set()
        signal.pause()


def test_a_lock_of_a_killed_process_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / "refs").mkdir()
    start = multiprocessing.get_context("spawn")
    held = start.Event()
    holder = start.Process(target=_hold_for_ever, args=(tmp_path, held))
    holder.start()
    assert held.wait(SECONDS)
    assert holder.pid is not None
    os.kill(holder.pid, signal.SIGKILL)
    holder.join(SECONDS)
    assert holder.exitcode == -signal.SIGKILL
    with FileLocks(tmp_path / "locks").hold("dataset-a"):
        LocalStore(tmp_path).swap("refs/head", expected=None, new=b"1")
    assert LocalStore(tmp_path).get("refs/head") == b"1"
