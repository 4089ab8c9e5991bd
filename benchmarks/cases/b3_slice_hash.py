"""B3: the logical hash of a slice against SHA3-256 of the same bytes on one core."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc
from odf_coordinator.rules import hashing

from benchmarks.data import mixed_rows
from benchmarks.measure import Figure, Scale, side_by_side

_CHUNK_ROWS = 65_536


def run(scale: Scale) -> list[Figure]:
    """Speeds in bytes that go into the digest: values, lengths of texts, validity."""
    rows, types = mixed_rows(scale.rows, seed=scale.seed)
    size = sum(_bytes_hashed(column) for column in rows.columns)
    # SHA3 takes as long for any bytes: pieces as large as a chunk of an eight-byte column.
    piece = bytes(8 * _CHUNK_ROWS)

    def floor() -> None:
        digest = hashlib.sha3_256()
        for _ in range(size // len(piece)):
            digest.update(piece)
        digest.update(piece[: size % len(piece)])

    def logical(threads: int) -> Callable[[], object]:
        return lambda: hashing.logical_hash(rows, types, leave_out="", threads=threads)

    with _one_core():
        plain, one = side_by_side(scale.repeats, floor, logical(1))
    figures = [
        Figure(what="SHA3-256 of the same bytes, one core", value=size / plain / 1e6, unit="MB/s"),
        Figure(what="logical hash, one core", value=size / one / 1e6, unit="MB/s"),
        Figure(what="logical hash ÷ SHA3-256", value=plain / one, unit="", at_least=0.8),
    ]
    if len(os.sched_getaffinity(0)) > 1:
        alone, two = side_by_side(scale.repeats, logical(1), logical(2))
        what = "speed on two threads ÷ on one"
        figures.append(Figure(what=what, value=alone / two, unit="", at_least=1.7))
    return figures


def _bytes_hashed(column: pa.ChunkedArray) -> int:
    """As docs/formats/slice-hash.md counts them, without tags and counts."""
    valid: int = len(column) - column.null_count
    validity = (len(column) + 7) // 8
    kind = column.type
    if pa.types.is_string(kind):
        return int(validity + 8 * valid + pc.sum(pc.binary_length(column)).as_py())
    width: int = 1 if pa.types.is_boolean(kind) else kind.bit_width // 8
    return validity + width * valid


@contextmanager
def _one_core() -> Iterator[None]:
    """This process on one core only, Arrow's own threads included."""
    cores, threads = os.sched_getaffinity(0), pa.cpu_count()
    os.sched_setaffinity(0, {min(cores)})
    pa.set_cpu_count(1)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
        pa.set_cpu_count(threads)
