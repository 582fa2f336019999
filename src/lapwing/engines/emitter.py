"""Aggregates as SQL: one SELECT that bounds each person's part and adds up, in the order that keeps it bounded.

The steps are always the same, each a common table expression, and the bounding is the last thing before the sum:

1. ``counted``: the rows that count, as person, cell and whole-number terms;
2. ``picked``: of those, the few of a person that may count, evenly over their order (only where rows are picked);
3. ``parts``: one row for each person and cell, with the person's part clipped;
4. ``kept``: of those, the few cells of a person that may count, by rank (only where there could be more);
5. the sum over people, with the number of parts that were added up, which it is held against (`possible_numbers`).

A cohort is the people who have a row for which a predicate is true. `emit` writes a statement for one; `emit_facts` and
`emit_counts` write one for several, with the same conditions, so that they count the same people.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from lapwing.engines.cell_codes import CellCodes, cell_codes, declared_number
from lapwing.engines.derived_sql import widened_relation
from lapwing.engines.dialect import SMALL, Dialect, Parameter, RowOf, Writer
from lapwing.engines.expression_sql import cell_columns, clipped, fold, predicate_sql, rank, term_sql
from lapwing.queries.algebra.aggregate import (
    LAST_PLACE,
    LEVEL_EDGES,
    LEVELS,
    MODULUS,
    OTHER_MODULUS,
    Aggregate,
    BoundedRowsPerPerson,
    Bounding,
    ClippedSumPerPerson,
    CountInSets,
    CountPeopleOfTables,
    CountPerPerson,
    DeclaredKey,
    DistinctKeys,
    GridKey,
    LastStepPerPerson,
    SketchedKeys,
    cell_count,
)
from lapwing.queries.algebra.derived import of_person
from lapwing.queries.algebra.predicate import ALWAYS, Predicate
from lapwing.queries.algebra.ranges import FEW
from lapwing.queries.algebra.term import ConstantTerm, Term, bounds, leaves
from lapwing.queries.algebra.totality import about_one_table, check_total
from lapwing.queries.catalogue.column import DerivedColumn
from lapwing.queries.catalogue.population import KeyType, PeopleOf, Population

MOST_FACTS: Final = 62
"""How many facts about a person fit one whole number of 64 bits, its sign left alone."""
_SMALL: Final = 2**15
MOST_COUNTS: Final = 10
"""DuckDB takes longer for a hundred counts in one statement than for a hundred statements."""


class Statement(NamedTuple):
    """SQL text and its parameters, the n-th for the n-th mark."""

    text: str
    parameters: tuple[Parameter, ...]


def emit(
    aggregate: Aggregate,
    population: Population,
    dialect: Dialect,
    relations: Mapping[str, str],
    one_row_a_person: Collection[str] = (),
) -> Statement:
    """Return the SQL that computes `aggregate`: the parts of a cell's key, then its numbers, one row a cell.

    For sums, the first of the numbers is how many parts were added.

    Parameters
    ----------
    relations : for each table, the SQL of a relation that holds its columns in the types of the dialect
    one_row_a_person : tables in which no person key is missing or there twice; the engine must have *seen* that, on
        data that cannot change, for nothing else bounds a person's rows there
    """
    check_total(aggregate, population)
    aggregate, population = about_one_table(aggregate, population)
    relations = {**relations, **_people_of_tables(population, dialect, relations)}
    writer = Writer(dialect, population, relations, widened_relation)
    one_row = aggregate.table in one_row_a_person and _one_row_fits(aggregate.bounding)
    return Statement(_Select(writer, aggregate, one_row=one_row).text(), tuple(writer.parameters))


def has_small_terms(bounding: BoundedRowsPerPerson) -> bool:
    """Return whether 16 bits hold every term of every row: rows that are held then take a quarter of the room."""
    return all(max(map(abs, bounds(term))) < _SMALL for term in bounding.terms)


def emit_people(writer: Writer, aggregate: Aggregate, *, one_row: bool) -> Statement:
    """Return the SQL of one row for each row that counts, in any order: its terms, which `aggregate` adds up."""
    check_total(aggregate, writer.population)
    return Statement(_Select(writer, aggregate, one_row=one_row).picked_rows(), tuple(writer.parameters))


def emit_codes(writer: Writer, aggregate: Aggregate, words: Sequence[Mapping[int, int]], *, one_row: bool) -> Statement:
    """Return the SQL of one row for each person who is counted in sets, in any order: their codes, in packed words.

    `words` say which keys are in a word, and at which bit the code of each begins.
    """
    check_total(aggregate, writer.population)
    return Statement(_Select(writer, aggregate, one_row=one_row).packed_codes(words), tuple(writer.parameters))


def _people_of_tables(population: Population, dialect: Dialect, relations: Mapping[str, str]) -> dict[str, str]:
    """Return the relations of people of several tables: all keys there are, of which an aggregate counts each once."""
    found = {}
    for people in population.tables:
        if isinstance(people, PeopleOf):
            key = dialect.name(population.person_key(people))
            keys = [(dialect.name(population.person_key(population.table(of))), relations[of]) for of in people.of]
            found[people.name] = (
                f"({' UNION ALL '.join(f'SELECT s.{own} AS {key} FROM {of} AS s' for own, of in keys)})"
            )
    return found


def _one_row_fits(bounding: Bounding) -> bool:
    """Return whether a single row is within the bounds of a person's part, so that nothing needs bounding."""
    if not isinstance(bounding, ClippedSumPerPerson):
        return True
    low, high = bounds(bounding.term)
    return bounding.low <= low and high <= bounding.high


