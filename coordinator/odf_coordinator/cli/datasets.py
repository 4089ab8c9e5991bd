"""Commands that look at datasets, and make a place for them: init, ls, show, log."""

import json
import sys
from pathlib import Path
from typing import Any, assert_never

import click

from odf_coordinator.cli import output as printing
from odf_coordinator.cli.context import dataset_names, format_option, is_verbose, passes_app
from odf_coordinator.cli.explain import explain
from odf_coordinator.codec import ddl, manifest, views, yaml_text
from odf_coordinator.dataset import Dataset
from odf_coordinator.errors import IntegrityError, NotFound
from odf_coordinator.model import event as ev
from odf_coordinator.model.block import SealedBlock
from odf_coordinator.model.identity import short
from odf_coordinator.model.schema import Vocabulary
from odf_coordinator.model.timeline import iso
from odf_coordinator.rules.chain import DatasetState
from odf_coordinator.wiring import App, init_workspace

_COLUMNS = ("name", "kind", "records", "watermark", "updated", "head")


@click.command()
@click.argument("folder", default=".", type=click.Path(file_okay=False, path_type=Path))
def init(folder: Path) -> None:
    """Make a workspace in FOLDER (default: here)."""
    init_workspace(folder)
    click.echo(f"workspace ready in {folder.resolve() / '.odf'}")


@click.command()
@format_option("table", "json", "yaml", "csv", "tsv")
@passes_app
def ls(app: App, output: str | None) -> int:
    """List the datasets of the workspace; one that is damaged is listed as such (exit code 5)."""
    rows, code = [], 0
    for entry in app.workspace.entries():
        try:
            rows.append(_listed(app.workspace.dataset(entry.name)))
        except (IntegrityError, NotFound) as error:
            rows.append(dict.fromkeys(_COLUMNS) | {"name": entry.name, "kind": "damaged"})
            code = explain(error, subject=entry.name, trace=is_verbose())
    chosen = output or printing.default_format(is_terminal=sys.stdout.isatty())
    if chosen == "table":
        rows = [row | {"head": row["head"] and short(row["head"])} for row in rows]
    printing.write_rows(rows, _COLUMNS, chosen, sys.stdout)
    return code


def _listed(dataset: Dataset) -> dict[str, Any]:
    state = dataset.state()
    return {
        "name": dataset.name,
        "kind": state.kind.value,
        "records": state.next_offset,
        "watermark": None if state.watermark is None else iso(state.watermark),
        "updated": iso(state.system_time),
        "head": state.head,
    }


@click.command()
@click.argument("ref", shell_complete=dataset_names)
@format_option("table", "json", "yaml")
@passes_app
def show(app: App, ref: str, output: str | None) -> None:
    """Show the dataset REF: identity, source, schema, where it stands."""
    facts = _facts(app, app.workspace.dataset(ref).state(), ref)
    if output == "json":
        click.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    click.echo(yaml_text.dump([facts]))


def _facts(app: App, state: DatasetState, ref: str) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": app.workspace.entry(ref).name,
        "id": state.dataset_id,
        "kind": state.kind.value,
        "head": state.head,
        "blocks": state.sequence_number + 1,
        "records": state.next_offset,
        "watermark": None if state.watermark is None else iso(state.watermark),
        "updated": iso(state.system_time),
    }
    if state.source is not None:
        facts["source"] = views.source(state.source)
        facts["folder"] = str(app.workspace.base_folder(ref))
    if state.transform is not None:
        facts["source"] = views.transform(state.transform)
        for shown, each in zip(facts["source"]["inputs"], state.transform.inputs, strict=True):
            shown["name"] = app.workspace.entry_of(each.dataset_id).name
    facts |= _about(state)
    if state.schema is not None:
        facts["schema"] = [ddl.print_field(field) for field in state.schema.fields()]
    return facts


def _about(state: DatasetState) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if state.vocabulary != Vocabulary():
        told["vocab"] = manifest.source_data(state.vocabulary)
    if state.info is not None:
        told["info"] = manifest.source_data(state.info)
    if state.license is not None:
        told["license"] = manifest.source_data(state.license)
    if state.attachments:
        told["attachments"] = [each.path for each in state.attachments]
    return told


