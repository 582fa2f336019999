"""What is believed after an answer: a prior, and the exact law of the noise. It is post-processing, and free.

Lapwing knows the law of its noise, which is public. So the likelihood of what was released, for each true number, is
known exactly, and Bayes' rule needs no chain of draws:

- a count or a total: the weights of the true numbers around what was released;
- a proportion: of each pair of true cells (yes, no) that the noise allows, the Beta law of the proportion behind the
  table; pairs are weighted by how likely they are, over all proportions;
- a mean: the mean in the table, over all sums and numbers of rows that the noise allows;
- a difference or a quotient of two: of their independent laws.

A margin holds for every truth. A posterior holds on average over its prior, and is no better than that. It is kept as
weighted points, of which there are at most some tens of thousands; no random number has a part in it.

Proof: proofs/posteriors.md
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.bayes.priors import BetaPrior, FlatPrior
from lapwing.queries.algebra.aggregate import BoundedRowsPerPerson, ClippedSumPerPerson
from lapwing.queries.planning.plan import CellKey, NoisyMeaning
from lapwing.queries.statistics.bernstein import Moment
from lapwing.queries.statistics.moments import Moments
from lapwing.show.canvas import checked_path
from lapwing.show.strokes import axis, line, path, precise, svg, text, ticks
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.event import DiscreteGaussianNoise, DiscreteLaplaceNoise
from lapwing.vocabulary.exact import Exact, as_confidence, as_int, exact
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.loading import load_when_called
from lapwing.vocabulary.results import Interval, Result
from lapwing.vocabulary.wording import percent

(betaln, betaincinv, gammaln, ndtr) = load_when_called("scipy.special", "betaln", "betaincinv", "gammaln", "ndtr")

Floats: TypeAlias = NDArray[np.float64]
Prior: TypeAlias = FlatPrior | BetaPrior | Callable[[Floats], Floats] | str | None

_MOST_POINTS: Final = 40_001
_CELLS: Final = 81
_BEND: Final = 3.5  # points are fourteen times as close in the middle as at the ends
_REACH: Final = 24.0  # noise beyond as many scales has a probability of 4e-11
_DEVIATIONS: Final = 7.5
_FEWEST_ROWS: Final = 1
_PAIRS: Final = 512
_FREE: Final = "nothing: it is computed from what was released"


@frozen(repr=False)
class Posterior(Result):
    """The law of a number after an answer: weighted points, in their order.

    `about` says of what, `prior` what was believed before, and `sources` from which released numbers it was computed:
    two that share one are not independent, and have no difference.
    """

    points: Floats
    weights: Floats
    about: str
    prior: str
    sources: frozenset[tuple[object, ...]]

    @property
    def mean(self) -> float:
        """Its mean."""
        return float(self.points @ self.weights)

    @property
    def median(self) -> float:
        """Its median."""
        return self._quantile(0.5)

    @property
    def sd(self) -> float:
        """Its standard deviation."""
        return math.sqrt(max(0.0, float((self.points - self.mean) ** 2 @ self.weights)))

    def interval(self, confidence: Exact = "0.95") -> Interval:
        """Return the credible interval: as much is below it as above it.

        It holds the truth with this probability *on average over the prior*; the interval of an answer holds it for
        every truth.
        """
        rest = float(1 - as_confidence(confidence)) / 2
        return Interval(self._quantile(rest), self._quantile(1 - rest))

    def probability(self, condition: str) -> float:
        """Return the probability that a condition is true of the number, such as "> 0.1" or "<= 200".

        >>> two = Posterior(points=np.array([1.0, 2.0]), weights=np.array([0.25, 0.75]), about="it", prior="-",
        ...                 sources=frozenset())
        >>> two.probability("> 1"), two.probability("<= 1")
        (0.75, 0.25)
        """
        found = re.fullmatch(r"\s*(<=|>=|<|>)\s*(\S+)\s*", condition) if isinstance(condition, str) else None
        if found is None:
            remedy = 'write a sign and a number, such as "> 0.1"'
            raise ParameterError("condition", condition, reason="is not one", remedy=remedy)
        sign, limit = found[1], float(exact("condition", found[2]))
        true = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[sign](self.points, limit)
        return float(self.weights[true].sum())

    def draws(self, count: int = 1000) -> list[float]:
        """Return as many values, evenly spread over the law, from the smallest: the same ones each time."""
        many = as_int("count", count, most=1_000_000)
        return [float(one) for one in self.quantiles_at((np.arange(many) + 0.5) / many)]

    def __sub__(self, other: "Posterior") -> "Posterior":
        """Return the law of the difference of two that were computed from different numbers."""
        return self._with(other, "-", np.subtract)

    def __truediv__(self, other: "Posterior") -> "Posterior":
        """Return the law of the quotient of two that were computed from different numbers; the second is above 0."""
        if isinstance(other, Posterior) and float(other.weights[other.points <= 0].sum()) > 0:
            low = float(other.points.min())
            raise BadQuestionError(
                f"{other.about} may be {low:g}, and nothing is divided by that; take a prior that begins above 0, such "
                "as flat(1, 10_000), or the difference"
            )
        return self._with(other, "/", np.divide)

    def _with(self, other: "Posterior", sign: str, combine: Callable[[Floats, Floats], Floats]) -> "Posterior":
        if not isinstance(other, Posterior):
            raise BadQuestionError("a posterior is compared with another one; write a.posterior() - b.posterior()")
        if self.sources & other.sources:
            raise BadQuestionError("both were computed from the same released numbers, and are not independent")
        spread = (np.arange(_PAIRS) + 0.5) / (_PAIRS)
        points = combine(self.quantiles_at(spread)[:, None], other.quantiles_at(spread)[None, :]).ravel()
        order = np.sort(points)
        return replace(
            self,
            points=order,
            weights=np.full(order.size, 1 / order.size),
            about=f"{self.about} {sign} {other.about}",
            prior=self.prior if self.prior == other.prior else f"{self.prior}; {other.prior}",
            sources=self.sources | other.sources,
        )

    def _quantile(self, share: float) -> float:
        return float(self.quantiles_at(np.array([share]))[0])

    def quantiles_at(self, shares: Floats) -> Floats:
        """Return the points below which these shares of the weight lie."""
        reached = np.minimum(np.searchsorted(np.cumsum(self.weights), shares), self.points.size - 1)
        return self.points[reached]

    def to_dict(self) -> dict[str, Any]:
        """Return it in short, as JSON values, with its 95 % interval."""
        low, high = self.interval()
        told = {"mean": self.mean, "median": self.median, "sd": self.sd, "interval": {"low": low, "high": high}}
        return {"about": self.about, "prior": self.prior, **told, "price": "0"}

    def facts(self) -> list[tuple[str, str | None]]:
        """Return it in words."""
        low, high = self.interval()
        return [
            ("about", self.about),
            ("prior", self.prior),
            ("middle", precise(self.median)),
            (
                "from, to",
                f"{precise(low)} to {precise(high)}, with {percent(Fraction(95, 100))} on average over the prior",
            ),
            ("cost", _FREE),
        ]

    def __repr__(self) -> str:
        low, high = self.interval()
        return f"<posterior of {self.about}: {precise(self.median)}, {precise(low)} to {precise(high)}, free>"

    def density(self, bars: int = 80) -> list[tuple[float, float]]:
        """Return the middle and the height of `bars` equal parts of its range, all but a thousandth of its weight."""
        low, high = self._quantile(0.0005), self._quantile(0.9995)
        if low == high:
            return [(low, 1.0)]
        heights, edges = np.histogram(self.points, bins=bars, range=(low, high), weights=self.weights)
        width = (high - low) / bars
        return [(float(edge + width / 2), float(height / width)) for edge, height in zip(edges, heights, strict=False)]

    def _repr_html_(self) -> str:
        drawn, (low, high) = self.density(), self.interval()
        first, last = drawn[0][0], drawn[-1][0] + (drawn[0][0] == drawn[-1][0])
        x, y = axis(first, last, 40, 600), axis(0.0, max(height for _, height in drawn) or 1.0, 170, 20)
        body = [
            path([(x(first), y(0.0)), *((x(at), y(height)) for at, height in drawn), (x(last), y(0.0))], "c-line"),
            *(line(x(end), 20, x(end), 170, "c-threshold") for end in (low, high)),
            *(text(x(at), 186, precise(at)) for at in ticks(first, last)),
        ]
        title = f"{self.about}: {precise(low)} to {precise(high)} with 95 % on average over the prior ({self.prior})"
        return str(svg(196, title, body).coloured)

    def plot(self, file: str | Path) -> Path:
        """Draw the law into a file, with its 95 % interval. It needs matplotlib: pip install 'lapwing[plots]'."""
        from lapwing.show.canvas import INK, canvas  # noqa: PLC0415 - half a second, and an extra

        place, drawn, (low, high) = checked_path(file), self.density(), self.interval()
        with canvas(place, title=f"After the answer ({self.prior})", x=self.about, y="density") as axes:
            axes.plot([at for at, _ in drawn], [height for _, height in drawn], color=INK)
            for end in (low, high):
                axes.axvline(end, color=INK, linestyle="--", linewidth=1)
        return place


def posterior_of(answer: Any, prior: Prior, row: object, column: str | None) -> Posterior:
    """Return what is believed of one number of an answer, after it; see `Answer.posterior`."""
    name = answer.columns[0] if column is None else column
    release = answer.asked.releases.get(name)
    if answer.changes or release is None:
        raise BadQuestionError(
            "the law of the noise is known of released numbers; ask for the posterior before changing"
        )
    plan, meaning, noise = release.source.plan, release.meaning, release.mechanism
    event = getattr(noise, "event", None)
    if not isinstance(event, DiscreteLaplaceNoise | DiscreteGaussianNoise):
        raise BadQuestionError(
            f"{name!r} was not released with noise on its numbers, so that there is no likelihood; posteriors are of "
            "counts, totals, proportions and means"
        )
    law, cell = NoiseLikelihood.of(event), _cell(answer, row)
    known: dict[str, Any]
    who = "" if not cell else f" of {', '.join(str(part) for part in answer.rows[_place(answer, row)].key)}"
    numbers = answer.numbers[name]
    if isinstance(meaning, Moments) and meaning.moment is Moment.MEAN:
        block = dict(plan.blocks(numbers))[cell]
        place = [one for one, _ in plan.blocks(numbers)].index(cell) * len(block)
        sources = frozenset(_source(answer, release, place + one) for one in range(len(block)))
        unit = plan.bounded_by(BoundedRowsPerPerson).most
        known = {"about": f"{name}{who}", "sources": sources}
        if meaning.scales[0].extent == 1 and unit == 1:
            return proportion_posterior(block, law, prior, **known)
        return mean_posterior(block, law, prior, meaning, unit, **known)
    form = (meaning.forms(plan) or {}).get(cell) if isinstance(meaning, NoisyMeaning) else None
    if form is None or len(form) != 1:
        raise BadQuestionError(
            f"{name!r} is computed from several released numbers; ask for it alone, as a count, a total, a "
            "proportion or a mean"
        )
    ((place, weight),) = form.items()
    known = {"about": f"{name}{who}", "sources": frozenset({_source(answer, release, place)})}
    clipped = plan.aggregate.bounding
    signed = isinstance(clipped, ClippedSumPerPerson) and clipped.low < 0
    return number_posterior(int(numbers[place]), law, prior, float(weight), signed=signed, **known)


def _source(answer: Any, release: Any, place: int) -> tuple[object, ...]:
    number = next(i for i, one in enumerate(answer.asked.sources) if one is release.source)
    return str(answer.receipt), number, place


def _place(answer: Any, row: object) -> int:
    """Return which row is meant, by its place or by what it is about."""
    rows = answer.rows
    if row is None:
        if len(rows) != 1:
            raise BadQuestionError(f"this answer has {len(rows)} rows; say which: posterior(row={rows[0].key[0]!r})")
        return 0
    wanted = row if isinstance(row, tuple) else (row,)
    for place, one in enumerate(rows):
        if wanted == tuple(one.key):
            return place
    some = ", ".join(repr(one.key[0] if len(one.key) == 1 else one.key) for one in rows[:5])
    raise ParameterError("row", row, reason="is not in this answer", remedy=f"write one of {some}")


def _cell(answer: Any, row: object) -> CellKey:
    return answer.rows[_place(answer, row)].cell if len(answer.rows) else ()


@frozen(kw_only=False)
class NoiseLikelihood:
    """The law of the noise on one number: discrete Laplace, or discrete Gaussian."""

    width: float
    gaussian: bool

    @staticmethod
    def of(event: DiscreteLaplaceNoise | DiscreteGaussianNoise) -> "NoiseLikelihood":
        """Return the law of the noise of an event."""
        if isinstance(event, DiscreteLaplaceNoise):
            return NoiseLikelihood(float(event.scale), gaussian=False)
        return NoiseLikelihood(math.sqrt(float(event.sigma_squared)), gaussian=True)

    @property
    def reach(self) -> float:
        """How far the noise reaches, but for a probability of some 1e-11."""
        return (_DEVIATIONS if self.gaussian else _REACH) * self.width

    def log(self, off: Floats) -> Floats:
        """Return the logarithm of the likelihood, up to a constant, of being off by so much."""
        at: Floats = off / self.width
        return -(at**2) / 2 if self.gaussian else -np.abs(at)


def number_posterior(
    released: int, law: NoiseLikelihood, prior: Prior, weight: float, *, signed: bool, about: str, sources: Any
) -> Posterior:
    """Weight each true number by its prior and by how likely the released one is given it."""
    chosen, low, high = _range_of_number(prior, weight, signed=signed)
    first = max(low, released - law.reach)
    last = min(high, released + law.reach)
    if first > last:  # beyond the prior's range the likelihood only falls: what is nearest is likeliest
        first, last = (low, min(high, low + law.reach)) if released < low else (max(low, high - law.reach), high)
    begin, end = math.ceil(first), math.floor(last)
    if begin > end:
        raise ParameterError("prior", str(prior), reason="holds no number that there can be", remedy="take a wider one")
    step = max(1, -(-(end - begin + 1) // _MOST_POINTS))
    at = np.arange(begin, end + 1, step, dtype=np.float64)
    logs = law.log(released - at) + _log_prior(chosen, at * weight)
    return Posterior(points=at * weight, weights=_normal(logs), about=about, prior=_said(prior), sources=sources)


def _range_of_number(prior: Prior, weight: float, *, signed: bool) -> tuple[Prior, float, float]:
    match prior:
        case FlatPrior(low, high):
            return None, math.ceil(float(low) / weight), math.floor(float(high) / weight)
        case BetaPrior():
            raise ParameterError("prior", str(prior), reason="is for a proportion", remedy="write flat(0, 10_000)")
        case _:
            return _parsed(prior), -math.inf if signed else 0, math.inf


def proportion_posterior(
    block: Sequence[int], law: NoiseLikelihood, prior: Prior, *, about: str, sources: Any
) -> Posterior:
    """Mix the Beta laws of all true cells that the noise allows, weighted by their evidence."""
    match prior:
        case BetaPrior(yes, no):
            s, f = float(yes), float(no)
        case None | "jeffreys":
            s = f = 0.5
        case "flat":
            s = f = 1.0
        case _:
            raise ParameterError(
                "prior", _said(prior), reason="is not one of a proportion", remedy='write beta(2, 8), or "jeffreys"'
            )
    (no_cells, no_logs), (yes_cells, yes_logs) = (_true_cells(int(number), law) for number in block)
    a, b = (grid.ravel() for grid in np.meshgrid(yes_cells, no_cells, indexing="ij"))
    logs = (yes_logs[:, None] + no_logs[None, :]).ravel()
    evidence = gammaln(a + b + 1) - gammaln(a + 1) - gammaln(b + 1) + betaln(a + s, b + f)
    weights = _normal(logs + evidence)
    kept = weights > 1e-7  # noqa: PLR2004 - what is left out is below any digit that is shown
    a, b, weights = a[kept], b[kept], weights[kept] / weights[kept].sum()
    nodes = np.linspace(-4, 4, max(17, -(-20_000 // a.size)))  # as a normal law is spread, so that tails are there
    each = _normal(-(nodes**2) / 2)
    points = betaincinv((a + s)[:, None], (b + f)[:, None], ndtr(nodes)[None, :]).ravel()
    order = np.argsort(points)
    spread = (weights[:, None] * each[None, :]).ravel()
    said = "Jeffreys' prior" if (s, f) == (0.5, 0.5) else f"Beta({s:g}, {f:g})"
    return Posterior(points=points[order], weights=spread[order], about=about, prior=said, sources=sources)


def _true_cells(released: int, law: NoiseLikelihood) -> tuple[Floats, Floats]:
    """Return true counts that the noise allows, at most some dozens of them, with the logarithms of their weights.

    Of many they are close together near what was released and further apart away from it, each weighted by how far it
    is from the next: tails count in an interval, and points that stand for as much each would cut them off.
    """
    low = max(0, math.ceil(released - law.reach))
    high = max(low, math.floor(max(released, 0) + law.reach))
    if high - low < _CELLS:
        cells = np.arange(low, high + 1, dtype=np.float64)
        return cells, law.log(released - cells)
    spread = np.sinh(_BEND * np.linspace(-1, 1, _CELLS)) / math.sinh(_BEND)
    every = max(released, 0) + law.reach * spread
    cells = np.unique(np.clip(every, low, high))
    ends = np.concatenate([[cells[0]], (cells[1:] + cells[:-1]) / 2, [cells[-1]]])
    return cells, law.log(released - cells) + np.log(np.diff(ends))


def mean_posterior(
    block: Sequence[int], law: NoiseLikelihood, prior: Prior, meaning: Moments, unit: int, *, about: str, sources: Any
) -> Posterior:
    """Add the likelihood of each mean over all numbers of rows, which are alike before the answer."""
    below, above = (float(number) for number in block)
    scale, most = meaning.scales[0], law.reach
    least = max(float(_FEWEST_ROWS * unit), below + above - 2 * most)
    largest = max(least * 1.001, below + above + 2 * most)
    totals = np.linspace(least, largest, 801)
    centre = above / (below + above) if below + above > 0 else 0.5
    half = 2.5 * most / least
    first, last = max(0.0, min(centre - half, 0.999)), min(1.0, max(centre + half, 0.001))
    means = np.linspace(first, last, 2001)
    joint = law.log(above - means[:, None] * totals[None, :]) + law.log(below - (1 - means)[:, None] * totals[None, :])
    top = joint.max()
    logs = np.log(np.exp(joint - top).sum(axis=1) + 1e-300)
    values = float(scale.low) + float(scale.width) * means
    match prior:
        case FlatPrior(low, high):
            logs = np.where((values >= float(low)) & (values <= float(high)), logs, -np.inf)
        case BetaPrior():
            raise ParameterError("prior", str(prior), reason="is for a proportion", remedy="write flat(18, 40)")
        case _:
            logs = logs + _log_prior(_parsed(prior), values)
    if not np.isfinite(logs).any():
        raise ParameterError("prior", _said(prior), reason="leaves out all that is likely", remedy="take a wider one")
    return Posterior(points=values, weights=_normal(logs), about=about, prior=_said(prior), sources=sources)


def _parsed(prior: Prior) -> Prior:
    if prior is None or prior == "flat" or callable(prior):
        return None if prior == "flat" else prior
    remedy = "write flat(low, high), or a function that returns a weight for each value of an array"
    raise ParameterError("prior", str(prior)[:60], reason="is not a prior of this number", remedy=remedy)


def _log_prior(prior: Prior, at: Floats) -> Floats:
    if not callable(prior):
        return np.zeros(at.size)
    given = np.asarray(prior(at), np.float64)
    if given.shape != at.shape or not np.isfinite(given).all() or (given < 0).any() or not given.sum():
        remedy = "return one weight of 0 or more for each value, and some above 0"
        raise ParameterError("prior", "a function", reason="does not return weights", remedy=remedy)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(given), np.float64)


def _normal(logs: Floats) -> Floats:
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum(), np.float64)


def _said(prior: Prior) -> str:
    if prior is None or prior == "flat":
        return "flat"
    return "a function" if callable(prior) else str(prior)
