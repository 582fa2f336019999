"""The story of the attacker: which attacks, on whom in the made-up clinic, what came of them, and in what words.

The attacker knows when each patient was born, and wants to know what they have.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import date
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

import numpy as np

from lapwing.accounting.interpretation import INFORMED, belief_range
from lapwing.attacks.campaigns import (
    NOTHING,
    AttackedDoor,
    AttackTarget,
    Campaign,
    CampaignAnswers,
    CampaignOutcome,
)
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
        """Make the clinic anew, with an account from which nothing is spent, and let the attacker in."""
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

_RARE, _USUAL = 1e-6, 0.05


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
    """Result of one scene: the outcomes, and the scores if it was tracing."""

    outcomes: list[CampaignOutcome]
    traced: Mapping[str, Traced]


def door_questions(name: str, budget: Fraction) -> int:
    """Return how many answers a scene gets at the door."""
    scene = SCENES[name]
    clinic = ClinicUnderAttack(trait=scene.trait, budget=budget)
    return Campaign(target=clinic.target(scene.people, ages=scene.ages), doors=clinic).door_questions(name)


@frozen()
class AttackStory:
    """Results of the scenes that were run, with accounts of one budget. A command, pictures and a page show them."""

    budget: Fraction
    seed: int
    reports: Mapping[str, AttackReport]

    @property
    def outcomes(self) -> list[CampaignOutcome]:
        """All outcomes, scene by scene."""
        return [one for scene in self.reports.values() for one in scene.outcomes]

    @property
    def at_the_door(self) -> list[CampaignOutcome]:
        """The outcomes of attacks on lapwing."""
        return [one for one in self.outcomes if one.answers is CampaignAnswers.LAPWING]

    @property
    def is_stopped(self) -> bool:
        """Whether lapwing stopped every attack, and none got more than luck explains."""
        emptied = all(one.stopped != NOTHING for one in self.at_the_door)
        return emptied and not are_undone(self.outcomes, CampaignAnswers.LAPWING)

    @property
    def headline(self) -> str:
        """The result of the attacks on blurred answers and on lapwing's, in a sentence."""
        blur, lapwing = _undone(self.outcomes)
        if blur and lapwing:
            return f"Blur is undone, and so is a budget of epsilon {self.budget}"
        if blur:
            return f"Blur is undone; a budget of epsilon {self.budget} is not"
        return f"A budget of epsilon {self.budget} is {'undone' if lapwing else 'not undone'}; blur was not, here"

    @property
    def conclusion(self) -> str:
        """The attacker's success against lapwing, the part that chance explains, and the bound on any success."""
        outcomes, budget = self.at_the_door, self.budget
        best, luck = max(zip(outcomes, by_luck(outcomes, _USUAL), strict=True), key=lambda one: _beyond(one[0]))
        beaten = _beyond(best)
        how = f"beat guessing by {100 * beaten:.1f} points at best" if beaten > 0 else "never beat guessing"
        attacks = f"the best of {len(outcomes)} attacks" if len(outcomes) > 1 else "this attack"
        emptied = all(one.stopped != NOTHING for one in outcomes)
        end = "each time he left an empty account" if emptied else "NOTHING STOPPED HIM: this account does not hold"
        undone = are_undone(outcomes, CampaignAnswers.LAPWING)
        lost = "THIS IS MORE THAN LUCK: the budget is too large. " if undone else ""
        return (
            f"At lapwing's door the attacker {how}, and {end}. By luck alone {attacks} beats guessing by up to "
            f"{100 * luck:.0f} points in 19 of 20 runs (one deviation is {100 * best.deviation:.0f} points, for "
            f"{best.people} people). {lost}What a person's own "
            f"data adds is bounded, whatever is asked: with a budget of epsilon {budget}, of {INFORMED} no belief "
            f"that a person is a patient here moves from 50 % to more than {100 * surest_of_membership(budget):.1f} % "
            f"(one person added: epsilon), and none about what her record says to more than {100 * surest(budget):.1f} "
            "% (a record replaced: twice epsilon). See docs/attacks.md and docs/interpretation.md."
        )

    def record(self) -> dict[str, Any]:
        """Return it as JSON values: what programs read, and the page shows."""
        return {
            "epsilon": str(self.budget),
            "seed": self.seed,
            "outcomes": [
                {"family": name, **asdict(outcome), "answers": outcome.answers.value}
                for name, one in self.reports.items()
                for outcome in one.outcomes
            ],
            "surest_belief": surest(self.budget),
            "surest_belief_in_membership": surest_of_membership(self.budget),
        }


def play(
    names: Sequence[str], *, budget: Fraction, seed: int, progress: Callable[[], None] = lambda: None
) -> AttackStory:
    """Run some of the `SCENES` on the made-up clinic, whose accounts have this budget each.

    The seed is that of the attacker's coins; `progress` is called after each answer of lapwing.
    """
    reports = {}
    for name in names:
        scene = SCENES[name]
        with ClinicUnderAttack(trait=scene.trait, budget=budget) as clinic:
            target = clinic.target(scene.people, ages=scene.ages)
            campaign = Campaign(target=target, doors=clinic, seed=seed, progress=progress)
            reports[name] = AttackReport(outcomes=scene.run(campaign), traced=campaign.traced)
    return AttackStory(budget=budget, seed=seed, reports=reports)


def tracing_headline(outcomes: Sequence[CampaignOutcome]) -> str:
    """Return who hid the members of the group, in a sentence."""
    hid = {
        (True, False): "Blur does not hide it; lapwing does",
        (True, True): "Neither blur nor this budget hides it",
        (False, False): "Here, blur and lapwing hid it",
        (False, True): "This budget does not hide it",
    }
    return f"Who is in the secret group? {hid[_undone(outcomes)]}"


def _undone(outcomes: Sequence[CampaignOutcome]) -> tuple[bool, bool]:
    return are_undone(outcomes, CampaignAnswers.AD_HOC), are_undone(outcomes, CampaignAnswers.LAPWING)


def _beyond(outcome: CampaignOutcome) -> float:
    return outcome.recovered - outcome.chance


def surest(budget: Fraction) -> float:
    """Return an upper bound on what a belief of one half about a patient's record becomes, whatever is asked.

    It is the belief of somebody who knows everybody else's data.
    People are added and removed here, so two records that she may have are two steps apart.
    """
    return belief_range("1/2", 2 * budget)[1]


def surest_of_membership(budget: Fraction) -> float:
    """Return an upper bound on a belief of one half that a person is in the tables: one step, one epsilon.

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
