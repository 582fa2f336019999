"""The verbs: a regression in five rounds under one charge, and what it would cost and tell, for nothing.

What is charged, what is summed and how much noise there is follow from what is declared and what is paid. Each round
reads the one bounded row of each person, adds noise and is committed, once. The same regression of the same data at
the same price is read back, for nothing.

Proof: proofs/regression_rounds.md
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from lapwing.accounting.filters.charge import SingleRelease
from lapwing.analyses.formula import read_formula
from lapwing.analyses.regression import Regression
from lapwing.analyses.regression_again import KIND, AskedRegression, regression_from
from lapwing.analyses.regression_course import ROUNDS, At, Build, Course
from lapwing.analyses.regression_design import read_design
from lapwing.analyses.regression_models import MODELS
from lapwing.analyses.regression_preview import RegressionPreview, assumed_of, refuse_hopeless
from lapwing.answers.releases import Price
from lapwing.answers.target import AtEpsilon, AtRho, Target, TargetWords, parse_target
from lapwing.mechanisms.gaussian import smallest_variance
from lapwing.mechanisms.row_sums import Whole
from lapwing.queries.algebra.aggregate import Aggregate, tables_of
from lapwing.queries.language.builders import ConditionLike
from lapwing.reserved import reserve_analysis
from lapwing.rounds import RoundReader
from lapwing.vocabulary.deadline import deadline
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.event import GaussianNoise
from lapwing.vocabulary.exact import Sensitive, as_confidence, float_below
from lapwing.vocabulary.guarantee import Guarantee, PureDP, currency_of
from lapwing.vocabulary.results import shows_words

if TYPE_CHECKING:
    from lapwing.session import AskingSession, Session

Progress: TypeAlias = Callable[[int, int], object]
"""What is told after each round: how many are done, of how many."""


@shows_words(TargetWords, confidence="0.95")
def preview_regress(
    session: "AskingSession",
    table: str,
    formula: str,
    *,
    model: str = "linear",
    where: ConditionLike = None,
    assume: Mapping[str, Any] | None = None,
    **target: Unpack[TargetWords],
) -> RegressionPreview:
    """Say what a regression would cost, and how wide its intervals would be if people are as assumed. It is free.

    Parameters
    ----------
    assume : `people`, and `events` for other models than the linear one: the share of people with the outcome, or the
        mean of the counts. Guesses, or numbers from elsewhere, never looked up in the data for it
    """
    asked = asked_regression(session, table, formula, model, where, **target)
    event, before = asked.course.event, session.budget()
    return RegressionPreview(
        design=asked.design,
        model=model,
        price=Price.of(event, currency_of(before.account.budget)),
        confidence=asked.confidence,
        assume=dict(assume or {}),
        assumed=None if assume is None else assumed_of(asked.course, assume),
        before=before,
        after=before.after(SingleRelease(event=event)),
    )


@shows_words(TargetWords, confidence="0.95")
def regress(
    session: "Session",
    table: str,
    formula: str,
    *,
    model: str = "linear",
    where: ConditionLike = None,
    assume: Mapping[str, Any] | None = None,
    key: str | None = None,
    progress: Progress | None = None,
    **target: Unpack[TargetWords],
) -> Regression:
    """Fit a linear, logistic or Poisson regression in five rounds, and pay for all of them at once.

    The same regression of the same data at the same price is free, and so is the same `key`, for ever. Of somebody who
    has several rows in the table one counts, which is picked by hash.

    Parameters
    ----------
    table : the table whose columns the formula names
    formula : "sbp ~ age/10 + sex + age:smoker": an outcome, and columns, products of two, and units
    model : "linear", "logistic" for an outcome that is true or false, or "poisson" for counts
    where : which people
    assume : as of `preview_regress`; where it says that intervals would say nothing, the regression is refused
    key : the idempotency key
    progress : called after each round with how many are done, of how many; what it raises stops the fit there, and the
        same key goes on with it
    target : `rho=`, or `epsilon=` with `delta=`: the noise is Gaussian, which no pure budget pays for
    """
    asked = asked_regression(session, table, formula, model, where, **target)
    course, aggregate = asked.course, asked.design.plan.aggregate
    if assume is not None:
        refuse_hopeless(assumed_of(course, assume), assume)
    read = sorted(tables_of(aggregate))
    rounds = reserve_analysis(session, KIND, event=course.event, rounds=ROUNDS, terms=asked.terms, tables=read, key=key)

    read_once = _ReadOnce(aggregate)

    def ask(number: int, at: At, build: Build) -> Mapping[str, Any]:
        def draw(reader: RoundReader) -> dict[str, Any]:
            round_ = build(at)
            released = course.mechanism(round_).release(read_once.rows(reader), round_.add)
            return {"at": dict(at), "released": released, "versions": dict(reader.versions)}

        drawn: Mapping[str, Any] = rounds.round({"round": number}, draw)
        if progress is not None:
            progress(number, ROUNDS)
        return drawn

    with rounds:
        return regression_from(session, asked, ask, name=rounds.name)


class _ReadOnce:
    """The rows of people, still closed: read by the first round that is drawn, and again for a version that is new."""

    def __init__(self, aggregate: Aggregate) -> None:
        self._aggregate = aggregate
        self._kept: tuple[dict[str, int], Sensitive[Whole]] | None = None

    def rows(self, reader: RoundReader) -> Sensitive[Whole]:
        """Return the rows as the versions of a round have them."""
        versions = dict(reader.versions)
        if self._kept is None or self._kept[0] != versions:
            self._kept = versions, reader.people(self._aggregate)
        return self._kept[1]


def asked_regression(
    session: "AskingSession", table: str, formula: str, model: str, where: ConditionLike, **target: Unpack[TargetWords]
) -> AskedRegression:
    """Read what is asked for, and choose the noise; refuse before anything is charged."""
    if model not in MODELS:
        raise ParameterError("model", model, reason="is unknown", remedy=f"write one of {', '.join(MODELS)}")
    population = session.population
    wanted = parse_target(**target)
    with deadline():
        design = read_design(table, read_formula(formula), model, where, population)
        rho = _rho_of(wanted, session.budget().account.budget)
    low = design.scales[-1].low
    course = Course(
        grid=design.grid,
        two_valued=design.two_valued,
        model=model,
        outcome_low=int(low) if low == int(low) else 0,
        rho=rho,
        unit=population.unit,
    )
    course.check_price()
    return AskedRegression(
        design=design, course=course, model=model, confidence=as_confidence(target.get("confidence", "0.95"))
    )


def _rho_of(target: Target, budget: Guarantee) -> Fraction:
    """Return the rho that is paid; refuse what Gaussian noise cannot be paid with."""
    if isinstance(budget, PureDP):
        raise BadQuestionError(
            "a regression adds Gaussian noise, which no pure budget pays for; let the custodian open a budget with a "
            "delta or in rho, or compare groups, which costs one count"
        )
    match target:
        case AtRho(rho=rho):
            return rho
        case AtEpsilon(epsilon=epsilon, delta=Fraction() as delta):
            return _rho_at(epsilon, delta)
        case AtEpsilon(epsilon=epsilon):
            remedy = "offer a delta with it, or a rho"
            raise ParameterError("epsilon", str(epsilon), reason="alone pays for no Gaussian noise", remedy=remedy)
        case _:
            raise BadQuestionError(
                "how exact a regression is depends on the data; offer a price, and see preview_regress(assume=...)"
            )


@lru_cache(maxsize=64)
def _rho_at(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho of Gaussian noise within an epsilon and a delta; finding it takes time, so it is kept."""

    def noise(variance: Fraction) -> GaussianNoise:
        return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=variance)

    return Fraction(float_below(1 / (2 * smallest_variance(noise, epsilon=epsilon, delta=delta))))
