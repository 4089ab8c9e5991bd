"""Rows between their form at rest and their form in the exchange files of an engine call."""

import uuid

import pyarrow as pa

from odf_coordinator.model.schema import Array, ColumnType, Field, Simple, Struct
from odf_coordinator.rules import slices


def outgoing_type(column_type: ColumnType) -> pa.DataType:
    """The Arrow type of a column in an exchange file: UUID is text there, TIME has nanoseconds."""
    if column_type is Simple.UUID:
        return pa.string()
    if column_type is Simple.TIME:
        return pa.time64("ns")
    if isinstance(column_type, Array):
        return pa.list_(outgoing_type(column_type.item))
    if isinstance(column_type, Struct):
        return pa.struct([(f.name, outgoing_type(f.type)) for f in column_type.fields])
    return slices.arrow_type(column_type)


def outgoing_schema(fields: tuple[Field, ...]) -> pa.Schema:
    """The schema of an exchange file that holds these columns."""
    return pa.schema([(field.name, outgoing_type(field.type)) for field in fields])


def outgoing(rows: pa.Table, fields: tuple[Field, ...]) -> pa.Table:
    """Stored rows in the form of the exchange; a column that came after them is NULL."""
    columns = [_column(rows, field) for field in fields]
    names = [field.name for field in fields]
    return pa.table(columns, names=names).cast(outgoing_schema(fields))


def _column(rows: pa.Table, field: Field) -> pa.Array | pa.ChunkedArray:
    if field.name not in rows.column_names:
        return pa.nulls(rows.num_rows, outgoing_type(field.type))
    column = rows.column(field.name)
    return _uuid_text(column) if field.type is Simple.UUID else column


def incoming(rows: pa.Table, fields: tuple[Field, ...]) -> pa.Table:
    """What an engine wrote, in the form at rest. Raises ValueError when it is not what it said."""
    found = [(field.name, field.type) for field in rows.schema]
    declared = [(field.name, outgoing_type(field.type)) for field in fields]
    if found != declared:
        raise ValueError(f"the engine wrote {found}, and declared {declared}")
    return rows.cast(pa.schema([(f.name, slices.arrow_type(f.type)) for f in fields]))


def _uuid_text(values: pa.ChunkedArray) -> pa.Array:
    texts = [None if v is None else str(uuid.UUID(bytes=v)) for v in values.to_pylist()]
    return pa.array(texts, pa.string())
