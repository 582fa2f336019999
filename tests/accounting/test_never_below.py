"""No price is below the truth, at sizes that nobody asks for: every reference here is computed in eighty digits."""

import math
import random
from fractions import Fraction

import pytest
from mpmath import exp, expm1, log, log1p, mp, mpf, workdps

from accounting import reference
from lapwing.accounting import pricing
from lapwing.accounting.dominating_pair import DominatingPair
from lapwing.accounting.filters.account import Admission, open_account
from lapwing.accounting.filters.charge import SingleRelease
from lapwing.accounting.losses.selections import BoundedRangeLaw
from lapwing.accounting.pricing import PricedLoss, price
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import (
    Composed,
    DiscreteLaplaceNoise,
    ExponentialSelection,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    RandomizedResponseRelease,
    Repeated,
    SampledWithoutReplacement,
)
from lapwing.vocabulary.guarantee import ApproximateDP

DIGITS = 80


def as_mpf(number: Fraction) -> mpf:
    return mpf(number.numerator) / number.denominator


def selection_divergence(epsilon, alpha):
    """The largest Renyi divergence of a two-point pair with losses t and t - epsilon, at its best t."""
    e, a = mpf(epsilon), mpf(alpha) - 1
    mass = -expm1(-a * e)
    s = expm1(e) + mass
    return min(e, (a * log(a * s / ((a + 1) * mass)) + log(s / ((a + 1) * expm1(e)))) / a)


class TestTheDivergenceOfASelection:
    @pytest.mark.parametrize("epsilon", [1e-12, 1e-9, 1e-8, 1e-7, 1e-5, 1e-3, 0.1, 1.0, 7.0, 50.0])
    @pytest.mark.parametrize("alpha", [1.0001, 1.125, 2.0, 16.0, 64.0, 1024.0, 1e6])
    def test_it_is_never_below_the_truth_and_close_to_it(self, epsilon, alpha) -> None:
        with workdps(DIGITS):
            truth = selection_divergence(epsilon, alpha)
            assert truth <= mpf(BoundedRangeLaw(Fraction(epsilon)).renyi(alpha)) <= truth * (1 + mpf(10) ** -7)

    def test_it_is_not_at_random_sizes_either(self) -> None:
        rng = random.Random(11)
        with workdps(DIGITS):
            for _ in range(2000):
                epsilon, alpha = 10 ** rng.uniform(-12, 1.7), 1 + 10 ** rng.uniform(-4, 6)
                assert mpf(BoundedRangeLaw(Fraction(epsilon)).renyi(alpha)) >= selection_divergence(epsilon, alpha) > 0

    @pytest.mark.parametrize(
        ("epsilon", "times"), [("1e-8", 224 * 10**13), ("1e-8", 224 * 10**14), ("1e-9", 224 * 10**18)]
    )
    def test_countless_tiny_selections_are_not_free(self, epsilon, times) -> None:
        """As many coins of ±epsilon/2 are Gaussian with mu = sqrt(times) epsilon/2 to seven digits, and attainable."""
        event = Repeated(part=ExponentialSelection(epsilon=Fraction(epsilon)), times=times)
        mu = math.sqrt(times) * float(epsilon) / 2
        truth = reference.solve(lambda level: reference.gaussian_delta(mu, level), 1e-6, 1000)
        assert price(event).epsilon(1e-6) >= float(truth) * (1 - 1e-6)
        account = open_account(ApproximateDP(epsilon=1, delta=Fraction(1, 10**6)))
        if float(truth) > 1:
            assert not isinstance(account.quote(SingleRelease(event=event)), Admission)


NOISES = {
    "gaussian": GaussianNoise(l2_sensitivity_squared=1, sigma_squared=1),
    "laplace": LaplaceNoise(l1_sensitivity=1, scale=1),
    "selection": ExponentialSelection(epsilon=1),
    "response": RandomizedResponseRelease(epsilon=1, categories=5),
}


