"""A question at its price, and its answer: values, margins, price, receipt, and a sentence that says it.

Several plans can be asked together and charged as one. An answer is made of released numbers alone: whatever is
computed from it is free.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from importlib import import_module
from typing import Any

from lapwing.accounting.filters.charge import cost_of_event
from lapwing.accounting.rounding import float_above
from lapwing.answers.cells import cell_record, cell_text, reach, rows_names
from lapwing.answers.releases import Numbers, Release
from lapwing.answers.target import as_confidence
from lapwing.ledger.entries import Receipt
from lapwing.queries.arrangement import Arrangement
from lapwing.queries.plan import BoundedValue, CanonicalQuestion, CellKey, ChosenMeaning, Family, Number, Shown
from lapwing.vocabulary.codec import stored, to_text
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.event import Composed, Event
from lapwing.vocabulary.exact import Exact
from lapwing.vocabulary.results import Interval, Result, html_table
from lapwing.vocabulary.wording import format_exact, format_short, format_value, named, percent, rounded

CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a release costs: its pure epsilon if it has one, its delta, and its rho if it has one."""

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None

    @staticmethod
    def of(event: Event) -> "Price":
        """Return the price of an event."""
        cost = cost_of_event(event)
        return Price(epsilon=cost.epsilon, delta=cost.delta, rho=cost.rho)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; the rho, which may be irrational, rounded up."""
        rho = None if self.rho is None else float_above(self.rho)
        return {"epsilon": format_exact(self.epsilon), "delta": format_exact(self.delta), "rho": rho}

    def __str__(self) -> str:
        if self.epsilon is None:
            return f"rho {format_short(self.rho or 0)}"
        return f"epsilon {format_short(self.epsilon)}" + (f" and delta {float(self.delta):.3g}" if self.delta else "")


@stored("priced-plan")
class PricedPlan:
    """What is asked and what will happen, as a question stands in the ledger."""

    question: CanonicalQuestion
    event: Event


@dataclass(frozen=True, kw_only=True)
class PricedQuestion:
    """One or more plans, each with its release, asked together and charged as one.

    `arrangement` says how the rows of the answer are shown; it is no part of what is asked and charged.
    """

    releases: Mapping[str, Release]
    arrangement: Arrangement | None = None

    def __post_init__(self) -> None:
        if not self.releases:
            raise BadQuestionError("nothing is asked; ask for one number at least")
        groups = {(one.plan.key_names, one.plan.grouped_by) for one in self.several()}
        if len(groups) > 1 and not self.in_one_row:
            raise BadQuestionError(
                "what is asked together has different rows: groups, several quantiles, or several categories; ask for "
                "it one after the other"
            )

    @property
    def in_one_row(self) -> bool:
        """Whether several are asked that have one value each, of whatever kind: they stand in one row."""
        return len(self.releases) > 1 and all(one.plan.has_one_value for one in self.several())

    @property
    def event(self) -> Event:
        """What is charged."""
        events = [release.event for release in self.releases.values()]
        return events[0] if len(events) == 1 else Composed(parts=tuple(events))

    @property
    def text(self) -> str:
        """The canonical text: equal for what is the same question at the same price."""
        return to_text([PricedPlan(question=one.plan.question, event=one.event) for one in self.several()])

    @property
    def tables(self) -> frozenset[str]:
        """Every table that is read."""
        return frozenset(table for one in self.releases.values() for table in tables_of(one.plan.aggregate))

    @property
    def words(self) -> str:
        """What is asked, in plain English."""
        arranged = [self.arrangement.words] if self.arrangement is not None and self.arrangement.words else []
        return "; ".join(dict.fromkeys([*(one.plan.asked for one in self.several()), *arranged]))

    @property
    def bounding(self) -> str:
        """What the bounds leave out: how many rows and groups of a person count, and to what values are clipped."""
        return ", ".join(
            dict.fromkeys(phrase for one in self.several() for phrase in one.plan.meaning.bounds_away(one.plan))
        )

    @property
    def bounding_remark(self) -> str | None:
        """What the bounds leave out, and that the error does not tell of it; None if nothing is left out."""
        return f"{self.bounding}; the error is about noise only" if self.bounding else None

    @property
    def bounded_words(self) -> str:
        """What is asked, and within which bounds, in plain English."""
        return f"{self.words} ({self.bounding_remark})" if self.bounding else self.words

    @property
    def units(self) -> Mapping[str, str]:
        """What the margin of each column counts."""
        return {name: one.plan.meaning.unit for name, one in self.releases.items()}

    def several(self) -> Iterator[Release]:
        """Go through the releases."""
        return iter(self.releases.values())

    def margin(self, confidence: Exact = CONFIDENCE) -> Mapping[str, Number | None]:
        """Return, for each column, how far off its numbers are at most; None where that depends on what comes out."""
        return {name: one.margin(as_confidence(confidence)) for name, one in self.releases.items()}


def tables_of(noun: object) -> set[str]:
    """Return the tables that an aggregate reads: its own, and those its conditions look into."""
    found: set[str] = set()
    if isinstance(noun, tuple):
        return found.union(*map(tables_of, noun))
    if is_dataclass(noun):
        for field in fields(noun):
            part = getattr(noun, field.name)
            found |= {part} if field.name == "table" else tables_of(part)
    return found


MOST_SHOWN = 100
"""How many rows of a table are shown to people; all of them are in the answer."""


@dataclass(frozen=True, slots=True)
class Change:
    """A function that was applied to every value; a rising one may be applied to bounds as well."""

    function: Callable[[Any], Any]
    rising: bool

    def of(self, cell: BoundedValue) -> BoundedValue:
        """Return the cell after the change."""
        value = self.function(cell.value)
        if not self.rising or cell.low is None or cell.high is None:
            return replace(cell, value=value, low=None, high=None)
        low, high = self.function(cell.low), self.function(cell.high)
        if not low <= value <= high:
            raise BadQuestionError(f"this function falls between {cell.low} and {cell.high}; use map, without bounds")
        return replace(cell, value=value, low=low, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of an answer: what it is about, and a value with its bounds for each column."""

    key: tuple[Shown, ...]
    cells: Mapping[str, BoundedValue]

    def __getitem__(self, column: str) -> Any:
        return self.cells[column].value


