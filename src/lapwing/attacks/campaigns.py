"""Each attack three times over: on exact answers, on the blur of tools in use, and at the door of lapwing.

At the door an attacker asks real questions of a real session, paid from its ledger. He spreads the whole budget evenly
over the questions he needs, the best he can do with them, and then asks one more. What he has recovered is compared
with guessing.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import Final, Protocol, TypeAlias

import numpy as np

from lapwing.attacks import differencing, hadamard, reconstruction, tracing
from lapwing.attacks.obfuscation import Bunny, I2b2, Leaf, Samply
from lapwing.attacks.oracles import Answerer, Coins, ExactAnswers, Interrogation, Mask, interrogate, share_right
from lapwing.attacks.tracing import Traced
from lapwing.queries.language.expressions import Condition, Value, col, condition
from lapwing.queries.statistics.counts import CountPeople, count
from lapwing.session import Session
from lapwing.vocabulary.errors import BudgetError
from lapwing.vocabulary.exact import Exact, positive
from lapwing.vocabulary.frozen import frozen

Name: TypeAlias = int | str | date
"""A public value that identifies a person in the table: a date of birth, a number on a list."""


class AttackedDoor:
    """A session that is asked how many of some people have a trait, for epsilon a question.

    The attacker identifies them by a public column of the table, which holds these names; the trait is a secret column.
    """

    name: Final = "lapwing"

    def __init__(
        self, session: Session, *, table: str, column: str, names: Sequence[Name], trait: str, epsilon: Exact
    ) -> None:
        self._session, self._table, self._column, self._names = session, table, column, tuple(names)
        self._trait, self.epsilon = trait, positive("epsilon", epsilon)
        self.free = 0
        """How many answers cost nothing, because they had been given before."""

    def question(self, members: Mask, *, spelling: int = 0) -> CountPeople:
        """Return the question about a cohort, written in one of many ways."""
        named = [self._names[person] for person in np.flatnonzero(members)]
        return count(self._table, spelled(spelling, col(self._column), named, condition(col(self._trait))))

    def count(self, members: Mask, *, spelling: int = 0) -> float:
        """Ask, and pay; refused with a BudgetError when the account is empty."""
        answer = self._session.ask(self.question(members, spelling=spelling), epsilon=self.epsilon)
        self.free += answer.free
        return float(answer.value)

    def margin(self, members: Mask) -> float:
        """Return how far off an answer is at most, 95 times in 100; it is free to know."""
        (margin,) = self._session.preview(self.question(members), epsilon=self.epsilon).margin.values()
        return float("nan") if margin is None else float(margin)

    @property
    def left(self) -> Fraction | None:
        """The budget that the account has left."""
        return self._session.budget().left


Spelling: TypeAlias = Callable[[Value, Sequence[Name], Condition], Condition]

TRIVIAL: Final[tuple[Spelling, ...]] = (
    lambda public, names, trait: public.is_in([*names]) & trait,
    lambda public, names, trait: trait & public.is_in([*reversed(names)]),
    lambda public, names, trait: (public.is_in([*names[::2]]) | public.is_in([*names[1::2], *names[:1]])) & trait,
    lambda public, names, trait: ~~(trait & trait & public.is_in([*names, *names])),
    lambda public, names, trait: ~(~public.is_in([*names]) | ~trait),
)
"""Ways to write one question that are one question to lapwing, too: asked again, it gives what it gave, for nothing."""


def spelled(spelling: int, public: Value, names: Sequence[Name], trait: Condition) -> Condition:
    """Return a condition that is always the same, and looks different for each `spelling`.

    From the sixth on no two have the same canonical form ("ill, and ill or born by such a day"), so each is charged.
    """
    if not names:
        return trait & ~trait
    if spelling < len(TRIVIAL):
        return TRIVIAL[spelling](public, names, trait)
    padding = _other(names[0], spelling - len(TRIVIAL))
    return TRIVIAL[0](public, names, trait) & (trait | (public <= padding))


def _other(name: Name, number: int) -> Name:
    """Return a value of the same type that nobody has, another one for each number."""
    match name:
        case date():
            return date.fromordinal(date.max.toordinal() - 1 - number)
        case int():
            return 2**40 + number
        case str():
            return f"{name}{number}"


Progress: TypeAlias = Callable[[], None]

NOTHING: Final = "nothing"
HASTE: Final = 10  # the part of the budget that an impatient attacker offers for each question is 1/HASTE
QUESTIONS_A_PERSON: Final = 4
QUESTIONS_A_PERSON_ROUNDED: Final = 16  # rounding to tens is more noise than i2b2 adds, and questions are not limited
AVERAGED, I2B2_TIMES, DOOR_TIMES = 32, 100, 6
SAMPLY_PAIRS, QUESTIONS_A_MEMBER = 24, 24


class CampaignAnswers(Enum):
    """Where answers come from."""

    EXACT = "exact"
    AD_HOC = "ad hoc"
    LAPWING = "lapwing"


@frozen(eq=False)
class AttackTarget:
    """People whom the attacker can identify by a public value, and the secret trait he is after.

    Attackers never see the trait: answers are made from it, and guesses marked by it.
    """

    names: tuple[Name, ...]
    trait: Mask

    @property
    def people(self) -> int:
        """The number of people."""
        return len(self.names)


class Doors(Protocol):
    """Where doors come from: each to the same people, with a ledger and a whole budget of its own."""

    @property
    def budget(self) -> Fraction:
        """The epsilon that each account is opened with."""

    def open(self, target: AttackTarget, epsilon: Fraction) -> AttackedDoor:
        """Return a door at which each question about the target costs this price."""


@frozen()
class CampaignOutcome:
    """Result of one attack on one answerer: the questions asked and answered, and what stopped the attacker.

    `recovered` is the share of people whom he is right about (in tracing, of members whom he names), `chance` what he
    would have got by guessing, and `people` how many that is a share of.
    """

    attack: str
    against: str
    answers: CampaignAnswers
    asked: int
    answered: int
    recovered: float
    chance: float
    stopped: str
    people: int

    @property
    def deviation(self) -> float:
        """By how much the share that is guessed right strays by luck: one standard deviation."""
        return math.sqrt(self.chance * (1 - self.chance) / self.people)


@dataclass(kw_only=True)
class Campaign:
    """All attacks on one target; `progress` is called after each answer of lapwing.

    The seed is that of the attacker's coins, and of the tools that he attacks; never of lapwing's noise.
    """

    target: AttackTarget
    doors: Doors
    seed: int = 1
    progress: Progress = lambda: None
    traced: dict[str, Traced] = field(default_factory=dict)  # the scores of the last tracing, by answerer

    def reconstruction(self) -> list[CampaignOutcome]:
        """Ask about random cohorts, several for each person, and solve for the people."""
        coins, people, trait = Coins(self.seed, "reconstruction"), self.target.people, self.target.trait
        cohorts = reconstruction.random_cohorts(people, QUESTIONS_A_PERSON * people, coins)
        more = reconstruction.random_cohorts(people, QUESTIONS_A_PERSON_ROUNDED * people, coins)
        plans: list[tuple[Answerer, Mask]] = [
            (ExactAnswers(trait), cohorts),
            (I2b2(trait, coins), cohorts),
            (Bunny(trait), more),
            (self._door(len(cohorts)), cohorts),
        ]
        ways = {"least squares": reconstruction.least_squares, "linear program": reconstruction.linear_program}
        outcomes = []
        for answerer, asked in plans:
            heard = self._interrogate(answerer, asked)
            for way, solve in ways.items():
                outcomes.append(self._guessed(way, answerer, heard, solve(heard)))
        impatient = self._door(HASTE)
        heard = self._interrogate(impatient, cohorts)
        return [*outcomes, self._guessed("in haste", impatient, heard, reconstruction.least_squares(heard))]

    def hadamard(self) -> list[CampaignOutcome]:
        """Ask as many questions as there are people, and transform the answers into the people."""
        cohorts, trait = hadamard.hadamard_cohorts(self.target.people), self.target.trait
        noisy = I2b2(trait, Coins(self.seed, "hadamard"))
        outcomes = []
        for answerer in (ExactAnswers(trait), noisy, self._door(len(cohorts))):
            heard = self._interrogate(answerer, cohorts)
            outcomes.append(self._guessed("Hadamard", answerer, heard, hadamard.guess_from(heard)))
        return outcomes

    def averaging(self) -> list[CampaignOutcome]:
        """Ask the same again and again: in words that lapwing sees through, and in words that it does not."""
        people, trait, targets = self.target.people, self.target.trait, self._averaged
        rounds = targets + differencing.EVERYBODY_MORE_OFTEN
        plans: list[tuple[str, Answerer, int, Sequence[int]]] = [
            ("averaging", ExactAnswers(trait), 1, [0]),
            ("averaging", I2b2(trait, Coins(self.seed, "averaging")), I2B2_TIMES, [0]),
            ("same words", self._door(targets + 1), len(TRIVIAL), range(len(TRIVIAL))),
            ("padded words", self._door(rounds * DOOR_TIMES), DOOR_TIMES, range(len(TRIVIAL), 100)),
        ]
        outcomes = []
        for way, answerer, times, spellings in plans:
            heard = differencing.ask_again_and_again(
                answerer, people, targets, times, spellings=spellings, progress=self._progress(answerer)
            )
            outcomes.append(self._guessed(way, answerer, heard, differencing.guess_targets(heard, targets)))
        return outcomes

    def differencing(self) -> list[CampaignOutcome]:
        """Ask about two cohorts that differ in one person, for every person."""
        people, trait, coins = self.target.people, self.target.trait, Coins(self.seed, "differencing")

        def difference(answerer: Answerer) -> CampaignOutcome:
            heard, guesses = differencing.by_difference(answerer, people, progress=self._progress(answerer))
            return self._guessed("difference", answerer, heard, guesses)

        samply = Samply(trait, coins)
        heard, guesses = differencing.by_equality(samply, people, SAMPLY_PAIRS, coins)
        return [
            difference(ExactAnswers(trait)),
            difference(Leaf(trait, ("concept:trait",))),
            self._guessed("equal answers", samply, heard, guesses),
            difference(self._door(people + 1)),
        ]

    def tracing(self) -> list[CampaignOutcome]:
        """Ask how many of a small secret group are in random cohorts, and score everybody; the scores are kept."""
        coins, trait = Coins(self.seed, "tracing"), self.target.trait
        questions = QUESTIONS_A_MEMBER * int(np.count_nonzero(trait))
        cohorts = reconstruction.random_cohorts(self.target.people, questions, coins)
        outcomes = []
        for answerer in (ExactAnswers(trait), I2b2(trait, coins), self._door(questions)):
            heard = self._interrogate(answerer, cohorts)
            traced = self.traced[answerer.name] = tracing.trace(heard, trait)
            named = traced.true_positives(), tracing.FALSE_POSITIVES, int(np.count_nonzero(trait))
            outcomes.append(self._outcome("inner product", answerer, heard, named))
        return outcomes

    def door_questions(self, attack: str) -> int:
        """Return how many answers an attack gets at doors, for a progress bar."""
        people = self.target.people
        return {
            "reconstruction": QUESTIONS_A_PERSON * people + HASTE,
            "hadamard": people,
            "averaging": (self._averaged + differencing.EVERYBODY_MORE_OFTEN) * (len(TRIVIAL) + DOOR_TIMES),
            "differencing": people + 1,
            "tracing": QUESTIONS_A_MEMBER * int(np.count_nonzero(self.target.trait)),
        }[attack]

    @property
    def _averaged(self) -> int:
        return min(AVERAGED, self.target.people)

    def _door(self, questions: int) -> AttackedDoor:
        return self.doors.open(self.target, self.doors.budget / questions)

    def _interrogate(self, answerer: Answerer, cohorts: Mask) -> Interrogation:
        return interrogate(answerer, cohorts, progress=self._progress(answerer))

    def _progress(self, answerer: Answerer) -> Progress:
        return self.progress if isinstance(answerer, AttackedDoor) else lambda: None

    def _guessed(self, attack: str, answerer: Answerer, heard: Interrogation, guesses: Mask) -> CampaignOutcome:
        trait = self.target.trait[: guesses.size]
        luck = max(trait.mean(), 1 - trait.mean()).item()
        return self._outcome(attack, answerer, heard, (share_right(guesses, trait), luck, guesses.size))

    def _outcome(
        self, attack: str, answerer: Answerer, heard: Interrogation, recovered: tuple[float, float, int]
    ) -> CampaignOutcome:
        """Return the outcome: the share recovered, the share that guessing recovers, and of how many people."""
        share, chance, people = recovered
        return CampaignOutcome(
            attack=attack,
            against=answerer.name,
            answers=_ANSWERS.get(type(answerer), CampaignAnswers.AD_HOC),
            asked=heard.planned,
            answered=heard.answers.size,
            recovered=share,
            chance=chance,
            stopped=self._stopped(answerer),
            people=people,
        )

    def _stopped(self, answerer: Answerer) -> str:
        """Return what stops an attacker; lapwing is asked a question that is new, so it is not free."""
        if isinstance(answerer, I2b2):
            return f"{NOTHING} ({answerer.accounts_used} accounts)"
        if isinstance(answerer, AttackedDoor):
            cohort = Coins(self.seed, "one more").flips(self.target.people)
            try:
                answerer.count(cohort, spelling=len(TRIVIAL))
            except BudgetError:
                noise = f"noise ±{answerer.margin(cohort):,.0f} (95 %)"
                return f"{answerer.free} repeats, ledger" if answerer.free else f"{noise}, ledger"
        return NOTHING


_ANSWERS: Final[dict[type, CampaignAnswers]] = {
    ExactAnswers: CampaignAnswers.EXACT,
    AttackedDoor: CampaignAnswers.LAPWING,
}
