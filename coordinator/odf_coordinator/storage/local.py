"""A store in a folder. fsync of file and folder before anything is acknowledged."""

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pyarrow as pa

from odf_coordinator.errors import (
    IntegrityError,
    NotFound,
    RefConflict,
    StorageError,
    storage_errors,
)
from odf_coordinator.model.report import Leftover
from odf_coordinator.model.timeline import Instant

_STAGED = ".tmp-"
_LOCK = ".lock"


class LocalStore:
    """Keys are paths below a folder. A name that starts with a dot is ours and never a key."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def get(self, key: str) -> bytes:
        """See ports.Store."""
        with _told(key):
            return _bytes_of(self._path(key))

    def open(self, key: str) -> pa.NativeFile:
        """See ports.Store; the file is mapped."""
        with _told(key):
            path = self._path(key)
            status = path.stat()
            _check_regular(path, status.st_mode)
            return pa.memory_map(str(path)) if status.st_size else pa.BufferReader(b"")

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

    def modified(self, key: str) -> Instant | None:
        """See ports.Store."""
        with _told(key):
            path = self._path(key)
            return written(path) if path.is_file() else None

    def list(self, prefix: str) -> list[str]:
        """See ports.Store."""
        with _told(prefix):
            folder = self._path(prefix.removesuffix("/")) if prefix else self._root
            found = [path.relative_to(self._root).as_posix() for path in _files_below(folder)]
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
                found = _bytes_of(path) if path.exists() else None
                if found != expected:
                    raise RefConflict(key, expected=expected, found=found)
                self.put(key, new)

    def move(self, prefix: str, to: str) -> None:
        """See ports.Store; one rename of the folder, unless the target is there already."""
        with _told(prefix):
            source, target = self._path(prefix), self._path(to)
            if not source.is_dir():
                return
            make_folder(target.parent)
            if target.exists() and not source.samefile(target):
                _merge(source, target)
            else:
                source.rename(target)
            for folder in {source.parent, target.parent}:
                sync_folder(folder)

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
        with storage_errors(str(self._root)):
            make_folder(self._root)
        with locked(self._root / name):
            yield

    def held(self) -> list[str]:
        """See ports.Locks."""
        with _told("locks"):
            files = sorted(self._root.iterdir()) if self._root.is_dir() else []
            return [file.name for file in files if _is_locked(file)]


class UnfinishedFiles:
    """Half-written files of a store, its scratch folder, and folders that hold nothing any more."""

    def __init__(self, root: Path, *, scratch: Path) -> None:
        self._root, self._scratch = root, scratch

    def find(self, *, before: Instant) -> list[Leftover]:
        """See ports.Litter."""
        with _told("tmp"):
            found = [
                Leftover(key=self._key(path), size=path.stat().st_size, why="never finished")
                for path in self._files()
                if written(path) < before
            ]
            found.extend(
                Leftover(key=self._key(folder), size=0, why="an empty folder")
                for folder in sorted((self._root / "datasets").glob("*"))
                if _is_hollow(folder) and written(folder) < before
            )
        return found

    def remove(self, leftover: Leftover) -> None:
        """See ports.Litter."""
        with _told(leftover.key):
            path = self._root / leftover.key
            if _is_hollow(path):
                shutil.rmtree(path, ignore_errors=True)
            elif path.is_file():
                path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        scratch = [path for path in self._scratch.rglob("*") if path.is_file()]
        staged = [
            path
            for folder in ("", "catalog", "keys", "plans", "datasets")
            for path in (self._root / folder).glob("**/*" if folder else "*")
            if path.name.startswith(_STAGED) and path.is_file()
        ]
        return sorted({*scratch, *staged})

    def _key(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()


def written(path: Path) -> Instant:
    """When a file or folder was last changed."""
    return Instant(path.stat().st_mtime_ns // 1000)


def _is_hollow(folder: Path) -> bool:
    """A folder in which no key is: at most locks and half-written files."""
    return folder.is_dir() and not any(
        path.is_file() and not path.name.startswith(".") for path in folder.rglob("*")
    )


def _is_locked(file: Path) -> bool:
    descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _merge(source: Path, target: Path) -> None:
    """Move file by file into a folder that is there, then forget the empty folder."""
    for path in sorted(source.rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            moved = target / path.relative_to(source)
            make_folder(moved.parent)
            path.rename(moved)
            sync_folder(moved.parent)
    shutil.rmtree(source)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file, which is made if need be and stays."""
    with storage_errors(str(path)):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        with storage_errors(str(path)):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _bytes_of(path: Path) -> bytes:
    """All bytes of a regular file; what is none could keep us waiting for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        _check_regular(path, os.fstat(descriptor).st_mode)
        return file.read()


def _check_regular(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise IntegrityError(f"{path} is not a regular file", hint="restore it from a copy")


def make_folder(path: Path) -> None:
    """Make a folder and those above it, so that they survive a power cut."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)


def _files_below(folder: Path) -> Iterator[Path]:
    """All files but ours; a folder that cannot be listed raises, it does not count as empty."""
    try:
        listed = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in listed:
        if entry.is_dir(follow_symlinks=False):
            yield from _files_below(Path(entry.path))
        elif entry.is_file() and not entry.name.startswith("."):
            yield Path(entry.path)


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
        raise StorageError.told_by(error, subject=key) from error
