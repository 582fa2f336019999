"""A grid of counts as a map: darker where there are more people, hatched where there may be none; and as tables."""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from lapwing.doors.server.pages.answer_table import TableRow
from lapwing.doors.server.pages.axes import AskedCell
from lapwing.doors.server.pages.page_words import Messages
from lapwing.show.maps import MapCell, draw_map
from lapwing.show.strokes import Drawing
from lapwing.vocabulary.frozen import frozen

_BIN: Final = re.compile(r"from (\S+) to (\S+)")


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
        [each.get(value) or short_name(str(value)) for value in values]
        for each, values in zip(called, along, strict=True)
    ]
    found = []
    for title, *rest in zip(names[2], along[2], strict=True) if len(along) > 2 else [("",)]:  # noqa: PLR2004
        told = tuple(
            (name, tuple(numbers[first, second, *rest] for second in along[1]))
            for name, first in zip(names[0], along[0], strict=True)
        )
        found.append(GridMap(title=title, columns=tuple(names[1]), rows=told))
    return found


def heat_map(one: GridMap, margin: Fraction, most: Fraction, say: Messages) -> Drawing:
    """Draw one map; `most` is the largest number of all maps, so that they can be compared."""

    def cell(value: Fraction) -> MapCell:
        share = float(max(value, Fraction(0)) / most) if most > 0 else 0.0
        return MapCell(f"{round(value):,}", share, value <= margin)

    rows = [(name, [cell(value) for value in values]) for name, values in one.rows]
    return draw_map(one.columns, rows, one.title or say("grid.map"), say("grid.map_about"))


@frozen()
class VerdictGrid:
    """The verdicts of a stream on the cells of a grid: yes, no, or nothing (None) after its last yes."""

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


def verdict_map(grid: VerdictGrid, say: Messages) -> Drawing:
    """Draw yeses dark, noes light, and what was not answered with a dashed frame."""
    shown: dict[bool | None, MapCell] = {
        True: MapCell(str(say("answer.Yes")), 1.0),
        False: MapCell(str(say("answer.No")), 0.0),
        None: MapCell("–", 0.0, unsure=True),
    }
    rows = [(name, [shown[value] for value in values]) for name, values in grid.rows]
    return draw_map(grid.columns, rows, say("verdicts.map"), say("verdicts.legend"))


def short_name(name: str) -> str:
    """Return a short name of a bin.

    >>> short_name("from 20 to 39"), short_name("north")
    ('20–39', 'north')
    """
    return _BIN.sub(r"\1–\2", name)
