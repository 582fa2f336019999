"""Four pictures that the lecture documents draw or ask for: two laws, a threshold, a dashed box, two kinds of error.

All numbers are made up or computed from laws; no table is read. The noise of the threshold's picture is that of seeded
coins, so that the picture is the same on every machine: nothing that is shown here protects anybody.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from lapwing.attacks.oracles import Coins
from lapwing.mechanisms.gaussian import GaussianMechanism
from lapwing.show.canvas import ACCENT, INK, QUIET, SECOND, canvas, put_label
from lapwing.vocabulary.frozen import frozen

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILON: Final = 1
DELTA: Final = "1e-6"
MANY: Final = 20
"""How many counts that overlap the second picture of the laws is about."""


def deviation_of_gaussian(counts: int) -> float:
    """Return the deviation of Gaussian noise on so many counts of the same people: their L2 sensitivity is its root.

    >>> round(deviation_of_gaussian(1), 2), round(deviation_of_gaussian(100), 1)
    (4.22, 42.2)
    """
    return float(GaussianMechanism(l2_sensitivity=1, epsilon=EPSILON, delta=DELTA).sigma) * math.sqrt(counts)


def scale_of_laplace(counts: int) -> float:
    """Return the scale of Laplace noise on so many counts of the same people: their L1 sensitivity is their number."""
    return counts / EPSILON


def density_of_laplace(at: float, scale: float) -> float:
    """Return the density of Laplace noise."""
    return math.exp(-abs(at) / scale) / (2 * scale)


def density_of_gaussian(at: float, deviation: float) -> float:
    """Return the density of Gaussian noise."""
    return math.exp(-(at**2) / (2 * deviation**2)) / (deviation * math.sqrt(2 * math.pi))


def draw_laws(path: str | Path) -> None:
    """Draw both laws at one price, for one count and for many that overlap (document 001, Figure 1)."""
    price = f"Noise of one price: epsilon {EPSILON}, Gaussian with a delta of {DELTA}"
    with canvas(path, title="one count", x="noise (people)", y="density") as axes:
        axes.figure.suptitle(price, x=0.01, ha="left", size=10.5, weight="bold", color=INK)
        grid = axes.figure.add_gridspec(1, 2, wspace=0.1)
        axes.set_subplotspec(grid[0])
        _draw_both(axes, 1)
        other = axes.figure.add_subplot(grid[1])
        other.set(title=f"each of {MANY} counts that overlap", xlabel="noise (people)")
        _draw_both(other, MANY)


def _draw_both(axes: "Axes", counts: int) -> None:
    scale, deviation = scale_of_laplace(counts), deviation_of_gaussian(counts)
    reach = 3.2 * max(math.sqrt(2) * scale, deviation)
    at = np.linspace(-reach, reach, 801).tolist()
    spread = f"scale {scale:.3g}, deviation {math.sqrt(2) * scale:.3g}"
    lines = (
        *axes.plot(at, [density_of_laplace(x, scale) for x in at], color=SECOND, linewidth=2),
        *axes.plot(at, [density_of_gaussian(x, deviation) for x in at], color=ACCENT, linewidth=2),
    )
    axes.set_ylim(0, 1.45 / (2 * scale))
    axes.set_xlim(-reach, reach)
    axes.legend(lines, [f"Laplace: {spread}", f"Gaussian: deviation {deviation:.3g}"], loc="upper center", fontsize=8)


COUNTS: Final = (23, 140, 61, 96, 12, 171, 118, 262, 240, 35)
"""Made-up counts: people with a tumour in one zip code after the other."""


@frozen()
class ThresholdStep:
    """One question of Above Noisy Threshold as nobody outside sees it: the count, the count with noise, the answer."""

    count: int
    noisy: float
    yes: bool


def threshold_steps(
    seed: int, *, at_least: int, epsilon: float, counts: Sequence[int] = COUNTS
) -> tuple[float, list[ThresholdStep]]:
    """Run Algorithm 1 of document 000 on plain numbers: the noisy threshold, and each question up to the first yes.

    >>> bar, steps = threshold_steps(10, at_least=200, epsilon=0.2)
    >>> [step.yes for step in steps]
    [False, False, False, False, False, False, False, True]
    """
    coins = Coins(seed, "the picture of the threshold")
    bar, steps = at_least + 2 / epsilon * float(coins.laplaces(1)[0]), list[ThresholdStep]()
    for count, noise in zip(counts, coins.laplaces(len(counts)).tolist(), strict=True):
        noisy = count + 4 / epsilon * noise
        steps.append(ThresholdStep(count=count, noisy=noisy, yes=noisy >= bar))
        if steps[-1].yes:
            break
    return bar, steps


def draw_threshold(path: str | Path, *, seed: int = 10, at_least: int = 200, epsilon: float = 0.2) -> None:
    """Draw Above Noisy Threshold step by step, with the noise that nobody sees (document 003, L127 to L200)."""
    bar, steps = threshold_steps(seed, at_least=at_least, epsilon=epsilon)
    title = f"At least {at_least}? All that is shown: {len(steps) - 1} times no, a yes, a halt"
    label = "question: people with a tumour in one zip code after the other"
    with canvas(path, title=title, x=label, y="people") as axes:
        axes.axhline(at_least, color=QUIET, linewidth=1.2, label=f"threshold T = {at_least}")
        noise = f"T with noise of scale 2/ε = {2 / epsilon:.3g}, drawn once"
        axes.axhline(bar, color=SECOND, linestyle="--", linewidth=1.6, label=noise)
        for place, step in enumerate(steps, 1):
            axes.plot([place, place], [step.count, step.noisy], color=QUIET, linewidth=1.4)
            verdict, colour = ("yes", ACCENT) if step.yes else ("no", INK)
            up = step.noisy >= step.count
            top = (place, max(step.noisy, step.count)) if up else (place, min(step.noisy, step.count))
            put_label(axes, verdict, top, (0, 9 if up else -16), ha="center", color=colour, weight="bold")
        for place, count in enumerate(COUNTS[len(steps) :], len(steps) + 1):
            axes.plot([place], [count], "o", color="white", markeredgecolor=QUIET, markersize=6)
            put_label(axes, "not\nasked", (place, count), (0, 8), ha="center", color=QUIET, fontsize=8)
        places = range(1, len(steps) + 1)
        counts, noisy = [step.count for step in steps], [step.noisy for step in steps]
        axes.plot(places, counts, "o", color="white", markeredgecolor=INK, markersize=6, label="the count itself")
        told = f"the count with fresh noise of scale 4/ε = {4 / epsilon:.3g}"
        axes.plot(places, noisy, "o", color=ACCENT, markersize=6, label=told)
        axes.set_xticks(range(1, len(COUNTS) + 1))
        axes.set_ylim(min(0, *noisy) - 60, 1.75 * max(at_least, *noisy))


def draw_dashed_box(path: str | Path) -> None:
    """Draw two algorithms, the second chosen by the first one's answer, as one (document 004, Figure 1)."""
    from matplotlib.patches import FancyArrowPatch, Rectangle  # noqa: PLC0415 - half a second, and an extra

    title = "Two algorithms seen as one: their prices add up"
    with canvas(path, title=title, x="", y="") as axes:
        axes.set(xlim=(0, 10), ylim=(0, 5.6))
        axes.axis("off")
        axes.add_patch(Rectangle((1.7, 0.8), 6.3, 4.6, fill=False, linestyle="--", linewidth=1.8, edgecolor=SECOND))
        axes.text(1.85, 4.98, "A:  ε₁ + ε₂", color=SECOND, fontsize=12, weight="bold")
        boxes = (
            (4.0, "A₁:  ε₁", "how many have diabetes,\nhow many high blood pressure?"),
            (1.7, "A₂(a₁, · ):  ε₂", "both, if each is at least 100;\notherwise heart disease"),
        )
        for height, name, asks in boxes:
            axes.add_patch(Rectangle((3.0, height - 0.65), 3.7, 1.3, facecolor="#f1f5f9", edgecolor=INK))
            axes.text(4.85, height + 0.32, name, ha="center", va="center", color=INK, weight="bold")
            axes.text(4.85, height - 0.25, asks, ha="center", va="center", color=INK, fontsize=8.5)
        arrows = (
            ((0.75, 2.95), (3.0, 4.0)),
            ((0.75, 2.75), (3.0, 1.7)),
            ((6.7, 4.0), (8.9, 4.0)),
            ((6.7, 1.7), (8.9, 1.7)),
            ((4.85, 3.35), (4.85, 2.35)),
        )
        for begin, end in arrows:
            arrow = FancyArrowPatch(begin, end, arrowstyle="-|>", mutation_scale=14, color=INK, shrinkA=0, shrinkB=0)
            axes.add_patch(arrow)
        words = ((0.5, 2.85, "x"), (9.15, 4.0, "a₁"), (9.15, 1.7, "a₂"), (5.1, 2.85, "a₁"))
        for x, y, word in words:
            axes.text(x, y, word, ha="center", va="center", color=INK, fontsize=12)
        ledger = "The ledger charges ε₁ before A₁ reads, and ε₂ before A₂ does"
        axes.text(4.85, 0.35, ledger, ha="center", va="center", color=ACCENT, fontsize=9.5)


