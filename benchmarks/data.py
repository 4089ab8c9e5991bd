"""Seeded rows: the same seed and number give the same table, on every machine."""

import random

import pyarrow as pa
import pyarrow.compute as pc

_START = 1_700_000_000_000_000


def mixed_rows(rows: int, *, seed: int) -> tuple[pa.Table, dict[str, str]]:
    """Eight mixed columns and their DDL types; some of each nullable kind are null."""
    chance = random.Random(seed)

    def bits(mask: int) -> pa.Array:
        drawn = pa.py_buffer(chance.randbytes(rows * 8))
        return pc.bit_wise_and(pa.Array.from_buffers(pa.int64(), rows, [None, drawn]), mask)

    def sometimes(values: pa.Array) -> pa.Array:
        return pc.if_else(pc.equal(bits(15), 0), pa.scalar(None, values.type), values)

    offsets = pc.add(pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), rows)), -1)
    city = pc.binary_join_element_wise("city", bits(1023).cast(pa.string()), " ")
    sixteen = pa.Array.from_buffers(
        pa.binary(16), rows, [None, pa.py_buffer(chance.randbytes(rows * 16))]
    )
    columns = {
        "offset": ("BIGINT", offsets),
        "op": ("INT", pa.repeat(pa.scalar(0, pa.int32()), rows)),
        "event_time": (
            "TIMESTAMP(6)",
            pc.add(pc.multiply(offsets, 1000), _START).cast(pa.timestamp("us", "UTC")),
        ),
        "city": ("STRING", city),
        "value": ("DOUBLE", sometimes(pc.divide(bits(0xFFFFFF).cast(pa.float64()), 100.0))),
        "good": ("BOOLEAN", pc.equal(bits(1), 1)),
        "price": ("DECIMAL(21,2)", bits(0xFFFFFF).cast(pa.decimal128(21, 2))),
        "id": ("UUID", sixteen),
    }
    table = pa.table({name: values for name, (_, values) in columns.items()})
    return table, {name: ddl for name, (ddl, _) in columns.items()}
