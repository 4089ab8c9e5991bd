"""The engine as a child process, over real gRPC on a Unix socket."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import grpc
import pyarrow as pa
import pytest
from odf_engine_spark import build
from odf_wire import arrow_files, codec
from odf_wire._gen import engine_pb2_grpc
from odf_wire.flat import Instant
from odf_wire.messages import (
    Column,
    ExecuteRequest,
    ExecuteResult,
    InfoRequest,
    InfoResult,
    InputShape,
    InputSlice,
    InternalError,
    InvalidQuery,
    Mark,
    Progress,
    RequestBody,
    ResponseBody,
    Tick,
    ValidateRequest,
    ValidateResult,
    Vocabulary,
)

pytestmark = pytest.mark.spark

START_SECONDS = 120
CALL_SECONDS = 120
US = pa.timestamp("us", "UTC")
COLUMNS = (
    Column(name="event_time", type="TIMESTAMP(3)"),
    Column(name="k", type="STRING"),
    Column(name="v", type="INT"),
    Column(name="d", type="DOUBLE"),
    Column(name="xs", type="ARRAY<INT>"),
)
TYPES = {"event_time": US, "k": pa.string(), "v": pa.int32(), "d": pa.float64()}
TYPES["xs"] = pa.list_(pa.int32())


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A running engine and its folders."""

    stub: Any
    inputs: Path
    outputs: Path
    process: subprocess.Popen[str]

    def call(self, method: str, body: RequestBody) -> list[ResponseBody]:
        envelope = codec.seal_envelope(codec.encode_request(body))
        answers = getattr(self.stub, method)(envelope, timeout=CALL_SECONDS)
        return [codec.decode_response(codec.open_envelope(each)) for each in answers]

    def validate(self, query: str, *shapes: InputShape) -> ResponseBody:
        shapes = shapes or (shape("t"), shape("r"))
        request = ValidateRequest(inputs=shapes, query=query, vocabulary=Vocabulary())
        return self.call("ValidateQuery", request)[-1]

    def execute(self, request: ExecuteRequest) -> ResponseBody:
        *progress, last = self.call("ExecuteQuery", request)
        assert all(isinstance(each, Progress) for each in progress)
        return last

    def rows(self, result: ResponseBody) -> list[dict[str, Any]]:
        assert isinstance(result, ExecuteResult), result
        if result.file is None:
            return []
        rows: list[dict[str, Any]] = arrow_files.read(self.outputs / result.file).to_pylist()
        assert len(rows) == result.rows
        return rows


def start_engine(folder: Path, *options: str) -> Engine:
    inputs, outputs = folder / "in", folder / "out"
    inputs.mkdir()
    outputs.mkdir()
    command = [sys.executable, "-m", "odf_engine_spark", "--socket", str(folder / "e.sock")]
    command += ["--inputs", str(inputs), "--outputs", str(outputs), "--scratch", str(folder)]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith(f"ready build_id={build.build_id()} "), line
    channel = grpc.insecure_channel(f"unix:{folder / 'e.sock'}")
    grpc.channel_ready_future(channel).result(timeout=START_SECONDS)
    stub = engine_pb2_grpc.EngineStub(channel)
    return Engine(stub=stub, inputs=inputs, outputs=outputs, process=process)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    build_jar = Path(build.ROOT) / "engine-spark" / "java" / "build.py"
    subprocess.run([sys.executable, str(build_jar)], check=True)
    folder = Path(tempfile.mkdtemp(prefix="odf-"))
    running = start_engine(folder, "--die-with-parent")
    with running.process:
        yield running
        running.process.terminate()
        assert running.process.wait(timeout=30) == 0
    assert [path.name for path in folder.iterdir() if path.name.startswith("odf-engine-")] == []
    shutil.rmtree(folder)


def shape(alias: str, columns: Sequence[Column] = COLUMNS, *, is_root: bool = True) -> InputShape:
    return InputShape(alias=alias, columns=tuple(columns), vocabulary=Vocabulary(), is_root=is_root)


