"""The walls of a running engine, tried from inside; and what happens when it is killed."""

import textwrap
from contextlib import closing, suppress
from pathlib import Path

import pytest
from odf_coordinator.engine.pool import EnginePool
from odf_coordinator.errors import EngineLost, SandboxUnavailable
from odf_coordinator.model.event import EnginePin

import docker
from tests.container import steps

pytestmark = pytest.mark.docker


def probe(pool: EnginePool, code: str) -> str:
    """What Python code prints inside the running container."""
    with pool.acquire(None), closing(docker.from_env()) as client:
        name = pool.list_running()[0].identity.removeprefix("container ")
        answer = client.containers.get(name).exec_run(["python3", "-c", textwrap.dedent(code)])
    assert answer.exit_code == 0, answer.output
    assert isinstance(answer.output, bytes)
    return answer.output.decode().strip()


def test_the_engine_answers_without_any_network(docker_pool: EnginePool, image: str) -> None:
    with docker_pool.acquire(None) as engine:
        assert engine.validate(steps.VALIDATE).kind == "stateless"
        assert engine.run.name == "spark"
        assert engine.run.runner == "docker"
        assert engine.run.image_digest == image


def test_there_is_no_network(docker_pool: EnginePool) -> None:
    printed = probe(
        docker_pool,
        """
        import socket
        lines = open("/proc/net/dev").read().splitlines()[2:]
        print(",".join(line.split(":")[0].strip() for line in lines))
        for address in ("1.1.1.1", "172.17.0.1", "192.168.0.1", "10.0.0.1", "169.254.169.254"):
            for port in (53, 80, 443, 2375):
                try:
                    socket.create_connection((address, port), timeout=1)
                    print("connected to", address, port)
                except OSError:
                    pass
        try:
            print(socket.getaddrinfo("example.org", 80))
        except OSError:
            pass
        """,
    )
    assert printed == "lo"


def test_nothing_is_writable_but_the_exchange(docker_pool: EnginePool) -> None:
    printed = probe(
        docker_pool,
        """
        import os
        places = ["/", "/etc", "/opt/odf", "/usr/bin", "/var/tmp", "/home", "/root", "/exchange",
                  "/exchange/in", "/exchange/out", "/run", "/run/odf", "/tmp", "/dev", "/sys"]
        for place in places:
            try:
                with open(f"{place}/probe", "w"):
                    print(place)
                os.unlink(f"{place}/probe")
            except OSError:
                pass
        """,
    )
    assert printed.split() == ["/exchange/out", "/run/odf", "/tmp"]


def test_what_is_written_to_tmp_cannot_be_run(docker_pool: EnginePool) -> None:
    printed = probe(
        docker_pool,
        """
        import os, subprocess
        with open("/tmp/probe", "w") as file:
            file.write("#!/bin/sh\\necho ran")
        os.chmod("/tmp/probe", 0o755)
        try:
            subprocess.run(["/tmp/probe"])
        except PermissionError:
            print("refused")
        os.unlink("/tmp/probe")
        """,
    )
    assert printed == "refused"


def test_there_are_no_privileges(docker_pool: EnginePool) -> None:
    printed = probe(
        docker_pool,
        """
        import os
        for line in open("/proc/1/status"):
            name, value = line.split(":", 1)
            if name.startswith("Cap") or name in ("NoNewPrivs", "Seccomp", "Uid", "Gid"):
                print(name, *value.split())
        sockets = ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd")
        print("sockets", *[path for path in sockets if os.path.exists(path)])
        """,
    )
    found = {line.split()[0]: line.split()[1:] for line in printed.splitlines()}
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(found[name][0], 16) == 0, name
    assert found["NoNewPrivs"] == ["1"]
    assert found["Seccomp"] == ["2"]
    assert "0" not in found["Uid"] + found["Gid"]
    assert found["sockets"] == []


def test_a_warm_engine_is_used_again_and_a_busy_one_is_not_shared(docker_pool: EnginePool) -> None:
    with docker_pool.acquire(None):
        (first,) = docker_pool.list_running()
        assert first.busy
        assert docker_pool.stop_all() == []
    with docker_pool.acquire(None):
        assert docker_pool.list_running() == [first]


def test_a_killed_engine_is_lost_and_the_next_one_is_new(docker_pool: EnginePool) -> None:
    with docker_pool.acquire(None):
        (first,) = docker_pool.list_running()

    def kill_and_use() -> None:
        with docker_pool.acquire(None) as engine:
            with closing(docker.from_env()) as client:
                client.containers.get(first.identity.removeprefix("container ")).kill()
            steps.run_step(engine)

    with pytest.raises(EngineLost, match="run the same command again"):
        kill_and_use()
    assert docker_pool.list_running() == []
    with docker_pool.acquire(None) as engine:
        (second,) = docker_pool.list_running()
        assert second.slot == first.slot
        assert second.identity != first.identity
        assert steps.run_step(engine).num_rows == len(steps.EXPECTED)


def test_a_pin_is_served_exactly_or_not_at_all(docker_pool: EnginePool, image: str) -> None:
    (found,) = [each for each in docker_pool.images() if each.digest == image]
    for digest in (image, None):
        pin = EnginePin(build_id=found.build_id, image_digest=digest)
        with docker_pool.acquire(pin) as engine:
            assert engine.run.image_digest == image
    absent = EnginePin(build_id=found.build_id, image_digest="sha256:" + "0" * 64)
    with pytest.raises(SandboxUnavailable) as raised, docker_pool.acquire(absent):
        pass
    assert "odf engine build" in raised.value.hint


@pytest.mark.spark
def test_container_and_process_give_the_same_rows(
    docker_pool: EnginePool, process_pool: EnginePool
) -> None:
    with docker_pool.acquire(None) as one, process_pool.acquire(None) as other:
        assert one.run.build_id == other.run.build_id
        assert other.run.image_digest is None
        tables = [steps.run_step(one), steps.run_step(other)]
    assert tables[0].equals(tables[1], check_metadata=True)
    rows = tables[0].select(["city", "third"]).to_pylist()
    assert [(row["city"], row["third"]) for row in rows] == steps.EXPECTED


@pytest.mark.spark
def test_a_process_serves_the_pin_of_an_image_of_its_build(
    docker_pool: EnginePool, process_pool: EnginePool, image: str
) -> None:
    (found,) = [each for each in docker_pool.images() if each.digest == image]
    with process_pool.acquire(EnginePin(build_id=found.build_id, image_digest=image)) as engine:
        assert engine.run.build_id == found.build_id
        assert engine.run.image_digest is None
        (running,) = process_pool.list_running()
        assert running.runner == engine.run.runner


def test_the_exchange_of_a_failed_step_is_kept(docker_pool: EnginePool) -> None:
    kept: list[Path] = []
    with docker_pool.acquire(None) as engine:
        with suppress(KeyError), engine.exchange("ee" * 32) as exchange:
            kept += [exchange.inputs, exchange.outputs]
            raise KeyError
        assert all(folder.is_dir() for folder in kept)
        steps.run_step(engine)
        assert not any(folder.exists() for folder in kept)
