"""How many questions reconstruction takes at a noise, measured and by the theorem, and how many a budget allows."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from lapwing.app.plots.canvas import ACCENT, INK, QUIET, SECOND, canvas


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
