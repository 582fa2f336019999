"""What a formula means in a catalogue: the columns of a regression on their grids, and the one row that a person adds.

A column of numbers is taken between its declared bounds, one that is true or false as 1 and 0, and a category as one
column for each declared value but the first, which the others are compared with. A row in which anything is missing,
or a category holds what is not declared, adds nothing.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Final

from lapwing.analyses.formula import Formula, FormulaFactor
from lapwing.analyses.regression_rounds import HALF_RANGE, ColumnGrid
from lapwing.queries.algebra.aggregate import BoundedRowsPerPerson, DeclaredKey
from lapwing.queries.algebra.predicate import AllOf, InIntervals, Predicate
from lapwing.queries.algebra.term import ConstantTerm, Term, bounds, plus
from lapwing.queries.catalogue.column import Boolean, Category, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import Population
from lapwing.queries.language.builders import ConditionLike, as_condition
from lapwing.queries.language.expressions import (
    Arithmetic,
    Case,
    Condition,
    Literal,
    Name,
    OneOf,
    Truth,
    TruthOf,
    Value,
)
from lapwing.queries.planning.keys import narrow
from lapwing.queries.planning.plan import Plan, Scale
from lapwing.queries.planning.planner import Planner, Question, plan, scale_of
from lapwing.queries.statistics.bernstein import Moment
from lapwing.queries.statistics.moments import Moments
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import check_most
from lapwing.vocabulary.frozen import frozen

MOST_COLUMNS: Final = 50
_MOST_COUNT: Final = 1000


@frozen(repr=False, eq=False)
class RowOfPerson(Question):
    """The values of one row of a person, each from 0 to its extent: what a regression adds a function of."""

    values: tuple[Value, ...]

    def plan(self, planner: Planner) -> Plan:
        """Let one row of a person count, on grids on which no value has more than 2^12 steps."""
        measures = [
            planner.measure([value], lambda one: scale_of(one[0]).extent, HALF_RANGE)[0] for value in self.values
        ]
        terms = tuple(_from_zero(one.term) for one in measures)
        most = sum(bounds(term)[1] for term in terms)
        bounding = BoundedRowsPerPerson(terms=terms, most=most, max_rows=1, max_cells=None)
        return planner.build(bounding, Moments(moment=Moment.MEAN, scales=tuple(map(scale_of, measures))))


def _from_zero(term: Term) -> Term:
    low, _ = bounds(term)
    return plus(term, ConstantTerm(-low)) if low else term


@frozen()
class DesignColumn:
    """A column of a regression: what it is called, where it lies, and for how many units its coefficient is told.

    `made_of` are the columns of the table that it is computed from, each with the value that makes it 1, if it has one.
    """

    name: str
    value: Value
    per: Fraction
    made_of: tuple[tuple[str, str | int | None], ...]


@frozen()
class Design:
    """The columns of a regression, its outcome, and the plan of the row that a person adds."""

    formula: Formula
    table: str
    columns: tuple[DesignColumn, ...]
    plan: Plan
    scales: tuple[Scale, ...]
    """Of the columns and, last, of the outcome."""
    references: tuple[tuple[str, str], ...]

    @property
    def grid(self) -> ColumnGrid:
        """The extents of the columns and, last, of the outcome."""
        return ColumnGrid(extents=tuple(scale.extent for scale in self.scales))

    @property
    def two_valued(self) -> tuple[int, ...]:
        """The columns that have two values, by their places."""
        return tuple(j for j, scale in enumerate(self.scales[:-1]) if scale.extent == 1)


def read_design(table: str, formula: Formula, model: str, where: ConditionLike, population: Population) -> Design:
    """Return what a formula means, or refuse it: what has no bounds, one value, or too many columns."""
    known = population.table(table)
    columns: list[DesignColumn] = []
    for term in formula.terms:
        parts = [_parts(known.column(factor.name), factor) for factor in term]
        columns += [_product(one) for one in product(*parts)]
    check_most("columns in a regression, each value of a category being one", len(columns), MOST_COLUMNS, "name fewer")
    outcome = known.column(formula.outcome)
    values = (*(one.value for one in columns), _outcome(outcome, model))
    planned = plan(RowOfPerson(table=table, where=as_condition(where), values=values), population)
    meaning = planned.meaning
    if not isinstance(meaning, Moments):
        raise TypeError(meaning)
    _check_outcome(outcome, meaning.scales[-1], model)
    for term in formula.terms:
        for factor in term:
            _check_varies(known.column(factor.name), planned)
    kinds = [known.column(factor.name) for term in formula.terms for factor in term]
    references = {one.name: str(one.type.values[0]) for one in kinds if isinstance(one.type, Category)}
    return Design(
        formula=formula,
        table=known.name,
        columns=tuple(columns),
        plan=planned,
        scales=meaning.scales,
        references=tuple(references.items()),
    )


def _parts(column: Column, factor: FormulaFactor) -> list[DesignColumn]:
    """Return the columns that a factor stands for."""
    name = Name(column.name)
    match column.type:
        case Boolean():
            _check_no_unit(factor, "is true or false")
            value: Value = TruthOf(Truth(name))
            return [DesignColumn(name=column.name, value=value, per=Fraction(1), made_of=((column.name, None),))]
        case Category(values=values):
            _check_no_unit(factor, "is a category")
            if len(values) == 1:
                raise BadQuestionError(
                    f"{column.name!r} has one declared value, {values[0]!r}, so it tells nobody apart; leave it out"
                )
            return [
                DesignColumn(
                    name=f"{column.name}[{one}]",
                    value=_is_value(name, one, values),
                    per=Fraction(1),
                    made_of=((column.name, one),),
                )
                for one in values[1:]
            ]
        case _:
            _check_bounds(column)
            named = f"{column.name}{str(factor)[len(factor.name) :]}"
            return [DesignColumn(name=named, value=name, per=factor.per, made_of=((column.name, None),))]


def _check_no_unit(factor: FormulaFactor, why: str) -> None:
    if factor.per != 1:
        raise BadQuestionError(f"{factor.name!r} {why}, and has no units to be told for; write {factor.name}")


def _is_value(name: Name, value: str | int, values: Sequence[str | int]) -> Value:
    """Return 1 where a category has a value, and 0 where it has another declared one."""
    others: Condition = OneOf(name, tuple(Literal(one) for one in values if one != value))
    return Case(((name == value, Literal(1)), (others, Literal(0))))


def _product(parts: Sequence[DesignColumn]) -> DesignColumn:
    first, *others = parts
    for one in others:
        first = DesignColumn(
            name=f"{first.name}:{one.name}",
            value=Arithmetic("*", first.value, one.value),
            per=first.per * one.per,
            made_of=first.made_of + one.made_of,
        )
    return first


def _outcome(column: Column, model: str) -> Value:
    """Return the outcome as a value; one of two is 1 for the second."""
    name = Name(column.name)
    match column.type:
        case Boolean():
            return TruthOf(Truth(name))
        case Category(values=values) if model == "logistic" and len(values) == 2:  # noqa: PLR2004 - two of them
            return _is_value(name, values[1], values)
        case Category(values=values):
            two = len(values) == 2  # noqa: PLR2004 - two of them
            remedy = "write model='logistic'" if two else "let the custodian declare a column that is true or false"
            raise BadQuestionError(
                f"{column.name!r} is a category of {len(values)}; a logistic model wants an outcome of two values, "
                f"others want numbers; {remedy}"
            )
        case _:
            _check_bounds(column)
            return name


def _check_bounds(column: Column) -> None:
    """Refuse numbers without bounds: how far one person could move the fit would have none, either."""
    if isinstance(column.type, Date | Text):
        kind = "days" if isinstance(column.type, Date) else "text that is not declared"
        raise BadQuestionError(
            f"{column.name!r} holds {kind}, and a formula has numbers, truth values and categories; let the custodian "
            "declare a column that is computed from it"
        )
    if isinstance(column.type, Integer | Real) and (column.type.low is None or column.type.high is None):
        raise BadQuestionError(
            f"{column.name!r} has no declared bounds, so that one person could move the fit as far as they like; let "
            "the custodian declare a low and a high"
        )


def _check_varies(column: Column, planned: Plan) -> None:
    """Refuse a column of which the condition leaves one value: it would be determined by the intercept."""
    where = planned.aggregate.where
    match column.type:
        case Boolean():
            left: Sequence[object] = _left(DeclaredKey(column=column.name, values=(False, True), missing=False), where)
        case Category(values=values):
            left = _left(DeclaredKey(column=column.name, values=values, missing=False), where)
        case _:
            parts = where.parts if isinstance(where, AllOf) else (where,)
            own = [one.intervals for one in parts if isinstance(one, InIntervals) and one.column == column.name]
            points = [one for one in own if len(one) == 1 and one[0][0] == one[0][1]]
            left = points[0] if points else ("all", "others")
    if len(left) <= 1:
        raise BadQuestionError(
            f"the condition leaves one value of {column.name!r} at most, so that it tells nobody apart; leave it out"
        )


def _left(key: DeclaredKey, where: Predicate) -> Sequence[object]:
    narrowed = narrow(key, where)
    return narrowed.values if isinstance(narrowed, DeclaredKey) else key.values


def _check_outcome(column: Column, scale: Scale, model: str) -> None:
    name = column.name
    match model:
        case "logistic" if scale.extent != 1:
            raise BadQuestionError(
                f"a logistic model wants an outcome that is true or false, and {name!r} has more than two values; "
                "write model='linear', or model='poisson' for counts"
            )
        case "poisson" if not isinstance(column.type, Integer) or scale.low < 0 or scale.step != 1:
            raise BadQuestionError(
                f"a Poisson model wants an outcome that counts, whole numbers from 0 to about {HALF_RANGE}, and "
                f"{name!r} is none; write model='linear'"
            )
        case "linear" if scale.extent == 1:
            raise BadQuestionError(f"{name!r} has two values; write model='logistic'")
        case _:
            pass
