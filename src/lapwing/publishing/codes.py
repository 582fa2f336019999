"""Columns as codes: the declared values or bins of each, and one code for all that is none of them.

A row whose value is missing, or not declared, has the last code of its column. So every row is in one cell of every
table of these columns, and a table is the same whether it was counted by itself or summed from a wider one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from lapwing.queries.algebra.aggregate import BinnedKey, CountPerPerson, DeclaredKey, Key, PrivateKey
from lapwing.queries.algebra.derived import Branch, CaseResult
from lapwing.queries.algebra.predicate import InIntervals, InTexts, Predicate, atom
from lapwing.queries.catalogue.domains import INTEGERS, TRUTHS, Interval
from lapwing.queries.catalogue.population import Population, RowsPerPerson
from lapwing.queries.language.builders import Grouping, Groupings, as_groups
from lapwing.queries.language.expressions import By
from lapwing.queries.planning.plan import Plan
from lapwing.queries.planning.planner import Planner, Question, plan
from lapwing.queries.planning.scope import Scope
from lapwing.queries.statistics.counts import CountPeople, People
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import Call

Columns: TypeAlias = Groupings | Mapping[str, Grouping]
"""What a publication is of: columns, bins and conditions, as they are called or under names of one's own."""
Code: TypeAlias = str | int | bool | Interval
OTHER: Final = "other or missing"
MOST_CODES: Final = 200
"""Codes of one column: a table of two such columns still has fewer numbers than one release may have."""


@frozen()
class CodedColumn:
    """A column of a publication: what it is grouped `by`, its declared `codes`, and what they are called.

    After the codes that are listed comes one more, for all other values and for none.
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

    def __len__(self) -> int:
        return len(self.called)


@frozen(repr=False, eq=False)
class CountInCodes(Question):
    """The number of people in each cell of the codes of some columns, where everybody has one row."""

    def plan(self, planner: Planner) -> Plan:
        """Let a person count once, in the one cell where their row is."""
        planner.keys = tuple(_coded(key, planner.scope) for key in planner.keys)
        return planner.build(CountPerPerson(max_cells=1), People())


def read_columns(table: str, columns: Columns, population: Population) -> list[CodedColumn]:
    """Return the columns of a publication with their codes, from what is declared; refuse what has none.

    Somebody with several rows would be in several cells: only a table with one row a person is published.
    """
    known = population.table(table)
    if known.rows is not RowsPerPerson.ONE_A_PERSON:
        raise BadQuestionError(
            f"{known.name} has many rows a person, and a publication is of people; publish a table with one row a "
            f"person, where what is in {known.name} may be a column: ",
            Call("has", (known.name, ...)),
        )
    given = list(columns) if isinstance(columns, Mapping) else []
    groupings = as_groups(list(columns.values()) if isinstance(columns, Mapping) else columns)
    read = [_read_column(known.name, by, population) for by in groupings]
    read = [replace(one, name=name) for name, one in zip(given, read, strict=True)] if given else read
    names = [one.name for one in read]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadQuestionError(f"{twice[0]!r} is there twice; name each column of a publication once")
    if not read:
        raise BadQuestionError("no column is named; publish at least one, such as columns=['sex', 'age']")
    return read


def count_in_codes(table: str, columns: Sequence[CodedColumn], population: Population) -> Plan:
    """Return the plan that counts people in each cell of some columns, the last column fastest."""
    return plan(CountInCodes(table=table, by=tuple(one.by for one in columns)), population)


def _read_column(table: str, by: By, population: Population) -> CodedColumn:
    planned = plan(CountPeople(table=table, by=(by,)), population)
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
    return CodedColumn(name=planned.group_names[0], by=by, key=key, called=(*called, OTHER))


def _coded(key: Key, scope: Scope) -> DeclaredKey:
    """Return the key of a column of codes: a case for each declared value or bin, and one for all else."""
    conditions = _conditions(key)
    branches = tuple(Branch(where, code) for code, where in enumerate(conditions))
    column = scope.add(CaseResult(name="", branches=branches, otherwise=len(conditions)))
    return DeclaredKey(column=column.name, values=tuple(range(len(conditions) + 1)), missing=False)


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
