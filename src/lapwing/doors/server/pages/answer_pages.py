"""Answers again, by their keys: counts, funnels and groups; verdicts of streams; what still runs, and what was lost."""

import json
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from lapwing.answers.stream_terms import StreamTerms, Verdict
from lapwing.doors.server.jobs import JobName, JobState
from lapwing.doors.server.pages.answer_code import opening_lines
from lapwing.doors.server.pages.answer_table import csv_of
from lapwing.doors.server.pages.axes import EACH, AskedCell, axes_of, cells_of
from lapwing.doors.server.pages.charts import chance_picture, timeline
from lapwing.doors.server.pages.cohort_document import CohortDraft, UnclearError, from_document, to_link
from lapwing.doors.server.pages.dictionary import Field
from lapwing.doors.server.pages.drafts import axes_key, curve_of, dictionary_for, opening_key
from lapwing.doors.server.pages.heat_map import VerdictGrid, verdict_grid, verdict_map
from lapwing.doors.server.pages.page_visit import PageRefusedError, PageVisit
from lapwing.doors.server.pages.proof_pages import proofs_of
from lapwing.doors.server.pages.showing import address_of, shared, show_answer_page, stream_link, words_of_cohort
from lapwing.doors.server.pages.stream_log import outcomes_of, verdict_of, verdict_told
from lapwing.doors.server.pages.stream_prices import StreamPrices
from lapwing.doors.server.problems import ProblemError
from lapwing.ledger.reservation_states import ReservationRecord
from lapwing.queries.language.expressions import EVERYONE

_STREAM = "ask_stream"
_QUESTION = "ask"
_MANY = "ask_stream_many"
_ELSEWHERE = {
    "publish": "publications",
    "synthesize": "syntheses",
    "open_explorer": "explorers",
    "compare": "comparisons",
    "estimate_survival": "survivals",
    "rows_a_person": "rows-a-person",
    "regress": "regressions",
    "study": "studies",
    "open_dashboard": "dashboards",
}
"""The pages of what is no answer, by what it is remembered as."""


async def show_answer(visit: PageVisit) -> Response:
    """Show what came of a question; it never charges, and needs no database."""
    key = visit.part("key")
    known = await visit.in_thread(lambda: visit.server.memory.recall(visit.population, visit.person.id, key))
    job = visit.server.jobs.find(JobName(visit.population, visit.person.id, key))
    if job is not None and job.state in {JobState.QUEUED, JobState.RUNNING}:
        return visit.show_running(key)
    if known is not None and known["kind"] in _ELSEWHERE:
        return visit.go(f"/{_ELSEWHERE[known['kind']]}/{key}")
    if known is None or known["kind"] not in {_QUESTION, _STREAM, _MANY}:
        raise _not_there()
    cohort = cohort_of(visit, key)
    if known["kind"] == _STREAM:
        return await _show_verdict(visit, known, cohort)
    if known["kind"] == _MANY:
        return await _show_verdicts(visit, known, cohort)
    return await show_answer_page(visit, await _told(visit, key), known["body"], cohort, at=known["at"])


async def save_csv(visit: PageVisit) -> Response:
    """Save an answer as a table, each number with its bounds."""
    told = await _told(visit, visit.part("key"))
    return _file(csv_of(told["answer"]), "text/csv; charset=utf-8", f"answer-{visit.part('key')[:8]}.csv")


async def save_json(visit: PageVisit) -> Response:
    """Save an answer as JSON, with error, price and receipt."""
    told = await _told(visit, visit.part("key"))
    text = json.dumps(told["answer"], indent=1, ensure_ascii=False)
    return _file(text, "application/json", f"answer-{visit.part('key')[:8]}.json")


def cohort_of(visit: PageVisit, key: str) -> CohortDraft | None:
    """Return the cohort that was built for a question, if it was built here."""
    document = visit.site.asked_cohorts.find(visit.population, visit.person.id, key)
    try:
        return None if document is None else from_document(document)
    except UnclearError:  # a document of another version
        return None


async def _told(visit: PageVisit, key: str) -> dict[str, Any]:
    told: dict[str, Any] = await visit.do("answer", path={"key": key})
    return told


async def _show_verdict(visit: PageVisit, known: dict[str, Any], cohort: CohortDraft | None) -> Response:
    ledger, key, asked = visit.server.state.ledger.of(visit.population), visit.part("key"), known["body"]
    told = await visit.in_thread(lambda: verdict_of(ledger, visit.population, analyst=visit.person.id, key=key))
    ended = visit.server.memory.ending(visit.population, visit.person.id, key)
    if told is None and ended is not None and ended[0] == HTTPStatus.OK:  # it was free
        told = verdict_told(ledger, json.loads(ended[1]), known["at"])
    if told is None:
        raise _not_there()
    if told.answer is None:
        if told.is_lost:
            raise PageRefusedError(410, {"code": "unanswered"})
        return visit.show_running(key)
    answer, record = told.answer, ledger.reservations.find(told.stream)
    of, margin, at_least = answer.terms.streamed, int(answer.terms.margin()), int(answer.threshold)
    picture = "" if of else chance_picture(curve_of(answer.terms, at_least, margin), at_least, margin, visit.say)
    outcomes = await visit.in_thread(lambda: outcomes_of(ledger, visit.population, answer.stream))
    again = {} if cohort is None else {"c": to_link(cohort)}
    is_opener = ledger.request(visit.population, visit.person.id, opening_key(key)) is not None
    return visit.show(
        "verdict.html",
        answer=answer.to_dict(),
        is_yes=bool(answer),
        margin=margin,
        at_least=at_least,
        of=None if of is None else of.asks,
        number_margin=answer.terms.number_margin() if answer.number is not None else None,
        picture=picture,
        sentence=words_of_cohort(visit, cohort, asked["where"]),
        proofs=proofs_of("", "stream"),
        prices=await _stream_prices(visit, told.stream),
        is_opener=is_opener,
        again={**again, "kind": "enough", "stream": told.stream, "at_least": str(at_least)},
        at=told.at,
        stream_status=record.status.value,
        yeses=record.units,
        yeses_left=record.units_left,
        outcomes=outcomes,
        line=timeline(outcomes, record.units, visit.say),
        where=asked["where"],
        share=None if cohort is None or of else shared(visit, stream_link(visit, cohort, answer.terms, at_least)),
        python=_python(visit, told.stream, asked["where"], None if of else at_least),
        json=json.dumps(answer.to_dict(), indent=1, ensure_ascii=False),
    )


