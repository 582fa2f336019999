"""What a cell of a CSV file may say: one form for each type, and nothing that a reader would round, guess or merge.

DuckDB reads 7.2 as the whole number 7, 1_0 as 10 and 2020-02-03 25:00:00 as a day. Two people whose keys become one
number are one person to everything that bounds what a person adds, so a cell of another form is refused.
"""

import re
from typing import Final

from lapwing.engines.dialect import DUCKDB, literal

_DAY: Final = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_TIME: Final = r"([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]*)?)?"
_KEY: Final = "[+-]?[0-9]+"
_FORMS: Final = {
    DUCKDB.integer: rf"{_KEY}(\.0+)?",  # pandas writes 7 as 7.0 where another row has nothing
    DUCKDB.real: r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:[+-]?inf(inity)?|nan)",
    DUCKDB.day: rf"{_DAY}([ T]{_TIME} ?(Z|[+-]00(:?00)?)?)?",
    DUCKDB.truth: "(?i:true|false|t|f|yes|no|y|n|1|0)",
}
_SHORTEST: Final = {DUCKDB.integer: "{0}", DUCKDB.day: "{0} AND length({0}) = 10"}
_WORDS: Final = {
    DUCKDB.integer: "whole number of 64 bits",
    DUCKDB.real: "number",
    DUCKDB.day: "day",
    DUCKDB.truth: "truth value",
}
_MISSING: Final = {"na", "n/a", "nan", "null", "none", "nil", "missing", "unknown", "-", ".", "?", ""}
_ROUNDED: Final = r"[+-]?[0-9]+[.,][0-9]+[eE][+][0-9]+"
"""How a spreadsheet writes a long number: 1.23457E+12, which many numbers become."""
_WITH_COMMA: Final = re.compile(r"[+-]?[0-9.]*,[0-9]+")
_REMEDIES: Final = {
    DUCKDB.integer: "write it with digits alone, such as 1200, or declare the column as real or text",
    DUCKDB.real: "write it as 72.5 or 7.25e1, or declare the column as text",
    DUCKDB.day: "write days as 2025-12-31, with or without a time such as 23:59:00",
    DUCKDB.truth: "write true or false",
}


def read_cell(column: str, kind: str, *, is_key: bool) -> str:
    """Return the SQL that reads a cell as a type of DuckDB, and fails where the cell does not have its form."""
    if kind == DUCKDB.text:
        return f"CASE WHEN {_rounded(column)} THEN error('misfit') ELSE {column} END" if is_key else column
    read = f"CAST({_formed(column, kind, is_key=is_key)} AS {kind})"
    if kind not in _SHORTEST:
        return read
    # Most cells are written as DuckDB itself would write them, and to see that is quicker than to match a form.
    tried = f"TRY_CAST({column} AS {kind})"
    return f"CASE WHEN CAST({tried} AS {DUCKDB.text}) = {_SHORTEST[kind].format(column)} THEN {tried} ELSE {read} END"


def is_misfit(column: str, kind: str, *, is_key: bool) -> str:
    """Return the SQL of whether `read_cell` would fail."""
    if kind == DUCKDB.text:
        return f"coalesce({_rounded(column)}, false)" if is_key else "false"
    return f"({column} IS NOT NULL AND TRY_CAST({_formed(column, kind, is_key=is_key)} AS {kind}) IS NULL)"


def described(kind: str, cell: str, *, is_key: bool) -> tuple[str, str]:
    """Return what a cell is not, and what to do about it; the cell itself is nobody's business.

    >>> described(DUCKDB.real, "72,5", is_key=False)
    ('is no number', 'write a point in place of the comma, such as 72.5')
    >>> described(DUCKDB.day, "NA", is_key=False)
    ('is no day', 'leave the cell empty where nothing is known')
    """
    said = cell.strip().lower()
    if is_key and re.fullmatch(_ROUNDED, said.upper()):
        return (
            "was rounded, as a spreadsheet does it, so that several people have one key",
            "write the keys again from where they come from, with all their digits",
        )
    remedy = _REMEDIES[kind]
    if is_key:
        remedy = 'if keys are texts, say so: --key-type text, or key_type = "text"; else write them with digits alone'
    elif said in _MISSING:
        remedy = "leave the cell empty where nothing is known"
    elif kind == DUCKDB.real and _WITH_COMMA.fullmatch(said):
        remedy = "write a point in place of the comma, such as 72.5"
    return f"is no {_WORDS[kind]}", remedy


def _rounded(column: str) -> str:
    """Return the SQL of whether a key that is a text is a number that a spreadsheet has rounded."""
    # To look for the sign first is quicker than to match every key.
    return f"(contains({column}, '+') AND regexp_full_match(trim({column}), {literal(_ROUNDED)}))"


def _formed(column: str, kind: str, *, is_key: bool) -> str:
    """Return what of a cell is read if it has the form of its type, and a text that is of no type if it has not."""
    cell, form = f"trim({column})", _KEY if is_key else _FORMS[kind]
    part = {DUCKDB.day: _DAY, DUCKDB.integer: _KEY}.get(kind)
    said = cell if part is None else f"regexp_extract({cell}, {literal(part)})"
    right = f"regexp_full_match({cell}, {literal(form)})"
    return f"CASE WHEN {right} THEN {said} WHEN {column} IS NOT NULL THEN 'misfit' END"
