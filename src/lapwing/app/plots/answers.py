"""Pictures for analysts and custodians: answers with bounds, errors by price, chances of a yes, a budget over time."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from lapwing.app.plots.canvas import ACCENT, INK, QUIET, SECOND, canvas

_WIDEST_LABEL, _WIDEST_TITLE, _MOST_LARGE = 30, 64, 24


def draw_bars(
    path: str | Path,
    *,
    labels: Sequence[str],
    values: Sequence[float],
    lows: Sequence[float | None],
    highs: Sequence[float | None],
    title: str,
    x: str,
) -> None:
    """Draw one bar for each label, from the top down, with the bounds of its value.

    Parameters
    ----------
    path : where to write
    labels, values : what the bars are about, and how long they are
    lows, highs : between which bounds the exact values lie; None where that is not known
    title : what is drawn
    x : what the bars measure, and how sure the bounds are
    """
    places = range(len(labels), 0, -1)
    with canvas(path, title=textwrap.fill(title, _WIDEST_TITLE), x=x, y="") as axes:
        axes.barh(places, values, height=0.62, color=ACCENT, alpha=0.75)
        for place, value, low, high in zip(places, values, lows, highs, strict=True):
            if low is not None and high is not None:
                axes.errorbar(value, place, xerr=[[value - low], [high - value]], color=INK, capsize=4, linewidth=1.4)
            end = value if high is None else high
            axes.annotate(
                f"{value:,.4g}" if isinstance(value, float) and not value.is_integer() else f"{value:,.0f}",
                (max(end, 0), place),
                xytext=(6, 0),
                textcoords="offset points",
                verticalalignment="center",
                color=INK,
            )
        axes.set_yticks(list(places), [textwrap.fill(label, _WIDEST_LABEL) for label in labels])
        axes.grid(visible=False, axis="y")
        axes.set_axisbelow(True)
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.6g}")
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.margins(x=0.12)
        if len(labels) > _MOST_LARGE:
            axes.tick_params(axis="y", labelsize=6)


def draw_funnel(
    path: str | Path,
    *,
    steps: Sequence[str],
    values: Sequence[float],
    lows: Sequence[float | None],
    highs: Sequence[float | None],
    confidence: str = "95 %",
) -> None:
    """Draw how many people pass one condition after the other."""
    draw_bars(
        path,
        labels=[step if i == 0 else f"and {step}" for i, step in enumerate(steps)],
        values=values,
        lows=lows,
        highs=highs,
        title=f"About {max(values[-1], 0):,.0f} people pass all {len(steps)} conditions",
        x=f"people, with bounds that all hold at once with {confidence} confidence",
    )


def draw_error_by_price(
    path: str | Path,
    *,
    prices: Sequence[float],
    margins: Sequence[float],
    chosen: tuple[float, float],
    currency: str = "epsilon",
    confidence: str = "95 %",
) -> None:
    """Draw the margin of error against the price, on logarithmic axes, with the price that was offered marked.

    Parameters
    ----------
    path : where to write
    prices, margins : the curve; prices rise
    chosen : the price that is offered, and the margin it buys
    currency : what the price is counted in
    confidence : how sure the margin is, as people say it
    """
    price, margin = chosen
    title = f"{currency} {price:.3g} buys an answer within {margin:,.4g}"
    with canvas(path, title=title, x=f"{currency} paid", y=f"off by at most, with {confidence} confidence") as axes:
        axes.plot(prices, margins, color=ACCENT, linewidth=2)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.plot([price, price, prices[0]], [min(margins), margin, margin], color=QUIET, linestyle="--", linewidth=1)
        axes.plot([price], [margin], "o", color=SECOND, markersize=8)
        axes.annotate(
            f"within {margin:,.4g}", (price, margin), xytext=(10, 8), textcoords="offset points", color=SECOND
        )
        axes.xaxis.set_major_formatter(_plain)
        axes.yaxis.set_major_formatter(_plain)
        axes.set_xlim(prices[0], prices[-1])


def _plain(number: float, _: object = None) -> str:
    """Return a tick as a person would write it: 0.01, not ten to a power."""
    return f"{number:,.4g}"


def draw_chance_of_yes(
    path: str | Path, *, people: Sequence[int], chances: Sequence[float], at_least: int, unsure: tuple[int, int]
) -> None:
    """Draw the probability of a yes against the true count.

    Parameters
    ----------
    path : where to write
    people, chances : the curve; people rise
    at_least : how many are asked for
    unsure : between which counts an answer is right with less than 95 %
    """
    low, high = unsure
    title = f'"At least {at_least:,}?" is right 95 times in 100 below {low:,} and above {high:,}'
    with canvas(path, title=title, x="how many people there really are", y="probability of a yes") as axes:
        axes.axvspan(low, high, color=QUIET, alpha=0.18, label="may go either way (wrong in over 5 of 100)")
        axes.axvline(at_least, color=INK, linestyle="--", linewidth=1, label=f"asked for: {at_least:,}")
        axes.plot(people, chances, color=ACCENT, linewidth=2, label="probability of a yes")
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlim(people[0], people[-1])


def draw_burn_down(
    path: str | Path,
    *,
    entries: Sequence[int],
    left: Sequence[float],
    held: Sequence[float],
    cap: float,
    currency: str = "epsilon",
) -> None:
    """Draw what was left after each entry of the ledger, and what open streams held in reserve.

    Parameters
    ----------
    path : where to write
    entries : the numbers of the entries, rising
    left, held : what was free after each of them, and what was reserved for streams
    cap : the budget
    currency : what it is counted in
    """
    title = f"{left[-1]:.4g} of {currency} {cap:.4g} is left"
    with canvas(path, title=title, x="entry of the ledger", y=f"{currency} left") as axes:
        free_and_held = [a + b for a, b in zip(left, held, strict=True)]
        axes.axhline(cap, color=INK, linestyle="--", linewidth=1, label="the cap")
        if any(held):
            axes.fill_between(
                entries,
                left,
                free_and_held,
                step="post",
                color=SECOND,
                alpha=0.3,
                label="held for streams",
                linewidth=0,
            )
        axes.fill_between(entries, 0, left, step="post", color=ACCENT, alpha=0.15, linewidth=0)
        axes.step(entries, left, where="post", color=ACCENT, linewidth=2, label="left")
        axes.plot(entries[-1:], left[-1:], "o", color=ACCENT)
        axes.axhline(0, color=QUIET, linewidth=1)
        axes.set_ylim(0, max(cap, *free_and_held) * 1.08)
        axes.locator_params(axis="x", integer=True)
