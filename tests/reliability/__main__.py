"""Runs every test that is marked `reliability(row)` and prints one table; 1 when a row misses.

A test tells how many cases it tried by `record_property("cases", n)` and how many failed by
`record_property("failures", n)`; without, it is one case. Arguments are pytest's.
"""

import sys
from collections import Counter

import pytest

from tests.reliability.conftest import CASES, FAILURES

_ROW = "row"


class Scorecard:
    """Adds up, row by row."""

    def __init__(self) -> None:
        self.cases: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.skips: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """A test's row goes with its report."""
        for item in items:
            marker = item.get_closest_marker("reliability")
            if marker is not None:
                item.user_properties.append((_ROW, marker.args[0]))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Once for each phase of a test; only the calls, and what went wrong around them, count."""
        told = dict(report.user_properties)
        row = str(told.get(_ROW, "?"))
        if report.skipped:
            self.skips[row] += 1
        elif report.when == "call" or report.failed:
            self.cases[row] += int(str(told.get(CASES, 1)))
            self.failures[row] += max(int(str(told.get(FAILURES, 0))), int(report.failed))

    def table(self) -> str:
        """One line a row."""
        rows = sorted({*self.cases, *self.skips}, key=lambda row: (len(row), row))
        lines = [f"{'row':<5}{'cases':>8}{'failures':>10}{'skipped':>9}"]
        for row in rows:
            counts = f"{self.cases[row]:>8}{self.failures[row]:>10}{self.skips[row]:>9}"
            lines.append(f"{row:<5}{counts}")
        return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Run the long forms; gives the exit code."""
    card = Scorecard()
    code = pytest.main(["-m", "reliability", "-v", *arguments], plugins=[card])
    print("", card.table(), sep="\n")
    return int(code != pytest.ExitCode.OK or bool(card.failures.total() or card.skips.total()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
