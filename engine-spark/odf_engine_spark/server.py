"""The engine behind gRPC. The only file that knows gRPC; errors travel in the body."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import grpc
from odf_wire import codec
from odf_wire._gen import engine_pb2_grpc
from odf_wire._gen.engine_pb2 import Envelope
from odf_wire.messages import (
    ExecuteRequest,
    InfoRequest,
    InternalError,
    RequestBody,
    ResponseBody,
    ValidateRequest,
)

from odf_engine_spark.operations import Operations
from odf_engine_spark.session import Session

_WORKERS = 16
_MAX_MESSAGE = 64 << 20
_TURN_SECONDS = 0.1


Body = TypeVar("Body", bound=RequestBody)


class Activity:
    """How many calls run, and since when none does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._idle_since = time.monotonic()

    @contextmanager
    def call(self) -> Iterator[None]:
        """Counts as activity while it is open."""
        with self._lock:
            self._calls += 1
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1
                self._idle_since = time.monotonic()

    def idle_seconds(self) -> float:
        """Zero while a call runs."""
        with self._lock:
            return 0.0 if self._calls else time.monotonic() - self._idle_since


class _Servicer(engine_pb2_grpc.EngineServicer):
    """One query at a time; the others wait for their turn as long as their callers do."""

    def __init__(self, session: Session, operations: Operations, activity: Activity) -> None:
        self._session = session
        self._operations = operations
        self._activity = activity
        self._turn = threading.Lock()
        self._groups = (f"call-{number}" for number in itertools.count())

    def Info(self, request: Envelope, context: grpc.ServicerContext) -> Iterator[Envelope]:  # noqa: N802
        """Who are you?"""
        return self._answers(request, InfoRequest, lambda _: self._operations.info())

    def ValidateQuery(  # noqa: N802
        self, request: Envelope, context: grpc.ServicerContext
    ) -> Iterator[Envelope]:
        """Is this query accepted?"""

        def run(body: ValidateRequest) -> Iterator[ResponseBody]:
            with self._my_turn(context) as mine:
                if mine:
                    yield from self._operations.validate(body)

        return self._answers(request, ValidateRequest, run)

    def ExecuteQuery(  # noqa: N802
        self, request: Envelope, context: grpc.ServicerContext
    ) -> Iterator[Envelope]:
        """Run the next step of a query."""

        def run(body: ExecuteRequest) -> Iterator[ResponseBody]:
            with self._my_turn(context) as mine:
                if mine:
                    yield from self._cancellable(body, context)

        return self._answers(request, ExecuteRequest, run)

    def _cancellable(
        self, body: ExecuteRequest, context: grpc.ServicerContext
    ) -> Iterator[ResponseBody]:
        """Stops the jobs when the call ends before they do: cancelled, or past its deadline."""
        group = next(self._groups)
        done = threading.Event()
        context.add_callback(lambda: None if done.is_set() else self._session.cancel(group))
        try:
            yield from self._operations.execute(body, group)
        finally:
            done.set()

    @contextmanager
    def _my_turn(self, context: grpc.ServicerContext) -> Iterator[bool]:
        """True once the session is free; False when the caller gave up before."""
        while not self._turn.acquire(timeout=_TURN_SECONDS):
            if not context.is_active():
                yield False
                return
        try:
            yield True
        finally:
            self._turn.release()

    def _answers(
        self,
        envelope: Envelope,
        wanted: type[Body],
        run: Callable[[Body], Iterator[ResponseBody]],
    ) -> Iterator[Envelope]:
        with self._activity.call():
            try:
                body = codec.decode_request(codec.open_envelope(envelope))
            except codec.Malformed as error:
                yield _seal(InternalError(message=f"the request cannot be read: {error}"))
                return
            if not isinstance(body, wanted):
                yield _seal(InternalError(message=f"not a {wanted.__name__}"))
                return
            for answer in run(body):
                yield _seal(answer)


def _seal(answer: ResponseBody) -> Envelope:
    return codec.seal_envelope(codec.encode_response(answer))


def serve(
    session: Session, operations: Operations, activity: Activity, addresses: list[str]
) -> grpc.Server:
    """A server that accepts calls on all these addresses. Raises RuntimeError when one is taken."""
    options = [
        ("grpc.max_receive_message_length", _MAX_MESSAGE),
        ("grpc.max_send_message_length", _MAX_MESSAGE),
        ("grpc.so_reuseport", 0),
    ]
    server = grpc.server(ThreadPoolExecutor(max_workers=_WORKERS), options=options)
    servicer = _Servicer(session, operations, activity)
    engine_pb2_grpc.add_EngineServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]
    for address in addresses:
        server.add_insecure_port(address)
    server.start()
    return server
