"""How the objects of a manifest are written: kinds, texts, short forms, and what a value may be."""

import codecs
import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from odf_coordinator.codec import ddl
from odf_coordinator.codec.durations import RULE as DURATION_RULE
from odf_coordinator.codec.durations import parse_duration, print_duration
from odf_coordinator.codec.plain import Data, NotThat, Shape, Short, Text
from odf_coordinator.model import source as src
from odf_coordinator.model.identity import (
    NAME_RULE,
    DatasetName,
    DatasetRef,
    is_dataset_name,
    parse_ref,
)
from odf_coordinator.model.schema import Field
from odf_coordinator.model.timeline import Duration

ENGINES = ("spark",)
_ENGINE_NAMES = {"sparksql": "spark", "spark": "spark"}
_SCHEMES = ("http", "https", "ftp", "file", "s3")
_SECRET = re.compile(r"\$\{secret\.[A-Za-z0-9_.-]+\}")
_CREDENTIAL_HEADERS = re.compile(r"(?i)authorization|cookie|token|secret|password|api-?key")
_CREDENTIAL_PARAMETERS = re.compile(r"(?i)(?:access_?|auth_?)?token|api_?key|password|secret|sig")
_CREDENTIAL_VALUES = re.compile(r"(?i)\s*(?:basic|bearer|digest|token)\s+\S")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

# Texts


def _field(text: str) -> Field:
    try:
        return ddl.parse_field(text)
    except ddl.InvalidDdl as error:
        raise NotThat(str(error)) from error


def _name(text: str) -> DatasetName:
    if not is_dataset_name(text):
        raise NotThat(f"'{text}' is not a dataset id: {NAME_RULE}")
    return DatasetName(text)


def _ref(text: str) -> DatasetRef:
    ref = parse_ref(text)
    if ref is None:
        raise NotThat(f"'{text}' is not a dataset: {NAME_RULE}, after 'remote/' or 'remote/user/'")
    return ref


def _duration(text: str) -> Duration:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise NotThat(str(error)) from error


_TEXTS: dict[Any, Text] = {
    Field: Text(
        parse=_field,
        write=ddl.print_field,
        schema={"description": f"a column, 'name TYPE'; types: {', '.join(ddl.TYPES)}"},
    ),
    DatasetName: Text(parse=_name, write=str, schema={"description": NAME_RULE}),
    DatasetRef: Text(
        parse=_ref,
        write=str,
        schema={"description": "dataset, remote/dataset, remote/user/dataset"},
    ),
    Duration: Text(parse=_duration, write=print_duration, schema={"description": DURATION_RULE}),
}

# Short forms: `expand` leaves alone what it does not know, so that reading tells what is wrong.


def _expand_input(data: Any) -> Any:
    return {"id": data} if isinstance(data, str) else data


def _shorten_input(data: Data) -> Any:
    return data["id"] if set(data) == {"id"} else data


def _expand_transform(data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    full = dict(data)
    if "query" in full and "queries" not in full:
        full["queries"] = [{"query": full.pop("query")}]
    engine = full.get("engine")
    if isinstance(engine, str):
        full["engine"] = _ENGINE_NAMES.get(engine.lower(), engine)
    return full


def _shorten_transform(data: Data) -> Any:
    queries = data["queries"]
    if len(queries) != 1 or "alias" in queries[0]:
        return data
    return {
        key if key != "queries" else "query": value if key != "queries" else queries[0]["query"]
        for key, value in data.items()
    }


def _transform_schema(schema: Data) -> Data:
    properties = {**schema["properties"], "query": {"type": "string", "minLength": 1}}
    properties["engine"] = {"enum": [*ENGINES, "sparkSQL"]}
    required = [name for name in schema["required"] if name != "queries"]
    either = [{"required": ["query"]}, {"required": ["queries"]}]
    return {**schema, "properties": properties, "required": required, "oneOf": either}


def _expand_late(data: Any) -> Any:
    return {"kind": data} if isinstance(data, str) else data


def _expand_url(data: Any) -> Any:
    if isinstance(data, dict) and isinstance(data.get("headers"), dict):
        headers = [{"name": name, "value": value} for name, value in data["headers"].items()]
        return data | {"headers": headers}
    return data


def _shorten_url(data: Data) -> Any:
    if "headers" in data:
        return data | {"headers": {each["name"]: each["value"] for each in data["headers"]}}
    return data


def _url_schema(schema: Data) -> Data:
    mapping = {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}}
    headers = {"anyOf": [schema["properties"]["headers"], mapping]}
    return {**schema, "properties": {**schema["properties"], "headers": headers}}


