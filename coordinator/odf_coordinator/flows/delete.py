"""Delete datasets: refused while others derive from them, then all at once or not at all."""

from collections.abc import Sequence
from dataclasses import dataclass

from odf_coordinator.errors import ConflictError
from odf_coordinator.flows.dependents import with_dependents
from odf_coordinator.model.identity import DatasetName
from odf_coordinator.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleter:
    """Deletes datasets of one workspace."""

    workspace: Workspace

    def plan(self, refs: Sequence[str], *, recursive: bool) -> list[DatasetName]:
        """The datasets to delete: those named and, if `recursive`, what derives from them.

        Raises NotFound, and ConflictError naming the dependents that would be left behind.
        """
        named = list({entry.name: entry for entry in map(self.workspace.entry, refs)}.values())
        chosen = with_dependents(self.workspace, named)
        left = sorted(entry.name for entry in chosen[len(named) :])
        if left and not recursive:
            raise ConflictError(
                f"{', '.join(left)} {'derives' if len(left) == 1 else 'derive'} from"
                f" {', '.join(entry.name for entry in named)}; nothing was deleted",
                hint="delete them too with -r",
            )
        return [entry.name for entry in chosen]

    def delete(self, names: Sequence[DatasetName]) -> None:
        """Delete exactly these. Raises ConflictError when a dependent has appeared meanwhile."""
        with self.workspace.lock_all(names), self.workspace.changing():
            self.workspace.remove(self.plan(names, recursive=False))
