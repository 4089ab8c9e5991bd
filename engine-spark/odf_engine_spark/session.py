"""The driver JVM and its Spark session: every setting in one table, each with its reason.

Nothing here depends on the machine: no user, no home folder, no host name, no executable scratch
folder and no network but the loopback interface are needed.
"""

import importlib.util
import json
import logging
import select
import signal
import subprocess
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway

START_SECONDS = 180
OUT_OF_MEMORY = (
    "the engine ran out of memory: the query makes rows or values that are too large for it; make"
    " them smaller (look at explode, sequence, repeat) or filter before"
)
_END_SECONDS = 5
_OUT_OF_MEMORY_EXIT = 3  # of ExitOnOutOfMemoryError


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A Spark setting and why it has this value."""

    name: str
    value: str
    reason: str


def _set(name: str, value: str, reason: str) -> Setting:
    return Setting(name=name, value=value, reason=reason)


SETTINGS = (
    _set("spark.app.name", "odf", "required by Spark"),
    _set("spark.master", "local[*]", "one process; results do not depend on the number of cores"),
    # What a query means.
    _set("spark.sql.ansi.enabled", "true", "an overflow or a bad cast fails, never NULL"),
    _set("spark.sql.session.timeZone", "UTC", "times do not depend on the machine"),
    _set("spark.sql.caseSensitive", "false", "the dialect's own rule for names"),
    _set("spark.sql.timeType.enabled", "true", "TIME is a type of the spec"),
    _set("spark.sql.timestampType", "TIMESTAMP_LTZ", "TIMESTAMP is an instant"),
    _set("spark.sql.legacy.timeParserPolicy", "CORRECTED", "one parser of dates"),
    _set("spark.sql.variable.substitute", "false", "${...} is text, not a setting or a property of"
         " this run; what the guard sees is what was written"),
    # What exists for a query.
    _set("spark.sql.catalog.odf", "odf.ArrowCatalog", "its tables are the declared inputs"),
    _set("spark.sql.defaultCatalog", "odf", "a plain name can only be an input"),
    _set("spark.sql.catalogImplementation", "in-memory", "no Hive, no metastore, no Derby files"),
    _set("spark.sql.runSQLOnFiles", "false", "a path is not a relation"),
    _set("spark.sql.scripting.enabled", "false", "one SELECT, not a program"),
    _set("spark.sql.warehouse.dir", "{scratch}/warehouse", "never the working directory"),
    # Settings that must not change results.
    _set("spark.sql.adaptive.enabled", "false", "plans do not change with sizes"),
    _set("spark.sql.unionOutputPartitioning", "false", "each task reads one branch, one tick"),
    _set("spark.sql.optimizer.nestedSchemaPruning.enabled", "false", "structs are read whole"),
    _set("spark.sql.shuffle.partitions", "2", "small data; accepted queries do not shuffle"),
    _set("spark.task.maxFailures", "1", "a failure is the query's or the engine's, never luck"),
    _set("spark.speculation", "false", "each part is written once"),
    # Speed of small calls.
    _set("spark.ui.enabled", "false", "no web server"),
    _set("spark.ui.showConsoleProgress", "false", "nobody reads it"),
    _set("spark.metrics.staticSources.enabled", "false", "nobody reads them"),
    _set("spark.sql.codegen.wholeStage", "true", "kept: filters and projections run compiled"),
    _set("spark.sql.ui.retainedExecutions", "1", "a long-lived engine keeps no history"),
    _set("spark.ui.retainedJobs", "1", "a long-lived engine keeps no history"),
    _set("spark.ui.retainedStages", "1", "a long-lived engine keeps no history"),
    _set("spark.ui.retainedTasks", "100", "a long-lived engine keeps no history"),
    # Walls.
    _set("spark.driver.host", "127.0.0.1", "there may be no network and no host name"),
    _set("spark.driver.bindAddress", "127.0.0.1", "reachable from this machine only"),
    _set("spark.local.dir", "{scratch}", "the root file system may be read-only"),
    _set("spark.io.compression.codec", "lzf", "pure Java: lz4, snappy and zstd unpack a native"
         " library, which a noexec folder cannot load"),
    _set("spark.shuffle.mapStatus.compression.codec", "lzf", "as above; the default is zstd"),
    _set("spark.shuffle.io.mode", "NIO", "epoll needs a native library"),
    _set("spark.rpc.io.mode", "NIO", "epoll needs a native library"),
    _set("spark.log.level", "WARN", "the log goes to a file in the scratch folder"),
)  # fmt: skip

_OPENED = (
    "java.io",
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
)
"""Packages that Spark and Arrow reach into, as in Spark's own launcher."""

