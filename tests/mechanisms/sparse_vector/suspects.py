"""The streams that are shipped, as the oracle sees them: described by the numbers that their rules expose."""

from fractions import Fraction

from lapwing.auditor import noise_laws, sparse_vector_oracle
from lapwing.auditor.sparse_vector_oracle import ClearYes, Reveals, SparseVectorVariant
from lapwing.auditor.transcripts import CLEAR_YES, NO, Level, Yes
from lapwing.mechanisms.above_threshold import AboveThreshold
from lapwing.mechanisms.sparse_vector.adaptive import AdaptiveSparse
from lapwing.mechanisms.sparse_vector.movement import Movement
from lapwing.mechanisms.sparse_vector.pure import SparseVector, StreamNoise, YesTells
from lapwing.noise.laws import DiscreteLaplace, Geometric
from lapwing.vocabulary.adjacency import Adjacency

COUNTS = Movement.of_counts(Adjacency.ADD_REMOVE)
REPLACED = Movement.of_counts(Adjacency.REPLACE)
HALVES = Movement.of_anything(sensitivity="0.3")
"""Real values that a person moves by 0.3, which is two steps of the grid 1/4."""


def shipped(moves, *, grid=1, epsilon=1, threshold=0):
    """Every variant of a stream, by name."""
    shared = {"epsilon": epsilon, "threshold": threshold, "moves": moves, "grid": grid}
    return {
        "above threshold": AboveThreshold(**shared),
        "bare": SparseVector(yeses=3, tells=YesTells.NOTHING_MORE, **shared),
        "gap": SparseVector(yeses=2, **shared),
        "gap, shifted": SparseVector(yeses=2, shift=5, **shared),
        "two-sided": SparseVector(yeses=2, noise=StreamNoise.LAPLACE, **shared),
        "number": SparseVector(yeses=2, tells=YesTells.NUMBER, **shared),
        "adaptive": AdaptiveSparse(yeses=2, clear_by=12, **shared),
        "adaptive, two-sided": AdaptiveSparse(yeses=2, clear_by=12, noise=StreamNoise.LAPLACE, **shared),
    }


def variant_of(mechanism, *, times=Fraction(1)) -> SparseVectorVariant:
    """Describe a stream to the oracle; `times` makes the query noise another one, for tests that must fail."""
    rule, step = mechanism.rule, mechanism.grid
    *clear, plain = rule.comparisons
    reveals = Reveals.GAP if rule.shows_gap else Reveals.BIT
    return SparseVectorVariant(
        threshold=_law(rule.threshold_noise, step),
        query=_centred(plain, step, times, plain.bar),
        yeses=mechanism.yeses,
        reveals=reveals | Reveals.NUMERIC if rule.fresh_noise else reveals,
        numeric=_law(rule.fresh_noise, step) if rule.fresh_noise else None,
        clear=ClearYes(_centred(clear[0], step, times, clear[0].centre), margin=(clear[0].bar - clear[0].centre) * step)
        if clear
        else None,
    )


def outcome_of(mechanism, answer, *, with_gap=False, with_number=False):
    """Return what the oracle calls an answer, with the numbers that are to be looked at."""
    if not answer:
        return NO
    clear = len(mechanism.rule.comparisons) > 1 and answer.price == mechanism.yes_price / 2
    if not with_gap and not with_number:
        return CLEAR_YES if clear else Yes()
    lifted = 0 if clear else (mechanism.rule.comparisons[-1].bar - mechanism.rule.comparisons[-1].centre) * mechanism.grid
    return Yes(
        gap=answer.gap - lifted if with_gap else None,
        numeric=answer.number - answer.threshold if with_number else None,
        level=Level.CLEAR if clear else Level.PLAIN,
    )


def _centred(comparison, step, times, by):
    return noise_laws.Shifted(_law(comparison.noise, step, times), by=-by * step)


def _law(law, step, times=Fraction(1)):
    match law:
        case Geometric():
            return noise_laws.Geometric(float(law.scale * times * step), step=step)
        case DiscreteLaplace():
            return noise_laws.DiscreteLaplace(float(law.scale * times * step), step=step)
    raise TypeError(law)


__all__ = ["COUNTS", "HALVES", "REPLACED", "outcome_of", "shipped", "sparse_vector_oracle", "variant_of"]
