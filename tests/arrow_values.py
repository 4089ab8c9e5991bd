"""Plain values of tests as Arrow arrays.

A plain value is what JSON could hold: numbers, texts, lists, dictionaries; times are whole numbers,
a UUID is its 16 bytes, a decimal its unscaled number.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from odf_coordinator.model.schema import Array, ColumnType, Decimal, Struct
from odf_coordinator.rules.slices import arrow_type


def arrow_array(column_type: ColumnType, values: Sequence[Any]) -> pa.Array:
    """Plain values in the Arrow type of the column at rest."""
    return pa.array([_for_arrow(column_type, value) for value in values], arrow_type(column_type))


def _for_arrow(column_type: ColumnType, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(column_type, Decimal):
        return _decimal(value, column_type.scale)
    if isinstance(column_type, Array):
        return [_for_arrow(column_type.item, item) for item in value]
    if isinstance(column_type, Struct):
        return {f.name: _for_arrow(f.type, value[f.name]) for f in column_type.fields}
    return value


def _decimal(unscaled: int, scale: int) -> Any:
    number = pa.scalar(unscaled, pa.decimal128(38, 0)).as_py()
    return type(number)((number.as_tuple().sign, number.as_tuple().digits, -scale))
