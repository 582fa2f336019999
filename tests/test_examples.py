"""Every example runs, and says what is true."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example, capsys) -> None:
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out


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
