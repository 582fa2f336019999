"""The Gaussian stream: calibrated by the proved bound, drawn by the law it is priced for."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

from auditor.exact_laws import renyi_divergence
from lapwing.accounting.pricing import price
from lapwing.auditor.noise_laws import Gaussian
from lapwing.auditor.sparse_vector_oracle import SparseVectorVariant
from lapwing.auditor.worst_pairs import NeighbouringPair
from lapwing.mechanisms.sparse_vector.gaussian_stream import GaussianSparseVector
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import float_below
from lapwing.vocabulary.guarantee import Adjacency
from mechanisms.sparse_vector.suspects import COUNTS, REPLACED
from statistical.goodness import fits, p_value

BUDGET = {"epsilon": 1, "delta": "1e-6", "yeses": 10, "questions": 200, "threshold": 0}


@pytest.mark.parametrize(
    "sensitivity", [COUNTS, REPLACED, ValueSensitivity.of_anything(sensitivity="0.75")], ids=["1", "2", "3"]
)
def test_a_stream_for_a_budget_keeps_it_and_uses_it(sensitivity) -> None:
    stream = GaussianSparseVector.for_budget(
        **BUDGET, sensitivity=sensitivity, grid="1/4" if sensitivity.up == Fraction(3, 4) else 1
    )
    assert 0.98 < price(stream.event).epsilon(1e-6) <= 1
    assert stream.loss.epsilon(1e-6) == price(stream.event).epsilon(1e-6)


def test_a_small_budget_is_kept_and_one_that_no_order_reaches_is_refused() -> None:
    small = {**BUDGET, "epsilon": "0.05", "yeses": 1, "questions": 5}
    stream = GaussianSparseVector.for_budget(**small, sensitivity=COUNTS)
    assert 0.9 * 0.05 < price(stream.event).epsilon(1e-6) <= 0.05
    with pytest.raises(ParameterError, match="no order of the Renyi bound reaches it; write at least"):
        GaussianSparseVector.for_budget(**{**small, "epsilon": "0.02"}, sensitivity=COUNTS)


def test_the_event_tells_the_noise_as_it_is_drawn() -> None:
    given = {"threshold_sigma": "2.3", "query_sigma": "7.1", "yeses": 2, "questions": 9, "threshold": 0, "grid": "1/4"}
    event = GaussianSparseVector(**given, sensitivity=COUNTS).event
    assert (event.sensitivity, event.yeses, event.questions, event.with_gap) == (1, 2, 9, False)
    assert event.threshold_sigma_squared >= Fraction("2.3") ** 2
    assert event.query_sigma_squared == pytest.approx(7.1**2, rel=1e-6)
    assert event.monotone
    assert not GaussianSparseVector(**given, sensitivity=REPLACED).event.monotone
    assert not GaussianSparseVector(
        **given, sensitivity=ValueSensitivity.of_arrivals(Adjacency.ADD_REMOVE, up=1, down=3)
    ).event.monotone


def test_what_it_says_is_within_its_price_by_the_oracle() -> None:
    stream = GaussianSparseVector(
        threshold_sigma=4, query_sigma=6, yeses=1, questions=4, threshold=0, sensitivity=REPLACED
    )
    variant = SparseVectorVariant(threshold=Gaussian(4), query=Gaussian(6), yeses=1)
    found = max(
        renyi_divergence(variant, NeighbouringPair(here=[a, a, a, b], there=[a + 1, a + 1, a + 1, b - 1]), 8.0)
        for a in (-5, 0, 8)
        for b in (-30, -15, -5, 0)
    )
    assert 0.02 < found <= stream.loss.renyi(8.0)


def test_where_it_halts_has_the_law_of_its_noise() -> None:
    stream = GaussianSparseVector(
        threshold_sigma=3, query_sigma=5, yeses=1, questions=3, threshold=0, sensitivity=COUNTS
    )
    values, z = [-10, -10, -10], np.arange(-40, 41)
    mass = np.diff(ndtr((np.append(z, 41) - 0.5) / 3))

    def law(sigma):
        no = [ndtr((z - value - 0.5) / sigma) for value in values]
        yes_at = [mass @ (np.prod(no[:i], axis=0) * (1 - no[i])) for i in range(3)]
        return np.array([*yes_at, 1 - sum(yes_at)])

    counts = np.zeros(4)
    for _ in range(15_000):
        answers = stream.open().ask_many(values)
        counts[answers.positions[0] if answers.positions else 3] += 1
    assert fits(p_value(counts, law(5.0)))
    assert not fits(p_value(counts, law(6.0)))


def test_a_placed_stream_costs_the_same_and_errs_less() -> None:
    stream = GaussianSparseVector(
        threshold_sigma=9, query_sigma=20, yeses=3, questions=300, threshold=0, sensitivity=COUNTS
    )
    placed = stream.placed_for()
    assert placed.event == stream.event
    assert placed.margin("0.9", questions=300) < stream.margin("0.9", questions=300)


@pytest.mark.parametrize(
    "change", [{"epsilon": 0}, {"delta": 0}, {"delta": 1}, {"yeses": 0}, {"questions": 0}], ids=repr
)
def test_what_is_no_budget_is_refused(change) -> None:
    with pytest.raises(ParameterError):
        GaussianSparseVector.for_budget(**BUDGET | change, sensitivity=COUNTS)


def test_a_budget_is_never_rounded_up() -> None:
    for delta in ("1e-6", "1e-9", "1/3000"):  # some of which a float would raise
        stream = GaussianSparseVector.for_budget(
            epsilon="0.7", delta=delta, yeses=2, questions=5, threshold=0, sensitivity=COUNTS
        )
        below = float_below(Fraction(delta))
        assert Fraction(below) <= Fraction(delta)
        assert stream.loss.epsilon(below) <= float_below(Fraction(7, 10))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("delta", "1/3"), ("sensitivity", None), ("yeses", 0), ("questions", 10**9 + 1), ("epsilon", 0)],
    ids=["delta", "sensitivity", "yeses", "questions", "epsilon"],
)
def test_what_no_budget_can_be_is_refused_by_its_own_name(name, wrong) -> None:
    right = {"epsilon": 1, "delta": "1e-6", "yeses": 2, "questions": 5, "threshold": 0, "sensitivity": COUNTS}
    with pytest.raises(ParameterError) as refusal:
        GaussianSparseVector.for_budget(**right | {name: wrong})
    assert refusal.value.name == name
