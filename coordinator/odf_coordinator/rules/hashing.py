"""Hashes: of blocks, files, rows and plans. All SHA3-256, written as multihashes in base16.

Normative text for the logical hash: docs/formats/slice-hash.md.
"""

import hashlib
import re
import struct
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from odf_coordinator.model.identity import BlockHash, LogicalHash, PhysicalHash, TransactionId

_MULTIHASH_SHA3_256 = "1620"
_FORM = re.compile("1620[0-9a-f]{64}")
_CHUNK_ROWS = 65_536
_CHUNK = b"odf:slice-hash:1:chunk\0"
_COLUMN = b"odf:slice-hash:1:column\0"
_SLICE = b"odf:slice-hash:1:slice\0"
_SIGNED = b"odf:block:0\0"
_TRANSACTION = b"odf:transaction:0\0"


def multihash(digest: bytes) -> str:
    """A SHA3-256 digest as a multihash in base16."""
    return _MULTIHASH_SHA3_256 + digest.hex()


def digest(text: str) -> bytes:
    """The SHA3-256 digest in a multihash."""
    return bytes.fromhex(text[len(_MULTIHASH_SHA3_256) :])


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDigests:
    """The branch of one column in the tree of a slice hash: a digest per chunk of 65,536 rows."""

    name: str
    ddl: str
    chunks: tuple[bytes, ...]

    @property
    def digest(self) -> bytes:
        """The digest of the column: its name, its type and its chunks."""
        return hashlib.sha3_256(
            _COLUMN + _text(self.name) + _text(self.ddl) + b"".join(self.chunks)
        ).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceDigests:
    """The whole tree of a slice hash, so that a mismatch can say where it is."""

    rows: int
    columns: tuple[ColumnDigests, ...]

    @property
    def hash(self) -> LogicalHash:
        """The logical hash of the slice."""
        content = _SLICE + struct.pack("<q", self.rows)
        content += b"".join(column.digest for column in self.columns)
        return LogicalHash(multihash(hashlib.sha3_256(content).digest()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Where two slices differ first: a column, and the rows of the slice among which it is."""

    column: str
    rows: range


def logical_hash(
    rows: pa.Table, types: dict[str, str], *, leave_out: str, threads: int = 1
) -> LogicalHash:
    """Hash v1 of the rows in their order; see `slice_digests`."""
    return slice_digests(rows, types, leave_out=leave_out, threads=threads).hash


def slice_digests(
    rows: pa.Table, types: dict[str, str], *, leave_out: str, threads: int = 1
) -> SliceDigests:
    """The tree of hash v1 over all columns of `types` but `leave_out` (system time).

    `types` gives the DDL type of each column in schema order. Encodings, chunking, file settings
    and the number of threads do not matter.
    """
    names = [name for name in types if name != leave_out]
    starts = range(0, rows.num_rows, _CHUNK_ROWS)
    pieces = (rows.column(name).slice(start, _CHUNK_ROWS) for name in names for start in starts)
    if threads > 1 and len(names) * len(starts) > 1:
        with ThreadPoolExecutor(threads) as pool:
            digests = list(pool.map(_chunk_digest, pieces))
    else:
        digests = list(map(_chunk_digest, pieces))
    return SliceDigests(
        rows=rows.num_rows,
        columns=tuple(
            ColumnDigests(
                name=name,
                ddl=types[name],
                chunks=tuple(digests[at * len(starts) : (at + 1) * len(starts)]),
            )
            for at, name in enumerate(names)
        ),
    )


def first_difference(one: SliceDigests, other: SliceDigests) -> Difference | None:
    """The first chunk in which two slices of the same columns differ, and its first such column."""
    length = max(one.rows, other.rows)
    for number, start in enumerate(range(0, length, _CHUNK_ROWS)):
        chunk = slice(number, number + 1)
        for a, b in zip(one.columns, other.columns, strict=True):
            if a.chunks[chunk] != b.chunks[chunk]:
                rows = range(start, min(start + _CHUNK_ROWS, length))
                return Difference(column=a.name, rows=rows)
    return None


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<q", len(encoded)) + encoded


def _chunk_digest(values: pa.ChunkedArray) -> bytes:
    digest = hashlib.sha3_256(_CHUNK)
    for part in _canonical(values.chunks):
        digest.update(part)
    return digest.digest()


def _canonical(pieces: Iterable[pa.Array]) -> Iterator[Any]:
    """Row count, validity, values of valid rows; nested types by their leaves.

    The pieces are one sequence of values. They are never joined: that would copy them, and texts
    of more than 2 GiB do not fit in one array.
    """
    arrays = [_plain(piece) for piece in pieces]
    yield struct.pack("<q", sum(map(len, arrays)))
    yield _validity(arrays)
    arrays = [array.drop_null() if array.null_count else array for array in arrays]
    kind = arrays[0].type if arrays else pa.null()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from map(_lengths, arrays)
        yield from _canonical([array.flatten() for array in arrays])
    elif pa.types.is_struct(kind):
        for fields in zip(*(array.flatten() for array in arrays), strict=True):
            yield from _canonical(fields)
    elif _is_bytes(kind):
        yield from map(_lengths, arrays)
        yield from map(_joined_bytes, arrays)
    else:
        yield from (_buffer(_numbers(array)) for array in arrays)


def _validity(arrays: list[pa.Array]) -> bytes:
    """One bit per row, least significant first, zero padding."""
    count = sum(map(len, arrays))
    whole, rest = divmod(count, 8)
    if not any(array.null_count for array in arrays):
        return b"\xff" * whole + bytes([(1 << rest) - 1] if rest else [])
    # The extra bit makes Arrow copy, so that the bits start at bit 0 of a byte.
    joined = pa.concat_arrays([*map(pc.is_valid, arrays), pa.array([False])])
    packed = bytearray(memoryview(joined.buffers()[1])[: (count + 7) // 8])
    if rest:
        packed[-1] &= (1 << rest) - 1
    return bytes(packed)


def _plain(array: pa.Array) -> pa.Array:
    """Without dictionaries, runs, views, fixed sizes and named storage, at every depth."""
    kind = array.type
    if _is_plain(kind):
        return array
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(array.storage)
    if pa.types.is_dictionary(kind):
        return _plain(array.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return _plain(pc.run_end_decode(array))
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return array.cast(pa.large_binary())
    return _plain_nested(array)


def _plain_nested(array: pa.Array) -> pa.Array:
    kind, missing = array.type, pc.is_null(array)
    if pa.types.is_struct(kind):
        fields = [_plain(field) for field in array.flatten()]
        return pa.StructArray.from_arrays(fields, names=[f.name for f in kind], mask=missing)
    if not pa.types.is_nested(kind):
        raise ValueError(f"values of the Arrow type {kind} have no hash")
    lengths = pc.fill_null(pc.list_value_length(array), 0).cast(pa.int64())
    offsets = pc.cumulative_sum(pa.concat_arrays([pa.array([0], pa.int64()), lengths]))
    return pa.LargeListArray.from_arrays(offsets, _plain(array.flatten()), mask=missing)


def _is_plain(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _is_plain(kind.value_type)
    if pa.types.is_struct(kind):
        return all(_is_plain(field.type) for field in kind)
    leaves = (pa.types.is_primitive, pa.types.is_fixed_size_binary, pa.types.is_decimal, _is_bytes)
    return any(matches(kind) for matches in leaves)


def _is_bytes(kind: pa.DataType) -> bool:
    """Texts and bytes of any length."""
    return kind in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary())


def _numbers(array: pa.Array) -> pa.Array:
    """Fixed-width values in canonical form."""
    kind = array.type
    if not pa.types.is_floating(kind):
        return array.cast(_width_at_rest(kind))
    # x + 0.0 is x but for -0.0, which becomes 0.0.
    positive = pc.add(array, pa.scalar(0.0, kind))
    return pc.if_else(pc.is_nan(positive), pa.scalar(float("nan"), kind), positive)


def _width_at_rest(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_boolean(kind):
        return pa.uint8()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_time(kind):
        return pa.time64("us")
    if pa.types.is_date(kind):
        return pa.date32()
    if pa.types.is_decimal(kind):
        return pa.decimal128(kind.precision, kind.scale)
    return kind


def _lengths(array: pa.Array) -> memoryview:
    """The length of each text or list, 8 bytes each."""
    measure = pc.binary_length if _is_bytes(array.type) else pc.list_value_length
    return _buffer(measure(array).cast(pa.int64()))


def _buffer(array: pa.Array) -> memoryview:
    """The value bytes of a fixed-width array without nulls."""
    width = array.type.bit_width // 8
    values = array.buffers()[1]
    start = array.offset * width
    return memoryview(values)[start : start + len(array) * width] if values else memoryview(b"")


def _joined_bytes(array: pa.Array) -> memoryview:
    """The bytes of all texts, one after the other."""
    _, offsets, values = array.buffers()
    if not len(array) or values is None:
        return memoryview(b"")
    form = "<q" if array.type in (pa.large_string(), pa.large_binary()) else "<i"
    width = struct.calcsize(form)
    (first,) = struct.unpack_from(form, offsets, array.offset * width)
    (last,) = struct.unpack_from(form, offsets, (array.offset + len(array)) * width)
    return memoryview(values)[first:last]
