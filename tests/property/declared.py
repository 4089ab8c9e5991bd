"""Strategies: every dataset that a manifest can declare."""

from typing import Any

from hypothesis import strategies as st
from odf_coordinator.model import source as src
from odf_coordinator.model.identity import DatasetName, DatasetRef
from odf_coordinator.model.schema import (
    Array,
    ColumnType,
    Decimal,
    Field,
    Simple,
    Struct,
    StructField,
    Timestamp,
    Vocabulary,
)
from odf_coordinator.model.timeline import Duration

TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Co", "Cn", "Zl", "Zp")),
    min_size=1,
    max_size=12,
)
PLAIN = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True)
_SUBDOMAINS = st.from_regex(r"[a-zA-Z0-9]{1,5}(-[a-zA-Z0-9]{1,3})?", fullmatch=True)
NAMES = st.lists(_SUBDOMAINS, min_size=1, max_size=3).map(
    lambda parts: DatasetName(".".join(parts))
)
_ONE = st.sampled_from("#\\'|;\t")


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Perhaps nothing."""
    return st.none() | strategy


def _tuples(strategy: st.SearchStrategy[Any], *, least: int = 0) -> st.SearchStrategy[Any]:
    return st.lists(strategy, min_size=least, max_size=3).map(tuple)


def _columns(*, least: int = 0) -> st.SearchStrategy[Any]:
    return st.lists(PLAIN, min_size=least, max_size=3, unique=True).map(tuple)


FLAT: st.SearchStrategy[ColumnType] = st.one_of(
    st.sampled_from(Simple),
    st.integers(1, 38).flatmap(
        lambda p: st.builds(Decimal, precision=st.just(p), scale=st.integers(0, p))
    ),
    st.builds(Timestamp, precision=st.integers(0, 6)),
)
TYPES: st.SearchStrategy[ColumnType] = st.recursive(
    FLAT,
    lambda inner: st.one_of(
        st.builds(Array, item=inner),
        st.builds(Struct, fields=_tuples(st.builds(StructField, name=TEXTS, type=inner), least=1)),
    ),
    max_leaves=4,
)


def _schemas(types: st.SearchStrategy[ColumnType]) -> st.SearchStrategy[Any]:
    fields = st.builds(Field, name=TEXTS.map(lambda text: f"c{text}"), type=types)
    return st.lists(fields, max_size=4, unique_by=lambda f: f.name.lower()).map(tuple)


_EVENT_TIMES = st.one_of(
    st.builds(src.EventTimeFromMetadata),
    st.builds(
        src.EventTimeFromPath,
        pattern=st.sampled_from([r"(\d+)", r"a-(.*)\.csv"]),
        timestamp_format=maybe(TEXTS),
    ),
    st.builds(src.EventTimeFromSystemTime),
)
_CACHES = maybe(st.builds(src.CacheForever))
_HEADERS = st.builds(
    src.RequestHeader,
    name=st.sampled_from(["Accept", "X-Api-Key", "User-Agent"]),
    value=st.sampled_from(["${secret.KEY}", "key ${secret.my-key}"]),
)
FETCHES = st.one_of(
    st.builds(
        src.FetchUrl,
        url=st.sampled_from(["a.csv", "https://example.org/x", "s3://bucket/key", "../b c.csv"]),
        event_time=maybe(_EVENT_TIMES),
        cache=_CACHES,
        headers=st.lists(_HEADERS, max_size=2, unique_by=lambda header: header.name).map(tuple),
    ),
    st.builds(
        src.FetchFilesGlob,
        path=TEXTS,
        event_time=maybe(_EVENT_TIMES),
        cache=_CACHES,
        order=st.sampled_from(src.SourceOrder),
    ),
)
_PREPARES = st.one_of(
    st.builds(src.PrepDecompress, format=st.sampled_from(src.Compression), sub_path=maybe(TEXTS)),
    st.builds(src.PrepPipe, command=_tuples(TEXTS, least=1)),
)
_ON_ERRORS = st.sampled_from(src.OnError)
_ENCODINGS = st.sampled_from(["utf-8", "latin-1", "utf-16"])
READS: st.SearchStrategy[src.ReadStep] = st.one_of(
    st.builds(
        src.ReadCsv,
        schema=_schemas(FLAT),
        separator=st.sampled_from(",;\t|"),
        encoding=_ENCODINGS,
        quote=st.sampled_from(["", '"', "'"]),
        escape=maybe(_ONE),
        comment=maybe(_ONE),
        header=st.booleans(),
        enforce_schema=st.booleans(),
        infer_schema=st.booleans(),
        ignore_leading_white_space=st.booleans(),
        ignore_trailing_white_space=st.booleans(),
        null_value=st.just("") | TEXTS,
        empty_value=maybe(st.just("") | TEXTS),
        nan_value=TEXTS,
        positive_inf=TEXTS,
        negative_inf=TEXTS,
        date_format=maybe(TEXTS),
        timestamp_format=maybe(TEXTS),
        multi_line=st.booleans(),
        on_error=_ON_ERRORS,
    ),
    st.builds(
        src.ReadJsonLines,
        schema=_schemas(TYPES),
        date_format=maybe(TEXTS),
        encoding=_ENCODINGS,
        multi_line=st.booleans(),
        primitives_as_string=st.booleans(),
        timestamp_format=maybe(TEXTS),
        on_error=_ON_ERRORS,
    ),
    st.builds(src.ReadJson, schema=_schemas(TYPES), sub_path=maybe(TEXTS), on_error=_ON_ERRORS),
    st.builds(src.ReadGeoJson, schema=_schemas(TYPES), on_error=_ON_ERRORS),
    st.builds(
        src.ReadEsriShapefile, schema=_schemas(TYPES), sub_path=maybe(TEXTS), on_error=_ON_ERRORS
    ),
    st.builds(src.ReadParquet, schema=_schemas(TYPES), on_error=_ON_ERRORS),
)
DURATIONS = st.integers(1, 10**15).map(Duration)
_QUERIES = st.lists(PLAIN, max_size=2, unique_by=str.lower).flatmap(
    lambda aliases: st.tuples(
        *(st.builds(src.SqlQuery, query=TEXTS, alias=st.just(f"q_{alias}")) for alias in aliases),
        st.builds(src.SqlQuery, query=st.just("select\n  1\nfrom a\n") | TEXTS),
    )
)


def transforms(inputs: tuple[str, ...] = ()) -> st.SearchStrategy[src.Transform]:
    """A transform; its temporal tables are among the inputs."""
    tables: st.SearchStrategy[Any] = st.just(())
    if inputs:
        table = st.builds(
            src.TemporalTable, id=st.sampled_from(inputs), primary_key=_columns(least=1)
        )
        tables = _tuples(table)
    return st.builds(
        src.Transform,
        engine=st.just("spark"),
        version=maybe(TEXTS),
        queries=_QUERIES,
        temporal_tables=tables,
        late_data=st.just(src.LateDrop()) | st.builds(src.LateCorrect, horizon=DURATIONS),
    )


@st.composite
def _merges(draw: st.DrawFn, read: src.ReadStep) -> src.MergeStrategy:
    """A strategy whose columns are among those that are read, where these are declared."""
    known = [field.name for field in read.schema]
    columns = (
        st.lists(st.sampled_from(known), min_size=1, unique=True).map(tuple)
        if known
        else _columns(least=1)
    )
    duplicate = st.sampled_from(src.OnDuplicateKey)
    return draw(
        st.one_of(
            st.just(src.MergeAppend()),
            st.builds(
                src.MergeLedger,
                primary_key=columns,
                on_changed=st.sampled_from(src.OnChanged),
                on_duplicate_key=duplicate,
            ),
            st.builds(
                src.MergeSnapshot,
                primary_key=columns,
                compare_columns=st.just(()) | columns,
                observation_column=st.sampled_from(["observed", "seen"]),
                obsv_added=TEXTS,
                on_duplicate_key=duplicate,
            ),
        )
    )


@st.composite
def roots(draw: st.DrawFn) -> src.PollingSource | src.PushSource:
    """A root's source, polled or pushed."""
    read = draw(READS)
    merge = draw(_merges(read))
    preprocess = draw(maybe(transforms()))
    watermark = draw(maybe(st.builds(src.WatermarkRule, max_event_time_minus=DURATIONS)))
    if draw(st.booleans()):
        return src.PushSource(read=read, preprocess=preprocess, merge=merge, watermark=watermark)
    return src.PollingSource(
        fetch=draw(FETCHES),
        prepare=draw(_tuples(_PREPARES)),
        read=read,
        preprocess=preprocess,
        merge=merge,
        watermark=watermark,
    )


