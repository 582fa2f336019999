"""An answer as panels to be drawn: which of its numbers, under which labels, and in what words."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from lapwing.answers.cells import Row
from lapwing.answers.frames import is_time
from lapwing.answers.releases import PricedQuestion
from lapwing.queries.planning.plan import Family
from lapwing.show.panels import Panel, draw_panel
from lapwing.show.strokes import escape
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_confidence
from lapwing.vocabulary.wording import named, percent

_MOST_ROWS: Final = 40
"""A notebook shows a picture of at most this many rows below the table; a line over time may be longer."""


def panels_of(asked: PricedQuestion, rows: Sequence[Row]) -> list[Panel]:
    """Return all statistics of an answer by group; columns of names are refused, for there is nothing to draw."""
    plan = next(asked.several()).plan
    labelled = asked.arrangement is not None and asked.arrangement.labelled is not None
    labels = [", ".join(map(named, row.key if labelled else plan.called(row.key))) if row.key else "" for row in rows]
    values_of = [", ".join(map(named, row.key if labelled else plan.without_names(row.key))) for row in rows]
    over_time = len(plan.grouped_by) == 1 and len(rows) > 1 and is_time(plan.grouped_by[0])
    panels = []
    for name in asked.columns:
        release, cells = asked.releases.get(name), [row.cells.get(name) for row in rows]
        if any(cell is not None and isinstance(cell.value, str) for cell in cells):
            raise BadQuestionError(f"a picture shows numbers, and {name} has names; read the table instead")
        values, lows, highs = (
            [_float(None if one is None else getattr(one, end)) for one in cells] for end in ("value", "low", "high")
        )
        zero = release is not None and release.plan.drawn_from_zero
        panels.append(Panel(name, labels, values, lows, highs, zero, over_time, values_of))
    return panels


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def draw_below(asked: PricedQuestion, rows: Sequence[Row]) -> str:
    """Return the picture that a notebook shows below the table of several rows, as SVG; nothing of other answers."""
    try:
        panels = panels_of(asked, rows) if len(rows) > 1 else []
    except BadQuestionError:
        return ""
    shown = [one for one in panels if one.over_time or len(rows) <= _MOST_ROWS]
    pictures = [(one.name, draw_panel(one, f"{one.name}: {asked.words}")) for one in shown]
    return "".join(f"<div>{escape(name)}<br>{drawn.coloured}</div>" for name, drawn in pictures if drawn)


def draw_figure(
    asked: PricedQuestion, rows: Sequence[Row], *, made_up: bool, confidence: Exact, path: Path | None = None
) -> Any:
    """Draw all numbers of an answer, whose `rows` have their bounds at this confidence; see `Answer.plot`."""
    from lapwing.show.figures import draw_panels  # noqa: PLC0415 - half a second, and an extra

    panels, words = panels_of(asked, rows), asked.words
    title = f"{'Made up: ' if made_up else ''}{words[0].upper()}{words[1:]}"
    known = any(low is not None for panel in panels for low in panel.lows)
    each = any(one.plan.family is Family.THRESHOLD for one in asked.several())
    hold = "hold for each that is shown" if each else "all hold at once" if len(rows) > 1 else "hold"
    caption = f"bounds that {hold}, with {percent(as_confidence(confidence))} confidence" if known else ""
    if any(value is None for panel in panels for value in panel.values):
        caption += f"{'; ' if caption else ''}x: too few people to tell"
    return draw_panels(panels, title=title, caption=caption, path=path)
