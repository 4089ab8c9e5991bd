"""Commands that change or take away what is there: rename, delete, reset."""

import click

from odf_coordinator.cli.context import (
    confirm,
    dataset_names,
    dry_run_option,
    passes_app,
    yes_option,
)
from odf_coordinator.errors import Invalid
from odf_coordinator.model.identity import NAME_RULE, DatasetName, is_dataset_name, short
from odf_coordinator.wiring import App


@click.command()
@click.argument("ref", shell_complete=dataset_names)
@click.argument("name")
@dry_run_option("Check, rename nothing.")
@passes_app
def rename(app: App, ref: str, name: str, dry_run: bool) -> None:
    """Give the dataset REF another NAME.

    Its identity stays, so what derives from it goes on as before.
    """
    if not is_dataset_name(name):
        raise Invalid(f"'{name}' is not a name for a dataset", hint=NAME_RULE)
    old = app.workspace.entry(ref).name
    if dry_run:
        app.workspace.check_free(DatasetName(name), keep=old)
        click.echo(f"would rename {old} to {name}")
        return
    app.workspace.rename(old, DatasetName(name))
    click.echo(f"renamed {old} to {name}")


@click.command()
@click.argument("refs", nargs=-1, required=True, shell_complete=dataset_names)
@click.option("-r", "--recursive", is_flag=True, help="Also what derives from them.")
@yes_option
@dry_run_option("Tell what would be deleted.")
@passes_app
def delete(app: App, refs: tuple[str, ...], recursive: bool, yes: bool, dry_run: bool) -> None:
    """Delete the datasets REFS: chain, data and private key. There is no way back.

    Refused while other datasets derive from them (exit code 6), unless with -r.
    """
    names = app.deleter.plan(refs, recursive=recursive)
    if dry_run:
        for name in names:
            click.echo(f"would delete {name}")
        return
    confirm(f"Delete {', '.join(names)} for ever?", yes=yes)
    app.deleter.delete(names)
    for name in names:
        click.echo(f"deleted {name}")


@click.command()
@click.argument("ref", shell_complete=dataset_names)
@click.option("--to", "block", metavar="BLOCK", help="The block to go back to.")
@click.option("--data", is_flag=True, help="Drop the data files of a derivative only.")
@yes_option
@dry_run_option("Tell what would go.")
@passes_app
def reset(app: App, ref: str, block: str | None, data: bool, yes: bool, dry_run: bool) -> None:
    """Move the dataset REF back to an earlier BLOCK (a hash or its first digits), or drop its data.

    With --to, later blocks and their rows go; refused where other datasets consumed them (exit
    code 6). With --data the chain stays, and the next pull rebuilds the rows from the inputs.
    """
    if (block is None) == (not data):
        raise click.UsageError("say --to BLOCK, or --data")
    if block is not None:
        _reset_to(app, ref, block, yes=yes, dry_run=dry_run)
        return
    name, size = app.dropper.plan(ref)
    if dry_run:
        click.echo(f"would drop {size} bytes of data of {name}")
        return
    confirm(f"Drop {size} bytes of data of {name}? The next pull rebuilds them.", yes=yes)
    count = app.dropper.drop(name)
    click.echo(f"dropped {_count(count, 'data file')} of {name}; `odf pull {name}` rebuilds them")


def _reset_to(app: App, ref: str, block: str, *, yes: bool, dry_run: bool) -> None:
    planned = app.resetter.plan(ref, block)
    gone = f"{_count(planned.blocks, 'block')} and {_count(planned.rows, 'row')}"
    if not planned.blocks:
        click.echo(f"{planned.name} is at block {short(planned.after)} already")
        return
    if dry_run:
        click.echo(f"would reset {planned.name} to block {short(planned.after)}: {gone} would go")
        return
    confirm(f"Reset {planned.name} to block {short(planned.after)}? {gone} go.", yes=yes)
    app.resetter.reset(planned)
    click.echo(f"reset {planned.name} to block {short(planned.after)}: {gone} went")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
