"""The act of the sceptic, who takes nobody's word: what two sparse vectors really give away, computed exactly."""

from typing import Final

from lapwing.app.cli.demo.cast import Cast
from lapwing.auditor.known_liars import DOCUMENT_002
from lapwing.auditor.noise_laws import AuditedGeometric as GeometricNoise
from lapwing.auditor.sparse_vector_oracle import Reveals, SparseVectorVariant
from lapwing.auditor.worst_pairs import AuditedMovement as Moves
from lapwing.auditor.worst_pairs import worst_loss
from lapwing.mechanisms.sparse_vector.pure import SparseVector
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.noise.laws import Geometric, Law
from lapwing.vocabulary.adjacency import Adjacency

NOES: Final = (3, 10, 30)


def sceptic(cast: Cast) -> None:
    """Audit the sparse vector as a lecture prints it, and lapwing's."""
    stage = cast.stage
    stage.act("The sceptic: is it true?")
    stage.say(
        "Two sparse vectors claim epsilon 1. An auditor that shares no code with them searches for the two "
        "neighbouring tables they tell apart best, and computes what they give away after so many noes:"
    )
    variants = {"as that lecture prints it": DOCUMENT_002.variant, "lapwing's": _ours()}
    stage.table(
        ["epsilon, really", *(f"{noes} noes" for noes in NOES), "claim"],
        [[name, *(f"{_loss(one, noes):.2f}" for noes in NOES), "1.00"] for name, one in variants.items()],
    )
    stage.result("The lecture's is not private: it shows the number it compared. lapwing's keeps its word.")


def _loss(variant: SparseVectorVariant, noes: int) -> float:
    return worst_loss(variant, movement=Moves.TOGETHER, noes=noes).loss


def _ours() -> SparseVectorVariant:
    """Describe lapwing's sparse vector to the auditor, from the noise it really uses."""
    rule = SparseVector(epsilon=1, yeses=1, threshold=0, moves=ValueSensitivity.of_counts(Adjacency.ADD_REMOVE)).rule
    return SparseVectorVariant(
        threshold=GeometricNoise(_scale(rule.threshold_noise)),
        query=GeometricNoise(_scale(rule.comparisons[0].noise)),
        yeses=1,
        reveals=Reveals.GAP,
    )


def _scale(noise: Law) -> float:
    if not isinstance(noise, Geometric):
        raise TypeError(f"{noise} is not the default noise of a stream")
    return float(noise.scale)
