"""For custodians and auditors: the whole account, people, requests, versions, the ledger, and what went wrong.

Every act is an operation of the table, so whoever may not do it as a program may not do it here.
"""

import re
from fractions import Fraction
from typing import Any, Final

from starlette.responses import RedirectResponse, Response

from lapwing.app.server.calls import Reply
from lapwing.app.server.pages.accounts import (
    believed,
    count_prices,
    open_requests,
    purchases,
    shares_of,
    whole_account,
    with_meaning,
)
from lapwing.app.server.pages.ledger_rows import ledger_rows
from lapwing.app.server.pages.policy import known_people
from lapwing.app.server.pages.visits import PageRefusedError, Visit
from lapwing.app.server.roles import Role

_EPSILON: Final = re.compile(r"\d{1,2}(\.\d{1,3})?")
_ENTRIES: Final = 50


async def choose_custody(visit: Visit) -> Response:
    """Go to the custody of the only population, or to where one is chosen."""
    found = await visit.do("populations")
    return RedirectResponse(f"/populations/{found[0]['population']}/custody" if len(found) == 1 else "/", 303)


async def show_custody(visit: Visit) -> Response:
    """Show what was given away, to whom, what is left to give, and what waits."""
    return await _custody(visit)


async def set_allowance(visit: Visit) -> Response:
    """Say what an analyst may spend of the budget, or take that away again."""
    who = {"analyst": visit.field("analyst").casefold()}
    try:
        if visit.field("do") == "forget":
            await visit.do("forget_analyst", path=who)
        else:
            await visit.do("change_analyst", {"allowance": {"epsilon": visit.field("epsilon")}}, path=who)
    except PageRefusedError as refused:
        return await _custody(visit, problem=refused.sentence, status=refused.status)
    return visit.go("/custody")


async def _custody(visit: Visit, *, problem: str = "", status: int = 200) -> Response:
    given = visit.asked("e")
    account = await visit.do("account")
    shown = await visit.in_thread(lambda: whole_account(visit))
    epsilon = given if _EPSILON.fullmatch(given) and Fraction(given) > 0 else _whole_epsilon(account)
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
        epsilon=epsilon,
        buys=purchases({"epsilon": epsilon}, counts),
        belief=believed(visit, epsilon),
    )


def _whole_epsilon(account: dict[str, Any]) -> str:
    budget = account["budget"].get("epsilon", "1")
    return f"{float(Fraction(budget)):g}"


async def show_people(visit: Visit) -> Response:
    """Show who may come in, and who is invited."""
    return await _people(visit)


async def _people(visit: Visit, *, link: str = "", linked: str = "", problem: str = "", status: int = 200) -> Response:
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


async def invite(visit: Visit) -> Response:
    """Invite somebody, and show the link this once."""
    body = {"id": visit.field("id").casefold(), "name": visit.field("name"), "role": visit.field("role", "analyst")}
    try:
        told = await visit.do("invite", body)
    except PageRefusedError as refused:
        return await _people(visit, problem=refused.sentence, status=refused.status)
    return await _people(visit, link=told["link"], linked=body["id"])


async def change_person(visit: Visit) -> Response:
    """Change what somebody may do, or whether they may come in; or end all their tokens."""
    who = {"person": visit.part("person")}
    match visit.field("do"):
        case "role":
            await visit.do("change_person", {"role": visit.field("role")}, path=who)
        case "disable" | "enable" as which:
            await visit.do("change_person", {"disabled": which == "disable"}, path=who)
        case "revoke":
            await visit.do("revoke_tokens", path=who)
        case _:
            pass
    return RedirectResponse("/custody/people", 303)


async def suspend(visit: Visit) -> Response:
    """Stop the spending of everybody or of one analyst, or allow it again."""
    body: dict[str, Any] = {"suspended": visit.field("suspended") == "yes"}
    if visit.field("analyst"):
        body["analyst"] = visit.field("analyst")
    await visit.do("suspend", body)
    return visit.go("/custody")


async def advance_version(visit: Visit) -> Response:
    """Say publicly that the data of a table changed."""
    await visit.do("advance_version", path={"table": visit.part("table")})
    return visit.go("/custody")


async def decide(visit: Visit) -> Response:
    """Say yes or no to a request for more budget."""
    granted = visit.field("granted") == "yes"
    await visit.do("decide_request", {"granted": granted}, path={"request": visit.part("request")})
    return visit.go("/custody")


async def show_ledger(visit: Visit) -> Response:
    """Show the entries of the ledger, the newest first, and the end of it to keep."""
    return await _ledger(visit, None)


async def verify(visit: Visit) -> Response:
    """Check every hash, every rule and every sum."""
    receipts = visit.field("receipts").split()
    try:
        verified = await visit.do("verify_ledger", {"receipts": receipts})
    except PageRefusedError as refused:
        if refused.code != "ledger":
            raise
        verified = {"sound": False}
    return await _ledger(visit, verified)


async def _ledger(visit: Visit, verified: dict[str, Any] | None) -> Response:
    head = await visit.do("ledger_head")
    given = visit.asked("before")
    last = int(given) if given.isdecimal() and len(given) < 16 else head["entries"] + 1  # noqa: PLR2004
    first = max(0, last - _ENTRIES - 1)
    entries = await visit.do("ledger_entries", query={"after": first, "limit": _ENTRIES})
    shown = [one for one in entries if one["entry"]["seq"] < last]
    older = first + 1 if first else None
    rows = await visit.in_thread(lambda: ledger_rows(visit, [one["entry"] for one in shown[::-1]]))
    return visit.show("ledger.html", head=head, rows=rows, older=older, verified=verified)


async def export(visit: Visit) -> Response:
    """Save all entries as JSON lines, which anybody can check."""
    told: Reply = await visit.do("export_ledger")
    return Response(told.body, told.status, dict(told.headers), told.media_type)


async def show_health(visit: Visit) -> Response:
    """Show what was charged and has no end, and the last lines of the custodian's log."""
    return await _health(visit, None)


async def recover(visit: Visit) -> Response:
    """Settle what dead processes left behind."""
    return await _health(visit, await visit.do("recover"))


async def _health(visit: Visit, settled: dict[str, Any] | None) -> Response:
    failures = await visit.do("failures")
    unsettled, lines = await visit.do("unsettled"), failures["lines"][-50:]
    return visit.show("health.html", unsettled=unsettled, failures=failures, lines=lines, settled=settled)
