"""How often a rule answers right, and what a yes implies about its value: computed over all noise.

Distances and margins are in lattice steps. The worst case that is meant: `above` questions lie a margin above their
threshold, `below` questions a margin below, and all of them are to be answered right. Questions that lie farther away
only help. What is added up is the chance of an error, never the chance of none: at a confidence of 1 - 1e-9 the latter
has lost the digits that matter.

A gap is shown only where it came out large, so it errs upwards, and a plain margin of its noise can be wrong nearly
always. Intervals hold simultaneously for *all* questions of the stream, asked or not, yes or no: then they hold for
those that were selected, too, however they were chosen.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from lapwing.mechanisms.sparse_vector.law_probabilities import (
    Floats,
    Law,
    depth,
    log_at_least,
    log_below,
    log_of_the_rest,
    mean,
    outside,
    quadrature,
    reach,
    variance,
    width,
)
from lapwing.mechanisms.sparse_vector.rule import AnswerRule, SparseVectorAnswer, ThresholdComparison, ValueLattice
from lapwing.noise.laws import Geometric, RoundedGaussian
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.loading import load_when_called
from lapwing.vocabulary.results import Interval
from lapwing.vocabulary.search import integers

brentq, minimize_scalar = load_when_called("scipy.optimize", "brentq", "minimize_scalar")

_RAISED = 1e-9  # relative: what is added to every chance of an error, many times what its computation is off by
_LEAST = 1e-300  # between integers, where a search may look, the chance can come out below zero


def chance_of_yes(rule: AnswerRule, distance: int) -> float:
    """Return the probability that a value `distance` steps above its threshold gets a yes."""
    z, log_weight = _over_the_threshold_noise(rule, (distance,), above=1)
    return min(1.0, float(np.exp(log_weight + _log_yes(rule, z - distance)).sum()))


def chance_of_error(rule: AnswerRule, *, margin: float, below: int, above: int, lift: float = 0.0) -> float:
    """Return the probability that some question is answered wrong when each is `margin` steps from its threshold.

    It is rounded up by a relative 1e-9, however small it is. `lift` is added to every bar.

    Proof: proofs/sparse_vector_margin.md
    """
    z, log_weight = _over_the_threshold_noise(rule, (-margin - lift, margin - lift), above=above)
    log_right = np.zeros_like(z)
    if below:
        log_right = log_right + below * _log_no(rule, z + lift + margin)
    if above:
        log_right = log_right + above * _log_yes(rule, z + lift - margin)
    wrong = float((np.exp(log_weight) * -np.expm1(log_right)).sum())
    return (wrong + outside(rule.threshold_noise)) * (1 + _RAISED)


def margin(rule: AnswerRule, *, below: int, above: int, beta: float) -> int:
    """Return the smallest distance at which all are answered right except with probability `beta`.

    It is never below the smallest one, and above it only where this misses `beta` by less than a relative 2e-9.

    Proof: proofs/sparse_vector_margin.md
    """
    search = integers()
    while search.open:
        search.tell(chance_of_error(rule, margin=search.guess, below=below, above=above) <= beta)
    return search.above


def guaranteed_margin(rule: AnswerRule, *, below: int, above: int, beta: float) -> int:
    """Return a distance at which all are answered right except with probability `beta`, by the union bound.

    Proof: proofs/sparse_vector_interval.md
    """
    once, ways = rule.threshold_noise, rule.comparisons
    share = beta / (2 if isinstance(once, Geometric) else 4)  # noise to the left of zero can err in two more ways
    false_yes = max(reach(one.noise, share / (max(below, 1) * len(ways))) - one.bar for one in ways)
    false_no = min(depth(one.noise, share / max(above, 1)) + one.bar for one in ways)
    return max(false_yes + depth(once, share) + 1, false_no + reach(once, share), 0)


def best_lift(rule: AnswerRule, *, below: int, above: int, beta: float) -> int:
    """Return by how many steps the bar should be raised so that the margin is smallest."""
    scale = max(width(rule.threshold_noise), *(width(one.noise) for one in rule.comparisons))

    def margin_if_lifted(lift: float) -> float:
        def excess(at: float) -> float:
            wrong = chance_of_error(rule, margin=at, lift=lift, below=below, above=above)
            return math.log(beta) - math.log(max(wrong, _LEAST))

        high = scale
        while excess(high) < 0:
            high *= 2
        return float(brentq(excess, -scale, high, xtol=scale / 1000)) if excess(-scale) < 0 else -scale

    most = math.log(below + above + 2) + 2
    found = minimize_scalar(
        margin_if_lifted, bounds=(-3 * scale, most * scale), method="bounded", options={"xatol": scale / 100}
    )
    return round(float(found.x))


def lifted(rule: AnswerRule, steps: int) -> AnswerRule:
    """Return the rule with every bar raised."""
    return replace(rule, comparisons=tuple(replace(one, bar=one.bar + steps) for one in rule.comparisons))


def _over_the_threshold_noise(rule: AnswerRule, distances: tuple[float, ...], *, above: int) -> tuple[Floats, Floats]:
    breaks = [at - one.bar + edge for one in rule.comparisons for at in distances for edge in (0, 1)]
    return quadrature(rule.threshold_noise, breaks, finest=_finest(rule, above))


def _finest(rule: AnswerRule, above: int) -> float:
    """Return the smallest length over which the chance of an error bends.

    As many yeses at once as `above` fail over a length that is `above` times shorter, and the largest of many Gaussian
    draws has tails that are steeper than its deviation by a small factor.
    """
    bends = (width(one.noise) / (4 if isinstance(one.noise, RoundedGaussian) else 1) for one in rule.comparisons)
    return min(bends) / max(1.0, above / 4)


def _log_no(rule: AnswerRule, x: Floats) -> Floats:
    """Return ln P(no) of a value that lies x steps below its threshold's noise: every comparison fails."""
    log_no = np.zeros_like(x)
    for one in rule.comparisons:
        log_no = log_no + log_below(one.noise, one.bar + x)
    return log_no


