"""A second reader of block files: docs/formats/block.md and nothing else of this repository."""

import hashlib
import struct
from typing import Any

Kind = str | tuple[str, Any]
"""A word (i64, instant, text ...), or ("list", kind), ("table", fields), ("union", members)."""

Fields = list[tuple[str, Kind]]

_FIELD: Fields = [("name", "text"), ("type", "text")]
_COLUMN: Fields = [("id", "i32"), ("name", "text"), ("type", "text")]
_PIN: Fields = [("build_id", "text"), ("image_digest", "text")]
_RUN: Fields = [
    ("name", "text"),
    ("build_id", "text"),
    ("image_digest", "text"),
    ("runner", "text"),
]
_SLICE: Fields = [
    ("logical_hash", "text"),
    ("physical_hash", "text"),
    ("offset_interval", ("table", [("start", "i64"), ("end", "i64")])),
    ("size", "i64"),
]
_CHECKPOINT: Fields = [("physical_hash", "text"), ("size", "i64")]
_TRANSFORM: Fields = [
    ("engine", "text"),
    ("version", "text"),
    ("queries", ("list", ("table", [("query", "text"), ("alias", "text")]))),
    ("temporal_tables", ("list", ("table", [("id", "text"), ("primary_key", ("list", "text"))]))),
    ("late_data", ("union", [("LateDrop", []), ("LateCorrect", [("horizon", "i64")])])),
]
_EVENT_TIME: Kind = (
    "union",
    [
        ("EventTimeFromMetadata", []),
        ("EventTimeFromPath", [("pattern", "text"), ("timestamp_format", "text")]),
        ("EventTimeFromSystemTime", []),
    ],
)
_FETCH: Kind = (
    "union",
    [
        (
            "FetchUrl",
            [
                ("url", "text"),
                ("event_time", _EVENT_TIME),
                ("cache", ("table", [])),
                ("headers", ("list", ("table", [("name", "text"), ("value", "text")]))),
            ],
        ),
        (
            "FetchFilesGlob",
            [
                ("path", "text"),
                ("event_time", _EVENT_TIME),
                ("cache", ("table", [])),
                ("order", "text"),
            ],
        ),
    ],
)
_PREPARE: Kind = (
    "union",
    [
        ("PrepDecompress", [("format", "text"), ("sub_path", "text")]),
        ("PrepPipe", [("command", ("list", "text"))]),
    ],
)


def _read(name: str, *options: tuple[str, Kind]) -> tuple[str, Fields]:
    return (name, [("schema", ("list", ("table", _FIELD))), *options, ("on_error", "text")])


