"""Engines with one mistake each, of the kind that others have shipped. They live here so that the tests can catch them.

Each is the oracle with one method replaced; the docstring says the mistake.
"""

import dataclasses

from engines.rows_in_memory import RowsInMemory
from lapwing.queries.algebra.aggregate import (
    BoundedRowsPerPerson,
    ClippedSumPerPerson,
    CountPerPerson,
    DistinctKeys,
    LastStepPerPerson,
)
from lapwing.queries.algebra.predicate import AllOf, AnyOf, HasRows


class CountsRowsForPeople(RowsInMemory):
    """A person counts as often as they have rows."""

    def parts(self, aggregate, table, person, rows):
        if not isinstance(aggregate.bounding, CountPerPerson):
            return super().parts(aggregate, table, person, rows)
        found = {}
        for row in rows:
            for cell, (one,) in super().parts(aggregate, table, person, [row]).items():
                found[cell] = [found.get(cell, [0])[0] + one]
        return found


class JoinsAfterBounding(RowsInMemory):
    """A person is bounded first and joined then: they count once for every row that they have in the other table."""

    def parts(self, aggregate, table, person, rows):
        parts = super().parts(aggregate, table, person, rows)
        matches = self.matches(aggregate.where, table, rows[0])
        return {cell: [number * matches for number in numbers] for cell, numbers in parts.items()}

    def matches(self, predicate, table, row):
        match predicate:
            case AllOf(parts) | AnyOf(parts):
                return max((self.matches(part, table, row) for part in parts), default=1)
            case HasRows(table=name):
                other = self.population.table(name)
                person = row[self.population.person_key(table)]
                return max(1, sum(r[self.population.person_key(other)] == person for r in self.tables[name]))
        return 1


class ClipsACopy(RowsInMemory):
    """The clipped total is computed, and the other one is used."""

    def parts(self, aggregate, table, person, rows):
        parts = super().parts(aggregate, table, person, rows)
        if not isinstance(aggregate.bounding, ClippedSumPerPerson):
            return parts
        term = aggregate.bounding.term
        return {cell: [sum(self.value(term, table, row) or 0 for row in rows)] for cell in parts}


class ForgetsTheCellLimit(RowsInMemory):
    """A person counts in every cell they have a row in."""

    def parts(self, aggregate, table, person, rows):
        bounding = aggregate.bounding
        if isinstance(bounding, CountPerPerson | ClippedSumPerPerson | DistinctKeys):
            aggregate = with_bounding(aggregate, max_cells=10**6)
        return super().parts(aggregate, table, person, rows)


class ForgetsTheRowLimit(RowsInMemory):
    """All rows of a person are added up."""

    def picked(self, _aggregate, _person, known):
        return [(cell, values) for cell, values, _ in known]


class StartsByTheTable(RowsInMemory):
    """Where the choice of a person's rows starts depends on how many rows the whole table has."""

    def picked(self, aggregate, person, known):
        salt = len(self.tables[aggregate.table])
        return super().picked(dataclasses.replace(aggregate, salt=salt), person, known)


class TakesTheFirstRows(RowsInMemory):
    """Rows are picked by their place in the whole table: one person's rows push out another's."""

    def cells(self, aggregate):
        if not isinstance(aggregate.bounding, CountPerPerson | ClippedSumPerPerson | BoundedRowsPerPerson):
            return super().cells(aggregate)
        table = aggregate.table
        newest = sorted(self.tables[table], key=repr)[:3]
        return type(self).__base__(self.population, {**self.tables, table: newest}).cells(aggregate)


class CountsNobody(RowsInMemory):
    """Rows without a person key are taken for one more person."""

    def cells(self, aggregate):
        nobody = "nobody" if self.population.tables[0].key_type.value == "text" else 10**9

        def named(table):
            key = self.population.person_key(table)
            return [{**row, key: nobody if row[key] is None else row[key]} for row in self.tables[table.name]]

        tables = {table.name: named(table) for table in self.population.tables}
        return RowsInMemory(self.population, tables).cells(aggregate)


class KeepsTheLargestCells(RowsInMemory):
    """Of a person's cells those count that most other people are in, so that one person moves others between cells."""

    def parts(self, aggregate, table, person, rows):
        if (
            not isinstance(aggregate.bounding, CountPerPerson)
            or aggregate.bounding.max_cells is None
            or not aggregate.keys
        ):
            return super().parts(aggregate, table, person, rows)
        parts = super().parts(with_bounding(aggregate, max_cells=None), table, person, rows)
        _, seen = self.seen(aggregate.table, aggregate.derived)
        everyone = [tuple(self.label(key, table, row) for key in aggregate.keys) for row in seen]
        order = sorted(parts, key=lambda cell: (-everyone.count(cell), repr(cell)))
        return {cell: parts[cell] for cell in order[: aggregate.bounding.max_cells]}


class CountsEveryStep(RowsInMemory):
    """A person is in the cell of every step that one of their rows stops at."""

    def parts(self, aggregate, table, person, rows):
        if not isinstance(aggregate.bounding, LastStepPerPerson):
            return super().parts(aggregate, table, person, rows)
        return {(self.passed(aggregate.bounding, table, row),): [1] for row in rows}


class LooksAtOtherPeople(RowsInMemory):
    """ "Has" looks at the rows of everybody: one person's visit makes others eligible."""

    def true(self, predicate, rows):
        if isinstance(predicate, HasRows):
            other, seen = self.seen(predicate.table, predicate.derived)
            found = sum(self.true(predicate.where, [*rows, (other, row)]) for row in seen)
            return found >= predicate.at_least
        return super().true(predicate, rows)


class LooksUpAnybody(RowsInMemory):
    """What a row knows from other rows of its person is taken from the rows of everybody."""

    def same_person(self, _table, _row, _other, rows):
        return rows


def with_bounding(aggregate, **changes):
    return dataclasses.replace(aggregate, bounding=dataclasses.replace(aggregate.bounding, **changes))


BROKEN = {
    CountsRowsForPeople: "people",
    JoinsAfterBounding: "at least",
    ClipsACopy: "total",
    ForgetsTheCellLimit: "people",
    ForgetsTheRowLimit: "mean",
    StartsByTheTable: "mean",
    TakesTheFirstRows: "total",
    CountsNobody: "at least",
    KeepsTheLargestCells: "people",
    CountsEveryStep: "funnel",
    LooksAtOtherPeople: "at least",
    LooksUpAnybody: "people",
}
"""Each mistake, and the statistic that shows it."""
