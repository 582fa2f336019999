"""The pages of synthetic tables: what one would cost, making it, what is known about its errors, and its rows."""

import json
from typing import Any, Final

from starlette.responses import Response

from lapwing.doors.server.calls import Reply
from lapwing.doors.server.for_synthesis import MOST_ROWS
from lapwing.doors.server.pages.answer_code import opening_lines
from lapwing.doors.server.pages.asking import key_of
from lapwing.doors.server.pages.drafts import dictionary_for
from lapwing.doors.server.pages.page_visit import Page, PageRefusedError, PageVisit, act
from lapwing.doors.server.pages.page_words import Messages
from lapwing.doors.server.pages.paid_form import PaidForm
from lapwing.doors.server.pages.proof_pages import proofs_of
from lapwing.doors.server.pages.publication_page import call_of, code_names, file_of, is_running, settled
from lapwing.doors.server.pages.published_columns import (
    ChosenColumns,
    PublishOffer,
    chosen_columns,
    last_of,
    offer_of,
    values_of,
)
from lapwing.doors.server.pages.showing import address_of
from lapwing.noise.randomness import fresh_name
from lapwing.publishing.codes import OTHER
from lapwing.show.maps import MapCell, draw_map
from lapwing.show.panels import Panel, draw_panel
from lapwing.show.strokes import Drawing
from lapwing.vocabulary.frozen import frozen

P: Final = "/populations/{population}/synthetic"
DEGREES: Final = ("", "2", "3")
PLANNED: Final = ("tables", "cohorts")
NOT: Final = ("nobody", "rare", "intervals", "link", "more")
"""What synthetic rows are not, by the names of the messages that say it."""
_DARKEST: Final = 0.1
_MOST_LISTED: Final = 24


@frozen()
class SynthesisDraft:
    """All that the form says: columns, the offer, how wide measured tables are, and what they are planned for."""

    columns: ChosenColumns
    offer: PublishOffer
    up_to: str
    planned_for: str

    def words(self) -> dict[str, Any]:
        """Return the words of an address that show this draft."""
        return {**self.columns.words(), **self.offer.words(), "up_to": self.up_to, "planned_for": self.planned_for}

    def body(self, visit: PageVisit) -> dict[str, Any]:
        """Return the body of the request to the API."""
        wide = {"up_to": int(self.up_to)} if self.up_to else {}
        columns = self.columns.body(dictionary_for(visit))
        return {**columns, "price": self.offer.body(), "planned_for": self.planned_for, **wide}


async def show_synthesis(visit: PageVisit) -> Response:
    """Show a synthetic table: what it is not, which of its tables to trust, its columns one by one, and its files."""
    key = visit.part("key")
    if is_running(visit, key):
        told = await visit.do("job", path={"key": key})
        return visit.show_running(key, progress=told["progress"])
    record = await settled(visit, "synthesis")
    known = visit.server.memory.recall(visit.population, visit.person.id, key)
    quality, body = record["quality"], {} if known is None else known["body"]
    return visit.show(
        "synthesis.html",
        record=record,
        quality=quality,
        key=key,
        at=None if known is None else known["at"],
        nots=NOT,
        map=pairs_map(quality, visit.say),
        panels=[(one["column"], column_panel(one, visit.say)) for one in quality["ones"]],
        trusted=sum(one["trusted"] for one in quality["pairs"]),
        avoid=_doubtful(quality)[:_MOST_LISTED],
        avoided=len(quality["avoid"]),
        rare=[one.replace(OTHER, str(visit.say("publish.other"))) for one in quality["rare"][:_MOST_LISTED]],
        certificates=record["certificates"],
        certify_key=fresh_name(),
        widest=min(4, len(record["columns"])),
        rows=min(record["people"], MOST_ROWS),
        most_rows=MOST_ROWS,
        python=f"{opening_lines(address_of(visit), visit.population)}{call_of('synthesize', body)}",
        proofs=proofs_of("", "synthesis"),
    )


async def save_rows(visit: PageVisit) -> Response:
    """Save made-up rows as CSV, as many as are wanted, or the rows of the model with their weights."""
    query, rows = {}, visit.asked("rows")
    if visit.asked("weights"):
        query["weights"] = 1
    elif rows:
        if not rows.isdecimal() or not 0 < int(rows[:9]) <= MOST_ROWS:
            message = str(visit.say("synthetic.unclear.rows", given=rows[:40], most=MOST_ROWS))
            raise PageRefusedError(422, {"code": "bad_question", "message": message})
        query["rows"] = int(rows)
    told = await visit.do("synthetic_rows", path={"key": visit.part("key")}, query=query)
    body = told.body if isinstance(told, Reply) else b""
    return file_of(body, "text/csv; charset=utf-8", f"synthetic-{visit.part('key')[:8]}.csv")


