"""A suspect: a mechanism, what it claims, how the auditor computes it, and how it is drawn from.

The white box is built by the auditor's own laws from the numbers that a mechanism states. `noise` multiplies its noise,
so that tests can see that a mechanism with less of it would be refuted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lapwing.auditor.white_box import WhiteBox
from lapwing.vocabulary.guarantee import Guarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A mechanism under audit.

    Attributes
    ----------
    name : what it is called on the command line
    claim : what it claims
    box : makes its white box, with its noise multiplied by a factor
    release : draws from it: takes an input and returns an answer; None where there is nothing to run
    neighbours : two neighbouring inputs of `release` on which it loses visibly
    """

    name: str
    claim: Guarantee
    box: Callable[[Fraction], WhiteBox]
    release: Callable[[Any], object] | None = None
    neighbours: tuple[Any, Any] | None = None

    @property
    def white_box(self) -> WhiteBox:
        """The mechanism as it states itself to be."""
        return self.box(Fraction(1))
