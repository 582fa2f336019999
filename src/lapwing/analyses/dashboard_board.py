"""A dashboard that is open: it publishes once for each version of the data, and shows all that it has published."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.analyses.dashboard_estimates import EstimatedCount, combinations, prefixes, windows
from lapwing.analyses.dashboard_grid import PeriodGrid, as_day
from lapwing.analyses.dashboard_terms import DashboardTerms
from lapwing.answers.frames import FrameColumn, TableResult
from lapwing.rounds import IfLost, ReservationKind, RoundReader, Rounds
from lapwing.show.canvas import canvas
from lapwing.vocabulary.errors import BadQuestionError, ParameterError, UnansweredError
from lapwing.vocabulary.exact import Exact, as_confidence, as_int
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import format_short, several

if TYPE_CHECKING:
    from lapwing.session import Session

KIND: Final = ReservationKind(name="dashboard", if_lost=IfLost.COUNTS)


@frozen(repr=False)
class CountsOverTime(TableResult):
    """Counts of a dashboard: for each group the estimates of some sums of periods, each with its band.

    A count is not known where a release that it needs was lost. Bands are about noise: each holds with the confidence.
    """

    name: str
    what: str
    by: tuple[str, ...]
    labels: tuple[str, ...]
    groups: Mapping[tuple[str, ...], tuple[EstimatedCount, ...]]

    @property
    def counts(self) -> tuple[EstimatedCount, ...]:
        """The estimates, where there is one group."""
        if len(self.groups) != 1:
            several_groups = ", ".join("/".join(group) for group in self.groups)
            raise BadQuestionError(f"this dashboard has several groups, {several_groups}; take one of .groups")
        return next(iter(self.groups.values()))

    def __iter__(self) -> Iterator[EstimatedCount]:
        return iter(self.counts)

    def __len__(self) -> int:
        return len(self.labels)

    def to_dict(self) -> dict[str, Any]:
        """Return them as JSON values."""
        lines = [
            {
                "group": list(group),
                "until": label,
                "estimate": one.estimate if one.known else None,
                "margin": one.margin if one.known else None,
            }
            for group, counts in self.groups.items()
            for label, one in zip(self.labels, counts, strict=True)
        ]
        return {"dashboard": self.name, "what": self.what, "by": list(self.by), "counts": lines}

    def frame_columns(self, confidence: Exact) -> list[FrameColumn]:
        """Return them as columns, one row for each group and period; their bands are those that were asked for."""
        del confidence
        rows = [
            (group, label, one)
            for group, counts in self.groups.items()
            for label, one in zip(self.labels, counts, strict=True)
        ]
        names = {"estimate": "estimate", "low": "low", "high": "high"}
        return [
            *(FrameColumn.of(name, [group[place] for group, _, _ in rows]) for place, name in enumerate(self.by)),
            FrameColumn.of("until", [label for _, label, _ in rows]),
            *(
                FrameColumn.of(to, [getattr(one, of) if one.known else None for *_, one in rows])
                for to, of in names.items()
            ),
        ]

    def facts(self) -> list[tuple[str, str | None]]:
        """Return a line for each group and period."""
        return [
            (
                " ".join((*group, label)),
                "lost" if not one.known else f"{one.estimate:,.0f} ± {format_short(round(one.margin, 1))}",
            )
            for group, counts in self.groups.items()
            for label, one in zip(self.labels, counts, strict=True)
        ]

    def plot(self, path: str | Path) -> Path:
        """Draw a line with its band for each group; it needs matplotlib: pip install 'lapwing[plots]'."""
        with canvas(path, title=f"{self.what} of {self.name}", x="until", y="people") as axes:
            for group, counts in self.groups.items():
                known = [(place, one) for place, one in enumerate(counts) if one.known]
                places = [place for place, _ in known]
                (line,) = axes.plot(places, [one.estimate for _, one in known], label=" ".join(group) or None)
                lows, highs = [one.low for _, one in known], [one.high for _, one in known]
                axes.fill_between(places, lows, highs, alpha=0.2, color=line.get_color(), linewidth=0)
            step = max(1, len(self.labels) // 8)
            axes.set_xticks(range(0, len(self.labels), step), self.labels[::step])
        return Path(path)

    def __str__(self) -> str:
        return "\n".join(f"{label}: {text}" for label, text in self.facts())

    def __repr__(self) -> str:
        return f"<{self.what} of {self.name}: {several(len(self.labels), 'period')}>"


class PublishedCounts(ABC):
    """What a dashboard has published, and all counts that follow from it; here, or at a distance."""

    def __init__(self, terms: DashboardTerms) -> None:
        self.terms = terms

    @property
    @abstractmethod
    def committed(self) -> Sequence[Any]:
        """What each release so far has released; None for one that was lost."""

    @property
    def name(self) -> str:
        """Its name, by which it is opened again."""
        return self.terms.name

    @property
    def grid(self) -> PeriodGrid:
        """Its periods."""
        return self.terms.grid

    @property
    def published(self) -> int:
        """How many releases there were, the lost ones included."""
        return len(self.committed)

    @property
    def lost(self) -> tuple[str, ...]:
        """The periods whose release was lost: a process died, or the database failed, after it was begun."""
        return tuple(self.grid.label(t) for t, one in enumerate(self.committed, 1) if one is None)

    def cumulative(self, *, confidence: Exact = "0.95") -> CountsOverTime:
        """Return how many people there were from the first day until the end of each period, or were in then."""
        what = "cumulative counts" if self.terms.left is None else "people who are in"
        return self._estimates(what, prefixes, 1, confidence)

    def window(self, periods: int, *, confidence: Exact = "0.95") -> CountsOverTime:
        """Return how many people there were in each run of so many periods, by its last one, less those who left."""
        length = as_int("periods", periods)
        if length > self.published:
            reason = f"are more than the {self.published} that were published"
            raise ParameterError("periods", length, reason=reason, remedy="take a shorter window")
        what = (
            f"counts of {several(length, self.grid.every)} in a row" if length > 1 else f"counts by {self.grid.every}"
        )
        told = what if self.terms.left is None else what.replace("counts", "net changes", 1)
        return self._estimates(told, lambda number: windows(number, length), length, confidence)

    def periods(self, *, confidence: Exact = "0.95") -> CountsOverTime:
        """Return how many people there were in each period."""
        return self.window(1, confidence=confidence)

    def _estimates(self, what: str, wanted: Any, first: int, confidence: Exact) -> CountsOverTime:
        committed, chosen = self.committed, as_confidence(confidence)
        number, grid, counts = len(committed), self.grid, self.terms.counts
        if number == 0:
            raise BadQuestionError(f"dashboard {self.name!r} has published nothing yet; publish first")
        lost = [t for t, one in enumerate(committed, 1) if one is None]
        sought = wanted(number)
        told = [
            np.array(
                [each for one in committed if one is not None for each in one["released"][place]], dtype=np.float64
            )
            for place in range(counts.groups)
        ]
        labels = tuple(map(grid.label, range(1, number + 1)))
        found: list[list[EstimatedCount]] = [[] for _ in told]
        for weights, sums in zip(combinations(counts.scheme, number, lost, sought), sought, strict=True):
            of = tuple(label for label, part in zip(labels, sums, strict=True) if part)
            margin = math.inf if weights is None else counts.reach(weights, chosen)
            for place, numbers in enumerate(told):
                found[place].append(_estimate(of, weights, numbers, margin))
        groups = {group: tuple(one) for group, one in zip(self.terms.groups, found, strict=True)}
        return CountsOverTime(name=self.name, what=what, by=self.terms.by, labels=labels[first - 1 :], groups=groups)

    def __repr__(self) -> str:
        of = several(self.grid.releases, "release")
        return f"<dashboard {self.name!r}: {self.published} of {of}, by {self.grid.every}>"


class Dashboard(PublishedCounts):
    """A dashboard under the terms of its opening; all that it knows is in the ledger, for any process to go on with."""

    def __init__(self, session: "Session", terms: DashboardTerms, rounds: Rounds) -> None:
        super().__init__(terms)
        self._session, self._rounds = session, rounds

    @property
    def id(self) -> str:
        """The name of its reservation in the ledger."""
        return self._rounds.name

    @property
    def committed(self) -> Sequence[Any]:
        """What each release so far has released, as it stands in the ledger; None for one that was lost."""
        return self._rounds.committed

    def publish(self, today: str | date | None = None) -> "CountsOverTime":
        """Publish the periods that are over and were not published, from the data as it is now; return all counts.

        It was paid at the opening. One version of the data is published once: bring the tables up to date first. A
        process that died while it published is gone on with by calling this again; a release that it had begun is lost,
        and its people count with the next period.

        Parameters
        ----------
        today : the day it is, where it is not the clock's; a period must be over
        """
        day = datetime.now(UTC).date() if today is None else as_day("today", today)
        over, committed = self.grid.over(day), self.committed
        first = self._next(committed, over)
        for number in range(first, over + 1):
            self._publish(number, over)
        return self.cumulative()

    def _publish(self, number: int, over: int) -> None:
        lost = [t for t, one in enumerate(self.committed[: number - 1], 1) if one is None]
        terms = self.terms

        def draw(reader: RoundReader) -> dict[str, Any]:
            left = None if terms.left is None else reader.vector(terms.left)
            released = terms.counts.release(number, reader.vector(terms.aggregate), left=left, lost=lost)
            return {"released": released, "versions": dict(reader.versions), "over": over}

        try:
            self._rounds.round({"period": self.grid.label(number), "lost": lost}, draw, number=number)
        except UnansweredError:
            if number == over:  # those that follow tell of the people of this period, too
                raise

    def _next(self, committed: Sequence[Any], over: int) -> int:
        """Return the number of the next release, or refuse."""
        done = len(committed)
        if done == self.grid.releases:
            raise BadQuestionError(
                f"all {several(done, 'release')} of dashboard {self.name!r} were published, and no more were paid for; "
                "open another one"
            )
        if done >= over:
            waiting = self.grid.label(done + 1)
            raise BadQuestionError(
                f"the next period, {waiting}, is not over before {self.grid.ends(done + 1)}; publish it the day after"
            )
        known = [one for one in committed if one is not None]
        last = known[-1] if known and committed[-1] is not None else None
        versions = self._session.ledger.population(self._session.population.name).tables
        now = {name: versions[name] for name in self.terms.tables if name in versions}
        then = {} if last is None else {name: number for name, number in last["versions"].items() if name in now}
        if last is not None and then == now and last["over"] == done:
            raise BadQuestionError(
                f"this version of the data was published already, until {self.grid.label(done)}; bring the tables up "
                "to date first (lapwing advance), and then publish"
            )
        return done + 1


def _estimate(
    of: tuple[str, ...], weights: NDArray[np.float64] | None, numbers: NDArray[np.float64], margin: float
) -> EstimatedCount:
    return EstimatedCount(of, math.nan if weights is None else float(weights @ numbers), margin)
