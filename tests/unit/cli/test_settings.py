"""Keys, settings and completion, as a person types them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from odf_coordinator.cli.main import run
from odf_coordinator.codec import key as key_codec

from tests.worlds import ROOT, root_text

HEAVY = {"pyarrow", "duckdb", "grpc", "pydantic", "docker", "cryptography", "yaml", "rich"}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a workspace and one dataset; settings of the user elsewhere."""
    desk = tmp_path / "desk"
    desk.mkdir()
    monkeypatch.chdir(desk)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    for name in os.environ:
        if name.startswith("ODF_"):
            monkeypatch.delenv(name)
    (desk / "root.yaml").write_text(root_text())
    assert run(["init"]) == 0
    assert run(["add", "root.yaml"]) == 0
    return desk


def test_a_key_goes_out_and_comes_back(desk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["key", "export", ROOT]) == 0
    file = desk / f"{ROOT}.pem"
    assert file.stat().st_mode & 0o777 == 0o600
    assert "PRIVATE" not in capfd.readouterr().out
    (kept,) = (desk / ".odf/keys").iterdir()
    secret = kept.read_bytes()
    kept.unlink()
    assert run(["key", "import", "-n", file.name]) == 0
    assert not kept.exists()
    assert run(["key", "import", file.name]) == 0
    assert kept.read_bytes() == secret
    assert kept.stat().st_mode & 0o777 == 0o600


def test_an_exported_key_overwrites_nothing_and_is_printed_only_if_asked(
    desk: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (desk / "mine").write_text("precious")
    assert run(["key", "export", ROOT, "mine"]) == 6
    assert (desk / "mine").read_text() == "precious"
    capfd.readouterr()
    assert run(["key", "export", ROOT, "-"]) == 0
    assert capfd.readouterr().out.startswith("-----BEGIN PRIVATE KEY-----\n")


def test_a_wrong_key_is_refused(desk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    other = Ed25519PrivateKey.from_private_bytes(b"x" * 32)
    (desk / "other.pem").write_bytes(key_codec.encode(other))
    (desk / "text").write_text("not a key")
    assert run(["key", "import", "other.pem"]) == 3
    assert "not that of a dataset here" in capfd.readouterr().err
    assert run(["key", "import", "text"]) == 4
    assert run(["key", "import", "none"]) == 3
    assert len(list((desk / ".odf/keys").iterdir())) == 1


def _config(capfd: pytest.CaptureFixture[str]) -> dict[str, tuple[object, str]]:
    capfd.readouterr()
    assert run(["config", "ls", "-o", "json"]) == 0
    rows = json.loads(capfd.readouterr().out)
    return {row["name"].removeprefix("engine."): (row["value"], row["origin"]) for row in rows}


def test_the_environment_decides_over_the_workspace_over_the_user(
    desk: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, user in (("memory", True), ("cpus", True), ("cpus", False), ("runner", False)):
        value = {"memory": "2g", "cpus": "1.5" if user else "4", "runner": "process"}[name]
        place = ["--user"] if user else []
        assert run(["config", "set", f"engine.{name}", value, *place]) == 0
    monkeypatch.setenv("ODF_RUNNER", "docker")
    found = _config(capfd)
    assert found["memory"] == ("2g", "user")
    assert found["cpus"] == (4, "workspace")
    assert found["runner"] == ("docker", "environment")
    assert found["idle_seconds"] == (600, "default")
    assert run(["config", "unset", "engine.cpus"]) == 0
    assert _config(capfd)["cpus"] == (1.5, "user")
    assert run(["config", "get", "engine.cpus"]) == 0
    assert capfd.readouterr().out == "1.5\n"


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["engine.runer", "docker"], 3, "did you mean 'engine.runner'?"),
        (["runner", "docker"], 3, "did you mean 'engine.runner'?"),
        (["engine.runner", "podman"], 4, "auto, docker or process"),
        (["engine.cpus", "-1"], 2, ""),
        (["engine.cpus", "many"], 4, "a number above 0"),
        (["engine.memory", "3 GB"], 4, "512m"),
        (["engine.allow_unsandboxed", "perhaps"], 4, "true or false"),
    ],
)
def test_what_cannot_be_set_is_refused(
    desk: Path, arguments: list[str], code: int, told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["config", "set", *arguments]) == code
    assert told in capfd.readouterr().err
    assert not (desk / ".odf/config.toml").exists()


def test_a_wrong_file_or_variable_is_told_with_its_place(
    desk: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk / ".odf/config.toml").write_text("[engine]\nrunnr = 'docker'\n")
    assert run(["config", "ls"]) == 4
    told = capfd.readouterr().err
    assert "config.toml: no setting 'engine.runnr'" in told
    assert "did you mean 'engine.runner'?" in told
    (desk / ".odf/config.toml").unlink()
    monkeypatch.setenv("ODF_RUNNER", "podman")
    assert run(["config", "ls"]) == 4
    assert "ODF_RUNNER is 'podman'" in capfd.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(shell: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_ODF_COMPLETE" in capfd.readouterr().out


def _completed(words: str) -> str:
    environment = {"_ODF_COMPLETE": "bash_complete", "COMP_WORDS": words}
    environment["COMP_CWORD"] = str(len(words.split(" ")) - 1)
    odf = Path(sys.executable).with_name("odf")
    done = subprocess.run(
        [odf], env=os.environ | environment, capture_output=True, text=True, check=False
    )
    return done.stdout


def test_names_of_datasets_complete(desk: Path) -> None:
    assert _completed("odf tail org.") == f"plain,{ROOT}\n"
    assert _completed("odf tail com.").strip() == ""
    assert "plain,rename" in _completed("odf re")


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from odf_coordinator.cli.main import run; code = run(['--help']);"
        "print(code, *sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    code, *modules = done.stderr.split()
    assert code == "0"
    assert "fsck" in done.stdout
    assert HEAVY & set(modules) == set()
