"""Manifests: what is understood, and what is said of mistakes."""

import pytest
from odf_coordinator.codec import manifest
from odf_coordinator.errors import InvalidQuery, InvalidText, Problem
from odf_coordinator.model.identity import DatasetRef, parse_ref
from odf_coordinator.model.schema import Field, Simple, Timestamp
from odf_coordinator.model.source import (
    Attachment,
    DatasetInfo,
    DatasetSnapshot,
    DeclaredInput,
    DerivativeSource,
    FetchFilesGlob,
    FetchUrl,
    MergeAppend,
    PollingSource,
    PushSource,
    ReadCsv,
    ReadJsonLines,
    RequestHeader,
    SqlQuery,
    Transform,
    WatermarkRule,
)
from odf_coordinator.model.timeline import Duration

ROOT = """\
kind: DatasetSnapshot
apiVersion: 1
content:
  id: org.example.cities
  source:
    kind: root
    fetch:
      kind: url
      url: data/cities.csv
    read:
      kind: csv
      header: true
      separator: ";"
      schema:
        - event_time TIMESTAMP(3)
        - population BIGINT
    merge:
      kind: append
"""
DERIVATIVE = """\
kind: DatasetSnapshot
apiVersion: 1
content:
  id: org.example.large
  source:
    kind: derivative
    inputs:
      - org.example.cities
      - id: org.example.rivers
        alias: r
    transform:
      engine: spark
      query: |
        select event_time, population
        from `org.example.cities`
"""


def _problems(text: str) -> tuple[Problem, ...]:
    with pytest.raises(InvalidText) as caught:
        manifest.parse(text, "m.yaml")
    return caught.value.problems


def _problem(text: str, old: str, new: str) -> Problem:
    """The one problem of a text with one change."""
    assert text.count(old) == 1
    (problem,) = _problems(text.replace(old, new))
    return problem


def _place(problem: Problem) -> tuple[int, int, str]:
    return problem.line, problem.column, problem.path


def test_a_root_is_understood() -> None:
    assert manifest.parse(ROOT, "m.yaml").snapshot == DatasetSnapshot(
        id="org.example.cities",
        source=PollingSource(
            fetch=FetchUrl(url="data/cities.csv"),
            read=ReadCsv(
                schema=(
                    Field(name="event_time", type=Timestamp(precision=3)),
                    Field(name="population", type=Simple.BIGINT),
                ),
                header=True,
                separator=";",
            ),
            merge=MergeAppend(),
        ),
    )


def test_a_derivative_is_understood_and_its_query_kept_to_the_letter() -> None:
    query = "select event_time, population\nfrom `org.example.cities`\n"
    assert manifest.parse(DERIVATIVE, "m.yaml").snapshot == DatasetSnapshot(
        id="org.example.large",
        source=DerivativeSource(
            inputs=(
                DeclaredInput(id=DatasetRef(dataset="org.example.cities")),
                DeclaredInput(id=DatasetRef(dataset="org.example.rivers"), alias="r"),
            ),
            transform=Transform(engine="spark", queries=(SqlQuery(query=query),)),
        ),
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("apiVersion: 1", "version: 1"),
        ("kind: DatasetSnapshot", "kind: datasetSnapshot"),
        ("kind: DatasetSnapshot", "kind: datasetsnapshot"),
        ("kind: root", "kind: Root"),
        ("kind: url", "kind: URL"),
        ("kind: csv", "kind: Csv"),
        ("kind: append", "kind: Append"),
        ("    merge:\n      kind: append", "    merge: {kind: append}"),
        ("\n", "\r\n"),
        ("kind: DatasetSnapshot", "\ufeffkind: DatasetSnapshot"),
        ("kind: DatasetSnapshot", "# a comment\n---\nkind: DatasetSnapshot"),
    ],
)
def test_these_say_the_same(old: str, new: str) -> None:
    same = manifest.parse(ROOT.replace(old, new), "m.yaml")
    assert same.snapshot == manifest.parse(ROOT, "m.yaml").snapshot


