"""The custodian's tables: the declared ones, and a form for a new one, of names, types and typed input.

No bound and no value in it was looked up in the data: the custodian has to know them.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import date
from typing import Any, ClassVar, Final

from starlette.responses import Response

from lapwing.doors.server.pages.page_visit import Page, PageRefusedError, PageVisit
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import exact
from lapwing.vocabulary.frozen import frozen
from lapwing.workspace.declaration import COLUMN_OPTIONS, KINDS, OF_CELLS, TABLE_OPTIONS, Option
from lapwing.workspace.declaring import read_list, read_option, write_list

P: Final = "/populations/{population}/custody/tables"
PLACE: Final = ("name", "source", "inner", "schema")
_CHOSEN: Final = frozenset({"person_key", "key_type", "rows", "max_rows"})
"""Options that the form offers a list for; the others are typed in."""
_WHOLE: Final = re.compile(r"([1-9]\d{0,8})?", re.ASCII)
WHOSE: Final = tuple(option.word for option in TABLE_OPTIONS)
_BOUNDED: Final = frozenset(name for name, kind in KINDS.items() if kind.ends)


@frozen()
class ColumnRow:
    """One column of the form: its name, what it is stored as, and what is declared of it so far."""

    name: str
    stored: str | None
    kind: str
    low: str = ""
    high: str = ""
    values: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def told(self) -> str:
        """The declared values in the spelling of the command line: 0..120, or F,M."""
        if self.kind in _BOUNDED and (self.low or self.high):
            return f"{self.low}..{self.high}"
        if self.kind == "category":
            with suppress(ParameterError):  # a quote without its end is refused with its own words
                return write_list(one for line in self.values.splitlines() for one in read_list(line) if one)
            return self.values
        return ""

    def missing(self) -> str:
        """Return the name of the message about what is missing here, if something is."""
        if self.kind in _BOUNDED and bool(self.low) != bool(self.high):
            return "tables.both_bounds"
        if self.kind == "real" and not self.low:
            return "tables.needs_bounds"
        if self.kind in _BOUNDED and self._is_turned():
            return "tables.bounds_order"
        if self.kind == "category" and not self.told:
            return "tables.needs_values"
        return ""

    def _is_turned(self) -> bool:
        """Whether the highest is below the lowest; what is no number, or no day, is refused with its own words."""
        try:
            if self.kind == "date":
                return date.fromisoformat(self.high) < date.fromisoformat(self.low)
            return exact("highest", self.high) < exact("lowest", self.low)
        except (ValueError, ParameterError):
            return False


@frozen()
class TableForm:
    """A table as it is typed so far: its place, whose rows it has, and its columns."""

    given: Mapping[str, str]
    whose: Mapping[str, str]
    rows: tuple[ColumnRow, ...]
    kinds: ClassVar = KINDS
    column_options: ClassVar = COLUMN_OPTIONS
    of_cells: ClassVar = OF_CELLS
    table_options: ClassVar = tuple(option for option in TABLE_OPTIONS if option.word not in _CHOSEN)

    @staticmethod
    def new(given: Mapping[str, str], stored: Mapping[str, str | None], key: str) -> "TableForm":
        """Return the form of a table of which nothing is declared yet."""
        kinds = {name: "" if name == key else _guess(kind) for name, kind in stored.items()}
        rows = tuple(ColumnRow(name=name, stored=kind, kind=kinds[name]) for name, kind in stored.items())
        return TableForm(given=given, whose={**dict.fromkeys(WHOSE, ""), "person_key": key, "rows": "one"}, rows=rows)

    @staticmethod
    def sent(visit: PageVisit, given: Mapping[str, str], stored: Mapping[str, str | None]) -> "TableForm":
        """Return the form as it came."""
        rows = tuple(_row(visit, place, name, kind) for place, (name, kind) in enumerate(stored.items()))
        return TableForm(given=given, whose={name: visit.field(name) for name in WHOSE}, rows=rows)

    @property
    def is_untyped(self) -> bool:
        """Whether the source has no types of columns, like a CSV file."""
        return all(row.stored is None for row in self.rows)

    def missing(self, visit: PageVisit) -> str:
        """Say what is missing or cannot be read, if something is."""
        for row in self.rows:
            if row.name != self.whose["person_key"] and (name := row.missing()):
                return str(visit.say(name, column=row.name, low=row.low[:40], high=row.high[:40]))
        try:
            for row in self.rows:
                options_record(COLUMN_OPTIONS, row.options)
        except ParameterError as refused:
            return str(refused)
        most = self.whose["max_rows"]
        return "" if _WHOLE.fullmatch(most) else str(visit.say("policy.whole", given=most[:40]))

    def body(self, *, usual: str) -> dict[str, Any]:
        """Return the table as the operations take it; `usual` is the person key of its population."""
        whose, key = self.whose, self.whose["person_key"]
        declared = [row for row in self.rows if row.kind and row.name != key]
        columns = {
            row.name: {"type": row.kind, "values": row.told, **options_record(COLUMN_OPTIONS, row.options)}
            for row in declared
        }
        options = options_record(TABLE_OPTIONS, {**whose, "person_key": "" if key == usual else key})
        if options.get("rows") != "many":
            options.pop("max_rows", None)
        return place_of(self.given) | options | {"columns": columns}


def place_of(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the place of a table, as the operations take it."""
    how, _, which = given["source"].partition(":")
    place = {"name": given["name"], "beside" if how == "beside" else "file": which}
    return place | {name: given[name] for name in ("inner", "schema") if given[name]}


