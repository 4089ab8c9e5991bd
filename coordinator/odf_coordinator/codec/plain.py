"""Plain data (what YAML and JSON hold) <-> frozen values, by the values' own type hints.

Keys are the field names in camelCase. A field with a default may be left out. A class that has a
tag is written with its `kind`, and unions are told apart by it. Reading finds every mistake; the
JSON Schema of a value says the same as reading does.
"""

import dataclasses
import difflib
import enum
import functools
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")
_FEW = 8
Path = tuple[str | int, ...]
Data = dict[str, Any]


class NotThat(ValueError):
    """A text that is not a value of its type; the message says what was expected."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A type that is written as one text."""

    parse: Callable[[str], Any]
    write: Callable[[Any], str]
    schema: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Short:
    """Another form that people may write for a class: how to make it the full one, and back."""

    expand: Callable[[Any], Any]
    shorten: Callable[[Data], Any]
    schema: Callable[[Data], Data]


Check = Callable[[Any], str | None]
"""What is wrong with a value, or None."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What type hints do not say: tags (the first is written), texts, short forms, checks.

    `checks` and `may_be_empty` are by class and field. Other texts, and lists without a default,
    must not be empty.
    """

    tags: Mapping[type, tuple[str, ...]]
    texts: Mapping[Any, Text]
    shorts: Mapping[type, Short] = dataclasses.field(default_factory=dict)
    checks: Mapping[tuple[type, str], Check] = dataclasses.field(default_factory=dict)
    may_be_empty: frozenset[tuple[type, str]] = frozenset()
    all_fields: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """Something that is not as it should be; `at_key` when the key is what is wrong."""

    path: Path
    message: str
    hint: str = ""
    at_key: bool = False


class Wrong(Exception):
    """All mistakes in some data."""

    def __init__(self, mistakes: list[Mistake]) -> None:
        super().__init__("; ".join(mistake.message for mistake in mistakes))
        self.mistakes = mistakes


def read(shape: Shape, hint: type[T], data: Any, path: Path = ()) -> T:
    """The value that data stands for. Raises Wrong with every mistake; paths start with `path`."""
    reader = _Reader(shape)
    value = reader.value(hint, data, path)
    if reader.mistakes:
        raise Wrong(reader.mistakes)
    return typing.cast(T, value)


