"""The client over real gRPC: results, errors in the body, and an engine that goes away."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest
from odf_coordinator.engine.client import EngineClient, RemoteEngine, ask_info, describe
from odf_coordinator.engine.exchange import EngineFolder
from odf_coordinator.errors import EngineError, EngineLost, InvalidQuery
from odf_coordinator.model.event import EngineRun
from odf_wire import codec, messages
from odf_wire._gen import engine_pb2_grpc
from odf_wire._gen.engine_pb2 import Envelope

INFO = messages.InfoResult(
    engine="spark", version="1", spark_version="4", dialect="spark", capabilities=(), build_id="b"
)
RESULT = messages.ExecuteResult(file=None, rows=0, columns=(), watermark=None, marks=())
RUN = EngineRun(name="spark", build_id="b", image_digest=None, runner="process")
VALIDATE = messages.ValidateRequest(inputs=(), query="SELECT", vocabulary=messages.Vocabulary())
Answers = Callable[[], Iterator[messages.ResponseBody]]


class Scripted(engine_pb2_grpc.EngineServicer):
    """An engine that answers every call as it was told to."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def _answer(self, request: Envelope, context: grpc.ServicerContext) -> Iterator[Envelope]:
        for answer in self._answers():
            yield codec.seal_envelope(codec.encode_response(answer))

    Info = ValidateQuery = ExecuteQuery = _answer


@dataclass
class Heard:
    """What a listener was told."""

    told: list[tuple[str, str, str]] = field(default_factory=list)

    def progress(self, subject: str, stage: str, detail: str = "") -> None:
        self.told.append((subject, stage, detail))

    def warning(self, subject: str, message: str) -> None:
        raise AssertionError(message)

    def clear(self) -> None:
        self.told.clear()


Start = Callable[[Answers], grpc.Server]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    servers = []

    def run(answers: Answers) -> grpc.Server:
        server = grpc.server(ThreadPoolExecutor(max_workers=2))
        engine_pb2_grpc.add_EngineServicer_to_server(  # type: ignore[no-untyped-call]
            Scripted(answers), server
        )
        server.add_insecure_port(f"unix:{tmp_path}/engine.sock")
        server.start()
        servers.append(server)
        return server

    yield run
    for server in servers:
        server.stop(None).wait()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[RemoteEngine]:
    folder = EngineFolder(root=tmp_path / "engine", owner=tmp_path.stat().st_uid)
    folder.prepare()
    with closing(EngineClient(f"unix:{tmp_path}/engine.sock")) as client:
        yield RemoteEngine(client=client, folder=folder, run=RUN)


def request(exchange: str) -> messages.ExecuteRequest:
    return messages.ExecuteRequest(
        transaction_id="tx",
        exchange=exchange,
        inputs=(),
        query="SELECT 1",
        vocabulary=messages.Vocabulary(),
        next_offset=0,
        previous_mark=None,
    )


def execute(engine: RemoteEngine, heard: Heard | None = None) -> messages.ExecuteResult:
    with engine.exchange("tx") as exchange:
        listener = heard or Heard()
        return engine.execute(request(exchange.name), listener=listener, subject="out")


def test_progress_reaches_the_listener_and_the_result_the_caller(
    start: Start, engine: RemoteEngine
) -> None:
    start(
        lambda: iter(
            [
                messages.Progress(stage="reading", rows_read=3),
                messages.Progress(stage="writing", message="almost done"),
                RESULT,
            ]
        )
    )
    heard = Heard()
    assert execute(engine, heard) == RESULT
    assert heard.told == [("out", "reading", "3 rows read"), ("out", "writing", "almost done")]


def test_a_refused_query_says_where_and_what_to_do(start: Start, engine: RemoteEngine) -> None:
    refusal = messages.InvalidQuery(message="rand() differs", line=2, column=5, hint="leave it out")
    start(lambda: iter([refusal]))
    with pytest.raises(InvalidQuery, match="rand") as raised:
        engine.validate(VALIDATE)
    error = raised.value
    assert (error.line, error.column, error.hint) == (2, 5, "leave it out")


def test_the_trace_of_a_failure_is_kept_with_the_exchange(
    start: Start, engine: RemoteEngine, tmp_path: Path
) -> None:
    trace = "java.lang.Error\n" * 10_000
    start(lambda: iter([messages.InternalError(message="out of luck", trace=trace)]))
    with pytest.raises(EngineError, match="out of luck") as raised:
        execute(engine)
    assert not isinstance(raised.value, EngineLost)
    kept = tmp_path / "engine/out/tx-1/engine-error.txt"
    assert str(kept) in raised.value.hint
    assert kept.read_text() == trace


def test_an_engine_that_dies_during_a_call_is_lost(start: Start, engine: RemoteEngine) -> None:
    def die() -> Iterator[messages.ResponseBody]:
        yield messages.Progress(stage="reading")
        server.stop(None)
        yield from iter([])

    server = start(die)
    with pytest.raises(EngineLost, match="run the same command again"):
        execute(engine)


def test_an_engine_that_is_not_there_is_lost(tmp_path: Path) -> None:
    with pytest.raises(EngineLost):
        ask_info(tmp_path / "nobody.sock")


@pytest.mark.parametrize(
    ("answers", "message"),
    [([], "without a result"), ([INFO], "answered InfoResult, not ExecuteResult")],
)
def test_an_engine_that_breaks_the_contract_failed(
    start: Start, engine: RemoteEngine, answers: list[messages.ResponseBody], message: str
) -> None:
    start(lambda: iter(answers))
    with pytest.raises(EngineError, match=message):
        execute(engine)


def test_a_bug_of_the_server_is_a_failure(start: Start, engine: RemoteEngine) -> None:
    def break_down() -> Iterator[messages.ResponseBody]:
        raise RuntimeError("a bug")
        yield RESULT

    start(break_down)
    with pytest.raises(EngineError, match="UNKNOWN"):
        execute(engine)


def test_info_is_asked_over_the_socket(start: Start, tmp_path: Path) -> None:
    start(lambda: iter([INFO]))
    assert ask_info(tmp_path / "engine.sock") == INFO


def test_progress_in_words() -> None:
    both = messages.Progress(stage="s", rows_read=2, rows_written=1)
    assert describe(both) == "2 rows read, 1 rows written"
    assert describe(messages.Progress(stage="s")) == ""
