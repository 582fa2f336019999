"""The page that asks which of the saved questions of a folder has the largest answer, and nothing else of them."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from lapwing.doors.server.pages.asking import key_of, spare
from lapwing.doors.server.pages.cohort_document import UnclearError
from lapwing.doors.server.pages.page_visit import Page, PageRefusedError, PageVisit
from lapwing.doors.server.pages.paid_form import mark_of_body
from lapwing.doors.server.pages.published_columns import PublishOffer, values_of
from lapwing.noise.randomness import fresh_name

P: Final = "/populations/{population}/saved/choose"
_FEWEST: Final = 2
_MOST: Final = 100
_SINGLE: Final = frozenset({"count", "rows", "total", "sql"})
"""What can be compared: questions with one number each."""


async def show_choose(visit: PageVisit, problem: str = "", status: int = 200) -> Response:
    """Show the questions of a folder, and what it would cost to learn which has the largest answer; it is free."""
    folder, epsilon = _said(visit, "folder"), _said(visit, "epsilon") or "0.1"
    asked, preview, mark = await _asked(visit, folder), None, ""
    used = _used(visit, asked)
    try:
        body = _body(used, epsilon)
        preview, mark = await visit.do("preview", body), mark_of_body(body)
    except UnclearError as unclear:
        problem = problem or visit.say(unclear.message, **unclear.values)
    except PageRefusedError as refused:
        problem = problem or refused.sentence
    return visit.show(
        "choose.html",
        status,
        folder=folder,
        epsilon=epsilon,
        names=list(asked),
        used=list(used),
        preview=preview,
        problem=problem,
        mark=mark,
        key=fresh_name(),
    )


async def choose(visit: PageVisit) -> Response:
    """Ask it, and pay; what was changed after its price was shown is shown again."""
    key = key_of(visit)
    try:
        used = _used(visit, await _asked(visit, _said(visit, "folder")))
        body = _body(used, _said(visit, "epsilon"))
    except UnclearError:
        return await show_choose(visit, status=409)
    if not key or visit.field("shown") != mark_of_body(body):
        return await show_choose(visit, problem=str(visit.say("ask.changed")), status=409)
    await spare(visit)
    await visit.do("ask", body, key=key)
    return visit.go(f"/answers/{key}")


def _said(visit: PageVisit, name: str) -> str:
    return (visit.field(name) if visit.request.method == "POST" else visit.asked(name))[:100]


async def _asked(visit: PageVisit, folder: str) -> dict[str, Any]:
    """Return the questions of a folder that have one number, by their names."""
    kept = [one for one in await visit.do("saved_questions") if one["folder"] == folder]
    return {one["name"]: one["question"] for one in kept[:_MOST] if _is_single(one["question"])}


def _is_single(question: Mapping[str, Any]) -> bool:
    return (
        question["ask"] in _SINGLE and not question.get("by") and "group by" not in question.get("text", "").casefold()
    )


def _used(visit: PageVisit, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return those that were ticked; all, before any was."""
    ticked = values_of(visit)("use")
    return {name: one for name, one in asked.items() if not ticked or name in ticked}


def _body(asked: Mapping[str, Any], epsilon: str) -> dict[str, Any]:
    if len(asked) < _FEWEST:
        raise UnclearError("choose.unclear.few")
    price = PublishOffer(pay="epsilon", within="", epsilon=epsilon, delta="", rho="").body()
    return {"question": {"ask": "best_of", "questions": dict(asked)}, "price": price}


PAGES: Final = (
    Page(path=P, show=show_choose, operation="saved_questions"),
    Page(path=P, show=choose, method="POST", operation="ask"),
)
