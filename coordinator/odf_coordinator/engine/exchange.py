"""The folders that a coordinator and one engine share, and the exchange of one attempt in them.

Below an engine's folder, `in/` holds what the engine may only read, `out/` what it writes; each
attempt at a transaction has its own folder in both, `<first 16 of the transaction id>-<number>`.
Normative text: docs/formats/exchange.md.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from odf_coordinator.errors import storage_errors
from odf_coordinator.ports import Exchange

SCRATCH = "scratch"
PREFIX_LENGTH = 16
_ATTEMPT = re.compile(rf"([0-9A-Za-z_]{{1,{PREFIX_LENGTH}}})-(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFolder:
    """The folder of one engine; `owner` is the user that the engine runs as."""

    root: Path
    owner: int

    @property
    def inputs(self) -> Path:
        """What the engine may read."""
        return self.root / "in"

    @property
    def outputs(self) -> Path:
        """What the engine may write."""
        return self.root / "out"

    @property
    def scratch(self) -> Path:
        """Spark's own files: on disk, because they may be larger than memory."""
        return self.outputs / SCRATCH

    def prepare(self) -> None:
        """Make the folders, with an empty scratch folder; exchanges that are there stay."""
        self.root.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self.scratch, ignore_errors=True)
        for folder in (self.inputs, self.outputs, self.scratch):
            _make(folder, self.owner)

    @contextmanager
    def exchange(self, transaction_id: str) -> Iterator[Exchange]:
        """Fresh folders for one attempt; removed after success, kept for inspection after failure.

        What failed attempts at other transactions left here is removed first.
        """
        prefix = transaction_prefix(transaction_id)
        with storage_errors(str(self.root)):
            self._forget_others(prefix)
            name = f"{prefix}-{self._next_number(prefix)}"
            opened = Exchange(name=name, inputs=self.inputs / name, outputs=self.outputs / name)
            for folder in (opened.inputs, opened.outputs):
                _make(folder, self.owner)
        yield opened
        with storage_errors(str(self.root)):
            for folder in (opened.inputs, opened.outputs):
                shutil.rmtree(folder)

    def hand_over(self, name: str) -> None:
        """Let the engine's user read the inputs of an exchange, whatever the creator's umask was.

        A file with a second name elsewhere is left as it is: it belongs to whoever stores it.
        """
        if self.owner == os.geteuid():
            return
        for path in (self.inputs / name).rglob("*"):
            status = path.lstat()
            if not path.is_symlink() and (path.is_dir() or status.st_nlink == 1):
                os.chown(path, self.owner, self.owner)

    def _forget_others(self, prefix: str) -> None:
        for folder in (*self.inputs.iterdir(), *self.outputs.iterdir()):
            match = _ATTEMPT.fullmatch(folder.name)
            if match and match[1] != prefix:
                shutil.rmtree(folder)

    def _next_number(self, prefix: str) -> int:
        names = [path.name for path in (*self.inputs.iterdir(), *self.outputs.iterdir())]
        found = [match for name in names if (match := _ATTEMPT.fullmatch(name))]
        return max((int(match[2]) for match in found if match[1] == prefix), default=0) + 1


def transaction_prefix(transaction_id: str) -> str:
    """The part of a transaction id that names its folders; safe as a file name."""
    return re.sub(r"[^0-9A-Za-z]", "_", transaction_id.rpartition(":")[2])[:PREFIX_LENGTH]


def _make(folder: Path, owner: int) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    if owner != os.geteuid():
        os.chown(folder, owner, owner)
