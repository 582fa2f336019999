"""For custodians and auditors: the whole account, people, requests, versions, the ledger, and what went wrong.

Every act is an operation of the table, so who may not do it by the API may not do it here.
"""

import re
from fractions import Fraction
from functools import partial
from typing import Any, Final

from starlette.responses import RedirectResponse, Response

from lapwing.answers.budget import read_budget
from lapwing.doors.server.calls import Reply
from lapwing.doors.server.pages.accounts import (
    believed,
    count_prices,
    left_of_allowance,
    open_requests,
    purchases,
    shares_of,
    whole_account,
    with_meaning,
)
from lapwing.doors.server.pages.ledger_rows import ledger_rows
from lapwing.doors.server.pages.page_visit import FormAct, Page, PageRefusedError, PageVisit, act, acts
from lapwing.doors.server.pages.policy import allowance_of, analyst_of, known_people
from lapwing.doors.server.roles import Role

P: Final = "/populations/{population}/custody"
_AMOUNT: Final = re.compile(r"\d{1,2}(\.\d{1,6})?")
_ENTRIES: Final = 50


async def choose_custody(visit: PageVisit) -> Response:
    """Go to the custody of the only population, or to where one is chosen."""
    found = await visit.do("populations")
    return RedirectResponse(f"/populations/{found[0]['population']}/custody" if len(found) == 1 else "/", 303)


async def show_custody(visit: PageVisit, *, problem: str = "", status: int = 200) -> Response:
    """Show the spending by analyst, what is left, and what waits for a decision."""
    account = await visit.do("account")
    shown = await visit.in_thread(lambda: whole_account(visit))
    planned = _planned(visit, account["budget"])
    counts = await count_prices(visit)
    requests = with_meaning(visit, await open_requests(visit), counts)
    return visit.show(
        "custody.html",
        status,
        problem=problem,
        names=await known_people(visit),
        members_only=not (await visit.do("policy"))["unnamed_analysts"],
        account=account,
        shown=shown,
        shares=await visit.in_thread(lambda: shares_of(visit, account["analysts"])),
        requests=requests,
        unsettled=await visit.do("unsettled") if visit.may("unsettled") else [],
        changes=await visit.do("changes") if visit.may("changes") else None,
        lefts=await visit.in_thread(lambda: {name: left_of_allowance(visit, name) for name in account["analysts"]}),
        planned=planned,
        buys=purchases(planned, counts),
        belief=believed(visit, read_budget(**planned)),
    )


def _planned(visit: PageVisit, budget: dict[str, str]) -> dict[str, str]:
    """Return the budget that somebody wants to know about: the one there is, or another amount of its kind."""
    given, currency = visit.asked("amount"), visit.currency
    is_amount = _AMOUNT.fullmatch(given) and Fraction(given) > 0
    return {**budget, currency: given if is_amount else f"{float(Fraction(budget[currency])):g}"}


async def show_people(
    visit: PageVisit, *, link: str = "", linked: str = "", problem: str = "", status: int = 200
) -> Response:
    """Show who may come in, and who is invited; `link`, for the person `linked`, is shown this once."""
    return visit.show(
        "people.html",
        status,
        everybody=await visit.do("people"),
        invited=await visit.do("invitations"),
        roles=[role.value for role in Role],
        link=link,
        linked=linked,
        problem=problem,
    )


def _invitation(visit: PageVisit) -> dict[str, str]:
    return {"id": visit.field("id").casefold(), "name": visit.field("name"), "role": visit.field("role", "analyst")}


async def _show_link(visit: PageVisit, told: dict[str, Any]) -> Response:
    return await show_people(visit, link=told["link"], linked=told["id"])


def _suspension(visit: PageVisit) -> dict[str, Any]:
    """Return whose spending a form stops or allows again: one analyst's, or everybody's."""
    body: dict[str, Any] = {"suspended": visit.field("suspended") == "yes"}
    return body | ({"analyst": visit.field("analyst")} if visit.field("analyst") else {})


async def verify(visit: PageVisit) -> Response:
    """Check every hash, every rule and every sum."""
    receipts = visit.field("receipts").split()
    try:
        verified = await visit.do("verify_ledger", {"receipts": receipts})
    except PageRefusedError as refused:
        if refused.code != "ledger":
            raise
        verified = {"sound": False}
    return await show_ledger(visit, verified)


