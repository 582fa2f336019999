"""The first draw from a law, without a table: the same law, also where the lattice leaves it open."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.noise import fine_lattice, laws
from lapwing.noise.decay import Decay, exponential_bounds
from lapwing.noise.fine_lattice import draw_gaussian, draw_geometric, draw_laplace
from lapwing.noise.laws import DiscreteGaussian, DiscreteLaplace, Geometric, RoundedGaussian, RoundedLaplace
from lapwing.noise.randomness import SYSTEM
from lapwing.noise.strips import Strips
from noise.sources import Stream
from statistical.goodness import fits, integer_p_value
from statistical.test_noise_laws import discrete_gaussian, discrete_laplace, geometric, window

COUNT = 150_000


@pytest.mark.parametrize(
    ("draw", "exact", "probabilities", "scale"),
    [
        (draw_geometric, Fraction(1, 3), geometric, 1 / 3),
        (draw_geometric, Fraction(22, 7), geometric, 22 / 7),
        (draw_geometric, Fraction(100), geometric, 100),
        (draw_laplace, Fraction(1, 3), discrete_laplace, 1 / 3),
        (draw_laplace, Fraction(22, 7), discrete_laplace, 22 / 7),
        (draw_gaussian, Fraction(1, 4), discrete_gaussian, 1 / 2),
        (draw_gaussian, Fraction(49, 9), discrete_gaussian, 7 / 3),
        (draw_gaussian, Fraction(100), discrete_gaussian, 10),
    ],
    ids=lambda given: getattr(given, "__name__", str(given)),
)
def test_single_draws_fit_their_law_and_no_law_10_percent_off(draw, exact, probabilities, scale) -> None:
    reach = window(scale)
    sample = np.array([draw(exact) for _ in range(60_000)])
    assert fits(integer_p_value(sample, -reach, probabilities(scale, reach)))
    assert not fits(integer_p_value(sample, -reach, probabilities(1.1 * scale, reach)))


@pytest.fixture
def coarse(monkeypatch) -> None:
    """A lattice of 2^-7 in place of 2^-56, which leaves one draw in forty open."""
    strips = Strips(Decay.exponential(Fraction(1 << 7), sides=1))
    monkeypatch.setattr(fine_lattice, "UNIT_BITS", 7)
    monkeypatch.setattr(fine_lattice, "_UNIT", 1 << 7)
    monkeypatch.setattr(fine_lattice, "_steps", lambda _: int(next(numbers)))
    numbers = iter(np.concatenate([strips.draw(1 << 16, SYSTEM)[0] for _ in range(6)]))


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("exact", [Fraction(3), Fraction(100)], ids=str)
def test_what_the_lattice_leaves_open_is_decided_with_the_right_chance(exact) -> None:
    reach, scale = window(float(exact)), float(exact)
    sample = np.array([draw_geometric(exact) for _ in range(COUNT)])
    assert fits(integer_p_value(sample, -reach, geometric(scale, reach)))


@pytest.mark.usefixtures("coarse")
def test_it_could_not_be_left_out(monkeypatch) -> None:
    """The lie: to say that the part of a step which is left out never reaches the next number."""
    monkeypatch.setattr(fine_lattice, "_is_part_below", lambda *_: True)
    sample = np.array([draw_geometric(Fraction(100)) for _ in range(COUNT)])
    assert not fits(integer_p_value(sample, -2504, geometric(100.0, 2504)))


@given(
    numerator=st.integers(0, 10**30),
    denominator=st.integers(1, 10**28),
    bits=st.sampled_from([96, 160]),
)
def test_steady_bounds_enclose_and_are_narrow(numerator, denominator, bits) -> None:
    low, high = fine_lattice._steady_bounds(numerator, denominator, bits)
    finer_low, finer_high = exponential_bounds(numerator, denominator, bits + 64)
    assert low << 64 <= finer_low
    assert finer_high <= high << 64
    assert high - low <= 3


@pytest.mark.parametrize("kind", [DiscreteLaplace, Geometric, DiscreteGaussian])
def test_the_first_draws_make_no_table_and_the_second_do(kind) -> None:
    laws._drawn.clear()
    made = laws._sampler.cache_info().misses
    assert type(kind("7001/1000").draw()) is int
    assert kind("7002/1000").draw_many(8).shape == (8,)
    assert kind("7002/1000").draw_many(0).shape == (0,)
    assert laws._sampler.cache_info().misses == made + 1, "the second call from the second law has made a table"
    kind("7001/1000").draw()
    kind("7003/1000").draw_many(9)
    assert laws._sampler.cache_info().misses == made + 3


@pytest.mark.parametrize("kind", [RoundedLaplace, RoundedGaussian])
def test_rounded_laws_have_one_table_for_all_scales(kind) -> None:
    assert type(kind("7001/1000").draw()) is int
    assert kind("7001/1000")._pool() is not None


def test_a_source_that_is_given_is_drawn_from_by_the_one_sampler_of_the_law() -> None:
    laws._drawn.clear()
    law = DiscreteLaplace("9001/1000")
    first = law.draw(source=Stream(5))
    law.draw()
    law.draw()
    assert law.draw(source=Stream(5)) == first


def test_what_is_remembered_of_laws_is_bounded() -> None:
    laws._drawn.clear()
    for number in range(laws._REMEMBERED + 50):
        DiscreteLaplace(Fraction(10_000 + number, 1000)).draw()
    assert len(laws._drawn) == laws._REMEMBERED


def test_draws_from_the_same_bytes_are_the_same() -> None:
    assert [draw_gaussian(Fraction(50), Stream(3)) for _ in range(3)] == [draw_gaussian(Fraction(50), Stream(3))] * 3