def at(second: int) -> Instant:
    return Instant(second * 1_000_000)


def row(second: int, k: str = "a", v: int = 1, xs: list[int] | None = None) -> dict[str, Any]:
    when = datetime.fromtimestamp(second, UTC)
    return {"event_time": when, "k": k, "v": v, "d": v / 2, "xs": xs}


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What one tick brings: rows, in batches of `batch`, then a mark at `time`."""

    time: int
    rows: Sequence[dict[str, Any]] = ()
    watermark: int | None = None
    batch: int = 1000


def slice_of(
    engine: Engine,
    exchange: str,
    alias: str,
    ticks: Sequence[Brought],
    *,
    columns: Sequence[Column] = COLUMNS,
    types: dict[str, pa.DataType] | None = None,
) -> InputSlice:
    """Writes an input's file and describes it."""
    folder = engine.inputs / exchange
    folder.mkdir(exist_ok=True)
    system = {"offset": pa.int64(), "op": pa.int32(), "system_time": US}
    schema = pa.schema({**system, **(types or TYPES)})
    offset = 0
    batches: list[pa.RecordBatch] = []
    described = []
    for tick in ticks:
        stamped = [
            {"offset": offset + i, "op": 0, "system_time": datetime.fromtimestamp(tick.time, UTC)}
            | each
            for i, each in enumerate(tick.rows)
        ]
        offset += len(stamped)
        cut = [stamped[i : i + tick.batch] for i in range(0, len(stamped), tick.batch)]
        batches += [pa.RecordBatch.from_pylist(each, schema=schema) for each in cut]
        watermark = None if tick.watermark is None else at(tick.watermark)
        mark = Mark(offset=offset - 1, watermark=watermark, time=at(tick.time))
        described.append(Tick(batches=len(cut), rows=len(stamped), mark=mark))
    arrow_files.write(folder / f"{alias}.arrow", schema, batches)
    return InputSlice(
        shape=shape(alias, columns),
        file=f"{alias}.arrow",
        previous_watermark=None,
        ticks=tuple(described),
    )


def request(
    name: str, query: str, *slices: InputSlice, next_offset: int = 0, previous: Mark | None = None
) -> ExecuteRequest:
    return ExecuteRequest(
        transaction_id=name,
        exchange=name,
        inputs=slices,
        query=query,
        vocabulary=Vocabulary(),
        next_offset=next_offset,
        previous_mark=previous,
    )


def test_info_tells_who_it_is(engine: Engine) -> None:
    (info,) = engine.call("Info", InfoRequest())
    assert isinstance(info, InfoResult)
    assert info.engine == "odf-spark"
    assert info.spark_version == "4.3.0"
    assert info.build_id == build.build_id()


