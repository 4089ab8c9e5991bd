"""Collect garbage: what a workspace stores and nobody needs, if it is old enough."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from odf_coordinator.errors import IntegrityError, NotFound
from odf_coordinator.model.report import Leftover
from odf_coordinator.model.timeline import Instant
from odf_coordinator.ports import Clock, Listener, Litter
from odf_coordinator.rules import garbage
from odf_coordinator.rules.garbage import Stored
from odf_coordinator.workspace import Entry, Workspace, local_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """Finds and removes leftovers of one workspace."""

    workspace: Workspace
    litter: Sequence[Litter]
    clock: Clock
    listener: Listener

    def find(self, *, age: int = 0) -> list[Leftover]:
        """All leftovers that are at least `age` microseconds old. Nothing is changed."""
        before = Instant(self.clock.now() - age + 1)
        found = [each for e in self.workspace.entries() for each in self.of_dataset(e, before)]
        found.extend(self.of_nobody(before))
        found.extend(each for litter in self.litter for each in litter.find(before=before))
        return found

    def collect(self, *, age: int) -> Iterator[Leftover]:
        """Remove all leftovers that are at least `age` microseconds old; gives each one removed.

        A dataset is looked at while its lock is held, what belongs to none while nobody can add:
        the age guards what others stage without a lock.
        """
        before = Instant(self.clock.now() - age + 1)
        for entry in self.workspace.entries():
            self.listener.progress(entry.name, "collecting garbage")
            with self.workspace.lock(entry.name):
                yield from self._forget(self.of_dataset(entry, before))
        with self.workspace.changing():
            yield from self._forget(self.of_nobody(before))
            for litter in self.litter:
                for each in litter.find(before=before):
                    litter.remove(each)
                    yield each

    def of_dataset(self, entry: Entry, before: Instant) -> list[Leftover]:
        """The leftovers of one dataset; of one whose chain is broken nothing is known."""
        try:
            reach = self.workspace.dataset(entry.name).reach()
        except (IntegrityError, NotFound) as error:
            self.listener.warning(entry.name, f"left alone, it cannot be read: {error}")
            return []
        return garbage.older(garbage.of_dataset(self._stored(entry), reach), before=before)

    def of_nobody(self, before: Instant) -> list[Leftover]:
        """What belongs to no dataset."""
        owners = {entry.name: local_id(entry.dataset_id) for entry in self.workspace.entries()}
        stored = [
            each
            for prefix in ("datasets/", "keys/", "plans/", "replacing/")
            for each in self.workspace.stored(prefix)
        ]
        return garbage.older(garbage.of_nobody(stored, owners), before=before)

    def _stored(self, entry: Entry) -> list[Stored]:
        plans = self.workspace.stored(f"plans/{local_id(entry.dataset_id)}/")
        return [*self.workspace.stored(f"datasets/{entry.name}/"), *plans]

    def _forget(self, found: Sequence[Leftover]) -> Iterator[Leftover]:
        for each in found:
            self.workspace.forget(each.key)
            yield each
