"""Queries: what they see, what they may not do, how mistakes are told."""

import datetime as dt
import decimal
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pytest
from odf_coordinator.errors import Invalid
from odf_coordinator.model.identity import DatasetName
from odf_coordinator.query import sql

_ID = uuid.UUID("186bc282-bad0-45c9-9750-a732171f9c4a")
_STATIONS = pa.table(
    {
        "event_time": pa.array([0, 86_400_000_000], pa.timestamp("us", "UTC")),
        "id": pa.array([_ID.bytes, None], pa.binary(16)),
        "n": pa.array([2**62, 2**62], pa.int64()),
        "kind": ["a", "b"],
    }
)
_SMALL = pa.table({"n": pa.array([1, 2], pa.int64()), "kind": ["a", "b"]})


def _forbidden() -> sql.Rows:
    raise AssertionError("loaded, though the query does not name it")


_TABLES = {
    DatasetName("net.example.stations"): lambda: _STATIONS,
    DatasetName("small"): lambda: pa.dataset.dataset(_SMALL),
    DatasetName("org.example.csv"): lambda: _SMALL,
    DatasetName("other"): _forbidden,
}


def _rows(query: str) -> list[list[Any]]:
    table = sql.run(_TABLES, query).rows
    return [list(cells) for cells in zip(*(c.to_pylist() for c in table.columns), strict=True)]


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ('select n from "net.example.stations"', [[2**62], [2**62]]),
        ('select count(*) from "NET.Example.STATIONS"', [[2]]),
        ("select n from small order by n", [[1], [2]]),
        ("select n from SMALL where n > 1", [[2]]),
        ('from "org.example.csv" select n', [[1], [2]]),
        ('select a.n from small a join "org.example.csv" using (n)', [[1], [2]]),
        ("select n from small where exists (select 1 from small s where s.n = small.n + 1)", [[1]]),
        ("with other as (select 5 v) from other", [[5]]),
        ("with small as (select 5 v) from small", [[5]]),
        ("select other from (select n as other from small)", [[1], [2]]),
        ("select 'from other'", [["from other"]]),
        ("values (1), (2)", [[1], [2]]),
        ("table small", [[1, "a"], [2, "b"]]),
        ("select n from small; -- that is all", [[1], [2]]),
        ("from query_table('small')", [[1, "a"], [2, "b"]]),
        ("pivot small on kind using sum(n)", [[decimal.Decimal(1), decimal.Decimal(2)]]),
        ("select * from (pivot small on kind using count(*) group by n) order by n",
         [[1, 1, 0], [2, 0, 1]]),
        ("select column_name, column_type from (describe small)",
         [["n", "BIGINT"], ["kind", "VARCHAR"]]),
        ("select column_name from (summarize small)", [["n"], ["kind"]]),
        ("select 1 as a, 2 as a", [[1, 2]]),
    ],
)  # fmt: skip
def test_reads_of_every_form_see_the_tables_they_name(query: str, rows: list[list[Any]]) -> None:
    assert _rows(query) == rows


@pytest.mark.parametrize(
    "query", ["describe small", "show small", "summarize small", "explain from small",
              "explain analyze from small", "explain (format json) from small"]
)  # fmt: skip
def test_questions_about_tables_are_reads(query: str) -> None:
    assert sql.run(_TABLES, query).rows.num_rows > 0


def test_sixteen_bytes_are_a_uuid() -> None:
    query = f"""select id from "net.example.stations" where id = '{_ID}'"""
    assert _rows(query) == [[str(_ID)]]
    assert sql.run(_TABLES, query).types == ("UUID",)


def test_times_are_utc() -> None:
    query = """select event_time::date, date_trunc('month', event_time), event_time::varchar,
               event_time + interval 1 month
               from "net.example.stations" where event_time < '1970-01-02'"""
    zero = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    (row,) = _rows(query)
    assert row == [zero.date(), zero, "1970-01-01 00:00:00+00", zero.replace(month=2)]


def test_wide_integers_keep_their_type_and_value() -> None:
    result = sql.run(_TABLES, 'select sum(n), 1::decimal(38,0) from "net.example.stations"')
    assert result.types == ("HUGEINT", "DECIMAL(38,0)")
    assert result.rows.column(0).to_pylist() == [decimal.Decimal(2**63)]


@pytest.mark.parametrize(
    "query",
    [
        "from read_csv('{file}')",
        "from read_text('{file}')",
        "from '{file}'",
        "from glob('{folder}/*')",
        "from sniff_csv('{file}')",
        "copy small to '{folder}/out.csv'",
        "copy (select 1) to '{folder}/out.csv'",
        "copy (pivot small on kind) to '{folder}/out.csv'",
        "explain copy (select 1) to '{folder}/out.csv'",
        "explain analyze copy (select 1) to '{folder}/out.csv'",
        "explain /* x */ analyze copy (select 1) to '{folder}/out.csv'",
        "export database '{folder}/out'",
        "import database '{folder}'",
        "attach '{folder}/out.db'",
        "install httpfs",
        "load json",
        "set threads = 1",
        "reset threads",
        "use memory",
        "pragma version",
        "pragma database_list",
        "call range(3)",
        "checkpoint",
        "create table x (a int)",
        "create table x as pivot small on kind",
        "create macro f(a) as a",
        "create secret (type s3)",
        "insert into small values (1, 'a')",
        "with x as (insert into small values (1, 'a') returning *) from x",
        "delete from small",
        "drop view small",
        "begin",
        "prepare x as select 1",
        "execute x",
        "vacuum",
        "show tables",
        "SHOW ALL TABLES",
        "from _STATIONS",
        "select 1; select 2",
        "",
        "-- nothing",
        "select ?",
        "select getenv('HOME')",
    ],
)
def test_everything_else_is_refused(query: str, tmp_path: Path) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("a\n1\n")
    with pytest.raises(Invalid):
        sql.run(_TABLES, query.format(file=file, folder=tmp_path))
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ("selec 1", "LINE 1: selec 1", ""),
        ("select n\nfrom small\nwhere x = 1", 'column "x" not found', ""),
        ("select 'a'::int", "Could not convert string 'a' to INT32", ""),
        ("select 1 // 0", "Division by zero", ""),
        ("select nofun(1)", "nofun does not exist", ""),
        ("select 1::bit as b", "column b: BIT cannot be shown", "cast it to VARCHAR"),
        ("select [{'x': 1::variant}] as b", "column b: VARIANT cannot be shown", "cast it"),
        ('from "net.example.station"', 'there is no dataset "net.example.station"',
         'did you mean "net.example.stations"?'),
        ("from zzz", 'there is no dataset "zzz"', "`odf ls` lists the datasets"),
        ("from net.example.stations", 'Table with name "net.example.stations"',
         'put the name in quotes: "net.example.stations"'),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_the_place_and_the_way_out(
    query: str, message: str, hint: str
) -> None:
    with pytest.raises(Invalid) as caught:
        sql.run(_TABLES, query)
    assert message in str(caught.value)
    assert hint in caught.value.hint


def test_an_error_of_a_loader_comes_through() -> None:
    def load() -> sql.Rows:
        raise Invalid("has no schema yet")

    with pytest.raises(Invalid, match="has no schema yet"):
        sql.run({DatasetName("a"): load}, "from a")


def test_a_table_is_loaded_once() -> None:
    loaded = []

    def load() -> sql.Rows:
        loaded.append(1)
        return _SMALL

    sql.run({DatasetName("a"): load}, "select * from a join a as b using (n)")
    assert loaded == [1]
