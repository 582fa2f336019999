"""Single pairs and transcripts that tell a story: what a crash, a closed stream or a forgotten noise gives away."""

import math
from dataclasses import replace

import pytest

from auditor.exact_laws import privacy_loss
from lapwing.auditor.noise_laws import AuditedGeometric, Laplace, NoNoise
from lapwing.auditor.outcomes import LOST, NO, YES, AuditedYes
from lapwing.auditor.sparse_vector_oracle import AfterCrash, Reveals, SparseVectorVariant
from lapwing.auditor.worst_pairs import NeighbouringPair, witness_of, worst_loss

EXACTLY = 1e-9


def test_without_query_noise_what_is_likely_here_cannot_happen_there() -> None:
    """Lyu, Su and Li 2017, Algorithm 5: probability .1967 against 0."""
    naked = SparseVectorVariant(threshold=Laplace(2), query=NoNoise(), yeses=1)
    witness = witness_of(naked, NeighbouringPair(here=[0, 1], there=[1, 0]), (NO, YES))
    assert witness.loss == math.inf
    assert math.exp(witness.log_probability) == pytest.approx((1 - math.exp(-1 / 2)) / 2, abs=1e-14)
    assert privacy_loss(naked, NeighbouringPair(here=[1, 0], there=[0, 1]), (NO, YES)) == -math.inf
    assert worst_loss(naked, noes=1).loss == math.inf


def test_a_gap_off_the_lattice_tells_the_fraction_of_the_value() -> None:
    variant = SparseVectorVariant(
        threshold=AuditedGeometric(2), query=AuditedGeometric(4), yeses=1, reveals=Reveals.GAP
    )
    pair = NeighbouringPair(here=[0.5], there=[1])
    assert privacy_loss(variant, pair, (AuditedYes(gap=0.5),)) == math.inf
    assert privacy_loss(variant, pair, (YES,)) < 1


def monotone(c):
    """The default for counts on the integers, at epsilon 1."""
    ratio = c ** (2 / 3)
    return SparseVectorVariant(
        threshold=AuditedGeometric(1 + ratio), query=AuditedGeometric(c * (1 + ratio) / ratio), yeses=c
    )


@pytest.mark.parametrize(("c", "lost", "loss"), [(1, 2, 1.5), (1, 5, 3), (1, 20, 10.5), (5, 5, 1.0), (5, 20, 3.235)])
def test_asking_again_after_a_crash_has_no_bound_where_one_yes_is_billed(c, lost, loss) -> None:
    """One no just below the threshold, then yeses at the threshold, each lost in a crash and decided anew."""
    redrawing = replace(monotone(c), after_crash=AfterCrash.ASKED_AGAIN)
    pair = NeighbouringPair(here=[-1, *[0] * lost], there=[0, *[0] * lost])
    witness = witness_of(redrawing, pair, (NO, *(LOST,) * lost))
    assert witness.loss == pytest.approx(loss, abs=5e-4)
    if (c, lost) == (1, 20):
        assert math.exp(witness.log_probability) == pytest.approx(0.15, abs=0.006)


def test_a_lost_yes_that_counts_keeps_the_claim() -> None:
    pair = NeighbouringPair(here=[-1, *[0] * 5], there=[0, *[0] * 5])
    assert privacy_loss(monotone(5), pair, (NO, *(LOST,) * 5)) == pytest.approx(1, abs=EXACTLY)


@pytest.mark.parametrize(("value", "chance"), [(-1, 0.4167), (12, 0.0152)])
def test_the_price_of_the_threshold_is_due_as_soon_as_a_no_was_given(value, chance) -> None:
    """A single no, in a stream of epsilon 1 and five yeses, loses epsilon_1 = .2548, and need not be rare."""
    witness = witness_of(monotone(5), NeighbouringPair(here=[value], there=[value + 1]), (NO,))
    assert witness.loss == pytest.approx(1 / (1 + 5 ** (2 / 3)), abs=EXACTLY)
    assert math.exp(witness.log_probability) == pytest.approx(chance, abs=5e-5)


def test_yeses_about_others_are_paid_by_whoever_got_the_no() -> None:
    """One no about a person's cell, then five yeses about other cells: the person loses the whole epsilon."""
    pair = NeighbouringPair(here=[-1, *[0] * 5], there=[0, *[0] * 5])
    witness = witness_of(monotone(5), pair, (NO, *(YES,) * 5))
    here = math.exp(witness.log_probability)
    assert (here, here * math.exp(-witness.loss)) == (pytest.approx(0.0721, abs=5e-5), pytest.approx(0.0265, abs=5e-5))
    assert witness.loss == pytest.approx(1, abs=EXACTLY)
