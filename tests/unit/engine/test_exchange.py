"""The folders of one attempt: fresh each time, gone after success, kept after failure."""

import os
from pathlib import Path

import pytest
from odf_coordinator.engine.exchange import EngineFolder, transaction_prefix

FIRST = "ab" * 32
SECOND = "cd" * 32


@pytest.fixture
def folder(tmp_path: Path) -> EngineFolder:
    made = EngineFolder(root=tmp_path / "engine", owner=os.geteuid())
    made.prepare()
    return made


def leave_failed(folder: EngineFolder, transaction_id: str) -> str:
    with (
        pytest.raises(ZeroDivisionError),
        folder.exchange(transaction_id) as exchange,
    ):
        raise ZeroDivisionError
    return exchange.name


def test_an_exchange_is_gone_after_success(folder: EngineFolder) -> None:
    with folder.exchange(FIRST) as exchange:
        (exchange.inputs / "t.arrow").write_bytes(b"rows")
        assert exchange.name == "abababababababab-1"
        assert exchange.outputs == folder.outputs / exchange.name
    assert not exchange.inputs.exists()
    assert not exchange.outputs.exists()


def test_a_failed_exchange_is_kept_and_the_next_attempt_has_its_own(folder: EngineFolder) -> None:
    kept = leave_failed(folder, FIRST)
    with folder.exchange(FIRST) as exchange:
        assert (kept, exchange.name) == ("abababababababab-1", "abababababababab-2")
        assert (folder.inputs / kept).is_dir()
    assert (folder.outputs / kept).is_dir()


def test_another_transaction_clears_what_earlier_ones_left(folder: EngineFolder) -> None:
    kept = leave_failed(folder, FIRST)
    (folder.outputs / ".last-transaction-00.arrow").touch()
    with folder.exchange(SECOND) as exchange:
        assert exchange.name == "cdcdcdcdcdcdcdcd-1"
        assert not (folder.inputs / kept).exists()
        assert not (folder.outputs / kept).exists()
    assert (folder.outputs / ".last-transaction-00.arrow").exists()
    assert folder.scratch.is_dir()


def test_preparing_again_empties_scratch_only(folder: EngineFolder) -> None:
    kept = leave_failed(folder, FIRST)
    (folder.scratch / "spill").touch()
    folder.prepare()
    assert list(folder.scratch.iterdir()) == []
    assert (folder.outputs / kept).is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_inputs_are_handed_to_the_engines_user(tmp_path: Path) -> None:
    folder = EngineFolder(root=tmp_path / "engine", owner=10001)
    folder.prepare()
    stored = tmp_path / "stored.arrow"
    stored.touch()
    with folder.exchange(FIRST) as exchange:
        (exchange.inputs / "own.arrow").touch(mode=0o600)
        (exchange.inputs / "shared.arrow").hardlink_to(stored)
        folder.hand_over(exchange.name)
        assert (exchange.inputs / "own.arrow").stat().st_uid == 10001
        assert stored.stat().st_uid == 0
        assert exchange.outputs.stat().st_uid == 10001


@pytest.mark.parametrize(
    ("transaction_id", "prefix"),
    [
        (FIRST, "abababababababab"),
        ("sha256:" + FIRST, "abababababababab"),
        ("../../etc/passwd", "______etc_passwd"),
        ("short", "short"),
    ],
)
def test_a_prefix_is_a_file_name(transaction_id: str, prefix: str) -> None:
    assert transaction_prefix(transaction_id) == prefix
