"""A short run of the fuzzer of damaged files, from every seed that is kept."""

import pytest

from fuzz.damage import SEEDS, run


@pytest.mark.parametrize("seed", SEEDS)
def test_no_damage_goes_unnoticed(seed) -> None:
    run(2.0, seed)
