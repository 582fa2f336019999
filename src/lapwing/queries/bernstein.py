"""Means, variances and correlations at the price of one count: sums of Bernstein polynomials.

For a value that has been put on a grid, X = low..high with R = high - low, the polynomials

    B_i(X) = C(d, i) (X - low)^i (high - X)^(d - i),    i = 0..d,

are never negative and add up to R^d, whatever X is. So a row moves the vector of their sums by exactly R^d in L1 norm,
no more than it moves a count in units of R^d, and yet all moments up to degree d are linear in these sums. One release
of the vector gives the number of rows, the mean and the variance together; with the products B_i(X) B_j(Y) of two
values it gives their covariance and correlation.

Proof: proofs/bernstein_moments.md
"""

import itertools
import math
from collections.abc import Sequence

from lapwing.queries.term import ConstantTerm, Term, bounds, plus, times


def basis(term: Term, degree: int) -> list[Term]:
    """Return the `degree` + 1 polynomials of a term, in the order of i.

    Proof: proofs/bernstein_moments.md

    Examples
    --------
    >>> from lapwing.queries.term import OnGrid
    >>> [bounds(b) for b in basis(OnGrid(column="age", bits=0, low=20, high=30), 1)]
    [(0, 10), (0, 10)]
    """
    low, high = bounds(term)
    above, below = plus(term, ConstantTerm(-low)), plus(times(ConstantTerm(-1), term), ConstantTerm(high))
    return [
        _product([ConstantTerm(math.comb(degree, i)), *[above] * i, *[below] * (degree - i)]) for i in range(degree + 1)
    ]


def products(bases: Sequence[Sequence[Term]]) -> tuple[Term, ...]:
    """Return all products of one polynomial from each basis, the last basis running fastest."""
    return tuple(_product(list(factors)) for factors in itertools.product(*bases))


def _product(factors: list[Term]) -> Term:
    factors = [factor for factor in factors if factor != ConstantTerm(1)]
    product = factors[0]
    for factor in factors[1:]:
        product = times(product, factor)
    return product
