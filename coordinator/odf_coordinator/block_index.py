"""The block index of a dataset in its store: a cache that may be lost, torn or stale at any time.

What it says of a block counts only for the block of exactly that number and hash. So an index of
another history, or longer than the chain, says nothing, and nothing needs to be thrown away.
"""

import contextlib
from collections.abc import Sequence
from itertools import groupby

import pyarrow as pa

from odf_coordinator.codec import segment as segment_codec
from odf_coordinator.errors import OdfError
from odf_coordinator.model.identity import BlockHash
from odf_coordinator.ports import Store
from odf_coordinator.rules import indexing
from odf_coordinator.rules.indexing import Landmark, Pace, Record, Segment


class BlockIndex:
    """One look at the index: each of its files is read at most once."""

    def __init__(self, store: Store, pace: Pace) -> None:
        self._store = store
        self._size = pace.segment
        self._loaded: dict[int, tuple[Segment, pa.Buffer] | None] = {}

    def landmarks(self, number: int, block_hash: BlockHash) -> tuple[Landmark, ...] | None:
        """The blocks that give the state at a block, in order; None when the index cannot tell."""
        found = self._find(number, block_hash)
        return found and found[0].landmarks(found[2])

    def file(self, number: int, block_hash: BlockHash) -> bytes | None:
        """The bytes of a block file, not yet hashed; None when the index does not have them."""
        found = self._find(number, block_hash)
        if found is None:
            return None
        segment, files, at = found
        place = segment.file(at)
        return bytes(memoryview(files)[place])

    def is_signed(self, number: int, block_hash: BlockHash) -> bool:
        """Was the signature of this block checked when it came into the index?"""
        found = self._find(number, block_hash)
        return found is not None and bool(found[0].signed[found[2]])

    def append(self, records: Sequence[Record], *, after: BlockHash | None) -> None:
        """Remember blocks that follow the block `after` (None: the first ones), which the index
        has.

        A store that cannot be written, or an index that changed meanwhile, is no error.
        """
        for number, group in groupby(records, key=lambda each: each.number // self._size):
            run = tuple(group)
            try:
                begun = self._begun(run[0].number, after)
                if begun is None:
                    return
                segment = indexing.extended(begun[0], run)
                files = begun[1] + b"".join(each.file for each in run)
                self._store.put(_key(number), segment_codec.encode(segment, files))
            except (OdfError, OSError):
                return
            self._loaded[number] = (segment, pa.py_buffer(files))
            after = run[-1].hash

    def _begun(self, first: int, after: BlockHash | None) -> tuple[Segment, bytes] | None:
        """What the segment of block `first` holds before it."""
        if after is None:
            return indexing.empty(0, ()), b""
        found = self._find(first - 1, after)
        if found is None:
            return None
        segment, files, at = found
        if first % self._size == 0:
            return indexing.empty(first, segment.landmarks(at)), b""
        return segment.cut(at + 1), bytes(memoryview(files)[: segment.ends[at]])

    def _find(self, number: int, block_hash: BlockHash) -> tuple[Segment, pa.Buffer, int] | None:
        key = number // self._size
        if key not in self._loaded:
            self._loaded[key] = self._load(key)
        loaded = self._loaded[key]
        at = loaded and loaded[0].position(number, block_hash)
        return None if loaded is None or at is None else (*loaded, at)

    def _load(self, key: int) -> tuple[Segment, pa.Buffer] | None:
        with contextlib.suppress(OdfError, OSError, segment_codec.DamagedSegment):
            segment, files = segment_codec.decode(self._store.open(_key(key)))
            if segment.first == key * self._size and len(segment) <= self._size:
                return segment, files
        return None


def _key(number: int) -> str:
    return f"info/blocks/{number}"
