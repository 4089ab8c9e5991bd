"""Files as sources: what is found, what is new, what is refused."""

import hashlib
import os
from pathlib import Path

import pytest
from odf_coordinator.errors import Invalid, NotFound, StorageError
from odf_coordinator.ingest.source import FileSource
from odf_coordinator.model.event import SourceState, SourceStateKind
from odf_coordinator.model.schema import Field, Simple
from odf_coordinator.model.source import (
    FetchFilesGlob,
    FetchStep,
    FetchUrl,
    MergeAppend,
    PollingSource,
    ReadCsv,
)
from odf_coordinator.ports import Fetched

_CONTENT = b"id\n1\n"


def _poll(base: Path, fetch: FetchStep, after: SourceState | None = None) -> list[Fetched]:
    read = ReadCsv(schema=(Field(name="id", type=Simple.INT),), header=True, separator=",")
    source = PollingSource(fetch=fetch, read=read, merge=MergeAppend())
    return list(FileSource().poll(source, base=base, after=after))


def _digest(content: bytes) -> SourceState:
    value = "1620" + hashlib.sha3_256(content).hexdigest()
    return SourceState(kind=SourceStateKind.DIGEST, value=value)


def _last(name: str) -> SourceState:
    return SourceState(kind=SourceStateKind.LAST_FILE, value=name)


def _write(base: Path, *names: str) -> None:
    for name in names:
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_bytes(_CONTENT)


def test_a_file_gives_its_rows_and_its_digest(tmp_path: Path) -> None:
    _write(tmp_path, "n.csv")
    (fetched,) = _poll(tmp_path, FetchUrl(url="n.csv"))
    assert fetched.rows.to_pylist() == [{"id": 1}]
    assert (fetched.label, fetched.size) == ("n.csv", len(_CONTENT))
    assert fetched.state == _digest(_CONTENT)


def test_an_unchanged_file_gives_nothing_and_a_changed_one_everything(tmp_path: Path) -> None:
    _write(tmp_path, "n.csv")
    assert _poll(tmp_path, FetchUrl(url="n.csv"), _digest(_CONTENT)) == []
    (tmp_path / "n.csv").write_bytes(b"id\n1\n2\n")
    (fetched,) = _poll(tmp_path, FetchUrl(url="n.csv"), _digest(_CONTENT))
    assert fetched.rows.num_rows == 2


@pytest.mark.parametrize(
    "url",
    ["a b.csv", "./a b.csv", "../{name}/a b.csv", "{base}/a b.csv", "file://{base}/a%20b.csv",
     "file://localhost{base}/a%20b.csv", "file:{base}/a%20b.csv"],
)  # fmt: skip
def test_an_address_may_be_a_path_or_a_file_url(tmp_path: Path, url: str) -> None:
    _write(tmp_path, "a b.csv")
    address = url.format(base=tmp_path, name=tmp_path.name)
    assert len(_poll(tmp_path, FetchUrl(url=address))) == 1


@pytest.mark.parametrize(
    "url", ["http://example.net/n.csv", "s3://bucket/n.csv", "file://host/n.csv", "file:///n.csv?x"]
)
def test_addresses_elsewhere_are_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(Invalid):
        _poll(tmp_path, FetchUrl(url=url))


def test_a_missing_file_is_named_with_the_place(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"n\.csv") as caught:
        _poll(tmp_path, FetchUrl(url="n.csv"))
    assert str(tmp_path / "n.csv") in caught.value.hint


def test_a_folder_and_a_pipe_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Invalid, match="folder is a folder"):
        _poll(tmp_path, FetchUrl(url="folder"))
    with pytest.raises(Invalid, match="not a regular file") as caught:
        _poll(tmp_path, FetchUrl(url="pipe"))
    assert "filesGlob" not in caught.value.hint


def test_a_path_that_no_system_takes_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be read"):
        _poll(tmp_path, FetchUrl(url="n\0.csv"))
    with pytest.raises(StorageError, match="cannot be read"):
        _poll(tmp_path, FetchUrl(url="n" * 999))


