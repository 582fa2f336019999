"""The round-off of the Fourier transforms that prices rest on, measured against the bound that is added for it."""

import math

import numpy as np
import pytest
from scipy.fft import irfft, next_fast_len, rfft

from lapwing.vocabulary.exact import UNIT

LENGTHS = [4096, 4608, 5000, 6250, 6561, 15625, 16384, 19683, 65536, 78125, 1 << 18]


def bound(points):
    """What `fourier.convolve` allows for one transform of values whose moduli sum to 1."""
    return (8 * math.log2(points) + 8) * UNIT


def test_lengths_have_no_prime_factor_above_five() -> None:
    for least in np.unique(np.geomspace(2, 1 << 20, 4000).astype(int)).tolist():
        points = next_fast_len(least, real=True)
        for prime in (2, 3, 5):
            while points % prime == 0:
                points //= prime
        assert points == 1


LAWS = {
    "even": lambda n, _: np.full(n, 1 / n),
    "one atom": lambda n, _: np.eye(1, n, n // 3)[0],
    "narrow": lambda n, _: np.exp(-(((np.arange(n) - n / 2) / 7) ** 2)),
    "wide": lambda n, _: np.exp(-(((np.arange(n) - n / 2) / (n / 9)) ** 2)),
    "random": lambda n, rng: rng.exponential(size=n) ** 4,
}


@pytest.mark.parametrize("points", LENGTHS)
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_transform_is_right_to_a_quarter_of_what_is_allowed(points, law) -> None:
    """The reference is NumPy's transform in extended precision, which is right to 2^-60 or so."""
    masses = law(points, np.random.default_rng(3))
    masses = masses / masses.sum()
    precise = np.fft.rfft(masses.astype(np.longdouble))
    assert precise.dtype == np.clongdouble
    assert float(np.abs(rfft(masses) - precise).max()) <= bound(points) / 4
    rounded = precise.astype(np.complex128)
    back = np.fft.irfft(rounded.astype(np.clongdouble), points)
    allowed = bound(points) * float(2 * np.abs(rounded).sum()) / points
    assert float(np.abs(irfft(rounded, points) - back).max()) <= allowed / 4
