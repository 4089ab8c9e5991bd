"""Puts the real adapters in: the only place that builds them, reads the clock and draws keys."""

import contextlib
import hashlib
import os
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from odf_coordinator.codec import settings as settings_codec
from odf_coordinator.errors import ConflictError, IntegrityError, NeedsNewer, NotFound
from odf_coordinator.model.timeline import Instant
from odf_coordinator.ports import Listener, Litter
from odf_coordinator.rules import settings
from odf_coordinator.rules.settings import Layer, Value
from odf_coordinator.storage.local import FileLocks, LocalStore, UnfinishedFiles, make_folder
from odf_coordinator.workspace import Workspace

if TYPE_CHECKING:
    from odf_coordinator.engine.pool import EnginePool, EngineStatus
    from odf_coordinator.flows.add import Adder
    from odf_coordinator.flows.collect import Collector
    from odf_coordinator.flows.delete import Deleter
    from odf_coordinator.flows.edit import Editor
    from odf_coordinator.flows.fsck import StoreChecker
    from odf_coordinator.flows.pull import Puller
    from odf_coordinator.flows.rebuild import Dropper
    from odf_coordinator.flows.reset import Resetter
    from odf_coordinator.flows.usage import UsageReader
    from odf_coordinator.flows.verify import Verifier

