"""The policy of a population: its budget, who may ask, the most of a question, noes a day; and what they mean."""

from fractions import Fraction
from typing import Any, Final

from markupsafe import Markup
from starlette.responses import Response

from lapwing.accounting.interpretation import belief_range
from lapwing.app.server.pages.accounts import count_prices
from lapwing.app.server.pages.charts import belief_curve, purchases_picture
from lapwing.app.server.pages.drawing import percent
from lapwing.app.server.pages.visits import Page, PageRefusedError, Visit
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import exact

P: Final = "/populations/{population}/custody/policy"
_PRIORS: Final = (1, 10, 50)
_LARGEST: Final = 1000
_NEARLY: Final = 0.9995
_LONGEST: Final = 10


async def show_policy(visit: Visit) -> Response:
    """Show what holds for everybody, with what the budget buys."""
    return await _policy(visit)


async def draft(visit: Visit) -> Response:
    """Draw what a budget would buy, while it is typed."""
    policy = await visit.do("policy")
    return visit.show("policy_means.html", **await _means(visit, policy, visit.field("budget")))


async def change(visit: Visit) -> Response:
    """Change what holds for everybody; what was not changed is left alone."""
    policy = await visit.do("policy")
    currency, noes = _currency(policy), visit.field("noes")
    if noes and not (noes.isdecimal() and noes.isascii() and len(noes) < _LONGEST):
        return await _policy(visit, problem=visit.say("policy.whole", given=noes[:40]), status=422)
    wanted: dict[str, Any] = {
        "budget": {**policy["budget"], currency: visit.field("budget") or policy["budget"][currency]},
        "unnamed_analysts": visit.field("members") != "on",
        "most": {currency: visit.field("most")} if visit.field("most") else None,
        "noes_a_day": int(noes) if noes else None,
    }
    changes = {name: value for name, value in wanted.items() if value != policy[name]}
    try:
        if changes:
            await visit.do("change_policy", changes)
    except PageRefusedError as refused:
        return await _policy(visit, problem=refused.sentence, status=refused.status)
    return visit.go("/custody/policy", saved="1")


async def change_analyst(visit: Visit) -> Response:
    """Say what one analyst may spend, about which tables, and how much for one question."""
    currency = _currency(await visit.do("policy"))
    body: dict[str, Any] = {"allowance": {currency: visit.field("allowance")}}
    if tables := visit.fields.get("tables"):
        body["tables"] = tables
    if most := visit.field("most"):
        body["most"] = {currency: most}
    try:
        await visit.do("change_analyst", body, path={"analyst": visit.field("analyst").casefold()})
    except PageRefusedError as refused:
        return await _policy(visit, problem=refused.sentence, status=refused.status)
    return visit.go("/custody/policy", saved="1", analyst=visit.field("analyst").casefold())


async def _policy(visit: Visit, *, problem: object = "", status: int = 200) -> Response:
    policy, account = await visit.do("policy"), await visit.do("account")
    budget = visit.asked("budget") or visit.field("budget")
    names = await known_people(visit)
    named = visit.asked("analyst")[:60]
    return visit.show(
        "policy.html",
        status,
        policy=policy,
        account=account,
        currency=_currency(policy),
        problem=problem,
        saved=bool(visit.asked("saved")),
        names=names,
        stranger="" if not names or named in {one["id"] for one in names} else named,
        tables=sorted(account["versions"]),
        **await _means(visit, policy, budget),
    )


async def known_people(visit: Visit) -> list[dict[str, Any]]:
    """Return who may be given an allowance by name: whoever is here or invited, for those who may see that."""
    return [*await visit.do("people"), *await visit.do("invitations")] if visit.may("people") else []


async def _means(visit: Visit, policy: dict[str, Any], given: str) -> dict[str, Any]:
    """Return what a budget buys, and what it means for one person."""
    currency = _currency(policy)
    amount = _amount(given) or Fraction(policy["budget"][currency])
    prices = [(name, within, price[currency]) for name, within, price in await count_prices(visit) if price[currency]]
    buys = [
        (
            str(visit.say("home.counts", accuracy=visit.say(f"ask.{name}"), within=within)),
            int(amount // Fraction(price)),
        )
        for name, within, price in prices
    ]
    told = {"shown": f"{float(amount):g}", "buys": purchases_picture(buys, visit.say) if buys else Markup()}
    return told | meaning_for_one(visit, amount) if currency == "epsilon" else told


def meaning_for_one(visit: Visit, epsilon: Fraction) -> dict[str, Any]:
    """Return how far beliefs about one person can rise under a budget, as rows and as a picture."""
    shown = f"{float(epsilon):g}"
    highest = [(prior, belief_range(f"0.{prior:02}", shown)[1]) for prior in _PRIORS]
    believed = [(prior, percent(at) if at < _NEARLY else visit.say("policy.nearly")) for prior, at in highest]
    return {"believed": believed, "curve": belief_curve(shown, 1, visit.say)}


def _amount(given: str) -> Fraction | None:
    """Return an amount as it was typed, if it is one that can be drawn."""
    try:
        amount = exact("budget", given.strip()[:20])
    except ParameterError:
        return None
    return amount if 0 < amount <= _LARGEST else None


def _currency(policy: dict[str, Any]) -> str:
    return "rho" if "rho" in policy["budget"] else "epsilon"


PAGES: Final = (
    Page(path=P, show=show_policy, operation="account"),
    Page(path=P, show=change, method="POST", operation="change_policy"),
    Page(path=f"{P}/draft", show=draft, method="POST", operation="change_policy"),
    Page(path=f"{P}/analysts", show=change_analyst, method="POST", operation="change_analyst"),
)