class TestASampleOfASample:
    @pytest.mark.parametrize("part", NOISES.values(), ids=NOISES)
    @pytest.mark.parametrize("alpha", [1.5, 16.0, 32.0, 128.0, 1024.0])
    def test_it_costs_what_one_smaller_sample_costs(self, part, alpha) -> None:
        half, quarter = Fraction(1, 2), Fraction(1, 4)
        inner = Repeated(part=PoissonSampled(part=part, rate=half), times=1)
        nested = price(PoissonSampled(part=inner, rate=half))
        flat = price(PoissonSampled(part=part, rate=quarter))
        assert nested.renyi(alpha) == pytest.approx(flat.renyi(alpha), rel=1e-9)
        assert nested.epsilon(1e-70) == pytest.approx(flat.epsilon(1e-70), rel=1e-9)

    @pytest.mark.parametrize("part", NOISES.values(), ids=NOISES)
    def test_so_does_a_part_of_a_part_of_fixed_size(self, part) -> None:
        inner = SampledWithoutReplacement(part=part, sample_size=20, population_size=40)
        nested = price(SampledWithoutReplacement(part=inner, sample_size=40, population_size=80))
        flat = price(SampledWithoutReplacement(part=part, sample_size=20, population_size=80))
        for alpha in (1.5, 16.0, 64.0):
            assert nested.renyi(alpha) == pytest.approx(flat.renyi(alpha), rel=1e-9)

    def test_the_divergence_is_the_sum_over_all_samples(self) -> None:
        with workdps(DIGITS):
            q, nested = (
                mpf(1) / 4,
                price(PoissonSampled(part=PoissonSampled(part=NOISES["gaussian"], rate="1/2"), rate="1/2")),
            )
            for alpha in (2, 16, 32, 128):
                terms = (
                    mp.binomial(alpha, j) * q**j * (1 - q) ** (alpha - j) * exp(mpf(j * j - j) / 2)
                    for j in range(alpha + 1)
                )
                truth = log(sum(terms)) / (alpha - 1)
                assert truth <= mpf(nested.renyi(float(alpha))) <= truth * (1 + mpf(10) ** -9)

    def test_tiny_samples_of_tiny_samples_are_priced(self) -> None:
        event = NOISES["gaussian"]
        for _ in range(5):
            event = PoissonSampled(part=event, rate=Fraction(1, 10**20))
        assert 0 <= price(event).epsilon(1e-9) < 1e-6


def geometric_delta(sensitivity, scale, level):
    """The profile of two-sided geometric noise, summed output by output where the loss is not at an end."""
    a, x = 1 / as_mpf(scale), mpf(level)
    q = exp(-a)
    total = max(mpf(0), 1 - exp(x - a * sensitivity)) / (1 + q)
    for j in range(1, sensitivity):
        total += max(mpf(0), 1 - exp(x - a * (sensitivity - 2 * j))) * (1 - q) / (1 + q) * q**j
    return total + max(mpf(0), 1 - exp(x + a * sensitivity)) * q**sensitivity / (1 + q)


class TestTheHighestAtomOfGeometricNoise:
    @pytest.mark.parametrize("delta", [1e-9, 1e-18, 1e-30, 1e-60])
    def test_it_is_not_lost_to_a_rounding(self, delta) -> None:
        """The product of six and the rounded 1/scale is below 6/scale by half a unit."""
        scale = Fraction(553358, 3905)
        found = price(DiscreteLaplaceNoise(l1_sensitivity=6, scale=scale)).epsilon(delta)
        with workdps(DIGITS):
            assert geometric_delta(6, scale, found) <= delta

    def test_no_random_law_is_below_the_truth(self) -> None:
        rng = random.Random(5)
        with workdps(DIGITS):
            for _ in range(100):
                sensitivity, scale = rng.randint(2, 30), Fraction(rng.randint(1, 10**6), rng.randint(1, 10**4))
                loss = price(DiscreteLaplaceNoise(l1_sensitivity=sensitivity, scale=scale))
                top = float(sensitivity / scale)
                for share in (-0.7, 0.0, 0.4, 1 - 1e-3, 1 - 1e-12, 1 - 2**-53):
                    assert mpf(loss.delta(top * share)) >= geometric_delta(sensitivity, scale, top * share)

    @pytest.mark.parametrize(("sensitivity", "scale"), [(8200, Fraction(5000)), (9001, Fraction(100))])
    def test_many_steps_are_outlined_from_above(self, sensitivity, scale) -> None:
        loss = price(DiscreteLaplaceNoise(l1_sensitivity=sensitivity, scale=scale))
        with workdps(30):
            for share in (-0.5, 0.0, 0.3, 0.9):
                level = float(sensitivity / scale) * share
                truth = geometric_delta(sensitivity, scale, level)
                assert truth <= mpf(loss.delta(level)) <= truth * (1 + mpf(10) ** -4)


