"""A throw-away query: the first real one must not pay for loading classes."""

import shutil
from pathlib import Path

import pyarrow as pa
from odf_wire import arrow_files
from odf_wire.flat import Instant
from odf_wire.messages import (
    Column,
    ExecuteRequest,
    ExecuteResult,
    InputShape,
    InputSlice,
    Mark,
    Tick,
    Vocabulary,
)

from odf_engine_spark.operations import Folders, Operations
from odf_engine_spark.session import Session

_QUERY = "SELECT event_time, upper(name) AS name, value * 2 AS value FROM warm WHERE value > 0"
_SCHEMA = pa.schema(
    {
        "offset": pa.int64(),
        "op": pa.int32(),
        "system_time": pa.timestamp("us", "UTC"),
        "event_time": pa.timestamp("us", "UTC"),
        "name": pa.string(),
        "value": pa.float64(),
    }
)


def warm_up(session: Session, scratch: Path) -> None:
    """Run one query from file to file. Raises RuntimeError when the engine cannot do it."""
    folder = scratch / "warm-up"
    exchange = folder / "exchange"
    exchange.mkdir(parents=True)
    row = [0, 0, 0, 0, "a", 1.0]
    arrays = [pa.array([value], type=field.type) for value, field in zip(row, _SCHEMA, strict=True)]
    arrow_files.write(exchange / "warm.arrow", _SCHEMA, [pa.record_batch(arrays, schema=_SCHEMA)])
    operations = Operations(session, Folders(inputs=folder, outputs=folder), "")
    *_, last = operations.execute(_request(), "warm-up")
    if not isinstance(last, ExecuteResult) or last.rows != 1:
        raise RuntimeError(f"the engine does not work: {last}")
    shutil.rmtree(folder)


def _request() -> ExecuteRequest:
    vocabulary = Vocabulary()
    columns = (
        Column(name="event_time", type="TIMESTAMP(6)"),
        Column(name="name", type="STRING"),
        Column(name="value", type="DOUBLE"),
    )
    shape = InputShape(alias="warm", columns=columns, vocabulary=vocabulary, is_root=True)
    mark = Mark(offset=0, watermark=Instant(0), time=Instant(0))
    ticks = (Tick(batches=1, rows=1, mark=mark),)
    slice_ = InputSlice(shape=shape, file="warm.arrow", previous_watermark=None, ticks=ticks)
    return ExecuteRequest(
        transaction_id="warm-up",
        exchange="exchange",
        inputs=(slice_,),
        query=_QUERY,
        vocabulary=vocabulary,
        next_offset=0,
        previous_mark=None,
    )
