"""What was believed before an answer came: a range in which all is alike, or a Beta law of a proportion.

A prior is public: it is what the analyst brings. One that was fitted to the same data costs what the fitting costs.
"""

from fractions import Fraction

from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact, as_written, exact, positive
from lapwing.vocabulary.frozen import frozen


@frozen(kw_only=False)
class FlatPrior:
    """Every value from `low` to `high` is as likely as any other before the answer, and others are impossible."""

    low: Fraction
    high: Fraction

    def __str__(self) -> str:
        return f"flat from {float(self.low):g} to {float(self.high):g}"


@frozen(kw_only=False)
class BetaPrior:
    """A proportion of which as much is known as from `yes` yeses and `no` noes, both above zero."""

    yes: Fraction
    no: Fraction

    def __str__(self) -> str:
        return f"Beta({float(self.yes):g}, {float(self.no):g})"


def flat(low: Exact, high: Exact) -> FlatPrior:
    """Return the prior in which every value from `low` to `high` is alike, for `answer.posterior(...)`.

    >>> print(flat(0, 10_000))
    flat from 0 to 10000
    """
    least, most = exact("low", as_written(low)), exact("high", as_written(high))
    if least >= most:
        raise ParameterError("high", high, reason=f"is not above low, {float(least):g}", remedy="write flat(0, 10_000)")
    return FlatPrior(least, most)


def beta(yes: Exact, no: Exact) -> BetaPrior:
    """Return the Beta prior of a proportion, for `answer.posterior(...)`; beta("1/2", "1/2") is Jeffreys' prior.

    >>> print(beta(2, 8))
    Beta(2, 8)
    """
    return BetaPrior(positive("yes", as_written(yes)), positive("no", as_written(no)))
