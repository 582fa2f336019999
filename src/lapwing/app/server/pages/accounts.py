"""Accounts for people: what is left as questions of an accuracy, and how it went down, act by act."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from markupsafe import Markup

from lapwing.accounting.filters.account import Account
from lapwing.answers.preview import amounts
from lapwing.app.server.pages.charts import burn_down
from lapwing.app.server.pages.drafts import ACCURACIES, dictionary_for
from lapwing.app.server.pages.forecast import forecast_shown
from lapwing.app.server.pages.visits import PageRefusedError, Visit
from lapwing.ledger.ledger import AccountPoint

_MOST_POINTS: Final = 200


async def left_in_counts(visit: Visit) -> list[tuple[str, str, int, Any]]:
    """Return how many counts of each accuracy could still be asked: its name, within, how many, and the price."""
    person = dictionary_for(visit).person
    found: list[tuple[str, str, int, Any]] = []
    if person is None:
        return found
    question = {"ask": "count", "table": person.name}
    for within, name in ACCURACIES:
        try:
            preview = await visit.do("preview", {"question": question, "price": {"within": within}})
        except PageRefusedError:
            continue
        found.append((name, within, preview["times"] if preview["affordable"] else 0, preview["price"]))
    return found


def own_account(visit: Visit) -> dict[str, Any]:
    """Return the account as somebody sees it who asks: what is left, and how it went with each of their own acts."""
    ledger, mine = visit.server.house.ledger, (visit.population, visit.person.id)
    points, told = ledger.burn_down(mine[0], points=_MOST_POINTS, analyst=mine[1]), ledger.tally(*mine)
    return _shown(visit, points) | {
        "free": sum(n for (kind, outcome), n in told.items() if kind == "recall" or outcome == "no"),
        "paid": sum(n for (kind, outcome), n in told.items() if kind == "charge" or outcome == "yes"),
    }


def whole_account(visit: Visit) -> dict[str, Any]:
    """Return the account as those see it who oversee it: with everybody's acts."""
    ledger = visit.server.house.ledger
    shown = _shown(visit, ledger.burn_down(visit.population, points=_MOST_POINTS))
    days = ledger.days(visit.population)
    sentence, picture = forecast_shown(days, float(shown["budget"] or 0), visit.say)
    return shown | {"forecast": sentence, "days": picture if shown["budget"] else Markup()}


def _shown(visit: Visit, points: Sequence[AccountPoint]) -> dict[str, Any]:
    now = visit.server.house.ledger.account(visit.population)
    spent, reserved, left = amounts(now)
    budget = None if left is None or spent is None else left + spent + (reserved or 0)
    return {
        "left": left,
        "spent": spent,
        "reserved": reserved,
        "budget": budget,
        "picture": Markup() if not budget else burn_down(_points(points, now), float(budget), visit.say),
    }


def _points(points: Sequence[AccountPoint], now: Account) -> list[tuple[str, float, float]]:
    """Return a day, what was left and what was held, at each point, and now."""
    found = [(one.at[:10], *_numbers(one.account)) for one in points]
    return [*found, (found[-1][0] if found else "", *_numbers(now))]


def _numbers(account: Account) -> tuple[float, float]:
    _, reserved, left = amounts(account)
    return float(left or 0), float(reserved or Fraction(0))
