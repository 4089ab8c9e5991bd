"""Plans as bytes: the same plan, the same bytes, the same id, for ever."""

import json
from dataclasses import replace

import pytest
from odf_coordinator.codec import plan as plan_codec
from odf_coordinator.errors import IntegrityError
from odf_coordinator.model.event import EnginePin, InputInterval
from odf_coordinator.model.identity import BlockHash
from odf_coordinator.model.plan import Batch
from odf_coordinator.model.timeline import Instant, Mark
from odf_coordinator.rules import hashing

from tests.builders import OUTPUT_ID, ROOT_ID, TIME

BATCH = Batch(
    dataset_id=OUTPUT_ID,
    expected_head=BlockHash("1620" + "11" * 32),
    transform_block=BlockHash("1620" + "22" * 32),
    engine=EnginePin(build_id="sha256:b", image_digest="sha256:d"),
    inputs=(
        InputInterval(
            dataset_id=ROOT_ID,
            prev_block_hash=None,
            new_block_hash=BlockHash("1620" + "33" * 32),
            prev_offset=None,
            new_offset=4,
        ),
    ),
    next_offset=0,
    previous_mark=None,
    system_time=TIME,
)
LATER = replace(
    BATCH,
    engine=EnginePin(build_id="sha256:b", image_digest=None),
    inputs=(*BATCH.inputs, replace(BATCH.inputs[0], prev_offset=0, new_block_hash=None)),
    next_offset=5,
    previous_mark=Mark(offset=4, watermark=None, time=TIME),
)
BYTES = (
    b'{"dataset_id":"did:odf:fed01' + b"bb" * 32 + b'",'
    b'"engine":{"build_id":"sha256:b","image_digest":"sha256:d"},'
    b'"expected_head":"1620' + b"11" * 32 + b'",'
    b'"inputs":[{"dataset_id":"did:odf:fed01' + b"aa" * 32 + b'","new_block_hash":"1620'
    + b"33" * 32
    + b'","new_offset":4,"prev_block_hash":null,"prev_offset":null}],'
    b'"next_offset":0,"previous_mark":null,"system_time":1700000000000000,'
    b'"transform_block":"1620' + b"22" * 32 + b'"}'
)  # fmt: skip
ID = "162048b6cf246dfca2e7bb7e78b73814916c8358365df5bb3043b305eff58b51c057"


@pytest.mark.parametrize("batch", [BATCH, LATER])
def test_a_plan_comes_back_as_it_was(batch: Batch) -> None:
    data = plan_codec.encode(batch)
    assert plan_codec.decode(data) == batch
    assert plan_codec.encode(plan_codec.decode(data)) == data


def test_the_bytes_of_a_plan_are_canonical() -> None:
    assert plan_codec.encode(BATCH) == BYTES
    assert hashing.transaction_id(BYTES) == ID


@pytest.mark.parametrize(
    "other",
    [
        replace(BATCH, system_time=Instant(TIME + 1)),
        replace(BATCH, next_offset=1),
        replace(BATCH, inputs=()),
        replace(BATCH, previous_mark=Mark(offset=-1, watermark=None, time=TIME)),
        replace(BATCH, engine=EnginePin(build_id="sha256:b", image_digest=None)),
    ],
)
def test_another_plan_has_another_id(other: Batch) -> None:
    assert hashing.transaction_id(plan_codec.encode(other)) != ID


def test_every_part_of_a_plan_is_stored() -> None:
    stored = json.loads(plan_codec.encode(LATER))
    assert set(stored) == set(Batch.__slots__)
    assert set(stored["previous_mark"]) == set(Mark.__slots__)
    assert set(stored["inputs"][0]) == set(InputInterval.__slots__)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{}",
        b"\xff",
        BYTES[:-1],
        BYTES.replace(b'"engine":{', b'"engine":{"more":1,'),
        BYTES.replace(b'"inputs":[', b'"inputs":[1,'),
        BYTES.replace(b'"inputs":', b'"outputs":'),
    ],
)
def test_bytes_that_are_no_plan_are_told_with_the_way_out(data: bytes) -> None:
    with pytest.raises(IntegrityError, match="a saved plan is damaged") as caught:
        plan_codec.decode(data)
    assert ".odf/plans" in caught.value.hint
