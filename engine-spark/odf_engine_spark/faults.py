"""What Spark says about a failure: the query's fault or the engine's, and what to do about it."""

import re
from typing import Any

from odf_engine_spark.refusal import Refused
from odf_engine_spark.session import OUT_OF_MEMORY

_QUERY_STATES = frozenset(["07", "0A", "21", "22", "23", "26", "42", "54"])
"""Classes of SQLSTATE that speak about the query or the data that it met."""

_HINTS = {
    "DIVIDE_BY_ZERO": "try_divide gives NULL instead; or filter the zeros out",
    "REMAINDER_BY_ZERO": "try_mod gives NULL instead; or filter the zeros out",
    "CAST_INVALID_INPUT": "try_cast gives NULL instead",
    "CAST_OVERFLOW": "try_cast gives NULL instead; or cast to a wider type",
    "ARITHMETIC_OVERFLOW": "try_add, try_subtract and try_multiply give NULL; or use a wider type",
    "BINARY_ARITHMETIC_OVERFLOW": "cast to a wider type before calculating",
    "NUMERIC_VALUE_OUT_OF_RANGE": "use a DECIMAL with more digits; or try_cast",
    "INVALID_ARRAY_INDEX": "get(array, i) gives NULL instead",
    "INVALID_ARRAY_INDEX_IN_ELEMENT_AT": "try_element_at gives NULL instead",
    "CANNOT_PARSE_TIMESTAMP": "try_to_timestamp gives NULL instead",
    "CANNOT_PARSE_TIME": "try_to_time gives NULL instead",
    "PARSE_SYNTAX_ERROR": "the dialect is Spark SQL; a query is exactly one SELECT",
}

_NOISE = re.compile(
    r"(?m)^\[[A-Z0-9_.]+\] |\s*SQLSTATE: \w+|\s*\(line \d+, pos \d+\)|\s*If necessary,? set"
    r" \"?spark\.\S+ to \S+ to bypass this error\.?"
)
_DRAWING = re.compile(
    r"== SQL|== JVM|;? ?line \d+ pos \d+;?(?:\n|$)|\n'?[A-Z]\w+ \[|\n\s+at [\w.$]+\("
)
_MESSAGE_LINES = 3


class EngineFault(Exception):
    """The engine is at fault. Carries the JVM's trace."""

    def __init__(self, message: str, trace: str) -> None:
        super().__init__(message)
        self.trace = trace


def as_exception(error: dict[str, Any], query: str) -> Refused | EngineFault:
    """The failure of a query that the JVM described."""
    if error["class"].endswith("StackOverflowError"):
        return Refused("the query is nested too deeply", hint="split it into several queries")
    if error["class"].endswith("PatternSyntaxException"):
        pattern = _first_lines(error["message"])
        return Refused(f"not a regular expression: {pattern}", hint="patterns are Java's")
    if error["class"].endswith("OutOfMemoryError"):
        return EngineFault(OUT_OF_MEMORY, error["trace"])
    state = error.get("state") or ""
    if state[:2] not in _QUERY_STATES:
        return EngineFault(_first_lines(error["message"]), error["trace"])
    line, column = _where(error, query)
    condition = (error.get("condition") or "").partition(".")[0]
    message = _first_lines(error["message"])
    return Refused(message, line=line, column=column, hint=_HINTS.get(condition, ""))


def _where(error: dict[str, Any], query: str) -> tuple[int, int]:
    if "start" in error and error["start"] <= len(query):
        before = query[: error["start"]]
        return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    return error.get("line", 0), error.get("column", 0)


def _first_lines(message: str) -> str:
    """Without Spark's drawing of query and plan, its codes, and advice that nobody can follow."""
    text = _DRAWING.split(message, maxsplit=1)[0]
    lines = [line.strip() for line in _NOISE.sub("", text).splitlines() if line.strip()]
    return "\n".join(lines[:_MESSAGE_LINES])
