"""Settings <-> TOML files that people may also edit by hand."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from odf_coordinator.errors import Invalid, NotFound
from odf_coordinator.rules import settings
from odf_coordinator.rules.settings import Value

_HEADER = re.compile(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?")


def decode(text: str, file: str) -> dict[str, Value]:
    """The settings in a file. Raises Invalid naming the file and the key."""
    try:
        tables = tomllib.loads(text)
        return {
            name: settings.parse(name, _spelled(value), where=f"{file}: {name}")
            for name, value in _leaves(tables, "")
        }
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"{file}: {error}", hint="it is a TOML file: mend or remove it") from error
    except NotFound as error:
        raise Invalid(f"{file}: {error}", hint=error.hint) from error


def edited(text: str, name: str, value: Value | None) -> str:
    """The text with one setting changed, or (None) without it; comments and the rest stay."""
    values = decode(text, "the file")
    wanted = {key: each for key, each in values.items() if key != name}
    if value is not None:
        wanted[name] = value
    changed = _with_line(text, name, value)
    try:
        same = decode(changed, "the file") == wanted
    except Invalid:
        same = False
    # Spelled in a way that a line cannot change, such as a dotted key: written anew.
    return changed if same else encode(wanted)


def encode(values: Mapping[str, Value]) -> str:
    """Settings as a new file."""
    text = ""
    for name in sorted(values):
        text = _with_line(text, name, values[name])
    return text


def _leaves(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _with_line(text: str, name: str, value: Value | None) -> str:
    """The line of a setting replaced, removed, or added to its table."""
    table, _, key = name.rpartition(".")
    line = [] if value is None else [f"{key} = {_literal(value)}"]
    lines, at, inside = text.splitlines(), None, ""
    for number, each in enumerate(lines):
        header = _HEADER.fullmatch(each)
        if header:
            inside = header[1].strip()
            at = number if inside == table else at
        elif inside == table and re.match(rf"\s*{re.escape(key)}\s*=", each):
            return _joined([*lines[:number], *line, *lines[number + 1 :]])
    if at is None:
        gap = [""] if lines else []
        return _joined([*lines, *gap, f"[{table}]", *line]) if line else _joined(lines)
    return _joined([*lines[: at + 1], *line, *lines[at + 1 :]])


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _literal(value: Value) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return str(value).lower()
