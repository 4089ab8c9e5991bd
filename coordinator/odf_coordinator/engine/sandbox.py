"""Engines in hardened containers: no network, nothing writable but the exchange, no privileges."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import requests
from docker.errors import DockerException, ImageNotFound, NotFound
from docker.models.containers import Container
from docker.models.images import Image
from docker.types import Mount

import docker
from odf_coordinator.engine.slots import Slot, ended_early
from odf_coordinator.errors import EngineError, SandboxUnavailable

RUNNER = "docker"
DEFAULT_IMAGE = "odf/engine-spark:latest"
ENGINE_UID = 10001
API_SECONDS = 60
LOG_LINES = 30
PIDS_LIMIT = 512
TMPFS = "rw,noexec,nosuid,nodev,size=256m,mode=1777"
LABEL_BUILD = "odf.build_id"
LABEL_WORKSPACE = "odf.workspace"
LABEL_SLOT = "odf.slot"
LABEL_OPTIONS = "odf.options"
INPUTS, OUTPUTS, RUNTIME = "/exchange/in", "/exchange/out", "/run/odf"
BUILD_HINT = "run `odf engine build`"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineImage:
    """An engine image on this machine; `digest` is that of its configuration, its id in Docker.

    `created` is when this machine got it: the date inside is the same for all, so that building
    again gives the same bytes.
    """

    digest: str
    build_id: str
    tags: tuple[str, ...]
    size: int
    created: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a container may use, and how long it waits for work before it ends."""

    memory: str
    cpus: float
    idle_seconds: float


def engine_user() -> int:
    """The user that engines in containers run as: ourselves (files stay ours), but never root."""
    return os.geteuid() or ENGINE_UID


@contextmanager
def daemon() -> Iterator[docker.DockerClient]:
    """A connection to Docker.

    Raises SandboxUnavailable when nobody answers, EngineError when Docker refuses what is asked.
    """
    try:
        client = docker.from_env(timeout=API_SECONDS)
    except (DockerException, requests.RequestException) as error:
        raise SandboxUnavailable(
            f"Docker does not answer: {error}",
            hint="start Docker, or choose child processes: ODF_RUNNER=process",
        ) from error
    try:
        yield client
    except (DockerException, requests.RequestException) as error:
        raise EngineError(
            f"Docker failed: {error}", hint="`odf doctor` tells what is available here"
        ) from error
    finally:
        client.close()


def images(client: docker.DockerClient) -> list[EngineImage]:
    """All engine images that Docker has, newest first."""
    found = [_describe(image) for image in client.images.list(filters={"label": LABEL_BUILD})]
    return sorted(found, key=lambda image: (image.created, image.digest), reverse=True)


def find_image(client: docker.DockerClient, reference: str) -> EngineImage | None:
    """The engine image of a digest or a tag; None when Docker does not have it."""
    try:
        image = client.images.get(reference)
    except ImageNotFound:
        return None
    return _describe(image)


def _describe(image: Image) -> EngineImage:
    return EngineImage(
        digest=str(image.id),
        build_id=image.labels.get(LABEL_BUILD, ""),
        tags=tuple(sorted(image.tags)),
        size=int(image.attrs["Size"]),
        created=str(image.attrs.get("Metadata", {}).get("LastTagTime", image.attrs["Created"])),
    )