async def _show_verdicts(visit: PageVisit, known: dict[str, Any], cohort: CohortDraft | None) -> Response:
    """Show what a stream answered about each cell of a grid, as a map and as a table."""
    key, asked = visit.part("key"), known["body"]
    outcome = (await visit.do("job", path={"key": key}))["outcome"]
    if outcome is None:
        return visit.show_running(key)
    if "error" in outcome:
        raise PageRefusedError(409, outcome["error"])
    told = [None if one is None else Verdict(one["verdict"]).is_yes for one in outcome["answers"]]
    first = next(one for one in outcome["answers"] if one is not None)
    record = visit.server.state.ledger.of(visit.population).reservations.find(first["stream"])
    of, margin = (terms := StreamTerms.read(record.terms)).streamed, terms.margin(questions=len(told))
    axes, cells = _cells(visit, key, asked["wheres"])
    grid = verdict_grid(cells, told)
    again = {} if cohort is None else {"c": to_link(cohort)}
    again |= {name: one.name for name, one in zip(EACH, axes, strict=False)}
    return visit.show(
        "verdicts.html",
        grid=grid,
        axes=[one.title for one in axes],
        picture=verdict_map(grid, visit.say),
        told=told,
        outcome=outcome,
        at_least=first["at_least"],
        of=None if of is None else of.asks,
        margin=margin,
        sentence=words_of_cohort(visit, cohort, ""),
        proofs=proofs_of("", "stream"),
        prices=await _stream_prices(visit, record.name),
        stream_status=record.status.value,
        yeses=record.units,
        yeses_left=record.units_left,
        again={**again, "kind": "enough", "stream": record.name, "at_least": str(first["at_least"])},
        at=known["at"],
        receipt=first["receipt"],
        intervals=_intervals(grid, outcome["answers"]),
        share=None
        if cohort is None or of
        else shared(visit, _grid_link(visit, cohort, record, first["at_least"], axes)),
        python=_python_of_many(visit, record.name, asked["wheres"], None if of else first["at_least"]),
        wheres=asked["wheres"],
        json=json.dumps(outcome, indent=1, ensure_ascii=False),
    )


def _intervals(grid: VerdictGrid, answers: list[dict[str, Any] | None]) -> list[list[dict[str, Any] | None]]:
    """Return the interval that came with each yes, row by row of the map; None for a no."""
    found, width = [None if one is None else one["interval"] for one in answers], len(grid.columns)
    return [found[first : first + width] for first in range(0, len(found), width)]


def _grid_link(
    visit: PageVisit, cohort: CohortDraft, record: ReservationRecord, at_least: int, axes: tuple[Field, ...]
) -> str:
    chosen = {name: one.name for name, one in zip(EACH, axes, strict=False)}
    return f"{stream_link(visit, cohort, StreamTerms.read(record.terms), at_least)}&{urlencode(chosen)}"


def _cells(visit: PageVisit, key: str, wheres: list[str]) -> tuple[tuple[Field, ...], list[AskedCell]]:
    """Return the axes of a grid that was asked about, and its cells; of one that was not built here, a list."""
    kept = visit.site.asked_cohorts.find(visit.population, visit.person.id, axes_key(key)) or {}
    try:
        axes = axes_of("enough", tuple(kept.get("each", ())), dictionary_for(visit))
    except UnclearError:  # what is declared has changed since
        axes = ()
    cells = cells_of(axes, EVERYONE, visit.say)
    if len(cells) == len(wheres):
        return axes, cells
    return (), [AskedCell(labels=(where,), where=where) for where in wheres]


async def _stream_prices(visit: PageVisit, stream: str) -> StreamPrices:
    """Return the price of opening a stream, and its reservation now."""
    return StreamPrices.of(next(one for one in await visit.do("streams") if one["stream"] == stream))


def _python(visit: PageVisit, stream: str, where: str, at_least: int | None) -> str:
    opened = opening_lines(address_of(visit), visit.population)
    number = "" if at_least is None else f", at_least={at_least}"
    asked = f"stream.ask({json.dumps(where, ensure_ascii=False)}{number})"
    return f"{opened}stream = session.resume({json.dumps(stream)})\n{asked}"


def _python_of_many(visit: PageVisit, stream: str, wheres: list[str], at_least: int | None) -> str:
    opened = opening_lines(address_of(visit), visit.population)
    asked = "".join(f"    {json.dumps(one, ensure_ascii=False)},\n" for one in wheres)
    number = "" if at_least is None else f", at_least={at_least}"
    return f"{opened}stream = session.resume({json.dumps(stream)})\nstream.ask_many([\n{asked}]{number})"


def _file(text: str, media_type: str, name: str) -> Response:
    return Response(text, 200, {"Content-Disposition": f'attachment; filename="{name}"'}, media_type)


def _not_there() -> PageRefusedError:
    return PageRefusedError(404, ProblemError.not_there().body()["error"])
