"""Rows on a stream: every format, every type."""

import datetime as dt
import decimal
import io
import json
import uuid
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from odf_coordinator.cli import output
from odf_coordinator.errors import Invalid
from odf_coordinator.query import sql

_ROWS = pa.table(
    {
        "t": pa.array([0, 1_500_000, None], pa.timestamp("us", "UTC")),
        "name": ["a", 'say "hi",\tyou\n', None],
        "n": pa.array([1, -20, None], pa.int64()),
        "wet": [True, False, None],
    }
)


def _written(rows: pa.Table, form: str, types: tuple[str, ...] = ()) -> str:
    stream = io.StringIO()
    output.write_table(rows, types, form, stream)
    return stream.getvalue()


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class _Binary(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")

    def content(self) -> bytes:
        self.flush()
        raw = self.buffer
        assert isinstance(raw, io.BytesIO)
        return raw.getvalue()


def test_people_get_tables_and_pipes_get_tsv() -> None:
    assert output.default_format(is_terminal=True) == "table"
    assert output.default_format(is_terminal=False) == "tsv"


_UUID = uuid.UUID("186bc282-bad0-45c9-9750-a732171f9c4a")
_UTC = pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (pa.int64(), 2**63 - 1, "9223372036854775807"),
        (pa.uint64(), 2**64 - 1, "18446744073709551615"),
        (pa.float64(), 4.5, "4.5"),
        (pa.float64(), 1e300, "1e+300"),
        (pa.float64(), float("nan"), '"NaN"'),
        (pa.float64(), float("-inf"), '"-Infinity"'),
        (pa.float32(), 0.1, "0.1"),
        (pa.float32(), float("inf"), '"Infinity"'),
        (pa.bool_(), True, "true"),
        (pa.string(), 'é "x"', '"é \\"x\\""'),
        (pa.decimal128(10, 2), decimal.Decimal("1.50"), '"1.50"'),
        (pa.decimal128(38, 0), decimal.Decimal(10**20), '"100000000000000000000"'),
        (pa.decimal128(38, 10), decimal.Decimal("1E-10"), '"0.0000000001"'),
        (_UTC, 0, '"1970-01-01T00:00:00Z"'),
        (_UTC, 1_500_000, '"1970-01-01T00:00:01.500Z"'),
        (_UTC, -1, '"1969-12-31T23:59:59.999999Z"'),
        (_UTC, -62_135_596_800_000_000, '"0001-01-01T00:00:00Z"'),
        (_UTC, -62_135_596_800_000_001, '"+0000-12-31T23:59:59.999999Z"'),
        (_UTC, 253_402_300_800_000_000, '"+10000-01-01T00:00:00Z"'),
        (_UTC, 2**63 - 1, '"infinity"'),
        (pa.timestamp("us"), 0, '"1970-01-01T00:00:00Z"'),
        (pa.timestamp("ns"), 1, '"1970-01-01T00:00:00.000000001Z"'),
        (pa.timestamp("s"), 1, '"1970-01-01T00:00:01Z"'),
        (pa.timestamp("us", "Europe/Berlin"), 0, '"1970-01-01T00:00:00Z"'),
        (pa.date32(), dt.date(2024, 2, 29), '"2024-02-29"'),
        (pa.date32(), 2**31 - 1, '"infinity"'),
        (pa.time64("us"), dt.time(6, 7, 8), '"06:07:08"'),
        (pa.time64("us"), dt.time(6, 7, 8, 1000), '"06:07:08.001"'),
        (pa.time64("us"), 86_400_000_000, '"24:00:00"'),
        (pa.time32("s"), dt.time(6, 7, 8), '"06:07:08"'),
        (pa.binary(16), _UUID.bytes, f'"{_UUID}"'),
        (pa.uuid(), _UUID.bytes, f'"{_UUID}"'),
        (pa.binary(), b"\x00\xff", '"AP8="'),
        (pa.month_day_nano_interval(), (1, 2, 3_500_000_000), '"P1M2DT3.5S"'),
        (pa.month_day_nano_interval(), (0, 0, -1_000_000_000), '"P0M0DT-1S"'),
        (pa.list_(_UTC), [0, None], '["1970-01-01T00:00:00Z", null]'),
        (pa.list_(pa.int32(), 2), [1, 2], "[1, 2]"),
        (pa.struct([("a", pa.date32()), ("b", pa.list_(pa.bool_()))]),
         {"a": dt.date(2024, 1, 1), "b": []}, '{"a": "2024-01-01", "b": []}'),
        (pa.map_(pa.int32(), pa.float32()), [(1, 0.1)], '{"1": 0.1}'),
        (pa.null(), None, "null"),
    ],
)  # fmt: skip
def test_a_value_has_one_json_form(kind: pa.DataType, value: Any, text: str) -> None:
    rows = pa.table({"x": pa.array([None, value, None], kind)})
    assert _written(rows, "ndjson") == f'{{"x": null}}\n{{"x": {text}}}\n{{"x": null}}\n'
    sliced = rows.slice(1, 1)
    assert _written(sliced, "ndjson") == f'{{"x": {text}}}\n'


