"""What can be promised: the four currencies in which budgets are set and claims are made and audited.

Their numbers may be written like every parameter (`PureDP(epsilon="0.1")`), and are kept as exact fractions.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.exact import Exact, fill, positive, probability


@stored("pure-dp")
@dataclass(frozen=True, slots=True, init=False)
class PureDP:
    """For every event E and neighbouring tables: P(E) <= e^epsilon P'(E)."""

    epsilon: Fraction

    def __init__(self, *, epsilon: Exact) -> None:
        fill(self, epsilon=positive("epsilon", epsilon))


@stored("approximate-dp")
@dataclass(frozen=True, slots=True, init=False)
class ApproximateDP:
    """For every event E and neighbouring tables: P(E) <= e^epsilon P'(E) + delta."""

    epsilon: Fraction
    delta: Fraction

    def __init__(self, *, epsilon: Exact, delta: Exact) -> None:
        fill(self, epsilon=positive("epsilon", epsilon), delta=probability("delta", delta))


@stored("concentrated-dp")
@dataclass(frozen=True, slots=True, init=False)
class ConcentratedDP:
    """Zero-concentrated: the Renyi divergence of every order alpha > 1 is at most rho * alpha."""

    rho: Fraction

    def __init__(self, *, rho: Exact) -> None:
        fill(self, rho=positive("rho", rho))


@stored("gaussian-dp")
@dataclass(frozen=True, slots=True, init=False)
class GaussianDP:
    """Telling neighbours apart is no easier than telling N(0, 1) from N(mu, 1), with mu^2 = `mu_squared`."""

    mu_squared: Fraction

    def __init__(self, *, mu_squared: Exact) -> None:
        fill(self, mu_squared=positive("mu_squared", mu_squared))


Guarantee: TypeAlias = PureDP | ApproximateDP | ConcentratedDP | GaussianDP
