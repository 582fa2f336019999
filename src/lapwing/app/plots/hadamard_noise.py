"""The Fourier attack against noise of every size."""

from collections.abc import Sequence
from pathlib import Path

from lapwing.app.plots.canvas import ACCENT, INK, QUIET, SECOND, canvas


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