def test_defaults_are_a_comma_and_no_header() -> None:
    text = ROOT.replace('      separator: ";"\n', "").replace("      header: true\n", "")
    source = manifest.parse(text, "m.yaml").snapshot.source
    assert isinstance(source, PollingSource)
    assert (source.read.header, source.read.separator) == (False, ",")


@pytest.mark.parametrize("kind", ["filesGlob", "FilesGlob", "filesglob"])
def test_files_of_a_pattern(kind: str) -> None:
    text = ROOT.replace("kind: url", f"kind: {kind}").replace("url: data", "path: data")
    source = manifest.parse(text, "m.yaml").snapshot.source
    assert isinstance(source, PollingSource)
    assert source.fetch == FetchFilesGlob(path="data/cities.csv")


def test_spark_has_a_second_name() -> None:
    text = DERIVATIVE.replace("engine: spark", "engine: sparkSQL")
    source = manifest.parse(text, "m.yaml").snapshot.source
    assert isinstance(source, DerivativeSource)
    assert source.transform.engine == "spark"


def test_an_unknown_key_is_pointed_at_and_the_right_one_is_guessed() -> None:
    problem = _problem(ROOT, "header: true", "haeder: true")
    assert _place(problem) == (12, 7, "content.source.read.haeder")
    assert problem.message == "unknown key 'haeder'"
    assert problem.hint == "did you mean 'header'?"
    assert str(problem).splitlines() == [
        "m.yaml:12:7: content.source.read.haeder: unknown key 'haeder'",
        "   12 |       haeder: true",
        "      |       ^ did you mean 'header'?",
    ]


def test_a_key_unlike_any_other_gets_the_list_of_keys() -> None:
    problem = _problem(ROOT, "url: data/cities.csv", "url: data/cities.csv\n      zzz: true")
    assert problem.hint == "one of (kind, url, eventTime, cache, headers)"


@pytest.mark.parametrize(
    ("old", "new", "place", "hint"),
    [
        ("apiVersion", "apiversion", (2, 1, "apiversion"), "'apiVersion'"),
        ("  id:", "  ID: x\n  id:", (4, 3, "content.ID"), "'id'"),
        ("url: data", "uri: x\n      url: data", (9, 7, "content.source.fetch.uri"), "'url'"),
    ],
)
def test_keys_are_guessed_among_those_of_their_place(
    old: str, new: str, place: tuple[int, int, str], hint: str
) -> None:
    problems = _problems(ROOT.replace(old, new, 1))
    assert place in [_place(problem) for problem in problems]
    assert any(problem.hint.startswith(f"did you mean {hint}?") for problem in problems)


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("header: true", "header: yes", (12, 15, "content.source.read.header"), "true or false"),
        ("header: true", "header: 1", (12, 15, "content.source.read.header"), "true or false"),
        ("url: data/cities.csv", "url: 5", (9, 12, "content.source.fetch.url"), "a text"),
        ("url: data/cities.csv", "url: ''", (9, 12, "content.source.fetch.url"), "not be empty"),
        ("url: data/cities.csv", "url:", (9, 11, "content.source.fetch.url"), "a text"),
        ("- population BIGINT", "- 5", (16, 11, "content.source.read.schema.1"), "a text"),
        ("- population BIGINT", "- a: b", (16, 11, "content.source.read.schema.1"), "a text"),
        ("id: org.example.cities", "id: [a]", (4, 7, "content.id"), "a text"),
        ('separator: ";"', "separator: ';;'", (13, 18, "content.source.read.separator"), "one"),
        ("apiVersion: 1", "apiVersion: 2", (2, 13, "apiVersion"), "unknown '2'"),
        ("apiVersion: 1", "apiVersion: true", (2, 13, "apiVersion"), "unknown 'True'"),
        ("apiVersion: 1", "apiVersion: one", (2, 13, "apiVersion"), "unknown 'one'"),
    ],
)
def test_a_value_of_the_wrong_type_is_pointed_at(
    old: str, new: str, place: tuple[int, int, str], message: str
) -> None:
    problem = _problem(ROOT, old, new)
    assert _place(problem) == place
    assert message in problem.message


