"""The logical hash once more, in plain Python, as docs/formats/slice-hash.md tells it.

Nothing of the product and nothing of Arrow is used. A value is what JSON could hold: numbers,
texts, lists, dictionaries; times are whole numbers, a UUID is its 16 bytes, a decimal its unscaled
number.
"""

import hashlib
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

from tests.plain_types import Plain, read_type

CHUNK_ROWS = 65_536

Column = tuple[str, str, Sequence[Any]]
"""Name, type as text, values."""

_FORMS = {
    "BOOLEAN": "<B",
    "INT": "<i",
    "BIGINT": "<q",
    "DATE": "<i",
    "TIME": "<q",
    "TIMESTAMP": "<q",
    "UUID": "16s",
    "FLOAT": "<f",
    "DOUBLE": "<d",
}


def plain_hash(rows: int, columns: Sequence[Column]) -> str:
    """The hash of a slice; `columns` are those that take part."""
    content = b"odf:slice-hash:1:slice\0" + struct.pack("<q", rows)
    content += b"".join(plain_column(*column) for column in columns)
    return "1620" + hashlib.sha3_256(content).hexdigest()


def plain_column(name: str, text: str, values: Sequence[Any]) -> bytes:
    """The digest of a column."""
    content = b"odf:slice-hash:1:column\0" + _counted(name.encode()) + _counted(text.encode())
    return hashlib.sha3_256(content + b"".join(plain_chunks(text, values))).digest()


def plain_chunks(text: str, values: Sequence[Any]) -> list[bytes]:
    """The digests of the chunks of a column."""
    kind = read_type(text)
    chunks = [values[at : at + CHUNK_ROWS] for at in range(0, len(values), CHUNK_ROWS)]
    contents = [b"odf:slice-hash:1:chunk\0" + canonical(kind, chunk) for chunk in chunks]
    return [hashlib.sha3_256(content).digest() for content in contents]


def _counted(content: bytes) -> bytes:
    return struct.pack("<q", len(content)) + content


def canonical(kind: Plain, values: Sequence[Any]) -> bytes:
    """The canonical form of values."""
    valid = [value for value in values if value is not None]
    head = struct.pack("<q", len(values)) + _bitmap([value is not None for value in values])
    if kind.item is not None:
        items = [item for value in valid for item in value]
        return head + _lengths(valid) + canonical(kind.item, items)
    if kind.fields:
        fields = kind.fields
        return head + b"".join(canonical(field, [v[name] for v in valid]) for name, field in fields)
    if kind.word == "STRING":
        texts = [value.encode() for value in valid]
        return head + _lengths(texts) + b"".join(texts)
    return head + b"".join(map(_fixed(kind), valid))


def _bitmap(flags: Sequence[bool]) -> bytes:
    bits = sum(1 << number for number, flag in enumerate(flags) if flag)
    return bits.to_bytes((len(flags) + 7) // 8, "little")


def _lengths(values: Sequence[Any]) -> bytes:
    return b"".join(struct.pack("<q", len(value)) for value in values)


def _fixed(kind: Plain) -> Callable[[Any], bytes]:
    if kind.word == "DECIMAL":
        return lambda value: value.to_bytes(16, "little", signed=True)
    form = _FORMS[kind.word]
    return lambda value: struct.pack(form, one_zero_one_nan(value))


def one_zero_one_nan(value: Any) -> Any:
    """A float without the differences that do not count."""
    if not isinstance(value, float):
        return value
    return math.nan if math.isnan(value) else value + 0.0
