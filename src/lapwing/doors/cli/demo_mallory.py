"""The act of Mallory, who knows some people and wants to know which of them had cancer; and the doors she tries.

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

from lapwing.attacks.obfuscation import I2b2
from lapwing.attacks.oracles import Coins
from lapwing.doors.cli.commands import progress
from lapwing.doors.cli.demo_stage import ALLOWANCES, Cast, bad, good
from lapwing.made_up import SEED
from lapwing.made_up.made_up_people import BLOCK, SEXES, SITES, Named, Values, make_block
from lapwing.queries.statistics.counts import count
from lapwing.session import Session
from lapwing.vocabulary.errors import BudgetExceededError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import format_short

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


def attack(cast: Cast) -> None:
    """Let Mallory try a door with exact answers, one that blurs them, and lapwing's."""
    stage, exact = cast.stage, ExactDoor(cast.people)
    stage.act("Mallory: what an exact answer would have given away")
    victims = list(exact.victims(VICTIMS))
    sizes = np.array([exact.survivors(), *(exact.survivors(but=one) for one in victims)])
    first = victims[0]
    stage.say(
        f"She knows that her neighbour was born on {first.born}, is treated at the {first.site} site, and is "
        f"{'a man' if first.sex == 'M' else 'a woman'}. Two questions about thousands of people, no small number in "
        "sight. Exact answers, which lapwing never shows, would be:"
    )
    stage.table(
        ["exact, for the sake of the story", "people"],
        [
            ["cancer survivors", format_short(int(sizes[0]))],
            ["cancer survivors other than her neighbour", format_short(int(sizes[1]))],
        ],
    )
    stage.say(
        f"One less: so the neighbour had cancer. She does it to {len(victims)} people, half of them survivors. Where "
        f"answers are blurred by fresh noise, as cohort tools of hospitals do, she asks {TIMES} times and takes the "
        f"mean. At lapwing's door she spends all of her epsilon {format_short(ALLOWANCES['mallory'])}:"
    )
    price = ALLOWANCES["mallory"] / len(sizes)
    blurred = I2b2(np.ones(0, dtype=bool), Coins(SEED, "demonstration"))
    means = np.array([blurred.blur(np.full(TIMES, size)).mean() for size in sizes])
    with progress("Mallory asks lapwing", len(sizes)) as answered:
        told = np.array([*_ask(cast.mallory, [EVERYONE, *(one.others for one in victims)], price, answered)])
    read, tossed = bad("reading the table"), good("tossing a coin")
    stage.table(
        ["answers", "asked", "right about", "as good as"],
        [
            ["exact", f"{sizes.size:,}", _right(sizes, victims), read],
            ["blurred as i2b2 does it", f"{sizes.size * TIMES:,}", _right(means, victims), read],
            ["lapwing's", f"{told.size:,}", _right(told, victims), tossed],
        ],
    )
    _ask_again(cast, price)


def _ask(door: Session, cohorts: list[str], price: Fraction, answered: Callable[[int], None]) -> Iterator[int]:
    for number, where in enumerate(cohorts, start=1):
        yield door.ask(count("patient", where), epsilon=price).value
        answered(number)


def _right(answers: NDArray[Any], victims: list[Victim]) -> str:
    """Say about how many victims Mallory is right, who takes a difference of more than a half for a survivor."""
    guesses = answers[0] - answers[1:] > 1 / 2
    return f"{int(sum(guesses == [one.survivor for one in victims]))} of {len(victims)}"


def _plain(column: Values) -> NDArray[Any]:
    """Return a column as an array; the births that are missing become a day that compares with none."""
    values = column.codes if isinstance(column, Named) else column
    plain: NDArray[Any] = np.ma.filled(values, _UNKNOWN) if values.dtype.kind == "M" else np.asarray(values)
    return plain


def _ask_again(cast: Cast, price: Fraction) -> None:
    stage, question = cast.stage, count("patient", EVERYONE)
    answers = {cast.mallory.ask(question, epsilon=price).value for _ in range(20)}
    stage.say(
        f"Can she not average lapwing's noise away, too? Twenty times the same question: {len(answers)} answer, the "
        "one from before, for nothing. Another question, then?"
    )
    try:
        cast.mallory.ask(count("patient"), epsilon=price)
    except BudgetExceededError as refusal:
        stage.result(f"Refused: {str(refusal).partition(':')[0]}.")
