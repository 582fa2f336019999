"""A shop wants the price that earns most, and its customers want no one to learn what they would have paid.

Noise on the price is no way out: at a price a little above what people are willing to pay, nobody buys. The exponential
mechanism chooses one of the prices instead, the better ones more often. This is the example of the lecture that
introduces it, with a hundred customers for each of its three.

Several items are several choices about the same customers, so their prices in epsilon add up: what each of them may
cost follows from what all of them may (`share`), more with a delta than without.

    python examples/item_pricing.py
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from lapwing import Adjacency, PureDP
from lapwing.accounting import Guarantee, share
from lapwing.mechanisms import ExponentialMechanism, Sensitive

PRICES = range(1, 11)
VALUATIONS = (1,) * 100 + (2,) * 100 + (5,) * 100
ITEMS = {"apples": VALUATIONS, "plums": (3,) * 200 + (4,) * 100, "figs": (1,) * 250 + (9,) * 50}
"""What each of the same 300 customers would pay for each item, in the same order."""


def revenue(price: int, valuations: Sequence[int]) -> int:
    """Return what is earned at a price: everyone buys who values the item at no less."""
    return price * sum(valuation >= price for valuation in valuations)


def price_chooser(epsilon: str | Fraction) -> ExponentialMechanism:
    """Return the mechanism that chooses among `PRICES`.

    One customer more or less moves the revenue at a price by that price at most, and never lowers one revenue while it
    raises another: revenues are monotone under ADD_REMOVE, which halves the noise.
    """
    return ExponentialMechanism(
        sensitivity=max(PRICES), candidates=len(PRICES), epsilon=epsilon, monotone_under=Adjacency.ADD_REMOVE
    )


def choose_price(valuations: Sequence[int], epsilon: str | Fraction) -> int:
    """Return a price, chosen by its revenue at the price `epsilon` in privacy."""
    revenues = Sensitive([revenue(price, valuations) for price in PRICES])
    return PRICES[price_chooser(epsilon).release(revenues)]


def choose_prices(items: Mapping[str, Sequence[int]], promise: Guarantee) -> dict[str, int]:
    """Return a price for every item, all of them together within one promise to each customer."""
    each = share(promise, times=len(items)).best.epsilon
    return {item: choose_price(valuations, each) for item, valuations in items.items()}


def main() -> None:
    """Show the best price, what noise on it would do, and what the mechanism promises and chooses."""
    best = max(PRICES, key=lambda price: revenue(price, VALUATIONS))
    print(f"the best price is {best}: it earns {revenue(best, VALUATIONS)}; one more, and it earns ", end="")
    print(revenue(best + 1, VALUATIONS))
    shop = price_chooser("1")
    print(f"promised at epsilon 1: within {shop.margin('0.95'):.0f} of the best with a probability of 95 %", end="")
    print(f" (within {shop.utility(3):.0f} by Lemma 3.2 at t = 3)")
    chosen = choose_price(VALUATIONS, "1")
    print(f"chosen: {chosen}, which earns {revenue(chosen, VALUATIONS)}")
    for item, price in choose_prices(ITEMS, PureDP(epsilon=1)).items():
        most = max(revenue(other, ITEMS[item]) for other in PRICES)
        print(f"{item} at {price} earn {revenue(price, ITEMS[item])} of at most {most}, at a third of epsilon 1")


if __name__ == "__main__":
    main()