class _Select:
    """One aggregate on its way to text; `steps` holds the common table expressions so far, by name."""

    def __init__(self, writer: Writer, aggregate: Aggregate, *, one_row: bool) -> None:
        self.writer, self.aggregate, self.one_row = writer, aggregate, one_row
        self.row = writer.row_of(aggregate.table, aggregate.derived)
        self.cells = cell_columns(writer, self.row, aggregate.keys)
        self.keys = [cell.name for cell in self.cells]
        self.steps: dict[str, str] = {}
        self.codes: CellCodes | None = None  # where the last step has the numbers of cells

    def text(self) -> str:
        bounding = self.aggregate.bounding
        match bounding:
            case CountPerPerson() if self.one_row and not self.keys:
                return f"SELECT COUNT(*) FROM {self.writer.relation(self.row)} WHERE {self.counted()}"
            case CountPerPerson() | CountPeopleOfTables():
                self.count([])
                self.part(list, bounding.max_cells)
                total = self.total(["COUNT(*)"])
            case CountInSets(sets=sets):
                self.count([])
                self.part(list, 1)
                total = self.total_of_sets(sets)
            case DistinctKeys():
                self.count([])
                self.part(list, bounding.max_cells)
                cell = ", ".join(self.keys if self.codes is None else ["c"])
                total = f"SELECT COUNT(*) FROM (SELECT DISTINCT {cell} FROM {self.last}) AS cells"
            case SketchedKeys(buckets=buckets):
                self.count([])
                self.part(list, bounding.max_cells)
                total = self.marked(buckets)
            case LastStepPerPerson():
                self.furthest(bounding)
                total = "SELECT passed, COUNT(*) FROM parts GROUP BY passed"
            case ClippedSumPerPerson():
                self.count([bounding.term])
                self.part(lambda: [self.clipped_total(bounding)], bounding.max_cells)
                clip = max(abs(bounding.low), abs(bounding.high))
                total = self.total(["COUNT(*)", self.sum_of("v0", clip)])
            case BoundedRowsPerPerson():
                self.pick(bounding)
                rows = 1
                if bounding.max_cells is not None:
                    sums = self.sums_of(bounding)
                    self.part(lambda: [self.whole(number) for number in sums], bounding.max_cells)
                    rows = bounding.max_rows
                total = self.total(["COUNT(*)", *self.sums_of(bounding, rows)])
        steps = ", ".join(f"{name} AS ({text})" for name, text in self.steps.items())
        return f"WITH {steps} {total}"

    def picked_rows(self) -> str:
        """Return the rows that would be added up: their terms, and not whose they are."""
        if not isinstance(self.aggregate.bounding, BoundedRowsPerPerson) or self.keys:
            raise TypeError(self.aggregate.bounding)
        self.pick(self.aggregate.bounding)
        steps = ", ".join(f"{name} AS ({text})" for name, text in self.steps.items())
        kind = "SMALLINT" if has_small_terms(self.aggregate.bounding) else self.writer.dialect.integer
        terms = ", ".join(f"CAST(v{i} AS {kind}) AS v{i}" for i in range(self.aggregate.terms))
        return f"WITH {steps} SELECT {terms} FROM {self.last}"

    def packed_codes(self, words: Sequence[Mapping[int, int]]) -> str:
        """Return the codes of each person in the one cell of all keys that they count in."""
        self.count([])
        self.part(list, 1)
        steps = ", ".join(f"{name} AS ({text})" for name, text in self.steps.items())
        sums = [" + ".join(f"{self.keys[place]} * {1 << bit}" for place, bit in word.items()) for word in words]
        packed = ", ".join(f"CAST({one} AS {self.writer.dialect.narrow}) AS w{i}" for i, one in enumerate(sums))
        return f"WITH {steps} SELECT {packed} FROM {self.last}"

    @property
    def last(self) -> str:
        return next(reversed(self.steps))

    def count(self, terms: Sequence[Term], *, passed: Sequence[str] = ()) -> None:
        """Add the rows that count: person p, the key k0, k1, ... and the terms v0, v1, ..."""
        writer, row = self.writer, self.row
        person = writer.person(row)
        select = [f"{person} AS p", *(f"{cell.select} AS {cell.name}" for cell in self.cells)]
        select += [f"{term_sql(writer, row, term)} AS v{i}" for i, term in enumerate(terms)]
        select += passed
        self.steps["counted"] = f"SELECT {', '.join(select)} FROM {writer.relation(row)} WHERE {self.counted()}"

    def counted(self) -> str:
        """Return which rows count; where there is one for every person, no key is missing."""
        late = self.late()
        at_once = tuple(key for key in self.aggregate.keys if key not in late.values())
        counted = (replace(self.aggregate, keys=at_once) if late else self.aggregate).counted
        where = predicate_sql(self.writer, self.row, counted)
        return where if self.one_row else f"{self.writer.person(self.row)} IS NOT NULL AND {where}"

    def late(self) -> dict[str, DeclaredKey]:
        """Return the keys, by their columns, of which groups are looked at, and not rows: whether they are declared."""
        bounding = self.aggregate.bounding
        added_up = isinstance(bounding, CountPerPerson | ClippedSumPerPerson | BoundedRowsPerPerson)
        if not (self.one_row and added_up and self.writer.dialect.groups_first):
            return {}
        texts = {
            cell.name: key
            for cell, key in zip(self.cells, self.aggregate.keys, strict=True)
            if isinstance(key, DeclaredKey) and isinstance(key.values[0], str) and not key.missing
        }
        return {name: key for name, key in texts.items() if len(key.values) <= FEW}

    def furthest(self, bounding: LastStepPerPerson) -> None:
        """Add the number of steps that each row passes, then the largest of each person."""
        failed = " ".join(
            f"WHEN NOT COALESCE({predicate_sql(self.writer, self.row, step)}, FALSE) THEN {i}"
            for i, step in enumerate(bounding.steps)
        )
        self.count([], passed=[f"CASE {failed} ELSE {len(bounding.steps)} END AS passed"])
        self.steps["parts"] = "SELECT MAX(passed) AS passed FROM counted GROUP BY p"

    def pick(self, bounding: BoundedRowsPerPerson) -> None:
        """Keep `max_rows` rows of each person, or of each person in each cell, evenly spread over their order.

        Row number i of n is kept where i * max_rows + start passes a multiple of n: `proofs/contribution_bounds.md`.
        Rows are in the order of what their terms are made of, so those that come together are interchangeable.
        """
        if self.one_row:
            self.count(bounding.terms)
            return
        made_of = leaves(*bounding.terms)
        self.count([], passed=[f"{self.narrow(part)} AS l{i}" for i, part in enumerate(made_of)])
        everywhere = bounding.max_cells is None
        among = ", ".join(["p"] if everywhere else ["p", *self.keys])
        order = [*(cell.order for cell in self.cells if everywhere), *(f"l{i}" for i in range(len(made_of)))]
        place = f"ROW_NUMBER() OVER (PARTITION BY {among} ORDER BY {', '.join(order or ['p'])}) AS place"
        placed = f"SELECT *, {place}, COUNT(*) OVER (PARTITION BY {among}) AS n FROM counted"
        told = fold(self.writer, self.aggregate.salt, [self.person()])
        folded = self.in_order(f"SELECT *, {told} AS t FROM ({placed}) AS placed", "p")
        most, last = self.writer.value(bounding.max_rows), self.writer.value(LAST_PLACE)
        modulo, near = self.writer.dialect.modulo, self.writer.dialect.least.format("place", last)
        passed = modulo.format(f"{near} * {most} + {modulo.format(rank(self.writer, 't'), 'n')}", "n")
        counts = f"{passed} < {most} AND place <= {last}"
        known: dict[Term, str] = {part: self.whole(f"l{i}") for i, part in enumerate(made_of)}
        terms = [f"{term_sql(self.writer, self.row, term, known)} AS v{i}" for i, term in enumerate(bounding.terms)]
        columns = ", ".join(["p", *self.keys, *terms])
        self.steps["picked"] = f"SELECT {columns} FROM ({folded}) AS folded WHERE {counts}"

    def part(self, numbers: Callable[[], Sequence[str]], limit: int | None) -> None:
        """Add one row for each person and cell, with the person's part; then keep `limit` cells of each person."""
        if self.one_row:
            return  # one row is one cell, and within the clip
        cells = self.aggregate.cell_count
        few = limit is not None and (cells is None or limit < cells) and not self.in_one_cell()
        codes = self.codes_of_cells() if few and limit == 1 else None
        values = [f"{number} AS v{i}" for i, number in enumerate(numbers())]
        if codes is not None and not values:
            self.single(codes, [])
            return
        group = ", ".join(["p", *self.keys])
        if few and self.row.table.key_type is KeyType.INTEGER:
            self.steps[self.last] = self.in_order(self.steps[self.last], group)
        self.steps["parts"] = f"SELECT {', '.join([group, *values])} FROM {self.last} GROUP BY {group}"
        if codes is not None and self.writer.dialect.of_least is not None:
            self.single(codes, [f"v{i}" for i in range(len(values))])
        elif few and limit is not None:
            self.steps["kept"] = self.lowest("parts", limit)

    def codes_of_cells(self) -> CellCodes | None:
        """Return the numbers of the cells, where the step after this one can count by them."""
        by_key = isinstance(self.aggregate.bounding, CountInSets | SketchedKeys)
        return None if by_key else cell_codes(self.writer, self.aggregate.keys, self.cells)

    def single(self, codes: CellCodes, values: Sequence[str]) -> None:
        """Add the one cell of lowest rank of each person, as its number c, with the person's part in it."""
        writer, also = self.writer, "".join(f", {value}" for value in values)
        places = [f"c{i}" for i in range(len(self.keys))]
        found = ", ".join(f"{place} AS {name}" for place, name in zip(codes.places(), places, strict=True))
        told = fold(writer, self.aggregate.salt, [self.person(), *codes.numbers(places)])
        placed = f"SELECT p, {found}{also} FROM {self.last}"
        coded = f"SELECT p, {codes.code(places)} AS c, {told} AS t{also} FROM ({placed}) AS placed"
        folded = self.in_order(coded, "p")
        ranked = f"SELECT p, {rank(writer, 't')} * {codes.cells} + c AS r{also} FROM ({folded}) AS folded"
        least = writer.dialect.of_least or ""
        kept = "".join(f", {least.format(value, 'r')} AS {value}" for value in values)
        lowest = f"SELECT MIN(r) AS r{kept} FROM ({ranked}) AS ranked GROUP BY p"
        number = writer.dialect.modulo.format("r", codes.cells)
        self.steps["kept"] = f"SELECT {number} AS c{also} FROM ({lowest}) AS lowest"
        self.codes = codes

    def in_one_cell(self) -> bool:
        """Return whether all keys are the same in all rows of a person: `proofs/derived_columns.md`."""
        names = of_person(self.aggregate.derived) if self.aggregate.derived else frozenset()
        return all(not isinstance(key, GridKey) and key.column in names for key in self.aggregate.keys)

    def lowest(self, source: str, limit: int) -> str:
        """Return the `limit` cells of `source` of lowest rank, of each person."""
        told = fold(self.writer, self.aggregate.salt, [self.person(), *self.numbers_of_cells()])
        folded = self.in_order(f"SELECT *, {told} AS t FROM {source}", "p")
        number = f"CAST({rank(self.writer, 't')} AS {self.writer.dialect.narrow})"
        ranked = f"SELECT *, {number} AS r FROM ({folded}) AS folded"
        order = ", ".join(["r", *(cell.order for cell in self.cells)])
        place = f"ROW_NUMBER() OVER (PARTITION BY p ORDER BY {order})"
        placed = f"SELECT *, {place} AS place FROM ({ranked}) AS ranked"
        return f"SELECT * FROM ({placed}) AS placed WHERE place <= {self.writer.value(limit)}"

    def numbers_of_cells(self) -> list[str]:
        return [declared_number(self.writer, *pair) for pair in zip(self.aggregate.keys, self.cells, strict=True)]

    def person(self) -> str:
        """Return a whole number for the person of a row of these steps."""
        text = self.row.table.key_type is KeyType.TEXT
        return self.writer.dialect.text_number.format("p") if text else "p"

    def total(self, numbers: Sequence[str]) -> str:
        """Return the sum over people, cell by cell."""
        if not self.keys:
            return f"SELECT {', '.join(f'COALESCE({number}, 0)' for number in numbers)} FROM {self.last}"
        if self.codes is not None:
            return f"SELECT {', '.join([*self.codes.values('c'), *numbers])} FROM {self.last} GROUP BY c"
        keys = ", ".join(self.keys)
        declared = [f"{name} IN ({self.writer.values(key.values)})" for name, key in self.late().items()]
        # With the count in the condition it is about groups alone: else it is moved to the rows, which are many more.
        having = f" HAVING CASE WHEN COUNT(*) > 0 THEN {' AND '.join(declared)} END" if declared else ""
        return f"SELECT {', '.join([keys, *numbers])} FROM {self.last} GROUP BY {keys}{having}"

    def total_of_sets(self, sets: Sequence[Sequence[int]]) -> str:
        """Return the number of people in each cell of each set of keys, in one pass: a cell is one number."""
        numbers, before = list[str](), 0
        for places, size in zip(sets, self.aggregate.sizes, strict=True):
            number = self.keys[places[0]]
            for place in places[1:]:
                number = f"({number}) * {cell_count([self.aggregate.keys[place]])} + {self.keys[place]}"
            numbers.append(self.whole(f"{number} + {before}"))
            before += size
        columns = [f"g{i}" for i in range(len(sets))]
        packed = ", ".join(f"{number} AS {column}" for number, column in zip(numbers, columns, strict=True))
        each = ", ".join(f"({column})" for column in columns)
        cell = f"COALESCE({', '.join(columns)})" if len(columns) > 1 else columns[0]  # all but one are NULL
        return (
            f"SELECT {cell}, COUNT(*) FROM (SELECT {packed} FROM {self.last}) AS packed GROUP BY GROUPING SETS ({each})"
        )

    def marked(self, buckets: int) -> str:
        """Return how many places of a sketch the cells mark, as `aggregate.mark` does."""
        writer, modulo, salt = self.writer, self.writer.dialect.modulo, self.aggregate.salt
        (cell,) = self.cells
        other = modulo.format(f"{modulo.format(cell.number, OTHER_MODULUS)} + {OTHER_MODULUS}", OTHER_MODULUS)
        first, second = fold(writer, salt + 1, [cell.number, other]), fold(writer, salt + 2, [other, cell.number])
        folded = f"SELECT {first} AS t, {second} AS u FROM {self.last}"
        ranked = f"SELECT {modulo.format(rank(writer, 't'), buckets)} AS bucket, {rank(writer, 'u')} AS r"
        below = " ".join(f"WHEN r >= {edge} THEN {level}" for level, edge in enumerate(LEVEL_EDGES))
        marks = f"SELECT DISTINCT bucket, CASE {below} ELSE {LEVELS - 1} END AS level"
        return f"SELECT COUNT(*) FROM ({marks} FROM ({ranked} FROM ({folded}) AS folded) AS ranked) AS marks"

    def clipped_total(self, bounding: ClippedSumPerPerson) -> str:
        most = max(map(abs, bounds(bounding.term)))
        number = "COUNT(*)" if bounding.term == ConstantTerm(1) else self.sum_of("v0", most)
        return self.whole(clipped(self.writer, number, bounding.low, bounding.high))

    def in_order(self, select: str, order: str) -> str:
        return self.writer.dialect.in_order.format(select, order)

    def sums_of(self, bounding: BoundedRowsPerPerson, rows: int = 1) -> list[str]:
        """Return the sums of the terms of rows, or of what so many rows add up to."""
        return [
            "COUNT(*)" if self.one_row and term == ConstantTerm(1) else self.sum_of(f"v{i}", rows * bounds(term)[1])
            for i, term in enumerate(bounding.terms)
        ]

    def sum_of(self, number: str, most: int) -> str:
        """Return the sum of a number of at most `most` in each row, whatever its sign."""
        dialect = self.writer.dialect
        return (dialect.small_total if most <= SMALL and dialect.small_total else dialect.total).format(number)

    def narrow(self, part: Term) -> str:
        """Return a term in 32 bits, if they hold it: that takes less room where rows are put in order."""
        number, held = term_sql(self.writer, self.row, part), max(map(abs, bounds(part))) < MODULUS
        return f"CAST({number} AS {self.writer.dialect.narrow})" if held else number

    def whole(self, number: str) -> str:
        return f"CAST({number} AS {self.writer.dialect.integer})"


