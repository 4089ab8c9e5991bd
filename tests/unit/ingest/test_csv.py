"""Separated values -> rows: shapes of files, and the place of every mistake."""

import csv as python_csv
import io
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from odf_coordinator.errors import Invalid
from odf_coordinator.ingest import csv
from odf_coordinator.model.schema import Array, ColumnType, Field, Simple, Struct
from odf_coordinator.model.source import ReadCsv


def _step(*columns: tuple[str, ColumnType], header: bool = True, separator: str = ",") -> ReadCsv:
    schema = tuple(Field(name=name, type=kind) for name, kind in columns)
    return ReadCsv(schema=schema, header=header, separator=separator)


_NUMBERS = _step(("id", Simple.BIGINT), ("qty", Simple.INT))
_TEXTS = _step(("a", Simple.STRING), ("b", Simple.STRING))
_POSITIONS = _step(("a", Simple.STRING), ("b", Simple.STRING), header=False)


def _rows(content: bytes, step: ReadCsv) -> list[list[Any]]:
    table = csv.read(content, step, file="n.csv")
    assert table.column_names == [field.name for field in step.schema]
    return [list(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize(
    ("content", "step", "rows"),
    [
        (b"id,qty\n1,10\n2,20\n", _NUMBERS, [[1, 10], [2, 20]]),
        (b"id,qty\r\n1,10\r\n2,20", _NUMBERS, [[1, 10], [2, 20]]),
        (b"id,qty\r1,10\r", _NUMBERS, [[1, 10]]),
        (b"qty,id\n10,1\n", _NUMBERS, [[1, 10]]),
        (b"\xef\xbb\xbfid,qty\n1,10\n", _NUMBERS, [[1, 10]]),
        (b'\n\n"id","qty"\n\n1,10\n\r\n\n2,20\n\n', _NUMBERS, [[1, 10], [2, 20]]),
        (b"id,qty", _NUMBERS, []),
        (b"id,qty\n\n\n", _NUMBERS, []),
        (b"id,qty\n1,\n,2\n", _NUMBERS, [[1, None], [None, 2]]),
        (b'a,b\n,""\n"",\n', _TEXTS, [[None, ""], ["", None]]),
        (b'a,b\n"x\ny","a ""b"", c"\n', _TEXTS, [["x\ny", 'a "b", c']]),
        (b'a,b\nx"y,"z"w\n', _TEXTS, [['x"y', "zw"]]),
        (b"a,b\n x ,NULL\n", _TEXTS, [[" x ", "NULL"]]),
        ("a,b\nä,東\n".encode(), _TEXTS, [["ä", "東"]]),
        (b"x,y\n", _POSITIONS, [["x", "y"]]),
        (b"\xef\xbb\xbfx,y\n", _POSITIONS, [["x", "y"]]),
        (b"a;b\nx,1;y\n", _step(("a", Simple.STRING), ("b", Simple.STRING), separator=";"),
         [["x,1", "y"]]),
        (b"a\tb\nx\ty", _step(("a", Simple.STRING), ("b", Simple.STRING), separator="\t"),
         [["x", "y"]]),
        (b'a\nx\n\n""\n', _step(("a", Simple.STRING)), [["x"], [""]]),
    ],
)  # fmt: skip
def test_a_file_becomes_rows(content: bytes, step: ReadCsv, rows: list[list[Any]]) -> None:
    assert _rows(content, step) == rows


@pytest.mark.parametrize(
    ("content", "step", "message"),
    [
        (b"id,qty\n1,10\n2,twenty\n3,x\n", _NUMBERS, "n.csv:3: column qty: 'twenty' is not an INT"),
        (b"id,qty\nx,10\n", _NUMBERS, "n.csv:2: column id: 'x' is not a BIGINT"),
        (b"id,qty\n1,y\nx,1\n", _NUMBERS, "n.csv:2: column qty: 'y' is not an INT"),
        (b"\n\nid,qty\n\n1,1\n\n2,x\n", _NUMBERS, "n.csv:7: column qty: 'x' is not an INT"),
        (b'id,qty\n1,"\n"\n', _NUMBERS, r"n.csv:2: column qty: '\n' is not an INT"),
        (b'"id","qty"\r\n1,1\r\n2,""\r\n', _NUMBERS, "n.csv:3: column qty: '' is not an INT"),
        (b"id,qty\n1," + b"9" * 99 + b"\n", _NUMBERS,
         f"n.csv:2: column qty: '{'9' * 60}...' is not an INT"),
        (b"id,qty\n1,2\n3,4,5\n", _NUMBERS, "n.csv:3: 3 fields, expected 2"),
        (b"id,qty\n1,2\n\n3\n", _NUMBERS, "n.csv:4: 1 field, expected 2"),
        (b"x\n", _POSITIONS, "n.csv:1: 1 field, expected 2"),
        (b"id,qty\n1,2\n3,\xff\n", _NUMBERS, "n.csv:3: byte 0xff is not UTF-8"),
        (b"id,q\xfc\n1,2\n", _NUMBERS, "n.csv:1: byte 0xfc is not UTF-8"),
        (b"\xef\xbb\xbf\xffx,y\n", _POSITIONS, "n.csv:1: byte 0xff is not UTF-8"),
        (b"", _NUMBERS, "n.csv: the file is empty"),
        (b"\n\r\n", _NUMBERS, "n.csv: the file is empty"),
        (b"", _POSITIONS, "n.csv: the file is empty"),
        (b"id\n1\n", _NUMBERS, "n.csv:1: column qty is missing"),
        (b"ID,qty\n1,1\n", _NUMBERS, "n.csv:1: column id is missing"),
        (b"id,qty,extra\n", _NUMBERS, "n.csv:1: column 'extra' is not in the schema"),
        (b"id,qty,id\n", _NUMBERS, "n.csv:1: column id appears twice"),
        (b'a,b\nx,y\nx,"y\nz,w\n', _TEXTS,
         "n.csv:3: a quote is opened in this record and never closed"),
        (b'a,b\nx,"', _TEXTS, "n.csv:2: a quote is opened in this record and never closed"),
        (b'a,b\nx,"y""', _TEXTS, "n.csv:2: a quote is opened in this record and never closed"),
    ],
)  # fmt: skip
def test_a_mistake_has_its_place(content: bytes, step: ReadCsv, message: str) -> None:
    with pytest.raises(Invalid) as caught:
        csv.read(content, step, file="n.csv")
    assert str(caught.value) == message


def test_a_missing_column_tells_what_is_there() -> None:
    with pytest.raises(Invalid) as caught:
        csv.read(b"id,Qty\n", _NUMBERS, file="n.csv")
    assert caught.value.hint == "the header has: id, Qty"


@pytest.mark.parametrize("content", [b'a,b\nx,""', b'a,b\nx,""""', b'a,b\nx,"y"', b'a,b\nx,"y""z"'])
def test_a_closed_quote_at_the_end_is_fine(content: bytes) -> None:
    assert len(_rows(content, _TEXTS)) == 1


@pytest.mark.parametrize("separator", ["", ";;", '"', "\n", "é"])
def test_a_separator_is_one_plain_character(separator: str) -> None:
    with pytest.raises(Invalid, match="cannot separate values"):
        csv.read(b"a\n", _step(("a", Simple.STRING), separator=separator), file="n.csv")


@pytest.mark.parametrize("kind", [Array(item=Simple.INT), Struct(fields=())])
def test_nested_columns_are_refused(kind: ColumnType) -> None:
    with pytest.raises(Invalid, match="column a: separated values cannot hold"):
        csv.read(b"a\n", _step(("a", kind)), file="n.csv")


def test_no_columns_are_refused() -> None:
    with pytest.raises(Invalid, match="no columns"):
        csv.read(b"a\n", _step(), file="n.csv")


def test_places_hold_across_blocks() -> None:
    good = b"".join(b"%d,1\n" % number for number in range(600_000))
    assert csv.read(b"id,qty\n" + good, _NUMBERS, file="n.csv").num_rows == 600_000
    with pytest.raises(Invalid, match=r"n\.csv:600002: column qty: 'x'"):
        csv.read(b"id,qty\n" + good + b"7,x\n", _NUMBERS, file="n.csv")
    with pytest.raises(Invalid, match=r"n\.csv:600002: 1 field, expected 2"):
        csv.read(b"id,qty\n" + good + b"7\n", _NUMBERS, file="n.csv")


def test_a_record_may_be_larger_than_a_block() -> None:
    long = b"x" * (9 << 20)
    rows = _rows(b'a,b\n1,2\n"' + long + b'",y\n3,4\n', _TEXTS)
    assert [len(row[0]) for row in rows] == [1, len(long), 1]


_CELLS = st.none() | st.text(alphabet=st.sampled_from('ab",;\n\r 0é'), max_size=4)


def _quoted(cell: str | None) -> str:
    return "" if cell is None else '"' + cell.replace('"', '""') + '"'


@given(st.lists(st.tuples(_CELLS, _CELLS), max_size=5), st.sampled_from(["\n", "\r\n", "\r"]))
def test_what_is_written_is_read(rows: list[tuple[str | None, str | None]], end: str) -> None:
    text = "".join(",".join(map(_quoted, row)) + end for row in [("a", "b"), *rows])
    assert _rows(text.encode(), _TEXTS) == [list(row) for row in rows]


@given(st.text(alphabet='a",\n\r ', max_size=14), st.integers(1, 3))
def test_both_paths_split_alike(text: str, width: int) -> None:
    """Whatever the quotes do, Arrow and the csv module see the same records."""
    step = _step(*((f"c{number}", Simple.STRING) for number in range(width)), header=False)
    records = [row for row in python_csv.reader(io.StringIO(text, newline="")) if row]
    expected = records if records and all(len(row) == width for row in records) else None
    found = _records_or_refusal(text, step)
    assert found in ([expected] if expected else ["refused"]) or found == "never closed"


def _records_or_refusal(text: str, step: ReadCsv) -> list[list[str]] | str:
    try:
        found = csv.read(text.encode(), step, file="n.csv")
    except Invalid as error:
        return "never closed" if "never closed" in str(error) else "refused"
    return [[cell or "" for cell in row.values()] for row in found.to_pylist()]


def test_the_types_are_those_at_rest() -> None:
    step = _step(("id", Simple.BIGINT), ("u", Simple.UUID))
    assert csv.read(b"u,id\n", step, file="n.csv").schema == pa.schema(
        [("id", pa.int64()), ("u", pa.binary(16))]
    )
