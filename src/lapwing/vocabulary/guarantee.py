"""What can be promised: the four currencies in which budgets are set and claims are made and audited.

Their numbers may be written like every parameter (`PureDP(epsilon="0.1")`), and are kept as exact fractions.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.exact import keep, positive, probability


@stored("pure-dp")
@dataclass(frozen=True, slots=True, kw_only=True)
class PureDP:
    """For every event E and neighbouring tables: P(E) <= e^epsilon P'(E)."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        keep(self, positive, "epsilon")


@stored("approximate-dp")
@dataclass(frozen=True, slots=True, kw_only=True)
class ApproximateDP:
    """For every event E and neighbouring tables: P(E) <= e^epsilon P'(E) + delta."""

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        keep(self, positive, "epsilon")
        keep(self, probability, "delta")


@stored("concentrated-dp")
@dataclass(frozen=True, slots=True, kw_only=True)
class ConcentratedDP:
    """Zero-concentrated: the Renyi divergence of every order alpha > 1 is at most rho * alpha."""

    rho: Fraction

    def __post_init__(self) -> None:
        keep(self, positive, "rho")


@stored("gaussian-dp")
@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianDP:
    """Telling neighbours apart is no easier than telling N(0, 1) from N(mu, 1), with mu^2 = `mu_squared`."""

    mu_squared: Fraction

    def __post_init__(self) -> None:
        keep(self, positive, "mu_squared")


Guarantee: TypeAlias = PureDP | ApproximateDP | ConcentratedDP | GaussianDP
