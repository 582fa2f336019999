"""Amplification: a mechanism that sees only a secret sample of the people.

Each law here is made from the law of the mechanism that the sample is handed to, and is exact where that one is. The
samplings must not be mixed up: Poisson sampling goes with adding or removing a person and has two different orders;
drawing a fixed number without replacement goes with replacing a person and is symmetric.

Proof: proofs/amplification_by_sampling.md
"""

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property

import numpy as np

from lapwing.accounting.dominating_pair import DominatingPair, Floats
from lapwing.accounting.losses.atoms import AtomicLaw, pure_rho
from lapwing.accounting.losses.continuous import GaussianLaw, LaplaceLaw
from lapwing.accounting.losses.law import LossLattice, LossLaw, Orders, Tails, connect_the_dots
from lapwing.accounting.losses.selections import BoundedRangeLaw, SelectionsLaw
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import LARGEST_EXPONENT, ROUND_OFF, float_above, fraction_above, positive
from lapwing.vocabulary.guarantee import ApproximateDP, Guarantee, PureDP
from lapwing.vocabulary.loading import load_when_called

gammaln, logsumexp = load_when_called("scipy.special", "gammaln", "logsumexp")

_OUTLINE_CELLS, _OUTLINE_ATOMS, _OUTLINE_TAIL = 1 << 14, 512, 1e-60
_HIGHEST_SUM = 1e5
_SMALLEST = 1e-300


class Sampling(Enum):
    """Which sampling, and which of its orders."""

    POISSON_REMOVED = "P holds the person, Q does not"
    POISSON_ADDED = "Q holds the person, P does not"
    WITHOUT_REPLACEMENT = "one person is exchanged for another"


def amplified_epsilon(epsilon: Fraction, rate: Fraction) -> Fraction:
    """Return log(1 + rate (e^epsilon - 1)), rounded up (Balle, Barthe and Gaboardi 2018, Theorems 8 and 9).

    A tenth of the people, at a tenth: document 001 promises 2 epsilon^2 = 0.02 (Lemma 4.1), the truth is half of that.

    >>> f"{float(amplified_epsilon(Fraction(1, 10), Fraction(1, 10))):.6f}"
    '0.010462'
    """
    e, q = float_above(epsilon), float_above(rate)
    if e > LARGEST_EXPONENT:
        return epsilon  # what is left to amplify is worth less than the digits it would take
    return min(epsilon, fraction_above(math.log1p(q * math.expm1(e))))


def amplified(guarantee: Guarantee, rate: Fraction) -> PureDP | ApproximateDP:
    """Return what a guarantee becomes on a sample of `rate` of the people, rounded up.

    It holds for Poisson sampling when a person is added or removed, and for sampling without replacement when one is
    replaced: epsilon' = log(1 + rate (e^epsilon - 1)) and delta' = rate delta (Balle, Barthe and Gaboardi 2018). No
    better epsilon' is true of all mechanisms.

    >>> tenth = Fraction(1, 10)
    >>> amplified(ApproximateDP(epsilon=tenth, delta=Fraction(1, 10**6)), tenth).delta
    Fraction(1, 10000000)
    """
    share = positive("rate", rate)
    if share > 1:
        raise ParameterError("rate", rate, reason="is above 1", remedy="write the share of people that is sampled")
    match guarantee:
        case PureDP(epsilon=epsilon):
            return PureDP(epsilon=amplified_epsilon(epsilon, share))
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return ApproximateDP(epsilon=amplified_epsilon(epsilon, share), delta=share * delta)
        case _:
            remedy = "price the sampled event instead"
            raise ParameterError("guarantee", guarantee, reason="is not amplified by sampling", remedy=remedy)


def flattened(law: LossLaw, rate: Fraction) -> tuple[LossLaw, Fraction]:
    """Return an unsampled law and a rate: sampled at that rate, it is `law` sampled at `rate`."""
    return (law.whole, law.rate * rate) if isinstance(law, SampledLaw) else (law, rate)


