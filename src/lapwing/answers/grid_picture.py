"""A picture of the answers of a stream over a grid of cohorts: where there are enough people, and where not."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from lapwing.answers.canvas import ACCENT, INK, QUIET
from lapwing.answers.legible import caption_for, legible, style
from lapwing.answers.pictures import Picture, save

_NO, _UNASKED = "#e2e8f0", "#ffffff"
_WIDEST_LABEL: Final = 34
_UPRIGHT: Final = 6
_MOST_WRITTEN: Final = 300
"""In so many cells there is room for a number."""


@dataclass(frozen=True, slots=True)
class GridCell:
    """One cohort: its labels, by axis, whether it was a yes (None: it was not answered), and what to write into it."""

    labels: Mapping[str, str]
    above: bool | None
    text: str


def draw_grid(cells: Sequence[GridCell], *, title: str, caption: str, path: Path | None = None) -> Picture:
    """Draw a cell for each cohort: the axis with the most values goes to the right, all others go down."""
    axes_of = {name: list(dict.fromkeys(cell.labels[name] for cell in cells)) for name in cells[0].labels}
    across = max(axes_of, key=lambda name: len(axes_of[name]))
    down = [name for name in axes_of if name != across]
    columns = {label: place for place, label in enumerate(axes_of[across])}
    rows = {row: place for place, row in enumerate(dict.fromkeys(_row(cell, down) for cell in cells))}
    words = [*columns, *rows]
    size = (max(6.5, 4.6 + 0.62 * len(columns)), max(2.6, 2.1 + 0.36 * len(rows)))
    with rc_context(style()):
        figure = Picture(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        for cell in cells:
            _draw(axes, (columns[cell.labels[across]], rows[_row(cell, down)]), cell, write=len(cells) <= _MOST_WRITTEN)
        _label(axes, list(columns), list(rows), across, ", ".join(down))
        figure.legend(handles=_legend(cells), loc="outside right upper", fontsize=8, frameon=False)
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        figure.supxlabel(textwrap.fill(caption_for(caption, words), 90), fontsize=8, color=INK)
        save(figure, path)
    return figure


def _row(cell: GridCell, down: Sequence[str]) -> str:
    return ", ".join(cell.labels[name] for name in down)


def _draw(axes: Axes, place: tuple[int, int], cell: GridCell, *, write: bool) -> None:
    column, row = place
    colour = _UNASKED if cell.above is None else ACCENT if cell.above else _NO
    hatch = "////" if cell.above is None else None
    box = (column - 0.47, row - 0.44)
    axes.add_patch(Rectangle(box, 0.94, 0.88, facecolor=colour, edgecolor=QUIET if hatch else colour, hatch=hatch))
    if write and cell.text:
        axes.text(column, row, cell.text, ha="center", va="center", fontsize=7, color="#ffffff")


def _label(axes: Axes, columns: list[str], rows: list[str], across: str, down: str) -> None:
    turned = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if max(map(len, columns)) > _UPRIGHT else {}
    axes.set_xticks(range(len(columns)), [_short(label) for label in legible(columns)], **turned)  # type: ignore[arg-type]
    axes.set_yticks(range(len(rows)), [_short(label) for label in legible(rows)])
    axes.set_xlim(-0.6, len(columns) - 0.4)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_title(f"{f'down: {down}    ' if down else ''}across: {across}", fontsize=8, fontweight="normal")
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
