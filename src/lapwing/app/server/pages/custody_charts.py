"""Pictures for those who decide: what a budget buys, what it means for one person, and how long it will last."""

from collections.abc import Sequence
from datetime import date, timedelta

from markupsafe import Markup

from lapwing.accounting.interpretation import belief_range
from lapwing.app.server.pages.drawing import WIDTH, axis, line, path, rect, short, svg, text, ticks
from lapwing.app.server.pages.page_words import Messages

_STEPS = 60


def purchases_picture(rows: Sequence[tuple[str, int]], say: Messages) -> Markup:
    """Draw how many counts of each accuracy a budget is good for: rows are what they are called, and how many."""
    each, most = 46, max([1, *(times for _, times in rows)])
    x = axis(0, most, 12, WIDTH - 96)
    body = []
    for place, (called, times) in enumerate(rows):
        y = 4 + each * place
        body += [
            text(12, y + 13, called, "t", "start"),
            rect(12, y + 19, max(1.0, x(times) - 12), 16, "c-fill"),
            text(x(times) + 8, y + 32, f"{times:,}", "t-strong-s", "start"),
        ]
    return svg(8 + each * len(rows), say("policy.buys"), body)


def belief_curve(epsilon: str, prior: int, say: Messages) -> Markup:
    """Draw every belief before, and where it may be afterwards; `prior`, in percent, is marked."""
    base, top, left = 250.0, 14.0, 58.0
    x, y = axis(0, 1, left, WIDTH - 20), axis(0, 1, base, top)
    shares = [place / _STEPS for place in range(1, _STEPS)]
    ranges = [(share, *belief_range(str(share), epsilon)) for share in shares]
    upper = [(0.0, 0.0), *((share, high) for share, _, high in ranges), (1.0, 1.0)]
    lower = [(0.0, 0.0), *((share, low) for share, low, _ in ranges), (1.0, 1.0)]
    low, high = belief_range(str(prior / 100), epsilon)
    at = x(prior / 100)
    body = [
        *(line(left, y(share), WIDTH - 20, y(share), "c-grid") for share in (0, 0.25, 0.5, 0.75, 1)),
        *(text(left - 8, y(share) + 4, f"{share:.0%}", "quiet", "end") for share in (0, 0.25, 0.5, 0.75, 1)),
        *(text(x(share), base + 18, f"{share:.0%}", "quiet") for share in (0, 0.25, 0.5, 0.75, 1)),
        path([(x(a), y(b)) for a, b in [*upper, *reversed(lower)]], "c-area", closed=True),
        *(path([(x(a), y(b)) for a, b in edge], "c-line") for edge in (upper, lower)),
        line(left, base, WIDTH - 20, top, "c-threshold"),
        line(at, y(low), at, y(high), "c-err"),
        *(f'<circle cx="{at:.1f}" cy="{y(end):.1f}" r="4" class="c-dot"/>' for end in (low, high)),
        text((left + WIDTH - 20) / 2, base + 38, say("chart.belief_axis"), "quiet"),
    ]
    about = say("chart.belief_after", prior=f"{prior} %", low=f"{low:.1%}", high=f"{high:.1%}")
    return svg(294, say("chart.belief"), body, about)


def forecast_picture(
    days: Sequence[tuple[date, float]], budget: float, end: date | None, today: date, say: Messages
) -> Markup:
    """Draw what was left at the end of each day, and where the pace of late leads; `end` is when nothing is left."""
    base, top, left = 150.0, 12.0, 40.0
    first, last = days[0][0], max(today, end or today) + timedelta(days=1)
    x, y = axis(0, max(1, (last - first).days), left, WIDTH - 20), axis(0, budget, base, top)

    def at(day: date) -> float:
        return x((day - first).days)

    points = [(at(first), y(budget))]
    for day, rest in [*days, (today, days[-1][1])]:
        points += [(at(day), points[-1][1]), (at(day), y(max(0.0, rest)))]
    body = [
        *(line(left, y(tick), WIDTH - 20, y(tick), "c-grid") for tick in ticks(0, budget)),
        *(text(left - 6, y(tick) + 4, short(tick), "quiet", "end") for tick in ticks(0, budget)),
        path([(points[0][0], base), *points, (points[-1][0], base)], "c-area", closed=True),
        path(points, "c-line"),
        *([line(points[-1][0], points[-1][1], at(end), y(0), "c-threshold")] if end else []),
        f'<circle cx="{points[-1][0]:.1f}" cy="{points[-1][1]:.1f}" r="4" class="c-dot"/>',
        text(left, base + 20, first.isoformat(), "quiet", "start"),
        text(WIDTH - 20, base + 20, last.isoformat(), "quiet", "end"),
    ]
    return svg(178, say("chart.forecast"), body, name="chart grow")