def deviations(people: int) -> tuple[float, float, float]:
    """Return what n counts about n people err by: epsilon divided, Gaussian noise for all, and sampling the people.

    The last is what a count of one half of them errs by if the people are themselves a sample: the root of n/4.

    >>> [round(one, 1) for one in deviations(10_000)]
    [14142.1, 422.5, 50.0]
    """
    return math.sqrt(2) * scale_of_laplace(people), deviation_of_gaussian(people), math.sqrt(people) / 2


def draw_sampling_error(path: str | Path) -> None:
    """Draw how the noise on n counts about n people grows, beside the sampling error (document 003, L77 to L117)."""
    people = np.geomspace(10, 10**6, 60).astype(int).tolist()
    divided, gaussian, sampling = zip(*map(deviations, people), strict=True)
    ratio = gaussian[0] / sampling[0]
    title = f"With a delta, noise on n counts is {ratio:.1f} sampling errors, whatever n is"
    with canvas(
        path, title=title, x="n: people, and questions about them", y="deviation of each count (people)"
    ) as axes:
        divide = f"Laplace, epsilon {EPSILON} divided by n: √2 n/ε"
        axes.plot(people, divided, color=SECOND, linewidth=2, label=divide)
        label = f"Gaussian, (epsilon {EPSILON}, delta {DELTA}) for all n: {deviation_of_gaussian(1):.2f} √n"
        axes.plot(people, gaussian, color=ACCENT, linewidth=2, label=label)
        axes.plot(people, sampling, color=INK, linestyle="--", linewidth=1.4, label="sampling error of one half: √n/2")
        axes.plot(people, people, color=QUIET, linestyle=":", linewidth=1, label="n: everybody")
        axes.set_xscale("log")
        axes.set_yscale("log")


def draw_lectures(folder: Path, suffix: str = ".svg") -> list[Path]:
    """Draw all four; return the files."""
    pictures = {
        "lecture_laws": draw_laws,
        "lecture_threshold": draw_threshold,
        "lecture_dashed_box": draw_dashed_box,
        "lecture_sampling_error": draw_sampling_error,
    }
    for name, draw in pictures.items():
        draw(folder / f"{name}{suffix}")
    return [folder / f"{name}{suffix}" for name in pictures]
