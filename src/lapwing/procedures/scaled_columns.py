"""Columns of numbers on one scale, from 0 to about 1,024 steps, and sums of them with bounds that hold by construction.

A person adds to each sum a whole number that is never negative, and to all of them together at most a known number. The
scale follows from what is declared.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Final

from lapwing.queries.algebra.aggregate import BoundedRowsPerPerson
from lapwing.queries.algebra.term import ConstantTerm, Rounded, Term, bounds, plus, times
from lapwing.queries.catalogue.column import Integer, Real
from lapwing.queries.catalogue.population import Population, RowsPerPerson
from lapwing.queries.language.builders import ConditionLike, as_condition
from lapwing.queries.language.expressions import col
from lapwing.queries.planning.measure import Measure
from lapwing.queries.planning.plan import Plan
from lapwing.queries.planning.planner import Planner, Question, plan, scale_of
from lapwing.queries.statistics.counts import People
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import check_most
from lapwing.vocabulary.frozen import frozen

BITS: Final = 10
STEPS: Final = 1 << BITS
"""Steps from one end of a column to the other, at most; a person counts for as many."""
MOST_COLUMNS: Final = 20


@frozen()
class ScaledColumn:
    """A column whose values, from `low` on in steps of `step`, count `factor` each: at most `extent` in all."""

    name: str
    low: Fraction
    step: Fraction
    factor: int
    extent: int

    @property
    def width(self) -> Fraction:
        """How wide one counted step is, in the unit of the column."""
        return self.step / self.factor

    def value(self, place: Fraction) -> Fraction:
        """Return the value at a place on the scale."""
        return self.low + self.width * place


@frozen(repr=False, eq=False)
class SumsOfColumns(Question):
    """The number of people, times 1,024, and the sums of some columns on their scales; with `squared`, of products.

    People who have no value in one of the columns are not counted.
    """

    of: tuple[str, ...]
    squared: bool = False

    def plan(self, planner: Planner) -> Plan:
        """Let each person add at most the sum of the greatest values of all terms."""
        values = [term for _, term in _scaled(planner, self.of)]
        terms: list[Term] = [ConstantTerm(STEPS), *values]
        if self.squared:
            products = [times(one, other) for one, other in combinations_with_replacement(values, 2)]
            terms += [Rounded(product, BITS) for product in products]
        most = sum(bounds(term)[1] for term in terms)
        return planner.build(BoundedRowsPerPerson(terms=tuple(terms), most=most, max_rows=1, max_cells=None), People())


def read_scaled(table: str, columns: Sequence[str], population: Population) -> tuple[ScaledColumn, ...]:
    """Return the columns on their scales, or refuse what has no numbers with declared bounds."""
    known = population.table(table)
    if known.rows is not RowsPerPerson.ONE_A_PERSON:
        raise BadQuestionError(
            f"{known.name} has many rows a person; ask for it about a table with one row a person, where what is in "
            f"{known.name} may be a column"
        )
    if isinstance(columns, str) or not columns:
        raise BadQuestionError(f"columns={columns!r} names no columns; write columns=['age', 'bmi']")
    check_most("columns", len(columns), MOST_COLUMNS, "take fewer")
    found = [known.column(name) for name in columns]
    for one in found:
        if not isinstance(one.type, Integer | Real) or one.type.low is None:
            raise BadQuestionError(f"{one.name!r} has no numbers with declared bounds; take columns that have")
    names = tuple(one.name for one in found)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadQuestionError(f"{twice[0]!r} is there twice; name each column once")
    planner = Planner(SumsOfColumns(table=known.name, of=names), population)
    return tuple(one for one, _ in _scaled(planner, names))


def plan_sums(
    table: str, columns: Sequence[ScaledColumn], population: Population, where: ConditionLike, *, squared: bool = False
) -> Plan:
    """Return the plan that adds up the columns of people for whom `where` is true."""
    names = tuple(one.name for one in columns)
    return plan(SumsOfColumns(table=table, where=as_condition(where), of=names, squared=squared), population)


def _scaled(planner: Planner, names: Sequence[str]) -> list[tuple[ScaledColumn, Term]]:
    def extent(value: Measure) -> int:
        return scale_of(value).extent

    measures = planner.measure([col(name) for name in names], lambda values: max(map(extent, values)), STEPS, extent)
    scaled = []
    for name, value in zip(names, measures, strict=True):
        scale, (low, _) = scale_of(value), bounds(value.term)
        factor = max(1, STEPS // scale.extent)
        term = times(ConstantTerm(factor), plus(value.term, ConstantTerm(-low)))
        column = ScaledColumn(name=name, low=scale.low, step=scale.step, factor=factor, extent=factor * scale.extent)
        scaled.append((column, term))
    return scaled
