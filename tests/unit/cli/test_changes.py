"""Commands that change or take away, as a person types them."""

import json
from pathlib import Path

import pytest
from odf_coordinator.cli.main import run
from odf_coordinator.dataset import Dataset
from odf_coordinator.storage.local import LocalStore

from tests.worlds import ROOT, root_text, rows_text


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a workspace and a pulled dataset."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/1.csv").write_text(rows_text((1, "A", 1)))
    (tmp_path / "root.yaml").write_text(root_text())
    for line in ("init", "add root.yaml", f"pull {ROOT}"):
        assert run(line.split()) == 0
    return tmp_path


def _content(desk: Path) -> set[str]:
    return {str(path) for path in (desk / ".odf").rglob("*") if "locks" not in str(path)}


@pytest.mark.parametrize(
    "line",
    [f"delete {ROOT}", f"rename {ROOT} a.b", f"reset {ROOT} --to {{}}", "gc", f"pull {ROOT}",
     f"key export {ROOT}", "config set engine.cpus 1", "engine stop"],
)  # fmt: skip
def test_a_dry_run_changes_nothing(line: str, desk: Path) -> None:
    before = _content(desk)
    assert run([*line.format(_first_block(desk)).split(), "-n"]) == 0
    assert _content(desk) - {str(desk / ".odf/run")} == before
    assert not list(desk.glob("*.pem"))


def _first_block(desk: Path) -> str:
    """A block that the dataset can go back to: that of its schema."""
    dataset = Dataset(ROOT, LocalStore(desk / ".odf/datasets" / ROOT))
    return dataset.blocks()[2].hash


@pytest.mark.parametrize("line", [f"delete {ROOT}", f"reset {ROOT} --to {{}}"])
def test_where_nobody_can_answer_yes_must_be_said(
    line: str, desk: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = line.format(_first_block(desk)).split()
    assert run(words) == 2
    assert "-y" in capfd.readouterr().err
    assert run([*words, "-y"]) == 0
    assert run(["fsck"]) == 0


def test_usage_mistakes(desk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["reset", ROOT]) == 2
    assert run(["reset", ROOT, "--data", "--to", "1620"]) == 2
    assert run(["reset", ROOT, "--data", "-y"]) == 4
    assert run(["rename", ROOT, "not a name"]) == 4
    assert run(["gc", "--older-than", "soon"]) == 2
    assert "90s, 30m, 1h or 7d" in capfd.readouterr().err
    assert run(["delete", "net.example.none", "-y"]) == 3


def test_damage_has_its_exit_code_and_its_line(
    desk: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (part,) = (desk / f".odf/datasets/{ROOT}/data").iterdir()
    part.write_bytes(b"short")
    assert run(["fsck"]) == 5
    assert f"error: {ROOT}: block " in capfd.readouterr().err
    assert run(["fsck", ROOT, "-o", "json"]) == 5
    (row,) = json.loads(capfd.readouterr().out)
    assert (row["dataset"], row["severity"]) == (ROOT, "damage")


def test_garbage_is_counted_listed_and_collected(
    desk: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    left = desk / f".odf/datasets/{ROOT}/data/1620"
    left.write_bytes(b"12345")
    capfd.readouterr()
    assert run(["du", "-o", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capfd.readouterr().out)}
    assert list(rows) == [ROOT, "(workspace)", "(total)"]
    assert rows[ROOT]["garbage"] == 5
    assert run(["gc"]) == 0
    assert left.exists()
    assert run(["gc", "--older-than", "0s"]) == 0
    assert "1 file, 5 B removed" in capfd.readouterr().out
    assert not left.exists()
