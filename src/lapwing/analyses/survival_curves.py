"""Survival curves with their bands, and the log-rank test of two of them."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from lapwing.answers.answer import Answer
from lapwing.answers.frames import FrameColumn, TableResult
from lapwing.answers.releases import Price
from lapwing.show.canvas import canvas
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact, as_confidence
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import html_table
from lapwing.vocabulary.wording import named, several

_CONFIDENCE: Final = Fraction(95, 100)


@frozen()
class SurvivalCurve:
    """The part of an arm that is without the event after each period, with a band that holds at each in 95 %."""

    arm: Any
    times: tuple[int, ...]
    survived: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    at_risk: tuple[float, ...]
    events: tuple[float, ...]

    @property
    def median(self) -> int | None:
        """The first end of a period after which at most half are without the event; None if that never comes."""
        return next((time for time, part in zip(self.times, self.survived, strict=True) if part <= 1 / 2), None)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "arm": self.arm,
            "times": list(self.times),
            "survived": list(self.survived),
            "low": list(self.low),
            "high": list(self.high),
            "at_risk": list(self.at_risk),
            "events": list(self.events),
            "median": self.median,
        }


@frozen(repr=False)
class SurvivalCurves(TableResult):
    """Curves of one release, one for each arm: it cost what one count costs, and the log-rank test nothing more."""

    grid: tuple[int, ...]
    curves: tuple[SurvivalCurve, ...]
    time: str
    event: str
    by: str | None
    p: float | None
    answer: Answer

    def __iter__(self) -> Iterator[SurvivalCurve]:
        return iter(self.curves)

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
        """The curves in plain English."""
        ends = ", ".join(
            f"{self._called(one)}{one.survived[-1]:.1%} ({one.low[-1]:.1%} to {one.high[-1]:.1%})"
            for one in self.curves
        )
        tested = "" if self.p is None else f"; log-rank p {self._p_words}, valid under the noise"
        paid = "asked before, so it was free" if self.free else f"for {self.answer.price}"
        return f"without {self.event} at {self.time} {self.grid[-1]}: {ends}{tested}, {paid}."

    def _called(self, curve: SurvivalCurve) -> str:
        return "" if self.by is None else f"{named(curve.arm)} "

    @property
    def _p_words(self) -> str:
        return "" if self.p is None else "below 0.001" if self.p < 0.001 else f"{self.p:.2g}"  # noqa: PLR2004

    def to_dict(self) -> dict[str, Any]:
        """Return them as JSON values."""
        return {
            "grid": list(self.grid),
            "curves": [one.to_dict() for one in self.curves],
            "time": self.time,
            "event": self.event,
            "by": self.by,
            "p": self.p,
            "price": self.answer.price.to_dict(),
            "receipt": None if self.answer.receipt is None else str(self.answer.receipt),
            "free": self.free,
        }

    def frame_columns(self, confidence: Exact) -> list[FrameColumn]:
        """Return the curves as columns, one row for each arm and time; their bands hold with 95 % confidence."""
        if as_confidence(confidence) != _CONFIDENCE:
            raise ParameterError("confidence", confidence, reason="is not that of the bands", remedy="leave it out")
        names = ("times", "survived", "low", "high", "at_risk", "events")
        values = {name: [each for one in self.curves for each in getattr(one, name)] for name in names}
        arms = [one.arm for one in self.curves for _ in one.times]
        told = {"time": values.pop("times"), **values}
        return [
            *([] if self.by is None else [FrameColumn.of(self.by, arms)]),
            *(FrameColumn.of(name, column) for name, column in told.items()),
        ]

    def facts(self) -> list[tuple[str, str | None]]:
        """Return facts about them, by name."""
        lines: list[tuple[str, str | None]] = []
        for one in self.curves:
            half = "beyond the grid" if one.median is None else f"by {one.median}"
            end = f"{one.survived[-1]:.1%} ({one.low[-1]:.1%} to {one.high[-1]:.1%}) at {self.grid[-1]}"
            lines.append((self._called(one).strip() or "all", f"{end}; half are gone {half}"))
        paid = "nothing: it was asked before" if self.free else str(self.answer.price)
        tested = None if self.p is None else f"p {self._p_words}, by simulating the null with its noise"
        left_out = f"people whose {self.time}, {self.event} or arm is missing are left out"
        return [*lines, ("log-rank", tested), ("mind", left_out), ("cost", paid)]

    def plot(self, path: str | Path) -> Path:
        """Draw the curves as steps with their bands; it needs matplotlib: pip install 'lapwing[plots]'."""
        with canvas(path, title=f"Without {self.event}", x=self.time, y="part of the people") as axes:
            for one in self.curves:
                beyond = one.times[-1] + (self.grid[-1] - self.grid[-2]) / 2  # so that the last step is seen
                times = [self.grid[0], *one.times, beyond]
                survived, low, high = ([1.0, *part, part[-1]] for part in (one.survived, one.low, one.high))
                (line,) = axes.step(times, survived, where="post", label=self._called(one).strip() or None)
                axes.fill_between(times, low, high, step="post", alpha=0.2, color=line.get_color(), linewidth=0)
            axes.set_ylim(0, 1.02)
            if self.by is not None:
                axes.legend(frameon=False)
        return Path(path)

    def _repr_html_(self) -> str:
        return html_table((), [(label, told) for label, told in self.facts() if told is not None], self.sentence)

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"<{several(len(self.curves), 'survival curve')}, {'free' if self.free else self.answer.price}>"
