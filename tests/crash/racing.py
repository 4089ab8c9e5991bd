"""Many writers commit to one dataset at once; each looks again whenever somebody was faster."""

import multiprocessing
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from odf_coordinator.dataset import Dataset
from odf_coordinator.errors import RefConflict
from odf_coordinator.model.event import (
    AddData,
    DatasetKind,
    Seed,
    SetDataSchema,
    SetPollingSource,
    SourceState,
    SourceStateKind,
)
from odf_coordinator.model.identity import BlockHash
from odf_coordinator.ports import Store
from odf_coordinator.rules import chain, signing
from odf_coordinator.rules.chain import DatasetState
from odf_coordinator.storage.local import LocalStore
from odf_coordinator.storage.memory import MemoryStore

from tests.builders import SCHEMA, SOURCE, TIME
from tests.worlds import ROOT

KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
SECONDS = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Won:
    """A commit that was acknowledged: who made it, and which block it is."""

    tag: str
    sequence_number: int
    block: BlockHash


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """What came of a race."""

    commits: int
    lost_races: int
    wrong: tuple[str, ...]


def race_of_processes(folder: Path, *, writers: int, commits: int) -> Race:
    """Writers are processes over one folder."""
    dataset = _begun(LocalStore(folder))
    start = multiprocessing.get_context("spawn")
    with start.Pool(writers) as pool:
        jobs = [(folder, number, commits) for number in range(writers)]
        told = pool.starmap_async(_write_locally, jobs, chunksize=1).get(SECONDS)
    return _judged(dataset, told)


def race_of_threads(*, writers: int, commits: int) -> Race:
    """Writers are threads over one store in memory."""
    store = MemoryStore()
    dataset = _begun(store)
    with ThreadPoolExecutor(writers) as pool:
        told = list(pool.map(lambda number: _write(store, number, commits), range(writers)))
    return _judged(dataset, told)


def _begun(store: Store) -> Dataset:
    dataset = Dataset(ROOT, store)
    seed = Seed(dataset_id=signing.dataset_id(KEY), dataset_kind=DatasetKind.ROOT)
    first = dataset.commit(None, chain.seed_block(seed, now=TIME), key=KEY)
    state = chain.advance(None, first)
    for event in (SetPollingSource(source=SOURCE), SetDataSchema(schema=SCHEMA)):
        block = chain.next_block(state, event, now=TIME)
        state = chain.advance(state, dataset.commit(state, block, key=KEY))
    return dataset


def _write_locally(folder: Path, number: int, commits: int) -> tuple[list[Won], int]:
    return _write(LocalStore(folder), number, commits)


def _write(store: Store, number: int, commits: int) -> tuple[list[Won], int]:
    """So many commits of one writer, and how often another one was first."""
    dataset = Dataset(ROOT, store)
    state, won, lost = dataset.state(), [], 0
    while len(won) < commits:
        tag = f"{number}-{len(won)}"
        event = AddData(
            prev_offset=None,
            new_data=None,
            new_watermark=None,
            new_source_state=SourceState(kind=SourceStateKind.LAST_FILE, value=tag),
        )
        try:
            block = chain.next_block(state, event, now=TIME)
            sealed = dataset.commit(state, block, key=KEY)
        except RefConflict:
            lost += 1
            state = _caught_up(dataset, state)
            continue
        state = chain.advance(state, sealed)
        won.append(Won(tag=tag, sequence_number=block.sequence_number, block=sealed.hash))
    return won, lost


def _caught_up(dataset: Dataset, state: DatasetState) -> DatasetState:
    for sealed in dataset.blocks(after=state.head):
        chain.check_append(state, sealed.block)
        state = chain.advance(state, sealed)
    return state


def _judged(dataset: Dataset, told: Sequence[tuple[list[Won], int]]) -> Race:
    """Every acknowledged commit is in the chain, once, at the place that was acknowledged."""
    won = [each for wins, _ in told for each in wins]
    places = Counter(each.sequence_number for each in won)
    wrong = [f"block {place} was won {n} times" for place, n in places.items() if n > 1]
    blocks = dataset.blocks()
    chain.fold(blocks)
    tags = Counter(
        sealed.block.event.new_source_state.value
        for sealed in blocks
        if isinstance(sealed.block.event, AddData) and sealed.block.event.new_source_state
    )
    wrong += [f"{each.tag} is {tags[each.tag]} times there" for each in won if tags[each.tag] != 1]
    at = {sealed.block.sequence_number: sealed.hash for sealed in blocks}
    wrong += [f"{each.tag} was lost" for each in won if at[each.sequence_number] != each.block]
    if sum(tags.values()) != len(won):
        wrong.append(f"{sum(tags.values())} commits are there, {len(won)} were acknowledged")
    return Race(commits=len(won), lost_races=sum(lost for _, lost in told), wrong=tuple(wrong))
