"""Lengths of time as people write them: `1 day`, `90 minutes`, `1 hour 30 minutes`."""

import re

from odf_coordinator.model.timeline import Duration

_UNITS = {
    "week": 7 * 86_400_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1000,
    "microsecond": 1,
}
_SHORT = {"w": "week", "d": "day", "h": "hour", "min": "minute", "s": "second", "ms": "millisecond"}
_PART = re.compile(r"\s*(\d{1,19})\s*([A-Za-z]+)\s*")
RULE = f"a number and a unit ({', '.join(unit + 's' for unit in _UNITS)}), such as '7 days'"


def parse_duration(text: str) -> Duration:
    """The sum of the parts. Raises ValueError."""
    total, position = 0, 0
    while match := _PART.match(text, position):
        word = match[2].lower()
        unit = _SHORT.get(word, word.removesuffix("s"))
        if unit not in _UNITS:
            raise ValueError(f"unknown unit '{match[2]}'; expected {RULE}")
        total += int(match[1]) * _UNITS[unit]
        position = match.end()
    if position == 0 or position < len(text):
        raise ValueError(f"'{text}' is not a length of time; expected {RULE}")
    if total >= 1 << 62:
        raise ValueError(f"'{text}' is too long")
    return Duration(total)


def print_duration(duration: Duration) -> str:
    """In the largest unit that needs no fraction; weeks are written in days."""
    for unit, size in _UNITS.items():
        if unit != "week" and duration % size == 0:
            count = duration // size
            return f"{count} {unit}{'' if count == 1 else 's'}"
    raise AssertionError("every duration is a number of microseconds")
