"""Where a dataset's rows come from: what people declare in a manifest and the chain records.

A field with a default may be left out of a manifest. Names are those of the spec.
"""

from dataclasses import dataclass
from enum import Enum

from odf_coordinator.model.identity import DatasetId, DatasetName, DatasetRef
from odf_coordinator.model.schema import Field, Vocabulary
from odf_coordinator.model.timeline import Duration

# Fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTimeFromMetadata:
    """When the source says it changed: HTTP Last-Modified, or a file's time of change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTimeFromPath:
    """A time in the file's name: the first group of a regular expression, in a format."""

    pattern: str
    timestamp_format: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTimeFromSystemTime:
    """When it was fetched."""


EventTimeSource = EventTimeFromMetadata | EventTimeFromPath | EventTimeFromSystemTime


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheForever:
    """What was fetched once is never fetched again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeader:
    """A header of a request; the value may hold `${secret.NAME}`."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchUrl:
    """One file at an address; a relative path is relative to the manifest's folder."""

    url: str
    event_time: EventTimeSource | None = None
    cache: CacheForever | None = None
    headers: tuple[RequestHeader, ...] = ()


class SourceOrder(Enum):
    """In which order files that arrived together are read."""

    BY_EVENT_TIME = "byEventTime"
    BY_NAME = "byName"


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchFilesGlob:
    """Files whose names match; each is its own ingest step."""

    path: str
    event_time: EventTimeSource | None = None
    cache: CacheForever | None = None
    order: SourceOrder = SourceOrder.BY_NAME


FetchStep = FetchUrl | FetchFilesGlob

# Prepare


class Compression(Enum):
    """How a file is packed."""

    GZIP = "gzip"
    ZIP = "zip"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepDecompress:
    """Unpack; of an archive, the file at `sub_path`."""

    format: Compression
    sub_path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepPipe:
    """Pass the bytes through a command."""

    command: tuple[str, ...]


PrepStep = PrepDecompress | PrepPipe

# Read


class OnError(Enum):
    """What becomes of rows that cannot be read."""

    FAIL = "fail"
    QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCsv:
    """Separated values. With a header, columns are found by name; without, by position."""

    schema: tuple[Field, ...] = ()
    separator: str = ","
    encoding: str = "utf-8"
    quote: str = '"'
    escape: str | None = None
    comment: str | None = None
    header: bool = False
    enforce_schema: bool = True
    infer_schema: bool = False
    ignore_leading_white_space: bool = False
    ignore_trailing_white_space: bool = False
    null_value: str = ""
    empty_value: str | None = None
    nan_value: str = "NaN"
    positive_inf: str = "Infinity"
    negative_inf: str = "-Infinity"
    date_format: str | None = None
    timestamp_format: str | None = None
    multi_line: bool = True
    on_error: OnError = OnError.FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadJsonLines:
    """One JSON object a line; with `multi_line`, objects over several lines."""

    schema: tuple[Field, ...] = ()
    date_format: str | None = None
    encoding: str = "utf-8"
    multi_line: bool = False
    primitives_as_string: bool = False
    timestamp_format: str | None = None
    on_error: OnError = OnError.FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadJson:
    """A JSON document with an array of objects at `sub_path`."""

    schema: tuple[Field, ...] = ()
    sub_path: str | None = None
    date_format: str | None = None
    encoding: str = "utf-8"
    timestamp_format: str | None = None
    on_error: OnError = OnError.FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadGeoJson:
    """A GeoJSON collection: properties, and the geometry as text."""

    schema: tuple[Field, ...] = ()
    on_error: OnError = OnError.FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadEsriShapefile:
    """A zipped shapefile, in an archive of several at `sub_path`."""

    schema: tuple[Field, ...] = ()
    sub_path: str | None = None
    on_error: OnError = OnError.FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadParquet:
    """A Parquet file."""

    schema: tuple[Field, ...] = ()
    on_error: OnError = OnError.FAIL


