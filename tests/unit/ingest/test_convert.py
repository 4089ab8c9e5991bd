"""Texts -> values: what each type accepts, and that neighbours do not matter."""

import datetime as dt
import decimal
import math
import re
import uuid
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from odf_coordinator.ingest.convert import Unreadable, convert, first_unreadable
from odf_coordinator.model.schema import ColumnType, Decimal, Simple, Timestamp
from odf_coordinator.rules.slices import arrow_type

_UUID = "186bc282-bad0-45c9-9750-a732171f9c4a"


def _utc(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)  # type: ignore[misc,arg-type]


def _one(text: str | None, column_type: ColumnType) -> Any:
    values = convert(pa.array([text], pa.string()), column_type)
    assert values.type == arrow_type(column_type)
    return values[0].as_py()


_ACCEPTED: list[tuple[ColumnType, str, Any]] = [
    (Simple.BOOLEAN, "true", True),
    (Simple.BOOLEAN, "TRUE", True),
    (Simple.BOOLEAN, "fAlse", False),
    (Simple.BOOLEAN, "1", True),
    (Simple.BOOLEAN, "0", False),
    (Simple.INT, "-2147483648", -(2**31)),
    (Simple.INT, "+5", 5),
    (Simple.INT, "007", 7),
    (Simple.BIGINT, "9223372036854775807", 2**63 - 1),
    (Simple.DOUBLE, "1e5", 1e5),
    (Simple.DOUBLE, ".5", 0.5),
    (Simple.DOUBLE, "5.", 5.0),
    (Simple.DOUBLE, "+5", 5.0),
    (Simple.DOUBLE, "Infinity", math.inf),
    (Simple.DOUBLE, "-inf", -math.inf),
    (Simple.FLOAT, "0.5", 0.5),
    (Simple.STRING, " a ", " a "),
    (Simple.STRING, "", ""),
    (Decimal(precision=5, scale=2), "999.99", decimal.Decimal("999.99")),
    (Decimal(precision=5, scale=2), "-1.5", decimal.Decimal("-1.50")),
    (Decimal(precision=5, scale=2), "1.230", decimal.Decimal("1.23")),
    (Decimal(precision=5, scale=2), "1e2", decimal.Decimal("100.00")),
    (Timestamp(precision=3), "2024-03-01T06:00:00Z", _utc(2024, 3, 1, 6)),
    (Timestamp(precision=3), "2024-03-01 06:00:00Z", _utc(2024, 3, 1, 6)),
    (Timestamp(precision=3), "2024-03-01T06:00:00+02:00", _utc(2024, 3, 1, 4)),
    (Timestamp(precision=3), "2024-03-01T06:00:00-0330", _utc(2024, 3, 1, 9, 30)),
    (Timestamp(precision=3), "2024-03-01T06:00:00", _utc(2024, 3, 1, 6)),
    (Timestamp(precision=3), "2024-03-01 06:00", _utc(2024, 3, 1, 6)),
    (Timestamp(precision=3), "2024-03-01", _utc(2024, 3, 1)),
    (Timestamp(precision=6), "2024-03-01T06:00:00.123456789Z", _utc(2024, 3, 1, 6, 0, 0, 123456)),
    (Timestamp(precision=6), "2024-03-01T06:00:00.1234567", _utc(2024, 3, 1, 6, 0, 0, 123456)),
    (Timestamp(precision=3), "2024-03-01T06:00:00.123999Z", _utc(2024, 3, 1, 6, 0, 0, 123000)),
    (Timestamp(precision=0), "2024-03-01T06:00:00.9Z", _utc(2024, 3, 1, 6)),
    (Timestamp(precision=3), "1969-12-31T23:59:59.9996Z", _utc(1969, 12, 31, 23, 59, 59, 999000)),
    (Timestamp(precision=6), "0001-01-01", _utc(1, 1, 1)),
    (Timestamp(precision=6), "9999-12-31T23:59:59.999999Z", _utc(9999, 12, 31, 23, 59, 59, 999999)),
    (Simple.DATE, "2024-02-29", dt.date(2024, 2, 29)),
    (Simple.TIME, "06:07", dt.time(6, 7)),
    (Simple.TIME, "23:59:59.999999", dt.time(23, 59, 59, 999999)),
    (Simple.UUID, _UUID, uuid.UUID(_UUID).bytes),
    (Simple.UUID, _UUID.upper(), uuid.UUID(_UUID).bytes),
]

_REFUSED: list[tuple[ColumnType, str]] = [
    (Simple.BOOLEAN, "yes"),
    (Simple.BOOLEAN, ""),
    (Simple.INT, "2147483648"),
    (Simple.INT, "0x10"),
    (Simple.INT, "1.0"),
    (Simple.INT, " 1"),
    (Simple.INT, "1_000"),
    (Simple.INT, "++1"),
    (Simple.INT, "+-1"),
    (Simple.INT, "+"),
    (Simple.INT, ""),
    (Simple.BIGINT, "9223372036854775808"),
    (Simple.DOUBLE, "1e400"),
    (Simple.DOUBLE, "nan(x)"),
    (Simple.DOUBLE, "-nan"),
    (Simple.DOUBLE, "1,5"),
    (Simple.DOUBLE, "0x1p3"),
    (Simple.FLOAT, "1e39"),
    (Decimal(precision=5, scale=2), "1.234"),
    (Decimal(precision=5, scale=2), "12345"),
    (Decimal(precision=5, scale=2), "nan"),
    (Timestamp(precision=3), "2024-02-30T00:00:00Z"),
    (Timestamp(precision=3), "2024-03-01T24:00:00Z"),
    (Timestamp(precision=3), "2024-03-01T06:00:60Z"),
    (Timestamp(precision=3), "2024-03-01T06:00:00+99:00"),
    (Timestamp(precision=3), "01.03.2024"),
    (Timestamp(precision=3), "0000-01-01"),
    (Timestamp(precision=3), "0001-01-01T00:00:00+01:00"),
    (Timestamp(precision=3), "9999-12-31T23:59:59-01:00"),
    (Timestamp(precision=3), "yesterday"),
    (Timestamp(precision=3), ""),
    (Simple.DATE, "2024-3-1"),
    (Simple.DATE, "2024-02-30"),
    (Simple.DATE, "0000-01-01"),
    (Simple.TIME, "06"),
    (Simple.TIME, "24:00:00"),
    (Simple.TIME, "06:00:00Z"),
    (Simple.TIME, "06:00:00.1234567"),
    (Simple.UUID, _UUID.replace("-", "")),
    (Simple.UUID, "{" + _UUID + "}"),
    (Simple.UUID, ""),
]


