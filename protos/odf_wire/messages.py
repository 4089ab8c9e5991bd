"""The messages of the engine contract, as frozen values. The bytes are the codec's business."""

from dataclasses import dataclass

from odf_wire.flat import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A point of a log: rows up to `offset` had arrived and event time was known up to `watermark`.

    `offset` is -1 before the first row.
    """

    offset: int
    watermark: Instant | None
    time: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column by name and by its type in the spec's DDL."""

    name: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The names of the system columns of one dataset."""

    offset: str = "offset"
    operation_type: str = "op"
    system_time: str = "system_time"
    event_time: str = "event_time"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputShape:
    """One input as a query sees it: event time and data columns; system columns are implied."""

    alias: str
    columns: tuple[Column, ...]
    vocabulary: Vocabulary
    is_root: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """What one input brought between two of its marks: so many batches of its file."""

    batches: int
    rows: int
    mark: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSlice:
    """The new part of one input: a file relative to the inputs folder of the exchange."""

    shape: InputShape
    file: str
    previous_watermark: Instant | None
    ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoRequest:
    """Who are you?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateRequest:
    """Is this query one that the engine accepts, and what columns does it give?"""

    inputs: tuple[InputShape, ...]
    query: str
    vocabulary: Vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteRequest:
    """Run the next step. Everything but `exchange` is a parameter of the transaction."""

    transaction_id: str
    exchange: str
    inputs: tuple[InputSlice, ...]
    query: str
    vocabulary: Vocabulary
    next_offset: int
    previous_mark: Mark | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a running call is."""

    stage: str
    rows_read: int = 0
    rows_written: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoResult:
    """The engine's identity; `build_id` is the same in an image and as a child process."""

    engine: str
    version: str
    spark_version: str
    dialect: str
    capabilities: tuple[str, ...]
    build_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateResult:
    """The query is accepted: its output columns and the kind of its state."""

    columns: tuple[Column, ...]
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteResult:
    """The step's outcome. `file` is relative to the outputs folder, None when there are no rows."""

    file: str | None
    rows: int
    columns: tuple[Column, ...]
    watermark: Instant | None
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidQuery:
    """The query is at fault; line and column are 1-based inside the query, 0 when unknown."""

    message: str
    line: int = 0
    column: int = 0
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalError:
    """The engine is at fault."""

    message: str
    trace: str = ""


RequestBody = InfoRequest | ValidateRequest | ExecuteRequest
Result = InfoResult | ValidateResult | ExecuteResult | InvalidQuery | InternalError
ResponseBody = Progress | Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What one call carries in."""

    body: RequestBody


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """One of the answers that a call streams out."""

    body: ResponseBody
