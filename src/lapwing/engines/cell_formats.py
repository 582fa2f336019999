"""How a custodian says that cells of a CSV file are written, as SQL that spells them in the one form that is read.

What a table declares (`missing`, `day_order`, `decimal`, `thousands`) is public and the same for all rows. A cell that
has none of the forms that this allows becomes a text which no type accepts, so that it is refused with its line and not
guessed at: 31.12.2025 is a day where days come first, and 12.31.2025 is a mistake there, never another day.
"""

from typing import Final

from lapwing.engines.dialect import literal
from lapwing.engines.files import DUCKDB, MOMENT
from lapwing.queries.catalogue.population import Table

_DAY: Final = "([0-9]{1,2})"
_YEAR: Final = "([0-9]{4})"
_NO_CELL: Final = "misfit"
"""A text that is no number and no day."""


def spelled_cell(column: str, kind: str, table: Table) -> str:
    """Return the SQL of a cell, spelt as a cell of its type is read: 1'250,5 as 1250.5, 31.12.2025 as 2025-12-31."""
    cell = column
    if table.missing:
        listed = ", ".join(literal(text) for text in table.missing)
        cell = f"CASE WHEN trim({column}) IN ({listed}) THEN NULL ELSE {column} END"
    if kind in {DUCKDB.day, MOMENT} and table.day_order != "ymd":
        return _day(cell, table.day_order)
    is_plain = table.decimal == "." and not table.thousands
    if kind not in {DUCKDB.integer, DUCKDB.real} or is_plain:
        return cell
    return _number(cell, table.decimal, table.thousands)


def _day(cell: str, order: str) -> str:
    """Return a day with its year first; behind it there may be a time, which stays as it is."""
    parts = {"d": _DAY, "m": _DAY, "y": _YEAR}
    places = {part: order.index(part) + 2 for part in order}  # the first group is the whole day
    several = [f"({separator.join(parts[part] for part in order)})" for separator in (r"\.", "/", "-")]
    found = []
    for form in several:
        whole = literal(rf"\s*{form}(([ T].*)?)")
        part = {name: f"regexp_extract({cell}, {whole}, {place})" for name, place in places.items()}
        rest = f"regexp_extract({cell}, {whole}, 5)"
        found.append(
            f"WHEN regexp_full_match({cell}, {whole}) THEN {part['y']} || '-' || lpad({part['m']}, 2, '0') || '-' || "
            f"lpad({part['d']}, 2, '0') || {rest}"
        )
    return f"CASE {' '.join(found)} WHEN {cell} IS NOT NULL THEN {literal(_NO_CELL)} END"


def _number(cell: str, decimal: str, thousands: str) -> str:
    """Return a number with a point before its decimals and nothing between its thousands."""
    whole = "[0-9]+"
    if thousands:
        whole = rf"([0-9]+|[0-9]{{1,3}}({_escaped(thousands)}[0-9]{{3}})+)"
    form = rf"\s*[+-]?({whole})?({_escaped(decimal)}[0-9]*)?([eE][+-]?[0-9]+)?\s*"
    plain = f"replace({cell}, {literal(thousands)}, '')" if thousands else cell
    plain = f"replace({plain}, {literal(decimal)}, '.')"
    return (
        f"CASE WHEN regexp_full_match({cell}, {literal(form)}) THEN {plain} "
        f"WHEN {cell} IS NOT NULL THEN {literal(_NO_CELL)} END"
    )


def _escaped(sign: str) -> str:
    return rf"\{sign}" if sign == "." else sign
