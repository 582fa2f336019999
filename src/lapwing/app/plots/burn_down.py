"""What is left of a budget, act by act."""

from collections.abc import Sequence
from pathlib import Path

from lapwing.app.plots.canvas import ACCENT, INK, QUIET, SECOND, canvas


def draw_burn_down(
    path: str | Path,
    *,
    entries: Sequence[int],
    left: Sequence[float],
    held: Sequence[float],
    cap: float,
    currency: str = "epsilon",
) -> None:
    """Draw what was left after each entry of the ledger, and what open streams held in reserve.

    Parameters
    ----------
    path : where to write
    entries : the numbers of the entries, rising
    left, held : what was free after each of them, and what was reserved for streams
    cap : the budget
    currency : what it is counted in
    """
    title = f"{left[-1]:.4g} of {currency} {cap:.4g} is left"
    with canvas(path, title=title, x="entry of the ledger", y=f"{currency} left") as axes:
        free_and_held = [a + b for a, b in zip(left, held, strict=True)]
        axes.axhline(cap, color=INK, linestyle="--", linewidth=1, label="the cap")
        if any(held):
            axes.fill_between(
                entries,
                left,
                free_and_held,
                step="post",
                color=SECOND,
                alpha=0.3,
                label="held for streams",
                linewidth=0,
            )
        axes.fill_between(entries, 0, left, step="post", color=ACCENT, alpha=0.15, linewidth=0)
        axes.step(entries, left, where="post", color=ACCENT, linewidth=2, label="left")
        axes.plot(entries[-1:], left[-1:], "o", color=ACCENT)
        axes.axhline(0, color=QUIET, linewidth=1)
        axes.set_ylim(0, max(cap, *free_and_held) * 1.08)
        axes.locator_params(axis="x", integer=True)
