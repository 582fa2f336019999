"""Independent computations that the prices are held against. Nothing here imports what it tests.

Everything is slow and plain on purpose: fifty digits (mpmath), enumeration of all outcomes, or two convolutions that
bracket the truth (every loss rounded down, every loss rounded up).
"""

import math
from itertools import product

import numpy as np
from mpmath import binomial, erfc, exp, log, mp, mpf, quad, sqrt

mp.dps = 50  # digits


def normal(x):
    return erfc(-x / sqrt(2)) / 2


def gaussian_delta(mu, epsilon):
    """Balle and Wang 2018, Theorem 8."""
    mu, epsilon = mpf(mu), mpf(epsilon)
    return normal(mu / 2 - epsilon / mu) - exp(epsilon) * normal(-mu / 2 - epsilon / mu)


def optimal_delta(times, epsilon, level, delta_each=0):
    """Kairouz, Oh and Viswanath 2015, as printed."""
    e, level = mpf(epsilon), mpf(level)
    total = mpf(0)
    for lies in range(times + 1):
        gain = exp((times - lies) * e) - exp(level + lies * e)
        if gain <= 0:
            break
        total += binomial(times, lies) * gain
    total /= (1 + exp(e)) ** times
    return 1 - (1 - mpf(delta_each)) ** times * (1 - total) if delta_each else total


def solve(profile, delta, high):
    """Return the epsilon at which a falling profile reaches delta, by halving."""
    low, high, delta = mpf(0), mpf(high), mpf(delta)
    if profile(low) <= delta:
        return low
    for _ in range(90):
        middle = (low + high) / 2
        if profile(middle) > delta:
            low = middle
        else:
            high = middle
    return high


def profile_of_atoms(atoms, epsilon):
    """E[(1 - e^(epsilon - L))_+] of a list of (loss, probability); a loss may be infinite."""
    total = mpf(0)
    for loss, mass in atoms:
        if loss > epsilon:
            total += mpf(mass) * (1 if loss == math.inf else 1 - exp(mpf(epsilon) - mpf(loss)))
    return total


def enumerate_sums(*laws):
    """Return the atoms of the sum of independent losses: every combination of outcomes."""
    return [(sum(loss for loss, _ in outcome), math.prod(mass for _, mass in outcome)) for outcome in product(*laws)]


def response(epsilon, categories=2):
    """Atoms of randomized response, in fifty digits."""
    e = mpf(epsilon)
    lie = 1 / (exp(e) + categories - 1)
    return [(e, exp(e) * lie), (mpf(0), (categories - 2) * lie), (-e, lie)]


def two_sided_geometric(sensitivity, scale, reach=150):
    """Atoms of discrete Laplace noise against itself moved, output by output."""
    a = 1 / mpf(scale)
    norm = (1 - exp(-a)) / (1 + exp(-a))
    return [(a * (abs(x - sensitivity) - abs(x)), norm * exp(-a * abs(x))) for x in range(-reach, reach + 1)]


def discrete_gaussian(sensitivity, variance, reach):
    """Atoms of discrete Gaussian noise against itself moved, output by output."""
    v = mpf(variance)
    weights = {x: exp(-(mpf(x) ** 2) / (2 * v)) for x in range(-reach, reach + 1)}
    total = sum(weights.values())
    return [(((x - sensitivity) ** 2 - x * x) / (2 * v), weight / total) for x, weight in weights.items()]


def laplace_renyi(epsilon, alpha):
    """Mironov 2017, Table II."""
    e, a = mpf(epsilon), mpf(alpha)
    return log(a / (2 * a - 1) * exp((a - 1) * e) + (a - 1) / (2 * a - 1) * exp(-a * e)) / (a - 1)


def sampled_gaussian_renyi(sigma, rate, alpha):
    """log E_Q[((1 - q) + q P/Q)^alpha] / (alpha - 1) by quadrature, the person being removed."""
    s, q, a = mpf(sigma), mpf(rate), mpf(alpha)

    def integrand(x):
        ratio = exp((2 * x - 1) / (2 * s * s))
        return exp(-x * x / (2 * s * s)) / (s * sqrt(2 * mp.pi)) * (1 - q + q * ratio) ** a

    return log(quad(integrand, [-20 * s, -5 * s, 0, 1, a + 5 * s, a + 20 * s])) / (a - 1)


def bracket(cdfs, step, delta):
    """Return two epsilons between which the truth lies, by rounding every loss down, and up, to a grid.

    `cdfs` is a list of (cdf of the loss under P, lowest loss, highest loss, times). Masses are differences of the cdf;
    what the cdf lacks below or above is put at the end of the range.
    """
    ends = []
    for up in (0, 1):
        masses, first = np.array([1.0]), 0
        for cdf, low, high, times in cdfs:
            start, stop = math.floor(low / step), math.ceil(high / step)
            knots = np.arange(start, stop + 1) * step
            inside = np.diff(np.array([cdf(x) for x in knots]))
            cells = np.concatenate([[max(cdf(knots[0]), 0.0)], inside])
            cells[-1] += max(0.0, 1 - cells.sum())
            law, offset = (cells, start) if up else (np.concatenate([cells[1:], [0.0]]), start)
            if not up:
                law[0] += cells[0]
            law, offset = _power(law, offset, times)
            masses, first = np.convolve(masses, law), first + offset
        losses = (first + np.arange(len(masses))) * step
        ends.append(_epsilon(losses, masses, delta))
    return tuple(ends)


def _power(masses, first, times):
    """Return the `times`-fold convolution of `masses`, dropping what weighs less than 1e-22."""
    result, start = np.array([1.0]), 0
    square, square_start = masses, first
    while times:
        if times % 2:
            result, start = np.convolve(result, square), start + square_start
        times //= 2
        if times:
            square, square_start = np.convolve(square, square), 2 * square_start
            keep = np.nonzero(square > 1e-22)[0]
            square, square_start = square[keep[0] : keep[-1] + 1], square_start + int(keep[0])
    return result, start


def _epsilon(losses, masses, delta):
    low, high = 0.0, float(losses[-1])
    for _ in range(100):
        middle = (low + high) / 2
        gain = -np.expm1(np.minimum(middle - losses, 0.0))
        low, high = (middle, high) if float((gain * masses).sum()) > delta else (low, middle)
    return high


def laplace_cdf(epsilon):
    """The law of the loss of Laplace noise under P."""
    e = float(epsilon)
    return lambda x: 1.0 if x >= e else 0.0 if x < -e else 0.5 * math.exp((x - e) / 2)
