"""With how many reports each answer agrees: for all answers at once.

A report of the linear hash agrees with x where its forms have at x the values that it says. Written by the characters
of the values, that is a sum of waves in x, q - 1 for each report. Laid out by their frequencies, which are multiples of
the seeds, the waves of all reports are added up by one Fourier transform over the digits, in place of a hash for each
report and each answer. Over bits it is the transform of Walsh and Hadamard, on whole numbers; over other digits the
sums are within a small part of 1 of the whole numbers that they are, and are rounded to them.
"""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lapwing.surveys.report_law import ReportLaw

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_ALONE: Final = 3.0  # standard deviations that a prefix may have more than an extension that is alone in it


def count_agreements(law: ReportLaw, reports: Integers) -> Integers:
    """Return for each of the truths, with how many reports it agrees; a report is a row."""
    if not law.lengths:
        return np.bincount(reports.reshape(-1), minlength=law.domain).astype(np.int64)
    return next(_extensions(law, reports, np.zeros(1, np.int64), 0, law.lengths[0]))[: law.domain]


def find_prefixes(law: ReportLaw, reports: Integers, *, keep: int) -> tuple[Integers, Integers]:
    """Return the codes of the last group that are likeliest to be frequent, best first, and how many reports agree.

    Group by group, all extensions of the prefixes that were kept are scored, and the best are kept. For the last group,
    what it chose from was found by other people's reports; which of these come first, all groups have a say in.
    """
    kept, share, variance = np.zeros(1, np.int64), np.full(1, np.inf), np.ones(1)
    before, hits = 0, np.zeros(1, np.int64)
    for group, length in enumerate(law.lengths):
        step, rest = law.prime ** (length - before), law.prime ** (law.lengths[-1] - length)
        own = reports[reports[:, 0] == group]
        codes, agreeing = _most_agreeing(law, own, kept, before, length, rest, min(keep, step))
        people, truth, lie = max(1, len(own)), float(law.truth), float(law.lie)
        found = (agreeing / people - lie) / (truth - lie)
        share, variance = _with_what_is_known(share, variance, found, float(law.variance) / people)
        share[codes < 0] = -np.inf  # no answer begins like this
        best = np.argsort(-share, axis=None, kind="stable")[:keep]
        kept, hits = codes.reshape(-1)[best], agreeing.reshape(-1)[best]
        share, variance = share.reshape(-1)[best], variance.reshape(-1)[best]
        before = length
    return kept[kept >= 0], hits[kept >= 0]


