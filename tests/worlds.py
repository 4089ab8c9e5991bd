"""A small world for flows: a workspace over a store, a clock that stands still, known keys.

The same calls in two worlds give the same bytes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from odf_coordinator.codec import manifest
from odf_coordinator.dataset import Dataset
from odf_coordinator.flows.add import Adder
from odf_coordinator.flows.collect import Collector
from odf_coordinator.flows.declare import DeclaredDataset
from odf_coordinator.flows.delete import Deleter
from odf_coordinator.flows.edit import Editor
from odf_coordinator.flows.fsck import StoreChecker
from odf_coordinator.flows.pull import Puller
from odf_coordinator.flows.pull_derivative import DerivativePuller
from odf_coordinator.flows.pull_root import RootPuller
from odf_coordinator.flows.rebuild import Dropper
from odf_coordinator.flows.reset import Resetter
from odf_coordinator.flows.verify import Verifier
from odf_coordinator.ingest.source import FileSource
from odf_coordinator.model.event import Event
from odf_coordinator.model.identity import BlockHash, DatasetName
from odf_coordinator.model.report import Checked, NotPulled, Pulled, Reset, Verified
from odf_coordinator.model.timeline import Instant
from odf_coordinator.ports import Locks, Store
from odf_coordinator.rules.indexing import Pace
from odf_coordinator.rules.signing import PrivateKey
from odf_coordinator.storage.local import FileLocks
from odf_coordinator.storage.memory import MemoryStore
from odf_coordinator.workspace import NewDataset, Workspace

from tests.builders import TIME
from tests.engines import OneEngine, PassThrough, Quiet, pass_through

ROOT = DatasetName("org.example.readings")
OTHER = DatasetName("org.example.more")
COPY = DatasetName("org.example.copy")


@dataclass
class StandingClock:
    """A clock that a test moves by hand."""

    time: Instant = TIME

    def now(self) -> Instant:
        """See ports.Clock."""
        return self.time


def known_keys() -> Iterator[PrivateKey]:
    """Always the same keys in the same order."""
    for number in range(1, 256):
        yield Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)


def root_text(name: str = ROOT, *, files: str = "in/*.csv", url: str = "") -> str:
    """The manifest of a root that reads files of a pattern, or one file."""
    fetch = f"{{kind: url, url: {url}}}" if url else f"{{kind: filesGlob, path: '{files}'}}"
    return f"""\
kind: DatasetSnapshot
apiVersion: 1
content:
  id: {name}
  source:
    kind: root
    fetch: {fetch}
    read:
      kind: csv
      header: true
      schema: [event_time TIMESTAMP(3), city STRING, value INT]
    merge: {{kind: append}}
"""


def copy_text(name: str = COPY, *inputs: str, query: str = "select * from input") -> str:
    """The manifest of a derivative of some inputs (default: the root)."""
    return f"""\
kind: DatasetSnapshot
apiVersion: 1
content:
  id: {name}
  source:
    kind: derivative
    inputs: [{", ".join(inputs or (ROOT,))}]
    transform:
      engine: spark
      query: |-
        {query}
"""


def rows_text(*rows: tuple[int, str, int]) -> str:
    """A file of the root's shape: (hour of the day, city, value)."""
    lines = [f"2024-05-01T{hour:02}:00:00Z,{city},{value}" for hour, city, value in rows]
    return "\n".join(["event_time,city,value", *lines, ""])


