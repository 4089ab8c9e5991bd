"""Commands about engines: engine build, ls, stop; doctor."""

import platform
import subprocess
import sys
from pathlib import Path

import click

from odf_coordinator.cli import output as printing
from odf_coordinator.cli.context import dry_run_option, format_option, passes_app
from odf_coordinator.engine.pool import Availability
from odf_coordinator.errors import EngineError, Invalid, NotFound, SandboxUnavailable
from odf_coordinator.wiring import App

_BUILDER = Path("docker") / "build_image.py"
_MEGA = 1_000_000


@click.group()
def engine() -> None:
    """Build, list and stop engines."""


@engine.command()
@click.option("--force", is_flag=True, help="Build even when the image is there.")
def build(force: bool) -> None:
    """Build the engine's image, without a registry, from this checkout."""
    repository = Path(__file__).resolve().parents[3]
    if not (repository / _BUILDER).is_file():
        raise NotFound(
            "the recipe of the engine image is not here",
            hint="run this from an editable install of a checkout (`make setup`)",
        )
    command = [sys.executable, str(repository / _BUILDER), *(["--force"] if force else [])]
    done = subprocess.run(command, cwd=repository, check=False)
    if done.returncode:
        raise EngineError("the engine image was not built", hint="see the messages above")


@engine.command()
@format_option("table", "json", "yaml", "csv", "tsv")
@passes_app
def ls(app: App, output: str | None) -> None:
    """List engine images, and the warm engines of this workspace."""
    rows: list[dict[str, str | None]] = []
    try:
        for image in app.engines.images():
            rows.append(
                {
                    "what": "image",
                    "name": ", ".join(image.tags),
                    "identity": image.digest,
                    "build_id": image.build_id,
                    "state": f"{image.size / _MEGA:.0f} MB",
                }
            )
    except SandboxUnavailable as error:
        click.echo(f"note: {error}", err=True)
    rows.extend(
        {
            "what": "engine",
            "name": running.slot,
            "identity": running.identity,
            "build_id": None,
            "state": "in use" if running.busy else "warm",
        }
        for running in app.engines.list_running()
    )
    chosen = output or printing.default_format(is_terminal=sys.stdout.isatty())
    columns = ("what", "name", "identity", "build_id", "state")
    printing.write_rows(rows, columns, chosen, sys.stdout)


@engine.command()
@click.option("--force", is_flag=True, help="Also those that are in use.")
@dry_run_option("List them, stop none.")
@passes_app
def stop(app: App, force: bool, dry_run: bool) -> None:
    """Stop the warm engines of this workspace."""
    if dry_run:
        for running in app.engines.list_running():
            if force or not running.busy:
                click.echo(f"would stop {running.slot} ({running.identity})")
        return
    stopped = app.engines.stop_all(force=force)
    for running in stopped:
        click.echo(f"stopped {running.slot} ({running.identity})")
    try:
        app.engines.images()
    except SandboxUnavailable as error:
        click.echo(f"note: containers could not be looked at: {error}", err=True)
    if not stopped:
        click.echo("no engine was running")


@click.command()
@passes_app
def doctor(app: App) -> int:
    """Tell what this machine can run, and what is missing.

    Leaves with exit code 9 when no engine can be run.
    """
    click.echo(f"  python       {platform.python_version()} ({sys.executable})")
    try:
        click.echo(f"  workspace    {app.root}")
    except NotFound as error:
        click.echo(f"  workspace    none: {error}; {error.hint}")
    try:
        status = app.engine_status()
    except Invalid as error:
        click.echo(f"  engine       no   {error}; {error.hint}")
        return error.exit_code
    for name, found in (
        ("docker", status.docker),
        ("image", status.image),
        ("process", status.process),
        ("bubblewrap", status.bubblewrap),
    ):
        click.echo(_line(name, found))
    if status.chosen is None:
        click.echo("no engine can be run here: derivatives can be read, not pulled or replayed")
        return SandboxUnavailable.exit_code
    click.echo(f"engines run with: {status.chosen}")
    return 0


def _line(name: str, found: Availability) -> str:
    return f"  {name:<12} {'ok' if found.available else 'no'}   {found.detail}"
