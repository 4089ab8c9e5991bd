"""Time, offsets and marks."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NewType

Instant = NewType("Instant", int)
"""Microseconds since 1970-01-01T00:00:00Z."""

Duration = NewType("Duration", int)
"""A length of time in microseconds; a day has 24 hours."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant(moment: datetime) -> Instant:
    """The instant of an aware datetime."""
    return Instant((moment - _EPOCH) // timedelta(microseconds=1))


def iso(time: Instant) -> str:
    """ISO 8601 with `Z`; a fraction of 3 or 6 digits only when it is not zero."""
    moment = _EPOCH + timedelta(microseconds=time)
    if time % 1_000_000 == 0:
        spec = "seconds"
    else:
        spec = "milliseconds" if time % 1000 == 0 else "microseconds"
    return moment.replace(tzinfo=None).isoformat(timespec=spec) + "Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetInterval:
    """A closed interval of row offsets; never empty."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"not an interval of offsets: {self.start} to {self.end}")

    def __len__(self) -> int:
        return self.end - self.start + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A point of a log: rows up to `offset` had arrived, event time was known up to `watermark`.

    `offset` is -1 before the first row; `time` is the system time of the root block behind it.
    """

    offset: int
    watermark: Instant | None
    time: Instant
