"""Strips: the coin that keeps or drops, at its boundary, against intervals; and every lane of it, forced."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import norm

from lapwing.noise.coins_and_dice import uniform_below, uniform_below_many
from lapwing.noise.decay import LARGEST, UNSURE, Decay
from lapwing.noise.fine_lattice import standard_exponential, standard_half_normal
from lapwing.noise.strips import Strips, StripSampler
from noise.oracle import real
from noise.sources import ExhaustedError, Script, Stream
from noise.tabulated_laws import LARGE
from statistical.goodness import fits, integer_p_value

STRIPS = {name: (lambda d=decay: (Strips(d), d)) for name, decay in LARGE.items()} | {
    "scale 64, strips of one": lambda: (Strips(d := Decay.exponential(Fraction(64), sides=2)), d),
    "scale 2^38": lambda: (Strips(d := Decay.exponential(Fraction(2**38), sides=2)), d),
    "sigma 2^38": lambda: (Strips(d := Decay.gaussian(Fraction(2**76), sides=2)), d),
    "standard exponential": lambda: (standard_exponential(), Decay.exponential(Fraction(2**56), sides=1)),
    "standard half-normal": lambda: (standard_half_normal(), Decay.gaussian(Fraction(2**112), sides=1)),
}


def growth(law, step, strip, place):
    """Return rate ((strip step + place)^power - (strip step)^power), the y of the coin e^-y."""
    start = strip * step
    return law.rate * ((start + place) ** law.power - start**law.power)


def step_of(law):
    return 1 << (law.whole_scale().bit_length() - 7)


def chance(y):
    with mp.workprec(200):
        return mp.exp(-real(y))


@pytest.mark.parametrize("make", STRIPS.values(), ids=STRIPS)
def test_sixteen_bits_keep_a_candidate_only_where_every_place_of_its_strip_is_kept(make) -> None:
    strips, law = make()
    decided = strips.guide.magnitudes != UNSURE
    assert not strips.kept_below[~decided].any()
    step = step_of(law)
    for strip in np.unique(strips.guide.magnitudes[decided]).tolist():
        kept_below = set(strips.kept_below[strips.guide.magnitudes == strip].tolist())
        assert len(kept_below) == 1
        least = mp.ldexp(chance(growth(law, step, strip, step)), 16)
        assert kept_below.pop() <= least


@pytest.mark.parametrize("make", STRIPS.values(), ids=STRIPS)
def test_thirty_two_bits_decide_only_what_is_certain(make) -> None:
    """Random strips, places at random and at both ends; the coin next to the truth, where a wrong bound would show."""
    strips, law = make()
    step, source = step_of(law), Stream(5)
    strip = uniform_below_many(strips.guide.thresholds.size + 200, 1500, source=source)
    place = uniform_below_many(step, strip.size, source=source)
    place[:3] = 0, step - 1, step + law.sides - 2
    least, most = strips.coin.bounds(strip, place)
    for s, p, low, high in zip(strip.tolist(), place.tolist(), least.tolist(), most.tolist(), strict=True):
        with mp.workprec(200):
            nearest = mp.ldexp(chance(growth(law, step, s, p)), 32)
            farthest = mp.ldexp(chance(growth(law, step, s, p + strips.coin._width)), 32)
            assert low <= farthest <= nearest <= high
    assert (most - least)[strip < 64].max() < 3000  # of 2^32: so few go on to larger integers


@pytest.mark.parametrize("make", STRIPS.values(), ids=STRIPS)
def test_a_coin_near_its_boundary_is_decided_as_the_interval_says(make) -> None:
    strips, law = make()
    step, source = step_of(law), Stream(6)
    for _ in range(150):
        strip, place = uniform_below(300, source=source), uniform_below(step, source=source)
        with mp.workprec(200):
            nearest = mp.ldexp(chance(growth(law, step, strip, place)), 32)
            farthest = mp.ldexp(chance(growth(law, step, strip, place + strips.coin._width)), 32)
        coin = min(max(int(nearest) + uniform_below(4001, source=source) - 2000, 0), (1 << 32) - 1)
        halves = np.array([coin >> 16], np.uint16), (coin & 0xFFFF).to_bytes(2, "little")
        try:
            kept = strips.coin.keeps(np.array([strip]), np.array([place]), halves[0], Script(halves[1]))[0]
        except ExhaustedError:  # thirty-two bits do not decide: then their bounds must leave it open
            least, most = strips.coin.bounds(np.array([strip]), np.array([place]))
            assert least[0] <= coin < most[0]
        else:
            assert coin + 1 <= nearest if kept else coin >= farthest


def test_an_undecided_coin_is_settled_by_the_bits_that_follow() -> None:
    law = Decay.exponential(Fraction(1000), sides=1)
    strips, strip, place = Strips(law), 3, 5
    with mp.workprec(200):
        truth = int(mp.ldexp(chance(growth(law, step_of(law), strip, place)), 96))
    coin, following = truth >> 64, truth & ((1 << 64) - 1)
    assert strips.coin.keeps_exactly(strip, place, coin, 32, Script((following - 1).to_bytes(8, "little")))
    assert not strips.coin.keeps_exactly(strip, place, coin, 32, Script((following + 1).to_bytes(8, "little")))


def test_a_continuous_place_is_refined_together_with_its_coin() -> None:
    """The coin touches e^-y for some fractions of the place and not for others: both ends of it are tried."""
    strips, law = standard_half_normal(), Decay.gaussian(Fraction(2**112), sides=1)
    strip, place, step = 70, 1 << 49, 1 << 50
    with mp.workprec(300):
        middle = int(mp.ldexp(chance(growth(law, step, strip, place + Fraction(1, 2))), 64))
    first, last = bytes(8), b"\xff" * 8
    assert strips.coin.keeps_exactly(strip, place, middle, 64, Script(first, first, first, first))
    assert not strips.coin.keeps_exactly(strip, place, middle, 64, Script(last, last, last, last))


def test_far_strips_saturate_and_never_wrap(monkeypatch) -> None:
    law = Decay.exponential(Fraction(2**38), sides=2)
    sampler = StripSampler(law)
    monkeypatch.setattr(sampler.strips.guide, "resolve", lambda cells, _: np.full(cells.size, LARGEST))
    monkeypatch.setattr(sampler.strips.coin, "keeps", lambda strips, *_: np.ones(strips.size, bool))
    monkeypatch.setattr(sampler.strips, "kept_below", np.zeros(1 << 16, np.uint16))
    monkeypatch.setattr(sampler.strips.guide, "magnitudes", np.full(1 << 16, UNSURE, np.int16))
    draws = sampler.draw_many(1000, Stream(3))
    assert (np.abs(draws) >= LARGEST - 2**33).all()
    assert {int(sign) for sign in np.sign(draws)} == {-1, 1}


@pytest.mark.parametrize("sides", [1, 2])
def test_the_coin_is_tossed_for_the_magnitude_that_is_returned(sides, monkeypatch) -> None:
    """-x stands where x - 1 does, and must still be kept with the weight of x."""
    sampler = StripSampler(law := Decay.exponential(Fraction(1000), sides=sides))
    asked = []

    def keeps(strips, places, *_):
        asked.extend((strips * step_of(law) + places).tolist())
        return np.ones(strips.size, bool)

    monkeypatch.setattr(sampler.strips, "kept_below", np.zeros(1 << 16, np.uint16))
    monkeypatch.setattr(sampler.strips.coin, "keeps", keeps)
    draws = sampler.draw_many(5000, Stream(4))
    assert np.abs(draws).tolist() == asked[:5000]
    assert (draws.min() < 0) == (sides == 2)


def test_where_too_few_are_kept_all_are_drawn_again(monkeypatch) -> None:
    """The choice between two rounds looks at how many were kept, never at their values."""
    sampler = StripSampler(Decay.exponential(Fraction(1000), sides=2))
    rounds = iter([False, False, True])
    kept = []

    def keeps(strips, *_):
        kept.append(next(rounds))
        return np.full(strips.size, kept[-1])

    monkeypatch.setattr(sampler.strips, "kept_below", np.zeros(1 << 16, np.uint16))
    monkeypatch.setattr(sampler.strips.coin, "keeps", keeps)
    assert sampler.draw_many(500, Stream(4)).shape == (500,)
    assert kept == [False, False, True]


def test_dropped_candidates_are_replaced_by_spare_ones_in_order(monkeypatch) -> None:
    strips = Strips(Decay.exponential(Fraction(1000), sides=1))
    monkeypatch.setattr(strips, "kept_below", np.zeros(1 << 16, np.uint16))
    monkeypatch.setattr(strips.coin, "keeps", lambda strips, *_: np.ones(strips.size, bool))
    whole, _ = strips.draw(500, Stream(4))
    candidates, _, _ = strips._candidates(500 + 47, Stream(4))
    dropped = [3, 77, 499, 500, 502]

    def drops(strips, *_):
        kept = np.ones(strips.size, bool)
        kept[dropped] = False
        return kept

    monkeypatch.setattr(strips.coin, "keeps", drops)
    mended, _ = strips.draw(500, Stream(4))
    whole[[3, 77, 499]] = candidates[[501, 503, 504]]
    assert np.array_equal(mended, whole)


def laplace(scale, window):
    ratio = np.exp(-1 / scale)
    return (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-window, window + 1))


def gaussian(sigma, window):
    weights = np.exp(-(np.arange(-window, window + 1) ** 2) / (2 * sigma**2))
    return weights / weights.sum()


FORCED = {
    "Laplace": (Decay.exponential(Fraction(70), sides=2), laplace, 70),
    "Gaussian": (Decay.gaussian(Fraction(70**2), sides=2), gaussian, 70),
}


def all_to_32_bits(strips):
    strips.kept_below = np.zeros(1 << 16, np.uint16)


def all_to_large_integers(strips):
    all_to_32_bits(strips)
    strips.coin.bounds = lambda s, _: (np.zeros(s.size, np.int64), np.full(s.size, 1 << 32))


def all_strips_resolved(strips):
    all_to_32_bits(strips)
    strips.guide.magnitudes = np.full(1 << 16, UNSURE, np.int16)


@pytest.mark.parametrize("law", FORCED)
@pytest.mark.parametrize(
    ("force", "count"), [(all_to_32_bits, 10**6), (all_strips_resolved, 10**6), (all_to_large_integers, 40_000)]
)
def test_each_slow_lane_alone_draws_the_law_and_no_other(law, force, count) -> None:
    decay, probabilities, scale = FORCED[law]
    sampler = StripSampler(decay)
    force(sampler.strips)
    draws = sampler.draw_many(count, Stream(8))
    assert fits(integer_p_value(draws, -500, probabilities(scale, 500)))
    assert not fits(integer_p_value(draws, -500, probabilities(scale * (1.03 if count > 10**5 else 1.2), 500)))


@pytest.mark.parametrize(
    ("strips", "cdf"),
    [(standard_exponential, lambda x: -np.expm1(-x)), (standard_half_normal, lambda x: 2 * norm.cdf(x) - 1)],
    ids=["exponential", "half-normal"],
)
def test_the_standard_variates_are_right_on_large_integers_alone(strips, cdf) -> None:
    forced = strips.__wrapped__()
    all_to_large_integers(forced)
    magnitudes, negative = forced.draw(30_000, Stream(9))
    tenths = np.minimum((magnitudes >> 40) * 10 >> 16, 80)
    assert fits(integer_p_value(tenths, 0, np.diff(cdf(np.arange(81) / 10))))
    assert not fits(integer_p_value(tenths, 0, np.diff(cdf(np.arange(81) / 12))))
    assert fits(integer_p_value(negative, 0, np.array([0.5, 0.5])))
