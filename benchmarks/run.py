"""`make bench`: run the cases, print one table, keep the figures as JSON in `results/`."""

import argparse
import importlib
import json
import os
import pkgutil
import platform
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks import cases
from benchmarks.measure import FULL, QUICK, Figure, Scale

_RESULTS = Path(__file__).parent / "results"
_PASSED = {True: "yes", False: "NO", None: ""}


def main() -> int:
    """0 when all targets were met, 1 when one was missed."""
    arguments = _arguments()
    scale = FULL if arguments.full else QUICK
    found = {}
    for name in arguments.cases or sorted(_names()):
        print(f"{name}: {scale.rows:,} rows, seed {scale.seed}", file=sys.stderr)
        found[name] = importlib.import_module(f"benchmarks.cases.{name}").run(scale)
    _show(found)
    print(_keep(scale, found))
    return int(any(each.passed is False for figures in found.values() for each in figures))


def _names() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(cases.__path__)]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="10 M rows instead of 1 M")
    parser.add_argument("cases", nargs="*", choices=[[], *_names()], help="default: all")
    return parser.parse_args()


def _show(found: dict[str, list[Figure]]) -> None:
    table = Table("case", "what", "value", "unit", "target", "met")
    table.columns[2].justify = "right"
    for name, figures in found.items():
        for each in figures:
            row = (name, each.what, f"{each.value:.3g}", each.unit, _target(each))
            table.add_row(*row, _PASSED[each.passed])
        table.add_section()
    Console().print(table)


def _target(figure: Figure) -> str:
    if figure.at_least is not None:
        return f"≥ {figure.at_least:g}"
    return "" if figure.at_most is None else f"≤ {figure.at_most:g}"


def _keep(scale: Scale, found: dict[str, list[Figure]]) -> str:
    now = datetime.now(UTC)
    content = {
        "date": now.isoformat(timespec="seconds"),
        "scale": asdict(scale),
        "machine": _machine(),
        "cases": {
            name: [{**asdict(each), "passed": each.passed} for each in figures]
            for name, figures in found.items()
        },
    }
    _RESULTS.mkdir(exist_ok=True)
    file = _RESULTS / f"{now:%Y-%m-%dT%H%M%SZ}-{scale.name}.json"
    file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return str(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file)


def _machine() -> dict[str, str | int]:
    """What the figures depend on, and nothing that names the machine."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "pyarrow": pa.__version__,
    }


if __name__ == "__main__":
    sys.exit(main())
