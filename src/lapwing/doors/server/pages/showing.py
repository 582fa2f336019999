"""The page of an answer: its number never without its error, what it means, what it cost, and how to take it along."""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any, Final
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.responses import Response

from lapwing.accounting.interpretation import belief_range
from lapwing.answers.stream_terms import StreamTerms
from lapwing.doors.server.pages.answer_code import kind_of, python_of, sql_text
from lapwing.doors.server.pages.answer_table import Cell, TableRow, rows_of
from lapwing.doors.server.pages.axes import AXES
from lapwing.doors.server.pages.charts import noise_picture
from lapwing.doors.server.pages.cohort_document import CohortDraft, to_link
from lapwing.doors.server.pages.cohort_words import sentence_of, step_of
from lapwing.doors.server.pages.dictionary import Field
from lapwing.doors.server.pages.drafts import ACCURACIES, SURE, built_key, dictionary_for
from lapwing.doors.server.pages.frame import number, people
from lapwing.doors.server.pages.heat_map import GridMap, heat_map, maps_of
from lapwing.doors.server.pages.page_visit import PageRefusedError, PageVisit
from lapwing.doors.server.pages.page_words import Messages
from lapwing.doors.server.pages.proof_pages import proofs_of
from lapwing.queries.catalogue.column import Date
from lapwing.show.panels import Panel, are_even, are_periods, draw_panel, not_over
from lapwing.show.strokes import Drawing, percent
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import exact

_LAPLACE: Final = frozenset({"laplace-noise", "discrete-laplace-noise"})
_SURE: Final = 1.96
RANKS: Final = "rows in the order"
"""The unit of a margin that is a place in the order, and no distance of values."""
_MOST_BARS: Final = 40
_MOST_PICTURES: Final = 3


async def show_answer_page(
    visit: PageVisit, told: dict[str, Any], body: dict[str, Any], cohort: CohortDraft | None, *, at: int | None
) -> Response:
    """Show an answer; `at` is when it was asked, and None of a rehearsal."""
    answer, question = told["answer"], body["question"]
    rows, kind = rows_of(answer), kind_of(question)
    if cohort is not None and kind == "funnel" and len(cohort.spoken) == len(rows):
        dictionary = dictionary_for(visit)
        labels = [step_of(panel, dictionary, visit.say) for panel in cohort.spoken]
        rows = [replace(one, label=label) for label, one in zip(labels, rows, strict=True)]
    margins = {name: margin for name, margin in answer["margin"].items() if margin is not None}
    margin = next(iter(margins.values()), None)
    is_ranked = set(answer["unit"].values()) == {RANKS}
    is_single = len(rows) == 1 and len(answer["columns"]) == 1 and (is_ranked or not answer["keys"])
    built = built_as(visit, told["key"]) if kind == "sql" else None
    link = built["link"] if built else link_of(visit, body, cohort)
    return visit.show(
        "answer.html",
        kind=built["kind"] if built else kind,
        value_unit=built.get("unit", "") if built else "",
        answer=answer,
        rows=rows,
        margin=margin,
        margins=margins,
        is_people=set(answer["unit"].values()) == {"people"},
        is_single=is_single,
        is_ranked=is_ranked,
        has_bounds=all(cell.low is not None for row in rows for cell in row.cells),
        off=_off(visit, answer, rows, margin) if is_single and kind != "choice" else "",
        is_near_zero=_is_near_zero(rows, answer, margin, is_single=is_single),
        is_below_zero=set(answer["unit"].values()) == {"people"} and not is_single and _is_below_zero(rows),
        axes=[one.title for one in _fields(visit, question)] if kind in {"grid", "groups"} else [],
        maps=(maps := _maps(visit, question, answer, rows, margin)),
        picture=Markup()
        if maps or (is_single and is_ranked)
        else _picture(visit, told, rows, margin, is_single=is_single),
        sentence=words_of_cohort(visit, None if kind == "sql" else cohort, answer["asked"]),
        link=link,
        share=shared(visit, link),
        at=at,
        key=told["key"],
        belief=_belief(answer["price"]),
        proofs=proofs_of(told.get("question") or ""),
        finer=await _finer(visit, question, margin, cohort, is_rehearsal=answer["rehearsal"]),
        python=python_of(address_of(visit), visit.population, body),
        sql=sql_text(question),
        json=json.dumps(told["answer"], indent=1, ensure_ascii=False),
    )


def pictured(visit: PageVisit, told: dict[str, Any]) -> dict[str, Any]:
    """Return an answer for a board: its one number and how far off it is, or a picture and rows."""
    answer, rows = told["answer"], rows_of(told["answer"])
    margin = next((one for one in answer["margin"].values() if one is not None), None)
    if len(rows) == 1 and len(answer["columns"]) == 1:
        hero = number(rows[0].cells[0].value) or "–"
        return {"hero": hero, "off": _off(visit, answer, rows, margin), "picture": Markup(), "rows": rows}
    return {"hero": "", "off": "", "picture": _picture(visit, told, rows, margin, is_single=False), "rows": rows}