class TestSmallSamples:
    @pytest.mark.parametrize("mu", [1e-9, 1e-3, 0.5])
    @pytest.mark.parametrize("rate", [1e-9, 1e-4, 0.3])
    @pytest.mark.parametrize("share", [0.001, 0.5, 3.0])
    def test_their_profile_keeps_its_digits_in_both_orders(self, mu, rate, share) -> None:
        event = PoissonSampled(
            part=GaussianNoise(l2_sensitivity_squared=Fraction(mu) ** 2, sigma_squared=1), rate=Fraction(rate)
        )
        level = mu * rate * share
        removed, added = (law.delta(level) for ((law, _),) in price(event).orders)
        with workdps(DIGITS):
            q, x = mpf(rate), mpf(level)
            left = 1 - (1 - q) * exp(x)
            truths = [
                q * reference.gaussian_delta(mu, log1p(expm1(x) / q)),
                left * reference.gaussian_delta(mu, log(q * exp(x) / left)) if left > 0 else mpf(0),
            ]
            for found, truth in zip((removed, added), truths, strict=True):
                assert truth <= mpf(found) <= truth * (1 + mpf(10) ** -4)

    @pytest.mark.parametrize(("mu", "rate", "alpha"), [(1e-3, 1e-7, 3), (0.2, 1e-5, 32), (1e-5, 1e-3, 8)])
    def test_their_divergence_keeps_its_digits(self, mu, rate, alpha) -> None:
        event = PoissonSampled(
            part=GaussianNoise(l2_sensitivity_squared=Fraction(mu) ** 2, sigma_squared=1), rate=Fraction(rate)
        )
        with workdps(DIGITS):
            q, m = mpf(rate), mpf(mu) ** 2
            total = sum(
                mp.binomial(alpha, j) * q**j * (1 - q) ** (alpha - j) * exp(m * (j * j - j) / 2)
                for j in range(alpha + 1)
            )
            truth = log(total) / (alpha - 1)
            assert truth <= mpf(price(event).renyi(float(alpha))) <= truth * (1 + mpf(10) ** -8)


class TestWhatAPriceCannotBe:
    """A price below what a part alone costs is refused before it is charged, whatever made it so."""

    @pytest.fixture(params=["delta", "epsilon", "renyi"])
    def asked(self, request):
        return {
            "delta": lambda loss: loss.delta(0.5),
            "epsilon": lambda loss: loss.epsilon(1e-6),
            "renyi": lambda loss: loss.renyi(8.0),
        }[request.param]

    @pytest.mark.parametrize("wrong", [-1e-9, 0.0])
    def test_it_is_refused_in_a_sentence(self, monkeypatch, asked, wrong) -> None:
        module = "lapwing.accounting.pricing"
        for name in ("composed_delta", "composed_epsilon", "delta_from_rho", "epsilon_from_rho"):
            monkeypatch.setattr(f"{module}.{name}", lambda *_: wrong)
        monkeypatch.setattr("lapwing.accounting.losses.continuous.LaplaceLaw.renyi", lambda *_: wrong)
        plan = price(Composed(parts=(LaplaceNoise(l1_sensitivity=1, scale=1), LaplaceNoise(l1_sensitivity=1, scale=2))))
        with pytest.raises(ParameterError, match="less than this event can cost"):
            asked(plan)

    def test_what_is_no_number_is_refused(self, monkeypatch) -> None:
        monkeypatch.setattr("lapwing.accounting.losses.continuous.LaplaceLaw.renyi", lambda *_: math.nan)
        monkeypatch.setattr("lapwing.accounting.pricing.composed_delta", lambda *_: math.nan)
        loss = price(Repeated(part=LaplaceNoise(l1_sensitivity=1, scale=1), times=2))
        for asked in (lambda: loss.renyi(8.0), lambda: loss.delta(0.5)):
            with pytest.raises(ParameterError, match="less than this event can cost"):
                asked()

    @pytest.mark.parametrize("part", [*NOISES.values(), PureRelease(epsilon=Fraction(1, 10**9))])
    @pytest.mark.parametrize("times", [1, 3, 1000])
    def test_true_prices_are_above_their_floors(self, part, times) -> None:
        loss = price(Repeated(part=part, times=times))
        for epsilon in (0.0, 1e-9, 0.3, 2.0, 40.0):
            assert 0 <= loss.delta(epsilon) <= 1
        for delta in (0.3, 1e-6, 1e-30, 1e-100):
            assert loss.epsilon(delta) >= 0
        for alpha in (1.0001, 2.0, 1e4):
            assert loss.renyi(alpha) >= 0

    def test_what_is_only_a_bound_is_no_floor(self) -> None:
        """The pair of a mixture of worst cases lies above each of them, so that it must not refuse a true price."""
        loss = price(
            SampledWithoutReplacement(part=LaplaceNoise(l1_sensitivity=1, scale=1), sample_size=1, population_size=2)
        )
        assert pricing._floor(0.1, loss.orders) == 0.0
        worst = PricedLoss(price(PureRelease(epsilon=1)).factors)
        assert pricing._floor(0.1, worst.orders) > 0
        assert DominatingPair.worst().delta(5.0) == 1.0
