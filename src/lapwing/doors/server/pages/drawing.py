"""The strokes of which pictures are made, as SVG text; every word in them is escaped."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from markupsafe import Markup, escape

WIDTH: Final = 480
_TALL: Final = 10
_LARGE: Final = 1000
Scale: TypeAlias = Callable[[float], float]


def axis(low: float, high: float, first: float, last: float) -> Scale:
    """Return where a value stands: `low` at `first`, `high` at `last`."""
    span = (high - low) or 1.0
    return lambda value: first + (last - first) * (value - low) / span


def svg(height: float, title: Any, body: Sequence[str], about: Any = "", name: str = "chart") -> Markup:
    """Return a picture with a title, which screen readers say, and a longer description."""
    described = f"<desc>{escape(about)}</desc>" if about else ""
    return Markup(  # noqa: S704 - every text in it is escaped
        f'<svg class="{name}" viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{described}{''.join(body)}</svg>"
    )


def text(x: float, y: float, said: Any, name: str = "t", anchor: str = "middle") -> str:
    """Return words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{name}" text-anchor="{anchor}">{escape(said)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, name: str) -> str:
    """Return a line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{name}"/>'


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
    """Return a number beside its bounds: whole ones as they are, others in four digits.

    >>> precise(12_040), precise(37.75), precise(34.625)
    ('12,040', '37.75', '34.62')
    """
    return f"{number:,.0f}" if abs(number) >= _LARGE or number == int(number) else f"{number:.4g}"


def short(number: float) -> str:
    """Return a number as an axis shows it."""
    return f"{number:,.0f}" if abs(number) >= _TALL or number == int(number) else f"{number:.3g}"
