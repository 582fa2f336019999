"""The strokes of which pictures are made, as SVG text; every word in them is escaped.

Strokes have classes and no colours: a page colours them by its style sheet, so that dark pages need no second picture
and a strict content policy lets them pass. A notebook has no style sheet of ours, and gets the colours as attributes.
"""

import html
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

WIDTH: Final = 480
_TALL: Final = 10
_LARGE: Final = 1000
Scale: TypeAlias = Callable[[float], float]

_ACCENT, _WORDS = 'fill="#0f766e"', 'fill="currentColor" font-family="sans-serif"'
_COLOURS: Final = {
    "c-fill": f'{_ACCENT} fill-opacity="0.75"',
    "c-area": f'{_ACCENT} fill-opacity="0.15"',
    "c-dot": _ACCENT,
    "c-line": 'fill="none" stroke="#0f766e" stroke-width="2"',
    "c-err": 'stroke="currentColor" stroke-width="1.5"',
    "c-axis": 'stroke="#94a3b8"',
    "c-grid": 'stroke="#94a3b8" stroke-opacity="0.35"',
    "c-soon": 'fill="none" stroke="#0f766e" stroke-width="1.5" stroke-dasharray="4 4"',
    "c-no": 'fill="#ffffff" stroke="#64748b" stroke-width="1.8"',
    "c-todo": 'fill="#94a3b8"',
    "c-cell": f'{_ACCENT} stroke="#94a3b8"',
    "c-cell-unsure": f'{_ACCENT} stroke="#94a3b8" stroke-dasharray="3 3"',
    "t": f'{_WORDS} font-size="13"',
    "t-strong-s": f'{_WORDS} font-size="13" font-weight="600"',
    "t-cell": f'{_WORDS} font-size="13"',
    "quiet": f'{_WORDS} font-size="12" fill-opacity="0.75"',
}
_CLASS: Final = re.compile(r'class="([\w-]+)"')


class Drawing(str):
    """A picture as SVG text, which templates take as it is, and notebooks show."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)

    def _repr_svg_(self) -> str:
        return self.coloured

    @property
    def coloured(self) -> str:
        """The picture with its colours in it, for where there is no style sheet of ours."""
        coloured = _CLASS.sub(lambda found: _COLOURS.get(found[1], found[0]), self)
        return coloured.replace("<svg ", f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" ', 1)


def escape(said: Any) -> str:
    """Return words escaped for SVG, unless they are escaped already and have `__html__`."""
    return str(said.__html__()) if hasattr(said, "__html__") else html.escape(str(said))


def axis(low: float, high: float, first: float, last: float) -> Scale:
    """Return the coordinate of a value: `low` is at `first`, `high` at `last`."""
    span = (high - low) or 1.0
    return lambda value: first + (last - first) * (value - low) / span


def svg(height: float, title: Any, body: Sequence[str], about: Any = "", name: str = "chart") -> Drawing:
    """Return a picture with a title, which screen readers say, and a longer description."""
    described = f"<desc>{escape(about)}</desc>" if about else ""
    return Drawing(
        f'<svg class="{name}" viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{described}{''.join(body)}</svg>"
    )


def text(x: float, y: float, said: Any, name: str = "t", anchor: str = "middle") -> str:
    """Return words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{name}" text-anchor="{anchor}">{escape(said)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, name: str) -> str:
    """Return a line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{name}"/>'


def dot(x: float, y: float, radius: float, name: str) -> str:
    """Return a filled circle."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" class="{name}"/>'


def rect(
    x: float, y: float, width: float, height: float, name: str, *, radius: int = 3, opacity: float | None = None
) -> str:
    """Return a box; how dark it is, where that says something."""
    size = f'width="{max(width, 0):.1f}" height="{height:.1f}"'
    dark = "" if opacity is None else f' fill-opacity="{opacity:.2f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} rx="{radius}" class="{name}"{dark}/>'


def path(points: Sequence[tuple[float, float]], name: str, *, closed: bool = False) -> str:
    """Return a line through points, or the area that they enclose."""
    told = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{told}{"Z" if closed else ""}" class="{name}"/>'


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Return round numbers between two, about as many as are wanted."""
    span = max(high - low, 1e-9)
    step = 10 ** math.floor(math.log10(span / wanted))
    step *= next((size for size in (1, 2, 5) if span / (step * size) <= wanted), 10)
    first = math.ceil(low / step) * step
    return [first + place * step for place in range(int((high - first) / step + 1e-9) + 1)]


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent, as all pages write it: on one line.

    >>> percent(0.0274).split(), percent(0.5, 0).split()
    (['2.7', '%'], ['50', '%'])
    """
    return f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%"


def precise(number: float) -> str:
    """Return a number as it is shown with its bounds: whole ones as they are, others in four digits.

    >>> precise(12_040), precise(37.75), precise(34.625)
    ('12,040', '37.75', '34.62')
    """
    return f"{number:,.0f}" if abs(number) >= _LARGE or number == int(number) else f"{number:.4g}"


def short(number: float) -> str:
    """Return a number as an axis shows it."""
    return f"{number:,.0f}" if abs(number) >= _TALL or number == int(number) else f"{number:.3g}"
