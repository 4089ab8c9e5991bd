"""Values for tests: chains and blocks, built by the real rules."""

from odf_coordinator.codec import block as block_codec
from odf_coordinator.model.block import MetadataBlock, SealedBlock
from odf_coordinator.model.event import (
    AddData,
    DatasetKind,
    DataSlice,
    EnginePin,
    EngineRun,
    Event,
    Seed,
    SetDataSchema,
    SetPollingSource,
    SetTransform,
    SourceState,
    SourceStateKind,
)
from odf_coordinator.model.identity import DatasetId, LogicalHash, PhysicalHash
from odf_coordinator.model.schema import Column, Field, Schema, Simple, Timestamp
from odf_coordinator.model.source import (
    FetchUrl,
    MergeAppend,
    PollingSource,
    ReadCsv,
    SqlQuery,
    Transform,
    TransformInput,
)
from odf_coordinator.model.timeline import Instant, OffsetInterval
from odf_coordinator.ports import Store
from odf_coordinator.rules import chain, hashing
from odf_coordinator.rules.chain import DatasetState

ROOT_ID = DatasetId("did:odf:fed01" + "aa" * 32)
OUTPUT_ID = DatasetId("did:odf:fed01" + "bb" * 32)
TIME = Instant(1_700_000_000_000_000)
PIN = EnginePin(build_id="sha256:b", image_digest="sha256:d")
RUN = EngineRun(name="spark", build_id="sha256:b", image_digest="sha256:d", runner="docker")

SCHEMA = Schema(
    columns=(
        Column(id=1, name="event_time", type=Timestamp(precision=3)),
        Column(id=2, name="value", type=Simple.INT),
    )
)
SOURCE = PollingSource(
    fetch=FetchUrl(url="a.csv"),
    read=ReadCsv(
        schema=(
            Field(name="event_time", type=Timestamp(precision=3)),
            Field(name="value", type=Simple.INT),
        ),
        header=True,
        separator=",",
    ),
    merge=MergeAppend(),
)
TRANSFORM = SetTransform(
    inputs=(TransformInput(dataset_id=ROOT_ID, alias="a"),),
    transform=Transform(engine="spark", queries=(SqlQuery(query="select * from a"),)),
    engine=PIN,
)


class Chain:
    """A chain that grows by events; each is checked and sealed as a commit would."""

    def __init__(self, *, kind: DatasetKind = DatasetKind.ROOT) -> None:
        self.blocks: list[SealedBlock] = []
        identity = ROOT_ID if kind is DatasetKind.ROOT else OUTPUT_ID
        seed = Seed(dataset_id=identity, dataset_kind=kind)
        self.add(chain.seed_block(seed, now=TIME))
        first: Event = SetPollingSource(source=SOURCE) if kind is DatasetKind.ROOT else TRANSFORM
        self.event(first)
        self.event(SetDataSchema(schema=SCHEMA))

    @property
    def state(self) -> DatasetState:
        return chain.fold(self.blocks)

    def event(self, event: Event, *, later: int = 1) -> SealedBlock:
        now = Instant(self.blocks[-1].block.system_time + later)
        return self.add(chain.next_block(self.state, event, now=now))

    def add(self, block: MetadataBlock) -> SealedBlock:
        chain.check_append(self.state if self.blocks else None, block)
        self.blocks.append(sealed(block))
        return self.blocks[-1]

    def data(self, rows: int, *, watermark: int | None = None, later: int = 1) -> SealedBlock:
        state = self.state
        mark = state.watermark if watermark is None else Instant(watermark)
        count = 0 if state.source_state is None else int(state.source_state.value)
        return self.event(
            AddData(
                prev_offset=state.last_offset,
                new_data=data_slice(state.next_offset, rows) if rows else None,
                new_watermark=mark,
                new_source_state=SourceState(kind=SourceStateKind.DIGEST, value=str(count + 1)),
            ),
            later=later,
        )


def stored(chain_: Chain, store: Store, *, upto: int | None = None) -> None:
    """Keep a chain in a store as a dataset does; `upto` is the number of the head."""
    for each in chain_.blocks:
        store.put(f"blocks/{each.hash}", block_codec.encode_file(each.payload, each.signature))
    head = chain_.blocks[-1 if upto is None else upto]
    store.put("refs/head", head.hash.encode())


def sealed(block: MetadataBlock, signature: bytes = b"s" * 64) -> SealedBlock:
    payload = block_codec.encode_payload(block)
    file = block_codec.encode_file(payload, signature)
    return SealedBlock(
        hash=hashing.block_hash(file), block=block, payload=payload, signature=signature
    )


def data_slice(start: int, rows: int) -> DataSlice:
    return DataSlice(
        logical_hash=LogicalHash("1620" + "00" * 32),
        physical_hash=PhysicalHash("1620" + f"{start:064x}"),
        offset_interval=OffsetInterval(start=start, end=start + rows - 1),
        size=1,
    )
