import math
import pickle
from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.noise import laws
from lapwing.noise.decay import TableSampler
from lapwing.noise.laws import (
    LARGEST_SCALE,
    SMALLEST_SCALE,
    DiscreteGaussian,
    DiscreteLaplace,
    Geometric,
    RoundedGaussian,
    RoundedLaplace,
)
from lapwing.noise.strips import StripSampler
from lapwing.vocabulary.errors import ParameterError
from noise.sources import Stream

KINDS = [DiscreteLaplace, Geometric, DiscreteGaussian, RoundedLaplace, RoundedGaussian]
NAMES = [kind.__name__ for kind in KINDS]


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (0, "is zero"),
        (-1, "is negative"),
        (float("nan"), "is not a number"),
        (float("inf"), "is infinite"),
        (True, "is a truth value"),
        ("ten", "is not a number"),
        (None, "is a NoneType"),
        ("1e-5", "is too small"),
        (2**80, "is too large"),
        (2**2000, "is absurdly large"),
    ],
    ids=str,
)
def test_a_parameter_that_is_no_scale_is_refused_at_once(kind, given, reason) -> None:
    with pytest.raises(ParameterError, match=reason):
        kind(given)


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
@pytest.mark.parametrize("end", [SMALLEST_SCALE, LARGEST_SCALE], ids=["smallest", "largest"])
def test_the_ends_of_the_range_are_served(kind, end) -> None:
    law = kind(end**2 if kind is DiscreteGaussian else end)
    draws = law.draw_many(5000)
    assert np.abs(draws).max() <= 200 * end + 1
    if end == LARGEST_SCALE:
        assert len(set(draws.tolist())) == 5000


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
@pytest.mark.parametrize("count", [-1, 1.5, "many", None, True], ids=str)
def test_a_number_of_draws_that_is_none_is_refused(kind, count) -> None:
    with pytest.raises(ParameterError, match="count"):
        kind(10).draw_many(count)


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_a_law_is_a_value(kind) -> None:
    law = kind("22/7")
    assert law == kind(Fraction(22, 7))
    assert hash(law) == hash(kind(Fraction(22, 7)))
    assert law != kind(22)
    assert all(law != other("22/7") for other in KINDS if other is not kind)
    assert pickle.loads(pickle.dumps(law)) == law
    with pytest.raises(AttributeError):
        setattr(law, fields(law)[0].name, Fraction(1))


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(22, 7), 0.3, "1e4", 10**6], ids=str)
def test_a_draw_from_a_source_is_a_function_of_its_bytes(kind, scale) -> None:
    law = kind(scale)
    first = law.draw_many(300, source=Stream(1))
    laws._sampler.cache_clear()
    laws._shared_pool.cache_clear()
    assert np.array_equal(first, law.draw_many(300, source=Stream(1)))
    assert law.draw(source=Stream(1)) == law.draw_many(1, source=Stream(1))[0] == law.draw_many(9, source=Stream(1))[0]
    assert not np.array_equal(law.draw_many(10_000, source=Stream(1)), law.draw_many(10_000, source=Stream(2)))


@pytest.mark.parametrize("kind", [RoundedLaplace, RoundedGaussian])
@given(
    scale=st.one_of(
        st.fractions(min_value=SMALLEST_SCALE, max_value=LARGEST_SCALE),
        st.floats(min_value=0.05, max_value=2.0**38).map(Fraction),
    ).filter(lambda s: s >= SMALLEST_SCALE)
)
def test_a_rounded_law_uses_the_scale_it_says_which_is_never_smaller(kind, scale) -> None:
    law = kind(scale)
    used = law.scale_used if kind is RoundedLaplace else law.sigma_used
    assert scale <= used <= scale * (1 + scale * Fraction(1, 2**54))
    assert (2**57 % used.numerator, used.numerator.bit_count()) == (0, 1)  # 2^56/Q, Q whole


@pytest.mark.parametrize(
    ("law", "lane"),
    [
        (DiscreteLaplace("0.05"), TableSampler),
        (DiscreteLaplace(135), TableSampler),
        (DiscreteLaplace(140), StripSampler),
        (Geometric(135), TableSampler),
        (Geometric(2**38), StripSampler),
        (DiscreteGaussian(525**2), TableSampler),
        (DiscreteGaussian(530**2), StripSampler),
    ],
    ids=repr,
)
def test_the_lanes_are_those_the_page_promises(law, lane) -> None:
    assert type(laws._sampler(law)) is lane


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_a_single_draw_is_a_plain_integer(kind) -> None:
    assert type(kind(5).draw()) is int
    assert type(kind(5).draw(source=Stream(3))) is int


def test_one_sided_noise_has_one_side() -> None:
    for scale in (SMALLEST_SCALE, 3, 10**6):
        assert Geometric(scale).draw_many(100_000).min() >= 0


@pytest.mark.parametrize("scale", [Fraction(1, 2), 10, 10**5], ids=str)
def test_two_sided_noise_is_as_often_negative_as_positive(scale) -> None:
    for kind in (DiscreteLaplace, RoundedLaplace, RoundedGaussian):
        draws = kind(scale).draw_many(200_000)
        negative, positive = int((draws < 0).sum()), int((draws > 0).sum())
        assert abs(negative - positive) <= 6.5 * math.sqrt(negative + positive)
