"""System calls of the real command, and what happens when one of them goes wrong.

`strace` tells which calls touch a folder; then it lets the n-th one end in a kill or in an error.
Numbers count within the command's first thread, call by call: all writes of `odf` happen there,
which `points` makes sure of.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ODF = Path(sys.executable).with_name("odf")
SECONDS = 300

# Call -> the errors that a file system may answer it with. EMFILE is what opening alone can meet.
ERRORS = {
    "openat": ("EMFILE", "ENOSPC", "EIO"),
    "write": ("ENOSPC", "EIO"),
    "pwrite64": ("ENOSPC", "EIO"),
    "writev": ("ENOSPC", "EIO"),
    "fsync": ("EIO", "ENOSPC"),
    "fdatasync": ("EIO", "ENOSPC"),
    "rename": ("EIO", "ENOSPC"),
    "renameat": ("EIO", "ENOSPC"),
    "renameat2": ("EIO", "ENOSPC"),
    "mkdir": ("ENOSPC", "EIO"),
    "mkdirat": ("ENOSPC", "EIO"),
    "link": ("ENOSPC", "EIO"),
    "linkat": ("ENOSPC", "EIO"),
    "ftruncate": ("EIO",),
    "unlink": ("EIO",),
    "unlinkat": ("EIO",),
    "rmdir": ("EIO",),
    "chmod": ("EIO",),
    "fchmod": ("EIO",),
    "fchmodat": ("EIO",),
    "flock": ("EIO",),
    "close": ("EIO",),
    "read": ("EIO",),
    "pread64": ("EIO",),
    "getdents64": ("EIO",),
}
# A kill there is a kill at the next call that changes something.
_CHANGES_NOTHING = frozenset({"read", "pread64", "close", "getdents64", "flock"})
# The same start of Python every time, so that numbers stay the same.
_STEADY = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
_LINE = re.compile(r"^(\d+) +([a-z0-9_]+)\((.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The `number`-th call of that name (from 1); `text` is how strace shows it."""

    call: str
    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended; `hit` tells whether what was injected came to pass."""

    code: int
    told: str
    hit: bool


def without_strace() -> str:
    """Why system calls cannot be traced here; empty when they can."""
    if shutil.which("strace") is None:
        return "strace is not installed (apt-get install strace)"
    command = ["strace", "-qq", "-o", "/dev/null", "-e", "trace=write", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"strace may not trace: {done.stderr.strip()[:200]}" if done.returncode else ""


def points(arguments: Sequence[str], *, cwd: Path, environment: dict[str, str]) -> list[Point]:
    """The calls of `odf ARGUMENTS`, run to its end, that touch something below `cwd`, in order."""
    with tempfile.NamedTemporaryFile() as trace:
        _traced(["-f", "-y", "-o", trace.name], arguments, cwd, environment, check=True)
        lines = Path(trace.name).read_text(errors="replace").splitlines()
    found, counts, first = [], Counter[str](), None
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        thread, call, text = match.groups()
        first = first or thread
        ours = f"{cwd}/" in text
        if thread != first:
            if ours and call not in _CHANGES_NOTHING and not _only_reads(call, text):
                raise AssertionError(f"another thread or process writes: {line}")
            continue
        counts[call] += 1
        if ours:
            found.append(Point(call=call, number=counts[call], text=f"{call}({text}"))
    return found


def can_be_cut(point: Point) -> bool:
    """Whether a kill here is another case than a kill at the next call."""
    return point.call not in _CHANGES_NOTHING


def errors_at(point: Point) -> tuple[str, ...]:
    """The errors that a system may answer here."""
    errors = ERRORS[point.call]
    if _only_reads(point.call, point.text):
        return tuple(error for error in errors if error != "ENOSPC")
    return errors


def spread(everything: Sequence[Point], count: int) -> list[Point]:
    """So many of them, evenly over the whole; all when there are not more."""
    if len(everything) <= count:
        return list(everything)
    return [everything[number * len(everything) // count] for number in range(count)]


def run_with(
    injected: str,
    point: Point,
    arguments: Sequence[str],
    *,
    cwd: Path,
    environment: dict[str, str],
) -> Ended:
    """`odf ARGUMENTS` with `signal=SIGKILL` or `error=EIO` at a point."""
    with tempfile.NamedTemporaryFile() as trace:
        inject = f"inject={point.call}:{injected}:when={point.number}"
        options = ["-y", "-o", trace.name, "-e", f"trace={point.call}", "-e", inject]
        done = _traced(options, arguments, cwd, environment, check=False)
        lines = Path(trace.name).read_text(errors="replace").splitlines()
    if injected.startswith("signal"):
        hit = done.returncode not in range(128)
    else:
        hit = any("(INJECTED)" in line and f"{cwd}/" in line for line in lines)
    return Ended(code=done.returncode, told=done.stdout + done.stderr, hit=hit)


def _only_reads(call: str, text: str) -> bool:
    return call == "openat" and not re.search(r"O_CREAT|O_WRONLY|O_RDWR", text)


def _traced(
    options: list[str],
    arguments: Sequence[str],
    cwd: Path,
    environment: dict[str, str],
    *,
    check: bool,
) -> subprocess.CompletedProcess[str]:
    if not any(option.startswith("trace=") for option in options):
        options = [*options, "-e", "trace=" + ",".join(f"?{call}" for call in ERRORS)]
    return subprocess.run(
        ["strace", "-qq", *options, str(ODF), *arguments],
        cwd=cwd,
        env=os.environ | _STEADY | environment,
        capture_output=True,
        text=True,
        check=check,
        timeout=SECONDS,
    )
