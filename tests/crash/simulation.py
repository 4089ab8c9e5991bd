"""A seeded story: two writers on one workspace, a store that fails, a clock that wanders.

Everything that can be otherwise is drawn from the seed: what each writer does, who is next at every
call to the store, which calls fail before or after they happened, where a writer dies, what the
clock says. `simulate(seed)` tells the same story each time:

    python -m tests.crash.simulation SEED
"""

import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from odf_coordinator.dataset import Dataset
from odf_coordinator.errors import (
    ConflictError,
    EngineError,
    EngineLost,
    NotFound,
    OdfError,
    StorageError,
)
from odf_coordinator.model.event import AddData, ExecuteTransform
from odf_coordinator.model.identity import BlockHash, DatasetName
from odf_coordinator.model.timeline import Instant
from odf_coordinator.ports import Store
from odf_coordinator.rules import chain, signing
from odf_coordinator.rules.chain import DatasetState
from odf_coordinator.rules.signing import PrivateKey
from odf_coordinator.storage.memory import MemoryStore

from tests.crash.cutting import Cut
from tests.crash.turns import Turns
from tests.worlds import COPY, ROOT, StandingClock, World, copy_text, root_text

_ROUNDS = 5
_LET_PASS = (ConflictError, NotFound, EngineError)


class Simulated(StorageError):
    """A failure that the story asked for."""


@dataclass(kw_only=True)
class Weather:
    """How likely a call fails before, or after, it happened, or that its writer dies there."""

    chance: random.Random
    before: float = 0.0
    after: float = 0.0
    death: float = 0.0

    def strikes(self, likely: float) -> bool:
        """Whether it happens this time."""
        return self.chance.random() < likely


@dataclass(frozen=True, kw_only=True)
class FailingStore:
    """See ports.Store. Gives others a turn before every call, then fails as the weather is."""

    below: Store
    turns: Turns
    weather: Weather

    def get(self, key: str) -> bytes:
        """See ports.Store."""
        with self._read():
            return self.below.get(key)

    def open(self, key: str) -> pa.NativeFile:
        """See ports.Store."""
        with self._read():
            return self.below.open(key)

    def size(self, key: str) -> int | None:
        """See ports.Store."""
        with self._read():
            return self.below.size(key)

    def list(self, prefix: str) -> list[str]:
        """See ports.Store."""
        with self._read():
            return self.below.list(prefix)

    def put(self, key: str, content: bytes | Path, *, private: bool = False) -> None:
        """See ports.Store."""
        with self._write():
            self.below.put(key, content, private=private)

    def delete(self, key: str) -> None:
        """See ports.Store."""
        with self._write():
            self.below.delete(key)

    def swap(self, key: str, *, expected: bytes | None, new: bytes) -> None:
        """See ports.Store."""
        with self._write():
            self.below.swap(key, expected=expected, new=new)

    def at(self, prefix: str) -> "FailingStore":
        """See ports.Store."""
        return FailingStore(below=self.below.at(prefix), turns=self.turns, weather=self.weather)

    @contextmanager
    def _read(self) -> Iterator[None]:
        self.turns.step()
        if self.weather.strikes(self.weather.before / 10):
            raise Simulated("the story: this cannot be read now")
        yield

    @contextmanager
    def _write(self) -> Iterator[None]:
        self.turns.step()
        if self.weather.strikes(self.weather.death):
            raise Cut
        if self.weather.strikes(self.weather.before):
            raise Simulated("the story: nothing was written")
        yield
        if self.weather.strikes(self.weather.death):
            raise Cut
        if self.weather.strikes(self.weather.after):
            raise Simulated("the story: written, but nobody said so")


@dataclass(frozen=True, kw_only=True)
class TurnLocks:
    """See ports.Locks. With `shared` off, datasets are not locked: as between two machines."""

    turns: Turns
    shared: bool

    def hold(self, name: str) -> AbstractContextManager[None]:
        """See ports.Locks."""
        if not self.shared and name.startswith("dataset-"):
            return nullcontext()
        return self.turns.hold(name)


@dataclass(kw_only=True)
class Watch:
    """Looks at the store from outside after every turn: no chain ever breaks a rule."""

    store: Store
    rows: list[tuple[str, int]] = field(default_factory=list)
    states: dict[str, DatasetState] = field(default_factory=dict)

    def look(self) -> None:
        """Raises AssertionError when something that must hold does not."""
        for key in self.store.list("catalog/"):
            name = key.removeprefix("catalog/")
            store = self.store.at(f"datasets/{name}")
            head = BlockHash(store.get("refs/head").decode())
            state = self.states.get(name)
            if state is None or state.head != head:
                after = self._advanced(Dataset(DatasetName(name), store), state)
                assert json.loads(self.store.get(key))["dataset_id"] == after.dataset_id, name
                self.states[name] = after

    def _advanced(self, dataset: Dataset, state: DatasetState | None) -> DatasetState:
        """Over the blocks since the last look, which must follow it: heads never go elsewhere."""
        for sealed in dataset.blocks(after=state.head if state else None):
            chain.check_append(state, sealed.block)
            state = chain.advance(state, sealed)
            signing.check(state.dataset_id, sealed.payload, sealed.signature)
            event = sealed.block.event
            if isinstance(event, AddData | ExecuteTransform) and event.new_data is not None:
                found = dataset.rows(event.new_data)
                offsets = event.new_data.offset_interval
                rows = zip(
                    found.column("city").to_pylist(), found.column("value").to_pylist(), strict=True
                )
                assert list(rows) == self.rows[offsets.start : offsets.end + 1], dataset.name
        assert state is not None
        return state


