"""SQL over datasets: DuckDB, locked down. Only what a query touches is read."""

import difflib
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.dataset
from duckdb.sqltypes import DuckDBPyType

from odf_coordinator.errors import Invalid
from odf_coordinator.model.identity import DatasetName

Rows: TypeAlias = pa.Table | pa.dataset.Dataset
Loader = Callable[[], Rows]

_LOCKED: dict[str, Any] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
}
_READS_ONLY = "only one read such as SELECT is allowed"
_EXPLAIN = re.compile(r"\s*explain(\s+analyze)?(\s*\([^)]*\))?\s+", re.IGNORECASE)
_PIVOT = re.compile(r"\s*(pivot|unpivot|select|from|with)\b", re.IGNORECASE)
_SHOW_TABLES = re.compile(r"\s*show\s+(all\s+)?tables\b", re.IGNORECASE)
# A dataset that ends in ".csv" looks like a file to DuckDB as long as no table has the name.
_MISSING = re.compile(
    r'(?:Table with name|Cannot access file) "?(?P<name>[^"\n]+?)"?'
    r"(?P<unquoted> does not exist because| does not exist!| - file system)"
)
_UNPRINTABLE = {
    "bignum": "BIGNUM",
    "bit": "BIT",
    "geometry": "GEOMETRY",
    "time with time zone": "TIME WITH TIME ZONE",
    "union": "UNION",
    "variant": "VARIANT",
}
_NESTED = frozenset({"list", "array", "struct", "map"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Rows, and DuckDB's own name of each column's type (HUGEINT and DECIMAL(38,0) look alike)."""

    rows: pa.Table
    types: tuple[str, ...]


def run(tables: Mapping[DatasetName, Loader], query: str) -> Result:
    """Run one read-only statement; a table is loaded when the query names it, in any case.

    The query reaches nothing but `tables`: no files, network, extensions, settings or variables of
    this process. Times are UTC; columns of 16 bytes are UUIDs. Raises Invalid, with DuckDB's words,
    when the statement is not a read, names an unknown table, fails, or gives values that no output
    can show.
    """
    with (
        tempfile.TemporaryDirectory(prefix="odf-sql-") as spill,
        duckdb.connect(":memory:", config=_LOCKED | {"temp_directory": spill}) as connection,
    ):
        try:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("SET lock_configuration = true")
            _check_read(connection, query)
            relation = _bound(connection, tables, query)
            types = _shown(relation)
            return Result(rows=relation.to_arrow_table(), types=types)
        except duckdb.InterruptException as error:
            raise KeyboardInterrupt from error
        except duckdb.Error as error:
            raise Invalid(str(error).strip()) from error


def _check_read(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        raise Invalid(f"expected one statement, found {len(statements)}")
    kind = statements[0].type
    if kind == duckdb.StatementType.EXPLAIN and (prefix := _EXPLAIN.match(query)):
        _check_read(connection, query[prefix.end() :])
        return
    # PIVOT is several statements to DuckDB: it looks for the columns first.
    pivot = kind == duckdb.StatementType.MULTI and _PIVOT.match(query)
    if kind != duckdb.StatementType.SELECT and not pivot:
        name = str(kind).rpartition(".")[2]
        raise Invalid(f"a statement of kind {name} is refused", hint=_READS_ONLY)
    if _SHOW_TABLES.match(query):
        raise Invalid("SHOW TABLES is refused", hint="`odf ls` lists the datasets")


def _bound(
    connection: duckdb.DuckDBPyConnection, tables: Mapping[DatasetName, Loader], query: str
) -> duckdb.DuckDBPyRelation:
    """The query over the tables that it turns out to name: DuckDB's own binding finds them."""
    loaded: set[DatasetName] = set()
    while True:
        try:
            relation = connection.sql(query)
        except (duckdb.CatalogException, duckdb.PermissionException) as error:
            name = _missing(error, tables)
            if name in loaded:
                raise
            _register(connection, name, tables[name]())
            loaded.add(name)
        else:
            if relation is None:
                raise Invalid("the statement gives no rows", hint=_READS_ONLY)
            return relation


def _missing(error: duckdb.Error, tables: Mapping[DatasetName, Loader]) -> DatasetName:
    """The table that DuckDB misses. Raises Invalid when it is not one of ours."""
    found = _MISSING.search(str(error))
    if found is None:
        raise error
    name, known = found["name"], {each.lower(): each for each in tables}
    match = known.get(name.lower())
    if match is not None and "because" in found["unquoted"]:
        raise Invalid(f"{error}".strip(), hint=f'put the name in quotes: "{match}"')
    if match is None:
        if isinstance(error, duckdb.PermissionException):
            raise error
        close = difflib.get_close_matches(name.lower(), known, n=1)
        hint = f'did you mean "{known[close[0]]}"?' if close else "`odf ls` lists the datasets"
        raise Invalid(f'there is no dataset "{name}"', hint=hint)
    return match


def _register(connection: duckdb.DuckDBPyConnection, name: str, rows: Rows) -> None:
    uuids = [field.name for field in rows.schema if field.type == pa.binary(16)]
    if not uuids:
        connection.register(name, rows)
        return
    raw = f"{name} as stored"
    connection.register(raw, rows)
    casts = ", ".join(f"{_quoted(column)}::uuid AS {_quoted(column)}" for column in uuids)
    connection.execute(
        f"CREATE TEMP VIEW {_quoted(name)} AS SELECT * REPLACE ({casts}) FROM {_quoted(raw)}"  # noqa: S608
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _shown(relation: duckdb.DuckDBPyRelation) -> tuple[str, ...]:
    """The types of the columns. Raises Invalid for those whose values Arrow cannot carry."""
    for name, kind in zip(relation.columns, relation.types, strict=True):
        found = _unprintable(kind)
        if found:
            raise Invalid(f"column {name}: {found} cannot be shown", hint="cast it to VARCHAR")
    return tuple(str(kind) for kind in relation.types)


def _unprintable(kind: DuckDBPyType) -> str:
    if kind.id in _NESTED:
        inner = [child for _, child in kind.children if isinstance(child, DuckDBPyType)]
        return next((found for child in inner if (found := _unprintable(child))), "")
    return _UNPRINTABLE.get(kind.id, "")
