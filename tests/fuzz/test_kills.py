"""A short run of the fuzzer of kills, from every seed that is kept."""

import pytest

from fuzz.kills import SEEDS, run


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_was_told_before_a_kill_at_any_moment_was_charged(seed) -> None:
    run(4.0, seed)
