"""Sweep the real command: a kill, or an error, at its system calls; then look, then run it again.

A new flow is one more entry of FLOWS.
"""

import contextlib
import io
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from odf_coordinator.cli import main as cli
from odf_coordinator.model.event import AddData, ExecuteTransform
from odf_coordinator.wiring import App, Options

from tests.crash import syscalls
from tests.crash.syscalls import Point
from tests.engines import Quiet
from tests.worlds import COPY, OTHER, ROOT, copy_text, root_text, rows_text

KILL = "signal=SIGKILL"
_FAILURES = range(1, 10)
# What a command waits for (an engine, a child process) may move the numbers of its calls a little.
_TRIES = 3
_COPY_QUERY = f"select event_time, city, value from `{ROOT}` where value > 1"


@dataclass(frozen=True, kw_only=True)
class Desk:
    """A folder with a workspace, in which commands are run: in this process, or traced."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """What the commands see beside the usual."""
        return {"ODF_RUNNER": "process"}

    def odf(self, *arguments: str) -> tuple[int, str]:
        """The next command: its exit code, and all that it told."""
        told = io.StringIO()
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told), self._here():
            code = cli.run(list(arguments))
        return code, told.getvalue()

    def must(self, *arguments: str) -> str:
        """A command that has to succeed; what it told."""
        code, told = self.odf(*arguments)
        assert code == 0, f"odf {' '.join(arguments)}: exit {code}\n{told}"
        assert "Traceback" not in told
        return told

    def facts(self) -> dict[str, list[tuple[object, ...]]]:
        """What must be the same however often it was interrupted: all but times, keys, hashes."""
        app = App(Options(workspace=str(self.folder)), listener=Quiet())
        found: dict[str, list[tuple[object, ...]]] = {}
        for entry in app.workspace.entries():
            facts = found.setdefault(entry.name, [])
            for sealed in app.workspace.dataset(entry.name).blocks():
                event = sealed.block.event
                fact: tuple[object, ...] = (type(event).__name__,)
                if isinstance(event, AddData | ExecuteTransform):
                    data = event.new_data
                    rows = (data.logical_hash, data.offset_interval) if data else None
                    fact = (*fact, event.prev_offset, rows, event.new_watermark)
                facts.append(fact)
        return found

    @contextlib.contextmanager
    def _here(self) -> Iterator[None]:
        before = {name: os.environ.get(name) for name in self.environment}
        os.environ.update(self.environment)
        try:
            with contextlib.chdir(self.folder):
                yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


@dataclass(frozen=True, kw_only=True)
class Flow:
    """What is there before, which command is hit, and how a person would run it again."""

    given: Callable[[Desk], object]
    arguments: tuple[str, ...]
    again: Callable[[Desk], object]
    spark: bool = False


def _lay_out(desk: Desk) -> None:
    desk.must("init")
    (desk.folder / "in").mkdir()
    for name, rows in {
        "1.csv": [(1, "A", 1), (2, "B", 2)],
        "2.csv": [(3, "A", 3)],
        "3.csv": [(4, "C", 4), (5, "D", 5), (6, "E", 6)],
    }.items():
        (desk.folder / "in" / name).write_text(rows_text(*rows))
    (desk.folder / "root.yaml").write_text(root_text())
    (desk.folder / "other.yaml").write_text(root_text(OTHER))
    (desk.folder / "copy.yaml").write_text(copy_text(query=_COPY_QUERY))


def _added(desk: Desk) -> None:
    _lay_out(desk)
    desk.must("add", "root.yaml")


def _derived(desk: Desk) -> None:
    _added(desk)
    desk.must("add", "copy.yaml")
    desk.must("pull", ROOT)


def _add_again(desk: Desk) -> None:
    """Like a person: who sees the datasets does not add them again."""
    if not desk.facts():
        desk.must("add", "root.yaml", "other.yaml")


FLOWS = {
    "add": Flow(given=_lay_out, arguments=("add", "root.yaml", "other.yaml"), again=_add_again),
    "pull a root": Flow(
        given=_added, arguments=("pull", ROOT), again=lambda desk: desk.must("pull", ROOT)
    ),
    "pull a derivative": Flow(
        given=_derived,
        arguments=("pull", COPY),
        again=lambda desk: desk.must("pull", COPY),
        spark=True,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What a sweep found: points that were hit, points that could not be, what went wrong."""

    hit: int
    missed: int
    wrong: tuple[str, ...]


