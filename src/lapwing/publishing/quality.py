"""How far a synthetic table may be trusted, from released numbers only.

Nothing here compares with the data: that would be another release, at no price. What is known comes from the noise of
what was measured, which is public, and from the screens, which were paid for: a screen tells, for every table that it
looked at, how far the model was from the data, with noise of known size.
"""

import itertools
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final

import numpy as np

from lapwing.mechanisms.residual_basis import Axes
from lapwing.publishing.measurements import Table
from lapwing.publishing.model_fitting import MEAN_ABSOLUTE
from lapwing.publishing.stages import PurePlan, Screened
from lapwing.publishing.synthesis import NOBODY, Synthesis
from lapwing.show.maps import MapCell, draw_map
from lapwing.show.panels import Panel, draw_panel
from lapwing.show.strokes import Drawing
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Result, html_table
from lapwing.vocabulary.wording import format_short, several

UNTRUSTED: Final = 0.05
"""From this total variation on a table is better not asked about."""
_DARKEST: Final = 0.1
_CHANCE: Final = 0.05
_SDS: Final = 2
_MOST_LISTED: Final = 12
_PAIR: Final = 2
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}"
    "td,th{text-align:left;padding:.2rem .8rem .2rem 0;vertical-align:top}"
)
NOT: Final = (
    NOBODY,
    "whoever is rare is not in it: what it says about groups of fewer people than a few times the noise is noise",
    "intervals are for the noise of what was measured, and not for what a model leaves out",
    "do not link it with other tables: its rows are of no one",
    "a second synthesis, or another question, costs its own price: this table cannot be asked for more than is in it",
)
"""What synthetic rows are not, in words for whoever gets them."""


@frozen()
class TableQuality:
    """What is known about one table of the model: about how far off it is, in total variation, and how that is known.

    Total variation is the share of the people that would have to be in another cell.
    """

    names: tuple[str, ...]
    basis: str
    """"measured", "screened", "screened against single columns", or "unknown"."""
    about: float | None
    """About how far off it is; of a screened table that was told before the last measurement, and may be below zero."""
    at_most: float | None
    """Of a screened table, how far off it is at most, with 95 % confidence for this one table.

    Of a measured one, what noise does to it in the mean, and what lies between the model and the measured table.
    """

    @property
    def trusted(self) -> bool:
        """Whether it is known to be off by less than 5 % of the people."""
        return self.at_most is not None and self.at_most < UNTRUSTED


