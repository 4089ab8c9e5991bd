"""A store in memory: for tests and for trying things out. Real, and as strict as the others."""

import threading
from pathlib import Path
from typing import Self

import pyarrow as pa

from odf_coordinator.errors import NotFound, RefConflict
from odf_coordinator.model.timeline import Instant
from odf_coordinator.ports import Clock


class MemoryStore:
    """Keys in a dictionary; one lock makes every change atomic between threads."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock
        self._content: dict[str, bytes] = {}
        self._written: dict[str, Instant] = {}
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
            self._keep(self._prefix + key, data)

    def size(self, key: str) -> int | None:
        """See ports.Store."""
        content = self._content.get(self._prefix + key)
        return None if content is None else len(content)

    def modified(self, key: str) -> Instant | None:
        """See ports.Store; without a clock, the beginning of time."""
        return self._written.get(self._prefix + key)

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
            self._written.pop(self._prefix + key, None)

    def swap(self, key: str, *, expected: bytes | None, new: bytes) -> None:
        """See ports.Store."""
        with self._lock:
            found = self._content.get(self._prefix + key)
            if found != expected:
                raise RefConflict(key, expected=expected, found=found)
            self._keep(self._prefix + key, new)

    def move(self, prefix: str, to: str) -> None:
        """See ports.Store."""
        source, target = f"{self._prefix}{prefix}/", f"{self._prefix}{to}/"
        with self._lock:
            for key in [key for key in self._content if key.startswith(source)]:
                moved = target + key.removeprefix(source)
                self._content[moved] = self._content.pop(key)
                self._written[moved] = self._written.pop(key)

    def at(self, prefix: str) -> Self:
        """See ports.Store."""
        below = type(self)(self._clock)
        below._content, below._written = self._content, self._written
        below._lock = self._lock
        below._prefix = f"{self._prefix}{prefix}/"
        return below

    def _keep(self, key: str, data: bytes) -> None:
        self._content[key] = data
        self._written[key] = self._clock.now() if self._clock else Instant(0)
