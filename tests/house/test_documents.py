"""Every `odf` command line that the documents show is one that `odf` understands."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from odf_coordinator.cli.main import odf

from tests.conftest import REPOSITORY

_FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})[ \t]*(\w*)[^\n]*\n(.*?)^\s*\2", re.DOTALL | re.MULTILINE)
_SHELLS = frozenset({"", "sh", "bash", "shell", "console", "text"})
_ENDS = frozenset({"|", "||", "&&", "&", ";", ">", ">>", "<", "<<", "<<<", "2>", ")"})
_SETTING = re.compile(r"[A-Za-z_]\w*=.*")
_CALL = re.compile(r"(?:^|[|&;(]\s*)(?:\w+=\S* )*odf(?: |$)")
_PROMPT = re.compile(r"^\s*(?:[$#]\s+)?")


def _documents() -> list[Path]:
    return [
        path
        for path in (*sorted(REPOSITORY.glob("*.md")), *sorted((REPOSITORY / "docs").rglob("*.md")))
        if path.name != "CHANGELOG.md"
    ]


def command_lines(text: str) -> Iterator[list[str]]:
    """The arguments of each `odf` command line in the code fences of a text."""
    for match in _FENCE.finditer(text):
        if match[3].lower() in _SHELLS:
            yield from _in_fence(match[4].splitlines())


def _in_fence(lines: list[str]) -> Iterator[list[str]]:
    waiting = list(reversed(lines))
    while waiting:
        line = _PROMPT.sub("", waiting.pop())
        if not _CALL.search(line):
            continue
        while (words := _words(line)) is None and waiting:
            line = line.removesuffix("\\") + "\n" + waiting.pop()
        yield from _commands(words or [])


def _words(line: str) -> list[str] | None:
    """The words of a shell line; None while a quote or a continuation is open."""
    if line.endswith("\\"):
        return None
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:
        return None


def _commands(words: list[str]) -> Iterator[list[str]]:
    command: list[str] = []
    for word in [*words, ";"]:
        if word not in _ENDS:
            command.append(word)
            continue
        while command and _SETTING.fullmatch(command[0]):
            command.pop(0)
        if command and command[0] == "odf":
            yield command[1:]
        command = []


def mistake(arguments: list[str]) -> str | None:
    """Why `odf` would not understand this command line; nothing is run."""
    command: click.Command = odf
    context, rest = None, list(arguments)
    try:
        while isinstance(command, click.Group):
            context = click.Context(command, context, command.name, **command.context_settings)
            options, rest, _ = command.make_parser(context).parse_args(rest)
            if not rest or {"help", "version"} & set(options):
                return None
            _, found, rest = command.resolve_command(context, rest)
            assert found is not None
            command = found
        command.make_context(command.name, rest, parent=context)
    except click.exceptions.Exit:
        return None  # help was asked for, and given
    except click.ClickException as error:
        return error.format_message()
    return None


@pytest.mark.parametrize("document", _documents(), ids=lambda path: path.name)
def test_every_command_of_a_document_is_one_that_there_is(document: Path) -> None:
    found = list(command_lines(document.read_text()))
    wrong = {shlex.join(["odf", *each]): why for each in found if (why := mistake(each))}
    assert wrong == {}


def test_the_readme_shows_commands() -> None:
    shown = {words[0] for words in command_lines((REPOSITORY / "README.md").read_text())}
    assert {"init", "add", "pull", "sql", "log", "verify"} <= shown


@pytest.mark.parametrize(
    "line",
    ["--help", "--version", "pull --all", "-q pull -r a.b", "log -n 3 a -o yaml", "engine ls",
     "engine build --force", "sql -c 'select 1' -o csv", "--workspace /tmp verify", "add -h"],
)  # fmt: skip
def test_what_odf_understands_is_no_mistake(line: str) -> None:
    assert mistake(shlex.split(line)) is None


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("pul --all", "Did you mean 'pull'?"),
        ("pull --everything", "--everything"),
        ("engine biuld", "biuld"),
        ("--quite pull a", "--quite"),
        ("log", "REF"),
        ("log a -o xml", "xml"),
        ("add", "MANIFESTS"),
        ("tail a b", "unexpected extra argument"),
    ],
)
def test_what_odf_does_not_understand_is_told(line: str, why: str) -> None:
    assert why in (mistake(shlex.split(line)) or "")


_SAMPLE = """\
Text with `odf nothing` in it.

```console
$ odf init   # makes it
workspace ready
$ ODF_RUNNER=docker odf pull --all && odf ls | head
$ odf sql -c 'select
>   count(*)' \\
    -o csv
$ cat q.sql | odf sql < q.sql
# odf doctor
  odf tail a >out; echo odf nothing
```

   ~~~
   odf add a.yaml
   ~~~

```yaml
odf nothing
```
"""


def test_commands_are_found_in_fences_only_and_as_the_shell_reads_them() -> None:
    assert list(command_lines(_SAMPLE)) == [
        ["init"],
        ["pull", "--all"],
        ["ls"],
        ["sql", "-c", "select\n>   count(*)", "-o", "csv"],
        ["sql"],
        ["doctor"],
        ["tail", "a"],
        ["add", "a.yaml"],
    ]
