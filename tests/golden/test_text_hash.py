"""The text recipe of known rows gives the text and the hash that it always gave.

The cases of text_hash.json are like those of slice_hash.json, with the text.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from odf_coordinator.rules import text_hash

from tests.arrow_values import arrow_array
from tests.conftest import REPOSITORY
from tests.golden.test_slice_hash import LEFT_OUT, columns_of
from tests.plain_text import plain_text

FILE = Path(__file__).parent / "text_hash.json"
CASES: list[dict[str, Any]] = json.loads(FILE.read_text())
SORT_BY = "event_time"


def _rows(case: dict[str, Any]) -> pa.Table:
    columns = columns_of(case)
    arrays = [arrow_array(column_type, values) for _, _, column_type, values in columns]
    return pa.table(arrays, names=[name for name, *_ in columns])


def product_text(case: dict[str, Any]) -> str:
    """The text of a case, as the product writes it."""
    return text_hash.canonical_text(_rows(case), leave_out=LEFT_OUT, sort_by=SORT_BY).decode()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_text_of_known_rows_never_changes(case: dict[str, Any]) -> None:
    assert product_text(case) == case["text"]
    found = text_hash.text_hash(_rows(case), leave_out=LEFT_OUT, sort_by=SORT_BY)
    assert found == case["hash"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_document_is_enough_to_write_the_text(case: dict[str, Any]) -> None:
    taking_part = [(n, text, v) for n, text, _, v in columns_of(case) if n != LEFT_OUT]
    assert plain_text(taking_part, sort_by=SORT_BY) == case["text"]
    assert "1620" + hashlib.sha3_256(case["text"].encode()).hexdigest() == case["hash"]


def test_the_document_shows_the_first_case() -> None:
    document = (REPOSITORY / "docs/formats/slice-hash.md").read_text()
    first = CASES[0]
    assert first["text"] in document
    assert first["hash"] in document
