"""YAML <-> plain data, with the place of every node, behind a guard against hostile documents.

Only the JSON-compatible subset: no anchors, aliases, tags or duplicate keys, and a bounded depth.
The guard reads events first, because the C parser crashes on deep nesting when it composes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from odf_coordinator.errors import Problem

_MAX_DEPTH = 64
_MAX_NODES = 100_000
_MAX_EXCERPT = 200
_MAX_DIGITS = 40

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a node starts, 1-based; for a block scalar, where its text starts."""

    line: int
    column: int
    text_line: int
    text_column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A parsed document: data, the place of each value and each key, and the source lines."""

    file: str
    data: Any
    values: dict[Path, Place] = field(default_factory=dict)
    keys: dict[Path, Place] = field(default_factory=dict)
    lines: tuple[str, ...] = ()

    def problem(self, path: Path, message: str, *, hint: str = "", key: bool = False) -> Problem:
        """A mistake at a key or value; where the path leads nowhere, at what encloses it."""
        known = path
        while known not in self.values:
            known = known[:-1]
        place = self.keys[path] if key and path in self.keys else self.values[known]
        return self.problem_at(
            place.line, place.column, message, path=".".join(map(str, path)), hint=hint
        )

    def problem_at(
        self, line: int, column: int, message: str, *, path: str = "", hint: str = ""
    ) -> Problem:
        """A mistake at a line and column of the file."""
        excerpt = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        if len(excerpt) > _MAX_EXCERPT:
            excerpt = ""
        return Problem(
            file=self.file,
            line=line,
            column=column,
            path=path,
            message=message,
            hint=hint,
            excerpt=excerpt,
        )

    def problem_inside(
        self, path: Path, within: tuple[int, int], message: str, hint: str
    ) -> Problem:
        """A mistake at a line and column (1-based, 0 unknown) inside a text value."""
        place, (line, column) = self.values[path], within
        if not line:
            return self.problem(path, message, hint=hint)
        column_there = place.text_column + max(column, 1) - 1
        return self.problem_at(
            place.text_line + line - 1,
            column_there,
            message,
            path=".".join(map(str, path)),
            hint=hint,
        )


class _Refused(Exception):
    def __init__(self, mark: Any, message: str) -> None:
        super().__init__(message)
        self.mark = mark


def parse(text: str, file: str) -> Document | Problem:
    """The document, or the one reason why there is none."""
    lines = tuple(text.splitlines())
    empty = Document(file=file, data=None, lines=lines)
    try:
        _guard(text)
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
        if node is None:
            return empty.problem_at(1, 1, "the document is empty")
        document = Document(file=file, data=_plain(node), lines=lines)
        _collect(node, (), document)
    except _Refused as refused:
        line, column = (refused.mark.line, refused.mark.column) if refused.mark else (0, 0)
        return empty.problem_at(line + 1, column + 1, str(refused))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line, mark.column) if mark else (0, 0)
        what = f"{error.problem}"
        if what.startswith("but "):
            what = f"{error.context}, {what}"
        return empty.problem_at(min(line + 1, max(len(lines), 1)), column + 1, what)
    except yaml.YAMLError as error:
        return empty.problem_at(1, 1, f"not YAML: {error}")
    return document


class _Dumper(yaml.SafeDumper):
    """With a style of its own for text of several lines."""


def _dump_text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _dump_text)


def dump(documents: Sequence[Any]) -> str:
    """Documents in YAML; texts of several lines as people write them."""
    text: str = yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text.rstrip()


def _guard(text: str) -> None:
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
        mark = event.start_mark
        if count > _MAX_NODES:
            raise _Refused(mark, f"more than {_MAX_NODES} nodes")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _Refused(mark, "anchors and aliases are not allowed")
        if tag := getattr(event, "tag", None):
            raise _Refused(mark, f"tags are not allowed ({tag})")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _MAX_DEPTH:
                raise _Refused(mark, f"nested deeper than {_MAX_DEPTH}")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


_QUOTED = ("'", '"', "|", ">")
_NULLS = ("", "~", "null", "Null", "NULL")
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


def _plain(node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return _mapping(node)
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item) for item in node.value]
    text: str = node.value
    if getattr(node, "style", None) in _QUOTED:
        return text
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    return _number(text)


def _number(text: str) -> int | float | str:
    if not text.isascii() or "_" in text or not any(c.isdigit() for c in text):
        return text
    if text.removeprefix("-").isdecimal():
        return int(text) if len(text) <= _MAX_DIGITS else text
    try:
        return float(text)
    except ValueError:
        return text


def _mapping(node: yaml.MappingNode) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _Refused(key.start_mark, "a key must be a plain name")
        if key.value in found:
            raise _Refused(key.start_mark, f"key '{key.value}' appears twice")
        found[key.value] = _plain(value)
    return found


def _collect(node: yaml.Node, path: Path, into: Document) -> None:
    into.values[path] = _place(node, into.lines)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            into.keys[(*path, key.value)] = _place(key, into.lines)
            _collect(value, (*path, key.value), into)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _collect(item, (*path, index), into)


def _place(node: yaml.Node, lines: tuple[str, ...]) -> Place:
    line, column = node.start_mark.line + 1, node.start_mark.column + 1
    text_line, text_column = line, column
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        text_line = line + 1
        first = next((text for text in lines[line:] if text.strip()), "")
        text_column = len(first) - len(first.lstrip()) + 1
    elif isinstance(node, yaml.ScalarNode) and node.style in ("'", '"'):
        text_column = column + 1
    return Place(line=line, column=column, text_line=text_line, text_column=text_column)
