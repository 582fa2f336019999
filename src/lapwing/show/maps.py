"""Heat maps with named rows and columns, drawn by hand: counts of a grid, verdicts of a stream."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lapwing.show.strokes import WIDTH, Drawing, rect, svg, text
from lapwing.vocabulary.frozen import frozen

_DARKEST: Final = 0.6
_CELL, _HEAD, _ROOM = 34, 26, 7.6
_LONGEST: Final = 18


@frozen(kw_only=False)
class MapCell:
    """A cell: its text, how dark it is, from 0 to 1, and whether it is uncertain: then its frame is dashed."""

    text: str
    share: float
    unsure: bool = False


def draw_map(columns: Sequence[str], rows: Sequence[tuple[str, Sequence[MapCell]]], title: Any, about: Any) -> Drawing:
    """Draw a map; each row has its name, and a cell for each column."""
    left = min(190.0, 18 + 1.15 * _ROOM * max(len(_cut(name)) for name, _ in rows))
    width = (WIDTH - left - 4) / len(columns)
    fits = max(3, int(width / _ROOM))
    body = [text(left + width * (place + 0.5), 17, _cut(name, fits), "quiet") for place, name in enumerate(columns)]
    for number, (name, cells) in enumerate(rows):
        top = _HEAD + _CELL * number
        body.append(text(left - 8, top + 21, _cut(name), "t", "end"))
        for place, cell in enumerate(cells):
            x, kind = left + width * place, "c-cell-unsure" if cell.unsure else "c-cell"
            body.append(rect(x + 1, top + 1, width - 2, _CELL - 2, kind, opacity=_DARKEST * cell.share))
            body.append(text(x + width / 2, top + 21, cell.text, "t-cell"))
    return svg(_HEAD + _CELL * len(rows) + 4, title, body, about, name="chart grow map")


def _cut(name: str, most: int = _LONGEST) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


@frozen(kw_only=False)
class GridCell:
    """One cohort: its labels, by axis, whether it was a yes (None: it was not answered), and what to write into it."""

    labels: Mapping[str, str]
    above: bool | None
    text: str


@frozen()
class GridLayout:
    """The cells of a grid at their places: the axis with the most values goes to the right, all others go down."""

    across: str
    down: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    places: tuple[tuple[int, int], ...]

    @staticmethod
    def of(cells: Sequence[GridCell]) -> "GridLayout":
        """Return the place of each of some cells: its column, and its row.

        >>> cells = [GridCell({"sex": a, "age": b}, True, "") for a in "FM" for b in ("old", "older", "oldest")]
        >>> GridLayout.of(cells).rows, GridLayout.of(cells).places[-1]
        (('F', 'M'), (2, 1))
        """
        values = {name: list(dict.fromkeys(cell.labels[name] for cell in cells)) for name in cells[0].labels}
        across = max(values, key=lambda name: len(values[name]))
        down = tuple(name for name in values if name != across)
        named = [", ".join(cell.labels[name] for name in down) for cell in cells]
        columns, rows = tuple(values[across]), tuple(dict.fromkeys(named))
        places = [
            (columns.index(cell.labels[across]), rows.index(name)) for cell, name in zip(cells, named, strict=True)
        ]
        return GridLayout(across=across, down=down, columns=columns, rows=rows, places=tuple(places))


def draw_grid(cells: Sequence[GridCell], title: str) -> Drawing:
    """Draw verdicts: yeses dark, noes light, and what was not answered with a dashed frame."""
    grid, shown = GridLayout.of(cells), dict[tuple[int, int], MapCell]()
    for place, cell in zip(grid.places, cells, strict=True):
        said = "–" if cell.above is None else cell.text or ("yes" if cell.above else "no")
        shown[place] = MapCell(said, float(bool(cell.above)), cell.above is None)
    empty = MapCell("", 0.0)
    rows = [
        (name, [shown.get((column, row), empty) for column in range(len(grid.columns))])
        for row, name in enumerate(grid.rows)
    ]
    return draw_map(grid.columns, rows, title, f"across: {grid.across}")
