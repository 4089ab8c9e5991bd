"""The logical hash of known rows is what it always was: stored hashes must stay comparable.

Each case of slice_hash.json has columns (name, DDL type, values) and the hash. Times are whole
numbers (microseconds, days), a UUID is text, a decimal is its unscaled number; "NaN", "Infinity"
and "-Infinity" stand for floats. Values may be {"count": n}: the numbers from 0 to n - 1.
"""

import ast
import json
import re
import sys
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from odf_coordinator.codec import ddl
from odf_coordinator.model.schema import Array, ColumnType, Simple, Struct
from odf_coordinator.rules import hashing

from tests.arrow_values import arrow_array
from tests.conftest import REPOSITORY
from tests.plain_hash import plain_chunks, plain_column, plain_hash

FILE = Path(__file__).parent / "slice_hash.json"
CASES: list[dict[str, Any]] = json.loads(FILE.read_text())
LEFT_OUT = "system_time"


def _plain(column_type: ColumnType, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(column_type, Array):
        return [_plain(column_type.item, item) for item in value]
    if isinstance(column_type, Struct):
        return {field.name: _plain(field.type, value[field.name]) for field in column_type.fields}
    if column_type in (Simple.FLOAT, Simple.DOUBLE):
        return float(value)
    return uuid.UUID(value).bytes if column_type is Simple.UUID else value


def columns_of(case: dict[str, Any]) -> list[tuple[str, str, ColumnType, list[Any]]]:
    """Name, type as text, type and plain values of each column of a case."""
    found = []
    for name, text, values in case["columns"]:
        column_type = ddl.parse_type(text)
        listed = range(values["count"]) if isinstance(values, dict) else values
        found.append((name, text, column_type, [_plain(column_type, v) for v in listed]))
    return found


def product_hash(case: dict[str, Any]) -> str:
    """The hash of a case, as the product computes it."""
    return product_digests(case).hash


def product_digests(case: dict[str, Any]) -> hashing.SliceDigests:
    """The tree of a case, as the product computes it."""
    columns = columns_of(case)
    arrays = [arrow_array(column_type, values) for _, _, column_type, values in columns]
    rows = pa.table(arrays, names=[name for name, *_ in columns])
    types = {name: text for name, text, *_ in columns}
    return hashing.slice_digests(rows, types, leave_out=LEFT_OUT)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_hash_of_known_rows_never_changes(case: dict[str, Any]) -> None:
    assert product_hash(case) == case["hash"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_document_is_enough_to_compute_the_hash(case: dict[str, Any]) -> None:
    columns = [(name, text, values) for name, text, _, values in columns_of(case)]
    rows = len(columns[0][2]) if columns else 0
    taking_part = [column for column in columns if column[0] != LEFT_OUT]
    assert plain_hash(rows, taking_part) == case["hash"]


def _tree(case: dict[str, Any]) -> list[tuple[str, list[str], str]]:
    """Name, chunk digests and digest of each column, from the document alone."""
    return [
        (name, [each.hex() for each in plain_chunks(text, values)],
         plain_column(name, text, values).hex())
        for name, text, _, values in columns_of(case)
        if name != LEFT_OUT
    ]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_document_is_enough_to_compute_the_tree(case: dict[str, Any]) -> None:
    found = [
        (column.name, [each.hex() for each in column.chunks], column.digest.hex())
        for column in product_digests(case).columns
    ]
    assert found == _tree(case)


def test_the_digests_that_the_document_shows_are_those_of_the_cases() -> None:
    cases = {case["name"]: case for case in CASES}
    document = (REPOSITORY / "docs/formats/slice-hash.md").read_text()
    for name in ("zero and null", "lists", "slice with system columns"):
        assert cases[name]["hash"] in document
        assert all(digest in document for _, _, digest in _tree(cases[name]))
    for name in ("zero and null", "lists"):
        ((_, (chunk,), _),) = _tree(cases[name])
        assert chunk in document


def test_all_types_have_a_case_alone_in_a_list_and_in_a_struct() -> None:
    words = [*(simple.value for simple in Simple), "DECIMAL", "TIMESTAMP"]
    texts = [text for case in CASES for _, text, _ in case["columns"]]
    for word in words:
        assert any(text.startswith(word) for text in texts), word
        assert any(f"ARRAY<{word}" in text for text in texts), word
        assert any(re.search(rf"STRUCT<.*: {word}\b", text) for text in texts), word


@pytest.mark.parametrize("name", ["plain_hash", "plain_text", "plain_types"])
def test_the_second_implementation_shares_nothing_with_the_product(name: str) -> None:
    tree = ast.parse((REPOSITORY / "tests" / f"{name}.py").read_text())
    modules = {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    modules |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    ours = {m for m in modules if m.split(".")[0] not in sys.stdlib_module_names}
    assert ours <= {"tests.plain_hash", "tests.plain_types"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_types_are_written_as_the_chain_writes_them(case: dict[str, Any]) -> None:
    for _, text, _ in case["columns"]:
        assert ddl.print_type(ddl.parse_type(text)) == text


def test_cases_that_differ_have_different_hashes() -> None:
    found: dict[str, list[str]] = {}
    for case in CASES:
        found.setdefault(case["hash"], []).append(case["name"].partition(" = ")[0])
    assert all(len(set(names)) == 1 for names in found.values())
