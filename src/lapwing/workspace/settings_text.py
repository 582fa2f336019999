"""The text of lapwing.toml, as `lapwing init` and `lapwing add` write it: to be read and edited by a custodian."""

import json
import re
from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from typing import Any

_OPENING = """\
# lapwing.toml: what is publicly known about the people in your tables. Anyone may read it.
# Nothing in it may be looked up in the data: bounds and categories are decided, not measured.
# After an edit: lapwing update
{ledger}
[populations.{name}]
# The column that tells people apart, in every table. Everything about one person is protected together.
{person_key}
# The lifetime cap of all answers to all analysts. It can be raised later, and never lowered.
# Others: {{ epsilon = "3", delta = "1e-6" }} or {{ rho = "1/2" }}.
{budget}
# Who is hidden among neighbours: "add_remove" one person, or "replace" one by another.
{adjacency}
# Protect families, not only people: {{groups}}
# The day that "age" is meant on; no question asks the clock.
# now = 2025-01-01
{analysts}"""

_TABLES = """
# Tables are added with: lapwing add TABLE --source FILE --integer age=0..120 --category sex=F,M
# [populations.{name}.tables.patients]
# source = "patients.parquet"
# rows = "one"                       # one row a person, or "many" with max_rows = 3
# [populations.{name}.tables.patients.columns]
# sex = {{ type = "category", values = ["F", "M"] }}
# age = {{ type = "integer", low = 0, high = 120 }}
"""

FORMS = {
    "integer": '{ type = "integer", low = 0, high = 120 }',
    "real": '{ type = "real", low = 10, high = 60 }',
    "category": '{ type = "category", values = ["F", "M"] }',
    "date": '{ type = "date", first = 1900-01-01, last = 2025-12-31 }',
    "boolean": '{ type = "boolean" }',
    "text": '{ type = "text" }',
}
"""What a column can be, with an example of each."""


def opening_text(
    name: str,
    *,
    person_key: str | None = None,
    budget: Mapping[str, str] | None = None,
    adjacency: str | None = None,
    groups_of: int | None = None,
    ledger: str | None = None,
    analysts: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """Return a lapwing.toml with one population; what was not said stands in it as a comment, to be filled in."""
    quoted = key(name)
    allowances = "".join(f"{key(analyst)} = {value(dict(one))}\n" for analyst, one in (analysts or {}).items())
    opening = _OPENING.format(
        name=quoted,
        ledger="" if ledger is None else f"\nledger = {value(ledger)}\n",
        person_key=_line("person_key", person_key, "patient_id"),
        budget=_line("budget", None if budget is None else dict(budget), {"epsilon": "3"}),
        adjacency=_line("adjacency", adjacency, "add_remove"),
        analysts="",
    ).replace("# Protect families, not only people: {groups}", _groups(groups_of))
    head = f"\n# An allowance is a part of the budget that one analyst may spend.\n[populations.{quoted}.analysts]\n"
    return opening + head + (allowances or '# ana = { epsilon = "1" }\n') + _TABLES.format(name=quoted)


def table_text(
    population: str,
    table: str,
    *,
    entries: Mapping[str, Any],
    columns: Mapping[str, Mapping[str, Any]],
    left_out: Mapping[str, str],
) -> str:
    """Return the sections of one table; `left_out` are columns that stand there as comments, with a remark."""
    place = f"populations.{key(population)}.tables.{key(table)}"
    lines = [f"\n[{place}]", *(f"{name} = {value(entry)}" for name, entry in entries.items())]
    lines += [f"\n[{place}.columns]", *(f"{key(name)} = {value(dict(column))}" for name, column in columns.items())]
    if left_out:
        lines += ["# These columns cannot be asked about. To declare one, say what it is, then lapwing update:"]
        lines += [f"#     {form}" for form in FORMS.values()]
        lines += ["# and with nullable = true where it may be missing."]
    lines += [f"# {key(name)} = {remark}" for name, remark in left_out.items()]
    return "\n".join(lines) + "\n"


def key(name: str) -> str:
    """Return a name as TOML writes it.

    >>> key("age"), key("größe in cm")
    ('age', '"größe in cm"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def value(given: Any) -> str:
    """Return a value as TOML writes it.

    >>> value({"type": "category", "values": ["F", "M"]})
    '{ type = "category", values = ["F", "M"] }'
    """
    match given:
        case dict():
            return "{ " + ", ".join(f"{key(name)} = {value(one)}" for name, one in given.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(value(one) for one in given) + "]"
        case bool():
            return str(given).lower()
        case int() | date():
            return str(given)
        case Fraction():
            return value(str(given))
        case _:
            return json.dumps(given, ensure_ascii=False)


def _line(name: str, given: Any, example: Any) -> str:
    return f"# {name} = {value(example)}" if given is None else f"{name} = {value(given)}"


def _groups(groups_of: int | None) -> str:
    head = "# Protect groups of so many, such as families, not only people.\n"
    return head + _line("protects_groups_of", groups_of, 1)