def _expand_snapshot(data: Any) -> Any:
    """`attachments: {kind: embedded, items: [...]}`, as later versions of the spec have it."""
    if not isinstance(data, dict) or not isinstance(data.get("attachments"), dict):
        return data
    attachments = data["attachments"]
    embedded = str(attachments.get("kind", "")).lower() == "embedded"
    return data | {"attachments": attachments["items"]} if _only(attachments, embedded) else data


def _only(attachments: Data, embedded: bool) -> bool:
    return embedded and set(attachments) == {"kind", "items"}


def _attachments_schema(schema: Data) -> Data:
    listed = schema["properties"]["attachments"]
    embedded = {
        "type": "object",
        "properties": {"kind": {"enum": ["embedded", "Embedded"]}, "items": listed},
        "required": ["kind", "items"],
        "additionalProperties": False,
    }
    properties = {**schema["properties"], "attachments": {"anyOf": [listed, embedded]}}
    return {**schema, "properties": properties}


def _as_it_is(data: Data) -> Any:
    return data


_SHORTS: dict[type, Short] = {
    src.DeclaredInput: Short(
        expand=_expand_input,
        shorten=_shorten_input,
        schema=lambda schema: {"anyOf": [{"type": "string"}, schema]},
    ),
    src.Transform: Short(
        expand=_expand_transform, shorten=_shorten_transform, schema=_transform_schema
    ),
    src.LateDrop: Short(
        expand=_expand_late,
        shorten=lambda _: "drop",
        schema=lambda schema: {"anyOf": [{"enum": ["drop", "Drop"]}, schema]},
    ),
    src.FetchUrl: Short(expand=_expand_url, shorten=_shorten_url, schema=_url_schema),
    src.DatasetSnapshot: Short(
        expand=_expand_snapshot, shorten=_as_it_is, schema=_attachments_schema
    ),
}

# Checks of single values


def _url(value: str) -> str | None:
    scheme, separator, _ = value.partition("://")
    if not separator:
        return None
    if scheme.lower() not in _SCHEMES:
        return f"unknown scheme '{scheme}'; one of ({', '.join(_SCHEMES)})"
    try:
        parts = urlsplit(value)
    except ValueError as error:
        return f"not an address: {error}"
    if parts.password is not None or (parts.username and parts.scheme != "ftp"):
        return _CREDENTIAL
    for name, parameter in parse_qsl(parts.query):
        if _CREDENTIAL_PARAMETERS.fullmatch(name) and not _SECRET.search(parameter):
            return _CREDENTIAL
    return None


_CREDENTIAL = (
    "a credential would become public with the chain; keep it in your configuration and write"
    " ${secret.NAME}"
)


def _headers(value: tuple[src.RequestHeader, ...]) -> str | None:
    for header in value:
        if not _HEADER_NAME.fullmatch(header.name):
            return f"'{header.name}' is not the name of a header"
        if not header.value.isprintable():
            return f"the value of '{header.name}' has characters that a header cannot have"
        secret = _CREDENTIAL_HEADERS.search(header.name) or _CREDENTIAL_VALUES.match(header.value)
        if secret and not _SECRET.search(header.value):
            return _CREDENTIAL
    return None


def _pattern(value: str) -> str | None:
    try:
        groups = re.compile(value).groups
    except re.error as error:
        return f"not a regular expression: {error}"
    return None if groups else "the pattern needs a group (...) around the time"


def _one_character(value: str | None) -> str | None:
    return None if value is None or len(value) == 1 else "expected one character"


def _separator(value: str) -> str | None:
    if len(value.encode()) != 1 or value in '"\r\n':
        return "a separator is one ASCII character"
    return None


def _quote(value: str) -> str | None:
    return None if len(value) <= 1 else "expected one character, or '' for no quotes"


