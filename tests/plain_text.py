"""The canonical text of rows once more, in plain Python, as docs/formats/slice-hash.md tells it.

Values are those of tests/plain_hash.py.
"""

import math
import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.plain_hash import Column
from tests.plain_types import Plain, read_type

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_ESCAPES = {'"': '\\"', "\\": "\\\\", **_SHORT}


def plain_text(columns: Sequence[Column], *, sort_by: str) -> str:
    """The text of a slice; `columns` are those that take part."""
    kinds = [(name, read_type(text)) for name, text, _ in columns]
    row_type = Plain("STRUCT", fields=tuple(kinds))
    names = [name for name, _ in kinds]
    lines = []
    for values in zip(*(values for _, _, values in columns), strict=True):
        row = dict(zip(names, values, strict=True))
        time = _write(dict(kinds)[sort_by], row[sort_by])
        lines.append((time.encode(), _write(row_type, row).encode()))
    return "".join(line.decode() + "\n" for _, line in sorted(lines))


def _write(kind: Plain, value: Any) -> str:
    if value is None:
        return "null"
    if kind.item is not None:
        return "[" + ",".join(_write(kind.item, item) for item in value) + "]"
    if kind.fields:
        fields = (f"{_quoted(name)}:{_write(field, value[name])}" for name, field in kind.fields)
        return "{" + ",".join(fields) + "}"
    if kind.word in _LEAVES:
        return _LEAVES[kind.word](kind, value)
    return '"' + _time(kind.word, value) + '"'


def _single(value: float) -> float:
    (nearest,) = struct.unpack("<f", struct.pack("<f", value))
    return float(nearest)


def _float(value: float, digits: int) -> str:
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return f"%.{digits}e" % (0.0 if value == 0 else value)


def _decimal(unscaled: int, scale: int) -> str:
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    sign = "-" if unscaled < 0 else ""
    return sign + (f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits)


def _uuid(value: bytes) -> str:
    digits = value.hex()
    cuts = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
    return '"' + "-".join(digits[a:b] for a, b in cuts) + '"'


def _time(word: str, value: int) -> str:
    if word == "DATE":
        return _calendar(_EPOCH + timedelta(days=value))
    if word == "TIME":
        return _clock(value)
    days, micros = divmod(value, 86_400_000_000)
    return _calendar(_EPOCH + timedelta(days=days)) + "T" + _clock(micros) + "Z"


def _calendar(day: datetime) -> str:
    return f"{day.year:04}-{day.month:02}-{day.day:02}"


def _clock(micros: int) -> str:
    seconds, fraction = divmod(micros, 1_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"


def _quoted(text: str) -> str:
    escaped = (_ESCAPES.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in text)
    return '"' + "".join(escaped) + '"'


_LEAVES: dict[str, Callable[[Plain, Any], str]] = {
    "BOOLEAN": lambda _, value: "true" if value else "false",
    "INT": lambda _, value: str(value),
    "BIGINT": lambda _, value: str(value),
    "FLOAT": lambda _, value: _float(_single(value), 8),
    "DOUBLE": lambda _, value: _float(value, 16),
    "DECIMAL": lambda kind, value: _decimal(value, kind.numbers[1]),
    "STRING": lambda _, value: _quoted(value),
    "UUID": lambda _, value: _uuid(value),
}
