"""The page about numbers that were cut: how many rows people have, and what any bound of rows leaves out."""

import json
import re
from typing import Any, Final

from starlette.responses import Response

from lapwing.doors.server.pages.analysis_form import analysis_offer, said, text_of_field
from lapwing.doors.server.pages.answer_code import opening_lines
from lapwing.doors.server.pages.cohort_document import UnclearError
from lapwing.doors.server.pages.dictionary import Source
from lapwing.doors.server.pages.drafts import dictionary_for
from lapwing.doors.server.pages.page_visit import Page, PageVisit
from lapwing.doors.server.pages.paid_form import PaidForm
from lapwing.doors.server.pages.proof_pages import proofs_of
from lapwing.doors.server.pages.publication_page import file_of, is_running, settled
from lapwing.doors.server.pages.published_columns import PublishOffer, values_of
from lapwing.doors.server.pages.showing import address_of
from lapwing.show.panels import Panel, draw_panel
from lapwing.vocabulary.frozen import frozen

P: Final = "/populations/{population}/rows"
_ONE: Final = "/populations/{population}/rows-a-person/{key}"
_MOST_ROWS: Final = 1 << 14
_WHOLE: Final = re.compile(r"[0-9]{1,5}")


@frozen()
class RowsDraft:
    """All that the form says, as it was typed."""

    table: str
    where: str
    up_to: str
    offer: PublishOffer

    def words(self) -> dict[str, Any]:
        """Return the words of an address that show this draft."""
        return {**said(table=self.table, where=self.where, up_to=self.up_to), **self.offer.words()}

    def body(self, visit: PageVisit) -> dict[str, Any]:
        """Return the body of the request to the API."""
        if self.table not in {one.name for one in _tables(visit)}:
            raise UnclearError("cutting.unclear.table")
        given = self.up_to.strip()
        if given and not (_WHOLE.fullmatch(given) and 1 < int(given) <= _MOST_ROWS):
            raise UnclearError("cutting.unclear.up_to", given=given[:40], most=_MOST_ROWS)
        most = int(given) if given else None
        return {"table": self.table, **said(where=self.where, up_to=most), "price": self.offer.body()}


async def show_cuts(visit: PageVisit) -> Response:
    """Show how many rows people have, and what each bound of rows cuts; it never charges."""
    key = visit.part("key")
    if is_running(visit, key):
        return visit.show_running(key)
    record = await settled(visit, "rows")
    known = visit.server.memory.recall(visit.population, visit.person.id, key)
    body = {} if known is None else known["body"]
    return visit.show(
        "rows_told.html",
        record=record,
        key=key,
        at=None if known is None else known["at"],
        where=body.get("where", ""),
        picture=_picture(record, visit.say("cutting.people", table=record["table"])),
        python=f"{opening_lines(address_of(visit), visit.population)}{rows_call(body)}",
        proofs=proofs_of(record["question"]),
    )


async def save_cuts(visit: PageVisit) -> Response:
    """Save how many rows people have as JSON, with all numbers that were released."""
    told = json.dumps(await settled(visit, "rows"), indent=1, ensure_ascii=False)
    return file_of(told, "application/json", f"rows-{visit.part('key')[:8]}.json")


def rows_call(body: dict[str, Any]) -> str:
    """Return the call of `rows_a_person` that a body stands for.

    >>> rows_call({"table": "visit", "up_to": 20, "price": {"epsilon": "0.1"}})
    'found = session.rows_a_person("visit", up_to=20, epsilon="0.1")'
    """
    first = [json.dumps(body[name], ensure_ascii=False) for name in ("table", "where") if name in body]
    rest = [f"up_to={body['up_to']}"] if "up_to" in body else []
    paid = [f'{name}="{given}"' for name, given in body.get("price", {}).items()]
    return f"found = session.rows_a_person({', '.join([*first, *rest, *paid])})"


def _picture(record: dict[str, Any], title: str) -> Any:
    spans = record["spans"]
    labels = [f"{one['first']}" if one["first"] == one["last"] else f"{one['first']}–{one['last']}" for one in spans]
    values, lows, highs = ([one[word] for one in spans] for word in ("people", "low", "high"))
    return draw_panel(Panel(title, labels, values, lows, highs, from_zero=True, over_time=False), title)


def _tables(visit: PageVisit) -> list[Source]:
    return dictionary_for(visit).events


def _draft(visit: PageVisit) -> RowsDraft:
    values, tables = values_of(visit), _tables(visit)
    return RowsDraft(
        table=text_of_field(values, "table", tables[0].name if tables else ""),
        where=text_of_field(values, "where"),
        up_to=text_of_field(values, "up_to"),
        offer=analysis_offer(visit, values, epsilon="0.1", rho="0.001"),
    )


PAGES: Final[tuple[Page, ...]] = (
    *PaidForm(
        place="rows",
        page="rows",
        read=_draft,
        preview="preview_rows",
        pay="rows_a_person",
        listed="all_rows",
        result="rows-a-person",
        beside=lambda visit: {"tables": _tables(visit)},
    ).pages(P),
    Page(path=_ONE, show=show_cuts, operation="rows"),
    Page(path=f"{_ONE}/json", show=save_cuts, operation="rows"),
)
