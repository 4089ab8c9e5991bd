"""What verification finds."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from odf_coordinator.codec import block as block_codec
from odf_coordinator.errors import EngineLost
from odf_coordinator.model.block import MetadataBlock
from odf_coordinator.model.event import AddData, ExecuteTransform
from odf_coordinator.model.identity import LogicalHash, TransactionId, short
from odf_coordinator.model.timeline import Instant
from odf_coordinator.ports import Store
from odf_coordinator.rules import hashing, signing
from odf_coordinator.rules.indexing import Pace
from odf_coordinator.storage.local import LocalStore
from odf_coordinator.storage.memory import MemoryStore
from odf_wire.messages import ExecuteResult

from tests.builders import TIME
from tests.worlds import COPY, OTHER, ROOT, World, copy_text, root_text

_HEAD = f"datasets/{ROOT}/refs/head"


@pytest.fixture(params=["memory", "local"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """Two roots and a copy of the first, all with rows."""
    store: Store = MemoryStore() if request.param == "memory" else LocalStore(tmp_path / "store")
    made = World(folder=tmp_path, store=store)
    made.add(root_text(), copy_text(), root_text(OTHER))
    made.write("1.csv", (1, "A", 1), (2, "B", 2))
    made.write("2.csv", (3, "C", 3))
    made.pull(ROOT, COPY, OTHER)
    return made


def _messages(world: World, name: str = ROOT, *, replay: bool = False) -> list[str]:
    return [finding.message for finding in world.verify(name, replay=replay).findings]


def _flip(world: World, key: str, at: int) -> None:
    content = bytearray(world.store.get(key))
    content[at] ^= 1
    world.store.put(key, bytes(content))


def _forge(world: World, name: str, block: MetadataBlock, key: Ed25519PrivateKey) -> None:
    """Put a block, signed with some key, in the place of the head."""
    payload = block_codec.encode_payload(block)
    file = block_codec.encode_file(payload, signing.sign(key, payload))
    forged = hashing.block_hash(file)
    folder = f"datasets/{name}"
    world.store.put(f"{folder}/blocks/{forged}", file)
    head = world.store.get(f"{folder}/refs/head")
    world.store.swap(f"{folder}/refs/head", expected=head, new=forged.encode())


def _own_key(world: World, name: str) -> Ed25519PrivateKey:
    return world.workspace.key(world.workspace.entry(name).dataset_id)


def test_what_is_whole_is_proven_in_full_and_nothing_is_written(world: World) -> None:
    before = world.content()
    root, copy = world.verify(ROOT), world.verify(COPY)
    assert (root.blocks, root.slices, root.steps, root.findings) == (5, 2, 0, ())
    assert (copy.blocks, copy.slices, copy.replayed, copy.steps) == (4, 1, 1, 1)
    assert copy.findings == ()
    assert world.content() == before


def test_without_replay_no_engine_is_asked(world: World) -> None:
    world.engine.mishap = EngineLost("must not be asked")
    copy = world.verify(COPY, replay=False)
    assert (copy.replayed, copy.steps, copy.findings) == (0, 1, ())


def test_a_replay_is_a_transaction_of_its_own(world: World) -> None:
    world.verify(COPY)
    pulled, replayed = world.engine.requests
    assert pulled.transaction_id != replayed.transaction_id
    assert replace(pulled, transaction_id="", exchange="") == replace(
        replayed, transaction_id="", exchange=""
    )


def test_any_flipped_bit_of_a_part_is_found_and_its_block_named(world: World) -> None:
    (_, slice_), (block, _) = world.dataset(ROOT).slices()
    key = f"datasets/{ROOT}/data/{slice_.physical_hash}"
    whole = world.store.get(key)
    for at in (0, len(whole) // 2, len(whole) - 1):
        _flip(world, key, at)
        verified = world.verify(ROOT)
        (finding,) = verified.findings
        assert finding.dataset == ROOT
        assert finding.where == f"block {short(world.dataset(ROOT).slices()[0][0].hash)}"
        assert slice_.physical_hash in finding.message
        assert verified.slices == 1  # the other part is proven all the same
        world.store.put(key, whole)
    assert block.hash == world.dataset(ROOT).head()
    assert _messages(world) == []


def test_a_part_that_is_cut_short_or_missing_is_found(world: World) -> None:
    ((_, first), (_, second)) = world.dataset(ROOT).slices()
    folder = f"datasets/{ROOT}/data"
    key = f"{folder}/{first.physical_hash}"
    world.store.put(key, world.store.get(key)[:-1])
    world.store.delete(f"{folder}/{second.physical_hash}")
    short_part, missing = _messages(world)
    assert f"has {first.size - 1} bytes, recorded {first.size}" in short_part
    assert f"data/{second.physical_hash} is missing" in missing


def test_any_flipped_bit_of_any_block_is_found(world: World) -> None:
    for sealed in world.dataset(ROOT).blocks():
        key = f"datasets/{ROOT}/blocks/{sealed.hash}"
        whole = world.store.get(key)
        for at in range(0, len(whole), max(len(whole) // 8, 1)):
            _flip(world, key, at)
            (message,) = _messages(world)
            assert sealed.hash in message
            world.store.put(key, whole)
    assert _messages(world) == []


def test_no_index_stands_in_for_a_block_file(tmp_path: Path) -> None:
    world = World(folder=tmp_path, pace=Pace(lag=1, segment=2))
    world.write("1.csv", (1, "A", 1))
    world.add(root_text())
    world.pull(ROOT)
    before = world.content()
    assert any("/info/" in key for key in before)
    for sealed in world.dataset(ROOT).blocks():
        key = f"datasets/{ROOT}/blocks/{sealed.hash}"
        _flip(world, key, 60)
        (message,) = _messages(world)
        assert sealed.hash in message
        world.store.put(key, before[key])
    assert _messages(world) == []
    assert world.content() == before


def test_a_missing_block_is_found(world: World) -> None:
    middle = world.dataset(ROOT).blocks()[2]
    world.store.delete(f"datasets/{ROOT}/blocks/{middle.hash}")
    verified = world.verify(ROOT)
    (finding,) = verified.findings
    assert (finding.where, verified.blocks) == ("chain", 0)
    assert f"block {middle.hash} is missing" in finding.message


def test_a_missing_head_is_found(world: World) -> None:
    world.store.delete(_HEAD)
    (message,) = _messages(world)
    assert "refs/head" in message


@pytest.mark.parametrize(
    "head",
    [
        b"1620" + b"00" * 32,
        b"",
        b"\xff\xfe",
        b"../../keys/x",
        b"/etc/passwd",
        b"a\0b",
        b".tmp-1",
        "é".encode(),
    ],
    ids=repr,
)
def test_a_head_that_leads_nowhere_is_found(world: World, head: bytes) -> None:
    world.store.put(_HEAD, head)
    assert len(_messages(world)) == 1


def test_a_head_with_anything_behind_its_hash_is_found(world: World) -> None:
    world.store.put(_HEAD, world.store.get(_HEAD) + b"\n")
    assert len(_messages(world)) == 1


def test_a_block_signed_with_another_key_is_found(world: World) -> None:
    sealed = world.dataset(ROOT).blocks()[-1]
    _forge(world, ROOT, sealed.block, Ed25519PrivateKey.from_private_bytes(b"x" * 32))
    verified = world.verify(ROOT)
    (finding,) = verified.findings
    assert finding.message == "the signature is not the dataset's"
    assert finding.where == f"block {short(world.dataset(ROOT).head())}"
    assert verified.blocks == 4


def test_a_block_without_a_signature_is_found(world: World) -> None:
    sealed = world.dataset(ROOT).blocks()[-1]
    file = block_codec.encode_file(sealed.payload, b"")
    forged = hashing.block_hash(file)
    world.store.put(f"datasets/{ROOT}/blocks/{forged}", file)
    world.store.put(_HEAD, forged.encode())
    assert _messages(world) == ["the signature is not the dataset's"]


def test_a_seed_of_another_dataset_cannot_take_its_name(world: World) -> None:
    for key in world.store.list(f"datasets/{OTHER}/"):
        if key.rpartition("/")[2] != "head":
            world.store.put(key.replace(OTHER, ROOT), world.store.get(key))
    world.store.put(_HEAD, world.store.get(f"datasets/{OTHER}/refs/head"))
    theirs = world.dataset(OTHER).state().dataset_id
    ours = world.workspace.entry(ROOT).dataset_id
    assert _messages(world) == [f"the chain is that of {theirs}, not of {ours}"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda block: replace(block, sequence_number=9), "expected number 4"),
        (lambda block: replace(block, system_time=Instant(1)), "system time goes back"),
        (
            lambda block: replace(block, event=replace(block.event, new_watermark=Instant(1))),
            "the watermark goes back",
        ),
        (
            lambda block: replace(block, event=replace(block.event, prev_offset=0)),
            "previous offset",
        ),
    ],
)
def test_even_its_own_key_cannot_break_the_rules_of_a_chain(
    world: World, change: Callable[[MetadataBlock], MetadataBlock], message: str
) -> None:
    sealed = world.dataset(ROOT).blocks()[-1]
    _forge(world, ROOT, change(sealed.block), _own_key(world, ROOT))
    (found,) = _messages(world)
    assert message in found


def test_a_slice_that_promises_other_rows_is_found(world: World) -> None:
    block = world.dataset(ROOT).blocks()[-1].block
    assert isinstance(block.event, AddData)
    assert block.event.new_data is not None
    other = replace(block.event.new_data, logical_hash=LogicalHash("1620" + "11" * 32))
    _forge(
        world,
        ROOT,
        replace(block, event=replace(block.event, new_data=other)),
        _own_key(world, ROOT),
    )
    (message,) = _messages(world)
    assert message.endswith(f"recorded {other.logical_hash}")
    assert "rows have the hash" in message


def test_a_replay_with_another_outcome_is_found(world: World) -> None:
    def doubled(rows: pa.Table) -> pa.Table:
        return rows.set_column(
            2, "value", pc.multiply(rows.column("value"), pa.scalar(2, pa.int32()))
        )

    world.engine.rows = doubled
    (message,) = _messages(world, COPY, replay=True)
    ((_, slice_),) = world.dataset(COPY).slices()
    assert message.startswith(f"recorded {slice_.logical_hash}, replayed 1620")
    assert message.endswith(": first difference in column value, offsets 0 to 2")
    assert world.verify(COPY).replayed == 0


def test_a_replay_with_more_or_fewer_rows_is_found(world: World) -> None:
    def promise(rows: int) -> Callable[[ExecuteResult], ExecuteResult]:
        return lambda result: replace(result, rows=rows)

    world.engine.rows, world.engine.answer = lambda rows: rows.slice(0, 2), promise(2)
    (message,) = _messages(world, COPY, replay=True)
    assert ": 3 rows recorded, 2 replayed; first difference in column offset, " in message
    world.engine.rows, world.engine.answer = lambda rows: rows.slice(0, 0), promise(0)
    assert _messages(world, COPY, replay=True) == ["recorded 3 rows, replayed 0"]


def test_a_replay_with_other_marks_or_watermark_is_found(world: World) -> None:
    world.engine.answer = lambda result: replace(result, marks=result.marks[-1:])
    assert _messages(world, COPY, replay=True) == ["recorded 2 marks, replayed others"]
    world.engine.answer = lambda result: replace(result, watermark=None)
    (message,) = _messages(world, COPY, replay=True)
    assert message.endswith("replayed None")


def test_a_step_whose_id_is_not_that_of_its_plan_is_found(world: World) -> None:
    block = world.dataset(COPY).blocks()[-1].block
    assert isinstance(block.event, ExecuteTransform)
    event = replace(block.event, transaction_id=TransactionId("1620" + "22" * 32))
    _forge(world, COPY, replace(block, event=event), _own_key(world, COPY))
    (message,) = _messages(world, COPY, replay=True)
    assert message.startswith(f"transaction id {event.transaction_id}, expected 1620")
    assert len(world.engine.requests) == 1


def test_a_replay_over_a_damaged_input_names_the_inputs_file(world: World) -> None:
    ((_, slice_), _) = world.dataset(ROOT).slices()
    _flip(world, f"datasets/{ROOT}/data/{slice_.physical_hash}", 50)
    assert _messages(world, COPY, replay=False) == []
    (message,) = _messages(world, COPY, replay=True)
    assert message.startswith(f"{ROOT}: data/{slice_.physical_hash}")


def test_replay_is_not_tried_on_what_is_damaged_already(world: World) -> None:
    ((_, slice_),) = world.dataset(COPY).slices()
    _flip(world, f"datasets/{COPY}/data/{slice_.physical_hash}", 50)
    verified = world.verify(COPY)
    assert len(verified.findings) == 1
    assert (verified.replayed, len(world.engine.requests)) == (0, 1)
    assert world.dataset(COPY).state().system_time == TIME
