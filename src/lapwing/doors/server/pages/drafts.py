"""All that the builder shows about a cohort before it is asked: words, text, price, error, and what the button says.

Nothing here reads data or spends: it is made of the document, of what is declared, and of previews.
"""

import re
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
from lapwing.doors.server.pages.cohort_select import (
    BUILT,
    STATISTICS,
    STEPS,
    VALUE,
    SelectTerms,
    groups_beside,
    select_of,
)
from lapwing.doors.server.pages.cohort_text import condition_of, steps_of, text_of
from lapwing.doors.server.pages.cohort_undo import UndoHistory
from lapwing.doors.server.pages.cohort_words import sentence_of
from lapwing.doors.server.pages.dictionary import Dictionary
from lapwing.doors.server.pages.page_visit import PageRefusedError, PageVisit
from lapwing.doors.server.pages.page_words import Messages
from lapwing.doors.server.pages.stream_prices import StreamPrices
from lapwing.noise.randomness import fresh_name
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import ApproximateDP

KINDS: Final = ("count", "groups", "grid", "value", "time", "funnel", "enough")
ACCURACIES: Final = (("100", "rough"), ("30", "usual"), ("10", "fine"))
SURE: Final = (("60", "rough"), ("30", "usual"), ("15", "fine"))
NEW: Final = "new"
AMOUNT: Final = re.compile(r"\d{1,3}(\.\d{1,9})?")
DELTA: Final = re.compile(r"\d(\.\d{1,12})?([eE]-\d{1,3})?")
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
    select: SelectTerms
    offer: tuple[str, str, str]
    number: bool = False

    @property
    def chosen(self) -> dict[str, str]:
        """The columns that were chosen as axes, by the fields that choose them."""
        fields = (
            dict(zip(EACH, self.each, strict=True)) if self.kind == "enough" else dict(zip(AXES, self.by, strict=True))
        )
        return {name: one for name, one in fields.items() if one}

    def asks(self, cohort: CohortDraft) -> bool:
        """Say whether there is anything to ask: about a cohort, or a statistic, which may be about everybody."""
        return bool(cohort.spoken) or self.kind in BUILT

    def price(self, currency: str) -> dict[str, str]:
        """Return the target of a question: a margin, or for a statistic of a value its price in the account's currency.

        A median is paid by an epsilon, whatever the account counts in.
        """
        if self.kind != VALUE:
            return {"within": str(self.margin)}
        epsilon, delta, rho = self.offer
        offered = (
            {"rho": rho}
            if self.is_paid_in_rho(currency)
            else {"epsilon": epsilon} | ({"delta": delta} if delta else {})
        )
        for name, given in offered.items():
            if not (DELTA if name == "delta" else AMOUNT).fullmatch(given):
                raise UnclearError(f"sql.unclear.{name}", given=given[:40])
        return offered

    def is_paid_in_rho(self, currency: str) -> bool:
        """Say whether a statistic of a value is offered a rho."""
        return currency == "rho" and self.select.stat != "median"

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
        select=SelectTerms(
            stat=one("stat", ""), of=one("of", ""), split=one("split", ""), day=one("day", ""), step=one("step", "")
        ),
        offer=(one("epsilon", "0.1"), one("delta", ""), one("rho", "0.005")),
        number=one("number", "") == "yes",
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
    if terms.kind in BUILT:
        meant = CohortDraft() if priced_only else cohort
        return {"ask": "sql", "text": select_of(terms.kind, terms.select, meant, dictionary)}
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
    if terms.kind in BUILT:
        return select_of(terms.kind, terms.select, cohort, dictionary)
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
        chosen += [
            terms.at_least,
            *([NEW, terms.yeses, terms.sure, *(["number"] if terms.number else [])] if is_new else [terms.stream]),
        ]
    elif terms.kind == VALUE:
        chosen += [*terms.select.words(VALUE).values(), *terms.offer]
    else:
        chosen += terms.select.words(terms.kind).values() if terms.kind in BUILT else ()
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
    terms = replace(terms, select=terms.select.checked(dictionary))
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
        "asks": terms.asks(cohort),
        "statistics": STATISTICS,
        "steps": STEPS,
        "splits": groups_beside(dictionary, terms.select.of),
        "has_delta": has_delta(visit),
        "axes": _chosen_axes(terms, dictionary),
        "chosen": _chosen_titles(terms, dictionary),
        "sentence": sentence_of(cohort, dictionary, visit.say),
        "key": fresh_name(),
        "mark": mark_of(cohort, terms, dictionary),
        "link": link_to_ask(visit, cohort, terms),
        "sql": "",
        "problem": "",
        "price": None,
        "prices": {},
        "enough": None,
    }
    try:
        shown["sql"] = sql_of(terms, cohort, dictionary) if terms.asks(cohort) else ""
        if terms.asks(cohort):
            way = {"enough": _enough, VALUE: _statistic}.get(terms.kind, _number)
            shown |= await way(visit, cohort, terms, dictionary, streams)
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


