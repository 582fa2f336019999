"""The policy of a population: its budget, who may ask, the most of a question, noes a day; and what they mean."""

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from starlette.responses import Response

from lapwing.accounting.filters.account import Budget
from lapwing.accounting.interpretation import belief_range, budget_concerns, likely_loss
from lapwing.answers.budget import read_budget
from lapwing.doors.server.pages.accounts import count_prices, highest_shown, purchases
from lapwing.doors.server.pages.charts import belief_curve, purchases_picture
from lapwing.doors.server.pages.frame import budget_text, delta_text
from lapwing.doors.server.pages.page_visit import Page, PageRefusedError, PageVisit, act
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import exact

P: Final = "/populations/{population}/custody/policy"
_PRIORS: Final = (1, 10, 50)
_LARGEST: Final = 1000
_LONGEST: Final = 10


async def draft(visit: PageVisit) -> Response:
    """Draw what a budget would buy, while it is typed."""
    policy = await visit.do("policy")
    return visit.show("policy_means.html", **await _means(visit, policy, visit.field("budget")))


async def change(visit: PageVisit) -> Response:
    """Change what holds for everybody; what was not changed is left alone."""
    policy = await visit.do("policy")
    noes = visit.field("noes")
    if noes and not (noes.isdecimal() and noes.isascii() and len(noes) < _LONGEST):
        return await show_policy(visit, problem=visit.say("policy.whole", given=noes[:40]), status=422)
    wanted: dict[str, Any] = {
        "budget": {
            name: (_delta_of(visit, "delta", kept) if name == "delta" else visit.field("budget")) or kept
            for name, kept in policy["budget"].items()
        },
        "unnamed_analysts": visit.field("members") != "on",
        "most": _most_of(visit, policy["most"] or {}),
        "noes_a_day": int(noes) if noes else None,
    }
    changes = {name: value for name, value in wanted.items() if value != policy[name]}
    try:
        if changes:
            await visit.do("change_policy", changes)
    except PageRefusedError as refused:
        return await show_policy(visit, problem=refused.sentence, status=refused.status)
    return visit.go("/custody/policy", saved="1")


def _limits_of(visit: PageVisit) -> dict[str, Any]:
    """Return the limits of one analyst: the allowance, the tables, and the most for one question."""
    body = {"allowance": allowance_of(visit), "tables": visit.fields.get("tables"), "most": _most_of(visit)}
    return {name: value for name, value in body.items() if value}


async def _saved(visit: PageVisit, _: Any) -> Response:
    return visit.go("/custody/policy", saved="1", **analyst_of(visit))


def analyst_of(visit: PageVisit) -> dict[str, str]:
    """Return the analyst whom a form is about, as a part of the paths of operations."""
    return {"analyst": visit.field("analyst").casefold()}


async def show_policy(visit: PageVisit, *, problem: object = "", status: int = 200) -> Response:
    """Show what holds for everybody, with what the budget buys."""
    policy, account = await visit.do("policy"), await visit.do("account")
    budget = visit.asked("budget") or visit.field("budget")
    names = await known_people(visit)
    named = visit.asked("analyst")[:60]
    return visit.show(
        "policy.html",
        status,
        policy=policy,
        account=account,
        problem=problem,
        saved=bool(visit.asked("saved")),
        names=names,
        stranger="" if not names or named in {one["id"] for one in names} else named,
        tables=sorted(account["versions"]),
        **await _means(visit, policy, budget),
    )


def allowance_of(visit: PageVisit) -> dict[str, str]:
    """Return an allowance as it was typed: in the currency of the budget, with a delta or not."""
    delta = visit.field("delta")
    return {visit.currency: visit.field("allowance")} | ({"delta": delta} if delta else {})


def _most_of(visit: PageVisit, kept: Mapping[str, str] = MappingProxyType({})) -> dict[str, str] | None:
    """Return the most of one question as it was typed: in the currency of what is `kept`, else in the budget's."""
    amount, delta = visit.field("most"), _delta_of(visit, "most_delta", kept.get("delta"))
    currency = "epsilon" if "epsilon" in kept else visit.currency
    return ({currency: amount} if amount else {}) | ({"delta": delta} if delta else {}) or None


def _delta_of(visit: PageVisit, field: str, kept: str | None) -> str:
    """Return a delta as it was typed; left as it was shown, it is the `kept` one, which may have more digits."""
    typed = visit.field(field)
    return kept if kept is not None and typed == delta_text(kept) else typed


async def known_people(visit: PageVisit) -> list[dict[str, Any]]:
    """Return who may be given an allowance by name: people known or invited, if the viewer may see them."""
    return [*await visit.do("people"), *await visit.do("invitations")] if visit.may("people") else []


async def _means(visit: PageVisit, policy: dict[str, Any], given: str) -> dict[str, Any]:
    """Return how many counts a budget buys, and its meaning for one person."""
    amount = _amount(given) or Fraction(policy["budget"][visit.currency])
    planned = {**policy["budget"], visit.currency: f"{float(amount):g}"}
    buys = [
        (str(visit.say("home.counts", accuracy=visit.say(f"ask.{name}"), within=within)), times)
        for name, within, times in purchases(planned, await count_prices(visit))
    ]
    told = {"shown": budget_text(planned), "buys": purchases_picture(buys, visit.say) if buys else ""}
    budget = read_budget(**planned)
    return told | {"concerns": budget_concerns(budget)} | meaning_for_one(visit, budget)


def meaning_for_one(visit: PageVisit, budget: Budget) -> dict[str, Any]:
    """Return how far beliefs about one person can rise under a budget, as rows and as a picture.

    They are those of somebody who knows everybody else's data, but for one case in `cases` where there is a delta.
    """
    epsilon, but_for = likely_loss(budget)
    highest = [(prior, belief_range(f"0.{prior:02}", epsilon)[1]) for prior in _PRIORS]
    believed = [(prior, highest_shown(visit, at)) for prior, at in highest]
    cases = int(1 / but_for) if but_for else None
    return {"believed": believed, "curve": belief_curve(f"{epsilon:g}", 1, visit.say), "cases": cases}


def _amount(given: str) -> Fraction | None:
    """Return an amount as it was typed, if it is one that can be drawn."""
    try:
        amount = exact("budget", given.strip()[:20])
    except ParameterError:
        return None
    return amount if 0 < amount <= _LARGEST else None


PAGES: Final = (
    Page(path=P, show=show_policy, operation="account"),
    Page(path=P, show=change, method="POST", operation="change_policy"),
    Page(path=f"{P}/draft", show=draft, method="POST", operation="change_policy"),
    act(f"{P}/analysts", "change_analyst", body=_limits_of, parts=analyst_of, then=_saved, refused=show_policy),
)