def _row(visit: PageVisit, place: int, name: str, stored: str | None) -> ColumnRow:
    kind = visit.field(f"c{place}.kind")
    return ColumnRow(
        name=name,
        stored=stored,
        kind=kind if kind in KINDS else "",
        low=visit.field(f"c{place}.low"),
        high=visit.field(f"c{place}.high"),
        values=visit.field(f"c{place}.values"),
        options={option.word: visit.field(f"c{place}.{option.word}") for option in COLUMN_OPTIONS},
    )


def options_record(options: Iterable[Option], sent: Mapping[str, str]) -> dict[str, Any]:
    """Return the options that were filled in, as the operations take them.

    >>> options_record(COLUMN_OPTIONS, {"nullable": "on", "title": ""})
    {'nullable': True}
    """
    filled = (one for one in options if sent.get(one.word) and (not one.choices or sent[one.word] in one.choices))
    return {one.word: read_option(one, sent[one.word]) for one in filled}


def _guess(stored: str | None) -> str:
    """Return the default declaration of a column: its stored type, where no values have to be declared."""
    return stored if stored in {"integer", "date", "boolean"} else ""


async def show_tables(visit: PageVisit) -> Response:
    """Show which tables are declared, and where a new one may come from."""
    return await _tables(visit)


async def _tables(visit: PageVisit, *, problem: str = "", status: int = 200) -> Response:
    account, policy = await visit.do("account"), await visit.do("policy")
    return visit.show(
        "tables.html",
        status,
        problem=problem,
        account=account,
        nobody=not policy["unnamed_analysts"] and not account["analysts"],
        dictionary=await visit.do("population"),
        sources=await visit.do("sources"),
        changes=await visit.do("changes"),
        added=visit.asked("added")[:200],
        given={name: visit.asked(name)[:200] for name in PLACE},
    )


async def show_columns(visit: PageVisit) -> Response:
    """Show the columns of a table that may be added, to be declared."""
    given = {name: visit.asked(name)[:200] for name in PLACE}
    if not given["name"]:
        return visit.go("/custody/tables")
    try:
        stored = await _stored(visit, given)
    except PageRefusedError as refused:
        return await _tables(visit, problem=refused.sentence, status=refused.status)
    return visit.show("columns.html", problem="", form=TableForm.new(given, stored, await _usual(visit)))


async def add(visit: PageVisit) -> Response:
    """Add a table; a refusal is shown above the form, which keeps its input."""
    given = {name: visit.field(name)[:200] for name in PLACE}
    form = TableForm.sent(visit, given, await _stored(visit, given))
    if said := form.missing(visit):
        return visit.show("columns.html", 422, form=form, problem=said)
    try:
        await visit.do("add_table", form.body(usual=await _usual(visit)))
    except PageRefusedError as refused:
        return visit.show("columns.html", refused.status, form=form, problem=refused.sentence)
    return visit.go("/custody/tables", added=given["name"])


async def _usual(visit: PageVisit) -> str:
    return str((await visit.do("policy"))["person_key"])


async def _stored(visit: PageVisit, given: Mapping[str, str]) -> dict[str, str | None]:
    found: dict[str, str | None] = (await visit.do("source_columns", place_of(given)))["columns"]
    return found


PAGES: Final = (
    Page(path=P, show=show_tables, operation="sources"),
    Page(path=f"{P}/new", show=show_columns, operation="source_columns"),
    Page(path=P, show=add, method="POST", operation="add_table"),
)
