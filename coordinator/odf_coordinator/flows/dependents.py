"""Who derives from a dataset: what deleting it or moving it back would break."""

from collections.abc import Iterable, Iterator

from odf_coordinator.errors import ConflictError, IntegrityError, NotFound
from odf_coordinator.model.block import SealedBlock
from odf_coordinator.model.event import ExecuteTransform, SetTransform
from odf_coordinator.model.identity import BlockHash, DatasetId, DatasetName
from odf_coordinator.workspace import Entry, Workspace


def with_dependents(workspace: Workspace, entries: Iterable[Entry]) -> list[Entry]:
    """The entries and all that derive from them, also by an earlier query of theirs; these first.

    Raises ConflictError when a dataset cannot be read, because it might be one of them.
    """
    chosen = list(entries)
    graph = {
        each.name: (each, _inputs_ever(_chain(workspace, each)))
        for each in workspace.entries()
        if each not in chosen
    }
    for entry in chosen:  # grows while we go
        found = [each for each, inputs in graph.values() if entry.dataset_id in inputs]
        chosen.extend(each for each in found if each not in chosen)
    return chosen


def consumers(workspace: Workspace, entry: Entry, lost: frozenset[BlockHash]) -> list[DatasetName]:
    """The datasets that consumed one of the `lost` blocks, or have a saved plan that does."""
    found = []
    for each in workspace.entries():
        if each.dataset_id == entry.dataset_id:
            continue
        blocks = _chain(workspace, each)
        consumed = set(_consumed(blocks, entry.dataset_id))
        plan = workspace.saved_plan(each.dataset_id, blocks[-1].hash)
        planned = plan.inputs if plan else ()
        consumed |= {i.new_block_hash for i in planned if i.dataset_id == entry.dataset_id}
        if consumed & lost:
            found.append(each.name)
    return found


def _chain(workspace: Workspace, entry: Entry) -> list[SealedBlock]:
    try:
        return workspace.dataset(entry.name).blocks()
    except (IntegrityError, NotFound) as error:
        raise ConflictError(
            f"{entry.name} cannot be read, so what it derives from is not known: {error}",
            hint=f"restore {entry.name} from a copy, or delete it first",
        ) from error


def _inputs_ever(blocks: Iterable[SealedBlock]) -> frozenset[DatasetId]:
    events = [sealed.block.event for sealed in blocks]
    transforms = [event for event in events if isinstance(event, SetTransform)]
    return frozenset(i.dataset_id for transform in transforms for i in transform.inputs)


def _consumed(blocks: Iterable[SealedBlock], dataset_id: DatasetId) -> Iterator[BlockHash | None]:
    for sealed in blocks:
        event = sealed.block.event
        if isinstance(event, ExecuteTransform):
            yield from (i.new_block_hash for i in event.inputs if i.dataset_id == dataset_id)
