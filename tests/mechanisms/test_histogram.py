from fractions import Fraction
from itertools import product

import mpmath as mp
import numpy as np
import pytest

from lapwing.mechanisms.histogram import gaussian_histogram, geometric_histogram
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import DiscreteGaussianNoise, DiscreteLaplaceNoise
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import Adjacency
from mechanisms import laws_by_hand as by_hand

MOVES = {  # what one person's difference does to three bins
    Adjacency.ADD_REMOVE: [(1, 0, 0), (0, -1, 0), (0, 0, 1)],
    Adjacency.REPLACE: [(1, -1, 0), (0, 1, -1), (-1, 0, 1)],
}


@pytest.mark.parametrize("adjacency", Adjacency)
def test_all_bins_together_cost_one_epsilon(adjacency) -> None:
    """The joint law of three bins: losses of independent coordinates add up."""
    mechanism = geometric_histogram(bins=3, adjacency=adjacency, epsilon="0.6")
    law = by_hand.discrete_laplace(mechanism.event.scale, 40)
    worst = max(
        sum(by_hand.largest_loss(law, {x + move: p for x, p in law.items()}) for move in moves if move)
        for moves in MOVES[adjacency]
    )
    assert abs(worst - by_hand.number("0.6")) < by_hand.ROUNDING


@pytest.mark.parametrize("adjacency", Adjacency)
def test_all_bins_together_cost_one_rho(adjacency) -> None:
    mechanism = gaussian_histogram(bins=3, adjacency=adjacency, rho="0.05")
    law = by_hand.discrete_gaussian(mechanism.event.sigma_squared, 150)
    kullback_leibler = mp.fsum(p * mp.log(p / law[x + 1]) for x, p in law.items() if x < 150)
    divergence = sum(map(abs, MOVES[adjacency][0])) * kullback_leibler
    assert by_hand.number("0.0499") < divergence <= by_hand.number("0.05") + by_hand.ROUNDING


@pytest.mark.parametrize(("adjacency", "touched"), [(Adjacency.ADD_REMOVE, 1), (Adjacency.REPLACE, 2)])
@pytest.mark.parametrize("group", [1, 4])
def test_the_sensitivities_are_those_of_whole_people(adjacency, touched, group) -> None:
    pure = geometric_histogram(bins=9, adjacency=adjacency, protects_groups_of=group, epsilon=1)
    assert pure.event == DiscreteLaplaceNoise(l1_sensitivity=touched * group, scale=Fraction(touched * group))
    concentrated = gaussian_histogram(bins=9, adjacency=adjacency, protects_groups_of=group, rho="1/2")
    assert concentrated.event == DiscreteGaussianNoise(
        l2_sensitivity_squared=touched * group**2, sigma_squared=Fraction(touched * group**2), dimension=9
    )


def test_groups_are_covered_whichever_way_they_move() -> None:
    for moves in product(MOVES[Adjacency.REPLACE], repeat=2):
        bins = sum(np.array(move) for move in moves)
        assert np.abs(bins).sum() <= 2 * 2
        assert (bins**2).sum() <= 2 * 2**2


def test_an_accuracy_is_meant_of_all_bins_at_once() -> None:
    wanted = {"bins": 20, "adjacency": Adjacency.ADD_REMOVE, "within": 15, "confidence": "0.9"}
    pure, concentrated = geometric_histogram(**wanted), gaussian_histogram(**wanted)
    for law in (
        by_hand.discrete_laplace(pure.event.scale, 400),
        by_hand.discrete_gaussian(concentrated.event.sigma_squared, 100),
    ):
        assert mp.mpf("0.9") <= (1 - by_hand.tail(law, 15)) ** 20 < mp.mpf("0.9001")


@pytest.mark.parametrize("counts", [[1, 2, 3], [1] * 10, 5], ids=["few", "many", "one"])
@pytest.mark.parametrize(("histogram", "cost"), [(geometric_histogram, "epsilon"), (gaussian_histogram, "rho")])
def test_a_histogram_has_its_bins(histogram, cost, counts) -> None:
    mechanism = histogram(bins=9, adjacency=Adjacency.ADD_REMOVE, **{cost: 1})
    for value in (counts, Sensitive(counts)):
        with pytest.raises(ParameterError, match="does not have the 9 coordinates"):
            mechanism.release(value)


@pytest.mark.parametrize("adjacency", ["replace", None, 1], ids=repr)
@pytest.mark.parametrize(("histogram", "cost"), [(geometric_histogram, "epsilon"), (gaussian_histogram, "rho")])
def test_what_is_no_adjacency_is_refused(histogram, cost, adjacency) -> None:
    with pytest.raises(ParameterError, match=r"is not an adjacency; write Adjacency\.ADD_REMOVE or Adjacency\.REPLACE"):
        histogram(bins=9, adjacency=adjacency, **{cost: 1})
