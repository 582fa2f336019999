"""The streams that are shipped, and how the oracle sees them: by the numbers that their rules expose."""

from fractions import Fraction

from lapwing.auditor import noise_laws
from lapwing.auditor.noise_laws import Shifted
from lapwing.auditor.outcomes import NO, AuditedYes, Level
from lapwing.auditor.sparse_vector_oracle import ClearYes, Reveals, SparseVectorVariant
from lapwing.mechanisms.sparse_vector.pure import AboveThreshold, AdaptiveSparseVector, SparseVector, YesReveals
from lapwing.mechanisms.sparse_vector.stream_mechanism import SparseVectorNoise
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.noise.laws import DiscreteLaplace, Geometric
from lapwing.vocabulary.guarantee import Adjacency

COUNTS = ValueSensitivity.of_counts(Adjacency.ADD_REMOVE)
REPLACED = ValueSensitivity.of_counts(Adjacency.REPLACE)
REALS = ValueSensitivity.of_anything(sensitivity="0.3")  # two steps of the grid 1/4


def shipped(sensitivity=COUNTS, *, grid=1, epsilon=1, threshold=0):
    """Return every variant of a stream, by name."""
    shared = {"epsilon": epsilon, "threshold": threshold, "sensitivity": sensitivity, "grid": grid}
    return {
        "above threshold": AboveThreshold(**shared),
        "bare": SparseVector(yeses=3, reveals=YesReveals.NOTHING_MORE, **shared),
        "gap": SparseVector(yeses=2, **shared),
        "shifted": SparseVector(yeses=2, shift=5, **shared),
        "two-sided": SparseVector(yeses=2, noise=SparseVectorNoise.LAPLACE, **shared),
        "number": SparseVector(yeses=2, reveals=YesReveals.NUMBER, **shared),
        "adaptive": AdaptiveSparseVector(yeses=2, clear_by=12, **shared),
        "adaptive two-sided": AdaptiveSparseVector(yeses=2, clear_by=12, noise=SparseVectorNoise.LAPLACE, **shared),
    }


NAMES = tuple(shipped())


def variant_of(mechanism, *, times=Fraction(1)) -> SparseVectorVariant:
    """Describe a stream to the oracle; `times` gives the query noise another scale, for tests that must notice."""
    rule, step = mechanism.rule, mechanism.grid
    *clear, plain = rule.comparisons
    reveals = Reveals.GAP if rule.shows_gap else Reveals.BIT
    return SparseVectorVariant(
        threshold=_law(rule.threshold_noise, step),
        query=Shifted(_law(plain.noise, step, times), by=-plain.bar * step),
        yeses=mechanism.yeses,
        reveals=reveals | Reveals.NUMERIC if rule.fresh_noise else reveals,
        numeric=_law(rule.fresh_noise, step, times) if rule.fresh_noise else None,
        clear=_clear(clear[0], step, times) if clear else None,
    )


def outcome_of(mechanism, answer, *, gap=None, number=None):
    """Return what the oracle calls an answer; `gap` and `number` say how to look at what came with a yes."""
    if not answer:
        return NO
    *clear, plain = mechanism.rule.comparisons
    is_clear = bool(clear) and answer.price == mechanism.rule.unit_price
    lifted = 0 if is_clear else (plain.bar - plain.centre) * mechanism.grid
    return AuditedYes(
        gap=None if gap is None else gap(answer.gap - lifted),
        numeric=None if number is None else number(answer.number - answer.threshold),
        level=Level.CLEAR if is_clear else Level.PLAIN,
    )


def _clear(comparison, step, times):
    centred = Shifted(_law(comparison.noise, step, times), by=-comparison.centre * step)
    return ClearYes(centred, margin=(comparison.bar - comparison.centre) * step)


def _law(law, step, times=Fraction(1)):
    match law:
        case Geometric():
            return noise_laws.AuditedGeometric(float(law.scale * times * step), step=step)
        case DiscreteLaplace():
            return noise_laws.AuditedDiscreteLaplace(float(law.scale * times * step), step=step)
    raise TypeError(law)
