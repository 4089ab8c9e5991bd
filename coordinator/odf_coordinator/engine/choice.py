"""Which engine to run, decided over what this machine has. Looking and starting are elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from odf_coordinator.engine.sandbox import BUILD_HINT, EngineImage
from odf_coordinator.errors import EngineError, SandboxUnavailable
from odf_coordinator.model.event import EnginePin


class Runner(Enum):
    """How engines are to be run: containers, child processes, or whichever serves first."""

    AUTO = "auto"
    DOCKER = "docker"
    PROCESS = "process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Containers:
    """Docker as it was found: why it cannot be used (empty when it can), and its engine images."""

    unavailable: str = ""
    images: tuple[EngineImage, ...] = ()
    default: EngineImage | None = None


def choose(
    pin: EnginePin | None, runner: Runner, look: Callable[[], Containers]
) -> EngineImage | None:
    """The image to run, or None for a child process.

    A pin with a digest wants exactly that image, unless processes were asked for; one without is
    also served by an image of the same build. Raises SandboxUnavailable with the way out, and
    EngineError when an image is not of the build that the pin names.
    """
    if runner is Runner.PROCESS:
        return None
    found = look()
    if found.unavailable:
        if runner is Runner.AUTO and (pin is None or pin.image_digest is None):
            return None
        raise SandboxUnavailable(
            found.unavailable,
            hint="start Docker, or set ODF_RUNNER=process if the build is the same",
        )
    if pin is None:
        return _default(found)
    if pin.image_digest is not None:
        return _exactly(found, pin, pin.image_digest)
    same_build = next((image for image in found.images if image.build_id == pin.build_id), None)
    if same_build is None and runner is Runner.DOCKER:
        raise SandboxUnavailable(f"no image of the engine {pin.build_id} is here", hint=BUILD_HINT)
    return same_build


def check_build(pin: EnginePin | None, *, expected: str, answered: str) -> None:
    """Raises EngineError unless engine, image and pin all name the same build."""
    if answered != expected:
        raise EngineError(
            f"the engine answers build {answered}, but {expected} was started",
            hint="`odf engine stop`, then try again",
        )
    if pin is not None and pin.build_id != answered:
        raise EngineError(
            f"this dataset runs on the engine {pin.build_id}, but {answered} is what is here",
            hint="use the odf version that added the dataset, or move the dataset to this engine",
        )


def _default(found: Containers) -> EngineImage:
    if found.default is None:
        raise SandboxUnavailable("the engine's image is not here", hint=BUILD_HINT)
    return found.default


def _exactly(found: Containers, pin: EnginePin, digest: str) -> EngineImage:
    image = next((image for image in found.images if image.digest == digest), None)
    if image is None:
        raise SandboxUnavailable(
            f"the engine image {digest} is not here",
            hint=f"{BUILD_HINT} with the odf version that added the dataset, or load a saved image",
        )
    check_build(pin, expected=image.build_id, answered=image.build_id)
    return image
