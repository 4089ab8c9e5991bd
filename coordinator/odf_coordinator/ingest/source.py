"""Files on this machine as external sources."""

import fnmatch
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import assert_never
from urllib.parse import unquote, urlsplit

from odf_coordinator.errors import ConflictError, Invalid, NotFound, StorageError
from odf_coordinator.ingest import csv
from odf_coordinator.model.event import SourceState, SourceStateKind
from odf_coordinator.model.source import (
    FetchFilesGlob,
    FetchUrl,
    MergeAppend,
    PollingSource,
    ReadCsv,
    SourceOrder,
)
from odf_coordinator.ports import Fetched
from odf_coordinator.rules.hashing import physical_hash

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MAGIC = re.compile(r"[*?\[]")


class FileSource:
    """One file, or the files that match a pattern. See ports.ExternalSource."""

    def poll(
        self, source: PollingSource, *, base: Path, after: SourceState | None
    ) -> Iterator[Fetched]:
        """What is new after a state; paths are relative to `base`.

        One file: its digest is the state, and an unchanged file gives nothing. A pattern: each file
        is one item, in the bytewise order of the names below the pattern's fixed folder; the name
        is the state, and files that sort at or before it are not read again. A state of the other
        kind says nothing about this source. A file is read once, into memory: the bytes that are
        hashed are the bytes that become rows. Raises ConflictError when a file changes meanwhile.
        """
        read = _readable(source)
        match source.fetch:
            case FetchUrl():
                yield from _poll_file(source.fetch, read, base, after)
            case FetchFilesGlob():
                yield from _poll_files(source.fetch, read, base, after)
            case _:
                assert_never(source.fetch)


def _readable(source: PollingSource) -> ReadCsv:
    """The read step, when this version can do all that the source asks for. Raises Invalid."""
    fetch, read = source.fetch, source.read
    unable = {
        "fetch.eventTime": fetch.event_time is not None,
        "fetch.cache": fetch.cache is not None,
        "fetch.headers": isinstance(fetch, FetchUrl) and bool(fetch.headers),
        "fetch.order": isinstance(fetch, FetchFilesGlob) and fetch.order is not SourceOrder.BY_NAME,
        "prepare": bool(source.prepare),
        "preprocess": source.preprocess is not None,
        f"merge {type(source.merge).__name__}": not isinstance(source.merge, MergeAppend),
        "watermark": source.watermark is not None,
        "a schema that is not declared": not read.schema,
    }
    if isinstance(read, ReadCsv):
        plain = ReadCsv(schema=read.schema, header=read.header, separator=read.separator)
        unable["read options other than schema, header and separator"] = read != plain
    else:
        unable[f"read {type(read).__name__}"] = True
    missing = [name for name, used in unable.items() if used]
    if missing or not isinstance(read, ReadCsv):
        raise Invalid(f"this version of odf cannot ingest: {', '.join(missing)}")
    return read


def _poll_file(
    fetch: FetchUrl, read: ReadCsv, base: Path, after: SourceState | None
) -> Iterator[Fetched]:
    content = _content(base / _local(fetch.url), fetch.url)
    state = SourceState(kind=SourceStateKind.DIGEST, value=physical_hash([content]))
    if state != after:
        rows = csv.read(content, read, file=fetch.url)
        yield Fetched(label=fetch.url, size=len(content), rows=rows, state=state)


def _local(url: str) -> str:
    """The path that an address means. Raises Invalid when it is not on this machine."""
    if not _SCHEME.match(url):
        return url
    parts = urlsplit(url)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        raise Invalid(
            f"{url} is not a file on this machine", hint="give a path or a file:// address"
        )
    if parts.query or parts.fragment:
        raise Invalid(f"{url} has a query or a fragment", hint="write '?' as %3F and '#' as %23")
    return unquote(parts.path)


def _poll_files(
    fetch: FetchFilesGlob, read: ReadCsv, base: Path, after: SourceState | None
) -> Iterator[Fetched]:
    folder, pattern = _split(fetch.path)
    names = sorted(_matches(base / folder, pattern), key=os.fsencode)
    known = after is not None and after.kind is SourceStateKind.LAST_FILE
    if not names and not known:
        raise NotFound(
            f"{fetch.path}: no file matches",
            hint=f"the pattern is relative to {base}; hidden files do not count",
        )
    cursor = os.fsencode(after.value) if after is not None and known else b""
    for name in names:
        if os.fsencode(name) > cursor:
            yield _file_step(base / folder / name, (folder / name).as_posix(), name, read)


def _file_step(path: Path, label: str, name: str, read: ReadCsv) -> Fetched:
    if not name.isprintable():
        raise Invalid(f"{label!r} is not a name that a block can record", hint="rename the file")
    content = _content(path, label)
    rows = csv.read(content, read, file=label)
    state = SourceState(kind=SourceStateKind.LAST_FILE, value=name)
    return Fetched(label=label, size=len(content), rows=rows, state=state)


def _split(path: str) -> tuple[PurePosixPath, str]:
    """The fixed folder of a pattern, and the pattern below it."""
    parts = PurePosixPath(path).parts
    fixed = next((n for n, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)
    return PurePosixPath(*parts[:fixed]), "/".join(parts[fixed:])


def _matches(folder: Path, pattern: str) -> set[str]:
    """The files below a folder that match; unlike `glob`, a folder that cannot be listed is no
    empty one: it raises StorageError."""
    try:
        found = set(_walk(folder, tuple(pattern.split("/"))))
    except OSError as error:
        raise StorageError.told_by(error, subject=pattern) from error
    return {path.relative_to(folder).as_posix() for path in found}


def _walk(folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
    head, rest = parts[0], parts[1:]
    if head == "**":
        yield from _walk(folder, rest or ("*",))
        for path in _listed(folder, "*"):
            if path.is_dir():
                yield from _walk(path, parts)
        return
    for path in _listed(folder, head):
        if rest and path.is_dir():
            yield from _walk(path, rest)
        elif not rest and path.is_file():
            yield path


def _listed(folder: Path, pattern: str) -> list[Path]:
    """What a folder holds that matches; hidden names only where the pattern asks for them."""
    if not _MAGIC.search(pattern):
        return [folder / pattern]
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except (FileNotFoundError, NotADirectoryError):
        return []
    hidden = pattern.startswith(".")
    return [
        folder / name
        for name in names
        if fnmatch.fnmatchcase(name, pattern) and (hidden or not name.startswith("."))
    ]


def _content(path: Path, name: str) -> bytes:
    """All bytes of a file at one moment: size and time must be the same before and after."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise Invalid(
                f"{name} is a folder", hint="a fetch step of kind filesGlob reads many files"
            )
        if not stat.S_ISREG(mode):
            raise Invalid(f"{name} is not a regular file", hint="copy what it gives into one")
        with path.open("rb") as file:
            before = os.fstat(file.fileno())
            content = file.read()
            after = os.fstat(file.fileno())
    except FileNotFoundError as error:
        raise NotFound(f"{name}: there is no such file", hint=f"looked for {path}") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StorageError(f"{name} cannot be read: {reason}", hint=f"looked at {path}") from error
    if (before.st_size, before.st_mtime_ns) != (len(content), after.st_mtime_ns):
        raise ConflictError(
            f"{name} changed while it was read", hint="pull again when it is complete"
        )
    return content