_READ: Kind = (
    "union",
    [
        _read(
            "ReadCsv",
            ("separator", "text"),
            ("encoding", "text"),
            ("quote", "text"),
            ("escape", "text"),
            ("comment", "text"),
            ("header", "bool"),
            ("enforce_schema", "bool"),
            ("infer_schema", "bool"),
            ("ignore_leading_white_space", "bool"),
            ("ignore_trailing_white_space", "bool"),
            ("null_value", "text"),
            ("empty_value", "text"),
            ("nan_value", "text"),
            ("positive_inf", "text"),
            ("negative_inf", "text"),
            ("date_format", "text"),
            ("timestamp_format", "text"),
            ("multi_line", "bool"),
        ),
        _read(
            "ReadJsonLines",
            ("date_format", "text"),
            ("encoding", "text"),
            ("multi_line", "bool"),
            ("primitives_as_string", "bool"),
            ("timestamp_format", "text"),
        ),
        _read(
            "ReadJson",
            ("sub_path", "text"),
            ("date_format", "text"),
            ("encoding", "text"),
            ("timestamp_format", "text"),
        ),
        _read("ReadGeoJson"),
        _read("ReadEsriShapefile", ("sub_path", "text")),
        _read("ReadParquet"),
    ],
)
_MERGE: Kind = (
    "union",
    [
        ("MergeAppend", []),
        (
            "MergeLedger",
            [
                ("primary_key", ("list", "text")),
                ("on_changed", "text"),
                ("on_duplicate_key", "text"),
            ],
        ),
        (
            "MergeSnapshot",
            [
                ("primary_key", ("list", "text")),
                ("compare_columns", ("list", "text")),
                ("observation_column", "text"),
                ("obsv_added", "text"),
                ("obsv_changed", "text"),
                ("obsv_removed", "text"),
                ("on_duplicate_key", "text"),
            ],
        ),
    ],
)
_PUSH: Fields = [
    ("read", _READ),
    ("preprocess", ("table", _TRANSFORM)),
    ("merge", _MERGE),
    ("watermark", ("table", [("max_event_time_minus", "i64")])),
]
_POLLING: Fields = [
    ("fetch", _FETCH),
    ("prepare", ("list", ("table", [("item", _PREPARE)]))),
    *_PUSH,
]
_MARK: Fields = [("offset", "i64"), ("watermark", "instant"), ("time", "instant")]
_INTERVAL: Fields = [
    ("dataset_id", "text"),
    ("prev_block_hash", "text"),
    ("new_block_hash", "text"),
    ("prev_offset", "instant"),
    ("new_offset", "instant"),
]
_INPUT: Fields = [("dataset_id", "text"), ("alias", "text"), ("view", "text")]
_VOCABULARY: Fields = [
    ("offset_column", "text"),
    ("operation_type_column", "text"),
    ("system_time_column", "text"),
    ("event_time_column", "text"),
]
_EVENTS: Kind = (
    "union",
    [
        ("Seed", [("dataset_id", "text"), ("dataset_kind", "text")]),
        ("SetPollingSource", [("source", ("table", _POLLING))]),
        (
            "SetTransform",
            [
                ("inputs", ("list", ("table", _INPUT))),
                ("transform", ("table", _TRANSFORM)),
                ("engine", ("table", _PIN)),
            ],
        ),
        ("SetDataSchema", [("schema", ("table", [("columns", ("list", ("table", _COLUMN)))]))]),
        (
            "AddData",
            [
                ("prev_offset", "instant"),
                ("new_data", ("table", _SLICE)),
                ("new_watermark", "instant"),
                ("new_source_state", ("table", [("kind", "text"), ("value", "text")])),
                ("ignored", "i64"),
                ("quarantined", "i64"),
                ("engine", ("table", _RUN)),
                ("push_keys", ("list", "text")),
            ],
        ),
        (
            "ExecuteTransform",
            [
                ("inputs", ("list", ("table", _INTERVAL))),
                ("prev_offset", "instant"),
                ("prev_checkpoint", "text"),
                ("new_data", ("table", _SLICE)),
                ("new_checkpoint", ("table", _CHECKPOINT)),
                ("new_watermark", "instant"),
                ("marks", ("list", ("table", _MARK))),
                ("late_rows", "i64"),
                ("engine", ("table", _RUN)),
                ("transaction_id", "text"),
                ("migrated_from", "text"),
            ],
        ),
        ("SetPushSource", [("source", ("table", _PUSH))]),
        ("SetVocab", [("vocabulary", ("table", _VOCABULARY))]),
        (
            "SetInfo",
            [("info", ("table", [("description", "text"), ("keywords", ("list", "text"))]))],
        ),
        (
            "SetLicense",
            [
                (
                    "license",
                    (
                        "table",
                        [
                            ("short_name", "text"),
                            ("name", "text"),
                            ("spdx_id", "text"),
                            ("website_url", "text"),
                        ],
                    ),
                )
            ],
        ),
        (
            "SetAttachments",
            [("attachments", ("list", ("table", [("path", "text"), ("content", "text")])))],
        ),
        (
            "DeprecateEngine",
            [
                ("old_engine", ("table", _PIN)),
                ("new_engine", ("table", _PIN)),
                ("first_block", "text"),
                ("last_block", "text"),
            ],
        ),
    ],
)
_BLOCK: Fields = [
    ("prev_block_hash", "text"),
    ("sequence_number", "i64"),
    ("system_time", "instant"),
    ("event", _EVENTS),
]
_FILE: Fields = [("format_version", "u32"), ("payload", "bytes"), ("signature", "bytes")]
_IN_PLACE = {"i64": "<q", "i32": "<i", "u32": "<I", "bool": "<?"}


def block_hash(data: bytes) -> str:
    """The name of a block file."""
    return "1620" + hashlib.sha3_256(data).hexdigest()


def signed(payload: bytes) -> bytes:
    """The 32 bytes that the signature is over."""
    return hashlib.sha3_256(b"odf:block:0\0" + payload).digest()


def read(data: bytes) -> tuple[dict[str, Any], bytes, bytes]:
    """A block file: the block, its payload, its signature."""
    file = _root(data, _FILE)
    return _root(file["payload"], _BLOCK), file["payload"], file["signature"]


def _root(data: bytes, fields: Fields) -> dict[str, Any]:
    return _table(data, struct.unpack_from("<I", data, 0)[0], fields)


def _table(data: bytes, at: int, fields: Fields) -> dict[str, Any]:
    vtable = at - struct.unpack_from("<i", data, at)[0]
    (size,) = struct.unpack_from("<H", data, vtable)
    slot, found = 0, {}

    def place() -> int | None:
        nonlocal slot
        where = 4 + 2 * slot
        slot += 1
        offset = struct.unpack_from("<H", data, vtable + where)[0] if where < size else 0
        return at + offset if offset else None

    for name, kind in fields:
        if isinstance(kind, tuple) and kind[0] == "union":
            number, member = place(), place()
            found[name] = None
            if number is not None and member is not None and data[number]:
                called, inside = kind[1][data[number] - 1]
                found[name] = {"kind": called} | _table(data, _follow(data, member), inside)
        else:
            found[name] = _value(data, place(), kind)
    return found


def _follow(data: bytes, at: int) -> int:
    return int(at + struct.unpack_from("<I", data, at)[0])


def _value(data: bytes, at: int | None, kind: Kind) -> Any:
    if at is None:
        return 0 if kind in ("i64", "i32", "u32") else False if kind == "bool" else None
    if kind == "instant":  # a struct of one int64
        return struct.unpack_from("<q", data, at)[0]
    if isinstance(kind, str) and kind in _IN_PLACE:
        return struct.unpack_from(_IN_PLACE[kind], data, at)[0]
    there = _follow(data, at)
    if isinstance(kind, tuple) and kind[0] == "table":
        return _table(data, there, kind[1])
    (length,) = struct.unpack_from("<I", data, there)
    if kind in ("text", "bytes"):
        content = data[there + 4 : there + 4 + length]
        return content.decode() if kind == "text" else content
    return [_value(data, there + 4 + 4 * number, kind[1]) for number in range(length)]
