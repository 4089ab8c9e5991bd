"""A disk in memory that knows what would survive a power cut, and writes down all that is done.

A file's bytes survive once the file is synced, a folder's names once the folder is: no more than
POSIX promises. The same operations on a new disk give the same disk, so a power cut after any of
them can be looked at later.
"""

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

ROOT = 0
Operation = tuple[str, tuple[Any, ...]]


class Lost(Enum):
    """What a power cut takes of that which was not synced. A disk may do either, or less."""

    EVERYTHING = "names and bytes"
    BYTES = "bytes, not names"


@dataclass(slots=True)
class Node:
    """A file (bytes), a folder (names) or a link; `kept` is what was synced last."""

    mode: int
    content: bytearray = field(default_factory=bytearray)
    names: dict[str, int] | None = None
    link: str | None = None
    kept: bytes = b""
    kept_names: dict[str, int] = field(default_factory=dict)


class Disk:
    """Nodes by number. Each method that changes something is an operation."""

    def __init__(self) -> None:
        self.nodes = [Node(mode=0o755, names={})]

    def do(self, operation: Operation) -> None:
        """Carry out an operation that was written down."""
        name, arguments = operation
        getattr(self, name)(*arguments)

    def make(self, parent: int, name: str, mode: int, kind: str, link: str = "") -> None:
        """A new file, folder or link; it has the next number."""
        node = Node(mode=mode)
        if kind == "folder":
            node.names = {}
        elif kind == "link":
            node.link = link
        self.nodes.append(node)
        self._names(parent)[name] = len(self.nodes) - 1

    def write(self, number: int, offset: int, data: bytes) -> None:
        """Bytes into a file."""
        content = self.nodes[number].content
        content.extend(bytes(max(0, offset - len(content))))
        content[offset : offset + len(data)] = data

    def truncate(self, number: int, length: int) -> None:
        """Cut a file, or lengthen it with zeros."""
        content = self.nodes[number].content
        del content[length:]
        content.extend(bytes(length - len(content)))

    def chmod(self, number: int, mode: int) -> None:
        """Who may do what."""
        self.nodes[number].mode = mode

    def sync(self, number: int) -> None:
        """The bytes of a file, or the names in a folder, survive from now on."""
        node = self.nodes[number]
        node.kept = bytes(node.content)
        node.kept_names = dict(node.names or {})

    def rename(self, source: int, old: str, target: int, new: str) -> None:
        """Another name, perhaps in another folder."""
        self._names(target)[new] = self._names(source).pop(old)

    def remove(self, parent: int, name: str) -> None:
        """A name goes; who has the file open still has it."""
        del self._names(parent)[name]

    def mark(self, text: str) -> None:
        """Nothing changes: somebody outside says how far they are."""

    def _names(self, number: int) -> dict[str, int]:
        names = self.nodes[number].names
        assert names is not None
        return names

    def after_power_cut(self, folder: Path, lost: Lost) -> None:
        """What is on the disk when the power is back, as a real folder that is not there yet."""
        self._restore(ROOT, folder, lost)

    def _restore(self, number: int, path: Path, lost: Lost) -> None:
        node = self.nodes[number]
        if node.link is not None:
            path.symlink_to(node.link)
        elif node.names is None:
            path.write_bytes(node.kept)
            path.chmod(node.mode & 0o777)
        else:
            path.mkdir()
            names = node.names if lost is Lost.BYTES else node.kept_names
            for name, below in names.items():
                self._restore(below, path / name, lost)
