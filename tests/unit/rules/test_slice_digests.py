"""The tree below a slice hash: one hash at any number of threads, and where two slices differ."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from odf_coordinator.rules import hashing
from odf_coordinator.rules.hashing import Difference, SliceDigests

CHUNK = 65_536
TYPES = {"offset": "BIGINT", "system_time": "TIMESTAMP(6)", "city": "STRING", "value": "INT"}


def _rows(count: int) -> pa.Table:
    return pa.table(
        {
            "offset": pa.array(range(count), pa.int64()),
            "system_time": pa.nulls(count, pa.timestamp("us", "UTC")),
            "city": pa.array(
                (f"city {n % 11}" if n % 7 else None for n in range(count)), pa.string()
            ),
            "value": pa.array((n % 1000 for n in range(count)), pa.int32()),
        }
    )


def _digests(rows: pa.Table, *, threads: int = 1) -> SliceDigests:
    return hashing.slice_digests(rows, TYPES, leave_out="system_time", threads=threads)


def _with(rows: pa.Table, column: str, at: int) -> pa.Table:
    """The rows with a NULL in one place."""
    mask = pa.array(n == at for n in range(rows.num_rows))
    changed = pa.chunked_array([pa.nulls(rows.num_rows, rows.schema.field(column).type)])
    kept = rows.column(column)
    picked = pc.if_else(mask, changed, kept)
    return rows.set_column(rows.column_names.index(column), column, picked)


@pytest.mark.parametrize("count", [0, 1, CHUNK, 2 * CHUNK + 1])
@pytest.mark.parametrize("threads", [2, 5])
def test_the_number_of_threads_does_not_matter(count: int, threads: int) -> None:
    rows = _rows(count)
    assert _digests(rows, threads=threads) == _digests(rows)
    found = hashing.logical_hash(rows, TYPES, leave_out="system_time", threads=threads)
    assert found == _digests(rows).hash


def test_the_tree_has_all_columns_but_the_one_left_out_and_a_digest_per_chunk() -> None:
    tree = _digests(_rows(2 * CHUNK + 1))
    assert tree.rows == 2 * CHUNK + 1
    assert [(c.name, c.ddl, len(c.chunks)) for c in tree.columns] == [
        ("offset", "BIGINT", 3),
        ("city", "STRING", 3),
        ("value", "INT", 3),
    ]


def test_equal_chunks_have_equal_digests() -> None:
    values = list(range(CHUNK)) * 2
    rows = pa.table({"x": pa.array(values, pa.int32())})
    (column,) = hashing.slice_digests(rows, {"x": "INT"}, leave_out="").columns
    assert column.chunks[0] == column.chunks[1]


@pytest.mark.parametrize(
    ("column", "at", "rows"),
    [
        ("value", 0, range(CHUNK)),
        ("city", CHUNK - 1, range(CHUNK)),
        ("city", CHUNK, range(CHUNK, 2 * CHUNK)),
        ("value", 2 * CHUNK + 4, range(2 * CHUNK, 2 * CHUNK + 5)),
    ],
)
def test_a_difference_names_its_column_and_chunk(column: str, at: int, rows: range) -> None:
    before = _rows(2 * CHUNK + 5)
    found = hashing.first_difference(_digests(before), _digests(_with(before, column, at)))
    assert found == Difference(column=column, rows=rows)


def test_of_many_differences_the_first_rows_count() -> None:
    before = _rows(CHUNK + 5)
    after = _with(_with(before, "city", CHUNK + 1), "value", 3)
    found = hashing.first_difference(_digests(before), _digests(after))
    assert found == Difference(column="value", rows=range(CHUNK))


def test_a_slice_that_ends_early_differs_where_the_other_goes_on() -> None:
    longer, shorter = _digests(_rows(CHUNK + 5)), _digests(_rows(CHUNK))
    expected = Difference(column="offset", rows=range(CHUNK, CHUNK + 5))
    assert hashing.first_difference(longer, shorter) == expected
    assert hashing.first_difference(shorter, longer) == expected


def test_equal_slices_have_no_difference() -> None:
    assert hashing.first_difference(_digests(_rows(9)), _digests(_rows(9))) is None
    assert hashing.first_difference(_digests(_rows(0)), _digests(_rows(0))) is None
