"""Rows of a slice: Arrow types of columns, system columns, watermarks. Tables are values here."""

from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from odf_coordinator.errors import Invalid
from odf_coordinator.model.schema import (
    Array,
    Column,
    ColumnType,
    Decimal,
    Field,
    Schema,
    Simple,
    Struct,
    Timestamp,
    Vocabulary,
)
from odf_coordinator.model.source import MergeSnapshot, PollingSource, PushSource
from odf_coordinator.model.timeline import Instant

APPEND = 0
_UTC_MICROS = pa.timestamp("us", "UTC")
_FETCH_TIME = Timestamp(precision=3)

_SIMPLE: dict[Simple, pa.DataType] = {
    Simple.BOOLEAN: pa.bool_(),
    Simple.INT: pa.int32(),
    Simple.BIGINT: pa.int64(),
    Simple.FLOAT: pa.float32(),
    Simple.DOUBLE: pa.float64(),
    Simple.STRING: pa.string(),
    Simple.UUID: pa.binary(16),
    Simple.DATE: pa.date32(),
    Simple.TIME: pa.time64("us"),
}


def arrow_type(column_type: ColumnType) -> pa.DataType:
    """The Arrow type of a column at rest."""
    match column_type:
        case Simple():
            return _SIMPLE[column_type]
        case Decimal():
            return pa.decimal128(column_type.precision, column_type.scale)
        case Timestamp():
            return _UTC_MICROS
        case Array():
            return pa.list_(arrow_type(column_type.item))
        case Struct():
            return pa.struct([(f.name, arrow_type(f.type)) for f in column_type.fields])
        case _:
            assert_never(column_type)


def system_fields(vocabulary: Vocabulary) -> tuple[Field, ...]:
    """The columns that every slice starts with."""
    return (
        Field(name=vocabulary.offset_column, type=Simple.BIGINT),
        Field(name=vocabulary.operation_type_column, type=Simple.INT),
        Field(name=vocabulary.system_time_column, type=Timestamp(precision=6)),
    )


def stored_fields(schema: Schema, vocabulary: Vocabulary) -> tuple[Field, ...]:
    """All columns of a data file, in order."""
    return system_fields(vocabulary) + schema.fields()


def arrow_schema(schema: Schema, vocabulary: Vocabulary) -> pa.Schema:
    """The Arrow schema of a data file; data columns carry their ids as Parquet field ids."""
    system = [pa.field(f.name, arrow_type(f.type)) for f in system_fields(vocabulary)]
    data = [
        pa.field(c.name, arrow_type(c.type), metadata={b"PARQUET:field_id": str(c.id).encode()})
        for c in schema.columns
    ]
    return pa.schema(system + data)


def declared_fields(source: PollingSource | PushSource) -> tuple[Field, ...]:
    """The columns of a root before it has a preprocess step: those it reads, and what a snapshot
    notes about each observation."""
    merge = source.merge
    if isinstance(merge, MergeSnapshot):
        return (*source.read.schema, Field(name=merge.observation_column, type=Simple.STRING))
    return source.read.schema


def root_schema(declared: tuple[Field, ...], vocabulary: Vocabulary) -> Schema:
    """The schema of a root: what its read step declares, with event time first if it lacks one.

    Raises Invalid when a column has a system name or event time is not a time.
    """
    fields = list(declared)
    times = [f for f in fields if f.name == vocabulary.event_time_column]
    if not times:
        fields.insert(0, Field(name=vocabulary.event_time_column, type=_FETCH_TIME))
    return numbered(tuple(fields), vocabulary)


def numbered(fields: tuple[Field, ...], vocabulary: Vocabulary) -> Schema:
    """Fields as the first schema of a dataset. Raises Invalid when they cannot be one."""
    system = {f.name.lower() for f in system_fields(vocabulary)}
    seen: set[str] = set()
    for field in fields:
        if field.name.lower() in system:
            raise Invalid(f"column '{field.name}' has the name of a system column")
        if field.name.lower() in seen:
            raise Invalid(f"column '{field.name}' appears twice")
        seen.add(field.name.lower())
        if field.name == vocabulary.event_time_column and not _is_event_time(field.type):
            raise Invalid(
                f"column '{field.name}' is the event time and must be TIMESTAMP(3) to TIMESTAMP(6)"
                " or DATE"
            )
    columns = tuple(
        Column(id=number, name=f.name, type=f.type) for number, f in enumerate(fields, start=1)
    )
    return Schema(columns=columns)


def _is_event_time(column_type: ColumnType) -> bool:
    if isinstance(column_type, Timestamp):
        return column_type.precision >= _FETCH_TIME.precision
    return column_type is Simple.DATE


def with_event_time(rows: pa.Table, *, vocabulary: Vocabulary, fetched: Instant) -> pa.Table:
    """Rows that all have an event time: their own column, or when they were fetched."""
    name = vocabulary.event_time_column
    if name in rows.column_names:
        missing = rows.column(name).null_count
        if missing:
            first = pc.index(pc.is_null(rows.column(name)), True).as_py()
            count = f"{missing} row{'' if missing == 1 else 's'}"
            raise Invalid(
                f"{count} without {name}, first: row {first + 1}",
                hint="every event needs the time at which it happened",
            )
        return rows
    millis = fetched // 1000 * 1000
    column = pa.repeat(pa.scalar(millis, pa.int64()), rows.num_rows).cast(_UTC_MICROS)
    return rows.add_column(0, name, column)


def stamped(
    rows: pa.Table, *, schema: Schema, vocabulary: Vocabulary, next_offset: int, time: Instant
) -> pa.Table:
    """Rows as stored: offset, operation and system time first, then columns as the schema says."""
    count = rows.num_rows
    system = [
        pa.array(range(next_offset, next_offset + count), pa.int64()),
        pa.repeat(pa.scalar(APPEND, pa.int32()), count),
        pa.repeat(pa.scalar(time, pa.int64()), count).cast(_UTC_MICROS),
    ]
    data = [rows.column(column.name) for column in schema.columns]
    return pa.table(system + data, schema=arrow_schema(schema, vocabulary))


def max_event_time(rows: pa.Table, *, vocabulary: Vocabulary) -> Instant | None:
    """The latest event time; a DATE counts as midnight UTC. None without rows."""
    latest = pc.max(rows.column(vocabulary.event_time_column).cast(_UTC_MICROS)).cast(pa.int64())
    value: int | None = latest.as_py()
    return None if value is None else Instant(value)


def later(before: Instant | None, after: Instant | None) -> Instant | None:
    """The later of two watermarks, either of which may not be there yet."""
    known = [time for time in (before, after) if time is not None]
    return max(known) if known else None
