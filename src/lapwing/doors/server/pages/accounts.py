"""Accounts for people: what is left as questions of an accuracy, how it went down, who spent it, what more means."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, Final, TypeAlias

from lapwing.accounting.filters.account import Account, Budget, open_account
from lapwing.accounting.filters.remaining import Remaining
from lapwing.accounting.interpretation import belief_range, budget_concerns, likely_loss
from lapwing.answers.budget import read_budget
from lapwing.doors.server.pages.charts import burn_down
from lapwing.doors.server.pages.drafts import ACCURACIES, dictionary_for
from lapwing.doors.server.pages.forecast import forecast_shown
from lapwing.doors.server.pages.frame import below
from lapwing.doors.server.pages.gauge import Gauge
from lapwing.doors.server.pages.page_visit import PageRefusedError, PageVisit
from lapwing.ledger.ledger import AccountPoint
from lapwing.queries.statistics.counts import CountPeople, count
from lapwing.session import Session
from lapwing.show.strokes import percent
from lapwing.vocabulary.errors import LapwingError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, PureDP
from lapwing.workspace.agreement import SHARES

_MOST_POINTS: Final = 200
_PRIOR: Final = "0.01"
_NEARLY: Final = 0.9995
_ASKED: Final = ("charge", "recall", "intent")

CountPrice: TypeAlias = tuple[str, str, Mapping[str, Any]]
"""A count of some accuracy: its name, within, and the price."""


@frozen()
class AnalystShare:
    """One analyst's spending, reservations of open streams, number of questions, and time of the last one."""

    name: str
    spent: str
    reserved: str
    questions: int
    last: str


async def count_prices(visit: PageVisit) -> list[CountPrice]:
    """Return the price of a count for each accuracy, without how often it could be asked, which can take long."""
    person = dictionary_for(visit).person if visit.may("preview") else None
    return [] if person is None else await visit.in_thread(lambda: _count_prices(visit.session(), count(person.name)))


def _count_prices(session: Session, question: CountPeople) -> list[CountPrice]:
    found: list[CountPrice] = []
    for within, name in ACCURACIES:
        with suppress(LapwingError):
            found.append((name, within, session.preview(question, within=within).price.to_dict()))
    return found


async def left_in_counts(visit: PageVisit) -> list[tuple[str, str, int]]:
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


def own_account(visit: PageVisit) -> dict[str, Any]:
    """Return the account as an analyst sees it: what is left, and how it fell with each of their own acts."""
    ledger, mine = visit.server.state.ledger, (visit.population, visit.person.id)
    points, told = ledger.burn_down(mine[0], points=_MOST_POINTS, analyst=mine[1]), ledger.tally(*mine)
    return _shown(visit, points, visit.session().budget().remaining) | {
        "free": sum(n for (kind, outcome), n in told.items() if kind == "recall" or outcome == "no"),
        "paid": sum(n for (kind, outcome), n in told.items() if kind == "charge" or outcome == "yes"),
    }


def whole_account(visit: PageVisit) -> dict[str, Any]:
    """Return the account as those see it who oversee it: with everybody's acts."""
    ledger = visit.server.state.ledger
    now = ledger.account(visit.population)
    shown = _shown(visit, ledger.burn_down(visit.population, points=_MOST_POINTS), now.remaining())
    days = ledger.days(visit.population)
    sentence, picture = forecast_shown([(one.at, Gauge.of(one.account, now)) for one in days], visit.say)
    return shown | {"forecast": sentence, "days": picture}


def shares_of(visit: PageVisit, named: Iterable[str]) -> list[AnalystShare]:
    """Return the shares of all analysts who ever asked or are named; who asked last comes first."""
    ledger, population = visit.server.state.ledger, visit.population
    accounts = ledger.spent_by(population)
    everybody = ledger.analysts(population) | set(named)
    found = [_share(visit, name, accounts.get(name)) for name in sorted(everybody)]
    return sorted(found, key=lambda one: one.last, reverse=True)


def _share(visit: PageVisit, name: str, account: Account | None) -> AnalystShare:
    ledger, told = visit.server.state.ledger, visit.server.state.ledger.tally(visit.population, name)
    last = ledger.entries(visit.population, analyst=name, kinds=_ASKED, newest_first=True, limit=1)
    spent, reserved = spent_words(account)
    return AnalystShare(
        name=name,
        spent=spent,
        reserved=reserved,
        questions=sum(n for (kind, _), n in told.items() if kind in _ASKED),
        last=last[0]["at"][:10] if last else "",
    )


def spent_words(account: Account | None) -> tuple[str, str]:
    """Say what was spent and is set aside."""
    if account is None:
        return "0", ""
    gauge = Gauge.of(account)
    return gauge.words["spent"] if gauge.spent else "0", gauge.words["reserved"]