class Story:
    """One seed's world: two writers, each with a folder and an engine of its own, one store."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = random.Random(seed)
        self.store = MemoryStore()
        self.watch = Watch(store=self.store)
        self.turns = Turns(self.chance, self.watch.look)
        self.weather = Weather(chance=self.chance)
        self.clock = StandingClock()
        locks = TurnLocks(turns=self.turns, shared=self.chance.random() < 0.5)
        self.writers = [
            World(
                folder=folder / name,
                store=FailingStore(below=self.store, turns=self.turns, weather=self.weather),
                clock=self.clock,
                keys=self._keys,
                locks=locks,
            )
            for name in ("one", "two")
        ]
        self.files = 0

    def tell(self) -> None:
        """Some rounds of bad weather, then a good end in which everything must add up."""
        for _ in range(_ROUNDS):
            self._weather_changes()
            self._time_passes()
            if self.chance.random() < 0.7:
                self._file_arrives()
            self.turns.play(*(self._chosen(writer) for writer in self.writers))
        self._weather_clears()
        self._file_arrives()
        self.turns.play(*(self._carry_on(writer) for writer in self.writers))
        self._check_end()

    def _check_end(self) -> None:
        for name in (ROOT, COPY):
            state = self.watch.states[name]
            assert state.next_offset == len(self.watch.rows), f"{name} has {state.next_offset} rows"
            told = self.writers[0].verify(name)
            assert told.findings == (), told.findings
        assert self.store.size("adding") is None

    def _keys(self) -> Iterator[PrivateKey]:
        while True:
            yield Ed25519PrivateKey.from_private_bytes(self.chance.randbytes(32))

    def _weather_changes(self) -> None:
        choices = (0.0, 0.02, 0.1)
        self.weather.before, self.weather.after = self.chance.choices(choices, k=2)
        self.weather.death = self.chance.choice(choices)
        for writer in self.writers:
            mishap = (None, None, None, EngineLost("gone"), EngineError("ill"))
            writer.engine.mishap = self.chance.choice(mishap)

    def _weather_clears(self) -> None:
        self.weather.before = self.weather.after = self.weather.death = 0.0
        for writer in self.writers:
            writer.engine.mishap = None

    def _time_passes(self) -> None:
        """Mostly forward; clocks are also set back."""
        self.clock.time = Instant(self.clock.time + self.chance.randrange(-500_000, 2_000_000))

    def _file_arrives(self) -> None:
        self.files += 1
        chance = self.chance
        rows = [
            (chance.randrange(24), f"city {chance.randrange(9)}", chance.randrange(99))
            for _ in range(chance.randrange(4))
        ]
        for writer in self.writers:
            writer.write(f"{self.files:04}.csv", *rows)
        self.watch.rows.extend((city, value) for _, city, value in rows)

    def _chosen(self, writer: World) -> Callable[[], None]:
        """What a writer does this time; the failures of the story may stop it."""
        deeds: list[Callable[[], object]] = [
            lambda: writer.add(copy_text(), root_text()),
            lambda: writer.pull(ROOT),
            lambda: writer.pull(COPY),
            lambda: writer.pull(ROOT, COPY),
        ]
        deed = self.chance.choice(deeds)

        def act() -> None:
            try:
                deed()
            except (Simulated, *_LET_PASS):
                return

        return act

    def _carry_on(self, writer: World) -> Callable[[], None]:
        """Like a person in good weather: add what is not there, pull everything."""

        def act() -> None:
            if not writer.workspace.entries():
                with suppress(ConflictError):  # the other one may be first
                    writer.add(copy_text(), root_text())
            writer.pull(ROOT, COPY)

        return act


def simulate(seed: int) -> None:
    """Tell the story of a seed. Raises AssertionError, naming the seed, when it ends badly."""
    with tempfile.TemporaryDirectory(prefix="odf-story-") as folder:
        try:
            Story(seed, Path(folder)).tell()
        except (AssertionError, OdfError) as error:
            message = f"seed {seed}: {type(error).__name__}: {error}"
            raise AssertionError(
                f"{message}\nagain: python -m tests.crash.simulation {seed}"
            ) from error


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        simulate(int(argument))
        sys.stdout.write(f"seed {argument}: all is well\n")
