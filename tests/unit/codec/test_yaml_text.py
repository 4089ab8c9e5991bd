"""YAML as plain data with places."""

from typing import Any

import pytest
from odf_coordinator.codec import yaml_text
from odf_coordinator.codec.yaml_text import Document
from odf_coordinator.errors import Problem

TEXT = """\
# first
name: plain
list:
  - one
  - key: 'quoted'
text: |

    first
      second
folded: >-
  a
  b
flow: {a: 1, "b": [2, 3]}
"""


@pytest.fixture
def document() -> Document:
    """The text above, parsed."""
    parsed = yaml_text.parse(TEXT, "f.yaml")
    assert isinstance(parsed, Document)
    return parsed


def test_data_is_plain(document: Document) -> None:
    assert document.data == {
        "name": "plain",
        "list": ["one", {"key": "quoted"}],
        "text": "\nfirst\n  second\n",
        "folded": "a b",
        "flow": {"a": 1, "b": [2, 3]},
    }


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ((), (2, 1)),
        (("name",), (2, 7)),
        (("list",), (4, 3)),
        (("list", 1), (5, 5)),
        (("list", 1, "key"), (5, 10)),
        (("text",), (6, 7)),
        (("flow", "b", 1), (13, 23)),
    ],
)
def test_every_value_has_a_place(
    document: Document, path: yaml_text.Path, place: tuple[int, int]
) -> None:
    found = document.values[path]
    assert (found.line, found.column) == place


@pytest.mark.parametrize(
    ("path", "place"),
    [(("name",), (2, 1)), (("list", 1, "key"), (5, 5)), (("flow", "b"), (13, 14))],
)
def test_every_key_has_a_place(
    document: Document, path: yaml_text.Path, place: tuple[int, int]
) -> None:
    assert (document.keys[path].line, document.keys[path].column) == place


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("name",), (2, 7)),
        (("list", 1, "key"), (5, 11)),
        (("text",), (7, 5)),
        (("folded",), (11, 3)),
    ],
)
def test_a_text_starts_behind_its_quote_or_below_its_sign(
    document: Document, path: yaml_text.Path, place: tuple[int, int]
) -> None:
    found = document.values[path]
    assert (found.text_line, found.text_column) == place


def test_the_third_line_of_a_text_is_that_line_of_the_file(document: Document) -> None:
    problem = document.problem_inside(("text",), (3, 3), "wrong", "")
    assert (problem.line, problem.column) == (9, 7)
    assert problem.excerpt == "      second"


def test_a_problem_where_nothing_is_written_is_that_of_what_encloses_it(
    document: Document,
) -> None:
    problem = document.problem(("list", 1, "nothing", "deeper"), "missing")
    assert (problem.line, problem.column) == (5, 5)
    assert problem.path == "list.1.nothing.deeper"


def test_a_very_long_line_is_not_shown() -> None:
    document = yaml_text.parse("a: " + "x" * 300, "f.yaml")
    assert isinstance(document, Document)
    assert document.problem(("a",), "too long").excerpt == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("--5", "--5"),
        ("---5", "---5"),
        ("007", 7),
        ("5.0", 5.0),
        ("1e3", 1000.0),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("1" * 41, "1" * 41),
        ("nan", "nan"),
        ("٣", "٣"),
        ("2024-05-01", "2024-05-01"),
        ("12:30", "12:30"),
        ("'5'", "5"),
        ('"true"', "true"),
        ("true", True),
        ("False", False),
        ("yes", "yes"),
        ("off", "off"),
        ("null", None),
        ("~", None),
        ("''", ""),
    ],
)
def test_scalars_are_those_of_json_and_everything_else_is_text(text: str, value: Any) -> None:
    document = yaml_text.parse(f"key: {text}", "f.yaml")
    assert isinstance(document, Document)
    assert document.data == {"key": value}
    assert type(document.data["key"]) is type(value)


@pytest.mark.parametrize(
    "text", ["a: b\n c: d", "\x01", "a: 'b", "%X\n", "}", "- a\nb: c", "a: @b"]
)
def test_what_is_not_yaml_is_one_problem_inside_the_file(text: str) -> None:
    problem = yaml_text.parse(text, "f.yaml")
    assert isinstance(problem, Problem)
    assert problem.message
    assert 1 <= problem.line <= len(text.splitlines())


def test_a_second_document_is_told_in_a_whole_sentence() -> None:
    found = yaml_text.parse("a: 1\n---\nb: 2\n", "f.yaml")
    assert isinstance(found, Problem)
    assert found.message == "expected a single document in the stream, but found another document"
    assert found.line == 2
