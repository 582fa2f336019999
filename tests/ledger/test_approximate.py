"""An (epsilon, delta) account in the ledger: residues are stored to the last bit, and trusted on replay."""

from dataclasses import replace
from fractions import Fraction

import pytest

from lapwing.accounting.filters import account
from lapwing.accounting.filters.charge import SingleRelease
from lapwing.ledger import claims, replay
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import RoundOutcome
from lapwing.vocabulary.errors import BudgetExceededError, LedgerDamagedError
from lapwing.vocabulary.event import DiscreteLaplaceNoise, GaussianNoise, PureRelease
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP
from ledger.clinic import SEED, Place, decide_one, intend_one, opening, request

BUDGET = ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6))
GAUSSIAN = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(100))
SMALL = PureRelease(epsilon=Fraction(1, 50))


@pytest.fixture
def place(quick_path) -> Place:
    return Place.in_file(quick_path / "ledger.db")


def charge(ledger, key: str, event) -> None:
    ledger.questions.charge(request(key, charge=SingleRelease(event=event)))


def test_what_is_left_is_the_same_after_reopening_to_the_last_bit(place) -> None:
    with place.clinic(budget=BUDGET) as ledger:
        for number in range(3):
            charge(ledger, f"g{number}", GAUSSIAN)
            charge(ledger, f"p{number}", SMALL)
        account = ledger.account("clinic")
        residue = account.filters["everyone"].residue
        assert 0 < residue < 0.056
    with place.open() as again:
        assert again.account("clinic") == account
        assert again.account("clinic").filters["everyone"].residue.hex() == residue.hex()
        verify(again)


def test_more_is_admitted_than_a_sum_would_and_then_no_more(place) -> None:
    with place.clinic(budget=BUDGET) as ledger:
        fits = ledger.account("clinic").how_many(SingleRelease(event=SMALL))
        assert fits > BUDGET.epsilon / SMALL.epsilon
        for number in range(fits):
            charge(ledger, f"{number}", SMALL)
        with pytest.raises(BudgetExceededError):
            charge(ledger, "one more", SMALL)
        verify(ledger)


def test_a_stream_is_paid_whole_by_one_arm_and_by_its_yeses_in_the_other(place) -> None:
    with place.clinic(budget=BUDGET) as ledger:
        ledger.reservations.open(opening(opening="1/100", price="1/100"))
        intend_one(ledger, "s", number=1, key="a", question="q", sealed=SEED)
        before = ledger.account("clinic").filters["everyone"]
        decide_one(ledger, "s", number=1, outcome=RoundOutcome.YES, answer="yes")
        ledger.reservations.close("s")
        after = ledger.account("clinic").filters["everyone"]
        assert after.residue == before.residue
        assert after.pure.left == Fraction(98, 100)
        verify(ledger)


def test_a_raised_cap_charges_the_history_anew(place) -> None:
    with place.clinic(budget=BUDGET) as ledger:
        charge(ledger, "g", GAUSSIAN)
        charge(ledger, "p", SMALL)
        ledger.administration.set_budget("clinic", replace(BUDGET, epsilon=Fraction(2)))
        charge(ledger, "q", SMALL)
        verify(ledger)


def test_residues_of_another_build_are_believed_and_larger_ones_are_not(place, monkeypatch) -> None:
    with place.clinic(budget=BUDGET) as ledger:
        charge(ledger, "g", GAUSSIAN)
        charge(ledger, "p", SMALL)
        monkeypatch.setattr(claims, "_OTHER_BUILD", 1 + 1e-9)
        verify(ledger)
        monkeypatch.setattr(claims, "_OTHER_BUILD", 1 - 1e-9)
        with pytest.raises(LedgerDamagedError):
            verify(ledger)


LAPLACE = DiscreteLaplaceNoise(l1_sensitivity=38, scale=Fraction(380))
"""Its rho is computed in floating point."""


@pytest.mark.parametrize(
    ("other", "sound"), [(1 + 2**-50, True), (1 - 2**-50, True), (1 + 1e-6, False), (1 - 1e-6, False)]
)
@pytest.mark.parametrize("rho", [True, False], ids=["rho", "delta"])
def test_a_price_in_floats_may_differ_in_its_last_digits_on_another_machine(
    place, monkeypatch, other, sound, rho
) -> None:
    """Processors round otherwise: a ledger that was written on one opened as damaged on another."""
    budget = ConcentratedDP(rho=Fraction(3, 100)) if rho else BUDGET
    with place.clinic(budget=budget) as ledger:
        charge(ledger, "g", LAPLACE)
        charge(ledger, "p", LAPLACE)
        ledger.administration.set_budget("clinic", replace(budget, **{"rho" if rho else "epsilon": Fraction(2)}))
        real = replay.cost_of
        elsewhere = lambda one: replace(real(one), rho=real(one).rho * Fraction(other))  # noqa: E731
        monkeypatch.setattr(replay, "cost_of", elsewhere)
        monkeypatch.setattr(account, "cost_of", elsewhere)
        if sound:
            verify(ledger)
        else:
            with pytest.raises(LedgerDamagedError, match="was charged another price"):
                verify(ledger)
