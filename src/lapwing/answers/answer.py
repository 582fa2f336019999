"""A question at its price, and the answer to it: values, margins, price, receipt, and a sentence that says it.

An answer is made of released numbers alone. Whatever is computed from it is free.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from lapwing.accounting.filters.cost import cost_of_event
from lapwing.accounting.rounding import float_above
from lapwing.answers.releases import Cell, Number, Numbers, Release
from lapwing.ledger.chain import Receipt
from lapwing.queries.aggregate import BinnedKey, GridKey, Key, Label
from lapwing.queries.explain import explain, words
from lapwing.queries.plan import Distinct, Plan, Quantiles, Steps, Top
from lapwing.queries.predicate import InSpans
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.event import Composed, Event
from lapwing.vocabulary.event_record import to_record
from lapwing.vocabulary.exact import Exact, probability

CONFIDENCE = Fraction(95, 100)
_LARGE = 1000


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

    def __str__(self) -> str:
        if self.epsilon is None:
            return f"rho {brief(self.rho or 0)}"
        return f"epsilon {brief(self.epsilon)}" + (f" and delta {float(self.delta):.3g}" if self.delta else "")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One or more plans, each with its release, asked together and charged as one."""

    releases: Mapping[str, Release]

    @property
    def event(self) -> Event:
        """What is charged."""
        events = [release.event for release in self.releases.values()]
        return events[0] if len(events) == 1 else Composed(parts=tuple(events))

    @property
    def text(self) -> str:
        """The canonical text: equal for what is the same question at the same price."""
        parts = [[json.loads(one.plan.canonical), to_record(one.event)] for one in self.releases.values()]
        return json.dumps(parts, ensure_ascii=True, separators=(",", ":"), sort_keys=True)

    @property
    def tables(self) -> frozenset[str]:
        """Every table that is read."""
        return frozenset(table for one in self.releases.values() for table in tables_of(one.plan.aggregate))

    @property
    def words(self) -> str:
        """What is asked, in plain English."""
        asked = [explain(one.plan).partition("\n")[0].removeprefix("Asked: ").rstrip(".") for one in self.several()]
        return "; ".join(dict.fromkeys(asked))

    def several(self) -> Iterator[Release]:
        """Go through the releases."""
        return iter(self.releases.values())

    def margin(self, confidence: Exact = CONFIDENCE) -> Mapping[str, Number | None]:
        """Return, for each column, how far off its numbers are at most; None where that depends on what comes out."""
        return {name: one.margin(confidence) for name, one in self.releases.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of an answer: what it is about, and a value with its bounds for each column."""

    key: tuple[str | int | bool | None, ...]
    cells: Mapping[str, Cell]

    def __getitem__(self, column: str) -> Number | str:
        return self.cells[column].value


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What was told.

    Parameters
    ----------
    asked : the question, at its price
    numbers : what was released for each column
    receipt : the proof that it was charged; None in a rehearsal
    versions : the data version of each table it was answered from
    free : whether it had been answered before, so that nothing was charged
    rehearsal : whether it was answered from made-up rows
    """

    asked: Asked
    numbers: Mapping[str, Numbers]
    receipt: Receipt | None
    versions: Mapping[str, int]
    free: bool = False
    rehearsal: bool = False
    change: Callable[[Any], Any] | None = None

    @property
    def value(self) -> Any:
        """The value, of an answer that has one."""
        if len(self.rows) != 1 or len(self.asked.releases) != 1:
            raise BadQuestionError(
                f"this answer has {len(self.rows)} rows and {len(self.asked.releases)} columns; read its rows"
            )
        return self.rows[0][next(iter(self.asked.releases))]

    @property
    def price(self) -> Price:
        """What the question cost, when it was charged."""
        return Price.of(self.asked.event)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The names of what rows are told apart by."""
        return _key_names(next(self.asked.several()).plan)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The rows, sorted by their keys, with bounds that all hold at once with 95 % confidence."""
        return self.bounded(CONFIDENCE)

    def bounded(self, confidence: Exact) -> tuple[Row, ...]:
        """Return the rows with bounds that, within a column, all hold at once with this confidence."""
        plan = next(self.asked.several()).plan
        table: dict[tuple[Label, ...], dict[str, Cell]] = {}
        for name, release in self.asked.releases.items():
            for cell in release.cells(self.numbers[name], confidence):
                table.setdefault(cell.key, {})[name] = self._changed(cell)
        in_order = table if _has_own_order(plan) else sorted(table, key=lambda key: tuple(map(_place, key)))
        return tuple(Row(key=_shown(plan, key), cells=table[key]) for key in in_order)

    def margin(self, confidence: Exact = CONFIDENCE, *, column: str | None = None) -> Number | None:
        """Return how far off all numbers of a column are at most, with this confidence; None where it is not known.

        Of a quantile or a top category it says how many rows, or people, the choice may be away from the best one.
        """
        if self.change is not None:
            return None
        margins = self.asked.margin(confidence)
        margin = margins[next(iter(margins)) if column is None else column]
        if margin is None and len(self.rows) == 1:
            low, high = self.interval(confidence, column=column)
            return None if low is None or high is None else (high - low) / 2
        return margin

    def interval(
        self, confidence: Exact = CONFIDENCE, *, column: str | None = None
    ) -> tuple[Number | None, Number | None]:
        """Return the bounds of the one value of a column; None where they are not known."""
        rows = self.bounded(probability("confidence", confidence))
        if len(rows) != 1:
            raise BadQuestionError(f"this answer has {len(rows)} rows; read the bounds of each: bounded({confidence})")
        cell = rows[0].cells[next(iter(self.asked.releases)) if column is None else column]
        return cell.low, cell.high

    def map(self, function: Callable[[Any], Any]) -> "Answer":
        """Return the answer with every value changed by `function`. It is free; bounds and margins are dropped."""
        before = self.change
        change = function if before is None else lambda value: function(before(value))
        return replace(self, change=change)

    @property
    def sentence(self) -> str:
        """The answer in plain English."""
        prefix = "Rehearsed on made-up rows: " if self.rehearsal else ""
        paid = "asked before, so it was free" if self.free else f"for {self.price}"
        paid = "for nothing" if self.rehearsal else paid
        if len(self.rows) == 1 and len(self.asked.releases) == 1:
            margin = self.margin()
            error = "" if margin is None else f", within {brief(margin)} with 95 % confidence"
            value = self.value if isinstance(self.value, str) else brief(self.value)
            return f"{prefix}{self.asked.words}: {value}{error}, {paid}."
        return f"{prefix}{self.asked.words}: {len(self.rows)} rows, {paid}."

    def to_json(self, confidence: Exact = CONFIDENCE) -> str:
        """Return the answer as JSON, with bounds that hold with this confidence."""
        return json.dumps(self.record(confidence), ensure_ascii=False)

    def record(self, confidence: Exact = CONFIDENCE) -> dict[str, Any]:
        """Return the answer as JSON values: whole numbers as such, other exact numbers as text, never rounded."""
        return {
            "asked": self.asked.words,
            "keys": list(self.keys),
            "columns": list(self.asked.releases),
            "rows": [
                {"key": list(row.key), "values": {name: _cell_record(cell) for name, cell in row.cells.items()}}
                for row in self.bounded(confidence)
            ],
            "confidence": exactly(probability("confidence", confidence)),
            "margin": {name: exactly(self.margin(confidence, column=name)) for name in self.asked.releases},
            "price": {
                "epsilon": exactly(self.price.epsilon),
                "delta": exactly(self.price.delta),
                "rho": None if self.price.rho is None else float_above(self.price.rho),
            },
            "receipt": None if self.receipt is None else str(self.receipt),
            "versions": dict(self.versions),
            "free": self.free,
            "rehearsal": self.rehearsal,
        }

    def __str__(self) -> str:
        if len(self.rows) == 1 and len(self.asked.releases) == 1:
            return self.sentence
        lines = [[*self.keys, *self.columns]]
        for row in self.rows:
            values = (_spoken(row[column]) if column in row.cells else "" for column in self.columns)
            lines.append([*map(_spoken, row.key), *values])
        widths = [max(map(len, texts)) for texts in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(str.rjust, line, widths)) for line in lines)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.asked.releases)

    def _changed(self, cell: Cell) -> Cell:
        if self.change is None:
            return cell
        return Cell(key=cell.key, value=self.change(cell.value), low=None, high=None)


