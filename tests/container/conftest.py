"""The engine image, built when it is not there, and engines started from it."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from odf_coordinator.engine.choice import Runner
from odf_coordinator.engine.pool import EnginePool, EngineSettings

REPOSITORY = Path(__file__).parent.parent.parent
BUILD_SECONDS = 900


@pytest.fixture(scope="session")
def image() -> str:
    """The digest of the image of the engine as it is in this repository."""
    command = [sys.executable, str(REPOSITORY / "docker/build_image.py")]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, timeout=BUILD_SECONDS
    )
    return done.stdout.strip()


def make_pool(folder: Path, runner: Runner, image: str | None = None) -> EnginePool:
    """A pool of its own below a short folder."""
    settings = EngineSettings(
        run_dir=folder / "run",
        runtime_dir=folder / "rt",
        runner=runner,
        image=image,
        idle_seconds=300,
    )
    return EnginePool(settings)


@pytest.fixture(scope="module")
def docker_pool(image: str) -> Iterator[EnginePool]:
    """Engines in containers; all are gone at the end."""
    with tempfile.TemporaryDirectory(prefix="odf-t-") as folder:
        pool = make_pool(Path(folder), Runner.DOCKER, image)
        yield pool
        pool.stop_all(force=True)
        assert pool.list_running() == []


@pytest.fixture(scope="module")
def process_pool() -> Iterator[EnginePool]:
    """Engines as child processes; all are gone at the end."""
    with tempfile.TemporaryDirectory(prefix="odf-t-") as folder:
        pool = make_pool(Path(folder), Runner.PROCESS)
        yield pool
        pool.stop_all(force=True)
        assert pool.list_running() == []
