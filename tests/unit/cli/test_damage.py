"""The command among damaged and hostile files: told at once, with the right exit code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from odf_coordinator.cli.main import run

from tests.worlds import ROOT, root_text


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


def test_a_manifest_is_a_regular_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(folder / "fifo")
    for path in ("fifo", "/dev/zero"):
        assert run(["add", path]) == 4
        assert f"{path} is not a regular file" in capsys.readouterr().err
    (folder / "large").write_bytes(b"#" * (4 << 20) + b"\n")
    assert run(["add", "large"]) == 4
    assert "larger than a manifest" in capsys.readouterr().err
    assert run(["add", str(folder)]) == 4
    assert "is a folder" in capsys.readouterr().err


def test_a_head_that_is_no_file_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "r.yaml").write_text(root_text())
    assert run(["add", "r.yaml"]) == 0
    head = folder / ".odf/datasets" / ROOT / "refs/head"
    head.unlink()
    os.mkfifo(head)
    for command in (["ls"], ["log", ROOT], ["pull", "--all"], ["verify"]):
        assert run(command) == 5
        assert "refs/head is not a regular file" in capsys.readouterr().err


def test_stopping_engines_tells_that_containers_were_not_looked_at(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "odf_coordinator", "engine", "stop"],
        env=os.environ | {"DOCKER_HOST": f"unix://{folder}/nobody"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "containers could not be looked at: Docker does not answer" in done.stderr


def test_a_refusal_of_the_system_has_no_trace(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "file").touch()
    assert run(["init", "file/below"]) == 1
    assert capsys.readouterr().err.startswith("error: ")


_READ_ONLY = """
mount --bind . . && mount -o remount,ro,bind . && cd "$PWD" || exit 99
"$0" -m odf_coordinator pull --all; echo "pull $?"
"$0" -m odf_coordinator verify; echo "verify $?"
"$0" -c 'from pathlib import Path; from odf_coordinator.wiring import engine_folder
folder = engine_folder(Path(".odf").resolve()); folder.mkdir(); folder.rmdir()'; echo "engines $?"
"""


def test_a_read_only_workspace_can_be_verified_and_tells_why_it_is_not_pulled(
    folder: Path,
) -> None:
    (folder / "r.yaml").write_text(root_text())
    assert run(["add", "r.yaml"]) == 0
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", _READ_ONLY, sys.executable],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare failed" in done.stderr or done.returncode == 99:
        pytest.skip("nothing can be mounted here")
    assert "pull 1\n" in done.stdout
    assert "verify 0\n" in done.stdout
    assert "engines 0\n" in done.stdout
    assert f"{folder}/.odf/locks/dataset-{ROOT}: Read-only file system" in done.stderr
    assert "Traceback" not in done.stderr
