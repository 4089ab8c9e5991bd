"""Stories of two writers in bad weather, each told by its seed. `make reliability` tells 10,000."""

import pytest

from tests.crash.simulation import simulate

SEEDS, PIECE = 200, 20


@pytest.mark.parametrize("first", range(0, SEEDS, PIECE))
def test_every_story_ends_well(first: int) -> None:
    for seed in range(first, first + PIECE):
        simulate(seed)
