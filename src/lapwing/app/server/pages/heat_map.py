"""A grid of counts as a map: darker where there are more people, hatched where there may be none; and as tables."""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from markupsafe import Markup

from lapwing.app.server.pages.answer_table import TableRow
from lapwing.app.server.pages.drawing import WIDTH, rect, svg, text
from lapwing.app.server.pages.page_words import Messages
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

    >>> from lapwing.app.server.pages.answer_table import Cell
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
    left = min(190.0, 18 + 1.15 * _ROOM * max(len(_cut(name)) for name, _ in one.rows))
    width = (WIDTH - left - 4) / len(one.columns)
    fits = max(3, int(width / _ROOM))
    body = [text(left + width * (place + 0.5), 17, _cut(name, fits), "quiet") for place, name in enumerate(one.columns)]
    for number, (name, values) in enumerate(one.rows):
        top = _HEAD + _CELL * number
        body.append(text(left - 8, top + 21, _cut(name), "t", "end"))
        for place, value in enumerate(values):
            x = left + width * place
            share = float(max(value, Fraction(0)) / most) if most > 0 else 0.0
            kind = "c-cell-unsure" if value <= margin else "c-cell"
            body.append(rect(x + 1, top + 1, width - 2, _CELL - 2, kind, opacity=_DARKEST * share))
            body.append(text(x + width / 2, top + 21, f"{float(value):,.0f}", "t-cell"))
    title = one.title or say("grid.map")
    return svg(_HEAD + _CELL * len(one.rows) + 4, title, body, say("grid.map_about"), name="chart grow")


def _short(name: str) -> str:
    """Return what a bin is called, in little room.

    >>> _short("from 20 to 39"), _short("north")
    ('20–39', 'north')
    """
    return _BIN.sub(r"\1–\2", name)


def _cut(name: str, most: int = _LONGEST) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
