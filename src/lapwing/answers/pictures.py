"""Pictures of answers: counts are bars from zero, means and quantiles dots with intervals, and time goes to the right.

What is drawn was released before; a picture costs nothing.
"""

import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lapwing.answers.canvas import ACCENT, INK
from lapwing.answers.legible import caption_for, legible, style

_WIDEST_LABEL, _WIDEST_TITLE, _MOST_LINES = 34, 74, 3
_CROWDED: Final = 40
_MOST_TICKS: Final = 12
_MOST_MARKED: Final = 60
_STEPS: Final = (1, 2, 3, 4, 6, 12, 24, 36, 60, 120, 240)
"""How many months, quarters or years from one label of a line to the next: a year has whole numbers of them."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One statistic by group: its name, and for each label a value with its bounds, None where there is none."""

    name: str
    labels: Sequence[str]
    values: Sequence[float | None]
    lows: Sequence[float | None]
    highs: Sequence[float | None]
    from_zero: bool
    over_time: bool
    values_of: Sequence[str] | None = None
    """Other labels, where no font has the signs of the first ones."""

    @property
    def told(self) -> list[str]:
        """The labels as they can be written."""
        return legible(self.labels, self.values_of)


class Picture(Figure):
    """A figure that a notebook shows, and that says nothing about signs which no font of this machine has."""

    def draw(self, renderer: Any) -> None:
        """Draw it."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            super().draw(renderer)

    def _repr_png_(self) -> bytes:
        from io import BytesIO  # noqa: PLC0415 - a notebook alone needs it

        file = BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()


def draw_panels(panels: Sequence[Panel], *, title: str, caption: str, path: Path | None = None) -> Picture:
    """Draw the statistics of an answer beside one another, or below one another over time; save it if asked."""
    groups, over_time = max(len(panel.labels) for panel in panels), panels[0].over_time
    shape = (len(panels), 1) if over_time else (1, len(panels))
    size = (7.2, 3.4 * len(panels)) if over_time else (max(7.2, 4.6 * len(panels)), _height(groups))
    with rc_context(style()):
        figure = Picture(figsize=size, layout="constrained")
        every = figure.subplots(*shape, squeeze=False, sharex=over_time, sharey=not over_time).flat
        for axes, panel in zip(every, panels, strict=True):
            (_line if panel.over_time else _rows)(axes, panel)
        figure.suptitle(_title(title), x=0.01, ha="left", fontsize=11, fontweight="bold")
        figure.supxlabel(caption_for(caption, panels[0].labels), fontsize=8, color=INK)
        save(figure, path)
    return figure


def save(figure: Picture, path: Path | None) -> None:
    """Write a picture into a file, if there is one to write it into."""
    if path is not None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {})


def _title(title: str) -> str:
    """Return a title on few lines; a longer one is cut, for the answer says it in full."""
    return textwrap.fill(
        "".join(legible([title])), _WIDEST_TITLE, max_lines=_MOST_LINES, placeholder=" ...", break_long_words=True
    )


def _height(groups: int) -> float:
    return max(2.4, 1.3 + groups * (0.3 if groups <= _CROWDED else 0.17))


def _rows(axes: Axes, panel: Panel) -> None:
    """Draw one row for each label, from the top down."""
    places = list(range(len(panel.labels), 0, -1))
    told = [(place, value) for place, value in zip(places, panel.values, strict=True) if value is not None]
    if panel.from_zero:
        axes.barh([place for place, _ in told], [value for _, value in told], height=0.62, color=ACCENT, alpha=0.75)
        axes.axvline(0, color=INK, linewidth=0.8)
    for place, value, low, high in zip(places, panel.values, panel.lows, panel.highs, strict=True):
        if value is not None and low is not None and high is not None:
            axes.plot([low, high], [place, place], color=INK, linewidth=1.4)
        if value is not None and not panel.from_zero:
            axes.plot([value], [place], "o", color=ACCENT, markersize=5)
    small = {"labelsize": 7} if len(places) > _CROWDED else {}
    axes.set_yticks(places, [textwrap.shorten(label, _WIDEST_LABEL, placeholder="...") for label in panel.told])
    axes.tick_params(axis="y", **small)
    axes.set_ylim(0.4, len(places) + 0.6)
    axes.set_title(panel.name)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.6g}")
    axes.grid(visible=False, axis="y")
    axes.set_axisbelow(True)


def _line(axes: Axes, panel: Panel) -> None:
    """Draw a line from the first label to the last, with the bounds around it."""
    points = enumerate(zip(panel.values, panel.lows, panel.highs, strict=True))
    told = [
        (i, value, value if low is None else low, value if high is None else high)
        for i, (value, low, high) in points
        if value is not None
    ]
    places = [point[0] for point in told]
    axes.fill_between(places, [p[2] for p in told], [p[3] for p in told], color=ACCENT, alpha=0.18, linewidth=0)
    marked = "o-" if len(places) <= _MOST_MARKED else "-"
    axes.plot(places, [point[1] for point in told], marked, color=ACCENT, markersize=4)
    most = _MOST_TICKS if len(panel.labels[0]) <= len("2024") else _MOST_TICKS // 2
    every = next((step for step in _STEPS if len(panel.labels) <= step * most), _STEPS[-1])
    ticks = range(0, len(panel.labels), every)
    axes.set_xticks(list(ticks), [panel.told[i] for i in ticks])
    if panel.from_zero:
        axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_title(panel.name)
    axes.yaxis.set_major_formatter(lambda number, _: f"{number:,.6g}")
