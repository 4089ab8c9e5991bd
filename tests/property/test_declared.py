"""Whatever a manifest can declare survives YAML, block files and the JSON Schemas."""

import jsonschema
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odf_coordinator.codec import block as block_codec
from odf_coordinator.codec import ddl, manifest, views
from odf_coordinator.codec.durations import parse_duration, print_duration
from odf_coordinator.model.block import MetadataBlock
from odf_coordinator.model.event import (
    Event,
    SetAttachments,
    SetInfo,
    SetLicense,
    SetPollingSource,
    SetPushSource,
    SetVocab,
)
from odf_coordinator.model.identity import BlockHash, DatasetRef, parse_ref
from odf_coordinator.model.schema import ColumnType, Field
from odf_coordinator.model.source import DatasetSnapshot, PollingSource, PushSource
from odf_coordinator.model.timeline import Duration, Instant

from tests.builders import sealed
from tests.property.declared import DURATIONS, NAMES, REFS, SNAPSHOTS, TEXTS, TYPES

_MANIFESTS = jsonschema.Draft202012Validator(manifest.schema())
_BLOCKS = jsonschema.Draft202012Validator(views.stored_schema())
_SLOW = settings(suppress_health_check=[HealthCheck.too_slow], max_examples=200, deadline=None)


@_SLOW
@given(SNAPSHOTS)
def test_a_dataset_printed_as_a_manifest_is_read_back(snapshot: DatasetSnapshot) -> None:
    text = manifest.print_manifest(snapshot)
    assert manifest.parse(text, "m.yaml").snapshot == snapshot
    _MANIFESTS.validate(yaml.safe_load(text))


def _events(snapshot: DatasetSnapshot) -> list[Event]:
    found: list[Event] = [SetVocab(vocabulary=snapshot.vocab)]
    if isinstance(snapshot.source, PollingSource):
        found.append(SetPollingSource(source=snapshot.source))
    if isinstance(snapshot.source, PushSource):
        found.append(SetPushSource(source=snapshot.source))
    if snapshot.info is not None:
        found.append(SetInfo(info=snapshot.info))
    if snapshot.license is not None:
        found.append(SetLicense(license=snapshot.license))
    return [*found, SetAttachments(attachments=snapshot.attachments)]


@_SLOW
@given(SNAPSHOTS)
def test_a_dataset_recorded_in_blocks_is_read_back(snapshot: DatasetSnapshot) -> None:
    for event in _events(snapshot):
        block = MetadataBlock(
            prev_block_hash=BlockHash("1620"),
            sequence_number=1,
            system_time=Instant(5),
            event=event,
        )
        stored = sealed(block)
        file = block_codec.encode_file(stored.payload, stored.signature)
        assert block_codec.decode_file(file, stored.hash).block == block
        _BLOCKS.validate(views.stored(stored))


@given(TYPES, TEXTS)
def test_columns_in_ddl_are_read_back(column_type: ColumnType, name: str) -> None:
    assert ddl.parse_type(ddl.print_type(column_type)) == column_type
    field = Field(name=name, type=column_type)
    assert ddl.parse_field(ddl.print_field(field)) == field


@given(st.just(Duration(0)) | DURATIONS)
def test_lengths_of_time_are_read_back(duration: Duration) -> None:
    assert parse_duration(print_duration(duration)) == duration


@given(REFS | NAMES.map(lambda name: DatasetRef(dataset=name)))
def test_references_are_read_back(ref: DatasetRef) -> None:
    assert parse_ref(str(ref)) == ref
