"""The build id: a digest of everything that can change what this engine answers."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JAR = ROOT / "engine-spark" / "build" / "odf-engine.jar"


def build_id(root: Path = ROOT) -> str:
    """sha256 over the engine's sources, its jar and its lock file, by relative path.

    The image keeps the layout of the repository, so the same files give the same id in both.
    Raises FileNotFoundError when the jar was not built.
    """
    engine = root / "engine-spark"
    files = [engine / "build" / "odf-engine.jar", engine / "requirements.lock"]
    for package in (engine / "odf_engine_spark", root / "protos" / "odf_wire"):
        files += [path for path in package.rglob("*.py") if "__pycache__" not in path.parts]
    digest = hashlib.sha256()
    for name, path in sorted((path.relative_to(root).as_posix(), path) for path in files):
        content = path.read_bytes()
        digest.update(name.encode() + b"\0" + len(content).to_bytes(8, "big") + content)
    return "sha256:" + digest.hexdigest()
