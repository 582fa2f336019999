"""The answers of a stream to many conditions, as a table: one row for each, in the order in which they were asked."""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Self, overload

from lapwing.answers.frames import FrameColumn, TableResult
from lapwing.answers.stream_terms import StreamAnswer
from lapwing.show.canvas import checked_path
from lapwing.show.maps import GridCell, draw_grid
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_confidence
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Interval, html_table
from lapwing.vocabulary.wording import format_exact, format_short, percent, several


@frozen(repr=False)
class StreamAnswers(TableResult, Sequence[StreamAnswer | None]):
    """What `QuestionStream.ask_many` returns: an answer for each condition, and None for those after the halt.

    `labels` name the cohorts of a grid; they become the first columns of a table.
    """

    answers: tuple[StreamAnswer | None, ...]
    labels: tuple[Mapping[str, str], ...] = ()

    @property
    def yeses(self) -> dict[int, StreamAnswer]:
        """The yeses, by the place of their condition, counting from 0."""
        return {place: answer for place, answer in enumerate(self.answers) if answer}

    @property
    def halted(self) -> bool:
        """Whether the stream gave its last yes before all conditions were answered."""
        return None in self.answers

    @property
    def price(self) -> Fraction:
        """The total price of these answers, without the opening of the stream: a yes costs, and a repeat does not."""
        paid = {one.question: one.price for one in self.answers if one is not None and not one.free}
        return sum(paid.values(), Fraction(0))

    def __len__(self) -> int:
        return len(self.answers)

    @overload
    def __getitem__(self, index: int) -> StreamAnswer | None: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> StreamAnswer | Self | None:
        if isinstance(index, slice):
            return type(self)(answers=self.answers[index], labels=self.labels[index])
        return self.answers[index]

    def __iter__(self) -> Iterator[StreamAnswer | None]:
        return iter(self.answers)

    def frame_columns(self, confidence: Exact) -> list[FrameColumn]:
        """Return the columns of the table: labels, verdicts, the numbers asked for, gaps, and where a yes lies.

        Numbers of people are whole; those of a stream of sums are floats. Where yeses come with numbers, they follow.
        """
        told = [
            None if one is None else (one.verdict.value, one.threshold, one.gap, one.number) for one in self.answers
        ]
        lies = [None if one is None else one.interval(confidence) for one in self.answers]
        terms = next((one.terms for one in self.answers if one is not None), None)
        kind = int if terms is None or terms.streamed is None else float

        def column(name: str, values: Sequence[Any]) -> FrameColumn:
            return FrameColumn.of(name, [None if one is None else kind(one) for one in values], kind)

        gives = terms is not None and terms.gives_number
        numbers = [column("number", [one and one[3] for one in told])] if gives else []
        return [
            *(FrameColumn.of(name, [words.get(name) for words in self.labels]) for name in self.label_names),
            FrameColumn.of("verdict", [one and one[0] for one in told]),
            column("at_least", [one and one[1] for one in told]),
            column("gap", [one and one[2] for one in told]),
            *numbers,
            column("low", [one and one.low for one in lies]),
            column("high", [one and one.high for one in lies]),
        ]

    @property
    def label_names(self) -> list[str]:
        """The names of the label columns, in their order."""
        return list(dict.fromkeys(name for words in self.labels for name in words))

    def to_dict(self) -> dict[str, Any]:
        """Return the answers as JSON values."""
        rows = [None if one is None else one.to_dict() for one in self.answers]
        return {"answers": rows, "labels": [dict(one) for one in self.labels], "price": format_exact(self.price)}

    def facts(self) -> list[tuple[str, str | None]]:
        """Return how many were asked, how many yeses there were, and what they cost."""
        left = self.answers.count(None)
        return [
            ("asked", several(len(self), "condition")),
            ("yes", format_short(len(self.yeses))),
            ("not answered", f"{left:,}: the stream gave its last yes" if left else None),
            ("price", f"epsilon {format_short(self.price)}"),
        ]

    def plot(self, path: str | Path | None = None, *, confidence: Exact = "0.95") -> Any:
        """Draw the answers over their grid of cohorts, save the picture if a `path` is given, and return the figure.

        Yeses are dark, with the least number of people that there are with this `confidence`; noes are light. The
        axis with the most values goes to the right. It needs matplotlib: pip install 'lapwing[plots]'.
        """
        if not self._is_grid:
            raise BadQuestionError(
                "a picture shows answers over a grid; ask one: stream.ask_many(lw.cohorts('patients', {'sex': ['F', "
                "'M']}))"
            )
        file = checked_path("picture.png" if path is None else path)
        from lapwing.show import figures  # noqa: PLC0415 - half a second, and an extra

        sure = (
            f"in a yes: how many there are at least, all at once with {percent(as_confidence(confidence))} confidence"
        )
        caption = sure if self.yeses else ""
        cells, place = self._cells(confidence), None if path is None else file
        return figures.draw_grid_figure(cells, title=self._title, caption=caption, path=place)

    @property
    def _is_grid(self) -> bool:
        names = self.label_names
        return bool(names) and all(set(one) == set(names) for one in self.labels)

    def _cells(self, confidence: Exact) -> list[GridCell]:
        lies = [None if one is None else one.interval(confidence) for one in self.answers]
        every = zip(self.labels, self.answers, lies, strict=True)
        return [GridCell(labels, None if one is None else bool(one), _least(lie)) for labels, one, lie in every]

    @property
    def _title(self) -> str:
        asked = {one.threshold for one in self.answers if one is not None}
        return f"At least {format_short(asked.pop())} people?" if len(asked) == 1 else "Enough people?"

    def _repr_html_(self) -> str:
        rows = self.to_rows()
        table = html_table(list(rows[0]) if rows else (), ([*row.values()] for row in rows))
        return table + (draw_grid(self._cells("0.95"), self._title).coloured if self._is_grid else "")

    def __repr__(self) -> str:
        return f"<{len(self):,} stream answers, {len(self.yeses):,} of them yes>"


def _least(lies: Interval | None) -> str:
    return "" if lies is None or lies.low is None or lies.low < 1 else f"{math.floor(lies.low):,}"
