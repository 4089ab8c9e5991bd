"""Places for engines: a folder each, a lock that one holder has, a short folder for the socket."""

import fcntl
import hashlib
import os
import shutil
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from odf_coordinator.engine.exchange import EngineFolder
from odf_coordinator.errors import EngineError, SandboxUnavailable, storage_errors

SOCKET_NAME = "engine.sock"
# A Unix socket address has 108 bytes, the last of which is zero.
MAX_SOCKET_PATH = 107
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One place. `name` is unique in a workspace, `key` on a machine; `runtime` has the socket."""

    name: str
    key: str
    folder: EngineFolder
    runtime: Path

    @property
    def socket(self) -> Path:
        """Where the engine answers."""
        return self.runtime / SOCKET_NAME

    @property
    def log(self) -> Path:
        """What the engine printed: of a child process always, of a container after a failure."""
        return self.folder.root / "engine.log"

    def prepare(self) -> None:
        """Make all folders ready for an engine that is about to start.

        Raises SandboxUnavailable when the socket's folder is not ours alone, StorageError.
        """
        with storage_errors(str(self.folder.root)):
            self.folder.prepare()
        claim_runtime_base(self.runtime.parent)
        with storage_errors(str(self.runtime)):
            shutil.rmtree(self.runtime, ignore_errors=True)
            self.runtime.mkdir(mode=0o700)
            if self.folder.owner != os.geteuid():
                os.chown(self.runtime, self.folder.owner, self.folder.owner)

    def clear(self) -> None:
        """Remove what a stopped engine leaves, kept exchanges included."""
        shutil.rmtree(self.runtime, ignore_errors=True)
        shutil.rmtree(self.folder.root, ignore_errors=True)

    def answers(self) -> bool:
        """Whether somebody accepts connections at the socket."""
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(self.socket))
            except OSError:
                return False
        return True


def make_slot(*, run_dir: Path, runtime_dir: Path, name: str, owner: int) -> Slot:
    """The slot of a name. Raises SandboxUnavailable when its socket's path would be too long."""
    root = run_dir.resolve() / name
    key = hashlib.sha256(os.fsencode(root)).hexdigest()[:8]
    slot = Slot(
        name=name,
        key=key,
        folder=EngineFolder(root=root, owner=owner),
        runtime=runtime_dir.absolute() / key,
    )
    if len(os.fsencode(slot.socket)) > MAX_SOCKET_PATH:
        raise SandboxUnavailable(
            f"the socket path {slot.socket} is longer than {MAX_SOCKET_PATH} bytes",
            hint="choose a shorter runtime folder (XDG_RUNTIME_DIR)",
        )
    return slot


def default_runtime_dir(xdg_runtime_dir: str | None) -> Path:
    """Where sockets live: the user's runtime folder, or a private folder of the user in /tmp."""
    if xdg_runtime_dir and Path(xdg_runtime_dir).is_dir():
        return Path(xdg_runtime_dir) / "odf"
    return Path(f"/tmp/odf-{os.geteuid()}")  # noqa: S108 - claimed and checked before use


def claim_runtime_base(folder: Path) -> None:
    """Make the folder, or check that it is ours alone. Raises SandboxUnavailable, StorageError."""
    with storage_errors(str(folder)):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise SandboxUnavailable(
            f"{folder} belongs to somebody else", hint="remove it, or set XDG_RUNTIME_DIR"
        )
    if status.st_mode & 0o077:
        folder.chmod(0o700)


@contextmanager
def locked(run_dir: Path, name: str) -> Iterator[bool]:
    """Hold a slot's lock if it is free; gives whether it was. Released when the holder dies.

    Raises StorageError.
    """
    file = run_dir / f"{name}.lock"
    with storage_errors(str(file)):
        run_dir.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def wait_until(condition: Callable[[], bool], *, seconds: float) -> bool:
    """Wait until the condition holds; False when it still does not after so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def wait_until_answering(slot: Slot, *, check_alive: Callable[[], None], seconds: float) -> None:
    """Wait for an engine that was just started.

    `check_alive` raises when it has died. Raises EngineError when it takes too long.
    """

    def answering() -> bool:
        if slot.answers():
            return True
        check_alive()
        return False

    if not wait_until(answering, seconds=seconds):
        raise EngineError(
            f"the engine was not ready after {seconds:.0f} seconds", hint=f"see {slot.log}"
        )


def ended_early(tail: str) -> EngineError:
    """The error about an engine that was never ready; `tail` is what it printed last."""
    printed = f"; it printed last:\n{tail}" if tail else ""
    return EngineError(f"the engine ended before it was ready{printed}")
