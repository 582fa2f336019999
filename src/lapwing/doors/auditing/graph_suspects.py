"""Suspects that count shapes in a graph, over all graphs of five people."""

from fractions import Fraction
from typing import Final

from lapwing.auditor.graph_ladders import AuditedLadder, Edges, count_stars, count_triangles
from lapwing.doors.auditing.suspect import Suspect
from lapwing.mechanisms.graphs.graph_releases import LadderMechanism
from lapwing.mechanisms.graphs.ladders import CountedShape, Stars, Triangles
from lapwing.mechanisms.graphs.simple_graph import SimpleGraph
from lapwing.vocabulary.guarantee import PureDP

_PEOPLE: Final = 5
_POINTS: Final = 3
_WIDTHS: Final = 12
"""After ten edges, all graphs of five people are within reach."""
_EVERYBODY: Final = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)]
"""Two people who are joined to all others, and to each other."""


def graph_suspects(epsilon: Fraction) -> list[Suspect]:
    """Return the ladders of triangles and stars, at this price."""
    return [
        _ladder("triangle-ladder", Triangles(), epsilon),
        _ladder("star-ladder", Stars(points=_POINTS), epsilon),
    ]


def ladder_of(mechanism: LadderMechanism, noise: Fraction = Fraction(1)) -> AuditedLadder:
    """Return the white box of a ladder, from the widths and the rate with which it is drawn."""

    def widths(edges: Edges) -> list[int]:
        _, first = mechanism.shape.climb(SimpleGraph.of_pairs(edges, _PEOPLE), _WIDTHS)
        return [*first, mechanism.shape.most(_PEOPLE)]

    count = count_triangles if isinstance(mechanism.shape, Triangles) else count_stars(_POINTS)
    return AuditedLadder(people=_PEOPLE, count=count, widths=widths, rate=float(mechanism.rate / noise))


def _ladder(name: str, shape: CountedShape, epsilon: Fraction) -> Suspect:
    mechanism = LadderMechanism(shape=shape, people=_PEOPLE, epsilon=epsilon)
    return Suspect(
        name=name,
        claim=PureDP(epsilon=epsilon),
        box=lambda noise: ladder_of(mechanism, noise),
        release=mechanism.release,
        neighbours=(_EVERYBODY, _EVERYBODY[1:]),
    )
