"""The verb `graph`, and what can be asked of a graph: one charge, one release, read back for nothing.

What is charged follows from what is asked and declared, before data is read. A question is a reservation of one round.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Unpack

from lapwing.accounting.filters.charge import SingleRelease
from lapwing.answers.releases import Price, charged_as
from lapwing.answers.target import AtEpsilon, AtRho, Target, TargetWords, Within, parse_target
from lapwing.graphs.graph_answers import DegreeAnswer, GraphAnswer, GraphOffer, GraphPreview
from lapwing.graphs.pair_tables import PairTable, plan_pairs, read_pair_table
from lapwing.mechanisms.gaussian import DiscreteGaussianMechanism
from lapwing.mechanisms.graphs.graph_releases import (
    BoundedDegree,
    DegreeCounts,
    GraphCount,
    LadderMechanism,
    NoisyGraphCounts,
    WholeNoiseOf,
)
from lapwing.mechanisms.graphs.ladders import CountedShape, Stars, Triangles, check_people
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.queries.algebra.aggregate import tables_of
from lapwing.queries.language.builders import ConditionLike
from lapwing.queries.limits import MOST_NUMBERS
from lapwing.queries.planning.plan import Plan
from lapwing.reserved import reserve_analysis
from lapwing.rounds import IfLost, ReservationKind, RoundReader
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.deadline import deadline
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.exact import as_confidence, as_int
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, Guarantee, PureDP, currency_of
from lapwing.vocabulary.results import Result, shows_words
from lapwing.vocabulary.wording import format_exact

if TYPE_CHECKING:
    from lapwing.session import Session

KIND: Final = ReservationKind(name="graph", if_lost=IfLost.ENDS)
_SHOWN: Final = 50
"""Degrees that are told apart, where it is not said how many."""


def graph(
    session: "Session", table: str, *, between: tuple[str, str] | None = None, where: ConditionLike = None
) -> "Network":
    """Return a table of pairs as a graph, to ask about its edges, degrees, stars and triangles. It is free.

    Each row is an edge between two people, who are the whole numbers that are declared for both columns. Which of the
    two comes first, a pair that is there twice, and pairs of somebody and themselves make no difference.

    Parameters
    ----------
    table : one with one row for each edge, of a population whose keys name edges
    between : the two columns that hold the people; not needed where only two hold whole numbers
    where : which rows are edges, as SQL text or built with `col`
    """
    with deadline():
        pairs = read_pair_table(session.population, table, between)
        check_people(pairs.people)
        plan = plan_pairs(session.population, pairs, where)
    return Network(session=session, pairs=pairs, plan=plan)


@frozen(repr=False, eq=False)
class Network(Result):
    """A graph that can be asked; asking is charged, and `preview` is free.

    Prices are `epsilon=`, or `rho=` for edges and degrees; for these also `within=` at a `confidence=`. A `key=` is the
    idempotency key.
    """

    session: "Session"
    pairs: PairTable
    plan: Plan

    @shows_words(TargetWords, confidence="0.95")
    def edges(
        self, *, max_degree: int | None = None, key: str | None = None, **target: Unpack[TargetWords]
    ) -> GraphAnswer:
        """Ask how many edges there are.

        With `max_degree`, so many edges of each person count at most, and a person is protected with all their edges.
        """
        return self._number(self._offer("edges", {"max_degree": max_degree}, target), key)

    @shows_words(TargetWords, confidence="0.95")
    def degrees(
        self,
        up_to: int | None = None,
        *,
        max_degree: int | None = None,
        key: str | None = None,
        **target: Unpack[TargetWords],
    ) -> DegreeAnswer:
        """Ask how many people have how many edges; those with `up_to` or more are counted together.

        However many numbers there are, they cost as much as one. With `max_degree`, so many edges of each person count
        at most, and a person is protected with all their edges.
        """
        offer = self._offer("degrees", {"up_to": up_to, "max_degree": max_degree}, target)
        return DegreeAnswer(offer=offer, **self._released(offer, key, lambda numbers: {"released": tuple(numbers)}))

    @shows_words(TargetWords, confidence="0.95")
    def triangles(self, *, key: str | None = None, **target: Unpack[TargetWords]) -> GraphAnswer:
        """Ask how many triangles there are: three people of whom each two are joined."""
        return self._number(self._offer("triangles", {}, target), key)

    @shows_words(TargetWords, confidence="0.95")
    def stars(self, points: int, *, key: str | None = None, **target: Unpack[TargetWords]) -> GraphAnswer:
        """Ask how many stars there are: somebody in the middle, and so many of those who are joined to them."""
        return self._number(self._offer("stars", {"points": points}, target), key)

    @shows_words(TargetWords, confidence="0.95")
    def preview(
        self,
        what: str,
        *,
        points: int | None = None,
        up_to: int | None = None,
        max_degree: int | None = None,
        **target: Unpack[TargetWords],
    ) -> GraphPreview:
        """Say what "edges", "degrees", "triangles" or "stars" would cost, how exact they would be, and what is left."""
        given = {"points": points, "up_to": up_to, "max_degree": max_degree}
        offer = self._offer(what, {word: one for word, one in given.items() if one is not None}, target)
        event, before = charged_as(_event(offer)), self.session.budget()
        return GraphPreview(
            offer=offer,
            price=Price.of(event, currency_of(before.account.budget)),
            confidence=as_confidence(target.get("confidence", "0.95")),
            before=before,
            after=before.after(SingleRelease(event=event)),
        )

    def _offer(self, what: str, words: Mapping[str, Any], target: TargetWords) -> GraphOffer:
        """Return what is released and how; refuse before anything is charged."""
        shape = _shape_of(what, words)
        unit, budget = self.session.population.unit, self.session.budget().account.budget
        # Somebody who replaces an edge removes one and adds another; each of a group has one.
        units = unit.protects_groups_of * (2 if unit.adjacency is Adjacency.REPLACE else 1)
        wanted, people = parse_target(**target), self.pairs.people
        if not isinstance(shape, GraphCount):
            ladder = LadderMechanism(shape=shape, people=people, epsilon=_epsilon_of(wanted, what), edges=units)
            return GraphOffer(pairs=self.pairs, mechanism=ladder, units=units)
        most = words.get("max_degree")
        bounded = None if most is None else BoundedDegree(most=most, salt=self.session.population.salt)
        if isinstance(shape, DegreeCounts):
            largest = min(people - 1, MOST_NUMBERS) if bounded is None else min(bounded.most, people - 1)
            shown = min(_SHOWN, largest) if words.get("up_to") is None else words["up_to"]
            shape = DegreeCounts(up_to=as_int("up_to", shown, most=largest))
        noise = _noise_of(shape.moved(bounded) * units, shape.numbers, wanted, budget)
        counts = NoisyGraphCounts(counted=shape, people=people, noise=noise, bounded=bounded, units=units)
        return GraphOffer(pairs=self.pairs, mechanism=counts, units=units)

    def _number(self, offer: GraphOffer, key: str | None) -> GraphAnswer:
        return GraphAnswer(offer=offer, **self._released(offer, key, lambda numbers: {"value": numbers[0]}))

    def _released(self, offer: GraphOffer, key: str | None, read: Any) -> dict[str, Any]:
        """Charge, read, release and commit; or read back what was committed."""
        event, tables = charged_as(_event(offer)), sorted(tables_of(self.plan.aggregate))

        def draw(reader: RoundReader) -> dict[str, Any]:
            released = offer.mechanism.release(reader.keyed(self.plan.aggregate))
            numbers = released if isinstance(released, list) else [released]
            return {"released": numbers, "versions": dict(reader.versions)}

        rounds = reserve_analysis(
            self.session, KIND, event=event, rounds=1, terms=self._terms(offer), tables=tables, key=key
        )
        with rounds:
            outcome = rounds.round({"asks": offer.asks}, draw)
        return {
            **read(outcome["released"]),
            "price": Price.of(event, currency_of(self.session.budget().account.budget)),
            "versions": outcome["versions"],
            "name": rounds.name,
        }

    def _terms(self, offer: GraphOffer) -> dict[str, Any]:
        """Return what is agreed, as it stands in the ledger."""
        return {
            "table": self.pairs.table,
            "asks": offer.asks,
            "people": [self.pairs.first, self.pairs.last],
            "max_degree": offer.max_degree,
            "units": offer.units,
            "plan": digest(self.plan.canonical),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what is public about it as JSON values."""
        return {"table": self.pairs.table, "between": list(self.pairs.columns), "people": self.pairs.people}

    def facts(self) -> list[tuple[str, str | None]]:
        """Return what is public about it, in words."""
        one, other = self.pairs.columns
        return [
            ("graph", f"edges of {self.pairs.table} between {one} and {other}"),
            ("people", f"{self.pairs.people:,}, from {self.pairs.first} to {self.pairs.last}"),
        ]

    def __repr__(self) -> str:
        return f"<graph {self.pairs.table}: edges between {self.pairs.people:,} people>"