JVM_FLAGS = (
    ("-XX:+UseSerialGC", "least start-up cost and memory"),
    ("-XX:TieredStopAtLevel=1", "C1 only: calls are short, C2 would compile all the time"),
    ("-XX:-UsePerfData", "no shared file for performance counters"),
    ("-XX:+UnlockDiagnosticVMOptions", "for the next one"),
    ("-XX:-UseLibmIntrinsic", "sin, cos, tan as StrictMath on every processor"),
    ("-XX:MaxRAMPercentage=50", "the rest is for mapped files and Python"),
    ("-Xss4m", "long chains of operators are deep trees"),
    ("-XX:+ExitOnOutOfMemoryError", "a damaged JVM must not answer"),
    ("-Duser.timezone=UTC", "times do not depend on the machine"),
    ("-Duser.language=en", "upper, lower and month names do not depend on the machine"),
    ("-Duser.country=US", "as above"),
    ("-Dfile.encoding=UTF-8", "as above"),
    ("-Duser.name=odf", "the user may have no name"),
    ("-Duser.home={scratch}", "the user may have no home"),
    ("-Djava.io.tmpdir={scratch}", "a writable folder that is ours alone"),
    ("-Djava.net.preferIPv4Stack=true", "127.0.0.1 is enough"),
    ("-Dio.netty.transport.noNative=true", "native libraries need an executable folder"),
    ("-Dio.netty.tryReflectionSetAccessible=true", "as Spark's own launcher"),
    ("-Dlog4j2.disable.jmx=true", "nobody listens"),
)

_ENVIRONMENT = {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_LOCAL_HOSTNAME": "localhost",
    "LC_ALL": "C.UTF-8",
}


class SessionFailed(Exception):
    """The JVM did not start or is gone."""


class Session:
    """A running driver JVM. Methods may be called from any thread."""

    def __init__(self, process: subprocess.Popen[bytes], engine: Any, spark_version: str) -> None:
        self._process = process
        self._engine = engine
        self._stopping = threading.Lock()
        self.spark_version = spark_version

    @classmethod
    def start(cls, *, java: str, jar: Path, scratch: Path) -> "Session":
        """Start the JVM and Spark in it. Raises SessionFailed with the end of the JVM's log."""
        log = scratch / "jvm.log"
        with log.open("wb") as stderr:
            process = subprocess.Popen(
                _command(java, jar, scratch),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=_ENVIRONMENT,
                cwd=scratch,
                process_group=0,
            )
        try:
            engine = _connect(process)
            return cls(process, engine, engine.start())
        except Exception as error:
            reason = str(error)  # of an error of Java, the JVM itself tells it
            process.kill()
            process.wait()
            tail = log.read_text(errors="replace")[-4000:]
            raise SessionFailed(f"the driver JVM did not start: {reason}\n{tail}") from error

    def function_classes(self, names: Iterable[str]) -> dict[str, str]:
        """The expression class behind each name that is a built-in function."""
        found: dict[str, str] = json.loads(self._engine.functionClasses(json.dumps(list(names))))
        return found

    def register(self, tables: list[dict[str, Any]]) -> None:
        """Declare the tables of the next query, in place of all others."""
        self._engine.register(json.dumps(tables))

    def query(self, sql: str) -> Any:
        """The JVM's handle of a query: parse(), analyse(), write(...) answer JSON."""
        return self._engine.query(sql)

    def cancel(self, group: str) -> None:
        """Stop the jobs of a group, now and later."""
        if self.is_alive():
            self._engine.cancel(group)

    def rows_written(self) -> int:
        """Rows that the running query has written so far."""
        return int(self._engine.rowsWritten())

    def is_alive(self) -> bool:
        """Whether the JVM still runs."""
        return self._process.poll() is None

    def cause_of_end(self) -> str | None:
        """Why the JVM has ended, or ends now; None when it runs on."""
        try:
            code = self._process.wait(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        if code == _OUT_OF_MEMORY_EXIT:
            return OUT_OF_MEMORY
        if code == -signal.SIGKILL:
            return f"the engine's JVM was killed; if nobody did it by hand, {OUT_OF_MEMORY}"
        return f"the engine's JVM ended with code {code}"

    def stop(self) -> None:
        """End the JVM. Calls that still run fail."""
        with self._stopping:
            if self._process.stdin and not self._process.stdin.closed:
                self._process.stdin.close()
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def _command(java: str, jar: Path, scratch: Path) -> list[str]:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SessionFailed("pyspark is not installed")
    jars = Path(spec.origin).parent / "jars"
    command = [java, "-cp", f"{jar}:{jars}/*"]
    command += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    command += [flag.format(scratch=scratch) for flag, _ in JVM_FLAGS]
    command += [f"-D{each.name}={each.value.format(scratch=scratch)}" for each in SETTINGS]
    return [*command, "odf.Main"]


def _connect(process: subprocess.Popen[bytes]) -> Any:
    """The JVM's entry point, once it has told its port and token."""
    assert process.stdout is not None  # noqa: S101 - it was asked for
    ready, _, _ = select.select([process.stdout], [], [], START_SECONDS)
    line = process.stdout.readline() if ready else b""
    if not line:
        raise SessionFailed("it ended, or kept silent too long")
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    port, token = line.decode().split()
    parameters = GatewayParameters(address="127.0.0.1", port=int(port), auth_token=token)
    return JavaGateway(gateway_parameters=parameters).entry_point
