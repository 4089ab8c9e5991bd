"""JSON Schema of plain data, from the same hints and shapes that reading uses."""

import dataclasses
import enum
import typing
from typing import Any

from odf_coordinator.codec.plain import Data, FieldOf, Shape, fields_of, members_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SCALARS: dict[Any, Data] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
}


def of(shape: Shape, cls: type) -> tuple[Data, Data]:
    """The schema of a class, and the definitions that it refers to."""
    writer = _Writer(shape)
    return writer.schema(cls), writer.definitions


class _Writer:
    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self.definitions: Data = {}

    def schema(self, hint: Any) -> Data:
        if hint in self._shape.texts:
            return {"type": "string", **self._shape.texts[hint].schema}
        members = [self._member(member) for member in members_of(hint)]
        return members[0] if len(members) == 1 else {"oneOf": members}

    def _member(self, hint: Any) -> Data:
        if hint in self._shape.texts:
            return {"type": "string", **self._shape.texts[hint].schema}
        if dataclasses.is_dataclass(hint):
            return self._reference(typing.cast(type, hint))
        if typing.get_origin(hint) is tuple:
            return {"type": "array", "items": self.schema(typing.get_args(hint)[0])}
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return {"enum": [member.value for member in hint]}
        return dict(_SCALARS[getattr(hint, "__supertype__", hint)])

    def _reference(self, cls: type) -> Data:
        if cls.__name__ not in self.definitions:
            self.definitions[cls.__name__] = {}  # a place, so that a circle ends
            self.definitions[cls.__name__] = self._object(cls)
        return {"$ref": f"#/$defs/{cls.__name__}"}

    def _object(self, cls: type) -> Data:
        properties: Data = {}
        required = []
        if cls in self._shape.tags:
            properties["kind"] = {"enum": _spellings(self._shape.tags[cls])}
            required.append("kind")
        for field in fields_of(cls):
            properties[field.key] = self._property(cls, field)
            if field.required or self._shape.all_fields:
                required.append(field.key)
        schema: Data = {
            "type": "object",
            "description": (cls.__doc__ or "").partition("\n\n")[0],
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }
        return self._shape.shorts[cls].schema(schema) if cls in self._shape.shorts else schema

    def _property(self, cls: type, field: FieldOf) -> Data:
        schema = self.schema(field.hint)
        nullable = type(None) in typing.get_args(field.hint)
        if self._shape.all_fields:
            return {"anyOf": [schema, {"type": "null"}]} if nullable else schema
        if (cls, field.name) in self._shape.may_be_empty:
            return schema
        if schema.get("type") == "string":
            schema = {"minLength": 1, **schema}
        elif schema.get("type") == "array" and field.required:
            schema = {"minItems": 1, **schema}
        return schema


def _spellings(tags: tuple[str, ...]) -> list[str]:
    """As the spec writes it, with a capital, and all in small letters."""
    found = []
    for tag in tags:
        found += [tag, tag[0].upper() + tag[1:], tag.lower()]
    return sorted(set(found), key=found.index)
