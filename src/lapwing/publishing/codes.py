"""Columns as codes: the declared values or bins of each, and one code for all that is none of them.

A row whose value is missing, or not declared, has the last code of its column. Only what is true or false and never
missing, such as a condition about rows of a person, has no such code: whatever is not true has the code of false. So
every row is in one cell of every table of these columns, and a table is the same whether it was counted by itself or
summed from a wider one.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from lapwing.mechanisms.residual_basis import Axes
from lapwing.queries.algebra.aggregate import BinnedKey, CountInSets, CountPerPerson, DeclaredKey, Key, PrivateKey
from lapwing.queries.algebra.derived import Branch, CaseResult
from lapwing.queries.algebra.predicate import InIntervals, InTexts, Predicate, atom
from lapwing.queries.catalogue.domains import INTEGERS, TRUTHS, Interval
from lapwing.queries.catalogue.population import Population, RowsPerPerson
from lapwing.queries.language.builders import Grouping, Groupings, as_condition, as_groups, number_of
from lapwing.queries.language.expressions import By, Spelled, TruthOf
from lapwing.queries.limits import MOST_NUMBERS
from lapwing.queries.planning.plan import Plan
from lapwing.queries.planning.planner import Planner, Question, plan
from lapwing.queries.planning.scope import Scope
from lapwing.queries.statistics.counts import CountPeople, People, RowCount, rows_of_all_groups
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import Call

if TYPE_CHECKING:
    from lapwing.rounds import RoundReader

Columns: TypeAlias = Groupings | Mapping[str, Grouping]
"""What a publication is of: columns, bins and conditions, as they are called or under names of one's own."""
Code: TypeAlias = str | int | bool | Interval
Passes: TypeAlias = Sequence[tuple[Sequence[Axes], Plan]]
"""The plans of what is counted, and the tables of each."""
OTHER: Final = "other or missing"
MOST_COLUMNS: Final = 40
_MOST_TABLES: Final = 100
"""Tables that are counted in one pass: each is a column of what the database sends."""
MOST_CODES: Final = 200
"""Codes of one column: a table of two such columns still has fewer numbers than one release may have."""


@frozen()
class CodedColumn:
    """A column of a publication: what it is grouped `by`, its declared `codes`, and what all of them are called.

    After the declared ones comes one more, for all other values and for none, unless it is `closed`.
    """

    name: str
    by: By
    key: DeclaredKey | BinnedKey
    called: tuple[str, ...]

    def place_of(self, code: object) -> int:
        """Return the place of a code, which is a declared value or what a code is called."""
        named = [place for place, one in enumerate(self.called) if code == one]
        listed = [place for place, one in enumerate(self.codes) if type(code) is type(one) and code == one]
        if not named + listed:
            raise BadQuestionError(f"{self.name!r} has no code {code!r}; it has {', '.join(self.called)}")
        return (listed + named)[0]

    @property
    def codes(self) -> tuple[Code, ...]:
        """The declared values, or the first and last number of each bin."""
        return self.key.bins if isinstance(self.key, BinnedKey) else self.key.values

    @property
    def closed(self) -> bool:
        """Whether it has the declared codes and no other: it is true or false, and never missing."""
        return _is_closed(self.key)

    @property
    def ordered(self) -> bool:
        """Whether the declared codes have an order: bins and numbers have, texts and truth values have not."""
        return all(isinstance(code, int | tuple) and not isinstance(code, bool) for code in self.codes)

    def __len__(self) -> int:
        return len(self.called)


@frozen(repr=False, eq=False)
class CountInCodes(Question):
    """The number of people in each cell of the codes of some columns, where everybody has one row."""

    def plan(self, planner: Planner) -> Plan:
        """Let a person count once, in the one cell where their row is."""
        planner.keys = tuple(coded_key(key, planner.scope) for key in planner.keys)
        return planner.build(CountPerPerson(max_cells=1), People())


@frozen(repr=False, eq=False)
class CountInTables(Question):
    """The number of people in each cell of several tables of codes, counted in one pass over their rows.

    `sets` has the columns of each table, by their places in `by`.
    """

    MOST_KEYS: ClassVar[int] = MOST_COLUMNS

    sets: tuple[tuple[int, ...], ...]

    def plan(self, planner: Planner) -> Plan:
        """Let a person count once in each table, in the cell where their row is."""
        planner.keys = tuple(coded_key(key, planner.scope) for key in planner.keys)
        return planner.build(CountInSets(sets=self.sets), People())