def test_dictionaries_are_their_values() -> None:
    rows = pa.table({"x": pa.array(["a", None]).dictionary_encode()})
    assert json.loads(_written(rows, "json")) == [{"x": "a"}, {"x": None}]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("sum(9223372036854775807::bigint)", "9223372036854775807"),
        ("170141183460469231731687303715884105727::hugeint", str(2**127 - 1)),
        ("(-5)::hugeint", "-5"),
        ("340282366920938463463374607431768211455::uhugeint", str(2**128 - 1)),
        ("[5::hugeint]", "[5]"),
        ("{'a': 5::hugeint, 'b': 1}", '{"a": 5, "b": 1}'),
        ("5::decimal(38,0)", '"5"'),
        ("sum(1.50)", '"1.50"'),
        ("'a'::enum('a', 'b')", '"a"'),
        ("map {'k': 5::hugeint}", '{"k": 5}'),
        ("timestamptz '2024-03-01 06:00:00+00'", '"2024-03-01T06:00:00Z"'),
        ("interval 1 day", '"P0M1DT0S"'),
        (f"uuid '{_UUID}'", f'"{_UUID}"'),
    ],
)
def test_results_of_queries_print_by_their_types(query: str, text: str) -> None:
    result = sql.run({}, f"select {query} as x")
    assert _written(result.rows, "ndjson", result.types) == f'{{"x": {text}}}\n'


def test_json_is_one_array_in_column_order() -> None:
    text = _written(_ROWS, "json")
    assert json.loads(text) == [
        {"t": "1970-01-01T00:00:00Z", "name": "a", "n": 1, "wet": True},
        {"t": "1970-01-01T00:00:01.500Z", "name": 'say "hi",\tyou\n', "n": -20, "wet": False},
        {"t": None, "name": None, "n": None, "wet": None},
    ]
    assert text.startswith('[\n  {"t": ')
    assert text.endswith("}\n]\n")


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("json", "[]\n"),
        ("yaml", "[]\n"),
        ("ndjson", ""),
        ("csv", "t,name,n,wet\n"),
        ("tsv", "t\tname\tn\twet\n"),
        ("table", "t  name  n  wet\n"),
    ],
)
def test_no_rows(form: str, text: str) -> None:
    assert _written(_ROWS.slice(0, 0), form) == text


def test_csv_tells_null_from_nothing() -> None:
    assert _written(_ROWS, "csv") == (
        "t,name,n,wet\n"
        "1970-01-01T00:00:00Z,a,1,true\n"
        '1970-01-01T00:00:01.500Z,"say ""hi"",\tyou\n",-20,false\n'
        ",,,\n"
    )
    assert _written(pa.table({"a": ["", None], "b": ["x", "y"]}), "csv") == 'a,b\n"",x\n,y\n'


def test_a_single_column_has_no_blank_lines_in_csv() -> None:
    assert _written(pa.table({"a": ["x", None]}), "csv") == 'a\nx\n""\n'


def test_tsv_keeps_one_row_a_line() -> None:
    assert _written(_ROWS, "tsv").splitlines()[2] == (
        '1970-01-01T00:00:01.500Z\tsay "hi",\\tyou\\n\t-20\tfalse'
    )
    assert _written(pa.table({"a\tb": ["\\n\r"]}), "tsv") == "a\\tb\n\\\\n\\r\n"


def test_nested_values_are_json_inside_separated_values() -> None:
    rows = pa.table({"x": [{"a": [1, None]}]})
    assert _written(rows, "tsv") == 'x\n{"a": [1, null]}\n'
    assert _written(rows, "csv") == 'x\n"{""a"": [1, null]}"\n'


