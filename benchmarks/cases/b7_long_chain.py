"""B7: a long chain. Fold and link-verify it in a new process; commands must not feel its length.

The chain is real: every block is encoded, linked and signed as a commit does it. Only the many
syncs to disk are left out while it is made.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from odf_coordinator.codec import block as block_codec
from odf_coordinator.codec import manifest
from odf_coordinator.model.block import SealedBlock
from odf_coordinator.model.event import (
    AddData,
    DatasetKind,
    DataSlice,
    Seed,
    SetDataSchema,
    SetPollingSource,
    SourceState,
    SourceStateKind,
)
from odf_coordinator.model.identity import DatasetName, LogicalHash, PhysicalHash
from odf_coordinator.model.schema import Vocabulary
from odf_coordinator.model.source import PollingSource
from odf_coordinator.model.timeline import Instant, OffsetInterval
from odf_coordinator.rules import chain, hashing, signing, slices
from odf_coordinator.rules.chain import DatasetState
from odf_coordinator.storage.local import FileLocks, LocalStore
from odf_coordinator.wiring import init_workspace
from odf_coordinator.workspace import NewDataset, Workspace

from benchmarks.measure import Figure, Scale

NAME = DatasetName("org.example.readings")
TARGET_SECONDS = 2.0
_SHORT, _LONG, _QUICK = 10, 100_000, 10_000
_ROWS = 5
_TIMES = 5
_MILLION = 1_000_000
_LENGTH_RATIO = 1.5
_START = Instant(1_700_000_000_000_000)
_MANIFEST = f"""\
kind: DatasetSnapshot
apiVersion: 1
content:
  id: {NAME}
  source:
    kind: root
    fetch: {{kind: filesGlob, path: 'in/*.csv'}}
    read:
      kind: csv
      header: true
      schema: [event_time TIMESTAMP(3), city STRING, value INT]
    merge: {{kind: append}}
