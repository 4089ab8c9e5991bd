"""Check the store itself, without reading data values: references, links, files, leftovers."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from odf_coordinator.dataset import Dataset
from odf_coordinator.errors import IntegrityError, NotFound, OdfError, UserError
from odf_coordinator.flows.collect import Collector
from odf_coordinator.model.block import SealedBlock
from odf_coordinator.model.event import AddData, ExecuteTransform, Seed, SetTransform
from odf_coordinator.model.identity import BlockHash, DatasetName, short
from odf_coordinator.model.report import Checked, Finding
from odf_coordinator.model.timeline import Instant
from odf_coordinator.ports import Clock, Listener
from odf_coordinator.workspace import Entry, Workspace, plan_key

WORKSPACE = DatasetName("(workspace)")


@dataclass(kw_only=True)
class _Tally:
    """What has been seen so far of one dataset."""

    name: DatasetName
    blocks: list[SealedBlock] = field(default_factory=list)
    parts: int = 0
    damage: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)

    def hurt(self, where: str, message: object) -> None:
        """Something is damaged."""
        text = f"{message}".removeprefix(f"{self.name}: ")
        self.damage.append(Finding(dataset=self.name, where=where, message=text))

    def note(self, where: str, message: object) -> None:
        """Something is worth telling."""
        self.notes.append(Finding(dataset=self.name, where=where, message=f"{message}"))

    def done(self) -> Checked:
        """As a value."""
        return Checked(
            name=self.name,
            blocks=len(self.blocks),
            parts=self.parts,
            damage=tuple(self.damage),
            notes=tuple(self.notes),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreChecker:
    """Checks what one workspace stores. Writes nothing, except in `repair`."""

    workspace: Workspace
    collector: Collector
    clock: Clock
    listener: Listener

    def check(self, names: Sequence[DatasetName]) -> Iterator[Checked]:
        """Each of the named datasets."""
        for name in names:
            self.listener.progress(name, "checking the store")
            tally = _Tally(name=name)
            try:
                entry = self.workspace.listed(name)
            except IntegrityError as error:
                tally.hurt("catalog", error)
            else:
                self._check(entry, tally)
            yield tally.done()

    def check_workspace(self) -> Checked:
        """What belongs to no dataset: remains, unfinished files, locks that are held."""
        tally = _Tally(name=WORKSPACE)
        before = Instant(self.clock.now() + 1)
        with suppress(IntegrityError):  # a damaged entry is told with its dataset
            for each in self.collector.of_nobody(before):
                tally.note(each.key, each.why)
        for litter in self.collector.litter:
            for each in litter.find(before=before):
                tally.note(each.key, each.why)
        for lock in self.workspace.locks_held():
            tally.note(f"locks/{lock}", "held by a running command")
        return tally.done()

    def repair(self, *, age: int) -> list[str]:
        """Drop caches, which are made again when they are needed, plans that cannot be read, and
        leftovers that are at least `age` microseconds old. Gives what was dropped."""
        dropped = []
        for entry in self.workspace.entries():
            with self.workspace.lock(entry.name):
                for key in [*self._caches(entry), *self._broken_plans(entry)]:
                    self.workspace.forget(key)
                    dropped.append(key)
        return [*dropped, *(each.key for each in self.collector.collect(age=age))]

    def _check(self, entry: Entry, tally: _Tally) -> None:
        dataset = self.workspace.dataset(entry.name)
        self._check_chain(dataset, entry, tally)
        self._check_parts(dataset, tally)
        self._check_inputs(entry, tally)
        self._check_key(entry, tally)
        for key in self._broken_plans(entry):
            tally.hurt(key, "the saved plan is damaged; `odf fsck --repair` drops it")
        if not tally.damage:
            for each in self.collector.of_dataset(entry, Instant(self.clock.now() + 1)):
                tally.note(each.key.removeprefix(f"datasets/{entry.name}/"), each.why)

    def _check_chain(self, dataset: Dataset, entry: Entry, tally: _Tally) -> None:
        """From the head back to the seed: every block is there, has its hash and its place."""
        try:
            expected: int | None = None
            for sealed in dataset.blocks_back(dataset.head(), until=None):
                number = sealed.block.sequence_number
                if expected is not None and number != expected:
                    tally.hurt(_block(sealed), f"has number {number}, expected {expected}")
                expected = number - 1
                tally.blocks.append(sealed)
        except NotFound:
            tally.hurt("refs/head", "the head is missing")
            return
        except IntegrityError as error:
            tally.hurt("chain", error)
            return
        seed = tally.blocks[-1].block.event
        found = seed.dataset_id if isinstance(seed, Seed) else None
        if found != entry.dataset_id:
            tally.hurt("chain", f"it is that of {found}, not of {entry.dataset_id}")

    def _check_parts(self, dataset: Dataset, tally: _Tally) -> None:
        for sealed in tally.blocks:
            event = sealed.block.event
            if not isinstance(event, AddData | ExecuteTransform) or event.new_data is None:
                continue
            try:
                dataset.check_size(event.new_data)
                tally.parts += 1
            except IntegrityError as error:
                if not dataset.is_dropped() or dataset.has_part(event.new_data):
                    tally.hurt(_block(sealed), error)
        if dataset.is_dropped():
            tally.note("data", f"dropped; `odf pull {dataset.name}` rebuilds it")
        for key in dataset.stale_maps():
            tally.note(key, "leads nowhere; `odf fsck --repair` drops it")

    def _check_inputs(self, entry: Entry, tally: _Tally) -> None:
        """Inputs are in the workspace, and what was consumed is in their chains."""
        events = [sealed.block.event for sealed in tally.blocks]
        transforms = [event for event in events if isinstance(event, SetTransform)]
        steps = [event for event in events if isinstance(event, ExecuteTransform)]
        for dataset_id in {i.dataset_id for each in transforms for i in each.inputs}:
            try:
                source = self.workspace.dataset_of(dataset_id)
                there = {sealed.hash for sealed in source.blocks()}
            except NotFound:
                tally.note("inputs", f"{dataset_id} is not in this workspace")
                continue
            except IntegrityError:
                continue  # told with the input itself
            consumed = {
                i.new_block_hash for step in steps for i in step.inputs
                if i.dataset_id == dataset_id and i.new_block_hash is not None
            }  # fmt: skip
            for lost in sorted(consumed - there):
                tally.hurt("inputs", f"block {short(lost)} of {source.name} is not in its chain")

    def _check_key(self, entry: Entry, tally: _Tally) -> None:
        try:
            self.workspace.key(entry.dataset_id)
        except IntegrityError as error:
            tally.hurt("key", error)
        except UserError:
            tally.note("key", "not here: the dataset can be read, not extended")

    def _caches(self, entry: Entry) -> list[str]:
        """Caches; of the map of rebuilt data files only what leads nowhere, for it is no cache
        of something quick: the rest would have to be replayed."""
        folder = f"datasets/{entry.name}/"
        kept = (f"{folder}info/parts/", f"{folder}info/dropped")
        stored = [each.key for each in self.workspace.stored(f"{folder}info/")]
        stale = self.workspace.dataset(entry.name).stale_maps()
        return [
            *(key for key in stored if not key.startswith(kept)),
            *(folder + key for key in stale),
        ]

    def _broken_plans(self, entry: Entry) -> list[str]:
        try:
            head: BlockHash = self.workspace.dataset(entry.name).head()
            self.workspace.saved_plan(entry.dataset_id, head)
        except IntegrityError:
            return [plan_key(entry.dataset_id, head)]
        except OdfError:
            return []
        return []


def _block(sealed: SealedBlock) -> str:
    return f"block {short(sealed.hash)}"
