"""System calls of a command, and the command with one of them failing: by strace."""

import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.reliability.stories import ENVIRONMENT, ODF

SECONDS = 120
# Calls that change a file system; "?" since not every machine has all of them.
CALLS = (
    *("write", "pwrite64", "writev", "fsync", "fdatasync", "ftruncate", "fallocate"),
    *("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat"),
    *("unlink", "unlinkat", "rmdir", "open", "openat", "mkdir", "mkdirat"),
    *("chmod", "fchmod", "fchmodat", "fchown", "chown"),
)
_TRACED = re.compile(r"(\d+) +(\w+)\((.*)")
_CALL = re.compile(r"(\w+)\((.*)")
_WRITTEN = re.compile(r"\d+<([^>]+\.parquet)>")
_FAULT = re.compile(r"\(INJECTED\)$|= \?$")
_OPENS = frozenset({"open", "openat"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A call that changes files of a workspace.

    It is the `number`-th call of its name in a run, and the `inside`-th of those that change files
    of the workspace. The second does not depend on what threads and sockets do meanwhile. Where
    the file has the same name in every run, both count only calls about this `file`.
    """

    call: str
    file: str
    number: int
    inside: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command with a fault ended."""

    code: int
    printed: str


def unusable() -> str:
    """Why strace cannot be used here; empty when it can."""
    try:
        command = ["strace", "-o", os.devnull, "-e", "inject=getppid:error=EIO", "true"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "strace is not installed"
    return done.stderr.strip() if done.returncode else ""


def points(folder: Path, command: tuple[str, ...], log: Path) -> list[Point]:
    """Run the command and give its calls that change files below `.odf`, in order."""
    traced = ",".join(f"?{call}" for call in CALLS)
    done = _strace(folder, command, log, "-f", "-e", f"trace={traced}")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [match.groups() for line in _lines(log) if (match := _TRACED.match(line))]
    main, changes = lines[0][0], _Changes(folder)
    others = [line for line in lines if line[0] != main and changes.hold(*line[1:])]
    assert others == [], "faults are put into the main thread only"
    return _points([line[1:] for line in lines if line[0] == main], changes)


def with_fault(folder: Path, command: tuple[str, ...], at: Point, fault: str, log: Path) -> Ended:
    """Run the command with a fault at a point: `signal=SIGKILL`, `error=ENOSPC`, ...

    Raises Missed when the fault met another call this time.
    """
    inject = f"inject={at.call}:{fault}:when={at.number}"
    about = ("-P", at.file) if at.file else ()
    done = _strace(folder, command, log, *about, "-e", f"trace={at.call}", "-e", inject)
    lines = [match.groups() for line in _lines(log) if (match := _CALL.match(line))]
    met = next((n for n, (_, rest) in enumerate(lines) if _FAULT.search(rest)), len(lines))
    before = [each for each in _points(lines[: met + 1], _Changes(folder)) if each.file == at.file]
    if not before or before[-1].number != met + 1:  # a socket's, not a file's
        raise Missed(at.inside - len(before) if len(before) < at.inside else -1)
    if before[-1].inside != at.inside:
        raise Missed(at.inside - before[-1].inside)
    return Ended(code=done.returncode, printed=done.stdout + done.stderr)


class Missed(Exception):
    """The fault met another call; `by` tells in which direction the right one is."""

    def __init__(self, by: int) -> None:
        super().__init__(f"missed by {by}")
        self.by = by


class _Changes:
    """Which calls change files of a workspace, or of its engines' folder."""

    def __init__(self, folder: Path) -> None:
        inside = folder / ".odf"
        self._places = (str(inside), str((inside / "run").resolve()))

    def hold(self, call: str, rest: str) -> bool:
        if call in _OPENS and "O_CREAT" not in rest:
            return False
        return any(f"{place}{end}" in rest for place in self._places for end in "/>")


def _points(lines: list[tuple[str, ...]], changes: _Changes) -> list[Point]:
    found, numbers, inside = [], Counter[str](), Counter[str]()
    for call, rest in lines:
        numbers[call] += 1
        if not changes.hold(call, rest):
            continue
        written = _WRITTEN.match(rest) if call == "write" else None
        file = written[1] if written else ""
        inside[call + file] += 1
        number = inside[call + file] if file else numbers[call]
        place = {"call": call, "file": file, "what": f"{call}({rest}"}
        found.append(Point(**place, number=number, inside=inside[call + file]))
    return found


def _lines(log: Path) -> list[str]:
    return log.read_text(errors="replace").splitlines()


def _strace(
    folder: Path, command: tuple[str, ...], log: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["strace", "-y", "-qq", "-e", "signal=none", "-o", str(log), *options, str(ODF), *command],
        cwd=folder,
        env=os.environ | ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        stdin=subprocess.DEVNULL,
    )