def _most_agreeing(  # noqa: PLR0917 - a step of the search
    law: ReportLaw, own: Integers, kept: Integers, before: int, length: int, rest: int, few: int
) -> tuple[Integers, Integers]:
    """Return, in a row for each prefix, its `few` extensions that most reports agree with, best first; -1 for none."""
    step = law.prime ** (length - before)
    codes, agreeing = np.empty((2, len(kept), few), np.int64)
    for place, scores in enumerate(_extensions(law, own, kept, before, length)):
        beyond = -(-law.domain // rest) - kept[place] * step
        scores[max(0, beyond) :] = -1
        best = np.argpartition(-scores, few - 1)[:few]
        best = best[np.argsort(-scores[best], kind="stable")]
        codes[place] = np.where(scores[best] < 0, -1, kept[place] * step + best)
        agreeing[place] = scores[best]
    return codes, agreeing


def _with_what_is_known(share: Floats, variance: Floats, found: Floats, noise: float) -> tuple[Floats, Floats]:
    """Return the shares of extensions, best first in each row, with what is known of the prefix, and their variance.

    A prefix is as frequent as all that goes on from it. Where an extension may be alone in what is left of its prefix,
    both numbers are about the same people, and are averaged; where there is far more left, it is one of many, and has
    its own number only. What was found is then no longer left for the next.
    """
    shares, variances, left = found.copy(), np.full(found.shape, noise), share.copy()
    for place in range(found.shape[1]):
        alone = left - found[:, place] <= _ALONE * (variance + noise) ** 0.5
        weight = noise / (variance + noise)
        shares[alone, place] += (weight * (left - found[:, place]))[alone]
        variances[alone, place] = (variance * noise / (variance + noise))[alone]
        left -= shares[:, place].clip(0)
    return shares, variances


def candidates(law: ReportLaw, keep: int) -> int:
    """Return how many codes the last group has to choose from, at most."""
    if law.groups == 1:
        return law.domain
    return int(keep * law.prime ** (law.lengths[-1] - law.lengths[-2]))


def _extensions(law: ReportLaw, reports: Integers, prefixes: Integers, before: int, length: int) -> Iterator[Integers]:
    """Yield, for each prefix of `before` digits, with how many reports each number of `length` digits agrees.

    A form's value at a number is its value at the prefix plus its value at the digits that follow.
    """
    step = law.prime ** (length - before)
    _, seeds, said = np.split(reports, [1, 1 + law.forms], axis=1)
    waves = (_bits if law.prime == 2 else _digits)(law, seeds % step, length - before)  # noqa: PLR2004 - bits
    first = seeds // step
    for prefix in prefixes:
        yield waves(_difference(law, said[:, 0], first, int(prefix)))


def _difference(law: ReportLaw, said: Integers, seeds: Integers, prefix: int) -> Integers:
    """Return what the forms must say of the digits that follow, given what they say of the prefix."""
    if law.prime == 2:  # noqa: PLR2004 - bits
        parities = (np.bitwise_count(seeds & prefix) & 1).astype(np.int64) << np.arange(law.forms)
        return np.asarray(said ^ parities.sum(axis=1), np.int64)
    total, rest, seed = np.zeros(len(said), np.int64), prefix, seeds[:, 0]
    while rest:
        total += seed % law.prime * (rest % law.prime)
        seed, rest = seed // law.prime, rest // law.prime
    return (said - total) % law.prime


Waves = Callable[[Integers], Integers]
"""Takes what the forms of each report must say, and returns with how many reports each number agrees."""


def _bits(law: ReportLaw, seeds: Integers, digits: int) -> Waves:
    size, forms = 1 << digits, np.arange(law.forms)
    chosen = [np.flatnonzero(wave >> forms & 1) for wave in range(1, law.answers)]
    places = [np.bitwise_xor.reduce(seeds[:, ones], axis=1) for ones in chosen]
    numbers = np.arange(law.answers)
    signs = [1.0 - 2.0 * (np.bitwise_count(numbers & wave) & 1) for wave in range(1, law.answers)]

    def count(values: Integers) -> Integers:
        laid = np.zeros(size)
        for place, sign in zip(places, signs, strict=True):
            laid += np.bincount(place, sign[values], size)
        return np.asarray((len(values) + _walsh_hadamard(laid)) / law.answers, np.int64)

    return count


def _digits(law: ReportLaw, seeds: Integers, digits: int) -> Waves:
    prime, size = law.prime, law.prime**digits
    weights = prime ** np.arange(digits)
    of_seeds = seeds // weights % prime  # there is one form
    halves = range(1, prime // 2 + 1)  # the other half of the waves are their conjugates
    places = [wave * of_seeds % prime @ weights for wave in halves]
    angles = -2 * np.pi / prime * np.arange(prime)

    def count(values: Integers) -> Integers:
        laid = np.zeros(size, np.complex128)
        for wave, place in zip(halves, places, strict=True):
            turned = wave * values % prime
            laid.real += np.bincount(place, np.cos(angles)[turned], size)
            laid.imag += np.bincount(place, np.sin(angles)[turned], size)
        total = 2 * np.fft.ifftn(laid.reshape((prime,) * digits), norm="forward").real.reshape(-1)
        return np.asarray(np.rint((len(values) + total) / prime), np.int64)

    return count


def _walsh_hadamard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Transform in place and return: whole numbers below 2^53 stay exact."""
    half = 1
    while half < values.size:
        pairs = values.reshape(-1, 2, half)
        pairs[:, 0], pairs[:, 1] = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        half *= 2
    return values
