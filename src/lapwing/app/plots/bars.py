"""Numbers by group, or step by step, each with its error bar."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from lapwing.app.plots.canvas import ACCENT, INK, canvas

_WIDEST_LABEL, _WIDEST_TITLE, _MOST_LARGE = 30, 64, 24


def draw_bars(
    path: str | Path,
    *,
    labels: Sequence[str],
    values: Sequence[float],
    lows: Sequence[float | None],
    highs: Sequence[float | None],
    title: str,
    x: str,
) -> None:
    """Draw one bar for each label, from the top down, with the bounds of its value.

    Parameters
    ----------
    path : where to write
    labels, values : what the bars are about, and how long they are
    lows, highs : between which bounds the exact values lie; None where that is not known
    title : what is drawn
    x : what the bars measure, and how sure the bounds are
    """
    places = range(len(labels), 0, -1)
    with canvas(path, title=textwrap.fill(title, _WIDEST_TITLE), x=x, y="") as axes:
        axes.barh(places, values, height=0.62, color=ACCENT, alpha=0.75)
        for place, value, low, high in zip(places, values, lows, highs, strict=True):
            if low is not None and high is not None:
                axes.errorbar(value, place, xerr=[[value - low], [high - value]], color=INK, capsize=4, linewidth=1.4)
            end = value if high is None else high
            axes.annotate(
                f"{value:,.4g}" if isinstance(value, float) and not value.is_integer() else f"{value:,.0f}",
                (max(end, 0), place),
                xytext=(6, 0),
                textcoords="offset points",
                verticalalignment="center",
                color=INK,
            )
        axes.set_yticks(list(places), [textwrap.fill(label, _WIDEST_LABEL) for label in labels])
        axes.grid(visible=False, axis="y")
        axes.set_axisbelow(True)
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.6g}")
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.margins(x=0.12)
        if len(labels) > _MOST_LARGE:
            axes.tick_params(axis="y", labelsize=6)


def draw_funnel(
    path: str | Path,
    *,
    steps: Sequence[str],
    values: Sequence[float],
    lows: Sequence[float | None],
    highs: Sequence[float | None],
    confidence: str = "95 %",
) -> None:
    """Draw how many people pass one condition after the other."""
    draw_bars(
        path,
        labels=[step if i == 0 else f"and {step}" for i, step in enumerate(steps)],
        values=values,
        lows=lows,
        highs=highs,
        title=f"About {max(values[-1], 0):,.0f} people pass all {len(steps)} conditions",
        x=f"people, with bounds that all hold at once with {confidence} confidence",
    )
