"""All that the builder shows about a cohort before it is asked: words, text, price, error, and what the button says.

Nothing here reads data or spends: it is made of the document, of what is declared, and of previews.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlencode

from lapwing.answers.stream_terms import StreamTerms
from lapwing.doors.server.pages.axes import AXES, EACH, AskedCell, axes_of, cells_of, grouping_of, sql_of_axes
from lapwing.doors.server.pages.charts import chance_picture
from lapwing.doors.server.pages.cohort_document import CohortDraft, UnclearError, to_link
from lapwing.doors.server.pages.cohort_text import condition_of, steps_of, text_of
from lapwing.doors.server.pages.cohort_undo import UndoHistory
from lapwing.doors.server.pages.cohort_words import sentence_of
from lapwing.doors.server.pages.dictionary import Dictionary
from lapwing.doors.server.pages.page_visit import PageRefusedError, PageVisit
from lapwing.doors.server.pages.page_words import Messages
from lapwing.doors.server.pages.stream_prices import StreamPrices
from lapwing.noise.randomness import fresh_name
from lapwing.vocabulary.frozen import frozen

KINDS: Final = ("enough", "count", "funnel", "groups", "grid")
ACCURACIES: Final = (("100", "rough"), ("30", "usual"), ("10", "fine"))
SURE: Final = (("60", "rough"), ("30", "usual"), ("15", "fine"))
NEW: Final = "new"
_MOST: Final = 10**9
_MOST_YESES: Final = 100
_AT_LEAST: Final = "200"


@frozen()
class AskTerms:
    """The choices in the form besides the cohort, as they were typed."""

    kind: str
    within: str
    custom: str
    by: tuple[str, ...]
    each: tuple[str, ...]
    at_least: str
    yeses: str
    sure: str
    stream: str

    @property
    def chosen(self) -> dict[str, str]:
        """The columns that were chosen as axes, by the fields that choose them."""
        fields = (
            dict(zip(EACH, self.each, strict=True)) if self.kind == "enough" else dict(zip(AXES, self.by, strict=True))
        )
        return {name: one for name, one in fields.items() if one}

    @property
    def margin(self) -> int:
        """The wanted margin of the answer."""
        return whole("within", self.custom if self.within == "custom" else self.within)


def terms_of(one: Callable[[str, str], str]) -> AskTerms:
    """Return the choices, with defaults."""
    kind = one("kind", KINDS[0])
    return AskTerms(
        kind=kind if kind in KINDS else KINDS[0],
        within=one("within", "30"),
        custom=one("custom", "50"),
        by=tuple(one(name, "") for name in AXES),
        each=tuple(one(name, "") for name in EACH),
        at_least=one("at_least", ""),
        yeses=one("yeses", "5"),
        sure=one("sure", "30"),
        stream=one("stream", ""),
    )


def whole(name: str, given: str, most: int = _MOST) -> int:
    """Return a whole number above 0 from the text of a field."""
    if not given.isascii() or not given.isdecimal() or len(given) > len(str(most)) or not 0 < int(given) <= most:
        raise UnclearError(f"cohort.unclear.{name}", given=given[:40], most=most)
    return int(given)


def dictionary_for(visit: PageVisit) -> Dictionary:
    """Return the dictionary of the population that a visit is about; made once for what is declared."""
    state = visit.server.state
    state.require_population(visit.population, visit.person)
    declared = visit.session().population
    known = visit.site.dictionaries.get(visit.population)
    if known is None or known[0] is not declared:
        known = declared, Dictionary(declared)
        visit.site.dictionaries.put(visit.population, known)
    return known[1]


def question_of(
    terms: AskTerms, cohort: CohortDraft, dictionary: Dictionary, *, priced_only: bool = False
) -> dict[str, Any]:
    """Return the question of a cohort; for its price alone without its conditions, on which no price depends."""
    if dictionary.person is None:
        raise UnclearError("cohort.unclear.no_person")
    table, text = dictionary.person.name, text_of(cohort, dictionary)
    if terms.kind == "funnel":
        steps = steps_of(cohort, dictionary)
        return {"ask": "funnel", "table": table, "steps": ["true" for _ in steps] if priced_only else steps}
    asked: dict[str, Any] = {"ask": "count", "table": table, "where": "" if priced_only else text}
    axes = axes_of(terms.kind, tuple(terms.chosen.values()), dictionary)
    return asked | ({"by": [grouping_of(one) for one in axes]} if axes else {})


def sql_of(terms: AskTerms, cohort: CohortDraft, dictionary: Dictionary) -> str:
    """Return the question as SQL: a SELECT, or the conditions alone where no SELECT can express it."""
    text, table = text_of(cohort, dictionary), "" if dictionary.person is None else dictionary.person.written
    if terms.kind == "funnel":
        return "\n".join(f"{number}. {step}" for number, step in enumerate(steps_of(cohort, dictionary), start=1))
    where = f"from {table}\nwhere {text}" if text else f"from {table}"
    axes = () if terms.kind == "enough" else axes_of(terms.kind, terms.by, dictionary)
    return sql_of_axes(axes, where)


def cells_asked(terms: AskTerms, cohort: CohortDraft, dictionary: Dictionary, say: Messages) -> list[AskedCell]:
    """Return the cells that a stream is asked about; none where it is asked one question."""
    axes = axes_of("enough", terms.each, dictionary)
    return cells_of(axes, condition_of(cohort, dictionary), say)


def mark_of(cohort: CohortDraft, terms: AskTerms, dictionary: Dictionary) -> str:
    """Return a digest of the question and its terms: the button asks what its price was shown for, or nothing."""
    chosen = [terms.kind]
    if terms.kind == "enough":
        is_new = terms.stream in {NEW, ""}
        chosen += [terms.at_least, *([NEW, terms.yeses, terms.sure] if is_new else [terms.stream])]
    else:
        chosen.append(terms.custom if terms.within == "custom" else terms.within)
    try:
        chosen += [one.name for one in axes_of(terms.kind, tuple(terms.chosen.values()), dictionary)]
    except UnclearError:  # it has no price either
        chosen += terms.chosen.values()
    return sha256("|".join([to_link(CohortDraft(panels=cohort.spoken)), *chosen]).encode()).hexdigest()[:32]


async def draft(
    visit: PageVisit, cohort: CohortDraft, terms: AskTerms, past: UndoHistory | None = None
) -> dict[str, Any]:
    """Return the variables of the builder's template; `past` is its undo history."""
    dictionary, streams = dictionary_for(visit), await _open_streams(visit)
    if terms.stream != NEW and terms.stream not in {one["stream"] for one in streams}:
        terms = replace(terms, stream=streams[0]["stream"] if streams else NEW)
    if not terms.at_least:
        asked = next((str(one["at_least"]) for one in streams if one["stream"] == terms.stream), _AT_LEAST)
        terms = replace(terms, at_least=asked)
    shown: dict[str, Any] = {
        "cohort": cohort,
        "past": past or UndoHistory(drawn=to_link(cohort)),
        "terms": terms,
        "dictionary": dictionary,
        "streams": streams,
        "accuracies": ACCURACIES,
        "sures": SURE,
        "kinds": KINDS,
        "axes": _chosen_axes(terms, dictionary),
        "chosen": _chosen_titles(terms, dictionary),
        "sentence": sentence_of(cohort, dictionary, visit.say),
        "key": fresh_name(),
        "mark": mark_of(cohort, terms, dictionary),
        "link": _link(visit, cohort, terms),
        "sql": "",
        "problem": "",
        "price": None,
        "prices": {},
        "enough": None,
    }
    try:
        shown["sql"] = sql_of(terms, cohort, dictionary) if cohort.spoken else ""
        if cohort.spoken:
            shown |= await (_enough if terms.kind == "enough" else _number)(visit, cohort, terms, dictionary, streams)
    except UnclearError as unclear:
        shown["problem"] = visit.say(unclear.message, **unclear.values)
    except PageRefusedError as refused:
        shown["problem"] = refused.sentence
    return shown


