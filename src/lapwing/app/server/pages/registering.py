"""The custodian's tables: which are declared, and a form for a new one, of names and types and of what is typed in.

No bound and no value in it was looked up in the data: whoever declares them has to know them.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from lapwing.app.server.pages.visits import Page, PageRefusedError, Visit
from lapwing.vocabulary.frozen import frozen

P: Final = "/populations/{population}/custody/tables"
KINDS: Final = ("integer", "real", "category", "date", "boolean", "text")
_WHOLE: Final = re.compile(r"([1-9]\d{0,8})?", re.ASCII)
_BOUNDED: Final = frozenset({"integer", "real", "date"})


@frozen()
class ColumnRow:
    """One column of the form: its name, what it is stored as, and what is declared of it so far."""

    name: str
    stored: str | None
    kind: str
    low: str = ""
    high: str = ""
    values: str = ""
    nullable: bool = False

    @property
    def told(self) -> str:
        """What is declared, as it is written at the command line: 0..120, or F,M."""
        if self.kind in _BOUNDED and (self.low or self.high):
            return f"{self.low}..{self.high}"
        if self.kind == "category":
            return ",".join(one.strip() for one in self.values.replace("\n", ",").split(",") if one.strip())
        return ""

    def missing(self) -> str:
        """Return which message says what is missing here, if something is."""
        if self.kind in _BOUNDED and bool(self.low) != bool(self.high):
            return "tables.both_bounds"
        if self.kind == "real" and not self.low:
            return "tables.needs_bounds"
        if self.kind == "category" and not self.told:
            return "tables.needs_values"
        return ""


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
        given={name: visit.asked(name)[:200] for name in ("name", "source", "inner")},
    )


async def show_columns(visit: Visit) -> Response:
    """Show the columns of a table that may be added, to be declared."""
    given = {name: visit.asked(name)[:200] for name in ("name", "source", "inner", "schema")}
    if not given["name"]:
        return visit.go("/custody/tables")
    try:
        stored = await _stored(visit, given)
    except PageRefusedError as refused:
        return await _tables(visit, problem=refused.sentence, status=refused.status)
    key = str((await visit.do("policy"))["person_key"])
    kinds = {name: "" if name == key else _guess(kind) for name, kind in stored.items()}
    rows = [ColumnRow(name=name, stored=kind, kind=kinds[name]) for name, kind in stored.items()]
    return _columns(visit, given, rows, {"person_key": key, "rows": "one", "max_rows": ""})


async def add(visit: Visit) -> Response:
    """Add a table; what is refused is said above the form, which keeps what was typed."""
    given = {name: visit.field(name)[:200] for name in ("name", "source", "inner", "schema")}
    stored = await _stored(visit, given)
    rows = [_row(visit, place, name, kind) for place, (name, kind) in enumerate(stored.items())]
    whose = {name: visit.field(name) for name in ("person_key", "rows", "max_rows")}
    for row in rows:
        if row.name != whose["person_key"] and (name := row.missing()):
            return _columns(visit, given, rows, whose, problem=visit.say(name, column=row.name), status=422)
    if not _WHOLE.fullmatch(whose["max_rows"]):
        said = visit.say("policy.whole", given=whose["max_rows"][:40])
        return _columns(visit, given, rows, whose, problem=said, status=422)
    try:
        await visit.do("add_table", await _body(visit, given, rows, whose))
    except PageRefusedError as refused:
        return _columns(visit, given, rows, whose, problem=refused.sentence, status=refused.status)
    return visit.go("/custody/tables", added=given["name"])


def _columns(
    visit: Visit,
    given: Mapping[str, str],
    rows: list[ColumnRow],
    whose: Mapping[str, str],
    *,
    problem: str = "",
    status: int = 200,
) -> Response:
    return visit.show("columns.html", status, given=given, rows=rows, whose=whose, kinds=KINDS, problem=problem)


async def _body(
    visit: Visit, given: Mapping[str, str], rows: list[ColumnRow], whose: Mapping[str, str]
) -> dict[str, Any]:
    usual = (await visit.do("policy"))["person_key"]
    declared = [row for row in rows if row.kind and row.name != whose["person_key"]]
    body = _place(given) | {
        "rows": "many" if whose["rows"] == "many" else "one",
        "columns": {row.name: {"type": row.kind, "values": row.told, "nullable": row.nullable} for row in declared},
    }
    if whose["person_key"] and whose["person_key"] != usual:
        body["person_key"] = whose["person_key"]
    if whose["rows"] == "many" and whose["max_rows"]:
        body["max_rows"] = int(whose["max_rows"])
    return body


async def _stored(visit: Visit, given: Mapping[str, str]) -> dict[str, str | None]:
    found: dict[str, str | None] = (await visit.do("source_columns", _place(given)))["columns"]
    return found


def _place(given: Mapping[str, str]) -> dict[str, Any]:
    """Return where a table is, as the operations say it."""
    how, _, which = given["source"].partition(":")
    place = {"name": given["name"], "beside" if how == "beside" else "file": which}
    return place | {name: given[name] for name in ("inner", "schema") if given[name]}


def _row(visit: Visit, place: int, name: str, stored: str | None) -> ColumnRow:
    kind = visit.field(f"c{place}.kind")
    return ColumnRow(
        name=name,
        stored=stored,
        kind=kind if kind in KINDS else "",
        low=visit.field(f"c{place}.low"),
        high=visit.field(f"c{place}.high"),
        values=visit.field(f"c{place}.values"),
        nullable=visit.field(f"c{place}.nullable") == "on",
    )


def _guess(stored: str | None) -> str:
    """Return what a column is declared as if nobody says otherwise: what follows from its type, without a value."""
    return stored if stored in {"integer", "date", "boolean"} else ""


PAGES: Final = (
    Page(path=P, show=show_tables, operation="sources"),
    Page(path=f"{P}/new", show=show_columns, operation="source_columns"),
    Page(path=P, show=add, method="POST", operation="add_table"),
)
