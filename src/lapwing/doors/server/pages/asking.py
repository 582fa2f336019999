"""The page that asks: it is looked at for nothing, redrawn in parts, and asks only when its one button is pressed."""

import re
from dataclasses import replace
from typing import Any, Final

from starlette.responses import Response

from lapwing.doors.server.pages.cohort_document import CohortDraft, UnclearError, from_link, to_document
from lapwing.doors.server.pages.cohort_form import act, from_form
from lapwing.doors.server.pages.cohort_select import BUILT, VALUE
from lapwing.doors.server.pages.cohort_text import text_of
from lapwing.doors.server.pages.cohort_undo import UNDO, UndoHistory, go_back, go_on, past_of
from lapwing.doors.server.pages.drafts import (
    NEW,
    AskTerms,
    axes_key,
    built_key,
    cells_asked,
    dictionary_for,
    draft,
    link_to_ask,
    mark_of,
    new_stream,
    opening_key,
    question_of,
    terms_of,
    whole,
)
from lapwing.doors.server.pages.page_visit import PageRefusedError, PageVisit
from lapwing.doors.server.pages.showing import errors_of, show_answer_page

_KEY: Final = re.compile(r"[0-9a-f]{16,64}")
_PARTS: Final = ("panels", "terms", "outcome")
_CHARGED: Final = frozenset({410, 500})
"""Statuses of questions that were charged and have no answer."""


async def show_ask(visit: PageVisit) -> Response:
    """Show the builder, with the cohort that the address holds."""
    unclear = ""
    try:
        cohort = from_link(visit.asked("c")) if visit.asked("c") else CohortDraft()
    except UnclearError as problem:
        cohort, unclear = CohortDraft(), visit.say(problem.message, **problem.values)
    added = visit.asked("add")
    if added:
        cohort = act(cohort, f"add:0:{added}", dictionary_for(visit))
    shown = await _drawn(visit, cohort, terms_of(visit.asked))
    return visit.show("ask.html", **{**shown, "unclear": unclear})


async def _drawn(
    visit: PageVisit, cohort: CohortDraft, terms: AskTerms, past: UndoHistory | None = None
) -> dict[str, Any]:
    shown = await draft(visit, cohort, terms, past)
    is_priced = shown["price"] is not None and terms.kind == VALUE
    return {**shown, "errors": errors_of(visit.say, shown["price"]) if is_priced else []}


async def redraw(visit: PageVisit) -> Response:
    """Show the builder after a change, whole or in the parts that are asked for; it spends nothing."""
    dictionary, past = dictionary_for(visit), past_of(visit)
    now = from_form(visit.fields, dictionary)
    if visit.field("do") == UNDO:
        cohort, past = go_back(past, now)
    else:
        cohort = act(now, visit.field("do"), dictionary)
        past = go_on(past, now, cohort)
    shown = {**await _drawn(visit, cohort, terms_of(visit.field), past), "unclear": ""}
    parts = visit.request.headers.get("x-part")
    if parts is None:
        return visit.show("ask.html", **shown)
    wanted = [part for part in parts.split() if part in _PARTS]
    return visit.show("parts.html", headers={"X-Link": shown["link"]}, parts=wanted, **shown)


async def ask(visit: PageVisit) -> Response:
    """Ask, and pay. The key is that of the form: however often it is sent, it is one question.

    If the form changed after its price was shown, the new price is shown, and nothing is asked.
    """
    cohort, terms, key = _asked(visit)
    if not key or not terms.asks(cohort):
        return visit.go("/ask")
    dictionary = dictionary_for(visit)
    if visit.field("shown") != mark_of(cohort, terms, dictionary):
        return visit.show(
            "ask.html", 409, **{**await _drawn(visit, cohort, terms), "unclear": visit.say("ask.changed")}
        )
    await spare(visit)
    cells: list[str] = []
    try:
        body, text = _body(visit, cohort, terms), text_of(cohort, dictionary)
        if terms.kind == "enough":
            cells = [one.where for one in cells_asked(terms, cohort, dictionary, visit.say)]
            await _ask_stream(visit, terms, cells or [text], key)
        else:
            await visit.do("ask", body, key=key)
    except UnclearError as unclear:
        raise _refused(visit, unclear) from None
    except PageRefusedError as refused:
        if refused.status in _CHARGED:
            _shelve(visit, key, cohort, terms, is_grid=bool(cells))
        raise
    _shelve(visit, key, cohort, terms, is_grid=bool(cells))
    return visit.go(f"/answers/{key}")