def _shown(visit: PageVisit, points: Sequence[AccountPoint], fits: Remaining) -> dict[str, Any]:
    """Return an account in words and as a picture; with a delta, also what one question may cost at most."""
    now = visit.server.state.ledger.account(visit.population)
    gauge = Gauge.of(now)
    past = [(one.at[:10], Gauge.of(one.account, now)) for one in points]
    return {
        **gauge.words,
        "is_share": gauge.is_share,
        "fits": [f"{sign} {below(amount)}" for sign, amount in (("ε", fits.pure), ("ρ", fits.gaussian / 2)) if amount],
        "picture": burn_down([*past, (past[-1][0] if past else "", gauge)], visit.say),
    }


def left_of_allowance(visit: PageVisit, analyst: str) -> str:
    """Say what an analyst has left of their own allowance; nothing where there is none."""
    own = visit.server.state.ledger.snapshot(visit.population, analyst).allowance
    return "" if own is None else Gauge.of(own).words["left"]


async def open_requests(visit: PageVisit) -> list[dict[str, Any]]:
    """Return the requests that are not decided yet."""
    return [one for one in await visit.do("all_requests") if one["state"] == "open"]


def with_meaning(
    visit: PageVisit, requests: Sequence[dict[str, Any]], counts: Sequence[CountPrice]
) -> list[dict[str, Any]]:
    """Return requests, each with the beliefs before and after a yes, and with what the difference buys."""
    return [
        {**one, "beliefs": _beliefs(visit, one), "concerns": _concerns(one), "buys": _difference(one, counts)}
        for one in requests
    ]


def _concerns(request: dict[str, Any]) -> tuple[str, ...]:
    """Return concerns about the budget that a yes would lead to."""
    raises = request["raises"]
    return budget_concerns(read_budget(**raises["to"])) if raises and raises["what"] == "budget" else ()


def _difference(request: dict[str, Any], counts: Sequence[CountPrice]) -> list[tuple[str, str, int]]:
    """Return how many counts more there would be after a yes; with a delta they are no multiples of what is added."""
    raises = request["raises"]
    if not raises:
        return purchases(request["more"], counts)
    before = {name: times for name, _, times in purchases(raises["from"], counts)}
    return [(name, within, times - before[name]) for name, within, times in purchases(raises["to"], counts)]


def _beliefs(visit: PageVisit, request: dict[str, Any]) -> tuple[str, str] | None:
    """Return upper bounds on a belief of 1 %, before and after a yes."""
    raises = request["raises"]
    if not raises:
        return None
    return believed(visit, read_budget(**raises["from"])), believed(visit, read_budget(**raises["to"]))


def believed(visit: PageVisit, budget: Budget) -> str:
    """Return an upper bound on what a belief of 1 % becomes, of somebody who knows everybody else's data.

    Only a budget of epsilon alone bounds every belief; for others the failure probability of the bound is shown.
    """
    epsilon, but_for = likely_loss(budget)
    highest = highest_shown(visit, belief_range(_PRIOR, epsilon)[1])
    return str(visit.say("policy.but_for", highest=highest, cases=int(1 / but_for))) if but_for else highest


def highest_shown(visit: PageVisit, belief: float) -> str:
    """Return a belief for people to read; what is almost sure is not written as sure."""
    return percent(belief) if belief < _NEARLY else str(visit.say("policy.nearly"))


def purchases(budget: dict[str, str], counts: Sequence[CountPrice]) -> list[tuple[str, str, int]]:
    """Return how many counts of each accuracy a budget buys, if it is spent on nothing else.

    >>> purchases({"epsilon": "1"}, [("rough", "100", {"epsilon": "0.03"})])
    [('rough', '100', 33)]
    >>> purchases({"epsilon": "1", "delta": "1e-6"}, [("rough", "100", {"epsilon": None, "rho": 0.0003})])
    [('rough', '100', 92)]
    """
    promised = read_budget(**budget)
    found = [(name, within, _times(promised, price)) for name, within, price in counts]
    return [(name, within, times) for name, within, times in found if times is not None]


def _times(budget: Budget, price: Mapping[str, Any]) -> int | None:
    """Return how often a price can be paid from a fresh budget; None where it cannot be paid in that currency."""
    match budget:
        case ApproximateDP() if price["epsilon"] is None:  # a Gaussian release, of which each takes 2 rho of mu squared
            return int(open_account(budget, shares=SHARES).remaining().gaussian // (2 * Fraction(price["rho"])))
        case ConcentratedDP(rho=amount):
            paid = price["rho"]
        case PureDP(epsilon=amount) | ApproximateDP(epsilon=amount):
            paid = price["epsilon"]
    return int(amount // Fraction(paid)) if paid else None
