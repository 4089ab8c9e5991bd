"""The engine's operations over messages: any number of Progress, then exactly one result.

A failure is a result too: InvalidQuery when the query is at fault, InternalError otherwise.
"""

import concurrent.futures
import json
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from odf_wire.messages import (
    Column,
    ExecuteRequest,
    ExecuteResult,
    InfoResult,
    InputShape,
    InternalError,
    Progress,
    ResponseBody,
    ValidateRequest,
    ValidateResult,
    Vocabulary,
)
from py4j.protocol import Py4JError

from odf_engine_spark import __version__, analysis, functions, marks, plans, tables, transactions
from odf_engine_spark.analysis import Analysis
from odf_engine_spark.faults import EngineFault, as_exception
from odf_engine_spark.guard import Guard
from odf_engine_spark.refusal import Refused
from odf_engine_spark.session import Session
from odf_engine_spark.tables import UnsupportedType

ENGINE = "odf-spark"
DIALECT = "spark-sql"
CAPABILITIES = ("validate", "execute", "stateless")
OUTPUT_NAME = "output.arrow"
_PROGRESS_SECONDS = 1.0


class BadRequest(Exception):
    """A request that a correct coordinator does not send."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """Where exchange folders are: inputs may be read-only, outputs is written."""

    inputs: Path
    outputs: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class _Accepted:
    query: Any
    analysis: Analysis
    columns: tuple[Column, ...]


class Operations:
    """Runs one operation at a time over one session; the caller takes turns."""

    def __init__(self, session: Session, folders: Folders, build_id: str) -> None:
        self._session = session
        self._folders = folders
        self._build_id = build_id
        self._guard = Guard(session.function_classes(functions.ALLOWED))

    def info(self) -> Iterator[ResponseBody]:
        """Who this is. Does not touch the session."""
        yield InfoResult(
            engine=ENGINE,
            version=__version__,
            spark_version=self._session.spark_version,
            dialect=DIALECT,
            capabilities=CAPABILITIES,
            build_id=self._build_id,
        )

    def validate(self, request: ValidateRequest) -> Iterator[ResponseBody]:
        """Whether the query is accepted, and its output columns. Reads no data."""
        return self._as_values(lambda: self._validate(request))

    def execute(self, request: ExecuteRequest, group: str) -> Iterator[ResponseBody]:
        """Run the next step, once per transaction id; `group` names its jobs for cancelling."""
        return self._as_values(lambda: self._execute(request, group))

    def _as_values(self, operation: Callable[[], Iterator[ResponseBody]]) -> Iterator[ResponseBody]:
        """The operation's answers; what it raises becomes its result."""
        try:
            yield from operation()
        except Refused as refused:
            yield refused.verdict
        except EngineFault as fault:
            yield InternalError(message=str(fault), trace=fault.trace)
        except Exception as error:
            ended = self._session.cause_of_end() if isinstance(error, Py4JError) else None
            yield InternalError(
                message=ended or f"{type(error).__name__}: {error}", trace=traceback.format_exc()
            )

    def _validate(self, request: ValidateRequest) -> Iterator[ResponseBody]:
        declared = tables.declared(request.inputs)
        accepted = self._accept(request.query, declared, request.inputs, request.vocabulary)
        yield ValidateResult(columns=accepted.columns, kind=accepted.analysis.kind)

    def _execute(self, request: ExecuteRequest, group: str) -> Iterator[ResponseBody]:
        outputs = self._folders.outputs
        target = _inside(outputs, request.exchange, OUTPUT_NAME)
        target.parent.mkdir(parents=True, exist_ok=True)
        recalled = transactions.recall(outputs, request, target)
        if recalled is not None:
            yield recalled
            return
        yield Progress(stage="analyse")
        files = [_inside(self._folders.inputs, request.exchange, s.file) for s in request.inputs]
        shapes = [each.shape for each in request.inputs]
        readable = tables.readable(request.inputs, files)
        accepted = self._accept(request.query, readable, shapes, request.vocabulary)
        rows = yield from self._run(accepted, request, target, group)
        advance = marks.advance(
            request.inputs,
            read=accepted.analysis.read,
            rows=rows,
            next_offset=request.next_offset,
            previous=request.previous_mark,
        )
        result = ExecuteResult(
            file=target.relative_to(outputs).as_posix() if rows else None,
            rows=sum(rows.values()),
            columns=accepted.columns,
            watermark=advance.watermark,
            marks=advance.marks,
        )
        transactions.keep(outputs, request, result)
        yield result

    def _accept(
        self,
        sql: str,
        declared: list[dict[str, Any]],
        inputs: Sequence[InputShape],
        vocabulary: Vocabulary,
    ) -> _Accepted:
        """Raises Refused. Nothing but the text is looked at before the guard has seen it."""
        self._session.register(declared)
        query = self._session.query(sql)
        parsed = _answer(query.parse(), sql)
        self._guard.check_parsed(plans.from_report(parsed["plan"]), [i.alias for i in inputs])
        analysed = _answer(query.analyse(), sql)
        plan = plans.from_report(analysed["plan"])
        clocks = [plans.Clock(**each) for each in analysed["clocks"]]
        self._guard.check_analysed(plan, clocks, inputs, vocabulary)
        found = analysis.analyse(plan, inputs, vocabulary)
        try:
            columns = tables.output_columns(plan[0].output)
        except UnsupportedType as error:
            raise Refused(
                str(error), hint="cast it to a type of the spec, or leave it out"
            ) from error
        return _Accepted(query=query, analysis=found, columns=columns)

    def _run(
        self, accepted: _Accepted, request: ExecuteRequest, target: Path, group: str
    ) -> Generator[Progress, None, dict[int, int]]:
        """Write the output; gives the rows of each tick position."""
        _clear(target)
        total = sum(tick.rows for slice_ in request.inputs for tick in slice_.ticks)
        schema = json.dumps(tables.struct(accepted.columns))
        with concurrent.futures.ThreadPoolExecutor(max_workers=1) as worker:
            job = worker.submit(accepted.query.write, str(target), schema, group)
            while not job.done():
                written = self._session.rows_written()
                yield Progress(stage="run", rows_read=total, rows_written=written)
                concurrent.futures.wait([job], timeout=_PROGRESS_SECONDS)
        rows = _answer(job.result(), request.query)["rows"]
        return {int(position): count for position, count in rows.items()}


def _answer(document: str, sql: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(document)
    if "error" in answer:
        raise as_exception(answer["error"], sql)
    return answer


def _inside(root: Path, *relative: str) -> Path:
    """A path below `root`, wherever links lead. Raises BadRequest."""
    path = root.joinpath(*relative)
    if not all(relative) or not path.resolve().is_relative_to(root.resolve()):
        raise BadRequest(f"{'/'.join(relative)!r} is not inside the exchange folder")
    return path


def _clear(target: Path) -> None:
    """Remove what an attempt that was cut short may have left in this folder."""
    for left in target.parent.glob(target.name + "*"):
        left.unlink()
