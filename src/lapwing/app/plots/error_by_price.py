"""How far off an answer is against what it costs."""

from collections.abc import Sequence
from pathlib import Path

from lapwing.app.plots.canvas import ACCENT, QUIET, SECOND, canvas


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
