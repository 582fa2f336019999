"""The parameters of a pure stream: exact, summing up, refused at construction."""

from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.mechanisms.sparse_vector.pure import AboveThreshold, AdaptiveSparseVector, SparseVector, YesReveals
from lapwing.mechanisms.sparse_vector.stream_mechanism import SparseVectorNoise, best_share
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.noise.laws import DiscreteLaplace, Geometric
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import PureRelease
from mechanisms.sparse_vector.suspects import COUNTS, REPLACED

SHARED = {"epsilon": 1, "yeses": 3, "threshold": 200, "sensitivity": COUNTS}

epsilons = st.fractions(Fraction(1, 1000), 20, max_denominator=1000)


@given(epsilon=epsilons, yeses=st.integers(1, 500), sensitivity=st.sampled_from([COUNTS, REPLACED]))
def test_the_parts_of_epsilon_sum_up_exactly(epsilon, yeses, sensitivity) -> None:
    for reveals in (YesReveals.GAP, YesReveals.NUMBER):
        stream = SparseVector(epsilon=epsilon, yeses=yeses, threshold=0, sensitivity=sensitivity, reveals=reveals)
        assert stream.threshold_epsilon + yeses * stream.yes_price == epsilon == stream.event.epsilon
        assert stream.rule.price_of(stream.rule.units) == epsilon
        assert (stream.number_price > 0) == (reveals is YesReveals.NUMBER)
    adaptive = AdaptiveSparseVector(epsilon=epsilon, yeses=yeses, threshold=0, sensitivity=sensitivity)
    assert adaptive.rule.price_of(adaptive.rule.units) == epsilon == adaptive.event.epsilon


@given(epsilon=epsilons, yeses=st.integers(1, 500), sensitivity=st.sampled_from([COUNTS, REPLACED]))
def test_scales_are_never_smaller_than_their_price_demands(epsilon, yeses, sensitivity) -> None:
    stream = SparseVector(epsilon=epsilon, yeses=yeses, threshold=0, sensitivity=sensitivity, reveals=YesReveals.NUMBER)
    rise, span = sensitivity.in_steps(Fraction(1))
    (comparison,) = stream.rule.comparisons
    assert stream.rule.threshold_noise.scale >= rise / stream.threshold_epsilon
    assert comparison.noise.scale >= span / (stream.yes_price - stream.number_price)
    assert stream.rule.fresh_noise.scale >= rise / stream.number_price


@pytest.mark.parametrize("yeses", [1, 2, 5, 10, 50, 333])
@pytest.mark.parametrize("sensitivity", [COUNTS, REPLACED], ids=["counts", "replaced"])
def test_the_best_share_makes_the_variance_smallest(yeses, sensitivity) -> None:
    rise, span = sensitivity.in_steps(Fraction(1))

    def variance(share):
        return (rise / share) ** 2 + (yeses * span / (1 - share)) ** 2

    best = best_share((rise, span), yeses)
    assert variance(best) <= min(variance(best * Fraction(101, 100)), variance(best * Fraction(99, 100)))


def test_counts_that_come_or_go_have_half_the_noise_of_others() -> None:
    def scale(sensitivity):
        return (
            SparseVector(epsilon=1, yeses=5, threshold=0, sensitivity=sensitivity, threshold_share="1/2")
            .rule.comparisons[0]
            .noise
        )

    assert scale(COUNTS) == Geometric(Fraction(10))
    assert scale(REPLACED) == scale(ValueSensitivity.of_anything(sensitivity=1)) == Geometric(Fraction(20))


def test_a_textbook_is_followed_to_the_letter_where_wanted() -> None:
    printed = AboveThreshold.as_printed(epsilon="0.5", threshold=10, sensitivity=1)
    assert printed.rule.threshold_noise == DiscreteLaplace(Fraction(4))
    assert printed.rule.comparisons[0].noise == DiscreteLaplace(Fraction(8))
    assert printed.rule.comparisons[0].bar == 0
    assert not printed.rule.shows_gap


def test_above_threshold_is_a_sparse_vector_with_one_yes() -> None:
    one = AboveThreshold(epsilon=1, threshold=10, sensitivity=COUNTS)
    assert one.yeses == one.rule.units == 1
    assert one.rule == SparseVector(epsilon=1, yeses=1, threshold=10, sensitivity=COUNTS).rule
    assert replace(one, epsilon=Fraction(2)).yeses == 1
    assert isinstance(one.placed_for(100), AboveThreshold)
    assert one.open().ask(10**9).above


def test_a_mechanism_is_a_value_without_a_secret() -> None:
    assert SparseVector(**SHARED) == SparseVector(**SHARED)
    assert hash(SparseVector(**SHARED)) == hash(SparseVector(**SHARED))
    assert SparseVector(**SHARED) != SparseVector(**SHARED | {"yeses": 4})
    assert SparseVector(**SHARED).event == PureRelease(epsilon=Fraction(1))
    assert SparseVector(**SHARED).loss.pure_epsilon == 1
    assert SparseVector(**SHARED | {"epsilon": "0.1"}).epsilon == Fraction(1, 10)
    with pytest.raises(FrozenInstanceError):
        SparseVector(**SHARED).epsilon = 2


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("epsilon", 0),
        ("epsilon", float("nan")),
        ("yeses", 0),
        ("yeses", "2.5"),
        ("sensitivity", 1),
        ("noise", "geometric"),
        ("reveals", "gap"),
        ("threshold_share", 1),
        ("threshold_share", 0),
        ("questions", 0),
        ("shift", float("inf")),
        ("grid", "0.3"),
    ],
)
def test_what_makes_no_stream_is_refused(name, given) -> None:
    with pytest.raises(ParameterError, match=name):
        SparseVector(**SHARED | {name: given})


def test_a_grid_too_fine_for_its_noise_is_refused_with_a_remedy() -> None:
    with pytest.raises(ParameterError, match="coarser grid or more epsilon"):
        SparseVector(**SHARED | {"grid": Fraction(1, 2**40)})


def test_more_epsilon_than_any_noise_can_use_is_refused_in_terms_of_epsilon() -> None:
    with pytest.raises(ParameterError, match=r"epsilon = .* less than can be drawn; ask for less"):
        SparseVector(**SHARED | {"epsilon": 10**6})


def test_a_reservation_is_what_the_stream_costs() -> None:
    for mechanism in (SparseVector(**SHARED), AdaptiveSparseVector(**SHARED)):
        held = mechanism.reservation("cohorts", segments=frozenset({"north"}))
        assert (held.stream, held.segments) == ("cohorts", {"north"})
        assert held.opening == mechanism.threshold_epsilon
        assert held.whole == mechanism.epsilon
        stream = mechanism.open(name="cohorts")
        stream.ask(10**9)  # a clear yes, where there are such
        assert stream.spent == held.opening + held.price


def test_a_shift_moves_the_bar_and_not_the_estimate() -> None:
    plain, shifted = (SparseVector(**SHARED, shift=shift).rule.comparisons[0] for shift in (0, 7))
    assert (shifted.bar - plain.bar, shifted.centre) == (7, plain.centre)
    assert SparseVector(**SHARED, shift="0.5").shift == 1
    laplace = SparseVector(**SHARED, noise=SparseVectorNoise.LAPLACE).rule.comparisons[0]
    assert laplace.centre == 0
