"""Statements about many cohorts of one table at a time: who is in which, and how many people are in each.

A cohort is the people who have a row for which a predicate is true. `emit` writes a statement for one; these write one
for several, with the same conditions, so that they count the same people.
"""

from collections.abc import Sequence

from lapwing.engines.emitter import Statement
from lapwing.engines.predicates import condition
from lapwing.engines.writer import RowOf, Writer
from lapwing.queries.predicate import Predicate

MOST_FACTS = 62
"""So many facts about a person fit one whole number of 64 bits, its sign left alone."""

MOST_COUNTS = 10
"""DuckDB takes longer for a hundred counts in one statement than for a hundred statements."""


def emit_facts(writer: Writer, table: str, predicates: Sequence[Predicate]) -> Statement:
    """Return the SQL of one row for each row of the table: the person's number, and bit i where predicate i is true.

    They come by person, and the rows of one by all their columns: rows that are alike in all have the same facts.
    """
    row = RowOf(writer.population.table(table))
    bits = [f"CASE WHEN {condition(writer, row, p)} THEN {2**i} ELSE 0 END" for i, p in enumerate(predicates)]
    facts = f"CAST({' + '.join(bits)} AS {writer.dialect.integer})"
    where = f"{writer.person(row)} IS NOT NULL"
    order = ", ".join(["p", *(writer.ordered(row, column) for column in row.table.columns)])
    text = (
        f"SELECT {writer.person_number(row)} AS p, {facts} AS facts FROM {writer.relation(row)} WHERE {where} "
        f"ORDER BY {order}"
    )
    return Statement(text, tuple(writer.parameters))


def emit_counts(writer: Writer, table: str, predicates: Sequence[Predicate]) -> Statement:
    """Return the SQL of one row with the number of all people and that of each cohort."""
    row = RowOf(writer.population.table(table))
    person = writer.person(row)
    facts = ", ".join(
        f"MAX(CASE WHEN {condition(writer, row, p)} THEN 1 ELSE 0 END) AS v{i}" for i, p in enumerate(predicates)
    )
    people = f"SELECT {facts} FROM {writer.relation(row)} WHERE {person} IS NOT NULL GROUP BY {person}"
    counts = ", ".join(["COUNT(*)", *(f"COUNT(*) FILTER (WHERE v{i} = 1)" for i in range(len(predicates)))])
    return Statement(f"WITH people AS ({people}) SELECT {counts} FROM people", tuple(writer.parameters))