ACCEPTED = {
    "SELECT * FROM t": "event_time:TIMESTAMP(6) k:STRING v:INT d:DOUBLE xs:ARRAY<INT>",
    "SELECT event_time, v + 1 AS w FROM T WHERE k LIKE 'a%' AND v BETWEEN 1 AND 3;": (
        "event_time:TIMESTAMP(6) w:INT"
    ),
    "SELECT event_time, offset AS o, op AS how, system_time AS seen FROM t": (
        "event_time:TIMESTAMP(6) o:BIGINT how:INT seen:TIMESTAMP(6)"
    ),
    "SELECT event_time, k FROM t UNION ALL SELECT event_time, 'r' FROM r": (
        "event_time:TIMESTAMP(6) k:STRING"
    ),
    "WITH a AS (SELECT * FROM t WHERE v > 0) SELECT x.event_time, x.k FROM a AS x": (
        "event_time:TIMESTAMP(6) k:STRING"
    ),
    "SELECT event_time, x FROM t LATERAL VIEW explode(xs) AS x": "event_time:TIMESTAMP(6) x:INT",
    "SELECT event_time, posexplode(xs) AS (i, x) FROM t": "event_time:TIMESTAMP(6) i:INT x:INT",
    "SELECT event_time, s.a AS b FROM (SELECT event_time, struct(v AS a) AS s FROM t)": (
        "event_time:TIMESTAMP(6) b:INT"
    ),
    "SELECT event_time, CAST(v AS TINYINT) AS b, CAST(d AS DECIMAL(9,2)) AS m FROM t": (
        "event_time:TIMESTAMP(6) b:INT m:DECIMAL(9,2)"
    ),
    "SELECT event_time, named_struct('x y', k, 'z', xs) AS s FROM t": (
        "event_time:TIMESTAMP(6) s:STRUCT<`x y`: STRING, z: ARRAY<INT>>"
    ),
    "SELECT event_time, CASE WHEN v > 1 THEN 'big' ELSE coalesce(k, '?') END AS s, xs[0] AS x,"
    " date_trunc('DAY', event_time) AS day, event_time + INTERVAL 1 DAY AS next FROM t"
    " WHERE event_time >= '2020-01-01' AND event_time < TIMESTAMP '2030-01-01 00:00:00'": (
        "event_time:TIMESTAMP(6) s:STRING x:INT day:TIMESTAMP(6) next:TIMESTAMP(6)"
    ),
    "SELECT event_time, transform(xs, x -> x * 2) AS ys, size(filter(xs, x -> x > 1)) AS n,"
    " nullif(k, '') AS k2, try_cast(k AS INT) AS i, map('a', 1)[k] AS looked_up,"
    " extract(HOUR FROM event_time) AS h, k || '!' AS loud, trim(BOTH ' ' FROM k) AS t,"
    " to_timestamp(k, 'yyyy-MM-dd') AS parsed, sha2(k, 256) AS digest, k IN ('a', 'b') AS isin,"
    " TIME '10:00:00' AS ten, event_time - INTERVAL 1 MONTH AS before FROM t": (
        "event_time:TIMESTAMP(6) ys:ARRAY<INT> n:INT k2:STRING i:INT looked_up:INT h:INT"
        " loud:STRING t:STRING parsed:TIMESTAMP(6) digest:STRING isin:BOOLEAN ten:TIME"
        " before:TIMESTAMP(6)"
    ),
}


@pytest.mark.parametrize("query", ACCEPTED)
def test_accepts(engine: Engine, query: str) -> None:
    found = engine.validate(query)
    assert isinstance(found, ValidateResult), found
    assert found.kind == "stateless"
    assert " ".join(f"{each.name}:{each.type}" for each in found.columns) == ACCEPTED[query]


def test_an_alias_with_dots_is_one_quoted_name(engine: Engine) -> None:
    dotted = shape("com.example.t")
    assert isinstance(engine.validate("SELECT * FROM `com.Example.t`", dotted), ValidateResult)
    refused = engine.validate("SELECT * FROM com.example.t", dotted)
    assert isinstance(refused, InvalidQuery)
    assert "`com.example.t`" in refused.hint


