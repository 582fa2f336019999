"""Two groups compared, or a table of groups and categories: estimates, differences with intervals, and a p-value."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any

from lapwing.answers.answer import Answer
from lapwing.answers.frames import FrameColumn, TableResult
from lapwing.answers.releases import Price
from lapwing.queries.algebra.aggregate import Label
from lapwing.show.canvas import checked_path
from lapwing.show.panels import Panel, draw_panel
from lapwing.vocabulary.exact import Exact, as_confidence
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Interval, html_table
from lapwing.vocabulary.wording import format_short, named, percent

METHODS = {
    "proportions": "the difference of two proportions",
    "t": "the difference of two means (Welch)",
    "rank": "whether values of one group tend to be larger (Mann and Whitney)",
    "chi-square": "whether the columns of a table depend on its rows",
}


@frozen()
class GroupEstimate:
    """What is known of one group: about how many people it has, and its share or mean, with the error of that.

    `error` is a standard deviation: of sampling people, and of the noise. No share or mean is below `lowest` or above
    `highest`, so no interval is.
    """

    group: Label
    people: float
    value: float
    error: float
    lowest: float
    highest: float

    def interval(self, confidence: Exact = "0.95") -> Interval:
        """Return between which bounds the share or mean lies."""
        far = _quantile(confidence) * self.error
        return _within(self.value - far, self.value + far, self.lowest, self.highest)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; its ends are those of 95 %."""
        low, high = self.interval()
        told = {"group": self.group, "people": self.people, "value": self.value, "error": self.error}
        return {**told, "low": low, "high": high}


def _within(low: float, high: float, lowest: float, highest: float) -> Interval:
    """Return an interval without what cannot be.

    >>> _within(-1.006, -0.991, -1, 1)
    Interval(low=-1, high=-0.991)
    """
    return Interval(min(max(low, lowest), highest), max(min(high, highest), lowest))


def _quantile(confidence: Exact) -> float:
    return NormalDist().inv_cdf((1 + float(as_confidence(confidence))) / 2)


