"""The error tree. A branch says whose turn it is; each error says what, which, and what to do next.

Exit codes are stable: 1 failed, 3 not found, 4 invalid manifest, data or query, 5 verification
failed, 6 conflict, 7 engine failed, 8 remote or network, 9 sandbox unavailable.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar


class OdfError(Exception):
    """Anything that stops a command. `str()` is the message; `hint` is the next step, if any."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UserError(OdfError):
    """What was asked for cannot be done as asked; the user can mend it."""


class NotFound(UserError):
    """Something that was named does not exist."""

    exit_code = 3


class Invalid(UserError):
    """A manifest, a query or data that breaks a rule."""

    exit_code = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake in a text that a person wrote: where it is, what is wrong, what is right."""

    file: str
    line: int
    column: int
    path: str
    message: str
    hint: str = ""
    excerpt: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}"
        what = f"{self.path}: {self.message}" if self.path else self.message
        if not self.excerpt:
            return f"{where}: {what}" + (f" ({self.hint})" if self.hint else "")
        number, gap = f"{self.line:5}", " " * (self.column - 1)
        pointer = f"      | {gap}^" + (f" {self.hint}" if self.hint else "")
        return f"{where}: {what}\n{number} | {self.excerpt}\n{pointer}"


class InvalidText(Invalid):
    """All mistakes found in what a person wrote, at once."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{problem}" for problem in problems))


class InvalidQuery(Invalid):
    """The engine refused a query; line and column are 1-based inside it, 0 when unknown."""

    def __init__(self, message: str, *, line: int = 0, column: int = 0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.line, self.column = line, column


class ConflictError(OdfError):
    """Somebody else was first: look again and retry."""

    exit_code = 6


class RefConflict(ConflictError):
    """A reference did not have the value that the writer expected."""

    def __init__(self, key: str, *, expected: bytes | None, found: bytes | None) -> None:
        shown = [
            "absent" if value is None else value[:80].decode(errors="replace")
            for value in (found, expected)
        ]
        super().__init__(f"{key} is {shown[0]}, expected {shown[1]}", hint="try again")
        self.key, self.expected, self.found = key, expected, found


class IntegrityError(OdfError):
    """Stored bytes are not what the chain says they are."""

    exit_code = 5


class HashMismatch(IntegrityError):
    """A stored file does not have the hash that names it."""

    def __init__(self, what: str, *, expected: str, found: str) -> None:
        super().__init__(
            f"{what}: recorded {expected}, found {found}",
            hint="restore the file from a copy of the dataset, then run `odf verify` again",
        )
        self.expected, self.found = expected, found


class InvalidBlock(IntegrityError):
    """A block that breaks a rule of the chain."""


class NeedsNewer(OdfError):
    """Written by a version of odf that this one does not understand."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} needs a newer odf", hint="upgrade odf and try again")


class EngineError(OdfError):
    """The engine failed, or did not keep its contract."""

    exit_code = 7


class EngineLost(EngineError):
    """The engine stopped answering: the step is neither done nor refused, and will be run again."""


class SandboxUnavailable(OdfError):
    """No engine can be run here, or not the one that the dataset asks for."""

    exit_code = 9


class StorageError(OdfError):
    """The disk or the store refused a read or a write."""

    @classmethod
    def told_by(cls, error: OSError, *, subject: str = "") -> "StorageError":
        """What the operating system said, about which file, and what a person can do about it."""
        reason = error.strerror or str(error)
        named = error.filename and f"{error.filename}" != subject
        where = f" ({error.filename})" if named else ""
        message = f"{subject}: {reason}{where}" if subject else f"{reason}{where}"
        return cls(message, hint=_REMEDIES.get(error.errno or 0, ""))


_READ_ONLY = (
    "make it writable; without that, datasets can still be read, and checked with"
    " `odf verify --integrity-only`"
)
_REMEDIES = {
    errno.ENOSPC: "free some space and run the same command again",
    errno.EDQUOT: "free some space and run the same command again",
    errno.EROFS: _READ_ONLY,
    errno.EACCES: _READ_ONLY,
    errno.EPERM: _READ_ONLY,
    errno.EMFILE: "too many files are open: raise the limit with `ulimit -n` and try again",
    errno.ENFILE: "too many files are open on this machine: try again later",
    errno.EIO: "the disk may be failing: look at the system's log, then try again",
}


@contextmanager
def storage_errors(what: str) -> Iterator[None]:
    """The system's errors as ours; `what` is the file or folder that is worked on."""
    try:
        yield
    except OSError as error:
        raise StorageError.told_by(error, subject=what) from error


class InternalError(OdfError):
    """A bug of ours."""