@pytest.mark.parametrize("pattern", ["loop/*.csv", "**/*.csv"])
def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(tmp_path: Path, pattern: str) -> None:
    _write(tmp_path, "n.csv")
    base = tmp_path / "base"
    base.symlink_to("base")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(StorageError, match="Too many levels"):
        _poll(tmp_path if pattern.startswith("loop") else base, FetchFilesGlob(path=pattern))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    _write(tmp_path, "n.csv")
    (tmp_path / "n.csv").chmod(0)
    with pytest.raises(StorageError, match="cannot be read"):
        _poll(tmp_path, FetchUrl(url="n.csv"))


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("data/*.csv", ["B.csv", "a.csv", "é.csv"]),
        ("data/**/*.csv", ["B.csv", "a.csv", "sub/b.csv", "sub/deep/c.csv", "é.csv"]),
        ("./data/sub/../*.csv", ["B.csv", "a.csv", "é.csv"]),
        ("data/[ab].csv", ["a.csv"]),
        ("data/a.csv", ["a.csv"]),
        ("data/*/b.csv", ["sub/b.csv"]),
        ("{base}/data/a*", ["a.csv"]),
        ("**/b.csv", ["data/sub/b.csv"]),
    ],
)
def test_a_pattern_gives_files_in_order_of_name(
    tmp_path: Path, pattern: str, names: list[str]
) -> None:
    _write(tmp_path, "data/a.csv", "data/B.csv", "data/é.csv", "data/.hidden.csv", "data/x.txt")
    _write(tmp_path, "data/sub/b.csv", "data/sub/deep/c.csv", "data/folder.csv/x")
    found = _poll(tmp_path, FetchFilesGlob(path=pattern.format(base=tmp_path)))
    assert [fetched.state for fetched in found] == [_last(name) for name in names]


def test_files_up_to_the_cursor_are_not_read_again(tmp_path: Path) -> None:
    _write(tmp_path, "data/b.csv", "data/c.csv")
    (tmp_path / "data" / "a.csv").write_bytes(b"not even a header of ours")
    found = _poll(tmp_path, FetchFilesGlob(path="data/*.csv"), _last("b.csv"))
    assert [fetched.label for fetched in found] == ["data/c.csv"]
    assert _poll(tmp_path, FetchFilesGlob(path="data/*.csv"), _last("c.csv")) == []


def test_files_are_read_one_at_a_time(tmp_path: Path) -> None:
    _write(tmp_path, "a.csv")
    (tmp_path / "b.csv").write_bytes(b"id\nx\n")
    read = ReadCsv(schema=(Field(name="id", type=Simple.INT),), header=True, separator=",")
    source = PollingSource(fetch=FetchFilesGlob(path="*.csv"), read=read, merge=MergeAppend())
    steps = FileSource().poll(source, base=tmp_path, after=None)
    assert next(steps).label == "a.csv"
    with pytest.raises(Invalid, match=r"b\.csv:2"):
        next(steps)


def test_a_pattern_without_files_is_told_only_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"data/\*\.csv"):
        _poll(tmp_path, FetchFilesGlob(path="data/*.csv"))
    assert _poll(tmp_path, FetchFilesGlob(path="data/*.csv"), _last("a.csv")) == []


def test_a_state_of_the_other_kind_says_nothing(tmp_path: Path) -> None:
    _write(tmp_path, "a.csv")
    assert len(_poll(tmp_path, FetchFilesGlob(path="*.csv"), _digest(_CONTENT))) == 1
    assert len(_poll(tmp_path, FetchUrl(url="a.csv"), _last("z"))) == 1


def test_a_name_that_cannot_be_recorded_is_refused(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.csv")).write_bytes(_CONTENT)
    with pytest.raises(Invalid, match=r"rename|not a name"):
        _poll(tmp_path, FetchFilesGlob(path="*.csv"))
