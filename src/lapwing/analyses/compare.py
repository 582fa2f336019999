"""The verbs: comparing groups, at the price of one count, and how likely a difference would be seen, for nothing."""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np

from lapwing.analyses.cell_noise import CellNoise, Numbers, released_cells, seeded
from lapwing.analyses.comparison import METHODS, Comparison, GroupEstimate, rows_of
from lapwing.analyses.comparison_preview import ComparisonPreview
from lapwing.analyses.group_tests import (
    TestOutcome,
    judge_means,
    judge_proportions,
    judge_ranks,
    judge_table,
    means_statistic,
    power_of_means,
    power_of_proportions,
)
from lapwing.analyses.simulated_draws import SimulatedDraws, draws_from
from lapwing.answers.target import TargetWords
from lapwing.queries.catalogue.column import Boolean, Category, Column, Integer, Real
from lapwing.queries.catalogue.population import RowsPerPerson, Table
from lapwing.queries.language.builders import ConditionLike, bins
from lapwing.queries.planning.planner import Question, plan
from lapwing.queries.statistics.counts import count
from lapwing.queries.statistics.moments import variance
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.exact import Exact, as_written, probability
from lapwing.vocabulary.results import shows_words

if TYPE_CHECKING:
    from lapwing.answers.answer import Answer
    from lapwing.session import AskingSession

_BINS: Final = 32
_MOST_NAMED: Final = 6
_SEED: Final = 20_000


@shows_words(TargetWords, confidence="0.95")
def compare(
    session: "AskingSession",
    table: str,
    outcome: str,
    *,
    by: str,
    where: ConditionLike = None,
    groups: Sequence[Any] | None = None,
    method: str | None = None,
    key: str | None = None,
    **target: Unpack[TargetWords],
) -> Comparison:
    """Compare groups of people in one outcome, and pay what one count costs.

    A condition, or a column that is true or false, is compared by proportions; a number by its mean (Welch's t), or by
    rank; a category in a table (chi-square). The p-value simulates the null with the noise in it.

    Parameters
    ----------
    table : one with one row a person
    outcome : a column, or a condition such as "sbp >= 140"
    by : the column, or the condition, that makes the groups
    where : which people
    groups : the two groups, where `by` has more
    method : "proportions", "t", "rank" or "chi-square", where another one is meant
    key : the idempotency key
    target : `epsilon=`, `epsilon=` with `delta=`, or `rho=`

    >>> import tempfile, lapwing as lw
    >>> with lw.create(lw.make_clinic(tempfile.mkdtemp() + "/clinic", people=2000)) as workspace:
    ...     compared = workspace.session().compare("patient", "diabetes", by="sex", epsilon=1)
    >>> [one.group for one in compared.groups], 0 < compared.p <= 1
    (['F', 'M'], True)
    """
    told, asked = compared_by(session, table, outcome, by=by, where=where, groups=groups, method=method)
    answer = session.ask(asked, key=key, **target)
    return judge(answer, told, outcome=outcome, by=by, groups=groups)


