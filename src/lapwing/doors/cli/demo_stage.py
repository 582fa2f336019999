"""How the story of `lapwing demo` looks, and who is in it: a custodian, Ana who asks, Mallory who attacks.

Acts, sentences, what is typed, and tables that align, in 80 columns; plain in a pipe.
"""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lapwing.answers.budget import BudgetStatus
from lapwing.ledger.entries import Receipt
from lapwing.session import Session
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import format_short
from lapwing.workspace.workspace import Workspace

WIDTH: Final = 80
_INDENT: Final = 3
_TITLE, _TYPED, _STRONG, _QUIET = "bold cyan", "green", "bold", "dim"


def good(text: str) -> Text:
    """Return a cell that should please."""
    return Text(text, style="bold green")


def bad(text: str) -> Text:
    """Return a cell that should worry."""
    return Text(text, style="bold red")


class Stage:
    """The console of the story."""

    def __init__(self) -> None:
        console = Console(highlight=False)
        self._width = min(console.width, WIDTH) if console.is_terminal else WIDTH
        self._console = Console(highlight=False, width=self._width)
        self._plus_minus = "±" if console.encoding.lower().startswith("utf") else "+-"
        self._acts, self._blank = 0, True

    def title(self, text: str) -> None:
        """Say what this is, or what comes last."""
        self._gap()
        self._line(text, _TITLE)
        self._gap()

    def act(self, text: str) -> None:
        """Begin an act."""
        self._acts += 1
        self._gap()
        self._line(f"{self._acts}  {text}", _TITLE)

    def say(self, text: str, style: str = "") -> None:
        """Say a sentence or a few. A margin is written +-, and shown as the terminal can."""
        for line in textwrap.wrap(
            self._spelled(text), width=self._width - _INDENT, break_on_hyphens=False, break_long_words=False
        ):
            self._line(" " * _INDENT + line, style)

    def remark(self, text: str) -> None:
        """Say something by the way."""
        self.say(text, _QUIET)

    def result(self, text: str) -> None:
        """Say what an act comes to."""
        self.say(text, _STRONG)

    def typed(self, *lines: str) -> None:
        """Show what a user would type."""
        for line, prompt in zip(lines, (">>>", *["..."] * len(lines)), strict=False):
            self._line(f"{' ' * _INDENT}{prompt} {line}", _TYPED)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str | Text]], *, left: int = 1) -> None:
        """Show a table: the first `left` columns to the left, the others to the right; blank headers are left out."""
        drawn = Table(box=None, pad_edge=False, header_style=_QUIET, padding=(0, 3, 0, 0), show_header=any(header))
        for place, name in enumerate(header):
            drawn.add_column(Text(name), justify="left" if place < left else "right")
        for row in rows:
            drawn.add_row(*(Text(self._spelled(cell)) if isinstance(cell, str) else cell for cell in row))
        self._gap()
        with self._console.capture() as captured:
            self._console.print(Padding(drawn, (0, 0, 0, _INDENT + 2), expand=False))
        for line in captured.get().splitlines():
            print(line.rstrip())
        self._blank = False
        self._gap()

    def _line(self, text: str, style: str) -> None:
        self._console.print(Text(text, style=style, no_wrap=True), overflow="ignore", crop=False)
        self._blank = False

    def _gap(self) -> None:
        if not self._blank:
            self._console.print()
        self._blank = True

    def _spelled(self, text: str) -> str:
        return text.replace("+-", self._plus_minus)


POPULATION: Final = "clinic"
BUDGET: Final = Fraction(3)
ALLOWANCES: Final = {"ana": Fraction(5, 2), "mallory": Fraction(1, 2)}
SURE: Final = "0.95"


@frozen()
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
            name.capitalize(): (most, ledger.snapshot(POPULATION, name).allowance) for name, most in ALLOWANCES.items()
        }
        for name, (most, account) in accounts.items():
            left = most if account is None else BudgetStatus(account=account).left
            if left is not None:
                yield [name, *(f"epsilon {format_short(amount)}" for amount in (most, most - left, left))]


def shortened(receipt: Receipt | None) -> str:
    """Return a receipt for a line of the story; the whole one is longer."""
    return str(receipt)[:48] + "..."
