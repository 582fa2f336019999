"""How cohort tools of hospitals blur their counts: written from what their source and settings say, to be attacked.

None of it is differentially private. The parameters are the tools' defaults where they have some. What is left out
(federation, log-in, query languages) makes no answer less exact.

i2b2-core-server, GaussianBoxMuller.java and crc.properties (2026). uwrit/leaf, ObfuscationService.cs and
appsettings.json (2025). samply/laplace-rs, and the README of samply/focus (2026). Hutch Bunny (2026).
"""

import hashlib
import math
from abc import ABC, abstractmethod
from collections import Counter
from typing import Final

import numpy as np

from lapwing.attacks.oracles import Coins, Mask, Numbers
from lapwing.vocabulary.errors import BudgetError


class LockedOutError(BudgetError):
    """Every account that the attacker has was locked; an administrator would have to unlock one."""

    def __init__(self, accounts: int) -> None:
        self.accounts = accounts
        super().__init__(f"all {accounts} accounts are locked; find more colleagues, or wait for 30 days")


class _Tool(ABC):
    """A tool that shows a blurred number in the place of the true size of a cohort, however it is asked for."""

    def __init__(self, trait: Mask) -> None:
        self._trait = trait

    def count(self, members: Mask, *, spelling: int = 0) -> float:
        """Return the blurred number."""
        del spelling
        return self._show(int(np.count_nonzero(self._trait & members)))

    @abstractmethod
    def _show(self, size: int) -> float: ...


class I2b2(_Tool):
    """Fresh Gaussian noise of deviation 1.323 on every answer, and zero for three people or fewer.

    Its one budget is a lock-out: an account that gets the same true size a seventh time within 30 days is locked. It is
    kept for each account, so an attacker asks on with the account of a colleague.
    `accounts` are those that the attacker can use. Breakdowns have a deviation of 1.6.
    """

    SMALL: Final = 3
    ANSWERS_A_SIZE: Final = 6
    name: Final = "i2b2 style"

    def __init__(self, trait: Mask, coins: Coins, *, deviation: float = 1.323, accounts: int = 10_000) -> None:
        super().__init__(trait)
        self._coins, self._deviation, self._accounts = coins, deviation, accounts
        self._sizes: Counter[int] = Counter()

    @property
    def accounts_used(self) -> int:
        """How many accounts it took so far."""
        return math.ceil(max(self._sizes.values(), default=0) / self.ANSWERS_A_SIZE)

    def _show(self, size: int) -> float:
        return float(self.blur(np.array([size]))[0])

    def blur(self, sizes: Numbers) -> Numbers:
        """Return the shown numbers for many true sizes."""
        self._sizes.update(sizes.astype(int).tolist())
        if self.accounts_used > self._accounts:
            raise LockedOutError(self._accounts)
        shown = np.rint(sizes + self._deviation * self._coins.normals(sizes.size))
        return np.where(sizes <= self.SMALL, 0.0, shown)


class Leaf(_Tool):
    """A shift from -10 to 9 that depends on the concepts of the question and on nothing else; "10" for ten or fewer.

    The shift is a function of the MD5 of the sorted concept identifiers: no secret enters, and no filter on dates or
    numbers. (The original feeds four bytes of it to the generator of .NET; here they are taken modulo 20. Blurring is
    off in its shipped settings.)
    The identifiers are in every question, and the browser sees them.
    """

    SMALL: Final = 10
    name: Final = "Leaf style"

    def __init__(self, trait: Mask, concepts: tuple[str, ...]) -> None:
        super().__init__(trait)
        self._concepts = concepts

    def _show(self, size: int) -> float:
        # Dates of birth are a filter, so the shift is the same for every cohort.
        return float(self.SMALL if size <= self.SMALL else size + leaf_shift(self._concepts))


def leaf_shift(concepts: tuple[str, ...]) -> int:
    """Return the shift of a question, as anyone can who knows its concepts."""
    digest = hashlib.md5("".join(sorted(concepts)).encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], "little") % 20 - 10


class Samply(_Tool):
    """Laplace noise of epsilon 0.28, rounded to tens; 10 for one to nine, 0 for zero; no account of what was spent.

    Noise is remembered by the *true* size, so that asking again gives the same number. Different answers then prove
    that true sizes differ, for any two questions.
    """

    EPSILON: Final = 0.28
    STEP: Final = 10
    name: Final = "Samply style"

    def __init__(self, trait: Mask, coins: Coins) -> None:
        super().__init__(trait)
        self._coins = coins
        self._remembered: dict[int, float] = {0: 0.0}

    def _show(self, size: int) -> float:
        if size not in self._remembered:
            shown = size + float(self._coins.laplaces(1)[0]) / self.EPSILON
            tens = max(0.0, float(np.rint(shown / self.STEP)) * self.STEP)
            self._remembered[size] = float(self.STEP) if size < self.STEP else tens
        return self._remembered[size]


class Bunny(_Tool):
    """Zero for fewer than ten people, and the nearest ten for all others; no noise at all."""

    STEP: Final = 10
    name: Final = "Bunny style"

    def _show(self, size: int) -> float:
        return 0.0 if size < self.STEP else float(np.rint(size / self.STEP) * self.STEP)