async def save_quality(visit: PageVisit) -> Response:
    """Save what is known about the errors of a table as a page in one file, to give away with its rows."""
    told = await visit.do("synthetic_quality", path={"key": visit.part("key")})
    body = told.body if isinstance(told, Reply) else b""
    return file_of(body, "text/html; charset=utf-8", f"quality-{visit.part('key')[:8]}.html")


async def save_synthesis_json(visit: PageVisit) -> Response:
    """Save all that was released, and what is known about its errors, as JSON."""
    text = json.dumps(await settled(visit, "synthesis"), indent=1, ensure_ascii=False)
    return file_of(text, "application/json", f"synthetic-{visit.part('key')[:8]}.json")


def pairs_map(quality: dict[str, Any], say: Messages) -> Drawing | None:
    """Draw all pairs of columns: the darker, the farther off; dashed where a pair was not measured."""
    names = quality["columns"]
    if len(names) == 1:
        return None
    known = {frozenset(one["columns"]): one for one in quality["pairs"]}

    def cell(one: dict[str, Any] | None) -> MapCell:
        if one is None:
            return MapCell("", 0.0)
        if one["about"] is None:
            return MapCell("?", 1.0, unsure=True)
        off = max(0.0, one["about"])
        return MapCell(f"{100 * off:.1f}", min(1.0, off / _DARKEST), unsure=one["basis"] != "measured")

    rows = [(name, [cell(known.get(frozenset((name, other)))) for other in names]) for name in names]
    return draw_map(names, rows, say("synthetic.pairs"), say("synthetic.pairs_about"))


def column_panel(given: dict[str, Any], say: Messages) -> Drawing:
    """Draw one column by itself: the model, and where the true count lies."""
    people, low, high = ([round(one) for one in given[name]] for name in ("people", "low", "high"))
    panel = Panel(given["column"], code_names(given["codes"], say), people, low, high, from_zero=True, over_time=False)
    return draw_panel(panel, given["column"])


def _doubtful(quality: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the tables not to ask about, with how far off they may be."""
    off = {tuple(one["columns"]): one["at_most"] for one in (*quality["pairs"], *quality["larger"])}
    return [
        (" × ".join(names), "" if off.get(tuple(names)) is None else f"{100 * off[tuple(names)]:.1f} %")
        for names in quality["avoid"]
    ]


def _draft(visit: PageVisit) -> SynthesisDraft:
    values = values_of(visit)
    up_to, planned = last_of(values, "up_to"), last_of(values, "planned_for", "tables")
    return SynthesisDraft(
        columns=chosen_columns(values, dictionary_for(visit)),
        offer=offer_of(values),
        up_to=up_to if up_to in DEGREES else "",
        planned_for=planned if planned in PLANNED else "tables",
    )


def _certificate(visit: PageVisit) -> dict[str, Any]:
    wide = visit.field("up_to")
    return {"epsilon": visit.field("epsilon", "0"), "up_to": int(wide) if wide in set("12345678") else 0}


async def _to_synthesis(visit: PageVisit, _: Any) -> Response:
    return visit.go(f"/syntheses/{visit.part('key')}")


_ONE: Final = "/populations/{population}/syntheses/{key}"
FORM: Final = PaidForm(
    place="synthetic",
    page="synthetic",
    read=_draft,
    preview="preview_synthesis",
    pay="synthesize",
    listed="syntheses",
    result="syntheses",
    beside={"degrees": DEGREES, "planned": PLANNED, "nots": NOT},
)
PAGES: Final[tuple[Page, ...]] = (
    *FORM.pages(P),
    Page(path=_ONE, show=show_synthesis, operation="synthesis"),
    act(
        f"{_ONE}/certify",
        "certify",
        body=_certificate,
        key=key_of,
        then=_to_synthesis,
    ),
    Page(path=f"{_ONE}/csv", show=save_rows, operation="synthetic_rows"),
    Page(path=f"{_ONE}/quality", show=save_quality, operation="synthetic_quality"),
    Page(path=f"{_ONE}/json", show=save_synthesis_json, operation="synthesis"),
)