class Fact(NamedTuple):
    """A condition on a row of a table: a predicate, and the derived columns that it uses."""

    where: Predicate
    derived: tuple[DerivedColumn, ...] = ()


def emit_size(writer: Writer, table: str, *, one_row: bool) -> Statement:
    """Return the SQL of the number of rows that have a person key, and of the people they belong to."""
    row = writer.row_of(table, ())
    if one_row:
        return Statement(f"SELECT COUNT(*), COUNT(*) FROM {writer.relation(row)}", ())
    person = writer.person(row)
    numbers = f"COUNT(*), COUNT(DISTINCT {person})"
    return Statement(f"SELECT {numbers} FROM {writer.relation(row)} WHERE {person} IS NOT NULL", ())


def emit_facts(writer: Writer, table: str, facts: Sequence[Fact]) -> Statement:
    """Return the SQL of one row for each row of the table: the person's number, and bit i where fact i is true.

    They come by person, and the rows of one by all their columns: rows that are alike in all have the same facts.
    """
    row = row_of_facts(writer, table, facts)
    bits = [f"CASE WHEN {predicate_sql(writer, row, p.where)} THEN {2**i} ELSE 0 END" for i, p in enumerate(facts)]
    number = f"CAST({' + '.join(bits) or '0'} AS {writer.dialect.integer})"
    where = f"{writer.person(row)} IS NOT NULL"
    stored = writer.population.table(table).columns
    order = ", ".join(["p", *(writer.ordered(row, column) for column in stored)])
    select = f"SELECT {writer.person_number(row)} AS p, {number} AS facts FROM {writer.relation(row)}"
    return Statement(f"{select} WHERE {where} ORDER BY {order}", tuple(writer.parameters))


