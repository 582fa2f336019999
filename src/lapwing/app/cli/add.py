"""`lapwing add`: a table, and its columns as a custodian declares them: --integer age=0..120 --category sex=F,M."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

import click

from lapwing.app.cli.commands import facts, waiting
from lapwing.app.cli.options import Door, for_the_custodian
from lapwing.app.cli.overview import hints
from lapwing.engines.duckdb import DuckDBTable, columns_of_file
from lapwing.queries.catalogue import Population
from lapwing.vocabulary.errors import BadQuestionError, LapwingError, ParameterError, SettingsError
from lapwing.vocabulary.exact import exact
from lapwing.vocabulary.loading import load_extra
from lapwing.workspace.misfits import Misfit
from lapwing.workspace.settings import FILE, read_settings, require_no_password
from lapwing.workspace.toml import table_text
from lapwing.workspace.workspace import Workspace, open_workspace

KINDS: Final = ("integer", "real", "category", "date", "boolean", "text")
_UNBOUNDED: Final = {"integer", "date", "boolean", "text"}
"""Kinds that can be declared without bounds or values."""
_WHOLE: Final = re.compile("0|-?[1-9][0-9]*")
"""A whole number in the one way that nobody takes for a code: 01 is text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The columns of a table: those that are declared, as lapwing.toml says them, and those that are left out."""

    columns: Mapping[str, Mapping[str, Any]]
    left_out: Mapping[str, str | None]

    def columns_record(self) -> dict[str, dict[str, Any]]:
        """Return the declared columns as JSON values."""
        return {
            name: {word: str(entry) if isinstance(entry, date) else entry for word, entry in column.items()}
            for name, column in self.columns.items()
        }


def declared_columns(
    table: str, given: Mapping[str, tuple[str, ...]], stored: Mapping[str, str | None], *, key: str, take_all: bool
) -> Declared:
    """Return what was declared, checked against the names that are there.

    Parameters
    ----------
    table : what the table is called
    given : for each kind, what was written, such as "age=0..120"; and what may be missing under "nullable"
    stored : the kind of each column that is there; None where it is not known
    key : the person key, which is not a column
    take_all : whether the other columns are declared as what they are stored as

    >>> there = {"id": "integer", "age": "integer", "sex": "text", "city": "text"}
    >>> found = declared_columns(
    ...     "patients", {"integer": ("age=0..120",), "category": ("sex=F,M",)}, there, key="id", take_all=False
    ... )
    >>> found.columns["age"], dict(found.left_out)
    ({'type': 'integer', 'low': 0, 'high': 120}, {'city': 'text'})
    """
    nullable = {name.strip() for text in given.get("nullable", ()) for name in text.split(",")}
    columns: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        for text in given.get(kind, ()):
            name, _, said = text.partition("=")
            if name in columns:
                raise ParameterError(kind, text, reason=f"declares {name} a second time", remedy="declare it once")
            columns[name] = {"type": kind, **_bounds(kind, text, said, stored.get(name))}
    rest = {name: kind for name, kind in stored.items() if name not in columns and name != key}
    taken = {name for name, kind in rest.items() if take_all and kind in _UNBOUNDED}
    columns |= {name: {"type": rest[name], "nullable": True} for name in rest if name in taken}
    _require_stored(table, [*columns, *nullable], stored, key)
    if set(stored.values()) == {None}:  # a CSV file, which alone does not say what it holds
        _require_no_empty_value(columns)
    for name in sorted(nullable - {name for name in columns if name not in taken}):
        if name not in columns:
            raise ParameterError(
                "nullable", name, reason="is not declared", remedy=f"declare it, too: --integer {name}"
            )
    columns = {name: {**column, "nullable": True} if name in nullable else column for name, column in columns.items()}
    in_order = {name: columns[name] for name in stored if name in columns}
    return Declared(columns=in_order, left_out={name: kind for name, kind in rest.items() if name not in taken})


def remarks(declared: Declared) -> dict[str, str]:
    """Return how columns that were left out stand in lapwing.toml: as comments, ready to be filled in."""
    ready = {
        "integer": '{ type = "integer", low = ..., high = ... }',
        "real": '{ type = "real", low = ..., high = ... }',
        "text": '{ type = "category", values = [...] }    or { type = "text" }',
        "date": '{ type = "date" }',
        "boolean": '{ type = "boolean" }',
    }
    return {name: ready.get(kind or "", "{ type = ... }") for name, kind in declared.left_out.items()}


def _require_stored(table: str, names: list[str], stored: Mapping[str, str | None], key: str) -> None:
    there = ", ".join(stored) or "no columns"
    if key not in stored:
        raise ParameterError(
            "person_key",
            key,
            reason=f"is not in {table}, which has {there}",
            remedy="name the column of this table that tells people apart: --person-key COLUMN",
        )
    for name in names:
        if name not in stored:
            raise ParameterError("column", name, reason=f"is not in {table}", remedy=f"it has {there}")


def _require_no_empty_value(columns: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a value that no cell of a CSV file can have: nobody would be in its group, and many in none."""
    for name, column in columns.items():
        if "" in column.get("values", ()):
            raise ParameterError(
                "category",
                name,
                reason="has an empty value, and in a CSV file an empty cell is a missing one",
                remedy=f"leave the empty value out, and write --nullable {name}",
            )


