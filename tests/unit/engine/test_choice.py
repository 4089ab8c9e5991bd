"""Which engine runs: by pin, by preference, by what the machine has."""

import pytest
from odf_coordinator.engine.choice import Containers, Runner, check_build, choose
from odf_coordinator.engine.sandbox import EngineImage
from odf_coordinator.errors import EngineError, SandboxUnavailable
from odf_coordinator.model.event import EnginePin


def image(digest: str, build_id: str) -> EngineImage:
    return EngineImage(digest=digest, build_id=build_id, tags=(), size=1, created="")


OLD, NEW = image("sha256:old", "build-old"), image("sha256:new", "build-new")
BOTH = Containers(images=(NEW, OLD), default=NEW)
EMPTY = Containers()
DOWN = Containers(unavailable="Docker does not answer")
PIN_OLD = EnginePin(build_id="build-old", image_digest="sha256:old")
PIN_BUILD = EnginePin(build_id="build-old", image_digest=None)
PIN_ABSENT = EnginePin(build_id="build-x", image_digest="sha256:x")
PIN_ABSENT_BUILD = EnginePin(build_id="build-x", image_digest=None)
AUTO, DOCKER, PROCESS = Runner.AUTO, Runner.DOCKER, Runner.PROCESS


@pytest.mark.parametrize(
    ("pin", "runner", "found", "expected"),
    [
        (None, AUTO, BOTH, NEW),
        (None, AUTO, DOWN, None),
        (None, DOCKER, BOTH, NEW),
        (PIN_OLD, AUTO, BOTH, OLD),
        (PIN_OLD, DOCKER, BOTH, OLD),
        (PIN_OLD, PROCESS, BOTH, None),
        (PIN_BUILD, AUTO, BOTH, OLD),
        (PIN_BUILD, AUTO, DOWN, None),
        (PIN_ABSENT_BUILD, AUTO, BOTH, None),
    ],
)
def test_the_engine_that_serves(
    pin: EnginePin | None, runner: Runner, found: Containers, expected: EngineImage | None
) -> None:
    assert choose(pin, runner, lambda: found) == expected


@pytest.mark.parametrize(
    ("pin", "runner", "found", "hint"),
    [
        (None, AUTO, EMPTY, "odf engine build"),
        (None, DOCKER, DOWN, "ODF_RUNNER=process"),
        (PIN_OLD, AUTO, DOWN, "ODF_RUNNER=process"),
        (PIN_ABSENT, AUTO, BOTH, "odf engine build"),
        (PIN_ABSENT_BUILD, DOCKER, BOTH, "odf engine build"),
    ],
)
def test_what_cannot_be_served_says_the_way_out(
    pin: EnginePin | None, runner: Runner, found: Containers, hint: str
) -> None:
    with pytest.raises(SandboxUnavailable) as raised:
        choose(pin, runner, lambda: found)
    assert hint in raised.value.hint


def test_an_image_of_another_build_than_the_pin_is_refused() -> None:
    pin = EnginePin(build_id="build-x", image_digest=OLD.digest)
    with pytest.raises(EngineError, match="build-x"):
        choose(pin, AUTO, lambda: BOTH)


def test_docker_is_not_asked_when_processes_are_wanted() -> None:
    def never() -> Containers:
        raise AssertionError

    assert choose(PIN_OLD, PROCESS, never) is None


def test_engine_image_and_pin_must_name_one_build() -> None:
    check_build(PIN_OLD, expected="build-old", answered="build-old")
    with pytest.raises(EngineError, match="answers build build-new"):
        check_build(None, expected="build-old", answered="build-new")
    with pytest.raises(EngineError, match="runs on the engine build-old"):
        check_build(PIN_OLD, expected="build-new", answered="build-new")