@frozen(repr=False, eq=False)
class CountRowsInCodes(Question):
    """The number of rows in each cell of the codes of some columns, by the stratum of the person who has them.

    The first key of `by` is the number of rows of a person. It becomes the stratum: the first of `caps` that it does
    not exceed, and one more after the last. At most as many rows of a person count as the last cap says.
    """

    MOST_KEYS: ClassVar[int] = MOST_COLUMNS + 1

    caps: tuple[int, ...]

    def plan(self, planner: Planner) -> Plan:
        """Let all rows count of a person who has no more than the last stratum allows."""
        number, *columns = planner.keys
        if not isinstance(number, DeclaredKey):  # pragma: no cover - a number up to a most has declared values
            raise TypeError(number)
        ranges = zip((0, *self.caps), self.caps, strict=False)
        branches = tuple(
            Branch(atom(InIntervals(column=number.column, domain=INTEGERS, intervals=((least + 1, most),))), stratum)
            for stratum, (least, most) in enumerate(ranges)
        )
        column = planner.scope.add(CaseResult(name="", branches=branches, otherwise=len(branches)))
        stratum = DeclaredKey(column=column.name, values=tuple(range(len(branches) + 1)), missing=False)
        planner.keys = (stratum, *(coded_key(key, planner.scope) for key in columns))
        return planner.build(rows_of_all_groups(self.caps[-1]), RowCount())


def read_columns(table: str, columns: Columns, population: Population) -> list[CodedColumn]:
    """Return the columns of a publication with their codes, from what is declared; refuse what has none.

    Somebody with several rows would be in several cells: only a table with one row a person is published.
    """
    known = population.table(table)
    if known.rows is not RowsPerPerson.ONE_A_PERSON:
        raise BadQuestionError(
            f"{known.name} has many rows a person, and this is of people; take a table with one row a person, where "
            f"what is in {known.name} may be a column (rows themselves can be published, with rows=[1, 2, 5, 10]): ",
            Call("has", (known.name, ...)),
        )
    return read_coded(table, columns, population)


def read_columns_of_rows(table: str, columns: Columns, population: Population) -> list[CodedColumn]:
    """Return the same for a publication of rows, of which a person may have many."""
    known = population.table(table)
    if known.rows is RowsPerPerson.ONE_A_PERSON:
        raise BadQuestionError(f"{known.name} has one row a person, so rows= says nothing; leave it out")
    return read_coded(table, columns, population)


def read_coded(table: str, columns: Columns, population: Population) -> list[CodedColumn]:
    """Return columns with their codes, whatever rows the table has."""
    known = population.table(table)
    given = list(columns) if isinstance(columns, Mapping) else []
    groupings = as_groups(list(columns.values()) if isinstance(columns, Mapping) else columns)
    read = [_read_column(known.name, _as_condition(by), population) for by in groupings]
    read = [replace(one, name=name) for name, one in zip(given, read, strict=True)] if given else read
    names = [one.name for one in read]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadQuestionError(f"{twice[0]!r} is there twice; name each column of a publication once")
    if not read:
        raise BadQuestionError("no column is named; publish at least one, such as columns=['sex', 'age']")
    return read


def require_groupings(table: str, columns: Sequence[CodedColumn], population: Population) -> None:
    """Refuse columns whose `by` does not make their codes: a saved table has its codes, and not what was grouped by."""
    for one in columns:
        try:
            made = _read_column(table, one.by, population)
        except BadQuestionError:
            made = None
        if made is None or (made.key, made.called) != (one.key, one.called):
            raise BadQuestionError(
                f"this table was read from a file, which does not say how {one.name!r} is counted; call synthesize "
                "with the words that made it, which is free and gives the same table, and take that"
            )


def count_in_codes(table: str, columns: Sequence[CodedColumn], population: Population) -> Plan:
    """Return the plan that counts people in each cell of some columns, the last column fastest."""
    return plan(CountInCodes(table=table, by=tuple(one.by for one in columns)), population)


def count_in_tables(table: str, columns: Sequence[CodedColumn], sets: Sequence[Axes], population: Population) -> Passes:
    """Return plans that count people in each cell of tables, and the tables of each: few passes over the rows.

    A pass computes each of its codes once, whatever number of its tables it is in, and has as many tables as their
    cells can be sent for.
    """
    passes, cells = list[list[Axes]](), MOST_NUMBERS
    for axes in sets:
        size = math.prod(len(columns[a]) for a in axes)
        if cells + size > MOST_NUMBERS or len(passes[-1]) == _MOST_TABLES:
            passes.append([])
            cells = 0
        passes[-1].append(axes)
        cells += size
    return [(some, _plan_of(table, columns, some, population)) for some in passes]


