"""The laws of noise, each exactly what its formula says, and which sampler draws which of them.

=================  =======================================  ====================================================
law                drawn by                                 because
=================  =======================================  ====================================================
DiscreteLaplace    a table (`decay`) up to a scale of       two bytes and one look-up are the least there is; its
Geometric          about 135; strips (`strips`) above       table grows with the scale, that of the strips does not
DiscreteGaussian   the same, up to a sigma of about 525
RoundedLaplace     the lattice (`fine_lattice`)             one table serves every scale, so that a scale that is
RoundedGaussian                                             used once costs nothing to set up
=================  =======================================  ====================================================

A law that was never drawn from before has no table yet. Its first few draws share one with all others, and are slower
(`fine_lattice`); the second time that it is drawn from, its own table is made.

A law is a value: laws of one kind with the same parameter are equal, and share a table and a pool. At most `LAWS_KEPT`
of each are kept, those used last, in at most 400 KiB each: 25 MiB in all.

The rule not to break: from a given `source`, a law is drawn by one sampler only, chosen by its parameter alone. Such a
draw is a function of the law and of the bytes of that source, independent of earlier draws. A change of that function
must raise `sealing.SAMPLERS`, so that a seed which was sealed for the old one is lost and not drawn from anew.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Final
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray

from lapwing.noise import fine_lattice as lattice
from lapwing.noise.decay import TAIL_BITS, Decay, TableSampler
from lapwing.noise.fine_lattice import draw_gaussian, draw_geometric, draw_laplace
from lapwing.noise.randomness import SYSTEM, Pool, RandomSource, Sampler, drawn_among_many
from lapwing.noise.strips import StripSampler
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int, positive
from lapwing.vocabulary.frozen import frozen

SMALLEST_SCALE: Final = Fraction(1, 20)
LARGEST_SCALE: Final = Fraction(1 << 38)

LAWS_KEPT: Final = 64
_LONGEST_TABLE: Final = 4096
_FEW: Final = 8
"""How many draws are made without a table at most, the first time that a law is drawn from."""
_REMEMBERED: Final = 1024


def scale_in_range(name: str, given: object, power: int = 1) -> Fraction:
    """Return `given` as an exact scale, or the `power` of one, that the samplers can serve."""
    number = positive(name, given)
    smallest, largest = SMALLEST_SCALE**power, LARGEST_SCALE**power
    if number < smallest:
        remedy = f"stay at or above {smallest}: smaller noise is zero nearly always"
        raise ParameterError(name, given, reason="is too small", remedy=remedy)
    if number > largest:
        remedy = f"stay at or below {largest}: larger noise could leave the 64-bit integers"
        raise ParameterError(name, given, reason="is too large", remedy=remedy)
    return number


class Law(ABC):
    """The interface of a law. Values are 64-bit integers; beyond those they saturate, and never wrap."""

    __slots__ = ("_pool_reference",)
    _pool_reference: ReferenceType[Pool]
    _PARAMETER: ClassVar = "scale"
    _POWER: ClassVar = 1
    _needs_a_table: ClassVar = True

    def __post_init__(self) -> None:
        number = scale_in_range(self._PARAMETER, getattr(self, self._PARAMETER), self._POWER)
        object.__setattr__(self, self._PARAMETER, number)

    def draw(self, *, source: RandomSource = SYSTEM) -> int:
        """Return one draw; where no source is named, through a pool that hides how long the draw took."""
        if source is SYSTEM:
            pool = self._pool()
            return self._draw_alone() if pool is None else pool.draw()
        return int(self.draw_many(1, source=source)[0])

    def draw_many(self, count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
        """Return `count` independent draws, in an array of the caller's own."""
        if type(count) is not int or count < 0:  # the usual case is not worth the microseconds of `as_int`
            count = as_int("count", count, least=0)
        if source is SYSTEM:
            pool = self._pool(count)
            if pool is None:
                return np.array([self._draw_alone() for _ in range(count)], np.int64)
            return pool.draw_many(count)
        return drawn_among_many(_sampler(self), count, source)

    def _pool(self, count: int = 1) -> Pool | None:
        """Return the pool of this law, by a weak reference: it belongs to the LRU cache, which may evict it.

        There is none yet where a law is drawn from for the first time, and only few draws are wanted.
        """
        try:
            pool = self._pool_reference()
        except AttributeError:  # the first draw from this object
            pool = None
        if pool is None:
            if self._needs_a_table and count <= _FEW and _is_new(self):
                return None
            pool = _shared_pool(self)
            object.__setattr__(self, "_pool_reference", ref(pool))
        return pool

    @abstractmethod
    def _draw_alone(self) -> int:
        """Return one draw without a table of this law."""

    @abstractmethod
    def _new_sampler(self) -> Sampler:
        """Return a new sampler of this law."""


