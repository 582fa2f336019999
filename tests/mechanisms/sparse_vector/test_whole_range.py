"""Streams over the whole range of their parameters: every search ends, with a number or a refusal in a sentence."""

import itertools
import math
import random
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TypeVar

import pytest

from lapwing.answers.stream_terms import StreamTerms
from lapwing.mechanisms.sparse_vector.gaussian_stream import GaussianSparseVector
from lapwing.mechanisms.sparse_vector.stream_advice import Way, advise
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.guarantee import Adjacency
from session.clinic import population

EPSILONS = ("1e-9", "0.001", "1", "20", "1e6")
DELTAS = ("1e-300", "1e-30", "1e-6", "0.5")
CONFIDENCES = ("1e-9", "0.001", "0.3", "0.95", "0.999999999")
YESES = (1, 3, 100, 10_000, 10**6)
QUESTIONS = (1, 2, 10, 10**4, 10**6, 10**9)
PEOPLE = (0, 200, 10**12)
COUNTS = ValueSensitivity.of_counts(Adjacency.ADD_REMOVE)
T = TypeVar("T")
MOST_SECONDS = 10
"""Of the processor, for one preview: it takes below one, and a search without end takes for ever."""


def some(number: int, *ranges: tuple) -> list[tuple]:
    """Return some of all combinations, always the same."""
    return random.Random(7).sample(list(itertools.product(*ranges)), number)


def told(make: Callable[[], T]) -> T | None:
    """Return what is made, in time, or None where it is refused in a sentence that says what to do."""
    begun = time.process_time()
    try:
        made, refusal = make(), "; "
    except (ParameterError, BadQuestionError) as refused:
        made, refusal = None, str(refused)
    assert "; " in refusal
    assert time.process_time() - begun < MOST_SECONDS
    return made


@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_terms_of_streams_are_told_or_refused_in_a_sentence(confidence) -> None:
    def numbers(at_least: int, yeses: int, questions: int, epsilon: str) -> tuple[float, ...]:
        terms = StreamTerms.of(population(), at_least=at_least, yeses=yeses, epsilon=epsilon, questions=questions)
        margin = terms.margin(confidence, questions=questions)
        return margin, terms.chance_of_yes(0), terms.chance_of_yes(at_least + 10**12)

    found = [told(partial(numbers, *each)) for each in some(12, PEOPLE, YESES, QUESTIONS, EPSILONS)]
    assert any(found)
    for margin, least, most in filter(None, found):
        assert 0 <= margin < math.inf
        assert 0 <= least <= most <= 1


@pytest.mark.parametrize("within", ["1/2", 1, 1000, 10**12])
@pytest.mark.parametrize("confidence", ["1e-9", "0.3", "0.999999999"])
def test_a_stream_within_a_margin_is_found_or_refused_in_a_sentence(within, confidence) -> None:
    offer = {"at_least": 200, "yeses": 3, "within": within, "confidence": confidence, "questions": 10_000}
    terms = told(lambda: StreamTerms.of(population(), **offer))
    assert (terms is None) or terms.margin(confidence, questions=10_000) <= Fraction(within)


@pytest.mark.parametrize(
    ("questions", "yeses", "epsilon", "confidence"),
    [
        (10, 1, "0.1", "0.001"),  # half a chance is more than is wanted: no margin is needed
        (10**9, 10_000, "1e3", "0.3"),  # where all noise is the same there is no chance at all
        (10**6, 100, "0.01", "0.999999999"),
        (2, 1, "20", "1e-9"),
        (10**4, 3, "1", "0.95"),
    ],
)
def test_advice_names_every_way_with_its_margin(questions, yeses, epsilon, confidence) -> None:
    advice = advise(
        questions=questions, yeses=yeses, epsilon=epsilon, sensitivity=COUNTS, all_known=True, confidence=confidence
    )
    assert {way for way, _ in advice.margins} == {Way.SPARSE_VECTOR, Way.NOISE_ON_ALL, Way.SELECTION}
    assert all(margin < math.inf for _, margin in advice.margins)
    assert all(not math.isnan(advice.times(way)) for way, _ in advice.margins)
    assert str(advice)


def test_gaussian_streams_are_made_or_refused_in_a_sentence() -> None:
    def stream(epsilon: str, delta: str, yeses: int, questions: int) -> GaussianSparseVector:
        return GaussianSparseVector.for_budget(
            epsilon=epsilon, delta=delta, yeses=yeses, questions=questions, threshold=0, sensitivity=COUNTS
        )

    made = [told(partial(stream, *each)) for each in some(8, EPSILONS, DELTAS, YESES[:3], QUESTIONS[:4])]
    assert any(one is not None for one in made)
