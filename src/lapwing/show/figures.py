"""Panels and grids as figures of matplotlib, for those who want axes to go on with, or a PNG.

Amounts are bars from zero, others dots with intervals, and time goes to the right; the scale is that of what is known,
and a group of which nothing is known has a grey mark at the edge. The answers of a stream over a grid are a map.

A sign that no font of this machine has would be an empty box. A group that has a value besides its name is labelled by
the value then, any other sign becomes a question mark, and the picture says so once.
"""

import math
import textwrap
import unicodedata
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from matplotlib import font_manager, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from lapwing.show.canvas import ACCENT, INK, QUIET, STYLE, put_label
from lapwing.show.maps import GridCell, GridLayout
from lapwing.show.panels import MISSING, STEPS, Panel
from lapwing.show.strokes import precise

_WIDEST_LABEL, _WIDEST_TITLE, _MOST_LINES = 34, 74, 3
_CROWDED: Final = 40
_MOST_TICKS: Final = 12
_MOST_MARKED: Final = 60
_MOST_WRITTEN_ROWS: Final = 24
_OWN: Final = "DejaVu Sans"
_FONTS: Final = (
    *(f"Noto Sans CJK {place}" for place in ("SC", "TC", "JP", "KR")),
    *("Source Han Sans SC", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Droid Sans Fallback", "Microsoft YaHei"),
    *("SimHei", "PingFang SC", "Hiragino Sans", "Yu Gothic", "MS Gothic", "Malgun Gothic", "Apple SD Gothic Neo"),
    *("Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Thai", "Arial Unicode MS", "Unifont"),
)
NO_FONT: Final = "no font here has some signs of the names: they are told by values, or as ?"
_NO, _UNASKED = "#e2e8f0", "#ffffff"
_UPRIGHT: Final = 6
_NOTHING: Final = math.nan
_MOST_WRITTEN: Final = 300
"""In at most this number of cells there is room to write."""


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
    """Draw the statistics of an answer side by side, or below one another over time; save it if asked."""
    groups, over_time, alike = max(len(panel.labels) for panel in panels), panels[0].over_time, bool(panels[0].alike)
    shape = (len(panels), 1) if over_time else (1, len(panels))
    size = (7.2, 3.4 * len(panels)) if over_time else (max(7.2, 4.6 * len(panels)), _height(groups))
    if alike:
        across = 2 if len(panels) in {2, 4} else 3
        shape = (-(-len(panels) // across), across)
        size = (3.6 * across, shape[0] * (2.2 if over_time else _height(groups)))
    with rc_context(style()):
        figure = Picture(figsize=size, layout="constrained")
        every = list(
            figure.subplots(*shape, squeeze=False, sharex=alike or over_time, sharey=alike or not over_time).flat
        )
        for axes, panel in zip(every, panels, strict=False):
            (_line if panel.over_time else _rows)(axes, panel)
        for place in range(len(panels), len(every)):  # the one above is the last of its column
            every[place].set_visible(False)
            every[place - shape[1]].tick_params(labelbottom=True)
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
    if panel.no_effect is not None:
        axes.axvline(panel.no_effect, color=QUIET, linewidth=1.2, linestyle="--")
    for place, value, low, high in zip(places, panel.values, panel.lows, panel.highs, strict=True):
        if value is not None and low is not None and high is not None:
            axes.plot([low, high], [place, place], color=INK, linewidth=1.4)
        if value is not None and not panel.from_zero:
            axes.plot([value], [place], "o", color=ACCENT, markersize=5)
    if panel.from_zero and len(places) <= _MOST_WRITTEN_ROWS:
        for place, value, high in zip(places, panel.values, panel.highs, strict=True):
            if value is not None:
                end = max(value, 0 if high is None else high, 0)
                put_label(axes, precise(value), (end, place), (6, 0), va="center", color=INK, fontsize=8)
        axes.margins(x=0.12)
    unknown = [place for place, value in zip(places, panel.values, strict=True) if value is None]
    axes.plot([0.01] * len(unknown), unknown, "x", color=QUIET, markersize=4, transform=axes.get_yaxis_transform())
    small = {"labelsize": 7} if len(places) > _CROWDED else {}
    axes.set_yticks(places, [textwrap.shorten(label, _WIDEST_LABEL, placeholder="...") for label in _told(panel)])
    axes.tick_params(axis="y", **small)
    axes.set_ylim(0.4, len(places) + 0.6)
    axes.set_title(panel.name)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.6g}")
    axes.grid(visible=False, axis="y")
    axes.set_axisbelow(True)


def _line(axes: Axes, panel: Panel) -> None:
    """Draw a line from the first label to the last, with the bounds around it."""
    known = [value is not None and label != MISSING for value, label in zip(panel.values, panel.labels, strict=True)]
    values, lows, highs = (
        [_NOTHING if one is None or not drawn else one for one, drawn in zip(ends, known, strict=True)]
        for ends in (panel.values, panel.lows, panel.highs)
    )
    lows, highs = ([v if math.isnan(e) else e for e, v in zip(ends, values, strict=True)] for ends in (lows, highs))
    places = range(len(known))
    axes.fill_between(places, lows, highs, color=ACCENT, alpha=0.18, linewidth=0)
    alone = [i for i in places if known[i] and not any(known[max(i - 1, 0) : i]) and not any(known[i + 1 : i + 2])]
    axes.vlines(alone, [lows[i] for i in alone], [highs[i] for i in alone], color=ACCENT, alpha=0.4, linewidth=1.4)
    marked = "o-" if sum(known) <= _MOST_MARKED else "-"
    axes.plot(places, values, marked, color=ACCENT, markersize=4)
    for place, (value, drawn) in enumerate(zip(panel.values, known, strict=True)):
        if value is None:
            axes.plot([place], [0.02], "x", color=QUIET, markersize=4, transform=axes.get_xaxis_transform())
        elif not drawn:  # rows without a day have no place in time
            axes.plot([place], [value], "o", color=QUIET, markersize=4)
    most = _MOST_TICKS if len(panel.labels[0]) <= len("2024") else _MOST_TICKS // 2
    most = most // 2 if panel.alike else most
    every = next((step for step in STEPS if len(panel.labels) <= step * most), STEPS[-1])
    ticks = range(0, len(panel.labels), every)
    axes.set_xticks(list(ticks), [_told(panel)[i] for i in ticks])
    if panel.from_zero:
        axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_title(panel.name)
    axes.yaxis.set_major_formatter(lambda number, _: f"{number:,.6g}")


def draw_grid_figure(cells: Sequence[GridCell], *, title: str, caption: str, path: Path | None = None) -> Picture:
    """Draw a cell for each cohort: the axis with the most values goes to the right, all others go down."""
    grid = GridLayout.of(cells)
    size = (max(6.5, 4.6 + 0.62 * len(grid.columns)), max(2.6, 2.1 + 0.36 * len(grid.rows)))
    with rc_context(style()):
        figure = Picture(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        for place, cell in zip(grid.places, cells, strict=True):
            _draw(axes, place, cell, write=len(cells) <= _MOST_WRITTEN)
        _label(axes, grid)
        figure.legend(handles=_legend(cells), loc="outside right upper", fontsize=8, frameon=False)
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        figure.supxlabel(textwrap.fill(caption_for(caption, [*grid.columns, *grid.rows]), 90), fontsize=8, color=INK)
        save(figure, path)
    return figure


def _draw(axes: Axes, place: tuple[int, int], cell: GridCell, *, write: bool) -> None:
    column, row = place
    colour = _UNASKED if cell.above is None else ACCENT if cell.above else _NO
    hatch = "////" if cell.above is None else None
    box = (column - 0.47, row - 0.44)
    axes.add_patch(Rectangle(box, 0.94, 0.88, facecolor=colour, edgecolor=QUIET if hatch else colour, hatch=hatch))
    if write and cell.text:
        axes.text(column, row, cell.text, ha="center", va="center", fontsize=7, color="#ffffff")


def _label(axes: Axes, grid: GridLayout) -> None:
    columns, rows, down = grid.columns, grid.rows, ", ".join(grid.down)
    turned = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if max(map(len, columns)) > _UPRIGHT else {}
    axes.set_xticks(range(len(columns)), [_short(label) for label in legible(columns)], **turned)  # type: ignore[arg-type]
    axes.set_yticks(range(len(rows)), [_short(label) for label in legible(rows)])
    axes.set_xlim(-0.6, len(columns) - 0.4)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_title(f"{f'down: {down}    ' if down else ''}across: {grid.across}", fontsize=8, fontweight="normal")
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def _legend(cells: Sequence[GridCell]) -> list[Patch]:
    known = [Patch(color=ACCENT, label="yes"), Patch(color=_NO, label="no")]
    if any(cell.above is None for cell in cells):
        known.append(Patch(facecolor=_UNASKED, edgecolor=QUIET, hatch="////", label="not answered: the stream halted"))
    return known


def _short(label: str) -> str:
    return textwrap.shorten(label, _WIDEST_LABEL, placeholder="...")


def _told(panel: Panel) -> list[str]:
    """Return the labels of a panel as they can be written."""
    return legible(panel.labels, panel.values_of)


def style() -> dict[Any, Any]:
    """Return the style of pictures, with all fonts of this machine that have signs beyond our own."""
    return {**STYLE, "font.family": [_OWN, *others()]}


@cache
def others() -> tuple[str, ...]:
    """Return the fonts of this machine that have signs beyond our own."""
    known = {font.name for font in font_manager.fontManager.ttflist}
    return tuple(name for name in _FONTS if name in known)


def legible(texts: Sequence[str], instead: Sequence[str] | None = None) -> list[str]:
    r"""Return texts that can be written: a text that cannot be is replaced by `instead`, or has question marks.

    >>> legible(["Bern", "a\ue000"], ["1", "2"])
    ['Bern', '2']
    >>> legible(["a\ue000"])
    ['a?']
    """
    told = list(texts)
    for place, text in enumerate(told):
        if _unknown(text):
            other = "" if instead is None else instead[place]
            told[place] = other if other and not _unknown(other) else _with_marks(text)
    return told


def caption_for(caption: str, texts: Sequence[str]) -> str:
    """Return the words below a picture, which say so where some of these texts could not be written."""
    if not any(map(_unknown, texts)):
        return caption
    return f"{caption}; {NO_FONT}" if caption else NO_FONT


def _with_marks(text: str) -> str:
    return "".join("?" if not _has(sign) else sign for sign in text)


def _unknown(text: str) -> bool:
    return not all(map(_has, set(text)))


@cache
def _has(sign: str) -> bool:
    """Say whether one of the fonts has a sign."""
    if unicodedata.category(sign) in {"Cc", "Cf", "Zs", "Zl", "Zp"}:
        return True  # a blank or a line break, which no font draws
    files = (font_manager.findfont(font_manager.FontProperties(family=[name])) for name in (_OWN, *others()))
    return any(font_manager.get_font(file).get_char_index(ord(sign)) for file in files)