_WORDS: Final = {
    "edges": {"max_degree"},
    "degrees": {"up_to", "max_degree"},
    "triangles": set[str](),
    "stars": {"points"},
}


def _shape_of(what: str, words: Mapping[str, Any]) -> GraphCount | CountedShape:
    """Return what is counted."""
    if what not in _WORDS:
        raise BadQuestionError(f"{what!r} is not counted in a graph; ask for {', '.join(_WORDS)}")
    others = sorted(word for word, given in words.items() if given is not None and word not in _WORDS[what])
    if "max_degree" in others:
        raise BadQuestionError(
            f"{what} are counted for edges that are protected one by one; for people with all their edges, noise of "
            "about max_degree squared would be needed: ask for edges or degrees with max_degree"
        )
    if others:
        raise BadQuestionError(f"{what} take no {', '.join(others)}")
    match what:
        case "edges":
            return GraphCount()
        case "degrees":
            return DegreeCounts(up_to=1)
        case "triangles":
            return Triangles()
        case _ if words.get("points") is None:
            raise BadQuestionError("say how many points a star has: points=3")
        case _:
            return Stars(points=words["points"])


def _epsilon_of(wanted: Target, what: str) -> Any:
    match wanted:
        case AtEpsilon(epsilon=epsilon, delta=None):
            return epsilon
        case AtEpsilon(delta=delta):
            raise _no_delta(delta)
        case AtRho(rho=rho):
            reason, remedy = "cannot pay for a ladder", "offer an epsilon; an account of rho is charged less for it"
            raise ParameterError("rho", format_exact(rho), reason=reason, remedy=remedy)
        case Within(margin=margin):
            reason = f"cannot be promised for {what}: how far off they are depends on the graph"
            remedy = "offer an epsilon; preview(...).margin_if(...) says how exact it is in graphs that are assumed"
            raise ParameterError("within", format_exact(margin), reason=reason, remedy=remedy)


def _noise_of(moved: int, numbers: int, wanted: Target, budget: Guarantee) -> WholeNoiseOf:
    match wanted:
        case AtEpsilon(epsilon=epsilon, delta=None):
            return GeometricMechanism(l1_sensitivity=moved, epsilon=epsilon, dimension=numbers)
        case AtEpsilon(delta=delta):
            raise _no_delta(delta)
        case AtRho(rho=rho):
            if isinstance(budget, PureDP):
                reason, remedy = "cannot be paid from a pure budget", "offer an epsilon alone"
                raise ParameterError("rho", format_exact(rho), reason=reason, remedy=remedy)
            return DiscreteGaussianMechanism(l2_sensitivity_squared=moved**2, rho=rho, dimension=numbers)
        case Within(margin=margin, confidence=confidence):
            return GeometricMechanism(
                l1_sensitivity=moved, within=margin, confidence=confidence, values=numbers, dimension=numbers
            )


def _no_delta(delta: object) -> ParameterError:
    return ParameterError("delta", str(delta), reason="is not needed", remedy="offer the epsilon alone")


def _event(offer: GraphOffer) -> Any:
    mechanism = offer.mechanism
    return mechanism.event if isinstance(mechanism, LadderMechanism) else mechanism.noise.event
