"""`lapwing add`: a table, and its columns as a custodian declares them: --integer age=0..120 --category sex=F,M."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from lapwing.app.cli.commands import facts, waiting
from lapwing.app.cli.options import Door, for_the_custodian
from lapwing.app.cli.overview import hints
from lapwing.vocabulary.errors import BadQuestionError, LapwingError, SettingsError
from lapwing.workspace.declaring import Declared, DeclaredTable, Place, declared_columns, key_type_of
from lapwing.workspace.misfits import Misfit
from lapwing.workspace.settings import FILE, read_settings
from lapwing.workspace.workspace import Workspace, open_workspace


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
    place = Place(source=source, postgres=postgres, inner=inner, schema=schema)
    stored = place.columns(table)
    key = person_key or population.population.unit.person_key
    found = declared_columns(table, columns, stored, key=key, take_all=take_all)
    text = DeclaredTable(
        name=table,
        place=place,
        columns=found,
        rows=rows,
        max_rows=max_rows,
        person_key=person_key,
        key_type=key_type or key_type_of(stored.get(key), population.population),
    ).text(door.folder, population.population.name)
    written = _write(door.folder / FILE, text, population.population.name, table)
    _tell(door, table, population.population.name, found, written)


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
    where = "" if door.folder == Path() else f" -w {door.folder}"
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
            ("next", None if written.others else f"lapwing preview count {table} --epsilon 0.1{where}"),
            *(("but", f"no question is answered: {failure}") for failure in written.others),
        ),
    )
