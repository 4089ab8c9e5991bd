"""The real command, in a workspace of its own; engines are stopped at the end."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ODF = Path(sys.executable).with_name("odf")
SECONDS = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A folder in which a person works with `odf`."""

    folder: Path
    environment: dict[str, str]

    def write(self, name: str, text: str) -> Path:
        """A file on the desk."""
        path = self.folder / name
        path.write_text(text)
        return path

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """The command, running."""
        return subprocess.Popen(
            [str(ODF), *arguments],
            cwd=self.folder,
            env=os.environ | self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def odf(self, *arguments: str, exits: int = 0) -> str:
        """Run the command to its end; what it printed, errors after results."""
        with self.start(*arguments) as running:
            out, err = running.communicate(timeout=SECONDS)
        assert running.returncode == exits, f"odf {arguments}: {running.returncode}\n{out}\n{err}"
        return out + err

    def json(self, *arguments: str) -> Any:
        """Run the command with `-o json`."""
        return json.loads(self.odf(*arguments, "-o", "json"))

    def rows(self, query: str) -> list[list[Any]]:
        """The rows of an SQL query."""
        return [list(row.values()) for row in self.json("sql", "-c", query)]

    def head(self, name: str) -> str:
        """The hash of a dataset's last block."""
        return str(self.json("show", name)["head"])


def desk_in(folder: Path, runner: str) -> Iterator[Desk]:
    """A desk with a new workspace."""
    desk = Desk(folder=folder, environment={"ODF_RUNNER": runner})
    desk.odf("init")
    yield desk
    desk.odf("engine", "stop", "--force")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """Engines in containers."""
    yield from desk_in(tmp_path, "docker")


@pytest.fixture
def plain_desk(tmp_path: Path) -> Iterator[Desk]:
    """Engines as child processes."""
    yield from desk_in(tmp_path, "process")
