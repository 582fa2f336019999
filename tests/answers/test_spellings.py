"""Whoever groups by LOWER or UPPER of a text is told which letters change, before and after asking."""

import pytest

from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, PureDP
from session.clinic import FixedNumber, door, new_ledger

SAID = "changes the letters A to Z and no others"
BUDGETS = {
    "epsilon": (PureDP(epsilon=10), {"epsilon": 1}),
    "delta": (ApproximateDP(epsilon=10, delta="1/1000"), {"epsilon": 1}),
    "rho": (ConcentratedDP(rho=10), {"rho": 1}),
}


@pytest.mark.parametrize("kind", BUDGETS)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("select count(*) as n from patients where lower(city) = city", True),
        ("select count(*) as n from patients where left(upper(city), 2) <> city", True),
        ("select count(*) as n from patients where trim(city) = city", False),
        ("select count(*) as n from patients where city <> 'x'", False),
    ],
)
def test_the_preview_and_the_answer_say_which_letters_change(kind, text, said, quick_path) -> None:
    budget, price = BUDGETS[kind]
    with new_ledger(quick_path, budget) as ledger:
        asked = door(ledger, FixedNumber(3))
        preview = asked.preview(text, **price)
        answer = asked.ask(text, **price)
    assert (SAID in str(preview)) is said
    assert (SAID in answer._repr_html_() + str(answer)) is said
