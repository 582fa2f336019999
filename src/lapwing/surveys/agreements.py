"""With how many reports each answer agrees: for all answers at once.

A report of the linear hash agrees with x where its forms have at x the values that it says. Written by the characters
of the values, that is a sum of waves in x, q - 1 for each report. Laid out by their frequencies, which are multiples of
the seeds, the waves of all reports are added up by one Fourier transform over the digits, in place of a hash for each
report and each answer. Over bits it is the transform of Walsh and Hadamard, on whole numbers; over other digits the
sums are within a small part of 1 of the whole numbers that they are, and are rounded to them.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from lapwing.surveys.report_law import ReportLaw

Integers = NDArray[np.int64]


def count_agreements(law: ReportLaw, reports: Integers) -> Integers:
    """Return for each of the truths, with how many reports it agrees; a report is a row."""
    if not law.lengths:
        return np.bincount(reports.reshape(-1), minlength=law.domain).astype(np.int64)
    return next(_extensions(law, reports, np.zeros(1, np.int64), 0, law.lengths[0]))[: law.domain]


def find_prefixes(law: ReportLaw, reports: Integers, *, keep: int) -> tuple[Integers, Integers]:
    """Return the codes that most reports of the last group agree with, best first, and with how many.

    Group by group, all extensions of the prefixes that were kept are scored, and the best are kept. For the last group,
    what it chose from was found by other people's reports.
    """
    kept = hits = np.zeros(1, np.int64)
    before = 0
    for group, length in enumerate(law.lengths):
        step, rest = law.prime ** (length - before), law.prime ** (law.lengths[-1] - length)
        own = reports[reports[:, 0] == group]
        codes = (kept[:, None] * step + np.arange(step)).reshape(-1)
        scores = np.concatenate(list(_extensions(law, own, kept, before, length)))
        scores[codes * rest >= law.domain] = -1  # no answer begins like this
        best = np.argpartition(-scores, min(keep, scores.size - 1))[:keep]
        best = best[np.lexsort((codes[best], -scores[best]))]
        kept, hits, before = codes[best], scores[best], length
    return kept[hits >= 0], hits[hits >= 0]


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