async def show_ledger(visit: PageVisit, verified: dict[str, Any] | None = None) -> Response:
    """Show the entries about a population, the newest first, a receipt to keep, and whether it was just verified."""
    head, who = await visit.do("ledger_head"), visit.asked("who")[:60]
    chains, name = head["chains"], visit.asked("population")
    name = name if name in chains else min(chains, key=lambda one: int(chains[one]))
    given, ledger = visit.asked("before"), visit.server.state.ledger.of(name)
    last = int(given) if given.isdecimal() and len(given) < 16 else ledger.last_entry() + 1  # noqa: PLR2004
    if who:
        words: dict[str, Any] = {"limit": _ENTRIES, "analyst": who, "newest_first": True}
        shown = await visit.in_thread(lambda: ledger.entries(name, after=last, **words))
        older = shown[-1]["seq"] if len(shown) == _ENTRIES else None
    else:
        first = max(0, last - _ENTRIES - 1)
        entries = await visit.do("ledger_entries", query={"after": first, "limit": _ENTRIES, "chain": chains[name]})
        shown = [one["entry"] for one in reversed(entries) if one["entry"]["seq"] < last]
        older = first + 1 if first else None
    rows = await visit.in_thread(lambda: ledger_rows(visit, shown))
    here = {one.number for one in rows}
    names = sorted(chains)
    return visit.show(
        "ledger.html", head=head, rows=rows, here=here, who=who, older=older, verified=verified, name=name, names=names
    )


async def export(visit: PageVisit) -> Response:
    """Save all entries as JSON lines, which anybody can check."""
    told: Reply = await visit.do("export_ledger")
    return Response(told.body, told.status, dict(told.headers), told.media_type)


async def show_health(visit: PageVisit, settled: dict[str, Any] | None = None) -> Response:
    """Show what was charged and has no end, and the last lines of the custodian's log; and what was just settled."""
    failures = await visit.do("failures")
    unsettled, lines = await visit.do("unsettled"), failures["lines"][-50:]
    return visit.show("health.html", unsettled=unsettled, failures=failures, lines=lines, settled=settled)


_PEOPLE: Final = "/custody/people"
_change_person: Final = partial(FormAct, operation="change_person", then=_PEOPLE)
_of_analyst: Final = partial(FormAct, then="/custody", parts=analyst_of, refused=show_custody)

PAGES: Final = (
    Page(path="/custody", show=choose_custody, operation="account"),
    Page(path=_PEOPLE, show=show_people, operation="people"),
    act(_PEOPLE, "invite", body=_invitation, then=_show_link, refused=show_people),
    acts(
        f"{_PEOPLE}/{{person}}",
        "change_person",
        {
            "role": _change_person(body=lambda visit: {"role": visit.field("role")}),
            "disable": _change_person(body=lambda _: {"disabled": True}),
            "enable": _change_person(body=lambda _: {"disabled": False}),
            "revoke": FormAct(operation="revoke_tokens", then=_PEOPLE),
            "link": FormAct(operation="renew_link", then=_show_link),
        },
    ),
    Page(path="/custody/ledger", show=show_ledger, operation="ledger_entries"),
    Page(path="/custody/ledger/verification", show=verify, method="POST", operation="verify_ledger"),
    Page(path="/custody/ledger/export", show=export, operation="export_ledger"),
    Page(path="/custody/health", show=show_health, operation="failures"),
    act("/custody/health/recovery", "recover", then=show_health),
    Page(path=P, show=show_custody, operation="account"),
    acts(
        f"{P}/allowances",
        "change_analyst",
        {
            "": _of_analyst(operation="change_analyst", body=lambda visit: {"allowance": allowance_of(visit)}),
            "forget": _of_analyst(operation="forget_analyst"),
        },
    ),
    act(f"{P}/suspension", "suspend", body=_suspension, then="/custody"),
    act(f"{P}/tables/{{table}}/versions", "advance_version", then="/custody"),
    act(
        f"{P}/requests/{{request}}",
        "decide_request",
        body=lambda visit: {"granted": visit.field("granted") == "yes"},
        then="/custody",
    ),
)
