"""Edit a dataset: what its manifest says now, as new blocks; rows stay as they are."""

from dataclasses import dataclass

from odf_coordinator.dataset import Dataset
from odf_coordinator.errors import Invalid, InvalidText
from odf_coordinator.flows.declare import DeclaredDataset, Declarer
from odf_coordinator.model.event import Event
from odf_coordinator.ports import Clock, Engines, Listener
from odf_coordinator.rules import evolution
from odf_coordinator.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Editor:
    """Edits the datasets of one workspace."""

    workspace: Workspace
    engines: Engines
    clock: Clock
    listener: Listener

    def edit(
        self, dataset: Dataset, declared: DeclaredDataset, *, dry_run: bool
    ) -> tuple[Event, ...]:
        """Record what changed, all of it or nothing; with `dry_run` only tell.

        Raises InvalidText with the place of what cannot change, RefConflict when the dataset moved
        on meanwhile.
        """
        manifest = declared.manifest
        if declared.name != dataset.name:
            message = f"this manifest is not of {dataset.name}"
            raise InvalidText([manifest.problem(("id",), message, "`odf rename` gives a new id")])
        with self.workspace.lock(dataset.name):
            state = dataset.state()
            declarer = Declarer(
                workspace=self.workspace, engines=self.engines, listener=self.listener
            )
            events, _ = declarer.events(declared, {})
            try:
                changed = evolution.changes(state, events, manifest.snapshot.vocab)
            except Invalid as error:
                problem = manifest.problem(("source",), str(error), error.hint)
                raise InvalidText([problem]) from error
            if not dry_run:
                if changed:
                    key = self.workspace.key(state.dataset_id)
                    dataset.commit_events(state, changed, now=self.clock.now(), key=key)
                self.workspace.set_base(dataset.name, declared.base)
        return changed
