"""Intervals of moments hold as often as they say, and are as short as that allows: counted, with exact limits."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import lapwing as ask
from engines.clinic import clinic
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.weighted_sums import Reach
from lapwing.noise.laws import DiscreteGaussian, DiscreteLaplace
from lapwing.queries.planning.plan import Scale
from lapwing.queries.planning.planner import plan
from lapwing.queries.statistics import bernstein
from lapwing.queries.statistics.bernstein import Moment, ReleasedSums, length, moment
from lapwing.queries.statistics.moment_intervals import TwoValues, _Squares, moment_interval
from lapwing.vocabulary.event import DiscreteGaussianNoise, DiscreteLaplaceNoise
from statistical.goodness import FALSE_ALARM

EXTENT = 40
SCALE = Scale(low=Fraction(-10), step=Fraction(1, 2), extent=EXTENT)
DEGREES = {Moment.MEAN: 1, Moment.VARIANCE: 2, Moment.COVARIANCE: 1, Moment.CORRELATION: 2}
SEEN = 2500
"""With so many askings, Gaussian noise shows an interval that is a fifth too narrow; the tail of Laplace takes more."""


def scales(kind):
    return (SCALE,) * (1 if kind in {Moment.MEAN, Moment.VARIANCE} else 2)


def exact_sums(kind, rows):
    """Add up the polynomials row by row, by their definition."""
    degree, values = DEGREES[kind], len(scales(kind))

    def basis(x):
        return [math.comb(degree, i) * x**i * (EXTENT - x) ** (degree - i) for i in range(degree + 1)]

    total = np.zeros((degree + 1) ** values, dtype=object)
    for row in rows:
        one = basis(row[0])
        total += np.array(one if values == 1 else [a * b for a in one for b in basis(row[1])], dtype=object)
    return total


def truth_of(kind, rows):
    x, y = (np.array(rows, dtype=float).T / 2) - 10
    match kind:
        case Moment.MEAN:
            return x.mean()
        case Moment.VARIANCE:
            return x.var()
        case Moment.COVARIANCE:
            return np.cov(x, y, bias=True)[0, 1]
        case Moment.CORRELATION:
            return np.corrcoef(x, y)[0, 1]


def people(many, seed=5):
    random = np.random.default_rng(seed)
    x = np.clip(np.round(random.normal(17, 8, many)), 0, EXTENT)
    y = np.clip(np.round(0.7 * (x - 17) + 22 + random.normal(0, 6, many)), 0, EXTENT)
    return [(int(a), int(b)) for a, b in zip(x, y, strict=True)]


def noise_of(kind, law, epsilon):
    most = EXTENT ** (DEGREES[kind] * len(scales(kind)))
    if law is DiscreteLaplace:
        event = DiscreteLaplaceNoise(l1_sensitivity=most, scale=Fraction(most) / epsilon)
        return event, DiscreteLaplace(event.scale)
    event = DiscreteGaussianNoise(
        l2_sensitivity_squared=most**2, sigma_squared=(Fraction(most) / epsilon) ** 2, dimension=1
    )
    return event, DiscreteGaussian(event.sigma_squared)


def ask_often(kind, law, rows, many):
    """Release the sums so often, and return the intervals."""
    event, drawn = noise_of(kind, law, epsilon=1)
    sums = exact_sums(kind, rows)
    draws = drawn.draw_many(many * len(sums)).reshape(many, len(sums)).tolist()
    released = (tuple(a + b for a, b in zip(sums, noise, strict=True)) for noise in draws)
    return [moment_interval(kind, scales(kind), sums, event, 0.05) for sums in released]


@pytest.mark.parametrize(
    ("kind", "law", "many"),
    [(kind, DiscreteGaussian, SEEN) for kind in Moment] + [(Moment.MEAN, DiscreteLaplace, 3 * SEEN)],
    ids=lambda part: getattr(part, "value", getattr(part, "__name__", part)),
)
def test_an_interval_holds_as_often_as_it_says_and_a_narrower_one_would_not(kind, law, many) -> None:
    rows = people(2000)
    truth, intervals = truth_of(kind, rows), ask_often(kind, law, rows, many)
    held = sum(low <= truth <= high for low, high in intervals)
    narrower = sum(abs(truth - (low + high) / 2) <= 0.8 * (high - low) / 2 for low, high in intervals)
    least, most = binom.ppf(FALSE_ALARM, many, 0.95), binom.ppf(1 - FALSE_ALARM, many, 0.97)
    assert narrower < least <= held <= most


@pytest.mark.parametrize("kind", list(Moment), ids=lambda kind: kind.value)
def test_few_rows_and_nobody_are_held_too(kind) -> None:
    """The public rule answers for nobody; of 3 rows next to nothing is known."""
    many = 200
    for rows in ([], people(3), people(40), people(1000)):
        truth = float(moment(kind, scales(kind), exact_sums(kind, rows).tolist()))
        held = sum(low <= truth <= high for low, high in ask_often(kind, DiscreteLaplace, rows, many))
        assert held >= binom.ppf(FALSE_ALARM, many, 0.95)


@pytest.mark.parametrize("kind", list(Moment), ids=lambda kind: kind.value)
def test_whatever_was_released_the_interval_has_an_order_and_a_range_and_holds_what_is_told(kind) -> None:
    event, _ = noise_of(kind, DiscreteLaplace, epsilon=1)
    terms = (DEGREES[kind] + 1) ** len(scales(kind))
    most = {Moment.MEAN: 10, Moment.VARIANCE: 100, Moment.COVARIANCE: 100, Moment.CORRELATION: 1}[kind]

    @settings(max_examples=40)
    @given(st.lists(st.integers(-(10**9), 10**9), min_size=terms, max_size=terms), st.sampled_from([0.5, 0.05, 1e-6]))
    def check(released, chance) -> None:
        low, high = moment_interval(kind, scales(kind), tuple(released), event, chance)
        told = moment(kind, scales(kind), [max(0, number) for number in released])
        assert -most <= low <= told <= high <= most

    check()


@pytest.mark.parametrize("kind", list(Moment), ids=lambda kind: kind.value)
def test_more_confidence_takes_a_wider_interval_and_more_rows_a_narrower_one(kind) -> None:
    event, _ = noise_of(kind, DiscreteLaplace, epsilon=1)

    def width(many, chance):
        low, high = moment_interval(kind, scales(kind), tuple(exact_sums(kind, people(1000)) * many), event, chance)
        return high - low

    assert width(1, 0.2) < width(1, 0.05) < width(1, 0.001)
    assert width(100, 0.05) < width(10, 0.05) < width(1, 0.05) / 8


def test_squares_around_the_means_are_those_of_the_rows() -> None:
    rows, k = people(50), 1.3
    sums = exact_sums(Moment.CORRELATION, rows)
    released = ReleasedSums(tuple(sums), 2)
    x, y = np.array(rows).T / EXTENT
    u, w = k * (x - x.mean()) + (y - y.mean()) / k, k * (x - x.mean()) - (y - y.mean()) / k
    first, second = k * released.centred(1, 0), released.centred(0, 1) / k
    squares = _Squares.of(TwoValues(released, k, first + second, first - second, (0.0, 0.0)), 0.0, 0.0)
    for weights, values in ((squares.uu, u * u), (squares.ww, w * w), (squares.uw, u * w)):
        told = float(sum(a * b for a, b in zip(sums, weights, strict=True))) / EXTENT**4
        assert told == pytest.approx(values.sum(), rel=1e-9)


def test_the_box_of_two_means_has_four_corners() -> None:
    box = TwoValues(ReleasedSums((1, 1, 1, 1), 2), 1.0, np.ones(4), np.ones(4), (2.0, 3.0))
    assert sorted(box.corners) == [(-2.0, -3.0), (-2.0, 3.0), (2.0, -3.0), (2.0, 3.0)]


def test_all_groups_hold_at_once_by_the_product_of_their_laws() -> None:
    asked = plan(ask.mean("patients", "age", by="sex"), clinic())
    cells = len(asked.aggregate.cells)
    assert (1 - asked.chance_of_each("0.95")) ** cells == pytest.approx(0.95, abs=1e-9)
    mechanism = GeometricMechanism(l1_sensitivity=asked.sensitivity.l1, epsilon=1)
    values = asked.meaning.values(asked, [120 * 500] * (2 * cells), mechanism, "0.95")
    alone = moment_interval(Moment.MEAN, asked.meaning.scales, (60_000, 60_000), mechanism.event, 0.05)
    assert all(one.low < alone[0] < one.value == 60 < alone[1] < one.high for one in values)


def test_no_length_is_divided_by_fewer_rows_than_noise_reaches(monkeypatch) -> None:
    """The means of a correlation have a hundredth of the chance, which reaches further than the fiftieth of a box."""
    measured = []

    def measure(rows, one, reach_at):
        measured.append(rows > one)
        return length(rows, one, reach_at)

    monkeypatch.setattr(bernstein, "length", measure)
    noise = DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(1000))
    for kind in Moment:
        terms = len(exact_sums(kind, [(0, 0)]))
        for chance in (0.05, 0.3):
            reach = Reach(noise, chance).of([1.0] * terms)
            for rows in np.linspace(0.9 * reach, 4 * reach, 32):
                block = tuple([round(rows / terms)] * terms)
                low, high = moment_interval(kind, scales(kind), block, noise, chance)
                assert low <= high
    assert measured
    assert all(measured)
