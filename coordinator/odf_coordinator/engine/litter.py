"""Folders of engines that have ended: what is left of them below the run folder."""

from pathlib import Path

from odf_coordinator.engine import process, sandbox, slots
from odf_coordinator.errors import SandboxUnavailable
from odf_coordinator.model.report import Leftover
from odf_coordinator.model.timeline import Instant


class EngineFolders:
    """The slots of one workspace, as ports.Litter sees them."""

    def __init__(self, run_dir: Path, runtime_dir: Path) -> None:
        self._run_dir, self._runtime_dir = run_dir.resolve(), runtime_dir

    def find(self, *, before: Instant) -> list[Leftover]:
        """See ports.Litter. Where Docker does not answer, nothing is known of its engines."""
        folders = [path for path in self._folders() if path.stat().st_mtime_ns // 1000 < before]
        if not folders:
            return []
        running = self._containers()
        return [
            Leftover(key=f"run/{folder.name}", size=_size(folder), why="of an engine that ended")
            for folder in folders
            if self._is_over(folder, running)
        ]

    def remove(self, leftover: Leftover) -> None:
        """See ports.Litter; one that was started meanwhile stays."""
        folder = self._run_dir / leftover.key.removeprefix("run/")
        with slots.locked(self._run_dir, folder.name) as free:
            if free and self._is_over(folder, self._containers(), locked=True):
                slots.make_slot(
                    run_dir=self._run_dir, runtime_dir=self._runtime_dir, name=folder.name, owner=0
                ).clear()

    def _folders(self) -> list[Path]:
        found = sorted(self._run_dir.iterdir()) if self._run_dir.is_dir() else []
        return [path for path in found if path.is_dir()]

    def _containers(self) -> frozenset[str] | None:
        """The slots of running containers; None when that is not known."""
        try:
            with sandbox.daemon() as client:
                found = sandbox.running_containers(client, str(self._run_dir))
                return frozenset(container.labels[sandbox.LABEL_SLOT] for container in found)
        except SandboxUnavailable:
            return None

    def _is_over(
        self, folder: Path, running: frozenset[str] | None, *, locked: bool = False
    ) -> bool:
        if folder.name.startswith(f"{sandbox.RUNNER}-"):
            over = running is not None and folder.name not in running
        else:
            over = process.running_pid(folder) is None
        if locked or not over:
            return over
        with slots.locked(self._run_dir, folder.name) as free:
            return free


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
