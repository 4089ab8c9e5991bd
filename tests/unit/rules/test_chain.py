"""What may come next in a chain."""

from dataclasses import replace
from typing import Any

import pytest
from odf_coordinator.errors import InvalidBlock
from odf_coordinator.model.event import (
    AddData,
    DatasetKind,
    ExecuteTransform,
    InputInterval,
    Seed,
    SetDataSchema,
    SetTransform,
)
from odf_coordinator.model.identity import BlockHash, TransactionId
from odf_coordinator.model.schema import Column, Schema, Simple
from odf_coordinator.model.timeline import Instant, Mark
from odf_coordinator.rules import chain

from tests.builders import OUTPUT_ID, ROOT_ID, RUN, SCHEMA, TIME, TRANSFORM, Chain, data_slice


def test_a_chain_folds_to_its_state() -> None:
    built = Chain()
    built.data(3, watermark=50)
    built.data(2, watermark=60)
    state = built.state
    assert (state.last_offset, state.next_offset, state.watermark) == (4, 5, 60)
    assert state.last_mark == Mark(offset=4, watermark=Instant(60), time=state.system_time)
    assert state.sequence_number == 4


def _add(state: chain.DatasetState, **changes: Any) -> AddData:
    event = AddData(
        prev_offset=state.last_offset,
        new_data=data_slice(state.next_offset, 1),
        new_watermark=Instant(70),
        new_source_state=state.source_state,
    )
    return replace(event, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prev_offset": 7}, "previous offset"),
        ({"new_data": data_slice(9, 1)}, "rows start at 9"),
        ({"new_watermark": Instant(1)}, "watermark goes back"),
        ({"new_watermark": None}, "watermark goes back"),
        ({"new_data": None, "new_watermark": Instant(50)}, "nothing was added"),
    ],
)
def test_data_that_breaks_a_rule_is_refused(changes: dict[str, Any], message: str) -> None:
    built = Chain()
    built.data(3, watermark=50)
    block = chain.next_block(built.state, _add(built.state, **changes), now=TIME)
    with pytest.raises(InvalidBlock, match=message):
        chain.check_append(built.state, block)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prev_block_hash": BlockHash("other")}, "follows other"),
        ({"sequence_number": 9}, "expected number 3"),
        ({"system_time": Instant(1)}, "system time goes back"),
        ({"event": Seed(dataset_id=ROOT_ID, dataset_kind=DatasetKind.ROOT)}, "one seed"),
        ({"event": TRANSFORM}, "SetTransform in a root"),
    ],
)
def test_a_block_out_of_place_is_refused(changes: dict[str, Any], message: str) -> None:
    built = Chain()
    block = replace(chain.next_block(built.state, _add(built.state), now=TIME), **changes)
    with pytest.raises(InvalidBlock, match=message):
        chain.check_append(built.state, block)


def test_a_chain_starts_with_its_seed() -> None:
    built = Chain()
    block = replace(built.blocks[1].block, prev_block_hash=None, sequence_number=0)
    with pytest.raises(InvalidBlock, match="starts with its seed"):
        chain.check_append(None, block)


@pytest.mark.parametrize(
    "columns",
    [
        SCHEMA.columns[:1],
        (SCHEMA.columns[0], replace(SCHEMA.columns[1], name="other")),
        (SCHEMA.columns[0], replace(SCHEMA.columns[1], type=Simple.BIGINT)),
    ],
)
def test_a_schema_only_grows(columns: tuple[Column, ...]) -> None:
    built = Chain()
    event = SetDataSchema(schema=Schema(columns=columns))
    with pytest.raises(InvalidBlock, match="removed, renamed"):
        built.event(event)
    added = Column(id=3, name="more", type=Simple.INT)
    built.event(SetDataSchema(schema=Schema(columns=(*SCHEMA.columns, added))))


def _step(**changes: Any) -> ExecuteTransform:
    event = ExecuteTransform(
        inputs=(
            InputInterval(
                dataset_id=ROOT_ID,
                prev_block_hash=None,
                new_block_hash=BlockHash("in"),
                prev_offset=None,
                new_offset=1,
            ),
        ),
        prev_offset=None,
        new_data=data_slice(0, 2),
        new_watermark=Instant(5),
        marks=(Mark(offset=1, watermark=Instant(5), time=TIME),),
        engine=RUN,
        transaction_id=TransactionId("t"),
    )
    return replace(event, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": ()}, "not those of the transform"),
        ({"marks": ()}, "last mark"),
        (
            {
                "marks": (
                    Mark(offset=0, watermark=Instant(7), time=TIME),
                    Mark(offset=1, watermark=Instant(5), time=TIME),
                )
            },
            "marks go back",
        ),
        ({"marks": (Mark(offset=0, watermark=Instant(5), time=TIME),)}, "last mark"),
        ({"marks": (Mark(offset=1, watermark=Instant(4), time=TIME),)}, "last mark"),
        ({"new_data": data_slice(1, 2)}, "rows start at 1"),
        ({"inputs": (replace(_step().inputs[0], prev_block_hash=BlockHash("x")),)}, "not continue"),
        ({"inputs": (replace(_step().inputs[0], new_block_hash=None),)}, "nothing was consumed"),
    ],
)
def test_a_step_that_breaks_a_rule_is_refused(changes: dict[str, Any], message: str) -> None:
    built = Chain(kind=DatasetKind.DERIVATIVE)
    with pytest.raises(InvalidBlock, match=message):
        built.event(_step(**changes))


def test_the_next_step_continues_where_the_last_one_stopped() -> None:
    built = Chain(kind=DatasetKind.DERIVATIVE)
    built.event(_step())
    again = _step(
        prev_offset=1,
        new_data=None,
        marks=(),
        inputs=(replace(_step().inputs[0], new_block_hash=BlockHash("later")),),
    )
    with pytest.raises(InvalidBlock, match="does not continue"):
        built.event(again)
    follows = replace(again.inputs[0], prev_block_hash=BlockHash("in"), prev_offset=1, new_offset=1)
    built.event(replace(again, inputs=(follows,)))
    assert built.state.dataset_id == OUTPUT_ID


def test_a_transform_that_did_not_change_is_refused() -> None:
    built = Chain(kind=DatasetKind.DERIVATIVE)
    with pytest.raises(InvalidBlock, match="did not change"):
        built.event(
            SetTransform(
                inputs=TRANSFORM.inputs, transform=TRANSFORM.transform, engine=TRANSFORM.engine
            )
        )
