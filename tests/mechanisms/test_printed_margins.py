"""The printed margins are what the documents print, and true (or false) of the noise that the documents draw."""

import math

import pytest
from scipy.integrate import quad

from lapwing.errors import ParameterError
from lapwing.mechanisms import AboveThreshold, GeometricMechanism, printed_margins


def below(value: float, scale: float) -> float:
    """Return P(Laplace noise of this scale < value)."""
    return math.exp(value / scale) / 2 if value < 0 else 1 - math.exp(-value / scale) / 2


def all_right(margin: float, *, noes: int, threshold_scale: float, value_scale: float, yeses: int) -> float:
    """Return the probability that values `margin` below and above are all decided right, by quadrature."""

    def given(shift: float) -> float:
        density = math.exp(-abs(shift) / threshold_scale) / (2 * threshold_scale)
        return density * below(margin + shift, value_scale) ** noes * (1 - below(shift - margin, value_scale)) ** yeses

    return sum(
        quad(given, *ends, limit=200)[0] for ends in ((-math.inf, -margin), (-margin, margin), (margin, math.inf))
    )


@pytest.mark.parametrize(("questions", "beta", "printed"), [(10, 0.1, 42.39), (100, 0.05, 66.35), (1000, 0.05, 84.77)])
def test_theorem_8_is_as_printed_true_and_loose(questions, beta, printed) -> None:
    margin = printed_margins.above_threshold(epsilon=1, questions=questions, confidence=1 - beta)
    assert margin == pytest.approx(printed, abs=0.01)
    scales = {"threshold_scale": 2, "value_scale": 4}
    assert all_right(margin, noes=questions - 1, yeses=1, **scales) >= 1 - beta
    assert all_right(margin / 2, noes=questions - 1, yeses=1, **scales) >= 1 - beta  # twice too large
    assert all_right(margin / 3.2, noes=questions - 1, yeses=1, **scales) < 1 - beta
    exact = AboveThreshold.as_printed(epsilon=1, threshold=0, sensitivity=1).margin(1 - beta, questions=questions)
    assert all_right(float(exact), noes=questions - 1, yeses=1, **scales) == pytest.approx(1 - beta, abs=0.02)


def test_theorem_8_scales_with_sensitivity_and_price() -> None:
    one = printed_margins.above_threshold(epsilon=1, questions=100, confidence="0.95")
    assert printed_margins.above_threshold(epsilon="0.5", questions=100, confidence="0.95", sensitivity=3) == (
        pytest.approx(6 * one)
    )


@pytest.mark.parametrize(("yeses", "questions", "printed"), [(1, 100, 33.18), (5, 1000, 211.93), (20, 1000, 847.73)])
def test_the_theorem_of_document_002_is_as_printed_and_true_of_its_noise(yeses, questions, printed) -> None:
    margin = printed_margins.sparse_vector(epsilon=1, yeses=yeses, questions=questions, confidence="0.95")
    assert margin == pytest.approx(printed, abs=0.01)
    chance = all_right(margin, noes=questions - yeses, yeses=yeses, threshold_scale=2, value_scale=2 * yeses)
    assert chance >= 0.95
    assert all_right(margin / 4, noes=questions - yeses, yeses=yeses, threshold_scale=2, value_scale=2 * yeses) < 0.95


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 8])
def test_laplace_noise_on_every_count_keeps_the_mended_margin_and_not_the_printed_one(epsilon) -> None:
    def fails(margin):
        return 1 - (1 - math.exp(-margin * epsilon / 100)) ** 100

    asked = {"epsilon": epsilon, "questions": 100, "confidence": "0.95"}
    mended, printed = printed_margins.laplace(**asked), printed_margins.laplace_as_printed(**asked)
    assert 0.045 < fails(mended) <= 0.05
    assert (fails(printed) > 0.05) == (epsilon > 1)
    ours = GeometricMechanism(l1_sensitivity=100, epsilon=str(epsilon)).margin("0.95", values=100)
    assert ours <= mended < 1.01 * ours


@pytest.mark.parametrize(
    "wrong", [{"epsilon": 0}, {"questions": 0}, {"confidence": 1}, {"confidence": 95}, {"sensitivity": -1}]
)
def test_what_has_no_margin_is_refused_by_name(wrong) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        printed_margins.above_threshold(**{"epsilon": 1, "questions": 10, "confidence": "0.9"} | wrong)
