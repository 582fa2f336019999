"""Order statistics of errors: one person moves each by at most one, however many boxes there are."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from lapwing.auditor.black_box import audit
from lapwing.mechanisms.worst_error import ErrorStatistics, box_sums
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Repeated
from lapwing.vocabulary.guarantee import PrivacyUnit, PureDP

CODES, UNIT = (3, 2), PrivacyUnit(person_key="id")
CHOICES = [((0, 0), (1, 1), (0, 1), (2, 2)), ((0, 0), (1, 1))]
SETS = [(), (0,), (1,), (0, 1)]
RANKS = (1, "0.5", "0.01")


def statistics(**more):
    return ErrorStatistics(codes=CODES, choices=CHOICES, sets=SETS, epsilon=1, unit=UNIT, **more)


def guesses(axes):
    return {
        (): np.array(6),
        (0,): np.array([2, 1, 4, 1]),
        (1,): np.array([3, 3]),
        (0, 1): np.array([[1, 1], [0, 2], [1, 3], [0, 1]]),
    }[axes]


def exact(table, errors=lambda one: one):
    """Return the order statistics of all errors of a table of counts, computed box by box."""
    found = []
    for axes in SETS:
        for ranges in itertools.product(*(range(len(CHOICES[a])) for a in axes)):
            box = [slice(None), slice(None)]
            for a, which in zip(axes, ranges, strict=True):
                first, last = CHOICES[a][which]
                box[a] = slice(first, last + 1)
            found.append(abs(int(table[tuple(box)].sum()) - int(guesses(axes)[ranges])))
    found = sorted(errors(found))
    return [found[-1], found[-(-len(found) // 2) - 1], found[0]]


def tables():
    drawn = np.random.default_rng(1)
    for _ in range(60):
        yield drawn.integers(0, 4, CODES)


class Quiet:
    """Noise that is none: what is released is what was computed."""

    def release(self, value):
        return value.open_for_release()


def computed(table):
    mechanism = statistics(ranks=RANKS)
    object.__setattr__(mechanism, "mechanism", Quiet())
    return mechanism.release({(0, 1): table.ravel().tolist()}, guesses)


def test_sums_over_boxes_are_those_of_their_cells() -> None:
    table = np.arange(6).reshape(CODES)
    for i, j in itertools.product(range(4), range(2)):
        (a, b), (c, d) = CHOICES[0][i], CHOICES[1][j]
        assert box_sums(table, CHOICES)[i, j] == table[a : b + 1, c : d + 1].sum()


def test_what_is_released_is_computed_over_every_box_once() -> None:
    assert statistics().boxes == 1 + 4 + 2 + 8
    for table in tables():
        assert computed(table) == exact(table)


def moves(statistic):
    """Return how far somebody who joins, or is exchanged for somebody else, moves a statistic at most."""
    most = 0
    for table in tables():
        before = statistic(table)
        for cell in itertools.product(*map(range, CODES)):
            joined = table.copy()
            joined[cell] += 1
            most = max(most, *(abs(a - b) for a, b in zip(before, statistic(joined), strict=True)))
            for other in itertools.product(*map(range, CODES)):
                if joined[other]:
                    exchanged = joined.copy()
                    exchanged[other] -= 1
                    most = max(most, *(abs(a - b) for a, b in zip(before, statistic(exchanged), strict=True)))
    return most


def test_one_person_moves_every_statistic_by_one_at_most() -> None:
    assert moves(computed) == 1


def test_a_class_from_which_the_worst_is_dropped_after_a_look_moves_farther() -> None:
    """The liar that leaves out the errors that look bad: whether one does depends on a single person."""
    assert moves(lambda table: exact(table, lambda errors: [one for one in errors if one < 5])) > 1


def test_errors_that_are_shares_of_the_people_are_not_bounded_by_one_person() -> None:
    assert moves(lambda table: [1000 * one // max(1, table.sum()) for one in exact(table)]) > 1


def test_groups_and_several_numbers_are_paid_for() -> None:
    household = PrivacyUnit(person_key="id", protects_groups_of=4)
    four = ErrorStatistics(codes=CODES, choices=CHOICES, sets=SETS, epsilon=1, unit=household)
    assert four.event.l1_sensitivity == 4
    assert four.loss.pure_epsilon == 1
    assert statistics(ranks=RANKS).event == Repeated(part=statistics().event, times=3)
    assert statistics(ranks=RANKS).loss.pure_epsilon == 3


def test_it_keeps_its_promise_seen_from_outside() -> None:
    few = np.array([[3, 0], [1, 2], [0, 9]])
    more = few.copy()
    more[2, 1] += 1

    def told_at(epsilon):
        mechanism = ErrorStatistics(codes=CODES, choices=CHOICES, sets=SETS, epsilon=epsilon, unit=UNIT)
        return lambda table: np.array(mechanism.release({(0, 1): table.ravel().tolist()}, guesses))

    assert not audit(told_at(1), claim=PureDP(epsilon=1), neighbours=(few, more), samples=2_000).refuted
    assert audit(told_at(3), claim=PureDP(epsilon=1), neighbours=(few, more), samples=2_000).refuted


def test_noise_is_drawn_for_each_number() -> None:
    table, mechanism = next(tables()), statistics(ranks=(1, 1))
    told = [mechanism.release({(0, 1): table.ravel().tolist()}, guesses) for _ in range(200)]
    assert Counter(a == b for a, b in told)[False] > 80


@pytest.mark.parametrize("ranks", [(), (0,), (2,), ("-1",)])
def test_ranks_are_parts_of_a_class(ranks) -> None:
    with pytest.raises(ParameterError, match="ranks"):
        statistics(ranks=ranks)


def test_choices_are_ranges_of_codes() -> None:
    with pytest.raises(ParameterError, match="choices"):
        ErrorStatistics(codes=(2,), choices=[((0, 2),)], sets=[(0,)], epsilon=Fraction(1), unit=UNIT)


def test_a_table_of_another_size_is_refused_without_its_size() -> None:
    with pytest.raises(ParameterError, match="6 coordinates"):
        statistics().release({(0, 1): [1, 2, 3]}, guesses)
