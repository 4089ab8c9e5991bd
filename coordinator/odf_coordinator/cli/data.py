"""Commands about data: pull, sql, tail, verify."""

import sys
import time

import click
import pyarrow as pa

from odf_coordinator.cli import output as printing
from odf_coordinator.cli.context import (
    dataset_names,
    dry_run_option,
    format_option,
    is_verbose,
    passes_app,
)
from odf_coordinator.cli.explain import explain
from odf_coordinator.errors import Invalid
from odf_coordinator.flows.pull import with_inputs
from odf_coordinator.model.identity import DatasetName, short
from odf_coordinator.model.report import NotPulled, Pulled, Verified
from odf_coordinator.model.timeline import iso
from odf_coordinator.query import sql as query
from odf_coordinator.wiring import App

_VERIFICATION_FAILED = 5
_FORMATS = ("table", "json", "ndjson", "csv", "tsv", "yaml", "arrow", "parquet")


def _named(app: App, refs: tuple[str, ...]) -> list[DatasetName]:
    return [app.workspace.entry(ref).name for ref in refs]


@click.command()
@click.argument("refs", nargs=-1, shell_complete=dataset_names)
@click.option("--all", "everything", is_flag=True, help="All datasets of the workspace.")
@click.option("-r", "--recursive", is_flag=True, help="Their inputs first.")
@dry_run_option("Look at sources and inputs, tell what would be done.")
@passes_app
def pull(app: App, refs: tuple[str, ...], everything: bool, recursive: bool, dry_run: bool) -> int:
    """Bring the datasets REFS up to date.

    A root looks at its source, a derivative at its inputs. An interrupted pull is carried on by the
    next one. A dataset that fails stops only those that derive from it; the exit code is then that
    of the first failure.
    """
    if not refs and not everything:
        raise click.UsageError("name a dataset, or use --all")
    if everything:
        names = [entry.name for entry in app.workspace.entries()]
    else:
        names = _named(app, refs)
        names = with_inputs(app.workspace, names) if recursive else names
    if dry_run:
        return _foresee(app, names)
    started, updated, failed, code = time.monotonic(), 0, 0, 0
    width = max((len(name) for name in names), default=0)
    for told in app.puller.pull(names):
        app.listener.clear()
        click.echo(_line(told, width))
        updated += bool(told.blocks)
        if isinstance(told, NotPulled):
            failed += 1
            if told.error is not None:
                error_code = explain(told.error, subject=told.name, trace=is_verbose())
                code = code or error_code
    seconds = time.monotonic() - started
    if failed:
        click.echo(f"{updated} updated, {failed} not, in {seconds:.1f}s")
    else:
        summary = f"{updated} updated in {seconds:.1f}s"
        click.echo(summary if updated else "everything is up to date")
    return code


def _foresee(app: App, names: list[DatasetName]) -> int:
    width = max((len(name) for name in names), default=0)
    for name, told in app.puller.foresee(names):
        app.listener.clear()
        click.echo(f"  {name:<{width}}   {told or 'up to date'}")
    return 0


def _line(pulled: Pulled | NotPulled, width: int) -> str:
    name = f"  {pulled.name:<{width}}"
    if isinstance(pulled, NotPulled):
        if pulled.waits_for is not None:
            return f"{name}   skipped: its input {pulled.waits_for} was not pulled"
        before = f" after +{_count(pulled.rows, 'row')}" if pulled.blocks else ""
        return f"{name}   failed{before}"
    rebuilt = f"   rebuilt {_count(pulled.rebuilt, 'data file')}" if pulled.rebuilt else ""
    if not pulled.blocks:
        return f"{name}{rebuilt or '   up to date'}"
    rows = f"+{_count(pulled.rows, 'row')}"
    watermark = f"   watermark {iso(pulled.watermark)}" if pulled.watermark is not None else ""
    return f"{name}   {pulled.how:<16} {rows:<14} block {short(pulled.head)}{watermark}{rebuilt}"


@click.command()
@click.option("-c", "--command", "text", help="The query; without it, read from standard input.")
@format_option(*_FORMATS)
@passes_app
def sql(app: App, text: str | None, output: str | None) -> None:
    """Query datasets with SQL (DuckDB's dialect, read-only).

    Each dataset is a table under its quoted id and shows its full log with system columns:

      odf sql -c 'select count(*) from "org.example.cities"'
    """
    if text is None:
        if sys.stdin.isatty():
            raise click.UsageError("give the query with -c, or on standard input")
        text = sys.stdin.read()
    tables = {entry.name: _table(app, entry.name) for entry in app.workspace.entries()}
    result = query.run(tables, text)
    _print(app, result.rows, output, result.types)


def _table(app: App, name: DatasetName) -> query.Loader:
    """Reads a dataset when a query touches it."""

    def load() -> query.Rows:
        dataset = app.workspace.dataset(name)
        state = dataset.state()
        if state.schema is None:
            raise Invalid(f"{name} has no schema yet")
        return dataset.scan(state.schema, state.vocabulary)

    return load


@click.command()
@click.argument("ref", shell_complete=dataset_names)
@click.option("-n", "count", default=20, show_default=True, type=click.IntRange(min=0))
@format_option(*_FORMATS)
@passes_app
def tail(app: App, ref: str, count: int, output: str | None) -> None:
    """Show the last rows of the dataset REF."""
    dataset = app.workspace.dataset(ref)
    state = dataset.state()
    if state.schema is None:
        raise Invalid(f"{ref} has no schema yet")
    _print(app, dataset.tail(count, state.schema, state.vocabulary), output)


@click.command()
@click.argument("refs", nargs=-1, shell_complete=dataset_names)
@click.option("-r", "--recursive", is_flag=True, help="Their inputs too.")
@click.option(
    "--integrity-only", is_flag=True, help="Chain and data, without running queries again."
)
@passes_app
def verify(app: App, refs: tuple[str, ...], recursive: bool, integrity_only: bool) -> int:
    """Prove the datasets REFS (default: all): chain, signatures, data, and replay of every step.

    Writes nothing. Leaves with exit code 5 when something is wrong.
    """
    names = _named(app, refs) if refs else [entry.name for entry in app.workspace.entries()]
    names = with_inputs(app.workspace, names) if recursive else names
    findings = 0
    width = max((len(name) for name in names), default=0)
    for name in names:
        verified = app.verifier.verify(app.workspace.dataset(name), replay=not integrity_only)
        app.listener.clear()
        click.echo(_proof(verified, width, replay=not integrity_only))
        for finding in verified.findings:
            message = finding.message.removeprefix(f"{finding.dataset}: ")
            click.echo(f"error: {finding.dataset}: {finding.where}: {message}", err=True)
        findings += len(verified.findings)
    return _VERIFICATION_FAILED if findings else 0


def _proof(verified: Verified, width: int, *, replay: bool) -> str:
    word = "FAILED" if verified.findings else "ok"
    parts = [
        f"chain and signatures {_count(verified.blocks, 'block')}",
        f"data {_count(verified.slices, 'slice')}",
    ]
    if verified.steps:
        done = f"{verified.replayed}/{verified.steps}" if replay else "skipped"
        parts.append(f"replay {done}")
    return f"  {verified.name:<{width}}   {'   '.join(parts)}   {word}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _print(app: App, rows: pa.Table, output: str | None, types: tuple[str, ...] = ()) -> None:
    app.listener.clear()
    chosen = output or printing.default_format(is_terminal=sys.stdout.isatty())
    printing.write_table(rows, types, chosen, sys.stdout)
