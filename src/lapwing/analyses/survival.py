"""The verb: survival curves by arm and their log-rank test, from one histogram, at the price of one count.

Everybody is in one cell: the period in which they were last seen, with or without the event, in their arm. How many are
at risk is a sum of cells, and the curve of Kaplan and Meier a product: all of it is post-processing of one release.
"""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np

from lapwing.analyses.cell_noise import CellNoise, Numbers, released_cells, seeded
from lapwing.analyses.group_tests import judge_log_rank
from lapwing.analyses.simulated_draws import SimulatedDraws
from lapwing.analyses.survival_curves import SurvivalCurve, SurvivalCurves
from lapwing.answers.preview import Preview
from lapwing.answers.target import TargetWords
from lapwing.queries.catalogue.column import Boolean
from lapwing.queries.catalogue.population import RowsPerPerson
from lapwing.queries.language.builders import ConditionLike, bins
from lapwing.queries.planning.planner import Question
from lapwing.queries.statistics.counts import count
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.results import shows_words

if TYPE_CHECKING:
    from lapwing.answers.answer import Answer
    from lapwing.session import AskingSession

_DRAWS: Final = 2000
_SURELY: Final = 3
"""Standard deviations of their noise that those at risk must be above."""
_MOST_PERIODS: Final = 1000


@shows_words(TargetWords, confidence="0.95")
def survival(
    session: "AskingSession",
    table: str,
    *,
    time: str,
    event: str,
    grid: Sequence[int],
    by: str | None = None,
    where: ConditionLike = None,
    key: str | None = None,
    **target: Unpack[TargetWords],
) -> SurvivalCurves:
    """Estimate survival curves, by arm if there are two, and pay what one count costs.

    Parameters
    ----------
    table : one with one row a person
    time : the column with the time until the event, or until a person was last seen
    event : the column, or the condition, that says whether the event was seen then
    grid : the ends of the periods, which rise; chosen without looking at the data
    by : the column, or the condition, that makes the arms
    where : which people
    key : the idempotency key
    target : `epsilon=`, `epsilon=` with `delta=`, or `rho=`

    Whoever was seen beyond the end of the grid left without an event there. People of whom time, event or arm is
    missing are left out.

    >>> import tempfile, lapwing as lw
    >>> with lw.create(lw.make_clinic(tempfile.mkdtemp() + "/clinic", people=2000)) as workspace:
    ...     curves = workspace.session().survival(
    ...         "patient", time="age", event="hypertension", grid=range(0, 100, 10), by="sex", epsilon=1
    ...     )
    >>> [curve.arm for curve in curves.curves], curves.grid[-1]
    (['F', 'M'], 90)
    """
    question = histogram_of(session, table, time=time, event=event, grid=grid, by=by, where=where)
    answer = session.ask(question, key=key, **target)
    return curves_of(answer, time=time, event=event, grid=grid, by=by)


@shows_words(TargetWords, confidence="0.95")
def preview_survival(
    session: "AskingSession",
    table: str,
    *,
    time: str,
    event: str,
    grid: Sequence[int],
    by: str | None = None,
    where: ConditionLike = None,
    **target: Unpack[TargetWords],
) -> Preview:
    """Say what survival curves would cost, and how far off the number of people in each cell would be. It is free.

    >>> import tempfile, lapwing as lw
    >>> with lw.create(lw.make_clinic(tempfile.mkdtemp() + "/clinic", people=200)) as workspace:
    ...     found = workspace.session().preview_survival(
    ...         "patient", time="age", event="hypertension", grid=range(0, 100, 10), epsilon=1
    ...     )
    >>> print(found.price)
    epsilon 1
    """
    question = histogram_of(session, table, time=time, event=event, grid=grid, by=by, where=where)
    return session.preview(question, **target)


def histogram_of(
    session: "AskingSession",
    table: str,
    *,
    time: str,
    event: str,
    grid: Sequence[int],
    by: str | None = None,
    where: ConditionLike = None,
) -> Question:
    """Return the histogram: people by arm, by the period in which they were last seen, with or without the event.

    What cannot be is refused, before anything is charged.
    """
    ends = _checked(session, table, grid)
    for one in session.population.table(table).columns:
        if one.name.casefold() == event.strip().casefold() and not isinstance(one.type, Boolean):
            raise BadQuestionError(
                f"{one.name!r} is neither true nor false, so it does not say whether an event was seen; name a column "
                f"that does, or a condition such as {one.name} = '...'"
            )
    first, last = ends[0], ends[-1]
    seen, happened = bins(f"clip({time}, {first}, {last})", list(ends)), f"({event}) and {time} < {last}"
    return count(table, where, by=[*([by] if by is not None else []), seen, happened])


