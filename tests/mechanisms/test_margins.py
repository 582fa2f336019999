"""Margins are the exact quantiles of the noise, and everything that is derived from them errs towards caution."""

from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.mechanisms import margins
from lapwing.mechanisms.margins import ByAccuracy, Spread
from lapwing.mechanisms.noise_mechanism import parse_noise
from lapwing.noise.laws import DiscreteGaussian, DiscreteLaplace, RoundedGaussian, RoundedLaplace
from lapwing.vocabulary.errors import ParameterError
from mechanisms import laws_by_hand as by_hand

WISH = ByAccuracy(within=Fraction(20), confidence=Fraction(19, 20), values=1)
LAWS = {
    "discrete laplace": (margins.discrete_laplace_tail, by_hand.discrete_laplace),
    "rounded laplace": (margins.rounded_laplace_tail, by_hand.rounded_laplace),
    "rounded gaussian": (margins.rounded_gaussian_tail, by_hand.rounded_gaussian),
    "discrete gaussian": (margins.discrete_gaussian_tail, by_hand.discrete_gaussian),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("parameter", ["0.3", 1, "7/3", 12])
@pytest.mark.parametrize("confidence", ["0.01", "0.5", "0.95", "0.999999"])
@pytest.mark.parametrize("values", [1, 10])
def test_a_margin_is_the_smallest_that_holds(name, parameter, confidence, values) -> None:
    tail, law = LAWS[name]
    margin = Spread(tail(Fraction(parameter))).margin(confidence, values)
    laws = law(parameter, 400)
    needed = by_hand.number(confidence)
    assert (1 - by_hand.tail(laws, margin)) ** values >= needed
    assert margin == 0 or (1 - by_hand.tail(laws, margin - 1)) ** values < needed


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("values", [1, 7])
def test_the_confidence_of_a_margin_is_rounded_down(name, values) -> None:
    tail, law = LAWS[name]
    truth = (1 - by_hand.tail(law(5, 400), 9)) ** values
    answer = Spread(tail(Fraction(5))).confidence(9, values)
    assert truth - mp.mpf(10) ** -15 <= answer <= truth


def test_a_margin_below_zero_has_no_confidence() -> None:
    assert Spread(margins.discrete_laplace_tail(Fraction(5))).confidence("-0.1") == 0


def test_a_margin_between_two_steps_counts_as_the_lower_one() -> None:
    spread = Spread(margins.rounded_laplace_tail(Fraction(5)), Fraction(1, 4))
    assert spread.confidence("0.99") == spread.confidence("0.75") < spread.confidence(1)


def test_many_values_need_a_wider_margin_and_a_million_are_no_trouble() -> None:
    spread = Spread(margins.discrete_laplace_tail(Fraction(10)))
    q, allowed = mp.exp(mp.mpf(-1) / 10), 1 - mp.mpf("0.95") ** mp.mpf("1e-6")
    by_formula = mp.ceil(mp.log(allowed * (1 + q) / 2) / mp.log(q)) - 1
    assert spread.margin("0.95") < spread.margin("0.95", values=2) < spread.margin("0.95", values=10**6) == by_formula


def test_undecided_bounds_widen_the_margin() -> None:
    """A tail that is known only to within a tenth: the margin is where the upper bound is low enough."""

    def vague(m, bits):
        low = (1 << bits) // (m + 2)
        return low, low + (1 << bits) // 10

    assert Spread(vague).margin("0.8") == 8  # 1/10 + 1/10 <= 1/5, while 1/9 + 1/10 > 1/5
    assert Spread(lambda m, bits: (low := (1 << bits) // (m + 2), low + 1)).margin("0.8") == 4


@given(root=st.integers(2, 10**6))
def test_a_turning_point_is_found_to_the_last_digit(root) -> None:
    below, above = WISH.bisect(lambda x: x * x >= root)
    assert below**2 < root <= above**2
    assert above - below <= above / 10**5


@pytest.mark.parametrize("never", [lambda _: True, lambda _: False], ids=["always turned", "never turned"])
def test_what_never_turns_is_refused(never) -> None:
    with pytest.raises(ParameterError, match="is out of reach at this confidence"):
        WISH.bisect(never)


@pytest.mark.parametrize(
    ("within", "confidence", "values", "reason"),
    [
        (-1, "0.95", 1, "is negative"),
        (20, "95", 1, "is not strictly between 0 and 1"),
        (20, "0.95", 0, "is out of range"),
        ("nan", "0.95", 1, "is not a number"),
    ],
)
def test_a_wish_that_means_nothing_is_refused(within, confidence, values, reason) -> None:
    with pytest.raises(ParameterError, match=reason):
        parse_noise(within=within, confidence=confidence, values=values)


@pytest.mark.parametrize("size", ["0.05", "1/3", "7", "511", "5000", "1000000.7"])
@pytest.mark.parametrize("confidence", ["0.001", "1/3", "0.95", "0.999999", 1 - Fraction(1, 10**30)])
def test_where_a_search_begins_decides_how_many_are_asked_and_nothing_else(size, confidence) -> None:
    for law in (
        DiscreteLaplace(Fraction(size)),
        DiscreteGaussian(Fraction(size) ** 2),
        RoundedLaplace(Fraction(size)),
        RoundedGaussian(Fraction(size)),
    ):
        for values in (1, 20, 10**6):
            asked, tail = set[int](), margins.tail_of(law)

            def counted(m, bits, tail=tail, asked=asked):
                asked.add(m)
                return tail(m, bits)

            found = Spread(counted, reach=margins.reach_of(law)).margin(confidence, values)
            assert found == Spread(tail).margin(confidence, values)
            assert Fraction(confidence) < Fraction(1, 2) or len(asked) <= 4, (law, values, asked)
