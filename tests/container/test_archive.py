"""The image's archive is a function of its content: no dates, no order, no owners leak in."""

import io
import json
import os
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).parent.parent.parent
EPOCH = 1_700_000_000


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(REPOSITORY / "docker"))
    import archive  # type: ignore[import-not-found]

    assert isinstance(archive, ModuleType)
    return archive


@pytest.fixture
def wheels(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(REPOSITORY / "docker"))
    import wheels  # type: ignore[import-not-found]

    assert isinstance(wheels, ModuleType)
    return wheels


def make_tree(folder: Path, names: list[str], *, mode: int, date: int) -> Path:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
        file.chmod(mode)
        os.utime(file, (date, date))
    (folder / "pkg/__pycache__").mkdir()
    (folder / f"pkg/__pycache__/{date}.pyc").touch()
    return folder


def write(archive: ModuleType, tree: Path, scratch: Path) -> tuple[str, bytes]:
    content = [
        archive.Tree(source=tree, target="/opt/odf/site"),
        archive.Folder(target="/exchange/in", owner=10001),
    ]
    layer = archive.write_layer("app", scratch, content, epoch=EPOCH)
    config = archive.image_config(
        architecture="amd64", config={"User": "1"}, layers=[layer], epoch=EPOCH
    )
    image = archive.Image(config=config, layers=(layer,), tags=("a:1",))
    sink = io.BytesIO()
    archive.write_archive(image, sink, epoch=EPOCH)
    return image.digest, sink.getvalue()


def test_the_same_content_gives_the_same_archive(archive: ModuleType, tmp_path: Path) -> None:
    names = ["pkg/b.py", "pkg/a.py", "z.py"]
    one = make_tree(tmp_path / "one", names, mode=0o600, date=1)
    two = make_tree(tmp_path / "two", names[::-1], mode=0o644, date=2)
    first = write(archive, one, tmp_path / "1.tar")
    assert first == write(archive, two, tmp_path / "2.tar")
    (two / "z.py").write_text("changed")
    assert first[0] != write(archive, two, tmp_path / "3.tar")[0]


def test_the_archive_is_what_docker_reads(archive: ModuleType, tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", ["pkg/a.py"], mode=0o755, date=1)
    digest, content = write(archive, tree, tmp_path / "layer.tar")
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        manifest = json.load(tar.extractfile("manifest.json") or io.BytesIO())
    assert manifest[0]["Config"] == f"{digest}.json"
    assert manifest[0]["RepoTags"] == ["a:1"]
    with tarfile.open(tmp_path / "layer.tar") as layer:
        entries = {entry.name: entry for entry in layer}
    assert list(entries) == sorted(entries)
    assert "opt/odf/site/pkg/__pycache__" not in entries
    assert entries["exchange/in"].uid == 10001
    assert entries["exchange"].uid == 0
    assert entries["opt/odf/site/pkg/a.py"].mode == 0o755
    assert {entry.mtime for entry in entries.values()} == {EPOCH}


def test_every_package_of_the_lock_file_is_pinned(wheels: ModuleType) -> None:
    text = (REPOSITORY / "engine-spark/requirements.lock").read_text()
    found = wheels.parse_lock(text)
    assert "pyspark" in {item.name for item in found}
    assert all(item.hashes for item in found)
    tools = __import__("tools")
    with pytest.raises(tools.BuildError, match="not pinned"):
        wheels.parse_lock("pyspark>=4\n")
