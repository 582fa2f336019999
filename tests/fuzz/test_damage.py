"""A short run of the fuzzer of damaged files, from every seed that is kept."""

import math

import pytest

from fuzz.damage import SEEDS, run

DAMAGES = 350


@pytest.mark.parametrize("seed", SEEDS)
def test_no_damage_goes_unnoticed(seed) -> None:
    run(math.inf, seed, most=DAMAGES)
