"""How likely a stream says yes against how many there really are: what a yes, and a no, is worth."""

from collections.abc import Sequence
from pathlib import Path

from lapwing.app.plots.canvas import ACCENT, INK, QUIET, canvas


def draw_chance_of_yes(
    path: str | Path, *, people: Sequence[int], chances: Sequence[float], at_least: int, unsure: tuple[int, int]
) -> None:
    """Draw the probability of a yes against the true count.

    Parameters
    ----------
    path : where to write
    people, chances : the curve; people rise
    at_least : how many are asked for
    unsure : between which counts an answer is right with less than 95 %
    """
    low, high = unsure
    title = f'"At least {at_least:,}?" is right 95 times in 100 below {low:,} and above {high:,}'
    with canvas(path, title=title, x="how many people there really are", y="probability of a yes") as axes:
        axes.axvspan(low, high, color=QUIET, alpha=0.18, label="may go either way (wrong in over 5 of 100)")
        axes.axvline(at_least, color=INK, linestyle="--", linewidth=1, label=f"asked for: {at_least:,}")
        axes.plot(people, chances, color=ACCENT, linewidth=2, label="probability of a yes")
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlim(people[0], people[-1])
