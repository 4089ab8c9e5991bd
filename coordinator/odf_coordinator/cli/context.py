"""What commands share: finding the workspace, options that mean the same everywhere, progress."""

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from odf_coordinator.errors import OdfError
from odf_coordinator.wiring import App, Options

Function = TypeVar("Function", bound=Callable[..., Any])


class Console:
    """Progress on stderr: one line that is rewritten on a terminal, nothing in a pipe."""

    def __init__(self, *, quiet: bool, verbose: bool) -> None:
        self._live = sys.stderr.isatty() and not quiet
        self._verbose = verbose
        self._shown = False

    def progress(self, subject: str, stage: str, detail: str = "") -> None:
        """See ports.Listener."""
        text = f"{subject}: {stage}" + (f" ({detail})" if detail else "")
        if self._verbose:
            click.echo(text, err=True)
        elif self._live:
            click.echo(f"\r\033[K{text[:110]}", err=True, nl=False)
            self._shown = True

    def warning(self, subject: str, message: str) -> None:
        """See ports.Listener."""
        self.clear()
        click.echo(f"warning: {subject}: {message}", err=True)

    def clear(self) -> None:
        """See ports.Listener: the progress line is taken away."""
        if self._shown:
            click.echo("\r\033[K", err=True, nl=False)
            self._shown = False


def app(ctx: click.Context) -> App:
    """The application for this command line."""
    given = ctx.find_root().obj
    console = Console(quiet=given["quiet"], verbose=given["verbose"])
    ctx.call_on_close(console.clear)
    options = Options(workspace=given["workspace"], allow_unsandboxed=given["allow_unsandboxed"])
    return App(options, listener=console)


def is_verbose() -> bool:
    """Whether the command line asked for every step and for traces."""
    return bool(click.get_current_context().find_root().obj["verbose"])


def passes_app(function: Function) -> Function:
    """Give a command its application as the first argument."""

    @click.pass_context
    @functools.wraps(function)
    def wrapped(ctx: click.Context, *args: Any, **kwargs: Any) -> Any:
        return ctx.invoke(function, app(ctx), *args, **kwargs)

    return wrapped  # type: ignore[return-value]


def dataset_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Completions of a REF: the names of the workspace's datasets. Never fails."""
    options = Options(workspace=ctx.find_root().params.get("workspace"))
    try:
        names = App(options, listener=Console(quiet=True, verbose=False)).workspace.names()
    except OdfError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def dry_run_option(what: str) -> Callable[[Function], Function]:
    """`-n`: tell what would be done, do nothing."""
    return click.option("-n", "--dry-run", is_flag=True, help=what)


def yes_option(function: Function) -> Function:
    """`-y`: do not ask."""
    return click.option("-y", "--yes", is_flag=True, help="Do not ask.")(function)


def confirm(question: str, *, yes: bool) -> None:
    """Ask on a terminal. Raises UsageError where nobody can answer, Abort when the answer is no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question} Nobody is there to answer: say yes with -y.")
    click.confirm(question, abort=True, err=True)


def format_option(*formats: str) -> Callable[[Function], Function]:
    """`-o`: how to print. Without it, a table on a terminal and tab-separated values in a pipe."""
    return click.option(
        "-o", "--output", "output", type=click.Choice(formats), help="How to print the result."
    )