def count_rows_in_tables(
    table: str, columns: Sequence[CodedColumn], sets: Sequence[Axes], population: Population, caps: tuple[int, ...]
) -> Passes:
    """Return plans that count rows in each cell of tables, by the stratum of the person: one for each table."""
    (number,) = as_groups(number_of(table, most=caps[-1] + 1))
    return [
        (
            [axes],
            plan(CountRowsInCodes(table=table, by=(number, *(columns[a].by for a in axes)), caps=caps), population),
        )
        for axes in sets
    ]


def read_row_tables(reader: "RoundReader", passes: Passes) -> dict[Axes, Sensitive[tuple[int, ...]]]:
    """Return all tables of rows that the plans count."""
    return {axes: reader.vector(one.aggregate) for (axes,), one in passes}


def read_tables(reader: "RoundReader", passes: Passes) -> dict[Axes, Sensitive[tuple[int, ...]]]:
    """Return all tables that the plans count."""
    return {
        axes: counted for sets, one in passes for axes, counted in zip(sets, reader.in_sets(one.aggregate), strict=True)
    }


def _plan_of(table: str, columns: Sequence[CodedColumn], sets: Sequence[Axes], population: Population) -> Plan:
    used = sorted({a for axes in sets for a in axes})
    places = tuple(tuple(used.index(a) for a in axes) for axes in sets)
    return plan(CountInTables(table=table, by=tuple(columns[a].by for a in used), sets=places), population)


def _as_condition(by: By) -> By:
    """Return a text that no value reads as, such as "has(visit, ...)", as the condition that it reads as, if any."""
    if isinstance(by.column, Spelled) and by.column.value is None:
        with suppress(BadQuestionError):
            return By(column=TruthOf(as_condition(by.column.text)))
    return by


def _read_column(table: str, by: By, population: Population) -> CodedColumn:
    planned = plan(CountPeople(table=table, by=(by,), max_groups=1), population)
    (key,) = planned.grouped_by
    if isinstance(key, PrivateKey):
        raise BadQuestionError(
            f"{key.column!r} has no declared values, so its codes would be read from the data; let the custodian "
            "declare them, or name the bins: ",
            Call("bins", (key.column, [0, 18, 65])),
        )
    labels = key.bins if isinstance(key, BinnedKey) else key.values
    if len(labels) > MOST_CODES:
        raise BadQuestionError(
            f"{key.column!r} has {len(labels)} codes, more than {MOST_CODES}; name wider bins: ",
            Call("bins", (key.column, [0, 18, 65])),
        )
    called = [" ".join(map(str, planned.shown((label,), {}))) for label in labels]
    others = () if _is_closed(key) else (OTHER,)
    return CodedColumn(name=planned.group_names[0], by=by, key=key, called=(*called, *others))


def _is_closed(key: Key) -> bool:
    return isinstance(key, DeclaredKey) and not key.missing and key.values == (False, True) and key.values[0] is False


def coded_key(key: Key, scope: Scope) -> DeclaredKey:
    """Return the key of a column of codes: a case for each declared value or bin, and one for all else."""
    branches = tuple(Branch(where, code) for code, where in enumerate(_conditions(key)))
    otherwise = len(branches)
    if _is_closed(key):
        branches, otherwise = branches[1:], 0
    column = scope.add(CaseResult(name="", branches=branches, otherwise=otherwise))
    return DeclaredKey(column=column.name, values=tuple(range(max(len(branches), otherwise) + 1)), missing=False)


def _conditions(key: Key) -> list[Predicate]:
    match key:
        case BinnedKey(column=column, domain=domain, bins=bins):
            return [atom(InIntervals(column=column, domain=domain, intervals=(one,))) for one in bins]
        case DeclaredKey(column=column, values=values):
            return [_holds(column, value) for value in values]
        case _:  # pragma: no cover - columns without declared codes were refused
            raise TypeError(key)


def _holds(column: str, value: str | int) -> Predicate:
    if isinstance(value, str):
        return atom(InTexts(column=column, texts=(value,)))
    domain = TRUTHS if isinstance(value, bool) else INTEGERS
    return atom(InIntervals(column=column, domain=domain, intervals=((int(value), int(value)),)))