def brief(number: Number) -> str:
    """Return a number for people to read.

    >>> brief(1234567), brief(Fraction(1, 10)), brief(Fraction(1, 3)), brief(2.5), brief(Fraction(12345, 2))
    ('1,234,567', '0.1', '0.3333', '2.5', '6,172.5')
    """
    if isinstance(number, int):
        return f"{number:,}"
    return f"{float(number):,.1f}" if abs(float(number)) >= _LARGE else f"{float(number):.4g}"


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


def _key_names(plan: Plan) -> tuple[str, ...]:
    match plan.meaning:
        case Steps():
            return ("step",)
        case Quantiles():
            return ("quantile",)
        case Top():
            return ("rank",)
        case Distinct():
            return ()
        case _:
            return tuple(key.column for key in plan.aggregate.keys if not isinstance(key, GridKey))


def _has_own_order(plan: Plan) -> bool:
    return isinstance(plan.meaning, Steps | Quantiles | Top)


def _place(label: Label) -> tuple[bool, Any]:
    return label is None, 0 if label is None else label


def _shown(plan: Plan, key: tuple[Label, ...]) -> tuple[str | int | bool | None, ...]:
    if _has_own_order(plan):
        return tuple(part for part in key if not isinstance(part, tuple))
    return tuple(_named(kind, part) for kind, part in zip(plan.aggregate.keys, key, strict=False))


def _named(kind: Key, label: Label) -> str | int | bool | None:
    if isinstance(kind, BinnedKey) and isinstance(label, tuple):
        span = words(InSpans(column=kind.column, line=kind.line, spans=(label,)))
        return span.removeprefix(f"{kind.column} is ")
    return None if isinstance(label, tuple) else label


def _cell_record(cell: Cell) -> dict[str, Any]:
    return {"value": exactly(cell.value), "low": exactly(cell.low), "high": exactly(cell.high)}


def exactly(value: Any) -> Any:
    """Return a value as JSON can hold it without a loss: a fraction as a decimal if it is one, else as a ratio.

    >>> exactly(Fraction(1, 10)), exactly(Fraction(1, 3)), exactly(Fraction(4)), exactly(2.5), exactly(None)
    ('0.1', '1/3', '4', 2.5, None)
    """
    if not isinstance(value, Fraction):
        return value
    places = max(value.denominator.bit_length(), 1)
    scaled = value * 10**places
    if scaled.denominator != 1:
        return str(value)
    whole, rest = divmod(abs(scaled.numerator), 10**places)
    digits = f"{rest:0{places}d}".rstrip("0")
    return f"{'-' if value < 0 else ''}{whole}" + (f".{digits}" if digits else "")


def _spoken(value: Any) -> str:
    if value is None:
        return "(missing)"
    return value if isinstance(value, str) else str(value) if isinstance(value, bool) else brief(value)
