"""Sample and aggregate: one person changes one number; the aggregates on all small tables; liars."""

import itertools
import math

import numpy as np
import pytest

from lapwing.errors import ParameterError
from lapwing.mechanisms.sample_and_aggregate import SampleAndAggregate, pieces_of_median
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

UNIT = PrivacyUnit(person_key="id")
EXTENT = 4


def aggregate(**words):
    asked = {"chunks": 5, "extent": EXTENT, "epsilon": 1, "aggregate": "median", "unit": UNIT}
    return SampleAndAggregate(**{**asked, **words})


def scores(numbers):
    """Return the score of every place from 0 to the extent, from the pieces."""
    starts, told = pieces_of_median(numbers)
    return [
        max((start, i, told[i]) for i, start in enumerate(starts) if start <= place)[2] for place in range(EXTENT + 1)
    ]


def test_one_number_moves_every_score_by_two_at_most_and_that_is_reached() -> None:
    tables = list(itertools.product(range(EXTENT + 1), repeat=5))
    of = {table: scores(table) for table in tables[::16]}
    moved = 0
    for table, here in of.items():
        for place in range(5):
            for number in range(EXTENT + 1):
                other = (*table[:place], number, *table[place + 1 :])
                there = of.get(other) or scores(other)
                moved = max(moved, *(abs(a - b) for a, b in zip(here, there, strict=True)))
    assert moved == 2


def test_a_score_is_how_unevenly_a_place_parts_the_numbers() -> None:
    for numbers in [(0, 0, 4, 4, 4), (1, 2, 3, 4, 4), (2, 2, 2, 2, 2), (0, 1, 1, 3, 4)]:
        by_hand = [
            -max(0, 2 * sum(one < place for one in numbers) - 5, 2 * sum(one > place for one in numbers) - 5)
            for place in range(EXTENT + 1)
        ]
        assert scores(numbers) == by_hand


def test_a_chunk_sees_its_own_people_and_everybody_is_in_one() -> None:
    rows = np.arange(3000)[::-1].reshape(-1, 1)
    seen = []

    def noted(chunks):
        seen.extend(chunks)
        return [0] * len(chunks)

    aggregate(chunks=20).release(Sensitive(rows), noted)
    assert len(seen) == 20
    assert sorted(itertools.chain.from_iterable(one[:, 0].tolist() for one in seen)) == list(range(3000))
    assert all(90 < len(one) < 220 for one in seen)  # 150 each, give or take: five standard deviations
    assert all(one[:, 0].tolist() == sorted(one[:, 0].tolist()) for one in seen), "the order of rows tells nothing"


class Dice:
    """Bytes in order, for the same dice twice."""

    def __init__(self):
        self._drawn = np.random.default_rng(3)

    def take(self, size):
        return self._drawn.bytes(size)


@pytest.mark.parametrize("place", [0, 200, 399])
def test_somebody_who_is_another_changes_one_chunk(place) -> None:
    rows = np.random.default_rng(1).integers(0, 50, (400, 2))
    other = rows.copy()
    other[place] = [77, 88]
    seen = []

    def noted(chunks):
        seen.append([one.tolist() for one in chunks])
        return [0] * len(chunks)

    for table in (rows, other):
        aggregate(chunks=20).release(table, noted, source=Dice())
    assert sum(here != there for here, there in zip(*seen, strict=True)) == 1


def test_chunks_by_place_in_place_of_dice_are_caught() -> None:
    """The liar: rows are dealt out in their order, so that one person less moves all who come after to other chunks."""
    rows = list(range(100))

    def dealt(table):
        return [tuple(table[chunk::5]) for chunk in range(5)]

    assert sum(here != there for here, there in zip(dealt(rows), dealt(rows[1:]), strict=True)) == 5


@pytest.mark.parametrize(("kind", "delta"), [("median", None), ("mean", None), ("smooth median", "1e-6")])
def test_what_is_released_is_near_what_the_chunks_say(kind, delta) -> None:
    made = aggregate(chunks=400, extent=1000, epsilon=4, aggregate=kind, delta=delta)
    rows = np.full((4000, 1), 3)
    told = made.release(rows, lambda chunks: [600 + (i % 5) for i in range(len(chunks))])
    assert abs(told / (400 if kind == "mean" else 1) - 602) < 40


def test_numbers_beyond_the_ends_count_as_the_ends() -> None:
    made = aggregate(chunks=400, extent=10, epsilon=10)
    assert made.release(np.zeros((9, 1), np.int64), lambda chunks: [10**30] * len(chunks)) == 10
    assert made.release(np.zeros((9, 1), np.int64), lambda chunks: [-5] * len(chunks)) == 0


def test_groups_pay_for_each_of_their_members_and_exchange_costs_no_more() -> None:
    three = PrivacyUnit(person_key="id", protects_groups_of=3)
    assert float(aggregate(unit=three)._inner.noise_scale) == pytest.approx(3 * aggregate()._inner.noise_scale)
    replaced = PrivacyUnit(person_key="id", adjacency=Adjacency.REPLACE)
    assert aggregate(unit=replaced).event == aggregate().event


def test_the_law_of_a_median_keeps_its_price_on_all_small_tables() -> None:
    """Chances by hand: e^(score/4) at epsilon 1, over all numbers; neighbours are told apart by at most e."""
    tables = list(itertools.product(range(EXTENT + 1), repeat=5))[::41]

    def law(numbers):
        weights = [math.exp(one / 4) for one in scores(numbers)]
        return [one / sum(weights) for one in weights]

    for table in tables:
        here = law(table)
        for number in range(EXTENT + 1):
            there = law((number, *table[1:]))
            assert max(math.log(a / b) for a, b in zip(here, there, strict=True)) <= 1 + 1e-12
    made = aggregate()
    of = np.bincount([made.release(np.zeros((0, 1), np.int64), lambda _: [0, 1, 2, 3, 4]) for _ in range(2000)])
    expected = np.array(law((0, 1, 2, 3, 4))) * 2000
    assert float(((of - expected) ** 2 / expected).sum()) < 60  # four degrees of freedom: 3e-12
    wrong = np.full(5, 400.0)  # a choice that looks at no scores
    assert float(((of - wrong) ** 2 / wrong).sum()) > 60


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"chunks": 2}, "chunks"),
        ({"chunks": 10**6}, "chunks"),
        ({"aggregate": "mode"}, "write one of median, mean, smooth median"),
        ({"aggregate": "smooth median"}, "offer one with it"),
        ({"delta": "1e-6"}, "take the smooth median"),
        ({"extent": 0}, "extent"),
    ],
)
def test_what_is_no_aggregate_is_refused(words, told) -> None:
    with pytest.raises(ParameterError, match=told):
        aggregate(**words)


def test_as_many_numbers_as_chunks_are_wanted_and_nothing_of_them_is_told() -> None:
    with pytest.raises(ParameterError, match="gave another number of numbers") as caught:
        aggregate().release(np.zeros((9, 1), np.int64), lambda _: [123456])
    assert "123456" not in str(caught.value)
