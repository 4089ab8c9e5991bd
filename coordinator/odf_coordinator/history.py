"""The chain of a dataset as stored: walked back by its links, folded with the help of the index."""

from collections.abc import Iterator

from odf_coordinator.block_index import BlockIndex
from odf_coordinator.codec import block as block_codec
from odf_coordinator.errors import InvalidBlock, NotFound
from odf_coordinator.model.block import SealedBlock
from odf_coordinator.model.identity import BlockHash, DatasetName
from odf_coordinator.ports import Store
from odf_coordinator.rules import chain, hashing, indexing, signing
from odf_coordinator.rules.chain import DatasetState
from odf_coordinator.rules.indexing import Pace, Record


class History:
    """The blocks of a dataset. What is read has the hash that names it, or InvalidBlock is told."""

    def __init__(self, name: DatasetName, store: Store, pace: Pace) -> None:
        self._name = name
        self._store = store
        self._pace = pace

    def block(self, block_hash: BlockHash) -> SealedBlock:
        """One block, from its file."""
        return block_codec.decode_file(self._file(block_hash), block_hash)

    def blocks_back(
        self, start: BlockHash, *, until: BlockHash | None, packed: bool = False
    ) -> Iterator[SealedBlock]:
        """Blocks from `start` back to, but not including, `until` (None: all of them).

        With `packed`, bytes come from the index where it has them: the same bytes, read faster.
        """
        index = self._index() if packed else None
        for block_hash, file in self._files_back(start, until=until, index=index):
            yield block_codec.decode_file(file, block_hash)

    def fold(
        self, at: BlockHash, *, known: DatasetState | None = None, remember: bool = False
    ) -> DatasetState:
        """The state at a block, from the nearest block before it whose state can be had.

        That is the one of `known`, or one of the index, or none (then from the seed on). With
        `remember`, an index that lags too far behind is brought up to this block.
        """
        index = self._index()
        state, tail = self._nearest(at, index, known)
        remember = remember and len(tail) >= self._pace.lag and (not state or state is not known)
        after, records = state.head if state else None, list[Record]()
        while tail:
            block_hash, file = tail.pop()
            sealed = block_codec.decode_file(file, block_hash)
            chain.check_append(state, sealed.block)
            state = chain.advance(state, sealed)
            if remember:
                records.append(_record(state, sealed, file))
                if not tail or len(records) == self._pace.segment:
                    index.append(records, after=after)
                    after, records = state.head, []
        if state is None:
            raise InvalidBlock("an empty chain")
        return state

    def check_links(self, state: DatasetState) -> int:
        """Hash and link every block from that of a state back to the seed; how many there are.

        Bytes come from the index where it has them; a signature that it remembers is not checked
        again. Quick, but no proof of the block files: that is what verify reads.
        """
        index, expected = self._index(), state.sequence_number
        for block_hash, file in self._files_back(state.head, until=None, index=index):
            number, _ = block_codec.link(file, block_hash)
            if number != expected:
                raise InvalidBlock(
                    f"{self._name}: block {block_hash} has number {number}, expected {expected}"
                )
            if not index.is_signed(number, block_hash):
                sealed = block_codec.decode_file(file, block_hash)
                signing.check(state.dataset_id, sealed.payload, sealed.signature)
            expected -= 1
        if expected != -1:
            raise InvalidBlock(f"{self._name}: the chain ends before its seed")
        return state.sequence_number + 1

    def _index(self) -> BlockIndex:
        return BlockIndex(self._store, self._pace)

    def _nearest(
        self, at: BlockHash, index: BlockIndex, known: DatasetState | None
    ) -> tuple[DatasetState | None, list[tuple[BlockHash, bytes]]]:
        """A state that can be had, and the block files after it, newest first."""
        tail: list[tuple[BlockHash, bytes]] = []
        for block_hash, file in self._files_back(at, until=None):
            if known is not None and known.head == block_hash:
                return known, tail
            number, _ = block_codec.link(file, block_hash)
            landmarks = index.landmarks(number, block_hash)
            if landmarks is not None:
                return indexing.restore(self.block(each.hash) for each in landmarks), tail
            tail.append((block_hash, file))
        return None, tail

    def _files_back(
        self, start: BlockHash, *, until: BlockHash | None, index: BlockIndex | None = None
    ) -> Iterator[tuple[BlockHash, bytes]]:
        """Block files from `start` back, each with the hash that its successor names."""
        at: BlockHash | None = start
        number: int | None = None
        while at is not None and at != until:
            file = index.file(number, at) if index and number is not None else None
            if file is None or hashing.block_hash(file) != at:
                file = self._file(at)
                if (found := hashing.block_hash(file)) != at:
                    raise InvalidBlock(f"block {at}: the file's bytes have the hash {found}")
            yield at, file
            number, at = block_codec.link(file, at)
            number -= 1
        if at != until:
            raise InvalidBlock(f"{self._name}: block {until} is not in the history of {start}")

    def _file(self, block_hash: BlockHash) -> bytes:
        if not hashing.is_multihash(block_hash):
            raise InvalidBlock(f"{self._name}: {block_hash!r} is not the hash of a block")
        try:
            return self._store.get(f"blocks/{block_hash}")
        except NotFound:
            raise InvalidBlock(f"{self._name}: block {block_hash} is missing") from None


def _record(state: DatasetState, sealed: SealedBlock, file: bytes) -> Record:
    """A block for the index; the index records a bad signature and does not judge it."""
    try:
        signing.check(state.dataset_id, sealed.payload, sealed.signature)
        signed = True
    except InvalidBlock:
        signed = False
    return Record(
        number=sealed.block.sequence_number,
        hash=sealed.hash,
        role=indexing.role(sealed.block.event),
        signed=signed,
        file=file,
    )