class Sweep:
    """One flow, prepared once in a folder; each case starts from that."""

    def __init__(self, name: str, folder: Path) -> None:
        self.flow, self._name = FLOWS[name], name
        folder.mkdir(parents=True)
        self._desk = Desk(folder=folder.resolve())
        self._kept = folder.with_name(f"{folder.name}-kept")
        self.flow.given(self._desk)
        shutil.copytree(folder / ".odf", self._kept, ignore=shutil.ignore_patterns("run"))
        self.points = syscalls.points(
            self.flow.arguments, cwd=self._desk.folder, environment=self._desk.environment
        )
        self._whole = self._desk.facts()

    def close(self) -> None:
        """Stop the engines that were started for it."""
        if self.flow.spark:
            self._desk.must("engine", "stop", "--force")

    def kills(self, count: int | None = None) -> list[tuple[str, Point]]:
        """A kill at every point, or at so many."""
        found = [point for point in self.points if syscalls.can_be_cut(point)]
        return [(KILL, point) for point in syscalls.spread(found, count or len(found))]

    def errors(self, count: int | None = None) -> list[tuple[str, Point]]:
        """Every error at every point; or at so many points, with the errors in turn."""
        if count is None:
            return [
                (f"error={error}", point)
                for point in self.points
                for error in syscalls.errors_at(point)
            ]
        found = []
        for number, point in enumerate(syscalls.spread(self.points, count)):
            errors = syscalls.errors_at(point)
            found.append((f"error={errors[number % len(errors)]}", point))
        return found

    def run(self, cases: Sequence[tuple[str, Point]]) -> Swept:
        """Each case by itself."""
        hit, wrong = 0, []
        for injected, point in cases:
            try:
                hit += any(self._case(injected, point) for _ in range(_TRIES))
            except AssertionError as error:
                hit += 1
                wrong.append(f"{self._name}: {injected} at {point.text[:160]}:\n{error}")
        return Swept(hit=hit, missed=len(cases) - hit, wrong=tuple(wrong))

    def _case(self, injected: str, point: Point) -> bool:
        """Whether the point was hit; raises AssertionError when what must hold does not."""
        self._start_anew()
        ended = syscalls.run_with(
            injected,
            point,
            self.flow.arguments,
            cwd=self._desk.folder,
            environment=self._desk.environment,
        )
        if not ended.hit:
            return False
        if injected != KILL:
            assert "Traceback" not in ended.told, ended.told
            if ended.code == 0:
                assert self._desk.facts() == self._whole, f"false success\n{ended.told}"
            else:
                assert ended.code in _FAILURES, f"exit {ended.code}\n{ended.told}"
                assert "error: " in ended.told, f"exit {ended.code} without a word\n{ended.told}"
        self._check_readable()
        self.flow.again(self._desk)
        assert self._desk.facts() == self._whole
        self._check_readable()
        return True

    def _check_readable(self) -> None:
        self._desk.must("ls")
        self._desk.must("verify", "--integrity-only")
        if "fsck" in cli.COMMANDS:
            self._desk.must("fsck")

    def _start_anew(self) -> None:
        """All but the warm engine, which knows nothing of the workspace."""
        inside = self._desk.folder / ".odf"
        for path in inside.iterdir():
            if path.name == "run":
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        shutil.copytree(self._kept, inside, dirs_exist_ok=True)
