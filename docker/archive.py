"""A docker-archive written file by file: the same input gives the same bytes, the same digest."""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A file or folder of this machine and its absolute place in the image."""

    source: Path
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """An empty folder of the image with its owner."""

    target: str
    owner: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer: an uncompressed tar file and its sha256."""

    title: str
    path: Path
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A complete image; `digest` is the sha256 of its configuration, which Docker calls its id."""

    config: bytes
    layers: tuple[Layer, ...]
    tags: tuple[str, ...]

    @property
    def digest(self) -> str:
        """The configuration's digest: the same in Docker, in podman and in registries."""
        return hashlib.sha256(self.config).hexdigest()


def existing_layer(title: str, path: Path) -> Layer:
    """A tar file that is already there, as a layer."""
    with path.open("rb") as file:
        return Layer(title=title, path=path, digest=hashlib.file_digest(file, "sha256").hexdigest())


def write_layer(title: str, path: Path, content: Iterable[Tree | Folder], *, epoch: int) -> Layer:
    """Write a layer: sorted entries, one date, owner root (empty folders excepted), plain modes."""
    entries: dict[str, tuple[Path | None, int]] = {}
    for item in content:
        if isinstance(item, Folder):
            entries[item.target.strip("/")] = (None, item.owner)
        else:
            entries.update({name: (file, 0) for name, file in _files(item)})
    for name in list(entries):
        for parent in Path(name).parents[:-1]:
            entries.setdefault(parent.as_posix(), (None, 0))
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted(entries):
            source, owner = entries[name]
            _add(tar, name, source, owner=owner, epoch=epoch)
    return existing_layer(title, path)


def image_config(
    *,
    architecture: str,
    config: dict[str, object],
    layers: Iterable[Layer],
    epoch: int,
) -> bytes:
    """The image's configuration as canonical JSON."""
    created = datetime.fromtimestamp(epoch, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    layers = list(layers)
    document = {
        "architecture": architecture,
        "os": "linux",
        "created": created,
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{item.digest}" for item in layers]},
        "history": [{"created": created, "created_by": item.title} for item in layers],
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def write_archive(image: Image, sink: BinaryIO, *, epoch: int) -> None:
    """Write the image as `docker load` reads it; the sink need not be seekable."""
    with tarfile.open(fileobj=sink, mode="w|", format=tarfile.GNU_FORMAT) as tar:
        _add_bytes(tar, f"{image.digest}.json", image.config, epoch=epoch)
        names = [f"{layer.digest}/layer.tar" for layer in image.layers]
        for name, layer in zip(names, image.layers, strict=True):
            _add(tar, name, layer.path, owner=0, epoch=epoch)
        entry = {"Config": f"{image.digest}.json", "RepoTags": [*image.tags], "Layers": names}
        _add_bytes(tar, "manifest.json", json.dumps([entry]).encode(), epoch=epoch)


def _files(tree: Tree) -> Iterable[tuple[str, Path]]:
    place = tree.target.strip("/")
    if tree.source.is_file():
        yield place, tree.source
        return
    for path in tree.source.rglob("*"):
        if "__pycache__" not in path.parts and path.is_file():
            yield f"{place}/{path.relative_to(tree.source).as_posix()}", path


def _add(tar: tarfile.TarFile, name: str, source: Path | None, *, owner: int, epoch: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.mtime, entry.uid, entry.gid = epoch, owner, owner
    if source is None:
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(entry)
        return
    status = source.stat()
    entry.size, entry.mode = status.st_size, 0o755 if status.st_mode & 0o100 else 0o644
    with source.open("rb") as file:
        tar.addfile(entry, file)


def _add_bytes(tar: tarfile.TarFile, name: str, content: bytes, *, epoch: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.mtime, entry.size = epoch, len(content)
    tar.addfile(entry, io.BytesIO(content))
