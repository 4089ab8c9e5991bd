"""Run one step of a derivative: pull commits the outcome, verify compares it."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from odf_wire import arrow_files, flat, messages

from odf_coordinator.codec import ddl
from odf_coordinator.dataset import Dataset
from odf_coordinator.errors import EngineError, IntegrityError, InternalError
from odf_coordinator.model.event import DatasetKind, InputInterval, SetTransform
from odf_coordinator.model.identity import BlockHash, DatasetId, TransactionId
from odf_coordinator.model.plan import Batch
from odf_coordinator.model.schema import Field, Schema, Vocabulary
from odf_coordinator.model.timeline import Instant, Mark
from odf_coordinator.ports import Engine, Exchange, Listener
from odf_coordinator.rules import exchange, slices
from odf_coordinator.rules.chain import DatasetState
from odf_coordinator.rules.planning import InputHistory, Tick, history_ticks
from odf_coordinator.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a step gives: rows as they are stored (None when there are none), watermark, marks."""

    rows: pa.Table | None
    watermark: Instant | None
    marks: tuple[Mark, ...]


def history(
    workspace: Workspace,
    dataset_id: DatasetId,
    *,
    after: BlockHash | None,
    upto: BlockHash | None = None,
) -> InputHistory:
    """The blocks of an input after a cursor, up to a block or (None) up to the head."""
    dataset = workspace.dataset_of(dataset_id)
    return InputHistory(
        dataset_id=dataset_id,
        cursor=after,
        last_mark=dataset.state(upto=after).last_mark if after else None,
        blocks=tuple(dataset.blocks(after=after, upto=upto)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the derivative `subject`, run by an engine."""

    workspace: Workspace
    engine: Engine
    listener: Listener
    subject: str

    def run(self, batch: Batch, state: DatasetState, transaction_id: TransactionId) -> Outcome:
        """Stage the inputs, call the engine, map the output, hold the engine to its contract.

        `state` is that of the derivative before the step. Raises InvalidQuery, EngineError,
        EngineLost, IntegrityError.
        """
        if state.transform is None or state.schema is None:
            raise InternalError(f"{self.subject} has no transform")
        with self.engine.exchange(transaction_id) as folders:
            inputs = tuple(
                _stage_input(self.workspace, interval, declared.alias, number, folders)
                for number, (interval, declared) in enumerate(
                    zip(batch.inputs, state.transform.inputs, strict=True)
                )
            )
            request = _request(batch, state, state.transform, inputs, transaction_id, folders)
            result = self.engine.execute(request, listener=self.listener, subject=self.subject)
            rows = _map_output(result, folders, state.schema)
            _check_event_time(rows, state.vocabulary)
            stamped = None
            if rows is not None:
                stamped = slices.stamped(
                    rows,
                    schema=state.schema,
                    vocabulary=state.vocabulary,
                    next_offset=batch.next_offset,
                    time=batch.system_time,
                )
        return Outcome(
            rows=stamped,
            watermark=None if result.watermark is None else Instant(result.watermark),
            marks=tuple(_mark_in(mark) for mark in result.marks),
        )


def input_shape(state: DatasetState, alias: str) -> messages.InputShape:
    """An input as a query sees it."""
    if state.schema is None:
        raise InternalError(f"{state.dataset_id} has no schema")
    return messages.InputShape(
        alias=alias,
        columns=_wire_columns(state.schema.fields()),
        vocabulary=wire_vocabulary(state.vocabulary),
        is_root=state.kind is DatasetKind.ROOT,
    )


def wire_vocabulary(vocabulary: Vocabulary) -> messages.Vocabulary:
    """A vocabulary as the engine contract spells it."""
    return messages.Vocabulary(
        offset=vocabulary.offset_column,
        operation_type=vocabulary.operation_type_column,
        system_time=vocabulary.system_time_column,
        event_time=vocabulary.event_time_column,
    )


def fields_in(columns: tuple[messages.Column, ...]) -> tuple[Field, ...]:
    """Columns that an engine declares. Raises EngineError when a type is not DDL."""
    try:
        return tuple(Field(name=c.name, type=ddl.parse_type(c.type)) for c in columns)
    except ddl.InvalidDdl as error:
        raise EngineError(f"the engine declared an unknown type: {error}") from error


def _wire_columns(fields: tuple[Field, ...]) -> tuple[messages.Column, ...]:
    return tuple(messages.Column(name=f.name, type=ddl.print_type(f.type)) for f in fields)


def _request(
    batch: Batch,
    state: DatasetState,
    transform: SetTransform,
    inputs: tuple[messages.InputSlice, ...],
    transaction_id: TransactionId,
    folders: Exchange,
) -> messages.ExecuteRequest:
    previous = batch.previous_mark
    return messages.ExecuteRequest(
        transaction_id=transaction_id,
        exchange=folders.name,
        inputs=inputs,
        query=transform.transform.queries[-1].query,
        vocabulary=wire_vocabulary(state.vocabulary),
        next_offset=batch.next_offset,
        previous_mark=_mark_out(previous) if previous else None,
    )


def _stage_input(
    workspace: Workspace, interval: InputInterval, alias: str, number: int, folders: Exchange
) -> messages.InputSlice:
    """One input's new rows as an Arrow file whose batches never cross a tick."""
    dataset = workspace.dataset_of(interval.dataset_id)
    state = dataset.state(upto=interval.new_block_hash)
    if state.schema is None:
        raise InternalError(f"{dataset.name} has no schema")
    past = _consumed(workspace, interval)
    ticks = [tick for _, ticks in history_ticks(past) for tick in ticks]
    fields = slices.stored_fields(state.schema, state.vocabulary)
    file = f"input-{number}.arrow"
    sizes = arrow_files.write(
        folders.inputs / file,
        exchange.outgoing_schema(fields),
        _batches(dataset, ticks, fields),
    )
    watermark = past.last_mark.watermark if past.last_mark else None
    return messages.InputSlice(
        shape=input_shape(state, alias),
        file=file,
        previous_watermark=None if watermark is None else flat.Instant(watermark),
        ticks=_wire_ticks(ticks, sizes),
    )


def _consumed(workspace: Workspace, interval: InputInterval) -> InputHistory:
    """What a step consumes of an input, perhaps nothing yet."""
    if interval.new_block_hash is None:
        return InputHistory(dataset_id=interval.dataset_id, cursor=None, last_mark=None, blocks=())
    return history(
        workspace,
        interval.dataset_id,
        after=interval.prev_block_hash,
        upto=interval.new_block_hash,
    )


def _batches(
    dataset: Dataset, ticks: list[Tick], fields: tuple[Field, ...]
) -> Iterator[pa.RecordBatch]:
    opened, table = None, None
    for tick in ticks:
        if not tick.rows or tick.slice is None:
            continue
        if opened != tick.slice or table is None:
            opened, table = tick.slice, exchange.outgoing(dataset.rows(tick.slice), fields)
        start = tick.start - tick.slice.offset_interval.start
        piece = table.slice(start, tick.rows).combine_chunks()
        if piece.num_rows != tick.rows:
            raise IntegrityError(f"{dataset.name}: data/{tick.slice.physical_hash} is too short")
        yield from piece.to_batches()


def _wire_ticks(ticks: list[Tick], sizes: list[int]) -> tuple[messages.Tick, ...]:
    """Ticks with the number of record batches that hold their rows."""
    found, left = [], list(reversed(sizes))
    for tick in ticks:
        rows, batches = 0, 0
        while rows < tick.rows:
            rows += left.pop()
            batches += 1
        found.append(messages.Tick(batches=batches, rows=tick.rows, mark=_mark_out(tick.mark)))
    return tuple(found)


def _check_event_time(rows: pa.Table | None, vocabulary: Vocabulary) -> None:
    if rows is not None and rows[vocabulary.event_time_column].null_count:
        raise EngineError("the engine's output has rows without an event time")


def _map_output(
    result: messages.ExecuteResult, folders: Exchange, schema: Schema
) -> pa.Table | None:
    """The engine's rows, or None; raises EngineError when they are not what was agreed."""
    fields = fields_in(result.columns)
    if sorted(fields, key=_by_name) != sorted(schema.fields(), key=_by_name):
        raise EngineError(
            "the engine's output does not have the dataset's columns",
            hint="if an input has new columns, `odf edit` the dataset with its manifest",
        )
    if result.file is None:
        if result.rows:
            raise EngineError(f"the engine promised {result.rows} rows and wrote no file")
        return None
    path = folders.outputs.parent / result.file
    if path.resolve().parent != folders.outputs.resolve():
        raise EngineError(f"the engine's output {result.file} is outside of its folder")
    try:
        rows = exchange.incoming(arrow_files.read(path), fields)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise EngineError(f"the engine's output cannot be read: {error}") from error
    if rows.num_rows != result.rows:
        raise EngineError(f"the engine promised {result.rows} rows and wrote {rows.num_rows}")
    return rows


def _by_name(field: Field) -> str:
    return field.name


def _mark_out(mark: Mark) -> messages.Mark:
    watermark = None if mark.watermark is None else flat.Instant(mark.watermark)
    return messages.Mark(offset=mark.offset, watermark=watermark, time=flat.Instant(mark.time))


def _mark_in(mark: messages.Mark) -> Mark:
    watermark = None if mark.watermark is None else Instant(mark.watermark)
    return Mark(offset=mark.offset, watermark=watermark, time=Instant(mark.time))
