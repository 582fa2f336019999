"""Accounts for people: what is left as questions of an accuracy, and how it went down, act by act."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Final

from markupsafe import Markup

from lapwing.accounting.filters.account import Account
from lapwing.answers.preview import amounts
from lapwing.app.server.pages.charts import burn_down
from lapwing.app.server.pages.drafts import ACCURACIES, dictionary_for
from lapwing.app.server.pages.forecast import forecast_shown
from lapwing.app.server.pages.visits import PageRefusedError, Visit
from lapwing.ledger.entries import Record
from lapwing.vocabulary.codec import from_record

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
    entries = visit.server.house.ledger.history(visit.population)
    mine = [one for one in entries if one.get("analyst") == visit.person.id or one["kind"] == "population"]
    return _shown(visit, mine) | {
        "free": sum(one["kind"] == "recall" or one.get("outcome") == "no" for one in mine),
        "paid": sum(one["kind"] == "charge" or one.get("outcome") == "yes" for one in mine),
    }


def whole_account(visit: Visit) -> dict[str, Any]:
    """Return the account as those see it who oversee it: with everybody's acts."""
    entries = visit.server.house.ledger.history(visit.population)
    shown = _shown(visit, entries)
    sentence, picture = forecast_shown(entries, float(shown["budget"] or 0), visit.say)
    return shown | {"forecast": sentence, "days": picture if shown["budget"] else Markup()}


def _shown(visit: Visit, entries: list[Record]) -> dict[str, Any]:
    now = visit.server.house.ledger.account(visit.population)
    spent, reserved, left = amounts(now)
    budget = None if left is None or spent is None else left + spent + (reserved or 0)
    return {
        "left": left,
        "spent": spent,
        "reserved": reserved,
        "budget": budget,
        "picture": Markup() if not budget else burn_down(_points(entries, now), float(budget), visit.say),
    }


def _points(entries: list[Record], now: Account) -> list[tuple[str, float, float]]:
    """Return a day, what was left and what was held, at each entry that changed the account, and now."""
    days = {one["seq"]: one["at"][:10] for one in entries if one.get("at")}
    told = [one for one in entries if "after" in (one.get("account") or {})]
    found = []
    for one in _thinned(told):
        day = one.get("at", "")[:10] or days.get(one.get("settles", -1), "")
        found.append((day, *_numbers(from_record(Account, one["account"]["after"]))))
    return [*found, (found[-1][0] if found else "", *_numbers(now))]


def _numbers(account: Account) -> tuple[float, float]:
    _, reserved, left = amounts(account)
    return float(left or 0), float(reserved or Fraction(0))


def _thinned(entries: list[Record]) -> Iterable[Record]:
    step = -(-len(entries) // _MOST_POINTS) or 1
    return entries[::step]
