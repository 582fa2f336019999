"""The exact lane, by enumerating every string of bits."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.noise.decay import Decay
from noise import oracle
from noise.sources import ExhaustedError, Script, Stream
from noise.tabulated_laws import SMALL
from statistical.goodness import fits, p_value

LAWS = {
    "discrete Laplace 3/2": Decay.exponential(Fraction(3, 2), sides=2),
    "geometric float 0.3": Decay.exponential(Fraction(0.3), sides=1),
    "discrete Gaussian 5/4": Decay.gaussian(Fraction(5, 4), sides=2),
    "half of a discrete Gaussian 1/3": Decay.gaussian(Fraction(1, 3), sides=1),
}


def magnitude_of(law, prefix, bits):
    """Return what all numbers that start with these bits become, or None if that depends on what follows."""
    try:
        return law.locate(prefix, bits, Script())
    except ExhaustedError:
        return None


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_the_whole_tree_of_bits_has_the_mass_of_the_law(law) -> None:
    """Twelve bits, and four more where those do not decide: a probability lies between what is and what may be."""
    mass, undecided = {}, 0
    for prefix in range(1 << 12):
        magnitude = magnitude_of(law, prefix, 12)
        if magnitude is not None:
            mass[magnitude] = mass.get(magnitude, 0) + 16
            continue
        for child in range(prefix << 4, (prefix + 1) << 4):
            magnitude = magnitude_of(law, child, 16)
            if magnitude is None:
                undecided += 1
            else:
                mass[magnitude] = mass.get(magnitude, 0) + 1
    ends = oracle.cumulative(law.rate, law.power, law.sides, max(mass))
    with mp.workprec(oracle.PRECISION):
        probabilities = [end - start for start, end in zip([0, *ends], ends, strict=False)]
        for magnitude, probability in enumerate(probabilities):
            least = mass.get(magnitude, 0)
            assert least <= mp.ldexp(probability, 16) <= least + undecided
    assert sum(mass.values()) + undecided == 1 << 16
    # Undecided are the strings in which one magnitude ends and the next begins, and no others.
    beyond = 1 << 16  # far out, the oracle's 400 bits cannot tell an end from 1
    assert undecided == len({*oracle.floors(oracle.cumulative(law.rate, law.power, law.sides, 60), 16)} - {beyond})


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_decision_is_never_revised_by_more_bits(law) -> None:
    for prefix in range(1 << 8):
        magnitude = magnitude_of(law, prefix, 8)
        if magnitude is not None:
            assert {magnitude_of(law, child, 11) for child in range(prefix << 3, (prefix + 1) << 3)} == {magnitude}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_blunt_bounds_leave_more_open_and_decide_nothing_else(law, monkeypatch) -> None:
    honest = Decay.cumulative_bounds
    sharp = [magnitude_of(law, prefix, 10) for prefix in range(1 << 10)]

    def blunt(self, last, bits):
        lows, highs = honest(self, last, bits)
        return [low - (1 << 34) for low in lows], [high + (1 << 34) for high in highs]  # four prefixes to each side

    monkeypatch.setattr(Decay, "cumulative_bounds", blunt)
    dull = [magnitude_of(law, prefix, 10) for prefix in range(1 << 10)]
    decided = [(one, other) for one, other in zip(sharp, dull, strict=True) if other is not None]
    assert all(one == other for one, other in decided)
    assert len(decided) < len(sharp) - sharp.count(None)
    edge = oracle.floors(oracle.cumulative(law.rate, law.power, law.sides, 0), 10)[0]
    assert dull[edge - 4 : edge + 5] == [None] * 9


@settings(max_examples=60)
@given(
    rate=st.fractions(min_value=Fraction(1, 40), max_value=20),
    power=st.sampled_from([1, 2]),
    sides=st.sampled_from([1, 2]),
    bits=st.integers(4, 160),
)
def test_the_bounds_enclose_the_distribution_function(rate, power, sides, bits) -> None:
    lows, highs = Decay(rate, power, sides).cumulative_bounds(12, bits)
    with mp.workprec(oracle.PRECISION):
        truth = [mp.ldexp(end, bits) for end in oracle.cumulative(rate, power, sides, 12)]
        assert all(low <= end <= high for low, end, high in zip(lows, truth, highs, strict=True))
    assert all(high - low <= 2 for low, high in zip(lows, highs, strict=True))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_draws_from_the_exact_lane_alone_follow_the_law_and_no_other(law) -> None:
    source = Stream(7)
    sample = np.bincount([law.locate(0, 0, source) for _ in range(6000)], minlength=30)
    off = Decay(law.rate * Fraction(3, 2), law.power, law.sides)

    def p(claim):
        ends = np.array(oracle.cumulative(claim.rate, claim.power, claim.sides, 29), float)
        return p_value(sample, np.diff(ends, prepend=0.0))

    assert fits(p(law))
    assert not fits(p(off))


@pytest.mark.parametrize("law", SMALL.values(), ids=SMALL)
def test_the_reach_leaves_no_more_than_it_says(law) -> None:
    reach = law.reach(40)
    with mp.workprec(oracle.PRECISION):
        assert 1 - oracle.cumulative(law.rate, law.power, law.sides, reach)[-1] < mp.ldexp(1, -40)
