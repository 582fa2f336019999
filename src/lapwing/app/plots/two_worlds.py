"""What is learned about one person with her data, and without it."""

from pathlib import Path

from lapwing.app.plots.canvas import ACCENT, QUIET, SECOND, canvas
from lapwing.attacks.study import StudyBeliefs


def draw_two_worlds(path: str | Path, beliefs: StudyBeliefs) -> None:
    """Draw the belief that Alice is sick after each answer of a study, with her data used and with it left out."""
    lows, highs = beliefs.bounds
    title = "Most of what a study teaches about Alice it teaches without her"
    with canvas(path, title=title, x="the answer: how many are sick", y="belief that Alice is sick") as axes:
        axes.fill_between(
            beliefs.answers,
            lows,
            highs,
            color=ACCENT,
            alpha=0.12,
            linewidth=0,
            label=f"within e^(2ε) of it, ε = {float(beliefs.epsilon):.3g}: what Theorem 2.1 allows",
        )
        axes.axhline(beliefs.prior, color=QUIET, linestyle="--", linewidth=1, label="beforehand")
        axes.plot(beliefs.answers, beliefs.without_data, color=ACCENT, linewidth=2, label="her data left out")
        axes.plot(beliefs.answers, beliefs.with_data, color=SECOND, linewidth=2, label="her data used")
        axes.set_ylim(0, 1)
        axes.set_xlim(beliefs.answers[0], beliefs.answers[-1])
