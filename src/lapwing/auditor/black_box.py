"""Audit a mechanism by watching it: draw on two neighbouring tables, choose an event, confirm it on fresh draws.

The draws that choose an event are never the draws that confirm it, the size of a confirmation is fixed before its first
draw, and the looks of one audit share one rate of false alarms. So whatever is claimed truthfully is refuted with
probability at most `false_alarm`, however the event was found.

Proof: proofs/black_box_audit.md
"""

import hashlib
import math
import reprlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

import numpy as np

from lapwing.auditor.event_scores import Score, scores, telling
from lapwing.auditor.finding import Finding, allowed, at_least, at_most, currency_of, least_loss
from lapwing.auditor.outcomes import OutcomeReader, Outcomes, Raised, Reals, stacked
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact, as_int, positive, probability
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, Guarantee, PureDP

Table = TypeVar("Table")
Draw: TypeAlias = Callable[[Any, int], Any]
Progress: TypeAlias = Callable[[float, str], None]

FALSE_ALARM = Fraction(1, 10**6)  # the rate at which a truthful claim is refuted, at most, in one audit
_BATCH, _ONE_BY_ONE = 50_000, 1_000
_SMALL, _GROWTH, _LOOKS, _THRESHOLDS = 4_000, 8, 3, 400
_FIRST_TIMED, _FEWEST_TIMED = 250, 50
_FEWEST_LEARNT, _MOST_LEARNT = 1_000, 200_000
_PATIENCE = 0.25
"""The share of the risk that is left which a look may spend, unless it is the last: that one spends the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """An event that looked likelier on one table of a pair than the claim allows, before it is confirmed."""

    score: Score
    threshold: float
    hope: float


def audit(
    mechanism: Callable[[Any], Any] | None = None,
    *,
    claim: Guarantee,
    neighbours: tuple[Table, Table] | Sequence[tuple[Table, Table]],
    many: Callable[[Any, int], Any] | None = None,
    name: str | None = None,
    samples: int = 100_000,
    seconds: float | None = None,
    false_alarm: Exact = FALSE_ALARM,
    seed: int = 0,
    progress: Progress | None = None,
) -> Finding:
    """Try to refute what a mechanism claims, by drawing from it on neighbouring tables.

    It returns a lower bound of what the mechanism gives away, and whether that is more than it claims. It never says
    that a mechanism is private: a claim that was not refuted may be false in a way that these tables, or so few draws,
    do not show.

    Parameters
    ----------
    mechanism : takes a table and returns an output; what it raises is an output, too. Calls must be independent
    claim : what it promises: `PureDP`, `ApproximateDP`, `ConcentratedDP` or `GaussianDP`
    neighbours : two tables that the claim is about, `(here, there)`, or a list of such pairs to choose from
    many : instead of `mechanism`, takes a table and a number n and returns n independent outputs, as an array or a
        data frame with a row an output, or as a sequence. Much faster
    name : what to call it in the finding
    samples : the largest number of draws that a confirmation takes from each table; as many more, at most, choose what
        is confirmed (with several pairs, they are shared among them, but each gets a thousand)
    seconds : stop before this time is over, as far as the time of a draw can be foreseen
    false_alarm : the probability, at most, that a claim is refuted although it is true
    seed : decides in which order the tables are drawn from, and nothing else; the mechanism's noise is its own
    progress : called with the fraction done and with what is being done

    Raises
    ------
    ParameterError : the claim is not a guarantee, the neighbours are not a pair, or outputs cannot be compared

    A count with half the noise it needs.

    >>> import numpy as np
    >>> from lapwing.mechanisms import GeometricMechanism, Sensitive
    >>> half = GeometricMechanism(l1_sensitivity=1, epsilon=2)
    >>> finding = audit(
    ...     many=lambda count, n: half.release(Sensitive(np.full(n, count))), name="half the noise",
    ...     claim=PureDP(epsilon=1), neighbours=(0, 1), samples=2000,
    ... )
    >>> finding.refuted, finding.achieved > 1
    (True, True)

    Proof: proofs/black_box_audit.md
    """
    trial = _Trial(
        draw=_suspect(mechanism, many),
        batch=_ONE_BY_ONE if many is None else _BATCH,
        pairs=_pairs(neighbours),
        claim=_checked_claim(claim),
        samples=as_int("samples", samples, least=50, most=10**9),
        seconds=None if seconds is None else float(positive("seconds", seconds)),
        risk=float(probability("false_alarm", false_alarm)),
        seed=as_int("seed", seed, least=0),
        progress=_as_progress(progress),
    )
    return trial.run(name or str(getattr(mechanism or many, "__name__", "the mechanism")))


@dataclass
class _Trial:
    """One audit: what was drawn so far, what risk is left, and the best bound yet."""

    draw: Draw
    batch: int
    pairs: list[tuple[Any, Any]]
    claim: Guarantee
    samples: int
    seconds: float | None
    risk: float
    seed: int
    progress: Progress
    reader: OutcomeReader = field(default_factory=OutcomeReader)
    learnt: dict[tuple[int, int], list[Outcomes]] = field(default_factory=dict)
    start: float = 0.0
    drawn: int = 0
    left_out: int = 0
    best: tuple[float, str, str] = (0.0, "no event stood out", "")

    def run(self, name: str) -> Finding:
        """Look, each time at more draws, until the claim is refuted or the budget is over."""
        self.start = time.monotonic()
        total, limit = self.risk, allowed(self.claim, currency_of(self.claim))
        stopped = "seconds"
        for size, last in self._looks():
            spend = self.risk if last else self.risk * _PATIENCE
            self.risk -= spend
            self._look(size, spend)
            if self.best[0] > limit:
                stopped = "refuted"
                break
            stopped = "samples" if size == self.samples else "seconds"
        return Finding(
            suspect=name,
            claim=self.claim,
            method="sampled events",
            currency=currency_of(self.claim),
            achieved=self.best[0],
            confidence=1 - Fraction(total),
            where=self.best[1],
            refuted=stopped == "refuted",
            samples=self.drawn,
            detail=" ".join(filter(None, self._remarks(stopped))),
        )

    def _remarks(self, stopped: str) -> Iterator[str]:
        yield _WHY[stopped].format(drawn=self.drawn)
        if stopped == "refuted":
            yield self.best[2]
        elif self.left_out:
            yield f"{self.left_out:,} parts of the output vary, too, and were not looked at."

    def _looks(self) -> Iterator[tuple[int, bool]]:
        """Return the size of each look and whether it is the last, from what is known before its first draw."""
        if self.seconds is None:
            sizes = [self.samples]
            while sizes[0] > _SMALL and len(sizes) < _LOOKS:
                sizes.insert(0, sizes[0] // _GROWTH)
            yield from ((size, size == self.samples) for size in sizes)
            return
        for side in self._order():  # a few draws, to learn how long they take
            self._learn(0, side, _FEWEST_TIMED // 2)
        size, last = _FIRST_TIMED // _GROWTH, False
        while not last and (fits := self._affordable()) > max(size, _FEWEST_TIMED):
            size, most = size * _GROWTH, min(fits, self.samples)
            last = size * _GROWTH > most  # what is left after this look would be too little for another
            size = most if last else size
            yield size, last

    def _affordable(self) -> int:
        """Return how large a look can be in the time that is left: it draws to choose and to confirm."""
        gone = time.monotonic() - self.start
        a_draw = max(gone / self.drawn, 1e-9)
        return int(((self.seconds or 0.0) - gone) / a_draw / (2 * (2 + len(self.pairs))))

    def _look(self, size: int, risk: float) -> None:
        """Choose an event, then confirm it once on fresh draws."""
        enough = min(size, _MOST_LEARNT)
        each = enough if len(self.pairs) == 1 else max(enough // len(self.pairs), min(enough, _FEWEST_LEARNT))
        for pair in range(len(self.pairs)):
            for side in self._order():
                self._learn(pair, side, each)
        found = [self._suspicion(pair, risk) for pair in range(len(self.pairs))]
        pair, chosen = max(enumerate(found), key=lambda one: one[1].hope)
        hits = self._confirm(pair, chosen, size, keep=size < _MOST_LEARNT)
        low, high = at_least(hits[0], size, risk / 2), at_most(hits[1], size, risk / 2)
        loss = float(least_loss(self.claim, low, high))
        if loss > self.best[0]:
            here, there = map(reprlib.repr, self.pairs[pair])
            says = chosen.score.words(chosen.threshold)
            self.best = loss, f"{says}: {_chances(float(low), float(high), here, there)}", chosen.score.hint

    def _learn(self, pair: int, side: int, size: int) -> None:
        known = self.learnt.setdefault((pair, side), [])
        missing = size - sum(map(len, known))
        known += [self._draw_outcomes(pair, side, n) for n in self._batches(missing)]

    def _suspicion(self, pair: int, risk: float) -> Suspicion:
        """Fit scores on one half of what was drawn to learn from, and choose the best event on the other."""
        sides = [stacked(self.learnt[pair, side]) for side in range(2)]
        columns = max(side.columns for side in sides)
        sides = [side.widened(columns)[:_MOST_LEARNT] for side in sides]
        self.progress(self._done(), "choosing an event")
        fit = [side[: len(side) // 2] for side in sides]
        select = [side[len(side) // 2 :] for side in sides]
        chosen, unseen = telling(fit[0], fit[1])
        self.left_out = max(self.left_out, unseen)
        events = []
        for score in scores(fit[0], fit[1], chosen, self.reader):
            wide = _as_wide(score, columns)
            cut, hope = _best_threshold(self.claim, wide.of(select[0]), wide.of(select[1]), risk)
            events.append(Suspicion(score=wide, threshold=cut, hope=hope))
        return max(events, key=lambda event: event.hope)

    def _confirm(self, pair: int, chosen: Suspicion, size: int, *, keep: bool) -> list[int]:
        """Return how often the event happened in `size` fresh draws of either table; `keep` them for later looks."""
        hits = [0, 0]
        batches = list(self._batches(size))
        for i, n in enumerate(batches):
            for side in self._order():
                fresh = self._draw_outcomes(pair, side, n)
                hits[side] += int((chosen.score.of(fresh) >= chosen.threshold).sum())
                if keep:
                    self.learnt[pair, side].append(fresh)
            self.progress(self._done(), f"confirming: {i + 1} of {len(batches)}")
        return hits

    def _draw_outcomes(self, pair: int, side: int, n: int) -> Outcomes:
        read = self.reader.read(self.draw(self.pairs[pair][side], n))
        if len(read) != n:
            raise ParameterError(
                "many", f"{len(read)} outputs", reason=f"are not the {n} asked for", remedy="return one a draw"
            )
        self.drawn += n
        return read

    def _batches(self, total: int) -> Iterator[int]:
        return (min(self.batch, total - start) for start in range(0, total, self.batch))

    def _order(self) -> tuple[int, int]:
        """Return which table comes first, by a coin: what drifts with time must not look like a difference."""
        coin = hashlib.blake2b(f"{self.seed} {self.drawn}".encode()).digest()[0] % 2
        return coin, 1 - coin

    def _done(self) -> float:
        by_samples = self.drawn / (2 * self.samples * (2 + len(self.pairs)))
        by_time = 0.0 if self.seconds is None else (time.monotonic() - self.start) / self.seconds
        return min(1.0, max(by_samples, by_time))


_WHY = {
    "refuted": "It took {drawn:,} draws.",
    "samples": "All of the {drawn:,} draws were used; another pair of tables or more draws may show more.",
    "seconds": "The time was over after {drawn:,} draws; another pair of tables or more draws may show more.",
}


def _best_threshold(claim: Guarantee, here: Reals, there: Reals, risk: float) -> tuple[float, float]:
    both = np.unique(np.concatenate([here, there]))
    both = both[both > -math.inf]
    if not both.size:
        return math.inf, -math.inf
    cuts = both[np.unique(np.linspace(0, both.size - 1, _THRESHOLDS).astype(int))]
    low = at_least(_hits(here, cuts), len(here), risk / 2)
    high = at_most(_hits(there, cuts), len(there), risk / 2)
    # Without a bound above zero yet, the event that distinguishes the tables best is the one to go on with.
    hopes = least_loss(claim, low, high) + 1e-9 * (low - high)
    best = int(hopes.argmax())
    return float(cuts[best]), float(hopes[best])


def _chances(low: float, high: float, here: str, there: str) -> str:
    """Say how likely the event is, or its complement where that is the rarer one, which shows the ratio better."""
    if low + high > 1:
        return f"if not, probability <= {1 - low:.4g} on {here} and >= {1 - high:.4g} on {there}"
    return f"probability >= {low:.4g} on {here} and <= {high:.4g} on {there}"


def _hits(values: Reals, cuts: Reals) -> Reals:  # how many values are at least each cut
    return np.asarray(len(values) - np.searchsorted(np.sort(values), cuts, side="left"), np.float64)


def _as_wide(score: Score, columns: int) -> Score:
    return Score(lambda outcomes: score.of(outcomes.widened(columns)), score.words, score.hint)


def _suspect(mechanism: Callable[[Any], Any] | None, many: Draw | None) -> Draw:
    given = mechanism if many is None else many
    if (mechanism is None) == (many is None) or not callable(given):
        remedy = "give a function of a table, or many= a function of a table and a number of draws"
        raise ParameterError("mechanism", given, reason="is not one callable", remedy=remedy)
    if many is not None:
        return many

    def one_by_one(table: Any, n: int) -> list[Any]:
        return [_outcome(mechanism, table) for _ in range(n)]

    return one_by_one


def _outcome(mechanism: Any, table: Any) -> Any:
    try:
        return mechanism(table)
    except Exception as error:  # noqa: BLE001 - that it fails, and how, is something the analyst sees
        return Raised(type(error).__name__, str(error))


def _checked_claim(claim: object) -> Guarantee:
    if isinstance(claim, PureDP | ApproximateDP | ConcentratedDP | GaussianDP):
        return claim
    raise ParameterError("claim", claim, reason="is not a guarantee", remedy="write for example PureDP(epsilon=1)")


def _as_progress(progress: object) -> Progress:
    if progress is None:
        return lambda _done, _doing: None
    if callable(progress):
        return progress
    remedy = 'write progress=lambda done, doing: print(f"{done:.0%} {doing}")'
    raise ParameterError("progress", progress, reason="cannot be called", remedy=remedy)


def _pairs(neighbours: object) -> list[tuple[Any, Any]]:
    given = [neighbours] if isinstance(neighbours, tuple) else neighbours
    if isinstance(given, list) and given and all(isinstance(one, tuple) and len(one) == 2 for one in given):  # noqa: PLR2004
        return given
    reason, remedy = "is not two neighbouring tables", "write a tuple, (here, there), or a list of such tuples"
    raise ParameterError("neighbours", neighbours, reason=reason, remedy=remedy)
