"""Who is in the story: a custodian with a workspace, Ana who asks, Mallory who attacks; and the stage they are on."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

from lapwing.answers.preview import BudgetStatus
from lapwing.app.cli.demo.stage import Stage
from lapwing.ledger.chain import Receipt
from lapwing.session import Session
from lapwing.vocabulary.decimals import brief
from lapwing.workspace.workspace import Workspace

POPULATION: Final = "clinic"
BUDGET: Final = Fraction(3)
ALLOWANCES: Final = {"ana": Fraction(5, 2), "mallory": Fraction(1, 2)}
SURE: Final = "0.95"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who is in the story."""

    stage: Stage
    workspace: Workspace
    ana: Session
    mallory: Session
    people: int
    plots: Path | None

    @property
    def at_least(self) -> int:
        """How many people make a cohort: 200, as in the lecture, and fewer in a small clinic."""
        return min(200, max(20, self.people // 500))

    def draw(self, name: str, draw: Callable[[Path], None]) -> None:
        """Draw a picture, if pictures are wanted, and say where it is."""
        if self.plots is not None:
            file = self.plots / f"{name}.svg"
            draw(file)
            self.stage.remark(f"drawn in {file}")

    def show_account(self) -> None:
        """Show what may be spent, what is, and what is left."""
        self.stage.table(["the account", "may spend", "spent", "left"], list(self._lines()))

    def _lines(self) -> Iterator[list[str]]:
        ledger = self.workspace.ledger
        accounts = {"everybody": (BUDGET, ledger.account(POPULATION))} | {
            name.capitalize(): (most, ledger.allowance(POPULATION, name)) for name, most in ALLOWANCES.items()
        }
        for name, (most, account) in accounts.items():
            left = most if account is None else BudgetStatus(account=account).left
            if left is not None:
                yield [name, *(f"epsilon {brief(amount)}" for amount in (most, most - left, left))]


def shortened(receipt: Receipt | None) -> str:
    """Return a receipt for a line of the story; the whole one is longer."""
    return str(receipt)[:48] + "..."
