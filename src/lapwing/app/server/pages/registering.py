"""The custodian's tables: which are declared, and a form for a new one, of names and types and of what is typed in."""

from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from lapwing.app.server.pages.column_rows import PLACE, TableForm, place_of
from lapwing.app.server.pages.visits import Page, PageRefusedError, Visit

P: Final = "/populations/{population}/custody/tables"


async def show_tables(visit: Visit) -> Response:
    """Show which tables are declared, and where a new one may come from."""
    return await _tables(visit)


async def _tables(visit: Visit, *, problem: str = "", status: int = 200) -> Response:
    return visit.show(
        "tables.html",
        status,
        problem=problem,
        account=await visit.do("account"),
        dictionary=await visit.do("population"),
        sources=await visit.do("sources"),
        changes=await visit.do("changes"),
        added=visit.asked("added")[:200],
        given={name: visit.asked(name)[:200] for name in PLACE},
    )


async def show_columns(visit: Visit) -> Response:
    """Show the columns of a table that may be added, to be declared."""
    given = {name: visit.asked(name)[:200] for name in PLACE}
    if not given["name"]:
        return visit.go("/custody/tables")
    try:
        stored = await _stored(visit, given)
    except PageRefusedError as refused:
        return await _tables(visit, problem=refused.sentence, status=refused.status)
    return visit.show("columns.html", problem="", form=TableForm.new(given, stored, await _usual(visit)))


async def add(visit: Visit) -> Response:
    """Add a table; what is refused is said above the form, which keeps what was typed."""
    given = {name: visit.field(name)[:200] for name in PLACE}
    form = TableForm.sent(visit, given, await _stored(visit, given))
    if said := form.missing(visit):
        return visit.show("columns.html", 422, form=form, problem=said)
    try:
        await visit.do("add_table", form.body(usual=await _usual(visit)))
    except PageRefusedError as refused:
        return visit.show("columns.html", refused.status, form=form, problem=refused.sentence)
    return visit.go("/custody/tables", added=given["name"])


async def _usual(visit: Visit) -> str:
    return str((await visit.do("policy"))["person_key"])


async def _stored(visit: Visit, given: Mapping[str, str]) -> dict[str, str | None]:
    found: dict[str, str | None] = (await visit.do("source_columns", place_of(given)))["columns"]
    return found


PAGES: Final = (
    Page(path=P, show=show_tables, operation="sources"),
    Page(path=f"{P}/new", show=show_columns, operation="source_columns"),
    Page(path=P, show=add, method="POST", operation="add_table"),
)
