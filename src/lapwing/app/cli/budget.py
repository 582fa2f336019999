"""`lapwing budget`."""

from pathlib import Path
from typing import Any

import click

from lapwing.accounting.filters.account import Account
from lapwing.accounting.filters.sums import ConcentratedSum, PureSum
from lapwing.answers.answer import brief, exactly
from lapwing.answers.preview import Standing
from lapwing.app.cli.options import Door, at_the_door, plot_option
from lapwing.app.cli.pictures import draw_account
from lapwing.app.cli.showing import facts, several, table
from lapwing.app.cli.telling import budget_record, budget_words, left_record
from lapwing.app.plots.canvas import checked_path
from lapwing.session import Session


@click.command()
@plot_option
@at_the_door
def budget(door: Door, plot: Path | None) -> None:
    """Say what was spent, what is held, and what is left.

    The budget is a promise to the people in the tables: everything that is ever answered about them, to all analysts
    together, costs no more than this. It does not come back, not next year and not when the data changes. An analyst's
    allowance is a part of it, not more of it.

    \b
    lapwing budget
    lapwing budget --plot burn_down.svg

    It costs nothing. --plot draws what was left after every act.
    """
    if plot is not None:
        checked_path(plot)
    with door.session() as session:
        record, accounts = _record(session), _accounts(session)
        history = session.ledger.history(session.population.name)
        left = session.standing()
    if plot is not None:
        draw_account(plot, history)
    header = ["whose", "budget", "spent", "held", "left"]
    rows = [[whose, budget_words(account.budget), *map(_spoken, _amounts(account))] for whose, account in accounts]
    fits = None if left.left is not None else str(left.remaining)
    door.tell(
        record,
        table(header, rows, left=2),
        facts(
            ("answered", f"{several(record['answers'], 'question')} and {several(record['streams'], 'stream')}"),
            ("stopped", "spending is suspended; see lapwing suspend --help" if record["suspended"] else None),
            ("now", fits),
            ("picture", None if plot is None else str(plot)),
        ),
    )


def _accounts(session: Session) -> list[tuple[str, Account]]:
    name = session.population.name
    decided = session.ledger.population(name).analysts
    own = {analyst: session.ledger.allowance(name, analyst) for analyst in sorted(decided)}
    allowances = [(f"  {analyst}", account) for analyst, account in own.items() if account is not None]
    return [(name, session.ledger.account(name)), *allowances]


def _record(session: Session) -> dict[str, Any]:
    name = session.population.name
    decided, history = session.ledger.population(name), session.ledger.history(name)
    kinds = [entry["kind"] for entry in history]
    (_, account), *allowances = _accounts(session)
    return {
        "population": name,
        **_account_record(account),
        "analysts": {analyst.strip(): _account_record(own) for analyst, own in allowances},
        "answers": kinds.count("answer"),
        "streams": kinds.count("opening"),
        "suspended": decided.suspended
        or (session.analyst in decided.analysts and decided.analysts[session.analyst].suspended),
    }


def _account_record(account: Account) -> dict[str, Any]:
    spent, held, _ = _amounts(account)
    left = left_record(Standing(account=account))
    return {"budget": budget_record(account.budget), "spent": exactly(spent), "held": exactly(held), "left": left}


def _amounts(account: Account) -> tuple[Any, Any, Any]:
    """Return what is spent, held and left of the fullest cell; None where a budget has no such numbers."""
    match min(account.filters.values(), key=lambda one: getattr(one, "left", 0)):
        case PureSum(realised=spent, reserved=held, left=left):
            return spent, held, left
        case ConcentratedSum(spent=spent, left=left):
            return spent, 0, left
        case _:
            return None, None, None


def _spoken(amount: Any) -> str:
    return "-" if amount is None else brief(amount)