# (query, part of the message, line, column); 0 where the place is not known
REFUSED = [
    ("SELECT reflect('java.lang.System', 'getProperty', 'user.name') AS x FROM t", "reflect", 1, 8),
    ("SELECT java_method('java.lang.Runtime', 'getRuntime') AS x FROM t", "java_method", 1, 8),
    ("SELECT try_reflect('java.lang.System', 'getenv', 'HOME') AS x FROM t", "try_reflect", 1, 8),
    ("CREATE FUNCTION f AS 'x.Y' USING JAR '/x.jar'", "CreateFunction", 0, 0),
    ("CREATE TEMPORARY FUNCTION f(x INT) RETURNS INT RETURN x + 1", "not accepted", 0, 0),
    ("ADD JAR '/x.jar'", "AddJar", 0, 0),
    ("ADD FILE '/etc/passwd'", "AddFile", 0, 0),
    ("LIST JARS", "ListJars", 0, 0),
    ("SELECT * FROM csv.`/etc/passwd`", "unknown relation csv./etc/passwd", 1, 15),
    ("SELECT * FROM json.`file:///etc/hosts`", "unknown relation", 1, 15),
    ("SELECT * FROM binaryFile.`/etc/hosts`", "unknown relation", 1, 15),
    ("SELECT * FROM jdbc.`x`", "unknown relation", 1, 15),
    ("SET spark.sql.ansi.enabled=false", "SetCommand", 0, 0),
    ("RESET", "ResetCommand", 0, 0),
    ("INSERT OVERWRITE DIRECTORY '/x' USING csv SELECT * FROM t", "not accepted", 0, 0),
    ("INSERT INTO t SELECT * FROM t", "not accepted", 0, 0),
    ("CREATE TABLE x AS SELECT * FROM t", "not accepted", 0, 0),
    ("CREATE VIEW v AS SELECT 1", "not accepted", 0, 0),
    ("DROP VIEW t", "not accepted", 0, 0),
    ("CACHE TABLE t", "not accepted", 0, 0),
    ("DESCRIBE t", "not accepted", 0, 0),
    ("SHOW TABLES", "not accepted", 0, 0),
    ("EXPLAIN SELECT * FROM t", "not accepted", 0, 0),
    ("SELECT TRANSFORM(k) USING 'cat' AS (x) FROM t", "TRANSFORM", 0, 0),
    ("USE other", "not accepted", 0, 0),
    ("SELECT * FROM cat.db.tbl", "unknown relation", 1, 15),
    ("SELECT * FROM spark_catalog.default.x", "unknown relation", 1, 15),
    ("SELECT * FROM odf.t", "unknown relation", 1, 15),
    ("SELECT * FROM information_schema.tables", "unknown relation", 1, 15),
    ("TRUNCATE TABLE t", "not accepted", 0, 0),
    ("MERGE INTO t USING r ON t.k = r.k WHEN MATCHED THEN DELETE", "not accepted", 0, 0),
    ("UPDATE t SET v = 1", "not accepted", 0, 0),
    ("DELETE FROM t", "not accepted", 0, 0),
    ("DECLARE x INT = 5", "not accepted", 0, 0),
    ("EXECUTE IMMEDIATE 'SELECT 1'", "not accepted", 0, 0),
    ("BEGIN SELECT 1; END", "", 0, 0),
    ("SELECT 1; SELECT 2", "Syntax error", 1, 11),
    ("CALL p()", "not accepted", 0, 0),
    ("SELECT * FROM range(10)", "table function", 1, 15),
    ("SELECT * FROM read_files('/etc/passwd')", "table function", 1, 15),
    ("SELECT * FROM STREAM t", "STREAM", 0, 0),
    ("SELECT * FROM t WITH (x = 1)", "options", 0, 0),
    ("SELECT /*+ REPARTITION(3) */ * FROM t", "hint", 0, 0),
    ("SELECT /*+ BROADCAST(t) */ * FROM t", "hint", 0, 0),
    ("SELECT event_time, input_file_name() AS x FROM t", "input_file_name", 1, 20),
    ("SELECT event_time, current_user() AS x FROM t", "current_user", 1, 20),
    ("SELECT event_time, version() AS x FROM t", "version", 1, 20),
    ("SELECT event_time, rand() AS x FROM t", "rand", 1, 20),
    ("SELECT event_time, uuid() AS x FROM t", "uuid", 1, 20),
    ("SELECT event_time,\n  now() AS x FROM t", "now", 2, 3),
    ("SELECT event_time, current_timestamp AS x FROM t", "current_timestamp", 1, 20),
    ("SELECT event_time, unix_timestamp() AS x FROM t", "current_timestamp", 0, 0),
    ("SELECT event_time, TIMESTAMP 'now' AS x FROM t", "depends on the clock", 1, 20),
    ("SELECT event_time, DATE 'today' AS x FROM t", "depends on the clock", 1, 20),
    ("SELECT event_time, TIMESTAMP '10:00' AS x FROM t", "depends on the clock", 1, 20),
    ("SELECT event_time, CAST(k AS TIMESTAMP) AS x FROM t", "without a format", 1, 20),
    ("SELECT event_time, to_timestamp(k) AS x FROM t", "without a format", 0, 0),
    ("SELECT * FROM t WHERE event_time > k", "without a format", 0, 0),
    ("SELECT * FROM t TABLESAMPLE (10 PERCENT)", "TABLESAMPLE", 0, 0),
    ("SELECT * FROM t VERSION AS OF 1", "time travel", 0, 0),
    ("SELECT * FROM t TIMESTAMP AS OF '2024-01-01'", "time travel", 0, 0),
    ("SELECT * FROM VALUES (1), (2) AS x(a)", "VALUES", 0, 0),
    ("SELECT event_time, (SELECT max(v) FROM r) AS x FROM t", "subquery", 0, 0),
    ("SELECT * FROM t WHERE EXISTS (SELECT 1 FROM r)", "subquery", 0, 0),
    ("SELECT * FROM t WHERE k IN (SELECT k FROM r)", "subquery", 0, 0),
    ("VALUES (1)", "VALUES", 0, 0),
    ("SELECT 1 AS event_time", "reads no input", 0, 0),
    ("SELECT event_time FROM t UNION ALL SELECT TIMESTAMP '2020-01-01'", "reads no input", 0, 0),
    ("SELECT * FROM identifier('csv.`/etc/passwd`')", "unknown relation", 0, 0),
    ("SELECT event_time, :x AS x FROM t", "", 0, 0),
    ("SELECT event_time, ai_query('x') AS x FROM t", "ai_query", 1, 20),
    ("SELECT t.* FROM t JOIN r ON t.k = r.k", "join", 0, 0),
    ("SELECT t.* FROM t, r", "join", 0, 0),
    ("SELECT k, count(*) AS n FROM t GROUP BY k", "GROUP BY", 0, 0),
    ("SELECT count(*) AS n FROM t", "count", 1, 8),
    ("SELECT event_time, row_number() OVER (ORDER BY v) AS n FROM t", "", 0, 0),
    ("SELECT event_time, sum(v) OVER (ORDER BY event_time) AS n FROM t", "", 0, 0),
    ("SELECT * FROM t ORDER BY v", "ORDER BY", 0, 0),
    ("SELECT * FROM t LIMIT 1", "LIMIT", 0, 0),
    ("SELECT DISTINCT * FROM t", "DISTINCT", 0, 0),
    ("SELECT event_time FROM t UNION SELECT event_time FROM r", "DISTINCT", 0, 0),
    ("SELECT event_time FROM t EXCEPT SELECT event_time FROM r", "EXCEPT", 0, 0),
    ("WITH RECURSIVE a AS (SELECT * FROM t UNION ALL SELECT * FROM a) SELECT * FROM a", "", 0, 0),
    ("SELECT * FROM nothing", "unknown relation nothing", 1, 15),
    ("SELECT nothing FROM t", "nothing", 1, 8),
    ("SELECT event_time, v + 1 FROM t", "needs a name", 1, 20),
    ("SELECT event_time, k, v AS K FROM t", "two columns are named K", 1, 23),
    ("SELECT event_time, offset FROM t", "system column", 1, 20),
    ("SELECT event_time, k AS op FROM t", "system column", 1, 20),
    ("SELECT k FROM t", "event time", 0, 0),
    ("SELECT event_time + INTERVAL 1 DAY AS event_time FROM t", "unchanged", 1, 8),
    ("SELECT system_time AS event_time FROM t", "unchanged", 1, 8),
    ("SELECT event_time FROM t UNION ALL SELECT system_time FROM r", "unchanged", 0, 0),
    ("SELECT * FROM t UNION ALL SELECT * FROM t", "read 2 times", 0, 0),
    ("WITH a AS (SELECT * FROM t) SELECT * FROM a UNION ALL SELECT * FROM a", "2 times", 0, 0),
    ("SELECT event_time, CAST(k AS BINARY) AS x FROM t", "binary", 0, 0),
    ("SELECT event_time, map('a', 1) AS x FROM t", "map", 0, 0),
    ("SELECT event_time, INTERVAL 1 DAY AS x FROM t", "interval", 0, 0),
    ("SELECT event_time, CAST(event_time AS TIMESTAMP_NTZ) AS x FROM t", "timestamp_ntz", 0, 0),
    ("SELECT event_time, NULL AS x FROM t", "void", 0, 0),
    ("SELEC 1", "Syntax error", 1, 1),
]


