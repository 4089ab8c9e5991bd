"""The logical hash of known rows is what it always was: stored hashes must stay comparable.

Each case of slice_hash.json has columns (name, DDL type, values) and the hash. Times are whole
numbers (microseconds, days), a UUID is text, a decimal is its unscaled number; "NaN", "Infinity"
and "-Infinity" stand for floats. Values may be {"count": n}: the numbers from 0 to n - 1.
"""

import json
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from odf_coordinator.codec import ddl
from odf_coordinator.model.schema import Array, ColumnType, Simple, Struct
from odf_coordinator.rules import hashing

from tests.plain_hash import arrow_array, plain_hash

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


def _columns(case: dict[str, Any]) -> list[tuple[str, str, ColumnType, list[Any]]]:
    found = []
    for name, text, values in case["columns"]:
        column_type = ddl.parse_type(text)
        listed = range(values["count"]) if isinstance(values, dict) else values
        found.append((name, text, column_type, [_plain(column_type, v) for v in listed]))
    return found


def product_hash(case: dict[str, Any]) -> str:
    """The hash of a case, as the product computes it."""
    columns = _columns(case)
    arrays = [arrow_array(column_type, values) for _, _, column_type, values in columns]
    rows = pa.table(arrays, names=[name for name, *_ in columns])
    types = {name: text for name, text, *_ in columns}
    return hashing.logical_hash(rows, types, leave_out=LEFT_OUT)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_hash_of_known_rows_never_changes(case: dict[str, Any]) -> None:
    assert product_hash(case) == case["hash"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_document_is_enough_to_compute_the_hash(case: dict[str, Any]) -> None:
    columns = _columns(case)
    rows = len(columns[0][3]) if columns else 0
    taking_part = [column for column in columns if column[0] != LEFT_OUT]
    assert plain_hash(rows, taking_part) == case["hash"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_types_are_written_as_the_chain_writes_them(case: dict[str, Any]) -> None:
    for _, text, _ in case["columns"]:
        assert ddl.print_type(ddl.parse_type(text)) == text


def test_cases_that_differ_have_different_hashes() -> None:
    found: dict[str, list[str]] = {}
    for case in CASES:
        found.setdefault(case["hash"], []).append(case["name"].partition(" = ")[0])
    assert all(len(set(names)) == 1 for names in found.values())