@pytest.mark.parametrize(
    ("old", "place", "message"),
    [
        ("  id: org.example.cities\n", (3, 1, "content"), "'id' is missing"),
        ("      url: data/cities.csv\n", (7, 5, "content.source.fetch"), "'url' is missing"),
        ("      kind: url\n", (8, 7, "content.source.fetch"), "'kind' is missing"),
        ("    kind: root\n", (6, 5, "content.source"), "'kind' is missing"),
        ("      kind: csv\n", (11, 7, "content.source.read"), "'kind' is missing"),
        ("    merge:\n      kind: append\n", (5, 3, "content.source"), "'merge' is missing"),
        ("apiVersion: 1\n", (1, 1, ""), "'apiVersion: 1' is missing"),
        ("kind: DatasetSnapshot\n", (1, 1, ""), "'kind' is missing"),
    ],
)
def test_a_missing_key_is_told_where_it_belongs(
    old: str, place: tuple[int, int, str], message: str
) -> None:
    problem = _problem(ROOT, old, "")
    assert _place(problem) == place
    assert problem.message == message


def test_an_input_without_an_id_is_pointed_at_itself() -> None:
    problem = _problem(DERIVATIVE, "id: org.example.rivers\n        alias: r", "alias: r")
    assert _place(problem) == (9, 9, "content.source.inputs.1")
    assert problem.message == "'id' is missing"


@pytest.mark.parametrize(
    ("old", "new", "place", "hint"),
    [
        ("kind: root", "kind: roots", (6, 11), "did you mean 'root'?  (root, push, derivative)"),
        ("kind: url", "kind: ftp", (8, 13), "one of (url, filesGlob)"),
        ("kind: url", "kind: fileGlob", (8, 13), "did you mean 'filesGlob'?  (url, filesGlob)"),
        ("kind: url", "kind: null", (8, 13), "one of (url, filesGlob)"),
        ("kind: url", "kind: [zzz]", (8, 13), "one of (url, filesGlob)"),
        ("kind: csv", "kind: cvs", (11, 13), "did you mean 'csv'?  (csv, jsonLines,"),
        (
            "kind: append",
            "kind: ledgr",
            (18, 13),
            "did you mean 'ledger'?  (append, ledger, snapshot)",
        ),
        ("kind: DatasetSnapshot", "kind: Dataset", (1, 7), "did you mean 'DatasetSnapshot'?"),
    ],
)
def test_a_wrong_kind_is_pointed_at_with_those_that_there_are(
    old: str, new: str, place: tuple[int, int], hint: str
) -> None:
    problem = _problem(ROOT, old, new)
    assert (problem.line, problem.column) == place
    assert problem.path.endswith("kind")
    assert problem.message.startswith("unknown '")
    assert problem.hint.startswith(hint)


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("id: org", "id: x\n  id: org", (5, 3), "key 'id' appears twice"),
        ("header: true", "header: &a true", (12, 15), "anchors and aliases are not allowed"),
        ("header: true", "header: *a", (12, 15), "anchors and aliases are not allowed"),
        ("header: true", "header: !!bool true", (12, 15), "tags are not allowed"),
        ("header: true", "header: !python/name:os.system", (12, 15), "tags are not allowed"),
        ("header: true", "header: 'true", (18, 1), "end of stream"),
        ("header: true", "? [a]\n      : b", (12, 9), "a key must be a plain name"),
        ("header: true", "header: a: b", (12, 16), "mapping values are not allowed"),
        ("header: true", "\theader: true", (12, 7), "found a tab"),
        ("header: true", "header: " + "[" * 70, (12, 75), "nested deeper than 64"),
    ],
)
def test_what_is_no_plain_document_is_refused_at_its_place(
    old: str, new: str, place: tuple[int, int], message: str
) -> None:
    problem = _problem(ROOT, old, new)
    assert (problem.line, problem.column) == place
    assert message in problem.message


