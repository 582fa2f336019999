"""How many people gave an answer, from how many reports agree with it: intervals that hold for every truth.

If m of n people have the answer, the number of reports that agree with it is a sum of two binomial numbers: m people
who agree with probability `truth`, and n - m with probability `lie`. It grows with m. So the m for which what was seen
would not be too surprising, on either side, are an interval, and it holds with its confidence whatever m is. Tails are
computed, not approximated: the first binomial number is cut into blocks, and each block counts as its worse end.

Proof: proofs/local_reports.md
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lapwing.surveys.report_law import ReportLaw
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.loading import load_when_called

(betainc,) = load_when_called("scipy.special", "betainc")

Floats = NDArray[np.float64]

_BLOCKS = 96
_REACH = 8.0  # standard deviations that are cut into blocks; what is beyond counts as a block of its own
_FINE = 40.0  # parts of a standard deviation to which an end is computed
_ROUND_OFF = 1e-13  # on a sum of tails, each computed to less


@frozen()
class AgreementLaw:
    """How many of `people` reports agree with an answer, given how many people have it."""

    people: int
    truth: float
    lie: float

    @classmethod
    def of(cls, law: ReportLaw, people: int) -> "AgreementLaw":
        """Return the law of the reports of so many people."""
        return cls(people=people, truth=float(law.truth), lie=float(law.lie))

    @property
    def grid(self) -> int:
        """In which steps numbers of agreeing reports are told apart: a small part of their standard deviation."""
        return max(1, int((self.people * self.lie * (1 - self.lie)) ** 0.5 / _FINE))

    def estimate(self, hits: Floats) -> Floats:
        """Return unbiased estimates; they may be negative."""
        return (hits - self.people * self.lie) / (self.truth - self.lie)

    def at_least(self, hits: Floats, having: Floats) -> Floats:
        """Bound the probability, from above, that at least `hits` reports agree where `having` people have it."""
        _, last, chance = self._blocks(having)
        as_many = _at_least(hits[:, None] - last, self.people - having[:, None], self.lie)
        return np.asarray((chance * as_many).sum(1) + _ROUND_OFF)

    def at_most(self, hits: Floats, having: Floats) -> Floats:
        """Bound the probability, from above, that at most `hits` reports agree where `having` people have it."""
        first, _, chance = self._blocks(having)
        fewer = 1 - _at_least(hits[:, None] - first + 1, self.people - having[:, None], self.lie)
        return np.asarray((chance * fewer).sum(1) + _ROUND_OFF)

    def _blocks(self, having: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the first and last number of each block of agreeing reports of those who have it, and its chance."""
        mean, deviation = having * self.truth, (having * self.truth * (1 - self.truth)) ** 0.5
        width = np.maximum(2 * _REACH * deviation / _BLOCKS, 1.0)[:, None]  # single numbers, where they are few
        last = np.floor(mean[:, None] + np.arange(-_BLOCKS // 2, _BLOCKS // 2 + 1) * width).clip(-1, having[:, None])
        last = np.hstack([last, having[:, None]])
        first = np.hstack([np.zeros_like(mean)[:, None], last[:, :-1] + 1])
        reached = 1 - _at_least(last + 1, having[:, None], self.truth)
        return first, last, np.diff(reached, axis=1, prepend=0.0).clip(0.0)

    def intervals(self, hits: Floats, risk: float) -> tuple[Floats, Floats]:
        """Return between which numbers of people each truth lies, but for this risk, for each number of hits."""
        below, above = np.floor(hits / self.grid) * self.grid, np.ceil(hits / self.grid) * self.grid
        fewest = _per_value(below, lambda seen: 1 + self._last_refuted(seen, risk / 2, self.at_least, up=True))
        most = _per_value(above, lambda seen: self._last_refuted(seen, risk / 2, self.at_most, up=False) - 1)
        return np.minimum(fewest, self.people), np.maximum(most, 0.0)

    def _last_refuted(self, hits: Floats, risk: float, tail: Callable[[Floats, Floats], Floats], *, up: bool) -> Floats:
        """Return numbers of people that are refuted, beside the first that may not be; with them, all beyond are."""
        near = np.clip(np.rint(self.estimate(hits)), 0, self.people)
        refuted = np.full(hits.shape, -1.0 if up else self.people + 1.0)
        allowed = near
        close = max(1.0, self.grid / (self.truth - self.lie))
        while (wide := np.abs(allowed - refuted) > close).any():
            middle = np.where(wide, np.floor((allowed + refuted) / 2), near).clip(0, self.people)
            is_refuted = tail(hits, middle) <= risk
            refuted, allowed = (
                np.where(wide & is_refuted, middle, refuted),
                np.where(wide & ~is_refuted, middle, allowed),
            )
        return refuted

    def margin(self, risk: float) -> int:
        """Return where the interval of an answer that nobody has ends, if as many reports agree as may be expected."""
        return int(self.intervals(np.full(1, np.rint(self.people * self.lie)), risk)[1][0])

    def first_seen(self, risk: float) -> int:
        """Return how many agreeing reports show that somebody has an answer: nobody's would be as many by `risk`."""
        nobody = np.zeros(1)
        return _bisect(0, self.people + 1, lambda hits: bool(self.at_least(np.full(1, float(hits)), nobody)[0] <= risk))

    def smallest_seen(self, risk: float, power: float) -> int | None:
        """Return how many people must have an answer for it to be seen with probability `power`.

        None where even everybody is too few.
        """
        missed = np.full(1, self.first_seen(risk) - 1.0)

        def is_seen(having: int) -> bool:
            return bool(self.at_most(missed, np.full(1, float(having)))[0] <= 1 - power)

        return _bisect(0, self.people, is_seen) if is_seen(self.people) else None


def _at_least(hits: Floats, people: Floats, chance: float) -> Floats:
    """Return the probability that a binomial number is at least `hits`."""
    inside = betainc(np.clip(hits, 1, np.maximum(people, 1)), np.clip(people - hits + 1, 1, None), chance)
    return np.where(hits <= 0, 1.0, np.where(hits > people, 0.0, inside))


def _per_value(values: Floats, compute: Callable[[Floats], Floats]) -> Floats:
    """Compute once for each different value."""
    different, place = np.unique(values, return_inverse=True)
    return compute(different)[place]


def _bisect(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first number from `low` to `high` from which on it holds, given that it does at `high`."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def nearest_counts(estimates: Floats, total: int) -> Floats:
    """Return the nearest numbers that are not negative and add up to `total`.

    >>> nearest_counts(np.array([70.0, 50.0, -10.0]), 100).tolist()
    [60.0, 40.0, 0.0]
    """
    falling = np.sort(estimates)[::-1]
    shifts = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    shift = shifts[np.flatnonzero(falling >= shifts)[-1]]
    return np.asarray(np.maximum(estimates - shift, 0.0))
