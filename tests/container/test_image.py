"""The image: what is in it, and its plain form, which answers any gRPC client on port 5544."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from odf_coordinator.engine.client import EngineClient
from odf_coordinator.engine.slots import wait_until
from odf_coordinator.errors import EngineLost
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer

import docker

pytestmark = pytest.mark.docker
READY_SECONDS = 120


@pytest.fixture
def plain_port(image: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """`docker run -p 127.0.0.1::5544 IMAGE`."""
    monkeypatch.setattr(testcontainers_config, "ryuk_disabled", True)
    plain = DockerContainer(image)
    plain.ports["5544/tcp"] = ("127.0.0.1", None)  # type: ignore[assignment]
    with plain as container:
        yield int(container.get_exposed_port(5544))


def test_the_plain_form_answers_over_tcp(plain_port: int, image: str) -> None:
    def answers() -> bool:
        try:
            with closing(EngineClient(f"127.0.0.1:{plain_port}")) as client:
                found.append(client.info(timeout=5))
        except EngineLost:
            return False
        return True

    found: list[object] = []
    assert wait_until(answers, seconds=READY_SECONDS)
    with closing(docker.from_env()) as client:
        label = client.images.get(image).labels["odf.build_id"]
    assert label in str(found[0])


def test_the_port_is_open_only_when_the_engine_is_ready(plain_port: int) -> None:
    """The first connection that is accepted and kept can be used at once (ready = accepts)."""

    def accepts() -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            try:
                probe.connect(("127.0.0.1", plain_port))
                # Docker's own proxy accepts early, but only the engine greets (HTTP/2 settings).
                return bool(probe.recv(1))
            except OSError:
                return False

    assert wait_until(accepts, seconds=READY_SECONDS)
    with closing(EngineClient(f"127.0.0.1:{plain_port}")) as client:
        assert client.info(timeout=5).build_id


def test_the_image_says_what_it_is(image: str) -> None:
    with closing(docker.from_env()) as client:
        found = client.images.get(image)
        config = found.attrs["Config"]
        packages = client.containers.run(
            image, ["/opt/odf/packages.txt"], entrypoint="cat", network_mode="none", remove=True
        )
    assert found.labels["odf.engine"] == "spark"
    assert config["User"] == "10001:10001"
    assert list(config["ExposedPorts"]) == ["5544/tcp"]
    build = found.labels["odf.build_id"].removeprefix("sha256:")
    assert f"odf/engine-spark:{build[:12]}" in found.tags
    assert b"openjdk-17-jre-headless 17." in packages


def test_the_image_is_the_engine_of_this_repository(image: str) -> None:
    """Same layout, same files, hence the same build id in the image as outside of it."""
    code = "from odf_engine_spark.build import build_id; print(build_id())"
    with closing(docker.from_env()) as client:
        inside = client.containers.run(
            image, ["-c", code], entrypoint="python3", network_mode="none", remove=True
        )
        label = client.images.get(image).labels["odf.build_id"]
    assert inside.decode().strip() == label


def test_building_again_is_no_work(image: str) -> None:
    script = Path(__file__).parent.parent.parent / "docker/build_image.py"
    done = subprocess.run([sys.executable, script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == image
    assert "up to date" in done.stderr
