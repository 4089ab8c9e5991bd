"""The text recipe is that of the document, and the order of rows is nothing to it."""

from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from odf_coordinator.codec import ddl
from odf_coordinator.model.schema import Simple
from odf_coordinator.rules import text_hash

from tests.arrow_values import arrow_array
from tests.plain_text import plain_text
from tests.property.test_hashing import EASY, SYSTEM_TIME, Rows, rows_strategy


def _text(table: pa.Table) -> bytes:
    return text_hash.canonical_text(table, leave_out=SYSTEM_TIME, sort_by="x1")


@EASY
@given(rows_strategy())
def test_the_text_is_that_of_the_document(rows: Rows) -> None:
    texts = map(ddl.print_type, rows.types)
    columns = list(zip(rows.names, texts, rows.values, strict=True))
    assert _text(rows.table()).decode() == plain_text(columns[1:], sort_by="x1")


@EASY
@given(rows_strategy(min_rows=1), st.randoms())
def test_the_order_of_rows_does_not_matter(rows: Rows, chance: Random) -> None:
    order = list(range(rows.count))
    chance.shuffle(order)
    assert _text(rows.table().take(order)) == _text(rows.table())


@EASY
@given(rows_strategy(min_rows=1))
def test_dictionaries_and_the_system_time_do_not_matter(rows: Rows) -> None:
    table = rows.table()
    encoded = [
        column.dictionary_encode() if pa.types.is_string(column.type) else column
        for column in table.columns
    ]
    other = pa.table(encoded, names=table.column_names).drop_columns([SYSTEM_TIME])
    assert _text(other) == _text(table)


def test_a_time_that_no_calendar_has_is_refused() -> None:
    rows = pa.table({"x1": arrow_array(Simple.DATE, [2_932_897])})
    with pytest.raises(ValueError, match="no text"):
        _text(rows)
