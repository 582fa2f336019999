"""Accounts for people: what is left as questions of an accuracy, how it went down, who spent it, what more means."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, Final, TypeAlias

from markupsafe import Markup

from lapwing.accounting.filters.account import Account
from lapwing.accounting.interpretation import belief_range
from lapwing.answers.budget import BudgetStatus, amounts
from lapwing.app.server.pages.charts import burn_down
from lapwing.app.server.pages.drafts import ACCURACIES, dictionary_for
from lapwing.app.server.pages.drawing import percent
from lapwing.app.server.pages.forecast import forecast_shown
from lapwing.app.server.pages.frame import above
from lapwing.app.server.pages.page_words import Messages
from lapwing.app.server.pages.visits import PageRefusedError, Visit
from lapwing.ledger.ledger import AccountPoint
from lapwing.queries.statistics.counts import CountPeople, count
from lapwing.session import Session
from lapwing.vocabulary.errors import LapwingError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import ConcentratedDP

_MOST_POINTS: Final = 200
_PRIOR: Final = "0.01"
_NEARLY: Final = 0.9995
_ASKED: Final = ("charge", "recall", "intent")

CountPrice: TypeAlias = tuple[str, str, Mapping[str, Any]]
"""A count of some accuracy: its name, within, and the price."""


@frozen()
class AnalystShare:
    """What one analyst has spent, what their open streams have set aside, how often they asked, and when last."""

    name: str
    spent: str
    reserved: str
    questions: int
    last: str


async def count_prices(visit: Visit) -> list[CountPrice]:
    """Return what a count of each accuracy costs: how often it could be asked is not computed, which can take long."""
    person = dictionary_for(visit).person if visit.may("preview") else None
    return [] if person is None else await visit.in_thread(lambda: _count_prices(visit.session(), count(person.name)))


def _count_prices(session: Session, question: CountPeople) -> list[CountPrice]:
    found: list[CountPrice] = []
    for within, name in ACCURACIES:
        with suppress(LapwingError):
            found.append((name, within, session.preview(question, within=within).price.to_dict()))
    return found


async def left_in_counts(visit: Visit) -> list[tuple[str, str, int]]:
    """Return how many counts of each accuracy could still be asked: its name, within, and how many."""
    person = dictionary_for(visit).person
    found: list[tuple[str, str, int]] = []
    if person is None:
        return found
    question = {"ask": "count", "table": person.name}
    for within, name in ACCURACIES:
        try:
            preview = await visit.do("preview", {"question": question, "price": {"within": within}})
        except PageRefusedError:
            continue
        found.append((name, within, preview["times"] if preview["affordable"] else 0))
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


def shares_of(visit: Visit, named: Iterable[str]) -> list[AnalystShare]:
    """Return what each analyst has caused, of all who ever asked or are named; whoever asked last comes first."""
    ledger, population = visit.server.house.ledger, visit.population
    accounts = ledger.spent_by(population)
    everybody = ledger.analysts(population) | set(named)
    found = [_share(visit, name, accounts.get(name)) for name in sorted(everybody)]
    return sorted(found, key=lambda one: one.last, reverse=True)


def _share(visit: Visit, name: str, account: Account | None) -> AnalystShare:
    ledger, told = visit.server.house.ledger, visit.server.house.ledger.tally(visit.population, name)
    last = ledger.entries(visit.population, analyst=name, kinds=_ASKED, newest_first=True, limit=1)
    spent, reserved = spent_words(account, visit.say)
    return AnalystShare(
        name=name,
        spent=spent,
        reserved=reserved,
        questions=sum(n for (kind, _), n in told.items() if kind in _ASKED),
        last=last[0]["at"][:10] if last else "",
    )


def spent_words(account: Account | None, say: Messages) -> tuple[str, str]:
    """Say what was spent and is set aside; where an (epsilon, delta) budget has no sum, what would still fit."""
    if account is None:
        return "0", ""
    spent, reserved, _ = amounts(account)
    if spent is None:
        return str(say("custody.no_sum", fits=str(BudgetStatus(account=account)))), ""
    sign = "ρ" if isinstance(account.budget, ConcentratedDP) else "ε"
    return f"{sign} {above(spent)}", f"{sign} {above(reserved)}" if reserved else ""


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


async def open_requests(visit: Visit) -> list[dict[str, Any]]:
    """Return the requests that nobody has decided yet."""
    return [one for one in await visit.do("all_requests") if one["state"] == "open"]


def with_meaning(
    visit: Visit, requests: Sequence[dict[str, Any]], counts: Sequence[CountPrice]
) -> list[dict[str, Any]]:
    """Return requests, each with the beliefs before and after a yes, and with what the difference buys."""
    return [{**one, "beliefs": _beliefs(visit, one), "buys": purchases(one["more"], counts)} for one in requests]


def _beliefs(visit: Visit, request: dict[str, Any]) -> tuple[str, str] | None:
    """Return what 1 % can become before and after a yes; only a budget of epsilon alone bounds every belief."""
    raises = request["raises"]
    if not raises or set(raises["to"]) != {"epsilon"}:
        return None
    return believed(visit, raises["from"]["epsilon"]), believed(visit, raises["to"]["epsilon"])


def believed(visit: Visit, epsilon: str) -> str:
    """Return what a belief of 1 % can become at most."""
    highest = belief_range(_PRIOR, epsilon)[1]
    return percent(highest) if highest < _NEARLY else str(visit.say("policy.nearly"))


def purchases(budget: dict[str, str], counts: Sequence[CountPrice]) -> list[tuple[str, str, int]]:
    """Return how many counts of each accuracy an amount buys; none where prices do not simply add up.

    >>> purchases({"epsilon": "1"}, [("rough", "100", {"epsilon": "0.03"})])
    [('rough', '100', 33)]
    >>> purchases({"epsilon": "1", "delta": "1e-6"}, [("rough", "100", {"epsilon": "0.03"})])
    []
    """
    if len(budget) != 1:
        return []
    ((currency, amount),) = budget.items()
    priced = [(name, within, price[currency]) for name, within, price in counts if price[currency]]
    return [(name, within, int(Fraction(amount) // Fraction(price))) for name, within, price in priced]
