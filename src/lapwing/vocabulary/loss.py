"""What a release costs, whatever produced it: the questions that every priced event can answer."""

from fractions import Fraction
from typing import Protocol


class Loss(Protocol):
    """The privacy loss of one release between neighbouring tables.

    Every number returned is an upper bound, rounded towards more cost. A currency in which no finite bound is known
    answers with infinity (or `None` where the answer is an exact fraction).
    """

    @property
    def pure_epsilon(self) -> Fraction | None:
        """The exact epsilon for which the release is (epsilon, 0)-differentially private, if there is one."""

    @property
    def rho(self) -> Fraction | None:
        """A rho for which the release is rho-zero-concentrated differentially private, if one is known."""

    def delta(self, epsilon: float) -> float:
        """Return a delta for which the release is (epsilon, delta)-differentially private."""

    def epsilon(self, delta: float) -> float:
        """Return an epsilon for which the release is (epsilon, delta)-differentially private."""

    def renyi(self, alpha: float) -> float:
        """Return a bound on the Renyi divergence of order `alpha` > 1, in both directions."""