def built_as(visit: PageVisit, key: str | None) -> dict[str, Any] | None:
    """Return how a SELECT was built, its kind and its link, where the builder made it."""
    return None if key is None else visit.site.asked_cohorts.find(visit.population, visit.person.id, built_key(key))


def off_by(say: Messages, margin: Any, unit: str) -> Markup:
    """Say how far off a number is, in its own unit: a place in the order is no distance in years or francs.

    >>> from lapwing.doors.server.pages.page_words import words_of
    >>> print(off_by(words_of("en"), 30, "people"))
    ± 30
    >>> print(off_by(words_of("en"), "354.5", "rows in the order"))
    its place in the order within 354.5 rows
    """
    return say("answer.place_off" if unit == RANKS else "answer.off", margin=people(margin))


def errors_of(say: Messages, price: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the error of each column: its name, the margin known beforehand, and a remark."""
    told = list[tuple[str, str, str]]()
    for name, margin in price["margin"].items():
        unit = price["unit"][name]
        if margin is None:
            errors = price["error_by_rows"].get(name, {}).items()
            about = [say("sql.by_rows", off=number(off), rows=number(rows)) for rows, off in errors]
            if shown := price.get("shown_from", {}).get(name):
                about = [say("sql.shown_from", **shown)]
            told.append((name, say("sql.later"), ", ".join(about)))
        elif unit == RANKS:  # the values that it is between are chosen with it
            told.append((name, say("sql.later"), say("sql.interval", place=off_by(say, margin, unit))))
        else:
            told.append((name, off_by(say, margin, unit), say("ask.confidence")))
    return told


def between_text(say: Messages, low: Any, high: Any) -> str:
    """Say between which values a number is; nothing where that is not known."""
    return "" if low is None or high is None else str(say("answer.between", low=number(low), high=number(high)))


def link_of(visit: PageVisit, body: dict[str, Any], cohort: CohortDraft | None) -> str | None:
    """Return where a question can be changed and asked again, as exactly as now; None of what no page can build."""
    question, price = body["question"], body["price"]
    kind = kind_of(question)
    if kind == "sql":
        words = {"q": question["text"]}
        words |= {name: question[name] for name in ("max_rows", "max_groups") if name in question}
        words |= next(({"pay": name} for name in ("within", "epsilon", "rho") if price.get(name)), {}) | price
        return f"{visit.base}/sql?{urlencode(words)}"
    if cohort is None:
        return None
    chosen = dict(zip(AXES, [one.name for one in _fields(visit, question)], strict=False))
    exactness = _exactness(str(price["within"])) if price.get("within") else {}
    return f"{visit.base}/ask?{urlencode({'c': to_link(cohort), 'kind': kind, **chosen, **exactness})}"


def stream_link(visit: PageVisit, cohort: CohortDraft, terms: StreamTerms, at_least: int) -> str:
    """Return where "at least N?" can be asked by others: in a stream of their own, as sure as this one."""
    margin = str(terms.margin())
    sure = {"sure": margin} if margin in dict(SURE) else {}
    words = {"c": to_link(cohort), "kind": "enough", "at_least": at_least, "yeses": terms.yeses, **sure}
    words |= {"number": "yes"} if terms.gives_number else {}
    return f"{visit.base}/ask?{urlencode(words)}"


def _exactness(within: str) -> dict[str, str]:
    """Return the words of the builder's address for how far off an answer may be."""
    return {"within": within} if within in dict(ACCURACIES) else {"within": "custom", "custom": within}


def address_of(visit: PageVisit) -> str:
    """Return where the server is, as the browser reached it."""
    return str(visit.request.base_url).rstrip("/")


def shared(visit: PageVisit, link: str | None) -> str | None:
    """Return the whole address of a question, to send to somebody: who opens it sees its price, and asks nothing."""
    return None if link is None else address_of(visit) + link


def _off(visit: PageVisit, answer: dict[str, Any], rows: list[TableRow], margin: Any) -> str:
    """Say how far off the one number is: between its bounds where one of them is nearer than the other."""
    (unit,), cell, ends = answer["unit"].values(), rows[0].cells[0], _ends(rows[0].cells[0])
    if cell.value is None or (ends is not None and (unit == RANKS or not are_even(*ends))):
        return between_text(visit.say, cell.low, cell.high)
    if margin is None:
        return ""
    return str(
        visit.say("answer.people_off", margin=people(margin)) if unit == "people" else off_by(visit.say, margin, unit)
    )


def words_of_cohort(visit: PageVisit, cohort: CohortDraft | None, asked: str) -> Markup:
    """Say who was meant: as it was built, or, where that is not known, as it was asked."""
    if cohort is None:
        return visit.say("answer.asked_for", asked=asked)
    return sentence_of(cohort, dictionary_for(visit), visit.say)


def _is_near_zero(rows: list[TableRow], answer: dict[str, Any], margin: Any, *, is_single: bool) -> bool:
    if not is_single or margin is None or "people" not in answer["unit"].values():
        return False
    return Fraction(rows[0].cells[0].value) - Fraction(margin) < 0


def _is_below_zero(rows: list[TableRow]) -> bool:
    return any(str(cell.value).startswith("-") for row in rows for cell in row.cells)


def _picture(
    visit: PageVisit, told: dict[str, Any], rows: list[TableRow], margin: Any, *, is_single: bool
) -> Markup | Drawing:
    answer = told["answer"]
    is_people = is_single and set(answer["unit"].values()) == {"people"}
    if is_people and margin is not None:
        value, off, event = float(rows[0].cells[0].value), float(margin), json.loads(told["question"])[0]["event"]
        if event["kind"] in _LAPLACE:
            return noise_picture(value, off, float(Fraction(event["scale"])), visit.say)
        return noise_picture(value, off, max(off, 1.0) / _SURE, visit.say, is_gaussian=True)
    if not rows:  # no group was shown
        return Markup()
    panels = [_panel(visit, answer, rows, place) for place in range(len(answer["columns"][:_MOST_PICTURES]))]
    return Markup().join(draw_panel(one, answer["asked"] if len(panels) == 1 else one.name) for one in panels)


def _maps(
    visit: PageVisit, question: dict[str, Any], answer: dict[str, Any], rows: list[TableRow], margin: Any
) -> list[tuple[GridMap, Drawing]]:
    """Return the maps of a grid with their pictures; none of other answers, and none of one that is no whole grid."""
    if kind_of(question) != "grid" or margin is None or len(answer["keys"]) > len(AXES):
        return []
    fields = _fields(visit, question)
    if len(fields) < len(answer["keys"]):
        return []
    called = [{None: str(visit.say("cohort.not_known")), **_called(visit, one)} for one in fields]
    try:
        maps = maps_of(rows, called)
    except KeyError:
        return []
    most = max(value for one in maps for _, values in one.rows for value in values)
    return [(one, heat_map(one, Fraction(margin), most, visit.say)) for one in maps]


def _fields(visit: PageVisit, question: dict[str, Any]) -> list[Field]:
    """Return the columns by which is counted, as far as they are declared."""
    known = {one.written: one for one in dictionary_for(visit).groupings}
    by = [one if isinstance(one, str) else one["column"] for one in question.get("by", [])]
    return [known[one] for one in by if one in known]


def _called(visit: PageVisit, field: Field) -> dict[Any, str]:
    if field.kind == "boolean":
        return {True: str(visit.say("answer.yes")), False: str(visit.say("answer.no"))}
    return {int(value) if field.numbers else value: called for value, called in field.values}


def _panel(visit: PageVisit, answer: dict[str, Any], rows: list[TableRow], place: int) -> Panel:
    """Return one column to draw: amounts from zero, means and quantiles as dots; of many groups the first."""
    column, labels = answer["columns"][place], [row.label for row in rows]
    over_time = len(answer["keys"]) == 1 and are_periods(labels)
    shown = rows if over_time else rows[:_MOST_BARS]
    values, lows, highs = zip(*(_ends(row.cells[place]) or (None, None, None) for row in shown), strict=True)
    is_mean = any("rows" in (row["values"].get(column) or {}) for row in answer["rows"])
    from_zero = not is_mean and answer["unit"].get(column) != RANKS
    until = last_known(visit, answer["versions"]) if over_time else None
    return Panel(
        column,
        [row.label or column for row in shown],
        values,
        lows,
        highs,
        from_zero,
        over_time,
        unfinished=() if until is None else not_over(labels, until),
        unfinished_word=str(visit.say("answer.unfinished")),
    )


def last_known(visit: PageVisit, tables: Iterable[str]) -> date | None:
    """Return the last day that is declared for some tables, or that of the population if it is earlier; both public."""
    population = visit.session().population
    columns = (one for table in population.tables if table.name in tables for one in table.columns)
    ends = [one.type.last for one in columns if isinstance(one.type, Date) and one.type.last is not None]
    known = [*([max(ends)] if ends else []), *([population.now] if population.now is not None else [])]
    return min(known, default=None)


def _ends(cell: Cell) -> tuple[float, float, float] | None:
    """Return a number with its bounds, to draw; None of one that has no bounds, or is none."""
    try:
        value, low, high = (float(exact("number", one)) for one in (cell.value, cell.low, cell.high))
    except (ParameterError, OverflowError):
        return None
    return value, low, high


def _belief(price: dict[str, Any]) -> str | None:
    """Return an upper bound on what an answer with a pure price makes of a belief of one in a hundred."""
    if price["epsilon"] is None or Fraction(price["delta"] or 0):
        return None
    return percent(belief_range("0.01", price["epsilon"])[1], 2)


async def _finer(
    visit: PageVisit, question: dict[str, Any], margin: Any, cohort: CohortDraft | None, *, is_rehearsal: bool
) -> dict[str, Any] | None:
    """Return price and error of the same question, twice as exact."""
    half = int(Fraction(margin or 0)) // 2
    if is_rehearsal or half < 1:
        return None
    body = {"question": question, "price": {"within": str(half)}}
    try:
        preview = await visit.do("preview", body)
    except PageRefusedError:
        return None
    return {"within": half, "preview": preview, "link": link_of(visit, body, cohort)} if preview["affordable"] else None
