"""The pictures of `lapwing attack`: numbers computed here, drawn in `lapwing.app.plots`."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Final

import numpy as np

from lapwing.accounting.interpretation import belief_range, best_true_positive_rate
from lapwing.accounting.pricing import price
from lapwing.app.attack_story import Told, are_undone
from lapwing.app.plots.attacks import (
    draw_hadamard_noise,
    draw_need_and_allowance,
    draw_recovered,
    draw_share_by_questions,
    draw_tracing_curve,
)
from lapwing.app.plots.meaning import draw_naming, draw_two_worlds
from lapwing.attacks import hadamard, reconstruction
from lapwing.attacks.beliefs import name_one, study_beliefs
from lapwing.attacks.campaigns import CampaignAnswers, CampaignOutcome
from lapwing.attacks.oracles import Coins
from lapwing.vocabulary.event import PureRelease

MANY: Final = 2**18
FEW: Final = 64
TABLES: Final = 40
I2B2_DEVIATION: Final = 1.323


def draw_all(folder: Path, suffix: str, told: Mapping[str, Told], *, budget: Fraction, seed: int) -> list[Path]:
    """Draw what was told, and what it means when all of it was; return the files.

    Parameters
    ----------
    folder : where to write
    suffix : .svg or .png
    told : what came of each scene
    budget : the epsilon of the accounts
    seed : of the attacker's coins
    """
    written: list[Path] = []

    def file(name: str) -> Path:
        written.append(folder / f"{name}{suffix}")
        return written[-1]

    outcomes = [(name, outcome) for name, one in told.items() for outcome in one.outcomes]
    draw_recovered(file("recovered"), outcomes, title=recovered_title([one for _, one in outcomes], budget))
    if "hadamard" in told:
        draw_hadamard_curve(file("hadamard_noise"), budget=budget, seed=seed)
    if "reconstruction" in told:
        draw_questions(file("share_by_questions"), seed=seed)
        draw_allowance(file("need_and_allowance"), budget=budget)
    if "tracing" in told:
        most = best_true_positive_rate(price(PureRelease(epsilon=budget)), "0.05")
        title = tracing_title(told["tracing"].outcomes)
        draw_tracing_curve(file("tracing"), told["tracing"].traced, (float(budget), most), title=title)
    draw_two_worlds(file("with_and_without_her"), study_beliefs(Fraction(1, 2)))
    draw_shaming(file("name_and_shame"))
    return written


def recovered_title(outcomes: Sequence[CampaignOutcome], budget: Fraction) -> str:
    """Return what came of the attacks on blurred answers and on lapwing's, in a sentence."""
    blur, lapwing = (are_undone(outcomes, answers) for answers in (CampaignAnswers.AD_HOC, CampaignAnswers.LAPWING))
    if blur and lapwing:
        return f"Blur is undone, and so is a budget of epsilon {budget}"
    if blur:
        return f"Blur is undone; a budget of epsilon {budget} is not"
    return f"A budget of epsilon {budget} is {'undone' if lapwing else 'not undone'}; blur was not, here"


def tracing_title(outcomes: Sequence[CampaignOutcome]) -> str:
    """Return who hid the members of the group, in a sentence."""
    blur, lapwing = (are_undone(outcomes, answers) for answers in (CampaignAnswers.AD_HOC, CampaignAnswers.LAPWING))
    hid = {
        (True, False): "Blur does not hide it; lapwing does",
        (True, True): "Neither blur nor this budget hides it",
        (False, False): "Here, blur and lapwing hid it",
        (False, True): "This budget does not hide it",
    }
    return f"Who is in the secret group? {hid[blur, lapwing]}"


def draw_hadamard_curve(path: Path, *, budget: Fraction, seed: int, people: int = MANY) -> None:
    """Draw the Fourier attack on made-up people against Laplace noise of every deviation."""
    private = sqrt(2) * people / float(budget)
    deviations = np.geomspace(1, 2 * private, 257).tolist()
    coins = Coins(seed, "hadamard curve")
    draw_hadamard_noise(
        path,
        people=people,
        measured=[(one, hadamard.measured_share(people, one, coins)) for one in deviations[::8]],
        expected=[(one, hadamard.expected_share(people, one)) for one in deviations],
        marked=[
            ("i2b2 style", I2B2_DEVIATION, hadamard.expected_share(people, I2B2_DEVIATION)),
            (f"lapwing,\nepsilon {budget}\nfor all", private, hadamard.expected_share(people, private)),
        ],
    )


def draw_questions(path: Path, *, seed: int, people: int = FEW) -> None:
    """Draw least squares on made-up people against the number of questions, averaged over a few tables."""
    questions = [int(people * factor) for factor in (1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32)]
    deviations = (I2B2_DEVIATION, sqrt(people) / 2, sqrt(people), 4 * sqrt(people))
    coins = Coins(seed, "share by questions")
    draw_share_by_questions(
        path,
        people=people,
        questions=questions,
        measured={
            one: [reconstruction.measured_share(people, count, one, coins, tables=TABLES) for count in questions]
            for one in deviations
        },
        expected={
            one: [reconstruction.expected_share(people, count, one) for count in questions] for one in deviations
        },
    )


def draw_allowance(path: Path, *, budget: Fraction, people: int = 1000) -> None:
    """Draw the questions that reconstruction needs beside those that the budget pays for."""
    deviations = np.geomspace(1.5, 10 * people, 60).tolist()
    draw_need_and_allowance(
        path,
        people=people,
        deviations=deviations,
        needed=[reconstruction.questions_needed(people, one, 0.99) for one in deviations],
        allowed=[float(budget) * one / sqrt(2) for one in deviations],
        budget=str(budget),
    )


def draw_shaming(path: Path, *, people: int = 4000) -> None:
    """Draw what naming and shaming does beside what an epsilon allows."""
    delta, epsilon = Fraction(1, 1000), Fraction(1)
    priors = np.geomspace(1e-4, 0.9, 60).tolist()
    draw_naming(
        path,
        priors=priors,
        bounded=[belief_range(prior, 2 * epsilon)[1] for prior in priors],
        epsilon=str(epsilon),
        delta=str(delta),
        somebody=float(name_one(delta=delta, prior=Fraction(1, 1000), people=people).somebody),
    )
