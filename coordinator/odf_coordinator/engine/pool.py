"""Warm engines of one workspace: found, started when needed, used by one caller at a time.

Each engine has a slot below the run folder, `<runner>-<first 12 of its id>-<number>`. Whoever holds
the slot's lock has the engine. A released engine stays warm for the next command, until it has
been idle for too long; one that failed is replaced.
"""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from odf_wire import messages

from odf_coordinator.engine import process, sandbox, slots
from odf_coordinator.engine.choice import Containers, Runner, check_build, choose
from odf_coordinator.engine.client import EngineClient, RemoteEngine, ask_info
from odf_coordinator.engine.process import ProcessLauncher
from odf_coordinator.engine.sandbox import ContainerLauncher, EngineImage, Limits
from odf_coordinator.engine.slots import Slot
from odf_coordinator.errors import EngineError, OdfError, SandboxUnavailable
from odf_coordinator.model.event import EnginePin, EngineRun
from odf_coordinator.ports import Engine

ENGINE_NAME = "spark"
SLOTS = 8
ID_LENGTH = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """How this workspace runs engines.

    `run_dir` holds the engines' folders, `runtime_dir` their sockets; `image` is a tag or digest,
    None for the default one; `java_home` is for child processes.
    """

    run_dir: Path
    runtime_dir: Path
    runner: Runner = Runner.AUTO
    allow_unsandboxed: bool = False
    idle_seconds: float = 600.0
    image: str | None = None
    memory: str = "3g"
    cpus: float = 2.0
    java_home: Path | None = None
    start_seconds: float = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningEngine:
    """A warm engine; `identity` names its container or its process, `busy` is "in use now"."""

    slot: str
    runner: str
    identity: str
    busy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """Whether a thing can be used here; `detail` says what it is, or why not and what to do."""

    available: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStatus:
    """What can run engines on this machine; `chosen` is what an unpinned dataset gets, if any."""

    docker: Availability
    image: Availability
    process: Availability
    bubblewrap: Availability
    chosen: str | None


class Launcher(Protocol):
    """Starts one particular engine in slots: an image in containers, or the installed one."""

    @property
    def runner(self) -> str:
        """As a block records it."""

    @property
    def build_id(self) -> str:
        """The engine that is started."""

    @property
    def image_digest(self) -> str | None:
        """The image that is started, if it is one."""

    @property
    def owner(self) -> int:
        """The user that the engine runs as."""

    def is_running(self, slot: Slot) -> bool:
        """Whether this engine runs in the slot."""

    def start(self, slot: Slot) -> None:
        """Start it in a slot whose folders are ready. Raises EngineError."""

    def check_alive(self, slot: Slot) -> None:
        """Raises EngineError, with what it printed last, when it has ended."""

    def stop(self, slot: Slot, *, keep_log: bool = False) -> None:
        """End whatever runs in the slot."""