@frozen(repr=False)
class QualityReport(Result):
    """Which tables of a synthetic table to trust, and how far: from released numbers only.

    `pairs` has all pairs of columns, `larger` the wider tables that were looked at, `rare` the codes that hold fewer
    people than noise does, and `mean_off` what the last screen says about all tables that it looked at, with its
    margin.
    """

    people: int
    table: str
    names: tuple[str, ...]
    ones: tuple[Panel, ...]
    pairs: tuple[TableQuality, ...]
    larger: tuple[TableQuality, ...]
    rare: tuple[str, ...]
    mean_off: tuple[float, float] | None
    remark: str | None

    @property
    def avoid(self) -> list[TableQuality]:
        """The tables not to ask about: those that may be off by 5 % of the people or more, the worst first."""
        doubtful = [one for one in (*self.pairs, *self.larger) if not one.trusted]
        return sorted(doubtful, key=lambda one: (len(one.names), -math.inf if one.at_most is None else -one.at_most))

    def of(self, *names: str) -> TableQuality:
        """Return what is known about the table of two columns or more: nothing where nobody looked at it."""
        known = {name.casefold(): name for name in self.names}
        for name in names:
            if name.casefold() not in known:
                raise BadQuestionError(f"{name!r} is no column of this synthetic table; it has {', '.join(self.names)}")
        asked = {known[name.casefold()] for name in names}
        found = (one for one in (*self.pairs, *self.larger) if set(one.names) == asked)
        return next(found, TableQuality(names=tuple(names), basis="unknown", about=None, at_most=None))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "people": self.people,
            "table": self.table,
            "columns": list(self.names),
            "pairs": [_record(one) for one in self.pairs],
            "larger": [_record(one) for one in self.larger],
            "avoid": [list(one.names) for one in self.avoid],
            "rare": list(self.rare),
            "mean_off": None if self.mean_off is None else list(self.mean_off),
            "not": list(NOT),
            "remark": self.remark,
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return it in words."""
        trusted = sum(one.trusted for one in self.pairs)
        larger = sum(one.trusted for one in self.larger)
        off = None
        if self.mean_off is not None:
            about, margin = (100 * one for one in self.mean_off)
            off = f"{about:.2f} % of the people, ± {margin:.2f}, in the mean of all tables that were looked at"
        return [
            ("pairs", f"{trusted} of {len(self.pairs)} are off by less than {UNTRUSTED:.0%} of the people"),
            ("wider tables", f"{larger} of {len(self.larger)} are" if self.larger else None),
            ("model, before the last measurement", off),
            ("do not ask this table about", _listed([" x ".join(one.names) for one in self.avoid]) or None),
            ("rare codes, which are noise", _listed(self.rare) or None),
            ("remark", self.remark),
            ("mind", "; ".join(NOT)),
        ]

    def draw_pairs(self) -> Drawing:
        """Draw all pairs of columns: the darker, the farther off; dashed where a pair was not measured."""
        known = {frozenset(one.names): one for one in self.pairs}
        rows = []
        for name in self.names:
            cells = [
                MapCell("", 0.0) if other == name else _map_cell(known.get(frozenset((name, other))))
                for other in self.names
            ]
            rows.append((name, cells))
        return draw_map(self.names, rows, "how far off each pair of columns is, in % of the people", "pairs")

    def page(self) -> str:
        """Return a page of its own, in HTML, with pictures: what to give away together with the rows."""
        title = escape(f"Quality of a synthetic table of {self.table}")
        head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        return f"{head}<h1>{title}</h1>{self._repr_html_()}</html>"

    def write_page(self, path: str | Path) -> None:
        """Write the page to a file."""
        Path(path).write_text(self.page(), encoding="utf-8")

    def _repr_html_(self) -> str:
        facts = html_table((), ((label, text) for label, text in self.facts() if text is not None and label != "mind"))
        doubtful = [[" x ".join(one.names), one.basis, _percent(one.at_most)] for one in self.avoid[:_MOST_LISTED]]
        parts = [
            f"<p>{self.people:,} made-up people. All on this page is computed from released numbers.</p>",
            facts,
            "<h2>What it is not</h2><ul>" + "".join(f"<li>{escape(one)}</li>" for one in NOT) + "</ul>",
            "<h2>Pairs of columns</h2><p>About how far off, in % of the people; dashed: not measured.</p>",
            self.draw_pairs().coloured if len(self.names) > 1 else "",
            "<h2>Single columns</h2><p>The model, with where the true count lies with 95 % confidence, one by one.</p>",
            *(f"<h3>{escape(one.name)}</h3>{draw_panel(one, one.name).coloured}" for one in self.ones),
        ]
        if doubtful:
            parts.insert(
                2,
                "<h2>Do not ask this table about</h2>"
                + html_table(["columns", "known from", "off by at most"], doubtful),
            )
        return "".join(parts)

    def __repr__(self) -> str:
        trusted = sum(one.trusted for one in self.pairs)
        return (
            f"<quality of a synthetic table of {self.table}: {trusted} of {several(len(self.pairs), 'pair')} to trust>"
        )


def quality_of(made: Synthesis) -> QualityReport:
    """Return what is known about the errors of a synthetic table, from what it has released."""
    looking, names, measured = _Looking(made), tuple(made.offer.names), made.measured
    width = range(len(names))
    screened = {axes for one in measured.screens for axes in one.distances if len(axes) > _PAIR}
    wide = sorted(screened | {axes for axes in measured.pool.precision if len(axes) > _PAIR})
    return QualityReport(
        people=measured.model.people,
        table=made.offer.table,
        names=names,
        ones=tuple(looking.panel(a) for a in width),
        pairs=tuple(looking.at(axes) for axes in itertools.combinations(width, _PAIR)),
        larger=tuple(looking.at(axes) for axes in wide),
        rare=tuple(looking.rare()),
        mean_off=looking.mean_off,
        remark=made.remark,
    )


class _Looking:
    """Looks at the tables of a synthetic table, one by one."""

    def __init__(self, made: Synthesis) -> None:
        self._offer, self._screens = made.offer, made.measured.screens
        self._pool, self._model = made.measured.pool, made.measured.model
        self._people = max(1, self._model.people)

    def at(self, axes: Axes) -> TableQuality:
        names = tuple(self._offer.columns[a].name for a in axes)
        if self._pool.has(axes):
            noise = 0.5 * MEAN_ABSOLUTE * self._pool.cells(axes) * math.sqrt(self._pool.variance(axes)) / self._people
            apart = _total_variation(self._model.marginal(axes), self._pool.marginal(axes), self._people)
            # The model is as far from the data as from what was measured, and that from the data, at most.
            return TableQuality(names=names, basis="measured", about=max(noise, apart), at_most=noise + apart)
        for one in reversed(self._screens):
            if axes in one.distances:
                # The model may have moved since, or not be what guessed: so far it is from that, at most.
                apart = _total_variation(self._model.marginal(axes), one.guesses[axes], self._people)
                about = one.distances[axes] / 2 / self._people
                at_most = apart + max(0.0, (one.distances[axes] + self._quantile(one)) / 2 / self._people)
                if one.model is None:
                    against = "screened against single columns"
                    return TableQuality(names=names, basis=against, about=about + apart, at_most=at_most)
                return TableQuality(names=names, basis="screened", about=about, at_most=at_most)
        return TableQuality(names=names, basis="unknown", about=None, at_most=None)

    def _quantile(self, screened: Screened) -> float:
        """Return how far below the truth a noisy distance is at most, but for 5 %."""
        noise = float(screened.noise)
        if isinstance(self._offer.plan, PurePlan):
            return noise * math.log(1 / (2 * _CHANCE)) + 1
        return noise * -NormalDist().inv_cdf(_CHANCE) + 0.5

    @property
    def mean_off(self) -> tuple[float, float] | None:
        """What the last screen of a model says about all tables that it looked at, and its margin."""
        found = [one for one in self._screens if one.model is not None]
        if not found:
            return None
        distances, noise = list(found[-1].distances.values()), float(found[-1].noise)
        about = float(np.mean(distances)) / 2 / self._people
        return about, 1.96 * noise / math.sqrt(len(distances)) / 2 / self._people

    def panel(self, column: int) -> Panel:
        """Return one column by itself: the model, and the interval of what was measured."""
        values = self._model.marginal((column,))
        estimates, off = self._pool.unbiased((column,)), self._pool.reach((column,), (1,), _CHANCE)
        lows, highs = ([max(0.0, float(x) + sign * off) for x in estimates] for sign in (-1, 1))
        called = self._offer.columns[column].coded.called
        return Panel(self._offer.columns[column].name, called, values.tolist(), lows, highs, True, False)  # noqa: FBT003

    def rare(self) -> list[str]:
        """Return the codes that hold fewer people than two standard deviations of their noise."""
        found = []
        for a, column in enumerate(self._offer.columns):
            least = _SDS * math.sqrt(self._pool.variance((a,)))
            counts = self._pool.marginal((a,))
            found += [
                f"{column.name}: {code}" for code, n in zip(column.coded.called, counts, strict=True) if n < least
            ]
        return found


def _total_variation(model: Table, measured: Table, people: int) -> float:
    return float(0.5 * np.abs(model - measured).sum() / people)


def _map_cell(known: TableQuality | None) -> MapCell:
    if known is None or known.about is None:
        return MapCell("?", 1.0, unsure=True)
    off = max(0.0, known.about)
    return MapCell(f"{100 * off:.1f}", min(1.0, off / _DARKEST), unsure=known.basis != "measured")


def _record(one: TableQuality) -> dict[str, Any]:
    return {
        "columns": list(one.names),
        "basis": one.basis,
        "about": one.about,
        "at_most": one.at_most,
        "trusted": one.trusted,
    }


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{format_short(round(100 * share, 1))} %"


def _listed(what: Sequence[str]) -> str:
    more = f" and {len(what) - _MOST_LISTED} more" if len(what) > _MOST_LISTED else ""
    return ", ".join(what[:_MOST_LISTED]) + more
