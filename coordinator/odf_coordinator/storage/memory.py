"""A store in memory: for tests and for trying things out. Real, and as strict as the others."""

import threading
from pathlib import Path
from typing import Self

import pyarrow as pa

from odf_coordinator.errors import NotFound, RefConflict


class MemoryStore:
    """Keys in a dictionary; one lock makes every change atomic between threads."""

    def __init__(self) -> None:
        self._content: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._prefix = ""

    def get(self, key: str) -> bytes:
        """See ports.Store."""
        try:
            return self._content[self._prefix + key]
        except KeyError:
            raise NotFound(f"no {self._prefix}{key}") from None

    def open(self, key: str) -> pa.NativeFile:
        """See ports.Store."""
        return pa.BufferReader(self.get(key))

    def put(self, key: str, content: bytes | Path, *, private: bool = False) -> None:
        """See ports.Store; there is nobody to keep private content from."""
        data = content if isinstance(content, bytes) else content.read_bytes()
        with self._lock:
            self._content[self._prefix + key] = data

    def size(self, key: str) -> int | None:
        """See ports.Store."""
        content = self._content.get(self._prefix + key)
        return None if content is None else len(content)

    def list(self, prefix: str) -> list[str]:
        """See ports.Store."""
        whole = self._prefix + prefix
        with self._lock:
            found = [key for key in self._content if key.startswith(whole)]
        return sorted(key.removeprefix(self._prefix) for key in found)

    def delete(self, key: str) -> None:
        """See ports.Store."""
        with self._lock:
            self._content.pop(self._prefix + key, None)

    def swap(self, key: str, *, expected: bytes | None, new: bytes) -> None:
        """See ports.Store."""
        with self._lock:
            found = self._content.get(self._prefix + key)
            if found != expected:
                raise RefConflict(key, expected=expected, found=found)
            self._content[self._prefix + key] = new

    def at(self, prefix: str) -> Self:
        """See ports.Store."""
        below = type(self)()
        below._content, below._lock = self._content, self._lock
        below._prefix = f"{self._prefix}{prefix}/"
        return below
