"""What a yes says about its value, honestly: an interval that holds although the yes was selected.

A gap is shown only where it came out large, so it errs upwards, and a plain margin of its noise beside it can be wrong
nearly always. What can be said holds for *all* questions of the stream together, asked or not, yes or no: then it holds
for those that were selected, too, however they were chosen.
"""

from dataclasses import dataclass
from fractions import Fraction

from lapwing.mechanisms.sparse_vector.answers import SparseVectorAnswer
from lapwing.mechanisms.sparse_vector.lattice import ValueLattice
from lapwing.mechanisms.sparse_vector.rule import AnswerRule, ThresholdComparison
from lapwing.mechanisms.sparse_vector.tails import Law, depth, mean, reach, variance
from lapwing.noise.laws import Geometric
from lapwing.vocabulary.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a value lies: at least `low`, at most `high`."""

    low: Fraction
    high: Fraction


def interval(
    rule: AnswerRule, lattice: ValueLattice, answer: SparseVectorAnswer, *, beta: float, questions: int | None
) -> Interval | None:
    """Return where the value of a yes lies; None if the stream shows nothing that could say so.

    Except with probability `beta` over all noise, every interval that a stream can give holds its value.
    Where it was fixed in advance how many `questions` there are, it says so only for the first so many.

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
    """Return the value of a yes as its number and its gap say, weighted by the inverse of their variances."""
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
    raise ParameterError(
        "answer", answer, reason="has a price that no yes of this stream has", remedy="ask the mechanism that gave it"
    )


def _from_number(rule: AnswerRule, answer: SparseVectorAnswer, lattice: ValueLattice, beta: float) -> Interval | None:
    if answer.number is None or rule.fresh_noise is None:
        return None
    least, most = _range(rule.fresh_noise, beta / rule.units)
    return Interval(answer.number - most * lattice.step, answer.number - least * lattice.step)


def _range(law: Law, beta: float) -> tuple[int, int]:
    """Return two numbers of steps between which the noise lies, except with probability `beta`."""
    tail = beta if isinstance(law, Geometric) else beta / 2
    return -depth(law, tail), reach(law, tail)
