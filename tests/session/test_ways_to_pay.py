"""An accuracy is paid for in the way that leaves more of the budget, whatever was charged before."""

from fractions import Fraction
from types import SimpleNamespace

import pytest

from lapwing import count
from lapwing.accounting.filters.account import Account
from lapwing.vocabulary import deadline
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, PureDP
from session.clinic import door, new_ledger
from session.real_tables import Tables

BOTH = ApproximateDP(epsilon=Fraction(5), delta=Fraction(1, 10**6))
BUDGETS = {"pure": PureDP(epsilon=Fraction(5)), "rho": ConcentratedDP(rho=Fraction(1)), "both": BOTH}
ACCURACY = {"within": 20}


def kind(looked) -> str:
    return type(looked.asked.event).__name__


@pytest.mark.parametrize(
    ("budget", "noise"),
    [("pure", "DiscreteLaplaceNoise"), ("rho", "DiscreteGaussianNoise"), ("both", "DiscreteLaplaceNoise")],
)
def test_the_first_count_by_accuracy_takes_little_of_what_may_be_asked(quick_path, budget, noise) -> None:
    with new_ledger(quick_path, BUDGETS[budget]) as ledger:
        clinic = door(ledger, Tables())
        before = clinic.budget().remaining.pure
        assert kind(clinic.preview(count("patients"), **ACCURACY)) == noise
        assert kind(clinic.rehearse(count("patients"), **ACCURACY)) == noise
        paid = clinic.ask(count("patients"), **ACCURACY).price
        assert clinic.budget().remaining.pure >= before * Fraction(9, 10)
        assert paid.epsilon is None or paid.epsilon < Fraction(1, 5)


def test_gaussian_noise_is_taken_from_where_on_the_sum_of_epsilons_is_the_greater_part(quick_path) -> None:
    """Sums of epsilons grow with the number of questions, and what a residue vouches for with its root."""
    with new_ledger(quick_path, BOTH) as ledger:
        clinic = door(ledger, Tables())
        noise = [kind(clinic.ask(count("patients", f"age > {age}"), **ACCURACY)) for age in range(40)]
        turn = noise.index("DiscreteGaussianNoise")
        assert 10 < turn < 33  # a sum of 5 has room for 33 of them
        assert set(noise[:turn]) == {"DiscreteLaplaceNoise"}
        assert set(noise[turn:]) == {"DiscreteGaussianNoise"}
        again = clinic.ask(count("patients", "age > 0"), **ACCURACY)
        assert again.free  # though it would be paid for in the other way today
        assert kind(again) == "DiscreteLaplaceNoise"
        many = clinic.ask_many([count("patients", f"age > {age}") for age in (1, 2, 3)], **ACCURACY)
        assert all(one.free for one in many)


def test_what_is_asked_together_is_paid_for_in_one_way(quick_path) -> None:
    with new_ledger(quick_path, BOTH) as ledger:
        clinic = door(ledger, Tables())
        few = clinic.ask_many([count("patients", f"age > {age}") for age in range(3)], **ACCURACY)
        assert {kind(one) for one in few} == {"DiscreteLaplaceNoise"}
        many = clinic.ask_many([count("patients", f"age > {age}") for age in range(10, 50)], **ACCURACY)
        assert {kind(one) for one in many} == {"DiscreteGaussianNoise"}


@pytest.mark.parametrize("slow", ["the account", "what was asked before"])
def test_choosing_between_ways_ends_at_the_deadline_and_costs_nothing(quick_path, monkeypatch, slow) -> None:
    """One trial of a charge, or one look for an earlier answer, takes eleven seconds where there are about ten."""
    clock = [0.0]
    monkeypatch.setattr(deadline, "time", SimpleNamespace(thread_time=lambda: clock[0]))

    def slowly(work):
        def takes_eleven_seconds(*given):
            clock[0] += 11
            return work(*given)

        return takes_eleven_seconds

    with new_ledger(quick_path, BOTH) as ledger:
        clinic, before = door(ledger, Tables()), ledger.account("clinic")
        verbs = [clinic.ask, lambda one, **words: clinic.ask_many([one, count("patients")], **words)]
        if slow == "the account":
            monkeypatch.setattr(Account, "admit", slowly(Account.admit))
            verbs += [clinic.rehearse, clinic.preview]
        else:
            monkeypatch.setattr(ledger.questions, "stored", slowly(ledger.questions.stored))
        for verb in verbs:
            with pytest.raises(BadQuestionError, match="seconds of work"):
                verb(count("patients", "age > 3"), **ACCURACY)
        assert ledger.account("clinic") == before
