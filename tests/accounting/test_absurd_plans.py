"""Plans that nobody would make in earnest get a price or a refusal, never a failure of arithmetic."""

from fractions import Fraction

import pytest

from lapwing.accounting.filters.account import Admission
from lapwing.accounting.filters.charge import OneShot, WholeBudget
from lapwing.accounting.filters.opening import open_account
from lapwing.accounting.filters.refusal import Refusal
from lapwing.accounting.filters.two_arms import TwoArms
from lapwing.accounting.pricing import price
from lapwing.vocabulary.event import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    ExponentialSelection,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    Repeated,
    SampledWithoutReplacement,
)
from lapwing.vocabulary.guarantee import ApproximateDP

ACCOUNT = open_account(ApproximateDP(epsilon=1, delta=Fraction(1, 10**6)))
PARTS = {
    "gaussian": GaussianNoise(l2_sensitivity_squared=1, sigma_squared=1),
    "laplace": LaplaceNoise(l1_sensitivity=1, scale=1),
    "pure": PureRelease(epsilon=1),
    "discrete laplace": DiscreteLaplaceNoise(l1_sensitivity=1, scale=2),
    "discrete gaussian": DiscreteGaussianNoise(l2_sensitivity_squared=1, sigma_squared=4, dimension=1),
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("charge", [OneShot, WholeBudget])
def test_ten_septillion_uses_of_a_tiny_sample_are_refused(part, charge) -> None:
    """Each of 1e25 uses has one chance in 1e20: the person is met about 1e5 times."""
    event = Repeated(part=PoissonSampled(part=part, rate=Fraction(1, 10**20)), times=10**25)
    assert isinstance(ACCOUNT.quote(charge(event=event)), Refusal)


@pytest.mark.parametrize(
    ("rate", "times", "verdict"),
    [
        (Fraction(1, 10**20), 10**6, Admission),
        (Fraction(1, 10**30), 3, Admission),
        (Fraction(1, 10**30), 10**10, Admission),
        (Fraction(1), 10**8, Refusal),
        (Fraction(14, 100), 7 * 10**7, Refusal),
    ],
    ids=["a million", "three", "ten billion", "all", "most"],
)
@pytest.mark.parametrize("part", [PARTS["laplace"], PARTS["discrete laplace"]], ids=["laplace", "discrete laplace"])
def test_what_costs_nothing_is_admitted_and_what_costs_everything_is_not(part, rate, times, verdict) -> None:
    assert isinstance(
        ACCOUNT.quote(OneShot(event=Repeated(part=PoissonSampled(part=part, rate=rate), times=times))), verdict
    )


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("bits", [53, 54, 60, 200])
def test_a_sample_of_nearly_everyone_costs_what_everyone_does(part, bits) -> None:
    """Half an ulp below 1 there is no float; the price is that of the whole, or a hair less."""
    whole = price(part).epsilon(1e-6)
    nearly = price(PoissonSampled(part=part, rate=1 - Fraction(1, 2**bits))).epsilon(1e-6)
    assert whole * (1 - 1e-6) <= nearly <= whole * (1 + 1e-6)
    exchanged = SampledWithoutReplacement(part=part, sample_size=2**bits - 1, population_size=2**bits)
    assert price(exchanged).epsilon(1e-6) <= whole * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", [700, 710, 800, 5000, 10**6])
def test_a_selection_at_any_epsilon_has_pairs(epsilon) -> None:
    selection = ExponentialSelection(epsilon=epsilon)
    for pair in price(selection).pairs(257):
        assert float(pair.masses.sum()) + pair.infinite_mass == pytest.approx(1)
        assert pair.delta(epsilon) == pytest.approx(0, abs=1e-12)
    assert isinstance(ACCOUNT.quote(OneShot(event=selection)), Refusal)


def test_a_residue_arm_gives_up_where_its_slack_is_finer_than_its_arithmetic() -> None:
    """proofs/residue_certificate.md needs a slack of 2^-365; heavy tails use up an eighth of what is left each time."""
    tenth = PureRelease(epsilon=Fraction(1, 100))
    filter_ = TwoArms.opened(Fraction(1), Fraction(1, 10**6), ACCOUNT.shares)
    fine = TwoArms(
        pure=None, residue=filter_.residue, slack=Fraction(1, 2**340), failures=Fraction(0), delta=filter_.delta
    )
    spent = TwoArms(
        pure=None, residue=filter_.residue, slack=Fraction(1, 2**363), failures=Fraction(0), delta=filter_.delta
    )
    account = open_account(ApproximateDP(epsilon=1, delta=Fraction(1, 10**6)))
    cost = account.quote(OneShot(event=tenth)).cost
    assert fine._residue_step(tenth, cost) is not None
    assert spent._residue_step(tenth, cost) is None