@pytest.mark.parametrize(("query", "message", "line", "column"), REFUSED)
def test_refuses(engine: Engine, query: str, message: str, line: int, column: int) -> None:
    found = engine.validate(query)
    assert isinstance(found, InvalidQuery), found
    assert message.lower() in found.message.lower()
    assert not re.search(r"\bpos \d|Project|Relation \[", found.message), found
    if line:
        assert (found.line, found.column) == (line, column), found


def test_system_time_is_read_from_roots_only(engine: Engine) -> None:
    query = "SELECT event_time, system_time AS seen FROM t WHERE v > 0"
    assert isinstance(engine.validate(query, shape("t")), ValidateResult)
    refused = engine.validate(query, shape("t", is_root=False))
    assert isinstance(refused, InvalidQuery)
    assert "depends on when it was pulled" in refused.message


def test_two_ticks_and_a_filter(engine: Engine) -> None:
    ticks = [
        Brought(time=100, rows=[row(1, v=5), row(2, v=-1), row(3, v=7)], watermark=3),
        Brought(time=200, rows=[row(4, v=-2)], watermark=4),
        Brought(time=300, rows=[row(5, v=9)]),
    ]
    query = "SELECT event_time, v * 2 AS w, offset AS o FROM t WHERE v > 0"
    previous = Mark(offset=9, watermark=None, time=at(50))
    slice_ = slice_of(engine, "two-ticks", "t", ticks)
    result = engine.execute(request("two-ticks", query, slice_, next_offset=10, previous=previous))
    assert isinstance(result, ExecuteResult), result
    assert result.file == "two-ticks/output.arrow"
    table = arrow_files.read(engine.outputs / result.file)
    assert table.schema.names == ["event_time", "w", "o"]
    assert table.schema.field("event_time").type == US
    assert table["w"].to_pylist() == [10, 14, 18]
    assert table["o"].to_pylist() == [0, 2, 4]
    assert result.marks == (
        Mark(offset=11, watermark=at(3), time=at(100)),
        Mark(offset=11, watermark=at(4), time=at(200)),
        Mark(offset=12, watermark=at(4), time=at(300)),
    )
    assert result.watermark == at(4)


