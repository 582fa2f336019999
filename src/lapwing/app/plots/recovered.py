"""What attacks recover: from exact answers, from blurred ones, and from lapwing's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lapwing.app.plots.canvas import ACCENT, INK, QUIET, SECOND, canvas
from lapwing.attacks.campaigns import Answers, Outcome

_COLOURS: Final = {Answers.EXACT: QUIET, Answers.AD_HOC: SECOND, Answers.LAPWING: ACCENT}
_LABELS: Final = {
    Answers.EXACT: "exact answers",
    Answers.AD_HOC: "answers with an ad-hoc blur",
    Answers.LAPWING: "lapwing",
}


def draw_recovered(path: str | Path, outcomes: Sequence[tuple[str, Outcome]], *, title: str) -> None:
    """Draw one bar an outcome, with what guessing would have got.

    Parameters
    ----------
    path : where to write
    outcomes : the family of each attack, and what came of it
    title : what came of it
    """
    from matplotlib.patches import Patch  # noqa: PLC0415 - half a second, and an extra

    families = [family for family, _ in outcomes]
    gaps = [0.6 * len(set(families[: place + 1])) for place in range(len(families))]
    places = [-place - gap for place, gap in enumerate(gaps)]
    with canvas(path, title=title, x="share recovered; a line marks what guessing gets", y="") as axes:
        figure = axes.figure
        figure.set_size_inches(7.6, 1.3 + 0.27 * (len(outcomes) + gaps[-1]))  # type: ignore[union-attr]  # it is no subfigure
        for place, (_, outcome) in zip(places, outcomes, strict=True):
            axes.barh(place, outcome.recovered, height=0.66, color=_COLOURS[outcome.answers], alpha=0.85)
            axes.plot([outcome.chance] * 2, [place - 0.4, place + 0.4], color=INK, linewidth=1.6)
            axes.annotate(
                f"{outcome.recovered:.0%}",
                (max(outcome.recovered, outcome.chance), place),
                xytext=(5, 0),
                textcoords="offset points",
                verticalalignment="center",
                color=INK,
                fontsize=8,
            )
        axes.set_yticks(places, [f"{outcome.attack}, {outcome.against}" for _, outcome in outcomes], fontsize=8)
        axes.set_xlim(0, 1.12)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
        axes.grid(visible=False, axis="y")
        axes.set_ylim(min(places) - 0.6, max(places) + 0.6)
        keys = [Patch(color=_COLOURS[kind], alpha=0.85, label=label) for kind, label in _LABELS.items()]
        figure.legend(handles=keys, loc="outside lower center", ncols=3)
