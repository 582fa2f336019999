"""The pictures of pages that no notebook shows: noise, chances, budgets, beliefs. Their words come from messages."""

import math
from collections.abc import Sequence
from typing import Any

from lapwing.accounting.interpretation import belief_range
from lapwing.doors.server.pages.gauge import Gauge
from lapwing.doors.server.pages.page_words import Messages
from lapwing.show.panels import Panel, draw_panel
from lapwing.show.strokes import WIDTH, Drawing, axis, dot, line, path, percent, rect, short, svg, text, ticks
from lapwing.vocabulary.frozen import frozen

_SHORTEST = 4.0
_COLUMNS = 24
_STEPS = 60


def noise_picture(value: float, margin: float, scale: float, say: Messages, *, is_gaussian: bool = False) -> Drawing:
    """Draw where the exact number may be, given the answer: the law of the noise, mirrored around it."""
    base, top, reach = 150.0, 22.0, max(margin * 1.75, _SHORTEST)
    low, high = value - reach, value + reach
    x = axis(low, high, 16, WIDTH - 16)

    def y(at: float) -> float:
        far = abs(at - value) / scale
        return base - (base - top - 14) * math.exp(-(far**2) / 2 if is_gaussian else -far)

    grid = sorted({value, value - margin, value + margin, *(low + (high - low) * i / 160 for i in range(161))})
    inside = [at for at in grid if abs(at - value) <= margin]
    caption = say("chart.from_to", low=short(value - margin), high=short(value + margin))
    body = [
        path([(x(inside[0]), base), *((x(at), y(at)) for at in inside), (x(inside[-1]), base)], "c-sure", closed=True),
        path([(x(at), y(at)) for at in grid], "c-line"),
        line(16, base, WIDTH - 16, base, "c-axis"),
        line(x(value), y(value) - 4, x(value), base, "c-mark"),
        text(x(value), top, short(value), "t-strong"),
        line(x(value - margin), base + 26, x(value + margin), base + 26, "c-bar"),
        *(line(x(end), base + 20, x(end), base + 32, "c-bar") for end in (value - margin, value + margin)),
        text(x(value), base + 50, caption),
    ]
    for tick in ticks(low, high):
        if 24 < x(tick) < WIDTH - 24:  # noqa: PLR2004 - so that no number is cut off
            body += [
                line(x(tick), base, x(tick), base + 4, "c-axis"),
                text(x(tick), base + 15, short(tick), "quiet"),
            ]
    return svg(210, say("chart.noise", value=short(value)), body, say("chart.noise_about"))


def chance_picture(curve: Sequence[tuple[int, float]], at_least: int, margin: int, say: Messages) -> Drawing:
    """Draw how likely a yes is, by how many people there really are."""
    base, top, left = 140.0, 18.0, 52.0
    low, high = curve[0][0], curve[-1][0]
    x, y = axis(low, high, left, WIDTH - 16), axis(0, 1, base, top)
    begin, end = max(low, at_least - margin), min(high, at_least + margin)
    body = [
        rect(x(begin), top, x(end) - x(begin), base - top, "c-unsure"),
        *(line(left, y(share), WIDTH - 16, y(share), "c-grid") for share in (0, 0.5, 1)),
        *(text(46, y(share) + 4, percent(share, 0), "quiet", "end") for share in (0, 0.5, 1)),
        line(x(at_least), top - 6, x(at_least), base, "c-threshold"),
        path([(x(people), y(chance)) for people, chance in curve], "c-line"),
        text((x(begin) + x(end)) / 2, base + 36, say("chart.unsure", low=short(begin), high=short(end))),
        *(text(x(tick), base + 16, short(tick), "quiet") for tick in ticks(low, high)),
    ]
    return svg(190, say("chart.chance", at_least=at_least), body, say("chart.chance_about", low=begin, high=end))


def burn_down(points: Sequence[tuple[str, Gauge]], say: Messages) -> Drawing:
    """Draw what was left after each act, and what open streams held: points are a day, and how full the account was."""
    now = points[-1][1]
    base, top, left, budget = 150.0, 12.0, 52.0 if now.is_share else 34.0, float(now.whole)
    x, y = axis(0, max(1, len(points) - 1), left, WIDTH - 20), axis(0, budget, base, top)
    free, held = list[tuple[float, float]](), list[tuple[float, float]]()
    for place, (_, gauge) in enumerate(points):
        if free:
            free.append((x(place), free[-1][1]))
            held.append((x(place), held[-1][1]))
        free.append((x(place), y(max(0.0, float(gauge.left)))))
        held.append((x(place), y(max(0.0, float(gauge.left + gauge.reserved)))))
    ends = (points[0][0], "start", left), (points[-1][0], "end", WIDTH - 20)
    unit = "%" if now.is_share else ""
    body = [
        *(line(left, y(tick), WIDTH - 20, y(tick), "c-grid") for tick in ticks(0, budget)),
        *(text(left - 6, y(tick) + 4, f"{short(tick)}{unit}", "quiet", "end") for tick in ticks(0, budget)),
        path([(left, base), *free, (free[-1][0], base)], "c-area", closed=True),
        path([*held, *reversed(free)], "c-held", closed=True),
        path(free, "c-line"),
        dot(free[-1][0], free[-1][1], 4, "c-dot"),
        *(text(at, base + 20, day, "quiet", anchor) for day, anchor, at in ends if day),
    ]
    return svg(178, say("chart.burn_down", **now.words), body, name="chart grow")