@shows_words(TargetWords, confidence="0.95")
def preview_compare(
    session: "AskingSession",
    table: str,
    outcome: str,
    *,
    by: str,
    where: ConditionLike = None,
    groups: Sequence[Any] | None = None,
    method: str | None = None,
    assume: Mapping[str, Sequence[float]] | None = None,
    power: Exact | None = None,
    **target: Unpack[TargetWords],
) -> ComparisonPreview:
    """Say what a comparison would cost, and how likely it would see an assumed difference. It is free.

    Parameters
    ----------
    assume : what is assumed, of both groups: `people`, and `shares`, or for numbers `means` and `deviations`; guesses,
        or numbers from elsewhere, never looked up in the data for it
    power : how likely the difference is to be seen, such as "0.8", in place of a price: it finds the smallest epsilon

    >>> import tempfile, lapwing as lw
    >>> with lw.create(lw.make_clinic(tempfile.mkdtemp() + "/clinic", people=200)) as workspace:
    ...     found = workspace.session().preview_compare(
    ...         "patient", "diabetes", by="sex", epsilon=1, assume={"people": (500, 500), "shares": (0.10, 0.16)}
    ...     )
    >>> round(found.power, 1)
    0.8
    """
    told, asked = compared_by(session, table, outcome, by=by, where=where, groups=groups, method=method)

    def at(offer: TargetWords) -> ComparisonPreview:
        preview = session.preview(asked, **offer)
        ((_, release),) = preview.asked.releases.items()
        planned: Any = release.source.plan
        noise = CellNoise(release.mechanism.event, getattr(planned.aggregate.bounding, "most", 1))
        found = None if assume is None else _power(told, assume, noise, getattr(planned.meaning, "scales", ()))
        return ComparisonPreview(preview=preview, method=told, power=found, assumed=dict(assume or {}))

    if power is None:
        return at(target)
    given = [name for name in target if name != "confidence"]
    if assume is None or given:
        reason = "needs what is assumed" if assume is None else f"is asked for in place of {', '.join(given)}"
        remedy = 'write power="0.8" with assume=, and no price'
        raise ParameterError("power", power, reason=reason, remedy=remedy)
    return _at_least_price(probability("power", as_written(power)), at, target)


_DEAREST: Final = Fraction(20)
_FINEST: Final = Fraction(1, 1000)


def _at_least_price(
    wanted: Fraction, at: Callable[[TargetWords], ComparisonPreview], target: TargetWords
) -> ComparisonPreview:
    """Return the preview at the smallest epsilon, to a hundredth of itself, at which a difference is seen so likely."""

    def power_at(epsilon: Fraction) -> float:
        return at({**target, "epsilon": epsilon}).power or 0.0

    most = power_at(_DEAREST)
    if most < wanted:
        raise BadQuestionError(
            f"no price buys a power of {float(wanted):.0%}: with next to no noise it is {most:.0%}; ask about more "
            "people, or suppose a larger difference"
        )
    low, high = _FINEST, _DEAREST
    while high > low * Fraction(101, 100):
        middle = Fraction(f"{math.sqrt(low * high):.4g}")
        low, high = (low, middle) if power_at(middle) >= wanted else (middle, high)
    return at({**target, "epsilon": Fraction(f"{math.ceil(high * 1000) / 1000:.3f}")})


def compared_by(
    session: "AskingSession",
    table: str,
    outcome: str,
    *,
    by: str,
    where: ConditionLike = None,
    groups: Sequence[Any] | None = None,
    method: str | None = None,
) -> tuple[str, Question]:
    """Return how an outcome is compared, and the question for it; refuse what cannot be, before anything is charged."""
    told = _method(session, table, outcome, by, method)
    asked = _question(told, table, outcome, by, where)
    cells = plan(asked, session.population).aggregate.cells
    if cells is None:
        raise BadQuestionError(
            f"the values of {by!r} are not declared; list two of them in `where`: {by} in ('A', 'B')"
        )
    if told != "chi-square":
        _two(list(dict.fromkeys(cell[0] for cell in cells)), groups, by)
    return told, asked


def _power(method: str, assumed: Mapping[str, Sequence[float]], noise: CellNoise, scales: Sequence[Any]) -> float:
    random = draws_from(_SEED)
    known = {"people", "shares"} if method == "proportions" else {"people", "means", "deviations"}
    if method not in {"proportions", "t"}:
        reason = f"has no power for {METHODS[method]}"
        raise ParameterError("assume", dict(assumed), reason=reason, remedy="leave it out, or compare shares or means")
    if set(assumed) != known or any(len(two) != 2 for two in assumed.values()):  # noqa: PLR2004 - two groups
        remedy = "write " + ", ".join(f"{word}=(first, second)" for word in sorted(known))
        raise ParameterError("assume", dict(assumed), reason="does not describe two groups", remedy=remedy)
    people = np.array(assumed["people"], dtype=np.float64)
    if people.min() < 2:  # noqa: PLR2004 - a group
        raise ParameterError("people", list(people), reason="are too few for a group", remedy="assume 2 or more")
    if method == "proportions":
        shares = np.array(assumed["shares"], dtype=np.float64)
        if not 0 <= shares.min() <= shares.max() <= 1:
            raise ParameterError("shares", list(shares), reason="are not between 0 and 1", remedy="write 0.1 for 10 %")
        return power_of_proportions(people, shares, noise, random)
    (scale,) = scales
    low, width = float(scale.low), float(scale.width)
    means = (np.array(assumed["means"], dtype=np.float64) - low) / width
    deviations = np.array(assumed["deviations"], dtype=np.float64) / width
    if means.min() < 0 or means.max() > 1 or deviations.min() <= 0:
        reason = f"are not within the declared bounds, {low:g} to {low + width:g}"
        raise ParameterError("means", list(assumed["means"]), reason=reason, remedy="assume means within them")
    return power_of_means(people, means, deviations, noise, random)


