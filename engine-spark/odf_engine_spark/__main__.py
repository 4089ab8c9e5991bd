"""Start the engine: `python -m odf_engine_spark --socket PATH --inputs DIR --outputs DIR`."""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import threading
from pathlib import Path

from odf_engine_spark import build, server, warmup
from odf_engine_spark.operations import Folders, Operations
from odf_engine_spark.server import Activity
from odf_engine_spark.session import Session, SessionFailed

DEFAULT_LISTEN = "0.0.0.0:5544"
_POLL_SECONDS = 0.5
_GRACE_SECONDS = 5
_SESSION_LOST = 3


def main() -> int:
    """Serve until told to stop, idle for too long, or left alone; the exit code says which."""
    options = _options()
    options.parent = os.getppid()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        identity = build.build_id()
    except FileNotFoundError as error:
        return _fail(f"{error.filename} is missing; run: python engine-spark/java/build.py")
    java = options.java or shutil.which("java")
    if java is None:
        return _fail("java was not found; install the package openjdk-17-jre-headless")
    with tempfile.TemporaryDirectory(prefix="odf-engine-", dir=options.scratch) as scratch:
        try:
            session = Session.start(java=java, jar=build.JAR, scratch=Path(scratch))
        except SessionFailed as error:
            return _fail(str(error))
        try:
            return _serve(session, options, Path(scratch), identity, stop)
        finally:
            session.stop()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="odf_engine_spark", description=__doc__)
    parser.add_argument("--listen", metavar="HOST:PORT", help=f"default {DEFAULT_LISTEN}, unless a socket is given")  # fmt: skip # noqa: E501
    parser.add_argument("--socket", type=Path, help="Unix socket to listen on")
    parser.add_argument("--inputs", type=Path, default=Path("/exchange/in"))
    parser.add_argument("--outputs", type=Path, default=Path("/exchange/out"))
    parser.add_argument("--scratch", type=Path, help="folder for Spark's own files and its log")
    parser.add_argument("--idle-exit", type=float, metavar="SECONDS", help="end after so long without a call")  # fmt: skip # noqa: E501
    parser.add_argument("--die-with-parent", action="store_true")
    parser.add_argument("--java", help="the java command; default: the one on the path")
    return parser.parse_args()


def _serve(
    session: Session,
    options: argparse.Namespace,
    scratch: Path,
    identity: str,
    stop: threading.Event,
) -> int:
    warmup.warm_up(session, scratch)
    folders = Folders(inputs=options.inputs, outputs=options.outputs)
    activity = Activity()
    operations = Operations(session, folders, identity)
    addresses = [f"unix:{options.socket}"] if options.socket else []
    listen = options.listen or (None if options.socket else DEFAULT_LISTEN)
    running = server.serve(session, operations, activity, addresses + ([listen] if listen else []))
    sys.stdout.write(f"ready build_id={identity} socket={options.socket or ''}\n")
    sys.stdout.flush()
    code = 0
    while not stop.wait(_POLL_SECONDS):
        if not session.is_alive():
            code = _fail("the driver JVM is gone") and _SESSION_LOST
            break
        orphaned = options.die_with_parent and os.getppid() != options.parent
        idle = options.idle_exit is not None and activity.idle_seconds() >= options.idle_exit
        if orphaned or idle:
            break
    running.stop(_GRACE_SECONDS).wait()
    return code


def _fail(message: str) -> int:
    sys.stderr.write(f"odf_engine_spark: {message}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
