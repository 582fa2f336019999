"""What streams say has the probabilities that the oracle computes from their scales, and no others.

Every test also shows its power: the same sample is rejected if the query noise were a tenth larger or smaller.
"""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from auditor.exact_laws import transcript_probabilities
from lapwing.auditor.outcomes import CLEAR_YES, YES, AuditedWithin, AuditedYes, Level
from lapwing.mechanisms.sparse_vector.pure import AdaptiveSparseVector
from lapwing.mechanisms.sparse_vector.stream import SparseVectorStatus
from mechanisms.sparse_vector.suspects import COUNTS, NAMES, REALS, outcome_of, shipped, variant_of
from statistical.goodness import fits, p_value

LIES = (Fraction(9, 10), Fraction(11, 10))
GAPS = (0, 4, 12, float("inf"))
"""Edges between which gaps are told apart."""
SAMPLES, FEWER_SAMPLES = 30_000, 20_000
"""Enough that a lie is missed with a probability of about 1e-7 in the test with the least power."""


def binned(number):
    low = max(edge for edge in GAPS if edge <= number)
    return AuditedWithin(low, GAPS[GAPS.index(low) + 1])


def signed_bin(number):
    return AuditedWithin(0, float("inf")) if number >= 0 else AuditedWithin(-float("inf"), 0)


def looks(mechanism):
    """How the answers of a mechanism are told apart, and all yeses that then exist."""
    if isinstance(mechanism, AdaptiveSparseVector):
        return {}, (YES, CLEAR_YES)
    if mechanism.rule.fresh_noise:
        signs = AuditedWithin(0, float("inf")), AuditedWithin(-float("inf"), 0)
        return {"number": signed_bin}, tuple(AuditedYes(numeric=sign) for sign in signs)
    if mechanism.rule.shows_gap:
        return {"gap": binned}, tuple(AuditedYes(gap=AuditedWithin(a, b)) for a, b in itertools.pairwise(GAPS))
    return {}, (YES,)


def p_values(mechanism, values, transcripts, above):
    """The p-value of a sample under the truth, and under each lie."""
    counts = Counter(transcripts)
    for times in (Fraction(1), *LIES):
        law = transcript_probabilities(variant_of(mechanism, times=times), values, above=above)
        assert set(counts) <= set(law)
        yield p_value(np.array([counts[t] for t in law]), np.array(list(law.values())))


@pytest.mark.parametrize("name", NAMES)
def test_transcripts_asked_one_by_one_have_the_law_of_the_oracle(name) -> None:
    mechanism, values = shipped()[name], [-12, -4, 3]
    look, above = looks(mechanism)

    def transcript():
        stream = mechanism.open()
        answers = (stream.ask(value) for value in values if stream.status is SparseVectorStatus.OPEN)
        return tuple(outcome_of(mechanism, answer, **look) for answer in answers)

    truth, *lies = p_values(
        mechanism, values, (transcript() for _ in range(SAMPLES * 3 // 2 if name == "two-sided" else SAMPLES)), above
    )
    assert fits(truth)
    assert not any(fits(lie) for lie in lies)


@pytest.mark.parametrize("name", ["gap", "adaptive"])
def test_transcripts_asked_at_once_have_the_same_law(name) -> None:
    mechanism, values = shipped()[name], np.array([-12, -4, 3])
    look, above = looks(mechanism)
    sample = [
        tuple(outcome_of(mechanism, answer, **look) for answer in mechanism.open().ask_many(values))
        for _ in range(FEWER_SAMPLES)
    ]
    truth, *lies = p_values(mechanism, values.tolist(), sample, above)
    assert fits(truth)
    assert not any(fits(lie) for lie in lies)


def test_a_grid_has_the_law_of_its_lattice() -> None:
    mechanism, values = shipped(REALS, grid="1/4")["gap"], [-3.05, -1.0, 0.8]
    look, above = looks(mechanism)
    placed = [Fraction(-3), Fraction(-1), Fraction(3, 4)]
    sample = [
        tuple(outcome_of(mechanism, answer, **look) for answer in mechanism.open().ask_many(values))
        for _ in range(FEWER_SAMPLES)
    ]
    truth, *lies = p_values(mechanism, placed, sample, above)
    assert fits(truth)
    assert not any(fits(lie) for lie in lies)


def test_a_threshold_for_each_question_is_what_its_value_is_compared_with() -> None:
    mechanism, values = shipped(COUNTS, threshold=1000)["gap"], [-12, -4, 3]
    look, above = looks(mechanism)
    thresholds = ["-6.5", 100, 7]  # at least -6.5 is at least -6
    shifted = [-6 - 12, 100 - 4, 7 + 3]
    sample = [
        tuple(outcome_of(mechanism, answer, **look) for answer in mechanism.open().ask_many(shifted, thresholds))
        for _ in range(FEWER_SAMPLES)
    ]
    truth, *lies = p_values(mechanism, values, sample, above)
    assert fits(truth)
    assert not any(fits(lie) for lie in lies)


def test_where_a_long_stream_halts_has_the_law_of_the_oracle() -> None:
    mechanism = shipped()["above threshold"]
    values = np.full(1500, -9)
    law = transcript_probabilities(variant_of(mechanism), [-9] * 12)
    halts = np.array([len(mechanism.open().ask_many(values)) for _ in range(20_000)])
    by_length = np.zeros(13)
    for transcript, probability in law.items():
        by_length[len(transcript) - 1 if transcript[-1] == YES else 12] += probability
    counts = np.bincount(np.minimum(halts, 13) - 1, minlength=13)
    assert fits(p_value(counts, by_length))
    assert not fits(p_value(counts, np.append(by_length[1:], by_length[0])))


def test_levels_are_told_apart() -> None:
    mechanism = shipped()["adaptive"]
    clear = outcome_of(mechanism, mechanism.open().ask(10_000))
    assert clear == CLEAR_YES
    assert clear.level is Level.CLEAR
