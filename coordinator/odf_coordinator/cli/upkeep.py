"""Commands about the store: fsck, gc, du."""

import re
import sys
from typing import Any

import click

from odf_coordinator.cli import output as printing
from odf_coordinator.cli.context import dataset_names, dry_run_option, format_option, passes_app
from odf_coordinator.errors import IntegrityError
from odf_coordinator.flows import usage
from odf_coordinator.model.report import Checked, Finding, Leftover
from odf_coordinator.wiring import App

_FORMATS = ("table", "json", "yaml", "csv", "tsv")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SPAN = re.compile(r"(\d+)\s*([smhdw])")
_STEP = 1000
_SIZES = ("data", "blocks", "checkpoints", "caches", "garbage", "other", "total")


class Span(click.ParamType[int]):
    """A span of time such as 90s, 30m, 1h or 7d; in microseconds."""

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """See click.ParamType."""
        if isinstance(value, int):
            return value
        match = _SPAN.fullmatch(value.strip().lower())
        if match is None:
            self.fail(f"'{value}' is not a span of time; write 90s, 30m, 1h or 7d", param, ctx)
        return int(match[1]) * _UNITS[match[2]] * 1_000_000


_older_than = click.option(
    "--older-than",
    "age",
    type=Span(),
    default="1h",
    show_default=True,
    help="Leave younger files alone: a running command may be about to need them.",
)


@click.command()
@click.argument("refs", nargs=-1, shell_complete=dataset_names)
@click.option("--repair", is_flag=True, help="Drop caches and leftovers.")
@_older_than
@format_option(*_FORMATS)
@passes_app
def fsck(app: App, refs: tuple[str, ...], repair: bool, age: int, output: str | None) -> int:
    """Check the store of the datasets REFS (default: all, and the workspace itself).

    Data values are not read: `odf verify` proves those. Damage gives exit code 5; leftovers are
    only noted, and `--repair` or `odf gc` removes them.
    """
    if repair:
        for key in app.store_checker.repair(age=age):
            click.echo(f"dropped {key}", err=True)
    everything = app.workspace.names()
    names = [app.workspace.entry(ref).name for ref in refs] if refs else everything
    found = list(app.store_checker.check(names))
    if not refs:
        found.append(app.store_checker.check_workspace())
    app.listener.clear()
    if output is None:
        _tell(found)
    else:
        columns = ("dataset", "severity", "where", "message")
        printing.write_rows(_rows(found), columns, output, sys.stdout)
    return IntegrityError.exit_code if any(each.damage for each in found) else 0


def _tell(found: list[Checked]) -> None:
    width = max(len(each.name) for each in found) if found else 0
    for each in found:
        parts = [_count(each.blocks, "block"), _count(each.parts, "data file")]
        seen = "   ".join(parts) if each.blocks else ""
        word = "DAMAGED" if each.damage else "ok"
        click.echo(f"  {each.name:<{width}}   {f'{seen}   ' if seen else ''}{word}")
        for finding in each.notes:
            click.echo(f"note: {_line(finding)}")
        for finding in each.damage:
            click.echo(f"error: {_line(finding)}", err=True)


def _line(finding: Finding) -> str:
    return f"{finding.dataset}: {finding.where}: {finding.message}"


def _rows(found: list[Checked]) -> list[dict[str, str]]:
    return [
        {
            "dataset": finding.dataset,
            "severity": severity,
            "where": finding.where,
            "message": finding.message,
        }
        for each in found
        for severity, findings in (("damage", each.damage), ("note", each.notes))
        for finding in findings
    ]


@click.command()
@dry_run_option("List it, remove nothing.")
@_older_than
@passes_app
def gc(app: App, dry_run: bool, age: int) -> None:
    """Collect what nobody needs any more.

    Blocks that no head leads to, data files that no block names, old plans, remains of deleted
    datasets and of interrupted commands, folders of engines that have ended.
    """
    count = size = 0
    for each in app.collector.find(age=age) if dry_run else app.collector.collect(age=age):
        app.listener.clear()
        click.echo(_collected(each, dry_run=dry_run))
        count, size = count + 1, size + each.size
    app.listener.clear()
    verb = "would be removed" if dry_run else "removed"
    click.echo(f"{_count(count, 'file')}, {_shown(size)} {verb}")


@click.command()
@click.argument("refs", nargs=-1, shell_complete=dataset_names)
@format_option(*_FORMATS)
@passes_app
def du(app: App, refs: tuple[str, ...], output: str | None) -> None:
    """Tell how many bytes the datasets REFS take (default: all, and the workspace itself)."""
    names = [app.workspace.entry(ref).name for ref in refs] if refs else app.workspace.names()
    usages = app.usage.of_datasets(names)
    if not refs:
        usages.append(app.usage.of_workspace())
    usages.append(usage.total(usages))
    rows = [
        {"name": each.name} | {column: getattr(each, column) for column in _SIZES}
        for each in usages
    ]
    chosen = output or printing.default_format(is_terminal=sys.stdout.isatty())
    printing.write_rows(rows, ("name", *_SIZES), chosen, sys.stdout, numeric=_SIZES)


def _collected(leftover: Leftover, *, dry_run: bool) -> str:
    verb = "would remove" if dry_run else "removed"
    return f"  {verb} {leftover.key} ({_shown(leftover.size)}, {leftover.why})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _shown(size: float) -> str:
    """A number of bytes as people read it."""
    for unit in ("B", "kB", "MB"):
        if size < _STEP:
            return f"{size:.3g} {unit}"
        size /= _STEP
    return f"{size:.3g} GB"
