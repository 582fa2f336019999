"""The verbs: any function of people's numbers, by sample and aggregate, with nothing assumed about the function.

Everybody falls into one of many chunks. The function, which the custodian brings, is computed on each chunk in a
process of its own; what is released is the median or the mean of its numbers, with noise for a change in one of them.
So the price depends on nothing that the function does, and the error on how much it varies from chunk to chunk.

Proof: proofs/sample_and_aggregate.md
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np

from lapwing.accounting.filters.charge import SingleRelease
from lapwing.analyses.chunk_function import ChunkFunction
from lapwing.analyses.chunk_processes import chunk_processes
from lapwing.analyses.estimated_value import EstimatedValue, EstimatePreview
from lapwing.analyses.regression_design import RowOfPerson
from lapwing.analyses.simulated_draws import draws_from
from lapwing.answers.releases import Price
from lapwing.answers.target import AtEpsilon, TargetWords, parse_target
from lapwing.mechanisms.sample_and_aggregate import SampleAndAggregate, WholeRows
from lapwing.queries.algebra.aggregate import tables_of
from lapwing.queries.catalogue.column import Boolean, Category, Column, Integer, Real
from lapwing.queries.language.builders import ConditionLike, as_condition
from lapwing.queries.language.expressions import Case, Literal, Name, Truth, TruthOf, Value
from lapwing.queries.planning.plan import Plan, Scale
from lapwing.queries.planning.planner import plan
from lapwing.queries.statistics.moments import Moments
from lapwing.reserved import reserve_analysis
from lapwing.rounds import IfLost, ReservationKind, RoundReader
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.deadline import deadline
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.exact import Exact, as_confidence, as_int, as_written, check_most, exact, positive
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import PureDP, currency_of
from lapwing.vocabulary.results import shows_words

if TYPE_CHECKING:
    from lapwing.session import Session

KIND: Final = ReservationKind(name="estimate", if_lost=IfLost.ENDS)
_EXTENT: Final = 2**14
"""Steps between the two ends that a number lies between."""
_MOST_COLUMNS: Final = 50
_REHEARSED: Final = 40
_LONGEST_SECONDS: Final = 3600
_SEED: Final = 30_000


@frozen()
class _AskedEstimate:
    function: ChunkFunction
    plan: Plan
    scales: tuple[Scale, ...]
    mechanism: SampleAndAggregate
    low: Fraction
    high: Fraction
    seconds: float

    def on_rows(self, rows: WholeRows) -> Any:
        """Return rows of whole numbers in the units of their columns."""
        lows = np.array([float(one.low) for one in self.scales])
        return lows + rows * np.array([float(one.step) for one in self.scales])

    def place(self, number: float) -> int:
        """Return the nearest step of a number between the ends; the middle for what is none."""
        if math.isnan(number):
            return _EXTENT // 2
        part = (number - float(self.low)) / float(self.high - self.low)
        return round(min(max(part, 0.0), 1.0) * _EXTENT)


@shows_words(TargetWords, confidence="0.95")
def preview_estimate(
    session: "Session",
    function: "Callable[..., Any] | str",
    table: str,
    columns: Sequence[str],
    *,
    low: Exact,
    high: Exact,
    chunks: int,
    aggregate: str = "median",
    where: ConditionLike = None,
    seconds: float = 60,
    **target: Unpack[TargetWords],
) -> EstimatePreview:
    """Say what an estimate would cost, and try its function on made-up rows. It is free."""
    asked = _asked(
        session,
        target,
        function=function,
        table=table,
        columns=columns,
        low=low,
        high=high,
        chunks=chunks,
        aggregate=aggregate,
        where=where,
        seconds=seconds,
    )
    before, mechanism = session.budget(), asked.mechanism
    return EstimatePreview(
        function=asked.function.called,
        chunks=mechanism.chunks,
        aggregate=aggregate,
        price=Price.of(mechanism.event, currency_of(before.account.budget)),
        width=float(asked.high - asked.low),
        reach=mechanism.reach(target.get("confidence", "0.95")),
        confidence=as_confidence(target.get("confidence", "0.95")),
        before=before,
        after=before.after(SingleRelease(event=mechanism.event)),
    )


@shows_words(TargetWords, confidence="0.95")
def estimate(
    session: "Session",
    function: "Callable[..., Any] | str",
    table: str,
    columns: Sequence[str],
    *,
    low: Exact,
    high: Exact,
    chunks: int,
    aggregate: str = "median",
    where: ConditionLike = None,
    seconds: float = 60,
    key: str | None = None,
    **target: Unpack[TargetWords],
) -> EstimatedValue:
    """Estimate what any function of people's numbers is, with nothing known about the function; and pay for it.

    The function gets a table of numbers, a row a person and a column for each of `columns`, and returns one number. It
    is computed on each of `chunks` parts of the people, each in a process of its own that sees nothing else; the median
    of what comes out is released, by the exponential mechanism. People with a value missing are in no chunk.

    Parameters
    ----------
    function : of a module, as np.median; written with `def`, using modules only; or "file.py:name"
    table : the table to look in; of somebody with several rows one counts, which is picked by hash
    columns : numbers, truth values (1 and 0), and categories (their places among the declared values)
    low, high : between which numbers the result lies, whatever the data are; what is beyond them counts as the end
    chunks : into how many parts people fall: more of them need less noise, and have fewer people each
    aggregate : "median", "mean", or with a delta "smooth median", whose noise follows how near the numbers are
    where : which people
    seconds : how long a chunk may take; the number of one that fails or takes longer is the middle
    key : the idempotency key
    target : `epsilon=`; with a `delta=` for a smooth median

    >>> import tempfile, numpy as np, lapwing as lw
    >>> with lw.create(lw.make_clinic(tempfile.mkdtemp() + "/clinic", people=5000)) as workspace:
    ...     clinic = workspace.session()
    ...     middle = clinic.estimate(np.median, "patient", ["age"], low=0, high=100, chunks=60, epsilon=1)
    >>> 30 < middle.value < 70
    True
    """
    asked = _asked(
        session,
        target,
        function=function,
        table=table,
        columns=columns,
        low=low,
        high=high,
        chunks=chunks,
        aggregate=aggregate,
        where=where,
        seconds=seconds,
    )
    mechanism, aggregated = asked.mechanism, asked.plan.aggregate
    terms = {
        "function": asked.function.identity,
        "plan": digest(asked.plan.canonical),
        "chunks": mechanism.chunks,
        "aggregate": aggregate,
        "ends": [str(asked.low), str(asked.high)],
    }

    def draw(reader: RoundReader) -> dict[str, Any]:
        with chunk_processes(asked.function, asked.seconds) as processes:

            def evaluate(parts: Sequence[WholeRows]) -> list[int]:
                return [asked.place(processes.number(asked.on_rows(one))) for one in parts]

            return {"released": mechanism.release(reader.people(aggregated), evaluate)}

    read = sorted(tables_of(aggregated))
    reserved = reserve_analysis(session, KIND, event=mechanism.event, rounds=1, terms=terms, tables=read, key=key)
    with reserved as rounds:
        outcome = rounds.round({"chunks": mechanism.chunks}, draw)
    parts = mechanism.chunks if aggregate == "mean" else 1
    value = float(asked.low) + outcome["released"] / parts / _EXTENT * float(asked.high - asked.low)
    return EstimatedValue(
        function=asked.function.called,
        value=min(max(value, float(asked.low)), float(asked.high)),
        chunks=mechanism.chunks,
        aggregate=aggregate,
        width=float(asked.high - asked.low),
        reach=mechanism.reach(target.get("confidence", "0.95")),
        confidence=as_confidence(target.get("confidence", "0.95")),
        price=Price.of(mechanism.event, currency_of(session.budget().account.budget)),
        name=reserved.name,
    )


def _asked(
    session: "Session",
    target: TargetWords,
    *,
    function: "Callable[..., Any] | str",
    table: str,
    columns: Sequence[str],
    low: Exact,
    high: Exact,
    chunks: int,
    aggregate: str,
    where: ConditionLike,
    seconds: float,
) -> _AskedEstimate:
    """Read what is asked for, and try the function on made-up rows; refuse before anything is charged."""
    least, most = exact("low", as_written(low)), exact("high", as_written(high))
    if most <= least:
        remedy = "write between which numbers the result lies, the smaller one first"
        raise ParameterError("high", high, reason=f"is not above low, {low}", remedy=remedy)
    limit = float(positive("seconds", as_written(seconds)))
    if limit > _LONGEST_SECONDS:
        raise ParameterError("seconds", seconds, reason="is too long for a chunk", remedy="write at most 3600")
    sent = ChunkFunction.of(function)
    with deadline():
        planned = _planned(session, table, columns, where)
        epsilon, delta = _price_of(session, target)
        mechanism = SampleAndAggregate(
            chunks=as_int("chunks", chunks),
            extent=_EXTENT,
            epsilon=epsilon,
            delta=delta,
            aggregate=aggregate,
            unit=session.population.unit,
        )
    meaning = planned.meaning
    if not isinstance(meaning, Moments):
        raise TypeError(meaning)
    asked = _AskedEstimate(
        function=sent, plan=planned, scales=meaning.scales, mechanism=mechanism, low=least, high=most, seconds=limit
    )
    _rehearse(asked)
    return asked


def _price_of(session: "Session", target: TargetWords) -> tuple[Fraction, Fraction | None]:
    match parse_target(**target):
        case AtEpsilon(epsilon=epsilon, delta=delta):
            if delta is not None and isinstance(session.budget().account.budget, PureDP):
                remedy = "offer an epsilon alone, or let the custodian open a budget with a delta"
                raise ParameterError("delta", str(delta), reason="cannot be paid from a pure budget", remedy=remedy)
            return epsilon, delta
        case _:
            given = ", ".join(name for name in target if name != "confidence")
            remedy = "offer an epsilon; any account is charged for it"
            raise ParameterError("price", given, reason="cannot pay for an estimate", remedy=remedy)


def _planned(session: "Session", table: str, columns: Sequence[str], where: ConditionLike) -> Plan:
    if isinstance(columns, str) or not columns:
        raise ParameterError("columns", columns, reason="is no list of columns", remedy='write ["age", "sbp"]')
    check_most("columns", len(columns), _MOST_COLUMNS, "name fewer")
    known = session.population.table(table)
    values = tuple(_value(known.column(name)) for name in columns)
    return plan(RowOfPerson(table=table, where=as_condition(where), values=values), session.population)


def _value(column: Column) -> Value:
    """Return a column as a number."""
    name = Name(column.name)
    match column.type:
        case Boolean():
            return TruthOf(Truth(name))
        case Category(values=values):
            return Case(tuple((name == one, Literal(place)) for place, one in enumerate(values)))
        case Integer() | Real():
            return name
        case _:
            raise BadQuestionError(
                f"{column.name!r} holds neither numbers nor declared values; name other columns, or let the custodian "
                "declare one that is computed from it"
            )


def _rehearse(asked: _AskedEstimate) -> None:
    """Try the function on made-up rows: one that gives no number there would give the middle everywhere."""
    extents = np.array([one.extent for one in asked.scales])
    rows = draws_from(_SEED).integers(0, extents + 1, (_REHEARSED, len(extents)))
    with chunk_processes(asked.function, min(asked.seconds, 10.0)) as processes:
        number = processes.number(asked.on_rows(rows))
    if math.isnan(number):
        raise BadQuestionError(
            f"{asked.function.called} gave no number for {_REHEARSED} made-up rows of {len(extents)} columns; nothing "
            "was charged: let it return one number for an array of rows and columns, within its seconds"
        )
