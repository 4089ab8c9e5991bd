"""The last transaction of an outputs folder: the same request gets the same answer again.

The record is replaced in one step, after the output that it speaks of is safe, so that a crash at
any moment leaves either the old record, the new one, or an output that nobody recorded.
"""

import base64
import contextlib
import hashlib
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

from odf_wire import codec
from odf_wire.messages import ExecuteRequest, ExecuteResult

_RECORD = ".last-transaction.json"
_OUTPUTS = ".last-transaction-"


class ParametersDiffer(Exception):
    """A transaction id came again, but with other parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    transaction_id: str
    parameters: str
    size: int
    answer: str


def parameters(request: ExecuteRequest) -> str:
    """Digest of all that may change the outcome: everything but the folder of the attempt."""
    return hashlib.sha256(codec.encode_request(replace(request, exchange=""))).hexdigest()


def recall(outputs: Path, request: ExecuteRequest, target: Path) -> ExecuteResult | None:
    """The recorded answer, its output linked to `target`; None when it must be computed.

    Raises ParametersDiffer. A record whose output is gone or has another size is not used.
    """
    record = _load(outputs)
    if record is None or record.transaction_id != request.transaction_id:
        return None
    if record.parameters != parameters(request):
        raise ParametersDiffer(
            f"transaction {request.transaction_id} was run with other parameters before"
        )
    result = codec.decode_response(base64.b64decode(record.answer))
    if not isinstance(result, ExecuteResult):
        return None
    if result.file is None:
        return result
    kept = _kept(outputs, record.parameters)
    if not kept.is_file() or kept.stat().st_size != record.size:
        return None
    _link(kept, target)
    return replace(result, file=target.relative_to(outputs).as_posix())


def keep(outputs: Path, request: ExecuteRequest, result: ExecuteResult) -> None:
    """Record the answer in place of the one before it. Durable when this returns."""
    digest = parameters(request)
    size = 0
    kept = _kept(outputs, digest)
    if result.file is not None:
        produced = outputs / result.file
        size = produced.stat().st_size
        _link(produced, kept)
    record = {
        "transaction_id": request.transaction_id,
        "parameters": digest,
        "size": size,
        "answer": base64.b64encode(codec.encode_response(result)).decode(),
    }
    staging = outputs / (_RECORD + ".staging")
    with staging.open("w") as file:
        json.dump(record, file)
        file.flush()
        os.fsync(file.fileno())
    staging.replace(outputs / _RECORD)
    _sync_folder(outputs)
    for other in outputs.glob(_OUTPUTS + "*.arrow"):
        if other != kept:
            other.unlink(missing_ok=True)


def _kept(outputs: Path, digest: str) -> Path:
    return outputs / f"{_OUTPUTS}{digest[:32]}.arrow"


def _load(outputs: Path) -> _Record | None:
    try:
        return _Record(**json.loads((outputs / _RECORD).read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _link(source: Path, target: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        if target.samefile(source):
            return
    target.unlink(missing_ok=True)
    os.link(source, target)
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
