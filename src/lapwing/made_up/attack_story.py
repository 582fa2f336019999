"""The story that `lapwing attack` tells: which attacks, on whom in the made-up clinic, and in what words.

The attacker knows when each patient was born, and wants to know what they have.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from tempfile import TemporaryDirectory
from typing import Final, Self

import numpy as np

from lapwing.accounting.interpretation import belief_range
from lapwing.attacks.campaigns import AttackedDoor, AttackTarget, Campaign, CampaignAnswers, CampaignOutcome
from lapwing.attacks.tracing import Traced
from lapwing.made_up import SEED, make_clinic
from lapwing.made_up.made_up_people import make_block
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.frozen import frozen
from lapwing.workspace.creating import create

PEOPLE: Final = 4000
TABLE: Final = "patient"
PUBLIC: Final = "born"
ATTACKER: Final = "mallory"


@dataclass(kw_only=True)
class ClinicUnderAttack:
    """Doors to the clinic, each with a ledger and a budget of its own, and the people behind them."""

    trait: str
    budget: Fraction
    _opened: ExitStack = field(default_factory=ExitStack)

    def target(self, people: int, *, ages: range) -> AttackTarget:
        """Return the first `people` patients of these ages who share their date of birth with nobody in the clinic."""
        patients = make_block(SEED, 0, PEOPLE)[TABLE]
        born, age, trait = (np.ma.masked_array(patients[column]) for column in (PUBLIC, "age", self.trait))
        _, which, times = np.unique(born.filled(np.datetime64("NaT", "D")), return_inverse=True, return_counts=True)
        known = ~np.ma.getmaskarray(born) & (times[which] == 1)
        places = np.flatnonzero(known & (age.filled(-1) >= ages.start) & (age.filled(-1) < ages.stop))[:people]
        if places.size < people:
            reason = f"are more than the {places.size} there are"
            raise ParameterError("people", people, reason=reason, remedy="attack fewer")
        names: tuple[date, ...] = tuple(born.data[places].tolist())
        return AttackTarget(names=names, trait=trait.data[places].astype(bool))

    def open(self, target: AttackTarget, epsilon: Fraction) -> AttackedDoor:
        """Make the clinic anew, with an account that nobody has spent from, and let the attacker in."""
        folder = Path(self._opened.enter_context(TemporaryDirectory(prefix="lapwing-"))) / "clinic"
        workspace = self._opened.enter_context(create(make_clinic(folder, PEOPLE, epsilon=self.budget)))
        session = workspace.session(analyst=ATTACKER)
        return AttackedDoor(session, table=TABLE, column=PUBLIC, names=target.names, trait=self.trait, epsilon=epsilon)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()


OLD, GROWN = range(55, 99), range(20, 60)
"""Half of the old have high blood pressure; few of the others were ever admitted for surgery."""

_RARE = 1e-6


@frozen()
class Scene:
    """One attack: how many patients of which ages it is on, which trait of theirs, and in a sentence what it does."""

    people: int
    told: str
    run: Callable[[Campaign], list[CampaignOutcome]]
    ages: range = OLD
    trait: str = "hypertension"


SCENES: Final[Mapping[str, Scene]] = {
    "reconstruction": Scene(
        people=64,
        told="Ask how many of random groups of 64 patients have high blood pressure, and solve the equations "
        "(Dinur and Nissim 2003).",
        run=Campaign.reconstruction,
    ),
    "hadamard": Scene(
        people=256,
        told="Ask about 256 groups of 256 patients that are chosen so that one transform solves for everybody (Dwork "
        "and Yekhanin 2008).",
        run=Campaign.hadamard,
    ),
    "averaging": Scene(
        people=64,
        told="Ask the same again and again, until fresh noise has cancelled itself: about everybody, and about "
        "everybody but her, for 32 patients.",
        run=Campaign.averaging,
    ),
    "differencing": Scene(
        people=64,
        told="Ask about everybody, and about everybody but her. Noise that both answers share cancels; noise that is "
        "remembered by the true size tells whether the size changed.",
        run=Campaign.differencing,
    ),
    "tracing": Scene(
        people=384,
        ages=GROWN,
        trait="admitted_for_surgery",
        told="Was she admitted for surgery? Ask how many of random halves of 384 patients were, and score each patient "
        "by the halves that she is in (Homer et al. 2008). Recovered: the members named at 5 % false alarms.",
        run=Campaign.tracing,
    ),
}


@frozen()
class AttackReport:
    """What came of one scene: the outcomes, and the scores if it was tracing."""

    outcomes: list[CampaignOutcome]
    traced: Mapping[str, Traced]


def door_questions(name: str, budget: Fraction) -> int:
    """Return how many answers a scene gets at the door."""
    scene = SCENES[name]
    clinic = ClinicUnderAttack(trait=scene.trait, budget=budget)
    return Campaign(target=clinic.target(scene.people, ages=scene.ages), doors=clinic).door_questions(name)


def play(name: str, *, budget: Fraction, seed: int, progress: Callable[[], None] = lambda: None) -> AttackReport:
    """Run one of the `SCENES` on the made-up clinic, whose accounts have this budget each.

    The seed is that of the attacker's coins; `progress` is told of each answer at the door.
    """
    scene = SCENES[name]
    with ClinicUnderAttack(trait=scene.trait, budget=budget) as clinic:
        target = clinic.target(scene.people, ages=scene.ages)
        campaign = Campaign(target=target, doors=clinic, seed=seed, progress=progress)
        return AttackReport(outcomes=scene.run(campaign), traced=campaign.traced)


def surest(budget: Fraction) -> float:
    """Return what a belief of one half about a patient's record can become at most, whatever is asked.

    It is the belief of somebody who knows everybody else's data.
    People are added and removed here, so two records that she may have are two steps apart.
    """
    return belief_range("1/2", 2 * budget)[1]


def surest_of_membership(budget: Fraction) -> float:
    """Return what a belief of one half that a person is in the tables can become at most: one step, one epsilon.

    It is the belief of somebody who knows everybody else's data.
    """
    return belief_range("1/2", budget)[1]


def by_luck(outcomes: Sequence[CampaignOutcome], chance: float) -> list[float]:
    """Return by how much each may exceed guessing by luck: that one of them does by more has this chance, at most."""
    deviations = NormalDist().inv_cdf(1 - chance / max(1, len(outcomes)))
    return [deviations * outcome.deviation for outcome in outcomes]


def are_undone(outcomes: Sequence[CampaignOutcome], answers: CampaignAnswers) -> bool:
    """Say whether an attack on such answers got more than luck, but once in a million times, explains."""
    of_these = [outcome for outcome in outcomes if outcome.answers is answers]
    luck = by_luck(of_these, _RARE)
    return any(one.recovered - one.chance > most for one, most in zip(of_these, luck, strict=True))
