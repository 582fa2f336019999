"""A corridor: its law is the one that its price was computed for, its yeses are common, and its intervals hold."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from lapwing.accounting import PureDP, open_account
from lapwing.accounting.filters.charge import StreamClosing, YesCharge
from lapwing.mechanisms import SparseVector
from lapwing.mechanisms.sparse_vector.corridor import Corridor
from lapwing.mechanisms.sparse_vector.law_probabilities import reach
from lapwing.mechanisms.sparse_vector.stream import SparseVectorStatus
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.noise.sealing import SealedSource
from lapwing.vocabulary.errors import SealBrokenError, StreamHaltedError
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import Adjacency
from statistical.goodness import fits, p_value

ADD_REMOVE, REPLACE = (ValueSensitivity.of_counts(one) for one in Adjacency)
KEY = bytes(range(32))
FAR = 400
"""Draws of noise beyond this have a probability below 1e-17 at the scales used here."""


def corridor(sensitivity=ADD_REMOVE, **more):
    given = {"half_width": 4, "yeses": 2, "opening": "1", "yes": "1/2", "number": "1/2", **more}
    return Corridor(sensitivity=sensitivity, **given)


def tail(scale, x):
    """P(noise >= x) of geometric noise."""
    return np.where(x > 0, np.exp(-np.maximum(x, 0) / float(scale)), 1.0)


def law(mechanism, values, guesses, *, query_scale=None):
    """Return the probability of every transcript: for each question 0, +1 above or -1 below, up to the halt.

    Computed from the definition: one-sided noise on each threshold, drawn once, and on every comparison.
    """
    rule, once = mechanism.rule, np.arange(FAR)
    scale = rule.threshold_noise.scale
    weights = np.exp(-once / float(scale)) * -math.expm1(-1 / float(scale))
    each = rule.comparisons[0].noise.scale if query_scale is None else query_scale
    bar, width, found = rule.comparisons[0].bar, mechanism.half_width, {}
    for told in itertools.product((0, 1, -1), repeat=len(values)):
        yeses = [place for place, one in enumerate(told) if one]
        end = yeses[mechanism.yeses - 1] + 1 if len(yeses) >= mechanism.yeses else len(told)
        if told[end:].count(0) != len(told) - end:
            continue
        above, below = weights.copy(), weights.copy()
        for one, value, guess in zip(told[:end], values, guesses, strict=False):
            up = tail(each, bar + once + width - (value - guess))
            down = tail(each, bar + once + width - (guess - value))
            above *= up if one == 1 else 1 - up
            if one != 1:
                below *= down if one == -1 else 1 - down
        found[told[:end]] = float(above.sum() * below.sum())
    return found


def neighbours(adjacency):
    """Pairs of values of three questions with the greatest differences that somebody can make."""
    moves = [(1, 1, 1), (1, 0, 1)] if adjacency is Adjacency.ADD_REMOVE else [(1, 1, -1), (1, -1, 0), (1, 1, 1)]
    for start in itertools.product((-16, 8, 14, 36), repeat=3):
        for move in moves:
            yield start, tuple(map(sum, zip(start, move, strict=True)))


def worst_excess(mechanism, adjacency, **lie):
    """Return by how much the loss of a transcript exceeds its realised charge at most, numbers left out."""
    guesses, worst = (10, 10, 10), -math.inf
    bare = mechanism.yes_price - mechanism.number_price
    for some, others in neighbours(adjacency):
        here, there = law(mechanism, some, guesses, **lie), law(mechanism, others, guesses, **lie)
        for told, chance in here.items():
            due = float(mechanism.threshold_epsilon + bare * sum(map(abs, told)))
            for one, other in ((chance, there[told]), (there[told], chance)):
                if one > 1e-12:
                    worst = max(worst, math.log(one / other) - due)
    return worst


@pytest.mark.parametrize("adjacency", Adjacency, ids=lambda one: one.value)
def test_every_transcript_loses_at_most_its_opening_and_its_yeses(adjacency) -> None:
    mechanism = corridor(ValueSensitivity.of_counts(adjacency))
    assert worst_excess(mechanism, adjacency) <= 1e-9


def test_noise_for_values_that_only_rise_is_too_small_where_somebody_is_replaced() -> None:
    """The liar that prices either stream as monotone while some counts rise and others fall."""
    honest = corridor(REPLACE, opening="1/10", yeses=1)
    cheap = corridor(ADD_REMOVE).rule.comparisons[0].noise.scale
    assert worst_excess(honest, Adjacency.REPLACE) <= 1e-9
    assert worst_excess(honest, Adjacency.REPLACE, query_scale=cheap) > 0.1


def test_the_sum_over_all_transcripts_is_one() -> None:
    assert sum(law(corridor(), (6, 10, 14), (10, 10, 10)).values()) == pytest.approx(1)


@pytest.mark.parametrize("asked", ["one by one", "at once"])
def test_transcripts_have_the_law_that_was_priced(asked) -> None:
    mechanism, values, guesses = corridor(), [7, 13, 10], [10, 10, 10]
    upper = [guess + mechanism.half_width for guess in guesses]

    def transcript():
        with mechanism.open() as stream:
            if asked == "at once":
                answers = list(stream.ask_many(values, upper))
            else:
                answers = []
                for value, limit in zip(values, upper, strict=True):
                    if stream.status is SparseVectorStatus.OPEN:
                        answers.append(stream.ask(value, limit))
            return tuple(bool(answer) for answer in answers)

    counts = Counter(transcript() for _ in range(6_000))

    def chances(**lie):
        merged = Counter()
        for told, chance in law(mechanism, values, guesses, **lie).items():
            merged[tuple(map(bool, told))] += chance
        assert set(counts) <= set(merged)
        return p_value(np.array([counts[told] for told in merged]), np.array(list(merged.values())))

    assert fits(chances())
    assert not fits(chances(query_scale=mechanism.rule.comparisons[0].noise.scale * Fraction(7, 5)))


def test_yeses_of_both_streams_are_counted_together() -> None:
    mechanism = corridor(yeses=3, half_width=300, yes="1", number="1")
    with mechanism.open() as stream:
        answers = stream.ask_many([9_000, 1_000, 0, 1_000, 9_000, 9_000], [1_300] * 6)
        assert [bool(one) for one in answers] == [True, False, True, False, True]
        assert [round(float(one.number), -3) for one in answers.yeses] == [9_000, 0, 9_000]
        assert stream.status is SparseVectorStatus.HALTED
        assert stream.spent == mechanism.epsilon == sum(one.price for one in answers) + mechanism.threshold_epsilon
        with pytest.raises(StreamHaltedError):
            stream.ask(1_000, 1_300)


def test_numbers_have_noise_of_their_own_and_never_the_exact_value() -> None:
    mechanism = corridor(yeses=200, half_width=300, number="1/10")
    with mechanism.open() as stream:
        above = [float(one.number) - 9_000 for one in stream.ask_many([9_000] * 100, [1_300] * 100)]
        below = [float(one.number) - 50 for one in stream.ask_many([50] * 99, [1_300] * 99)]
    for errors in (above, below):
        assert 4 < np.std(errors) < 30
        assert abs(np.mean(errors)) < 7


def test_a_corridor_that_is_resumed_goes_on_with_its_secret_and_the_same_seed_decides_alike() -> None:
    mechanism = corridor(half_width=3, yeses=5)
    sealed = mechanism.open(name="s").suspend(KEY)
    values, upper = [Sensitive(one) for one in (10, 14, 7, 9)], [13, 13, 13, 13]

    def decided():
        stream = mechanism.resume(sealed, key=KEY, sequence=1, name="s")
        return [(bool(one), one.gap) for one in stream.ask_many(values, upper, source=SealedSource(bytes(32)))]

    assert decided() == decided()
    halves = sealed[len(sealed) // 2 :] + sealed[: len(sealed) // 2]
    for broken, name in ((halves, "s"), (sealed, "t"), (sealed[:-1], "s")):
        with pytest.raises(SealBrokenError):
            mechanism.resume(broken, key=KEY, sequence=1, name=name)


def test_an_account_holds_the_whole_and_gets_back_what_no_yes_has_used() -> None:
    mechanism = corridor(yeses=3)
    account = open_account(PureDP(epsilon=Fraction(4))).admit(mechanism.reservation("s"))
    account = account.book(YesCharge(stream="s")).book(StreamClosing(stream="s"))
    assert account.filters["everyone"].spent == mechanism.threshold_epsilon + mechanism.yes_price
    assert account.filters["everyone"].reserved == 0


def test_a_lost_question_counts_as_a_yes() -> None:
    stream = corridor(yeses=2).open()
    stream.lose()
    assert stream.yeses == 1
    stream.lose()
    assert stream.status is SparseVectorStatus.HALTED


def broken_intervals(mechanism, off, streams=300):
    """Return how many of some streams told of a value that lies one step outside that it is near its guess."""
    broken = 0
    for number in range(streams):
        with mechanism.open() as stream:
            side = 1 if number % 2 else -1
            value, guess = 10_000 + side * (off + 1), 10_000
            told = stream.ask_many([value] * 200, [guess + mechanism.half_width] * 200)
            broken += not all(told)
    return broken


def test_free_answers_lie_in_their_interval_whatever_is_asked_and_the_bar_belongs_to_it() -> None:
    """For all questions of a stream at once; an interval without the bar, as a first version had it, is broken."""
    mechanism = corridor(yeses=10, half_width=30, opening="1/2", yes="1/50", number="1")
    assert mechanism.rule.comparisons[0].bar > 20
    assert broken_intervals(mechanism, mechanism.reach("0.95")) <= 15
    without = mechanism.reach("0.95") - mechanism.rule.comparisons[0].bar
    assert broken_intervals(mechanism, without) > 100


def test_numbers_lie_in_their_interval_all_at_once() -> None:
    mechanism = corridor(yeses=8, half_width=5, number="1/4")
    off, broken = mechanism.number_reach("0.9"), 0
    for _ in range(200):
        with mechanism.open() as stream:
            told = stream.ask_many([10_000] * 8, [0] * 8).yeses
            broken += any(abs(one.number - 10_000) > off for one in told)
    assert broken <= 26  # at most 5 % are expected: more than that has a probability of about 1e-6
    assert mechanism.interval(told[0], "0.9") == (told[0].number - off, told[0].number + off)


def test_a_yes_that_noise_gave_is_far_off_by_its_gap_and_not_by_its_number() -> None:
    """The liar shows the gap of the comparison with the margin of its noise, though it was picked for being large."""
    honest = corridor(yeses=1, half_width=40, opening="1/10", yes="1/7", number="1/7")
    cheap = SparseVector(epsilon="1/5", yeses=1, threshold=40, sensitivity=ADD_REMOVE)
    plain, fresh = reach(cheap.rule.comparisons[0].noise, Fraction(1, 20)), honest.number_reach("0.95")
    assert fresh <= plain < 30
    gaps, numbers = list[float](), list[float]()
    for _ in range(15):
        with cheap.open() as lies, honest.open() as stream:
            gaps += [float(one.threshold + one.gap) + 20 for one in lies.ask_many([-20] * 5_000).yeses]
            yeses = stream.ask_many([10_000] * 5_000, [10_060] * 5_000).yeses
            numbers += [float(one.number) - 10_000 for one in yeses]
    assert len(gaps) > 3, "a yes for the value -20 comes from noise"
    assert len(numbers) > 3
    assert min(gaps) > 2 * plain
    assert sum(abs(one) > fresh for one in numbers) <= 8


def test_the_chance_of_a_yes_is_that_of_either_side() -> None:
    mechanism = corridor(half_width=20, yes="1/4")
    assert mechanism.chance_of_yes(0, 20) < 0.1
    assert mechanism.chance_of_yes(60, 20) == pytest.approx(mechanism.chance_of_yes(-60, 20))
    assert mechanism.chance_of_yes(60, 20) > 0.99
