"""A short run of the fuzzer of kills, from every seed that is kept."""

import math

import pytest

from fuzz.kills import SEEDS, run

TURNS = 8


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_was_told_before_a_kill_at_any_moment_was_charged(seed) -> None:
    run(math.inf, seed, most=TURNS)
