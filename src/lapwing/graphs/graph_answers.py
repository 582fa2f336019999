"""Answers about a graph, and their previews: numbers of edges, stars and triangles, and how degrees are spread."""

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from lapwing.answers.frames import FrameColumn, TableResult
from lapwing.answers.preview import Forecast
from lapwing.answers.releases import Price
from lapwing.graphs.pair_tables import PairTable
from lapwing.mechanisms.graphs.graph_releases import DegreeCounts, LadderMechanism, NoisyGraphCounts
from lapwing.mechanisms.graphs.ladders import Stars, Triangles
from lapwing.show.canvas import canvas
from lapwing.show.panels import Panel, draw_panel
from lapwing.show.strokes import Drawing
from lapwing.vocabulary.exact import Exact, as_confidence
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Interval, Result
from lapwing.vocabulary.wording import format_exact, percent

_CONFIDENCE: Final = Fraction(95, 100)
_MOST_DRAWN: Final = 40


@frozen()
class GraphOffer:
    """What is asked of a graph, and with which mechanism it is released; `units` edges or people are hidden at once."""

    pairs: PairTable
    mechanism: NoisyGraphCounts | LadderMechanism
    units: int

    @property
    def asks(self) -> str:
        """What is asked, in words."""
        match self.mechanism:
            case LadderMechanism(shape=Stars(points=points)):
                return f"the number of stars with {points} points"
            case LadderMechanism():
                return "the number of triangles"
            case NoisyGraphCounts(counted=DegreeCounts(up_to=most)):
                return f"how many people have at least 1 ... {most} edges"
            case _:
                return "the number of edges"

    @property
    def max_degree(self) -> int | None:
        """How many edges of a person count; None where all do, and an edge is what is protected."""
        bounded = self.mechanism.bounded if isinstance(self.mechanism, NoisyGraphCounts) else None
        return None if bounded is None else bounded.most

    @property
    def hides(self) -> str:
        """What the noise hides, and what it does not."""
        most = self.max_degree
        if most is not None:
            several = "one person" if self.units == 1 else f"{self.units} people"
            return (
                f"all edges of {several}, whoever they are; edges were dropped so that nobody has more than {most}, "
                "and what is counted is what was left"
            )
        many = "whether any one edge is" if self.units == 1 else f"whether any {self.units} edges are"
        return (
            f"{many} there; not that somebody has many edges: {self.units + 1} edges are hidden less well, and a "
            "person with all their edges is not hidden. Who may be in the graph is public"
        )

    def margin(self, confidence: Exact) -> int | None:
        """Return how far off all numbers are at most; None for a ladder, where that depends on the graph."""
        if isinstance(self.mechanism, LadderMechanism):
            return None
        return int(self.mechanism.noise.margin(confidence, values=self.mechanism.counted.numbers))