def judge(answer: "Answer", method: str, *, outcome: str, by: str, groups: Sequence[Any] | None = None) -> Comparison:
    """Return the comparison that a released table makes: estimates, and the test of its null. It is free."""
    cells, noise = released_cells(answer)
    random = seeded(answer, method)
    found: dict[Any, list[tuple[Any, Sequence[int]]]] = {}
    for key, numbers in rows_of(cells):
        found.setdefault(key[0], []).append((key[1:], numbers))
    if method == "chi-square":
        table = np.array([[numbers[0] for _, numbers in row] for row in found.values()], dtype=np.float64)
        tested = judge_table(table, noise, random)
        return Comparison(
            method=method, outcome=outcome, by=by, groups=(), statistic=tested.statistic, p=tested.p, answer=answer
        )
    chosen = _two(list(found), groups, by)
    if method == "t":
        sums = {one: found[one][0][1] for one in chosen}
        tested, estimates = _means(answer, sums, noise, random)
        return Comparison(
            method=method,
            outcome=outcome,
            by=by,
            groups=estimates,
            statistic=tested.statistic,
            p=tested.p,
            answer=answer,
        )
    table = np.array([[numbers[0] for _, numbers in found[one]] for one in chosen], dtype=np.float64)
    if method == "rank":
        tested = judge_ranks(table, noise, random)
        estimates = tuple(
            GroupEstimate(group=one, people=float(row.sum()), value=value, error=error, lowest=0.0, highest=1.0)
            for one, row, value, error in zip(chosen, table, *_mean_ranks(table, noise), strict=True)
        )
    else:
        tested = judge_proportions(table, noise, random)
        estimates = tuple(_share(one, row, noise) for one, row in zip(chosen, table, strict=True))
    return Comparison(
        method=method, outcome=outcome, by=by, groups=estimates, statistic=tested.statistic, p=tested.p, answer=answer
    )


def _share(group: Any, cells: Numbers, noise: CellNoise) -> GroupEstimate:
    """Return the share of one group; its error has the sampling of people and the noise of both cells in it.

    The error is that of two people more of each kind (Agresti and Caffo): of a share near 0 the plain one is too small.
    """
    people = max(float(cells.sum()), 1.0)
    share = min(max(float(cells[1]) / people, 0.0), 1.0)
    more = people + 2
    near = (share * people + 1) / more
    error = math.sqrt(near * (1 - near) / more + noise.variance * ((1 - near) ** 2 + near**2) / people**2)
    return GroupEstimate(group=group, people=float(cells.sum()), value=share, error=error, lowest=0.0, highest=1.0)


def _mean_ranks(table: Numbers, noise: CellNoise) -> tuple[list[float], list[float]]:
    """Return the mean rank of each group, from 0 to 1, and its error."""
    pooled = table.sum(0)
    together = max(float(pooled.sum()), 2.0)
    ranks = (np.cumsum(pooled) - pooled / 2) / together
    people = np.maximum(table.sum(1), 1.0)
    means = np.clip((table * ranks).sum(1) / people, 0, 1)
    spread = 1 / 12 / people + noise.variance * ((ranks - means[:, None]) ** 2).sum(1) / people**2
    return list(map(float, means)), list(map(float, np.sqrt(spread)))


