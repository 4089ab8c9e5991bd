"""Messages <-> FlatBuffers bytes <-> the gRPC envelope. The only door to the generated messages."""

from odf_wire import flat
from odf_wire._gen import engine_generated as gen
from odf_wire._gen.engine_pb2 import Envelope
from odf_wire.flat import Malformed
from odf_wire.messages import Request, RequestBody, Response, ResponseBody

_FORMAT = flat.Format(gen=gen)

__all__ = [
    "Malformed",
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_response",
    "open_envelope",
    "seal_envelope",
]


def encode_request(body: RequestBody) -> bytes:
    """The same request gives the same bytes: their digest identifies its parameters."""
    return flat.encode(_FORMAT, Request(body=body))


def decode_request(data: bytes) -> RequestBody:
    """Raises Malformed."""
    return flat.decode(_FORMAT, Request, data).body


def encode_response(body: ResponseBody) -> bytes:
    """The bytes of one answer."""
    return flat.encode(_FORMAT, Response(body=body))


def decode_response(data: bytes) -> ResponseBody:
    """Raises Malformed."""
    return flat.decode(_FORMAT, Response, data).body


def seal_envelope(data: bytes) -> Envelope:
    """Wrap FlatBuffers bytes for gRPC."""
    return Envelope(flatbuffer=data)


def open_envelope(envelope: Envelope) -> bytes:
    """The FlatBuffers bytes that gRPC brought."""
    return bytes(envelope.flatbuffer)
