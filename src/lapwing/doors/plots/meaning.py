"""Pictures of what a guarantee means: beliefs before and after, two worlds side by side, and the privacy region.

In the privacy region an attacker must tell two neighbours apart by an answer. He raises a false alarm with some
probability, and misses with another; the nearer both can come to zero, the more was given away. A claim forbids a
corner around zero.
"""

import math
import textwrap
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from lapwing.accounting.interpretation import INFORMED, belief_range
from lapwing.attacks.beliefs import StudyBeliefs
from lapwing.auditor.finding import in_words
from lapwing.auditor.pair_of_laws import PairOfLaws
from lapwing.show.canvas import ACCENT, INK, QUIET, SECOND, canvas, put_label
from lapwing.vocabulary.exact import Exact, probability
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, Guarantee, PureDP

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_meaning(path: Path, epsilon: Exact, prior: Exact) -> None:
    """Draw the belief that "she is in the table" afterwards against beforehand, with its bounds at an epsilon."""
    ranges = [belief_range(Fraction(step, 200), epsilon) for step in range(1, 200)]
    priors = [step / 200 for step in range(201)]
    lows, highs = [0.0, *(low for low, _ in ranges), 1.0], [0.0, *(high for _, high in ranges), 1.0]
    before, (low, high) = float(probability("prior", prior)), belief_range(prior, epsilon)
    paid = float(Fraction(str(epsilon)))
    title = f"At epsilon {paid:.3g} a belief of {before:.0%} stays between {low:.0%} and {high:.0%},\nof {INFORMED}"
    with canvas(path, title=title, x='belief in "she is in it" beforehand', y="belief afterwards") as axes:
        band = "what they may come to believe"
        axes.fill_between(priors, lows, highs, color=ACCENT, alpha=0.2, linewidth=0, label=band)
        axes.plot(priors, highs, color=ACCENT, linewidth=1.5)
        axes.plot(priors, lows, color=ACCENT, linewidth=1.5)
        axes.plot([0, 1], [0, 1], color=QUIET, linestyle="--", linewidth=1, label="nothing learned")
        reach = [[before - low], [high - before]]
        axes.errorbar([before], [before], yerr=reach, fmt="o", color=SECOND, capsize=5, linewidth=2)
        for belief, offset in ((low, (8, -12)), (high, (-34, 5))):
            put_label(axes, f"{belief:.0%}", (before, belief), offset, color=SECOND)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.tick_params(colors=INK)


def draw_two_worlds(path: str | Path, beliefs: StudyBeliefs) -> None:
    """Draw the belief that Alice is sick after each answer of a study, with her data used and with it left out."""
    lows, highs = beliefs.bounds
    title = "Most of what a study teaches about Alice it teaches without her"
    with canvas(path, title=title, x="the answer: how many are sick", y="belief that Alice is sick") as axes:
        band = f"within e^(2ε) of it, ε = {float(beliefs.epsilon):.3g}: what Theorem 2.1 allows"
        axes.fill_between(beliefs.answers, lows, highs, color=ACCENT, alpha=0.12, linewidth=0, label=band)
        axes.axhline(beliefs.prior, color=QUIET, linestyle="--", linewidth=1, label="beforehand")
        axes.plot(beliefs.answers, beliefs.without_data, color=ACCENT, linewidth=2, label="her data left out")
        axes.plot(beliefs.answers, beliefs.with_data, color=SECOND, linewidth=2, label="her data used")
        axes.set_ylim(0, 1)
        axes.set_xlim(beliefs.answers[0], beliefs.answers[-1])


_POINTS = 501
_LINE = 78
_SMALLEST_DELTA = 1e-12
_TOLERANCE = 1e-9


def draw_privacy_region(path: str | Path, *, name: str, claim: Guarantee, laws: PairOfLaws, refuted: bool) -> None:
    """Draw what a pair of neighbours achieves against what is claimed: trade-off, and delta by epsilon."""
    alarms = np.linspace(0, 1, _POINTS)
    achieved = np.minimum(_trade_off(laws, alarms), _trade_off(laws.swapped(), alarms))
    allowed = claimed_trade_off(claim, alarms)
    colour = SECOND if refuted else ACCENT
    verdict = f"{name}: {'breaks' if refuted else 'keeps'} {in_words(claim)}"
    with canvas(path, title="An attacker's errors", x="false alarms", y="misses") as axes:
        axes.figure.suptitle(textwrap.fill(verdict, _LINE), x=0.01, ha="left", size=10.5, weight="bold", color=INK)
        axes.fill_between(alarms, 0, allowed, color=QUIET, alpha=0.25, linewidth=0, label="forbidden by the claim")
        axes.plot(alarms, 1 - alarms, color=QUIET, linestyle=":", linewidth=1)
        axes.plot(alarms, allowed, color=INK, linewidth=1.2)
        axes.plot(alarms, achieved, color=colour, linewidth=2, label="achieved on this pair")
        broken = (achieved < allowed - _TOLERANCE).tolist()
        axes.fill_between(alarms, achieved, allowed, where=broken, color=SECOND, alpha=0.35)
        axes.set(xlim=(0, 1), ylim=(0, 1))
        grid = axes.figure.add_gridspec(1, 2, wspace=0.12)
        axes.set_subplotspec(grid[0])
        _draw_profile(axes.figure.add_subplot(grid[1]), claim, laws, colour)


