"""`lapwing tables`."""

from collections.abc import Mapping
from typing import Any

import click

from lapwing.app.cli.options import Door, at_the_door, complete_tables
from lapwing.app.cli.showing import facts
from lapwing.app.cli.showing import table as drawn
from lapwing.queries.catalogue import Population, RowsPerPerson, Table
from lapwing.queries.column import Category, Column, Date, Integer, Real
from lapwing.vocabulary.decimals import brief, exactly

_EMPTY = "There is no table yet. The custodian adds one: lapwing add TABLE --source FILE"


@click.command()
@click.argument("name", metavar="[TABLE]", required=False, shell_complete=complete_tables)
@at_the_door
def tables(door: Door, name: str | None) -> None:
    """Say what may be asked about: tables, columns, bounds.

    All of this was declared by the custodian and none of it was read from the data, so anyone may see it. Values beyond
    the bounds are clipped to them where they are added up. Columns that are not listed do not exist for you.

    \b
    lapwing tables
    lapwing tables patients

    It costs nothing.
    """
    with door.sessions() as sessions:
        every = [(one.population, one.ledger.population(one.population.name).tables) for one in sessions]
    if name is not None:
        every = [one for one in every if name in one[1]] or [every[0]]
    records, blocks = [], []
    for population, versions in every:
        shown = population.tables if name is None else (population.table(name),)
        records.append(_population_record(population, shown, versions))
        blocks += [facts(("population", population.name))] if len(every) > 1 else []
        blocks += [_block(table, versions[table.name]) for table in shown] or [_EMPTY]
    door.tell_each(records, *blocks)


def _population_record(population: Population, shown: tuple[Table, ...], versions: Mapping[str, int]) -> dict[str, Any]:
    unit = population.unit
    return {
        "population": population.name,
        "person_key": unit.person_key,
        "adjacency": unit.adjacency.value,
        "protects_groups_of": unit.protects_groups_of,
        "tables": [_record(table, versions[table.name]) for table in shown],
    }


def _block(table: Table, version: int) -> str:
    rows = "one row a person" if table.rows is RowsPerPerson.ONE_A_PERSON else "many rows a person"
    counted = "" if table.max_rows is None else f", of which {table.max_rows} count"
    head = facts((table.name, f"{rows}{counted}; data version {version}"))
    lines = [[column.name, _kind(column), _range(column), "yes" if column.nullable else ""] for column in table.columns]
    return f"{head}\n{drawn(['column', 'type', 'values', 'may be missing'], lines, left=4)}" if lines else head


def _kind(column: Column) -> str:
    return type(column.type).__name__.lower()


def _range(column: Column) -> str:
    match column.type:
        case Integer(low=int() as low, high=int() as high):
            return f"{low} to {high}"
        case Real(low=low, high=high):
            return f"{brief(_number(low))} to {brief(_number(high))}"
        case Category(values=values):
            return ", ".join(str(value) for value in values)
        case Date(first=first, last=last) if first is not None or last is not None:
            return f"{first} to {last}"
        case _:
            return ""


def _number(bound: Any) -> Any:
    return bound


def _record(table: Table, version: int) -> dict[str, Any]:
    return {
        "table": table.name,
        "rows": "one" if table.rows is RowsPerPerson.ONE_A_PERSON else "many",
        "max_rows": table.max_rows,
        "version": version,
        "columns": [
            {"column": column.name, "type": _kind(column), **_bounds(column), "nullable": column.nullable}
            for column in table.columns
        ],
    }


def _bounds(column: Column) -> dict[str, Any]:
    match column.type:
        case Integer(low=low, high=high):
            return {"low": low, "high": high}
        case Real(low=low, high=high):
            return {"low": exactly(low), "high": exactly(high)}
        case Category(values=values):
            return {"values": list(values)}
        case Date(first=first, last=last):
            return {"first": first and str(first), "last": last and str(last)}
        case _:
            return {}
