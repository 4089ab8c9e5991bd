"""A query cannot read the clock or the settings of its run, however it is written."""

import hashlib
from datetime import UTC, datetime

import pytest
from odf_wire.messages import ExecuteResult, InvalidQuery, ResponseBody, ValidateResult

from tests.integration.test_engine_server import Brought, Engine, engine, request, row, slice_of

__all__ = ["engine"]
pytestmark = pytest.mark.spark


def _run(engine: Engine, query: str) -> ResponseBody:
    name = hashlib.sha256(query.encode()).hexdigest()[:16]
    slice_ = slice_of(engine, name, "t", [Brought(time=10, rows=[row(1, k="today")])])
    return engine.execute(request(name, query, slice_))


# (expression, column where it is told)
PRESENT = [
    ("CAST('today' AS DATE)", 20),
    ("cast(' Yesterday ' as date)", 20),
    ("CAST('today UTC' AS DATE)", 20),
    ("try_cast('tomorrow Europe/Paris' AS DATE)", 20),
    ("CAST(concat('to', 'day') AS DATE)", 20),
    ("CAST(left('today!', 5) AS DATE)", 20),
    ("CAST(nvl(NULL, 'now') AS DATE)", 20),
    ("CAST(CAST('now' AS TIMESTAMP_NTZ) AS DATE)", 25),
    ("date('today')", 20),
    ("to_date('now')", 20),
    ("try_to_date('today')", 20),
    ("year('today')", 20),
    ("extract(YEAR FROM 'today')", 20),
    ("date_part('year', 'today')", 20),
    ("datediff(event_time, 'today')", 20),
    ("date_add('today', 1)", 20),
    ("last_day('now')", 20),
    ("trunc('now', 'MM')", 20),
    ("date'2020-01-01' < 'today'", 20),
    ("date'2020-01-01' IN ('today')", 37),
    ("CASE WHEN v > 1 THEN 'today' ELSE date'2020-01-01' END", 20),
    ("coalesce(CAST(NULL AS DATE), 'today')", 20),
    ("transform(xs, x -> date_add('today', x))", 39),
    ("DATE 'today'", 20),
    ("DATE/* */'today'", 20),
    ("DATE /* /* */ */ 'today'", 20),
    ("DATE -- a\n 'today'", 20),
    ("date r'today'", 20),
    ("DATE '\\u0074oday'", 20),
    ("TIMESTAMP_NTZ 'now' < DATE '2020-01-01'", 20),
    ("TIMESTAMP_LTZ 'now'", 20),
]


@pytest.mark.parametrize(("expression", "column"), PRESENT)
def test_a_text_that_means_the_present_is_refused(
    engine: Engine, expression: str, column: int
) -> None:
    found = engine.validate(f"SELECT event_time, {expression} AS x FROM t")
    assert isinstance(found, InvalidQuery), found
    assert "depends on the clock" in found.message
    assert (found.line, found.column) == (1, column)


def test_the_place_of_a_literal_is_counted_as_people_count(engine: Engine) -> None:
    found = engine.validate("SELECT event_time, '😀😀😀' AS a, DATE 'today' AS x FROM t")
    assert isinstance(found, InvalidQuery), found
    assert found.message == "DATE 'today' depends on the clock"
    assert (found.line, found.column) == (1, 32)


@pytest.mark.parametrize(
    "expression",
    [
        "CAST(array(k) AS ARRAY<TIMESTAMP>)",
        "CAST(struct(k) AS STRUCT<a: TIMESTAMP>).a",
        "CAST(map(1, k) AS MAP<INT, TIMESTAMP>)[1]",
    ],
)
def test_a_text_inside_a_value_is_not_read_as_a_time(engine: Engine, expression: str) -> None:
    found = engine.validate(f"SELECT event_time, {expression} AS x FROM t")
    assert isinstance(found, InvalidQuery), found
    assert "without a format" in found.message


@pytest.mark.parametrize(
    "expression",
    [
        "CAST('epoch' AS DATE)",
        "CAST('2020-01-01' AS DATE)",
        "CAST(k AS DATE)",
        "DATE /* the first */ '2020-01-01'",
        "date\n '2020-01-01'",
        "CAST(CAST(named_struct('timestamp', k) AS STRUCT<timestamp: STRING>) AS STRING)",
        "'today'",
        "to_date(k, 'yyyy-MM-dd')",
        "event_time > TIMESTAMP '2020-01-01'",
    ],
)
def test_other_texts_are_accepted(engine: Engine, expression: str) -> None:
    found = engine.validate(f"SELECT event_time, {expression} AS x FROM t")
    assert isinstance(found, ValidateResult), found


# Accepted, because nothing of the clock can come out: Spark does not read the text as the present.
@pytest.mark.parametrize(
    "expression",
    [
        "to_unix_timestamp('now')",
        "unix_timestamp('now')",
        "to_date('today', 'yyyy')",
        "to_timestamp('now', 'HH')",
        "CAST(elt(1, 'today') AS DATE)",
        "CAST(array('today') AS ARRAY<DATE>)",
        "'today' BETWEEN date'2020-01-01' AND date'2020-01-02'",
        "CAST(k AS DATE)",
        "to_time('now')",
    ],
)
def test_what_spark_does_not_read_as_the_present_fails(engine: Engine, expression: str) -> None:
    query = f"SELECT event_time, {expression} AS x FROM t"
    found = _run(engine, query)
    assert isinstance(found, InvalidQuery), found


def test_settings_and_properties_are_text(engine: Engine) -> None:
    text = "${spark.app.id} ${system:user.name} ${env:PATH} ${x}"
    query = f"SELECT event_time, '{text}' AS x FROM t"
    result = _run(engine, query)
    assert isinstance(result, ExecuteResult), result
    assert engine.rows(result) == [{"event_time": datetime.fromtimestamp(1, UTC), "x": text}]
