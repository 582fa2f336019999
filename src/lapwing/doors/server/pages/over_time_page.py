"""The pages of counts over time: what a dashboard would cost, opening it, and its line with the band around it."""

import csv
import io
from datetime import date
from typing import Any, Final

from starlette.responses import Response

from lapwing.analyses.dashboard_grid import EVERY, MOST_RELEASES
from lapwing.doors.server.pages.analysis_form import analysis_offer, said, text_of_field
from lapwing.doors.server.pages.answer_code import opening_lines
from lapwing.doors.server.pages.asking import key_of
from lapwing.doors.server.pages.cohort_document import UnclearError
from lapwing.doors.server.pages.drafts import dictionary_for
from lapwing.doors.server.pages.page_visit import Page, PageRefusedError, PageVisit, act
from lapwing.doors.server.pages.paid_form import PaidForm
from lapwing.doors.server.pages.proof_pages import proofs_of
from lapwing.doors.server.pages.publication_page import file_of, is_running
from lapwing.doors.server.pages.published_columns import PublishOffer, values_of
from lapwing.doors.server.pages.showing import address_of
from lapwing.noise.randomness import fresh_name
from lapwing.publishing.written_out import safe_cell
from lapwing.show.panels import Panel, draw_panel
from lapwing.show.strokes import Drawing
from lapwing.vocabulary.frozen import frozen

P: Final = "/populations/{population}/over-time"
_ONE: Final = "/populations/{population}/dashboards/{key}"
SORTS: Final = ("cumulative", "single")
_STOCKS: Final = {"cumulative": "stock", "single": "change"}
"""What these counts are called where people leave."""
_MOST_DRAWN: Final = 12
_NOT_THERE: Final = 404


@frozen()
class OverTimeDraft:
    """All that the form says, as it was typed; `period` is a table and its day."""

    name: str
    period: str
    until: str
    where: str
    by: str
    first: str
    every: str
    releases: str
    offer: PublishOffer

    def words(self) -> dict[str, Any]:
        """Return the words of an address that show this draft."""
        own = said(
            name=self.name,
            period=self.period,
            until=self.until,
            where=self.where,
            by=self.by,
            first=self.first,
            every=self.every,
            releases=self.releases,
        )
        return {**own, **self.offer.words()}

    def body(self, visit: PageVisit) -> dict[str, Any]:
        """Return the body of the request to the API."""
        table, _, day = self.period.partition(".")
        source = dictionary_for(visit).source(table)
        if source is None or source.field(day) is None:
            raise UnclearError("series.unclear.period")
        if not self.name:
            raise UnclearError("series.unclear.name")
        left, _, until = self.until.partition(".")
        if self.until and (left != table or source.field(until) is None):
            raise UnclearError("series.unclear.until")
        by = source.field(self.by) if self.by else None
        return {
            "name": self.name,
            "table": table,
            "period": day,
            "first": self.first,
            "every": self.every,
            "releases": self._many(),
            **said(where=self.where, until=until),
            **({} if by is None else {"by": [by.written]}),
            "price": self.offer.body(),
        }

    def _many(self) -> int:
        if not self.releases.isdecimal() or not 0 < int(self.releases[:9]) <= MOST_RELEASES:
            raise UnclearError("series.unclear.releases", given=self.releases[:40], most=MOST_RELEASES)
        return int(self.releases)


async def show_dashboard(visit: PageVisit, problem: str = "", status: int = 200) -> Response:
    """Show a dashboard: its counts with their bands, and the button that publishes what is over."""
    key = visit.part("key")
    if is_running(visit, key):
        return visit.show_running(key)
    record = await _found(visit)
    if record["id"] != key:
        return visit.go(f"/dashboards/{record['id']}")
    sort = visit.asked("show", "cumulative")
    sort = sort if sort in SORTS else "cumulative"
    groups = _by_group(record["counts"].get(sort, []))
    is_over = record["next"] is not None and record["next"]["over_after"] < date.today().isoformat()  # noqa: DTZ011
    return visit.show(
        "dashboard.html",
        status,
        record=record,
        sort=sort,
        sorts={one: _STOCKS[one] if record["stocks"] else one for one in SORTS},
        groups=groups,
        pictures=[(name, _line(record["dashboard"], rows)) for name, rows in list(groups.items())[:_MOST_DRAWN]],
        is_over=is_over,
        key=fresh_name(),
        problem=problem,
        python=f"{opening_lines(address_of(visit), visit.population)}{_python(record)}",
        proofs=proofs_of("", "dashboard"),
    )


