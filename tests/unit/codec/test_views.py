"""Blocks as people and programs read them."""

import json
from typing import Any

import pytest
import yaml
from odf_coordinator.codec import manifest, views
from odf_coordinator.model.block import SealedBlock
from odf_coordinator.model.event import DatasetKind, ExecuteTransform, InputInterval
from odf_coordinator.model.identity import BlockHash, TransactionId
from odf_coordinator.model.source import FetchFilesGlob, PollingSource
from odf_coordinator.model.timeline import Instant, Mark

from tests.builders import (
    OUTPUT_ID,
    PIN,
    ROOT_ID,
    RUN,
    SOURCE,
    TIME,
    TRANSFORM,
    Chain,
    data_slice,
)

_LOGICAL = "1620" + "00" * 32
_INPUT = BlockHash("1620" + "44" * 32)


@pytest.fixture
def root() -> list[SealedBlock]:
    """Seed, source, schema, three rows."""
    built = Chain()
    built.data(3, watermark=1_500_000)
    return built.blocks


@pytest.fixture
def derivative() -> list[SealedBlock]:
    """Seed, transform, schema, a step of two rows."""
    built = Chain(kind=DatasetKind.DERIVATIVE)
    interval = InputInterval(
        dataset_id=ROOT_ID,
        prev_block_hash=None,
        new_block_hash=_INPUT,
        prev_offset=None,
        new_offset=1,
    )
    built.event(
        ExecuteTransform(
            inputs=(interval,),
            prev_offset=None,
            new_data=data_slice(0, 2),
            new_watermark=Instant(0),
            marks=(Mark(offset=1, watermark=Instant(0), time=TIME),),
            engine=RUN,
            transaction_id=TransactionId("1620" + "55" * 32),
        )
    )
    return built.blocks


def test_a_seed_in_the_form_of_the_spec(root: list[SealedBlock]) -> None:
    assert views.spec(root[0]) == {
        "blockHash": root[0].hash,
        "systemTime": "2023-11-14T22:13:20Z",
        "datasetId": ROOT_ID,
    }


def test_a_source_in_the_form_of_the_spec(root: list[SealedBlock]) -> None:
    shown = views.spec(root[1])
    assert list(shown) == ["blockHash", "prevBlockHash", "systemTime", "source"]
    assert shown["prevBlockHash"] == root[0].hash
    assert shown["systemTime"] == "2023-11-14T22:13:20.000001Z"
    assert shown["source"] == {
        "kind": "root",
        "fetch": {"kind": "url", "url": "a.csv"},
        "read": {
            "kind": "csv",
            "header": True,
            "schema": ["event_time TIMESTAMP(3)", "value INT"],
        },
        "merge": {"kind": "append"},
    }


@pytest.mark.parametrize("fetch", [SOURCE.fetch, FetchFilesGlob(path="in/*.csv")])
def test_a_source_as_shown_could_be_added_again(fetch: Any) -> None:
    source = PollingSource(fetch=fetch, read=SOURCE.read, merge=SOURCE.merge)
    document = {
        "kind": "DatasetSnapshot",
        "apiVersion": 1,
        "content": {"id": "a", "source": views.source(source)},
    }
    assert manifest.parse(yaml.safe_dump(document), "m.yaml").snapshot.source == source


def test_a_schema_in_ddl(root: list[SealedBlock]) -> None:
    assert views.spec(root[2])["schema"] == ["event_time TIMESTAMP(3)", "value INT"]


def test_data_in_the_form_of_the_spec(root: list[SealedBlock]) -> None:
    time = "2023-11-14T22:13:20.000003Z"
    assert views.spec(root[3]) == {
        "blockHash": root[3].hash,
        "prevBlockHash": root[2].hash,
        "systemTime": time,
        "outputSlice": {"hash": _LOGICAL, "interval": f"[{time}, {time}]", "numRecords": 3},
        "outputWatermark": "1970-01-01T00:00:01.500Z",
    }


def test_a_block_without_data_shows_no_slice() -> None:
    shown = views.spec(Chain().data(0))
    assert list(shown) == ["blockHash", "prevBlockHash", "systemTime"]


def test_a_transform_in_the_form_of_the_spec(derivative: list[SealedBlock]) -> None:
    assert views.spec(derivative[1])["source"] == {
        "kind": "derivative",
        "inputs": [{"id": ROOT_ID, "alias": "a"}],
        "transform": {
            "engine": "spark",
            "version": PIN.image_digest,
            "query": TRANSFORM.transform.queries[0].query,
        },
    }


def test_a_step_in_the_form_of_the_spec(derivative: list[SealedBlock]) -> None:
    shown = views.spec(derivative[3])
    assert shown["inputSlices"] == [
        {"datasetId": ROOT_ID, "blocks": f"(-inf, {_INPUT}]", "offsets": "(-inf, 1]"}
    ]
    assert shown["outputSlice"]["numRecords"] == 2
    assert shown["outputWatermark"] == "1970-01-01T00:00:00Z"
    assert shown["engine"] == {"name": "spark", "digest": "sha256:d"}


def test_the_stored_form_of_a_step_hides_nothing(derivative: list[SealedBlock]) -> None:
    assert views.stored(derivative[3]) == {
        "blockHash": derivative[3].hash,
        "prevBlockHash": derivative[2].hash,
        "sequenceNumber": 3,
        "systemTime": "2023-11-14T22:13:20.000003Z",
        "event": {
            "kind": "executeTransform",
            "inputs": [
                {
                    "datasetId": ROOT_ID,
                    "prevBlockHash": None,
                    "newBlockHash": _INPUT,
                    "prevOffset": None,
                    "newOffset": 1,
                }
            ],
            "prevOffset": None,
            "prevCheckpoint": None,
            "newData": {
                "logicalHash": _LOGICAL,
                "physicalHash": "1620" + "00" * 32,
                "offsetInterval": {"start": 0, "end": 1},
                "size": 1,
            },
            "newCheckpoint": None,
            "newWatermark": "1970-01-01T00:00:00Z",
            "marks": [
                {
                    "offset": 1,
                    "watermark": "1970-01-01T00:00:00Z",
                    "time": "2023-11-14T22:13:20Z",
                }
            ],
            "lateRows": 0,
            "engine": {
                "name": "spark",
                "buildId": "sha256:b",
                "imageDigest": "sha256:d",
                "runner": "docker",
            },
            "transactionId": "1620" + "55" * 32,
            "migratedFrom": None,
        },
    }


def test_the_stored_form_of_a_source_and_a_schema(root: list[SealedBlock]) -> None:
    source = views.stored(root[1])["event"]["source"]
    fetch = {"kind": "url", "url": "a.csv", "eventTime": None, "cache": None, "headers": []}
    assert source["fetch"] == fetch
    assert source["read"]["schema"][1] == "value INT"
    schema = views.stored(root[2])["event"]["schema"]
    assert schema["columns"][0] == {"id": 1, "name": "event_time", "type": "TIMESTAMP(3)"}
    state = views.stored(root[3])["event"]["newSourceState"]
    assert state == {"kind": "digest", "value": "1"}


def test_both_forms_of_every_block_can_be_printed(
    root: list[SealedBlock], derivative: list[SealedBlock]
) -> None:
    for sealed in root + derivative:
        for shown in (views.spec(sealed), views.stored(sealed)):
            assert json.loads(json.dumps(shown)) == shown
            assert yaml.safe_load(yaml.safe_dump(shown)) == shown
    assert views.spec(derivative[0])["datasetId"] == OUTPUT_ID
