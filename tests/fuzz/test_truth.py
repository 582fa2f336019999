"""Statements of the whole language, always the same, are answered as DuckDB answers them; `make fuzz` has others."""

import math

from fuzz.truth import run

TEXTS, SEED = 2_000, 20_261_118


def test_no_number_is_another_than_that_of_the_database() -> None:
    tally = run(math.inf, SEED, most=TEXTS)
    assert tally["drawn"] == TEXTS
    assert tally["compared"] >= TEXTS * 3 // 4, tally
