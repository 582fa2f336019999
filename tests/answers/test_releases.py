"""What the bounds of an answer say holds for all of its numbers at once, by the exact law of the noise."""

from fractions import Fraction

import numpy as np
import pytest

from lapwing import count, funnel, mean, top
from lapwing.answers.target import AtEpsilon, AtRho, Within, in_each_way, release_of
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.queries.planning.planner import plan
from lapwing.queries.statistics.counts import People
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, PureDP
from session.clinic import population

FAR = 400


def noise_law(mechanism):
    """Probabilities of -FAR ... FAR, from the definition of the noise that the mechanism draws."""
    x = np.arange(-FAR, FAR + 1)
    if isinstance(mechanism, GeometricMechanism):
        weights = np.exp(-np.abs(x) / float(mechanism.event.scale))
    else:
        weights = np.exp(-(x**2) / (2 * float(mechanism.event.sigma_squared)))
    return weights / weights.sum()


def chance_that_all_hold(law, margins) -> float:
    """P(every partial sum of the noise is within its margin): sums are built up, and cut where a bound fails."""
    x = np.arange(-FAR, FAR + 1)
    alive = (x == 0).astype(float)
    for margin in margins:
        alive = np.convolve(alive, law, mode="same") * (np.abs(x) <= margin)
    return float(alive.sum())


WISHES = {
    "pure": (PureDP(epsilon=Fraction(9)), AtEpsilon(epsilon=Fraction(1, 2))),
    "rho": (ConcentratedDP(rho=Fraction(9)), AtRho(rho=Fraction(1, 20))),
}


@pytest.mark.parametrize("confidence", ["0.5", "0.95"])
@pytest.mark.parametrize("budget", WISHES)
@pytest.mark.parametrize("steps", [2, 5])
def test_the_bounds_of_all_steps_of_a_funnel_hold_at_once(budget, steps, confidence) -> None:
    asked = plan(funnel("patients", [f"age > {i}" for i in range(steps)]), population())
    release = release_of(asked, WISHES[budget][1], WISHES[budget][0])
    cells = release.values([100] * release.plan.numbers, confidence)
    margins = [cell.value - cell.low for cell in cells]
    assert margins == [cell.high - cell.value for cell in cells]
    assert [cell.value for cell in cells] == [100 * (steps - i) for i in range(steps)], "a step is a sum of bins"
    held = chance_that_all_hold(noise_law(release.mechanism), margins[::-1])
    assert held >= float(confidence)
    assert held <= 1 - (1 - float(confidence)) / (2 * steps), "and they are not much wider than they must be"


@pytest.mark.parametrize("confidence", ["0.5", "0.95"])
@pytest.mark.parametrize("budget", WISHES)
def test_the_bounds_of_all_cells_of_a_histogram_hold_at_once(budget, confidence) -> None:
    asked = plan(count("patients", by="sex"), population())
    release = release_of(asked, WISHES[budget][1], WISHES[budget][0])
    margins = [cell.value - cell.low for cell in release.values([100] * release.plan.numbers, confidence)]
    law = noise_law(release.mechanism)
    each = [chance_that_all_hold(law, [margin]) for margin in margins]
    assert np.prod(each) >= float(confidence) > np.prod([chance_that_all_hold(law, [m - 1]) for m in margins])


@pytest.mark.parametrize("question", [count("patients"), top("patients", "sex", 1)], ids=["noise", "choice"])
def test_an_accuracy_that_no_noise_has_is_refused(question) -> None:
    sure = Within(margin=Fraction(0), confidence=1 - Fraction(1, 10**40))
    with pytest.raises(ParameterError, match="is out of reach at this confidence"):
        release_of(plan(question, population()), sure, WISHES["pure"][0])


def test_the_error_of_a_mean_is_told_for_numbers_of_rows_and_falls_with_them() -> None:
    release = release_of(plan(mean("patients", "age"), population()), WISHES["pure"][1], WISHES["pure"][0])
    few, many = (release.error_if(rows, "0.95") for rows in (1_000, 100_000))
    assert few / 110 < many < few / 90
    with pytest.raises(ParameterError, match="or offer an epsilon; the answer has its interval"):
        release_of(release.plan, Within(margin=Fraction(1), confidence=Fraction(1, 2)), WISHES["pure"][0])


@pytest.mark.parametrize(
    "wish",
    [AtRho(rho=Fraction(1)), Within(margin=Fraction(3), confidence=Fraction(9, 10)), AtEpsilon(epsilon=Fraction(1))],
    ids=lambda wish: type(wish).__name__,
)
def test_values_that_are_not_public_are_shown_for_an_epsilon_with_a_delta_only(wish) -> None:
    budget = ApproximateDP(epsilon=Fraction(9), delta=Fraction(1, 1000))
    with pytest.raises(ParameterError, match="delta = None is missing, and the values of city are not public"):
        release_of(plan(count("patients", by="city"), population()), wish, budget)


def test_what_can_be_paid_in_one_way_only_is_paid_in_it_beside_what_has_more() -> None:
    assert in_each_way([["a", "b"], ["c"], ["d", "e", "f"]]) == [["a", "c", "d"], ["b", "c", "e"], ["b", "c", "f"]]
    assert in_each_way([]) == []


def test_a_margin_is_searched_for_once_at_each_confidence_and_few_are_remembered(monkeypatch) -> None:
    release = release_of(plan(count("patients"), population()), WISHES["pure"][1], WISHES["pure"][0])
    searched, margin = [], People.margin
    monkeypatch.setattr(People, "margin", lambda *given: searched.append(given[-1]) or margin(*given))
    found = [release.margin(confidence) for confidence in ("0.95", Fraction(95, 100), "0.9", "0.95")]
    assert searched == [Fraction(95, 100), Fraction(9, 10)]
    assert found == [release.mechanism.margin(confidence) for confidence in ("0.95", "0.95", "0.9", "0.95")]
    for i in range(1, 40):
        release.margin(Fraction(i, 40))
    assert len(release._margins) <= 16
    assert release == release_of(release.plan, WISHES["pure"][1], WISHES["pure"][0]), (
        "what is remembered is no part of it"
    )
