"""Pictures of attacks: what is recovered from answers, and how many it takes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from lapwing.app.plots.canvas import ACCENT, INK, QUIET, SECOND, canvas
from lapwing.attacks.campaigns import CampaignAnswers, CampaignOutcome
from lapwing.attacks.tracing import FALSE_POSITIVES, Traced


def draw_hadamard_noise(
    path: str | Path,
    *,
    people: int,
    measured: Sequence[tuple[float, float]],
    expected: Sequence[tuple[float, float]],
    marked: Sequence[tuple[str, float, float]],
) -> None:
    """Draw the share of people reconstructed against the deviation of the noise.

    Parameters
    ----------
    path : where to write
    people : how many there are, and how many questions were asked
    measured, expected : deviations of the noise, rising, and the share reconstructed: by attacking, by the theorem
    marked : what adds how much noise, and the share that is reconstructed there
    """
    title = f"Noise well below √n hides nobody: {people:,} people, as many questions"
    with canvas(path, title=title, x="deviation of the noise on each answer (people)", y="share reconstructed") as axes:
        axes.axhline(0.5, color=QUIET, linestyle="--", linewidth=1, label="guessing")
        axes.plot(*zip(*expected, strict=True), color=INK, linewidth=1.2, label="the theorem: Φ(√n / 4σ)")
        axes.plot(*zip(*measured, strict=True), "o", color=ACCENT, markersize=4.5, label="the attack, run")
        axes.axvline(people**0.5, color=QUIET, linewidth=1)
        axes.annotate("√n", (people**0.5, 1.03), color=INK, horizontalalignment="center", fontsize=9)
        for label, deviation, share in marked:
            axes.plot([deviation], [share], "D", color=SECOND, markersize=7)
            high = share > 0.75  # noqa: PLR2004 - the label goes where the curve is not
            axes.annotate(
                label,
                (deviation, share),
                xytext=(0, -12 if high else 12),
                textcoords="offset points",
                horizontalalignment="center",
                verticalalignment="top" if high else "bottom",
                color=SECOND,
            )
        axes.set_xscale("log")
        axes.set_ylim(0.45, 1.07)
        axes.set_yticks([0.5, 0.6, 0.7, 0.8, 0.9, 1], ["50 %", "60 %", "70 %", "80 %", "90 %", "100 %"])


def draw_share_by_questions(
    path: str | Path,
    *,
    people: int,
    questions: Sequence[int],
    measured: Mapping[float, Sequence[float]],
    expected: Mapping[float, Sequence[float]],
) -> None:
    """Draw the share of people reconstructed against the number of questions, for several deviations of the noise."""
    title = f"Enough questions undo every fixed noise ({people} people, least squares)"
    with canvas(path, title=title, x="questions asked", y="share reconstructed") as axes:
        axes.axhline(0.5, color=QUIET, linestyle="--", linewidth=1)
        for colour, (deviation, shares) in zip((ACCENT, SECOND, INK, "#7c3aed"), measured.items(), strict=False):
            axes.plot(questions, expected[deviation], color=colour, linewidth=1.2)
            axes.plot(questions, shares, "o", color=colour, markersize=4.5)
            axes.annotate(
                f"σ = {deviation:.3g}",
                (questions[0], expected[deviation][0]),
                xytext=(-8, -3),
                textcoords="offset points",
                horizontalalignment="right",
                color=colour,
            )
        axes.plot([], [], "o", color=INK, markersize=4.5, label="the attack, run")
        axes.plot([], [], color=INK, linewidth=1.2, label="the theorem: Φ(√(m − n) / 4σ)")
        axes.set_xscale("log")
        axes.set_xlim(left=questions[0] / 1.7)
        axes.set_ylim(0.45, 1.03)
        axes.set_yticks([0.5, 0.6, 0.7, 0.8, 0.9, 1], ["50 %", "60 %", "70 %", "80 %", "90 %", "100 %"])


def draw_need_and_allowance(
    path: str | Path,
    *,
    people: int,
    deviations: Sequence[float],
    needed: Sequence[float],
    allowed: Sequence[float],
    budget: str,
) -> None:
    """Draw how many questions reconstruction needs, and how many the account allows, against their noise."""
    title = f"The account is empty long before {people:,} people are reconstructed"
    with canvas(path, title=title, x="deviation of the noise on each answer (people)", y="questions") as axes:
        axes.plot(deviations, needed, color=SECOND, linewidth=2, label="needed to be right about 99 %")
        axes.plot(deviations, allowed, color=ACCENT, linewidth=2, label=f"allowed by a budget of epsilon {budget}")
        axes.fill_between(deviations, allowed, needed, color=QUIET, alpha=0.18, linewidth=0)
        axes.set_xscale("log")
        axes.set_yscale("log")


_COLOURS: Final = {CampaignAnswers.EXACT: QUIET, CampaignAnswers.AD_HOC: SECOND, CampaignAnswers.LAPWING: ACCENT}
_LABELS: Final = {
    CampaignAnswers.EXACT: "exact answers",
    CampaignAnswers.AD_HOC: "answers with an ad-hoc blur",
    CampaignAnswers.LAPWING: "lapwing",
}


def draw_recovered(path: str | Path, outcomes: Sequence[tuple[str, CampaignOutcome]], *, title: str) -> None:
    """Draw one bar an outcome, with what guessing would have got.

    Parameters
    ----------
    path : where to write
    outcomes : the family of each attack, and what came of it
    title : what came of it
    """
    from matplotlib.patches import Patch  # noqa: PLC0415 - half a second, and an extra

    families = [family for family, _ in outcomes]
    gaps = [0.6 * len(set(families[: place + 1])) for place in range(len(families))]
    places = [-place - gap for place, gap in enumerate(gaps)]
    with canvas(path, title=title, x="share recovered; a line marks what guessing gets", y="") as axes:
        figure = axes.figure
        figure.set_size_inches(7.6, 1.3 + 0.27 * (len(outcomes) + gaps[-1]))  # type: ignore[union-attr]  # it is no subfigure
        for place, (_, outcome) in zip(places, outcomes, strict=True):
            axes.barh(place, outcome.recovered, height=0.66, color=_COLOURS[outcome.answers], alpha=0.85)
            axes.plot([outcome.chance] * 2, [place - 0.4, place + 0.4], color=INK, linewidth=1.6)
            axes.annotate(
                f"{outcome.recovered:.0%}",
                (max(outcome.recovered, outcome.chance), place),
                xytext=(5, 0),
                textcoords="offset points",
                verticalalignment="center",
                color=INK,
                fontsize=8,
            )
        axes.set_yticks(places, [f"{outcome.attack}, {outcome.against}" for _, outcome in outcomes], fontsize=8)
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
    """Draw the share of members named against the share of others named.

    Parameters
    ----------
    path : where to write
    traced : the scores, by who answered: exact, blurred, and lapwing
    bound : the budget of lapwing, and the share of members that no attacker can exceed at 5 % of others
    title : what came of it
    """
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
