"""Column types of the spec's DDL, and schemas made of them."""

from dataclasses import dataclass
from enum import Enum


class Simple(Enum):
    """Types without parameters; the value is the DDL name."""

    BOOLEAN = "BOOLEAN"
    INT = "INT"
    BIGINT = "BIGINT"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    STRING = "STRING"
    UUID = "UUID"
    DATE = "DATE"
    TIME = "TIME"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decimal:
    """DECIMAL(precision, scale), at most 38 digits."""

    precision: int
    scale: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timestamp:
    """TIMESTAMP(precision): UTC, values truncated to `precision` digits of a second (0 to 6)."""

    precision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """ARRAY<item>."""

    item: "ColumnType"


@dataclass(frozen=True, slots=True, kw_only=True)
class StructField:
    """One named field of a STRUCT."""

    name: str
    type: "ColumnType"


@dataclass(frozen=True, slots=True, kw_only=True)
class Struct:
    """STRUCT<name: type, ...>."""

    fields: tuple[StructField, ...]


ColumnType = Simple | Decimal | Timestamp | Array | Struct


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A column as people write it: a name and a type."""

    name: str
    type: ColumnType


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a dataset. The id is given once, in order of appearance, and never reused."""

    id: int
    name: str
    type: ColumnType


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The columns of a dataset in stored order: event time and data. System columns are implied."""

    columns: tuple[Column, ...]

    def fields(self) -> tuple[Field, ...]:
        """The columns without their ids."""
        return tuple(Field(name=column.name, type=column.type) for column in self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The names of the system columns of one dataset."""

    offset_column: str = "offset"
    operation_type_column: str = "op"
    system_time_column: str = "system_time"
    event_time_column: str = "event_time"
