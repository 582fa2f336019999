"""The three kinds of budget: epsilon; epsilon with a delta; rho. Every test of a door runs over all of them.

A test that asks for the fixture `budget`, or for a workspace that is made with it, runs once for each kind. A module or
a test in which the kind does not matter says so, with the reason:

    pytestmark = pytest.mark.one_budget("nothing is charged here")

and runs with a pure epsilon alone. `tests/test_kinds_of_budget.py` finds tests that write a budget of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lapwing.answers.budget import Budget, read_budget

_SIGNS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}


@dataclass(frozen=True)
class KindOfBudget:
    """A kind of budget, and amounts of it; `delta` is the part of a whole budget's."""

    name: str
    currency: str
    delta: str | None = None

    def of(self, amount: object) -> dict[str, str]:
        """Return an amount as lapwing.toml and the API write it."""
        return {self.currency: str(amount)} | ({} if self.delta is None else {"delta": self.delta})

    def toml(self, amount: object = 10) -> str:
        """Return a budget as a line of lapwing.toml has it."""
        return "{ " + ", ".join(f'{name} = "{given}"' for name, given in self.of(amount).items()) + " }"

    def options(self, amount: object) -> list[str]:
        """Return a budget as the command line takes it."""
        return [word for name, given in self.of(amount).items() for word in (f"--{name}", given)]

    def promise(self, amount: object) -> Budget:
        """Return a budget as the ledger has it."""
        return read_budget(**self.of(amount))

    def text(self, amount: object) -> str:
        """Return a budget in the signs of the pages."""
        return ", ".join(f"{_SIGNS[name]} {given}" for name, given in self.of(amount).items())

    @property
    def sign(self) -> str:
        """The sign of its currency."""
        return _SIGNS[self.currency]

    @property
    def adds_up(self) -> bool:
        """Whether what is spent and what is left are numbers of its currency, whatever was asked."""
        return self.delta is None

    def amount(self, price: Mapping[str, Any]) -> Fraction:
        """Return how much of its currency a price is."""
        return Fraction(price[self.currency])

    def __str__(self) -> str:
        return self.name


PURE = KindOfBudget(name="epsilon", currency="epsilon")
WITH_DELTA = KindOfBudget(name="delta", currency="epsilon", delta="1e-6")
RHO = KindOfBudget(name="rho", currency="rho")
KINDS = (PURE, WITH_DELTA, RHO)