def _encoding(value: str) -> str | None:
    try:
        codecs.lookup(value).name.encode()
    except (LookupError, ValueError):
        return f"unknown encoding '{value}'"
    return None


def _engine(value: str) -> str | None:
    return None if value in ENGINES else f"unknown engine '{value}'; one of ({', '.join(ENGINES)})"


def _queries(value: tuple[src.SqlQuery, ...]) -> str | None:
    *steps, last = value
    aliases = [step.alias for step in steps]
    if None in aliases:
        return "all queries but the last need an alias"
    if last.alias is not None:
        return "the last query is the output and has no alias"
    if len(set(aliases)) < len(aliases):
        return "two queries have the same alias"
    return None


def _attachments(value: tuple[src.Attachment, ...]) -> str | None:
    paths = [each.path for each in value]
    if len(set(paths)) < len(paths):
        return "two attachments have the same path"
    for path in paths:
        if path.startswith("/") or "\\" in path or ".." in path.split("/"):
            return f"'{path}' is not a path below the dataset"
    return None


def _positive(value: Duration) -> str | None:
    return None if value > 0 else "must be longer than nothing"


def _not_empty(value: tuple[Any, ...]) -> str | None:
    return None if value else "must not be empty"


def _distinct(value: tuple[str, ...]) -> str | None:
    return None if len(set(value)) == len(value) else "a column appears twice"


SHAPE = Shape(
    tags={
        src.PollingSource: ("root",),
        src.PushSource: ("push",),
        src.DerivativeSource: ("derivative",),
        src.FetchUrl: ("url",),
        src.FetchFilesGlob: ("filesGlob",),
        src.EventTimeFromMetadata: ("fromMetadata",),
        src.EventTimeFromPath: ("fromPath",),
        src.EventTimeFromSystemTime: ("fromSystemTime",),
        src.CacheForever: ("forever",),
        src.PrepDecompress: ("decompress",),
        src.PrepPipe: ("pipe",),
        src.ReadCsv: ("csv",),
        src.ReadJsonLines: ("jsonLines", "ndJson"),
        src.ReadJson: ("json",),
        src.ReadGeoJson: ("geoJson",),
        src.ReadEsriShapefile: ("esriShapefile",),
        src.ReadParquet: ("parquet",),
        src.MergeAppend: ("append",),
        src.MergeLedger: ("ledger",),
        src.MergeSnapshot: ("snapshot",),
        src.LateDrop: ("drop",),
        src.LateCorrect: ("correct",),
    },
    texts=_TEXTS,
    shorts=_SHORTS,
    checks={
        (src.FetchUrl, "url"): _url,
        (src.FetchUrl, "headers"): _headers,
        (src.EventTimeFromPath, "pattern"): _pattern,
        (src.ReadCsv, "separator"): _separator,
        (src.ReadCsv, "quote"): _quote,
        (src.ReadCsv, "escape"): _one_character,
        (src.ReadCsv, "comment"): _one_character,
        (src.ReadCsv, "encoding"): _encoding,
        (src.ReadJsonLines, "encoding"): _encoding,
        (src.ReadJson, "encoding"): _encoding,
        (src.MergeLedger, "primary_key"): _distinct,
        (src.MergeSnapshot, "primary_key"): _distinct,
        (src.MergeSnapshot, "compare_columns"): _distinct,
        (src.Transform, "engine"): _engine,
        (src.Transform, "queries"): _queries,
        (src.LateCorrect, "horizon"): _positive,
        (src.DatasetSnapshot, "attachments"): _attachments,
        **{
            (read, "schema"): _not_empty
            for read in (
                src.ReadCsv,
                src.ReadJsonLines,
                src.ReadJson,
                src.ReadGeoJson,
                src.ReadEsriShapefile,
                src.ReadParquet,
            )
        },
    },
    may_be_empty=frozenset(
        {
            (src.ReadCsv, "quote"),
            (src.ReadCsv, "null_value"),
            (src.ReadCsv, "empty_value"),
            (src.ReadCsv, "nan_value"),
            (src.ReadCsv, "positive_inf"),
            (src.ReadCsv, "negative_inf"),
            (src.Attachment, "content"),
        }
    ),
)
