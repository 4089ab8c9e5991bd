"""The logical hash once more, in plain Python, as docs/formats/slice-hash.md tells it.

Shares no code with the product but the types. A value is what JSON could hold: numbers, texts,
lists, dictionaries; times are whole numbers, a UUID is its 16 bytes, a decimal its unscaled number.
"""

import hashlib
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from odf_coordinator.model.schema import Array, ColumnType, Decimal, Simple, Struct, Timestamp
from odf_coordinator.rules.slices import arrow_type

CHUNK_ROWS = 65_536

Column = tuple[str, str, ColumnType, Sequence[Any]]
"""Name, type as text, type, values."""


def plain_hash(rows: int, columns: Sequence[Column]) -> str:
    """The hash of a slice; `columns` are those that take part."""
    content = b"odf:slice-hash:1:slice\0" + struct.pack("<q", rows)
    content += b"".join(_column(*column) for column in columns)
    return "1620" + hashlib.sha3_256(content).hexdigest()


def _column(name: str, text: str, column_type: ColumnType, values: Sequence[Any]) -> bytes:
    content = b"odf:slice-hash:1:column\0" + _counted(name.encode()) + _counted(text.encode())
    for start in range(0, len(values), CHUNK_ROWS):
        chunk = _canonical(column_type, values[start : start + CHUNK_ROWS])
        content += hashlib.sha3_256(b"odf:slice-hash:1:chunk\0" + chunk).digest()
    return hashlib.sha3_256(content).digest()


def _counted(content: bytes) -> bytes:
    return struct.pack("<q", len(content)) + content


def _canonical(column_type: ColumnType, values: Sequence[Any]) -> bytes:
    valid = [value for value in values if value is not None]
    head = struct.pack("<q", len(values)) + _bitmap([value is not None for value in values])
    if isinstance(column_type, Array):
        items = [item for value in valid for item in value]
        return head + _lengths(valid) + _canonical(column_type.item, items)
    if isinstance(column_type, Struct):
        fields = column_type.fields
        return head + b"".join(_canonical(f.type, [v[f.name] for v in valid]) for f in fields)
    if column_type is Simple.STRING:
        texts = [value.encode() for value in valid]
        return head + _lengths(texts) + b"".join(texts)
    return head + b"".join(map(_fixed(column_type), valid))


def _bitmap(flags: Sequence[bool]) -> bytes:
    bits = sum(1 << number for number, flag in enumerate(flags) if flag)
    return bits.to_bytes((len(flags) + 7) // 8, "little")


def _lengths(values: Sequence[Any]) -> bytes:
    return b"".join(struct.pack("<q", len(value)) for value in values)


def _fixed(column_type: ColumnType) -> Callable[[Any], bytes]:
    if isinstance(column_type, Decimal):
        return lambda value: value.to_bytes(16, "little", signed=True)
    if isinstance(column_type, Timestamp):
        return lambda value: struct.pack("<q", value)
    form = {
        Simple.BOOLEAN: "<B",
        Simple.INT: "<i",
        Simple.BIGINT: "<q",
        Simple.DATE: "<i",
        Simple.TIME: "<q",
        Simple.UUID: "16s",
        Simple.FLOAT: "<f",
        Simple.DOUBLE: "<d",
    }[Simple(column_type)]
    return lambda value: struct.pack(form, one_zero_one_nan(value))


def one_zero_one_nan(value: Any) -> Any:
    """A float without the differences that do not count."""
    if not isinstance(value, float):
        return value
    return math.nan if math.isnan(value) else value + 0.0


def arrow_array(column_type: ColumnType, values: Sequence[Any]) -> pa.Array:
    """Plain values in the Arrow type of the column at rest."""
    return pa.array([_for_arrow(column_type, value) for value in values], arrow_type(column_type))


def _for_arrow(column_type: ColumnType, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(column_type, Decimal):
        return _decimal(value, column_type.scale)
    if isinstance(column_type, Array):
        return [_for_arrow(column_type.item, item) for item in value]
    if isinstance(column_type, Struct):
        return {f.name: _for_arrow(f.type, value[f.name]) for f in column_type.fields}
    return value


def _decimal(unscaled: int, scale: int) -> Any:
    number = pa.scalar(unscaled, pa.decimal128(38, 0)).as_py()
    return type(number)((number.as_tuple().sign, number.as_tuple().digits, -scale))
