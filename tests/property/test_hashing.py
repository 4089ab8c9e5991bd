"""The logical hash depends on what the rows are, and on nothing else."""

import io
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from odf_coordinator.codec import ddl
from odf_coordinator.model.schema import (
    Array,
    ColumnType,
    Decimal,
    Simple,
    Struct,
    StructField,
    Timestamp,
)
from odf_coordinator.rules import hashing

from tests.arrow_values import arrow_array
from tests.plain_hash import one_zero_one_nan, plain_hash

SYSTEM_TIME = "system_time"
EASY = settings(deadline=None)

_LEAVES = st.one_of(
    st.sampled_from(Simple),
    st.builds(
        lambda s, n: Decimal(precision=s + n, scale=s), st.integers(0, 9), st.integers(1, 29)
    ),
    st.builds(Timestamp, precision=st.integers(0, 6)),
)
_FIELD_NAMES = st.lists(st.text("ab `,<", min_size=1, max_size=3), min_size=1, max_size=3)


@st.composite
def _structs(draw: st.DrawFn, inner: st.SearchStrategy[ColumnType]) -> ColumnType:
    names = dict.fromkeys(draw(_FIELD_NAMES))
    return Struct(fields=tuple(StructField(name=name, type=draw(inner)) for name in names))


TYPES: st.SearchStrategy[ColumnType] = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(st.builds(lambda item: Array(item=item), inner), _structs(inner)),
    max_leaves=4,
)

_SIMPLE: dict[Simple, st.SearchStrategy[Any]] = {
    Simple.BOOLEAN: st.booleans(),
    Simple.INT: st.integers(-(2**31), 2**31 - 1),
    Simple.BIGINT: st.integers(-(2**63), 2**63 - 1),
    Simple.FLOAT: st.floats(width=32),
    Simple.DOUBLE: st.floats(),
    Simple.STRING: st.text(st.characters(codec="utf-8"), max_size=6),
    Simple.UUID: st.binary(min_size=16, max_size=16),
    Simple.DATE: st.integers(-719_162, 2_932_896),
    Simple.TIME: st.integers(0, 86_399_999_999),
}


def values_of(column_type: ColumnType) -> st.SearchStrategy[Any]:
    """Values of a type, NULL among them."""
    return st.none() | _present(column_type)


def _present(column_type: ColumnType) -> st.SearchStrategy[Any]:
    match column_type:
        case Simple():
            return _SIMPLE[column_type]
        case Decimal():
            largest = 10**column_type.precision - 1
            return st.integers(-largest, largest)
        case Timestamp():
            return st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)
        case Array():
            return st.lists(values_of(column_type.item), max_size=3)
        case Struct():
            return st.fixed_dictionaries({f.name: values_of(f.type) for f in column_type.fields})


@dataclass(frozen=True)
class Rows:
    """Some columns of equal length; the first one is the system time."""

    names: tuple[str, ...]
    types: tuple[ColumnType, ...]
    values: tuple[list[Any], ...]

    @property
    def count(self) -> int:
        return len(self.values[0])

    def table(self) -> pa.Table:
        arrays = [arrow_array(t, v) for t, v in zip(self.types, self.values, strict=True)]
        return pa.table(arrays, names=list(self.names))

    def hash(self, table: pa.Table | None = None) -> str:
        types = dict(zip(self.names, map(ddl.print_type, self.types), strict=True))
        rows = self.table() if table is None else table
        return hashing.logical_hash(rows, types, leave_out=SYSTEM_TIME)

    def with_cell(self, column: int, row: int, value: Any) -> "Rows":
        values = [list(each) for each in self.values]
        values[column][row] = value
        return Rows(self.names, self.types, tuple(values))


@st.composite
def rows_strategy(draw: st.DrawFn, min_rows: int = 0) -> Rows:
    types = (Timestamp(precision=6), *draw(st.lists(TYPES, min_size=1, max_size=3)))
    count = draw(st.integers(min_rows, 20))
    columns = [draw(st.lists(values_of(t), min_size=count, max_size=count)) for t in types]
    names = (SYSTEM_TIME, *(f"x{number}" for number in range(1, len(types))))
    return Rows(names, types, tuple(columns))


