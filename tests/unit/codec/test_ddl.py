"""DDL in and out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from odf_coordinator.codec import ddl
from odf_coordinator.model.schema import (
    Array,
    ColumnType,
    Decimal,
    Field,
    Simple,
    Struct,
    StructField,
    Timestamp,
)

_SIMPLE = st.one_of(
    st.sampled_from(Simple),
    st.integers(0, 6).map(lambda p: Timestamp(precision=p)),
    st.integers(1, 38).flatmap(
        lambda p: st.integers(0, p).map(lambda s: Decimal(precision=p, scale=s))
    ),
)
_NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=8)
TYPES: st.SearchStrategy[ColumnType] = st.recursive(
    _SIMPLE,
    lambda inner: st.one_of(
        inner.map(lambda item: Array(item=item)),
        st.lists(st.tuples(_NAMES, inner), min_size=1, max_size=3).map(
            lambda fs: Struct(fields=tuple(StructField(name=n, type=t) for n, t in fs))
        ),
    ),
    max_leaves=6,
)


@given(name=_NAMES, column_type=TYPES)
def test_what_is_printed_is_read_back(name: str, column_type: ColumnType) -> None:
    field = Field(name=name, type=column_type)
    assert ddl.parse_field(ddl.print_field(field)) == field


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "expected a type"),
        ("a INTT", "unknown type 'INTT'"),
        ("a DECIMAL(39,0)", "1 <= p <= 38"),
        ("a DECIMAL(3)", "expected ','"),
        ("a TIMESTAMP(7)", "p <= 6"),
        ("a INT NOT NULL", "unexpected 'NOT'"),
        ("a ARRAY<INT", "expected '>'"),
        ("a MAP<INT,INT>", "unknown type 'MAP'"),
        ("1a INT", "expected a column name"),
        ("a ;", "unexpected ';'"),
        ("", "expected a column name"),
        ("a " + "ARRAY<" * 40 + "INT" + ">" * 40, "nested deeper"),
    ],
)
def test_mistakes_are_told(text: str, message: str) -> None:
    with pytest.raises(ddl.InvalidDdl) as found:
        ddl.parse_field(text)
    assert message in str(found.value)
