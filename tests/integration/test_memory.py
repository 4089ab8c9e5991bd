"""A query that needs more memory than there is: told as that, whoever finds out first."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from odf_wire.messages import InternalError

from tests.integration.test_engine_server import (
    CALL_SECONDS,
    Brought,
    Engine,
    request,
    row,
    slice_of,
    start_engine,
)

pytestmark = pytest.mark.spark


@pytest.fixture
def engine() -> Iterator[Engine]:
    """An engine with little memory, which ends with the test."""
    with tempfile.TemporaryDirectory(prefix="odf-") as folder:
        java = Path(folder) / "java"
        java.write_text('#!/bin/sh\nexec java -Xmx700m "$@"\n')
        java.chmod(0o755)
        running = start_engine(Path(folder), "--die-with-parent", "--java", str(java))
        with running.process:
            yield running
            running.process.terminate()
            running.process.wait(timeout=CALL_SECONDS)


@pytest.mark.parametrize(
    "expression", ["explode(sequence(1, 1000000000))", "repeat('x', 2000000000)", "repeat(k, v)"]
)
def test_too_large_a_value_is_told_as_want_of_memory(engine: Engine, expression: str) -> None:
    slice_ = slice_of(engine, "a", "t", [Brought(time=10, rows=[row(1, v=1_500_000_000)])])
    query = f"SELECT event_time, {expression} AS x FROM t"
    found = engine.execute(request("a", query, slice_))
    assert isinstance(found, InternalError), found
    assert found.message.startswith("the engine ran out of memory")
    assert "smaller" in found.message
    assert engine.process.wait(timeout=CALL_SECONDS) == 3
