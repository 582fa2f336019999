"""The oracle: an engine on plain Python rows, written for reading and sharing no code with the emitter.

Rows are dicts. None is NULL; floats may be NaN or infinite; a day that is none of the calendar, BC or
infinite, is a text.
"""

import itertools
import math
import re
from collections import defaultdict
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction

import numpy as np

from lapwing.engines.engine import check_keyed, check_number, check_vector
from lapwing.queries.algebra.aggregate import (
    BinnedKey,
    BoundedRowsPerPerson,
    ClippedSumPerPerson,
    CountInSets,
    CountPeopleOfTables,
    CountPerPerson,
    DeclaredKey,
    DistinctKeys,
    GridKey,
    LastStepPerPerson,
    PrivateKey,
    SketchedKeys,
    mark,
    rank,
    text_number,
)
from lapwing.queries.algebra.derived import (
    Beginning,
    CaseResult,
    Computed,
    ExtremeOfPerson,
    Filled,
    FilledDay,
    FirstCharacters,
    LookedUp,
    MeanOfPerson,
    NumberOfPerson,
    OnlyWhere,
    Part,
    PartOfDay,
    Respelled,
    Spelling,
    SumOfPerson,
    widened,
)
from lapwing.queries.algebra.predicate import (
    AllOf,
    AnyOf,
    Compared,
    Gap,
    HasRows,
    InIntervals,
    InTexts,
    IsMissing,
    IsPresent,
    LacksRows,
    Like,
    NotInTexts,
    NotLike,
    Unit,
)
from lapwing.queries.algebra.term import (
    ConstantTerm,
    Elapsed,
    FunctionOf,
    OnGrid,
    Plus,
    Rounded,
    SteppedDown,
    Times,
    bounds,
    leaves,
)
from lapwing.queries.catalogue.column import Date, Real
from lapwing.queries.catalogue.domains import day_number, double_rank
from lapwing.queries.catalogue.population import Table
from lapwing.vocabulary.exact import Sensitive


def on_grid(value, term):
    """The value of a column in steps of a grid, clipped: floor(value * 2^bits + 1/2)."""
    if value in {math.inf, -math.inf}:
        return term.high if value > 0 else term.low
    steps = math.floor(Fraction(value) * Fraction(2) ** term.bits + Fraction(1, 2))
    return min(max(steps, term.low), term.high)