def curves_of(answer: "Answer", *, time: str, event: str, grid: Sequence[int], by: str | None = None) -> SurvivalCurves:
    """Return the curves that a released histogram makes, and the test of two arms. It is free."""
    ends = tuple(grid)
    cells, noise = released_cells(answer)
    arms = _arms(cells, ends, by)
    random = seeded(answer, "survival")
    curves = tuple(_curve(arm, counts, ends, noise, random) for arm, counts in arms.items())
    both = np.stack(list(arms.values())) if len(arms) == 2 else None  # noqa: PLR2004 - two arms are tested
    tested = None if both is None else judge_log_rank(both, noise, random)
    return SurvivalCurves(
        grid=ends,
        curves=curves,
        time=time,
        event=event,
        by=by,
        p=None if tested is None else tested.p,
        answer=answer,
    )


def _checked(session: "AskingSession", table: str, grid: Sequence[int]) -> tuple[int, ...]:
    if session.population.table(table).rows is not RowsPerPerson.ONE_A_PERSON:
        raise BadQuestionError(
            f"a person may have many rows in {table}; take a table with one row a person, and times such as "
            "first_of(visits.day) - entered"
        )
    ends = tuple(as_int("grid", end, least=-(2**50)) for end in grid)
    if len(ends) < 2 or any(late <= early for early, late in itertools.pairwise(ends)):  # noqa: PLR2004
        reason = "does not rise" if len(ends) > 1 else "is not a period, which has two ends"
        raise ParameterError("grid", list(ends)[:5], reason=reason, remedy="write range(0, 721, 30)")
    if len(ends) > _MOST_PERIODS:
        reason = f"has {len(ends) - 1:,} periods, and {_MOST_PERIODS - 1:,} is the most"
        raise ParameterError("grid", len(ends), reason=reason, remedy="take longer periods")
    return ends


def _arms(cells: dict[Any, list[int]], grid: Sequence[int], by: str | None) -> dict[Any, Numbers]:
    """Return the cells of each arm: those who left without and with the event, by period.

    Periods are told by their order: an end of a bin of real numbers is in the key of a cell by its bits.
    """
    known = [key for key in cells if None not in key]
    starts = {start: place for place, start in enumerate(sorted({key[-2][0] for key in known}))}
    arms: dict[Any, Numbers] = {}
    for key in known:
        (number,) = cells[key]
        arm, (start, _), happened = key if by is not None else (None, *key)
        counts = arms.setdefault(arm, np.zeros((2, len(grid) - 1)))
        counts[int(happened), starts[start]] += number
    return arms


def _curve(arm: Any, counts: Numbers, grid: Sequence[int], noise: CellNoise, random: SimulatedDraws) -> SurvivalCurve:
    """Return the curve of Kaplan and Meier of an arm, with bands of what noise and sampling could have made of it.

    From the first period on in which noise could have made all who are at risk, a band goes from 0 to where it was.
    """
    survived = np.minimum.accumulate(kaplan_meier(counts)[0])
    others = counts - noise.draw(random, (_DRAWS, *counts.shape))
    curves, deviations = kaplan_meier(others)
    drawn = np.clip(curves + deviations * random.standard_normal((_DRAWS, 1)), 0, 1)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    leaving = counts.sum(0)
    at_risk = leaving[::-1].cumsum()[::-1]
    cells = 2 * np.arange(len(leaving), 0, -1)
    known = np.logical_and.accumulate(at_risk > _SURELY * np.sqrt(cells * noise.variance))
    last = np.concatenate([[1.0], high])[known.sum()]
    low, high = np.where(known, low, 0.0), np.where(known, high, last)
    return SurvivalCurve(
        arm=arm,
        times=tuple(grid[1:]),
        survived=tuple(map(float, survived)),
        low=tuple(map(float, np.minimum(low, survived))),
        high=tuple(map(float, np.maximum(high, survived))),
        at_risk=tuple(map(float, at_risk)),
        events=tuple(map(float, counts[1])),
    )


def kaplan_meier(cells: Numbers) -> tuple[Numbers, Numbers]:
    """Return which part is without an event after each period, and Greenwood's standard deviation of it.

    `cells` are (..., [without, with], period). Events below 0, which noise makes, count as they are: were they cut at
    0, noise would only ever add events, and of many periods with few events each nobody would survive.
    """
    leaving = cells.sum(-2)
    at_risk = np.maximum(leaving[..., ::-1].cumsum(-1)[..., ::-1], 1.0)
    told = np.clip(cells[..., 1, :] / at_risk, -1, 1)
    survived, hazard = np.clip(np.cumprod(1 - told, -1), 0, 1), np.maximum(told, 0)
    left = np.maximum(at_risk * (1 - hazard), 0.5)
    spread = survived * np.sqrt(np.cumsum(hazard / left, -1))
    return survived, spread
