"""For custodians and auditors: the whole account, people, requests, versions, the ledger, and what went wrong.

Every act is an operation of the table, so whoever may not do it as a program may not do it here.
"""

import re
from fractions import Fraction
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
from lapwing.doors.server.pages.page_visit import PageRefusedError, PageVisit
from lapwing.doors.server.pages.policy import allowance_of, known_people
from lapwing.doors.server.roles import Role
from lapwing.ledger.entries import Record

_AMOUNT: Final = re.compile(r"\d{1,2}(\.\d{1,6})?")
_ENTRIES: Final = 50


async def choose_custody(visit: PageVisit) -> Response:
    """Go to the custody of the only population, or to where one is chosen."""
    found = await visit.do("populations")
    return RedirectResponse(f"/populations/{found[0]['population']}/custody" if len(found) == 1 else "/", 303)


async def show_custody(visit: PageVisit) -> Response:
    """Show what was given away, to whom, what is left to give, and what waits."""
    return await _custody(visit)


async def set_allowance(visit: PageVisit) -> Response:
    """Say what an analyst may spend of the budget, or take that away again."""
    who = {"analyst": visit.field("analyst").casefold()}
    try:
        if visit.field("do") == "forget":
            await visit.do("forget_analyst", path=who)
        else:
            await visit.do("change_analyst", {"allowance": allowance_of(visit)}, path=who)
    except PageRefusedError as refused:
        return await _custody(visit, problem=refused.sentence, status=refused.status)
    return visit.go("/custody")


async def _custody(visit: PageVisit, *, problem: str = "", status: int = 200) -> Response:
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


async def show_people(visit: PageVisit) -> Response:
    """Show who may come in, and who is invited."""
    return await _people(visit)


async def _people(
    visit: PageVisit, *, link: str = "", linked: str = "", problem: str = "", status: int = 200
) -> Response:
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


async def invite(visit: PageVisit) -> Response:
    """Invite somebody, and show the link this once."""
    body = {"id": visit.field("id").casefold(), "name": visit.field("name"), "role": visit.field("role", "analyst")}
    try:
        told = await visit.do("invite", body)
    except PageRefusedError as refused:
        return await _people(visit, problem=refused.sentence, status=refused.status)
    return await _people(visit, link=told["link"], linked=body["id"])


async def change_person(visit: PageVisit) -> Response:
    """Change what somebody may do, or whether they may come in; end all their tokens; or show a link to a password."""
    match visit.field("do"):
        case "link":
            told = await visit.do("renew_link")
            return await _people(visit, link=told["link"], linked=told["id"])
        case "role":
            await visit.do("change_person", {"role": visit.field("role")})
        case "disable" | "enable" as which:
            await visit.do("change_person", {"disabled": which == "disable"})
        case "revoke":
            await visit.do("revoke_tokens")
        case _:
            pass
    return RedirectResponse("/custody/people", 303)


def suspension(visit: PageVisit) -> dict[str, Any]:
    """Return whose spending a form stops or allows again: one analyst's, or everybody's."""
    body: dict[str, Any] = {"suspended": visit.field("suspended") == "yes"}
    return body | ({"analyst": visit.field("analyst")} if visit.field("analyst") else {})


def decision(visit: PageVisit) -> dict[str, Any]:
    """Return the yes or the no of a form to a request for more budget."""
    return {"granted": visit.field("granted") == "yes"}


async def show_ledger(visit: PageVisit) -> Response:
    """Show the entries of the ledger, the newest first, and the end of it to keep."""
    return await _ledger(visit, None)


async def verify(visit: PageVisit) -> Response:
    """Check every hash, every rule and every sum."""
    receipts = visit.field("receipts").split()
    try:
        verified = await visit.do("verify_ledger", {"receipts": receipts})
    except PageRefusedError as refused:
        if refused.code != "ledger":
            raise
        verified = {"sound": False}
    return await _ledger(visit, verified)


async def _ledger(visit: PageVisit, verified: dict[str, Any] | None) -> Response:
    head, who = await visit.do("ledger_head"), visit.asked("who")[:60]
    given = visit.asked("before")
    last = int(given) if given.isdecimal() and len(given) < 16 else head["entries"] + 1  # noqa: PLR2004
    if who:
        shown = await visit.in_thread(lambda: _entries_of(visit, who, last))
        older = shown[-1]["seq"] if len(shown) == _ENTRIES else None
    else:
        first = max(0, last - _ENTRIES - 1)
        entries = await visit.do("ledger_entries", query={"after": first, "limit": _ENTRIES})
        shown = [one["entry"] for one in reversed(entries) if one["entry"]["seq"] < last]
        older = first + 1 if first else None
    rows = await visit.in_thread(lambda: ledger_rows(visit, shown))
    here = {one.number for one in rows}
    return visit.show("ledger.html", head=head, rows=rows, here=here, who=who, older=older, verified=verified)


def _entries_of(visit: PageVisit, who: str, last: int) -> list[Record]:
    """Return the last entries that one analyst caused, of all populations, the newest first."""
    ledger = visit.server.state.ledger
    found = [
        entry
        for population in visit.server.state.populations()
        for entry in ledger.entries(population, after=last, limit=_ENTRIES, analyst=who, newest_first=True)
    ]
    return sorted(found, key=lambda entry: int(entry["seq"]), reverse=True)[:_ENTRIES]


async def export(visit: PageVisit) -> Response:
    """Save all entries as JSON lines, which anybody can check."""
    told: Reply = await visit.do("export_ledger")
    return Response(told.body, told.status, dict(told.headers), told.media_type)


async def show_health(visit: PageVisit) -> Response:
    """Show what was charged and has no end, and the last lines of the custodian's log."""
    return await _health(visit, None)


async def recover(visit: PageVisit) -> Response:
    """Settle what dead processes left behind."""
    return await _health(visit, await visit.do("recover"))


async def _health(visit: PageVisit, settled: dict[str, Any] | None) -> Response:
    failures = await visit.do("failures")
    unsettled, lines = await visit.do("unsettled"), failures["lines"][-50:]
    return visit.show("health.html", unsettled=unsettled, failures=failures, lines=lines, settled=settled)