def sampled(law: LossLaw, rate: Fraction, sampling: Sampling) -> LossLaw:
    """Return the law of a mechanism on a sample, `law` being its law on the whole, in the same order.

    A sample of a sample is one smaller sample: `flattened` comes first.
    """
    match law:
        case AtomicLaw():
            return _sampled_atoms(law, rate, sampling)
        case SelectionsLaw():
            return _sampled_atoms(law.atoms, rate, sampling)
        case GaussianLaw() | LaplaceLaw() | BoundedRangeLaw():
            return SampledLaw(law, rate, sampling)
        case _:
            raise TypeError(f"nobody has said how to sample a {type(law).__name__}")


@dataclass(frozen=True, eq=False)
class SampledLaw:
    """The law of a mechanism whose own law is continuous, on a sample of the people.

    `whole` is symmetric and knows its moments exactly. A sampled law does not: it is never the whole of another.
    """

    whole: GaussianLaw | LaplaceLaw | BoundedRangeLaw
    rate: Fraction
    sampling: Sampling

    mu_squared = None
    spacing = None

    @cached_property
    def q(self) -> float:
        """The rate, rounded up: more people in the sample, more loss."""
        return float_above(self.rate)

    @cached_property
    def pure_epsilon(self) -> Fraction | None:
        """The amplified epsilon of the whole."""
        whole = self.whole.pure_epsilon
        return None if whole is None else amplified_epsilon(whole, self.rate)

    @cached_property
    def rho(self) -> Fraction | None:
        """That of the whole (zCDP is not amplified) or that of the amplified epsilon."""
        return _least_rho(self.whole.rho, self.pure_epsilon)

    @property
    def infinite_mass(self) -> float:
        """The share of the whole's; none if the person is only added."""
        return 0.0 if self.sampling is Sampling.POISSON_ADDED else self.q * self.whole.infinite_mass

    @property
    def is_attained(self) -> bool:
        """Whether the law of the whole is attained; never without replacement, where two worst cases are combined."""
        return self.whole.is_attained and self.sampling is not Sampling.WITHOUT_REPLACEMENT

    @property
    def other_order(self) -> "SampledLaw":
        """The other order of Poisson sampling; without replacement, the law itself."""
        if self.sampling is Sampling.WITHOUT_REPLACEMENT:
            return self
        removed = self.sampling is Sampling.POISSON_REMOVED
        other = Sampling.POISSON_ADDED if removed else Sampling.POISSON_REMOVED
        return SampledLaw(self.whole.other_order, self.rate, other)

    def delta(self, epsilon: float) -> float:
        """Return the amplified profile, a trifle to the left of `epsilon`: rounding its argument does no harm then."""
        x = epsilon - ROUND_OFF * abs(epsilon)
        if self.sampling is Sampling.POISSON_ADDED:
            height = self._added_profile(x)
        elif self.sampling is Sampling.WITHOUT_REPLACEMENT and x < 0:
            height = -math.expm1(x) + math.exp(x) * self._removed_profile(-x)
        else:
            height = self._removed_profile(x)
        return min(1.0, height * (1 + ROUND_OFF))

    def _removed_profile(self, x: float) -> float:
        if x <= math.log1p(-self.q):
            return -math.expm1(x)
        return self.q * self.whole.delta(float(_to_whole(np.array(x), self.q)))

    def _added_profile(self, x: float) -> float:
        used = (1 - self.q) * math.expm1(min(x, LARGEST_EXPONENT)) / self.q
        return self.q * (1 - used) * self.whole.delta(x - math.log1p(-used)) if used < 1 else 0.0

    def renyi(self, alpha: float) -> float:
        """Return the divergence: that of the outline, or of the binomial sum at whole orders with chords in between."""
        if self.infinite_mass > 0:
            return math.inf
        largest = math.inf if self.pure_epsilon is None else float_above(self.pure_epsilon)
        cumulant = float(np.logaddexp(self.outline.cumulant_above(alpha - 1), self._log_moment_above(alpha)))
        if self.sampling is not Sampling.WITHOUT_REPLACEMENT and alpha <= _HIGHEST_SUM:  # not less than if added
            low = math.floor(alpha)
            chord = (1 - alpha + low) * self._binomial(low) + (alpha - low) * self._binomial(low + 1)
            cumulant = min(cumulant, chord)
        return min(cumulant * (1 + ROUND_OFF) / (alpha - 1), largest, self.whole.renyi(alpha))

    def _binomial(self, alpha: int) -> float:
        """Return log E_Q[(1 - q + q e^L)^alpha] from the cumulants of the whole (Mironov, Talwar and Zhang 2019).

        The terms of no and of one sampling make up 1 but for what the others exceed their own probability by, and all
        of that is positive: tiny divergences keep their digits.
        """
        if alpha < 2:  # noqa: PLR2004 - nothing but those two terms
            return 0.0
        j = np.arange(2.0, alpha + 1.0)
        powers = np.maximum(self.whole.cumulant(j - 1), _SMALLEST)
        powers = powers + np.log(-np.expm1(-powers))
        choose = gammaln(alpha + 1) - gammaln(j + 1) - gammaln(alpha - j + 1)
        excess = choose + j * math.log(self.q) + (alpha - j) * math.log1p(-self.q) + powers
        reach = float(gammaln(alpha + 1)) - alpha * math.log(self.q * (1 - self.q)) + float(np.abs(powers).max())
        return float(np.logaddexp(0.0, logsumexp(excess) + ROUND_OFF * (1 + reach / 16)))

    def _log_moment_above(self, alpha: float) -> float:
        """Return log of a bound of E_Q[e^(alpha L')] over what the outline moved to infinity (Chernoff)."""
        if self.sampling is Sampling.POISSON_ADDED or self.whole.pure_epsilon is not None:
            return -math.inf
        top, more = self.whole.span(_OUTLINE_TAIL)[1], np.geomspace(1.0, 1e4, 65)
        share = self.q + (1 - self.q) * math.exp(-top)  # L' is at most L plus the logarithm of this
        moments = self.whole.cumulant(alpha - 1 + more)
        rounded = moments - more * top + ROUND_OFF * (moments + more * top + alpha)
        return alpha * math.log(share) + float(np.min(rounded))

    @cached_property
    def outline(self) -> AtomicLaw:
        """A few atoms that dominate the law: enough to plan with, and where no closed form is known."""
        low, high = self.span(_OUTLINE_TAIL)
        pair = self.on_grid((high - low) / _OUTLINE_CELLS, _OUTLINE_TAIL).pair().coarsened(_OUTLINE_ATOMS)
        return AtomicLaw(pair=pair, pure_epsilon=self.pure_epsilon)

    def cumulant(self, order: Orders) -> Orders:
        """Return the cumulant of the outline."""
        return self.outline.cumulant(order)

    def span(self, tail: float) -> tuple[float, float]:
        """Return the image of the whole's span."""
        low, high = self.whole.span(tail)
        if self.sampling is Sampling.POISSON_ADDED:
            return -float(_to_sample(-low, self.q)), -math.log1p(-self.q) * (1 + ROUND_OFF)
        top = float(_raised(_to_sample(high, self.q)))
        return (-top if self.sampling is Sampling.WITHOUT_REPLACEMENT else math.log1p(-self.q)), top

    def tails(self, x: Floats) -> Tails:
        """Return the tails of the sample's law, from those of the whole's at the loss that becomes x."""
        q = self.q
        if self.sampling is Sampling.POISSON_ADDED:
            p_below, p_above, q_below, q_above = self.whole.tails(-_to_whole(-x, q))
            return p_below, p_above, (1 - q) * p_below + q * q_below, (1 - q) * p_above + q * q_above
        if self.sampling is Sampling.WITHOUT_REPLACEMENT:
            right = self._removed_tails(np.abs(x))  # of which the left is the mirror image
            both = zip(right[::-1], right, strict=True)
            p_below, p_above, q_below, q_above = (np.where(x < 0, mirrored, tail) for mirrored, tail in both)
            return p_below, p_above, q_below, q_above
        return self._removed_tails(x)

    def _removed_tails(self, x: Floats) -> Tails:
        p_below, p_above, q_below, q_above = self.whole.tails(_to_whole(x, self.q))
        share = self.q
        return (1 - share) * q_below + share * p_below, (1 - share) * q_above + share * p_above, q_below, q_above

    def on_grid(self, step: float, tail: float) -> LossLattice:
        """Return the law with its dots connected."""
        low, high = self.span(tail)
        return connect_the_dots(self.tails, low, high, step)

    def members(self, at_most: int) -> tuple[DominatingPair, ...]:
        """Return the outline, coarsened."""
        return self.outline.members(at_most)


