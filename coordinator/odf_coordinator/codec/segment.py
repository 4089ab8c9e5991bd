"""A segment of the block index <-> bytes. A cache: whatever is not exactly as written is refused.

odf:block-index:1\\0          version
32 bytes                     SHA3-256 of what follows, up to the block files
u32                          length of the heading
heading                      JSON: first, count, model stamp, landmarks before, names of roles
count x 32 bytes             digests of the block hashes
count x u32                  where each block file ends, from the first one's start
count x u16                  role
count x u8                   1: the signature was checked
block files, one after the other
"""

import hashlib
import json
import struct
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from odf_coordinator.model.identity import BlockHash
from odf_coordinator.rules import indexing
from odf_coordinator.rules.indexing import Landmark, Segment

_VERSION = b"odf:block-index:1\0"
_DIGEST = 32
_LENGTH = struct.Struct("<I")
_ROW = _DIGEST + 4 + 2 + 1


class DamagedSegment(ValueError):
    """Bytes that are not a segment of this version, or no longer."""


def encode(segment: Segment, files: bytes) -> bytes:
    """A segment and the block files that it tells of. The same blocks give the same bytes."""
    count = len(segment)
    heading = json.dumps(
        {
            "before": [[each.role, each.number, each.hash] for each in segment.before],
            "count": count,
            "first": segment.first,
            "model": indexing.stamp(),
            "roles": segment.roles,
        },
        separators=(",", ":"),
    ).encode()
    body = b"".join(
        (
            _LENGTH.pack(len(heading)),
            heading,
            segment.digests,
            struct.pack(f"<{count}I", *segment.ends),
            struct.pack(f"<{count}H", *segment.role_numbers),
            segment.signed,
        )
    )
    return b"".join((_VERSION, hashlib.sha3_256(body).digest(), body, files))


def decode(file: pa.NativeFile) -> tuple[Segment, pa.Buffer]:
    """A segment, and the bytes of its block files, which are not read. Raises DamagedSegment."""
    try:
        segment = _read(file)
        files = file.read_buffer()
    except DamagedSegment:
        raise
    except Exception as error:  # damage shows in any way
        raise DamagedSegment(str(error)) from error
    if len(files) != (segment.ends[-1] if segment.ends else 0):
        raise DamagedSegment("cut off")
    return segment, files


def _read(file: pa.NativeFile) -> Segment:
    if file.read(len(_VERSION)) != _VERSION:
        raise DamagedSegment("another version")
    checksum = file.read(_DIGEST)
    length = file.read(_LENGTH.size)
    text = file.read(min(_LENGTH.unpack(length)[0], file.size()))
    heading = json.loads(text)
    columns = file.read(min(max(heading["count"], 0) * _ROW, file.size()))
    if hashlib.sha3_256(length + text + columns).digest() != checksum:
        raise DamagedSegment("another checksum")
    return _segment(heading, columns)


def _segment(heading: Mapping[str, Any], columns: bytes) -> Segment:
    if heading["model"] != indexing.stamp():
        raise DamagedSegment("made for other events")
    count = heading["count"]
    digests, ends, roles, signed = (
        columns[start * count : end * count]
        for start, end in ((0, 32), (32, 36), (36, 38), (38, 39))
    )
    return Segment(
        first=heading["first"],
        before=tuple(
            Landmark(role=role, number=number, hash=BlockHash(block_hash))
            for role, number, block_hash in heading["before"]
        ),
        roles=tuple(heading["roles"]),
        digests=digests,
        ends=struct.unpack(f"<{count}I", ends),
        role_numbers=struct.unpack(f"<{count}H", roles),
        signed=signed,
    )
