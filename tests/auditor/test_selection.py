"""A released gap is not a gap like any other: the margin that holds before the answer says little after it."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from lapwing.auditor.moved_laws import Shifted
from lapwing.auditor.noise_laws import AuditedGeometric, Exponential, Laplace
from lapwing.auditor.selection import expected_yeses, released_gap_coverage
from lapwing.auditor.sparse_vector_oracle import (
    ClearYes,
    Halting,
    Reveals,
    SparseVectorVariant,
    ThresholdNoise,
)
from lapwing.auditor.transcript_laws import transcript_probabilities
from lapwing.auditor.transcripts import NO, AuditedWithin, AuditedYes, gap_bins
from lapwing.vocabulary.errors import ParameterError


def centred(c):
    """Exponential noise for counts at epsilon 1, with its mean taken off."""
    ratio = c ** (2 / 3)
    rho, nu = 1 + ratio, c * (1 + ratio) / ratio
    return SparseVectorVariant(
        threshold=Shifted(Exponential(rho), by=-rho),
        query=Shifted(Exponential(nu), by=-nu),
        yeses=c,
        reveals=Reveals.GAP,
    )


def plain_margin(variant):
    """Return m with P(|query noise - threshold noise| <= m) = .95: what holds before the answer is known."""
    certain = 1000  # so far above the threshold that the yes is certain and selects nothing

    def missing(m):
        return variant.probability([certain], (AuditedYes(gap=AuditedWithin(certain - m, certain + m)),)) - 0.95

    return brentq(missing, 0.1, 100)


def mean_error(variant, value, questions):
    """Return the mean of gap - value over released gaps, as an integral of their tail."""

    def tail(x):
        return expected_yeses(variant, value=value, questions=questions, gap=AuditedWithin(x, math.inf))

    area = quad(tail, 0, 300, points=[5, 20, 60], limit=200)[0]
    return area / expected_yeses(variant, value=value, questions=questions) - value


# Simulated before (4000 runs), so to two or three digits: c, questions, value, margin, coverage, mean error, yeses.
SIMULATED = [
    (5, 1, 0, 16.2, 0.915, 6.7, 0.43),
    (5, 1000, 0, 16.2, 0.912, 6.6, 5.0),
    (5, 1000, -20, 16.2, 0.0, 26.7, 4.91),
    (5, 1000, -40, 16.2, 0.0, 46.8, 1.08),
    (1, 100, -5, 6.0, 0.394, 7.0, 0.88),
    (5, 20, 60, 16.2, 0.949, 0.1, 5.0),
]


@pytest.mark.parametrize("row", SIMULATED, ids=lambda row: f"c={row[0]}, {row[1]} at {row[2]}")
def test_the_plain_margin_does_not_cover_released_gaps(row) -> None:
    c, questions, value, margin, coverage, error, yeses = row
    variant = centred(c)
    exact_margin = plain_margin(variant)
    assert exact_margin == pytest.approx(margin, abs=0.15)
    found = released_gap_coverage(variant, value=value, questions=questions, margin=exact_margin)
    assert found == pytest.approx(coverage, abs=0.02)
    assert mean_error(variant, value, questions) == pytest.approx(error, abs=0.25)
    assert expected_yeses(variant, value=value, questions=questions) == pytest.approx(yeses, abs=0.03)


@pytest.mark.parametrize("law", [Laplace, AuditedGeometric], ids=lambda law: law.__name__)
def test_expected_yeses_agree_with_the_whole_law_of_transcripts(law) -> None:
    variant = SparseVectorVariant(threshold=law(2), query=law(3), yeses=2, reveals=Reveals.GAP)
    bins = gap_bins(0, 2, math.inf)
    transcripts = transcript_probabilities(variant, [-1] * 5, above=bins)
    for gap, counted in ((None, set(bins)), (AuditedWithin(0, 2), {bins[0]}), (AuditedWithin(2, math.inf), {bins[1]})):
        expected = sum(p * sum(outcome in counted for outcome in said) for said, p in transcripts.items())
        assert expected_yeses(variant, value=-1, questions=5, gap=gap) == pytest.approx(expected, abs=1e-12)
    assert any(NO in said for said in transcripts)


def test_on_a_lattice_both_ends_of_the_margin_count() -> None:
    variant = SparseVectorVariant(
        threshold=AuditedGeometric(2), query=AuditedGeometric(3), yeses=1, reveals=Reveals.GAP
    )
    law = {gap: variant.probability([4], (AuditedYes(gap=gap),)) for gap in range(300)}
    within = sum(p for gap, p in law.items() if 2 <= gap <= 6)
    found = released_gap_coverage(variant, value=4, questions=1, margin=2)
    assert found == pytest.approx(within / math.fsum(law.values()), abs=1e-12)


def test_no_coverage_below_the_reach_of_the_margin() -> None:
    assert released_gap_coverage(centred(5), value=-20, questions=10, margin=Fraction(39, 2)) == 0.0
    assert released_gap_coverage(centred(5), value=-20, questions=10, margin=20.5) > 0


@pytest.mark.parametrize(
    "change",
    [
        {"halting": Halting.NEVER},
        {"threshold_noise": ThresholdNoise.REDRAWN_AFTER_YES},
        {"clear": ClearYes(Exponential(9), margin=1)},
    ],
    ids=["never halts", "redraws", "two comparisons"],
)
def test_other_variants_are_refused(change) -> None:
    with pytest.raises(ParameterError, match="last of its yeses"):
        expected_yeses(replace(centred(1), **change), value=0, questions=2)


def test_many_questions_do_not_wear_out_the_arithmetic() -> None:
    found = [expected_yeses(centred(50), value=-300, questions=10**k) for k in (1, 4, 7)]
    assert np.diff(found).min() > 0
    assert found[-1] < 50
