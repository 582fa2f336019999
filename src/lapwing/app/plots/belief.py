"""What an epsilon means: how far an attacker's belief about one person can move."""

from collections.abc import Sequence
from pathlib import Path

from lapwing.app.plots.canvas import ACCENT, INK, QUIET, SECOND, canvas


def draw_belief(
    path: str | Path,
    *,
    priors: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    epsilon: float,
    example: tuple[float, float, float],
) -> None:
    """Draw the belief that "she is in the table" afterwards against beforehand, with its bounds.

    Parameters
    ----------
    path : where to write
    priors : what an attacker believes beforehand, rising
    lows, highs : the least and the most he can come to believe
    epsilon : what was spent on everything he sees
    example : one belief, and the bounds of what it can become
    """
    prior, low, high = example
    title = f"At epsilon {epsilon:.3g} a belief of {prior:.0%} stays between {low:.0%} and {high:.0%}"
    with canvas(path, title=title, x='belief in "she is in it" beforehand', y="belief afterwards") as axes:
        axes.fill_between(
            priors, lows, highs, color=ACCENT, alpha=0.2, linewidth=0, label="what he may come to believe"
        )
        axes.plot(priors, highs, color=ACCENT, linewidth=1.5)
        axes.plot(priors, lows, color=ACCENT, linewidth=1.5)
        axes.plot([0, 1], [0, 1], color=QUIET, linestyle="--", linewidth=1, label="nothing learned")
        axes.errorbar(
            [prior], [prior], yerr=[[prior - low], [high - prior]], fmt="o", color=SECOND, capsize=5, linewidth=2
        )
        for belief, offset in ((low, (8, -12)), (high, (-34, 5))):
            axes.annotate(f"{belief:.0%}", (prior, belief), xytext=offset, textcoords="offset points", color=SECOND)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.tick_params(colors=INK)
