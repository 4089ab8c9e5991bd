"""Known blocks have the bytes that they always had, and are read back as the same values."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from odf_coordinator.codec import block as block_codec
from odf_coordinator.errors import InvalidBlock, NeedsNewer
from odf_coordinator.model.block import MetadataBlock
from odf_coordinator.model.event import (
    AddData,
    Checkpoint,
    DatasetKind,
    DataSlice,
    DeprecateEngine,
    EnginePin,
    EngineRun,
    Event,
    ExecuteTransform,
    InputInterval,
    Seed,
    SetAttachments,
    SetDataSchema,
    SetInfo,
    SetLicense,
    SetPollingSource,
    SetPushSource,
    SetTransform,
    SetVocab,
    SourceState,
    SourceStateKind,
)
from odf_coordinator.model.identity import (
    BlockHash,
    DatasetId,
    LogicalHash,
    PhysicalHash,
    TransactionId,
)
from odf_coordinator.model.schema import (
    Array,
    Column,
    Decimal,
    Field,
    Schema,
    Simple,
    Struct,
    StructField,
    Timestamp,
    Vocabulary,
)
from odf_coordinator.model.source import (
    Attachment,
    CacheForever,
    Compression,
    DatasetInfo,
    EventTimeFromPath,
    FetchFilesGlob,
    FetchUrl,
    InputView,
    LateCorrect,
    License,
    MergeAppend,
    MergeLedger,
    MergeSnapshot,
    OnChanged,
    OnError,
    PollingSource,
    PrepDecompress,
    PrepPipe,
    PushSource,
    ReadCsv,
    ReadJsonLines,
    RequestHeader,
    SqlQuery,
    TemporalTable,
    Transform,
    TransformInput,
    WatermarkRule,
)
from odf_coordinator.model.timeline import Duration, Instant, Mark, OffsetInterval
from odf_coordinator.rules import chain, hashing, signing

from tests.builders import sealed

FOLDER = Path(__file__).parent
TIME = Instant(1_700_000_000_000_000)
ROOT_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
DERIVATIVE_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32, 64)))
ROOT_ID, DERIVATIVE_ID = signing.dataset_id(ROOT_KEY), signing.dataset_id(DERIVATIVE_KEY)
OTHER_ID = DatasetId("did:odf:fed01" + "b6" * 32)

_FIELDS = (
    Field(name="event_time", type=Timestamp(precision=3)),
    Field(name="città", type=Simple.STRING),
    Field(name="price", type=Decimal(precision=10, scale=2)),
)
_READ = ReadCsv(schema=_FIELDS, header=True, separator=";")
_COLUMNS = tuple(Column(id=n, name=f.name, type=f.type) for n, f in enumerate(_FIELDS, start=1))
_NESTED = Array(
    item=Struct(
        fields=(
            StructField(name="a", type=Simple.BIGINT),
            StructField(name="b c", type=Timestamp(precision=6)),
        )
    )
)


_PIN = EnginePin(build_id="sha256:" + "4d" * 32, image_digest="sha256:" + "5e" * 32)
_RUN = EngineRun(
    name="spark", build_id="sha256:" + "4d" * 32, image_digest=None, runner="bubblewrap"
)


def _slice(start: int, end: int, size: int) -> DataSlice:
    return DataSlice(
        logical_hash=LogicalHash("1620" + "1a" * 32),
        physical_hash=PhysicalHash("1620" + "2b" * 32),
        offset_interval=OffsetInterval(start=start, end=end),
        size=size,
    )


ROOT_EVENTS: dict[str, Event] = {
    "root-0-seed": Seed(dataset_id=ROOT_ID, dataset_kind=DatasetKind.ROOT),
    "root-1-set-vocab": SetVocab(
        vocabulary=Vocabulary(event_time_column="event_time", offset_column="n")
    ),
    "root-2-set-polling-source": SetPollingSource(
        source=PollingSource(fetch=FetchUrl(url="cities.csv"), read=_READ, merge=MergeAppend())
    ),
    "root-3-set-data-schema": SetDataSchema(schema=Schema(columns=_COLUMNS)),
    "root-4-add-data": AddData(
        prev_offset=None,
        new_data=_slice(0, 9, 1234),
        new_watermark=Instant(TIME - 1),
        new_source_state=SourceState(kind=SourceStateKind.DIGEST, value="1620" + "3c" * 32),
    ),
    "root-5-set-polling-source": SetPollingSource(
        source=PollingSource(
            fetch=FetchFilesGlob(path="in/*.csv"),
            read=ReadCsv(schema=_FIELDS, header=False, separator=","),
            merge=MergeAppend(),
        )
    ),
    "root-6-add-data": AddData(
        prev_offset=9,
        new_data=None,
        new_watermark=Instant(TIME),
        new_source_state=SourceState(kind=SourceStateKind.LAST_FILE, value="2024.csv"),
    ),
    "root-7-set-polling-source": SetPollingSource(
        source=PollingSource(
            fetch=FetchUrl(
                url="https://example.org/cities.zip",
                event_time=EventTimeFromPath(pattern=r"(\d{8})", timestamp_format="%Y%m%d"),
                cache=CacheForever(),
                headers=(RequestHeader(name="X-Key", value="${secret.KEY}"),),
            ),
            prepare=(
                PrepDecompress(format=Compression.ZIP, sub_path="a.ndjson"),
                PrepPipe(command=("jq", "-c", ".")),
            ),
            read=ReadJsonLines(schema=_FIELDS, on_error=OnError.QUARANTINE),
            preprocess=Transform(engine="spark", queries=(SqlQuery(query="SELECT * FROM input"),)),
            merge=MergeSnapshot(primary_key=("città",), compare_columns=("price",)),
            watermark=WatermarkRule(max_event_time_minus=Duration(86_400_000_000)),
        )
    ),
    "root-8-set-push-source": SetPushSource(
        source=PushSource(
            read=ReadCsv(schema=_FIELDS, null_value="NA", comment="#"),
            merge=MergeLedger(primary_key=("città",), on_changed=OnChanged.CORRECT),
        )
    ),
    "root-9-add-data": AddData(
        prev_offset=9,
        new_data=None,
        new_watermark=Instant(TIME),
        new_source_state=None,
        ignored=3,
        quarantined=2,
        engine=_RUN,
        push_keys=("a", "b"),
    ),
    "root-10-set-info": SetInfo(info=DatasetInfo(description="Cities", keywords=("a", "b"))),
    "root-11-set-license": SetLicense(
        license=License(short_name="CC0", name="CC0 1.0", website_url="https://example.org/cc0")
    ),
    "root-12-set-attachments": SetAttachments(
        attachments=(Attachment(path="README.md", content="# Cities\n"),)
    ),
}
DERIVATIVE_EVENTS: dict[str, Event] = {
    "derivative-0-seed": Seed(dataset_id=DERIVATIVE_ID, dataset_kind=DatasetKind.DERIVATIVE),
    "derivative-1-set-transform": SetTransform(
        inputs=(TransformInput(dataset_id=ROOT_ID, alias="cities"),),
        transform=Transform(
            engine="spark", queries=(SqlQuery(query="SELECT event_time, xs FROM cities"),)
        ),
        engine=_PIN,
    ),
    "derivative-2-set-data-schema": SetDataSchema(
        schema=Schema(columns=(_COLUMNS[0], Column(id=2, name="xs", type=_NESTED)))
    ),
    "derivative-3-execute-transform": ExecuteTransform(
        inputs=(
            InputInterval(
                dataset_id=ROOT_ID,
                prev_block_hash=None,
                new_block_hash=BlockHash("1620" + "6f" * 32),
                prev_offset=None,
                new_offset=9,
            ),
        ),
        prev_offset=None,
        new_data=_slice(0, 4, 4321),
        new_watermark=Instant(TIME),
        marks=(
            Mark(offset=-1, watermark=None, time=TIME),
            Mark(offset=4, watermark=Instant(TIME), time=Instant(TIME + 1)),
        ),
        engine=_RUN,
        transaction_id=TransactionId("1620" + "70" * 32),
    ),
    "derivative-4-deprecate-engine": DeprecateEngine(
        old_engine=_PIN,
        new_engine=EnginePin(build_id="sha256:" + "81" * 32, image_digest=None),
        first_block=BlockHash("1620" + "92" * 32),
        last_block=BlockHash("1620" + "93" * 32),
    ),
    "derivative-5-set-transform": SetTransform(
        inputs=(
            TransformInput(dataset_id=ROOT_ID, alias="cities", view=InputView.LOG),
            TransformInput(dataset_id=OTHER_ID, alias="rates"),
        ),
        transform=Transform(
            engine="spark",
            version="sha256:" + "5e" * 32,
            queries=(
                SqlQuery(query="SELECT * FROM cities", alias="c"),
                SqlQuery(query="SELECT event_time, xs FROM c"),
            ),
            temporal_tables=(TemporalTable(id="rates", primary_key=("currency",)),),
            late_data=LateCorrect(horizon=Duration(7 * 86_400_000_000)),
        ),
        engine=_PIN,
    ),
    "derivative-6-execute-transform": ExecuteTransform(
        inputs=(
            InputInterval(
                dataset_id=ROOT_ID,
                prev_block_hash=BlockHash("1620" + "6f" * 32),
                new_block_hash=BlockHash("1620" + "6f" * 32),
                prev_offset=9,
                new_offset=9,
            ),
            InputInterval(
                dataset_id=OTHER_ID,
                prev_block_hash=None,
                new_block_hash=None,
                prev_offset=None,
                new_offset=None,
            ),
        ),
        prev_offset=4,
        new_data=None,
        new_checkpoint=Checkpoint(physical_hash=PhysicalHash("1620" + "a4" * 32), size=77),
        new_watermark=Instant(TIME),
        marks=(),
        late_rows=5,
        engine=_RUN,
        transaction_id=TransactionId("1620" + "71" * 32),
        migrated_from=BlockHash("1620" + "95" * 32),
    ),
}
NAMES = (*ROOT_EVENTS, *DERIVATIVE_EVENTS)


def files() -> dict[str, tuple[bytes, MetadataBlock]]:
    """Each block as a file, and as a value; two chains, each block after the one before it."""
    found = {}
    for key, events in ((ROOT_KEY, ROOT_EVENTS), (DERIVATIVE_KEY, DERIVATIVE_EVENTS)):
        state = None
        for number, (name, event) in enumerate(events.items()):
            block = MetadataBlock(
                prev_block_hash=state.head if state else None,
                sequence_number=number,
                system_time=Instant(TIME + number),
                event=event,
            )
            chain.check_append(state, block)
            payload = block_codec.encode_payload(block)
            signature = signing.sign(key, payload)
            found[name] = (block_codec.encode_file(payload, signature), block)
            state = chain.advance(state, sealed(block, signature))
    return found


def _stored(name: str) -> bytes:
    return (FOLDER / f"{name}.block").read_bytes()


def test_there_is_a_file_of_every_kind_of_event() -> None:
    kinds = {type(event) for event in (*ROOT_EVENTS.values(), *DERIVATIVE_EVENTS.values())}
    assert kinds == set(Event.__args__)
    assert {path.stem for path in FOLDER.glob("*.block")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_block_is_written_with_exactly_these_bytes(name: str) -> None:
    file, _ = files()[name]
    assert file == _stored(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_block_is_read_as_the_same_value(name: str) -> None:
    data = _stored(name)
    _, block = files()[name]
    found = block_codec.decode_file(data, hashing.block_hash(data))
    assert found.block == block
    assert block_codec.encode_file(found.payload, found.signature) == data
    signer = ROOT_ID if name in ROOT_EVENTS else DERIVATIVE_ID
    signing.check(signer, found.payload, found.signature)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_with_one_flipped_byte_is_refused(name: str) -> None:
    data = _stored(name)
    expected = hashing.block_hash(data)
    for at in range(len(data)):
        damaged = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        with pytest.raises(InvalidBlock):
            block_codec.decode_file(damaged, expected)


def _open_signed(data: bytes, signer: DatasetId) -> None:
    found = block_codec.decode_file(data, hashing.block_hash(data))
    signing.check(signer, found.payload, found.signature)


@pytest.mark.parametrize("name", NAMES)
def test_a_flipped_byte_under_its_own_hash_is_no_signed_block(name: str) -> None:
    data, signer = _stored(name), ROOT_ID if name in ROOT_EVENTS else DERIVATIVE_ID
    original = block_codec.decode_file(data, hashing.block_hash(data))
    start = data.index(original.payload)
    for at in range(start, start + len(original.payload)):
        damaged = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        with pytest.raises((InvalidBlock, NeedsNewer)):
            _open_signed(damaged, signer)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_block_in_another_layout_is_refused(name: str) -> None:
    longer = _stored(name) + b"\0" * 4
    with pytest.raises(InvalidBlock, match="laid out"):
        block_codec.decode_file(longer, hashing.block_hash(longer))


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_was_cut_off_is_refused_even_under_its_own_hash(name: str) -> None:
    data = _stored(name)
    for length in range(len(data)):
        with pytest.raises(InvalidBlock):
            block_codec.decode_file(data[:length], hashing.block_hash(data[:length]))


def test_a_newer_format_is_not_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _stored("root-0-seed")
    block = block_codec.decode_file(data, hashing.block_hash(data))
    with monkeypatch.context() as newer:
        newer.setattr(block_codec, "FORMAT_VERSION", 1)
        data = block_codec.encode_file(block.payload, block.signature)
    with pytest.raises(NeedsNewer, match="format version 1"):
        block_codec.decode_file(data, hashing.block_hash(data))


def test_an_event_that_is_not_known_is_not_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _stored("derivative-3-execute-transform")
    monkeypatch.setattr(block_codec, "_EVENTS", 5)
    with pytest.raises(NeedsNewer, match="event number 6"):
        block_codec.decode_file(data, hashing.block_hash(data))