class EnginePool:
    """Finds, starts and keeps engines, as ports.Engines promises."""

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._run_dir = settings.run_dir.resolve()

    @contextmanager
    def acquire(self, pin: EnginePin | None) -> Iterator[Engine]:
        """A warm engine for exclusive use: the pinned one, or the default one of this machine.

        Raises SandboxUnavailable, with the way out, when it cannot be run here; EngineError when
        it does not start, is not the pinned build, or all slots stay busy.
        """
        launcher = self._launcher(pin)
        with ExitStack() as held:
            slot = self._hold_slot(launcher, held)
            try:
                info = self._ready(launcher, slot)
                check_build(pin, expected=launcher.build_id, answered=info.build_id)
                client = held.enter_context(closing(EngineClient(f"unix:{slot.socket}")))
                run = EngineRun(
                    name=ENGINE_NAME,
                    build_id=info.build_id,
                    image_digest=launcher.image_digest,
                    runner=launcher.runner,
                )
                yield RemoteEngine(client=client, folder=slot.folder, run=run)
            except EngineError:
                with suppress(OdfError):
                    launcher.stop(slot, keep_log=True)
                raise

    def list_running(self) -> list[RunningEngine]:
        """The warm engines of this workspace."""
        found = [
            RunningEngine(
                slot=slot, runner=process.recorded_runner(folder), identity=f"pid {pid}", busy=busy
            )
            for slot, folder, pid, busy in self._processes()
        ]
        try:
            with sandbox.daemon() as client:
                for container in sandbox.running_containers(client, str(self._run_dir)):
                    slot = container.labels[sandbox.LABEL_SLOT]
                    identity = f"container {container.short_id}"
                    found.append(
                        RunningEngine(
                            slot=slot,
                            runner=sandbox.RUNNER,
                            identity=identity,
                            busy=self._is_busy(slot),
                        )
                    )
        except SandboxUnavailable:
            return found
        return sorted(found, key=lambda engine: engine.slot)

    def stop_all(self, *, force: bool = False) -> list[RunningEngine]:
        """End the warm engines of this workspace and clear their folders; gives those ended.

        One that is in use is left alone unless `force`: its user then finds the engine lost.
        """
        stopped = []
        for engine in self.list_running():
            with slots.locked(self._run_dir, engine.slot) as mine:
                if not mine and not force:
                    continue
                slot = self._slot(engine.slot, owner=0)
                if engine.runner == sandbox.RUNNER:
                    sandbox.remove_container(slot)
                else:
                    process.stop_process(slot.folder.root)
                if mine:
                    slot.clear()
                stopped.append(engine)
        with suppress(SandboxUnavailable), sandbox.daemon() as client:
            sandbox.forget_ended(client, str(self._run_dir))
        return stopped

    def images(self) -> list[EngineImage]:
        """The engine images on this machine, newest first. Raises SandboxUnavailable."""
        with sandbox.daemon() as client:
            return sandbox.images(client)

    def status(self) -> EngineStatus:
        """What can run engines here and why not; never raises."""
        containers = self._look_at_docker()
        docker = Availability(
            available=not containers.unavailable, detail=containers.unavailable or "answers"
        )
        if containers.default is None:
            image = Availability(available=False, detail=f"not here; {sandbox.BUILD_HINT}")
        else:
            image = Availability(available=True, detail=containers.default.digest)
        try:
            launcher: Launcher | None = self._launcher(None)
        except (SandboxUnavailable, EngineError):
            launcher = None
        return EngineStatus(
            docker=docker,
            image=image,
            process=_look_at_process(self._settings.java_home),
            bubblewrap=_look_at_bubblewrap(),
            chosen=launcher.runner if launcher else None,
        )

    def _launcher(self, pin: EnginePin | None) -> Launcher:
        settings = self._settings
        image = choose(pin, settings.runner, self._look_at_docker)
        if image is not None:
            limits = Limits(
                memory=settings.memory, cpus=settings.cpus, idle_seconds=settings.idle_seconds
            )
            return ContainerLauncher(image=image, workspace=str(self._run_dir), limits=limits)
        installation = process.find_installation(settings.java_home)
        if installation.bubblewrap is None and not settings.allow_unsandboxed:
            raise SandboxUnavailable(
                "neither Docker nor bubblewrap can be used here: the engine would run unprotected",
                hint="install bubblewrap or Docker, or accept it with --allow-unsandboxed",
            )
        build_id = process.ask_build_id(installation)
        check_build(pin, expected=build_id, answered=build_id)
        return ProcessLauncher(
            installation=installation, build_id=build_id, idle_seconds=settings.idle_seconds
        )

    def _look_at_docker(self) -> Containers:
        try:
            with sandbox.daemon() as client:
                default = sandbox.find_image(client, self._settings.image or sandbox.DEFAULT_IMAGE)
                return Containers(images=tuple(sandbox.images(client)), default=default)
        except SandboxUnavailable as error:
            return Containers(unavailable=str(error))

    def _hold_slot(self, launcher: Launcher, held: ExitStack) -> Slot:
        """A slot whose lock is now ours, until `held` is closed."""
        identity = (launcher.image_digest or launcher.build_id).rpartition(":")[2][:ID_LENGTH]
        names = [f"{launcher.runner}-{identity}-{number}" for number in range(SLOTS)]
        taken: list[str] = []

        def take() -> bool:
            for name in names:
                with ExitStack() as attempt:
                    if attempt.enter_context(slots.locked(self._run_dir, name)):
                        held.enter_context(attempt.pop_all())
                        taken.append(name)
                        return True
            return False

        if not slots.wait_until(take, seconds=self._settings.start_seconds):
            raise EngineError(f"all {SLOTS} engines are busy", hint="try again later")
        return self._slot(taken[0], owner=launcher.owner)

    def _ready(self, launcher: Launcher, slot: Slot) -> messages.InfoResult:
        """What the slot's engine says of itself; a warm one is used, otherwise one is started."""
        if launcher.is_running(slot) and slot.answers():
            try:
                return ask_info(slot.socket)
            except EngineError:
                launcher.stop(slot, keep_log=True)
        launcher.stop(slot)
        slot.prepare()
        launcher.start(slot)
        slots.wait_until_answering(
            slot,
            check_alive=partial(launcher.check_alive, slot),
            seconds=self._settings.start_seconds,
        )
        return ask_info(slot.socket)

    def _slot(self, name: str, *, owner: int) -> Slot:
        runtime_dir = self._settings.runtime_dir
        return slots.make_slot(
            run_dir=self._run_dir, runtime_dir=runtime_dir, name=name, owner=owner
        )

    def _processes(self) -> Iterator[tuple[str, Path, int, bool]]:
        for folder in sorted(self._run_dir.iterdir()) if self._run_dir.is_dir() else []:
            pid = process.running_pid(folder)
            if pid is not None:
                yield folder.name, folder, pid, self._is_busy(folder.name)

    def _is_busy(self, slot: str) -> bool:
        with slots.locked(self._run_dir, slot) as free:
            return not free


def _look_at_process(java_home: Path | None) -> Availability:
    try:
        installation = process.find_installation(java_home)
        build_id = process.ask_build_id(installation)
    except SandboxUnavailable as error:
        return Availability(available=False, detail=f"{error}; {error.hint}")
    return Availability(available=True, detail=f"build {build_id}, {installation.java}")


def _look_at_bubblewrap() -> Availability:
    found = process.usable_bubblewrap()
    if found is None:
        return Availability(available=False, detail="missing or not permitted; install bubblewrap")
    return Availability(available=True, detail=str(found))
