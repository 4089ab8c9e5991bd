"""What a store in a folder promises beside the contract of all stores."""

import errno
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from odf_coordinator.errors import IntegrityError, NotFound, RefConflict, StorageError
from odf_coordinator.storage.local import FileLocks, LocalStore

_OUTSIDE = [
    "..", "../x", "a/../../x", "a/..", "/x", "//x", "a//b", "a/", "./a", ".", "", ".hidden",
    "a/.hidden/b", "../store-not/x",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(folder: Path) -> LocalStore:
    return LocalStore(folder)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _left(folder: Path) -> list[str]:
    """Files that are not keys: what was staged and forgotten, locks."""
    return sorted(path.name for path in folder.rglob(".*") if path.name != ".lock")


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_private_content_is_its_owners_alone_whatever_it_was_before(
    store: LocalStore, folder: Path, tmp_path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        store.put("keys/text", b"secret", private=True)
        (tmp_path / "open").write_bytes(b"secret")
        (tmp_path / "open").chmod(0o666)
        store.put("keys/file", tmp_path / "open", private=True)
        store.put("blocks/text", b"open")
    finally:
        os.umask(before)
    assert _mode(folder / "keys/text") == 0o600
    assert _mode(folder / "keys/file") == 0o600
    assert _mode(folder / "blocks/text") == 0o644


def test_a_file_on_the_same_disk_is_moved(store: LocalStore, folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "part"
    source.write_bytes(b"rows")
    inode = source.stat().st_ino
    store.put("data/part", source)
    assert not source.exists()
    assert (folder / "data/part").stat().st_ino == inode


def test_a_file_of_another_disk_is_copied_and_removed(store: LocalStore, folder: Path) -> None:
    other = Path("/dev/shm") / f"odf-test-{os.getpid()}"
    if not other.parent.is_dir() or other.parent.stat().st_dev == folder.parent.stat().st_dev:
        pytest.skip("there is one disk only")
    other.write_bytes(b"rows" * 1_000_000)
    store.put("data/part", other)
    assert not other.exists()
    assert store.get("data/part") == b"rows" * 1_000_000
    assert _left(folder) == []


@pytest.mark.parametrize(
    "write",
    [
        lambda store, path: store.put("data/a", path / "missing"),
        lambda store, path: store.put("data/folder", b"x"),
        lambda store, path: store.swap("data/a", expected=b"0", new=b"1"),
        lambda store, path: store.swap("data/folder", expected=None, new=b"1"),
    ],
)
def test_a_write_that_fails_leaves_nothing_behind(
    store: LocalStore,
    folder: Path,
    tmp_path: Path,
    write: Callable[[LocalStore, Path], None],
) -> None:
    (folder / "data/folder").mkdir(parents=True)
    with pytest.raises((NotFound, StorageError, RefConflict)):
        write(store, tmp_path)
    assert _left(folder) == []
    assert store.list("") == []


def test_writes_that_succeed_leave_nothing_behind_either(store: LocalStore, folder: Path) -> None:
    store.put("data/a", b"1")
    store.put("data/a", b"1")
    store.swap("refs/head", expected=None, new=b"1")
    store.swap("refs/head", expected=b"1", new=b"2")
    assert _left(folder) == []
    assert store.list("") == ["data/a", "refs/head"]


@pytest.mark.parametrize("key", _OUTSIDE)
def test_no_call_leaves_the_folder(store: LocalStore, tmp_path: Path, key: str) -> None:
    (tmp_path / "x").write_bytes(b"outside")
    store.put("a/b", b"inside")
    calls: list[Callable[[], object]] = [
        lambda: store.get(key),
        lambda: store.open(key),
        lambda: store.put(key, b"new"),
        lambda: store.size(key),
        lambda: store.delete(key),
        lambda: store.swap(key, expected=None, new=b"new"),
        lambda: store.at(key),
    ]
    for call in calls:
        with pytest.raises(StorageError, match="not a key"):
            call()
    assert (tmp_path / "x").read_bytes() == b"outside"
    assert store.list("") == ["a/b"]


@pytest.mark.parametrize("prefix", ["../", "a/../../", "/", "./"])
def test_a_listing_does_not_leave_the_folder(
    store: LocalStore, tmp_path: Path, prefix: str
) -> None:
    (tmp_path / "x").write_bytes(b"outside")
    store.put("a/b", b"inside")
    with pytest.raises(StorageError, match="not a key"):
        store.list(prefix)


def test_a_folder_is_no_value(store: LocalStore) -> None:
    store.put("a/b", b"1")
    assert store.size("a") is None
    with pytest.raises(StorageError):
        store.get("a")
    with pytest.raises(StorageError):
        store.put("a/b/c", b"below a file")


def test_eight_writers_lose_no_swap(store: LocalStore, folder: Path) -> None:
    writers, rounds = 8, 50
    store.swap("refs/count", expected=None, new=b"0")
    start = threading.Barrier(writers)
    failures: list[BaseException] = []

    def add() -> None:
        try:
            own = LocalStore(folder)
            start.wait()
            for _ in range(rounds):
                while True:
                    before = own.get("refs/count")
                    after = str(int(before) + 1).encode()
                    try:
                        own.swap("refs/count", expected=before, new=after)
                        break
                    except RefConflict:
                        continue
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=add) for _ in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert store.get("refs/count") == str(writers * rounds).encode()
    assert _left(folder) == []


def test_one_of_many_makes_what_does_not_exist(store: LocalStore, folder: Path) -> None:
    won: list[int] = []

    def make(number: int) -> None:
        try:
            LocalStore(folder).swap("plans/p", expected=None, new=str(number).encode())
        except RefConflict:
            return
        won.append(number)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert store.get("plans/p") == str(won[0]).encode()


def test_a_lock_lets_one_in_at_a_time(tmp_path: Path) -> None:
    locks = FileLocks(tmp_path / "locks")
    inside: list[int] = []
    most: list[int] = []

    def enter(number: int) -> None:
        for _ in range(50):
            with locks.hold("a"):
                inside.append(number)
                most.append(len(inside))
                inside.remove(number)

    threads = [threading.Thread(target=enter, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}


def test_locks_of_other_names_do_not_wait_for_each_other(tmp_path: Path) -> None:
    locks = FileLocks(tmp_path / "locks")
    with locks.hold("a"), locks.hold("b"):
        assert sorted(path.name for path in (tmp_path / "locks").iterdir()) == ["a", "b"]


def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(
    store: LocalStore, folder: Path
) -> None:
    folder.mkdir()
    (folder / "catalog").symlink_to("catalog")
    with pytest.raises(StorageError, match="catalog/: Too many levels"):
        store.list("catalog/")
    assert store.list("nowhere/") == []


_READS: list[Callable[[LocalStore], object]] = [
    lambda store: store.get("refs/head"),
    lambda store: store.open("refs/head"),
    lambda store: store.swap("refs/head", expected=b"x", new=b"y"),
]


@pytest.mark.parametrize("read", _READS)
def test_what_is_no_regular_file_is_refused_at_once(
    store: LocalStore, folder: Path, read: Callable[[LocalStore], object]
) -> None:
    (folder / "refs").mkdir(parents=True)
    os.mkfifo(folder / "refs/head")
    with pytest.raises(IntegrityError, match="refs/head is not a regular file"):
        read(store)


def test_a_lock_that_cannot_be_made_is_told_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="file"), FileLocks(tmp_path / "file/locks").hold("a"):
        pass
    (tmp_path / "a").mkdir()
    with pytest.raises(StorageError, match="a: Is a directory"), FileLocks(tmp_path).hold("a"):
        pass


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (OSError(errno.ENOSPC, "No space"), "x: No space", "free"),
        (OSError(errno.EROFS, "Read-only", "/d/x"), "x: Read-only (/d/x)", "--integrity-only"),
        (OSError(errno.EIO, "Broken", "x"), "x: Broken", "failing"),
        (OSError("odd"), "x: odd", ""),
    ],
)
def test_the_systems_errors_say_which_file_if_they_know(
    error: OSError, message: str, hint: str
) -> None:
    told = StorageError.told_by(error, subject="x")
    assert str(told) == message
    assert hint in told.hint
    assert bool(hint) == bool(told.hint)
