"""Text of cells -> typed columns. The one definition of which texts a type accepts.

All conversions are vectorised, and accept or refuse each text by itself: what its neighbours are
does not matter. NULL stays NULL.
"""

from collections.abc import Callable
from typing import Any, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from odf_coordinator.errors import InternalError
from odf_coordinator.model.schema import Array, ColumnType, Decimal, Simple, Struct, Timestamp
from odf_coordinator.rules.slices import arrow_type

_UTC = pa.timestamp("us", "UTC")
_NAIVE = pa.timestamp("us")
_FIRST_MICROS, _LAST_MICROS = -62_135_596_800_000_000, 253_402_300_799_999_999
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
_SHORTEST_TIME = len("06:00")
_HEX = "[0-9a-fA-F]"
_UUID = rf"^{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}$"
_NOT_FINITE = r"^(?i:nan|[+-]?inf|[+-]?infinity)$"
_DATE = r"\d{4}-\d\d-\d\d"
_NO_ZONE = rf"^({_DATE}[T ]\d\d(?::\d\d(?::\d\d(?:\.\d+)?)?)?)$"


class Unreadable(ValueError):
    """At least one of the texts is not a value of the type."""


def convert(texts: pa.Array, column_type: ColumnType) -> pa.Array:
    """The values that the texts stand for, in the Arrow type of the column at rest.

    BOOLEAN: true, false in any case, 1, 0. Numbers: decimal digits, a sign; no spaces, no group
    separators. FLOAT, DOUBLE: an exponent; NaN, Infinity, inf in any case; a number too large for
    the type is refused. DECIMAL: refused when digits would be lost. TIMESTAMP, DATE, TIME: ISO
    8601, years 1 to 9999; a timestamp without a zone is UTC, without a time is midnight, and is
    truncated to its precision. UUID: the canonical form in any case. Raises Unreadable.
    """
    try:
        return _converter(column_type)(texts)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise Unreadable(str(error)) from error


def first_unreadable(texts: pa.Array, column_type: ColumnType) -> int:
    """The index of the first text that `convert` refuses; there must be one."""
    low, high = 0, len(texts)
    while high - low > 1:
        middle = (low + high) // 2
        if _readable(texts.slice(low, middle - low), column_type):
            low = middle
        else:
            high = middle
    return low


def _readable(texts: pa.Array, column_type: ColumnType) -> bool:
    try:
        convert(texts, column_type)
    except Unreadable:
        return False
    return True


def _converter(column_type: ColumnType) -> Callable[[pa.Array], pa.Array]:
    match column_type:
        case Simple():
            return _SIMPLE[column_type]
        case Decimal():
            return lambda texts: texts.cast(arrow_type(column_type))
        case Timestamp():
            return lambda texts: _truncated(_timestamps(texts), column_type.precision)
        case Array() | Struct():
            raise InternalError(f"a cell of text cannot hold {column_type}")
        case _:
            assert_never(column_type)


def _strings(texts: pa.Array) -> pa.Array:
    return texts


def _booleans(texts: pa.Array) -> pa.Array:
    return texts.cast(pa.bool_())


def _integers(target: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """Arrow alone would take `0x10` for 16 and refuse `+5`."""

    def integers(texts: pa.Array) -> pa.Array:
        if _any(pc.match_substring(texts, "x", ignore_case=True)):
            raise Unreadable("hexadecimal")
        if _any(pc.starts_with(texts, "+")):
            texts = pc.replace_substring_regex(texts, r"^\+(\d)", r"\1")
        return texts.cast(target)

    return integers


def _floats(target: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """Arrow alone would read `1e400` as infinity and `nan(x)` as NaN."""

    def floats(texts: pa.Array) -> pa.Array:
        values = texts.cast(target)
        special = pc.invert(pc.is_finite(values))
        if _any(special):
            _require(pc.match_substring_regex(texts.filter(special), _NOT_FINITE))
        return values

    return floats


def _timestamps(texts: pa.Array) -> pa.Array:
    """The usual forms first, all with a zone or all without; a mixture is made uniform."""
    try:
        values = texts.cast(_UTC)
    except pa.ArrowInvalid:
        try:
            values = texts.cast(_NAIVE)
        except pa.ArrowInvalid:
            values = _with_zone(texts).cast(_UTC)
    return _within(values.cast(pa.int64()), _FIRST_MICROS, _LAST_MICROS).cast(_UTC)


def _with_zone(texts: pa.Array) -> pa.Array:
    """Date and time with a zone, and no digits below a microsecond."""
    texts = pc.replace_substring_regex(texts, rf"^({_DATE})$", r"\1T00:00:00Z")
    texts = pc.replace_substring_regex(texts, _NO_ZONE, r"\1Z")
    return pc.replace_substring_regex(texts, r"(\.\d{6})\d+(Z|[+-])", r"\1\2")


def _truncated(times: pa.Array, precision: int) -> pa.Array:
    """Towards the past, as cutting digits off the text would."""
    unit = 10 ** (6 - precision)
    if unit == 1:
        return times
    micros = times.cast(pa.int64())
    rest = pc.subtract(micros, pc.multiply(pc.divide(micros, unit), unit))
    rest = pc.if_else(pc.less(rest, 0), pc.add(rest, unit), rest)
    return pc.subtract(micros, rest).cast(_UTC)


def _dates(texts: pa.Array) -> pa.Array:
    days = texts.cast(pa.date32()).cast(pa.int32())
    return _within(days, _FIRST_DAY, _LAST_DAY).cast(pa.date32())


def _times(texts: pa.Array) -> pa.Array:
    """As the time of some day; Arrow has no conversion of its own."""
    _require(pc.greater_equal(pc.binary_length(texts), _SHORTEST_TIME))
    moments = pc.binary_join_element_wise("1970-01-01T", texts, "")
    return moments.cast(_NAIVE).cast(pa.int64()).cast(pa.time64("us"))


def _uuids(texts: pa.Array) -> pa.Array:
    """All hexadecimal digits in one go: each text has exactly 32 of them."""
    _require(pc.match_substring_regex(texts, _UUID))
    digits = pc.replace_substring(pc.fill_null(texts, "0" * 32), "-", "")
    packed = bytes.fromhex("".join(digits.to_pylist()))
    values = pa.Array.from_buffers(pa.binary(16), len(texts), [None, pa.py_buffer(packed)])
    return pc.if_else(pc.is_valid(texts), values, pa.scalar(None, pa.binary(16)))


def _within(numbers: pa.Array, first: int, last: int) -> pa.Array:
    bounds = pc.min_max(numbers).as_py()
    if bounds["min"] is not None and not first <= bounds["min"] <= bounds["max"] <= last:
        raise Unreadable("out of range")
    return numbers


def _any(flags: pa.Array) -> bool:
    return bool(pc.any(flags, min_count=0).as_py())


def _require(flags: pa.Array) -> None:
    answer: Any = pc.all(flags, min_count=0).as_py()
    if not answer:
        raise Unreadable("not of the form that the type asks for")


_SIMPLE: dict[Simple, Callable[[pa.Array], pa.Array]] = {
    Simple.BOOLEAN: _booleans,
    Simple.INT: _integers(pa.int32()),
    Simple.BIGINT: _integers(pa.int64()),
    Simple.FLOAT: _floats(pa.float32()),
    Simple.DOUBLE: _floats(pa.float64()),
    Simple.STRING: _strings,
    Simple.UUID: _uuids,
    Simple.DATE: _dates,
    Simple.TIME: _times,
}
