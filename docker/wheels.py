"""The engine's Python packages: fetched as the lock file says, unpacked as the image has them."""

import hashlib
import os
import re
import shutil
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tools import BuildError, run, say

# Published as source only: its wheel is built here, and its metadata names the tool that built it.
SOURCE_ONLY = frozenset({"pyspark"})
# Folders of packages that nothing imports at run time.
LEFT_OUT = (
    "pyarrow/include/",
    "pyarrow/tests/",
    "pyspark/data/",
    "pyspark/examples/",
    "pyspark/testing/",
)
GLIBC_MINORS = range(36, 16, -1)
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
# jar name prefix -> the native library inside it, per architecture; loaded from the image because
# a read-only, noexec container has no place to unpack it to.
NATIVE = {
    "snappy-java-": {
        "amd64": r"org/xerial/snappy/native/Linux/x86_64/libsnappyjava\.so",
        "arm64": r"org/xerial/snappy/native/Linux/aarch64/libsnappyjava\.so",
    },
    "zstd-jni-": {
        "amd64": r"linux/amd64/libzstd-jni-.*\.so",
        "arm64": r"linux/aarch64/libzstd-jni-.*\.so",
    },
    "lz4-java-": {
        "amd64": r"net/jpountz/util/linux/amd64/liblz4-java\.so",
        "arm64": r"net/jpountz/util/linux/aarch64/liblz4-java\.so",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One pinned package of a lock file, with the digests that its files may have."""

    name: str
    version: str
    hashes: frozenset[str]

    def line(self) -> str:
        """The requirement as pip reads it."""
        hashes = "".join(f" --hash=sha256:{digest}" for digest in sorted(self.hashes))
        return f"{self.name}=={self.version}{hashes}\n"


def parse_lock(text: str) -> list[Requirement]:
    """All packages of a lock file. Raises BuildError when one is not pinned by version and hash."""
    joined = re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n?", "", text))
    found = []
    for line in filter(str.strip, joined.splitlines()):
        match = re.match(r"([A-Za-z0-9._-]+)==(\S+)", line)
        hashes = frozenset(re.findall(r"--hash=sha256:([0-9a-f]{64})", line))
        if match is None or not hashes:
            raise BuildError(f"lock file: not pinned by version and sha256: {line.strip()[:80]}")
        found.append(Requirement(name=match[1].lower(), version=match[2], hashes=hashes))
    return found


def site(cache: Path, lock: Path, *, architecture: str, python_version: str) -> Path:
    """A folder with `site/` (packages) and `native/` (libraries), complete whenever it exists."""
    recipe = repr([LEFT_OUT, sorted(SOURCE_ONLY), NATIVE, architecture, python_version])
    key = hashlib.sha256(lock.read_bytes() + recipe.encode()).hexdigest()
    target = cache / f"site-{architecture}-{key[:16]}"
    if target.exists():
        return target
    wheels = fetch(cache / "wheels", lock, architecture=architecture, python_version=python_version)
    say("unpacking packages")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="site-staging-") as folder:
        staging = Path(folder) / "tree"
        for wheel in wheels:
            _unpack(wheel, staging / "site")
        _extract_native(staging / "site/pyspark/jars", staging / "native", architecture)
        if not target.exists():
            staging.replace(target)
    return target


def fetch(folder: Path, lock: Path, *, architecture: str, python_version: str) -> list[Path]:
    """One wheel per package of the lock file, each checked against it; kept in `folder`."""
    requirements = parse_lock(lock.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    binary = [item for item in requirements if item.name not in SOURCE_ONLY]
    missing = [item for item in binary if _cached(folder, item) is None]
    if missing:
        options = _platform_options(architecture, python_version)
        _pip(folder, missing, ["download", "--only-binary", ":all:", *options])
    for item in requirements:
        if item.name in SOURCE_ONLY and _cached(folder, item) is None:
            say(f"building the wheel of {item.name} {item.version} (a large download)")
            _pip(folder, [item], ["wheel"])
    found = {item.name: _cached(folder, item) for item in requirements}
    absent = sorted(name for name, wheel in found.items() if wheel is None)
    if absent:
        raise BuildError(f"pip gave no wheel of {', '.join(absent)} in {folder}")
    return [wheel for wheel in found.values() if wheel is not None]


def _platform_options(architecture: str, python_version: str) -> list[str]:
    machine = MACHINES[architecture]
    tags = [f"manylinux_2_{minor}_{machine}" for minor in GLIBC_MINORS]
    platforms = [*tags, f"manylinux2014_{machine}"]
    options = ["--python-version", python_version, "--implementation", "cp"]
    return [*options, *(word for tag in platforms for word in ("--platform", tag))]


def _pip(folder: Path, requirements: list[Requirement], command: list[str]) -> None:
    """Let pip bring wheels into `folder`; complete ones only, so an interrupted run leaves none."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="staging-") as staging:
        listing = Path(staging) / "requirements.txt"
        listing.write_text("".join(item.line() for item in requirements))
        output = Path(staging) / "out"
        option = "--wheel-dir" if command[0] == "wheel" else "--dest"
        pip = [sys.executable, "-m", "pip", *command, "--quiet", "--no-deps", "--require-hashes"]
        run([*pip, option, output, "-r", listing], what=f"pip {command[0]}")
        for wheel in output.glob("*.whl"):
            wheel.replace(folder / wheel.name)


def _cached(folder: Path, item: Requirement) -> Path | None:
    """The wheel of a package; one that the lock file does not know is none, unless built here."""
    stem = re.sub(r"[-.]+", "_", item.name)
    for wheel in sorted(folder.glob("*.whl")):
        name, version = wheel.name.split("-")[:2]
        if re.sub(r"[-.]+", "_", name.lower()) != stem or version != item.version:
            continue
        if item.name in SOURCE_ONLY or _sha256(wheel) in item.hashes:
            return wheel
    return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unpack(wheel: Path, target: Path) -> None:
    """The importable part of a wheel, with the executable bits that it records."""
    name = wheel.name.split("-")[0]
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            path = _destination(info.filename, package=name.lower())
            if path is None or info.is_dir():
                continue
            file = target / path
            if not file.resolve().is_relative_to(target.resolve()):
                raise BuildError(f"{wheel.name}: refused the entry {info.filename}")
            file.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(info) as source, file.open("wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
            file.chmod(0o755 if info.external_attr >> 16 & 0o111 else 0o644)


def _destination(entry: str, *, package: str) -> str | None:
    """Where an entry of a wheel goes below the site folder; None when it is left out."""
    if match := re.match(r"[^/]+\.data/([^/]+)/(.+)", entry):
        return match[2] if match[1] in ("purelib", "platlib") else None
    if package in SOURCE_ONLY and ".dist-info/" in entry:
        return None
    if entry.startswith(LEFT_OUT) or "/__pycache__/" in entry:
        return None
    return entry


def _extract_native(jars: Path, target: Path, architecture: str) -> None:
    target.mkdir(parents=True)
    for prefix, entries in NATIVE.items():
        found = 0
        for jar in sorted(jars.glob(f"{prefix}*.jar")):
            with zipfile.ZipFile(jar) as archive:
                for name in archive.namelist():
                    if re.fullmatch(entries[architecture], name):
                        library = target / os.path.basename(name)  # noqa: PTH119 - a name in a jar
                        library.write_bytes(archive.read(name))
                        library.chmod(0o755)
                        found += 1
        if found != 1:
            raise BuildError(f"{found} native libraries in {prefix}*.jar, expected one")