"""


def open_workspace(folder: Path) -> Workspace:
    """The workspace in a folder, as the command opens it."""
    inside = folder / ".odf"
    return Workspace(folder, LocalStore(inside), FileLocks(inside / "locks"))


def make_chain(folder: Path, blocks: int) -> None:
    """A workspace with one root of that many blocks, the last of which has real rows."""
    init_workspace(folder)
    workspace, key = open_workspace(folder), Ed25519PrivateKey.generate()
    source = manifest.parse(_MANIFEST, "chain.yaml").snapshot.source
    if not isinstance(source, PollingSource):
        raise TypeError("the manifest is that of a root")
    schema = slices.root_schema(source.read.schema, Vocabulary())
    events = (
        Seed(dataset_id=signing.dataset_id(key), dataset_kind=DatasetKind.ROOT),
        SetPollingSource(source=source),
        SetDataSchema(schema=schema),
    )
    new = NewDataset(name=NAME, key=key, events=events, base=folder)
    workspace.add([new], now=_START)
    stored = folder / ".odf" / "datasets" / NAME
    state = workspace.dataset(NAME).state()
    while state.sequence_number < blocks - 2:
        state = _append(stored, state, key)
    (stored / "refs" / "head").write_text(state.head)
    _commit_rows(open_workspace(folder), key)


def _append(stored: Path, state: DatasetState, key: signing.PrivateKey) -> DatasetState:
    """One more block, its file written without a sync."""
    block = chain.next_block(
        state, _event(state, _slice(state.next_offset)), now=Instant(state.system_time + 1)
    )
    payload = block_codec.encode_payload(block)
    signature = signing.sign(key, payload)
    file = block_codec.encode_file(payload, signature)
    block_hash = hashing.block_hash(file)
    (stored / "blocks" / block_hash).write_bytes(file)
    sealed = SealedBlock(hash=block_hash, block=block, payload=payload, signature=signature)
    return chain.advance(state, sealed)


def _event(state: DatasetState, new_data: DataSlice) -> AddData:
    return AddData(
        prev_offset=state.last_offset,
        new_data=new_data,
        new_watermark=Instant(state.system_time),
        new_source_state=SourceState(
            kind=SourceStateKind.LAST_FILE, value=f"{state.sequence_number:09}.csv"
        ),
    )


def _slice(start: int) -> DataSlice:
    """A slice whose file is not there."""
    return DataSlice(
        logical_hash=LogicalHash(f"1620{start:064x}"),
        physical_hash=PhysicalHash(f"1620{start:064x}"),
        offset_interval=OffsetInterval(start=start, end=start + _ROWS - 1),
        size=1000,
    )


def _commit_rows(workspace: Workspace, key: signing.PrivateKey) -> None:
    """The last block, committed as a pull does it: it also makes or extends the index."""
    dataset = workspace.dataset(NAME)
    state = dataset.state()
    if state.schema is None:
        raise TypeError("the chain has a schema")
    time_ = Instant(state.system_time + 1)
    rows = pa.table(
        {
            "event_time": pa.array([time_] * 20, pa.timestamp("us", "UTC")),
            "city": ["A"] * 20,
            "value": pa.array(range(20), pa.int32()),
        }
    )
    stamped = slices.stamped(
        rows,
        schema=state.schema,
        vocabulary=state.vocabulary,
        next_offset=state.next_offset,
        time=time_,
    )
    part = dataset.stage(
        stamped, schema=state.schema, vocabulary=state.vocabulary, folder=workspace.scratch
    )
    block = chain.next_block(state, _event(state, part.slice), now=time_)
    dataset.commit(state, block, part=part, key=key)


def measure_here(folder: Path) -> dict[str, float]:
    """Fold and link-verify in this process, which should be a new one."""
    dataset = open_workspace(folder).dataset(NAME)
    folded, seconds_fold = _timed(dataset.state)
    linked, seconds_links = _timed(dataset.check_links)
    if linked != folded.sequence_number + 1:
        raise ValueError(f"{linked} of {folded.sequence_number + 1} blocks are linked")
    cursor = dataset.blocks_back(folded.head, until=None)
    after = [next(cursor) for _ in range(5)][-1].hash

    def plan() -> object:
        return dataset.state(upto=after), dataset.blocks(after=after)

    _, seconds_plan = _timed(plan)
    return {"fold": seconds_fold, "links": seconds_links, "plan": seconds_plan}


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def _command(*arguments: str) -> float:
    """Median seconds of a whole process."""

    def once() -> None:
        subprocess.run(arguments, check=True, capture_output=True)

    once()
    return statistics.median(_timed(once)[1] for _ in range(_TIMES))


def _measure(folder: Path, blocks: int) -> dict[str, float]:
    _, seconds_make = _timed(lambda: make_chain(folder, blocks))
    python = sys.executable
    own = (python, "-m", __name__ if __name__ != "__main__" else "benchmarks.cases.b7_long_chain")
    told = subprocess.run([*own, str(folder)], check=True, capture_output=True)
    inside: dict[str, float] = json.loads(told.stdout)
    odf = (python, "-m", "odf_coordinator", "--workspace", str(folder))
    commands = {
        "odf ls": (*odf, "ls"),
        "odf show": (*odf, "show", NAME),
        "odf log -n 10": (*odf, "log", "-n", "10", NAME),
        "odf tail": (*odf, "tail", NAME),
        "odf pull": (*odf, "pull", NAME),
        "new process": (*own, str(folder)),
    }
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / "000000000.csv").write_text("event_time,city,value\n")
    times = {name: _command(*words) for name, words in commands.items()}
    return {"make": seconds_make, **inside, **times}


def run(scale: Scale) -> list[Figure]:
    """Seconds on a short chain and on a long one: 100,000 blocks, 10,000 in the quick form."""
    long = _LONG if scale.rows > _MILLION else _QUICK
    with tempfile.TemporaryDirectory(prefix="odf-b7-") as folder:
        short_, long_ = (_measure(Path(folder) / str(blocks), blocks) for blocks in (_SHORT, long))
    figures = [
        Figure(
            what=f"fold and link-verify {long:,} blocks, new process",
            value=long_["new process"],
            unit="s",
            at_most=TARGET_SECONDS,
        )
    ]
    for what in ("fold", "links", "plan"):
        figures.append(Figure(what=f"{what} of {long:,} blocks", value=long_[what], unit="s"))
    for what in ("odf ls", "odf show", "odf log -n 10", "odf tail", "odf pull"):
        ratio = long_[what] / short_[what]
        told = f"{what}: {long:,} blocks ÷ {_SHORT}"
        figures.append(Figure(what=told, value=ratio, unit="", at_most=_LENGTH_RATIO))
    return figures


if __name__ == "__main__":  # the new process
    sys.stdout.write(json.dumps(measure_here(Path(sys.argv[1]))))
