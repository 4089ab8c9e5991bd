"""A story with a fault at any of its points: what is there afterwards, and where a retry leads."""

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from tests.reliability import system_calls
from tests.reliability.stories import (
    Chains,
    Story,
    chains,
    lay_out,
    mistakes_in,
    mistakes_of_retry,
    must,
    restore,
)
from tests.reliability.system_calls import Ended, Missed, Point

ERRORS = ("ENOSPC", "EIO", "EMFILE")
_KILLED = (-9, 137)
_FAILED = 1
_TRIES = 20
Case = TypeVar("Case")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A story that is ready to be told again and again in one folder."""

    folder: Path
    story: Story
    before: Chains
    after: Chains
    points: tuple[Point, ...]

    def killed(self, at: Point) -> list[str]:
        """What is wrong after the command was killed at a point."""
        ended = self._run(at, "signal=SIGKILL")
        found = [] if ended.code in _KILLED else [f"not killed: {ended.code}"]
        return [f"killed at {at.what}: {each}" for each in found + self._mistakes()]

    def failed(self, at: Point, error: str) -> list[str]:
        """What is wrong after one call failed with an error that the disk can give."""
        ended = self._run(at, f"error={error}")
        found = _mistakes_told(ended)
        if ended.code == 0 and chains(self.folder) != self.after:
            found.append("exit code 0, but not everything is there")
        return [f"{error} at {at.what}: {each}" for each in found + self._mistakes()]

    def _mistakes(self) -> list[str]:
        return mistakes_in(self.folder) + mistakes_of_retry(self.folder, self.story, self.after)

    def _run(self, at: Point, fault: str) -> Ended:
        aim = at
        for _ in range(_TRIES):
            restore(self.folder, _snapshot(self.folder))
            try:
                return system_calls.with_fault(
                    self.folder, self.story.command, aim, fault, _log(self.folder)
                )
            except Missed as missed:
                aim = replace(aim, number=max(1, aim.number + missed.by))
        raise AssertionError(f"{at.what} was not met in {_TRIES} runs")


def prepare(folder: Path, story: Story, engines: Path | None = None) -> Sweep:
    """Set the stage, tell the story once, and note its points."""
    lay_out(folder, engines)
    for command in story.given:
        must(folder, *command)
    shutil.copytree(folder, _snapshot(folder), symlinks=True)
    before = chains(folder)
    must(folder, *story.command)  # an engine is warm from now on
    after = chains(folder)
    restore(folder, _snapshot(folder))
    found = system_calls.points(folder, story.command, _log(folder))
    assert chains(folder) == after
    return Sweep(folder=folder, story=story, before=before, after=after, points=tuple(found))


def spread(cases: Sequence[Case], count: int) -> list[Case]:
    """So many of the cases, evenly over all of them, the last one too."""
    count = min(count, len(cases))
    return [cases[(number + 1) * len(cases) // count - 1] for number in range(count)]


def _mistakes_told(ended: Ended) -> list[str]:
    found = []
    if "Traceback" in ended.printed:
        found.append(f"a trace was printed: {ended.printed}")
    if ended.code and not re.search(r"^error: \S", ended.printed, re.MULTILINE):
        found.append(f"no message: {ended.printed!r}")
    if ended.code not in (0, _FAILED):
        found.append(f"exit code {ended.code}: {ended.printed}")
    return found


def _snapshot(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.snapshot")


def _log(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.strace")
