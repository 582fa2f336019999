"""For small scales: two random bytes and one look into a table for each draw, more only where two do not do.

A uniform number U between 0 and 1 picks the magnitude j with F(j - 1) <= U < F(j), F being the distribution function.
The first bits of U say in which of 2^15 or 2^16 equal cells it lies. Few cells hold one of the F(j); the others lie
between two of them, so that those first bits decide, whatever bits would follow. The rest is resolved by 48 bits more
against the thresholds floor(2^64 F(j)), and where even those touch a threshold (once in 2^40 draws, or less) by as
many bits as it takes, on integers of any size. So the law is exact, although no F(j) is a number a computer can hold.

The rule not to break: a cell is used only where `Decay.thresholds` is certified; there are no "close enough" cells.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from lapwing.noise.decay import Decay
from lapwing.noise.randomness import RandomSource
from lapwing.vocabulary.errors import RandomnessError

TAIL_BITS: Final = 40
"""A table ends where 2^-40 of the law is left: what lies beyond is found on integers of any size."""

CHUNK: Final = 1 << 16
"""So many draws are made at a time: the arrays in between stay near the processor, and their memory is used again."""

UNSURE: Final = -(1 << 15)
"""Stands in a cell that does not decide; no magnitude or value of a table is as small."""

LARGEST: Final = (1 << 63) - 1
"""Magnitudes saturate here. They never wrap."""

_EXTRA_BITS: Final = 48


class GuideTable:
    """A magnitude for each cell of U, where the cell decides it, and the means to decide where it does not.

    Attributes
    ----------
    magnitudes : for each of the 2^cell_bits cells, the magnitude of every U in it, or `UNSURE`
    thresholds : floor(2^(cell_bits + 48) F(j)) for j = 0, 1, ...

    Proof: proofs/lazy_inverse.md
    """

    def __init__(self, decay: Decay, cell_bits: int) -> None:
        self._decay, self._bits = decay, cell_bits + _EXTRA_BITS
        self.thresholds = np.array(decay.thresholds(self._bits, TAIL_BITS), np.uint64)
        if self.thresholds.size > -UNSURE:
            raise RandomnessError(f"{decay} has {self.thresholds.size} thresholds, too many for a table; use strips")
        cells = (self.thresholds >> np.uint64(_EXTRA_BITS)).astype(np.int64)
        inside = np.bincount(cells, minlength=1 << cell_bits)
        before = np.cumsum(inside) - inside
        decided = (inside == 0) & (before < self.thresholds.size)
        self.magnitudes: NDArray[np.int16] = np.where(decided, before, UNSURE).astype(np.int16)

    def resolve(self, cells: NDArray[np.uint16], source: RandomSource) -> NDArray[np.int64]:
        """Return the magnitude of a U in each of `cells`, drawing the bits of U that follow."""
        extra = np.frombuffer(source.take(8 * cells.size), "<u8") >> np.uint64(64 - _EXTRA_BITS)
        uniform = (cells.astype(np.uint64) << np.uint64(_EXTRA_BITS)) | extra
        magnitudes = np.searchsorted(self.thresholds, uniform, side="right").astype(np.int64)
        touching = self.thresholds[np.maximum(magnitudes, 1) - 1] == uniform
        beyond = magnitudes == self.thresholds.size
        for i in np.flatnonzero(touching | beyond):
            magnitudes[i] = min(self._decay.locate(int(uniform[i]), self._bits, source), LARGEST)
        return magnitudes


class TableSampler:
    """Draws from a law whose magnitudes follow `decay`; where it has two sides, one bit of sixteen is the sign."""

    def __init__(self, decay: Decay) -> None:
        self._sign_bits = decay.sides - 1
        self.guide = GuideTable(decay, 16 - self._sign_bits)
        magnitudes = self.guide.magnitudes
        mirrored = [np.where(magnitudes == UNSURE, UNSURE, -magnitudes).astype(np.int16)] * self._sign_bits
        self._values = np.concatenate([magnitudes, *mirrored])

    def draw_many(self, count: int, source: RandomSource) -> NDArray[np.int64]:
        """Return `count` independent draws."""
        draws = np.empty(count, np.int64)
        for start in range(0, count, CHUNK):
            self._fill(draws[start : start + CHUNK], source)
        return draws

    def _fill(self, draws: NDArray[np.int64], source: RandomSource) -> None:
        words = np.frombuffer(source.take(2 * draws.size), "<u2")
        values = self._values.take(words)
        draws[:] = values
        unsure = np.flatnonzero(values == UNSURE)
        if unsure.size:
            doubtful = words[unsure]
            magnitudes = self.guide.resolve(doubtful & np.uint16(0xFFFF >> self._sign_bits), source)
            negative = self._sign_bits * (doubtful >> np.uint16(15))
            draws[unsure] = np.where(negative, -magnitudes, magnitudes)