@dataclass(kw_only=True)
class World:
    """One folder with a workspace. `reopen` is what the next command would see."""

    folder: Path
    store: Store = field(default_factory=MemoryStore)
    clock: StandingClock = field(default_factory=StandingClock)
    keys: Callable[[], Iterator[PrivateKey]] = known_keys
    locks: Locks | None = None
    pace: Pace = field(default_factory=Pace)
    engines: OneEngine = field(init=False)

    def __post_init__(self) -> None:
        (self.folder / "in").mkdir(parents=True, exist_ok=True)
        self.engines = pass_through(self.folder / "engine")

    @property
    def engine(self) -> PassThrough:
        """The one engine."""
        return self.engines.engine

    @property
    def workspace(self) -> Workspace:
        """The workspace, opened anew."""
        locks = self.locks or FileLocks(self.folder / "locks")
        return Workspace(self.folder, self.store, locks, pace=self.pace)

    def dataset(self, name: str) -> Dataset:
        """A dataset of the workspace."""
        return self.workspace.dataset(name)

    def heads(self) -> dict[str, BlockHash]:
        """The head of every dataset that is visible."""
        workspace = self.workspace
        return {each.name: workspace.dataset(each.name).head() for each in workspace.entries()}

    def write(self, name: str, *rows: tuple[int, str, int]) -> None:
        """Put a file where the root looks."""
        (self.folder / "in" / name).write_text(rows_text(*rows))

    def add(
        self, *texts: str, dry_run: bool = False, replace: bool = False, first_key: int = 0
    ) -> list[NewDataset]:
        """Add the datasets of some manifests, the n-th of which is the file `n.yaml`."""
        declared = [
            DeclaredDataset(manifest=manifest.parse(text, f"{number}.yaml"), base=self.folder)
            for number, text in enumerate(texts)
        ]
        keys = islice(self.keys(), first_key, None)
        adder = Adder(
            workspace=self.workspace,
            engines=self.engines,
            clock=self.clock,
            listener=Quiet(),
            new_key=lambda: next(keys),
        )
        return adder.add(declared, dry_run=dry_run, replace=replace)

    def edit(
        self, name: str, text: str, *, base: Path | None = None, dry_run: bool = False
    ) -> tuple[Event, ...]:
        """Change a dataset to what a manifest says; relative paths start at `base`."""
        declared = DeclaredDataset(
            manifest=manifest.parse(text, "0.yaml"), base=base or self.folder
        )
        editor = Editor(
            workspace=self.workspace, engines=self.engines, clock=self.clock, listener=Quiet()
        )
        return editor.edit(self.workspace.dataset(name), declared, dry_run=dry_run)

    def pull(self, *names: str) -> list[Pulled]:
        """Pull datasets, inputs first. Raises the first error."""
        told = self.try_pull(*names)
        for each in told:
            if isinstance(each, NotPulled) and each.error is not None:
                raise each.error
        return [each for each in told if isinstance(each, Pulled)]

    def try_pull(self, *names: str) -> list[Pulled | NotPulled]:
        """Pull datasets, inputs first; tells what became of each."""
        return list(self._puller().pull([DatasetName(name) for name in names]))

    def _puller(self) -> Puller:
        workspace = self.workspace
        return Puller(
            workspace=workspace,
            roots=RootPuller(
                workspace=workspace, source=FileSource(), clock=self.clock, listener=Quiet()
            ),
            derivatives=DerivativePuller(
                workspace=workspace, engines=self.engines, clock=self.clock, listener=Quiet()
            ),
        )

    def foresee(self, *names: str) -> list[tuple[str, str]]:
        """What pulling some datasets would do."""
        return list(self._puller().foresee([DatasetName(name) for name in names]))

    def verify(self, name: str, *, replay: bool = True) -> Verified:
        """Verify a dataset."""
        workspace = self.workspace
        verifier = Verifier(
            workspace=workspace, engines=self.engines, clock=self.clock, listener=Quiet()
        )
        return verifier.verify(workspace.dataset(name), replay=replay)

    def rename(self, old: str, new: str) -> None:
        """Rename a dataset."""
        self.workspace.rename(old, DatasetName(new))

    def delete(self, *refs: str, recursive: bool = False) -> list[DatasetName]:
        """Delete datasets; gives those deleted."""
        deleter = Deleter(workspace=self.workspace)
        names = deleter.plan(refs, recursive=recursive)
        deleter.delete(names)
        return names

    def reset(self, ref: str, block: str) -> Reset:
        """Move a dataset back."""
        resetter = Resetter(workspace=self.workspace)
        planned = resetter.plan(ref, block)
        resetter.reset(planned)
        return planned

    def drop(self, ref: str) -> int:
        """Drop the data files of a derivative."""
        dropper = Dropper(workspace=self.workspace)
        name, _ = dropper.plan(ref)
        return dropper.drop(name)

    def collector(self) -> Collector:
        """What collects garbage, of the store alone."""
        return Collector(workspace=self.workspace, litter=(), clock=self.clock, listener=Quiet())

    def collect(self, *, age: int = 0) -> list[str]:
        """Collect garbage; gives the keys."""
        return [each.key for each in self.collector().collect(age=age)]

    def fsck(self, *names: str) -> list[Checked]:
        """Check the store of some datasets (default: all), then of the workspace."""
        workspace = self.workspace
        checker = self.store_checker()
        chosen = [DatasetName(name) for name in names] or workspace.names()
        return [*checker.check(chosen), checker.check_workspace()]

    def store_checker(self) -> StoreChecker:
        """What checks the store."""
        return StoreChecker(
            workspace=self.workspace,
            collector=self.collector(),
            clock=self.clock,
            listener=Quiet(),
        )

    def content(self) -> dict[str, bytes]:
        """All that the store holds."""
        return {key: self.store.get(key) for key in self.store.list("")}
