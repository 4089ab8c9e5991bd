"""What the core needs from the world: a few small protocols, and what each call promises."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa
from odf_wire import messages

from odf_coordinator.model.event import EnginePin, EngineRun, SourceState
from odf_coordinator.model.report import Leftover
from odf_coordinator.model.source import PollingSource
from odf_coordinator.model.timeline import Instant


class Store(Protocol):
    """Bytes under keys such as `blocks/1620ab`. Each implementation passes the store contract.

    What `put` and `swap` acknowledge survives a power cut. Nothing half-written is ever visible.
    """

    def get(self, key: str) -> bytes:
        """The bytes under a key. Raises NotFound."""

    def open(self, key: str) -> pa.NativeFile:
        """The bytes under a key as a seekable file, for parts that may be large. Raises
        NotFound."""

    def put(self, key: str, content: bytes | Path, *, private: bool = False) -> None:
        """Keep bytes, or the bytes of a file (which may be moved), under a key.

        For content-addressed keys: putting again what is there is no change. `private` content is
        readable by its owner only.
        """

    def size(self, key: str) -> int | None:
        """How many bytes a key has; None when there is no such key."""

    def modified(self, key: str) -> Instant | None:
        """When a key was last written; None when there is no such key."""

    def list(self, prefix: str) -> list[str]:
        """All keys that start with `prefix`, sorted; `prefix` is empty or ends with a slash."""

    def delete(self, key: str) -> None:
        """Forget a key; no error when it is not there."""

    def swap(self, key: str, *, expected: bytes | None, new: bytes) -> None:
        """Compare and swap: the one way to change what is visible.

        `expected=None` means that the key must not exist yet. Raises RefConflict, and then nothing
        has changed.
        """

    def move(self, prefix: str, to: str) -> None:
        """Let all keys below `prefix/` be below `to/`, where nothing is.

        Repeatable: what a cut left undone is done by the same call.
        """

    def at(self, prefix: str) -> "Store":
        """The store of all keys below `prefix/`."""


class Locks(Protocol):
    """Locks between processes, released by the system when their holder dies."""

    def hold(self, name: str) -> AbstractContextManager[None]:
        """Hold the lock `name`, waiting for it while another process has it."""

    def held(self) -> list[str]:
        """The locks that somebody holds at this moment, by name."""


class Litter(Protocol):
    """Files beside the store that only a running command needs: half-written ones, engines'."""

    def find(self, *, before: Instant) -> list[Leftover]:
        """What nobody has touched since `before`, and no running engine uses."""

    def remove(self, leftover: Leftover) -> None:
        """Remove what `find` gave; no error when it is gone."""


class Clock(Protocol):
    """The one place where the present comes from."""

    def now(self) -> Instant:
        """The present."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """One ingest step's worth of rows, and the source state that holds once they are committed."""

    label: str
    size: int
    rows: pa.Table
    state: SourceState


class ExternalSource(Protocol):
    """Fetch, prepare and read behind one call."""

    def poll(
        self, source: PollingSource, *, base: Path, after: SourceState | None
    ) -> Iterator[Fetched]:
        """What the source has to offer after a state: one item per ingest step, in order.

        Rows have the columns that the read step declares, in that order. Raises NotFound when the
        source is not there, Invalid with the place when a row cannot be read. An unchanged
        source gives nothing.
        """


class Listener(Protocol):
    """Hears what a running command does. Must not fail and must not decide."""

    def progress(self, subject: str, stage: str, detail: str = "") -> None:
        """`subject` (a dataset) is now at `stage`."""

    def warning(self, subject: str, message: str) -> None:
        """Something that people should know, though it stops nothing."""

    def clear(self) -> None:
        """What was shown of the progress is over: results come now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The folders of one attempt at a transaction: the engine reads `inputs`, writes `outputs`."""

    name: str
    inputs: Path
    outputs: Path


class Engine(Protocol):
    """One running engine, held by one caller at a time."""

    @property
    def run(self) -> EngineRun:
        """Which engine this is and how it runs, as a block records it."""

    def validate(self, request: messages.ValidateRequest) -> messages.ValidateResult:
        """Raises InvalidQuery, EngineError, EngineLost."""

    def exchange(self, transaction_id: str) -> AbstractContextManager[Exchange]:
        """Fresh folders for one attempt; removed after success, kept for a look after failure."""

    def execute(
        self, request: messages.ExecuteRequest, *, listener: Listener, subject: str
    ) -> messages.ExecuteResult:
        """Run one step over the exchange that the request names; its file is below `outputs`.

        Raises InvalidQuery or EngineError when the engine answered so, EngineLost when it did not
        answer.
        """


class Engines(Protocol):
    """Finds and starts engines."""

    def acquire(self, pin: EnginePin | None) -> AbstractContextManager[Engine]:
        """A warm engine for exclusive use: the pinned one, or the default one of this machine.

        Raises SandboxUnavailable, with the way out, when it cannot be run here.
        """
