"""Tracing: how many members are found for how many others who are named wrongly."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from lapwing.app.plots.canvas import ACCENT, INK, QUIET, SECOND, canvas
from lapwing.attacks.tracing import FALSE_POSITIVES, Traced

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
