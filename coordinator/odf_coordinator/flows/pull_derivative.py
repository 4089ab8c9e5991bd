"""Pull a derivative: plan, claim the plan, run it, commit; until it has consumed all its inputs."""

from dataclasses import dataclass

from odf_coordinator.codec import plan as plan_codec
from odf_coordinator.dataset import Dataset
from odf_coordinator.errors import (
    EngineError,
    EngineLost,
    InvalidBlock,
    InvalidQuery,
    RefConflict,
)
from odf_coordinator.flows import execute
from odf_coordinator.flows.rebuild import Rebuilder
from odf_coordinator.model.event import ExecuteTransform
from odf_coordinator.model.plan import Batch
from odf_coordinator.model.report import Pulled
from odf_coordinator.ports import Clock, Engines, Listener
from odf_coordinator.rules import chain, hashing, planning
from odf_coordinator.rules.chain import DatasetState
from odf_coordinator.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivativePuller:
    """Pulls the derivatives of one workspace."""

    workspace: Workspace
    engines: Engines
    clock: Clock
    listener: Listener

    def pull(self, dataset: Dataset) -> Pulled:
        """Run step after step until the inputs are consumed."""
        with self.workspace.lock(dataset.name):
            before = state = dataset.state()
            rebuilt = self._rebuild(dataset)
            while (batch := self._next(state)) is not None:
                try:
                    state = self._step(dataset, state, batch)
                except RefConflict:
                    state = dataset.state()
        return Pulled(
            name=dataset.name,
            how=before.transform.transform.engine if before.transform else "",
            blocks=state.sequence_number - before.sequence_number,
            rows=state.next_offset - before.next_offset,
            head=state.head,
            watermark=state.watermark,
            rebuilt=rebuilt,
        )

    def foresee(self, dataset: Dataset) -> bool:
        """Whether there is anything to do as its inputs stand now. Writes nothing."""
        state = dataset.state()
        saved = self.workspace.saved_plan(state.dataset_id, state.head)
        if saved is not None or dataset.is_dropped():
            return True
        planned = planning.plan_next(state, self._histories(state), now=self.clock.now())
        return planned is not None

    def _rebuild(self, dataset: Dataset) -> int:
        """What `reset --data` dropped comes back first."""
        if not dataset.is_dropped():
            return 0
        rebuilder = Rebuilder(
            workspace=self.workspace,
            engines=self.engines,
            clock=self.clock,
            listener=self.listener,
        )
        return rebuilder.rebuild(dataset)

    def _next(self, state: DatasetState) -> Batch | None:
        """The plan that was saved for this head, else a new one, saved."""
        saved = self.workspace.saved_plan(state.dataset_id, state.head)
        if saved is not None:
            return saved
        batch = planning.plan_next(state, self._histories(state), now=self.clock.now())
        return self.workspace.claim(batch) if batch else None

    def _histories(self, state: DatasetState) -> list[planning.InputHistory]:
        return [
            execute.history(self.workspace, each.dataset_id, after=each.new_block_hash)
            for each in planning.cursors(state)
        ]

    def _step(self, dataset: Dataset, state: DatasetState, batch: Batch) -> DatasetState:
        """Run one plan and commit its outcome."""
        self.listener.progress(dataset.name, "starting engine")
        transaction_id = hashing.transaction_id(plan_codec.encode(batch))
        with self.engines.acquire(batch.engine) as engine:
            step = execute.Step(
                workspace=self.workspace,
                engine=engine,
                listener=self.listener,
                subject=dataset.name,
            )
            try:
                outcome = step.run(batch, state, transaction_id)
            except EngineLost:
                raise  # no answer: the plan stays, and the next pull runs it again
            except (EngineError, InvalidQuery):
                self.workspace.drop_plan(batch)
                raise
            run = engine.run
        self.listener.progress(dataset.name, "storing")
        part = None
        if outcome.rows is not None and state.schema is not None:
            part = dataset.stage(
                outcome.rows,
                schema=state.schema,
                vocabulary=state.vocabulary,
                folder=self.workspace.scratch,
            )
        event = ExecuteTransform(
            inputs=batch.inputs,
            prev_offset=state.last_offset,
            new_data=part.slice if part else None,
            new_watermark=outcome.watermark,
            marks=outcome.marks,
            engine=run,
            transaction_id=transaction_id,
        )
        block = chain.next_block(state, event, now=batch.system_time)
        try:
            chain.check_append(state, block)
        except InvalidBlock as error:
            self.workspace.drop_plan(batch)
            raise EngineError(f"the engine's answer cannot be recorded: {error}") from error
        key = self.workspace.key(state.dataset_id)
        sealed = dataset.commit(state, block, part=part, key=key)
        self.workspace.drop_plan(batch)
        return chain.advance(state, sealed)
