"""Verify: prove a dataset without writing anything. Findings are collected, not thrown."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

import pyarrow as pa

from odf_coordinator.codec import plan as plan_codec
from odf_coordinator.dataset import Dataset
from odf_coordinator.errors import IntegrityError, InvalidBlock, InvalidQuery, NotFound, OdfError
from odf_coordinator.flows import execute
from odf_coordinator.model.block import SealedBlock
from odf_coordinator.model.event import AddData, DataSlice, EnginePin, ExecuteTransform
from odf_coordinator.model.identity import short
from odf_coordinator.model.report import Finding, Verified
from odf_coordinator.ports import Clock, Engine, Engines, Listener
from odf_coordinator.rules import chain, hashing, planning, signing
from odf_coordinator.rules.chain import DatasetState
from odf_coordinator.workspace import Workspace


@dataclass(kw_only=True)
class _Tally:
    """What has been proven so far of one dataset."""

    blocks: int = 0
    slices: int = 0
    replayed: int = 0
    steps: int = 0
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifier:
    """Verifies datasets of one workspace."""

    workspace: Workspace
    engines: Engines
    clock: Clock
    listener: Listener

    def verify(self, dataset: Dataset, *, replay: bool) -> Verified:
        """Chain, signatures and data; and, with `replay`, every step of a derivative run again."""
        tally = _Tally()
        steps = self._chain(dataset, tally)
        for state, sealed in steps:
            self._data(dataset, state, sealed, tally)
        transforms = [
            (state, sealed)
            for state, sealed in steps
            if isinstance(sealed.block.event, ExecuteTransform)
        ]
        tally.steps = len(transforms)
        if replay and not tally.findings:
            self._replay(dataset, transforms, tally)
        return Verified(
            name=dataset.name,
            blocks=tally.blocks,
            slices=tally.slices,
            replayed=tally.replayed,
            steps=tally.steps,
            findings=tuple(tally.findings),
        )

    def _chain(
        self, dataset: Dataset, tally: _Tally
    ) -> list[tuple[DatasetState | None, SealedBlock]]:
        """Hashes, links, signatures and rules; each block with the state before it."""
        self.listener.progress(dataset.name, "checking the chain")
        steps: list[tuple[DatasetState | None, SealedBlock]] = []
        try:
            blocks = dataset.blocks()
        except (IntegrityError, NotFound) as error:
            tally.findings.append(_finding(dataset, "chain", error))
            return []
        state: DatasetState | None = None
        for sealed in blocks:
            try:
                chain.check_append(state, sealed.block)
                after = chain.advance(state, sealed)
                signing.check(after.dataset_id, sealed.payload, sealed.signature)
                self._check_identity(dataset, after)
            except InvalidBlock as error:
                tally.findings.append(_finding(dataset, _block(sealed), error))
                break
            steps.append((state, sealed))
            state = after
            tally.blocks += 1
        return steps

    def _check_identity(self, dataset: Dataset, state: DatasetState) -> None:
        expected = self.workspace.entry(dataset.name).dataset_id
        if state.dataset_id != expected:
            raise InvalidBlock(f"the chain is that of {state.dataset_id}, not of {expected}")

    def _data(
        self, dataset: Dataset, state: DatasetState | None, sealed: SealedBlock, tally: _Tally
    ) -> None:
        """The file of a slice and the rows in it."""
        event = sealed.block.event
        if not isinstance(event, AddData | ExecuteTransform) or event.new_data is None:
            return
        if state is None or state.schema is None:
            return  # a broken rule of the chain, found there
        self.listener.progress(dataset.name, "checking data", _block(sealed))
        try:
            rows = dataset.rows(event.new_data)
            if rows.num_rows != event.new_data.num_records:
                raise IntegrityError(
                    f"{event.new_data.num_records} rows recorded, {rows.num_rows} found"
                )
            found = dataset.logical_hash(rows, schema=state.schema, vocabulary=state.vocabulary)
        except (OdfError, OSError, ValueError, KeyError) as error:
            tally.findings.append(_finding(dataset, _block(sealed), error))
            return
        if found != event.new_data.logical_hash:
            message = f"rows have the hash {found}, recorded {event.new_data.logical_hash}"
            tally.findings.append(
                Finding(dataset=dataset.name, where=_block(sealed), message=message)
            )
            return
        tally.slices += 1

    def _replay(
        self,
        dataset: Dataset,
        steps: list[tuple[DatasetState | None, SealedBlock]],
        tally: _Tally,
    ) -> None:
        """Rebuild each step's plan from its block, run it, compare what comes out."""
        with ExitStack() as stack:
            engine_for = self._engine_cache(stack)
            for state, sealed in steps:
                event = sealed.block.event
                if state is None or not isinstance(event, ExecuteTransform):
                    continue
                self.listener.progress(dataset.name, "replaying", _block(sealed))
                try:
                    wrong = self._replay_step(dataset, state, sealed, engine_for)
                except (IntegrityError, InvalidQuery, NotFound) as error:
                    wrong = [str(error)]
                if wrong:
                    tally.findings.extend(
                        Finding(dataset=dataset.name, where=_block(sealed), message=each)
                        for each in wrong
                    )
                    return
                tally.replayed += 1

    def _engine_cache(self, stack: ExitStack) -> Callable[[EnginePin], Engine]:
        """One engine per pin for the whole verification."""
        held: dict[EnginePin, Engine] = {}

        def engine_for(pin: EnginePin) -> Engine:
            if pin not in held:
                held[pin] = stack.enter_context(self.engines.acquire(pin))
            return held[pin]

        return engine_for

    def _replay_step(
        self,
        dataset: Dataset,
        state: DatasetState,
        sealed: SealedBlock,
        engine_for: Callable[[EnginePin], Engine],
    ) -> list[str]:
        event = sealed.block.event
        if not isinstance(event, ExecuteTransform) or state.transform is None:
            return ["a step without a transform"]
        batch = planning.rebuild(state, sealed, state.transform.engine)
        expected_id = hashing.transaction_id(plan_codec.encode(batch))
        if event.transaction_id != expected_id:
            return [f"transaction id {event.transaction_id}, expected {expected_id}"]
        replay_id = hashing.transaction_id(b"%s at %d" % (expected_id.encode(), self.clock.now()))
        step = execute.Step(
            workspace=self.workspace,
            engine=engine_for(batch.engine),
            listener=self.listener,
            subject=dataset.name,
        )
        # An id of its own: no engine may answer a replay from its last-transaction record.
        return self._compare(dataset, state, event, step.run(batch, state, replay_id))

    def _compare(
        self,
        dataset: Dataset,
        state: DatasetState,
        event: ExecuteTransform,
        outcome: execute.Outcome,
    ) -> list[str]:
        wrong = self._compare_rows(dataset, state, event.new_data, outcome.rows)
        if outcome.watermark != event.new_watermark:
            wrong.append(f"recorded watermark {event.new_watermark}, replayed {outcome.watermark}")
        if outcome.marks != event.marks:
            wrong.append(f"recorded {len(event.marks)} marks, replayed others")
        return wrong

    def _compare_rows(
        self,
        dataset: Dataset,
        state: DatasetState,
        recorded: DataSlice | None,
        rows: pa.Table | None,
    ) -> list[str]:
        """What is wrong with replayed rows. The tree of the hash tells where they differ first."""
        if state.schema is None or (recorded is None and rows is None):
            return []
        if recorded is None or rows is None:
            count = 0 if rows is None else rows.num_rows
            return [f"recorded {recorded.num_records if recorded else 0} rows, replayed {count}"]
        replayed = dataset.digests(rows, schema=state.schema, vocabulary=state.vocabulary)
        if replayed.hash == recorded.logical_hash:
            return []
        kept = dataset.digests(
            dataset.read(recorded), schema=state.schema, vocabulary=state.vocabulary
        )
        where = _where(hashing.first_difference(kept, replayed), recorded.offset_interval.start)
        if kept.rows != replayed.rows:
            where = f"{kept.rows} rows recorded, {replayed.rows} replayed; {where}"
        return [f"recorded {recorded.logical_hash}, replayed {replayed.hash}: {where}"]


def _where(difference: hashing.Difference | None, first_offset: int) -> str:
    """A difference in the words of a finding."""
    if difference is None:
        return "the stored rows are the replayed ones"
    first, last = difference.rows[0] + first_offset, difference.rows[-1] + first_offset
    return f"first difference in column {difference.column}, offsets {first} to {last}"


def _finding(dataset: Dataset, where: str, error: Exception) -> Finding:
    return Finding(dataset=dataset.name, where=where, message=str(error))


def _block(sealed: SealedBlock) -> str:
    return f"block {short(sealed.hash)}"
