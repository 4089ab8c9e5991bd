"""Engines as child processes: the same server, in bubblewrap when it works here, else bare."""

import functools
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from odf_coordinator.engine.slots import Slot, ended_early, wait_until
from odf_coordinator.errors import EngineError, SandboxUnavailable, storage_errors

SANDBOXED, BARE = "bubblewrap", "process"
ENGINE = "odf_engine_spark"
PACKAGES = (ENGINE, "odf_wire", "pyspark", "pyarrow", "grpc", "flatbuffers", "google.protobuf")
PRINT_BUILD_ID = f"from {ENGINE}.build import build_id; print(build_id())"
STATE_FILE = "process.json"
LOG_CHARACTERS = 4000
STOP_SECONDS = 10.0
INPUTS, OUTPUTS, RUNTIME = "/exchange/in", "/exchange/out", "/run/odf"
# What programs need of the system; a user's own files, /run (sockets of services) and /var are not
# among them.
SYSTEM_FOLDERS = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix", "gnu")
SYSTEM_SETTINGS = (
    *("alternatives", "group", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime"),
    *("nsswitch.conf", "passwd", "java-17-openjdk"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """An engine that can be run here: Python packages, Java, and bubblewrap if it works."""

    java: Path
    python_path: tuple[Path, ...]
    needed: tuple[Path, ...]
    bubblewrap: Path | None


def find_installation(java_home: Path | None) -> Installation:
    """Find all that an engine process needs. Raises SandboxUnavailable naming what is missing."""
    parents = {name: _package_parent(name) for name in PACKAGES}
    missing = sorted(name for name, parent in parents.items() if parent is None)
    if missing:
        raise SandboxUnavailable(
            f"the engine's packages are not installed here: {', '.join(missing)}",
            hint="install the extra `engine` (`pip install 'odf[engine]'`), or use Docker",
        )
    java = shutil.which("java", path=str(java_home / "bin") if java_home else None)
    if java is None:
        raise SandboxUnavailable(
            "Java was not found", hint="install openjdk-17-jre-headless, or set JAVA_HOME"
        )
    ours = tuple(dict.fromkeys(parent for parent in parents.values() if parent is not None))
    prefixes = (Path(sys.prefix), Path(sys.base_prefix), Path(java).resolve().parent.parent)
    return Installation(
        java=Path(java).resolve(),
        python_path=ours,
        needed=tuple(dict.fromkeys((*prefixes, *(path.resolve() for path in prefixes), *ours))),
        bubblewrap=usable_bubblewrap(),
    )


def _package_parent(name: str) -> Path | None:
    """The folder that makes a package importable; None when it is not installed."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))).parents[name.count(".")]


@functools.cache
def usable_bubblewrap() -> Path | None:
    """The bwrap command, if it can make its walls on this machine; tried once."""
    found = shutil.which("bwrap")
    if found is None:
        return None
    probe = [found, *walls((), readable={}, writable={}), "/usr/bin/true"]
    done = subprocess.run(probe, check=False, capture_output=True)
    return None if done.returncode else Path(found)


def walls(
    needed: tuple[Path, ...], *, readable: dict[str, Path], writable: dict[str, Path]
) -> list[str]:
    """Arguments of bwrap: no network but loopback, a read-only root with what is needed, no more.

    `readable` and `writable` are folders by their place inside.
    """
    arguments = ["--unshare-all", "--cap-drop", "ALL", "--hostname", "localhost"]
    arguments += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]  # noqa: S108 - private
    arguments += _system_mounts()
    for path in needed:
        if not path.is_relative_to("/usr"):
            arguments += ["--ro-bind", str(path), str(path)]
    for inside, path in readable.items():
        arguments += ["--ro-bind", str(path), inside]
    for inside, path in writable.items():
        arguments += ["--bind", str(path), inside]
    return [*arguments, "--remount-ro", "/", "--chdir", "/"]


def _system_mounts() -> list[str]:
    arguments = []
    for name in SYSTEM_FOLDERS:
        path = Path("/") / name
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            arguments += ["--ro-bind", str(path), str(path)]
    for name in SYSTEM_SETTINGS:
        arguments += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLauncher:
    """Starts and stops engine processes, at most one in each slot.

    They outlive the command that started them, until they have been idle for a while.
    """

    installation: Installation
    build_id: str
    idle_seconds: float

    @property
    def runner(self) -> str:
        """As a block records it."""
        return SANDBOXED if self.installation.bubblewrap else BARE

    @property
    def image_digest(self) -> str | None:
        """A process has no image."""
        return None

    @property
    def owner(self) -> int:
        """The user that the engine runs as: ourselves."""
        return os.geteuid()

    def is_running(self, slot: Slot) -> bool:
        """Whether the slot's process still runs."""
        return running_pid(slot.folder.root) is not None

    def start(self, slot: Slot) -> None:
        """Start a process in a slot whose folders are ready. Raises EngineError."""
        command = self.command(slot)
        fresh = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        try:
            pid = os.posix_spawn(
                command[0],
                command,
                _environment(self.installation),
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, str(slot.log), fresh, 0o600),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
                setsid=True,
            )
        except OSError as error:
            raise EngineError(f"the engine's process did not start: {error}") from error
        state = {"pid": pid, "started": _started(pid), "runner": self.runner}
        with storage_errors(str(slot.folder.root)):
            (slot.folder.root / STATE_FILE).write_text(json.dumps(state))

    def command(self, slot: Slot) -> list[str]:
        """The server's command line: the paths of a container inside walls, else the real ones."""
        server = [sys.executable, "-P", "-m", ENGINE, "--java", str(self.installation.java)]
        folder = slot.folder
        if self.installation.bubblewrap is None:
            places = (str(folder.inputs), str(folder.outputs), str(slot.runtime))
            prefix = []
        else:
            places = (INPUTS, OUTPUTS, RUNTIME)
            walled = walls(
                self.installation.needed,
                readable={INPUTS: folder.inputs},
                writable={OUTPUTS: folder.outputs, RUNTIME: slot.runtime},
            )
            prefix = [str(self.installation.bubblewrap), *walled]
        inputs, outputs, runtime = places
        return [
            *(*prefix, *server, "--socket", f"{runtime}/{slot.socket.name}"),
            *("--inputs", inputs, "--outputs", outputs, "--scratch", f"{outputs}/scratch"),
            *("--idle-exit", str(self.idle_seconds)),
        ]

    def check_alive(self, slot: Slot) -> None:
        """Raises EngineError, with what the process printed last, when it has ended."""
        if self.is_running(slot):
            return
        tail = slot.log.read_text(errors="replace")[-LOG_CHARACTERS:].strip()
        raise ended_early(tail)

    def stop(self, slot: Slot, *, keep_log: bool = False) -> None:
        """End the slot's process, if there is one; its log stays in the slot either way."""
        _ = keep_log
        stop_process(slot.folder.root)


def ask_build_id(installation: Installation) -> str:
    """The build id of the engine as it is installed now. Raises SandboxUnavailable."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", PRINT_BUILD_ID],
        check=False,
        capture_output=True,
        text=True,
        env=_environment(installation),
    )
    if done.returncode:
        reason = done.stderr.strip().rpartition("\n")[2]
        raise SandboxUnavailable(f"the engine is not complete: {reason}", hint="run `make setup`")
    return done.stdout.strip()


def running_pid(folder: Path) -> int | None:
    """The process that an engine's folder records, if it still runs."""
    try:
        state = json.loads((folder / STATE_FILE).read_text())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    pid, started = int(state["pid"]), state["started"]
    return pid if started is not None and _started(pid) == started else None


def recorded_runner(folder: Path) -> str:
    """How the process that an engine's folder records is run."""
    return str(json.loads((folder / STATE_FILE).read_text())["runner"])


def stop_process(folder: Path) -> None:
    """End the process group that an engine's folder records, politely, then by force."""
    pid = running_pid(folder)
    if pid is None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(pid, number)
        except ProcessLookupError:
            return
        if wait_until(lambda: _group_is_gone(pid), seconds=STOP_SECONDS):
            return
    raise EngineError(f"the engine's process {pid} cannot be ended")


def _group_is_gone(pid: int) -> bool:
    _reap(pid)
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return True
    return False


def _started(pid: int) -> int | None:
    """When a process began, in clock ticks since boot: with its id, who it is. None when ended."""
    _reap(pid)
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else int(fields[19])


def _reap(pid: int) -> None:
    """Let the system forget a child of ours that has ended."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def _environment(installation: Installation) -> dict[str, str]:
    """All that the engine sees of the environment: nothing of the user's."""
    return {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": ":".join(map(str, installation.python_path)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "JAVA_HOME": str(installation.java.parent.parent),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "HOME": "/nonexistent",
    }