def _chosen_axes(terms: AskTerms, dictionary: Dictionary) -> list[tuple[str, str]]:
    """Return the fields that choose columns to count by, each with the column that it has chosen."""
    wanted = {"groups": 1, "grid": len(AXES)}.get(terms.kind, 0)
    try:
        names = [one.name for one in axes_of(terms.kind, terms.by, dictionary)]
    except UnclearError:
        names = list(terms.by)
    return [*zip(AXES, [*names, *[""] * wanted], strict=False)][:wanted]


def _chosen_titles(terms: AskTerms, dictionary: Dictionary) -> list[str]:
    """Return the titles of the columns that people are grouped by."""
    try:
        return [one.title for one in axes_of(terms.kind, tuple(terms.chosen.values()), dictionary)]
    except UnclearError:
        return []


def _link(visit: PageVisit, cohort: CohortDraft, terms: AskTerms) -> str:
    chosen = {"kind": terms.kind, **(terms.chosen if terms.kind in {"enough", "groups", "grid"} else {})}
    if terms.kind == "enough":
        chosen |= {"at_least": terms.at_least, "stream": terms.stream, "sure": terms.sure, "yeses": terms.yeses}
    else:
        chosen |= {"within": terms.within} | ({"custom": terms.custom} if terms.within == "custom" else {})
    return f"{visit.base}/ask?{urlencode(chosen)}" + (f"&c={to_link(cohort)}" if cohort.spoken else "")


