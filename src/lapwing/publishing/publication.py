"""What was published: every table of the wanted columns, and every box of them, each count with its interval.

All of it is computed from the numbers that stand in the ledger, and costs nothing. Any two tables agree on the columns
that they share, up to what floating point loses.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from math import sqrt
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from lapwing.answers.answer import MOST_SHOWN
from lapwing.answers.frames import FrameColumn, TableResult, key_columns
from lapwing.answers.releases import Price
from lapwing.mechanisms.residual_basis import Axes
from lapwing.publishing.boxes import box_of
from lapwing.publishing.codes import CodedColumn
from lapwing.publishing.measurements import Measurement, Table, subsets
from lapwing.publishing.row_strata import RowStrata
from lapwing.publishing.shaping import in_whole_numbers, without_negatives
from lapwing.queries.catalogue.population import Population
from lapwing.queries.language.builders import ConditionLike
from lapwing.queries.planning.planner import plan
from lapwing.queries.statistics.counts import CountPeople
from lapwing.rounds import Receipt
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_confidence, as_int, float_below
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Interval, Result, html_table
from lapwing.vocabulary.wording import format_bounded, format_exact, format_short, percent, several

_CONFIDENCE: Final = Fraction(95, 100)
_MOST_NAMED: Final = 6
_ANYBODY: Final[Mapping[str, object]] = MappingProxyType({})


@frozen()
class PublicationOffer:
    """What is published of a table: columns, the sets of them that are wanted, and how they are measured.

    With `rows`, the most rows of somebody in each stratum, rows are counted, and otherwise people.
    """

    population: Population
    table: str
    columns: tuple[CodedColumn, ...]
    wanted: tuple[Axes, ...]
    measurement: Measurement
    rows: tuple[int, ...] = ()

    @property
    def counted(self) -> str:
        """What is counted: "rows" or "people"."""
        return "rows" if self.rows else "people"

    @property
    def cells(self) -> int:
        """How many cells the wanted tables have."""
        return sum(int(np.prod([len(self.columns[a]) for a in axes])) for axes in self.wanted)

    def names(self, axes: Axes) -> tuple[str, ...]:
        """Return the names of some columns."""
        return tuple(self.columns[a].name for a in axes)

    def places(self, names: Sequence[str]) -> Axes:
        """Return the places of columns in the order of their names, if a wanted set has all of them; refuse others."""
        known = {one.name.casefold(): place for place, one in enumerate(self.columns)}
        unknown = [name for name in names if name.casefold() not in known]
        if unknown:
            there = ", ".join(one.name for one in self.columns)
            raise BadQuestionError(f"{unknown[0]!r} is not a column of this publication; it has {there}")
        axes = tuple(dict.fromkeys(known[name.casefold()] for name in names))
        self.require(axes)
        return axes

    def require(self, axes: Axes) -> None:
        """Refuse columns that no wanted set has together."""
        if not any(set(axes) <= set(one) for one in self.wanted):
            shown = ["(" + ", ".join(self.names(one)) + ")" for one in self.wanted[:_MOST_NAMED]]
            more = f" and {len(self.wanted) - _MOST_NAMED} more" if len(self.wanted) > _MOST_NAMED else ""
            asked = ", ".join(self.names(axes))
            raise BadQuestionError(f"({asked}) were not published together; published are {', '.join(shown)}{more}")


@frozen()
class PublishedCount(Result):
    """The number of people in a box: an unbiased estimate, its standard deviation, and bounds at a `confidence`.

    Where `counted` says so, it is the number of rows.

    The bounds hold by themselves; of twenty such intervals at 95 %, about one does not. They are cut at zero, as a
    count is not negative; the estimate is not cut, so it may lie below both.
    """

    people: float
    sd: float
    interval: Interval
    confidence: Fraction
    counted: str = "people"

    @property
    def rows(self) -> float:
        """The same number, where rows were counted."""
        return self.people

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        low, high = self.interval
        return {
            self.counted: self.people,
            "sd": self.sd,
            "low": low,
            "high": high,
            "confidence": format_exact(self.confidence),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return it in words."""
        low, high = (format_short(round(end)) for end in self.interval)
        return [(self.counted, str(round(self.people))), (f"with {percent(self.confidence)}", f"{low} to {high}")]


