"""One dataset: its chain and its data. The order of a commit lives here, and only here."""

import contextlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq

from odf_coordinator.codec import block as block_codec
from odf_coordinator.codec import ddl
from odf_coordinator.errors import HashMismatch, IntegrityError, NotFound, OdfError
from odf_coordinator.history import History
from odf_coordinator.model.block import MetadataBlock, SealedBlock
from odf_coordinator.model.event import AddData, DataSlice, Event, ExecuteTransform
from odf_coordinator.model.identity import BlockHash, DatasetName, LogicalHash, PhysicalHash
from odf_coordinator.model.schema import Schema, Vocabulary
from odf_coordinator.model.timeline import Instant, OffsetInterval
from odf_coordinator.ports import Store
from odf_coordinator.rules import chain, hashing, signing, slices
from odf_coordinator.rules.chain import DatasetState
from odf_coordinator.rules.garbage import Reach
from odf_coordinator.rules.indexing import Pace

_HEAD = "refs/head"
_DROPPED = "info/dropped"
_PARTS = "info/parts/"
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedPart:
    """Rows in a finished Parquet file that no block names yet."""

    file: Path
    slice: DataSlice


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A data file: the hash that names it, and its size."""

    name: PhysicalHash
    size: int

    @property
    def key(self) -> str:
        return f"data/{self.name}"


class Dataset:
    """A dataset in a store, under the name that the workspace gives it.

    Rows are hashed by so many threads; the hash is the same. `pace` is that of the block index.
    """

    def __init__(
        self, name: DatasetName, store: Store, *, threads: int = 1, pace: Pace | None = None
    ) -> None:
        self.name = name
        self._store = store
        self._threads = threads
        self._pace = pace or Pace()
        self._history = History(name, store, self._pace)
        self._last: DatasetState | None = None

    def head(self) -> BlockHash:
        """The hash of the last block. Raises NotFound."""
        return BlockHash(self._store.get(_HEAD).decode(errors="replace"))

    def block(self, block_hash: BlockHash) -> SealedBlock:
        """One block, its hash checked. Raises IntegrityError when it is missing or damaged."""
        return self._history.block(block_hash)

    def blocks_back(self, start: BlockHash, *, until: BlockHash | None) -> Iterator[SealedBlock]:
        """Blocks from `start` back to, but not including, `until` (None: all of them)."""
        return self._history.blocks_back(start, until=until)

    def blocks(
        self, *, after: BlockHash | None = None, upto: BlockHash | None = None
    ) -> list[SealedBlock]:
        """Blocks in order: those after `after` up to and including `upto` (None: the head)."""
        return list(self.blocks_back(upto or self.head(), until=after))[::-1]

    def state(self, *, upto: BlockHash | None = None) -> DatasetState:
        """What the chain adds up to at its head, or at an earlier block.

        Reads the blocks that the block index does not know yet, and the few that it names.
        """
        if upto is not None:
            return self._history.fold(upto)
        head = self.head()
        if self._last is None or self._last.head != head:
            self._last = self._history.fold(head, known=self._last, remember=True)
        return self._last

    def check_links(self) -> int:
        """Hash and link all blocks with the help of the index; how many there are. No proof of the
        block files, which verify reads. Raises IntegrityError."""
        return self._history.check_links(self.state())

    def stage(
        self,
        rows: pa.Table,
        *,
        schema: Schema,
        vocabulary: Vocabulary,
        folder: Path,
    ) -> StagedPart:
        """Write stamped rows as a part, named by its hash. Nothing is visible yet."""
        folder.mkdir(parents=True, exist_ok=True)
        offsets = rows.column(vocabulary.offset_column)
        file = folder / f"{self.name}-{offsets[0].as_py()}.parquet"
        pq.write_table(rows, file, compression="zstd", version="2.6", store_schema=False)
        with file.open("rb") as reader:
            physical = hashing.physical_hash(iter(lambda: reader.read(_PIECE), b""))
        return StagedPart(
            file=file,
            slice=DataSlice(
                logical_hash=self.logical_hash(rows, schema=schema, vocabulary=vocabulary),
                physical_hash=physical,
                offset_interval=OffsetInterval(start=offsets[0].as_py(), end=offsets[-1].as_py()),
                size=file.stat().st_size,
            ),
        )

    def logical_hash(
        self, rows: pa.Table, *, schema: Schema, vocabulary: Vocabulary
    ) -> LogicalHash:
        """The hash of stored rows."""
        return self.digests(rows, schema=schema, vocabulary=vocabulary).hash

    def digests(
        self, rows: pa.Table, *, schema: Schema, vocabulary: Vocabulary
    ) -> hashing.SliceDigests:
        """The tree of digests below the hash of stored rows."""
        fields = slices.stored_fields(schema, vocabulary)
        types = {field.name: ddl.print_type(field.type) for field in fields}
        return hashing.slice_digests(
            rows, types, leave_out=vocabulary.system_time_column, threads=self._threads
        )

    def commit(
        self,
        state: DatasetState | None,
        block: MetadataBlock,
        *,
        part: StagedPart | None = None,
        key: signing.PrivateKey,
    ) -> SealedBlock:
        """Data part, then block, then head: the swap of the head *is* the commit.

        Raises RefConflict when the head is no longer the one of `state`; then nothing has changed.
        """
        chain.check_append(state, block)
        if part is not None:
            self._store.put(f"data/{part.slice.physical_hash}", part.file)
        sealed = self._put_block(block, key)
        self.move_head(state.head if state else None, sealed.hash)
        self._remember(chain.advance(state, sealed))
        return sealed

    def commit_events(
        self, state: DatasetState, events: Iterable[Event], *, now: Instant, key: signing.PrivateKey
    ) -> DatasetState:
        """Blocks without data, all visible with the one swap of the head.

        Raises RefConflict as `commit` does.
        """
        after = state
        for event in events:
            block = chain.next_block(after, event, now=now)
            chain.check_append(after, block)
            after = chain.advance(after, self._put_block(block, key))
        self.move_head(state.head, after.head)
        self._remember(after)
        return after

    def _remember(self, state: DatasetState) -> None:
        """What a commit led to; now and then also in the index."""
        self._last = state
        if (state.sequence_number + 1) % self._pace.lag == 0:
            with contextlib.suppress(OdfError):  # committed is committed, whatever a cache does
                self._history.fold(state.head, remember=True)

    def _put_block(self, block: MetadataBlock, key: signing.PrivateKey) -> SealedBlock:
        payload = block_codec.encode_payload(block)
        signature = signing.sign(key, payload)
        file = block_codec.encode_file(payload, signature)
        sealed = SealedBlock(
            hash=hashing.block_hash(file), block=block, payload=payload, signature=signature
        )
        self._store.put(f"blocks/{sealed.hash}", file)
        return sealed

    def move_head(self, expected: BlockHash | None, new: BlockHash) -> None:
        """Let a block be the last one, of those that are stored. Raises RefConflict."""
        before = None if expected is None else expected.encode()
        self._store.swap(_HEAD, expected=before, new=new.encode())

    def rows(self, slice_: DataSlice) -> pa.Table:
        """The rows of a slice. The file's hash is checked before it is opened.

        Raises IntegrityError when the file is missing or damaged.
        """
        self.check_file(slice_)
        return self.read(slice_)

    def read(self, slice_: DataSlice) -> pa.Table:
        """The rows of a slice, from a file whose hash was checked before."""
        with self._store.open(self._located(slice_).key) as file:
            return pq.read_table(file)

    def scan(self, schema: Schema, vocabulary: Vocabulary) -> pa.dataset.Dataset:
        """All rows as an Arrow dataset: columns and predicates are pushed down into the files.

        The files' hashes are checked first. Raises IntegrityError.
        """
        file_format = pa.dataset.ParquetFileFormat()
        fragments = []
        for _, slice_ in self.slices():
            self.check_file(slice_)
            with self._store.open(self._located(slice_).key) as file:
                fragments.append(file_format.make_fragment(file.read_buffer()))
        rows_schema = slices.arrow_schema(schema, vocabulary)
        return pa.dataset.FileSystemDataset(fragments, rows_schema, file_format)

    def tail(self, count: int, schema: Schema, vocabulary: Vocabulary) -> pa.Table:
        """The last rows, in order of offset; only the slices that hold them are read."""
        found = [slices.arrow_schema(schema, vocabulary).empty_table()]
        left = count
        for _, slice_ in self._slices_back(self.head(), until=None):
            if left <= 0:
                break
            rows = self.rows(slice_)
            found.insert(1, rows.slice(max(rows.num_rows - left, 0)))
            left -= rows.num_rows
        return pa.concat_tables(found, promote_options="permissive")

    def check_file(self, slice_: DataSlice) -> None:
        """Is the data file there, with the bytes that name it? Raises IntegrityError."""
        self.check_size(slice_)
        part = self._located(slice_)
        with self._store.open(part.key) as file:
            found = hashing.physical_hash(iter(lambda: file.read(_PIECE), b""))
        if found != part.name:
            raise HashMismatch(f"{self.name}: {part.key}", expected=part.name, found=found)

    def check_size(self, slice_: DataSlice) -> None:
        """Is the data file there, with its size? Its bytes are not read. Raises IntegrityError."""
        part = self._located(slice_)
        found = self._store.size(part.key)
        if found is None:
            hint = (
                "restore it from a copy of the dataset, or rebuild a derivative: `odf reset --data`"
            )
            if self.is_dropped():
                hint = f"`odf pull {self.name}` rebuilds it"
            raise IntegrityError(f"{self.name}: {part.key} is missing", hint=hint)
        if found != part.size:
            raise IntegrityError(f"{self.name}: {part.key} has {found} bytes, recorded {part.size}")

    # Data files that were dropped and rebuilt

    def has_part(self, slice_: DataSlice) -> bool:
        """Whether the data file is there, under its recorded name or rebuilt under another."""
        return self._store.size(self._located(slice_).key) is not None

    def data_size(self) -> int:
        """How many bytes the data files have that are there."""
        parts = [self._located(slice_) for _, slice_ in self.slices()]
        return sum(self._store.size(part.key) or 0 for part in parts)

    def is_dropped(self) -> bool:
        """Whether data files were dropped and not all are rebuilt."""
        return self._store.size(_DROPPED) is not None

    def drop_parts(self) -> int:
        """Remove the data files; gives how many there were. For those that can be rebuilt."""
        there = [each for _, each in self.slices() if self.has_part(each)]
        self._store.put(_DROPPED, b"")
        for slice_ in there:
            self._store.delete(self._located(slice_).key)
            self._store.delete(_PARTS + slice_.physical_hash)
        return len(there)

    def put_rebuilt(self, slice_: DataSlice, part: StagedPart) -> None:
        """Keep the rebuilt rows of a slice; another writer's file has a name of its own.

        Raises IntegrityError when the rows are not the recorded ones.
        """
        if part.slice.logical_hash != slice_.logical_hash:
            raise IntegrityError(
                f"{self.name}: recorded {slice_.logical_hash}, rebuilt {part.slice.logical_hash}",
                hint=f"`odf verify -r {self.name}` tells more",
            )
        name = part.slice.physical_hash
        self._store.put(f"data/{name}", part.file)
        if name != slice_.physical_hash:
            content = json.dumps({"file": name, "size": part.slice.size}).encode()
            self._store.put(_PARTS + slice_.physical_hash, content)

    def all_rebuilt(self) -> None:
        """No data file is missing any more."""
        self._store.delete(_DROPPED)

    def stale_maps(self) -> list[str]:
        """Entries of the map of rebuilt files that lead nowhere."""
        found = []
        for key in self._store.list(_PARTS):
            try:
                part = self._mapped(PhysicalHash(key.removeprefix(_PARTS)))
            except IntegrityError:
                part = None
            if part is None or self._store.size(part.key) is None:
                found.append(key)
        return found

    def _located(self, slice_: DataSlice) -> _Part:
        """The file that holds a slice: the recorded one, or the one that was rebuilt for it."""
        recorded = _Part(name=slice_.physical_hash, size=slice_.size)
        if self._store.size(recorded.key) is not None:
            return recorded
        return self._mapped(slice_.physical_hash) or recorded

    def _mapped(self, name: PhysicalHash) -> _Part | None:
        key = _PARTS + name
        try:
            raw = json.loads(self._store.get(key))
            part = _Part(name=PhysicalHash(raw["file"]), size=int(raw["size"]))
        except NotFound:
            return None
        except (ValueError, TypeError, KeyError) as error:
            raise IntegrityError(
                f"{self.name}: {key} is damaged", hint="`odf fsck --repair` drops it"
            ) from error
        if not hashing.is_multihash(part.name):
            raise IntegrityError(
                f"{self.name}: {key} is damaged", hint="`odf fsck --repair` drops it"
            )
        return part

    def reach(self) -> Reach:
        """What the head leads to. Raises IntegrityError, NotFound when the chain is broken."""
        head = self.head()
        return Reach(
            head=head,
            blocks=frozenset(sealed.hash for sealed in self.blocks(upto=head)),
            parts=frozenset(
                name
                for _, slice_ in self.slices(upto=head)
                for name in (slice_.physical_hash, self._located(slice_).name)
            ),
        )

    def slices(
        self, *, after: BlockHash | None = None, upto: BlockHash | None = None
    ) -> list[tuple[SealedBlock, DataSlice]]:
        """The slices that blocks in (after, upto] added, in order."""
        return list(self._slices_back(upto or self.head(), until=after))[::-1]

    def _slices_back(
        self, start: BlockHash, *, until: BlockHash | None
    ) -> Iterator[tuple[SealedBlock, DataSlice]]:
        for sealed in self._history.blocks_back(start, until=until, packed=True):
            event = sealed.block.event
            if isinstance(event, AddData | ExecuteTransform) and event.new_data is not None:
                yield sealed, event.new_data
