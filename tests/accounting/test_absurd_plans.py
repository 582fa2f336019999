"""Plans that nobody would make in earnest get a price or a refusal, never a failure of arithmetic."""

from fractions import Fraction

import pytest

from lapwing.accounting.filters.account import Admission, open_account
from lapwing.accounting.filters.approximate import ApproximateFilter
from lapwing.accounting.filters.charge import SingleRelease
from lapwing.accounting.filters.remaining import Refusal
from lapwing.accounting.pricing import price
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import (
    ApproximateRelease,
    Composed,
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
def test_ten_septillion_uses_of_a_tiny_sample_are_refused(part) -> None:
    """Each of 1e25 uses has one chance in 1e20: the person is met about 1e5 times."""
    event = Repeated(part=PoissonSampled(part=part, rate=Fraction(1, 10**20)), times=10**25)
    assert isinstance(ACCOUNT.quote(SingleRelease(event=event)), Refusal)


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
        ACCOUNT.quote(SingleRelease(event=Repeated(part=PoissonSampled(part=part, rate=rate), times=times))), verdict
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
    assert isinstance(ACCOUNT.quote(SingleRelease(event=selection)), Refusal)


def test_a_residue_arm_gives_up_where_its_slack_is_finer_than_its_arithmetic() -> None:
    """proofs/residue_certificate.md needs a slack of 2^-365; heavy tails use up an eighth of what is left each time."""
    tenth = PureRelease(epsilon=Fraction(1, 100))
    filter_ = ApproximateFilter.fresh(Fraction(1), Fraction(1, 10**6), ACCOUNT.shares)
    fine = ApproximateFilter(pure=None, residue=filter_.residue, slack=Fraction(1, 2**340), failures=Fraction(0))
    spent = ApproximateFilter(pure=None, residue=filter_.residue, slack=Fraction(1, 2**363), failures=Fraction(0))
    account = open_account(ApproximateDP(epsilon=1, delta=Fraction(1, 10**6)))
    cost = account.quote(SingleRelease(event=tenth)).cost
    assert fine._residue_step(tenth, cost) is not None
    assert spent._residue_step(tenth, cost) is None


HUGE = LaplaceNoise(l1_sensitivity=4 * 10**7, scale=1)
NOTHING_HIDDEN = ApproximateRelease(epsilon=1, delta=1 - Fraction(1, 10**20))
UNREASONABLE = {
    "a huge loss beside a small one": Composed(parts=(HUGE, PARTS["laplace"])),
    "the largest loss that can be written": Composed(parts=(LaplaceNoise(l1_sensitivity=10**99, scale=1), HUGE)),
    "a huge selection": Composed(parts=(ExponentialSelection(epsilon=10**8), PARTS["laplace"])),
    "a huge pure release": Composed(parts=(PureRelease(epsilon=10**99), PARTS["laplace"])),
    "next to no noise": Composed(parts=(GaussianNoise(l2_sensitivity_squared=10**90, sigma_squared=1), HUGE)),
    "next to all noise": Repeated(
        part=DiscreteGaussianNoise(l2_sensitivity_squared=3, sigma_squared=10**99, dimension=9), times=10
    ),
    "nothing hidden": Composed(parts=(NOTHING_HIDDEN, PARTS["laplace"])),
    "nothing hidden, three times": Repeated(part=NOTHING_HIDDEN, times=3),
    "what cannot be composed, on a sample": Composed(
        parts=(
            PoissonSampled(part=Composed(parts=(Repeated(part=HUGE, times=10**12), HUGE)), rate=Fraction(1, 2)),
            HUGE,
        )
    ),
    "a hundred million steps": DiscreteLaplaceNoise(l1_sensitivity=10**8, scale=10**8),
    "more steps than floats can count": Repeated(
        part=DiscreteLaplaceNoise(l1_sensitivity=10**99, scale=10**98), times=50
    ),
    "an inflation beyond all numbers": DiscreteGaussianNoise(
        l2_sensitivity_squared=4, sigma_squared=Fraction(1, 10**8), dimension=10**9
    ),
    "a wide and rare loss beside a narrow one": Composed(
        parts=(
            PoissonSampled(part=LaplaceNoise(l1_sensitivity=600, scale=1), rate=Fraction(1, 2**80)),
            Repeated(part=LaplaceNoise(l1_sensitivity=1, scale=10**6), times=5),
        )
    ),
    "a loss of a billion, rarely": Composed(
        parts=(
            ApproximateRelease(epsilon=10**9, delta=Fraction(1, 10**30)),
            Repeated(part=LaplaceNoise(l1_sensitivity=1, scale=10**9), times=5),
        )
    ),
    "more uses than can be counted": Repeated(
        part=Composed(parts=(PARTS["laplace"], PoissonSampled(part=PARTS["laplace"], rate=Fraction(1, 3)))),
        times=10**99,
    ),
}


@pytest.mark.parametrize("event", UNREASONABLE.values(), ids=UNREASONABLE)
def test_an_unreasonable_event_has_a_price(event) -> None:
    """It may be infinite. No arithmetic fails, nothing takes long, and nothing needs much memory."""
    loss = price(event)
    assert loss.epsilon(1e-6) >= 0
    assert 0 <= loss.delta(0.9) <= 1
    assert loss.renyi(8.0) >= 0
    for pair in loss.pairs():
        assert len(pair.losses) <= 256
    assert isinstance(ACCOUNT.quote(SingleRelease(event=event)), Admission | Refusal)


@pytest.mark.parametrize("times", [10**15, 10**25, 10**60])
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_more_uses_than_are_counted_are_refused_however_small_the_sample(part, times) -> None:
    """Each is met once in a hundred thousand: what is claimed of one use is not multiplied by such a number."""
    event = Repeated(part=PoissonSampled(part=part, rate=Fraction(10**5, times)), times=times)
    assert isinstance(ACCOUNT.quote(SingleRelease(event=event)), Refusal)


def test_a_plan_of_very_many_different_parts_is_refused_in_a_sentence() -> None:
    parts = tuple(LaplaceNoise(l1_sensitivity=1, scale=10**6 + i) for i in range(4097))
    with pytest.raises(ParameterError, match="4097 different releases in one plan are too many"):
        price(Composed(parts=parts))
    assert price(Composed(parts=parts[:300])).epsilon(1e-6) < 1e-3


def test_an_event_inside_thousands_of_others_is_refused_in_a_sentence() -> None:
    event = PARTS["laplace"]
    for _ in range(5000):
        event = Repeated(part=event, times=1)
    with pytest.raises(ParameterError, match="nested too deeply"):
        price(event)
