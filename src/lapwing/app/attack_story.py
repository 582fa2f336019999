"""The story that `lapwing attack` tells: which attacks, on whom in the made-up clinic, and in what words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final

from lapwing.accounting.interpretation import belief_range
from lapwing.app.clinic_under_attack import ClinicUnderAttack
from lapwing.attacks.campaigns import Campaign, CampaignAnswers, CampaignOutcome
from lapwing.attacks.tracing import Traced

OLD, GROWN = range(55, 99), range(20, 60)
"""Half of the old have high blood pressure; few of the others were ever admitted for surgery."""

_RARE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One attack: whom it is on, and what it does.

    Parameters
    ----------
    people, ages, trait : how many patients are attacked, how old they are, and what is to be found out about them
    told : what the attacker does, in a sentence
    run : what runs it
    """

    people: int
    ages: range
    trait: str
    told: str
    run: Callable[[Campaign], list[CampaignOutcome]]


SCENES: Final[Mapping[str, Scene]] = {
    "reconstruction": Scene(
        people=64,
        ages=OLD,
        trait="hypertension",
        told="Ask how many of random groups of 64 patients have high blood pressure, and solve the equations "
        "(Dinur and Nissim 2003).",
        run=Campaign.reconstruction,
    ),
    "hadamard": Scene(
        people=256,
        ages=OLD,
        trait="hypertension",
        told="Ask about 256 groups of 256 patients that are chosen so that one transform solves for everybody (Dwork "
        "and Yekhanin 2008).",
        run=Campaign.hadamard,
    ),
    "averaging": Scene(
        people=64,
        ages=OLD,
        trait="hypertension",
        told="Ask the same again and again, until fresh noise has cancelled itself: about everybody, and about "
        "everybody but her, for 32 patients.",
        run=Campaign.averaging,
    ),
    "differencing": Scene(
        people=64,
        ages=OLD,
        trait="hypertension",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of one scene: the outcomes, and the scores if it was tracing."""

    outcomes: list[CampaignOutcome]
    traced: Mapping[str, Traced]


def door_questions(name: str, budget: Fraction) -> int:
    """Return how many answers a scene gets at the door."""
    scene = SCENES[name]
    clinic = ClinicUnderAttack(trait=scene.trait, budget=budget)
    return Campaign(target=clinic.target(scene.people, ages=scene.ages), doors=clinic).door_questions(name)


def play(name: str, *, budget: Fraction, seed: int, progress: Callable[[], None] = lambda: None) -> Told:
    """Run an attack on the made-up clinic, whose accounts have this budget each.

    Parameters
    ----------
    name : which of the `SCENES`
    budget : the epsilon of the account that is attacked
    seed : of the attacker's coins
    progress : told of each answer at the door
    """
    scene = SCENES[name]
    with ClinicUnderAttack(trait=scene.trait, budget=budget) as clinic:
        target = clinic.target(scene.people, ages=scene.ages)
        campaign = Campaign(target=target, doors=clinic, seed=seed, progress=progress)
        return Told(outcomes=scene.run(campaign), traced=campaign.traced)


def surest(budget: Fraction) -> float:
    """Return what a belief of one half about a patient's record can become at most, whatever is asked.

    People are added and removed here, so two records that she may have are two steps apart.
    """
    return belief_range("1/2", 2 * budget)[1]


def surest_of_membership(budget: Fraction) -> float:
    """Return what a belief of one half that somebody is in the tables can become at most: one step, one epsilon."""
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