@frozen(repr=False)
class GraphPreview(Forecast):
    """A question about a graph before it is paid for. No data was read."""

    offer: GraphOffer
    price: Price

    @property
    def margin(self) -> int | None:
        """How far off all numbers would be at most; None for triangles and stars, which have `margin_if`."""
        return self.offer.margin(self.confidence)

    def margin_if(self, assumed: int) -> int:
        """Return how far off triangles or stars would be, at the confidence, if the graph is as it is assumed to be.

        For triangles it is assumed that no two people have more than so many neighbours in common; for stars, that
        nobody has more than so many edges. For other questions there is nothing to assume.
        """
        if isinstance(self.offer.mechanism, LadderMechanism):
            return self.offer.mechanism.margin_if(assumed, self.confidence)
        return self.offer.margin(self.confidence) or 0

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON values."""
        refusal = self.refusal
        return {
            "asks": self.offer.asks,
            "table": self.offer.pairs.table,
            "people": self.offer.pairs.people,
            "price": self.price.to_dict(),
            "margin": self.margin,
            "confidence": format_exact(self.confidence),
            "hides": self.offer.hides,
            "affordable": self.affordable,
            "refusal": None if refusal is None else refusal.to_dict(),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the preview in words."""
        refusal = self.refusal
        return [
            ("asked", f"{self.offer.asks} in {self.offer.pairs.table}"),
            ("cost", str(self.price)),
            ("error", _error_of(self.offer, self.confidence) if self.margin is not None else self._examples()),
            ("hides", self.offer.hides),
            ("left then", str(self.after) if refusal is None else f"it would be refused now: {refusal}"),
            ("paid", "nothing: this is a preview, and no data was read"),
        ]

    def _examples(self) -> str:
        triangles = isinstance(self.offer.mechanism, LadderMechanism) and isinstance(
            self.offer.mechanism.shape, Triangles
        )
        supposed = [one for one in (5, 20, 100) if one < self.offer.pairs.people]
        who = "no two people have more than {} neighbours in common" if triangles else "nobody has more than {} edges"
        said = [f"{self.margin_if(one):,} if {who.format(one)}" for one in supposed]
        return f"depends on the graph; with {percent(self.confidence)} confidence at most {', '.join(said)}"

    def __repr__(self) -> str:
        can = "affordable" if self.affordable else "refused now"
        return f"<preview of {self.offer.asks} in {self.offer.pairs.table}: {self.price}, {can}>"


def _error_of(offer: GraphOffer, confidence: Fraction) -> str | None:
    margin = offer.margin(confidence)
    if margin is None:
        return "depends on the graph, and is not told: the preview has it for graphs that are assumed"
    return f"±{margin:,} with {percent(confidence)} confidence"