ReadStep = ReadCsv | ReadJsonLines | ReadJson | ReadGeoJson | ReadEsriShapefile | ReadParquet

# Merge


class OnChanged(Enum):
    """What becomes of a row that changed under a key that a ledger knows."""

    IGNORE = "ignore"
    ERROR = "error"
    CORRECT = "correct"


class OnDuplicateKey(Enum):
    """Which of several rows with one key counts."""

    ERROR = "error"
    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeAppend:
    """New rows are added as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeLedger:
    """Rows with keys that are not known yet are added."""

    primary_key: tuple[str, ...]
    on_changed: OnChanged = OnChanged.IGNORE
    on_duplicate_key: OnDuplicateKey = OnDuplicateKey.ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSnapshot:
    """The source is a state: rows that came, changed and went away are added as events."""

    primary_key: tuple[str, ...]
    compare_columns: tuple[str, ...] = ()
    observation_column: str = "observed"
    obsv_added: str = "I"
    obsv_changed: str = "U"
    obsv_removed: str = "D"
    on_duplicate_key: OnDuplicateKey = OnDuplicateKey.ERROR


MergeStrategy = MergeAppend | MergeLedger | MergeSnapshot

# Transform


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlQuery:
    """One query; those after it know its result by the alias. The last one has none."""

    query: str
    alias: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalTable:
    """An input (by id or alias) that queries see as a table with a history, by key."""

    id: str
    primary_key: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LateDrop:
    """Rows that arrive after their time was closed are left out, and counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LateCorrect:
    """Rows that arrive late correct what was said before, up to this long after."""

    horizon: Duration


LateData = LateDrop | LateCorrect


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """What is done to the inputs: queries in an engine's dialect; the last one is the output."""

    engine: str
    version: str | None = None
    queries: tuple[SqlQuery, ...]
    temporal_tables: tuple[TemporalTable, ...] = ()
    late_data: LateData = LateDrop()


class InputView(Enum):
    """How a query sees an input: as its full log, whatever the operator would choose."""

    LOG = "log"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformInput:
    """An input of a derivative, under the alias that its query uses."""

    dataset_id: DatasetId
    alias: str
    view: InputView | None = None


# Datasets


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkRule:
    """How a root's watermark follows its rows: this long behind the latest event time."""

    max_event_time_minus: Duration


@dataclass(frozen=True, slots=True, kw_only=True)
class PollingSource:
    """A root's definition: fetch, prepare, read, preprocess, merge."""

    fetch: FetchStep
    prepare: tuple[PrepStep, ...] = ()
    read: ReadStep
    preprocess: Transform | None = None
    merge: MergeStrategy
    watermark: WatermarkRule | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PushSource:
    """A root that is fed from outside: read, preprocess, merge."""

    read: ReadStep
    preprocess: Transform | None = None
    merge: MergeStrategy
    watermark: WatermarkRule | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredInput:
    """An input as a manifest names it."""

    id: DatasetRef
    alias: str | None = None
    view: InputView | None = None

    @property
    def known_as(self) -> str:
        """Its name in queries."""
        return self.alias or self.id.dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivativeSource:
    """A derivative's definition as a manifest gives it; the chain stores identities instead."""

    inputs: tuple[DeclaredInput, ...]
    transform: Transform


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInfo:
    """What a dataset is about."""

    description: str | None = None
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class License:
    """What others may do with a dataset."""

    short_name: str
    name: str
    spdx_id: str | None = None
    website_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A text file that travels with the dataset, such as README.md."""

    path: str
    content: str


DatasetSource = PollingSource | PushSource | DerivativeSource


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSnapshot:
    """One dataset as a manifest declares it."""

    id: DatasetName
    source: DatasetSource
    vocab: Vocabulary = Vocabulary()
    info: DatasetInfo | None = None
    license: License | None = None
    attachments: tuple[Attachment, ...] = ()
