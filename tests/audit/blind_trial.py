"""A blind trial: mechanisms with the right noise and with 5 % too little, in envelopes opened after the verdicts.

Each suspect claims epsilon 1. The auditor gets an envelope with no name on it: a way to draw, two neighbours, and how
many draws it may take. Which is which is decided by the system's randomness, not by anything the auditor knows.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from audit.broken_mechanisms import exponential, on_a_grid, sparse_vector
from lapwing.auditor.black_box import Finding, audit
from lapwing.mechanisms.laplace import GeometricMechanism, LaplaceMechanism
from lapwing.mechanisms.randomized_response import RandomizedResponse
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import PureDP
from statistical.goodness import FALSE_ALARM

CLAIM = PureDP(epsilon=1)
TOO_LITTLE = Fraction(95, 100)
RNG = np.random.default_rng()


@dataclass(frozen=True)
class Family:
    """A mechanism whose noise can be multiplied, neighbours at which it loses its claim, and the draws to see it."""

    many: Callable[[Fraction], Callable[[Any, int], Any]]
    neighbours: tuple[Any, Any]
    samples: int = 600_000


def released(build, kind):
    return lambda noise: lambda value, n: build(noise, n).release(Sensitive(np.full(n, value, kind)))


def two_counts(noise):
    mechanism = GeometricMechanism(l1_sensitivity=2, epsilon=1 / noise)
    return lambda counts, n: mechanism.release(Sensitive(np.tile(counts, n))).reshape(n, 2)


def never_below_zero(noise):
    mechanism = GeometricMechanism(l1_sensitivity=1, epsilon=1 / noise)
    return lambda count, n: np.maximum(0, mechanism.release(Sensitive(np.full(n, count))))


def two_sums(noise):
    return lambda sums, n: on_a_grid(np.array(sums) + RNG.laplace(0, float(noise), (n, 2)))


def one_sided_stream(noise):
    """A sparse vector with exponential noise, asked twice."""
    scales = {"threshold": exponential(RNG, float(2 * noise)), "query": exponential(RNG, float(4 * noise))}
    return lambda values, n: sparse_vector(values, n, **scales).said


FAMILIES = {
    "a count, on the integers": Family(
        released(lambda noise, _: GeometricMechanism(l1_sensitivity=1, epsilon=1 / noise), np.int64), (10, 11)
    ),
    "a sum, on a fine grid": Family(
        released(lambda noise, n: LaplaceMechanism(l1_sensitivity=1, epsilon=1 / noise, dimension=n), np.float64),
        (0.5, 1.5),
    ),
    "randomized response of two": Family(
        lambda noise: (
            lambda value, n: RandomizedResponse(categories=2, epsilon=1 / noise).release(Sensitive(np.full(n, value)))
        ),
        (0, 1),
    ),
    "randomized response of five": Family(
        lambda noise: (
            lambda value, n: RandomizedResponse(categories=5, epsilon=1 / noise).release(Sensitive(np.full(n, value)))
        ),
        (0, 1),
        1_000_000,
    ),
    "a sum that moves by a half": Family(
        released(lambda noise, n: LaplaceMechanism(l1_sensitivity="1/2", epsilon=1 / noise, dimension=n), np.float64),
        (0.0, 0.5),
    ),
    "a count of rows, three a person": Family(
        released(lambda noise, _: GeometricMechanism(l1_sensitivity=3, epsilon=1 / noise), np.int64), (10, 13)
    ),
    "a histogram": Family(two_counts, ((3, 4), (4, 3)), 1_500_000),
    "a count that is never below zero": Family(never_below_zero, (3, 4)),
    "two sums": Family(two_sums, ((0.0, 0.0), (0.5, -0.5)), 3_000_000),
    "a stream": Family(one_sided_stream, ((3.0, 0.0), (4.0, -1.0)), 25_000_000),
}


@dataclass(frozen=True)
class Verdict:
    """What the auditor said, and what was in the envelope."""

    family: str
    thin: bool
    finding: Finding

    @property
    def right(self) -> bool:
        return self.finding.refuted is self.thin


def trial(names: Iterable[str] = FAMILIES) -> list[Verdict]:
    """Seal two envelopes for each family, hear the auditor on all of them in a random order, then open them."""
    names = list(names)
    contents = [(name, thin) for name in names for thin in (False, True)]
    random.SystemRandom().shuffle(contents)
    envelopes = [
        (FAMILIES[name].many(TOO_LITTLE if thin else Fraction(1)), FAMILIES[name].neighbours, FAMILIES[name].samples)
        for name, thin in contents
    ]
    findings = [
        audit(
            many=many,
            claim=CLAIM,
            neighbours=neighbours,
            samples=samples,
            false_alarm=FALSE_ALARM,
            name=f"envelope {i + 1}",
        )
        for i, (many, neighbours, samples) in enumerate(envelopes)
    ]
    return [Verdict(*inside, finding) for inside, finding in zip(contents, findings, strict=True)]
