"""With how many reports each answer agrees: for all answers at once.

A report of the linear hash agrees with x where the values of its forms at x are what it says. Written by the characters
of the values, that is a sum over reports of waves in x, and so a Fourier transform of the reports, laid out by their
seeds: q/2 transforms over the digits, instead of a hash for each report and answer. Over bits the transform is that of
Walsh and Hadamard, on whole numbers; over other digits the sums are within a small part of 1 of the whole numbers that
they are, and are rounded to them.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lapwing.surveys.report_law import ReportLaw

Integers = NDArray[np.int64]


def count_agreements(law: ReportLaw, reports: Integers) -> Integers:
    """Return for each of the truths, with how many reports it agrees; a report is a row."""
    if not law.lengths:
        return np.bincount(reports.reshape(-1), minlength=law.domain).astype(np.int64)
    _, seeds, said = np.split(reports, [1, 1 + law.forms], axis=1)
    return _transform(law, seeds, digits_of(law.prime, said[:, 0], law.forms), law.lengths[0])[: law.domain]


def find_prefixes(law: ReportLaw, reports: Integers, *, keep: int) -> tuple[Integers, Integers]:
    """Return the codes that most reports of the last group agree with, best first, and with how many.

    Group by group, all extensions of the prefixes that were kept are scored, and the best are kept. For the last group,
    what it chose from was found by other people's reports.
    """
    kept = hits = np.zeros(1, np.int64)
    before = 0
    for group, length in enumerate(law.lengths):
        step, whole = law.prime ** (length - before), law.prime ** (law.lengths[-1] - length)
        own = reports[reports[:, 0] == group]
        codes = (kept[:, None] * step + np.arange(step)).reshape(-1)
        scores = np.stack(list(_extensions(law, own, digits_of(law.prime, kept, before), length))).reshape(-1)
        scores[codes * whole >= law.domain] = -1  # no answer begins like this
        best = np.argsort(-scores, kind="stable")[:keep]
        kept, hits, before = codes[best], scores[best], length
    return kept[hits >= 0], hits[hits >= 0]


def candidates(law: ReportLaw, keep: int) -> int:
    """Return how many codes the last group has to choose from, at most."""
    if law.groups == 1:
        return law.domain
    return int(keep * law.prime ** (law.lengths[-1] - law.lengths[-2]))


def _extensions(law: ReportLaw, reports: Integers, prefixes: Integers, length: int) -> Iterator[Integers]:
    """Yield, for each prefix as its digits, with how many reports of a group each of its extensions agrees."""
    before = prefixes.shape[1]
    step = law.prime ** (length - before)
    _, seeds, said = np.split(reports, [1, 1 + law.forms], axis=1)
    values = digits_of(law.prime, said[:, 0], law.forms)
    first = [digits_of(law.prime, seed // step, before).astype(np.float32) for seed in seeds.T]
    for prefix in prefixes.astype(np.float32):
        # a form's value at the whole number is that at the prefix plus that at the rest; exact, all are below 2^24
        at_prefix = np.stack([one @ prefix for one in first], axis=1).astype(np.int64)
        yield _transform(law, seeds % step, (values - at_prefix) % law.prime, length - before)


def digits_of(prime: int, numbers: Integers, count: int) -> Integers:
    """Return the digits of numbers, the last digit first, a row for each."""
    return numbers[:, None] // prime ** np.arange(count) % prime


def _transform(law: ReportLaw, seeds: Integers, values: Integers, digits: int) -> Integers:
    """Return for each number of so many digits the reports in which every form has its value there."""
    prime, shape = law.prime, (law.prime,) * digits
    total = np.zeros(prime**digits)
    if prime > 2:  # noqa: PLR2004 - other digits than bits
        of_seeds, weights = digits_of(prime, seeds[:, 0], digits), prime ** np.arange(digits)
        for wave in range(1, prime // 2 + 1):  # the other half of the waves are their conjugates
            angle = -2 * np.pi / prime * (wave * values[:, 0] % prime)
            place = wave * of_seeds % prime @ weights
            real, imaginary = (np.bincount(place, part, total.size) for part in (np.cos(angle), np.sin(angle)))
            laid = real + 1j * imaginary
            total += 2 * np.fft.ifftn(laid.reshape(shape), norm="forward").real.reshape(-1)
        return np.asarray(np.rint((len(seeds) + total) / prime), np.int64)
    for wave in range(1, law.answers):
        chosen = np.flatnonzero(wave >> np.arange(law.forms) & 1)
        sign = 1.0 - 2.0 * (values[:, chosen].sum(axis=1) & 1)
        place = np.bitwise_xor.reduce(seeds[:, chosen], axis=1)
        total += _walsh_hadamard(np.bincount(place, sign, total.size).astype(np.float64))
    return np.asarray((len(seeds) + total) / law.answers, np.int64)


def _walsh_hadamard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Transform in place and return: whole numbers below 2^53 stay exact."""
    half = 1
    while half < values.size:
        pairs = values.reshape(-1, 2, half)
        pairs[:, 0], pairs[:, 1] = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        half *= 2
    return values