_FOLDER = ".odf"
_CONFIG = "config.toml"
_VERSION = b"0\n"
_IMAGE_NOTE = Path(__file__).resolve().parents[2] / "engine-spark" / "build" / "image"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says about the workspace and its engines."""

    workspace: str | None = None
    allow_unsandboxed: bool = False


class SystemClock:
    """The machine's clock."""

    def now(self) -> Instant:
        """See ports.Clock."""
        return Instant(time.time_ns() // 1000)


def init_workspace(folder: Path) -> None:
    """Make a workspace in a folder, even below another one. Raises ConflictError when it is one."""
    if (folder / _FOLDER / "version").exists():
        raise ConflictError(f"{folder} is a workspace already")
    make_folder(folder)
    inside = folder / _FOLDER
    make_folder(inside)
    make_folder(inside / "keys")
    (inside / "keys").chmod(0o700)
    LocalStore(inside).put("version", _VERSION)


class App:
    """One command's view of the world. Adapters are built when they are first needed."""

    def __init__(self, options: Options, *, listener: Listener) -> None:
        self._options = options
        self.listener = listener
        self.clock = SystemClock()

    @cached_property
    def root(self) -> Path:
        """The folder of the workspace. Raises NotFound when there is none."""
        named = self._options.workspace or os.environ.get("ODF_WORKSPACE")
        if named:
            if not (Path(named) / _FOLDER / "version").is_file():
                raise NotFound(f"{named} is not a workspace", hint="make one with `odf init`")
            return Path(named).resolve()
        here = Path.cwd()
        for folder in (here, *here.parents):
            if (folder / _FOLDER / "version").is_file():
                return folder
        raise NotFound(f"no workspace in {here} or above it", hint="make one with `odf init`")

    @cached_property
    def workspace(self) -> Workspace:
        """The workspace. Raises NeedsNewer when it is of a later version, IntegrityError when its
        version cannot be told."""
        inside = self.root / _FOLDER
        store = LocalStore(inside)
        _check_version(store.get("version"), inside / "version")
        threads = len(os.sched_getaffinity(0))
        return Workspace(self.root, store, FileLocks(inside / "locks"), threads=threads)

    @cached_property
    def layers(self) -> list[Layer]:
        """Where settings come from, the first decides. Raises Invalid when one is not valid."""
        found = [settings.from_environment(os.environ)]
        with contextlib.suppress(NotFound):
            found.append(self._layer("workspace", self.root / _FOLDER))
        return [*found, self._layer("user", _user_folder())]

    def _layer(self, label: str, folder: Path) -> Layer:
        try:
            text = (folder / _CONFIG).read_text(encoding="utf-8")
        except FileNotFoundError:
            return Layer(label=label, values={})
        values = settings_codec.decode(text, str(folder / _CONFIG))
        return Layer(label=label, values=values)

    def configure(self, name: str, value: Value | None, *, user: bool) -> None:
        """Change a setting of the workspace, or of the user; None forgets it.

        Raises NotFound when there is no workspace, ConflictError when somebody else was first.
        """
        store = LocalStore(_user_folder() if user else self.root / _FOLDER)
        before = store.get(_CONFIG) if store.size(_CONFIG) is not None else None
        text = settings_codec.edited((before or b"").decode(), name, value)
        if text.encode() != (before or b""):
            store.swap(_CONFIG, expected=before, new=text.encode())

    @cached_property
    def engines(self) -> "EnginePool":
        """The engines of this workspace."""
        return self._pool(engine_folder(self.root / _FOLDER))

    def engine_status(self) -> "EngineStatus":
        """What can run engines on this machine, in a workspace or not."""
        return self._pool(Path.cwd() / _FOLDER / "run").status()

    def _pool(self, run_dir: Path) -> "EnginePool":
        from odf_coordinator.engine.choice import Runner
        from odf_coordinator.engine.pool import EnginePool, EngineSettings
        from odf_coordinator.engine.slots import default_runtime_dir

        value = {name: settings.effective(name, self.layers).value for name in settings.BY_NAME}
        image = value["engine.image"]
        java_home = os.environ.get("JAVA_HOME")
        return EnginePool(
            EngineSettings(
                run_dir=run_dir,
                runtime_dir=default_runtime_dir(os.environ.get("XDG_RUNTIME_DIR")),
                runner=Runner(value["engine.runner"]),
                allow_unsandboxed=self._options.allow_unsandboxed
                or value["engine.allow_unsandboxed"] is True,
                idle_seconds=float(value["engine.idle_seconds"] or 0),
                image=str(image) if image else _own_image(),
                memory=str(value["engine.memory"]),
                cpus=float(value["engine.cpus"] or 0),
                java_home=Path(java_home) if java_home else None,
            )
        )

    @cached_property
    def adder(self) -> "Adder":
        """Adds datasets."""
        from odf_coordinator.flows.add import Adder

        return Adder(
            workspace=self.workspace,
            engines=self.engines,
            clock=self.clock,
            listener=self.listener,
            new_key=Ed25519PrivateKey.generate,
        )

    @cached_property
    def editor(self) -> "Editor":
        """Edits datasets."""
        from odf_coordinator.flows.edit import Editor

        return Editor(
            workspace=self.workspace,
            engines=self.engines,
            clock=self.clock,
            listener=self.listener,
        )

    @cached_property
    def puller(self) -> "Puller":
        """Pulls datasets."""
        from odf_coordinator.flows.pull import Puller
        from odf_coordinator.flows.pull_derivative import DerivativePuller
        from odf_coordinator.flows.pull_root import RootPuller
        from odf_coordinator.ingest.source import FileSource

        return Puller(
            workspace=self.workspace,
            roots=RootPuller(
                workspace=self.workspace,
                source=FileSource(),
                clock=self.clock,
                listener=self.listener,
            ),
            derivatives=DerivativePuller(
                workspace=self.workspace,
                engines=self.engines,
                clock=self.clock,
                listener=self.listener,
            ),
        )

    @cached_property
    def verifier(self) -> "Verifier":
        """Verifies datasets."""
        from odf_coordinator.flows.verify import Verifier

        return Verifier(
            workspace=self.workspace,
            engines=self.engines,
            clock=self.clock,
            listener=self.listener,
        )

    @cached_property
    def deleter(self) -> "Deleter":
        """Deletes datasets."""
        from odf_coordinator.flows.delete import Deleter

        return Deleter(workspace=self.workspace)

    @cached_property
    def resetter(self) -> "Resetter":
        """Moves heads back."""
        from odf_coordinator.flows.reset import Resetter

        return Resetter(workspace=self.workspace)

    @cached_property
    def dropper(self) -> "Dropper":
        """Drops data files that can be rebuilt."""
        from odf_coordinator.flows.rebuild import Dropper

        return Dropper(workspace=self.workspace)

    @cached_property
    def usage(self) -> "UsageReader":
        """Adds up bytes."""
        from odf_coordinator.flows.usage import UsageReader

        return UsageReader(workspace=self.workspace, collector=self.collector, clock=self.clock)

    @cached_property
    def collector(self) -> "Collector":
        """Collects garbage."""
        from odf_coordinator.flows.collect import Collector

        inside = self.root / _FOLDER
        litter: list[Litter] = [UnfinishedFiles(inside, scratch=self.workspace.scratch)]
        if (inside / "run").is_dir():
            from odf_coordinator.engine.litter import EngineFolders
            from odf_coordinator.engine.slots import default_runtime_dir

            runtime_dir = default_runtime_dir(os.environ.get("XDG_RUNTIME_DIR"))
            litter.append(EngineFolders(inside / "run", runtime_dir))
        return Collector(
            workspace=self.workspace, litter=litter, clock=self.clock, listener=self.listener
        )

    @cached_property
    def store_checker(self) -> "StoreChecker":
        """Checks the store itself."""
        from odf_coordinator.flows.fsck import StoreChecker

        return StoreChecker(
            workspace=self.workspace,
            collector=self.collector,
            clock=self.clock,
            listener=self.listener,
        )


def engine_folder(inside: Path) -> Path:
    """Where engines have their folders: in the workspace, or in the user's runtime folder when
    the workspace cannot be written. Raises SandboxUnavailable when that is not ours alone."""
    from odf_coordinator.engine.slots import claim_runtime_base, default_runtime_dir

    if os.access(inside, os.W_OK):
        return inside / "run"
    runtime = default_runtime_dir(os.environ.get("XDG_RUNTIME_DIR"))
    claim_runtime_base(runtime)
    return runtime / f"run-{hashlib.sha256(os.fsencode(inside)).hexdigest()[:8]}"


def _check_version(found: bytes, file: Path) -> None:
    if not found.strip().isdigit():
        raise IntegrityError(
            f"{file} is damaged: it holds {found[:20]!r}, not a number",
            hint=f"write {_VERSION.decode().strip()} into it if this version of odf made the"
            " workspace; check everything with `odf verify`",
        )
    if int(found) > int(_VERSION):
        raise NeedsNewer(f"the workspace {file.parent.parent}")


def _user_folder() -> Path:
    """Where the user's own settings are."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "odf"


def _own_image() -> str | None:
    """The image that was built from this checkout, whatever others there are on the machine."""
    try:
        return _IMAGE_NOTE.read_text().strip() or None
    except OSError:
        return None
