"""Column types in the DDL of the spec <-> Spark's, and the tables that a call declares."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from odf_wire.messages import Column, InputShape, InputSlice

from odf_engine_spark import marks
from odf_engine_spark.plans import Attribute

PARTITION_BYTES = 64 << 20
"""A tick larger than this is read by several tasks. Part of what fixes the output's bytes."""

_SIMPLE = {
    "BOOLEAN": "boolean",
    "INT": "integer",
    "BIGINT": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    "STRING": "string",
    "UUID": "string",
    "DATE": "date",
    "TIME": "time(6)",
    "TIMESTAMP": "timestamp",
}

_OUTPUT = {
    "boolean": "BOOLEAN",
    "byte": "INT",
    "short": "INT",
    "integer": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
    "date": "DATE",
    "timestamp": "TIMESTAMP(6)",
}

_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)*`)|([A-Za-z_][A-Za-z0-9_]*)|(\d+)|([<>(),:]))")


class UnsupportedType(ValueError):
    """A type that a column of a dataset cannot have."""


def spark_type(ddl: str) -> Any:
    """Spark's JSON form of a column type. Raises UnsupportedType."""
    reader = _TypeReader(ddl)
    found = reader.type()
    reader.end()
    return found


def column_type(spark: Any) -> str:
    """The DDL of an output column of Spark's type. Raises UnsupportedType with what to do."""
    if isinstance(spark, dict):
        return _nested_type(spark)
    if spark in _OUTPUT:
        return _OUTPUT[spark]
    if spark.startswith("decimal"):
        return str(spark).upper()
    if spark.startswith("time("):
        return "TIME"
    raise UnsupportedType(f"a column cannot be of type {spark}")


def output_columns(attributes: Sequence[Attribute]) -> tuple[Column, ...]:
    """The columns of a query's output. Raises UnsupportedType naming the column."""
    columns = []
    for each in attributes:
        try:
            columns.append(Column(name=each.name, type=column_type(each.type)))
        except UnsupportedType as error:
            raise UnsupportedType(f"column {each.name}: {error}") from error
    return tuple(columns)


def struct(columns: Sequence[Column]) -> dict[str, Any]:
    """Spark's JSON form of a table with these columns. Raises UnsupportedType."""
    fields = [_field(column.name, spark_type(column.type)) for column in columns]
    return {"type": "struct", "fields": fields}


def declared(shapes: Sequence[InputShape]) -> list[dict[str, Any]]:
    """Tables that can be analysed only."""
    return [_table(index, shape) for index, shape in enumerate(shapes)]


def readable(slices: Sequence[InputSlice], files: Sequence[Path]) -> list[dict[str, Any]]:
    """Tables over the files of a call; each tick knows its position among all of them."""
    tables = [_table(index, slice_.shape) for index, slice_ in enumerate(slices)]
    for position, placed in enumerate(marks.place(slices)):
        tables[placed.input]["ticks"].append([position, placed.tick.batches])
    for table, slice_, file in zip(tables, slices, files, strict=True):
        if any(tick.batches for tick in slice_.ticks):
            table["file"] = str(file)
    return tables


def _table(index: int, shape: InputShape) -> dict[str, Any]:
    names = shape.vocabulary
    system = [
        Column(name=names.offset, type="BIGINT"),
        Column(name=names.operation_type, type="INT"),
        Column(name=names.system_time, type="TIMESTAMP(6)"),
    ]
    return {
        "index": index,
        "alias": shape.alias,
        "schema": struct(shape.columns),
        "system": struct(system),
        "file": None,
        "ticks": [],
        "partition_bytes": PARTITION_BYTES,
    }


def _field(name: str, spark: Any) -> dict[str, Any]:
    return {"name": name, "type": spark, "nullable": True, "metadata": {}}


def _nested_type(spark: dict[str, Any]) -> str:
    if spark["type"] == "array":
        return f"ARRAY<{column_type(spark['elementType'])}>"
    if spark["type"] == "struct":
        fields = (f"{_quoted(f['name'])}: {column_type(f['type'])}" for f in spark["fields"])
        return f"STRUCT<{', '.join(fields)}>"
    raise UnsupportedType(f"a column cannot be of type {spark['type']}")


def _quoted(name: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
    return name if plain else "`" + name.replace("`", "``") + "`"


class _TypeReader:
    """Reads one type from its DDL, left to right."""

    def __init__(self, ddl: str) -> None:
        self._ddl = ddl
        self._at = 0

    def type(self) -> Any:
        name = self._next().upper()
        if name == "ARRAY":
            self._expect("<")
            element = self.type()
            self._expect(">")
            return {"type": "array", "elementType": element, "containsNull": True}
        if name == "STRUCT":
            return self._struct()
        if name == "DECIMAL":
            precision, scale = self._numbers(2)
            return f"decimal({precision},{scale})"
        if name == "TIMESTAMP" and self._peek() == "(":
            self._numbers(1)
        if name not in _SIMPLE:
            raise UnsupportedType(f"{self._ddl!r} is not a column type")
        return _SIMPLE[name]

    def end(self) -> None:
        if self._ddl[self._at :].strip():
            raise UnsupportedType(f"{self._ddl!r} is not a column type")

    def _struct(self) -> dict[str, Any]:
        fields = []
        separator = "<"
        while separator != ">":
            self._expect(separator)
            name = self._next()
            if self._peek() == ":":
                self._next()
            fields.append(_field(name, self.type()))
            separator = ">" if self._peek() == ">" else ","
        self._expect(">")
        return {"type": "struct", "fields": fields}

    def _numbers(self, count: int) -> list[int]:
        self._expect("(")
        numbers = [int(self._next())]
        for _ in range(count - 1):
            self._expect(",")
            numbers.append(int(self._next()))
        self._expect(")")
        return numbers

    def _peek(self) -> str:
        found = _TOKEN.match(self._ddl, self._at)
        return found.group(0).strip() if found else ""

    def _next(self) -> str:
        found = _TOKEN.match(self._ddl, self._at)
        if not found:
            raise UnsupportedType(f"{self._ddl!r} is not a column type")
        self._at = found.end()
        token = found.group(0).strip()
        return token[1:-1].replace("``", "`") if token.startswith("`") else token

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise UnsupportedType(f"{self._ddl!r} is not a column type")
