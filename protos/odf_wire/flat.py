"""Frozen values <-> the object API of generated FlatBuffers code, by the values' own type hints.

One table per dataclass, same names (snake_case here, camelCase there). `Instant`, and an integer
that may be None, are structs, so that they may be absent; a closed union of dataclasses is a
FlatBuffers union named after its table and field; a tuple of such a union is a vector of tables
`<Table><Field>Item` with the union in `item`; types named in `texts` are stored as text. Reading is
strict: what a value's type hint demands must be there.
"""

import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, NewType, TypeVar

import flatbuffers

Instant = NewType("Instant", int)
"""Microseconds since 1970-01-01T00:00:00Z."""

T = TypeVar("T")


class Malformed(ValueError):
    """Bytes that are not the message they claim to be."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """How values of a type that has no table of its own are stored: printed, and parsed back."""

    to_text: Callable[[Any], str]
    from_text: Callable[[str], Any]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """Generated code and what it cannot know."""

    gen: types.ModuleType
    texts: Mapping[Any, Text] = dataclasses.field(default_factory=dict)


def encode(form: Format, value: object) -> bytes:
    """The bytes of `value` as the root of a buffer. The same value gives the same bytes."""
    builder = flatbuffers.Builder(1024)
    builder.Finish(_pack(form, value).Pack(builder))
    return bytes(builder.Output())


def decode(form: Format, cls: type[T], data: bytes) -> T:
    """The value whose bytes are `data`. Raises Malformed when they are not those of a `cls`."""
    try:
        table = getattr(form.gen, cls.__name__).GetRootAs(data, 0)
        built = getattr(form.gen, cls.__name__ + "T").InitFromObj(table)
        return _unpack(form, built, cls)
    except Malformed:
        raise
    except Exception as error:  # the runtime has no verifier: a damaged buffer fails in any way
        raise Malformed(f"not a valid {cls.__name__}: {error}") from error


def _is_instant(hint: Any) -> bool:
    """Is this a NewType over int called Instant, ours or that of a model that does not know us?"""
    return getattr(hint, "__supertype__", None) is int and hint.__name__ == "Instant"


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """One field of a dataclass: its name here and there, its type, and whether it may be None."""

    name: str
    there: str
    declared: Any
    members: tuple[Any, ...]
    optional: bool

    @property
    def is_union(self) -> bool:
        return len(self.members) > 1

    @property
    def item_members(self) -> tuple[Any, ...]:
        """Of a tuple whose items are a union of tables: its members."""
        item = (*typing.get_args(self.declared), None)[0]
        if typing.get_origin(self.declared) is not tuple or not _is_union(item):
            return ()
        return tuple(each for each in typing.get_args(item) if dataclasses.is_dataclass(each))


def _read_fields(cls: Any) -> tuple[_Field, ...]:
    hints = typing.get_type_hints(cls)
    return tuple(_field(field.name, hints[field.name]) for field in dataclasses.fields(cls))


_fields: Callable[[Any], tuple[_Field, ...]] = functools.cache(_read_fields)


def _field(name: str, hint: Any) -> _Field:
    members = typing.get_args(hint) if _is_union(hint) else (hint,)
    present = tuple(member for member in members if member is not types.NoneType)
    return _Field(
        name=name,
        there=_camel(name),
        declared=hint,
        members=present,
        optional=len(present) < len(members),
    )


def _pack(form: Format, value: Any) -> Any:
    built = getattr(form.gen, type(value).__name__ + "T")()
    for field in _fields(type(value)):
        inner = getattr(value, field.name)
        if inner is None:
            setattr(built, field.there, None)
        elif field.declared in form.texts:
            setattr(built, field.there, form.texts[field.declared].to_text(inner))
        elif field.is_union:
            _set_union(form, built, field.there, inner)
        elif field.item_members:
            item = getattr(form.gen, _table_and_field(built, field.there) + "ItemT")
            wrapped = [item() for _ in inner]
            for each, wrapper in zip(inner, wrapped, strict=True):
                _set_union(form, wrapper, "item", each)
            setattr(built, field.there, wrapped)
        elif field.optional and field.members == (int,):
            setattr(built, field.there, _struct(form.gen.Int64T(), "value", inner))
        else:
            setattr(built, field.there, _pack_value(form, field.members[0], inner))
    return built


def _set_union(form: Format, built: Any, there: str, inner: Any) -> None:
    union = getattr(form.gen, _table_and_field(built, there))
    setattr(built, there + "Type", getattr(union, type(inner).__name__))
    setattr(built, there, _pack(form, inner))


def _table_and_field(built: Any, there: str) -> str:
    """The name of what belongs to a field: Request.body -> RequestBody."""
    return type(built).__name__.removesuffix("T") + there[0].upper() + there[1:]


def _pack_value(form: Format, hint: Any, inner: Any) -> Any:
    if _is_instant(hint):
        return _struct(form.gen.InstantT(), "us", inner)
    if isinstance(inner, enum.Enum):
        return inner.value
    if isinstance(inner, tuple):
        (item, _) = typing.get_args(hint)
        return [_pack_value(form, item, each) for each in inner]
    if dataclasses.is_dataclass(inner):
        return _pack(form, inner)
    return inner


def _struct(built: Any, name: str, value: int) -> Any:
    setattr(built, name, value)
    return built


def _unpack(form: Format, built: Any, cls: type[T]) -> T:
    values = {}
    for field in _fields(cls):
        raw = getattr(built, field.there)
        if raw is not None:
            values[field.name] = _unpack_field(form, field, raw)
        elif typing.get_origin(field.members[0]) is tuple:
            values[field.name] = ()
        elif field.optional:
            values[field.name] = None
        else:
            raise Malformed(f"{cls.__name__}: field {field.name} is missing")
    return cls(**values)


def _unpack_field(form: Format, field: _Field, raw: Any) -> Any:
    if field.declared in form.texts:
        return form.texts[field.declared].from_text(raw.decode())
    if field.is_union:
        return _unpack_member(form, field.members, raw)
    if field.item_members:
        return tuple(_unpack_member(form, field.item_members, each.item) for each in raw)
    if field.optional and field.members == (int,):
        return raw.value
    return _unpack_value(form, field.members[0], raw)


def _unpack_member(form: Format, members: tuple[Any, ...], raw: Any) -> Any:
    name = type(raw).__name__.removesuffix("T")
    for member in members:
        if member.__name__ == name:
            return _unpack(form, raw, member)
    raise Malformed(f"unexpected {name}")


def _unpack_value(form: Format, hint: Any, raw: Any) -> Any:
    if _is_instant(hint):
        return raw.us
    if hint is str or getattr(hint, "__supertype__", None) is str:
        return raw.decode()
    if typing.get_origin(hint) is tuple:
        (item, _) = typing.get_args(hint)
        return tuple(_unpack_value(form, item, each) for each in raw)
    if dataclasses.is_dataclass(hint):
        return _unpack(form, raw, typing.cast(type, hint))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(raw.decode())
    convert: Callable[[Any], Any] = hint
    return convert(raw)