@pytest.mark.parametrize("depth", [65, 100_000])
@pytest.mark.parametrize("bracket", ["[", "{a: ", "- "])
def test_deep_nesting_is_refused_and_harms_nobody(bracket: str, depth: int) -> None:
    (problem,) = _problems(bracket * depth)
    assert problem.message == "nested deeper than 64"
    assert problem.line == 1


def test_a_document_of_endless_length_is_refused() -> None:
    (problem,) = _problems("[" + "a," * 100_001 + "]")
    assert problem.message == "more than 100000 nodes"


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_an_empty_document_is_told(text: str) -> None:
    (problem,) = _problems(text)
    assert (problem.line, problem.column) == (1, 1)
    assert problem.message == "the document is empty"


@pytest.mark.parametrize("text", ["text", "5", "--5", "[]", "null"])
def test_a_document_that_is_no_mapping_is_told(text: str) -> None:
    (problem,) = _problems(text)
    assert _place(problem) == (1, 1, "")
    assert problem.message == "expected keys and values"


def test_two_documents_in_a_file_are_refused() -> None:
    (problem,) = _problems(ROOT + "---\n" + ROOT)
    assert problem.line == 19


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    text = (
        ROOT.replace("kind: DatasetSnapshot", "kind: Nothing")
        .replace("id: org.example.cities", "id: not a name")
        .replace("      url: data/cities.csv\n", "")
        .replace("header: true", "haeder: true")
        .replace("population BIGINT", "population LOTS")
    )
    assert [_place(problem) for problem in _problems(text)] == [
        (1, 7, "kind"),
        (4, 7, "content.id"),
        (7, 5, "content.source.fetch"),
        (11, 7, "content.source.read.haeder"),
        (15, 11, "content.source.read.schema.1"),
    ]


def test_mistakes_at_one_place_are_told_in_one_order() -> None:
    messages = [problem.message for problem in _problems("apiVersion: 1\ncontent: {}\nkind: x\n")]
    assert messages == ["'id' is missing", "'source' is missing", "unknown 'x'"]


@pytest.mark.parametrize("url", ["http://x/y", "HTTPS://x/y", "s3://b/k", "ftp://x/y", "file:///x"])
def test_addresses_of_these_kinds_may_be_written(url: str) -> None:
    manifest.parse(ROOT.replace("data/cities.csv", url), "m.yaml")


def test_an_unknown_scheme_is_told() -> None:
    problem = _problem(ROOT, "data/cities.csv", "gopher://x")
    assert _place(problem) == (9, 12, "content.source.fetch.url")
    assert problem.message == "unknown scheme 'gopher'; one of (http, https, ftp, file, s3)"


@pytest.mark.parametrize(
    "name", ["a b", "a..b", "-a", "a-", "../a", "a/b", ".", "a_b", "é", "x" * 201, "a\\nb"]
)
def test_a_name_that_is_none_is_refused(name: str) -> None:
    problem = _problem(ROOT, "org.example.cities", f'"{name}"')
    assert _place(problem) == (4, 7, "content.id")
    assert "is not a dataset id" in problem.message


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("[offset INT]", "system column"),
        ("[OP INT]", "system column"),
        ("[a INT, A INT]", "column 'A' appears twice"),
        ("[event_time STRING]", "must be TIMESTAMP"),
        ("[event_time TIMESTAMP(2)]", "must be TIMESTAMP"),
        ("[]", "must not be empty"),
    ],
)
def test_columns_that_cannot_be_a_schema_are_told(columns: str, message: str) -> None:
    start, end = ROOT.index("\n        - event"), ROOT.index("    merge:")
    (problem,) = _problems(f"{ROOT[:start]} {columns}\n{ROOT[end:]}")
    assert _place(problem) == (14, 15, "content.source.read.schema")
    assert message in problem.message


def test_a_cell_of_csv_holds_no_list() -> None:
    start, end = ROOT.index("\n        - event"), ROOT.index("    merge:")
    columns = "[a INT, b ARRAY<INT>, 'c STRUCT<d: INT>']"
    problems = _problems(f"{ROOT[:start]} {columns}\n{ROOT[end:]}")
    assert [problem.path for problem in problems] == [
        "content.source.read.schema.1",
        "content.source.read.schema.2",
    ]


