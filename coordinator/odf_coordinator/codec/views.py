"""Blocks as people and programs read them: the stored events, and the form of the 0.15 spec."""

import dataclasses
import enum
import re
from typing import Any, assert_never

from odf_coordinator.codec import ddl
from odf_coordinator.model import event as ev
from odf_coordinator.model.block import SealedBlock
from odf_coordinator.model.identity import BlockHash
from odf_coordinator.model.schema import Array, Decimal, Simple, Struct, Timestamp
from odf_coordinator.model.source import FetchFilesGlob, FetchUrl, PollingSource
from odf_coordinator.model.timeline import Instant, iso

_TIMES = frozenset({"time", "system_time", "watermark", "new_watermark"})


def stored(sealed: SealedBlock) -> dict[str, Any]:
    """A block with its event as it is stored, in camelCase."""
    block = sealed.block
    kind = type(block.event).__name__
    return {
        "blockHash": sealed.hash,
        "prevBlockHash": block.prev_block_hash,
        "sequenceNumber": block.sequence_number,
        "systemTime": iso(block.system_time),
        "event": {"kind": kind[0].lower() + kind[1:], **_object(block.event)},
    }


def spec(sealed: SealedBlock) -> dict[str, Any]:
    """A block as a MetadataBlock of the 0.15 spec."""
    block = sealed.block
    shown: dict[str, Any] = {"blockHash": sealed.hash}
    if block.prev_block_hash is not None:
        shown["prevBlockHash"] = block.prev_block_hash
    shown["systemTime"] = iso(block.system_time)
    event = block.event
    match event:
        case ev.Seed():
            shown["datasetId"] = event.dataset_id
        case ev.SetPollingSource():
            shown["source"] = source(event.source)
        case ev.SetTransform():
            shown["source"] = transform(event)
        case ev.SetDataSchema():
            shown["schema"] = [ddl.print_field(field) for field in event.schema.fields()]
        case ev.AddData():
            shown |= _output(event, block.system_time)
        case ev.ExecuteTransform():
            shown |= _output(event, block.system_time)
            shown["inputSlices"] = [_input_slice(each) for each in event.inputs]
            shown["engine"] = {"name": event.engine.name, "digest": event.engine.image_digest}
        case _:
            assert_never(event)
    return shown


def source(polling: PollingSource) -> dict[str, Any]:
    """A root's source as a manifest writes it."""
    match polling.fetch:
        case FetchUrl(url=url):
            fetch = {"kind": "url", "url": url}
        case FetchFilesGlob(path=path):
            fetch = {"kind": "filesGlob", "path": path}
    return {
        "kind": "root",
        "fetch": fetch,
        "read": {
            "kind": "csv",
            "header": polling.read.header,
            "separator": polling.read.separator,
            "schema": [ddl.print_field(field) for field in polling.read.schema],
        },
        "merge": {"kind": "append"},
    }


def transform(event: ev.SetTransform) -> dict[str, Any]:
    """A derivative's source as a manifest writes it, with identities for names."""
    return {
        "kind": "derivative",
        "inputs": [{"id": each.dataset_id, "alias": each.alias} for each in event.inputs],
        "transform": {
            "engine": event.transform.engine,
            "version": event.engine.image_digest or event.engine.build_id,
            "query": event.transform.query,
        },
    }


def _output(event: ev.AddData | ev.ExecuteTransform, time: Instant) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    if event.new_data is not None:
        shown["outputSlice"] = {
            "hash": event.new_data.logical_hash,
            "interval": f"[{iso(time)}, {iso(time)}]",
            "numRecords": event.new_data.num_records,
        }
    if event.new_watermark is not None:
        shown["outputWatermark"] = iso(event.new_watermark)
    return shown


def _input_slice(interval: ev.InputInterval) -> dict[str, Any]:
    return {
        "datasetId": interval.dataset_id,
        "blocks": f"({_end(interval.prev_block_hash)}, {_end(interval.new_block_hash)}]",
        "offsets": f"({_end(interval.prev_offset)}, {_end(interval.new_offset)}]",
    }


def _end(value: BlockHash | int | None) -> str:
    return "-inf" if value is None else str(value)


def _object(value: Any) -> dict[str, Any]:
    return {
        _camel(field.name): _value(field.name, getattr(value, field.name))
        for field in dataclasses.fields(value)
    }


def _value(name: str, value: Any) -> Any:
    if name in _TIMES and isinstance(value, int):
        return iso(Instant(value))
    if isinstance(value, Simple | Decimal | Timestamp | Array | Struct):
        return ddl.print_type(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple):
        return [_value("", each) for each in value]
    if dataclasses.is_dataclass(value):
        kind = type(value).__name__
        tagged = {"kind": kind} if kind.startswith(("Fetch", "Read", "Merge")) else {}
        return tagged | _object(value)
    return value


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)