@frozen(kw_only=False)
class DiscreteLaplace(Law):
    """P(x) ∝ e^(-|x|/scale) on the integers.

    Added to an integer that one person moves by at most d, it is (d/scale)-differentially private. The scale is from
    1/20 to 2^38, and the variance about 2 scale².

    >>> law = DiscreteLaplace("22/7")
    >>> law.scale, law.draw_many(1000).shape
    (Fraction(22, 7), (1000,))

    Proof: proofs/laws.md
    """

    scale: Fraction

    def _draw_alone(self) -> int:
        return draw_laplace(self.scale)

    def _new_sampler(self) -> Sampler:
        return _by_table_or_strips(Decay.exponential(self.scale, sides=2))


@frozen(kw_only=False)
class Geometric(Law):
    """P(x) = (1 - e^(-1/scale)) e^(-x/scale) on 0, 1, 2, ...: one-sided noise, for comparisons with a threshold.

    The scale is from 1/20 to 2^38, and the mean 1/(e^(1/scale) - 1), about scale - 1/2.

    Proof: proofs/laws.md
    """

    scale: Fraction

    def _draw_alone(self) -> int:
        return draw_geometric(self.scale)

    def _new_sampler(self) -> Sampler:
        return _by_table_or_strips(Decay.exponential(self.scale, sides=1))


@frozen(kw_only=False)
class DiscreteGaussian(Law):
    """P(x) ∝ e^(-x²/(2 sigma_squared)) on the integers: of variance at most this, which is from 1/400 to 2^76.

    Proof: proofs/laws.md
    """

    sigma_squared: Fraction
    _PARAMETER: ClassVar = "sigma_squared"
    _POWER: ClassVar = 2

    def _draw_alone(self) -> int:
        return draw_gaussian(self.sigma_squared)

    def _new_sampler(self) -> Sampler:
        return _by_table_or_strips(Decay.gaussian(self.sigma_squared, sides=2))


@frozen(kw_only=False)
class RoundedLaplace(Law):
    """round(scale_used * L) for a continuous standard Laplace variate L, of density e^(-|x|)/2.

    An integer plus this noise is the integer plus continuous Laplace noise, rounded: every guarantee of the continuous
    mechanism of scale `scale_used` holds as it stands. The scale is from 1/20 to 2^38.

    Proof: proofs/lattice.md
    """

    scale: Fraction
    _needs_a_table: ClassVar = False

    @property
    def scale_used(self) -> Fraction:
        """The exact scale of the noise: `scale`, rounded up by a factor of at most 1 + scale 2^-54."""
        return lattice.scale_of(lattice.steps_of(self.scale))

    def _draw_alone(self) -> int:
        return _shared_pool(self).draw()

    def _new_sampler(self) -> Sampler:
        return lattice.RoundedSampler(lattice.standard_exponential(), lattice.steps_of(self.scale))


@frozen(kw_only=False)
class RoundedGaussian(Law):
    """round(sigma_used * Z) for a continuous standard normal variate Z.

    An integer plus this noise is the integer plus continuous Gaussian noise, rounded: every guarantee of the continuous
    mechanism of standard deviation `sigma_used` holds as it stands. Sigma is from 1/20 to 2^38.

    Proof: proofs/lattice.md
    """

    sigma: Fraction
    _PARAMETER: ClassVar = "sigma"
    _needs_a_table: ClassVar = False

    @property
    def sigma_used(self) -> Fraction:
        """The exact standard deviation before rounding: `sigma`, raised by a factor of at most 1 + sigma 2^-54."""
        return lattice.scale_of(lattice.steps_of(self.sigma))

    def _draw_alone(self) -> int:
        return _shared_pool(self).draw()

    def _new_sampler(self) -> Sampler:
        return lattice.RoundedSampler(lattice.standard_half_normal(), lattice.steps_of(self.sigma))


def _by_table_or_strips(decay: Decay) -> Sampler:
    return TableSampler(decay) if decay.reach(TAIL_BITS) <= _LONGEST_TABLE else StripSampler(decay)


def _is_new(law: Law) -> bool:
    """Return whether a law is drawn from for the first time, as far as is remembered."""
    if law in _drawn:
        return False
    while len(_drawn) >= _REMEMBERED:
        _drawn.pop(next(iter(_drawn), law), None)  # another thread may have been faster
    _drawn[law] = None
    return True


_drawn: dict[Law, None] = {}


@lru_cache(maxsize=LAWS_KEPT)
def _sampler(law: Law) -> Sampler:
    return law._new_sampler()  # noqa: SLF001 - laws and their cache are one module


@lru_cache(maxsize=LAWS_KEPT)
def _shared_pool(law: Law) -> Pool:
    return Pool(_sampler(law))
