"""Manifests: what people write -> values. All mistakes at once, each with its place."""

import difflib
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from odf_coordinator.codec import ddl, yaml_text
from odf_coordinator.codec.yaml_text import Document, Path
from odf_coordinator.errors import Invalid, InvalidText, Problem
from odf_coordinator.model import source as model_source
from odf_coordinator.model.identity import NAME_RULE, DatasetName, is_dataset_name
from odf_coordinator.model.schema import Array, Struct, Vocabulary
from odf_coordinator.rules import slices

_SCHEMES = ("http", "https", "ftp", "s3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One dataset as a file declares it, and the document that errors can point into."""

    snapshot: model_source.DatasetSnapshot
    document: Document

    def query_problem(self, error: Invalid, *, place: tuple[int, int]) -> Problem:
        """A mistake at a (line, column) inside the transform's query, at its place in the file."""
        path: Path = ("content", "source", "transform", "query")
        return self.document.problem_inside(path, place, str(error), error.hint)

    def input_problem(self, number: int, message: str, hint: str = "") -> Problem:
        """A mistake about one input."""
        return self.document.problem(("content", "source", "inputs", number), message, hint=hint)


def parse(text: str, file: str) -> Manifest:
    """The manifest in a text. Raises InvalidText with every mistake that was found."""
    document = yaml_text.parse(text, file)
    if isinstance(document, Problem):
        raise InvalidText([document])
    try:
        manifest = _Manifest.model_validate(document.data)
    except ValidationError as error:
        found = {_problem(document, detail) for detail in error.errors(include_url=False)}
        raise InvalidText(sorted(found, key=astuple)) from None
    snapshot = _snapshot(manifest.content)
    problems = _beyond_shape(snapshot, document)
    if problems:
        raise InvalidText(problems)
    return Manifest(snapshot=snapshot, document=document)


# The shape of what people write. Names are the spec's own, so they are in its camelCase.


class _Object(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _kind(names: tuple[str, ...]) -> BeforeValidator:
    """`kind` in camelCase, PascalCase or lower case."""
    known = {name.lower(): name for name in names}
    return BeforeValidator(lambda v: known.get(v.lower(), v) if isinstance(v, str) else v)


def _tagged(value: Any) -> Any:
    """The discriminator of a union must be in its canonical form before pydantic looks at it."""
    if isinstance(value, dict) and isinstance(value.get("kind"), str):
        kind = value["kind"]
        return value | {"kind": _CANONICAL.get(kind.lower(), kind)}
    return value


def _name(value: str) -> str:
    if not is_dataset_name(value):
        raise PydanticCustomError(
            "name", "'{v}' is not a dataset id: {r}", {"v": value, "r": NAME_RULE}
        )
    return value


def _url(value: str) -> str:
    scheme, separator, _ = value.partition("://")
    if separator and scheme.lower() in _SCHEMES:
        raise PydanticCustomError("url", "'{s}' addresses cannot be fetched yet", {"s": scheme})
    if separator and scheme.lower() != "file":
        raise PydanticCustomError("url", "unknown scheme '{s}'", {"s": scheme})
    return value


def _ddl(value: str) -> str:
    try:
        ddl.parse_field(value)
    except ddl.InvalidDdl as error:
        raise PydanticCustomError("ddl", "{e}", {"e": str(error)}) from error
    return value


def _separator(value: str) -> str:
    if len(value.encode()) != 1 or value in '"\r\n':
        raise PydanticCustomError("separator", "a separator is one ASCII character")
    return value


_Name = Annotated[str, AfterValidator(_name)]
_NotEmpty = Annotated[str, Field(min_length=1)]


class _FetchUrl(_Object):
    kind: Literal["url"]
    url: Annotated[_NotEmpty, AfterValidator(_url)]


class _FetchFilesGlob(_Object):
    kind: Literal["filesGlob"]
    path: _NotEmpty


class _ReadCsv(_Object):
    kind: Literal["csv"]
    schema_: Annotated[
        list[Annotated[str, AfterValidator(_ddl)]], Field(alias="schema", min_length=1)
    ]
    header: bool = False
    separator: Annotated[str, AfterValidator(_separator)] = ","


class _MergeAppend(_Object):
    kind: Literal["append"]


class _Root(_Object):
    kind: Literal["root"]
    fetch: Annotated[
        _FetchUrl | _FetchFilesGlob, Field(discriminator="kind"), BeforeValidator(_tagged)
    ]
    read: Annotated[_ReadCsv, BeforeValidator(_tagged)]
    merge: Annotated[_MergeAppend, BeforeValidator(_tagged)]


class _Input(_Object):
    id: _Name
    alias: _NotEmpty | None = None


class _Transform(_Object):
    engine: Annotated[
        Literal["spark"], BeforeValidator(lambda v: "spark" if v == "sparkSQL" else v)
    ]
    query: _NotEmpty


def _input(value: Any) -> Any:
    return {"id": value} if isinstance(value, str) else value


class _Derivative(_Object):
    kind: Literal["derivative"]
    inputs: Annotated[list[Annotated[_Input, BeforeValidator(_input)]], Field(min_length=1)]
    transform: _Transform


class _Snapshot(_Object):
    id: _Name
    source: Annotated[_Root | _Derivative, Field(discriminator="kind"), BeforeValidator(_tagged)]


def _not_true(value: Any) -> Any:
    return str(value) if isinstance(value, bool) else value  # True equals 1


_One = Annotated[Literal[1], BeforeValidator(_not_true)]


class _Manifest(_Object):
    kind: Annotated[Literal["DatasetSnapshot"], _kind(("DatasetSnapshot",))]
    apiVersion: _One | None = None  # noqa: N815 the spec's name
    version: _One | None = None
    content: _Snapshot

    @model_validator(mode="after")
    def _versioned(self) -> Self:
        if self.apiVersion is None and self.version is None:
            raise PydanticCustomError("version", "'apiVersion: 1' is missing")
        return self


_UNIONS: dict[str, tuple[str, ...]] = {
    "source": ("root", "derivative"),
    "fetch": ("url", "filesGlob"),
    "read": ("csv",),
    "merge": ("append",),
}
_CANONICAL = {name.lower(): name for names in _UNIONS.values() for name in names}


def _snapshot(content: _Snapshot) -> model_source.DatasetSnapshot:
    source = content.source
    return model_source.DatasetSnapshot(
        name=DatasetName(content.id),
        source=_polling(source) if isinstance(source, _Root) else _derivative(source),
    )


def _polling(source: _Root) -> model_source.PollingSource:
    fetch: model_source.FetchStep
    if isinstance(source.fetch, _FetchUrl):
        fetch = model_source.FetchUrl(url=source.fetch.url)
    else:
        fetch = model_source.FetchFilesGlob(path=source.fetch.path)
    read = model_source.ReadCsv(
        schema=tuple(ddl.parse_field(text) for text in source.read.schema_),
        header=source.read.header,
        separator=source.read.separator,
    )
    return model_source.PollingSource(fetch=fetch, read=read, merge=model_source.MergeAppend())


def _derivative(source: _Derivative) -> model_source.DerivativeSource:
    return model_source.DerivativeSource(
        inputs=tuple(
            model_source.DeclaredInput(name=DatasetName(i.id), alias=i.alias or i.id)
            for i in source.inputs
        ),
        transform=model_source.Transform(
            engine=source.transform.engine, query=source.transform.query
        ),
    )


def _beyond_shape(snapshot: model_source.DatasetSnapshot, document: Document) -> list[Problem]:
    """Rules that concern several values at once."""
    source = snapshot.source
    if isinstance(source, model_source.PollingSource):
        schema: Path = ("content", "source", "read", "schema")
        nested = [
            document.problem((*schema, number), f"a cell of csv cannot hold {field.type}")
            for number, field in enumerate(source.read.schema)
            if isinstance(field.type, Array | Struct)
        ]
        if nested:
            return nested
        try:
            slices.root_schema(source.read.schema, Vocabulary())
        except Invalid as error:
            return [document.problem(schema, str(error))]
        return []
    problems, seen = [], set()
    for number, each in enumerate(source.inputs):
        if each.alias.lower() in seen:
            path: Path = ("content", "source", "inputs", number)
            problems.append(document.problem(path, f"alias '{each.alias}' appears twice"))
        seen.add(each.alias.lower())
    return problems


# Mistakes, in words and with their place.

_MODELS: dict[str, tuple[type[_Object], ...]] = {
    "": (_Manifest,),
    "content": (_Snapshot,),
    "source": (_Root, _Derivative),
    "fetch": (_FetchUrl, _FetchFilesGlob),
    "read": (_ReadCsv,),
    "merge": (_MergeAppend,),
    "inputs": (_Input,),
    "transform": (_Transform,),
}
_WORDS = {
    "bool_type": "expected true or false",
    "string_type": "expected a text",
    "int_type": "expected a whole number",
    "list_type": "expected a list",
    "model_type": "expected keys and values",
    "model_attributes_type": "expected keys and values",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
}


def _problem(document: Document, detail: ErrorDetails) -> Problem:
    path = _path_in(detail["loc"])
    match detail["type"]:
        case "extra_forbidden":
            message = f"unknown key '{path[-1]}'"
            return document.problem(path, message, hint=_expected_keys(document, path), key=True)
        case "missing":
            return document.problem(path[:-1], f"'{path[-1]}' is missing", key=len(path) > 1)
        case "union_tag_not_found":
            return document.problem(path, "'kind' is missing", hint=_kinds(path))
        case "union_tag_invalid":
            path = (*path, "kind")
            found = str(_value_at(document.data, path))
            return document.problem(path, f"unknown '{found}'", hint=_kinds(path[:-1], found))
        case "literal_error":
            found = str(_value_at(document.data, path))
            hint = _kinds(path[:-1], found) if path[-1] == "kind" else ""
            expected = f"expected {detail.get('ctx', {}).get('expected', '')}"
            return document.problem(path, f"unknown '{found}'", hint=hint or expected)
    return document.problem(path, _WORDS.get(detail["type"], detail["msg"]))


def _path_in(location: tuple[str | int, ...]) -> Path:
    """A validator's location without the names of union members, which are not in the document."""
    path: list[str | int] = []
    tag_comes = False
    for part in location:
        if tag_comes and part in _UNIONS[str(path[-1])]:
            tag_comes = False
            continue
        path.append(part)
        tag_comes = part in ("source", "fetch")
    return tuple(path)


def _value_at(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part] if isinstance(part, int) else (data or {}).get(part)
    return data


def _expected_keys(document: Document, path: Path) -> str:
    """A guess at the key that was meant, or the list of keys that are known there."""
    names = [part for part in path[:-1] if isinstance(part, str)]
    models = _MODELS[names[-1] if names else ""]
    kind = _value_at(document.data, (*path[:-1], "kind"))
    fitting = [m for m in models if _default_kind(m) == _CANONICAL.get(str(kind).lower(), kind)]
    fields = (fitting or list(models))[0].model_fields
    known = [field.alias or name for name, field in fields.items()]
    return _guess(str(path[-1]), known)


def _default_kind(model: type[_Object]) -> str | None:
    field = model.model_fields.get("kind")
    return get_args(field.annotation)[0] if field else None


def _kinds(path: Path, found: str = "") -> str:
    return _guess(found, _UNIONS.get(str(path[-1]) if path else "", ("DatasetSnapshot",)))


def _guess(found: str, known: Iterable[str]) -> str:
    names = list(known)
    lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(found.lower(), lower, n=1)
    listed = f"({', '.join(names)})"
    return f"did you mean '{lower[close[0]]}'?  {listed}" if close else f"one of {listed}"