async def _open_streams(visit: PageVisit) -> list[dict[str, Any]]:
    return [one for one in await visit.do("streams") if one["status"] == "open"]


async def _number(
    visit: PageVisit, cohort: CohortDraft, terms: AskTerms, dictionary: Dictionary, streams: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return price and error of a count, a funnel or groups, and what the other accuracies would cost."""
    del streams
    question = question_of(terms, cohort, dictionary)
    plain = question_of(terms, cohort, dictionary, priced_only=True)
    prices = {
        within: await visit.do("preview", {"question": plain, "price": {"within": within}}) for within, _ in ACCURACIES
    }
    price = await visit.do("preview", {"question": question, "price": {"within": str(terms.margin)}})
    return {"prices": prices, "price": price, "margin": next(iter(price["margin"].values()))}


async def _enough(
    visit: PageVisit, cohort: CohortDraft, terms: AskTerms, dictionary: Dictionary, streams: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return price and error of "at least N?", in a stream that is open or in a new one."""
    at_least, cells = whole("at_least", terms.at_least), cells_asked(terms, cohort, dictionary, visit.say)
    asked = question_of(replace(terms, kind="count"), cohort, dictionary) | (
        {"where": cells[-1].where} if cells else {}
    )
    looked = await visit.do("preview", {"question": asked, "price": {"epsilon": "0.1"}})  # refuses what cannot be asked
    record = next((one for one in streams if one["stream"] == terms.stream), None)
    opening = None
    if record is None:
        opening = await visit.do("preview_stream", new_stream(terms, at_least))
    agreed = StreamTerms.read((record or opening or {})["terms"])
    margin = agreed.margin(questions=max(1, len(cells)))
    enough = {
        "at_least": at_least,
        "cells": len(cells),
        "record": record,
        "opening": opening,
        "prices": StreamPrices.of(record or opening or {}),
        "margin": margin,
        "margin_of_ten": agreed.margin(questions=10),
        "warnings": looked["warnings"] if record is not None else (opening or looked)["warnings"],
        "picture": chance_picture(curve_of(agreed, at_least, margin), at_least, margin, visit.say),
    }
    return {"enough": enough, "price": looked}


def new_stream(terms: AskTerms, at_least: int) -> Mapping[str, Any]:
    """Return the terms of a stream that is to be opened."""
    sure, yeses = whole("within", terms.sure), whole("yeses", terms.yeses, _MOST_YESES)
    return {"at_least": at_least, "yeses": yeses, "within": str(sure), "questions": 1}


def axes_key(key: str) -> str:
    """Return the key under which is kept by which columns a stream was asked about a grid."""
    return f"{key}-axes"


def opening_key(key: str) -> str:
    """Return the key under which a question opened its stream, where it did."""
    return f"{key}-opens"


@lru_cache(maxsize=256)
def curve_of(terms: StreamTerms, at_least: int, margin: int) -> tuple[tuple[int, float], ...]:
    """Return how likely a yes is, by how many people there really are."""
    step = max(1, margin // 15)
    counts = (people for people in range(at_least - 2 * margin, at_least + 2 * margin + 1, step) if people >= 0)
    return tuple((people, terms.chance_of_yes(people, at_least=at_least)) for people in counts)
