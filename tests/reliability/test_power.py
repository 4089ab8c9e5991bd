"""R3: the power fails after every operation on a disk that forgets what was not synced."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.reliability.conftest import Case
from tests.reliability.disk import Disk, Lost, Operation
from tests.reliability.stories import (
    DERIVED_STORIES,
    STORIES,
    Chains,
    Story,
    chains,
    lay_out,
    mistakes_in,
    mistakes_of_retry,
    must,
)

TryAll = Callable[[Iterable[Case]], None]
pytestmark = [
    pytest.mark.reliability("R3"),
    pytest.mark.fuse,
    pytest.mark.timeout(7200),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A story told on a disk that can lose its power: all operations, and where it began."""

    story: Story
    folder: Path
    operations: list[Operation]
    start: int
    end: int
    before: Chains
    after: Chains

    def cuts(self) -> Iterator[Case]:
        """Every moment from the story's beginning to its end, with each way to lose things."""
        for lost in Lost:
            disk = Disk()
            for number, operation in enumerate(self.operations[: self.end + 1]):
                if number >= self.start:
                    name = f"{number}, lost: {lost.value}, then would come {operation}"
                    yield name, partial(self.mistakes, disk, lost, done=number == self.end)
                disk.do(operation)

    def mistakes(self, disk: Disk, lost: Lost, *, done: bool) -> list[str]:
        """What is wrong with what is there when the power is back."""
        inside = self.folder / ".odf"
        shutil.rmtree(inside, ignore_errors=True)
        disk.after_power_cut(inside, lost)
        found = mistakes_in(self.folder)
        now = chains(self.folder)
        found += [f"{name} lost what was acknowledged" for name in self._forgotten(now)]
        if done and now != self.after:
            found.append(f"acknowledged, but gone: {now}, not {self.after}")
        return found + mistakes_of_retry(self.folder, self.story, self.after)

    def _forgotten(self, now: Chains) -> list[str]:
        """Datasets whose earlier blocks are not there, and that the story does not take away."""
        return [
            name
            for name, blocks in self.before.items()
            if now.get(name, [])[: len(blocks)] != blocks
            and not (name not in now and name not in self.after)
        ]


def _record(folder: Path, story: Story, engines: Path | None) -> Recorded:
    from tests.reliability.volatile import mark, mounted

    inside, done = folder / ".odf", list[Operation]()
    folder.mkdir()
    with mounted(inside, done):
        lay_out(folder, engines)
        for command in story.given:
            must(folder, *command)
        before = chains(folder)
        mark(inside, "start")
        must(folder, *story.command)
        mark(inside, "end")
        after = chains(folder)
    return Recorded(
        story=story,
        folder=folder,
        operations=done,
        start=done.index(("mark", ("start",))),
        end=done.index(("mark", ("end",))),
        before=before,
        after=after,
    )


@pytest.mark.parametrize("name", STORIES)
def test_a_power_cut_after_every_operation(name: str, tmp_path: Path, try_all: TryAll) -> None:
    recorded = _record(tmp_path / "workspace", STORIES[name], None)
    try_all(recorded.cuts())


@pytest.mark.spark
@pytest.mark.parametrize("name", DERIVED_STORIES)
def test_a_power_cut_after_every_operation_with_an_engine(
    name: str, tmp_path: Path, try_all: TryAll, engines: Path
) -> None:
    recorded = _record(tmp_path / "workspace", DERIVED_STORIES[name], engines)
    try_all(recorded.cuts())
