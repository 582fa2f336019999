"""Hundreds of streams that nobody chose: the loss of their transcripts, by a sum over every threshold noise.

Only the rule of the stream is asked (its noises, its bars, its prices). The laws, what people can do to the values, and
the probabilities are written down here once more.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp

from lapwing.mechanisms.sparse_vector.pure import SparseVector, YesReveals
from lapwing.mechanisms.sparse_vector.stream_mechanism import SparseVectorNoise
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.noise.laws import Geometric
from lapwing.vocabulary.guarantee import Adjacency

CASES = 120


def log_mass(law, x):
    b = float(law.scale)
    if isinstance(law, Geometric):
        return np.where(x >= 0, math.log(-math.expm1(-1 / b)) - np.maximum(x, 0) / b, -np.inf)
    return math.log(math.tanh(0.5 / b)) - np.abs(x) / b


def log_tails(law, x):
    """ln P(noise < x), ln P(noise >= x)."""
    b = float(law.scale)
    with np.errstate(divide="ignore"):
        if isinstance(law, Geometric):
            far = np.minimum(0.0, -x / b)
            return np.where(far < 0, np.log(-np.expm1(np.minimum(far, -1e-300))), -np.inf), far
        upper = -np.where(x > 0, x, 1 - x) / b - math.log1p(math.exp(-1 / b))
        return np.where(x > 0, np.log1p(-np.exp(upper)), upper), np.where(x > 0, upper, np.log1p(-np.exp(upper)))


def log_chance(rule, noes, yeses):
    """ln P(noes at these distances, then yeses at those), each yes with its gap where gaps are shown."""
    (way,) = rule.comparisons
    far = int(45 * float(rule.threshold_noise.scale)) + max(map(abs, [*noes, *(at for at, _ in yeses), 1])) + 2
    z = np.arange(0 if isinstance(rule.threshold_noise, Geometric) else -far, far)
    total = log_mass(rule.threshold_noise, z)
    for distance in noes:
        total = total + log_tails(way.noise, way.bar + z - distance)[0]
    for distance, gap in yeses:
        needed = way.bar + z - distance
        total = total + (log_mass(way.noise, needed + gap) if rule.shows_gap else log_tails(way.noise, needed)[1])
    return float(logsumexp(total))


def movement(rng):
    """A movement, and what of it the oracle has to know: how far one arriving person moves a value, up and down."""
    people = int(rng.integers(1, 4))
    adjacency = [Adjacency.ADD_REMOVE, Adjacency.REPLACE][rng.integers(2)]
    up, down = int(rng.integers(1, 4)), int(rng.integers(0, 3))
    kind = rng.integers(4)
    if kind == 0:
        return ValueSensitivity.of_counts(adjacency, people=people), (1, 0), adjacency, people
    if kind == 1:
        return ValueSensitivity.of_sums(adjacency, most=up, people=people), (up, 0), adjacency, people
    if kind == 2:
        return ValueSensitivity.of_arrivals(adjacency, up=up, down=down, people=people), (up, down), adjacency, people
    return ValueSensitivity.of_anything(sensitivity=up, people=people), (up, up), Adjacency.ADD_REMOVE, people


def ranges(alone, adjacency, people):
    """Within which bounds a group moves all values of a pair of neighbours: for each way to come and go, one pair."""
    up, down = alone
    if adjacency is Adjacency.REPLACE:
        return [(-people * (up + down), people * (up + down))]
    return [(-come * down - (people - come) * up, come * up + (people - come) * down) for come in range(people + 1)]


def stream(rng):
    moves, alone, adjacency, people = movement(rng)
    mechanism = SparseVector(
        epsilon=Fraction(int(rng.integers(5, 300)), 100),
        yeses=int(rng.integers(1, 6)),
        threshold=0,
        sensitivity=moves,
        noise=[SparseVectorNoise.GEOMETRIC, SparseVectorNoise.LAPLACE][rng.integers(2)],
        reveals=[YesReveals.GAP, YesReveals.NOTHING_MORE][rng.integers(2)],
        threshold_share=[None, Fraction(int(rng.integers(1, 10)), 10)][rng.integers(2)],
        shift=int(rng.integers(-5, 6)),
    )
    return mechanism, ranges(alone, adjacency, people)


def worst(rng, mechanism, bounds, *, yeses, scale=1.0):
    """The largest loss of transcripts with these yeses: all noes, and all yeses, pushed to the ends of a range."""
    rule, found = mechanism.rule, 0.0
    wide = round(float(rule.comparisons[0].noise.scale))
    for low, high in bounds:
        for _ in range(4):
            noes = [int(rng.integers(-3 * wide - 3, wide + 3))] * int(rng.integers(0, 40))
            far = int(rng.integers(-8 * wide - 8, 2))
            gaps = [int(rng.integers(0, 4 * wide + 8)) for _ in range(yeses)]
            for no, yes in ((low, high), (high, low), (low, low), (high, high)):
                here = log_chance(rule, noes, [(far, gap) for gap in gaps])
                there = log_chance(
                    rule,
                    [at + round(scale * no) for at in noes],
                    [(far + round(scale * yes), gap) for gap in gaps],
                )
                found = max(found, abs(here - there))
    return found


def test_no_transcript_of_a_random_stream_loses_more_than_it_pays(times) -> None:
    rng = np.random.default_rng(2002)
    tight = 0
    for _ in range(CASES * times):
        mechanism, bounds = stream(rng)
        yeses = int(rng.integers(0, mechanism.yeses + 1))
        paid = float(mechanism.threshold_epsilon + yeses * mechanism.yes_price)
        found = worst(rng, mechanism, bounds, yeses=yeses)
        assert found <= paid * (1 + 1e-9) + 1e-9, mechanism
        tight += found > 0.95 * paid
    assert tight > CASES * times / 3, "so that the search has power"


def test_a_movement_twice_as_far_as_was_said_is_seen(times) -> None:
    rng = np.random.default_rng(2003)
    refuted = 0
    for _ in range(CASES * times // 4):
        mechanism, bounds = stream(rng)
        yeses = mechanism.yeses
        refuted += worst(rng, mechanism, bounds, yeses=yeses, scale=2.0) > 1.05 * float(mechanism.epsilon)
    assert refuted > CASES * times // 8


@pytest.mark.parametrize("people", [1, 2, 3])
@pytest.mark.parametrize("adjacency", list(Adjacency), ids=str)
def test_a_movement_in_steps_holds_the_ranges_of_every_group(people, adjacency) -> None:
    """Whatever mixture of arrivals and departures: no value rises further, and all of them lie within one span."""
    for up, down in ((1, 0), (2, 1), (3, 3), (5, 2)):
        rise, span = ValueSensitivity.of_arrivals(adjacency, up=up, down=down, people=people).in_steps(Fraction(1))
        told = ranges((up, down), adjacency, people)
        assert max(high for _, high in told) == rise
        assert max(high - low for low, high in told) == span
