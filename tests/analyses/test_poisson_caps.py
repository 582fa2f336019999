"""The cap of a Poisson model: how it bends slopes where counts vary more, and that it is raised then."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from lapwing.analyses.regression_models import PoissonModel

LEVELS = np.arange(21.0)


def capped_mean(law, cap):
    return sum(law.sf(j) for j in range(cap))


@pytest.mark.parametrize(("rate", "cap", "dispersion"), [(0.5, 1, 1.25), (0.5, 4, 2.0), (3.0, 5, 1.5), (0.1, 2, 3.0)])
def test_a_cap_bends_slopes_as_a_negative_binomial_law_says(rate, cap, dispersion) -> None:
    """By scipy's laws: the log rate of the Poisson law with the same capped mean, a little lower and higher."""
    shape, found = rate / (dispersion - 1), []
    for each in (rate * math.exp(-0.1), rate * math.exp(0.1)):
        mean = capped_mean(stats.nbinom(shape, shape / (shape + each)), cap)
        found.append(math.log(brentq(lambda r, mean=mean: capped_mean(stats.poisson(r), cap) - mean, 1e-9, each)))
    by_hand = (found[1] - found[0]) / 0.2 - 1
    model = PoissonModel(levels=LEVELS, rate=rate, cap=cap, dispersion=dispersion)
    assert model.bend == pytest.approx(by_hand, abs=1e-6)
    assert by_hand < -0.005
    assert PoissonModel(levels=LEVELS, rate=rate, cap=cap).bend == 0


def test_a_capped_count_varies_as_its_law_says() -> None:
    model = PoissonModel(levels=LEVELS, rate=1.0, cap=3)
    for eta in (-2.0, 0.0, 1.5):
        chances = stats.poisson(math.exp(eta)).pmf(np.arange(40))
        capped = np.minimum(np.arange(40), 3)
        variance = (chances * capped**2).sum() - (chances * capped).sum() ** 2
        assert float(model.variance(np.array([eta]))[0]) == pytest.approx(variance, abs=1e-9)


def test_what_varies_more_is_seen_through_its_cap_and_raises_it() -> None:
    seeing = PoissonModel.with_best_cap(LEVELS, 0.5, 10_000, 60.0).seeing()
    assert seeing.cap >= 2
    random = np.random.default_rng(1)
    calm, wild = random.poisson(0.5, 200_000), random.poisson(0.5 * random.gamma(1.0, 1.0, 200_000))
    told = []
    for counts in (calm, wild):
        capped = np.minimum(counts, seeing.cap)
        mean = float(capped.mean())
        rate = brentq(lambda r, mean=mean: capped_mean(stats.poisson(r), seeing.cap) - mean, 1e-9, 2)
        told.append(float(capped.var() / seeing.variance(np.array([math.log(rate)]))[0]))
    assert told[0] == pytest.approx(1, abs=0.02)
    plain, raised = (seeing.for_dispersion(one, 0.01, 1_000_000, 60.0) for one in told)
    assert plain.dispersion < 1.1
    assert 1.4 < raised.dispersion < 1.6  # the truth is 1.5
    assert raised.cap > plain.cap
    assert abs(raised.bend) < 0.01


def test_under_a_cap_of_one_nothing_is_told() -> None:
    model = PoissonModel(levels=np.arange(2.0), rate=0.1, cap=1)
    assert model.seeing().cap == 1, "there is nothing above it to be seen"
    assert model.for_dispersion(3.0, 0.1, 1000, 10.0) is model