def _shelve(visit: PageVisit, key: str, cohort: CohortDraft, terms: AskTerms, *, is_grid: bool) -> None:
    """Keep who was meant, as it was built; of what was refused nothing is kept."""
    visit.site.asked_cohorts.put(visit.population, visit.person.id, key, to_document(cohort))
    if is_grid:
        visit.site.asked_cohorts.put(visit.population, visit.person.id, axes_key(key), {"each": list(terms.each)})
    if terms.kind in BUILT:
        field = dictionary_for(visit).field(terms.select.of) if terms.kind == VALUE else None
        unit = "" if field is None else field.unit
        built = {"kind": terms.kind, "link": link_to_ask(visit, cohort, terms), "unit": unit}
        visit.site.asked_cohorts.put(visit.population, visit.person.id, built_key(key), built)


async def rehearse(visit: PageVisit) -> Response:
    """Answer from made-up rows, and say so all over the page."""
    cohort, terms, _ = _asked(visit)
    if not terms.asks(cohort):
        return visit.go("/ask")
    terms = terms if terms.kind != "enough" else terms_of(lambda name, default: "count" if name == "kind" else default)
    try:
        body = _body(visit, cohort, terms)
        told = await visit.do("rehearse", body)
    except UnclearError as unclear:
        raise _refused(visit, unclear) from None
    return await show_answer_page(visit, told, body, cohort, at=None)


def built_question(visit: PageVisit) -> tuple[str, dict[str, object]]:
    """Return the address of the question that the form of the builder holds, and its body; a stream is no question."""
    cohort, terms, _ = _asked(visit)
    if terms.kind == "enough" or not terms.asks(cohort):
        raise PageRefusedError(422, {"code": "bad_question", "message": str(visit.say("saved.no_question"))})
    try:
        return link_to_ask(visit, cohort, terms), _body(visit, cohort, terms)
    except UnclearError as unclear:
        raise _refused(visit, unclear) from None


def _asked(visit: PageVisit) -> tuple[CohortDraft, AskTerms, str]:
    dictionary, terms = dictionary_for(visit), terms_of(visit.field)
    terms = replace(terms, select=terms.select.checked(dictionary))
    return from_form(visit.fields, dictionary), terms, key_of(visit)


def key_of(visit: PageVisit) -> str:
    """Return the key of a form that asks; none, if it is not one that a page has drawn."""
    key = visit.field("key")
    return key if _KEY.fullmatch(key) else ""


def _body(visit: PageVisit, cohort: CohortDraft, terms: AskTerms) -> dict[str, object]:
    question = question_of(terms, cohort, dictionary_for(visit))
    return {"question": question, "price": terms.price(visit.currency)}


async def _ask_stream(visit: PageVisit, terms: AskTerms, wheres: list[str], key: str) -> None:
    at_least, name = whole("at_least", terms.at_least), terms.stream
    if name in {NEW, ""}:
        opened = await visit.do("open_stream", new_stream(terms, at_least), key=opening_key(key))
        name = opened["stream"]
    if len(wheres) == 1:
        await visit.do("ask_stream", {"where": wheres[0], "at_least": at_least}, key=key, path={"stream": name})
    else:
        await visit.do("ask_stream_many", {"wheres": wheres, "at_least": at_least}, key=key, path={"stream": name})


async def spare(visit: PageVisit) -> None:
    """Refuse a person who exceeds the rate limit of asking."""
    if await visit.in_thread(lambda: visit.server.rates.asks.take(visit.person.id)):
        raise PageRefusedError(429, {"code": "too_many"})


def _refused(visit: PageVisit, unclear: UnclearError) -> PageRefusedError:
    return PageRefusedError(422, {"code": "bad_question", "message": str(visit.say(unclear.message, **unclear.values))})
