"""What is told of an account: the segment that has least left decides, whatever the kind of the budget."""

from fractions import Fraction

import pytest

from lapwing.accounting import (
    ApproximateDP,
    ConcentratedDP,
    GaussianNoise,
    PureDP,
    PureRelease,
    Reservation,
    SingleRelease,
    open_account,
)
from lapwing.answers.budget import BudgetStatus, amounts, request_record
from lapwing.ledger.budget_requests import BudgetRequest, Raise

HALF = PureRelease(epsilon=Fraction(1, 2))
NOISE = GaussianNoise(l2_sensitivity_squared=Fraction(1, 64), sigma_squared=Fraction(1))
PURE, WIDE = PureDP(epsilon=Fraction(2)), ApproximateDP(epsilon=Fraction(2), delta=Fraction(1, 10**6))
RHO = ConcentratedDP(rho=Fraction(2))


def account_of(budget, *charges):
    account = open_account(budget, segments=["north", "south"])
    for charge in charges:
        account = account.admit(charge)
    return account


def told(event, *segments):
    return SingleRelease(event=event, segments=frozenset(segments))


@pytest.mark.parametrize("fullest", ["north", "south"])
@pytest.mark.parametrize(
    ("budget", "event", "spent", "left"),
    [(PURE, HALF, "1/2", "3/2"), (RHO, NOISE, "1/128", "255/128"), (WIDE, HALF, "1/2", None)],
    ids=["epsilon", "rho", "epsilon and delta"],
)
def test_the_fullest_segment_is_told(budget, event, spent, left, fullest) -> None:
    account = account_of(budget, told(event, fullest))
    left = None if left is None else Fraction(left)
    assert amounts(account) == (Fraction(spent), 0, left)
    assert BudgetStatus(account=account).left == left


@pytest.mark.parametrize(("budget", "left"), [(PURE, Fraction(1)), (WIDE, None)], ids=["epsilon", "epsilon and delta"])
def test_what_a_stream_may_still_take_is_reserved(budget, left) -> None:
    account = account_of(budget, Reservation(stream="s", opening="1/4", price="1/4", yeses=3))
    assert amounts(account) == (Fraction(1, 4), Fraction(3, 4), left)


def test_a_sum_of_epsilons_is_told_only_while_it_counts_in_every_segment() -> None:
    account = account_of(WIDE, told(HALF, "north"), told(NOISE, "south"))
    assert amounts(account) == (None, None, None)
    assert amounts(account.within(frozenset({"north"}))) == (Fraction(1, 2), 0, None)


def test_a_request_says_what_a_yes_would_change_while_it_is_open() -> None:
    request = BudgetRequest(number=1, population="clinic", analyst="ana", more=PURE, purpose="a paper", at="today")
    assert request_record(request)["raises"] is None
    for whose, what in (("ana", "allowance"), (None, "budget")):
        effect = Raise(whose, PureDP(epsilon=Fraction(1)), PureDP(epsilon=Fraction(3)))
        assert request_record(request, effect)["raises"] == {
            "what": what,
            "from": {"epsilon": "1"},
            "to": {"epsilon": "3"},
        }