def test_a_union_is_ordered_by_tick(engine: Engine) -> None:
    t = slice_of(
        engine,
        "union",
        "t",
        [
            Brought(time=100, rows=[row(1, "t1"), row(1, "t2")], watermark=1),
            Brought(time=300, rows=[row(3, "t3")], watermark=3),
        ],
    )
    r = slice_of(
        engine,
        "union",
        "r",
        [
            Brought(time=100, rows=[row(1, "r1")], watermark=10),
            Brought(time=200, rows=[row(2, "r2")], watermark=20),
        ],
    )
    query = "SELECT event_time, k FROM r UNION ALL SELECT event_time, k FROM t"
    result = engine.execute(request("union", query, t, r))
    assert [each["k"] for each in engine.rows(result)] == ["t1", "t2", "r1", "r2", "t3"]
    assert isinstance(result, ExecuteResult)
    assert result.marks == (
        Mark(offset=1, watermark=None, time=at(100)),
        Mark(offset=2, watermark=at(1), time=at(100)),
        Mark(offset=3, watermark=at(1), time=at(200)),
        Mark(offset=4, watermark=at(3), time=at(300)),
    )


def test_the_same_transaction_gives_the_same_answer_without_running(engine: Engine) -> None:
    slice_ = slice_of(engine, "again", "t", [Brought(time=1, rows=[row(1), row(2)], watermark=2)])
    first = request("again", "SELECT * FROM t", slice_)
    result = engine.execute(first)
    assert isinstance(result, ExecuteResult)
    content = (engine.outputs / "again/output.arrow").read_bytes()
    shutil.rmtree(engine.inputs / "again")
    second = engine.execute(replace(first, exchange="again-2"))
    assert second == replace(result, file="again-2/output.arrow")
    assert (engine.outputs / "again-2/output.arrow").read_bytes() == content

    other = engine.execute(replace(first, next_offset=5))
    assert isinstance(other, InternalError)
    assert "other parameters" in other.message