def claimed_trade_off(claim: Guarantee, alarms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the fewest misses that a claim allows at each rate of false alarms.

    >>> claimed_trade_off(PureDP(epsilon=1), np.array([0.0, 1.0])).tolist()
    [1.0, 0.0]
    """
    match claim:
        case PureDP(epsilon=epsilon):
            pairs = [(float(epsilon), 0.0)]
        case ApproximateDP(epsilon=epsilon, delta=delta):
            pairs = [(float(epsilon), float(delta))]
        case GaussianDP(mu_squared=mu_squared):
            return np.asarray(ndtr(ndtri(1 - alarms) - math.sqrt(mu_squared)), np.float64)
        case ConcentratedDP():
            pairs = [(e, _claimed_delta(claim, e)) for e in np.linspace(0.0, 20.0, 400).tolist()]
    fewest = np.zeros_like(alarms)
    for loss, chance in pairs:
        above = 1 - chance - math.exp(loss) * alarms
        fewest = np.maximum(fewest, np.maximum(above, math.exp(-loss) * (1 - chance - alarms)))
    return fewest


def _trade_off(laws: PairOfLaws, alarms: NDArray[np.float64]) -> NDArray[np.float64]:
    corners, misses = laws.trade_off()
    return np.interp(alarms, corners, misses)


def _draw_profile(axes: "Axes", claim: Guarantee, laws: PairOfLaws, colour: str) -> None:
    claimed = float(getattr(claim, "epsilon", 1))
    finite = [loss for loss in laws.losses.tolist() if math.isfinite(loss)]
    most = max(1.6 * claimed, min(1.2 * max(finite, default=0.0), 4 * claimed))
    epsilons = np.linspace(0, most, 400)
    lost = np.array([max(laws.delta(e), laws.swapped().delta(e)) for e in epsilons.tolist()])
    allowed = [_claimed_delta(claim, e) for e in epsilons.tolist()]
    axes.fill_between(epsilons, np.maximum(allowed, _SMALLEST_DELTA), 1, color=QUIET, alpha=0.25, linewidth=0)
    axes.plot(epsilons, np.maximum(allowed, _SMALLEST_DELTA), color=INK, linewidth=1.2)
    axes.plot(epsilons, np.where(lost >= _SMALLEST_DELTA, lost, np.nan), color=colour, linewidth=2)
    axes.set(title="Delta by epsilon", xlabel="epsilon", ylabel="delta")
    axes.set(xlim=(0, most), ylim=(_SMALLEST_DELTA, 1), yscale="log")


def _claimed_delta(claim: Guarantee, epsilon: float) -> float:
    """Return the delta that a claim allows at an epsilon: where it does not speak of that one, all that it implies."""
    match claim:
        case PureDP(epsilon=claimed):
            return _pure_delta(float(claimed), epsilon)
        case ApproximateDP(epsilon=claimed, delta=delta):
            return float(delta) + (1 - float(delta)) * _pure_delta(float(claimed), epsilon)
        case GaussianDP(mu_squared=mu_squared):
            mu = math.sqrt(mu_squared)
            far = math.exp(epsilon + float(log_ndtr(-epsilon / mu - mu / 2)))
            return max(0.0, float(ndtr(-epsilon / mu + mu / 2)) - far)
        case ConcentratedDP(rho=rho):
            beyond = epsilon - float(rho)
            return math.exp(-(beyond**2) / (4 * float(rho))) if beyond > 0 else 1.0


def _pure_delta(claimed: float, epsilon: float) -> float:
    """Return (e^claimed - e^epsilon)/(1 + e^claimed), the profile of randomized response, the worst of a pure claim."""
    return max(0.0, (math.exp(claimed) - math.exp(epsilon)) / (1 + math.exp(claimed)))
