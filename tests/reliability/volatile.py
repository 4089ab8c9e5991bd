"""The disk of `disk.py` as a FUSE file system: `python -m tests.reliability.volatile MOUNT LOG`.

It serves until it is unmounted, then writes all operations to the log. Making the folder
`.mark-TEXT` at the top makes nothing, but writes the mark down.
"""

import errno
import os
import pickle
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mfusepy

from tests.conftest import REPOSITORY
from tests.reliability.disk import ROOT, Disk, Node, Operation

SECONDS = 30
_MARK = ".mark-"


class VolatileFiles(mfusepy.Operations):
    """See mfusepy.Operations; a file handle is the number of a node."""

    use_ns = True

    def __init__(self, log: Path) -> None:
        self._disk = Disk()
        self._log = log
        self._done: list[Operation] = []

    def _do(self, name: str, *arguments: Any) -> int:
        self._done.append((name, arguments))
        self._disk.do(self._done[-1])
        return 0

    def _find(self, path: str) -> int:
        number = ROOT
        for name in filter(None, path.split("/")):
            names = self._disk.nodes[number].names
            if names is None or name not in names:
                raise mfusepy.FuseOSError(errno.ENOENT)
            number = names[name]
        return number

    def _place(self, path: str) -> tuple[int, str]:
        folder, _, name = path.rpartition("/")
        return self._find(folder), name

    def destroy(self, path: str) -> None:
        self._log.write_bytes(pickle.dumps(self._done))

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        node = self._disk.nodes[self._find(path) if fh is None else fh]
        now = time.time_ns()
        times = {"st_mtime": now, "st_atime": now, "st_ctime": now}
        size = len(node.content) or len(node.link or "")
        owner = {"st_uid": os.geteuid(), "st_gid": os.getegid()}
        return {"st_mode": _kind(node) | node.mode, "st_nlink": 1, "st_size": size} | times | owner

    def readdir(self, path: str, fh: int) -> list[str]:
        return [".", "..", *(self._disk.nodes[self._find(path)].names or {})]

    def readlink(self, path: str) -> str:
        return self._disk.nodes[self._find(path)].link or ""

    def mkdir(self, path: str, mode: int) -> int:
        parent, name = self._place(path)
        if parent == ROOT and name.startswith(_MARK):
            return self._do("mark", name.removeprefix(_MARK))
        return self._do("make", parent, name, mode, "folder")

    def symlink(self, target: str, source: str) -> int:
        return self._do("make", *self._place(target), 0o777, "link", source)

    def create(self, path: str, mode: int, fi: int | None = None) -> int:
        self._do("make", *self._place(path), mode & 0o7777, "file")
        return len(self._disk.nodes) - 1

    def open(self, path: str, flags: int) -> int:
        return self._find(path)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        return bytes(self._disk.nodes[fh].content[offset : offset + size])

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        self._do("write", fh, offset, data)
        return len(data)

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        return self._do("truncate", self._find(path) if fh is None else fh, length)

    def chmod(self, path: str, mode: int) -> int:
        return self._do("chmod", self._find(path), mode & 0o7777)

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        return self._do("sync", fh)

    def fsyncdir(self, path: str, datasync: int, fh: int) -> int:
        return self._do("sync", self._find(path))

    def rename(self, old: str, new: str) -> int:
        return self._do("rename", *self._place(old), *self._place(new))

    def unlink(self, path: str) -> int:
        return self._do("remove", *self._place(path))

    def rmdir(self, path: str) -> int:
        if self._disk.nodes[self._find(path)].names:
            raise mfusepy.FuseOSError(errno.ENOTEMPTY)
        return self._do("remove", *self._place(path))

    def statfs(self, path: str) -> dict[str, int]:
        free = 1 << 20
        return {"f_bsize": 4096, "f_blocks": free, "f_bavail": free, "f_bfree": free}


def _kind(node: Node) -> int:
    if node.link is not None:
        return stat.S_IFLNK
    return stat.S_IFREG if node.names is None else stat.S_IFDIR


def mark(mount: Path, text: str) -> None:
    """Write a mark down."""
    try:
        (mount / f"{_MARK}{text}").mkdir()
    except FileNotFoundError:
        return  # it was not made, as promised


@contextmanager
def mounted(mount: Path, done: list[Operation]) -> Iterator[None]:
    """A new disk, mounted; `done` gets all operations at the end."""
    log = mount.with_name(f"{mount.name}.log")
    mount.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.reliability.volatile", str(mount), str(log)]
    with subprocess.Popen(command, cwd=REPOSITORY) as serving:
        try:
            deadline = time.monotonic() + SECONDS
            while not mount.is_mount():
                assert serving.poll() is None, "the file system ended"
                assert time.monotonic() < deadline, "the file system was not mounted"
                time.sleep(0.01)
            yield
        finally:
            subprocess.run(["fusermount3", "-u", str(mount)], check=False)
            serving.wait(SECONDS)
    done.extend(pickle.loads(log.read_bytes()))
    shutil.rmtree(mount)


if __name__ == "__main__":
    mfusepy.FUSE(VolatileFiles(Path(sys.argv[2])), sys.argv[1], foreground=True, nothreads=True)
