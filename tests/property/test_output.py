"""What is printed can be read back: nothing is lost between a table and its text."""

import csv
import io
import json
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from odf_coordinator.cli import output
from odf_coordinator.ingest import csv as ingest
from odf_coordinator.model.schema import Field, Simple
from odf_coordinator.model.source import ReadCsv

_TEXT = st.text(alphabet=st.characters(codec="utf-8"), max_size=8)
_INTEGERS = st.integers(-(2**63), 2**63 - 1)
_DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
_COLUMNS = {"n": pa.int64(), "x": pa.float64(), "s": pa.string(), "b": pa.bool_()}
_ROW = st.tuples(
    st.none() | _INTEGERS, st.none() | _DOUBLES, st.none() | _TEXT, st.none() | st.booleans()
)


def _table(rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(_COLUMNS)
    arrays = [pa.array(c, t) for c, t in zip(columns, _COLUMNS.values(), strict=True)]
    return pa.table(arrays, names=list(_COLUMNS))


def _written(table: pa.Table, form: str) -> str:
    stream = io.StringIO(newline="")
    output.write_table(table, (), form, stream)
    return stream.getvalue()


@given(st.lists(_ROW, max_size=5))
def test_json_and_ndjson_keep_every_value(rows: list[tuple[Any, ...]]) -> None:
    table = _table(rows)
    assert json.loads(_written(table, "json")) == table.to_pylist()
    lines = _written(table, "ndjson").split("\n")[:-1]
    assert [json.loads(line) for line in lines] == table.to_pylist()


@given(st.lists(_ROW, max_size=5))
def test_csv_is_read_back_by_ingestion(rows: list[tuple[Any, ...]]) -> None:
    table = _table(rows)
    kinds = (Simple.BIGINT, Simple.DOUBLE, Simple.STRING, Simple.BOOLEAN)
    schema = tuple(Field(name=n, type=k) for n, k in zip(_COLUMNS, kinds, strict=True))
    step = ReadCsv(schema=schema, header=True, separator=",")
    content = _written(table, "csv").encode()
    assert ingest.read(content, step, file="rows.csv").to_pylist() == table.to_pylist()


@given(st.lists(_ROW, max_size=5))
def test_csv_is_read_by_others(rows: list[tuple[Any, ...]]) -> None:
    text = _written(_table(rows), "csv")
    records = list(csv.reader(io.StringIO(text, newline="")))
    assert [record[2] for record in records[1:]] == [row[2] or "" for row in rows]


@given(st.lists(_ROW, max_size=5))
def test_tsv_has_one_line_a_row_and_one_tab_between_cells(rows: list[tuple[Any, ...]]) -> None:
    lines = _written(_table(rows), "tsv").split("\n")
    assert len(lines) == len(rows) + 2
    assert all(line.count("\t") == len(_COLUMNS) - 1 for line in lines[:-1])


@given(st.lists(st.text(alphabet="a_12", max_size=4), max_size=8))
def test_distinct_names_are_distinct_and_recognisable(names: list[str]) -> None:
    found = output.unique(names)
    assert len(set(found)) == len(names)
    assert all(new.startswith(old) for old, new in zip(names, found, strict=True))
