"""Pull a root: poll the source, stamp, stage, commit; the source's cursor travels in the block."""

from collections.abc import Iterator
from dataclasses import dataclass

from odf_coordinator.dataset import Dataset
from odf_coordinator.errors import InternalError, Invalid, RefConflict
from odf_coordinator.model.event import AddData
from odf_coordinator.model.report import Pulled
from odf_coordinator.model.source import PushSource
from odf_coordinator.model.timeline import Instant
from odf_coordinator.ports import Clock, ExternalSource, Fetched, Listener
from odf_coordinator.rules import chain, slices
from odf_coordinator.rules.chain import DatasetState
from odf_coordinator.workspace import Workspace

_STEP = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class RootPuller:
    """Pulls the roots of one workspace from the outside world."""

    workspace: Workspace
    source: ExternalSource
    clock: Clock
    listener: Listener

    def pull(self, dataset: Dataset) -> Pulled:
        """Take in what the source offers, one block per ingest step, until there is nothing new.

        When somebody else moved the head meanwhile, look again: their rows may be ours.
        """
        size = 0
        with self.workspace.lock(dataset.name):
            before = state = dataset.state()
            while True:
                try:
                    for fetched in self._poll(dataset, state):
                        state = self._take_in(dataset, state, fetched)
                        size += fetched.size
                    break
                except RefConflict:
                    state = dataset.state()
        return Pulled(
            name=dataset.name,
            how=f"fetched {_shown(size)}",
            blocks=state.sequence_number - before.sequence_number,
            rows=state.next_offset - before.next_offset,
            head=state.head,
            watermark=state.watermark,
        )

    def foresee(self, dataset: Dataset) -> int:
        """How many ingest steps the source offers. Reads it, writes nothing."""
        return sum(1 for _ in self._poll(dataset, dataset.state()))

    def _poll(self, dataset: Dataset, state: DatasetState) -> Iterator[Fetched]:
        if isinstance(state.source, PushSource):
            raise Invalid(
                f"{dataset.name} has nothing to pull from: its rows are pushed",
                hint="a pushed dataset has no fetch step",
            )
        if state.source is None:
            raise InternalError(f"{dataset.name} has no source")
        self.listener.progress(dataset.name, "fetching")
        base = self.workspace.base_folder(dataset.name)
        return self.source.poll(state.source, base=base, after=state.source_state)

    def _take_in(self, dataset: Dataset, state: DatasetState, fetched: Fetched) -> DatasetState:
        """One ingest step: rows, watermark and source cursor in one block."""
        if state.schema is None:
            raise InternalError(f"{dataset.name} has no schema")
        self.listener.progress(dataset.name, "storing", fetched.label)
        schema, vocabulary = state.schema, state.vocabulary
        time = Instant(max(self.clock.now(), state.system_time))
        try:
            rows = slices.with_event_time(fetched.rows, vocabulary=vocabulary, fetched=time)
        except Invalid as error:
            raise Invalid(f"{fetched.label}: {error}", hint=error.hint) from error
        part = None
        if rows.num_rows:
            stamped = slices.stamped(
                rows,
                schema=schema,
                vocabulary=vocabulary,
                next_offset=state.next_offset,
                time=time,
            )
            folder = self.workspace.scratch
            part = dataset.stage(stamped, schema=schema, vocabulary=vocabulary, folder=folder)
        latest = slices.max_event_time(rows, vocabulary=vocabulary)
        event = AddData(
            prev_offset=state.last_offset,
            new_data=part.slice if part else None,
            new_watermark=slices.later(state.watermark, latest),
            new_source_state=fetched.state,
        )
        block = chain.next_block(state, event, now=time)
        key = self.workspace.key(state.dataset_id)
        return chain.advance(state, dataset.commit(state, block, part=part, key=key))


def _shown(size: float) -> str:
    """A number of bytes as people read it."""
    for unit in ("B", "kB", "MB"):
        if size < _STEP:
            return f"{size:.3g} {unit}"
        size /= _STEP
    return f"{size:.3g} GB"
