"""Commands about manifests: new, add, edit, schema."""

import json
import stat
from pathlib import Path

import click

from odf_coordinator.cli.context import passes_app
from odf_coordinator.codec import manifest, views
from odf_coordinator.errors import ConflictError, Invalid, InvalidText, NotFound, Problem
from odf_coordinator.flows.declare import DeclaredDataset
from odf_coordinator.model import event as ev
from odf_coordinator.model.identity import NAME_RULE, is_dataset_name
from odf_coordinator.wiring import App

_MAX_MANIFEST = 4 << 20
_SUFFIXES = (".yaml", ".yml")

_ROOT = """\
apiVersion: 1
kind: DatasetSnapshot
content:
  id: {name}
  source:
    kind: root
    # Where the data is: one file, or kind: filesGlob with path: data/*.csv
    fetch:
      kind: url
      url: data.csv
    read:
      kind: csv
      header: true
      # Columns as "name TYPE". Without a column event_time, the time of the fetch is used.
      schema:
        - event_time TIMESTAMP(3)
        - name STRING
        - value DOUBLE
    merge:
      kind: append
"""
_DERIVATIVE = """\
apiVersion: 1
kind: DatasetSnapshot
content:
  id: {name}
  source:
    kind: derivative
    # Datasets of this workspace, each under a name for the query
    inputs:
      - id: org.example.input
        alias: input
    transform:
      engine: spark
      # One SELECT that passes event_time through
      query: |
        SELECT
          event_time,
          name,
          value
        FROM input
        WHERE value > 0
"""


@click.command()
@click.argument("name")
@click.option("--root", "kind", flag_value="root", help="A dataset that is fed from outside.")
@click.option("--derivative", "kind", flag_value="derivative", help="One computed from others.")
@click.option(
    "-o", "--output", "file", type=click.Path(path_type=Path), help="Another file; - prints."
)
def new(name: str, kind: str | None, file: Path | None) -> None:
    """Write a manifest for a dataset NAME, to be filled in, as NAME.yaml."""
    if kind is None:
        raise click.UsageError("say --root or --derivative")
    if not is_dataset_name(name):
        raise Invalid(f"'{name}' is not a dataset id: {NAME_RULE}")
    text = (_ROOT if kind == "root" else _DERIVATIVE).format(name=name)
    target = file or Path(f"{name}.yaml")
    if str(target) == "-":
        click.echo(text, nl=False)
        return
    try:
        with target.open("x", encoding="utf-8") as written:
            written.write(text)
    except FileExistsError as error:
        raise ConflictError(f"{target} is there already", hint="name another with -o") from error
    except OSError as error:
        raise Invalid(f"{target} cannot be written: {error.strerror}") from error
    click.echo(f"wrote {target}; fill it in, then `odf add {target}`")


@click.command()
@click.argument("manifests", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-r", "--recursive", is_flag=True, help="All manifests (*.yaml, *.yml) in folders.")
@click.option(
    "--replace", is_flag=True, help="Replace datasets of the same id: a new identity, no rows yet."
)
@click.option("-n", "--dry-run", is_flag=True, help="Check everything, add nothing.")
@passes_app
def add(
    app: App, manifests: tuple[Path, ...], recursive: bool, replace: bool, dry_run: bool
) -> None:
    """Add the datasets that MANIFESTS describe: all of them, or none.

    The order does not matter. The query of a derivative is checked by the engine that will run it.
    """
    app.workspace  # noqa: B018 no workspace is told before anything else
    declared = _declared(_files(manifests, recursive=recursive))
    before = {entry.name for entry in app.adder.replaced(declared)}
    for added in app.adder.add(declared, dry_run=dry_run, replace=replace):
        verb = "replace" if added.name in before else "add"
        seed = added.events[0]
        kind = seed.dataset_kind.value if isinstance(seed, ev.Seed) else ""
        told = f"would {verb}" if dry_run else verb.removesuffix("e") + "ed"
        note = ", with a new identity" if added.name in before else ""
        click.echo(f"{told} {added.name} ({kind}){note}")


@click.command()
@click.argument("ref")
@click.argument("file", metavar="MANIFEST", type=click.Path(path_type=Path))
@click.option("-n", "--dry-run", is_flag=True, help="Tell what would change, change nothing.")
@passes_app
def edit(app: App, ref: str, file: Path, dry_run: bool) -> None:
    """Change the dataset REF to what MANIFEST says: source, query, columns that come new, texts.

    What changed is recorded in new blocks; rows that are there stay as they are.
    """
    dataset = app.workspace.dataset(ref)
    (declared,) = _declared([file])
    changed = app.editor.edit(dataset, declared, dry_run=dry_run)
    if not changed:
        click.echo(f"{dataset.name} is as the manifest says")
    for event in changed:
        click.echo(
            f"{'would change' if dry_run else 'changed'} {dataset.name}: {_WORDS[type(event)]}"
        )


_WORDS: dict[type, str] = {
    ev.SetPollingSource: "source",
    ev.SetPushSource: "source",
    ev.SetTransform: "transform",
    ev.SetDataSchema: "schema",
    ev.SetInfo: "info",
    ev.SetLicense: "license",
    ev.SetAttachments: "attachments",
}


@click.command()
@click.argument("what", type=click.Choice(["manifest", "block"]))
def schema(what: str) -> None:
    """Print the JSON Schema of manifests, or of blocks as `odf log -o json` shows them."""
    shown = manifest.schema() if what == "manifest" else views.stored_schema()
    click.echo(json.dumps(shown, indent=2, ensure_ascii=False))


def _files(paths: tuple[Path, ...], *, recursive: bool) -> list[Path]:
    if not recursive:
        return list(paths)
    found: list[Path] = []
    for path in paths:
        inside = sorted(each for each in path.rglob("*") if each.suffix in _SUFFIXES)
        found += inside if path.is_dir() else [path]
    if not found:
        raise NotFound("no manifest (*.yaml, *.yml) in these folders; nothing was added")
    return found


def _declared(paths: list[Path]) -> list[DeclaredDataset]:
    """All manifests, or all that is wrong with them."""
    declared: list[DeclaredDataset] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            parsed = manifest.parse(_text_of(path), str(path))
        except InvalidText as error:
            problems.extend(error.problems)
            continue
        declared.append(DeclaredDataset(manifest=parsed, base=path.parent.resolve()))
    if problems:
        raise InvalidText(problems)
    return declared


def _text_of(path: Path) -> str:
    """The text of a manifest; a file that is none, or never ends, is refused unread."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise Invalid(f"{path} is a folder", hint="-r adds all manifests in a folder")
        if not stat.S_ISREG(mode):
            raise Invalid(f"{path} is not a regular file")
        with path.open("rb") as file:
            content = file.read(_MAX_MANIFEST + 1)
        if len(content) > _MAX_MANIFEST:
            raise Invalid(f"{path} is larger than a manifest can be")
        return content.decode("utf-8")
    except FileNotFoundError as error:
        raise NotFound(f"no file {path}; nothing was changed") from error
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} cannot be read: {error}") from error
