"""Errors in words, on stderr: what is wrong, and the next step."""

import traceback

import click

from odf_coordinator.errors import InvalidText, OdfError


def explain(error: OdfError, *, subject: str = "", trace: bool = False) -> int:
    """Tell an error, of a dataset when `subject` names it; gives the exit code."""
    if trace:
        traceback.print_exception(error)
    if isinstance(error, InvalidText):
        for problem in error.problems:
            click.echo(f"error: {problem}", err=True)
        count = len(error.problems)
        return tell(
            f"{count} error{'s' if count > 1 else ''}, nothing was added", code=error.exit_code
        )
    message = f"{error}" if not subject or subject in f"{error}" else f"{subject}: {error}"
    return tell(f"error: {message}", hint=error.hint, code=error.exit_code)


def tell(message: str, *, hint: str = "", code: int) -> int:
    """A message and the next step; gives the exit code back."""
    click.echo(message, err=True)
    if hint:
        click.echo(f"  {hint}", err=True)
    return code