@click.command()
@click.argument("ref", shell_complete=dataset_names)
@click.option("-n", "count", type=click.IntRange(min=1), help="Only the newest N blocks.")
@format_option("text", "json", "yaml")
@passes_app
def log(app: App, ref: str, count: int | None, output: str | None) -> None:
    """Show the metadata chain of the dataset REF, newest block first.

    `-o json` shows the events as they are stored, `-o yaml` the form of the 0.15 specification.
    """
    dataset = app.workspace.dataset(ref)
    blocks = _newest(dataset, count)
    if output == "json":
        click.echo(json.dumps([views.stored(b) for b in blocks], indent=2, ensure_ascii=False))
    elif output == "yaml":
        documents = [views.spec(sealed) for sealed in blocks]
        click.echo(yaml_text.dump(documents))
    else:
        click.echo("\n\n".join(_told(app, sealed) for sealed in blocks))


def _newest(dataset: Dataset, count: int | None) -> list[SealedBlock]:
    found = []
    for sealed in dataset.blocks_back(dataset.head(), until=None):
        found.append(sealed)
        if len(found) == count:
            break
    return found


def _told(app: App, sealed: SealedBlock) -> str:
    """One block as a person reads it."""
    block = sealed.block
    lines = [f"block {sealed.hash}", f"  #{block.sequence_number}  {iso(block.system_time)}"]
    lines.extend(f"  {line}" for line in _story(app, block.event))
    return "\n".join(lines)


def _story(app: App, event: ev.Event) -> list[str]:  # noqa: C901, PLR0911, PLR0912 one arm an event
    match event:
        case ev.Seed():
            return [f"seed {event.dataset_kind.value} {event.dataset_id}"]
        case ev.SetPollingSource() | ev.SetPushSource():
            return ["source", *_indented(views.source(event.source))]
        case ev.SetTransform():
            names = [app.workspace.entry_of(each.dataset_id).name for each in event.inputs]
            engine = event.engine.image_digest or event.engine.build_id
            queries = [each.query.strip().splitlines() for each in event.transform.queries]
            lines = [f"  {line}" for query in queries for line in query]
            return [f"transform of {', '.join(names)} by {event.transform.engine}", *lines, engine]
        case ev.SetDataSchema(schema=schema):
            return ["schema", *(f"  {ddl.print_field(field)}" for field in schema.fields())]
        case ev.SetVocab():
            return ["vocabulary", *_indented(manifest.source_data(event.vocabulary))]
        case ev.SetInfo():
            return ["info", *_indented(manifest.source_data(event.info))]
        case ev.SetLicense():
            return [f"license {event.license.short_name} {event.license.website_url}"]
        case ev.SetAttachments():
            return [f"attachments {', '.join(each.path for each in event.attachments) or 'none'}"]
        case ev.AddData(new_source_state=state):
            return [*_data(event), *([f"source state {state.value}"] if state else [])]
        case ev.ExecuteTransform():
            engine = event.engine.image_digest or event.engine.build_id
            return [*_data(event), f"engine {event.engine.name} {event.engine.runner} {engine}"]
        case ev.DeprecateEngine(old_engine=old, new_engine=new):
            before, after = (pin.image_digest or pin.build_id for pin in (old, new))
            return [f"engine {before}", f"  replaced by {after}"]
        case _:
            assert_never(event)


def _indented(data: Any) -> list[str]:
    return [f"  {line}" for line in yaml_text.dump([data]).splitlines()]


def _data(event: ev.AddData | ev.ExecuteTransform) -> list[str]:
    lines = []
    if event.new_data is not None:
        offsets = event.new_data.offset_interval
        count = event.new_data.num_records
        lines.append(
            f"data +{count} row{'' if count == 1 else 's'} [{offsets.start}, {offsets.end}]"
            f" hash {event.new_data.logical_hash}"
        )
    if event.new_watermark is not None:
        lines.append(f"watermark {iso(event.new_watermark)}")
    return lines
