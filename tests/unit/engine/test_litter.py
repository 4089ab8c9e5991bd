"""What ended engines leave is litter; what a running one uses is not."""

import json
import os
from pathlib import Path

from odf_coordinator.engine import process, slots
from odf_coordinator.engine.litter import EngineFolders
from odf_coordinator.model.timeline import Instant

ALWAYS = Instant(2**60)
SLOT = "process-0123456789ab-0"


def _slot(tmp_path: Path, pid: int, started: int | None) -> EngineFolders:
    folder = tmp_path / "run" / SLOT
    (folder / "out").mkdir(parents=True)
    (folder / "out" / "rows").write_bytes(b"12345")
    state = json.dumps({"pid": pid, "started": started, "runner": "process"})
    (folder / process.STATE_FILE).write_text(state)
    return EngineFolders(tmp_path / "run", tmp_path / "runtime")


def test_the_folder_of_an_ended_engine_goes(tmp_path: Path) -> None:
    litter = _slot(tmp_path, os.getpid(), 1)  # a process of that id, but begun at another time
    folder = tmp_path / "run" / SLOT
    assert litter.find(before=Instant(folder.stat().st_mtime_ns // 1000)) == []
    (found,) = litter.find(before=ALWAYS)
    assert found.key == f"run/{SLOT}"
    assert found.size > 5
    litter.remove(found)
    litter.remove(found)
    assert not folder.exists()
    assert litter.find(before=ALWAYS) == []


def test_the_folder_of_a_running_engine_stays(tmp_path: Path) -> None:
    started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    assert _slot(tmp_path, os.getpid(), started).find(before=ALWAYS) == []


def test_a_slot_that_is_held_stays(tmp_path: Path) -> None:
    litter = _slot(tmp_path, os.getpid(), 1)
    (found,) = litter.find(before=ALWAYS)
    with slots.locked(tmp_path / "run", SLOT):
        assert litter.find(before=ALWAYS) == []
        litter.remove(found)
    assert (tmp_path / "run" / SLOT).exists()