@frozen(repr=False)
class GraphAnswer(Result):
    """A number of edges, triangles or stars, as it stands in the ledger under `name`.

    It is a whole number with noise, and may be negative.
    """

    offer: GraphOffer
    value: int
    price: Price
    versions: Mapping[str, int]
    name: str

    def margin(self, confidence: Exact = _CONFIDENCE) -> int | None:
        """Return how far off it is at most, with this confidence; None for triangles and stars."""
        return self.offer.margin(confidence)

    def interval(self, confidence: Exact = _CONFIDENCE) -> Interval:
        """Return where the truth lies, with this confidence; None at both ends for triangles and stars."""
        margin = self.margin(confidence)
        return Interval(None, None) if margin is None else Interval(max(0, self.value - margin), self.value + margin)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "asks": self.offer.asks,
            "table": self.offer.pairs.table,
            "value": self.value,
            "margin": self.margin(),
            "price": self.price.to_dict(),
            "hides": self.offer.hides,
            "versions": dict(self.versions),
            "name": self.name,
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return it in words."""
        return [
            (self.offer.asks, f"{self.value:,}"),
            ("error", _error_of(self.offer, _CONFIDENCE)),
            ("cost", str(self.price)),
            ("hides", self.offer.hides),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{label}: {text}" for label, text in self.facts() if text is not None)

    def __repr__(self) -> str:
        return f"<{self.offer.asks} in {self.offer.pairs.table}: {self.value:,}, {self.price}>"


@frozen(repr=False)
class DegreeAnswer(TableResult):
    """How many people have each number of edges, as it stands in the ledger under `name`.

    `released` are the numbers of people with at least 1, 2, ... edges, with noise. They are put into order before
    anything is read from them: so many people or fewer have more edges.
    """

    offer: GraphOffer
    released: tuple[int, ...]
    price: Price
    versions: Mapping[str, int]
    name: str

    @property
    def at_least(self) -> tuple[float, ...]:
        """How many people have at least 1, 2, ... edges: the falling numbers that are nearest to what was released."""
        fitted = _falling(self.released)
        return tuple(float(min(max(one, 0.0), self.offer.pairs.people)) for one in fitted)

    @property
    def people(self) -> tuple[float, ...]:
        """How many people have 0, 1, 2, ... edges; the last number is of all with so many or more."""
        ends = [float(self.offer.pairs.people), *self.at_least, 0.0]
        return tuple(here - there for here, there in itertools.pairwise(ends))

    def margin(self, confidence: Exact = _CONFIDENCE) -> int:
        """Return how far off all numbers of `at_least` are at most, with this confidence."""
        return self.offer.margin(confidence) or 0

    def frame_columns(self, confidence: Exact) -> list[FrameColumn]:
        """Return the columns of a frame: edges, people with so many, and with at least so many, with bounds."""
        margin = self.margin(confidence)
        at_least = [float(self.offer.pairs.people), *self.at_least]
        low = [at_least[0], *(max(0.0, one - margin) for one in at_least[1:])]
        high = [at_least[0], *(min(at_least[0], one + margin) for one in at_least[1:])]
        return [
            FrameColumn.of("edges", range(len(at_least)), int),
            FrameColumn.of("people", self.people, float),
            FrameColumn.of("at_least", at_least, float),
            FrameColumn.of("at_least_low", low, float),
            FrameColumn.of("at_least_high", high, float),
        ]

    def notes(self) -> dict[str, Any]:
        """Return what a frame says about itself."""
        return {"price": self.price.to_dict(), "hides": self.offer.hides}

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "asks": self.offer.asks,
            "table": self.offer.pairs.table,
            "released": list(self.released),
            "people": list(self.people),
            "margin": self.margin(),
            "price": self.price.to_dict(),
            "hides": self.offer.hides,
            "versions": dict(self.versions),
            "name": self.name,
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return it in words."""
        middle = int(np.searchsorted(np.cumsum(self.people), self.offer.pairs.people / 2))
        more = f"{middle} or more" if middle == len(self.released) else str(middle)
        return [
            ("people", f"{self.offer.pairs.people:,}"),
            ("with an edge", f"{round(self.at_least[0]):,}"),
            ("edges of the middle person", more),
            ("error", f"{_error_of(self.offer, as_confidence(_CONFIDENCE))}, each number of people"),
            ("cost", str(self.price)),
            ("hides", self.offer.hides),
        ]

    def plot(self, path: str | Path) -> Path:
        """Draw how many people have at least each number of edges, with bounds; it needs matplotlib."""
        _, _, at_least, low, high = (column.plain for column in self.frame_columns(_CONFIDENCE))
        title, edges = f"People by their edges in {self.offer.pairs.table}", range(len(at_least))
        with canvas(path, title=title, x="edges, at least", y="people") as axes:
            (line,) = axes.plot(edges, at_least, drawstyle="steps-post")
            axes.fill_between(edges, low, high, step="post", alpha=0.2, color=line.get_color(), linewidth=0)
            axes.set_ylim(bottom=0)
        return Path(path)

    def picture(self, confidence: Exact = _CONFIDENCE) -> Drawing:
        """Return a drawing (SVG) of how many people have at least each number of edges, with bounds."""
        _, _, at_least, low, high = (column.plain[1 : _MOST_DRAWN + 1] for column in self.frame_columns(confidence))
        labels = [f"at least {edges + 1}" for edges in range(len(at_least))]
        panel = Panel("people", labels, at_least, low, high, from_zero=True, over_time=False)
        return draw_panel(panel, f"people by their edges in {self.offer.pairs.table}")

    def _repr_html_(self) -> str:
        return f"{Result._repr_html_(self)}<div>{self.picture().coloured}</div>"

    def __repr__(self) -> str:
        return f"<degrees in {self.offer.pairs.table}: {len(self.released)} numbers, {self.price}>"


def _falling(numbers: Sequence[int]) -> list[float]:
    """Return the falling numbers with the least sum of squares from these: neighbours that rise are averaged."""
    blocks = list[tuple[float, int]]()
    for number in numbers:
        total, size = float(number), 1
        while blocks and blocks[-1][0] * size < total * blocks[-1][1]:
            before, many = blocks.pop()
            total, size = total + before, size + many
        blocks.append((total, size))
    return [total / size for total, size in blocks for _ in range(size)]
