"""The spec's DDL <-> column types and fields."""

import re
from collections.abc import Iterator
from typing import assert_never

from odf_coordinator.model.schema import (
    Array,
    ColumnType,
    Decimal,
    Field,
    Simple,
    Struct,
    StructField,
    Timestamp,
)

TYPES = (
    *(simple.value for simple in Simple),
    "DECIMAL(p,s)",
    "TIMESTAMP(p)",
    "ARRAY<...>",
    "STRUCT<...>",
)
_TOKEN = re.compile(r"\s*(?:([A-Za-z_][A-Za-z0-9_]*)|`((?:[^`]|``)+)`|([0-9]+)|([(),<>:]))")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_DIGITS = 38
_MAX_FRACTION = 6
_MAX_DEPTH = 16


class InvalidDdl(ValueError):
    """A text that is not DDL; the message says what was expected."""


def parse_field(text: str) -> Field:
    """`name TYPE`. A name that is not an identifier is written in backticks. Raises InvalidDdl."""
    tokens = _Tokens(text)
    name = tokens.name("a column name")
    column_type = _type(tokens, 0)
    tokens.end()
    return Field(name=name, type=column_type)


def parse_type(text: str) -> ColumnType:
    """A type alone. Raises InvalidDdl."""
    tokens = _Tokens(text)
    column_type = _type(tokens, 0)
    tokens.end()
    return column_type


def print_field(field: Field) -> str:
    """The text that `parse_field` reads back."""
    return f"{_print_name(field.name)} {print_type(field.type)}"


def print_type(column_type: ColumnType) -> str:
    """The text that `parse_type` reads back."""
    match column_type:
        case Simple():
            return column_type.value
        case Decimal():
            return f"DECIMAL({column_type.precision},{column_type.scale})"
        case Timestamp():
            return f"TIMESTAMP({column_type.precision})"
        case Array():
            return f"ARRAY<{print_type(column_type.item)}>"
        case Struct():
            fields = (f"{_print_name(f.name)}: {print_type(f.type)}" for f in column_type.fields)
            return f"STRUCT<{', '.join(fields)}>"
        case _:
            assert_never(column_type)


def _print_name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"


class _Tokens:
    """The tokens of a DDL text, read one at a time."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_split(text))
        self._next = 0

    def peek(self) -> str:
        return self._tokens[self._next][0] if self._next < len(self._tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self._next += 1
        return token

    def name(self, what: str) -> str:
        if self._next >= len(self._tokens) or not self._tokens[self._next][1]:
            raise InvalidDdl(f"expected {what}, found {self.peek() or 'the end'!r}")
        return self.take()

    def number(self) -> int:
        token = self.take()
        if not token.isdigit():
            raise InvalidDdl(f"expected a number, found {token or 'the end'!r}")
        return int(token)

    def expect(self, symbol: str) -> None:
        token = self.take()
        if token != symbol:
            raise InvalidDdl(f"expected {symbol!r}, found {token or 'the end'!r}")

    def end(self) -> None:
        if self._next < len(self._tokens):
            raise InvalidDdl(f"unexpected {self.peek()!r} after the type")


def _split(text: str) -> Iterator[tuple[str, bool]]:
    """Each token, and whether it is a name."""
    position = 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None:
            raise InvalidDdl(f"unexpected {text[position:].strip()[0]!r}")
        word, quoted, number, symbol = match.groups()
        if quoted is not None:
            yield quoted.replace("``", "`"), True
        elif word is not None:
            yield word, True
        else:
            yield number or symbol, False
        position = match.end()


def _type(tokens: _Tokens, depth: int) -> ColumnType:
    if depth > _MAX_DEPTH:
        raise InvalidDdl(f"nested deeper than {_MAX_DEPTH}")
    word = tokens.name("a type").upper()
    match word:
        case "DECIMAL":
            return _decimal(tokens)
        case "TIMESTAMP":
            return _timestamp(tokens)
        case "ARRAY":
            tokens.expect("<")
            item = _type(tokens, depth + 1)
            tokens.expect(">")
            return Array(item=item)
        case "STRUCT":
            return _struct(tokens, depth)
        case _ if word in Simple.__members__:
            return Simple[word]
    raise InvalidDdl(f"unknown type {word!r}; one of {', '.join(TYPES)}")


def _decimal(tokens: _Tokens) -> Decimal:
    tokens.expect("(")
    precision = tokens.number()
    tokens.expect(",")
    scale = tokens.number()
    tokens.expect(")")
    if not (1 <= precision <= _MAX_DIGITS and scale <= precision):
        raise InvalidDdl(f"DECIMAL(p,s) needs 1 <= p <= {_MAX_DIGITS} and s <= p")
    return Decimal(precision=precision, scale=scale)


def _timestamp(tokens: _Tokens) -> Timestamp:
    if tokens.peek() != "(":
        return Timestamp(precision=_MAX_FRACTION)
    tokens.expect("(")
    precision = tokens.number()
    tokens.expect(")")
    if precision > _MAX_FRACTION:
        raise InvalidDdl(f"TIMESTAMP(p) needs p <= {_MAX_FRACTION}")
    return Timestamp(precision=precision)


def _struct(tokens: _Tokens, depth: int) -> Struct:
    tokens.expect("<")
    fields = []
    while True:
        name = tokens.name("a field name")
        if tokens.peek() == ":":
            tokens.take()
        fields.append(StructField(name=name, type=_type(tokens, depth + 1)))
        if tokens.peek() != ",":
            break
        tokens.take()
    tokens.expect(">")
    return Struct(fields=tuple(fields))
