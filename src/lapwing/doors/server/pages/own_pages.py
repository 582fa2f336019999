"""A person's own pages: home, streams, history, account; and the dictionary, which everybody may read."""

import re
from fractions import Fraction
from typing import Any, Final

from starlette.responses import RedirectResponse, Response

from lapwing.doors.server.pages.accounts import (
    count_prices,
    left_in_counts,
    left_of_allowance,
    open_requests,
    own_account,
)
from lapwing.doors.server.pages.charts import timeline
from lapwing.doors.server.pages.dictionary import Dictionary
from lapwing.doors.server.pages.drafts import dictionary_for
from lapwing.doors.server.pages.own_history import history_of
from lapwing.doors.server.pages.page_visit import Page, PageVisit, act
from lapwing.doors.server.pages.stream_log import outcomes_of
from lapwing.doors.server.roles import Role
from lapwing.noise.randomness import fresh_name
from lapwing.vocabulary.guarantee import ApproximateDP

P: Final = "/populations/{population}"
_PAGE = 50
_PLACE = re.compile(r"\d{1,2}:\d{1,2}:[^|<>\"]{1,200}")


async def go_home(visit: PageVisit) -> Response:
    """Go to the only population there is, or show all of them."""
    found = await visit.do("populations")
    if len(found) == 1:
        return RedirectResponse(f"/populations/{found[0]['population']}", 303)
    return visit.show("populations.html", found=found)


async def show_home(visit: PageVisit) -> Response:
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
        fine_in_rough=await _fine_in_rough(visit),
    )


async def _fine_in_rough(visit: PageVisit) -> int:
    """Return how many rough counts cost as much as a fine one; 1 where that is not known."""
    prices = {name: price for name, _, price in await count_prices(visit)}
    if not {"rough", "fine"} <= set(prices):
        return 1
    currency = "rho" if visit.currency == "rho" or prices["fine"]["epsilon"] is None else "epsilon"
    rough, fine = (prices[name][currency] for name in ("rough", "fine"))
    return max(1, round(Fraction(fine) / Fraction(rough))) if rough and fine else 1


def _is_late(visit: PageVisit) -> bool:
    """Whether the number of counts left is loaded later: under an (epsilon, delta) budget it takes a while."""
    budget = visit.server.state.ledger.account(visit.population).budget
    return isinstance(budget, ApproximateDP) and not visit.asked("left")


async def show_dictionary(visit: PageVisit) -> Response:
    """Show what is declared, and what of it matches a search."""
    dictionary, text = dictionary_for(visit), visit.asked("q")[:100]
    found = dictionary.search(text) if text.strip() else []
    return visit.show("dictionary.html", dictionary=dictionary, q=text, found=found)


async def search(visit: PageVisit) -> Response:
    """Return the matches of a search, as buttons that add them: to a panel, or, of one column, to a criterion."""
    return found_in(visit, dictionary_for(visit))


def found_in(visit: PageVisit, dictionary: Dictionary) -> Response:
    """Return what matches a search in a dictionary, as buttons."""
    text, place = visit.asked("q")[:100], visit.asked("place")
    if place:
        field = dictionary.field(visit.asked("of"))
        if field is None or not _PLACE.fullmatch(place):
            return visit.show("found.html", found=[], panel="0")
        return visit.show("found_values.html", place=place, f=field, q=text)
    panel = visit.asked("panel", "0")
    return visit.show("found.html", found=dictionary.search(text), panel=panel if panel.isdecimal() else "0")


async def show_streams(visit: PageVisit) -> Response:
    """Show one's streams, each with what it answered."""
    records, ledger = await visit.do("streams"), visit.server.state.ledger
    told = await visit.in_thread(
        lambda: {one["stream"]: outcomes_of(ledger, visit.population, one["stream"]) for one in records}
    )
    rows = []
    for one in reversed(records):
        outcomes = told[one["stream"]]
        rows.append({**one, "line": timeline(outcomes, one["yeses"], visit.say), "outcomes": outcomes})
    return visit.show("streams.html", rows=rows, key=fresh_name())


async def show_history(visit: PageVisit) -> Response:
    """Show everything that was asked, wherever it was asked, the newest first."""
    before = visit.asked("before")
    first = int(before) if before.isdecimal() and len(before) < 16 else 0  # noqa: PLR2004
    rows = await visit.in_thread(lambda: history_of(visit, most=_PAGE + 1, skip=first, holding=visit.asked("q")[:100]))
    older = first + _PAGE if len(rows) > _PAGE else None
    return visit.show("history.html", rows=rows[:_PAGE], older=older, q=visit.asked("q")[:100])


async def show_account(visit: PageVisit, made: dict[str, Any] | None = None) -> Response:
    """Show what is left, what it is good for, one's tokens, and requests for more; a token that was just made, once."""
    may_ask = visit.may("ask")
    late = may_ask and _is_late(visit)
    return visit.show(
        "account.html",
        made=made,
        late=late,
        account=await visit.in_thread(lambda: own_account(visit)) if may_ask else None,
        left=await left_in_counts(visit) if may_ask and not late else [],
        budget=await visit.do("budget") if may_ask else None,
        own_left=await visit.in_thread(lambda: left_of_allowance(visit, visit.person.id)) if may_ask else "",
        requests=await visit.do("own_requests") if may_ask else [],
        tokens=[one for one in await visit.do("tokens") if not one["revoked"]],
        head=str(visit.server.state.ledger.of(visit.population).head()),
    )


def _more_budget(visit: PageVisit) -> dict[str, Any]:
    return {"more": {visit.currency: visit.field("wanted")}, "purpose": visit.field("purpose")}


PAGES: Final = (
    Page(path="/", show=go_home),
    Page(path=P, show=show_home),
    Page(path=f"{P}/dictionary", show=show_dictionary),
    Page(path=f"{P}/dictionary/search", show=search, operation="preview"),
    Page(path=f"{P}/streams", show=show_streams, operation="streams"),
    act(
        f"{P}/streams/{{stream}}/close",
        "close_stream",
        key=lambda visit: f"{visit.field('key') or fresh_name()}-closes",
        then="/streams",
    ),
    Page(path=f"{P}/history", show=show_history, operation="history"),
    Page(path=f"{P}/account", show=show_account),
    act(
        f"{P}/account/tokens",
        "make_token",
        body=lambda visit: {"name": visit.field("name", "notebook")[:60]},
        then=show_account,
    ),
    act(f"{P}/account/tokens/{{token}}/revoke", "revoke_token", then="/account"),
    act(f"{P}/account/requests", "request_budget", body=_more_budget, then="/account"),
)