def _bounds(kind: str, text: str, said: str, stored: str | None) -> dict[str, Any]:
    match kind:
        case "category":
            return {"values": _values(text, said, stored)}
        case "integer" | "real" | "date" if said:
            low, dots, high = said.partition("..")
            if not dots:
                raise ParameterError(
                    kind, text, reason="does not have two bounds", remedy="write LOW..HIGH, such as age=0..120"
                )
            return dict(
                zip(("first", "last") if kind == "date" else ("low", "high"), _ends(kind, text, low, high), strict=True)
            )
        case "real":
            raise ParameterError(
                kind, text, reason="has no bounds", remedy="write COLUMN=LOW..HIGH, such as bmi=10..60"
            )
        case "boolean" | "text" if said:
            raise ParameterError(kind, text, reason="takes no values", remedy="write the name of the column alone")
        case _:
            return {}


def _ends(kind: str, text: str, low: str, high: str) -> list[Any]:
    if kind == "date":
        try:
            return [date.fromisoformat(low.strip()), date.fromisoformat(high.strip())]
        except ValueError:
            raise ParameterError(
                kind, text, reason="has no days", remedy="write FIRST..LAST as 1900-01-01..2025-12-31"
            ) from None
    ends = [exact(text, low), exact(text, high)]
    if kind == "integer" and any(end.denominator != 1 for end in ends):
        raise ParameterError(kind, text, reason="has bounds that are not whole", remedy="write --real, or whole bounds")
    return [int(end) if end.denominator == 1 else str(end) for end in ends]


def _values(text: str, said: str, stored: str | None) -> list[Any]:
    """Return the values of a category: numbers if all are whole numbers, unless the source says that it holds text.

    >>> _values("x=8507,8532", "8507,8532", None), _values("x=8507,8532", "8507,8532", "text")
    ([8507, 8532], ['8507', '8532'])
    >>> _values("x=01,02", "01,02", None), _values("city=,Bern", ",Bern", "text")
    (['01', '02'], ['', 'Bern'])
    """
    values = [part.strip() for part in said.split(",")]
    if values == [""]:
        raise ParameterError("category", text, reason="has no values", remedy="write COLUMN=A,B,C")
    whole = all(_WHOLE.fullmatch(one) for one in values)
    if stored == "integer" and not whole:
        raise ParameterError(
            "category",
            text,
            reason="has values that are not whole numbers, like the column",
            remedy="write whole numbers",
        )
    return [int(one) for one in values] if whole and stored in {"integer", None} else values