@frozen(repr=False)
class PublishedTable(TableResult):
    """The number of people in every cell of some columns: an array `values` with an axis for each column.

    The last code of each is for values that are missing or not declared, if there can be any. `values` are the unbiased
    `estimates`, unless `remark` says what was done to them; bounds are those of the estimates.

    In frames, bounds are cut at zero, as a count is not negative. An unbiased estimate is not cut: it may be negative,
    and lie below its own bounds. So draw from `low` to `high`, and do not subtract them from `people`.
    """

    offer: PublicationOffer
    axes: Axes
    values: Table
    estimates: Table
    remark: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order of the axes."""
        return self.offer.names(self.axes)

    @property
    def sd(self) -> float:
        """The standard deviation of each cell, before it was made to look like a count."""
        return sqrt(self.offer.measurement.variance(tuple(sorted(self.axes)), (1,) * len(self.axes)))

    def margin(self, confidence: Exact = _CONFIDENCE, *, together: bool = False) -> float:
        """Return how far off a cell is at most: each by itself, or all cells of this table `together`."""
        chance = (1 - as_confidence(confidence)) / (self.values.size if together else 1)
        return self.offer.measurement.reach(tuple(sorted(self.axes)), (1,) * len(self.axes), float_below(chance))

    def frame_columns(self, confidence: Exact) -> list[FrameColumn]:
        """Return the columns of the table, and the number of people with its bounds, each by itself."""
        columns = [self.offer.columns[a] for a in self.axes]
        asked = CountPeople(table=self.offer.table, by=tuple(one.by for one in columns), max_groups=1)
        planned = plan(asked, self.offer.population)
        cells = list(itertools.product(*((*one.codes, None)[: len(one)] for one in columns)))
        names, numbers = (self.offer.counted, "low", "high"), self.bounded(confidence)
        return [
            *key_columns(planned, planned.titled(self.names), cells, {}),
            *(FrameColumn.of(name, one) for name, one in zip(names, numbers, strict=True)),
        ]

    def bounded(self, confidence: Exact = _CONFIDENCE) -> tuple[list[float], list[float], list[float]]:
        """Return all numbers of people, their lower bounds and their upper ones, the last column fastest."""
        margin, estimates = self.margin(confidence), self.estimates.ravel().tolist()
        shown = [int(one) if one == round(one) and self.remark else float(one) for one in self.values.ravel()]
        return shown, [max(0.0, one - margin) for one in estimates], [max(0.0, one + margin) for one in estimates]

    def notes(self) -> dict[str, Any]:
        """Return what is to be known of the whole table."""
        return {"sd": self.sd, "remark": self.remark, "columns": list(self.names)}

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**self.notes(), "rows": self.to_rows()}

    def facts(self) -> list[tuple[str, str | None]]:
        """Return what it is, in words."""
        return [
            (f"{self.offer.counted} by", ", ".join(self.names) or "nothing"),
            ("cells", f"{self.values.size:,}, each with a standard deviation of {format_short(self.sd)}"),
            ("mind", self.remark),
        ]

    def _repr_html_(self) -> str:
        labels = itertools.product(*(self.offer.columns[a].called for a in self.axes))
        lines = list[list[str]]()
        for cell, *numbers in itertools.islice(zip(labels, *self.bounded(), strict=True), MOST_SHOWN):
            people, low, high, _ = format_bounded(*numbers)
            lines.append([*cell, people, f"{low} to {high}"])
        beyond = self.values.size - len(lines)
        caption = ". ".join(f"{label}: {text}" for label, text in self.facts() if text is not None)
        header = [*self.names, self.offer.counted, f"{percent(_CONFIDENCE)} interval"]
        return html_table(header, [*lines, *([[f"and {several(beyond, 'cell')} more"]] if beyond else [])], caption)

    def __repr__(self) -> str:
        cells = f"{several(self.values.size, 'cell')}, sd {format_short(round(self.sd, 1))}"
        return f"<{self.offer.counted} by {', '.join(self.names) or 'nothing'}: {cells}>"


class Publication(Result):
    """One release of many tables: `publication["age", "smoker"]` is one of them, `count` reads any box for nothing.

    It goes through the wanted sets of columns, and has as many as `len` says. A table is `in` it if it can be read: a
    wanted one, or one of fewer columns. Its `receipt` is that of the released numbers in the ledger.
    """

    def __init__(
        self,
        offer: PublicationOffer,
        released: Sequence[Sequence[int]],
        *,
        price: Price,
        versions: Mapping[str, int],
        name: str,
        receipt: Receipt | str,
        non_negative: bool,
        whole: bool,
    ) -> None:
        self.offer, self.released, self.price, self.versions, self.name = offer, released, price, versions, name
        self.receipt, self.non_negative, self.whole = receipt, non_negative, whole

    @cached_property
    def residuals(self) -> dict[Axes, Table]:
        """The unbiased estimate of every residual."""
        return self.offer.measurement.residuals(self.released)

    def __getitem__(self, names: str | tuple[str, ...]) -> PublishedTable:
        return self.table(*((names,) if isinstance(names, str) else names))

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return (self.offer.names(axes) for axes in self.offer.wanted)

    def __len__(self) -> int:
        return len(self.offer.wanted)

    def __contains__(self, names: object) -> bool:
        listed = names if isinstance(names, tuple) else (names,)
        if not all(isinstance(one, str) for one in listed):
            return False
        try:
            self.offer.places(listed)
        except BadQuestionError:
            return False
        return True

    def table(self, *names: str, non_negative: bool | None = None, whole: bool | None = None) -> PublishedTable:
        """Return the table of some columns: its axes, and the columns of its frames, are in the order asked.

        As it is, every estimate is unbiased, and tables agree with each other. With `non_negative` or `whole` it looks
        like counts, has its own sum still, and neither is so; if it is not said, it is as `publish` was asked.
        """
        asked = self.offer.places(names)
        axes = tuple(sorted(asked))
        estimates = self._estimates(axes)
        values, done = estimates, list[str]()
        if self.non_negative if non_negative is None else non_negative:
            values, done = without_negatives(values), ["without negative numbers"]
        if self.whole if whole is None else whole:
            values, done = in_whole_numbers(values), [*done, "in whole numbers"]
        remark = None
        if done:
            remark = f"put {' and '.join(done)}: the estimates are biased now, and tables may not agree with each other"
        order = [axes.index(a) for a in asked]  # after they were rounded: a table has the same cells in every order
        values, estimates = values.transpose(order), estimates.transpose(order)
        return PublishedTable(offer=self.offer, axes=asked, values=values, estimates=estimates, remark=remark)

    def count(
        self,
        where: ConditionLike = None,
        *,
        codes: Mapping[str, object] = _ANYBODY,
        confidence: Exact = _CONFIDENCE,
    ) -> PublishedCount:
        """Return the number of people in a box, such as "sex = 'F' and age >= 40". It is free.

        A condition means declared codes. `codes` says them by column instead, one or a list of several, and is how to
        name those of a column that is a condition itself, and "other or missing".
        """
        box = box_of(where, self.offer.table, self.offer.columns, self.offer.population)
        for name, meant in codes.items():
            (place,) = self.offer.places((name,))
            column = self.offer.columns[place]
            listed = {column.place_of(one) for one in (meant if isinstance(meant, list) else [meant])}
            before = box.get(place, [True] * len(column))
            box[place] = [old and code in listed for code, old in enumerate(before)]
        axes = tuple(sorted(box))
        self.offer.require(axes)
        sure, widths = as_confidence(confidence), tuple(sum(box[a]) for a in axes)
        estimate = float(self._estimates(axes)[np.ix_(*(np.array(box[a]) for a in axes))].sum())
        reach = self.offer.measurement.reach(axes, widths, float_below(1 - sure))
        bounds = Interval(max(0.0, estimate - reach), max(0.0, estimate + reach))
        sd = sqrt(self.offer.measurement.variance(axes, widths))
        return PublishedCount(people=estimate, sd=sd, interval=bounds, confidence=sure, counted=self.offer.counted)

    def stratum(self, place: int) -> "Publication":
        """Return the tables of one stratum by itself, of a publication of rows: of those with few rows they are sharp.

        `place` counts from 0, in the order of `rows`.
        """
        measured = self.offer.measurement
        if not isinstance(measured, RowStrata):
            raise BadQuestionError("a publication of people has no strata; publish rows, with rows=[1, 2, 5, 10]")
        here = as_int("stratum", place, least=0, most=len(measured.caps) - 1)
        offer = replace(self.offer, measurement=measured.strata[here])
        return Publication(
            offer,
            measured.of_stratum(self.released, here),
            price=self.price,
            versions=self.versions,
            name=self.name,
            receipt=self.receipt,
            non_negative=self.non_negative,
            whole=self.whole,
        )

    def _estimates(self, axes: Axes) -> Table:
        """Add up the residuals of all subsets, each spread evenly over the columns that it does not have."""
        codes = self.offer.measurement.codes
        table = np.zeros([codes[a] for a in axes])
        for inner in subsets(axes):
            spread = np.prod([codes[a] for a in axes if a not in inner], initial=1.0)
            table = table + (self.residuals[inner] / spread).reshape([codes[a] if a in inner else 1 for a in axes])
        return table

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values, with all numbers that were released."""
        return {
            "publication": self.name,
            "table": self.offer.table,
            "counted": self.offer.counted,
            "columns": [one.name for one in self.offer.columns],
            "sets": [list(self.offer.names(axes)) for axes in self.offer.wanted],
            "price": self.price.to_dict(),
            "receipt": str(self.receipt),
            "versions": dict(self.versions),
            "released": [list(one) for one in self.released],
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return what it is, in words."""
        return [
            (
                "published",
                f"{several(len(self.offer.wanted), 'table')} of {self.offer.table}, {self.offer.cells:,} cells",
            ),
            ("of", None if not self.offer.rows else f"rows of everybody who has {self.offer.rows[-1]} at most"),
            ("cost", str(self.price)),
            ("receipt", str(self.receipt)),
        ]

    def __repr__(self) -> str:
        return f"<publication of {self.offer.table}: {several(len(self.offer.wanted), 'table')}, {self.price}>"
