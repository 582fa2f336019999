"""What a stream may ask besides counts of people: whether a total, a share or a correlation is at least some number.

Each is the sum of one whole number a row, and a person's part of it is clipped, so that its sensitivity is that of a
total (`proofs/contribution_bounds.md`):

- a total is the sum of a value;
- the share of those who meet a condition is at least p/q exactly if the sum of q - p for each who does and -p for each
  who does not is at least 0: no quotient is released, and nobody divides by a number that is not public;
- a correlation of x and y, scaled to -1 to 1, is at least p/q if the sum of 2q xy - p (x² + y²) is at least 0
  (`proofs/correlation_sensitivity.md`).

Proof: proofs/streamed_values.md
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from fractions import Fraction
from typing import Any, Final

from lapwing.queries.algebra.aggregate import ClippedSumPerPerson
from lapwing.queries.algebra.term import ConstantTerm, FunctionOf, Term, bounds, plus, times
from lapwing.queries.algebra.words import from_to, plain
from lapwing.queries.catalogue.population import Population
from lapwing.queries.language.builders import ConditionLike, ValueLike, as_condition, as_value
from lapwing.queries.language.expressions import Case, Condition, Literal, Not, Value
from lapwing.queries.language.speller import Speller
from lapwing.queries.planning.measure import Measure
from lapwing.queries.planning.plan import Family, Meaning, Plan
from lapwing.queries.planning.planner import Planner, Question, plan, scale_of
from lapwing.queries.statistics.counts import people_asked_for
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.deadline import deadline, seconds_for
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.exact import as_written, exact, exactly_one_of
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import Setting, format_short

RESOLUTION: Final = 127
"""The steps on either side of the middle of its range that a value is rounded to before it is correlated."""
_FINEST: Final = 1024
_FARTHEST: Final = 2**59


class StreamedKind(Enum):
    """What a stream compares with its number."""

    TOTAL = "total"
    PROPORTION = "proportion"
    CORRELATION = "correlation"


@stored("streamed-value")
class StreamedValue:
    """What is added up for a question of a stream, and how far one person can move it: fixed at the opening.

    Parameters
    ----------
    statistic, value : what it is, and of which value (or condition), as text
    at_least : the number it is compared with, where a question does not say another
    max_rows : how many rows of one person count; the table's own number if it is None
    step : what one step of the sum stands for
    up, down : how many steps an arriving person can raise the sum, and lower it
    """

    statistic: StreamedKind
    value: str
    at_least: Fraction
    max_rows: int | None
    step: Fraction
    up: int
    down: int

    @staticmethod
    def of(
        population: Population, table: str, *, at_least: object, max_rows: int | None, **given: object
    ) -> "StreamedValue":
        """Return what `total=`, `proportion=` or `correlation=` means in a population, or refuse it."""
        (word,) = exactly_one_of("statistic", given, *((kind.value,) for kind in StreamedKind))
        kind, number = StreamedKind(word), exact("at_least", as_written(at_least))
        if kind is not StreamedKind.TOTAL and not (0 < number < 1 and number.denominator <= _FINEST):
            remedy = 'write a share between 0 and 1 with few digits, such as "0.3"'
            raise ParameterError("at_least", at_least, reason=f"is no {word} to ask for", remedy=remedy)
        text = _text(given[word], population, table, kind)
        asked = StreamedValue(
            statistic=kind, value=text, at_least=number, max_rows=max_rows, step=Fraction(1), up=0, down=0
        )
        low, high, step = _moved(plan(asked.question(table, None, number), population))
        return replace(asked, step=step, up=high, down=-low)

    def question(self, table: str, asked: Any, number: Fraction) -> Question:
        """Return the question about rows for which `asked` is true, or, of a correlation, of the value `asked`."""
        rows: dict[str, Any] = {"table": table, "max_rows": self.max_rows}
        match self.statistic:
            case StreamedKind.TOTAL:
                return _TotalAtLeast(value=as_value(self.value), least=number, where=as_condition(asked), **rows)
            case StreamedKind.PROPORTION:
                met, p, q = as_condition(self.value), number.numerator, number.denominator
                told = Case(((met, Literal(q - p)), (Not(met), Literal(-p))), Literal(0))
                rows |= {"where": as_condition(asked), "unit": Fraction(1, q)}
                return _TotalAtLeast(value=told, least=Fraction(0), **rows)
            case StreamedKind.CORRELATION:
                other = as_value(self.value if asked is None else asked)
                return _CorrelationAtLeast(x=as_value(self.value), y=other, share=number, least=Fraction(0), **rows)

    @property
    def threshold(self) -> int:
        """The number that a sum is compared with, in steps."""
        return self.threshold_of(self.at_least)

    def threshold_of(self, number: Fraction) -> int:
        """Return the number of steps that a sum must reach for `number`; of a share or a correlation it is 0."""
        return math.ceil(number / self.step) if self.statistic is StreamedKind.TOTAL else 0

    @property
    def asks(self) -> str:
        """What is asked, in words."""
        number = format_short(self.at_least)
        match self.statistic:
            case StreamedKind.TOTAL:
                return f"a total of {self.value} of at least {number}?"
            case StreamedKind.PROPORTION:
                return f"a share of at least {number} with {self.value}?"
            case StreamedKind.CORRELATION:
                return f"a correlation of at least {number} with {self.value}?"

    @property
    def unit(self) -> str:
        """What its gap and its number count."""
        match self.statistic:
            case StreamedKind.TOTAL:
                return "value"
            case StreamedKind.PROPORTION:
                return f"more than {format_short(self.at_least)} of the rows"
            case StreamedKind.CORRELATION:
                return "score"


@frozen(repr=False, eq=False)
class _Streamed(Question):
    """Whether the sum that decides a question of a stream is at least `least`."""

    least: Fraction

    def _plan(self, planner: Planner, measured: Measure, unit: Fraction, ends: tuple[int, int] | None = None) -> Plan:
        """Clip a person's part to what their rows can add; `unit` is what a step of the term is divided by."""
        planner.require_ungrouped()
        rows = planner.rows()
        low, high = (end * rows for end in ends or bounds(measured.term))
        bounding = ClippedSumPerPerson(term=measured.term, low=min(0, low), high=max(0, high), max_cells=1)
        step = measured.step * unit
        steps = math.ceil(self.least / step)
        if abs(steps) > _FARTHEST:
            remedy = "ask for a number that people can add up to"
            raise ParameterError("at_least", self.least, reason="is out of reach", remedy=remedy)
        return planner.build(bounding, AtLeastValue(steps=steps, step=step))