def _means(
    answer: "Answer", sums: Mapping[Any, Sequence[int]], noise: CellNoise, random: SimulatedDraws
) -> tuple[TestOutcome, tuple[GroupEstimate, ...]]:
    """Return the test of two means, and what is known of each group, in the unit of the column."""
    released = np.array(list(sums.values()), dtype=np.float64) / noise.unit
    ((_, release),) = answer.asked.releases.items()
    meaning: Any = release.source.plan.meaning
    (scale,) = meaning.scales
    low, width = float(scale.low), float(scale.width)
    _, people, mean, spread = means_statistic(released, noise.variance)
    of_noise = noise.variance * (mean**2 + (0.5 - mean) ** 2 + (1 - mean) ** 2) / people**2
    error = np.sqrt(spread / people + of_noise)
    estimates = tuple(
        GroupEstimate(
            group=one,
            people=float(people[place]),
            value=low + width * float(mean[place]),
            error=width * float(error[place]),
            lowest=low,
            highest=low + width,
        )
        for place, one in enumerate(sums)
    )
    return judge_means(released, noise, random), estimates


def _two(known: Sequence[Any], groups: Sequence[Any] | None, by: str) -> list[Any]:
    """Return the two groups that are compared."""
    known = [one for one in known if one is not None]
    chosen = list(known if groups is None else groups)
    unknown = [one for one in chosen if one not in known]
    if unknown:
        raise ParameterError(
            "groups", unknown[0], reason=f"is no group of {by}", remedy=f"name two of {_listed(known)}"
        )
    if len(chosen) != 2 or chosen[0] == chosen[1]:  # noqa: PLR2004 - two groups
        remedy = f'name two of them, groups=["{known[0]}", "{known[-1]}"], or ask for method="chi-square"'
        raise BadQuestionError(f"two groups are compared, and {by} has {len(known)}: {_listed(known)}; {remedy}")
    return chosen


def _listed(known: Sequence[Any]) -> str:
    """Return names of groups, and how many more there are.

    >>> _listed(["F", "M"]), _listed(range(121))
    ('F, M', '0, 1, 2, 3, 4, 5 and 115 more')
    """
    beyond = len(known) - _MOST_NAMED
    return ", ".join(map(str, known[:_MOST_NAMED])) + (f" and {beyond} more" if beyond > 0 else "")


def _method(session: "AskingSession", table: str, outcome: str, by: str, method: str | None) -> str:
    """Return how an outcome is compared, or refuse what cannot be: everybody must be in one cell."""
    where = session.population.table(table)
    if where.rows is not RowsPerPerson.ONE_A_PERSON:
        raise BadQuestionError(
            f"a person may have many rows in {table}, and rows of one person are not independent; compare people, with "
            f"an outcome such as has({table}, ...) of a table that has one row a person"
        )
    if method is not None and method not in METHODS:
        raise ParameterError("method", method, reason="is unknown", remedy=f"write one of {', '.join(METHODS)}")
    if outcome.strip().casefold() == by.strip().casefold():
        raise BadQuestionError(f"{outcome} is compared by itself, which tells nothing; name another column after by")
    kind = _column(where, outcome)
    match None if kind is None else kind.type:
        case None | Boolean():
            possible = ["proportions", "chi-square"]
        case Integer() | Real():
            possible = ["t", "rank"]
        case Category():
            possible = ["chi-square"]
        case _:
            raise BadQuestionError(
                f"{outcome!r} holds neither numbers nor declared values; compare a condition about it, such as "
                f"{outcome} = '...'"
            )
    if method is not None and method not in possible:
        raise BadQuestionError(f"{outcome} can be compared by {' or '.join(possible)}, and not by {method}")
    return method or possible[0]


def _column(table: Table, name: str) -> Column | None:
    """Return the column of this name; None where it is a condition."""
    return next((one for one in table.columns if one.name.casefold() == name.strip().casefold()), None)


def _question(method: str, table: str, outcome: str, by: str, where: ConditionLike) -> Question:
    if method == "t":
        return variance(table, outcome, where, by=by)
    if method == "rank":
        return count(table, where, by=[by, bins(outcome, _BINS)])
    return count(table, where, by=[by, outcome])
