"""A store in a folder. fsync of file and folder before anything is acknowledged."""

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pyarrow as pa

from odf_coordinator.errors import NotFound, RefConflict, StorageError

_STAGED = ".tmp-"
_LOCK = ".lock"


class LocalStore:
    """Keys are paths below a folder. A name that starts with a dot is ours and never a key."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def get(self, key: str) -> bytes:
        """See ports.Store."""
        with _told(key):
            return self._path(key).read_bytes()

    def open(self, key: str) -> pa.NativeFile:
        """See ports.Store; the file is mapped."""
        with _told(key):
            path = self._path(key)
            return pa.memory_map(str(path)) if path.stat().st_size else pa.BufferReader(b"")

    def put(self, key: str, content: bytes | Path, *, private: bool = False) -> None:
        """See ports.Store; a file on the same disk is moved, not copied."""
        with _told(key):
            target = self._path(key)
            make_folder(target.parent)
            with _staged(target.parent, content, private=private) as staged:
                staged.rename(target)
            sync_folder(target.parent)

    def size(self, key: str) -> int | None:
        """See ports.Store."""
        with _told(key):
            path = self._path(key)
            return path.stat().st_size if path.is_file() else None

    def list(self, prefix: str) -> list[str]:
        """See ports.Store."""
        with _told(prefix):
            folder = self._path(prefix.removesuffix("/")) if prefix else self._root
            found = [
                path.relative_to(self._root).as_posix()
                for path in folder.rglob("*")
                if path.is_file() and not path.name.startswith(".")
            ]
        return sorted(found)

    def delete(self, key: str) -> None:
        """See ports.Store."""
        with _told(key):
            path = self._path(key)
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
                sync_folder(path.parent)

    def swap(self, key: str, *, expected: bytes | None, new: bytes) -> None:
        """See ports.Store; a lock beside the key keeps other processes out meanwhile."""
        with _told(key):
            path = self._path(key)
            make_folder(path.parent)
            with locked(path.parent / _LOCK):
                found = path.read_bytes() if path.exists() else None
                if found != expected:
                    raise RefConflict(key, expected=expected, found=found)
                self.put(key, new)

    def at(self, prefix: str) -> Self:
        """See ports.Store."""
        return type(self)(self._path(prefix))

    def _path(self, key: str) -> Path:
        parts = key.split("/")
        if any(part in ("", ".", "..") or part.startswith(".") for part in parts):
            raise StorageError(f"not a key: {key!r}")
        return self._root.joinpath(*parts)


class FileLocks:
    """Locks as files in a folder; the system lets go of them when their holder dies."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextlib.contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """See ports.Locks."""
        with _told(name):
            make_folder(self._root)
        with locked(self._root / name):
            yield


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file, which is made if need be and stays."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, so that they survive a power cut."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make the names in a folder survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _staged(folder: Path, content: bytes | Path, *, private: bool) -> Iterator[Path]:
    """A complete file in `folder` under a name that nobody reads; removed if it is not renamed."""
    descriptor, name = tempfile.mkstemp(prefix=_STAGED, dir=folder)
    staged = Path(name)
    try:
        with os.fdopen(descriptor, "r+b") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                _take(content, staged, file.fileno())
        staged.chmod(0o600 if private else 0o644)
        with staged.open("r+b") as file:
            os.fsync(file.fileno())
        yield staged
    finally:
        staged.unlink(missing_ok=True)


def _take(source: Path, staged: Path, descriptor: int) -> None:
    """The bytes of `source` as `staged`: renamed where that is possible, else copied."""
    try:
        source.rename(staged)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with source.open("rb") as reader, os.fdopen(os.dup(descriptor), "wb") as writer:
            shutil.copyfileobj(reader, writer, 1 << 20)
        source.unlink()


@contextlib.contextmanager
def _told(key: str) -> Iterator[None]:
    """The system's errors as ours."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"no {key} ({error.filename})") from error
    except OSError as error:
        hint = "free some space and try again" if error.errno == errno.ENOSPC else ""
        raise StorageError(f"{key}: {error.strerror} ({error.filename})", hint=hint) from error
