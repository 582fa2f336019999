"""Numbers with their bounds, drawn by hand: amounts are bars from zero, others dots with intervals, time is a line.

The scale is that of what is known. A group of which nothing is known but the declared bounds has no value (the mean of
no rows), and a dash. Pages, reports and notebooks show the same drawing.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import groupby
from typing import Any, Final

from lapwing.show.strokes import WIDTH, Drawing, Scale, axis, dot, line, path, precise, rect, short, svg, text, ticks
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import named

MISSING: Final = named(None)
_LONGEST_LABEL: Final = 62
_EACH, _TOP, _LEFT = 46, 8, 12.0
_MOST_MARKED: Final = 60
_MOST_TICKS: Final = 8
_EVEN: Final = 20
_PERIOD: Final = re.compile(r"\d{4}(-(\d\d|Q[1-4]))?")
STEPS: Final = (1, 2, 3, 4, 6, 12, 24, 36, 60, 120, 240)
"""How many months, quarters or years from one label of a line to the next: a year has whole numbers of them."""


@frozen(kw_only=False)
class Panel:
    """One statistic by group: its name, and for each label a value with its bounds, None where there is none.

    `values_of` are other labels, for where no font has the signs of the first ones. `no_effect` is the value at which
    there is nothing to see, such as a ratio of 1: a line marks it. `alike` are values of the panels beside it, on one
    scale. `unfinished` are labels of periods that were not over: over time they stand apart, with the word for it.
    """

    name: str
    labels: Sequence[str]
    values: Sequence[float | None]
    lows: Sequence[float | None]
    highs: Sequence[float | None]
    from_zero: bool
    over_time: bool
    values_of: Sequence[str] | None = None
    no_effect: float | None = None
    alike: Sequence[float] = ()
    unfinished: Sequence[str] = ()
    unfinished_word: str = "incomplete"

    @property
    def ends(self) -> list[tuple[float, float, float] | None]:
        """Each value with its bounds, or with itself where it has none."""
        return [
            None if value is None else (value, value if low is None else low, value if high is None else high)
            for value, low, high in zip(self.values, self.lows, self.highs, strict=True)
        ]

    @property
    def written(self) -> list[str]:
        """Each value with its margin, or with both bounds where one is nearer than the other; a dash where none is.

        >>> Panel("n", ["a", "b", "c"], [40, 38, None], [10, 34.31, None], [70, 60, None], True, False).written
        ['40 ± 30', '38 (34.31 – 60)', '–']
        """
        return ["–" if one is None else _with_bounds(*one) for one in self.ends]

    @property
    def extent(self) -> tuple[float, float]:
        """The scale: all that is known, with zero where amounts are drawn; what has no place in time does not rule it.

        >>> Panel("mean", ["a", "b"], [50, None], [49, 0], [51, 10**6], False, False).extent
        (48.92, 51.08)
        """
        known = [*self.alike, *(one for _, end in self.placed for one in end)]
        known += [] if self.no_effect is None else [self.no_effect]
        low, high = min(known), max(known)
        if self.from_zero:
            low = min(0.0, low)
            return low, max(high, low + 1, 0.0)
        spare = 0.04 * (high - low) or 1.0
        return low - spare, high + spare

    @property
    def placed(self) -> list[tuple[int, tuple[float, float, float]]]:
        """The places of known values: over time, without that of rows that have no day."""
        shown = enumerate(zip(self.labels, self.ends, strict=True))
        return [(i, end) for i, (label, end) in shown if end and not (self.over_time and label == MISSING)]


def are_periods(labels: Sequence[str]) -> bool:
    """Say whether labels are years, quarters or months, one after the other.

    >>> are_periods(["2024-Q1", "2024-Q2", "(missing)"]), are_periods(["2024"]), are_periods(["b", "a"])
    (True, False, False)
    """
    told = [one for one in labels if one != MISSING]
    return len(told) > 1 and told == sorted(set(told)) and all(map(_PERIOD.fullmatch, told))


def not_over(labels: Sequence[str], until: date) -> tuple[str, ...]:
    """Return the labels of years, quarters and months that end after the last day that is known.

    >>> not_over(["2024-12", "2025-01"], date(2025, 1, 1)), not_over(["2024-Q4", "2025-Q1"], date(2025, 3, 31))
    (('2025-01',), ())
    """
    return tuple(one for one in labels if _PERIOD.fullmatch(one) and _next_period(one) > f"{until + timedelta(1)}"[:7])


def _next_period(label: str) -> str:
    """Return the month that follows a period.

    >>> [_next_period(one) for one in ("2024", "2024-Q2", "2024-12")]
    ['2025-01', '2024-07', '2025-01']
    """
    year, _, part = label.partition("-")
    last = 12 if not part else 3 * int(part[1]) if part[0] == "Q" else int(part)
    return f"{int(year) + last // 12:04}-{last % 12 + 1:02}"


def draw_panel(panel: Panel, title: Any) -> Drawing:
    """Draw one statistic; nothing where no value has a place."""
    if not panel.placed:
        return Drawing()
    return _over_time(panel, title) if panel.over_time else _rows(panel, title)


def are_even(value: float, low: float, high: float) -> bool:
    """Say whether both bounds are as far away, so that one margin says both."""
    return abs((high - value) - (value - low)) * _EVEN <= high - low


def _with_bounds(value: float, low: float, high: float) -> str:
    if low == high == value:
        return precise(value)
    if are_even(value, low, high):
        return f"{precise(value)} ± {short(max(high - value, value - low))}"
    return f"{precise(value)} ({precise(low)} – {precise(high)})"


def _rows(panel: Panel, title: Any) -> Drawing:
    """Draw one row for each label, with the label above it, so that long ones have room."""
    written = panel.written
    last = WIDTH - max([118, *(9 * len(one) + 20 for one in written)])
    x = axis(*panel.extent, _LEFT, last)
    body = []
    if panel.no_effect is not None:
        body.append(line(x(panel.no_effect), _TOP, x(panel.no_effect), _TOP + _EACH * len(written), "c-grid"))
    for place, (label, ends, said) in enumerate(zip(panel.labels, panel.ends, written, strict=True)):
        y = _TOP + _EACH * place
        cut = label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"
        body.append(text(_LEFT, y + 13, cut, "t", "start"))
        if ends is None:
            body += [line(_LEFT, y + 27, last, y + 27, "c-grid"), text(last + 8, y + 32, said, "quiet", "start")]
            continue
        value, low, high = map(x, ends)
        end = max(high, value)
        if panel.from_zero:
            zero = x(0)
            end = max(end, zero)
            body.append(rect(min(zero, value), y + 19, max(1.0, abs(value - zero)), 16, "c-fill"))
        else:
            body += [line(_LEFT, y + 27, last, y + 27, "c-grid"), dot(value, y + 27, 5, "c-dot")]
        if low != high:
            body += [
                line(low, y + 27, high, y + 27, "c-err"),
                *(line(one, y + 22, one, y + 32, "c-err") for one in (low, high)),
            ]
        body.append(text(end + 8, y + 32, said, "t-strong-s", "start"))
    return svg(_TOP + _EACH * len(written) + 8, title, body)


def _over_time(panel: Panel, title: Any) -> Drawing:
    """Draw a line from the first label to the last, with the bounds around it, and no line over what is not known."""
    base, top = 190.0, 16.0
    y, marks, known = axis(*panel.extent, base, top), ticks(*panel.extent), panel.placed
    left = 18.0 + 7.5 * max(len(short(tick)) for tick in marks)
    x = axis(0, max(1, len(panel.labels) - 1), left + 8, WIDTH - 24)
    body = [
        *(line(left, y(tick), WIDTH - 16, y(tick), "c-grid") for tick in marks),
        *(text(left - 6, y(tick) + 4, short(tick), "quiet", "end") for tick in marks),
    ]
    for (_, unfinished), several in groupby(
        enumerate(known), lambda one: (one[1][0] - one[0], panel.labels[one[1][0]] in panel.unfinished)
    ):
        if unfinished:
            continue
        run = [(x(place), *map(y, end)) for _, (place, end) in several]
        alone = len(run) == 1
        if alone:
            body.append(line(run[0][0], run[0][2], run[0][0], run[0][3], "c-err"))
        around = [*((at, low) for at, _, low, _ in run), *((at, high) for at, _, _, high in reversed(run))]
        body += [path(around, "c-area", closed=True), path([(at, value) for at, value, _, _ in run], "c-line")]
        body += [dot(at, value, 3, "c-dot") for at, value, _, _ in run] if alone or len(known) <= _MOST_MARKED else []
    body += [mark for place, end in known for mark in _unfinished(panel, place, end, x, y)]
    for place, end in enumerate(panel.ends):
        if end is None:
            body.append(text(x(place), base - 2, "×", "quiet"))
        elif panel.labels[place] == MISSING:  # rows without a day have no place in time
            body.append(dot(x(place), max(top, min(base, y(end[0]))), 3, "c-todo"))
    most = _MOST_TICKS if len(panel.labels[0]) <= len("2024") else _MOST_TICKS // 2
    every = next((step for step in STEPS if len(panel.labels) <= step * most), STEPS[-1])
    body += [text(x(i), base + 18, panel.labels[i], "quiet") for i in range(0, len(panel.labels), every)]
    return svg(base + 28, title, body)


def _unfinished(panel: Panel, place: int, end: tuple[float, float, float], x: Scale, y: Scale) -> Iterator[str]:
    """Draw a period that was not over: a hollow dot with its bounds, dashed from the period before, and the word."""
    if panel.labels[place] not in panel.unfinished:
        return
    value, low, high = map(y, end)
    before = panel.ends[place - 1] if place else None
    if before is not None:
        yield line(x(place - 1), y(before[0]), x(place), value, "c-soon")
    yield line(x(place), low, x(place), high, "c-err")
    yield dot(x(place), value, 4, "c-no")
    yield text(x(place) + 8, min(high, value) - 6, panel.unfinished_word, "quiet", "end")
