"""What is true of the gaps that are released, which are not the gaps of all questions: only the large ones are.

The margin that holds for a gap before the answer is known says little about a gap that was released, because a yes
selects its own noise. Here some questions of one true value are asked, and what is released of them is exact.
"""

import math
from fractions import Fraction

import numpy as np
from scipy.special import betainc

from lapwing.auditor.answer_factors import AnswerFactor, log_expectation
from lapwing.auditor.noise_laws import Reals, just_above
from lapwing.auditor.sparse_vector_oracle import Halting, SparseVectorVariant, ThresholdNoise
from lapwing.auditor.transcripts import YES, AuditedWithin, AuditedYes, Number
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int, exact

_TINY = 1e-290


def expected_yeses(
    variant: SparseVectorVariant, *, value: Number, questions: int, gap: AuditedWithin | None = None
) -> float:
    """Return how many yeses to expect of so many questions, each with this true value (from its threshold).

    Parameters
    ----------
    variant : a sparse vector that draws its threshold noise once and halts with the last yes
    value : the true value of every question, measured from its threshold
    questions : how many are asked, at most; fewer if the variant halts
    gap : count only those yeses whose gap lies here

    Examples
    --------
    A thousand questions, all 20 below the threshold, get nearly all the five yeses there are.

    >>> from lapwing.auditor.moved_laws import Shifted
    >>> from lapwing.auditor.noise_laws import Exponential
    >>> scale = {"threshold": 3.924, "query": 6.710}
    >>> centred = {name: Shifted(Exponential(b), by=-b) for name, b in scale.items()}
    >>> variant = SparseVectorVariant(**centred, yeses=5)
    >>> round(expected_yeses(variant, value=-20, questions=1000), 1)
    4.9
    """
    plain = variant.clear is None and variant.threshold_noise is ThresholdNoise.DRAWN_ONCE
    if not plain or variant.halting is not Halting.WITH_THE_LAST_YES:
        raise ParameterError(
            "variant",
            variant,
            reason="does not stop with the last of its yeses under one threshold and one comparison",
            remedy="describe one that does",
        )
    asked = as_int("questions", questions)
    (above,) = variant.factors(value, YES)
    counted = variant.factors(value, AuditedYes(gap=gap))

    def log_chances(z: Reals) -> Reals:
        """Return ln(E[released yeses] / P(one yes)), which lies between ln(yeses) and ln(questions)."""
        chance = np.exp(above.log(z))
        counts = np.arange(1, min(variant.yeses, asked) + 1)[:, None]
        released = np.asarray(betainc(counts, asked - counts + 1, chance), np.float64).sum(axis=0)
        ratio = np.full(chance.shape, float(asked))
        np.divide(released, chance, out=ratio, where=chance > _TINY)
        logs: Reals = np.log(ratio)
        return logs

    times = AnswerFactor(log_chances, above.landmarks, above.scale)
    return math.exp(log_expectation(variant.threshold, [(1, factor) for factor in counted], times=times))


def released_gap_coverage(variant: SparseVectorVariant, *, value: Number, questions: int, margin: Number) -> float:
    """Return how often the gap of a released yes is within `margin` of the true value.

    Examples
    --------
    Before the answer is known, the gap of this variant is within 16.2 of the truth in 95 of 100 cases. Of the gaps that
    are released when a thousand questions lie 20 below the threshold, none is.

    >>> from lapwing.auditor.moved_laws import Shifted
    >>> from lapwing.auditor.noise_laws import Exponential
    >>> from lapwing.auditor.sparse_vector_oracle import Reveals
    >>> variant = SparseVectorVariant(
    ...     threshold=Shifted(Exponential(3.924), by=-3.924), query=Shifted(Exponential(6.710), by=-6.710),
    ...     yeses=5, reveals=Reveals.GAP,
    ... )
    >>> released_gap_coverage(variant, value=-20, questions=1000, margin=16.2)
    0.0
    >>> round(released_gap_coverage(variant, value=100, questions=1, margin=16.2), 2)
    0.95
    """
    g, reach = exact("value", value), exact("margin", margin)
    nearest, furthest = max(Fraction(0), g - reach), just_above(g + reach, variant.lattice)
    if furthest <= nearest:
        return 0.0
    near = expected_yeses(variant, value=value, questions=questions, gap=AuditedWithin(nearest, furthest))
    return near / expected_yeses(variant, value=value, questions=questions)
