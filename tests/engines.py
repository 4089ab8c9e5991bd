"""An engine in this process that passes rows through: it keeps the contract, and knows no SQL.

The rows of all inputs come out unchanged, tick by tick, without their system columns. A test can
have it misbehave: raise instead of answering, write other rows, or answer something else.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from odf_coordinator.engine.exchange import EngineFolder
from odf_coordinator.errors import InvalidQuery, SandboxUnavailable
from odf_coordinator.model.event import EnginePin, EngineRun
from odf_coordinator.ports import Engine, Exchange, Listener
from odf_engine_spark import marks
from odf_wire import arrow_files, messages

RUN = EngineRun(name="pass-through", build_id="sha256:b", image_digest=None, runner="process")
REFUSED = "refuse me"
_OUTPUT = "output.arrow"


class Quiet:
    """A listener that hears nothing."""

    def progress(self, subject: str, stage: str, detail: str = "") -> None:
        """See ports.Listener."""

    def warning(self, subject: str, message: str) -> None:
        """See ports.Listener."""

    def clear(self) -> None:
        """See ports.Listener."""


@dataclass(kw_only=True)
class PassThrough:
    """See ports.Engine. `requests` are the steps that it was asked to run, in order."""

    folder: EngineFolder
    run: EngineRun = RUN
    requests: list[messages.ExecuteRequest] = field(default_factory=list)
    mishap: Exception | None = None
    rows: Callable[[pa.Table], pa.Table] = field(default=lambda rows: rows)
    answer: Callable[[messages.ExecuteResult], messages.ExecuteResult] = field(
        default=lambda result: result
    )

    def validate(self, request: messages.ValidateRequest) -> messages.ValidateResult:
        """See ports.Engine; refuses one text, at its second line and third column."""
        if request.query == REFUSED:
            raise InvalidQuery("no such thing", line=2, column=3)
        return messages.ValidateResult(columns=request.inputs[0].columns, kind="stateless")

    def exchange(self, transaction_id: str) -> AbstractContextManager[Exchange]:
        """See ports.Engine."""
        return self.folder.exchange(transaction_id)

    def execute(
        self, request: messages.ExecuteRequest, *, listener: Listener, subject: str
    ) -> messages.ExecuteResult:
        """See ports.Engine."""
        self.requests.append(request)
        if self.mishap is not None:
            raise self.mishap
        pieces = self._pieces(request)
        columns = request.inputs[0].shape.columns
        table = self.rows(pa.concat_tables(pieces.values()).select([c.name for c in columns]))
        file = f"{request.exchange}/{_OUTPUT}" if table.num_rows else None
        if file is not None:
            arrow_files.write(self.folder.outputs / file, table.schema, table.to_batches())
        advance = marks.advance(
            request.inputs,
            read=range(len(request.inputs)),
            rows={position: piece.num_rows for position, piece in pieces.items()},
            next_offset=request.next_offset,
            previous=request.previous_mark,
        )
        return self.answer(
            messages.ExecuteResult(
                file=file,
                rows=table.num_rows,
                columns=columns,
                watermark=advance.watermark,
                marks=advance.marks,
            )
        )

    def _pieces(self, request: messages.ExecuteRequest) -> dict[int, pa.Table]:
        """The rows of each tick, by its position among all ticks of the step."""
        folder = self.folder.inputs / request.exchange
        tables = [arrow_files.read(folder / each.file) for each in request.inputs]
        files = [iter(table.to_batches()) for table in tables]
        found = {}
        for position, placed in enumerate(marks.place(request.inputs)):
            batches = [next(files[placed.input]) for _ in range(placed.tick.batches)]
            found[position] = pa.Table.from_batches(batches, tables[placed.input].schema)
            if found[position].num_rows != placed.tick.rows:
                raise AssertionError(f"{placed} does not have its rows in its batches")
        if any(list(rest) for rest in files):
            raise AssertionError("an input has rows that no tick tells of")
        return found


@dataclass(frozen=True, kw_only=True)
class OneEngine:
    """See ports.Engines: there is this one and no other."""

    engine: PassThrough

    @contextmanager
    def acquire(self, pin: EnginePin | None) -> Iterator[Engine]:
        """See ports.Engines."""
        run = self.engine.run
        here = EnginePin(build_id=run.build_id, image_digest=run.image_digest)
        if pin not in (None, here):
            raise SandboxUnavailable(f"no engine {pin}")
        yield self.engine


def pass_through(root: Path) -> OneEngine:
    """An engine whose folders are below `root`."""
    folder = EngineFolder(root=root, owner=os.geteuid())
    folder.prepare()
    return OneEngine(engine=PassThrough(folder=folder))
