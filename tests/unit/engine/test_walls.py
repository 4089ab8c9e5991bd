"""What surrounds an engine, as values: container options and bubblewrap arguments."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
from odf_coordinator.engine.process import (
    Installation,
    ProcessLauncher,
    running_pid,
    stop_process,
    usable_bubblewrap,
    walls,
)
from odf_coordinator.engine.sandbox import Limits, container_options
from odf_coordinator.engine.slots import Slot, make_slot, wait_until
from odf_coordinator.errors import EngineError

LIMITS = Limits(memory="3g", cpus=1.5, idle_seconds=60)


@pytest.fixture
def slot(tmp_path: Path) -> Slot:
    made = make_slot(
        run_dir=tmp_path / "run", runtime_dir=tmp_path / "rt", name="s-0", owner=os.geteuid()
    )
    made.prepare()
    return made


def test_a_container_has_every_wall(slot: Slot) -> None:
    options = container_options(slot, workspace="/w", limits=LIMITS)
    assert options["network_mode"] == "none"
    assert options["read_only"] is True
    assert options["cap_drop"] == ["ALL"]
    assert options["security_opt"] == ["no-new-privileges"]
    assert options["hostname"] == "localhost"
    assert options["init"] is True
    assert options["pids_limit"] > 0
    assert options["mem_limit"] == options["memswap_limit"] == "3g"
    assert options["nano_cpus"] == 1_500_000_000
    assert "noexec" in options["tmpfs"]["/tmp"]
    assert {"privileged", "ports", "volumes", "devices"}.isdisjoint(options)
    writable = {mount["Target"] for mount in options["mounts"] if not mount["ReadOnly"]}
    assert writable == {"/exchange/out", "/run/odf"}
    assert options["labels"]["odf.workspace"] == "/w"


def test_other_limits_are_other_options(slot: Slot) -> None:
    def digest(limits: Limits) -> str:
        options = container_options(slot, workspace="/w", limits=limits)
        return str(options["labels"]["odf.options"])

    assert digest(LIMITS) == digest(LIMITS)
    assert digest(LIMITS) != digest(dataclasses.replace(LIMITS, memory="4g"))


def test_bubblewrap_hides_what_is_not_needed() -> None:
    arguments = walls((Path("/home/me/venv"),), readable={"/i": Path("/x")}, writable={})
    assert "--unshare-all" in arguments
    assert "--share-net" not in arguments
    mounted = {
        arguments[index + 1]
        for index, word in enumerate(arguments)
        if word in ("--ro-bind", "--bind")
    }
    assert {"/home/me/venv", "/x"} <= mounted
    assert mounted.isdisjoint({"/", "/run", "/var", "/home", "/root", "/etc"})
    assert arguments[-4:] == ["--remount-ro", "/", "--chdir", "/"]


@pytest.mark.skipif(usable_bubblewrap() is None, reason="bubblewrap does not work here")
def test_bubblewrap_keeps_its_promises(slot: Slot) -> None:
    code = """
import os, socket
print(*[line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]])
print(*[path for path in ("/run/docker.sock", "/etc/shadow", "/root/.ssh") if os.path.exists(path)])
for place in ("/", "/usr", "/etc", "/exchange/in", "/exchange/out", "/run/odf", "/tmp"):
    try:
        open(f"{place}/probe", "w").close()
        print(place)
    except OSError:
        pass
"""
    prefixes = (Path(sys.prefix), Path(sys.base_prefix))
    folders = {"/exchange/out": slot.folder.outputs, "/run/odf": slot.runtime}
    walled = walls(prefixes, readable={"/exchange/in": slot.folder.inputs}, writable=folders)
    command = [str(usable_bubblewrap()), *walled, sys.executable, "-I", "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    network, secrets, *writable = done.stdout.split("\n")
    assert (network, secrets) == ("lo", "")
    assert writable == ["/exchange/out", "/run/odf", "/tmp", ""]


def launcher(java: str) -> ProcessLauncher:
    installation = Installation(java=Path(java), python_path=(), needed=(), bubblewrap=None)
    return ProcessLauncher(installation=installation, build_id="b", idle_seconds=1)


def test_a_process_that_ends_at_once_tells_why(slot: Slot) -> None:
    starter = launcher("/nonexistent")
    starter.start(slot)
    assert wait_until(lambda: not starter.is_running(slot), seconds=30)
    with pytest.raises(EngineError, match="it printed last"):
        starter.check_alive(slot)


def test_a_recorded_process_that_is_another_one_now_is_left_alone(slot: Slot) -> None:
    state = slot.folder.root / "process.json"
    state.write_text(f'{{"pid": {os.getpid()}, "started": 1, "runner": "process"}}')
    assert running_pid(slot.folder.root) is None
    stop_process(slot.folder.root)
