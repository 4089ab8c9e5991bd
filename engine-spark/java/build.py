"""Compile the JVM part of the engine into engine-spark/build/odf-engine.jar.

Needs a JDK and an installed pyspark, nothing else. The same sources, the same JDK and the same
pyspark give the same bytes.
"""

import argparse
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SOURCES = Path(__file__).parent / "odf"
TARGET = Path(__file__).parent.parent / "build" / "odf-engine.jar"
MANIFEST = b"Manifest-Version: 1.0\r\n\r\n"
FIXED_DATE = (1980, 1, 1, 0, 0, 0)


def main() -> int:
    """Build unless the jar is newer than every source; 0 on success."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jars", type=Path, help="folder of Spark's jars; default: pyspark's own")
    parser.add_argument("--output", type=Path, default=TARGET)
    arguments = parser.parse_args()
    sources = sorted(SOURCES.glob("*.java"))
    if _is_fresh(arguments.output, [*sources, Path(__file__)]):
        return 0
    jars = arguments.jars or _pyspark_jars()
    javac = shutil.which("javac")
    if jars is None:
        return _fail("pyspark is not installed here; install it or pass --jars DIR")
    if javac is None:
        return _fail("javac was not found; install the package openjdk-17-jdk-headless")
    with tempfile.TemporaryDirectory() as folder:
        command = [javac, "--release", "17", "-encoding", "UTF-8", "-proc:none"]
        command += ["-XDignore.symbol.file", "-XDsuppressNotes"]
        command += ["-cp", f"{jars}/*", "-d", folder, *map(str, sources)]
        compiled = subprocess.run(command, check=False)
        if compiled.returncode:
            return compiled.returncode
        _write_jar(Path(folder), arguments.output)
    return 0


def _fail(message: str) -> int:
    sys.stderr.write(f"build.py: {message}\n")
    return 1


def _is_fresh(jar: Path, sources: list[Path]) -> bool:
    return jar.exists() and jar.stat().st_mtime > max(path.stat().st_mtime for path in sources)


def _pyspark_jars() -> Path | None:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "jars"


def _write_jar(classes: Path, jar: Path) -> None:
    """Sorted entries with one date: the bytes depend on the classes only."""
    entries = {"META-INF/MANIFEST.MF": MANIFEST}
    for path in classes.rglob("*.class"):
        entries[path.relative_to(classes).as_posix()] = path.read_bytes()
    jar.parent.mkdir(parents=True, exist_ok=True)
    staging = jar.with_name(jar.name + ".staging")
    with zipfile.ZipFile(staging, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(entries):
            info = zipfile.ZipInfo(name, FIXED_DATE)
            info.external_attr = 0o644 << 16
            archive.writestr(info, entries[name])
    staging.replace(jar)


if __name__ == "__main__":
    sys.exit(main())
