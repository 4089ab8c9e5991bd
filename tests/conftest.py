"""What all tests share: which machine they need, and that a skip tells why."""

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.reliability import system_calls

REPOSITORY = Path(__file__).parent.parent


def _without_docker() -> str:
    if shutil.which("docker") is None:
        return "no docker command here"
    done = subprocess.run(["docker", "info"], capture_output=True, check=False)
    return "" if done.returncode == 0 else "the Docker daemon does not answer"


def _without_spark() -> str:
    if find_spec("pyspark") is None:
        return "pyspark is not installed (make setup-engine)"
    if shutil.which("java") is None:
        return "java is not installed"
    jar = REPOSITORY / "engine-spark" / "build" / "odf-engine.jar"
    return "" if jar.is_file() else "the engine's jar is not built (make setup-engine)"


def _without_fuse() -> str:
    if find_spec("mfusepy") is None:
        return "mfusepy is not installed (make setup)"
    if shutil.which("fusermount3") is None:
        return "fusermount3 is not installed (Debian package fuse3)"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return f"/dev/fuse cannot be opened: {error.strerror}"
    return ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what the machine cannot run; ODF_REQUIRE=docker,spark,... makes that a failure."""
    required = {name for name in os.environ.get("ODF_REQUIRE", "").split(",") if name}
    checks = {
        "docker": _without_docker,
        "spark": _without_spark,
        "strace": system_calls.unusable,
        "fuse": _without_fuse,
    }
    needed = {name for item in items for name in checks if item.get_closest_marker(name)}
    missing = {name: reason for name in needed if (reason := checks[name]())}
    for name, reason in missing.items():
        if name in required:
            raise pytest.UsageError(f"ODF_REQUIRE={name}: {reason}")
        for item in items:
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=f"needs {name}: {reason}"))
