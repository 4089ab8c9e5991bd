"""Reset: move the head of a dataset back to an earlier block."""

from dataclasses import dataclass

from odf_coordinator.dataset import Dataset
from odf_coordinator.errors import ConflictError, Invalid, NotFound
from odf_coordinator.flows.dependents import consumers
from odf_coordinator.model.block import SealedBlock
from odf_coordinator.model.identity import BlockHash, DatasetName
from odf_coordinator.model.report import Reset
from odf_coordinator.rules import chain
from odf_coordinator.workspace import Workspace

_MULTIHASH = "1620"
_LEAST = 4
_GAP = ".."


@dataclass(frozen=True, slots=True, kw_only=True)
class Resetter:
    """Moves heads of one workspace back."""

    workspace: Workspace

    def plan(self, ref: str, block: str) -> Reset:
        """What moving the head to a block (or the start of its hash) would take away.

        Raises NotFound when no block of the chain is meant, ConflictError naming the datasets that
        consumed what would go.
        """
        entry = self.workspace.entry(ref)
        dataset = self.workspace.dataset(entry.name)
        blocks = dataset.blocks()
        place = _find(dataset, blocks, block)
        state = chain.fold(blocks[: place + 1])
        if state.source is None and state.transform is None:
            raise Invalid(
                f"block {blocks[place].hash} is before the dataset's source is declared",
                hint=f"delete {entry.name} if you want to start again",
            )
        lost = frozenset(sealed.hash for sealed in blocks[place + 1 :])
        users = consumers(self.workspace, entry, lost)
        if users:
            raise ConflictError(
                f"{', '.join(users)} consumed what would go; nothing was changed",
                hint="reset or delete them first",
            )
        last = chain.fold(blocks)
        return Reset(
            name=entry.name,
            before=last.head,
            after=state.head,
            blocks=len(lost),
            rows=last.next_offset - state.next_offset,
        )

    def reset(self, planned: Reset) -> None:
        """Move the head as planned. Raises ConflictError when anything has changed meanwhile.

        The locks of all datasets keep others from consuming what goes.
        """
        everybody: list[DatasetName] = self.workspace.names()
        with self.workspace.lock_all(everybody):
            if self.plan(planned.name, planned.after) != planned:
                raise ConflictError(
                    f"{planned.name} has changed meanwhile; nothing was reset", hint="look again"
                )
            dataset = self.workspace.dataset(planned.name)
            dataset.move_head(planned.before, planned.after)


def _find(dataset: Dataset, blocks: list[SealedBlock], text: str) -> int:
    """The place of the block that a person means: a hash, its start, or its short form."""
    wanted = text.lower()
    places = [place for place, sealed in enumerate(blocks) if _is_meant(sealed.hash, wanted)]
    if len(wanted.removeprefix(_MULTIHASH)) < _LEAST and text not in {b.hash for b in blocks}:
        raise Invalid(f"'{text}' is too short for a block", hint=f"give {_LEAST} digits or more")
    if not places:
        raise NotFound(
            f"no block '{text}' in the chain of {dataset.name}",
            hint=f"`odf log {dataset.name}` shows its blocks",
        )
    if len(places) > 1:
        raise Invalid(f"'{text}' could be any of {len(places)} blocks", hint="give more digits")
    return places[0]


def _is_meant(block: BlockHash, wanted: str) -> bool:
    start, gap, end = wanted.partition(_GAP)
    digits = block.removeprefix(_MULTIHASH)
    starts = digits.startswith(start) or block.startswith(start)
    return starts and (not gap or block.endswith(end))
