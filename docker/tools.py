"""Running other programs, and saying what to install when one is missing."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ENV = "/usr/bin/env"


class BuildError(Exception):
    """The image cannot be built; the message says what is wrong and what to do next."""


def say(message: str) -> None:
    """Tell people what is going on; standard output is kept for the result."""
    sys.stderr.write(f"engine image: {message}\n")
    sys.stderr.flush()


def run(argv: Sequence[str | Path], *, what: str) -> None:
    """Run a program with its output on standard error. Raises BuildError naming `what` failed."""
    done = subprocess.run([*map(str, argv)], check=False, stdout=sys.stderr)
    if done.returncode:
        raise BuildError(f"{what} failed (exit code {done.returncode}): {' '.join(map(str, argv))}")


def capture(argv: Sequence[str | Path], *, what: str) -> str:
    """The standard output of a program. Raises BuildError with its standard error."""
    done = subprocess.run([*map(str, argv)], check=False, capture_output=True, text=True)
    if done.returncode:
        raise BuildError(f"{what} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.strip()


def ensure(program: str, *, packages: Sequence[str]) -> str:
    """The path of a program; root on a Debian-like machine gets it installed, others are told."""
    found = shutil.which(program)
    if found:
        return found
    install = f"apt-get install --no-install-recommends {' '.join(packages)}"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise BuildError(f"{program} was not found; install it with: sudo {install}")
    say(f"installing {' '.join(packages)}")
    run([ENV, "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "update"], what="apt-get update")
    command = [ENV, "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y", "install"]
    run([*command, "--no-install-recommends", *packages], what=f"installing {program}")
    found = shutil.which(program)
    if not found:
        raise BuildError(f"{program} is still missing after: {install}")
    return found
