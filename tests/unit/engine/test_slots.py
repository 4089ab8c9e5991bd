"""Slots: one holder at a time, sockets in a short folder that is ours alone."""

import os
import socket
import stat
from pathlib import Path

import pytest
from odf_coordinator.engine.slots import (
    claim_runtime_base,
    default_runtime_dir,
    ended_early,
    locked,
    make_slot,
    wait_until,
    wait_until_answering,
)
from odf_coordinator.errors import EngineError, SandboxUnavailable, StorageError


def test_a_slot_has_one_holder(tmp_path: Path) -> None:
    with locked(tmp_path, "a") as first, locked(tmp_path, "a") as second:
        assert (first, second) == (True, False)
        with locked(tmp_path, "b") as other:
            assert other
    with locked(tmp_path, "a") as again:
        assert again


def test_slots_of_two_workspaces_do_not_meet(tmp_path: Path) -> None:
    runtime = tmp_path / "r"
    one = make_slot(run_dir=tmp_path / "w1", runtime_dir=runtime, name="docker-0-0", owner=0)
    two = make_slot(run_dir=tmp_path / "w2", runtime_dir=runtime, name="docker-0-0", owner=0)
    assert one.key != two.key
    assert one.socket != two.socket


def test_a_socket_path_that_no_system_accepts_is_refused(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100)
    with pytest.raises(SandboxUnavailable) as raised:
        make_slot(run_dir=tmp_path, runtime_dir=deep, name="docker-0-0", owner=0)
    assert "XDG_RUNTIME_DIR" in raised.value.hint


def test_a_deep_workspace_still_has_a_short_socket(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100) / ("y" * 100)
    slot = make_slot(
        run_dir=deep, runtime_dir=default_runtime_dir(None), name="docker-0-0", owner=0
    )
    assert len(os.fsencode(slot.socket)) < 108


def test_the_runtime_folder_becomes_private(tmp_path: Path) -> None:
    folder = tmp_path / "odf"
    folder.mkdir(mode=0o755)
    claim_runtime_base(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
def test_a_runtime_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "odf"
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    with pytest.raises(SandboxUnavailable, match="somebody else"):
        claim_runtime_base(folder)


def test_a_link_is_not_a_runtime_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "odf").symlink_to(tmp_path / "real")
    with pytest.raises(SandboxUnavailable):
        claim_runtime_base(tmp_path / "odf")


def test_the_users_runtime_folder_is_preferred(tmp_path: Path) -> None:
    assert default_runtime_dir(str(tmp_path)) == tmp_path / "odf"
    assert default_runtime_dir("/nonexistent").name == f"odf-{os.geteuid()}"


def test_an_engine_answers_once_it_listens(tmp_path: Path) -> None:
    slot = make_slot(run_dir=tmp_path, runtime_dir=tmp_path / "r", name="s", owner=os.geteuid())
    slot.prepare()
    assert not slot.answers()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(slot.socket))
        server.listen()
        assert slot.answers()
    slot.clear()
    assert not slot.folder.root.exists()


def test_waiting_ends_with_the_engines_death_or_the_deadline(tmp_path: Path) -> None:
    slot = make_slot(run_dir=tmp_path, runtime_dir=tmp_path / "r", name="s", owner=os.geteuid())

    def dead() -> None:
        raise EngineError("it printed last: no Java")

    with pytest.raises(EngineError, match="no Java"):
        wait_until_answering(slot, check_alive=dead, seconds=5)
    with pytest.raises(EngineError, match="not ready after"):
        wait_until_answering(slot, check_alive=lambda: None, seconds=0)
    assert not wait_until(lambda: False, seconds=0)


def test_folders_that_cannot_be_made_are_told_with_their_path(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    run, runtime = tmp_path / "file" / "run", tmp_path / "file" / "r"
    with pytest.raises(StorageError, match=r"file/run/a\.lock: Not a directory"), locked(run, "a"):
        pass
    for slot in (
        make_slot(run_dir=run, runtime_dir=tmp_path / "r", name="s", owner=os.geteuid()),
        make_slot(run_dir=tmp_path, runtime_dir=runtime, name="s", owner=os.geteuid()),
    ):
        with pytest.raises(StorageError, match=r"file/r.*: Not a directory"):
            slot.prepare()


def test_what_an_engine_did_not_print_is_not_announced() -> None:
    assert str(ended_early("no Java")).endswith("it printed last:\nno Java")
    assert str(ended_early("")) == "the engine ended before it was ready"
