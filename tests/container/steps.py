"""One small step for any engine: input rows, the request, the rows that it must give."""

from typing import Any

import pyarrow as pa
from odf_coordinator.ports import Engine
from odf_wire import arrow_files
from odf_wire.flat import Instant
from odf_wire.messages import (
    Column,
    ExecuteRequest,
    InputShape,
    InputSlice,
    Mark,
    Tick,
    ValidateRequest,
    Vocabulary,
)

QUERY = """
SELECT event_time, upper(city) AS city, population / 3 AS third
FROM cities WHERE population > 1
"""
US = pa.timestamp("us", "UTC")
SCHEMA = pa.schema(
    {
        "offset": pa.int64(),
        "op": pa.int32(),
        "system_time": US,
        "event_time": US,
        "city": pa.string(),
        "population": pa.float64(),
    }
)
ROWS: list[list[Any]] = [
    [0, 0, 1_000_000, 10, "Wien", 2.0],
    [1, 0, 1_000_000, 20, "Łódź", None],
    [2, 0, 1_000_000, 30, "Québec", 0.1],
    [3, 0, 1_000_000, 40, "東京", 1e16 + 2],
]
SHAPE = InputShape(
    alias="cities",
    columns=(
        Column(name="event_time", type="TIMESTAMP(6)"),
        Column(name="city", type="STRING"),
        Column(name="population", type="DOUBLE"),
    ),
    vocabulary=Vocabulary(),
    is_root=True,
)
VALIDATE = ValidateRequest(inputs=(SHAPE,), query=QUERY, vocabulary=Vocabulary())
EXPECTED = [("WIEN", 2.0 / 3), ("東京", (1e16 + 2) / 3)]


class Silent:
    """A listener that is told and forgets."""

    def progress(self, subject: str, stage: str, detail: str = "") -> None:
        """Nothing."""

    def warning(self, subject: str, message: str) -> None:
        """Nothing."""

    def clear(self) -> None:
        """Nothing."""


def run_step(engine: Engine, transaction_id: str = "ab" * 32) -> pa.Table:
    """The rows that the engine gives for the step, read into memory."""
    values = zip(*ROWS, strict=True)
    columns = [pa.array(v, type=f.type) for v, f in zip(values, SCHEMA, strict=True)]
    with engine.exchange(transaction_id) as exchange:
        file = exchange.inputs / "cities.arrow"
        arrow_files.write(file, SCHEMA, [pa.record_batch(columns, schema=SCHEMA)])
        mark = Mark(offset=3, watermark=Instant(40), time=Instant(1_000_000))
        tick = Tick(batches=1, rows=len(ROWS), mark=mark)
        slice_ = InputSlice(shape=SHAPE, file=file.name, previous_watermark=None, ticks=(tick,))
        request = ExecuteRequest(
            transaction_id=transaction_id,
            exchange=exchange.name,
            inputs=(slice_,),
            query=QUERY,
            vocabulary=Vocabulary(),
            next_offset=7,
            previous_mark=None,
        )
        result = engine.execute(request, listener=Silent(), subject="out")
        assert result.file is not None
        with pa.OSFile(str(exchange.outputs.parent / result.file)) as source:
            return pa.ipc.open_file(source).read_all()