class RowsInMemory:
    """An engine on `tables`: a list of dicts for each table name."""

    examples = 20  # it is quick

    def __init__(self, population, tables=None):
        self.population, self.tables = population, tables or {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def load(self, tables):
        self.tables = tables
        return self

    def number(self, aggregate):
        check_number(aggregate)
        (number,) = self.in_order(aggregate)
        return Sensitive(number)

    def numbers(self, aggregates, **_):
        return [self.number(aggregate) for aggregate in aggregates]

    def vector(self, aggregate):
        check_vector(aggregate)
        return Sensitive(self.in_order(aggregate))

    def vectors(self, aggregates, **_):
        return [self.vector(aggregate) for aggregate in aggregates]

    def in_sets(self, aggregate):
        numbers = iter(self.in_order(aggregate))
        return [Sensitive(tuple(itertools.islice(numbers, size))) for size in aggregate.sizes]

    def people(self, aggregate):
        """The one bounded row of each person, as whole numbers."""
        people = defaultdict(list)
        table, seen = self.seen(aggregate.table, aggregate.derived)
        for row in seen:
            person = row[self.population.person_key(table)]
            if person is not None and self.true(aggregate.where, [(table, row)]):
                people[person].append(row)
        parts = [self.parts(aggregate, table, person, rows) for person, rows in people.items()]
        found = [numbers for part in parts for numbers in part.values()]
        return Sensitive(np.array(found, np.int64).reshape(-1, aggregate.terms))

    def keyed(self, aggregate):
        check_keyed(aggregate)
        return Sensitive(self.cells(aggregate))

    def close(self):
        """There is nothing to let go of."""

    def in_order(self, aggregate):
        cells = self.cells(aggregate)
        return tuple(n for cell in aggregate.cells for n in cells.get(cell, (0,) * aggregate.terms))

    def cells(self, aggregate):
        if isinstance(aggregate.bounding, CountPeopleOfTables):
            return self.over_people(aggregate)
        people = defaultdict(list)
        table, seen = self.seen(aggregate.table, aggregate.derived)
        for row in seen:
            person = row[self.population.person_key(table)]
            if person is not None and self.true(aggregate.where, [(table, row)]):
                people[person].append(row)
        totals = defaultdict(lambda: [0] * aggregate.terms)
        for person, rows in people.items():
            for cell, numbers in self.parts(aggregate, table, person, rows).items():
                totals[cell] = [a + b for a, b in zip(totals[cell], numbers, strict=True)]
        if isinstance(aggregate.bounding, DistinctKeys):
            return {(): (len(totals),)}
        if isinstance(aggregate.bounding, SketchedKeys):
            (key,), buckets = aggregate.keys, aggregate.bounding.buckets
            return {(): (len({mark(aggregate.salt, buckets, number(place(key, one))) for (one,) in totals}),)}
        return {cell: tuple(numbers) for cell, numbers in totals.items()}

    def over_people(self, aggregate):
        """Count people of several tables: each is one row, with a key and nothing else."""
        tables = [self.population.table(name) for name in aggregate.bounding.tables]
        people = {row[self.population.person_key(table)] for table in tables for row in self.tables[table.name]}
        key = self.population.unit.person_key
        everybody = Table(name="everybody", columns=(), person_key=key, key_type=tables[0].key_type)
        population = replace(self.population, tables=(*self.population.tables, everybody))
        among = type(self)(population, {**self.tables, "everybody": [{key: person} for person in people]})
        bounding = CountPerPerson(max_cells=aggregate.bounding.max_cells)
        return among.cells(replace(aggregate, table="everybody", bounding=bounding))

    def seen(self, name, derived):
        """A table and its rows, both with derived columns."""
        table, rows = self.population.table(name), self.tables[name]
        for one in derived:
            rows = [{**row, one.name: self.derived(one, table, row)} for row in rows]
            table = widened(table, (one,), self.population)
        return table, rows

    def derived(self, one, table, row):  # noqa: PLR0912 - one for each kind of derived column
        match one:
            case LookedUp(table=name, column=column):
                other = self.population.table(name)
                found = [cell(other, column, r) for r in self.same_person(table, row, other, self.tables[name])]
                return min((v for v in found if v is not None), key=byte_by_byte, default=None)
            case ExtremeOfPerson(rows=rows, column=column, last=last):
                found = [v for v in self.of_person(table, row, rows, column) if v is not None]
                return (max if last else min)(found, default=None)
            case SumOfPerson(rows=rows, term=term, low=low, high=high):
                seen = [v for v in self.of_person(table, row, rows, term.column) if v is not None]
                steps = [on_grid(v, term) for v in seen]
                total = min(max(sum(steps), low), high)
                return None if not steps else total * 2.0**-term.bits if term.bits else total
            case MeanOfPerson(rows=rows, term=term, finer=finer):
                seen = [v for v in self.of_person(table, row, rows, term.column) if v is not None]
                steps = [on_grid(v, term) for v in seen]
                mean = sum(steps) * 2**finer // len(steps) if steps else None
                return mean if mean is None or not one.bits else mean * 2.0**-one.bits
            case NumberOfPerson(rows=rows, column=None, most=most):
                return min(len(self.of_person(table, row, rows, None)), most)
            case NumberOfPerson(rows=rows, column=column, most=most):
                return min(len({v for v in self.of_person(table, row, rows, column) if v is not None}), most)
            case PartOfDay(part=part, day=column):
                day = cell(table, column, row)
                return (
                    day
                    and {
                        Part.YEAR: day.year,
                        Part.QUARTER: (day.month + 2) // 3,
                        Part.MONTH: day.month,
                        Part.WEEK: day.isocalendar().week,
                        Part.WEEKDAY: day.isoweekday(),
                        Part.DAY: day.day,
                    }[part]
                )
            case Beginning(unit=unit, day=column):
                day = cell(table, column, row)
                if unit is Part.WEEK:
                    return day and date.fromordinal(day.toordinal() - day.weekday())
                months = {Part.YEAR: range(1, 13), Part.QUARTER: (1, 4, 7, 10), Part.MONTH: range(1, 13)}[unit]
                month = 1 if unit is Part.YEAR else day and max(m for m in months if m <= day.month)
                return day and date(day.year, month, 1)
            case Respelled(column=column, spelling=spelling):
                text = cell(table, column, row)
                return text and _RESPELLED[spelling](text)
            case FirstCharacters(column=column, length=length):
                text = cell(table, column, row)
                return text and text[:length]
            case Filled(column=column, otherwise=otherwise, bits=bits):
                found, real = cell(table, column, row), isinstance(table.column(column).type, Real)
                return found if found is not None else otherwise / 2.0**bits if real else otherwise
            case FilledDay(column=column, otherwise=otherwise):
                found = cell(table, column, row)
                return found if found is not None else date(1970, 1, 1) + timedelta(days=otherwise)
            case OnlyWhere(column=column, where=where):
                return cell(table, column, row) if self.true(where, [(table, row)]) else None
            case CaseResult(branches=branches, otherwise=otherwise):
                hits = (branch.result for branch in branches if self.true(branch.where, [(table, row)]))
                return next(hits, otherwise)
            case Computed(term=term, bits=bits):
                value = self.value(term, table, row)
                return value if value is None or bits == 0 else value * 2.0**-bits

    def same_person(self, table, row, other, rows):
        person = row[self.population.person_key(table)]
        return [r for r in rows if person is not None and r[self.population.person_key(other)] == person]

    def of_person(self, table, row, rows, column):
        """The values of a column in rows of the same person, or the rows themselves."""
        other, seen = self.seen(rows.table, rows.derived)
        mine = [r for r in self.same_person(table, row, other, seen) if self.true(rows.where, [(other, r)])]
        return mine if column is None else [cell(other, column, r) for r in mine]

    def parts(self, aggregate, table, person, rows):
        """What one person adds to each cell."""
        bounding = aggregate.bounding
        if isinstance(bounding, LastStepPerPerson):
            return {(max(self.passed(bounding, table, row) for row in rows),): [1]}
        terms = {ClippedSumPerPerson: lambda: (bounding.term,), BoundedRowsPerPerson: lambda: bounding.terms}.get(
            type(bounding), tuple
        )()
        known = []
        for row in rows:
            cell = tuple(self.label(key, table, row) for key in aggregate.keys)
            values = tuple(self.value(term, table, row) for term in terms)
            if "nowhere" not in cell and None not in values:
                known.append((cell, values, tuple(self.value(part, table, row) for part in leaves(*terms))))
        if isinstance(bounding, BoundedRowsPerPerson):
            known = self.picked(aggregate, person, known)
        else:
            known = [(cell, values) for cell, values, _ in known]
        cells = defaultdict(list)
        for cell, values in known:
            cells[cell].append(values)
        limit = 1 if isinstance(bounding, CountInSets) else bounding.max_cells
        if limit is not None:
            keys = aggregate.keys
            order = sorted(
                cells, key=lambda cell: (rank(aggregate.salt, numbers(person, keys, cell)), ordered(keys, cell))
            )
            cells = {cell: cells[cell] for cell in order[:limit]}
        match bounding:
            case CountInSets(sets=sets):
                all_cells = numbered(aggregate.keys, sets)
                return {
                    (all_cells.index((place, tuple(cell[k] for k in one))),): [1]
                    for cell in cells
                    for place, one in enumerate(sets)
                }
            case CountPerPerson() | DistinctKeys() | SketchedKeys():
                return {key: [1] for key in cells}
            case ClippedSumPerPerson(low=low, high=high):
                return {cell: [min(max(sum(v for (v,) in rows), low), high)] for cell, rows in cells.items()}
            case BoundedRowsPerPerson():
                return {cell: [sum(column) for column in zip(*rows, strict=True)] for cell, rows in cells.items()}

    def picked(self, aggregate, person, known):
        bounding, groups = aggregate.bounding, defaultdict(list)
        for cell, values, made_of in known:
            told = (ordered(aggregate.keys, cell), made_of)
            groups[None if bounding.max_cells is None else cell].append((told, (cell, values)))
        kept = []
        for group in groups.values():
            rows = [row for _, row in sorted(group, key=lambda entry: entry[0])]
            most, start = bounding.max_rows, rank(aggregate.salt, [number(person)]) % len(rows)
            passed = [(place * most + start) // len(rows) for place in range(len(rows) + 1)]
            kept += [row for row, before, now in zip(rows, passed, passed[1:], strict=False) if now > before]
        return kept

    def passed(self, bounding, table, row):
        for i, step in enumerate(bounding.steps):
            if not self.true(step, [(table, row)]):
                return i
        return len(bounding.steps)

    def label(self, key, table, row):
        match key:
            case GridKey(term=term, width=width):
                value = self.value(term, table, row)
                return "nowhere" if value is None else (value - bounds(term)[0]) // width
            case BinnedKey(column=column, bins=bins):
                value = read(table, column, row)
                if value is None:
                    return None if key.missing else "nowhere"
                return next((b for b in bins if b[0] <= value <= b[1]), "nowhere")
            case DeclaredKey(column=column, values=values):
                value = read(table, column, row, ranked=False)
                if value is None:
                    return None if key.missing else "nowhere"
                return value if value in values else "nowhere"
            case PrivateKey(column=column):
                value = read(table, column, row, ranked=False)
                return "nowhere" if value is None and not key.missing else value

    def value(self, term, table, row):
        match term:
            case ConstantTerm(value):
                return value
            case OnGrid(column=column, bits=bits, low=low, high=high):
                value = read(table, column, row, ranked=False)
                if value is None:
                    return None
                step = 2.0**-bits
                return math.floor(min(max(value, low * step), high * step) * 2.0**bits + 0.5)
            case Elapsed(until=until, since=since, unit=unit, low=low, high=high):
                ends = [end if isinstance(end, int) else read(table, end, row) for end in (until, since)]
                return None if None in ends else min(max(elapsed(*ends, unit), low), high)
            case Rounded(inner, bits):
                value = self.value(inner, table, row)
                return None if value is None else (value + 2**bits // 2) // 2**bits
            case SteppedDown(inner, width):
                value = self.value(inner, table, row)
                return None if value is None else value - value % width
            case FunctionOf(function, terms, width):
                values = [self.value(inner, table, row) for inner in terms]
                return None if None in values else function_of(function, values, width)
            case Plus(left, right) | Times(left, right):
                a, b = self.value(left, table, row), self.value(right, table, row)
                if a is None or b is None:
                    return None
                return a + b if isinstance(term, Plus) else a * b

    def true(self, predicate, rows):
        """Whether a predicate is true of the innermost of `rows`, (table, row) pairs of one person."""
        table, row = rows[-1]
        match predicate:
            case AllOf(parts):
                return all(self.true(part, rows) for part in parts)
            case AnyOf(parts):
                return any(self.true(part, rows) for part in parts)
            case (
                HasRows(table=name, where=where, at_least=at_least)
                | LacksRows(table=name, where=where, at_least=at_least)
            ):
                person, (other, others) = row[self.population.person_key(table)], self.seen(name, predicate.derived)
                same = [r for r in others if r[self.population.person_key(other)] == person]
                enough = sum(self.true(where, [*rows, (other, r)]) for r in same) >= at_least
                return enough if isinstance(predicate, HasRows) else not enough
            case Gap() | Compared():
                return of_two(predicate, rows)
        value = read(table, predicate.column, row)
        match predicate:
            case IsMissing():
                return value is None
            case _ if value is None:
                return False
            case IsPresent():
                return True
            case InIntervals(intervals=spans):
                return any(a <= value <= b for a, b in spans)
            case InTexts(texts=texts):
                return value in texts
            case NotInTexts(texts=texts):
                return value not in texts
            case Like() | NotLike():
                return any(is_like(predicate, pattern, value) for pattern in predicate.patterns) is isinstance(
                    predicate, Like
                )


def read(table, column, row, *, ranked=True):
    """A cell as the algebra sees it: doubles by rank if `ranked`, days by number, None where it is missing."""
    value, kind = row[column], table.column(column).type
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(kind, Date):
        return day_number(value) if isinstance(value, date) else None
    if isinstance(kind, Real):
        return double_rank(float(value)) if ranked else float(value)
    return value


def of_two(predicate, rows):
    """Whether an atom about two columns is true of a row and those around it."""

    def cell(ref, **how):
        return read(rows[-1 - ref.up][0], ref.column, rows[-1 - ref.up][1], **how)

    match predicate:
        case Gap(until=until, since=since, unit=unit, intervals=spans):
            ends = [cell(ref) for ref in (until, since)]
            return None not in ends and any(a <= elapsed(*ends, unit) <= b for a, b in spans)
        case Compared(left=left, right=right, signs=signs):
            a, b = (cell(ref, ranked=False) for ref in (left, right))
            if a is None or b is None:
                return False
            if isinstance(a, float) or isinstance(b, float):
                a, b = float(a), float(b)
            return (0 if a == b else -1 if a < b else 1) in signs


_RESPELLED = {
    Spelling.LOWER: lambda text: re.sub("[A-Z]", lambda letter: letter[0].lower(), text),
    Spelling.UPPER: lambda text: re.sub("[a-z]", lambda letter: letter[0].upper(), text),
    Spelling.TRIM: lambda text: re.sub("^ +| +$", "", text),
}


def is_like(like, pattern, text):
    """Whether a text, read as the atom says, fits a pattern, by a regular expression."""
    text = re.sub("^ +| +$", "", text) if like.trimmed else text
    text = re.sub("[A-Z]", lambda letter: letter[0].lower(), text) if like.any_case else text
    signs = re.findall(r"\\.|.", pattern, re.DOTALL)
    regex = "".join({"%": ".*", "_": "."}.get(sign) or re.escape(sign[-1]) for sign in signs)
    return re.fullmatch(regex, text, re.DOTALL) is not None


def cell(table, column, row):
    """A value as it stands in a row, or None where it counts as missing."""
    return None if read(table, column, row) is None else row[column]


def byte_by_byte(value):
    return value.encode() if isinstance(value, str) else value


def elapsed(until, since, unit):
    if unit is Unit.DAYS:
        return until - since
    a, b = (date.fromordinal(n + date(1970, 1, 1).toordinal()) for n in (until, since))
    return a.year - b.year - ((a.month, a.day) < (b.month, b.day))


def numbered(keys, sets):
    """All cells of all sets of keys, in the order of their numbers: the last key of a set fastest."""
    codes = [itertools.product(*(range(len(keys[k].values)) for k in one)) for one in sets]
    return [(place, one) for place, some in enumerate(codes) for one in some]


def numbers(person, keys, cell):
    """What ranks a person's cell."""
    parts = [-1 if part is None else place(key, part) for key, part in zip(keys, cell, strict=True)]
    return [number(part) for part in (person, *parts)]


def number(part):
    return text_number(part) if isinstance(part, str) else int(part)


def ordered(keys, cell):
    parts = [(part is not None, place(key, part)) for key, part in zip(keys, cell, strict=True)]
    return tuple((there, part.encode() if isinstance(part, str) else part or 0) for there, part in parts)


def place(key, part):
    """How an engine holds a part of a key: bins by their number, grid cells by their distance from the first."""
    match key:
        case _ if part is None:
            return part
        case BinnedKey(bins=bins):
            return bins.index(part)
        case GridKey(width=width):
            return part * width
    return part


def function_of(function, values, width):
    """Return what a function makes of whole numbers, by exact fractions."""
    share = Fraction(values[0], width)
    match function:
        case "/":
            return math.trunc(Fraction(values[0] * width, values[1]))
        case "abs":
            return abs(values[0])
        case "sign":
            return (values[0] > 0) - (values[0] < 0)
        case "floor":
            return math.floor(share)
        case "ceil":
            return math.ceil(share)
        case "round":
            return int(math.copysign(math.floor(abs(share) + Fraction(1, 2)), share))
        case "//":
            return math.trunc(share)
        case "%":
            return values[0] - width * math.trunc(share)
        case "greatest" | "least":
            return max(values) if function == "greatest" else min(values)