def container_options(slot: Slot, *, workspace: str, limits: Limits) -> dict[str, Any]:
    """All walls around an engine, as the Docker SDK names them."""
    owner = slot.folder.owner
    group = os.getegid() if owner == os.geteuid() else owner
    options: dict[str, Any] = {
        "command": [
            *("--listen", "0.0.0.0:5544", "--socket", f"{RUNTIME}/{slot.socket.name}"),
            *("--inputs", INPUTS, "--outputs", OUTPUTS),
            *("--scratch", f"{OUTPUTS}/{slot.folder.scratch.name}"),
            *("--idle-exit", str(limits.idle_seconds)),
        ],
        "name": f"odf-{slot.key}",
        "network_mode": "none",
        # Spark asks for the address of its own host name, and there is no network to ask.
        "hostname": "localhost",
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "user": f"{owner}:{group}",
        "pids_limit": PIDS_LIMIT,
        "mem_limit": limits.memory,
        "memswap_limit": limits.memory,
        "nano_cpus": int(limits.cpus * 1_000_000_000),
        "tmpfs": {"/tmp": TMPFS},  # noqa: S108 - inside the container
        "init": True,
        "mounts": [
            Mount(INPUTS, str(slot.folder.inputs), type="bind", read_only=True),
            Mount(OUTPUTS, str(slot.folder.outputs), type="bind"),
            Mount(RUNTIME, str(slot.runtime), type="bind"),
        ],
    }
    digest = hashlib.sha256(json.dumps(options, sort_keys=True).encode()).hexdigest()[:16]
    labels = {LABEL_WORKSPACE: workspace, LABEL_SLOT: slot.name, LABEL_OPTIONS: digest}
    return {**options, "labels": labels}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerLauncher:
    """Starts and stops the containers of one image, at most one in each slot."""

    image: EngineImage
    workspace: str
    limits: Limits

    @property
    def runner(self) -> str:
        """As a block records it."""
        return RUNNER

    @property
    def image_digest(self) -> str | None:
        """The image that runs."""
        return self.image.digest

    @property
    def build_id(self) -> str:
        """The engine that the image says it holds."""
        return self.image.build_id

    @property
    def owner(self) -> int:
        """The user that the engine runs as."""
        return engine_user()

    def is_running(self, slot: Slot) -> bool:
        """Whether the slot has a container of this image, started with the same options."""
        options = container_options(slot, workspace=self.workspace, limits=self.limits)
        with daemon() as client:
            found = _container(client, slot)
            return (
                found is not None
                and found.status == "running"
                and found.attrs["Image"] == self.image.digest
                and found.labels.get(LABEL_OPTIONS) == options["labels"][LABEL_OPTIONS]
            )

    def start(self, slot: Slot) -> None:
        """Start a container in a slot whose folders are ready. Raises EngineError."""
        options = container_options(slot, workspace=self.workspace, limits=self.limits)
        with daemon() as client:
            forget_ended(client, self.workspace)
            client.containers.create(self.image.digest, **options).start()

    def check_alive(self, slot: Slot) -> None:
        """Raises EngineError, with what the container printed last, when it has ended."""
        with daemon() as client:
            found = _container(client, slot)
            if found is not None and found.status in ("created", "running"):
                return
            tail = _log(found, tail=LOG_LINES) if found is not None else ""
        raise ended_early(tail)

    def stop(self, slot: Slot, *, keep_log: bool = False) -> None:
        """Remove the slot's container, if there is one; its log may be kept in the slot."""
        remove_container(slot, keep_log=keep_log)


def remove_container(slot: Slot, *, keep_log: bool = False) -> None:
    """Remove the container of a slot, whatever its state; its log may be kept in the slot."""
    with daemon() as client:
        found = _container(client, slot)
        if found is None:
            return
        if keep_log and slot.folder.root.is_dir():
            slot.log.write_text(_log(found))
        found.remove(force=True)


def running_containers(client: docker.DockerClient, workspace: str) -> list[Container]:
    """The running engines of a workspace."""
    return _containers(client, workspace, "running")


def forget_ended(client: docker.DockerClient, workspace: str) -> None:
    """Remove containers that ended by themselves, having been idle."""
    for ended in _containers(client, workspace, "exited"):
        try:
            ended.remove()
        except NotFound:
            continue


def _containers(client: docker.DockerClient, workspace: str, status: str) -> list[Container]:
    filters: dict[str, str | list[str] | bool] = {
        "label": f"{LABEL_WORKSPACE}={workspace}",
        "status": status,
    }
    return list(client.containers.list(all=True, filters=filters, ignore_removed=True))


def _container(client: docker.DockerClient, slot: Slot) -> Container | None:
    try:
        return client.containers.get(f"odf-{slot.key}")
    except NotFound:
        return None


def _log(container: Container, *, tail: int | None = None) -> str:
    lines = container.logs(tail="all" if tail is None else tail)
    return lines.decode(errors="replace").strip()
