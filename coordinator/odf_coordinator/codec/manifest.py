"""Manifests: what people write <-> values. All mistakes at once, each with its place."""

from dataclasses import astuple, dataclass
from typing import Any

from odf_coordinator.codec import json_schema, plain, yaml_text
from odf_coordinator.codec.manifest_rules import problems_beyond_shape
from odf_coordinator.codec.manifest_shape import SHAPE
from odf_coordinator.codec.plain import Mistake
from odf_coordinator.codec.yaml_text import Document, Path
from odf_coordinator.errors import Invalid, InvalidText, Problem
from odf_coordinator.model.source import DatasetSnapshot

_KIND = "DatasetSnapshot"
_VERSIONS = ("apiVersion", "version")
_QUERIES: Path = ("content", "source", "transform", "queries")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One dataset as a file declares it, and the document that errors can point into."""

    snapshot: DatasetSnapshot
    document: Document

    def query_problem(self, error: Invalid, *, number: int, place: tuple[int, int]) -> Problem:
        """A mistake at a (line, column) inside one of the queries, at its place in the file."""
        path: Path = (*_QUERIES, number, "query")
        if path not in self.document.values:
            path = (*_QUERIES[:-1], "query")
        return self.document.problem_inside(path, place, str(error), error.hint)

    def problem(self, path: Path, message: str, hint: str = "") -> Problem:
        """A mistake about one value of the content."""
        return self.document.problem(("content", *path), message, hint=hint)

    def input_problem(self, number: int, message: str, hint: str = "") -> Problem:
        """A mistake about one input."""
        return self.problem(("source", "inputs", number), message, hint=hint)


def parse(text: str, file: str) -> Manifest:
    """The manifest in a text. Raises InvalidText with every mistake that was found."""
    document = yaml_text.parse(text, file)
    if isinstance(document, Problem):
        raise InvalidText([document])
    data = document.data
    if not isinstance(data, dict):
        raise InvalidText([document.problem((), "expected keys and values")])
    mistakes = _envelope(data)
    snapshot = None
    if "content" in data:
        try:
            snapshot = plain.read(SHAPE, DatasetSnapshot, data["content"], ("content",))
        except plain.Wrong as wrong:
            mistakes += wrong.mistakes
    if not mistakes and snapshot is not None:
        mistakes += [_inside(each) for each in problems_beyond_shape(snapshot)]
    if mistakes or snapshot is None:
        found = {_problem(document, mistake) for mistake in mistakes}
        raise InvalidText(sorted(found, key=astuple))
    return Manifest(snapshot=snapshot, document=document)


def print_manifest(snapshot: DatasetSnapshot) -> str:
    """The text that `parse` reads back: only what differs from the defaults."""
    content = plain.write(SHAPE, snapshot)
    return yaml_text.dump([{"apiVersion": 1, "kind": _KIND, "content": content}]) + "\n"


def source_data(source: Any) -> Any:
    """A source, or another object of a manifest, as plain data in a manifest's words."""
    return plain.write(SHAPE, source)


def schema() -> dict[str, Any]:
    """The JSON Schema of manifests, for editors."""
    content, definitions = json_schema.of(SHAPE, DatasetSnapshot)
    version = {"const": 1, "description": "the version of the manifest's format"}
    return {
        "$schema": json_schema.DIALECT,
        "title": "odf manifest",
        "type": "object",
        "properties": {
            "apiVersion": version,
            "version": version,
            "kind": {"enum": [_KIND, _KIND[0].lower() + _KIND[1:], _KIND.lower()]},
            "content": content,
        },
        "required": ["kind", "content"],
        "anyOf": [{"required": [name]} for name in _VERSIONS],
        "additionalProperties": False,
        "$defs": definitions,
    }


def _envelope(data: dict[str, Any]) -> list[Mistake]:
    known = ("kind", *_VERSIONS, "content")
    found = [
        Mistake(
            path=(key,), message=f"unknown key '{key}'", hint=plain.guess(key, known), at_key=True
        )
        for key in data
        if key not in known
    ]
    for key in _VERSIONS:
        if key in data and (data[key] != 1 or isinstance(data[key], bool)):
            found.append(Mistake(path=(key,), message=f"unknown '{data[key]}'", hint="expected 1"))
    if not any(key in data for key in _VERSIONS):
        found.append(Mistake(path=(), message="'apiVersion: 1' is missing"))
    for key in ("kind", "content"):
        if key not in data:
            found.append(Mistake(path=(), message=f"'{key}' is missing"))
    kind = data.get("kind", _KIND)
    if not isinstance(kind, str) or kind.lower() != _KIND.lower():
        hint = plain.guess(str(kind), [_KIND])
        found.append(Mistake(path=("kind",), message=f"unknown '{kind}'", hint=hint))
    return found


def _inside(mistake: Mistake) -> Mistake:
    return Mistake(path=("content", *mistake.path), message=mistake.message, hint=mistake.hint)


def _problem(document: Document, mistake: Mistake) -> Problem:
    path, message = mistake.path, mistake.message
    if message == "'queries' is missing":
        message = "'query' is missing"
    if path not in document.values and path[-3:-2] == ("queries",):
        path = (*path[:-3], "query")  # the short form: one query, in its own words
    return document.problem(path, message, hint=mistake.hint, key=mistake.at_key)