def test_an_alias_is_given_once() -> None:
    problem = _problem(DERIVATIVE, "alias: r", "alias: Org.Example.Cities")
    assert _place(problem) == (9, 9, "content.source.inputs.1")
    assert problem.message == "alias 'Org.Example.Cities' appears twice"


def test_a_derivative_needs_an_input() -> None:
    start, end = DERIVATIVE.index("\n      - org"), DERIVATIVE.index("    transform:")
    (problem,) = _problems(f"{DERIVATIVE[:start]} []\n{DERIVATIVE[end:]}")
    assert _place(problem) == (7, 13, "content.source.inputs")
    assert problem.message == "must not be empty"


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("|\n        select\n        wrong", (15, 11)),
        ("|-\n\n        wrong", (15, 11)),
        ("|\n\n\n        wrong", (15, 11)),
        ("|   # why\n          select\n          wrong", (15, 13)),
    ],
)
def test_a_place_inside_a_query_is_a_place_in_the_file(query: str, place: tuple[int, int]) -> None:
    head = DERIVATIVE[: DERIVATIVE.index("query: ")]
    found = manifest.parse(f"{head}query: {query}\n", "m.yaml")
    error = InvalidQuery("no such column", hint="look again")
    problem = found.query_problem(error, number=0, place=(2, 3))
    assert (problem.line, problem.column) == place
    assert (problem.message, problem.hint) == ("no such column", "look again")


def test_a_place_inside_a_query_of_one_line_is_a_place_in_that_line() -> None:
    head = DERIVATIVE[: DERIVATIVE.index("query: ")]
    for query, column in (("select wrong", 21), ("'select wrong'", 22), ('"select wrong"', 22)):
        found = manifest.parse(f"{head}query: {query}\n", "m.yaml")
        problem = found.query_problem(InvalidQuery("no"), number=0, place=(1, 8))
        assert (problem.line, problem.column) == (13, column)


def test_a_mistake_without_a_place_is_that_of_the_whole_query() -> None:
    problem = manifest.parse(DERIVATIVE, "m.yaml").query_problem(
        InvalidQuery("no"), number=0, place=(0, 0)
    )
    assert _place(problem) == (13, 14, "content.source.transform.query")


PUSHED = """\
kind: DatasetSnapshot
apiVersion: 1
content:
  id: org.example.orders
  source:
    kind: push
    read: {kind: ndJson, schema: [id BIGINT, "tags ARRAY<STRING>"]}
    merge: {kind: ledger, primaryKey: [id]}
    watermark: {maxEventTimeMinus: 1 day}
  vocab: {eventTimeColumn: at}
  info: {description: Orders, keywords: [sales]}
  license: {shortName: CC0, name: CC0 1.0, websiteUrl: "https://example.org"}
  attachments: {kind: embedded, items: [{path: README.md, content: hello}]}
"""


def test_a_pushed_root_with_all_about_it_is_understood() -> None:
    snapshot = manifest.parse(PUSHED, "m.yaml").snapshot
    assert isinstance(snapshot.source, PushSource)
    assert isinstance(snapshot.source.read, ReadJsonLines)
    assert snapshot.source.watermark == WatermarkRule(max_event_time_minus=Duration(86_400 * 10**6))
    assert snapshot.vocab.event_time_column == "at"
    assert snapshot.info == DatasetInfo(description="Orders", keywords=("sales",))
    assert snapshot.attachments == (Attachment(path="README.md", content="hello"),)


