"""Whatever the index is, young, old, damaged or another's: the state is that of the plain fold."""

from hypothesis import given, settings
from hypothesis import strategies as st
from odf_coordinator.dataset import Dataset
from odf_coordinator.model.event import (
    DatasetKind,
    ExecuteTransform,
    InputInterval,
    SetDataSchema,
    SetPollingSource,
    SetTransform,
)
from odf_coordinator.model.identity import BlockHash, DatasetName, TransactionId
from odf_coordinator.model.schema import Column, Schema, Simple
from odf_coordinator.model.source import FetchUrl, PollingSource, SqlQuery, Transform
from odf_coordinator.model.timeline import Instant, Mark
from odf_coordinator.ports import Store
from odf_coordinator.rules import chain, indexing
from odf_coordinator.rules.indexing import Pace
from odf_coordinator.storage.memory import MemoryStore

from tests.builders import ROOT_ID, RUN, SCHEMA, SOURCE, TRANSFORM, Chain, data_slice, stored

NAME = DatasetName("org.example.a")
PACES = st.builds(Pace, lag=st.integers(1, 4), segment=st.integers(1, 5))
NUMBERS = st.integers(0, 10_000)


def _grow_root(chain_: Chain, choice: int, rows: int, moves: bool) -> None:
    state = chain_.state
    if choice == 0:
        _grow_schema(chain_, rows)
    elif choice == 1:
        source = PollingSource(
            fetch=FetchUrl(url=f"{state.sequence_number}.csv"), read=SOURCE.read, merge=SOURCE.merge
        )
        chain_.event(SetPollingSource(source=source))
    else:
        chain_.data(rows, watermark=(state.watermark or 0) + 1 if moves else None)


def _grow_derivative(chain_: Chain, choice: int, rows: int, moves: bool) -> None:
    state = chain_.state
    if choice == 0:
        _grow_schema(chain_, rows)
    elif choice == 1:
        query = f"select {state.sequence_number}"
        chain_.event(
            SetTransform(
                inputs=TRANSFORM.inputs,
                transform=Transform(engine="spark", queries=(SqlQuery(query=query),)),
                engine=TRANSFORM.engine,
            )
        )
    else:
        _step(chain_, rows, moves)


def _grow_schema(chain_: Chain, rows: int) -> None:
    kept = (chain_.state.schema or SCHEMA).columns
    new = Column(id=len(kept) + 1, name=f"c{len(kept)}_{rows}", type=Simple.INT)
    chain_.event(SetDataSchema(schema=Schema(columns=(*kept, new))))


def _step(chain_: Chain, rows: int, moves: bool) -> None:
    """A step with rows or without, which moves the watermark or does not."""
    state = chain_.state
    before = state.inputs[0] if state.inputs else None
    offset = state.next_offset + rows - 1
    watermark = Instant((state.watermark or 0) + 1) if moves else state.watermark
    mark = Mark(offset=offset, watermark=watermark, time=Instant(state.system_time + 1))
    consumed = InputInterval(
        dataset_id=ROOT_ID,
        prev_block_hash=before.new_block_hash if before else None,
        new_block_hash=BlockHash(f"1620{state.sequence_number:064x}"),
        prev_offset=before.new_offset if before else None,
        new_offset=state.sequence_number,
    )
    chain_.event(
        ExecuteTransform(
            inputs=(consumed,),
            prev_offset=state.last_offset,
            new_data=data_slice(state.next_offset, rows) if rows else None,
            new_watermark=watermark,
            marks=(mark,) if rows or moves else (),
            engine=RUN,
            transaction_id=TransactionId(f"1620{state.sequence_number:064x}"),
        )
    )


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    """A root or a derivative with all that can happen to it, in any order."""
    kind = draw(st.sampled_from(DatasetKind))
    grow = _grow_root if kind is DatasetKind.ROOT else _grow_derivative
    built = Chain(kind=kind)
    choices = st.tuples(st.integers(0, 6), st.integers(0, 2), st.booleans())
    for choice, rows, moves in draw(st.lists(choices, max_size=10)):
        grow(built, choice, rows, moves)
    return built


def _damage(store: Store, how: int, where: int) -> None:
    """Something happens to one file of the index, or nothing does."""
    keys = store.list("info/")
    if not keys:
        return
    key = keys[where % len(keys)]
    whole = store.get(key)
    at = where % len(whole)
    match how:
        case 0:
            store.delete(key)
        case 1:
            store.put(key, whole[:at])
        case 2:
            store.put(key, whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        case 3:
            store.put(key, store.get(keys[-1]))
        case _:
            pass


def _open(store: Store, pace: Pace) -> Dataset:
    return Dataset(NAME, store, pace=pace)


@given(chain_=chains())
def test_the_last_block_of_each_role_gives_the_state(chain_: Chain) -> None:
    last = {indexing.role(each.block.event): each for each in chain_.blocks}
    ordered = sorted(last.values(), key=lambda each: each.block.sequence_number)
    assert indexing.restore(ordered) == chain_.state


@settings(max_examples=200, deadline=None)
@given(
    chain_=chains(), pace=PACES, ages=st.lists(st.tuples(NUMBERS, st.integers(0, 5), NUMBERS)),
    seen=NUMBERS,
)  # fmt: skip
def test_an_index_of_any_age_and_damage_changes_nothing(
    chain_: Chain, pace: Pace, ages: list[tuple[int, int, int]], seen: int
) -> None:
    store, blocks = MemoryStore(), chain_.blocks
    for age, how, where in ages:  # the head goes forth and back: some indices are beyond the chain
        stored(chain_, store, upto=age % len(blocks))
        _open(store, pace).state()
        _damage(store, how, where)
    at = seen % len(blocks)
    stored(chain_, store, upto=at)
    dataset = _open(store, pace)
    assert dataset.state() == chain.fold(blocks[: at + 1])
    for number in range(at + 1):
        upto = blocks[number].hash
        assert dataset.state(upto=upto) == chain.fold(blocks[: number + 1])
    assert dataset.blocks() == blocks[: at + 1]
    assert [sealed for sealed, _ in dataset.slices()] == [
        each for each in blocks[: at + 1] if getattr(each.block.event, "new_data", None)
    ]


@settings(deadline=None)
@given(ours=chains(), theirs=chains(), pace=PACES)
def test_the_index_of_another_chain_is_not_believed(ours: Chain, theirs: Chain, pace: Pace) -> None:
    store = MemoryStore()
    for each in (theirs, ours):
        stored(each, store)
        assert _open(store, pace).state() == each.state
    assert _open(store, pace).state() == ours.state


@settings(deadline=None)
@given(chain_=chains(), pace=PACES)
def test_the_same_chain_gives_the_same_index_in_steps_and_at_once(
    chain_: Chain, pace: Pace
) -> None:
    at_once, in_steps = MemoryStore(), MemoryStore()
    pace = Pace(lag=1, segment=pace.segment)
    for number in range(len(chain_.blocks)):
        stored(chain_, in_steps, upto=number)
        _open(in_steps, pace).state()
    stored(chain_, at_once)
    _open(at_once, pace).state()
    keys = at_once.list("info/")
    assert keys == in_steps.list("info/")
    assert [at_once.get(key) for key in keys] == [in_steps.get(key) for key in keys]
