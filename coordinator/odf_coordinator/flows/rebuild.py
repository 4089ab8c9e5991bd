"""Rebuild the data files of a derivative that were dropped: run its recorded steps again."""

from contextlib import ExitStack
from dataclasses import dataclass

from odf_coordinator.codec import plan as plan_codec
from odf_coordinator.dataset import Dataset
from odf_coordinator.errors import IntegrityError, Invalid
from odf_coordinator.flows import execute
from odf_coordinator.model.block import SealedBlock
from odf_coordinator.model.event import DatasetKind, DataSlice, EnginePin, ExecuteTransform
from odf_coordinator.model.identity import DatasetName, short
from odf_coordinator.ports import Clock, Engine, Engines, Listener
from odf_coordinator.rules import chain, hashing, planning
from odf_coordinator.rules.chain import DatasetState
from odf_coordinator.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropper:
    """Drops data files that can be rebuilt."""

    workspace: Workspace

    def plan(self, ref: str) -> tuple[DatasetName, int]:
        """The dataset, and how many bytes its data files have. Raises Invalid for a root."""
        dataset = self.workspace.dataset(ref)
        if dataset.state().kind is not DatasetKind.DERIVATIVE:
            raise Invalid(
                f"{dataset.name} is a root: its rows come from outside and cannot be rebuilt"
            )
        return dataset.name, dataset.data_size()

    def drop(self, name: DatasetName) -> int:
        """Remove the data files; gives how many there were. The next pull rebuilds them."""
        with self.workspace.lock(name):
            return self.workspace.dataset(name).drop_parts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilder:
    """Rebuilds data files of derivatives; the caller holds the dataset's lock."""

    workspace: Workspace
    engines: Engines
    clock: Clock
    listener: Listener

    def rebuild(self, dataset: Dataset) -> int:
        """Run every step again whose data file was dropped; gives how many.

        Raises IntegrityError when the rows are not those that were recorded, SandboxUnavailable
        when the recorded engine cannot be run here.
        """
        count, state = 0, None
        with ExitStack() as held:
            engines: dict[EnginePin, Engine] = {}
            for sealed in dataset.blocks():
                event = sealed.block.event
                slice_ = event.new_data if isinstance(event, ExecuteTransform) else None
                if state is not None and slice_ is not None and not dataset.has_part(slice_):
                    self._rebuild_step(dataset, state, sealed, slice_, (held, engines))
                    count += 1
                state = chain.advance(state, sealed)
        dataset.all_rebuilt()
        return count

    def _rebuild_step(
        self,
        dataset: Dataset,
        state: DatasetState,
        sealed: SealedBlock,
        slice_: DataSlice,
        warm: tuple[ExitStack, dict[EnginePin, Engine]],
    ) -> None:
        if state.transform is None or state.schema is None:
            raise IntegrityError(f"{dataset.name}: block {sealed.hash} has no transform")
        self.listener.progress(dataset.name, "rebuilding", f"block {short(sealed.hash)}")
        held, engines = warm
        batch = planning.rebuild(state, sealed, state.transform.engine)
        if batch.engine not in engines:
            engines[batch.engine] = held.enter_context(self.engines.acquire(batch.engine))
        step = execute.Step(
            workspace=self.workspace,
            engine=engines[batch.engine],
            listener=self.listener,
            subject=dataset.name,
        )
        # An id of its own, as for a replay: no engine may answer from its last-transaction record.
        again = b"rebuild %s at %d" % (plan_codec.encode(batch), self.clock.now())
        outcome = step.run(batch, state, hashing.transaction_id(again))
        if outcome.rows is None:
            raise IntegrityError(f"{dataset.name}: block {sealed.hash} gives no rows any more")
        part = dataset.stage(
            outcome.rows,
            schema=state.schema,
            vocabulary=state.vocabulary,
            folder=self.workspace.scratch,
        )
        dataset.put_rebuilt(slice_, part)
