"""Blocks as people and programs read them: the stored events, and the form of the 0.15 spec."""

from typing import Any, assert_never

from odf_coordinator.codec import ddl, json_schema, plain
from odf_coordinator.codec.durations import print_duration
from odf_coordinator.codec.manifest_shape import SHAPE
from odf_coordinator.codec.plain import NotThat, Shape, Text
from odf_coordinator.model import event as ev
from odf_coordinator.model.block import MetadataBlock, SealedBlock
from odf_coordinator.model.identity import BlockHash
from odf_coordinator.model.schema import ColumnType, Field
from odf_coordinator.model.source import PollingSource, PushSource
from odf_coordinator.model.timeline import Duration, Instant, iso

_EVENTS = (
    ev.Seed,
    ev.SetPollingSource,
    ev.SetTransform,
    ev.SetDataSchema,
    ev.AddData,
    ev.ExecuteTransform,
    ev.SetPushSource,
    ev.SetVocab,
    ev.SetInfo,
    ev.SetLicense,
    ev.SetAttachments,
    ev.DeprecateEngine,
)


def _never(text: str) -> Any:
    raise NotThat(f"blocks are not read from text: {text}")


def _shown(write: Any, **schema: Any) -> Text:
    return Text(parse=_never, write=write, schema=schema)


_STORED = Shape(
    tags={
        **SHAPE.tags,
        **{event: (event.__name__[0].lower() + event.__name__[1:],) for event in _EVENTS},
    },
    texts={
        Instant: _shown(iso, format="date-time"),
        Duration: _shown(print_duration),
        ColumnType: _shown(ddl.print_type),
        Field: _shown(ddl.print_field),
    },
    all_fields=True,
)


def stored(sealed: SealedBlock) -> dict[str, Any]:
    """A block with its event as it is stored, in camelCase; every field is there."""
    block: dict[str, Any] = plain.write(_STORED, sealed.block)
    return {"blockHash": sealed.hash, **block}


def stored_schema() -> dict[str, Any]:
    """The JSON Schema of what `stored` gives."""
    _, definitions = json_schema.of(_STORED, MetadataBlock)
    block = definitions.pop("MetadataBlock")
    properties = {"blockHash": {"type": "string"}, **block["properties"]}
    return {
        "$schema": json_schema.DIALECT,
        "title": "odf block",
        **block,
        "properties": properties,
        "required": ["blockHash", *block["required"]],
        "$defs": definitions,
    }


def spec(sealed: SealedBlock) -> dict[str, Any]:
    """A block as a MetadataBlock of the 0.15 spec."""
    block = sealed.block
    shown: dict[str, Any] = {"blockHash": sealed.hash}
    if block.prev_block_hash is not None:
        shown["prevBlockHash"] = block.prev_block_hash
    shown["systemTime"] = iso(block.system_time)
    return shown | _spec_event(block.event, block.system_time)


def _spec_event(  # noqa: C901, PLR0911, PLR0912 one arm an event
    event: ev.Event, time: Instant
) -> dict[str, Any]:
    match event:
        case ev.Seed():
            return {"datasetId": event.dataset_id}
        case ev.SetPollingSource() | ev.SetPushSource():
            return {"source": source(event.source)}
        case ev.SetTransform():
            return {"source": transform(event)}
        case ev.SetDataSchema():
            return {"schema": [ddl.print_field(field) for field in event.schema.fields()]}
        case ev.SetVocab():
            return {"vocab": plain.write(_STORED, event.vocabulary)}
        case ev.SetInfo():
            return {"info": plain.write(SHAPE, event.info)}
        case ev.SetLicense():
            return {"license": plain.write(SHAPE, event.license)}
        case ev.SetAttachments():
            return {"attachments": [plain.write(SHAPE, each) for each in event.attachments]}
        case ev.AddData():
            return _output(event, time)
        case ev.ExecuteTransform():
            engine = {"name": event.engine.name, "digest": event.engine.image_digest}
            inputs = [_input_slice(each) for each in event.inputs]
            return _output(event, time) | {"inputSlices": inputs, "engine": engine}
        case ev.DeprecateEngine():
            return {"deprecateEngine": plain.write(_STORED, event)}
        case _:
            assert_never(event)


def source(declared: PollingSource | PushSource) -> dict[str, Any]:
    """A root's source as a manifest writes it."""
    written: dict[str, Any] = plain.write(SHAPE, declared)
    return written


def transform(event: ev.SetTransform) -> dict[str, Any]:
    """A derivative's source as a manifest writes it, with identities for names."""
    inputs = []
    for each in event.inputs:
        shown = {"id": each.dataset_id, "alias": each.alias}
        inputs.append(shown | ({"view": each.view.value} if each.view else {}))
    declared = plain.write(SHAPE, event.transform)
    version = event.engine.image_digest or event.engine.build_id
    written = {"engine": declared.pop("engine"), **declared, "version": version}
    return {"kind": "derivative", "inputs": inputs, "transform": written}


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
