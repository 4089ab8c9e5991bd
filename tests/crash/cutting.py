"""A store whose owner dies at a chosen write."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from odf_coordinator.model.timeline import Instant
from odf_coordinator.ports import Store


class Cut(BaseException):
    """The process ended here. Not an Exception: nothing of ours may handle it."""


@dataclass(kw_only=True)
class Fuse:
    """Counts writes and blows at the n-th (from 1; 0 never), before or after it happened.

    Who is dead writes no more: every later write is cut as well.
    """

    at: int = 0
    after: bool = False
    writes: int = 0
    blown: bool = False

    @contextmanager
    def burning(self) -> Iterator[None]:
        """Around one write."""
        if self.blown:
            raise Cut
        self.writes += 1
        due = self.writes == self.at
        if due and not self.after:
            self.blow()
        yield
        if due:
            self.blow()

    def blow(self) -> None:
        """End here."""
        self.blown = True
        raise Cut


@dataclass(frozen=True, kw_only=True)
class CuttingStore:
    """See ports.Store. Reads and writes the store below, until the fuse blows."""

    below: Store
    fuse: Fuse

    def get(self, key: str) -> bytes:
        """See ports.Store."""
        return self.below.get(key)

    def open(self, key: str) -> pa.NativeFile:
        """See ports.Store."""
        return self.below.open(key)

    def size(self, key: str) -> int | None:
        """See ports.Store."""
        return self.below.size(key)

    def modified(self, key: str) -> Instant | None:
        """See ports.Store."""
        return self.below.modified(key)

    def list(self, prefix: str) -> list[str]:
        """See ports.Store."""
        return self.below.list(prefix)

    def put(self, key: str, content: bytes | Path, *, private: bool = False) -> None:
        """See ports.Store."""
        with self.fuse.burning():
            self.below.put(key, content, private=private)

    def delete(self, key: str) -> None:
        """See ports.Store."""
        with self.fuse.burning():
            self.below.delete(key)

    def swap(self, key: str, *, expected: bytes | None, new: bytes) -> None:
        """See ports.Store."""
        with self.fuse.burning():
            self.below.swap(key, expected=expected, new=new)

    def move(self, prefix: str, to: str) -> None:
        """See ports.Store."""
        with self.fuse.burning():
            self.below.move(prefix, to)

    def at(self, prefix: str) -> "CuttingStore":
        """See ports.Store."""
        return CuttingStore(below=self.below.at(prefix), fuse=self.fuse)
