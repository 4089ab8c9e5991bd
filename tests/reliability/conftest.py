"""What long forms share: every case is tried, counted and told, whatever the others give."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.reliability.stories import odf

Case = tuple[str, Callable[[], list[str]]]
CASES, FAILURES = "cases", "failures"


@pytest.fixture
def try_all(record_property: Callable[[str, object], None]) -> Callable[[Iterable[Case]], None]:
    """Tries cases, each a name and what finds its mistakes; the scorecard gets the counts."""

    def run(cases: Iterable[Case]) -> None:
        tried, wrong = 0, []
        for name, mistakes in cases:
            tried += 1
            try:
                found = mistakes()
            except Exception as error:
                found = [f"{type(error).__name__}: {error}"]
            if found:
                wrong.append("\n".join([name, *found]))
        record_property(CASES, tried)
        record_property(FAILURES, len(wrong))
        assert wrong == []

    return run


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for warm engines, which are stopped at the end."""
    folder = tmp_path_factory.mktemp("engines")
    yield folder / "run"
    stand = folder / "stand"
    (stand / ".odf").mkdir(parents=True)
    (stand / ".odf" / "version").write_text("0\n")
    (stand / ".odf" / "run").symlink_to(folder / "run")
    odf(stand, "engine", "stop", "--force")
