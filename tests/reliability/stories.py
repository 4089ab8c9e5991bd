"""Commands that change a workspace, as a person runs them, and what must be true afterwards."""

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from odf_coordinator.cli import main as command_line
from odf_coordinator.dataset import Dataset
from odf_coordinator.model.event import AddData, Event, ExecuteTransform
from odf_coordinator.wiring import App, Options

from tests.engines import Quiet
from tests.worlds import COPY, OTHER, ROOT, copy_text, root_text, rows_text

ODF = Path(sys.executable).with_name("odf")
ENVIRONMENT = {"ODF_RUNNER": "process", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
_NEW = "org.example.observed"
_QUERY = f"select event_time, city, value * 2 as twice from `{ROOT}`"
_EDITED = root_text(files="../in/*.csv").replace("value INT", "value INT, note STRING")

Chains = dict[str, list[tuple[str, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A command line after some others. `done` is what it exits with when run once too often."""

    given: tuple[tuple[str, ...], ...]
    command: tuple[str, ...]
    done: int = 0


_ADD = ("add", "root.yaml", "other.yaml")
_FILLED = (_ADD, ("pull", "--all"))
_DERIVED = (*_FILLED, ("add", "copy.yaml"))
STORIES = {
    "add": Story(given=(), command=_ADD, done=6),
    "pull of a root": Story(given=(_ADD,), command=("pull", ROOT)),
    "rename": Story(given=_FILLED, command=("rename", ROOT, _NEW), done=3),
    "delete": Story(given=_FILLED, command=("delete", "-y", ROOT, OTHER), done=3),
    "edit": Story(given=_FILLED, command=("edit", ROOT, "edited/root.yaml")),
}
# These need an engine.
DERIVED_STORIES = {
    "pull of a derivative": Story(given=_DERIVED, command=("pull", COPY)),
    "pull of everything": Story(given=(_ADD, ("add", "copy.yaml")), command=("pull", "--all")),
    "rename of an input": Story(
        given=(*_DERIVED, ("pull", COPY)), command=("rename", ROOT, _NEW), done=3
    ),
    "delete with dependents": Story(
        given=(*_DERIVED, ("pull", COPY)), command=("delete", "-y", "-r", ROOT), done=3
    ),
}


def lay_out(folder: Path, engines: Path | None = None) -> None:
    """A new workspace with manifests and files; warm engines, if any, are kept in a folder apart,
    so that they serve every copy of the workspace."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "edited").mkdir()
    (folder / "in").mkdir()
    (folder / "root.yaml").write_text(root_text())
    (folder / "other.yaml").write_text(root_text(OTHER, files="in/1.csv"))
    (folder / "copy.yaml").write_text(copy_text(query=_QUERY))
    (folder / "edited" / "root.yaml").write_text(_EDITED)
    (folder / "in" / "1.csv").write_text(rows_text((1, "a", 1), (2, "b", 2)))
    (folder / "in" / "2.csv").write_text(rows_text((3, "c", 3)))
    must(folder, "init", str(folder), workspace=False)
    if engines is not None:
        engines.mkdir(exist_ok=True)
        (folder / ".odf" / "run").symlink_to(engines)


def restore(folder: Path, snapshot: Path) -> None:
    """Make a folder what it was when the snapshot was taken."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(snapshot, folder, symlinks=True)


def odf(folder: Path, *arguments: str, workspace: bool = True) -> tuple[int, str]:
    """Run a command in this process, which is faster; its exit code and all that it printed."""
    where = ["--workspace", str(folder)] if workspace else []
    printed = io.StringIO()
    with (
        _environment(),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        code = command_line.run([*where, *arguments])
    return code, printed.getvalue()


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(ENVIRONMENT)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def must(folder: Path, *arguments: str, workspace: bool = True) -> str:
    """Run a command that has to succeed."""
    code, printed = odf(folder, *arguments, workspace=workspace)
    assert code == 0, f"odf {arguments}: {code}\n{printed}"
    return printed


def chains(folder: Path) -> Chains:
    """What the datasets say, without what chance and the clock decide: ids, keys, times."""
    workspace = App(Options(workspace=str(folder)), listener=Quiet()).workspace
    return {name: _told(workspace.dataset(name)) for name in workspace.names()}


def _told(dataset: Dataset) -> list[tuple[str, ...]]:
    return [_event(sealed.block.event) for sealed in dataset.blocks()]


def _event(event: Event) -> tuple[str, ...]:
    kind = type(event).__name__
    if isinstance(event, AddData | ExecuteTransform) and event.new_data is not None:
        data = event.new_data
        return kind, data.logical_hash, str(data.offset_interval), str(event.new_watermark)
    return (kind,)


def mistakes_in(folder: Path) -> list[str]:
    """What `odf fsck` and `odf verify --integrity-only` find wrong."""
    found = []
    for check in (("fsck",), ("verify", "--integrity-only")):
        code, printed = odf(folder, *check)
        if code:
            found.append(f"odf {' '.join(check)} exits {code}: {printed}")
    return found


def mistakes_of_retry(folder: Path, story: Story, expected: Chains) -> list[str]:
    """Run the story's command again: it must lead to where it would have led at once."""
    done = chains(folder) == expected
    code, printed = odf(folder, *story.command)
    if code not in ({0, story.done} if done else {0}):
        return [f"the retry exits {code}: {printed}"]
    found = chains(folder)
    if found != expected:
        return [f"the retry leads to {found}, not to {expected}"]
    return mistakes_in(folder)
