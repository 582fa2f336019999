"""Additive secrecy: a promise that publishing people in the clear keeps."""

from collections.abc import Sequence
from pathlib import Path

from lapwing.app.plots.canvas import ACCENT, QUIET, SECOND, canvas


def draw_naming(
    path: str | Path, *, priors: Sequence[float], bounded: Sequence[float], epsilon: str, delta: str, somebody: float
) -> None:
    """Draw the most that a belief can become: under differential privacy, and for whoever is named and shamed.

    Parameters
    ----------
    path : where to write
    priors : the beliefs beforehand, rising
    bounded : the most they become under differential privacy
    epsilon : of it
    delta : of the additive secrecy that naming and shaming has
    somebody : how likely it is that somebody of the clinic is named
    """
    title = f'"{delta}-additive secrecy" publishes somebody {somebody:.1%} of the time'
    with canvas(path, title=title, x="belief that she is sick, beforehand", y="the most it can become") as axes:
        axes.plot(priors, [1.0] * len(priors), color=SECOND, linewidth=2.4, label="named and shamed: certainty")
        axes.plot(priors, bounded, color=ACCENT, linewidth=2.4, label=f"epsilon {epsilon}: a factor on the odds")
        axes.plot(priors, priors, color=QUIET, linestyle="--", linewidth=1, label="nothing learned")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(min(priors), 1.5)
