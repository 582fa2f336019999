"""What is somebody's own: home, streams, history, account; and what everybody may read, the dictionary."""

import re
from fractions import Fraction
from typing import Any

from starlette.responses import RedirectResponse, Response

from lapwing.app.server.pages.accounts import left_in_counts, open_requests, own_account
from lapwing.app.server.pages.charts import timeline
from lapwing.app.server.pages.drafts import dictionary_for
from lapwing.app.server.pages.own_history import history_of
from lapwing.app.server.pages.stream_log import outcomes_of
from lapwing.app.server.pages.visits import Visit
from lapwing.app.server.roles import Role
from lapwing.noise.randomness import fresh_name
from lapwing.vocabulary.guarantee import ApproximateDP

_PAGE = 50
_PLACE = re.compile(r"\d{1,2}:\d{1,2}:[^|<>\"]{1,200}")


async def go_home(visit: Visit) -> Response:
    """Go to the only population there is, or show all of them."""
    found = await visit.do("populations")
    if len(found) == 1:
        return RedirectResponse(f"/populations/{found[0]['population']}", 303)
    return visit.show("populations.html", found=found)


async def show_home(visit: Visit) -> Response:
    """Show what may be asked, what is left for it, and what was asked last."""
    dictionary = dictionary_for(visit)
    if not visit.may("ask"):
        return visit.go("/custody" if visit.person.role is Role.AUDITOR else "/dictionary")
    streams = [one for one in await visit.do("streams") if one["status"] == "open"]
    budget, recent = await visit.do("budget"), await visit.in_thread(lambda: history_of(visit, most=5))
    late = _is_late(visit)
    left = [] if late else await left_in_counts(visit)
    waiting = len(await open_requests(visit)) if visit.may("decide_request") else None
    return visit.show(
        "home.html",
        dictionary=dictionary,
        streams=streams,
        budget=budget,
        left=left,
        late=late,
        rows=recent,
        waiting=waiting,
    )


def _is_late(visit: Visit) -> bool:
    """Whether it is told later how many counts are left: under an (epsilon, delta) budget that takes a while."""
    budget = visit.server.house.ledger.account(visit.population).budget
    return isinstance(budget, ApproximateDP) and not visit.asked("left")


async def show_dictionary(visit: Visit) -> Response:
    """Show what is declared, and what of it matches a search."""
    dictionary, text = dictionary_for(visit), visit.asked("q")[:100]
    found = dictionary.search(text) if text.strip() else []
    return visit.show("dictionary.html", dictionary=dictionary, q=text, found=found)


async def search(visit: Visit) -> Response:
    """Return what matches a search, as buttons that add it: to a panel, or, of one column, to a criterion."""
    dictionary, text, place = dictionary_for(visit), visit.asked("q")[:100], visit.asked("place")
    if place:
        field = dictionary.field(visit.asked("of"))
        if field is None or not _PLACE.fullmatch(place):
            return visit.show("found.html", found=[], panel="0")
        return visit.show("found_values.html", place=place, f=field, q=text)
    panel = visit.asked("panel", "0")
    return visit.show("found.html", found=dictionary.search(text), panel=panel if panel.isdecimal() else "0")


async def show_streams(visit: Visit) -> Response:
    """Show one's streams, each with what it answered."""
    records, ledger = await visit.do("streams"), visit.server.house.ledger
    told = await visit.in_thread(
        lambda: {one["stream"]: outcomes_of(ledger, visit.population, one["stream"]) for one in records}
    )
    rows = []
    for one in reversed(records):
        outcomes = told[one["stream"]]
        back = Fraction(one["price"]["all"]) - Fraction(one["spent"])
        rows.append({**one, "back": back, "line": timeline(outcomes, one["yeses"], visit.say), "outcomes": outcomes})
    return visit.show("streams.html", rows=rows, key=fresh_name())


async def close_stream(visit: Visit) -> Response:
    """Close a stream; what no yes has used comes back."""
    key = visit.field("key") or fresh_name()
    await visit.do("close_stream", key=f"{key}-closes", path={"stream": visit.part("stream")})
    return visit.go("/streams")


async def show_history(visit: Visit) -> Response:
    """Show everything that was asked, wherever it was asked, the newest first."""
    before = visit.asked("before")
    first = int(before) if before.isdecimal() and len(before) < 16 else 0  # noqa: PLR2004
    rows = await visit.in_thread(lambda: history_of(visit, most=_PAGE + 1, skip=first, holding=visit.asked("q")[:100]))
    older = first + _PAGE if len(rows) > _PAGE else None
    return visit.show("history.html", rows=rows[:_PAGE], older=older, q=visit.asked("q")[:100])


async def show_account(visit: Visit) -> Response:
    """Show what is left, what it is good for, one's tokens, and one's requests for more."""
    return visit.show("account.html", **await _account(visit), made=None)


async def _account(visit: Visit) -> dict[str, Any]:
    may_ask = visit.may("ask")
    late = may_ask and _is_late(visit)
    return {
        "late": late,
        "account": await visit.in_thread(lambda: own_account(visit)) if may_ask else None,
        "left": await left_in_counts(visit) if may_ask and not late else [],
        "budget": await visit.do("budget") if may_ask else None,
        "requests": await visit.do("own_requests") if may_ask else [],
        "tokens": [one for one in await visit.do("tokens") if not one["revoked"]],
        "head": str(visit.server.house.ledger.head()),
    }


async def make_token(visit: Visit) -> Response:
    """Make a token for programs, and show it this once."""
    name = visit.field("name", "notebook")[:60]
    made = await visit.do("make_token", {"name": name})
    return visit.show("account.html", **await _account(visit), made=made)


async def revoke_token(visit: Visit) -> Response:
    """End a token."""
    await visit.do("revoke_token", path={"token": visit.part("token")})
    return visit.go("/account")


async def request_budget(visit: Visit) -> Response:
    """Ask the custodian for more."""
    budget = (await visit.do("policy"))["budget"]
    more = {"rho" if "rho" in budget else "epsilon": visit.field("wanted")}
    await visit.do("request_budget", {"more": more, "purpose": visit.field("purpose")})
    return visit.go("/account")
