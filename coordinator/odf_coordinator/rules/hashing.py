"""Hashes: of blocks, files, rows and plans. All SHA3-256, written as multihashes in base16.

Normative text for the logical hash: docs/formats/slice-hash.md.
"""

import hashlib
import re
import struct
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from odf_coordinator.model.identity import BlockHash, LogicalHash, PhysicalHash, TransactionId

_MULTIHASH_SHA3_256 = "1620"
_FORM = re.compile("1620[0-9a-f]{64}")
_CHUNK_ROWS = 65_536
_LEAF = b"odf:slice-hash:1:chunk\0"
_COLUMN = b"odf:slice-hash:1:column\0"
_SLICE = b"odf:slice-hash:1:slice\0"
_SIGNED = b"odf:block:0\0"
_TRANSACTION = b"odf:transaction:0\0"


def multihash(digest: bytes) -> str:
    """A SHA3-256 digest as a multihash in base16."""
    return _MULTIHASH_SHA3_256 + digest.hex()


def is_multihash(text: str) -> bool:
    """Does the text have the form of one of our hashes?"""
    return _FORM.fullmatch(text) is not None


def block_hash(file: bytes) -> BlockHash:
    """The name of a block file."""
    return BlockHash(multihash(hashlib.sha3_256(file).digest()))


def physical_hash(pieces: Iterable[bytes]) -> PhysicalHash:
    """The name of a file whose bytes come in pieces."""
    digest = hashlib.sha3_256()
    for piece in pieces:
        digest.update(piece)
    return PhysicalHash(multihash(digest.digest()))


def signed_digest(payload: bytes) -> bytes:
    """What the dataset's key signs for a block."""
    return hashlib.sha3_256(_SIGNED + payload).digest()


def transaction_id(plan: bytes) -> TransactionId:
    """The id of the step that a stored plan describes: derived, never drawn."""
    return TransactionId(multihash(hashlib.sha3_256(_TRANSACTION + plan).digest()))


def logical_hash(rows: pa.Table, types: dict[str, str], *, leave_out: str) -> LogicalHash:
    """Hash v1 of the rows in their order, all columns of `types` but `leave_out` (system time).

    `types` gives the DDL type of each column in schema order. Encodings, chunking and file settings
    do not matter.
    """
    digest = hashlib.sha3_256(_SLICE)
    digest.update(struct.pack("<q", rows.num_rows))
    for name, ddl in types.items():
        if name != leave_out:
            digest.update(column_digest(name, ddl, rows.column(name)))
    return LogicalHash(multihash(digest.digest()))


def column_digest(name: str, ddl: str, values: pa.ChunkedArray) -> bytes:
    """The digest of one column: its name, its type and the digests of its chunks of 65,536 rows."""
    digest = hashlib.sha3_256(_COLUMN)
    for text in (name, ddl):
        digest.update(_text(text))
    for start in range(0, len(values), _CHUNK_ROWS):
        piece = values.slice(start, _CHUNK_ROWS)
        digest.update(_chunk_digest(pa.concat_arrays(piece.chunks)))
    return digest.digest()


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<q", len(encoded)) + encoded


def _chunk_digest(array: pa.Array) -> bytes:
    digest = hashlib.sha3_256(_LEAF)
    for part in _canonical(array):
        digest.update(part)
    return digest.digest()


def _canonical(array: pa.Array) -> Iterator[Any]:
    """Row count, validity, values of valid rows; nested types by their leaves."""
    array = _plain(array)
    yield struct.pack("<q", len(array))
    yield _validity(array)
    array = array.drop_null() if array.null_count else array
    kind = array.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield _buffer(pc.cast(pc.list_value_length(array), pa.int64()))
        yield from _canonical(array.flatten())
    elif pa.types.is_struct(kind):
        for leaf in array.flatten():
            yield from _canonical(leaf)
    elif pa.types.is_string(kind) or pa.types.is_binary(kind):
        yield _buffer(pc.cast(pc.binary_length(array), pa.int64()))
        yield _string_bytes(array)
    else:
        yield _buffer(_numbers(array))


def _validity(array: pa.Array) -> Any:
    """One bit per row, least significant first, zero padding."""
    return _bits(pc.is_valid(array))


def _bits(booleans: pa.Array) -> bytes:
    """A boolean array as packed bits from bit 0 on, whatever its offset in memory."""
    copied = pa.concat_arrays([booleans, pa.array([False])])
    packed = bytearray(copied.buffers()[1].to_pybytes()[: (len(booleans) + 7) // 8])
    if len(booleans) % 8:
        packed[-1] &= (1 << len(booleans) % 8) - 1
    return bytes(packed)


def _plain(array: pa.Array) -> pa.Array:
    """Without dictionary, view or large encodings."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _plain(array.dictionary_decode())
    if pa.types.is_large_string(kind) or str(kind) == "string_view":
        return array.cast(pa.string())
    if pa.types.is_large_binary(kind) or str(kind) == "binary_view":
        return array.cast(pa.binary())
    return array


def _numbers(array: pa.Array) -> pa.Array:
    """Fixed-width values in canonical form."""
    kind = array.type
    if pa.types.is_boolean(kind):
        return array.cast(pa.uint8())
    if pa.types.is_floating(kind):
        positive = pc.if_else(pc.equal(array, 0.0), pa.scalar(0.0, kind), array)
        return pc.if_else(pc.is_nan(positive), pa.scalar(float("nan"), kind), positive)
    if pa.types.is_timestamp(kind):
        return array.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    if pa.types.is_time(kind):
        return array.cast(pa.time64("us")).cast(pa.int64())
    if pa.types.is_date(kind):
        return array.cast(pa.date32()).cast(pa.int32())
    return array


def _buffer(array: pa.Array) -> memoryview:
    """The value bytes of a fixed-width array without nulls."""
    width = array.type.bit_width // 8
    values = array.buffers()[1]
    start = array.offset * width
    return memoryview(values)[start : start + len(array) * width] if values else memoryview(b"")


def _string_bytes(array: pa.Array) -> memoryview:
    """The bytes of all strings, one after the other."""
    if not len(array):
        return memoryview(b"")
    offsets, values = array.buffers()[1], array.buffers()[2]
    (first,) = struct.unpack_from("<i", offsets, array.offset * 4)
    (last,) = struct.unpack_from("<i", offsets, (array.offset + len(array)) * 4)
    return memoryview(values)[first:last] if values else memoryview(b"")
