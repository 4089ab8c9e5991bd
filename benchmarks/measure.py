"""What a case is given, what it gives back, and how it takes the time."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much data the cases work on, and from which seed it is made."""

    name: str
    rows: int
    repeats: int
    seed: int = 1


QUICK = Scale(name="quick", rows=1_000_000, repeats=5)
FULL = Scale(name="full", rows=10_000_000, repeats=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table. `at_least` or `at_most` is the target, if the line has one."""

    what: str
    value: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def passed(self) -> bool | None:
        """Is the target met? None without one."""
        if self.at_least is not None:
            return self.value >= self.at_least
        return None if self.at_most is None else self.value <= self.at_most


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def side_by_side(repeats: int, *works: Callable[[], object]) -> tuple[float, ...]:
    """The best time of each, taken in turns, so that a busy moment hits all of them alike."""
    rounds = [[seconds(work) for work in works] for _ in range(repeats)]
    return tuple(map(min, zip(*rounds, strict=True)))


def child_cpu_seconds(command: list[str]) -> float:
    """User and system time of a program that must end well; its output is thrown away."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    actions = [(os.POSIX_SPAWN_DUP2, nothing, 1)]
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    os.close(nothing)
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise RuntimeError(f"{' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime
