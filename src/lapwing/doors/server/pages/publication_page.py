"""What was published, by its key: maps and tables with intervals, files, and the same in Python."""

import itertools
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from starlette.responses import Response

from lapwing.doors.server.jobs import JobName, JobState
from lapwing.doors.server.pages.answer_code import opening_lines
from lapwing.doors.server.pages.heat_map import GridMap, heat_map, short_name
from lapwing.doors.server.pages.page_visit import Page, PageRefusedError, PageVisit
from lapwing.doors.server.pages.page_words import Messages
from lapwing.doors.server.pages.proof_pages import proofs_of
from lapwing.doors.server.pages.showing import address_of
from lapwing.publishing.codes import OTHER
from lapwing.publishing.written_out import csv_of_publication
from lapwing.show.strokes import Drawing
from lapwing.vocabulary.frozen import frozen

P: Final = "/populations/{population}/publications/{key}"
_SHOWN: Final = 6
"""How many tables are shown at once; of more, one is chosen."""
MOST_ROWS: Final = 200
_TWO: Final = 2


@frozen()
class PublishedCell:
    """A cell of a published table: its codes, its people, and its bounds, as text."""

    codes: tuple[str, ...]
    people: str
    low: str
    high: str


@frozen()
class TableView:
    """A published table as the page shows it: a map where it has two columns, and all of its cells."""

    number: int
    title: str
    columns: tuple[str, ...]
    down: str
    across: str
    sd: str
    margin: str
    picture: Drawing | None
    rows: tuple[PublishedCell, ...]
    beyond: int


async def show_publication(visit: PageVisit) -> Response:
    """Show a publication; it never charges, and needs no database."""
    key = visit.part("key")
    if is_running(visit, key):
        return visit.show_running(key)
    record, known = (
        await settled(visit, "publication"),
        visit.server.memory.recall(visit.population, visit.person.id, key),
    )
    body = {} if known is None else known["body"]
    chosen = visit.asked("t")
    first = int(chosen) if chosen.isdecimal() and len(chosen) < 6 else 0  # noqa: PLR2004
    numbers = range(len(record["tables"]))
    shown = numbers if len(numbers) <= _SHOWN else [min(first, len(numbers) - 1)]
    return visit.show(
        "publication.html",
        record=record,
        key=key,
        at=None if known is None else known["at"],
        views=[view_of(record, number, visit.say) for number in shown],
        listed=[] if len(numbers) <= _SHOWN else [_title(record["tables"][number]) for number in numbers],
        chosen=shown[0],
        percent=f"{float(Fraction(record['confidence'])) * 100:g}",
        python=_python(visit, body),
        proofs=proofs_of("", "publication"),
    )


async def save_publication_csv(visit: PageVisit) -> Response:
    """Save all tables in one, a line a cell, each number with its bounds."""
    return file_of(
        csv_of_publication(await settled(visit, "publication")), "text/csv; charset=utf-8", _name(visit, "csv")
    )


async def save_publication_json(visit: PageVisit) -> Response:
    """Save the publication as JSON, with all numbers that were released."""
    text = json.dumps(await settled(visit, "publication"), indent=1, ensure_ascii=False)
    return file_of(text, "application/json", _name(visit, "json"))


def is_running(visit: PageVisit, key: str) -> bool:
    """Say whether the job under a key of the person still runs in this process."""
    job = visit.server.jobs.find(JobName(visit.population, visit.person.id, key))
    return job is not None and job.state in {JobState.QUEUED, JobState.RUNNING}


def file_of(content: str | bytes, media_type: str, name: str) -> Response:
    """Return a file to be saved under a name."""
    return Response(content, 200, {"Content-Disposition": f'attachment; filename="{name}"'}, media_type)


def view_of(record: Mapping[str, Any], number: int, say: Messages) -> TableView:
    """Return one table of a publication as the page shows it."""
    table = record["tables"][number]
    called = [code_names(record["codes"][name], say) for name in table["columns"]]
    cells = list(itertools.product(*called))
    numbers = zip(table["people"], table["low"], table["high"], strict=True)
    rows = tuple(
        PublishedCell(
            codes=cell, **dict(zip(("people", "low", "high"), (f"{round(one):,}" for one in given), strict=True))
        )
        for cell, given in itertools.islice(zip(cells, numbers, strict=True), MOST_ROWS)
    )
    down, across = _axes(called)
    picture = None
    if len(called) == _TWO:
        people = dict(zip(itertools.product(*map(range, map(len, called))), table["people"], strict=True))
        told = tuple(
            (name, tuple(Fraction(people[(x, y) if down else (y, x)]) for x in range(len(called[across]))))
            for y, name in enumerate(called[down])
        )
        grid = GridMap(title="", columns=tuple(called[across]), rows=told)
        picture = heat_map(grid, Fraction(table["margin"]), Fraction(max(table["people"])), say)
    return TableView(
        number=number,
        title=_title(table),
        columns=tuple(table["columns"]),
        down=table["columns"][down],
        across=table["columns"][across],
        sd=f"{table['sd']:,.1f}",
        margin=f"{table['margin']:,.0f}",
        picture=picture,
        rows=rows,
        beyond=len(cells) - len(rows),
    )


