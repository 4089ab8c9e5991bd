"""The specification's own recipe for the hash of a slice, by text: for small data and teaching.

Blocks hold the logical hash of rules/hashing.py instead; docs/adr/0002 says why. Normative text:
docs/formats/slice-hash.md.
"""

import hashlib
import json
import math
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa

from odf_coordinator.rules.hashing import multihash

_Writer = Callable[[Any], str]


def text_hash(rows: pa.Table, *, leave_out: str, sort_by: str) -> str:
    """SHA3-256 of the canonical text, as a multihash in base16."""
    text = canonical_text(rows, leave_out=leave_out, sort_by=sort_by)
    return multihash(hashlib.sha3_256(text).digest())


def canonical_text(rows: pa.Table, *, leave_out: str, sort_by: str) -> bytes:
    """A line of JSON for each row, without `leave_out` (system time), by `sort_by` (event time).

    Rows of the same time are in the order of their lines, so the order of `rows` does not matter.
    Raises ValueError when a time is not in the years 1 to 9999.
    """
    kept = rows.select([name for name in rows.column_names if name != leave_out])
    write_row = _struct(list(kept.schema))
    write_time = _writer(kept.schema.field(sort_by).type)
    try:
        lines = sorted((write_time(row[sort_by]), write_row(row)) for row in kept.to_pylist())
    except OverflowError as error:
        raise ValueError(f"a time that has no text: {error}") from error
    return "".join(f"{line}\n" for _, line in lines).encode()


def _writer(kind: pa.DataType) -> _Writer:
    """Writes values of a type, NULL among them."""
    if pa.types.is_dictionary(kind):
        return _writer(kind.value_type)
    if pa.types.is_struct(kind):
        present = _struct(list(kind))
    elif pa.types.is_nested(kind):
        present = _list(_writer(kind.value_type))
    elif pa.types.is_floating(kind):
        present = _float(8 if kind == pa.float32() else 16)
    else:
        present = _leaf
    return lambda value: "null" if value is None else present(value)


def _struct(fields: list[pa.Field]) -> _Writer:
    writers = [(field.name, f"{_text(field.name)}:", _writer(field.type)) for field in fields]
    return lambda value: (
        "{" + ",".join(label + write(value[name]) for name, label, write in writers) + "}"
    )


def _list(write: _Writer) -> _Writer:
    return lambda value: "[" + ",".join(map(write, value)) + "]"


def _float(digits: int) -> _Writer:
    """Always as many digits as tell any two values apart: every language can print that."""

    def write(value: float) -> str:
        if math.isnan(value):
            return '"NaN"'
        if math.isinf(value):
            return '"Infinity"' if value > 0 else '"-Infinity"'
        return f"{value + 0.0:.{digits}e}"

    return write


def _leaf(value: Any) -> str:
    match value:
        case bool() | int():
            text = json.dumps(value)
        case Decimal():
            text = f"{value:f}"
        case bytes():
            text = _text(str(uuid.UUID(bytes=value)))
        case datetime():
            utc = value.astimezone(UTC).replace(tzinfo=None)
            text = _text(utc.isoformat(timespec="microseconds") + "Z")
        case time():
            text = _text(value.isoformat(timespec="microseconds"))
        case date():
            text = _text(value.isoformat())
        case _:
            text = _text(str(value))
    return text


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