@frozen(repr=False, eq=False)
class _TotalAtLeast(_Streamed):
    value: Value
    unit: Fraction = Fraction(1)

    def plan(self, planner: Planner) -> Plan:
        asked = planner.of_rows(self.value)
        rows = planner.rows()
        (measured,) = planner.measure([asked], lambda values: rows * max(map(abs, bounds(values[0].term))))
        return self._plan(planner, measured, self.unit)


@frozen(repr=False, eq=False)
class _CorrelationAtLeast(_Streamed):
    """2q Σxy - p Σ(x² + y²), with x and y from -RESOLUTION to RESOLUTION around the middles of their ranges.

    Where a value is missing the row adds nothing.
    """

    x: Value
    y: Value
    share: Fraction

    def plan(self, planner: Planner) -> Plan:
        values = [planner.scope.spelled(one) for one in (self.x, self.y)]
        x, y = (_scaled(one) for one in planner.measure(values, lambda _: 1))
        p, q = self.share.numerator, self.share.denominator
        squares = plus(times(x, x), times(y, y))
        term = plus(times(ConstantTerm(2 * q), times(x, y)), times(ConstantTerm(-p), squares))
        most = 2 * RESOLUTION**2  # 2xy <= x² + y², so that these bounds are closer than those of the parts
        step = Fraction(1, RESOLUTION**2 * q)
        return self._plan(planner, Measure(term, 0), step, (-most * (p + q), most * (q - p)))