def code_names(codes: Sequence[str], say: Messages) -> list[str]:
    """Return what the codes of a column are called on a page.

    >>> from lapwing.doors.server.pages.page_words import words_of
    >>> code_names(["False", "True", "other or missing"], words_of("en")), code_names(["from 0 to 19"], words_of("en"))
    (['no', 'yes', 'other or missing'], ['0–19'])
    """
    truths = {"False": "answer.no", "True": "answer.yes"} if set(codes) <= {"False", "True", OTHER} else {}
    named = {OTHER: "publish.other", **truths}
    return [str(say(named[code])) if code in named else short_name(code) for code in codes]


def _axes(called: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return which of the first two columns goes down a map, and which across: more names fit down."""
    return (1, 0) if len(called) == _TWO and len(called[1]) > len(called[0]) else (0, len(called) - 1)


def _title(table: Mapping[str, Any]) -> str:
    return " × ".join(table["columns"])


async def settled(visit: PageVisit, operation: str) -> dict[str, Any]:
    """Return what an operation tells about the key in the path, or say why there is nothing: it was lost, say."""
    try:
        found: dict[str, Any] = await visit.do(operation, path={"key": visit.part("key")})
    except PageRefusedError as refused:
        told = await visit.do("job", path={"key": visit.part("key")}) if refused.status == 404 else None  # noqa: PLR2004
        if told is None or "error" not in (told["outcome"] or {}):
            raise
        raise PageRefusedError(410 if told["state"] == "lost" else 409, told["outcome"]["error"]) from None
    return found


def _name(visit: PageVisit, kind: str) -> str:
    return f"publication-{visit.part('key')[:8]}.{kind}"


def _python(visit: PageVisit, body: Mapping[str, Any]) -> str:
    """Return the same publication in Python, for a person with a token of the server."""
    return f"{opening_lines(address_of(visit), visit.population)}{call_of('publish', body)}"


def call_of(verb: str, body: Mapping[str, Any]) -> str:
    """Return the call of a verb of a session that a body stands for; a program may have given no names, or no columns.

    >>> columns = [{"name": "sex", "by": "sex"}, {"name": "old", "by": "age > 90"}]
    >>> print(call_of("publish", {"table": "patient", "columns": columns, "price": {"within": "50"}}))
    columns = {
        "sex": "sex",
        "old": "age > 90",
    }
    made = session.publish("patient", columns, within="50")
    >>> print(call_of("publish", {"table": "patient", "columns": [{"by": "sex"}], "price": {"within": "50"}}))
    columns = ["sex"]
    made = session.publish("patient", columns, within="50")
    """
    given, opening = body.get("columns", []), ""
    if given and "name" in given[0]:
        named = ((json.dumps(one["name"]), json.dumps(one["by"], ensure_ascii=False)) for one in given)
        opening = "columns = {\n" + "".join(f"    {name}: {by},\n" for name, by in named) + "}\n"
    elif given:
        opening = f"columns = {json.dumps([one['by'] for one in given], ensure_ascii=False)}\n"
    words = [json.dumps(body["table"]), *(["columns"] if given else [])]
    words += [json.dumps(body["marginals"])] if "marginals" in body else []
    words += [f"{name}={json.dumps(str(given))}" for name, given in body["price"].items()]
    words += [f"{name}=True" for name in ("non_negative", "whole") if body.get(name)]
    words += [f"{name}={json.dumps(body[name])}" for name in ("rows", "up_to", "planned_for") if name in body]
    return f"{opening}made = session.{verb}({', '.join(words)})"


PAGES: Final[tuple[Page, ...]] = (
    Page(path=P, show=show_publication, operation="publication"),
    Page(path=f"{P}/csv", show=save_publication_csv, operation="publication"),
    Page(path=f"{P}/json", show=save_publication_json, operation="publication"),
)