def write(shape: Shape, value: Any, hint: Any = None) -> Any:
    """The data that `read` understands as `value`."""
    hint = type(value) if hint is None else hint
    if value is None:
        return None
    for each in (hint, *members_of(hint)):
        if each in shape.texts:
            return shape.texts[each].write(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple):
        return [write(shape, each, _item(hint)) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _write_object(shape, value)
    return value


def guess(found: str, known: Iterable[str]) -> str:
    """What was meant, or the list of what there is."""
    names = list(known)
    lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(found.lower(), lower, n=1)
    listed = f"({', '.join(names)})"
    if not close:
        return f"one of {listed}"
    return f"did you mean '{lower[close[0]]}'?" + (f"  {listed}" if len(names) <= _FEW else "")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FieldOf:
    """One field of a class: name here, key there, type, and whether it must be there."""

    name: str
    key: str
    hint: Any
    required: bool
    default: Any


def _read_fields(cls: Any) -> tuple[FieldOf, ...]:
    hints = typing.get_type_hints(cls)
    return tuple(
        FieldOf(
            name=field.name,
            key=_camel(field.name),
            hint=hints[field.name],
            required=field.default is dataclasses.MISSING,
            default=None if field.default is dataclasses.MISSING else field.default,
        )
        for field in dataclasses.fields(cls)
    )


fields_of: Callable[[Any], tuple[FieldOf, ...]] = functools.cache(_read_fields)
"""The fields of a dataclass."""


def members_of(hint: Any) -> tuple[Any, ...]:
    """The members of a union, without None; of anything else, itself."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return (hint,)
    return tuple(each for each in typing.get_args(hint) if each is not types.NoneType)


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def _item(hint: Any) -> Any:
    for member in members_of(hint):
        if typing.get_origin(member) is tuple:
            return typing.get_args(member)[0]
    return None


def _write_object(shape: Shape, value: Any) -> Any:
    cls = type(value)
    data: Data = {"kind": shape.tags[cls][0]} if cls in shape.tags else {}
    for field in fields_of(cls):
        inner = getattr(value, field.name)
        if shape.all_fields or field.required or inner != field.default:
            data[field.key] = write(shape, inner, field.hint)
    return shape.shorts[cls].shorten(data) if cls in shape.shorts else data


class _Failed:
    """Stands for a value that could not be made; its mistake is noted."""


_FAILED = _Failed()


class _Reader:
    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self.mistakes: list[Mistake] = []

    def value(self, hint: Any, data: Any, path: Path) -> Any:
        members = members_of(hint)
        if hint in self._shape.texts:
            return self._text(self._shape.texts[hint], data, path)
        if len(members) > 1 or members[0] in self._shape.tags:
            return self._tagged(members, data, path)
        return self._plain(members[0], data, path)

    def _plain(self, hint: Any, data: Any, path: Path) -> Any:
        if hint in self._shape.texts:
            return self._text(self._shape.texts[hint], data, path)
        if dataclasses.is_dataclass(hint):
            return self._object(typing.cast(type, hint), data, path)
        if typing.get_origin(hint) is tuple:
            return self._tuple(typing.get_args(hint)[0], data, path)
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return self._enum(hint, data, path)
        expected, words = _SCALARS[getattr(hint, "__supertype__", hint)]
        if type(data) is not expected:
            return self._wrong(path, f"expected {words}")
        return data

    def _wrong(self, path: Path, message: str, *, hint: str = "", at_key: bool = False) -> Any:
        self.mistakes.append(Mistake(path=path, message=message, hint=hint, at_key=at_key))
        return _FAILED

    def _text(self, text: Text, data: Any, path: Path) -> Any:
        if not isinstance(data, str):
            return self._wrong(path, "expected a text")
        try:
            return text.parse(data)
        except NotThat as error:
            return self._wrong(path, str(error))

    def _enum(self, hint: type[enum.Enum], data: Any, path: Path) -> Any:
        known = {member.value.lower(): member for member in hint}
        if isinstance(data, str) and data.lower() in known:
            return known[data.lower()]
        names = [member.value for member in hint]
        return self._wrong(path, f"unknown '{data}'", hint=guess(str(data), names))

    def _tuple(self, item: Any, data: Any, path: Path) -> Any:
        if not isinstance(data, list):
            return self._wrong(path, "expected a list")
        values = [self.value(item, each, (*path, number)) for number, each in enumerate(data)]
        return _FAILED if any(each is _FAILED for each in values) else tuple(values)

    def _tagged(self, members: tuple[Any, ...], data: Any, path: Path) -> Any:
        if not isinstance(data, dict):
            short = [m for m in members if m in self._shape.shorts]
            expanded = self._shape.shorts[short[0]].expand(data) if short else data
            if not isinstance(expanded, dict):
                return self._wrong(path, "expected keys and values")
            data = expanded
        tags = {tag.lower(): m for m in members for tag in self._shape.tags[m]}
        names = [self._shape.tags[m][0] for m in members]
        if "kind" not in data:
            return self._wrong(path, "'kind' is missing", hint=guess("", names))
        kind = data["kind"]
        if not isinstance(kind, str) or kind.lower() not in tags:
            return self._wrong((*path, "kind"), f"unknown '{kind}'", hint=guess(str(kind), names))
        return self._object(tags[kind.lower()], data, path)

    def _object(self, cls: type, data: Any, path: Path) -> Any:
        if cls in self._shape.shorts:
            data = self._shape.shorts[cls].expand(data)
        if not isinstance(data, dict):
            return self._wrong(path, "expected keys and values")
        known = {field.key: field for field in fields_of(cls)}
        tag = ("kind",) if cls in self._shape.tags else ()
        before = len(self.mistakes)
        for key in data:
            if key not in known and key not in tag:
                hint = guess(key, (*tag, *known))
                self._wrong((*path, key), f"unknown key '{key}'", hint=hint, at_key=True)
        values = {}
        for field in known.values():
            if field.key in data:
                values[field.name] = self._field(cls, field, data[field.key], (*path, field.key))
            elif field.required:
                self._wrong(path, f"'{field.key}' is missing", at_key=bool(path))
        return _FAILED if len(self.mistakes) > before else cls(**values)

    def _field(self, cls: type, field: FieldOf, data: Any, path: Path) -> Any:
        if data is None and field.default is None and not field.required:
            return None
        value = self.value(field.hint, data, path)
        if value is _FAILED:
            return value
        if value in ("", ()) and not self._may_be_empty(cls, field, value):
            return self._wrong(path, "must not be empty")
        check = self._shape.checks.get((cls, field.name))
        wrong = check(value) if check else None
        return self._wrong(path, wrong) if wrong else value

    def _may_be_empty(self, cls: type, field: FieldOf, value: Any) -> bool:
        if (cls, field.name) in self._shape.may_be_empty:
            return True
        return value == () and not field.required


_SCALARS: dict[Any, tuple[type, str]] = {
    str: (str, "a text"),
    bool: (bool, "true or false"),
    int: (int, "a whole number"),
}
