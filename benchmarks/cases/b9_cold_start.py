"""B9: what it costs to start the command."""

import sys
from pathlib import Path
from statistics import median

from benchmarks.measure import Figure, Scale, child_cpu_seconds


def run(scale: Scale) -> list[Figure]:
    """CPU seconds of `odf --help`, beside those of an interpreter that does nothing."""
    odf = str(Path(sys.executable).with_name("odf"))
    empty = [child_cpu_seconds([sys.executable, "-c", ""]) for _ in range(scale.repeats)]
    shown = [child_cpu_seconds([odf, "--help"]) for _ in range(scale.repeats)]
    return [
        Figure(what="an empty Python program", value=median(empty), unit="s CPU"),
        Figure(what="odf --help", value=median(shown), unit="s CPU", at_most=0.15),
    ]
