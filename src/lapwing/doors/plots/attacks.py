"""Pictures of attacks: what is recovered from answers, and how many it takes; and all that `lapwing attack` draws."""

from collections.abc import Mapping
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Final

import numpy as np

from lapwing.accounting.interpretation import INFORMED, belief_range, best_true_positive_rate
from lapwing.accounting.pricing import price
from lapwing.attacks import hadamard, reconstruction
from lapwing.attacks.beliefs import name_one, study_beliefs
from lapwing.attacks.campaigns import CampaignAnswers
from lapwing.attacks.oracles import Coins
from lapwing.attacks.tracing import FALSE_POSITIVES, Traced
from lapwing.doors.plots.meaning import draw_two_worlds
from lapwing.made_up.attack_story import AttackStory, tracing_headline
from lapwing.show.canvas import ACCENT, INK, QUIET, SECOND, canvas, put_label
from lapwing.vocabulary.event import PureRelease

_COLOURS: Final = {CampaignAnswers.EXACT: QUIET, CampaignAnswers.AD_HOC: SECOND, CampaignAnswers.LAPWING: ACCENT}
_LABELS: Final = {
    CampaignAnswers.EXACT: "exact answers",
    CampaignAnswers.AD_HOC: "answers with an ad-hoc blur",
    CampaignAnswers.LAPWING: "lapwing",
}


def draw_recovered(path: str | Path, story: AttackStory) -> None:
    """Draw one bar an outcome, with what guessing would have got."""
    from matplotlib.patches import Patch  # noqa: PLC0415 - half a second, and an extra

    outcomes = story.outcomes
    families = [family for family, one in story.reports.items() for _ in one.outcomes]
    gaps = [0.6 * len(set(families[: place + 1])) for place in range(len(families))]
    places = [-place - gap for place, gap in enumerate(gaps)]
    with canvas(path, title=story.headline, x="share recovered; a line marks what guessing gets", y="") as axes:
        figure = axes.figure
        figure.set_size_inches(7.6, 1.3 + 0.27 * (len(outcomes) + gaps[-1]))  # type: ignore[union-attr]  # not a subfigure
        for place, outcome in zip(places, outcomes, strict=True):
            axes.barh(place, outcome.recovered, height=0.66, color=_COLOURS[outcome.answers], alpha=0.85)
            axes.plot([outcome.chance] * 2, [place - 0.4, place + 0.4], color=INK, linewidth=1.6)
            end = (max(outcome.recovered, outcome.chance), place)
            put_label(axes, f"{outcome.recovered:.0%}", end, (5, 0), va="center", color=INK, fontsize=8)
        axes.set_yticks(places, [f"{outcome.attack}, {outcome.against}" for outcome in outcomes], fontsize=8)
        axes.set_xlim(0, 1.12)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
        axes.grid(visible=False, axis="y")
        axes.set_ylim(min(places) - 0.6, max(places) + 0.6)
        keys = [Patch(color=_COLOURS[kind], alpha=0.85, label=label) for kind, label in _LABELS.items()]
        figure.legend(handles=keys, loc="outside lower center", ncols=3)


_STYLES: Final = {0: (QUIET, "-"), 1: (SECOND, "--"), 2: (ACCENT, "-")}


def draw_tracing_curve(
    path: str | Path, traced: Mapping[str, Traced], bound: tuple[float, float], *, title: str
) -> None:
    """Draw the share of members named against the share of others named."""
    epsilon, most = bound
    with canvas(path, title=title, x="share of others named wrongly", y="share of members named") as axes:
        for number, (name, one) in enumerate(traced.items()):
            colour, line = _STYLES[number % len(_STYLES)]
            others, members = one.curve()
            axes.plot(others, members, line, color=colour, linewidth=2.4, drawstyle="steps-post", label=name)
        axes.plot([0, 1], [0, 1], color=INK, linestyle=":", linewidth=1, label="guessing")
        label = f"the most at 5 %: {most:.1%} (ε = {epsilon:.3g})"
        axes.plot([FALSE_POSITIVES], [most], "_", color=INK, markersize=14, markeredgewidth=2, label=label)
        axes.set_xlim(-0.01, 1)
        axes.set_ylim(0, 1.02)


MANY: Final = 2**18
FEW: Final = 64
TABLES: Final = 40
I2B2_DEVIATION: Final = 1.323
_HALF_AND_MORE: Final = [0.5, 0.6, 0.7, 0.8, 0.9, 1], ["50 %", "60 %", "70 %", "80 %", "90 %", "100 %"]


def draw_all(folder: Path, suffix: str, story: AttackStory) -> list[Path]:
    """Draw what came of each scene, and what it means when all were played; return the files."""
    written, reports, budget = list[Path](), story.reports, story.budget

    def file(name: str) -> Path:
        written.append(folder / f"{name}{suffix}")
        return written[-1]

    draw_recovered(file("recovered"), story)
    if "hadamard" in reports:
        draw_hadamard_curve(file("hadamard_noise"), budget=budget, seed=story.seed)
    if "reconstruction" in reports:
        draw_questions(file("share_by_questions"), seed=story.seed)
        draw_allowance(file("need_and_allowance"), budget=budget)
    if "tracing" in reports:
        most = best_true_positive_rate(price(PureRelease(epsilon=budget)), "0.05")
        title = tracing_headline(reports["tracing"].outcomes)
        draw_tracing_curve(file("tracing"), reports["tracing"].traced, (float(budget), most), title=title)
    draw_two_worlds(file("with_and_without_her"), study_beliefs(Fraction(1, 2)))
    draw_shaming(file("name_and_shame"))
    return written


