from fractions import Fraction
from math import exp

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.noise.coins_and_dice import Coin, uniform_below, uniform_below_many
from lapwing.noise.decay import exponential_bounds
from lapwing.noise.randomness import SYSTEM
from lapwing.vocabulary.errors import ParameterError
from noise.oracle import real
from noise.sources import ExhaustedError, Script, Stream
from statistical.goodness import fits, integer_p_value


def rational(p):
    return Coin(lambda bits: ((p.numerator << bits) // p.denominator, -((-p.numerator << bits) // p.denominator)))


def exponential(x):
    return Coin(lambda bits: exponential_bounds(x.numerator, x.denominator, bits))


BIASES = {"rational": (rational, real), "exponential": (exponential, lambda x: mp.exp(-real(x)))}
COINS = [
    *(("rational", Fraction(p)) for p in ("1/3", "5/7", "1e-9")),
    *(("exponential", Fraction(x)) for x in ("1", "22/7", "30", 0.3)),
]


def first_bits_of_the_bias(kind, parameter):
    """Return the first 64 bits of the bias, and the next 64."""
    with mp.workprec(300):
        bits = int(mp.floor(mp.ldexp(BIASES[kind][1](parameter), 128)))
    return bits >> 64, bits & ((1 << 64) - 1)


@pytest.mark.parametrize(("kind", "parameter"), COINS, ids=str)
def test_sixty_four_bits_decide_on_both_sides_of_the_bias_and_nowhere_else(kind, parameter) -> None:
    coin = BIASES[kind][0](parameter)
    threshold, following = first_bits_of_the_bias(kind, parameter)

    def toss(*words):
        return coin.toss(Script(*(word.to_bytes(8, "little") for word in words)))

    assert toss(threshold - 3)
    assert not toss(threshold + 3)
    assert toss(threshold, following - 1)
    assert not toss(threshold, following + 1)


@pytest.mark.parametrize(("kind", "parameter"), COINS, ids=str)
def test_vectors_toss_as_single_coins_do(kind, parameter) -> None:
    """The word at the threshold, the words beside it, and the bits that follow it."""
    coin = BIASES[kind][0](parameter)
    threshold, following = first_bits_of_the_bias(kind, parameter)
    top, rest = threshold >> 48, (threshold & ((1 << 48) - 1)) << 16

    def toss(word, *words):
        parts = [word.to_bytes(2, "little"), *(each.to_bytes(8, "little") for each in words)]
        return bool(coin.toss_many(1, Script(*parts))[0])

    assert top == 0 or toss(top - 1)
    assert top == 0xFFFF or not toss(top + 1)
    assert toss(top, rest - (3 << 16))
    assert not toss(top, rest + (3 << 16))
    assert toss(top, rest, following - 1)
    assert not toss(top, rest, following + 1)
    with pytest.raises(ExhaustedError):
        toss(top, rest)


BIASED = {"1/3": (rational(Fraction(1, 3)), 1 / 3), "exp -1/2": (exponential(Fraction(1, 2)), exp(-0.5))}
BIASED["exp -6"] = (exponential(Fraction(6)), exp(-6))


@pytest.mark.parametrize("name", BIASED)
def test_ten_million_tosses_have_their_bias_and_no_other(name) -> None:
    coin, p = BIASED[name]
    heads = coin.toss_many(10**7, SYSTEM).astype(np.int64)
    assert fits(integer_p_value(heads, 0, np.array([1 - p, p])))
    off = p * (1.03 if p > 0.1 else 1.2)
    assert not fits(integer_p_value(heads, 0, np.array([1 - off, off])))


@pytest.mark.parametrize("name", ["1/3", "exp -1/2"])
def test_single_tosses_have_their_bias_and_no_other(name) -> None:
    coin, p = BIASED[name]
    heads = np.array([coin.toss(SYSTEM) for _ in range(20_000)], np.int64)
    assert fits(integer_p_value(heads, 0, np.array([1 - p, p])))
    assert not fits(integer_p_value(heads, 0, np.array([0.9 - p, p + 0.1])))


def test_certainties_are_certain() -> None:
    assert rational(Fraction(1)).toss_many(70_000, SYSTEM).all()
    assert not rational(Fraction(0)).toss_many(70_000, SYSTEM).any()
    assert exponential(Fraction(0)).toss_many(70_000, SYSTEM).all()
    assert not exponential(Fraction(10**6)).toss_many(70_000, SYSTEM).any()
    assert all(rational(Fraction(1)).toss(Script(b"\xff" * 8)) for _ in range(3))
    assert not rational(Fraction(0)).toss(Script(bytes(8)))


@given(n=st.integers(1, 300), seed=st.integers(0, 10**6))
def test_a_uniform_number_lies_below_its_bound(n, seed) -> None:
    assert 0 <= uniform_below(n, source=Stream(seed)) < n
    draws = uniform_below_many(n, 50, source=Stream(seed))
    assert draws.min() >= 0
    assert draws.max() < n


@pytest.mark.parametrize("n", [2, 3, 10, 256, 257, 70_000])
def test_uniform_numbers_are_uniform_and_on_no_other_range(n) -> None:
    draws = uniform_below_many(n, 2_000_000)
    assert fits(integer_p_value(draws, 0, np.full(n, 1 / n)))
    assert not fits(integer_p_value(draws & ~1, 0, np.full(n, 1 / n)))


@pytest.mark.parametrize("n", [2**31 - 1, 2**33 + 5, 2**62 + 1, 2**63])
def test_large_bounds_are_reached_evenly(n) -> None:
    draws = uniform_below_many(n, 200_000)
    assert fits(integer_p_value((draws >> 16) // (-(-n // 64) >> 16), 0, np.full(64, 1 / 64)))
    assert draws.max() < n


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_every_byte_is_kept_or_drawn_again_evenly(n) -> None:
    """All 256 bytes: each value is reached by the same number of them, and the others ask for another byte."""
    reached = []
    for byte in range(256):
        try:
            reached.append(uniform_below(n, source=Script(bytes([byte]))))
        except ExhaustedError:
            continue
    assert len({reached.count(value) for value in range(n)}) == 1


def test_a_uniform_number_may_be_of_any_size() -> None:
    n = 10**60
    assert max(uniform_below(n) for _ in range(200)) > n // 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: uniform_below(0),
        lambda: uniform_below("2.5"),
        lambda: uniform_below_many(2**63 + 1, 5),
        lambda: uniform_below_many(5, -1),
    ],
    ids=range(4),
)
def test_a_bad_parameter_is_refused(call) -> None:
    with pytest.raises(ParameterError):
        call()