@frozen(repr=False)
class Comparison(TableResult):
    """A comparison of groups, made of one release: it cost what one count costs.

    The p-value is that of the null *with* its noise: how often two groups that do not differ give a difference as
    large as this one, when people are sampled and noise is added. Intervals are about both, too: they are for the
    world that the people were sampled from, and wider than those of an answer, which are about the noise alone.

    Parameters
    ----------
    method : one of `METHODS`
    outcome, by : what is compared, between which groups
    groups : what is known of each; empty for a table
    statistic, p : of the test
    answer : what was released, with its price and receipt
    """

    method: str
    outcome: str
    by: str
    groups: tuple[GroupEstimate, ...]
    statistic: float
    p: float
    answer: Answer

    @property
    def difference(self) -> float | None:
        """The value of the first group less that of the second; None for a table or ranks."""
        return self.groups[0].value - self.groups[1].value if self._has_difference else None

    @property
    def _has_difference(self) -> bool:
        return self.method in {"proportions", "t"}

    def interval(self, confidence: Exact = "0.95") -> Interval:
        """Return between which bounds the difference lies, for people like these; None where there is none."""
        if self.difference is None:
            return Interval(None, None)
        far = _quantile(confidence) * math.hypot(*(one.error for one in self.groups))
        first, second = self.groups
        ends = (first.lowest - second.highest, first.highest - second.lowest)
        return _within(self.difference - far, self.difference + far, *ends)

    @property
    def ratio(self) -> float | None:
        """The value of the first group over that of the second, the risk ratio; None where it is not known."""
        if self.method != "proportions" or min(one.value for one in self.groups) <= 0:
            return None
        return self.groups[0].value / self.groups[1].value

    def ratio_interval(self, confidence: Exact = "0.95") -> Interval:
        """Return between which bounds the risk ratio lies; None where one of the shares may be nothing."""
        if self.ratio is None:
            return Interval(None, None)
        far = _quantile(confidence) * math.hypot(*(one.error / one.value for one in self.groups))
        return Interval(self.ratio * math.exp(-far), self.ratio * math.exp(far))

    @property
    def price(self) -> Price:
        """What the one release costs."""
        return self.answer.price

    @property
    def receipt(self) -> Any:
        """The entry of the ledger that it was charged in."""
        return self.answer.receipt

    @property
    def free(self) -> bool:
        """Whether it had been paid for before."""
        return self.answer.free

    @property
    def sentence(self) -> str:
        """The comparison in plain English."""
        paid = "asked before, so it was free" if self.free else f"for {self.answer.price}"
        told = ", ".join(f"{named(one.group)} {format_short(_short(one.value))}" for one in self.groups)
        said = f"{self.outcome} by {self.by}: {told}" if told else f"{self.outcome} by {self.by}"
        if self.difference is not None:
            low, high = self.interval()
            ends = f"{format_short(_short(low))} to {format_short(_short(high))} with 95 % confidence"
            said += f"; difference {format_short(_short(self.difference))}, {ends}"
        return f"{said}; p {_p_words(self.p)}, valid under the noise, {paid}."

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "method": self.method,
            "outcome": self.outcome,
            "by": self.by,
            "groups": [one.to_dict() for one in self.groups],
            "difference": self.difference,
            "interval": list(self.interval()),
            "ratio": self.ratio,
            "ratio_interval": list(self.ratio_interval()),
            "statistic": self.statistic,
            "p": self.p,
            "price": self.answer.price.to_dict(),
            "receipt": None if self.answer.receipt is None else str(self.answer.receipt),
            "free": self.free,
        }

    def frame_columns(self, confidence: Exact) -> list[FrameColumn]:
        """Return the groups as columns: their people, and their value with its bounds."""
        ends = [one.interval(confidence) for one in self.groups]
        return [
            FrameColumn.of(self.by, [one.group for one in self.groups]),
            FrameColumn.of("people", [one.people for one in self.groups]),
            FrameColumn.of("value", [one.value for one in self.groups]),
            FrameColumn.of("value_low", [low for low, _ in ends]),
            FrameColumn.of("value_high", [high for _, high in ends]),
        ]

    def facts(self) -> list[tuple[str, str | None]]:
        """Return facts about it, by name."""
        lines: list[tuple[str, str | None]] = [("tested", METHODS[self.method])]
        for one in self.groups:
            low, high = one.interval()
            ends = f"{format_short(_short(low))} to {format_short(_short(high))}"
            about = f"about {format_short(max(0, round(one.people)))} people"
            lines.append((named(one.group), f"{format_short(_short(one.value))} ({ends}), {about}"))
        if self.difference is not None:
            low, high = self.interval()
            ends = f"{format_short(_short(low))} to {format_short(_short(high))}"
            lines.append(("difference", f"{format_short(_short(self.difference))} ({ends})"))
        if self.ratio is not None:
            low, high = self.ratio_interval()
            ends = f"{format_short(_short(low))} to {format_short(_short(high))}"
            lines.append(("risk ratio", f"{format_short(_short(self.ratio))} ({ends})"))
        paid = "nothing: it was asked before" if self.free else str(self.answer.price)
        return [*lines, ("p", f"{_p_words(self.p)}, by simulating the null with its noise"), ("cost", paid)]

    def panel(self, confidence: Exact = "0.95") -> Panel:
        """Return the groups as a picture shows them."""
        ends = [one.interval(confidence) for one in self.groups]
        labels = [named(one.group) for one in self.groups]
        values = [one.value for one in self.groups]
        lows, highs = [low for low, _ in ends], [high for _, high in ends]
        return Panel(f"{self.outcome} by {self.by}", labels, values, lows, highs, from_zero=False, over_time=False)

    def plot(self, path: str | Path | None = None, *, confidence: Exact = "0.95") -> Any:
        """Draw the groups with their intervals; it needs matplotlib: pip install 'lapwing[plots]'."""
        from lapwing.show.figures import draw_panels  # noqa: PLC0415 - half a second, and an extra

        file = None if path is None else checked_path(path)
        sure = f"intervals for people like these, with {percent(as_confidence(confidence))} confidence"
        return draw_panels(
            [self.panel(confidence)], title=self.outcome, caption=f"{sure}; p {_p_words(self.p)}", path=file
        )

    def _repr_html_(self) -> str:
        table = html_table((), [(label, told) for label, told in self.facts() if told is not None], self.sentence)
        return table + (draw_panel(self.panel(), self.outcome).coloured if self.groups else "")

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"<comparison: p {_p_words(self.p)}, {'free' if self.free else self.answer.price}>"


def _short(number: float) -> float:
    """Return a number with four digits, or with one behind the point where it has more before it."""
    return float(f"{number:.4g}") if abs(number) < 1000 else round(number, 1)  # noqa: PLR2004


def _p_words(p: float) -> str:
    """Return a p-value in words.

    >>> _p_words(0.0318), _p_words(0.0005)
    ('0.032', 'below 0.001')
    """
    return "below 0.001" if p < 0.001 else f"{p:.2g}"  # noqa: PLR2004


def rows_of(cells: Mapping[Any, Sequence[int]]) -> Iterator[tuple[Any, Sequence[int]]]:
    """Go through cells whose keys are all known."""
    return ((key, numbers) for key, numbers in cells.items() if None not in key)
