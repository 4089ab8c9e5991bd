"""Commands about keys and settings: key, config, completion."""

import os
import sys
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from odf_coordinator.cli import output as printing
from odf_coordinator.cli.context import (
    dataset_names,
    dry_run_option,
    format_option,
    passes_app,
)
from odf_coordinator.codec import key as key_codec
from odf_coordinator.errors import ConflictError, NotFound, StorageError
from odf_coordinator.rules import settings, signing
from odf_coordinator.rules.settings import Value
from odf_coordinator.wiring import App

_STANDARD = "-"


@click.group()
def key() -> None:
    """Take private keys from one workspace to another."""


@key.command()
@click.argument("ref", shell_complete=dataset_names)
@click.argument("file", required=False)
@dry_run_option("Tell where the key would go.")
@passes_app
def export(app: App, ref: str, file: str | None, dry_run: bool) -> None:
    """Write the private key of the dataset REF to FILE (default: NAME.pem; `-` prints it).

    Whoever has the key can extend the dataset: the file is readable by you alone.
    """
    entry = app.workspace.entry(ref)
    content = key_codec.encode(app.workspace.key(entry.dataset_id))
    if file == _STANDARD:
        click.echo(content, nl=False)
        return
    path = Path(file or f"{entry.name}.pem")
    if dry_run:
        click.echo(f"would write the key of {entry.name} to {path}")
        return
    _write_new(path, content)
    click.echo(f"wrote the key of {entry.name} to {path}: keep it safe")


def _write_new(path: Path, content: bytes) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise ConflictError(f"{path} exists already", hint="name another file") from error
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}") from error
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


@key.command("import")
@click.argument("file")
@dry_run_option("Check the key, keep nothing.")
@passes_app
def import_(app: App, file: str, dry_run: bool) -> None:
    """Take in the private key in FILE (`-`: from standard input), of a dataset that is here."""
    private = key_codec.decode(_read(file), file)
    entry = app.workspace.entry_of_key(private)
    if dry_run:
        click.echo(f"would take in the key of {entry.name}")
        return
    app.workspace.import_key(private)
    click.echo(f"took in the key of {entry.name} ({signing.dataset_id(private)})")


def _read(file: str) -> bytes:
    if file == _STANDARD:
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except FileNotFoundError as error:
        raise NotFound(f"no file {file}") from error
    except OSError as error:
        raise StorageError(f"{file} cannot be read: {error.strerror}") from error


def setting_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Completions of a setting's name."""
    return [name for name in settings.BY_NAME if name.startswith(incomplete)]


_user_option = click.option(
    "--user", is_flag=True, help="For all workspaces of this user, not only this one."
)


@click.group()
def config() -> None:
    """Look at settings and change them.

    The environment decides over the workspace, the workspace over the user, the user over defaults.
    """


@config.command("ls")
@format_option("table", "json", "yaml", "csv", "tsv")
@passes_app
def list_(app: App, output: str | None) -> None:
    """List all settings: value, where it comes from, its environment variable."""
    layers = app.layers
    rows = []
    for each in settings.SETTINGS:
        found = settings.effective(each.name, layers)
        rows.append(
            {
                "name": each.name,
                "value": found.value,
                "origin": found.origin,
                "variable": each.variable,
            }
        )
    chosen = output or printing.default_format(is_terminal=sys.stdout.isatty())
    printing.write_rows(rows, ("name", "value", "origin", "variable"), chosen, sys.stdout)


@config.command()
@click.argument("name", shell_complete=setting_names)
@passes_app
def get(app: App, name: str) -> None:
    """Print the value that holds for the setting NAME; nothing where it is not set."""
    found = settings.effective(name, app.layers)
    click.echo("" if found.value is None else _shown(found.value))


@config.command("set")
@click.argument("name", shell_complete=setting_names)
@click.argument("value")
@_user_option
@dry_run_option("Check the value, keep nothing.")
@passes_app
def set_(app: App, name: str, value: str, user: bool, dry_run: bool) -> None:
    """Set NAME to VALUE, for this workspace or with --user for all of yours."""
    parsed = settings.parse(name, value)
    verb = "would set" if dry_run else "set"
    if not dry_run:
        app.configure(name, parsed, user=user)
    click.echo(f"{verb} {name} = {_shown(parsed)} for {_whom(user)}")


@config.command()
@click.argument("name", shell_complete=setting_names)
@_user_option
@dry_run_option("Change nothing.")
@passes_app
def unset(app: App, name: str, user: bool, dry_run: bool) -> None:
    """Forget what NAME was set to."""
    settings.setting(name)
    verb = "would unset" if dry_run else "unset"
    if not dry_run:
        app.configure(name, None, user=user)
    click.echo(f"{verb} {name} for {_whom(user)}")


def _shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _whom(user: bool) -> str:
    return "this user" if user else "this workspace"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what SHELL needs to complete commands, options and names of datasets.

    bash: put `eval "$(odf completion bash)"` into ~/.bashrc; zsh the same in ~/.zshrc; fish:
    `odf completion fish > ~/.config/fish/completions/odf.fish`.
    """
    found = get_completion_class(shell)
    if found is None:
        raise NotFound(f"no completion for {shell}")
    click.echo(found(ctx.find_root().command, {}, "odf", "_ODF_COMPLETE").source())