def test_yaml_reads_back() -> None:
    assert yaml.safe_load(_written(_ROWS, "yaml")) == json.loads(_written(_ROWS, "json"))
    long = pa.table({"x": ["word " * 100 + "end"]})
    assert len(_written(long, "yaml").splitlines()) == 1


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a", "a"], ["a", "a_1", "a_2"]),
        (["a", "a", "a_1"], ["a", "a_2", "a_1"]),
        (["a_1", "a", "a"], ["a_1", "a", "a_2"]),
        (["a", "A"], ["a", "A"]),
    ],
)
def test_names_are_made_distinct(names: list[str], expected: list[str]) -> None:
    assert output.unique(names) == expected


def test_columns_of_one_name_all_arrive() -> None:
    rows = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert json.loads(_written(rows, "json")) == [{"a": 1, "a_1": 2}]


def test_arrow_and_parquet_read_back() -> None:
    stream = _Binary()
    output.write_table(_ROWS, (), "arrow", stream)
    assert pa.ipc.open_stream(stream.content()).read_all() == _ROWS
    stream = _Binary()
    output.write_table(_ROWS, (), "parquet", stream)
    assert pq.read_table(io.BytesIO(stream.content())).equals(_ROWS)


def test_what_parquet_cannot_hold_is_told() -> None:
    rows = pa.table({"x": pa.array([(1, 2, 3)], pa.month_day_nano_interval())})
    with pytest.raises(Invalid, match="Parquet cannot hold this"):
        output.write_table(rows, (), "parquet", _Binary())


def test_a_table_off_the_terminal_is_whole_and_plain() -> None:
    rows = pa.table({"name": ["a" * 200, None], "n": [1, 1000]})
    assert _written(rows, "table").split("\n") == [
        "name" + " " * 198 + "   n",
        "a" * 200 + "     1",
        "-" + " " * 201 + "1000",
        "",
    ]
    many = pa.table({"n": pa.array(range(3000), pa.int64())})
    assert len(_written(many, "table").splitlines()) == 3001


def test_a_table_spells_control_characters_and_reads_no_markup() -> None:
    text = _written(pa.table({"[b]x": ["\x1b[31mred\x07", "[red]y[/red]"]}), "table")
    assert text == "[b]x\n\\x1b[31mred\\x07\n[red]y[/red]\n"


def test_line_breaks_in_a_table_stay_in_their_column() -> None:
    assert _written(pa.table({"a": ["x\ny"], "b": ["z"]}), "table") == "a  b\nx  z\ny\n"


def _on_terminal(rows: pa.Table, width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    stream = _Terminal()
    output.write_table(rows, (), "table", stream)
    return stream.getvalue()


def test_a_long_text_is_folded_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.table({"n": [1], "text": ["x" * 100]})
    text = _on_terminal(rows, 40, monkeypatch)
    assert text.count("x") == 101  # one in the title
    assert max(map(len, text.splitlines())) <= 40


def test_many_columns_go_one_a_line_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.table({f"column_{number}": [f"value {number}", None] for number in range(20)})
    text = _on_terminal(rows, 40, monkeypatch)
    assert text.splitlines()[:2] == ["--- row 1", "column_0   value 0"]
    assert all(f"value {number}\n" in text for number in range(20))


def test_rows_left_out_on_a_terminal_are_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pa.table({"n": pa.array(range(1005), pa.int64())})
    text = _on_terminal(rows, 40, monkeypatch)
    assert len(text.splitlines()) == 1001
    assert "5 more rows" in capsys.readouterr().err


def test_plain_rows_print_in_every_text_format() -> None:
    rows = [{"name": "a", "records": 3, "head": None}]
    expected = {
        "json": '[\n  {"name": "a", "records": 3, "head": null}\n]\n',
        "csv": "name,records,head\na,3,\n",
        "tsv": "name\trecords\thead\na\t3\t\n",
        "yaml": "- name: a\n  records: 3\n  head: null\n",
        "table": "name  records  head\na           3  -\n",
    }
    for form, text in expected.items():
        stream = io.StringIO()
        columns = ("name", "records", "head")
        output.write_rows(rows, columns, form, stream, numeric=("records",))
        assert stream.getvalue() == text