REFS = st.builds(DatasetRef, dataset=NAMES) | st.builds(
    DatasetRef, remote=NAMES, user=maybe(_SUBDOMAINS), dataset=NAMES
)


@st.composite
def derivatives(draw: st.DrawFn) -> src.DerivativeSource:
    """A derivative's source."""
    inputs = draw(
        st.lists(
            st.builds(
                src.DeclaredInput,
                id=REFS,
                alias=maybe(PLAIN.map("in_{}".format)),
                view=maybe(st.just(src.InputView.LOG)),
            ),
            min_size=1,
            max_size=3,
            unique_by=lambda each: each.known_as.lower(),
        )
    )
    names = tuple(each.known_as for each in inputs)
    return src.DerivativeSource(inputs=tuple(inputs), transform=draw(transforms(names)))


VOCABULARIES = st.just(Vocabulary()) | st.builds(
    Vocabulary, offset_column=st.just("sys_n"), event_time_column=st.just("sys_when")
)
INFOS = st.builds(src.DatasetInfo, description=maybe(TEXTS), keywords=_tuples(TEXTS))
LICENSES = st.builds(
    src.License, short_name=TEXTS, name=TEXTS, spdx_id=maybe(TEXTS), website_url=TEXTS
)
ATTACHMENTS = st.lists(
    st.builds(src.Attachment, path=PLAIN, content=st.just("# Title\n\ntext\n") | st.just("")),
    max_size=2,
    unique_by=lambda each: each.path,
).map(tuple)
SNAPSHOTS = st.builds(
    src.DatasetSnapshot,
    id=NAMES,
    source=roots() | derivatives(),
    vocab=VOCABULARIES,
    info=maybe(INFOS),
    license=maybe(LICENSES),
    attachments=ATTACHMENTS,
)
