"""Blocks <-> block files. Received bytes are hashed and kept as received, never written anew."""

import struct
from typing import get_args

import flatbuffers
from flatbuffers.number_types import UOffsetTFlags
from odf_wire import flat

from odf_coordinator.codec import ddl
from odf_coordinator.codec._gen import block_generated as gen
from odf_coordinator.errors import InvalidBlock, NeedsNewer
from odf_coordinator.model.block import MetadataBlock, SealedBlock
from odf_coordinator.model.event import Event
from odf_coordinator.model.identity import BlockHash
from odf_coordinator.model.schema import ColumnType
from odf_coordinator.rules import hashing

FORMAT_VERSION = 0

_FORMAT = flat.Format(
    gen=gen,
    texts={ColumnType: flat.Text(to_text=ddl.print_type, from_text=ddl.parse_type)},
)
_PAYLOAD, _SIGNATURE = 6, 8
_PREVIOUS, _NUMBER = 4, 6
_U16, _U32, _I32, _I64 = (struct.Struct(form).unpack_from for form in ("<H", "<I", "<i", "<q"))
_EVENTS = len(get_args(Event))


def encode_payload(block: MetadataBlock) -> bytes:
    """The bytes that are signed. The same block gives the same bytes."""
    return flat.encode(_FORMAT, block)


def encode_file(payload: bytes, signature: bytes) -> bytes:
    """A block file, ready to be stored under its hash."""
    builder = flatbuffers.Builder(len(payload) + 256)
    signature_at = builder.CreateByteVector(signature)
    payload_at = builder.CreateByteVector(payload)
    gen.BlockFileStart(builder)
    gen.BlockFileAddFormatVersion(builder, FORMAT_VERSION)
    gen.BlockFileAddPayload(builder, payload_at)
    gen.BlockFileAddSignature(builder, signature_at)
    builder.Finish(gen.BlockFileEnd(builder))
    return bytes(builder.Output())


def decode_file(data: bytes, expected: BlockHash) -> SealedBlock:
    """The block in a file that must have the hash `expected`.

    Hashed first, decoded second: the runtime has no verifier. Raises InvalidBlock or NeedsNewer.
    """
    found = hashing.block_hash(data)
    if found != expected:
        raise InvalidBlock(f"block {expected}: the file's bytes have the hash {found}")
    try:
        file = gen.BlockFile.GetRootAs(data, 0)
        version = file.FormatVersion()
        payload, signature = (_bytes(file, slot) for slot in (_PAYLOAD, _SIGNATURE))
    except Exception as error:  # a damaged buffer fails in any way
        raise InvalidBlock(f"block {expected}: not a block file: {error}") from error
    if version > FORMAT_VERSION:
        raise NeedsNewer(f"block {expected} (format version {version})")
    if encode_file(payload, signature) != data:
        raise InvalidBlock(f"block {expected}: the file is not laid out as a block file is")
    return SealedBlock(
        hash=expected,
        block=_decode_payload(payload, expected),
        payload=payload,
        signature=signature,
    )


def link(data: bytes, name: BlockHash) -> tuple[int, BlockHash | None]:
    """Number and previous hash of the block in a file, without decoding the rest of it.

    The file must have the hash `name`. Raises InvalidBlock. By hand, because walking a long chain
    is little else: the generated code is ten times slower.
    """
    try:
        payload = _payload(data)
        number_at = _place(data, payload, _NUMBER)
        number = _I64(data, number_at)[0] if number_at else 0
        text_at = _place(data, payload, _PREVIOUS)
        if not text_at:
            return number, None
        text_at += _U32(data, text_at)[0]
        end = text_at + 4 + _U32(data, text_at)[0]
        return number, BlockHash(data[text_at + 4 : end].decode("ascii"))
    except (struct.error, UnicodeDecodeError) as error:
        raise InvalidBlock(f"block {name}: not a block file: {error}") from error


def _payload(data: bytes) -> int:
    vector = _place(data, 0, _PAYLOAD)
    if not vector:
        raise struct.error("a field is missing")
    return int(vector + _U32(data, vector)[0] + 4)


def _place(data: bytes, root: int, slot: int) -> int:
    """Where a field of the table at `root` lies in a buffer; 0 when it is absent."""
    table = root + _U32(data, root)[0]
    vtable = table - _I32(data, table)[0]
    if vtable < 0:
        raise struct.error("a table outside of the file")
    offset = _U16(data, vtable + slot)[0] if slot < _U16(data, vtable)[0] else 0
    return table + offset if offset else 0


def _decode_payload(payload: bytes, name: BlockHash) -> MetadataBlock:
    try:
        event_type = gen.MetadataBlock.GetRootAs(payload, 0).EventType()
    except Exception as error:
        raise InvalidBlock(f"block {name}: not a block: {error}") from error
    if event_type > _EVENTS:
        raise NeedsNewer(f"block {name} (event number {event_type})")
    try:
        return flat.decode(_FORMAT, MetadataBlock, payload)
    except flat.Malformed as error:
        raise InvalidBlock(f"block {name}: {error}") from error


def _bytes(table: gen.BlockFile, slot: int) -> bytes:
    tab = table._tab
    offset = UOffsetTFlags.py_type(tab.Offset(slot))
    if not offset:
        raise ValueError("a field is missing")
    start, length = tab.Vector(offset), tab.VectorLen(offset)
    if start + length > len(tab.Bytes):
        raise ValueError("a field ends outside of the file")
    return bytes(tab.Bytes[start : start + length])
