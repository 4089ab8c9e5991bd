"""The rules of the house that no linter checks: lengths, promises for later, docstrings."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

FOLDERS = ("coordinator", "engine-spark", "protos/odf_wire", "docker", "benchmarks")
MAX_FILE = 500
MAX_BODY = 50
_LATER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
_MADE = {"_gen", "build", "__pycache__"}


def _files(*endings: str) -> list[Path]:
    found = [
        path
        for folder in FOLDERS
        for path in sorted((REPOSITORY / folder).rglob("*"))
        if path.suffix in endings and not _MADE & set(path.relative_to(REPOSITORY).parts)
    ]
    assert found
    return found


def _shown(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix() if path.is_relative_to(REPOSITORY) else path.name


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def long_bodies(path: Path) -> Iterator[str]:
    """Functions whose body, without its docstring, is too long."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        length = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
        if length > MAX_BODY:
            yield f"{_shown(path)}:{node.lineno} {node.name} has {length} lines"


def without_docstring(path: Path) -> Iterator[str]:
    """The module, and its public classes, functions and methods, that say nothing of themselves."""
    module = ast.parse(path.read_text())
    if module.body and ast.get_docstring(module) is None:
        yield f"{_shown(path)} has no docstring"
    for node in _public(module):
        if ast.get_docstring(node) is None:
            yield f"{_shown(path)}:{node.lineno} {node.name} has no docstring"


def _public(scope: ast.Module | ast.ClassDef) -> Iterator[Definition]:
    for node in scope.body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from _public(node)


def test_no_file_is_longer_than_500_lines() -> None:
    lengths = {
        _shown(path): len(path.read_text().splitlines()) for path in _files(".py", ".java", ".sh")
    }
    assert {name: length for name, length in lengths.items() if length > MAX_FILE} == {}


def test_no_function_body_is_longer_than_50_lines() -> None:
    assert [found for path in _files(".py") for found in long_bodies(path)] == []


def test_nothing_is_put_off_in_the_source() -> None:
    found = [
        f"{_shown(path)}:{number} {line.strip()}"
        for path in _files(".py", ".java", ".sh", ".toml", ".in")
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if _LATER.search(line)
    ]
    assert found == []


def test_everything_public_has_a_docstring() -> None:
    assert [found for path in _files(".py") for found in without_docstring(path)] == []


def test_the_checks_find_what_they_look_for(tmp_path: Path) -> None:
    lines = "\n".join(f"    x = {number}" for number in range(MAX_BODY + 1))
    bad = tmp_path / "bad.py"
    bad.write_text(f"class A:\n    def b(self):\n        '''Says.'''\ndef c():\n{lines}\n")
    assert list(long_bodies(bad)) == ["bad.py:4 c has 51 lines"]
    assert list(without_docstring(bad)) == [
        "bad.py has no docstring",
        "bad.py:1 A has no docstring",
        "bad.py:4 c has no docstring",
    ]
    assert _LATER.search("# TODO: all of it")
    assert not _LATER.search("# a mastodon")


@pytest.mark.parametrize("contract", ["inward", "engine", "wire", "gen", "pure", "acyclic"])
def test_the_import_contracts_are_those_of_make_check(contract: str) -> None:
    assert f"[importlinter:contract:{contract}]" in (REPOSITORY / ".importlinter").read_text()
    assert "lint-imports" in (REPOSITORY / "Makefile").read_text()