def draw_hadamard_curve(path: Path, *, budget: Fraction, seed: int, people: int = MANY) -> None:
    """Draw the share that the Fourier attack gets of made-up people, against Laplace noise of every deviation."""
    private, coins = sqrt(2) * people / float(budget), Coins(seed, "hadamard curve")
    deviations = np.geomspace(1, 2 * private, 257).tolist()
    expected = [hadamard.expected_share(people, one) for one in deviations]
    measured = [hadamard.measured_share(people, one, coins) for one in deviations[::8]]
    title = f"Noise well below √n hides nobody: {people:,} people, as many questions"
    with canvas(path, title=title, x="deviation of the noise on each answer (people)", y="share reconstructed") as axes:
        axes.axhline(0.5, color=QUIET, linestyle="--", linewidth=1, label="guessing")
        axes.plot(deviations, expected, color=INK, linewidth=1.2, label="the theorem: Φ(√n / 4σ)")
        axes.plot(deviations[::8], measured, "o", color=ACCENT, markersize=4.5, label="the attack, run")
        axes.axvline(people**0.5, color=QUIET, linewidth=1)
        axes.annotate("√n", (people**0.5, 1.03), color=INK, horizontalalignment="center", fontsize=9)
        for label, deviation in (("i2b2 style", I2B2_DEVIATION), (f"lapwing,\nepsilon {budget}\nfor all", private)):
            share = hadamard.expected_share(people, deviation)
            axes.plot([deviation], [share], "D", color=SECOND, markersize=7)
            high = share > 0.75  # noqa: PLR2004 - the label goes where the curve is not
            by, side = ((0, -12), "top") if high else ((0, 12), "bottom")
            put_label(axes, label, (deviation, share), by, ha="center", va=side, color=SECOND)
        axes.set_xscale("log")
        axes.set_ylim(0.45, 1.07)
        axes.set_yticks(*_HALF_AND_MORE)


def draw_questions(path: Path, *, seed: int, people: int = FEW) -> None:
    """Draw the share that least squares gets of made-up people, by the number of questions and the noise on them."""
    questions = [int(people * factor) for factor in (1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32)]
    deviations = (I2B2_DEVIATION, sqrt(people) / 2, sqrt(people), 4 * sqrt(people))
    coins = Coins(seed, "share by questions")
    title = f"Enough questions undo every fixed noise ({people} people, least squares)"
    with canvas(path, title=title, x="questions asked", y="share reconstructed") as axes:
        axes.axhline(0.5, color=QUIET, linestyle="--", linewidth=1)
        for colour, one in zip((ACCENT, SECOND, INK, "#7c3aed"), deviations, strict=True):
            expected = [reconstruction.expected_share(people, count, one) for count in questions]
            measured = [reconstruction.measured_share(people, count, one, coins, tables=TABLES) for count in questions]
            axes.plot(questions, expected, color=colour, linewidth=1.2)
            axes.plot(questions, measured, "o", color=colour, markersize=4.5)
            put_label(axes, f"σ = {one:.3g}", (questions[0], expected[0]), (-8, -3), ha="right", color=colour)
        axes.plot([], [], "o", color=INK, markersize=4.5, label="the attack, run")
        axes.plot([], [], color=INK, linewidth=1.2, label="the theorem: Φ(√(m − n) / 4σ)")
        axes.set_xscale("log")
        axes.set_xlim(left=questions[0] / 1.7)
        axes.set_ylim(0.45, 1.03)
        axes.set_yticks(*_HALF_AND_MORE)


def draw_allowance(path: Path, *, budget: Fraction, people: int = 1000) -> None:
    """Draw how many questions reconstruction needs, and how many the budget pays for, against their noise."""
    deviations = np.geomspace(1.5, 10 * people, 60).tolist()
    needed = [reconstruction.questions_needed(people, one, 0.99) for one in deviations]
    allowed = [float(budget) * one / sqrt(2) for one in deviations]
    title = f"The account is empty long before {people:,} people are reconstructed"
    with canvas(path, title=title, x="deviation of the noise on each answer (people)", y="questions") as axes:
        axes.plot(deviations, needed, color=SECOND, linewidth=2, label="needed to be right about 99 %")
        axes.plot(deviations, allowed, color=ACCENT, linewidth=2, label=f"allowed by a budget of epsilon {budget}")
        axes.fill_between(deviations, allowed, needed, color=QUIET, alpha=0.18, linewidth=0)
        axes.set_xscale("log")
        axes.set_yscale("log")


def draw_shaming(path: Path) -> None:
    """Draw the most that a belief can become, of somebody who knows everybody else's data, and by name and shame."""
    delta, epsilon = Fraction(1, 1000), Fraction(1)
    priors = np.geomspace(1e-4, 0.9, 60).tolist()
    bounded = [belief_range(prior, 2 * epsilon)[1] for prior in priors]
    somebody = float(name_one(delta=delta, prior=Fraction(1, 1000), people=4000).somebody)
    title = f'"{delta}-additive secrecy" publishes somebody {somebody:.1%} of the time'
    with canvas(path, title=title, x="belief that she is sick, beforehand", y="the most it can become") as axes:
        axes.plot(priors, [1.0] * len(priors), color=SECOND, linewidth=2.4, label="named and shamed: certainty")
        axes.plot(priors, bounded, color=ACCENT, linewidth=2.4, label=f"epsilon {epsilon}, of {INFORMED}")
        axes.plot(priors, priors, color=QUIET, linestyle="--", linewidth=1, label="nothing learned")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(min(priors), 1.5)
