"""An answer: values, margins, price, receipt, and a sentence in words.

It is made of released numbers alone: all that is computed from it is post-processing, and free.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.answers.cells import (
    Change,
    Row,
    cell_record,
    cell_text,
    cell_words,
    ends,
    no_column,
    outwards,
    reach,
    rows_names,
    text_table,
)
from lapwing.answers.computed_columns import computed_columns
from lapwing.answers.frames import FrameColumn, TableResult, key_columns
from lapwing.answers.pictures import draw_below, draw_figure
from lapwing.answers.releases import (
    CONFIDENCE,
    Numbers,
    Price,
    PricedQuestion,
    keys_left_out,
    shown_record,
    shown_words,
)
from lapwing.ledger.entries import Receipt
from lapwing.queries.planning.plan import BoundedValue, CellKey, ChosenMeaning, Family, Number, Shown, Steps
from lapwing.queries.planning.presentation import AS_IT_IS, LabelledRows, Quotient
from lapwing.show.canvas import checked_path
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_confidence, as_written, exact, float_above, float_below
from lapwing.vocabulary.results import Interval, html_table
from lapwing.vocabulary.wording import format_exact, format_short, named, percent, rounded, several

if TYPE_CHECKING:
    from lapwing.bayes.posterior import Posterior, Prior

MOST_SHOWN = 100
"""How many rows of a table are shown to people; all of them are in the answer."""
_MOST_IN_SHORT = 20


@dataclass(frozen=True, kw_only=True, repr=False)
class Answer(TableResult):
    """A released answer: `float(answer)` is its number, `answer["n"]` a column, and `for row in answer` has its rows.

    Its bounds, at a confidence, hold for all numbers of a column *at once*, so that it does not matter which of them is
    looked at. There is one exception: of groups whose keys only the data knew, each has its bounds for itself, given
    that it is shown, and there is no margin. Several columns have each their own confidence. Bounds are about noise:
    they say how far a number is from the exact result within the contribution bounds, and nothing about how well the
    table represents the world.

    `numbers` are what was released for each column, from these data `versions` of the tables; it is `free` if it had
    been answered before, and a `rehearsal` if made-up rows were asked. `changes` is what was computed from it since.
    """

    asked: PricedQuestion
    numbers: Mapping[str, Numbers]
    receipt: Receipt | Any  # the proof that it was charged; None in a rehearsal alone
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

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, column: str) -> list[Any]:
        if column not in (*self.keys, *self.columns):
            raise no_column(column, [*self.keys, *self.columns])
        return [row[column] if column in (*row.names, *row.cells) else None for row in self.rows]

    @property
    def price(self) -> Price:
        """The price of the question, when it was charged."""
        return self.asked.price

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The names of the key columns, which identify a row."""
        labelled = self._labelled
        if self.asked.in_one_row:
            return () if labelled is None else labelled.names
        plan, arrangement = next(self.asked.several()).plan, self.asked.arrangement
        if arrangement is None or not plan.meaning.keys_are_groups:
            return plan.key_names
        return plan.titled(arrangement.named(plan.group_names))

    @property
    def _labelled(self) -> LabelledRows | None:
        return (self.asked.arrangement or AS_IT_IS).labelled

    @property
    def _steps(self) -> Steps:
        return (self.asked.arrangement or AS_IT_IS).steps

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.asked.columns

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The rows, sorted by their keys, with bounds at 95 % confidence."""
        return self.bounded(CONFIDENCE)

    @property
    def left_out(self) -> int:
        """How many groups, of those whose keys only the data knew, reached the threshold and had no room."""
        told = {id(one.source): self.numbers[name] for name, one in self.asked.releases.items()}
        return sum(map(keys_left_out, told.values()))

    def bounded(self, confidence: Exact) -> tuple[Row, ...]:
        """Return the rows with bounds at this confidence: for a column at once, or for each shown group."""
        plan, arrangement = next(self.asked.several()).plan, self.asked.arrangement
        table: dict[CellKey, dict[str, BoundedValue]] = {}
        wanted, labelled = as_confidence(confidence), self._labelled
        wanted = wanted if labelled is None else labelled.confidence_of_each(wanted)
        beside = (arrangement or AS_IT_IS).beside
        for name in (one for one in self.asked.releases if one not in beside):
            for cell in self.asked.values(name, self.numbers[name], wanted):
                key = () if self.asked.in_one_row else cell.key
                table.setdefault(key, {})[name] = reduce(lambda one, change: change.of(one), self.changes, cell)
        keys = plan.in_order(list(table))
        if arrangement is not None:
            for name, cells in computed_columns(self.asked, self.numbers, table, keys, wanted):
                for cell in cells:
                    changed = reduce(lambda one, change: change.of(one), self.changes, cell)
                    table.setdefault(cell.key, {})[name] = changed
            table = table if labelled is None else labelled.table(table[()])
            keys = list(table) if labelled is not None else plan.in_order(list(table))
            keys = arrangement.shown(table, arrangement.kept(table, keys, plan.grouped_by))
        names, columns, steps = self.keys, self.columns, self._steps
        told = {key: {name: table[key][name] for name in columns if name in table[key]} for key in keys}
        labels = plan.shown if labelled is None else _as_labels
        return tuple(Row(key=labels(key, steps), cells=told[key], names=names, cell=key) for key in keys)

    def ratio(self, over: str, under: str, *, times: Exact = 1, name: str = "ratio") -> "Answer":
        """Return the one column over the other, `times` a number, with its bounds; it is free.

        The bounds are those of the noise of both together. Ask for both at once, so that they share a release: then no
        bounds are tighter. Where noise leaves nothing to divide by, it is 0, or the middle of what it can be.
        """
        for column in (over, under):
            if column not in self.asked.releases:
                raise no_column(column, tuple(self.asked.releases))
        made = Quotient(((over, exact("times", as_written(times))),), ((under, Fraction(1)),))
        arrangement = replace(self.asked.arrangement or AS_IT_IS, columns=(name,), made={name: made})
        return replace(self, asked=replace(self.asked, arrangement=arrangement))

    def margin(self, confidence: Exact = CONFIDENCE, *, column: str | None = None) -> Number | None:
        """Return how far off all numbers of a column are at most, with this confidence; None where it is not known.

        Of a quantile or a top category it says how many rows, or people, the choice may be away from the best one.
        """
        return outwards(self._margin(confidence, self._column(column)), float_above)

    def _column(self, name: str | None) -> str:
        if name is not None and name not in self.columns:
            raise no_column(name, self.columns)
        return name or self.columns[0]

    def _margin(self, confidence: Exact, name: str) -> Number | None:
        release = self.asked.releases.get(name)
        margin = None if self.changes or release is None else release.margin(confidence)
        if margin is not None or (release is not None and release.plan.family is Family.THRESHOLD):
            return margin
        cells = [row.cells[name] for row in self.bounded(confidence) if name in row.cells]
        return max((far for cell in cells if (far := reach(cell)) is not None), default=None)

    def interval(self, confidence: Exact = CONFIDENCE, *, column: str | None = None) -> Interval:
        """Return the bounds of the one value of a column; None where they are not known."""
        rows = self.bounded(confidence)
        if len(rows) != 1:
            raise BadQuestionError(f"this answer has {len(rows)} rows; read the bounds of each: bounded({confidence})")
        cell = rows[0].cells[self._column(column)]
        return Interval(outwards(cell.low, float_below), outwards(cell.high, float_above))

    def posterior(self, prior: "Prior" = None, *, row: object = None, column: str | None = None) -> "Posterior":
        """Return what to believe of one number after this answer, by the exact law of the noise. It is free.

        It is of a count or a total, of the proportion behind a table, or of the mean in it. Its intervals hold on
        average over the prior, and not for every truth as those of the answer do. Two posteriors have a difference,
        `a - b`, and a quotient, `a / b`.

        Parameters
        ----------
        prior : flat(low, high), or for a proportion beta(2, 8); or a function that gives a weight for each value of an
            array; by default all numbers that there can be are alike, and a proportion has Jeffreys' prior
        row, column : which number, where there are several: what its row is about, and the name of its column
        """
        from lapwing.bayes.posterior import posterior_of  # noqa: PLC0415 - most answers are never asked for it

        if column is not None and column not in self.columns:
            raise no_column(column, self.columns)
        return posterior_of(self, prior, row, column)

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
        mark = ", cut" if self._is_single and self.asked.cut else ""
        told = cell_words(self._only_cell)[0] if self._is_single else f"{len(self.rows)} rows"
        return f"{prefix}{words}: {told}{self._sure}{mark}, {paid}."

    @cached_property
    def _is_single(self) -> bool:
        return len(self.rows) == 1 and len(self.columns) == 1

    @property
    def _only_cell(self) -> BoundedValue:
        return self.rows[0].cells[self.columns[0]]

    def _number(self) -> Number:
        value = self.value
        if isinstance(value, str):
            raise BadQuestionError(f"this answer is a name, {value!r}, and no number; read its value")
        if value is None:
            raise BadQuestionError("this answer is missing: there may be nobody it is about; read its interval()")
        number: Number = value
        return number

    @property
    def _sure(self) -> str:
        """The accuracy in words."""
        if len(self.columns) > 1:
            return ""
        release, made = next(self.asked.several()), self.columns[0] not in self.asked.releases
        margin = None if self.changes or made else release.margin(CONFIDENCE)
        say = release.plan.meaning.accuracy if self._is_single else release.plan.meaning.accuracy_of_all
        known = None if margin is None else say(margin)
        chosen = isinstance(release.plan.meaning, ChosenMeaning)
        if self._is_single and (known is None or chosen):  # a rank is less informative than values
            _, low, high, _ = cell_words(self._only_cell)
            known = f"from {low} to {high}" if low and high else known
        sure = "" if known is None else f", {known} with 95 % confidence"
        return f"{sure}, over {self._over}" if self._over else sure

    @property
    def _over(self) -> str:
        """The number of rows that the one value was computed over, where it was released too."""
        rows = self.rows[0].cells[self.columns[0]].rows if self._is_single else None
        return "" if rows is None else f"{rows.value:,} rows ({rows.low:,} to {rows.high:,})"

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """The columns that are shown with the number of rows they were computed over.

        Of columns over the same rows one is enough, and none is needed where a column is this number.
        """
        cells = [(name, row.cells[name]) for row in self.rows for name in self.columns if name in row.cells]
        told = {name for name, cell in cells if cell.rows is not None}
        seen = {one.over for one in self.asked.several() if one.meaning.counts_rows}
        counted = list[str]()
        for name in self.columns:
            release = self.asked.releases.get(name)
            over = None if release is None else release.over
            if name in told and over not in seen:
                counted.append(name)
                seen.add(over)
        return tuple(counted)

    def to_json(self, confidence: Exact = CONFIDENCE) -> str:
        """Return the answer as JSON, with bounds that hold with this confidence."""
        return json.dumps(self.to_dict(confidence), ensure_ascii=False)

    def to_dict(self, confidence: Exact = CONFIDENCE) -> dict[str, Any]:
        """Return the answer as JSON values: exact numbers as they are or as text, and `rounded` ones as well."""
        return {
            "asked": self.asked.words,
            "bounding": self.asked.bounding,
            "cut": list(self.asked.cut),
            "cut_table": self.asked.cut_table,
            "keys": list(self.keys),
            "columns": list(self.columns),
            "rows": [
                {"key": list(row.key), "values": {name: cell_record(cell) for name, cell in row.cells.items()}}
                for row in self.bounded(confidence)
            ],
            "confidence": format_exact(as_confidence(confidence)),
            "margin": {name: format_exact(self._margin(confidence, name)) for name in self.columns},
            "margin_rounded": {name: rounded(self._margin(confidence, name)) for name in self.columns},
            "unit": dict(self.asked.units),
            "price": self.price.to_dict(),
            "receipt": None if self.receipt is None else str(self.receipt),
            "versions": dict(self.versions),
            "free": self.free,
            "rehearsal": self.rehearsal,
            "left_out": self.left_out,
            **shown_record(self.asked.shown_from(confidence)),
        }

    def facts(self, confidence: Exact = CONFIDENCE) -> list[tuple[str, str | None]]:
        """Return facts about the answer, by name: its error, the question in words, its price."""
        paid = f"nothing: it was asked before, for {self.price}" if self.free else str(self.price)
        return [
            ("error", self._error(confidence)),
            ("counted", f"{self._over}, told by the same release" if self._over else None),
            ("asked", self.asked.words),
            ("bounded", self.asked.bounding_remark),
            ("cut", self._how_much),
            ("cost", "nothing: it was rehearsed on made-up rows, and is about nobody" if self.rehearsal else paid),
        ]

    @property
    def _how_much(self) -> str | None:
        """How to find out how much a bound of rows has cut."""
        table = self.asked.cut_table
        if table is None:
            return None
        told = "says how much, for the price of a count"
        return f'rows_a_person("{table}") in Python, or lapwing rows-a-person {table}, {told}'

    def _error(self, confidence: Exact) -> str | None:
        """Return a remark on the accuracy, where the bounds of the rows are not all of it."""
        plan = next(self.asked.several()).plan
        if plan.family is Family.THRESHOLD:
            return "bounds are those of each group for itself, given that it is shown; one barely shown may be small"
        margin = next(self.asked.several()).margin_of_choice(as_confidence(confidence))
        if margin is None or self.changes or not isinstance(plan.meaning, ChosenMeaning):
            return None
        told = plan.meaning.told.format(margin=format_short(margin))
        return f"{told}, with {percent(as_confidence(confidence))} confidence"

    def notes(self) -> dict[str, Any]:
        """Return the columns that contribution bounds may have cut, and what these bounds leave out."""
        return {"cut": list(self.asked.cut), "bounding": self.asked.bounding} if self.asked.cut else {}

    def frame_columns(self, confidence: Exact) -> list[FrameColumn]:
        """Return the columns of the table: its keys, and each number with its bounds."""
        rows, plan = self.bounded(confidence), next(self.asked.several()).plan
        columns = (
            key_columns(plan, self.keys, [row.cell for row in rows], self._steps)
            if self._labelled is None
            else [FrameColumn.of(name, [row.key[place] for row in rows]) for place, name in enumerate(self.keys)]
        )
        told = [self._told(row) for row in rows]
        for place, name in enumerate(self.titles):
            cells = [of_row[place] for of_row in told]
            missing = any(cell is not None and cell.value is None for cell in cells)  # only of what has fractions
            values = FrameColumn.of(name, [cell and cell.value for cell in cells], float if missing else int)
            lows, highs = ([cell and ends(cell)[end] for cell in cells] for end in (0, 1))
            like = values.kind if values.kind is int else float
            three = [values, FrameColumn.of(f"{name}_low", lows, like), FrameColumn.of(f"{name}_high", highs, like)]
            whole = all(one.kind is not float for one in three)  # a value and its bounds have one type
            columns += [one if whole or one.kind is not int else replace(one, kind=float) for one in three]
        return columns

    def plot(self, path: str | Path | None = None, *, confidence: Exact = CONFIDENCE) -> Any:
        """Draw all its numbers with their bounds, save the picture if a `path` is given, and return the figure.

        Counts and totals are bars, other statistics dots with intervals; years, months and quarters make a line. It
        needs matplotlib: pip install 'lapwing[plots]'.
        """
        file = checked_path("picture.png" if path is None else path)
        rows, place = self.bounded(confidence), None if path is None else file
        return draw_figure(self.asked, rows, made_up=self.rehearsal, confidence=confidence, path=place)

    def _repr_html_(self) -> str:
        header = [*self.keys, *(title for name in self.titles for title in (name, "95 % interval"))]
        lines = [[*map(named, row.key), *self._parts(row)] for row in self.rows[:MOST_SHOWN]]
        table = html_table(header, [*lines, *([line] for line in self.beyond)], self.sentence)
        return table + draw_below(self.asked, self.rows)

    def _parts(self, row: Row) -> Iterator[str]:
        """Go through the values of a row, each with its interval behind it."""
        for cell, mark in self._marked(row):
            value, low, high, _ = ("", "", "", "") if cell is None else cell_words(cell)
            yield from (f"{value}{mark}" if value else "", f"{low} to {high}" if low and high else "")

    def __repr__(self) -> str:
        mark = ", cut" if self.asked.cut else ""
        told = f"{cell_text(self._only_cell)}{mark}" if self._is_single else several(len(self.rows), "row")
        line = f"<{'rehearsed ' if self.rehearsal else ''}answer: {told}, {'free' if self.free else self.price}>"
        return line if self._is_single else "\n".join([*self._table(_MOST_IN_SHORT), line])

    def __str__(self) -> str:
        if self._is_single and (not self.keys or next(self.asked.several()).plan.meaning.told_in_a_sentence):
            return self.sentence
        return "\n".join([*self._table(), *self.beyond])

    def _table(self, most: int = MOST_SHOWN) -> list[str]:
        """Return the lines of a table for people to read; of more rows than `most` the first and the last."""
        shown = self.rows[:MOST_SHOWN] if most == MOST_SHOWN else self.rows
        lines = [
            [*map(named, row.key), *(f"{cell_text(cell)}{mark}" if cell else "" for cell, mark in self._marked(row))]
            for row in shown
        ]
        if len(lines) > most:
            lines = [*lines[: most - most // 2], ["..." for _ in lines[0]], *lines[len(lines) - most // 2 :]]
        return text_table([*self.keys, *self.titles], lines)

    @property
    def titles(self) -> list[str]:
        """The names of all numbers of a row: its columns, and over how many rows some of them were computed."""
        return [*self.columns, *rows_names(self.counted)]

    def _told(self, row: Row) -> list[BoundedValue | None]:
        """Return the numbers of a row, in the order of `titles`."""
        cells = [row.cells.get(column) for column in self.columns]
        return cells + [one and one.rows for one in (row.cells.get(column) for column in self.counted)]

    def _marked(self, row: Row) -> Iterator[tuple[BoundedValue | None, str]]:
        """Go through the numbers of a row, each with the mark of those that bounds may have cut."""
        names = [*self.columns, *self.counted]
        for name, cell in zip(names, self._told(row), strict=True):
            yield cell, ", cut" if name in self.asked.cut else ""

    @property
    def beyond(self) -> list[str]:
        """Footnotes of a table of `MOST_SHOWN` rows: the rows and groups that it leaves out, and why."""
        hidden = len(self.rows) - MOST_SHOWN
        rows = [f"... and {hidden} more rows: all are in the JSON and in data frames"] if hidden > 0 else []
        groups = [f"... and {self.left_out} smaller groups, for which there was no room"] if self.left_out else []
        told = {shown_words(*one) for one in self.asked.shown_from(CONFIDENCE).values()}
        cut = [f"cut: {self.asked.bounding_remark}"] if self.asked.cut and self.asked.bounding else []
        return [*rows, *groups, *sorted(told), *cut]


def _as_labels(key: CellKey, _: Steps) -> tuple[Shown, ...]:
    """Return the labels of a row that a SELECT gave it."""
    return tuple(part for part in key if not isinstance(part, tuple))