@pytest.mark.parametrize(
    ("old", "new", "path", "message"),
    [
        ("1 day", "a day", "source.watermark.maxEventTimeMinus", "such as '7 days'"),
        ("1 day", "1 fortnight", "source.watermark.maxEventTimeMinus", "unknown unit"),
        ("primaryKey: [id]", "primaryKey: [idd]", "source.merge.primaryKey.0", "no column 'idd'"),
        ("primaryKey: [id]", "primaryKey: []", "source.merge.primaryKey", "must not be empty"),
        ("primaryKey: [id]", "primaryKey: [id, id]", "source.merge.primaryKey", "twice"),
        ("eventTimeColumn: at", "eventTimeColumn: op", "vocab", "the same name"),
        ("path: README.md", "path: ../x", "attachments", "not a path below"),
        ("kind: ledger,", "kind: ledger, onChanged: maybe,", "source.merge.onChanged", "unknown"),
        ("[sales]", "sales", "info.keywords", "expected a list"),
    ],
)
def test_mistakes_of_a_pushed_root_are_told(old: str, new: str, path: str, message: str) -> None:
    problem = _problem(PUSHED, old, new)
    assert problem.path == f"content.{path}"
    assert message in problem.message


@pytest.mark.parametrize(
    ("fetch", "message"),
    [
        ("url: https://me:pw@example.org/x", "credential"),
        ("url: 'https://example.org/x?api_key=123'", "credential"),
        ("url: x.csv\n      headers: {Authorization: Bearer abc}", "credential"),
        ("url: x.csv\n      headers: {X-Token: abc}", "credential"),
        ("url: x.csv\n      headers: {'a b': c}", "not the name of a header"),
        ("url: x.csv\n      eventTime: {kind: fromPath, pattern: '('}", "not a regular expression"),
        ("url: x.csv\n      eventTime: {kind: fromPath, pattern: 'x'}", "needs a group"),
        ("url: x.csv\n      cache: {kind: never}", "unknown 'never'"),
    ],
)
def test_what_a_fetch_step_may_not_say(fetch: str, message: str) -> None:
    assert message in _problem(ROOT, "url: data/cities.csv", fetch).message


def test_a_secret_is_named_not_written() -> None:
    url = "url: 'https://example.org/x?api_key=${secret.KEY}'"
    fetch = f"{url}\n      headers: {{X-Token: '${{secret.T}}'}}"
    source = manifest.parse(ROOT.replace("url: data/cities.csv", fetch), "m.yaml").snapshot.source
    assert isinstance(source, PollingSource)
    assert isinstance(source.fetch, FetchUrl)
    assert source.fetch.headers == (RequestHeader(name="X-Token", value="${secret.T}"),)


@pytest.mark.parametrize(
    ("query", "path", "message"),
    [
        ("queries: []", "queries", "must not be empty"),
        ("queries: [{query: a}, {query: b}]", "queries", "need an alias"),
        ("queries: [{query: a, alias: x}]", "queries", "has no alias"),
        ("queries: [{query: a, alias: r}, {query: b}]", "queries.0.alias", "an input already"),
        (
            "query: a\n      temporalTables: [{id: z, primaryKey: [k]}]",
            "temporalTables.0.id",
            "not an",
        ),
        ("query: a\n      lateData: {kind: correct}", "lateData", "'horizon' is missing"),
        ("query: a\n      lateData: keep", "lateData.kind", "unknown 'keep'"),
        ("version: x", "", "'query' is missing"),
    ],
)
def test_what_a_transform_may_not_say(query: str, path: str, message: str) -> None:
    start = DERIVATIVE.index("      query: |")
    (problem,) = _problems(DERIVATIVE[:start] + f"      {query}\n")
    assert problem.path == "content.source.transform" + (f".{path}" if path else "")
    assert message in problem.message


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a.b", (None, None, "a.b")),
        ("data.gov/a.b", ("data.gov", None, "a.b")),
        ("data.gov/ny-newyork/a.b", ("data.gov", "ny-newyork", "a.b")),
    ],
)
def test_references_have_three_forms(text: str, parts: tuple[str | None, ...]) -> None:
    ref = parse_ref(text)
    assert ref is not None
    assert (ref.remote, ref.user, ref.dataset) == parts


@pytest.mark.parametrize("text", ["", "/a", "a/", "a//b", "a/b.c/d", "a/b/c/d", "a b", "a/b/"])
def test_other_texts_are_no_references(text: str) -> None:
    assert parse_ref(text) is None