def test_a_record_without_its_output_is_computed_again(engine: Engine) -> None:
    slice_ = slice_of(engine, "lost", "t", [Brought(time=1, rows=[row(1), row(2)], watermark=2)])
    wanted = request("lost", "SELECT * FROM t", slice_)
    engine.execute(wanted)
    content = (engine.outputs / "lost/output.arrow").read_bytes()
    for kept in engine.outputs.glob(".last-transaction-*.arrow"):
        kept.unlink()
    assert isinstance(engine.execute(wanted), ExecuteResult)
    assert (engine.outputs / "lost/output.arrow").read_bytes() == content


def test_all_types_come_back_as_they_went_in(engine: Engine) -> None:
    types = {
        "event_time": (US, "TIMESTAMP(6)", datetime(2024, 2, 29, 12, 0, 0, 123456, UTC)),
        "b": (pa.bool_(), "BOOLEAN", True),
        "i": (pa.int32(), "INT", -(2**31)),
        "l": (pa.int64(), "BIGINT", 2**63 - 1),
        "f": (pa.float32(), "FLOAT", 0.5),
        "g": (pa.float64(), "DOUBLE", 1e300),
        "s": (pa.string(), "STRING", "żółw 🐢"),
        "m": (pa.decimal128(38, 10), "DECIMAL(38,10)", Decimal("-1234567890.0123456789")),
        "n": (pa.decimal128(5, 2), "DECIMAL(5,2)", Decimal("999.99")),
        "d": (pa.date32(), "DATE", date(1969, 12, 31)),
        "t": (pa.time64("ns"), "TIME", time(23, 59, 59, 999999)),
        "a": (pa.list_(pa.string()), "ARRAY<STRING>", ["x", None, ""]),
        "st": (
            pa.struct({"x": pa.int32(), "y": pa.list_(US)}),
            "STRUCT<x: INT, y: ARRAY<TIMESTAMP(6)>>",
            {"x": None, "y": [datetime(2000, 1, 1, tzinfo=UTC)]},
        ),
    }
    columns = [Column(name=name, type=ddl) for name, (_, ddl, _) in types.items()]
    full = {name: value for name, (_, _, value) in types.items()}
    empty = dict.fromkeys(types) | {"event_time": full["event_time"]}
    slice_ = slice_of(
        engine,
        "types",
        "t",
        [Brought(time=1, rows=[full, empty])],
        columns=columns,
        types={name: arrow for name, (arrow, _, _) in types.items()},
    )
    result = engine.execute(request("types", "SELECT * FROM t", slice_))
    assert engine.rows(result) == [full, empty]
    assert isinstance(result, ExecuteResult)
    assert [each.type for each in result.columns] == [ddl for _, ddl, _ in types.values()]
    written = arrow_files.read(engine.outputs / "types/output.arrow").schema
    assert [field.type for field in written] == [arrow for arrow, _, _ in types.values()]


def test_no_rows_make_no_file_but_a_mark(engine: Engine) -> None:
    slice_ = slice_of(engine, "empty", "t", [Brought(time=1, watermark=7)])
    result = engine.execute(request("empty", "SELECT * FROM t", slice_))
    assert isinstance(result, ExecuteResult), result
    assert (result.file, result.rows) == (None, 0)
    assert result.marks == (Mark(offset=-1, watermark=at(7), time=at(1)),)
    slice_ = slice_of(engine, "empty-2", "t", [Brought(time=1, rows=[row(1)])])
    result = engine.execute(request("empty-2", "SELECT * FROM t WHERE false", slice_))
    assert isinstance(result, ExecuteResult), result
    assert (result.file, result.rows) == (None, 0)


