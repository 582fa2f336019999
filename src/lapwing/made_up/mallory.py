"""Mallory, who knows some people and wants to know which of them had cancer; and the doors that she tries.

She knows when a person was born, their sex and where they are treated, and asks two questions about thousands of people
each: how many survivors are there, and how many other than this one? The difference is the secret. Rules that hide
small numbers see no small number.
"""

from collections.abc import Callable, Iterator
from datetime import date
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.attacks.campaigns import NOTHING, CampaignAnswers, CampaignOutcome
from lapwing.attacks.obfuscation import I2b2
from lapwing.attacks.oracles import Coins, share_right
from lapwing.made_up import SEED
from lapwing.made_up.made_up_people import BLOCK, SEXES, SITES, Named, Values, make_block
from lapwing.queries.statistics.counts import count
from lapwing.session import Session
from lapwing.vocabulary.frozen import frozen

VICTIMS, TIMES = 32, 400
EVERYONE: Final = "cancer_survivor"
_UNKNOWN: Final = np.datetime64("NaT", "D")


@frozen()
class Victim:
    """Someone Mallory knows, and what she wants to know."""

    born: date
    sex: str
    site: str
    survivor: bool

    @property
    def others(self) -> str:
        """All survivors but this person."""
        return f"{EVERYONE} and not (born = date '{self.born}' and sex = '{self.sex}' and site = '{self.site}')"


class ExactDoor:
    """A door without noise. lapwing never shows anything that is computed here."""

    def __init__(self, people: int) -> None:
        blocks = range(0, people, BLOCK)
        tables = [make_block(SEED, first // BLOCK, min(BLOCK, people - first))["patient"] for first in blocks]
        self._survivor = np.concatenate([np.asarray(one["cancer_survivor"]) for one in tables])
        self._born = np.concatenate([_plain(one["born"]) for one in tables])
        self._sex, self._site = (np.concatenate([_plain(one[name]) for one in tables]) for name in ("sex", "site"))

    def survivors(self, *, but: Victim | None = None) -> int:
        """Return the exact answer to one of Mallory's questions."""
        if but is None:
            return int(self._survivor.sum())
        known = (
            (self._born == np.datetime64(but.born))
            & (self._sex == SEXES.index(but.sex))
            & (self._site == SITES.index(but.site))
        )
        return int((self._survivor & ~known).sum())

    def victims(self, number: int) -> Iterator[Victim]:
        """Choose people whom Mallory's knowledge singles out; every other one is a survivor."""
        where = self._born.astype(np.int64) * 64 + self._sex * 32 + self._site
        _, first, times = np.unique(where, return_index=True, return_counts=True)
        alone = np.sort(first[(times == 1) & ~np.isnat(self._born[first])])
        survivors, others = (alone[self._survivor[alone] == secret][: number // 2] for secret in (True, False))
        for pair in zip(survivors, others, strict=True):
            for one in pair:
                yield Victim(
                    born=self._born[one].item(),
                    sex=SEXES[int(self._sex[one])],
                    site=SITES[int(self._site[one])],
                    survivor=bool(self._survivor[one]),
                )


class NeighbourStory:
    """Mallory's questions about people whom she knows: how many survivors there are, and how many but each of them."""

    def __init__(self, people: int) -> None:
        exact = ExactDoor(people)
        self.victims = list(exact.victims(VICTIMS))
        self.sizes = np.array([exact.survivors(), *(exact.survivors(but=one) for one in self.victims)])
        """Exact answers, the first about all survivors. Nothing else in lapwing shows such numbers."""

    def try_doors(
        self, door: Session, epsilon: Fraction, answered: Callable[[int], None]
    ) -> tuple[CampaignOutcome, CampaignOutcome, CampaignOutcome]:
        """Return her outcomes: exact answers, blurred ones that she averages, and lapwing's for epsilon."""
        blurred = I2b2(np.ones(0, dtype=bool), Coins(SEED, "demonstration"))
        means = np.array([blurred.blur(np.full(TIMES, size)).mean() for size in self.sizes])
        questions, price = [EVERYONE, *(one.others for one in self.victims)], epsilon / len(self.sizes)
        told = []
        for where in questions:
            told.append(door.ask(count("patient", where), epsilon=price).value)
            answered(len(told))
        return (
            self._outcome("exact", CampaignAnswers.EXACT, self.sizes),
            self._outcome("blurred as i2b2 does it", CampaignAnswers.AD_HOC, means, times=TIMES),
            self._outcome("lapwing's", CampaignAnswers.LAPWING, np.array(told)),
        )

    def _outcome(
        self, against: str, answers: CampaignAnswers, heard: NDArray[Any], *, times: int = 1
    ) -> CampaignOutcome:
        """Return about how many victims she is right, who takes a difference of more than a half for a survivor."""
        survivors = np.array([one.survivor for one in self.victims])
        return CampaignOutcome(
            attack="difference",
            against=against,
            answers=answers,
            asked=heard.size * times,
            answered=heard.size * times,
            recovered=share_right(heard[0] - heard[1:] > 1 / 2, survivors),
            chance=1 / 2,
            stopped="ledger" if answers is CampaignAnswers.LAPWING else NOTHING,
            people=len(self.victims),
        )


def _plain(column: Values) -> NDArray[Any]:
    """Return a column as an array; the births that are missing become a day that compares with none."""
    values = column.codes if isinstance(column, Named) else column
    plain: NDArray[Any] = np.ma.filled(values, _UNKNOWN) if values.dtype.kind == "M" else np.asarray(values)
    return plain