async def save_dashboard(visit: PageVisit) -> Response:
    """Save all counts of a dashboard as CSV, a line a count, each with its bounds."""
    record = await _found(visit)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["sort", *map(safe_cell, record["by"]), "until", "people", "low", "high"])
    for sort, counts in record["counts"].items():
        for one in counts:
            known = one["estimate"] is not None
            ends = [one["estimate"], one["estimate"] - one["margin"], one["estimate"] + one["margin"]] if known else []
            writer.writerow([sort, *map(safe_cell, one["group"]), one["until"], *(ends or ["", "", ""])])
    return file_of(out.getvalue(), "text/csv; charset=utf-8", f"dashboard-{record['id'][:8]}.csv")


async def _found(visit: PageVisit) -> dict[str, Any]:
    """Return a dashboard by its id, or by the key under which it was opened."""
    key = visit.part("key")
    try:
        found: dict[str, Any] = await visit.do("dashboard", path={"dashboard": key})
    except PageRefusedError as refused:
        if refused.status != _NOT_THERE:
            raise
        told = await visit.do("job", path={"key": key})
        outcome = told["outcome"] or {}
        if "error" in outcome:
            raise PageRefusedError(409, outcome["error"]) from None
        if "dashboard" not in outcome:
            raise
        return dict(outcome)
    return found


def _by_group(counts: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for one in counts:
        found.setdefault(" · ".join(one["group"]), []).append(one)
    return found


def _line(name: str, rows: list[dict[str, Any]]) -> Drawing:
    values = [None if one["estimate"] is None else round(one["estimate"], 1) for one in rows]
    lows = [None if value is None else value - one["margin"] for value, one in zip(values, rows, strict=True)]
    highs = [None if value is None else value + one["margin"] for value, one in zip(values, rows, strict=True)]
    labels = [one["until"] for one in rows]
    return draw_panel(Panel(name, labels, values, lows, highs, from_zero=False, over_time=len(rows) > 1), name)


def _python(record: dict[str, Any]) -> str:
    """Return the same dashboard in Python."""
    return f"board = session.dashboard(name={record['dashboard']!r})\nboard.publish()\nboard.window(1)"


def _draft(visit: PageVisit) -> OverTimeDraft:
    values, dictionary = values_of(visit), dictionary_for(visit)
    days = dictionary.days
    every = text_of_field(values, "every", "month")
    return OverTimeDraft(
        name=text_of_field(values, "name"),
        period=text_of_field(values, "period", days[0].path if days else ""),
        until=text_of_field(values, "until"),
        where=text_of_field(values, "where"),
        by=text_of_field(values, "by"),
        first=text_of_field(values, "first", _first_day(days[0].high if days else "")),
        every=every if every in EVERY else "month",
        releases=text_of_field(values, "releases", "12"),
        offer=analysis_offer(visit, values, epsilon="1", rho="0.05"),
    )


def _first_day(last: str) -> str:
    """Return the first day of the last whole year that is declared."""
    return f"{int(last[:4]) - (0 if last[5:] == '12-31' else 1)}-01-01" if last else ""


def _beside(visit: PageVisit) -> dict[str, Any]:
    dictionary = dictionary_for(visit)
    days = [(dictionary.sources[one.table].title, one) for one in dictionary.days]
    chosen = dict.fromkeys(one.table for _, one in days)
    groups = {
        name: [one for one in dictionary.sources[name].fields if one.values and not one.is_long] for name in chosen
    }
    return {"days": days, "every": EVERY, "by_table": groups}


async def _to_dashboard(visit: PageVisit, _: Any) -> Response:
    return visit.go(f"/dashboards/{visit.part('key')}")


PAGES: Final[tuple[Page, ...]] = (
    *PaidForm(
        place="over-time",
        page="over_time",
        read=_draft,
        preview="preview_dashboard",
        pay="open_dashboard",
        listed="dashboards",
        result="dashboards",
        beside=_beside,
    ).pages(P),
    Page(path=_ONE, show=show_dashboard, operation="dashboard"),
    Page(path=f"{_ONE}/csv", show=save_dashboard, operation="dashboard"),
    act(
        f"{_ONE}/publish",
        "publish_release",
        body=lambda _: {},
        key=key_of,
        parts=lambda visit: {"dashboard": visit.part("key")},
        then=_to_dashboard,
        refused=show_dashboard,
    ),
)