def _to_whole(x: Floats, q: float) -> Floats:
    """Return the loss of the whole that becomes x on a sample: log(1 + (e^x - 1)/q)."""
    with np.errstate(divide="ignore"):
        gentle = np.log1p(np.maximum(np.expm1(np.minimum(x, 1.0)) / q, -1.0))
    return np.where(x > 1, x + np.log1p((q - 1) * np.exp(-np.maximum(x, 1.0))) - math.log(q), gentle)


def _to_sample(loss: float | Floats, q: float) -> Floats:
    """Return the loss on a sample for a loss of the whole: log(1 - q + q e^loss)."""
    steep = np.logaddexp(math.log1p(-q), math.log(q) + loss)
    return np.asarray(np.where(np.asarray(loss) > 1, steep, np.log1p(q * np.expm1(np.minimum(loss, 1.0)))), np.float64)


def _raised(losses: Floats) -> Floats:
    return losses + ROUND_OFF * np.abs(losses)


def _sampled_atoms(law: AtomicLaw, rate: Fraction, sampling: Sampling) -> AtomicLaw:
    epsilon = None if law.pure_epsilon is None else amplified_epsilon(law.pure_epsilon, rate)
    q, other = float_above(rate), law.other_order.pair
    reverse: DominatingPair | None = None
    match sampling:
        case Sampling.POISSON_REMOVED:
            pair, reverse = _removed(law.pair, q), _added(other, q)
        case Sampling.POISSON_ADDED:
            pair, reverse = _added(law.pair, q), _removed(other, q)
        case Sampling.WITHOUT_REPLACEMENT:
            pair = _exchanged(law.pair, q)
    return AtomicLaw(
        pair=pair,
        reverse=reverse,
        pure_epsilon=epsilon,
        rho=_least_rho(law.rho, epsilon),
        is_attained=law.is_attained and sampling is not Sampling.WITHOUT_REPLACEMENT,
        renyi_bound=lambda alpha: max(law.renyi(alpha), law.other_order.renyi(alpha)),
    )


