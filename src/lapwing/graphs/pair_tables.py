"""A table of pairs: one row, and one key, for each edge between two people whose numbers are public.

The population of such a table is one of edges: its person key names the edge, and what the account protects is one
edge. Whoever owns the key has at most one pair (the row that is picked where a key has several by mistake), so that one
key more or less is one edge more or less, or none. People are the whole numbers that are declared for both columns.
"""

from typing import Final

from lapwing.queries.algebra.aggregate import CountPerPerson, PrivateKey
from lapwing.queries.catalogue.column import Column, Integer
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.queries.language.builders import ConditionLike, as_condition
from lapwing.queries.language.expressions import col
from lapwing.queries.planning.plan import Plan
from lapwing.queries.planning.planner import Planner, Question, plan
from lapwing.queries.statistics.counts import People
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen

_TWO: Final = 2


@frozen()
class PairTable:
    """A table of pairs, the two columns that hold them, and the people who may be in them: `first` to `last`."""

    table: str
    columns: tuple[str, str]
    first: int
    last: int

    @property
    def people(self) -> int:
        """How many people there are: a public number, as it is declared."""
        return self.last - self.first + 1


@frozen(repr=False, eq=False)
class PairsOfEdges(Question):
    """The pairs that there are, in two columns whose values only the data knows."""

    columns_of_pairs: tuple[str, str]

    def plan(self, planner: Planner) -> Plan:
        """Let each key have one pair."""
        planner.keys = tuple(PrivateKey(column=name, missing=False) for name in self.columns_of_pairs)
        return planner.build(CountPerPerson(max_cells=1), People())


def read_pair_table(population: Population, table: str, between: tuple[str, str] | None) -> PairTable:
    """Return what is declared of a table of pairs; refuse one that is none, and say how it is declared."""
    known = population.table(table)
    if known.rows is not RowsPerPerson.ONE_A_PERSON:
        raise BadQuestionError(
            f"{known.name} has many rows for one {population.person_key(known)!r}, and a graph has one row for each "
            "edge; let the custodian make a population of edges: a table with one row and one key for each pair"
        )
    ends = _two_columns(known, between)
    for end in ends:
        if not isinstance(end.type, Integer) or end.type.low is None:
            raise BadQuestionError(
                f"{end.name!r} of {known.name} holds no whole numbers with declared bounds; number the people "
                "1, 2, ... and declare the first and the last number: who may be in a graph is public"
            )
    ranges = [(end.type.low or 0, end.type.high or 0) for end in ends if isinstance(end.type, Integer)]
    if ranges[0] != ranges[1]:
        raise BadQuestionError(
            f"{ends[0].name!r} is declared from {ranges[0][0]} to {ranges[0][1]} and {ends[1].name!r} from "
            f"{ranges[1][0]} to {ranges[1][1]}; both hold the same people, so declare the same numbers"
        )
    low, high = ranges[0]
    return PairTable(table=known.name, columns=(ends[0].name, ends[1].name), first=low, last=high)


def _two_columns(table: Table, between: tuple[str, str] | None) -> tuple[Column, Column]:
    if between is None:
        whole = [one for one in table.columns if isinstance(one.type, Integer)]
        if len(whole) != _TWO:
            names = ", ".join(one.name for one in whole) or "none"
            raise BadQuestionError(
                f"{table.name} has {len(whole)} columns of whole numbers ({names}); say which two hold the people: "
                "between=('one', 'other')"
            )
        return whole[0], whole[1]
    if isinstance(between, str) or len(between) != _TWO or not all(isinstance(name, str) for name in between):
        raise BadQuestionError(f"between={between!r} does not name two columns; write between=('one', 'other')")
    one, other = (table.column(name) for name in between)
    if one.name == other.name:
        raise BadQuestionError(f"between names {one.name!r} twice; an edge has two ends, in two columns")
    return one, other


def plan_pairs(population: Population, pairs: PairTable, where: ConditionLike = None) -> Plan:
    """Return the plan that reads the pairs of different declared people, of rows for which `where` is true."""
    one, other = (col(name) for name in pairs.columns)
    inside = one.between(pairs.first, pairs.last) & other.between(pairs.first, pairs.last) & (one != other)
    condition = inside if where is None else as_condition(where) & inside
    return plan(PairsOfEdges(table=pairs.table, where=condition, columns_of_pairs=pairs.columns), population)