@frozen()
class ShareBar:
    """A share of the people, what it is about, and another share that a line marks."""

    label: str
    share: float
    shade: str
    mark: float


def share_bars(rows: Sequence[ShareBar], title: Any) -> Drawing:
    """Draw shares; a label stands above its bar, so that long ones have room."""
    each, x, body = 46, axis(0, 1, 12, WIDTH - 74), list[str]()
    for place, row in enumerate(rows):
        y = 4 + each * place
        body += [
            text(12, y + 13, row.label, "t", "start"),
            rect(12, y + 19, max(1.0, x(row.share) - 12), 16, row.shade),
            line(x(row.mark), y + 17, x(row.mark), y + 37, "c-err"),
            text(x(max(row.share, row.mark)) + 8, y + 32, percent(row.share, 0), "t-strong-s", "start"),
        ]
    return svg(8 + each * len(rows), title, body)


def timeline(outcomes: Sequence[str], yeses: int, say: Messages) -> Drawing:
    """Draw the questions of a stream: a ring for a free no, a dot for a paid yes, a cross-red dot for a lost one."""
    lines = -(-max(len(outcomes), 1) // _COLUMNS)
    gap = (WIDTH - 24) / _COLUMNS
    body = []
    for place in range(_COLUMNS * lines):
        told = outcomes[place] if place < len(outcomes) else ""
        kind = {"yes": "c-yes", "no": "c-no", "lost": "c-lost"}.get(told, "c-todo")
        cx, cy = 12 + gap * (place % _COLUMNS) + gap / 2, 18 + 26 * (place // _COLUMNS)
        body.append(dot(cx, cy, 7 if told else 2, kind))
    given = sum(one == "yes" for one in outcomes)
    return svg(12 + 26 * lines, say("chart.timeline", n=len(outcomes), given=given, yeses=yeses), body)


def purchases_picture(rows: Sequence[tuple[str, int]], say: Messages) -> Drawing:
    """Draw how many counts of each accuracy a budget is good for: rows are what they are called, and how many."""
    nothing = [None] * len(rows)
    panel = Panel("", [called for called, _ in rows], [times for _, times in rows], nothing, nothing, True, False)  # noqa: FBT003
    return draw_panel(panel, say("policy.buys"))


def belief_curve(epsilon: str, prior: int, say: Messages) -> Drawing:
    """Draw every belief before, and where it may be afterwards; `prior`, in percent, is marked."""
    base, top, left = 250.0, 14.0, 62.0
    x, y = axis(0, 1, left, WIDTH - 20), axis(0, 1, base, top)
    shares = [place / _STEPS for place in range(1, _STEPS)]
    ranges = [(share, *belief_range(str(share), epsilon)) for share in shares]
    upper = [(0.0, 0.0), *((share, high) for share, _, high in ranges), (1.0, 1.0)]
    lower = [(0.0, 0.0), *((share, low) for share, low, _ in ranges), (1.0, 1.0)]
    low, high = belief_range(str(prior / 100), epsilon)
    at = x(prior / 100)
    body = [
        *(line(left, y(share), WIDTH - 20, y(share), "c-grid") for share in (0, 0.25, 0.5, 0.75, 1)),
        *(text(left - 8, y(share) + 4, percent(share, 0), "quiet", "end") for share in (0, 0.25, 0.5, 0.75, 1)),
        *(text(x(share), base + 18, percent(share, 0), "quiet") for share in (0, 0.25, 0.5, 0.75)),
        text(WIDTH - 2, base + 18, percent(1, 0), "quiet", "end"),  # so that it is not cut off
        path([(x(a), y(b)) for a, b in [*upper, *reversed(lower)]], "c-area", closed=True),
        *(path([(x(a), y(b)) for a, b in edge], "c-line") for edge in (upper, lower)),
        line(left, base, WIDTH - 20, top, "c-threshold"),
        line(at, y(low), at, y(high), "c-err"),
        *(dot(at, y(end), 4, "c-dot") for end in (low, high)),
        text((left + WIDTH - 20) / 2, base + 38, say("chart.belief_axis"), "quiet"),
    ]
    about = say("chart.belief_after", prior=f"{prior} %", low=percent(low), high=percent(high))
    return svg(294, say("chart.belief"), body, about)
