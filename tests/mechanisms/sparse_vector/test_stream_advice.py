"""The advice is what the published comparison says, computed for the case at hand."""

import pytest

from lapwing.mechanisms.sparse_vector.stream_advice import Way, advise
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.vocabulary.errors import ParameterError
from mechanisms.sparse_vector.suspects import COUNTS

ANYTHING = ValueSensitivity.of_anything(sensitivity=1)


@pytest.mark.parametrize(
    ("yeses", "moves", "best", "margins"),
    [
        (1, ANYTHING, Way.SELECTION, {Way.SPARSE_VECTOR: 17.9, Way.SELECTION: 9.1, Way.NOISE_ON_ALL: 5717}),
        (10, ANYTHING, Way.SELECTION, {Way.SPARSE_VECTOR: 118.1, Way.SELECTION: 102.1, Way.GAUSSIAN_ON_ALL: 429}),
        (50, ANYTHING, Way.GAUSSIAN_SPARSE_VECTOR, {Way.SPARSE_VECTOR: 521, Way.GAUSSIAN_SPARSE_VECTOR: 434}),
        (50, COUNTS, Way.GAUSSIAN_SPARSE_VECTOR, {Way.SELECTION: 265, Way.GAUSSIAN_ON_ALL: 463}),
    ],
    ids=["1", "10", "50", "50 counts"],
)
def test_the_margins_of_all_ways_are_those_of_the_published_comparison(yeses, moves, best, margins) -> None:
    advice = advise(questions=1000, yeses=yeses, epsilon=1, delta="1e-6", sensitivity=moves, all_known=True)
    assert advice.best is best
    found = dict(advice.margins)
    assert set(found) == set(Way)
    for way, margin in margins.items():
        assert found[way] == pytest.approx(margin, rel=0.01, abs=0.5)
    assert advice.times(advice.best) == 1
    assert advice.times(Way.NOISE_ON_ALL) == pytest.approx(found[Way.NOISE_ON_ALL] / found[best])


def test_a_way_is_named_only_where_it_is_open() -> None:
    ways = [way for way, _ in advise(questions=100, yeses=3, epsilon=1, sensitivity=COUNTS).margins]
    assert ways == [Way.SPARSE_VECTOR, Way.NOISE_ON_ALL]


def test_few_questions_with_many_yeses_are_better_answered_by_plain_noise() -> None:
    advice = advise(questions=5, yeses=4, epsilon=1, sensitivity=ANYTHING)
    assert advice.best is Way.NOISE_ON_ALL
    assert advice.times(Way.SPARSE_VECTOR) > 1.2
    assert str(advice).splitlines()[0].startswith("  1.00x")


def test_what_leaves_nothing_to_decide_is_refused() -> None:
    for wrong in ({"questions": 1, "yeses": 1}, {"questions": 5, "yeses": 5}, {"questions": 5, "yeses": 0}):
        with pytest.raises(ParameterError):
            advise(**wrong, epsilon=1, sensitivity=COUNTS)


def test_a_finer_lattice_gives_the_same_advice() -> None:
    coarse = advise(questions=100, yeses=3, epsilon=1, sensitivity=COUNTS)
    fine = advise(questions=100, yeses=3, epsilon=1, sensitivity=COUNTS, grid="1/1024")
    for way, margin in coarse.margins:
        assert dict(fine.margins)[way] == pytest.approx(margin, rel=0.03)
