"""Column types from their text, as docs/formats/slice-hash.md writes them."""

import re
from dataclasses import dataclass

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|`(?:[^`]|``)+`")


@dataclass(frozen=True)
class Plain:
    """A type: its first word, the numbers in its parentheses, and the types that it is made of."""

    word: str
    numbers: tuple[int, ...] = ()
    item: "Plain | None" = None
    fields: tuple[tuple[str, "Plain"], ...] = ()


def read_type(text: str) -> Plain:
    """The type of a column."""
    found, rest = _read(text)
    assert rest == "", f"{rest!r} after the type"
    return found


def _read(text: str) -> tuple[Plain, str]:
    if text.startswith("ARRAY<"):
        item, rest = _read(text.removeprefix("ARRAY<"))
        return Plain("ARRAY", item=item), _after(">", rest)
    if text.startswith("STRUCT<"):
        return _read_struct(text.removeprefix("STRUCT<"))
    found = re.match(r"([A-Z]+)(?:\(([0-9]+)(?:,([0-9]+))?\))?", text)
    assert found is not None, text
    word, *numbers = found.groups()
    return Plain(word, numbers=tuple(int(n) for n in numbers if n)), text[found.end() :]


def _read_struct(rest: str) -> tuple[Plain, str]:
    fields = []
    while True:
        found = _NAME.match(rest)
        assert found is not None, rest
        name = found[0]
        if name.startswith("`"):
            name = name[1:-1].replace("``", "`")
        field, rest = _read(_after(": ", rest[found.end() :]))
        fields.append((name, field))
        if not rest.startswith(", "):
            return Plain("STRUCT", fields=tuple(fields)), _after(">", rest)
        rest = _after(", ", rest)


def _after(start: str, text: str) -> str:
    assert text.startswith(start), f"{start!r} expected: {text!r}"
    return text.removeprefix(start)