def link_to_ask(visit: PageVisit, cohort: CohortDraft, terms: AskTerms) -> str:
    """Return the address of the builder with a question in it: it shows a price, and asks nothing."""
    chosen = {"kind": terms.kind, **(terms.chosen if terms.kind in {"enough", "groups", "grid"} else {})}
    if terms.kind == "enough":
        chosen |= {"at_least": terms.at_least, "stream": terms.stream, "sure": terms.sure, "yeses": terms.yeses}
        chosen |= {"number": "yes"} if terms.number else {}
    elif terms.kind == VALUE:
        is_rho = terms.is_paid_in_rho(visit.currency)
        offered = dict(zip(("epsilon", "delta", "rho"), terms.offer, strict=True))
        wanted = {"rho"} if is_rho else {"epsilon", "delta"}
        chosen |= terms.select.words(VALUE) | {name: one for name, one in offered.items() if one and name in wanted}
    else:
        chosen |= terms.select.words(terms.kind) if terms.kind in BUILT else {}
        chosen |= {"within": terms.within} | ({"custom": terms.custom} if terms.within == "custom" else {})
    return f"{visit.base}/ask?{urlencode(chosen)}" + (f"&c={to_link(cohort)}" if cohort.spoken else "")


async def _open_streams(visit: PageVisit) -> list[dict[str, Any]]:
    """Return the open streams that pages can ask: those of people."""
    return [one for one in await visit.do("streams") if one["status"] == "open" and one["of"] is None]


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


async def _statistic(
    visit: PageVisit, cohort: CohortDraft, terms: AskTerms, dictionary: Dictionary, streams: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return price and error of a mean, a median or a sum."""
    del streams
    question = question_of(terms, cohort, dictionary)
    return {"price": await visit.do("preview", {"question": question, "price": terms.price(visit.currency)})}


def has_delta(visit: PageVisit) -> bool:
    """Say whether the budget of the population has a delta."""
    return isinstance(visit.server.state.workspace.settings.populations[visit.population].budget, ApproximateDP)


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
    margin = int(agreed.margin(questions=max(1, len(cells))))
    enough = {
        "at_least": at_least,
        "cells": len(cells),
        "record": record,
        "opening": opening,
        "prices": StreamPrices.of(record or opening or {}),
        "margin": margin,
        "number": agreed.number_margin(),
        "margin_of_ten": agreed.margin(questions=10),
        "warnings": looked["warnings"] if record is not None else (opening or looked)["warnings"],
        "picture": chance_picture(curve_of(agreed, at_least, margin), at_least, margin, visit.say),
    }
    return {"enough": enough, "price": looked}


def new_stream(terms: AskTerms, at_least: int) -> Mapping[str, Any]:
    """Return the terms of a stream that is to be opened."""
    sure, yeses = whole("within", terms.sure), whole("yeses", terms.yeses, _MOST_YESES)
    number = {"number": True} if terms.number else {}
    return {"at_least": at_least, "yeses": yeses, "within": str(sure), "questions": 1, **number}


def axes_key(key: str) -> str:
    """Return the key under which is kept by which columns a stream was asked about a grid."""
    return f"{key}-axes"


def built_key(key: str) -> str:
    """Return the key under which is kept how a SELECT was built, where the builder made it."""
    return f"{key}-built"


def opening_key(key: str) -> str:
    """Return the key under which a question opened its stream, where it did."""
    return f"{key}-opens"


@lru_cache(maxsize=256)
def curve_of(terms: StreamTerms, at_least: int, margin: int) -> tuple[tuple[int, float], ...]:
    """Return how likely a yes is, by how many people there really are."""
    step = max(1, margin // 15)
    counts = (people for people in range(at_least - 2 * margin, at_least + 2 * margin + 1, step) if people >= 0)
    return tuple((people, terms.chance_of_yes(people, at_least=at_least)) for people in counts)
