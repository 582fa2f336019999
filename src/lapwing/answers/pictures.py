"""An answer as panels to be drawn: which of its numbers, under which labels, and in what words."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from lapwing.answers.cells import Row
from lapwing.answers.frames import is_time
from lapwing.answers.releases import PricedQuestion
from lapwing.queries.planning.plan import Family
from lapwing.show.panels import MISSING, Panel, draw_panel
from lapwing.show.strokes import WIDTH, Drawing, escape
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_confidence
from lapwing.vocabulary.wording import named, percent

_MOST_MULTIPLES: Final = 12
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


def multiples_of(asked: PricedQuestion, rows: Sequence[Row]) -> list[Panel]:
    """Return one statistic by several keys as small pictures on one scale: one for each of what the other keys are.

    Along the axis goes time, if a key is a time, and else the last key. What has several statistics or one key, or
    would be too many pictures, is as `panels_of` has it.
    """
    panels, plan = panels_of(asked, rows), next(asked.several()).plan
    labelled = asked.arrangement is not None and asked.arrangement.labelled is not None
    if len(panels) != 1 or labelled or len(plan.grouped_by) < 2 or not panels[0].placed:  # noqa: PLR2004 - several keys
        return panels
    ((whole,), times) = panels, [place for place, key in enumerate(plan.grouped_by) if is_time(key)]
    along = times[-1] if times else len(plan.grouped_by) - 1
    told = [[*map(named, plan.called(row.key))] for row in rows]
    labels = list(dict.fromkeys(keys[along] for keys in told))
    labels = sorted(labels, key=lambda label: (label == MISSING, label)) if times else labels
    several = dict[str, dict[str, int]]()
    for place, keys in enumerate(told):
        several.setdefault(", ".join(keys[:along] + keys[along + 1 :]), {})[keys[along]] = place
    if not 1 < len(several) <= _MOST_MULTIPLES or len(labels) < 2:  # noqa: PLR2004 - a picture has two places
        return panels
    ends = [one for _, end in whole.placed for one in end]

    def of(places: dict[str, int], numbers: Sequence[float | None]) -> list[float | None]:
        return [numbers[places[label]] if label in places else None for label in labels]

    return [
        Panel(
            name,
            labels,
            values=of(places, whole.values),
            lows=of(places, whole.lows),
            highs=of(places, whole.highs),
            from_zero=whole.from_zero,
            over_time=bool(times),
            alike=ends,
        )
        for name, places in several.items()
    ]


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def draw_below(asked: PricedQuestion, rows: Sequence[Row]) -> str:
    """Return the picture that a notebook shows below the table of several rows, as SVG; nothing of other answers."""
    try:
        panels = multiples_of(asked, rows) if len(rows) > 1 else []
    except BadQuestionError:
        return ""
    shown = [one for one in panels if one.over_time or len(rows) <= _MOST_ROWS]
    pictures = [(one, draw_panel(one, f"{one.name}: {asked.words}")) for one in shown]
    return "".join(_beside(one, drawn) for one, drawn in pictures if drawn)


def _beside(panel: Panel, drawn: Drawing) -> str:
    """Return a picture with its name above it; those of one scale stand beside each other."""
    if not panel.alike:
        return f"<div>{escape(panel.name)}<br>{drawn.coloured}</div>"
    small = drawn.coloured.replace(f'width="{WIDTH}"', f'width="{WIDTH * 3 // 4}"', 1)
    return f'<div style="display: inline-block">{escape(panel.name)}<br>{small}</div>'


def draw_figure(
    asked: PricedQuestion, rows: Sequence[Row], *, made_up: bool, confidence: Exact, path: Path | None = None
) -> Any:
    """Draw all numbers of an answer, whose `rows` have their bounds at this confidence; see `Answer.plot`."""
    from lapwing.show.figures import draw_panels  # noqa: PLC0415 - half a second, and an extra

    panels, words = multiples_of(asked, rows), asked.words
    title = f"{'Made up: ' if made_up else ''}{words[0].upper()}{words[1:]}"
    known = any(low is not None for panel in panels for low in panel.lows)
    each = any(one.plan.family is Family.THRESHOLD for one in asked.several())
    hold = "hold for each that is shown" if each else "all hold at once" if len(rows) > 1 else "hold"
    caption = f"bounds that {hold}, with {percent(as_confidence(confidence))} confidence" if known else ""
    if any(value is None for panel in panels for value in panel.values):
        caption += f"{'; ' if caption else ''}x: too few people to tell"
    return draw_panels(panels, title=title, caption=caption, path=path)
