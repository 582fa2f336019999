"""What was measured so far: of each residual its estimate, and how precise it is. Further measurements are pooled.

The precision of a residual s is 1/v_s, where its estimate is off by v_s times the centring of its columns, in
covariance (proofs/published_marginals.md, 5). Two estimates of one residual are averaged by precision.

How precise a later measurement is depends on what the earlier ones said, so the average is not quite normal. What is
said with a confidence therefore rests on the first measurement of each residual alone: given all before it, that is
normal with a known variance. The errors of different stages are bounded one by one, each with its part of the chance.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from lapwing.mechanisms.residual_basis import Axes
from lapwing.publishing.measurements import Table, centred, subsets

_OF_ROUNDING = 1 / 12
_RAISED = 1 + 2.0**-15
"""More than what samplers raise a sigma by, and than what floating point loses."""


class ResidualPool:
    """Estimates of residuals of columns with so many `codes`, from released numbers alone."""

    def __init__(self, codes: Sequence[int]) -> None:
        self.codes = tuple(codes)
        self.precision = dict[Axes, float]()
        self._weighted = dict[Axes, Table]()
        self._first = dict[Axes, tuple[int, float, Table]]()
        self._stages, self._is_normal = 0, True

    def add_residuals(self, sigmas: Mapping[Axes, Fraction], released: Sequence[Sequence[int]]) -> None:
        """Take in whole residuals that were released with rounded Gaussian noise, in one stage."""
        self._stages += 1
        for (axes, sigma), numbers in zip(sigmas.items(), released, strict=True):
            cells = self.cells(axes)
            value = centred(np.array(numbers, np.float64).reshape(self.shape(axes))) / cells
            self._add(axes, value, cells**2 / (float(sigma) ** 2 + _OF_ROUNDING))

    def add_tables(self, tables: Sequence[Axes], released: Sequence[Sequence[int]], variance: float) -> None:
        """Take in whole tables that were released with independent Laplace noise of this variance, in one stage."""
        self._stages, self._is_normal = self._stages + 1, False
        new = ResidualPool(self.codes)
        for axes, numbers in zip(tables, released, strict=True):
            table = np.array(numbers, np.float64).reshape(self.shape(axes))
            for inner in subsets(axes):
                rest = self.cells([a for a in axes if a not in inner])
                new._add(inner, residual_of(table, axes, inner), 1 / (variance * rest))
        for inner, precision in new.precision.items():
            self._add(inner, new.residual(inner), precision)

    def add_estimates(self, estimates: Mapping[Axes, Table], variances: Mapping[Axes, float]) -> None:
        """Take in residuals that were estimated before, each off by its variance times the centring of its columns."""
        self._stages, self._is_normal = self._stages + 1, False
        for axes, value in estimates.items():
            self._add(axes, value, 1 / variances[axes])

    def _add(self, axes: Axes, value: Table, precision: float) -> None:
        self._weighted[axes] = self._weighted.get(axes, 0.0) + value * precision
        self.precision[axes] = self.precision.get(axes, 0.0) + precision
        self._first.setdefault(axes, (self._stages, precision, value))

    def assume(self, precision: Mapping[Axes, float]) -> None:
        """Take in nothing but how precise residuals would be: single columns in one stage, all others in the next."""
        self._stages = 2
        for axes, known in precision.items():
            self.precision[axes] = known
            self._first[axes] = (1 if len(axes) <= 1 else 2, known, np.zeros(self.shape(axes)))

    @property
    def total(self) -> float:
        """The number of people, estimated; it is positive, whatever the noise was."""
        return max(1.0, float(self.residual(())))

    def of_size(self, size: int) -> list[Axes]:
        """Return the measured residuals of so many columns, in the order in which they were measured."""
        return [axes for axes in self.precision if len(axes) == size]

    def residual(self, axes: Axes) -> Table:
        """Return the estimate of a measured residual."""
        found: Table = self._weighted[axes] / self.precision[axes]
        return found

    def marginal(self, axes: Axes, prior: Table | None = None) -> Table:
        """Return the table of some columns: residuals that were not measured are those of `prior`, or zero."""
        table = np.zeros(self.shape(axes))
        for inner in subsets(axes):
            if inner in self.precision:
                part = self.residual(inner)
            elif prior is not None:
                part = residual_of(prior, axes, inner)
            else:
                continue
            spread = self.cells([a for a in axes if a not in inner])
            table = table + (part / spread).reshape([self.codes[a] if a in inner else 1 for a in axes])
        return table

    def variance(self, axes: Axes) -> float:
        """Return the variance of each cell of `marginal`, of what was measured of it."""
        return sum(
            moved_by_noise(self.codes, inner)
            / self.precision[inner]
            / self.cells([a for a in axes if a not in inner]) ** 2
            for inner in subsets(axes)
            if inner in self.precision
        )

    def has(self, axes: Axes) -> bool:
        """Say whether all that a table of these columns is made of was measured."""
        return all(inner in self.precision for inner in subsets(axes))

    def unbiased(self, axes: Axes) -> Table:
        """Return the table of some columns from the first measurement of each residual: what `reach` is about."""
        table = np.zeros(self.shape(axes))
        for inner in subsets(axes):
            spread = self.cells([a for a in axes if a not in inner])
            table = table + (self._first[inner][2] / spread).reshape([self.codes[a] if a in inner else 1 for a in axes])
        return table

    def reach(self, axes: Axes, widths: Sequence[int], chance: float) -> float:
        """Return how far off the count in a box of `widths` codes is at most by `unbiased`, but for this chance."""
        variances, rounding = dict[int, float](), 0.0
        for inner in subsets(axes):
            stage, precision, _ = self._first[inner]
            within = [(self.codes[a], m, a in inner) for a, m in zip(axes, widths, strict=True)]
            factor = math.prod(m - m**2 / n if is_in else (m / n) ** 2 for n, m, is_in in within)
            variances[stage] = variances.get(stage, 0.0) + factor / precision
            sizes = math.prod(2 * m * (n - m) / n if is_in else m / n for n, m, is_in in within)
            rounding += sizes / (2 * self.cells(inner))
        each = chance / max(1, len(axes)) / _RAISED  # the residuals of k columns are first measured in k stages at most
        if self._is_normal:
            widest = -NormalDist().inv_cdf(each / 2)
            return (widest * sum(map(math.sqrt, variances.values())) + rounding) * _RAISED
        return _laplace_reach(each) * sum(map(math.sqrt, variances.values())) * _RAISED

    def cells(self, axes: Sequence[int]) -> int:
        """Return how many cells a table of some columns has."""
        return math.prod(self.codes[a] for a in axes)

    def shape(self, axes: Axes) -> list[int]:
        """Return the shape of a table of some columns."""
        return [self.codes[a] for a in axes]


def moved_by_noise(codes: Sequence[int], axes: Axes) -> float:
    """Return the part of independent noise in a cell that is left of it in the residual of these columns."""
    return math.prod(1 - 1 / codes[a] for a in axes)


def residual_of(table: Table, axes: Axes, inner: Axes) -> Table:
    """Return the residual of some of the columns of a table."""
    return centred(table.sum(axis=tuple(i for i, a in enumerate(axes) if a not in inner)))


def _laplace_reach(chance: float) -> float:
    """Return r with P(|S| > r sd) <= chance, for every weighted sum S of discrete Laplace draws of deviation sd.

    By Chernoff's bound P(|S| > r) <= 2 e^(-tr) ∏ 1/(1 - c²b²t²), and as no c²b² is above their sum, V/2, the product is
    at most 1/(1 - t²V/2).
    """
    parts = np.arange(1, 64) / 64
    return float(((math.log(2 / chance) - np.log1p(-parts)) / np.sqrt(2 * parts)).min())
