"""The liars are what they are described to be, and what they are described to be is a lie."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from audit import broken_mechanisms as programs
from audit.broken_mechanisms import LIARS
from auditor.exact_laws import privacy_loss, transcript_probabilities
from lapwing.auditor.liars import DOCUMENT_002, STREAM_LIARS
from lapwing.auditor.noise_laws import NoNoise
from lapwing.auditor.outcomes import ABORT, LOST, NO, YES, AuditedWithin, AuditedYes
from lapwing.auditor.sparse_vector_oracle import Reveals
from lapwing.auditor.worst_pairs import worst_loss
from statistical.goodness import fits, p_value

SAMPLES = 300_000
VALUES = (-3, -1.5, 1, 2)
EDGES = (-math.inf, -2, 0, 2, 5, math.inf)
LIARS_BY_NAME = pytest.mark.parametrize("liar", STREAM_LIARS, ids=lambda liar: liar.name)


def above(variant):
    """Return the outcomes of a value above the threshold that the samples are sorted into."""
    bins = [AuditedWithin(low, high) for low, high in itertools.pairwise(EDGES)]
    match variant.reveals:
        case Reveals.COMPARED_VALUE:
            return [AuditedYes(compared=interval) for interval in bins]
        case Reveals.GAP:
            return [AuditedYes(gap=interval) for interval in bins if interval.high > 0]
    return [LOST] if variant.after_crash.name == "ASKED_AGAIN" else [YES]


def counted(transcripts, outcomes):
    """Return how often each transcript was sampled, as a dictionary."""
    codes = {programs.NO: NO, programs.ABORT: ABORT, programs.LOST: LOST}
    first = len(EDGES) - 1 - len(outcomes)
    bins = np.where(np.isnan(transcripts.told), 0, np.searchsorted(EDGES, transcripts.told, side="right") - 1 - first)
    keys = np.where(transcripts.said == programs.YES, 10 + bins, transcripts.said) + 1
    rows, counts = np.unique(keys @ 100 ** np.arange(keys.shape[1]), return_counts=True)
    said = [[row // 100**i % 100 - 1 for i in range(keys.shape[1])] for row in rows.tolist()]
    return {
        tuple(codes.get(code) or outcomes[code - 10] for code in row if code != programs.NOT_ASKED): count
        for row, count in zip(said, counts.tolist(), strict=True)
    }


def sample_fits(variant, transcripts):
    law = transcript_probabilities(variant, VALUES, above=above(variant))
    counts = counted(transcripts, above(variant))
    assert set(counts) <= set(law), "something was said that the description cannot say"
    return fits(p_value(np.array([counts.get(t, 0) for t in law]), np.array(list(law.values()))))


def ten_percent_off(variant):
    which = "threshold" if isinstance(variant.query, NoNoise) else "query"
    law = getattr(variant, which)
    return replace(variant, **{which: type(law)(1.1 * law.scale)})


@LIARS_BY_NAME
def test_a_liar_does_what_its_description_says_and_not_something_near_it(liar) -> None:
    transcripts = LIARS[liar.name](VALUES, np.random.default_rng(20), SAMPLES)
    assert sample_fits(liar.variant, transcripts)
    assert not sample_fits(ten_percent_off(liar.variant), transcripts)


@LIARS_BY_NAME
def test_a_liar_is_caught_by_its_witness(liar) -> None:
    assert privacy_loss(liar.variant, liar.pair, liar.transcript) > float(liar.claim.epsilon) + 0.2


@LIARS_BY_NAME
def test_the_neighbours_of_a_witness_are_neighbours(liar) -> None:
    moves = np.subtract(liar.pair.there, liar.pair.here)
    assert np.abs(moves).max() <= liar.sensitivity
    if liar.movement.name == "TOGETHER":
        assert (moves >= 0).all() or (moves <= 0).all()


BOUNDED = [liar for liar in STREAM_LIARS if math.isfinite(liar.loses)]


@pytest.mark.parametrize("liar", BOUNDED, ids=lambda liar: liar.name)
def test_a_bounded_liar_loses_what_is_said_and_no_more(liar) -> None:
    found = worst_loss(liar.variant, sensitivity=liar.sensitivity, movement=liar.movement, noes=30)
    assert found.loss == pytest.approx(liar.loses, abs=1e-6)


def test_every_program_has_a_description_and_every_description_a_program() -> None:
    assert list(LIARS) == [liar.name for liar in STREAM_LIARS]


def test_document_002_is_told_apart_from_its_repair() -> None:
    """Halting in time and telling the gap instead of the value is all it takes, for counts that move together."""
    repaired = programs.sparse_vector(
        VALUES,
        SAMPLES,
        threshold=programs.laplace(np.random.default_rng(1), 2),
        query=programs.laplace(np.random.default_rng(2), 2),
        tells="gap",
    )
    gap = replace(DOCUMENT_002.variant, reveals=Reveals.GAP, halting=STREAM_LIARS[1].variant.halting)
    assert sample_fits(gap, repaired)
    assert worst_loss(gap, movement=DOCUMENT_002.movement, noes=30).loss == pytest.approx(1, abs=1e-6)
