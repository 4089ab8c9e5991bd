"""Build the engine image: no registry, no `docker build`, the same digest each time.

Three layers, from the one that changes least to the one that changes most: the root file system,
the Python packages of engine-spark/requirements.lock, our own engine. Standard output is one line,
the image's digest. Needs Docker, mmdebstrap and a JDK 17; run as root on a Debian-like machine it
installs what is missing.
"""

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import archive
import rootfs
import wheels
from tools import ENV, BuildError, capture, ensure, run, say

REPOSITORY = Path(__file__).resolve().parent.parent
IMAGE = "odf/engine-spark"
NOTE = "engine-spark/build/image"
PORT = 5544
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# Paths of the repository that the image mirrors below /opt/odf.
SOURCES = (
    "engine-spark/odf_engine_spark",
    "engine-spark/build/odf-engine.jar",
    "engine-spark/requirements.lock",
    "protos/odf_wire",
)
# Present in the plain form `docker run -p 127.0.0.1:5544:5544 IMAGE`; the sandbox mounts over them.
FOLDERS = ("/exchange/in", "/exchange/out", "/run/odf")
JAVA_HOME = "/usr/lib/jvm/java-17-openjdk-{architecture}"
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "PYTHONPATH": "/opt/odf/engine-spark:/opt/odf/protos:/opt/odf/site",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    "LD_LIBRARY_PATH": "/opt/odf/native",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "HOME": "/tmp",
}
PRINT_BUILD_ID = "from odf_engine_spark.build import build_id; print(build_id())"
ENTRYPOINT = ("python3", "-m", "odf_engine_spark")
COMMAND = (
    *("--listen", f"0.0.0.0:{PORT}", "--inputs", "/exchange/in", "--outputs", "/exchange/out"),
    *("--scratch", "/tmp"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingredients:
    """All that goes into the image, ready on this machine."""

    architecture: str
    build_id: str
    site: Path
    rootfs: Path


def main() -> int:
    """0 on success; otherwise the message says what to do next."""
    arguments = _arguments()
    try:
        say_digest = _check if arguments.check_reproducible else _build
        sys.stdout.write(f"sha256:{say_digest(arguments)}\n")
    except BuildError as error:
        say(f"error: {error}")
        return 1
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--cache", type=Path, default=_default_cache(), help="wheels and root fs")
    parser.add_argument("--force", action="store_true", help="build though the image is there")
    parser.add_argument("--fresh", action="store_true", help="make a new root fs (implies --force)")
    parser.add_argument("--mirror", help="where mmdebstrap gets packages, if not as usual")
    parser.add_argument("--output", type=Path, help="write a docker-archive instead of loading it")
    parser.add_argument(
        "--check-reproducible", action="store_true", help="write the archive twice and compare"
    )
    return parser.parse_args()


def _default_cache() -> Path:
    environment = os.environ
    if cache := environment.get("ODF_CACHE"):
        return Path(cache)
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "odf"


def _build(arguments: argparse.Namespace) -> str:
    """The digest of the loaded (or written) image."""
    architecture, site, build_id = _identity(arguments.cache)
    if arguments.output is None:
        ensure("docker", packages=("docker.io",))
        capture(["docker", "version", "--format", "{{.Server.Version}}"], what="reaching Docker")
        if not (arguments.force or arguments.fresh) and (found := _loaded(build_id)):
            say(f"{_tag(build_id)} is up to date")
            run(["docker", "tag", found, f"{IMAGE}:latest"], what="docker tag")
            return _noted(found.removeprefix("sha256:"))
    ingredients = _ingredients(arguments, architecture, site, build_id)
    if arguments.output is not None:
        return _assemble(ingredients, _writer(arguments.output))
    return _noted(_assemble(ingredients, _load))


def _check(arguments: argparse.Namespace) -> str:
    """The digest of the image. Raises BuildError unless two archives have the same bytes."""
    ingredients = _ingredients(arguments, *_identity(arguments.cache))
    with tempfile.TemporaryDirectory(dir=arguments.cache) as folder:
        digests = []
        for name in ("first.tar", "second.tar"):
            digest = _assemble(ingredients, _writer(Path(folder) / name))
            digests.append(archive.existing_layer(name, Path(folder) / name).digest)
    if len(set(digests)) != 1:
        raise BuildError(f"two builds differ: archives {digests[0]} and {digests[1]}")
    say(f"two builds gave the same archive, sha256 {digests[0]}")
    return digest


def _ingredients(
    arguments: argparse.Namespace, architecture: str, site: Path, build_id: str
) -> Ingredients:
    base = rootfs.build(
        arguments.cache, architecture=architecture, mirror=arguments.mirror, fresh=arguments.fresh
    )
    return Ingredients(architecture=architecture, build_id=build_id, site=site, rootfs=base)


def _identity(cache: Path) -> tuple[str, Path, str]:
    """Architecture, unpacked packages and build id; the jar is compiled on the way."""
    architecture = ARCHITECTURES.get(platform.machine())
    if architecture is None:
        raise BuildError(f"no image for {platform.machine()}; one of {', '.join(ARCHITECTURES)}")
    engine = REPOSITORY / "engine-spark"
    site = wheels.site(
        cache,
        engine / "requirements.lock",
        architecture=architecture,
        python_version=rootfs.PYTHON_VERSION,
    )
    if not (engine / "build/odf-engine.jar").exists():
        ensure("javac", packages=("openjdk-17-jdk-headless",))
    jars = site / "site/pyspark/jars"
    run([sys.executable, engine / "java/build.py", "--jars", jars], what="compiling the jar")
    path = f"PYTHONPATH={engine}:{REPOSITORY / 'protos'}"
    command = [ENV, path, sys.executable, "-B", "-c", PRINT_BUILD_ID]
    return architecture, site, capture(command, what="computing the build id")


def _recipe() -> str:
    """What the image is made of besides engine and packages; a change means another image."""
    parts = [rootfs.recipe(), SOURCES, FOLDERS, JAVA_HOME, ENVIRONMENT, ENTRYPOINT, COMMAND]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _tag(build_id: str) -> str:
    return f"{IMAGE}:{build_id.removeprefix('sha256:')[:12]}"


def _loaded(build_id: str) -> str | None:
    """The id of an image of this engine and this recipe that Docker has."""
    filters = [f"label=odf.build_id={build_id}", f"label=odf.recipe={_recipe()}"]
    command = ["docker", "images", "--no-trunc", "--quiet"]
    command += [word for item in filters for word in ("--filter", item)]
    return next(iter(capture(command, what="docker images").split()), None)


def _assemble(ingredients: Ingredients, deliver: Callable[[archive.Image], None]) -> str:
    """Write the layers, hand the image to `deliver`, give its digest."""
    with tempfile.TemporaryDirectory(dir=ingredients.rootfs.parent, prefix="layers-") as name:
        folder, site = Path(name), ingredients.site
        packages = [archive.Tree(source=site / "site", target="/opt/odf/site")]
        packages += [archive.Tree(source=site / "native", target="/opt/odf/native")]
        ours: list[archive.Tree | archive.Folder] = [
            archive.Tree(source=REPOSITORY / path, target=f"/opt/odf/{path}") for path in SOURCES
        ]
        ours += [archive.Folder(target=path, owner=rootfs.ENGINE_UID) for path in FOLDERS]
        epoch = rootfs.EPOCH
        layers = (
            archive.existing_layer("odf root file system", ingredients.rootfs),
            archive.write_layer("odf packages", folder / "site.tar", packages, epoch=epoch),
            archive.write_layer("odf engine", folder / "engine.tar", ours, epoch=epoch),
        )
        image = archive.Image(
            config=archive.image_config(
                architecture=ingredients.architecture,
                config=_config(ingredients),
                layers=layers,
                epoch=epoch,
            ),
            layers=layers,
            tags=(_tag(ingredients.build_id), f"{IMAGE}:latest"),
        )
        deliver(image)
        return image.digest


def _config(ingredients: Ingredients) -> dict[str, object]:
    java_home = JAVA_HOME.format(architecture=ingredients.architecture)
    environment = {**ENVIRONMENT, "JAVA_HOME": java_home}
    return {
        "User": f"{rootfs.ENGINE_UID}:{rootfs.ENGINE_UID}",
        "Env": [f"{name}={value}" for name, value in sorted(environment.items())],
        "Entrypoint": [*ENTRYPOINT],
        "Cmd": [*COMMAND],
        "ExposedPorts": {f"{PORT}/tcp": {}},
        "Labels": {
            "odf.engine": "spark",
            "odf.build_id": ingredients.build_id,
            "odf.recipe": _recipe(),
            "org.opencontainers.image.title": "odf-engine-spark",
        },
        "WorkingDir": "/",
    }


def _writer(path: Path) -> Callable[[archive.Image], None]:
    def write(image: archive.Image) -> None:
        with path.open("wb") as sink:
            archive.write_archive(image, sink, epoch=rootfs.EPOCH)

    return write


def _load(image: archive.Image) -> None:
    say(f"loading {image.tags[0]} into Docker")
    command = ["docker", "load", "--quiet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=sys.stderr) as load:
        try:
            with cast("BinaryIO", load.stdin) as sink:
                archive.write_archive(image, sink, epoch=rootfs.EPOCH)
        except BrokenPipeError:
            say("docker load stopped reading")
    if load.returncode:
        raise BuildError(f"docker load failed (exit code {load.returncode})")


def _noted(digest: str) -> str:
    """Write down which image is this checkout's: another checkout here may have its own."""
    (REPOSITORY / NOTE).write_text(f"sha256:{digest}\n")
    return digest


if __name__ == "__main__":
    sys.exit(main())