def test_many_small_batches_keep_their_order(engine: Engine) -> None:
    ticks = [
        Brought(time=t, rows=[row(t, v=t * 100 + i, xs=[0, 1]) for i in range(100)], batch=3)
        for t in range(20)
    ]
    slice_ = slice_of(engine, "order", "t", ticks)
    query = "SELECT event_time, v, x FROM t LATERAL VIEW explode(xs) AS x WHERE v % 7 <> 0"
    rows = engine.rows(engine.execute(request("order", query, slice_)))
    expected = [(v, x) for v in range(2000) if v % 7 for x in (0, 1)]
    assert [(each["v"], each["x"]) for each in rows] == expected


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ("SELECT event_time, v + 2147483647 AS x FROM t", "overflow", "try_add"),
        ("SELECT event_time, v / (v - v) AS x FROM t", "division by zero", "try_divide"),
        ("SELECT event_time, CAST(k AS INT) AS x FROM t", "cast", "try_cast"),
        ("SELECT event_time, xs[9] AS x FROM t", "index", "get"),
    ],
)
def test_what_fails_on_the_data_is_the_querys_fault(
    engine: Engine, query: str, message: str, hint: str
) -> None:
    name = f"fails-{hint}"
    slice_ = slice_of(engine, name, "t", [Brought(time=1, rows=[row(1, xs=[1])])])
    result = engine.execute(request(name, query, slice_))
    assert isinstance(result, InvalidQuery), result
    assert message in result.message.lower()
    assert hint in result.hint
    assert (result.line, result.column) == (1, 20)
    assert list((engine.outputs / name).iterdir()) == []


def test_a_pattern_that_is_none_is_the_querys_fault(engine: Engine) -> None:
    slice_ = slice_of(engine, "pattern", "t", [Brought(time=1, rows=[row(1)])])
    query = "SELECT event_time FROM t WHERE k RLIKE concat('(', k)"
    result = engine.execute(request("pattern", query, slice_))
    assert isinstance(result, InvalidQuery), result
    assert "not a regular expression: Unclosed group" in result.message


@pytest.mark.parametrize("path", ["../secret", "/etc", "", "a/../../b"])
def test_paths_stay_inside_the_exchange(engine: Engine, path: str) -> None:
    slice_ = slice_of(engine, "walls", "t", [Brought(time=1, rows=[row(1)])])
    outside = replace(request(f"walls-{path}", "SELECT * FROM t", slice_), exchange=path)
    assert isinstance(engine.execute(outside), InternalError)
    outside = request("walls", "SELECT * FROM t", replace(slice_, file=f"../{path}/x"))
    assert isinstance(engine.execute(outside), InternalError)


def test_a_cancelled_call_frees_the_engine(engine: Engine) -> None:
    rows = [row(1, xs=list(range(3000)))]
    slice_ = slice_of(engine, "slow", "t", [Brought(time=1, rows=rows)])
    query = (
        "SELECT event_time, a + b + c AS x FROM t LATERAL VIEW explode(xs) AS a"
        " LATERAL VIEW explode(xs) AS b LATERAL VIEW explode(xs) AS c WHERE a + b + c < 0"
    )
    envelope = codec.seal_envelope(codec.encode_request(request("slow", query, slice_)))
    answers = engine.stub.ExecuteQuery(envelope, timeout=CALL_SECONDS)
    stages = (codec.decode_response(codec.open_envelope(each)) for each in answers)
    assert any(isinstance(each, Progress) and each.stage == "run" for each in stages)
    answers.cancel()
    assert isinstance(engine.validate("SELECT * FROM t"), ValidateResult)


def test_an_idle_engine_ends_by_itself() -> None:
    folder = Path(tempfile.mkdtemp(prefix="odf-"))
    running = start_engine(folder, "--idle-exit", "0.1")
    with running.process:  # closes its output
        assert running.process.wait(timeout=30) == 0
    shutil.rmtree(folder)
