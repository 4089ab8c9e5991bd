"""The command in a workspace that somebody damaged: told, with the right exit code."""

from pathlib import Path

import pytest
from odf_coordinator.cli.main import run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, and the working directory."""
    monkeypatch.chdir(tmp_path)
    assert run(["init"]) == 0
    return tmp_path


@pytest.mark.parametrize("content", [b"", b"x\n", b"-1\n", b"0.5\n", b"\xff\n", b"1 2\n"])
def test_a_version_that_is_no_number_is_damage(
    folder: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    (folder / ".odf/version").write_bytes(content)
    assert run(["ls"]) == 5
    assert f"{folder}/.odf/version is damaged" in capsys.readouterr().err


def test_only_a_larger_version_is_newer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / ".odf/version").write_bytes(b"1\n")
    assert run(["ls"]) == 1
    assert "needs a newer odf" in capsys.readouterr().err