@pytest.mark.parametrize(("column_type", "text", "value"), _ACCEPTED)
def test_a_text_becomes_its_value(column_type: ColumnType, text: str, value: Any) -> None:
    assert _one(text, column_type) == value


@pytest.mark.parametrize(("column_type", "text"), _REFUSED)
def test_a_text_that_is_no_value_is_refused(column_type: ColumnType, text: str) -> None:
    with pytest.raises(Unreadable):
        _one(text, column_type)


@pytest.mark.parametrize("text", ["NaN", "nan", "NAN"])
def test_not_a_number_is_a_double(text: str) -> None:
    assert math.isnan(_one(text, Simple.DOUBLE))


_TYPES: list[ColumnType] = [
    *Simple,
    Decimal(precision=5, scale=2),
    Timestamp(precision=0),
    Timestamp(precision=6),
]


@pytest.mark.parametrize("column_type", _TYPES)
def test_null_and_nothing_stay_as_they_are(column_type: ColumnType) -> None:
    assert _one(None, column_type) is None
    assert len(convert(pa.array([], pa.string()), column_type)) == 0


@pytest.mark.parametrize("column_type", _TYPES)
def test_neighbours_do_not_matter(column_type: ColumnType) -> None:
    texts: list[str | None] = [text for kind, text, _ in _ACCEPTED if kind == column_type]
    texts.append(None)
    together = convert(pa.array(texts, pa.string()), column_type).to_pylist()
    assert together == [_one(text, column_type) for text in texts]


def test_an_array_that_starts_in_the_middle_is_converted() -> None:
    texts = pa.array(["no", _UUID, None, _UUID])
    assert convert(texts.slice(1), Simple.UUID).to_pylist() == [
        uuid.UUID(_UUID).bytes,
        None,
        uuid.UUID(_UUID).bytes,
    ]


@given(st.lists(st.booleans(), min_size=1).filter(lambda flags: not all(flags)))
def test_the_first_bad_text_is_found(good: list[bool]) -> None:
    texts = pa.array(["1" if flag else "x" for flag in good])
    assert first_unreadable(texts, Simple.INT) == good.index(False)


_NUMERALS = st.text(alphabet="0123456789+-.eExXnaif _", max_size=8)


def _strict_integer(text: str) -> int | None:
    body = text[1:] if text[:1] in ("+", "-") else text
    if not body.isdigit() or not -(2**31) <= int(text) < 2**31:
        return None
    return int(text)


@given(_NUMERALS | st.integers(-(2**33), 2**33).map(str))
def test_integers_agree_with_python(text: str) -> None:
    _agrees(text, Simple.INT, _strict_integer(text))


def _strict_float(text: str) -> float | None:
    if "_" in text or text != text.strip() or text.lower() in ("+nan", "-nan"):
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return None if math.isinf(value) and "n" not in text.lower() else value


@given(_NUMERALS | st.floats().map(repr))
def test_doubles_agree_with_python(text: str) -> None:
    _agrees(text, Simple.DOUBLE, _strict_float(text))


@given(_NUMERALS | st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str))
def test_decimals_agree_with_python(text: str) -> None:
    # Nothing at all, times ten to the 39th, is refused like any number of 40 digits.
    assume(not re.fullmatch(r"[+-]?[0.]+[eE]\+?\d{2,}", text))
    _agrees(text, Decimal(precision=5, scale=2), _strict_decimal(text))


def _strict_decimal(text: str) -> decimal.Decimal | None:
    if "_" in text or text != text.strip():
        return None
    try:
        value = decimal.Decimal(text)
        if not value.is_finite() or abs(value) >= 1000:
            return None
        cents = value.quantize(decimal.Decimal("0.01"))
    except decimal.InvalidOperation:
        return None
    return cents if cents == value else None


@given(
    st.datetimes(min_value=dt.datetime(1, 1, 3), max_value=dt.datetime(9999, 12, 29)),  # noqa: DTZ001
    st.sampled_from(["", "Z", "+02:00", "-11:30", "+0530"]),
    st.sampled_from("T "),
    st.integers(0, 6),
)
def test_timestamps_agree_with_python(
    moment: dt.datetime, zone: str, middle: str, precision: int
) -> None:
    text = moment.isoformat(sep=middle) + zone
    aware = dt.datetime.fromisoformat(text if zone else text + "Z").astimezone(dt.UTC)
    unit = 10 ** (6 - precision)
    expected = aware.replace(microsecond=aware.microsecond // unit * unit)
    _agrees(text, Timestamp(precision=precision), expected)


def _agrees(text: str, column_type: ColumnType, expected: Any) -> None:
    try:
        found = _one(text, column_type)
    except Unreadable:
        found = None
    assert found == expected or (found != found and expected != expected)  # noqa: PLR0124
