"""Every example runs, and says what is true."""

import io
import re
import runpy
from contextlib import redirect_stdout
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from lapwing import ApproximateDP, PureDP
from lapwing.accounting import share

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@cache
def told_by(name):
    """Return what an example prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        runpy.run_path(str(next(path for path in EXAMPLES if path.stem == name)), run_name="__main__")
    return printed.getvalue()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example) -> None:
    assert told_by(example.stem)


def test_the_shop_loses_everything_by_noise_on_the_price_and_little_by_choosing_one() -> None:
    shop = runpy.run_path(str(next(path for path in EXAMPLES if path.stem == "item_pricing")))
    revenue, people = shop["revenue"], shop["VALUATIONS"]
    assert [revenue(price, people) for price in (1, 2, 5, 6)] == [300, 400, 500, 0]
    neighbours = [people[:i] + people[i + 1 :] for i in (0, 150, 250)]
    for there in neighbours:  # one customer less: every revenue falls by its price at most, and none rises
        for price in shop["PRICES"]:
            assert 0 <= revenue(price, people) - revenue(price, there) <= price <= 10
    earned = [revenue(shop["choose_price"](people, "1"), people) for _ in range(400)]
    assert sum(earning >= 500 - shop["price_chooser"]("1").margin("0.95") for earning in earned) > 340  # P < 1e-14


def test_several_items_are_priced_under_one_promise() -> None:
    shop = runpy.run_path(str(next(path for path in EXAMPLES if path.stem == "item_pricing")))
    items, revenue = shop["ITEMS"], shop["revenue"]
    assert {len(valuations) for valuations in items.values()} == {300}  # the same customers
    for promise, each in ((PureDP(epsilon=3), 1), (ApproximateDP(epsilon=3, delta="1e-6"), Fraction(1))):
        assert each <= share(promise, times=3).best.epsilon < Fraction(1001, 1000)
        chosen = [shop["choose_prices"](items, promise) for _ in range(100)]
        assert all(prices.keys() == items.keys() for prices in chosen)
        margin = shop["price_chooser"]("1").margin("0.95")
        for item, valuations in items.items():
            best = max(revenue(price, valuations) for price in shop["PRICES"])
            near = sum(revenue(prices[item], valuations) >= best - margin for prices in chosen)
            assert near > 70  # P < 1e-11 at 0.95
    assert "figs at " in told_by("item_pricing")


def test_two_analysts_together_get_no_more_than_the_cap_and_new_data_does_not_refill_it() -> None:
    told = told_by("custodian")
    assert "13 answers at 0.15: the two together spent 1.95 of 2" in told
    assert re.search(r"ben is refused: epsilon 0\.15 is asked and 0\.05 is left", told)
    assert "has changed, and its data version is still 1" in told
    assert "version 2 is announced; the account still has 0.05" in told
    assert "holds all 13 receipts" in told


def test_the_study_finds_the_frequent_diseases_and_pays_for_nothing_else() -> None:
    told = told_by("feasibility_study")
    answers = re.findall(r"^  (\S.*?)  +(yes|no) +epsilon (\S+)", told, re.MULTILINE)
    assert [disease for disease, said, _ in answers if said == "yes"] == ["stroke", "heart failure"]  # P(other) < 1e-9
    assert {price for _, said, price in answers if said == "no"} == {"0.000"}
    assert told.endswith("epsilon 1.5 of 3 is left for other studies\n")