@EASY
@given(rows_strategy())
def test_the_hash_is_that_of_the_document(rows: Rows) -> None:
    texts = map(ddl.print_type, rows.types)
    columns = list(zip(rows.names, texts, rows.values, strict=True))
    assert rows.hash() == plain_hash(rows.count, columns[1:])


@EASY
@given(rows_strategy(), st.lists(st.integers(0, 20), max_size=4))
def test_chunking_does_not_matter(rows: Rows, cuts: list[int]) -> None:
    table = rows.table()
    edges = sorted({0, *(min(cut, rows.count) for cut in cuts), rows.count})
    pieces = [table.slice(a, b - a) for a, b in itertools.pairwise(edges)]
    chunked = pa.concat_tables([*pieces, table.slice(0, 0)])
    assert rows.hash(chunked) == rows.hash()


@EASY
@given(rows_strategy(), st.integers(0, 20), st.integers(0, 20))
def test_where_rows_lie_in_memory_does_not_matter(rows: Rows, start: int, length: int) -> None:
    sliced = rows.table().slice(start, length)
    kept = tuple(values[start : start + length] for values in rows.values)
    assert rows.hash(sliced) == Rows(rows.names, rows.types, kept).hash()


def _large(kind: pa.DataType) -> pa.DataType:
    """The same type with 64-bit offsets, at every depth."""
    if pa.types.is_string(kind):
        return pa.large_string()
    if pa.types.is_list(kind):
        return pa.large_list(_large(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _large(field.type)) for field in kind])
    return kind


@EASY
@given(rows_strategy())
def test_large_encodings_do_not_matter(rows: Rows) -> None:
    table = rows.table()
    large = pa.schema([(field.name, _large(field.type)) for field in table.schema])
    assert rows.hash(table.cast(large)) == rows.hash()


@EASY
@given(rows_strategy(), st.integers(0, 20))
def test_dictionaries_do_not_matter(rows: Rows, cut: int) -> None:
    table = rows.table()
    encoded = []
    for column in table.columns:
        if pa.types.is_nested(column.type):
            encoded.append(column)
            continue
        parts = [column.slice(0, cut), column.slice(cut)]
        arrays = [pa.concat_arrays(part.chunks) for part in parts if part.num_chunks]
        encoded.append(pa.chunked_array([pc.dictionary_encode(each) for each in arrays]))
    assert rows.hash(pa.table(encoded, names=table.column_names)) == rows.hash()


def test_nulls_inside_a_dictionary_are_nulls() -> None:
    plain = pa.array(["a", None, "b"])
    keys = pa.array([0, 1, 2], pa.int32())
    encoded = pa.DictionaryArray.from_arrays(keys, pa.array(["a", None, "b"]))
    viewed = plain.cast(pa.string_view())
    hashes = {
        hashing.logical_hash(pa.table({"x": each}), {"x": "STRING"}, leave_out=SYSTEM_TIME)
        for each in (plain, encoded, viewed)
    }
    assert len(hashes) == 1


def _viewed(kind: pa.DataType) -> pa.DataType:
    """The same type as views of texts and lists, at every depth."""
    if pa.types.is_string(kind):
        return pa.string_view()
    if pa.types.is_list(kind):
        return pa.list_view(_viewed(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _viewed(field.type)) for field in kind])
    return kind


def _in_dictionaries(kind: pa.DataType) -> pa.DataType:
    """The same type with its texts in dictionaries, at every depth."""
    if pa.types.is_string(kind):
        return pa.dictionary(pa.int32(), kind)
    if pa.types.is_list(kind):
        return pa.list_(_in_dictionaries(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _in_dictionaries(field.type)) for field in kind])
    return kind


def _otherwise_wide(kind: pa.DataType) -> pa.DataType:
    """The same type with another width or unit where Arrow has one, at every depth."""
    if pa.types.is_decimal(kind):
        return pa.decimal256(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "America/New_York")
    if pa.types.is_date(kind):
        return pa.date64()
    if pa.types.is_list(kind):
        return pa.list_(_otherwise_wide(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _otherwise_wide(field.type)) for field in kind])
    return kind


