"""The engine contract over gRPC, the coordinator's side. The only file here that knows gRPC."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import TypeVar, cast

import grpc
from odf_wire import codec, messages
from odf_wire._gen.engine_pb2 import Envelope
from odf_wire._gen.engine_pb2_grpc import EngineStub

from odf_coordinator.engine.exchange import EngineFolder
from odf_coordinator.errors import EngineError, EngineLost, InvalidQuery
from odf_coordinator.model.event import EngineRun
from odf_coordinator.ports import Exchange, Listener

INFO_SECONDS = 10.0
VALIDATE_SECONDS = 120.0
TRACE_FILE = "engine-error.txt"
_UNLIMITED = -1
_OPTIONS = (
    ("grpc.max_receive_message_length", _UNLIMITED),
    ("grpc.max_send_message_length", _UNLIMITED),
    ("grpc.enable_http_proxy", 0),
)
# Statuses that say nothing about the request: the answer is unknown, so the step is run again.
_LOST = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
    }
)

ResultT = TypeVar("ResultT", bound=messages.Result)
_Call = Callable[..., Iterator[Envelope]]


class EngineFailed(EngineError):
    """The engine answered that it is at fault; `trace` is its own account of how."""

    def __init__(self, message: str, *, trace: str) -> None:
        super().__init__(message)
        self.trace = trace


class EngineClient:
    """A connection to one engine; `target` is an address such as `unix:/run/odf/engine.sock`."""

    def __init__(self, target: str) -> None:
        self._channel = grpc.insecure_channel(target, options=_OPTIONS)
        self._stub = EngineStub(self._channel)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Give the connection up; calls that still run are cancelled."""
        self._channel.close()

    def info(self, *, timeout: float = INFO_SECONDS) -> messages.InfoResult:
        """Which engine answers. Raises EngineError, EngineLost."""
        return self._call(
            self._stub.Info, messages.InfoRequest(), messages.InfoResult, timeout=timeout
        )

    def validate(self, request: messages.ValidateRequest) -> messages.ValidateResult:
        """Raises InvalidQuery, EngineError, EngineLost."""
        return self._call(
            self._stub.ValidateQuery, request, messages.ValidateResult, timeout=VALIDATE_SECONDS
        )

    def execute(
        self,
        request: messages.ExecuteRequest,
        *,
        on_progress: Callable[[messages.Progress], None],
    ) -> messages.ExecuteResult:
        """Raises InvalidQuery, EngineError, EngineLost. Giving up on the call cancels it."""
        return self._call(
            self._stub.ExecuteQuery, request, messages.ExecuteResult, on_progress=on_progress
        )

    def _call(
        self,
        call: _Call,
        request: messages.RequestBody,
        expected: type[ResultT],
        *,
        timeout: float | None = None,
        on_progress: Callable[[messages.Progress], None] = lambda _: None,
    ) -> ResultT:
        envelope = codec.seal_envelope(codec.encode_request(request))
        stream = call(envelope, timeout=timeout)
        try:
            result = _read(stream, on_progress)
        except grpc.RpcError as error:
            raise _failure(error) from error
        except codec.Malformed as error:
            raise EngineError(f"the engine's answer cannot be read: {error}") from error
        finally:
            cast("grpc.Call", stream).cancel()  # type: ignore[no-untyped-call]
        return _expect(result, expected)


class RemoteEngine:
    """A running engine, as ports.Engine promises it."""

    def __init__(self, *, client: EngineClient, folder: EngineFolder, run: EngineRun) -> None:
        self._client, self._folder, self._run = client, folder, run

    @property
    def run(self) -> EngineRun:
        """Which engine this is and how it runs."""
        return self._run

    def validate(self, request: messages.ValidateRequest) -> messages.ValidateResult:
        """Raises InvalidQuery, EngineError, EngineLost."""
        try:
            return self._client.validate(request)
        except EngineFailed as error:
            raise _keep_trace(error, self._folder.root) from error

    def exchange(self, transaction_id: str) -> AbstractContextManager[Exchange]:
        """Fresh folders for one attempt; removed after success, kept after failure."""
        return self._folder.exchange(transaction_id)

    def execute(
        self, request: messages.ExecuteRequest, *, listener: Listener, subject: str
    ) -> messages.ExecuteResult:
        """Run one step over the exchange that the request names.

        Raises InvalidQuery, EngineError (its hint names the file with the engine's trace),
        EngineLost.
        """
        self._folder.hand_over(request.exchange)

        def tell(progress: messages.Progress) -> None:
            listener.progress(subject, progress.stage, describe(progress))

        try:
            return self._client.execute(request, on_progress=tell)
        except EngineFailed as error:
            raise _keep_trace(error, self._folder.outputs / request.exchange) from error


def describe(progress: messages.Progress) -> str:
    """What a person wants to know of a progress message, in a few words."""
    if progress.message:
        return progress.message
    counts = ((progress.rows_read, "read"), (progress.rows_written, "written"))
    return ", ".join(f"{count} rows {verb}" for count, verb in counts if count)


def ask_info(socket: Path, *, timeout: float = INFO_SECONDS) -> messages.InfoResult:
    """Which engine answers at a Unix socket. Raises EngineError, EngineLost."""
    with closing(EngineClient(f"unix:{socket}")) as client:
        return client.info(timeout=timeout)


def _read(
    stream: Iterator[Envelope], on_progress: Callable[[messages.Progress], None]
) -> messages.Result:
    for envelope in stream:
        body = codec.decode_response(codec.open_envelope(envelope))
        if not isinstance(body, messages.Progress):
            return body
        on_progress(body)
    raise EngineError("the engine ended the call without a result")


def _expect(result: messages.Result, expected: type[ResultT]) -> ResultT:
    if isinstance(result, expected):
        return result
    if isinstance(result, messages.InvalidQuery):
        raise InvalidQuery(result.message, line=result.line, column=result.column, hint=result.hint)
    if isinstance(result, messages.InternalError):
        raise EngineFailed(result.message, trace=result.trace)
    raise EngineError(f"the engine answered {type(result).__name__}, not {expected.__name__}")


def _failure(error: grpc.RpcError) -> EngineError:
    status = cast("grpc.Call", error)
    if status.code() in _LOST:
        return EngineLost(
            "engine stopped answering; run the same command again: it carries on",
            hint=status.details() or "",
        )
    return EngineError(f"the engine failed: {status.code().name}: {status.details()}")


def _keep_trace(error: EngineFailed, folder: Path) -> EngineError:
    """The error with the place where its trace can be read."""
    if not error.trace or not folder.is_dir():
        return error
    file = folder / TRACE_FILE
    file.write_text(error.trace)
    error.hint = f"the engine's trace is in {file}"
    return error