def _scaled(value: Measure) -> Term:
    """Return a value as a whole number from -RESOLUTION to RESOLUTION; one that is always the same is refused."""
    scale_of(value)
    low, high = bounds(value.term)
    middled = plus(times(ConstantTerm(2 * RESOLUTION), value.term), ConstantTerm(-RESOLUTION * (low + high)))
    return FunctionOf("round", (middled,), high - low)


@stored("at-least-value")
class AtLeastValue(Meaning):
    """Whether a sum is at least `steps`, each of which stands for `step`."""

    family = Family.SPARSE_VECTOR
    unit = "value"
    steps: int
    step: Fraction

    def asked(self, plan: Plan) -> str:
        """Say which sum, and what it is compared with."""
        clipped = plan.bounded_by(ClippedSumPerPerson)
        part = from_to(clipped.low * self.step, clipped.high * self.step)
        return f"whether a sum to which a person adds {part} is at least {plain(self.steps * self.step)}"

    def hidden(self, plan: Plan) -> str:
        """Say how far one person can move the sum."""
        moved = plain(plan.sensitivity.l1 * self.step)
        return f"one person changes the sum by at most {moved}, and noise hides that much"


class ValueStreamPlanner:
    """Plans what a stream of totals, shares or correlations is asked; its questions are conditions, or values."""

    def __init__(self, population: Population, table: str, of: StreamedValue) -> None:
        self._population, self._table, self._of = population, population.table(table).name, of

    def plan(self, asked: Iterable[Any], at_least: object = None) -> list[tuple[Plan, str]]:
        """Return the plan of each question, and its canonical text; or refuse them all."""
        number, of = self._of.at_least, self._of
        if at_least is not None:
            number = exact("at_least", as_written(at_least))
            if of.statistic is not StreamedKind.TOTAL and number != of.at_least:
                reason = f"is another {of.statistic.value} than the stream's, {format_short(of.at_least)}"
                raise ParameterError("at_least", at_least, reason=reason, remedy="open a stream for it")
        several = list(asked)
        with deadline(seconds_for(len(several))):
            plans = [self._plan(one, number) for one in several]
        return [(one, one.canonical) for one in plans]

    def _plan(self, asked: Any, number: Fraction) -> Plan:
        of = self._of
        unsaid = asked is None or (isinstance(asked, str) and not asked.strip())
        if of.statistic is StreamedKind.CORRELATION and unsaid:
            raise BadQuestionError(f"which value goes with {of.value} is asked; name one, such as another column")
        planned = plan(of.question(self._table, asked, number), self._population)
        low, high, step = _moved(planned)
        if high > of.up or -low > of.down or step != of.step:
            raise BadQuestionError(
                f"one person can now move this further than when the stream was opened ({low} to {high} steps of "
                f"{step}, {-of.down} to {of.up} of {of.step} then): its declaration was changed; open a new stream"
            )
        return planned


def _moved(planned: Plan) -> tuple[int, int, Fraction]:
    """Return between which numbers of steps a person's part of the sum lies, and what a step stands for."""
    clipped = planned.bounded_by(ClippedSumPerPerson)
    return clipped.low, clipped.high, planned.meaning.step if isinstance(planned.meaning, AtLeastValue) else Fraction(1)


_EXAMPLES: Final = {StreamedKind.TOTAL: "age", StreamedKind.PROPORTION: "age >= 65", StreamedKind.CORRELATION: "age"}


def _text(given: object, population: Population, table: str, kind: StreamedKind) -> str:
    """Return a value, or a condition, as text: what was written, or what was built as one would write it."""
    if isinstance(given, str):
        return given.strip()
    if not isinstance(given, Condition | Value):
        raise BadQuestionError(
            "this is neither a value nor a condition; write one as text: ", Setting(kind.value, _EXAMPLES[kind])
        )
    part: ConditionLike | ValueLike = as_condition(given) if kind is StreamedKind.PROPORTION else as_value(given)
    return Speller(population, population.table(table)).part(part)


def asked_for(meaning: Meaning) -> int:
    """Return how many people, or steps, a question of a stream asks for; streams are asked nothing else."""
    return meaning.steps if isinstance(meaning, AtLeastValue) else people_asked_for(meaning)