@EASY
@given(
    rows_strategy(),
    st.sampled_from([_viewed, _in_dictionaries, _otherwise_wide]),
    st.integers(0, 20),
)
def test_other_arrow_types_of_the_same_values_do_not_matter(
    rows: Rows, other: Callable[[pa.DataType], pa.DataType], start: int
) -> None:
    """Built from values, for Arrow cannot cast all of them; and cut, so that offsets are not 0."""
    table = rows.table()
    # Two rows of nothing in front, so that what is hashed does not start a buffer.
    arrays = [
        pa.array([None, None, *_raw(rows.types[n], rows.values[n])], other(field.type)).slice(2)
        for n, field in enumerate(table.schema)
    ]
    found = pa.table(arrays, names=list(rows.names))
    cut = pa.concat_tables([found.slice(0, start), found.slice(start)])
    assert rows.hash(cut) == rows.hash()


def _raw(column_type: ColumnType, values: Sequence[Any]) -> list[Any]:
    """Values that Arrow takes for any type of theirs: decimals, dates and times are not numbers."""
    return [_raw_value(column_type, value) for value in values]


def _raw_value(column_type: ColumnType, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(column_type, Array):
        return [_raw_value(column_type.item, item) for item in value]
    if isinstance(column_type, Struct):
        return {f.name: _raw_value(f.type, value[f.name]) for f in column_type.fields}
    if isinstance(column_type, Decimal) or column_type is Simple.DATE:
        return arrow_array(column_type, [value])[0].as_py()
    return value


def test_lists_of_a_fixed_size_are_lists() -> None:
    values = [[1, 2], None, [None, 4]]
    hashes = {
        hashing.logical_hash(
            pa.table({"x": pa.array(values, kind).slice(1)}), {"x": "ARRAY<INT>"}, leave_out=""
        )
        for kind in (pa.list_(pa.int32()), pa.list_(pa.int32(), 2))
    }
    assert len(hashes) == 1


def test_uuids_by_name_are_uuids() -> None:
    hashes = {
        hashing.logical_hash(
            pa.table({"x": pa.array([b"0123456789abcdef", None], kind)}),
            {"x": "UUID"},
            leave_out="",
        )
        for kind in (pa.binary(16), pa.uuid())
    }
    assert len(hashes) == 1


def test_runs_are_values() -> None:
    plain = pa.array([1, 1, None, 2, 2], pa.int32())
    hashes = {
        hashing.logical_hash(pa.table({"x": each}), {"x": "INT"}, leave_out="")
        for each in (plain, pc.run_end_encode(plain))
    }
    assert len(hashes) == 1


@EASY
@given(st.sampled_from(["<f", "<d"]), st.integers(1, 2**22 - 1), st.booleans(), st.booleans())
def test_there_is_one_nan(form: str, payload: int, negative: bool, quiet: bool) -> None:
    kind, bits, quiet_bit = {"<f": (pa.float32(), 32, 22), "<d": (pa.float64(), 64, 51)}[form]
    exponent = ((1 << bits - 1) - 1) >> quiet_bit + 1 << quiet_bit + 1
    number = exponent | payload | quiet << quiet_bit | negative << bits - 1
    raw = pa.py_buffer(number.to_bytes(bits // 8, "little"))
    odd = pa.Array.from_buffers(kind, 1, [None, raw])
    assert pc.is_nan(odd)[0].as_py()
    hashes = {
        hashing.logical_hash(pa.table({"x": each}), {"x": "T"}, leave_out="")
        for each in (odd, pa.array([float("nan")], kind))
    }
    assert len(hashes) == 1


def test_what_lies_under_a_null_does_not_matter() -> None:
    texts = pa.array(["a", "hidden", "b"])
    buffers = texts.buffers()
    masked = pa.Array.from_buffers(pa.string(), 3, [pa.py_buffer(b"\x05"), *buffers[1:]])
    assert masked.to_pylist() == ["a", None, "b"]
    hashes = {
        hashing.logical_hash(pa.table({"x": each}), {"x": "STRING"}, leave_out="")
        for each in (masked, pa.array(["a", None, "b"]))
    }
    assert len(hashes) == 1


def test_values_without_a_type_are_refused() -> None:
    with pytest.raises(ValueError, match="Arrow type null"):
        hashing.logical_hash(pa.table({"x": pa.nulls(2)}), {"x": "INT"}, leave_out="")


@EASY
@given(rows_strategy(), st.integers(2, 4))
def test_the_number_of_threads_does_not_matter(rows: Rows, threads: int) -> None:
    types = dict(zip(rows.names, map(ddl.print_type, rows.types), strict=True))
    table = rows.table()
    found = hashing.logical_hash(table, types, leave_out=SYSTEM_TIME, threads=threads)
    assert found == rows.hash()


_PARQUET = st.fixed_dictionaries(
    {
        "compression": st.sampled_from(["none", "snappy", "zstd", "gzip"]),
        "use_dictionary": st.booleans(),
        "row_group_size": st.integers(1, 25),
        "data_page_size": st.sampled_from([1 << 10, 1 << 20]),
        "data_page_version": st.sampled_from(["1.0", "2.0"]),
        "version": st.sampled_from(["2.4", "2.6"]),
        "write_statistics": st.booleans(),
        "store_schema": st.booleans(),
    }
)


@EASY
@given(rows_strategy(), _PARQUET, st.booleans())
def test_parquet_settings_do_not_matter(
    rows: Rows, how: dict[str, Any], dictionaries: bool
) -> None:
    file = io.BytesIO()
    pq.write_table(rows.table(), file, **how)
    texts = [n for n, t in zip(rows.names, rows.types, strict=True) if t is Simple.STRING]
    found = pq.read_table(file, read_dictionary=texts if dictionaries else None)
    assert rows.hash(found) == rows.hash()


def _same(a: Any, b: Any) -> bool:
    """Equal as far as the hash goes: one zero, one NaN."""
    if isinstance(a, dict) and isinstance(b, dict):
        return all(_same(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return repr(one_zero_one_nan(a)) == repr(one_zero_one_nan(b))


@EASY
@given(rows_strategy(min_rows=1), st.data())
def test_another_cell_is_another_hash(rows: Rows, data: st.DataObject) -> None:
    column = data.draw(st.integers(1, len(rows.types) - 1))
    row = data.draw(st.integers(0, rows.count - 1))
    value = data.draw(values_of(rows.types[column]))
    changed = rows.with_cell(column, row, value)
    same = _same(rows.values[column][row], value)
    assert (changed.hash() == rows.hash()) is same


@EASY
@given(rows_strategy(min_rows=1), st.data())
def test_the_system_time_does_not_count(rows: Rows, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, rows.count - 1))
    value = data.draw(values_of(rows.types[0]))
    assert rows.with_cell(0, row, value).hash() == rows.hash()


def _row(rows: Rows, number: int) -> Sequence[Any]:
    return [values[number] for values in rows.values[1:]]


@EASY
@given(rows_strategy(min_rows=2), st.data())
def test_the_order_of_rows_counts(rows: Rows, data: st.DataObject) -> None:
    first, second = data.draw(
        st.lists(st.integers(0, rows.count - 1), min_size=2, max_size=2, unique=True)
    )
    assume(not _same(_row(rows, first), _row(rows, second)))
    order = list(range(rows.count))
    order[first], order[second] = order[second], order[first]
    swapped = tuple([values[at] for at in order] for values in rows.values)
    assert Rows(rows.names, rows.types, swapped).hash() != rows.hash()


@EASY
@given(rows_strategy())
def test_names_types_and_the_number_of_rows_count(rows: Rows) -> None:
    table, expected = rows.table(), rows.hash()
    types = dict(zip(rows.names, map(ddl.print_type, rows.types), strict=True))
    other = {**types, "x1": types["x1"] + " "}
    assert hashing.logical_hash(table, other, leave_out=SYSTEM_TIME) != expected
    renamed = Rows((SYSTEM_TIME, "y", *rows.names[2:]), rows.types, rows.values)
    assert renamed.hash() != expected
    longer = tuple([*values, None] for values in rows.values)
    assert Rows(rows.names, rows.types, longer).hash() != expected


@settings(EASY, max_examples=10)
@given(st.integers(65_530, 65_545), st.integers(0, 65_545), st.integers(0, 9))
def test_the_edge_of_a_chunk_is_where_the_document_says(rows: int, cut: int, null: int) -> None:
    values = [None if number % 10 == null else number for number in range(rows)]
    array = arrow_array(Simple.BIGINT, values)
    column = pa.chunked_array([array.slice(0, cut), array.slice(cut)])
    found = hashing.logical_hash(pa.table({"x": column}), {"x": "BIGINT"}, leave_out=SYSTEM_TIME)
    assert found == plain_hash(rows, [("x", "BIGINT", values)])