def _log_yes(rule: AnswerRule, x: Floats) -> Floats:
    if len(rule.comparisons) == 1:
        (only,) = rule.comparisons
        return log_at_least(only.noise, only.bar + x)
    return log_of_the_rest(_log_no(rule, x))


def interval(
    rule: AnswerRule, lattice: ValueLattice, answer: SparseVectorAnswer, *, beta: float, questions: int | None
) -> Interval | None:
    """Return where the value of a yes lies; except with probability `beta` all intervals of a stream hold theirs.

    Proof: proofs/sparse_vector_interval.md
    """
    parts = [
        _from_gap(rule, answer, lattice, beta if rule.fresh_noise is None else beta / 2, questions),
        _from_number(rule, answer, lattice, beta / 2),
    ]
    known = [part for part in parts if part is not None]
    if not known:
        return None
    low, high = max(part.low for part in known), min(part.high for part in known)
    if low > high:  # one of the two is among the improbable misses: the one with noise of its own is the safer
        low, high = known[-1].low, known[-1].high
    rounding = Fraction(0) if lattice.step == 1 else lattice.step / 2  # the value was put on the lattice
    return Interval(low - rounding, high + rounding)


def estimate(rule: AnswerRule, answer: SparseVectorAnswer, grid: float) -> float | None:
    """Return an estimate of the value of a yes: its number and its gap, weighted by the inverse of their variances."""
    if answer.gap is None:
        return None
    from_gap = float(answer.threshold + answer.gap)
    if answer.number is None or rule.fresh_noise is None:
        return from_gap
    passed = _passed(rule, answer)
    precision = 1 / variance(rule.fresh_noise), 1 / (variance(passed.noise) + variance(rule.threshold_noise))
    unbiased = from_gap - (mean(passed.noise) - mean(rule.threshold_noise) - passed.centre) * grid
    return (float(answer.number) * precision[0] + unbiased * precision[1]) / sum(precision)


def share_of_question(question: int, questions: int | None) -> float:
    """Return the part of the error probability that is set aside for a question; over all questions it sums to one.

    Without a number of questions, those from 2^m to 2^(m+1) - 1 together get 1/((m+1)(m+2)).
    """
    if questions is not None:
        return 1 / questions if question <= questions else 0.0
    m = question.bit_length() - 1
    return 1 / ((1 << m) * (m + 1) * (m + 2))


def _from_gap(
    rule: AnswerRule, answer: SparseVectorAnswer, lattice: ValueLattice, beta: float, questions: int | None
) -> Interval | None:
    share = share_of_question(answer.question, questions) / len(rule.comparisons)
    if answer.gap is None or not share:
        return None
    passed = _passed(rule, answer)
    lowest, highest = _range(rule.threshold_noise, beta / 2)
    least, most = _range(passed.noise, beta / 2 * share)
    estimate = answer.threshold + answer.gap + passed.centre * lattice.step
    return Interval(estimate + (lowest - most) * lattice.step, estimate + (highest - least) * lattice.step)


def _passed(rule: AnswerRule, answer: SparseVectorAnswer) -> ThresholdComparison:
    for one in rule.comparisons:
        if one.units * rule.unit_price == answer.price:
            return one
    remedy = "ask the mechanism that gave it"
    raise ParameterError("answer", answer, reason="has a price that no yes of this stream has", remedy=remedy)


def _from_number(rule: AnswerRule, answer: SparseVectorAnswer, lattice: ValueLattice, beta: float) -> Interval | None:
    if answer.number is None or rule.fresh_noise is None:
        return None
    least, most = _range(rule.fresh_noise, beta / rule.units)
    return Interval(answer.number - most * lattice.step, answer.number - least * lattice.step)


def _range(law: Law, beta: float) -> tuple[int, int]:
    """Return two numbers of steps between which the noise lies, except with probability `beta`."""
    tail = beta if isinstance(law, Geometric) else beta / 2
    return -depth(law, tail), reach(law, tail)