@dataclass(frozen=True, kw_only=True, repr=False)
class Answer(Result):
    """What was told.

    Its bounds, at a confidence, hold for all numbers of a column *at once*, so that it does not matter which of them is
    looked at. There is one exception: of groups whose keys only the data knew, each has its bounds for itself, given
    that it is shown, and there is no margin. Several columns have each their own confidence. Bounds are about noise:
    they say how far a number is from what exact counting within the declared bounds would have told, and nothing about
    how well the table speaks for the world.

    `numbers` are what was released for each column, from these data `versions` of the tables; it is `free` if it had
    been answered before, and a `rehearsal` if made-up rows were asked. `changes` is what was computed from it since.
    """

    asked: PricedQuestion
    numbers: Mapping[str, Numbers]
    receipt: Receipt | Any  # the proof that it was charged; None in a rehearsal alone: nobody else need ask
    versions: Mapping[str, int]
    free: bool = False
    rehearsal: bool = False
    changes: tuple[Change, ...] = ()

    @property
    def value(self) -> Any:
        """The value, of an answer that has one."""
        if not self._is_single:
            raise BadQuestionError(
                f"this answer has {len(self.rows)} rows and {len(self.columns)} columns; read its rows"
            )
        return self.rows[0][self.columns[0]]

    @property
    def price(self) -> Price:
        """What the question cost, when it was charged."""
        return Price.of(self.asked.event)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The names of what rows are told apart by."""
        if self.asked.in_one_row:
            return ()
        plan, arrangement = next(self.asked.several()).plan, self.asked.arrangement
        if arrangement is None or not plan.meaning.keys_are_groups:
            return plan.key_names
        return plan.titled(arrangement.named(plan.group_names))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.asked.releases)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The rows, sorted by their keys, with bounds at 95 % confidence."""
        return self.bounded(CONFIDENCE)

    @property
    def left_out(self) -> int:
        """How many groups, of those whose keys only the data knew, reached the threshold and had no room."""
        told = [self.numbers[name] for name, one in self.asked.releases.items() if one.plan.family is Family.THRESHOLD]
        return sum(count for numbers in told for key, count in numbers if key is None)

    def bounded(self, confidence: Exact) -> tuple[Row, ...]:
        """Return the rows with bounds at this confidence: for a column at once, or for each shown group."""
        plan, arrangement = next(self.asked.several()).plan, self.asked.arrangement
        table: dict[CellKey, dict[str, BoundedValue]] = {}
        for name, release in self.asked.releases.items():
            for cell in release.values(self.numbers[name], as_confidence(confidence)):
                key = () if self.asked.in_one_row else cell.key
                cell = arrangement.told(name, cell) if arrangement is not None else cell  # noqa: PLW2901
                table.setdefault(key, {})[name] = reduce(lambda one, change: change.of(one), self.changes, cell)
        keys = plan.in_order(list(table))
        if arrangement is not None:
            keys = arrangement.shown(table, keys)
        return tuple(Row(key=plan.shown(key), cells=table[key]) for key in keys)

    def margin(self, confidence: Exact = CONFIDENCE, *, column: str | None = None) -> Number | None:
        """Return how far off all numbers of a column are at most, with this confidence; None where it is not known.

        Of a quantile or a top category it says how many rows, or people, the choice may be away from the best one.
        """
        name = self.columns[0] if column is None else column
        release = self.asked.releases[name]
        margin = None if self.changes else release.margin(confidence)
        if margin is not None or release.plan.family is Family.THRESHOLD:
            return margin
        cells = [row.cells[name] for row in self.bounded(confidence) if name in row.cells]
        return max((far for cell in cells if (far := reach(cell)) is not None), default=None)

    def interval(self, confidence: Exact = CONFIDENCE, *, column: str | None = None) -> Interval:
        """Return the bounds of the one value of a column; None where they are not known."""
        rows = self.bounded(confidence)
        if len(rows) != 1:
            raise BadQuestionError(f"this answer has {len(rows)} rows; read the bounds of each: bounded({confidence})")
        cell = rows[0].cells[self.columns[0] if column is None else column]
        return Interval(cell.low, cell.high)

    def map(self, function: Callable[[Any], Any]) -> "Answer":
        """Return the answer with every value changed by `function`; its bounds are dropped.

        It is free, and as private as before: receipt and price stay what they were.
        """
        return replace(self, changes=(*self.changes, Change(function, rising=False)))

    def map_monotone(self, function: Callable[[Any], Any]) -> "Answer":
        """Return the answer with every value and every bound changed by `function`, which must never fall.

        Rounding, clamping, adding and scaling by a positive number are such functions: what lies between two bounds
        before lies between their images afterwards. One that falls between bounds is refused where it is noticed.
        """
        return replace(self, changes=(*self.changes, Change(function, rising=True)))

    @property
    def sentence(self) -> str:
        """The answer in plain English."""
        words = f"{'computed from ' if self.changes else ''}{self.asked.bounded_words}"
        prefix = "Rehearsed on made-up rows: " if self.rehearsal else ""
        paid = "asked before, so it was free" if self.free else f"for {self.price}"
        paid = "for nothing" if self.rehearsal else paid
        told = format_value(self.value) if self._is_single else f"{len(self.rows)} rows"
        return f"{prefix}{words}: {told}{self._sure}, {paid}."

    @property
    def _is_single(self) -> bool:
        return len(self.rows) == 1 and len(self.columns) == 1

    @property
    def _sure(self) -> str:
        """How far off it is, in words."""
        if len(self.columns) > 1:
            return ""
        (release,) = self.asked.several()
        margin = None if self.changes else release.margin(CONFIDENCE)
        known = None if margin is None else release.plan.meaning.accuracy(margin)
        if known is None and self._is_single:
            low, high = self.interval()
            known = None if low is None or high is None else f"from {format_value(low)} to {format_value(high)}"
        sure = "" if known is None else f", {'' if self._is_single else 'all '}{known} with 95 % confidence"
        return f"{sure}, over {self._over}" if self._over else sure

    @property
    def _over(self) -> str:
        """Over how many rows the one value was computed, where that is told with it."""
        rows = self.rows[0].cells[self.columns[0]].rows if self._is_single else None
        return "" if rows is None else f"{rows.value:,} rows ({rows.low:,} to {rows.high:,})"

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """The columns whose values are told with the number of rows they were computed over."""
        cells = [(name, row.cells[name]) for row in self.rows for name in self.columns if name in row.cells]
        told = {name for name, cell in cells if cell.rows is not None}
        return tuple(name for name in self.columns if name in told)

    def to_json(self, confidence: Exact = CONFIDENCE) -> str:
        """Return the answer as JSON, with bounds that hold with this confidence."""
        return json.dumps(self.to_dict(confidence), ensure_ascii=False)

    def to_dict(self, confidence: Exact = CONFIDENCE) -> dict[str, Any]:
        """Return the answer as JSON values: exact numbers as they are or as text, and `rounded` ones beside them."""
        return {
            "asked": self.asked.words,
            "bounding": self.asked.bounding,
            "keys": list(self.keys),
            "columns": list(self.asked.releases),
            "rows": [
                {"key": list(row.key), "values": {name: cell_record(cell) for name, cell in row.cells.items()}}
                for row in self.bounded(confidence)
            ],
            "confidence": format_exact(as_confidence(confidence)),
            "margin": {name: format_exact(self.margin(confidence, column=name)) for name in self.asked.releases},
            "margin_rounded": {name: rounded(self.margin(confidence, column=name)) for name in self.asked.releases},
            "unit": dict(self.asked.units),
            "price": self.price.to_dict(),
            "receipt": None if self.receipt is None else str(self.receipt),
            "versions": dict(self.versions),
            "free": self.free,
            "rehearsal": self.rehearsal,
            "left_out": self.left_out,
        }

    def facts(self, confidence: Exact = CONFIDENCE) -> list[tuple[str, str | None]]:
        """Return what there is to say about its numbers: how far off they are, what was asked, what it cost."""
        paid = f"nothing: it was asked before, for {self.price}" if self.free else str(self.price)
        return [
            ("error", self._error(confidence)),
            ("counted", f"{self._over}, told by the same release" if self._over else None),
            ("asked", self.asked.words),
            ("bounded", self.asked.bounding_remark),
            ("cost", "nothing: it was rehearsed on made-up rows, and is about nobody" if self.rehearsal else paid),
        ]

    def _error(self, confidence: Exact) -> str | None:
        """Say how far off it is, where the bounds of its rows do not say all."""
        plan = next(self.asked.several()).plan
        if plan.family is Family.THRESHOLD:
            return "bounds are those of each group for itself, given that it is shown; one barely shown may be small"
        margin = self.margin(confidence)
        if margin is None or not isinstance(plan.meaning, ChosenMeaning):
            return None
        told = plan.meaning.told.format(margin=format_short(margin))
        return f"{told}, with {percent(as_confidence(confidence))} confidence"

    def _repr_html_(self) -> str:
        return html_table(self._header, self._lines(), self.sentence)

    def to_rows(self, confidence: Exact = CONFIDENCE) -> list[dict[str, Any]]:
        """Return a record for each row: its keys, and for each column the value, its `low` and its `high` bound.

        Where a column is told with the number of rows it was computed over, that has columns of its own.
        """
        told = [(name, False) for name in self.columns] + [(name, True) for name in self.counted]
        titles = [*self.columns, *rows_names(self.counted)]
        names = _distinct([*self.keys, *(f"{title}{end}" for title in titles for end in ("", "_low", "_high"))])
        rows = []
        for row in self.bounded(confidence):
            found = ((row.cells.get(name), of_rows) for name, of_rows in told)
            cells = (cell.rows if cell and of_rows else cell for cell, of_rows in found)
            values = (v for cell in cells for v in ((cell.value, cell.low, cell.high) if cell else (None, None, None)))
            rows.append(dict(zip(names, (*row.key, *values), strict=True)))
        return rows

    def to_pandas(self, confidence: Exact = CONFIDENCE) -> Any:
        """Return the rows as a pandas.DataFrame; exact fractions become floats."""
        return as_frame("pandas", self.to_rows(confidence))

    def to_polars(self, confidence: Exact = CONFIDENCE) -> Any:
        """Return the rows as a polars.DataFrame; exact fractions become floats."""
        return as_frame("polars", self.to_rows(confidence))

    def __repr__(self) -> str:
        told = cell_text(self.rows[0].cells[self.columns[0]]) if self._is_single else f"{len(self.rows)} rows"
        return f"<{'rehearsed ' if self.rehearsal else ''}answer: {told}, {'free' if self.free else self.price}>"

    def __str__(self) -> str:
        if self._is_single and (not self.keys or next(self.asked.several()).plan.meaning.told_in_a_sentence):
            return self.sentence
        lines = [self._header, *self._lines()]
        widths = [max(map(len, texts)) for texts in zip(*lines, strict=True)]
        return "\n".join([*("  ".join(map(str.rjust, line, widths)) for line in lines), *self.beyond])

    @property
    def _header(self) -> list[str]:
        return [*self.keys, *self.columns, *rows_names(self.counted)]

    def _lines(self) -> Iterator[list[str]]:
        for row in self.rows[:MOST_SHOWN]:
            cells = [row.cells.get(column) for column in self.columns]
            cells += [one and one.rows for one in (row.cells.get(column) for column in self.counted)]
            yield [*map(named, row.key), *("" if cell is None else cell_text(cell) for cell in cells)]

    @property
    def beyond(self) -> list[str]:
        """What a table of `MOST_SHOWN` rows, for people to read, does not show: lines to put below it."""
        hidden = len(self.rows) - MOST_SHOWN
        rows = [f"... and {hidden} more rows: all are in the JSON and in data frames"] if hidden > 0 else []
        groups = [f"... and {self.left_out} smaller groups, for which there was no room"] if self.left_out else []
        return rows + groups


def _distinct(names: list[str]) -> list[str]:
    """Return the names with a number after those that are there already."""
    return [name if name not in names[:i] else f"{name}_{names[:i].count(name) + 1}" for i, name in enumerate(names)]


def as_frame(library: str, rows: list[dict[str, Any]]) -> Any:
    """Return rows as a table of a library that may not be installed; exact fractions become floats."""
    try:
        module = import_module(library)
    except ImportError:
        raise BadQuestionError(f"{library} is not installed; read to_rows(), or install {library}") from None
    plain = [{name: float(v) if isinstance(v, Fraction) else v for name, v in row.items()} for row in rows]
    return module.DataFrame(plain)