def _columns(option: str, metavar: str, help_: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return an option that declares columns of one kind."""
    return click.option(f"--{option}", option.replace("-", "_"), multiple=True, metavar=metavar, help=help_)


@click.command()
@click.argument("table")
@click.option("--source", type=click.Path(path_type=Path), help="A .parquet, .csv or .duckdb file.")
@click.option("--postgres", metavar="ADDRESS", help="A PostgreSQL database instead: postgresql://...")
@click.option("--name", "inner", metavar="NAME", help="The table's name there, if it is another.")
@click.option("--schema", default="public", show_default=True, help="Its schema in PostgreSQL.")
@click.option("--person-key", metavar="COLUMN", help="Whose row it is, if it is not the population's person key.")
@click.option("--key-type", type=click.Choice(["integer", "text"]), help="What the person key holds.")
@click.option("--rows", type=click.Choice(["one", "many"]), default="one", show_default=True, help="Rows a person.")
@click.option("--max-rows", type=click.IntRange(1), metavar="N", help="How many rows of a person count, by default.")
@_columns("integer", "COLUMN=LOW..HIGH", "Whole numbers. Without bounds they cannot be added up.")
@_columns("real", "COLUMN=LOW..HIGH", "Numbers, clipped to the bounds.")
@click.option("--number", multiple=True, hidden=True)
@_columns("category", "COLUMN=A,B,C", "One of these values: numbers, or texts if one is a text or the file says so.")
@_columns("date", "COLUMN[=FIRST..LAST]", "Days.")
@_columns("boolean", "COLUMN", "True or false.")
@_columns("text", "COLUMN", "Text whose values are not public.")
@_columns("nullable", "COLUMN", "A column that may be missing.")
@click.option("--take-all", is_flag=True, help="All other columns too, with the type the file says, without bounds.")
@for_the_custodian
def add(
    door: Door,
    *,
    table: str,
    source: Path | None,
    postgres: str | None,
    inner: str | None,
    schema: str,
    person_key: str | None,
    key_type: str | None,
    rows: str,
    max_rows: int | None,
    take_all: bool,
    **columns: tuple[str, ...],
) -> None:
    """Add a table: its place, its person key, its columns.

    Analysts see the columns that you declare, and no others. lapwing reads the names and types of the columns, never a
    row: bounds and categories that were looked up in the data would tell about the people in it. Choose bounds that you
    would have chosen without looking. Columns that you do not declare are written down as comments, for later.

    \b
    lapwing add patients --source patients.csv --integer age=0..120 \\
        --category sex=F,M --boolean cancer_survivor

    It costs nothing. Tables of one population share its budget.
    """
    settings = read_settings(door.folder)
    population = settings.declared(door.population)
    if any(known.name == table for known in population.population.tables):
        section = population.section
        line = section.document.line((*section.path, "tables", table, "columns"))
        raise BadQuestionError(
            f"table {table} is declared already; its columns are at line {line} of {FILE}: edit them, then "
            "lapwing update"
        )
    for text in columns.pop("number"):
        remedy = f"write --integer {text} for whole numbers, or --real {text}"
        raise click.UsageError(f"There is no option --number: {remedy}.", click.get_current_context())
    require_no_password("postgres", postgres or "")
    stored = _stored(table, source, postgres, inner, schema)
    key = person_key or population.population.unit.person_key
    found = declared_columns(table, columns, stored, key=key, take_all=take_all)
    entries = {
        "source": _source_entry(door.folder, table=table, source=source, postgres=postgres, inner=inner, schema=schema),
        "rows": None if rows == "one" else rows,
        "max_rows": max_rows,
        "person_key": person_key,
        "key_type": key_type or _key_type(stored.get(key), population.population),
    }
    text = table_text(
        population.population.name,
        table,
        entries={name: entry for name, entry in entries.items() if entry is not None},
        columns=found.columns,
        left_out=remarks(found),
    )
    written = _write(door.folder / FILE, text, population.population.name, table)
    _tell(door, table, population.population.name, found, written)


def _key_type(stored: str | None, population: Population) -> str | None:
    """Return what the person key holds if it is not said: what is stored, and in a CSV what the other tables have."""
    if stored is None and population.tables:
        stored = population.tables[0].key_type.value
    return "text" if stored == "text" else None


@dataclass(frozen=True, slots=True)
class _Written:
    """What is wrong with other tables, and what is odd about the new one."""

    others: list[LapwingError]
    odd: list[Misfit]


def _write(place: Path, text: str, population: str, table: str) -> _Written:
    """Try the table, append it to lapwing.toml and bring the ledger along; a refusal leaves all as it was."""
    before = place.read_text(encoding="utf-8")
    after = before.rstrip("\n") + "\n" + text
    with _open_as_written(place.parent, after, table) as workspace:
        with waiting("opening the data"):
            found = workspace.try_update()
        place.write_text(after, encoding="utf-8")
        try:
            workspace.update_as_tried()
        except LapwingError:
            place.write_text(before, encoding="utf-8")
            raise
        odd = [] if found else workspace.misfits(population, table=table)
        return _Written(list(found.values()) or _unannounced(workspace, population), odd)


def _open_as_written(folder: Path, text: str, table: str) -> Workspace:
    """Open the workspace as it would be; what is refused is not a line of a file that nobody has written."""
    try:
        return open_workspace(folder, text)
    except SettingsError as refused:
        raise SettingsError(f"table {table}", 0, reason=refused.reason, remedy=refused.remedy) from None


def _unannounced(workspace: Workspace, population: str) -> list[LapwingError]:
    """Take down what the new table holds, and return what changed of the others."""
    try:
        workspace.check(population)
    except LapwingError as failure:
        return [failure]
    return []


def _tell(door: Door, table: str, population: str, found: Declared, written: _Written) -> None:
    rest = ", ".join(f"{name} ({kind or 'unknown type'})" for name, kind in found.left_out.items())
    door.tell(
        {
            "table": table,
            "population": population,
            "columns": found.columns_record(),
            "left_out": dict(found.left_out),
            "readable": True,
            "several_rows": any(one.kind == "several_rows" for one in written.odd),
            "findings": [one.to_dict() for one in written.odd],
            "others": [str(failure) for failure in written.others],
        },
        facts(
            ("added", f"{table}, to population {population}"),
            ("columns", ", ".join(found.columns) or "none: people can be counted, and nothing else"),
            ("left out", f"{rest}: comments in {FILE}; fill them in, then lapwing update" if rest else None),
            *hints(written.odd),
            ("next", None if written.others else f"lapwing preview count {table} --epsilon 0.1"),
            *(("but", f"no question is answered: {failure}") for failure in written.others),
        ),
    )


def _stored(
    table: str, source: Path | None, postgres: str | None, inner: str | None, schema: str
) -> dict[str, str | None]:
    if (source is None) == (postgres is None):
        said = "no place is" if source is None else "two places are"
        raise BadQuestionError(f"{said} named for table {table}; write --source FILE, or --postgres ADDRESS")
    if source is None:
        driver = load_extra("lapwing.engines.postgres", extra="postgres")
        return dict(driver.columns_in_postgres(table, postgres or "", schema=schema, name=inner or table))
    if source.suffix in {".csv", ".parquet"}:
        return columns_of_file(table, source)
    if source.suffix in {".duckdb", ".db"}:
        return columns_of_file(table, DuckDBTable(path=source, table=inner or table))
    raise ParameterError(
        "source", str(source), reason="is not a file that can be read", remedy="name a .parquet, .csv or .duckdb file"
    )


def _source_entry(
    folder: Path, *, table: str, source: Path | None, postgres: str | None, inner: str | None, schema: str
) -> Any:
    """Return where the table is, as lapwing.toml says it: from the workspace on, so that both can be moved together."""
    if source is None:
        place = {"postgres": postgres, "table": inner or table}
        return place if schema == "public" else {**place, "schema": schema}
    path = _seen_from(folder.resolve(), source.resolve())
    return path if source.suffix in {".csv", ".parquet"} else {"duckdb": path, "table": inner or table}


def _seen_from(home: Path, whole: Path) -> str:
    """Return a path relative to a folder, unless they have nothing but the root in common.

    >>> home = Path("/srv/clinic")
    >>> [_seen_from(home, Path(path)) for path in ("/srv/clinic/a.csv", "/srv/data/a.csv", "/mnt/a.csv")]
    ['a.csv', '../data/a.csv', '/mnt/a.csv']
    """
    apart = whole.anchor != home.anchor or Path(os.path.commonpath([home, whole])) == Path(home.anchor)
    return str(whole) if apart else Path(os.path.relpath(whole, home)).as_posix()
