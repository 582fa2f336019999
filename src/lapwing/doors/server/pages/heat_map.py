"""A grid of counts as a map: darker where there are more people, hatched where there may be none; and as tables."""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from markupsafe import Markup

from lapwing.doors.server.pages.answer_table import TableRow
from lapwing.doors.server.pages.axes import AskedCell
from lapwing.doors.server.pages.drawing import WIDTH, rect, svg, text
from lapwing.doors.server.pages.page_words import Messages
from lapwing.vocabulary.frozen import frozen

_DARKEST: Final = 0.6
_CELL, _HEAD, _ROOM = 34, 26, 7.6
_BIN: Final = re.compile(r"from (\S+) to (\S+)")
_LONGEST: Final = 18


@frozen()
class GridMap:
    """One map of a grid: its title, where there is a third axis, and rows of numbers under the names of columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Fraction, ...]], ...]


def maps_of(rows: Sequence[TableRow], called: Sequence[dict[Any, str]]) -> list[GridMap]:
    """Return the maps of an answer with two or three keys; `called` is what the values of each key are called.

    >>> from lapwing.doors.server.pages.answer_table import Cell
    >>> cells = [TableRow(key=(a, b), label="", cells=(Cell(value=n, low=0, high=0),))
    ...          for n, (a, b) in enumerate([("F", 1), ("F", 2), ("M", 1), ("M", 2)])]
    >>> found = maps_of(cells, [{}, {}])[0]
    >>> found.columns, found.rows[1]
    (('1', '2'), ('M', (Fraction(2, 1), Fraction(3, 1))))
    """
    numbers = {row.key: Fraction(row.cells[0].value) for row in rows}
    along = [list(dict.fromkeys(row.key[place] for row in rows)) for place in range(len(called))]
    names = [
        [each.get(value) or _short(str(value)) for value in values] for each, values in zip(called, along, strict=True)
    ]
    found = []
    for title, *rest in zip(names[2], along[2], strict=True) if len(along) > 2 else [("",)]:  # noqa: PLR2004
        told = tuple(
            (name, tuple(numbers[first, second, *rest] for second in along[1]))
            for name, first in zip(names[0], along[0], strict=True)
        )
        found.append(GridMap(title=title, columns=tuple(names[1]), rows=told))
    return found


def heat_map(one: GridMap, margin: Fraction, most: Fraction, say: Messages) -> Markup:
    """Draw one map; `most` is the largest number of all maps, so that they can be compared."""

    def cell(value: Fraction) -> tuple[str, float, str]:
        share = float(max(value, Fraction(0)) / most) if most > 0 else 0.0
        return f"{float(value):,.0f}", share, "c-cell-unsure" if value <= margin else "c-cell"

    rows = [(name, [cell(value) for value in values]) for name, values in one.rows]
    return _drawn(one.columns, rows, one.title or str(say("grid.map")), str(say("grid.map_about")))


@frozen()
class VerdictGrid:
    """What a stream said about the cells of a grid: yes, no, or nothing (None) after its last yes."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[bool | None, ...]], ...]


def verdict_grid(cells: Sequence[AskedCell], told: Sequence[bool | None]) -> VerdictGrid:
    """Return the verdicts of cells with one or two labels as a grid, the last label across.

    >>> cells = [AskedCell(labels=(a, b), where="") for a in "xy" for b in "12"]
    >>> verdict_grid(cells, [True, False, False, None]).rows
    (('x', (True, False)), ('y', (False, None)))
    """
    columns = tuple(dict.fromkeys(one.labels[1] for one in cells if len(one.labels) > 1)) or ("",)
    starts = range(0, len(cells), len(columns))
    return VerdictGrid(
        columns=columns, rows=tuple((cells[at].labels[0], tuple(told[at : at + len(columns)])) for at in starts)
    )


def verdict_map(grid: VerdictGrid, say: Messages) -> Markup:
    """Draw yeses dark, noes light, and what was not answered with a dashed frame."""
    shown: dict[bool | None, tuple[str, float, str]] = {
        True: (str(say("answer.Yes")), 1.0, "c-cell"),
        False: (str(say("answer.No")), 0.0, "c-cell"),
        None: ("–", 0.0, "c-cell-unsure"),
    }
    rows = [(name, [shown[value] for value in values]) for name, values in grid.rows]
    return _drawn(grid.columns, rows, str(say("verdicts.map")), str(say("verdicts.legend")))


def _drawn(
    columns: Sequence[str], rows: Sequence[tuple[str, Sequence[tuple[str, float, str]]]], title: str, about: str
) -> Markup:
    """Draw a map; a cell is what stands in it, how dark it is, and of which kind."""
    left = min(190.0, 18 + 1.15 * _ROOM * max(len(_cut(name)) for name, _ in rows))
    width = (WIDTH - left - 4) / len(columns)
    fits = max(3, int(width / _ROOM))
    body = [text(left + width * (place + 0.5), 17, _cut(name, fits), "quiet") for place, name in enumerate(columns)]
    for number, (name, cells) in enumerate(rows):
        top = _HEAD + _CELL * number
        body.append(text(left - 8, top + 21, _cut(name), "t", "end"))
        for place, (said, share, kind) in enumerate(cells):
            x = left + width * place
            body.append(rect(x + 1, top + 1, width - 2, _CELL - 2, kind, opacity=_DARKEST * share))
            body.append(text(x + width / 2, top + 21, said, "t-cell"))
    return svg(_HEAD + _CELL * len(rows) + 4, title, body, about, name="chart grow map")


def _short(name: str) -> str:
    """Return what a bin is called, in little room.

    >>> _short("from 20 to 39"), _short("north")
    ('20–39', 'north')
    """
    return _BIN.sub(r"\1–\2", name)


def _cut(name: str, most: int = _LONGEST) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