def _least_rho(whole: Fraction | None, epsilon: Fraction | None) -> Fraction | None:
    bounds = [whole, None if epsilon is None else pure_rho(epsilon)]
    return min((bound for bound in bounds if bound is not None), default=None)


def _removed(pair: DominatingPair, q: float) -> DominatingPair:
    under_q = pair.under_q
    never = max(0.0, 1.0 - float(under_q.sum()))
    losses = _raised(np.append(math.log1p(-q), _to_sample(pair.losses, q)))
    masses = np.append((1 - q) * never, q * pair.masses + (1 - q) * under_q)
    return DominatingPair.of_total_one(losses, masses * (1 + ROUND_OFF), q * pair.infinite_mass)


def _added(pair: DominatingPair, q: float) -> DominatingPair:
    losses, masses = _raised(-_to_sample(-pair.losses, q)), pair.masses
    if pair.infinite_mass > 0:
        losses = np.append(losses, -math.log1p(-q) * (1 + ROUND_OFF))
        masses = np.append(masses, pair.infinite_mass)
    return DominatingPair.of_total_one(losses, masses, 0.0)


def _exchanged(pair: DominatingPair, q: float) -> DominatingPair:
    positive = pair.losses > 0
    losses = _raised(_to_sample(pair.losses[positive], q))
    under_q = pair.under_q[positive]
    under_p = (q * pair.masses[positive] + (1 - q) * under_q) * (1 + ROUND_OFF)
    same = max(0.0, 1.0 - float(under_p.sum()) - float(under_q.sum()) - q * pair.infinite_mass)
    return DominatingPair.of_total_one(
        np.concatenate([-losses[::-1] * (1 - 2 * ROUND_OFF), [0.0], losses]),
        np.concatenate([under_q[::-1], [same], under_p]),
        q * pair.infinite_mass,
    )