def emit_counts(writer: Writer, table: str, facts: Sequence[Fact]) -> Statement:
    """Return the SQL of one row with the number of all people and that of those who have a row for each fact."""
    row = row_of_facts(writer, table, facts)
    person = writer.person(row)
    found = ", ".join(
        f"MAX(CASE WHEN {predicate_sql(writer, row, p.where)} THEN 1 ELSE 0 END) AS v{i}" for i, p in enumerate(facts)
    )
    people = f"SELECT {found} FROM {writer.relation(row)} WHERE {person} IS NOT NULL GROUP BY {person}"
    counts = ", ".join(["COUNT(*)", *(f"COUNT(*) FILTER (WHERE v{i} = 1)" for i in range(len(facts)))])
    return Statement(f"WITH people AS ({people}) SELECT {counts} FROM people", tuple(writer.parameters))


def row_of_facts(writer: Writer, table: str, facts: Sequence[Fact]) -> RowOf:
    """Return a row that sees all derived columns of the facts, of which no two have one name; no fact may fail."""
    counted = Aggregate(table=table, where=ALWAYS, keys=(), bounding=CountPerPerson(max_cells=1), salt=0)
    for fact in facts:
        check_total(replace(counted, where=fact.where, derived=fact.derived), writer.population)
    return writer.row_of(table, tuple(dict.fromkeys(one for fact in facts for one in fact.derived)))
