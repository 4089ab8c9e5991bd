"""The document of block files is enough to read them: a second reader sees the same values."""

import dataclasses
import enum
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from odf_coordinator.codec import ddl
from odf_coordinator.model.schema import Array, Decimal, Simple, Struct, Timestamp

from tests.golden import plain_block
from tests.golden.test_block import DERIVATIVE_KEY, FOLDER, NAMES, ROOT_EVENTS, ROOT_KEY, files


def _as_read(value: Any, *, tagged: bool = False) -> Any:
    if isinstance(value, Simple | Decimal | Timestamp | Array | Struct):
        return ddl.print_type(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple):
        return [_as_read(each) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: _as_read(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
        return fields | ({"kind": type(value).__name__} if tagged else {})
    return value


def _without_kinds(read: Any) -> Any:
    """What unions are called, apart from the event, is not part of the values."""
    if isinstance(read, dict):
        unnamed = "kind" in read and read["kind"][:1].isupper()
        if set(read) == {"item"}:
            return _without_kinds(read["item"])
        return {k: _without_kinds(v) for k, v in read.items() if not (unnamed and k == "kind")}
    if isinstance(read, list):
        return [_without_kinds(each) for each in read]
    return read


@pytest.mark.parametrize("name", NAMES)
def test_a_second_reader_sees_the_same(name: str) -> None:
    data = (FOLDER / f"{name}.block").read_bytes()
    block, payload, signature = plain_block.read(data)
    _, expected = files()[name]
    assert block["event"]["kind"] == type(expected.event).__name__
    assert _without_kinds(block) == _as_read(expected)
    key = ROOT_KEY if name in ROOT_EVENTS else DERIVATIVE_KEY
    public: Ed25519PublicKey = key.public_key()
    public.verify(signature, plain_block.signed(payload))


def test_blocks_name_the_ones_before_them() -> None:
    before = None
    for name in ROOT_EVENTS:
        data = (FOLDER / f"{name}.block").read_bytes()
        block, _, _ = plain_block.read(data)
        assert block["prev_block_hash"] == before
        before = plain_block.block_hash(data)
