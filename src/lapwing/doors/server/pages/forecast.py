"""How long a budget will last: the pace at which it was spent of late, and the day on which nothing would be left."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final

from markupsafe import Markup

from lapwing.doors.server.pages.gauge import Gauge
from lapwing.doors.server.pages.page_words import Messages
from lapwing.show.strokes import WIDTH, Drawing, axis, dot, line, path, short, svg, text, ticks
from lapwing.vocabulary.frozen import frozen

_LATELY: Final = 30
_FARTHEST: Final = 36_500


@frozen()
class BudgetPace:
    """The spending a day over the last days, and the day when nothing will be left; None: not within a century."""

    pace: float
    days: int
    end: date | None


def forecast_of(days: Sequence[tuple[date, float]], budget: float, today: date) -> BudgetPace:
    """Return where the pace of the last thirty days leads; `days` is what was left at the end of each day with an act.

    >>> begun = date(2026, 1, 1)
    >>> forecast_of([(begun, 9.0), (date(2026, 1, 10), 8.0)], 10.0, date(2026, 1, 20))
    BudgetPace(pace=0.1, days=20, end=datetime.date(2026, 4, 10))
    >>> forecast_of([(begun, 9.0)], 10.0, date(2026, 6, 1)).end is None
    True
    """
    since = max(days[0][0], today - timedelta(days=_LATELY - 1))
    before = [left for day, left in days if day < since]
    spent, window = (before[-1] if before else budget) - days[-1][1], (today - since).days + 1
    pace = max(0.0, spent) / window
    lasts = days[-1][1] / pace if pace else float("inf")
    return BudgetPace(pace=pace, days=window, end=today + timedelta(days=int(lasts)) if lasts < _FARTHEST else None)


def forecast_shown(
    points: Sequence[tuple[str, Gauge]], say: Messages, today: date | None = None
) -> tuple[Markup, Drawing]:
    """Return the forecast as a sentence and as a picture; neither, where nothing was spent yet.

    Points are when something changed the account, and how full it was then.
    """
    today = today or datetime.now(UTC).date()
    if not points:
        return Markup(), Drawing()
    gauge = points[-1][1]
    days = sorted({date.fromisoformat(at[:10]): float(one.left) for at, one in points}.items())
    found = forecast_of(days, float(gauge.whole), today)
    near = found.end if found.end and (found.end - today).days <= 5 * max(_LATELY, (today - days[0][0]).days) else None
    pace = gauge.say(f"{found.pace:.2g}")
    if not found.pace:
        sentence = say("forecast.nothing", n=found.days)
    elif found.end is None:
        sentence = say("forecast.long", n=found.days, pace=pace)
    else:
        sentence = say("forecast.until", n=found.days, pace=pace, day=found.end.isoformat())
    return sentence, _picture(days, gauge, near, today, say)


def _picture(days: Sequence[tuple[date, float]], gauge: Gauge, end: date | None, today: date, say: Messages) -> Drawing:
    """Draw what was left at the end of each day, and where the pace of late leads; `end` is when nothing is left."""
    base, top, left = 150.0, 12.0, 52.0 if gauge.is_share else 40.0
    budget, unit = float(gauge.whole), "%" if gauge.is_share else ""
    first, last = days[0][0], max(today, end or today) + timedelta(days=1)
    x, y = axis(0, max(1, (last - first).days), left, WIDTH - 20), axis(0, budget, base, top)

    def at(day: date) -> float:
        return x((day - first).days)

    points = [(at(first), y(budget))]
    for day, rest in [*days, (today, days[-1][1])]:
        points += [(at(day), points[-1][1]), (at(day), y(max(0.0, rest)))]
    body = [
        *(line(left, y(tick), WIDTH - 20, y(tick), "c-grid") for tick in ticks(0, budget)),
        *(text(left - 6, y(tick) + 4, f"{short(tick)}{unit}", "quiet", "end") for tick in ticks(0, budget)),
        path([(points[0][0], base), *points, (points[-1][0], base)], "c-area", closed=True),
        path(points, "c-line"),
        *([line(points[-1][0], points[-1][1], at(end), y(0), "c-threshold")] if end else []),
        dot(points[-1][0], points[-1][1], 4, "c-dot"),
        text(left, base + 20, first.isoformat(), "quiet", "start"),
        text(WIDTH - 20, base + 20, last.isoformat(), "quiet", "end"),
    ]
    return svg(178, say("chart.forecast"), body, name="chart grow")
