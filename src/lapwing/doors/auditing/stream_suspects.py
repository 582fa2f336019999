"""Suspects that are streams: the sparse vector in every variant that is shipped, seen by the numbers of its rule."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from lapwing.auditor.noise_laws import Shifted
from lapwing.auditor.sparse_vector_oracle import ClearYes, Reveals, SparseVectorVariant
from lapwing.auditor.stream_models import AuditedStream, CorrelationStream
from lapwing.auditor.worst_pairs import AuditedMovement as Moving
from lapwing.doors.auditing.suspect import Suspect, law_of
from lapwing.mechanisms.sparse_vector.gaussian_stream import GaussianSparseVector
from lapwing.mechanisms.sparse_vector.pure import AboveThreshold, AdaptiveSparseVector, SparseVector, YesReveals
from lapwing.mechanisms.sparse_vector.rule import ThresholdComparison
from lapwing.mechanisms.sparse_vector.stream_mechanism import SparseVectorNoise
from lapwing.mechanisms.sparse_vector.value_sensitivity import CorrelationScreen, ValueSensitivity
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, PureDP

Shipped: TypeAlias = SparseVector | AdaptiveSparseVector | GaussianSparseVector

_NOES = 6
_GAUSSIAN_NOES = 12
_FAR = 3  # how far one person moves a value: not 1, so that a sensitivity that is forgotten or squared is seen
_RISING = ([0] * 5, [*[_FAR] * 4, -_FAR])
_TOGETHER = ([0] * 5, [*[_FAR] * 4, 0])


def stream_suspects(epsilon: Fraction) -> list[Suspect]:
    """Return the streams that there are at this price; `gaussian_sparse` is one more."""
    claim = PureDP(epsilon=epsilon)
    sums, others = (ValueSensitivity.of_sums(one, most=_FAR) for one in (Adjacency.ADD_REMOVE, Adjacency.REPLACE))
    printed = AboveThreshold.as_printed(epsilon=epsilon, threshold=0, sensitivity=_FAR)
    first = AboveThreshold(epsilon=epsilon, threshold=0, sensitivity=sums)
    bare = SparseVector(epsilon=epsilon, yeses=3, threshold=0, sensitivity=sums, reveals=YesReveals.NOTHING_MORE)
    gap = SparseVector(epsilon=epsilon, yeses=2, threshold=0, sensitivity=sums)
    general = SparseVector(epsilon=epsilon, yeses=2, threshold=0, sensitivity=others)
    laplace = SparseVector(epsilon=epsilon, yeses=2, threshold=0, sensitivity=others, noise=SparseVectorNoise.LAPLACE)
    number = SparseVector(epsilon=epsilon, yeses=2, threshold=0, sensitivity=others, reveals=YesReveals.NUMBER)
    adaptive = AdaptiveSparseVector(epsilon=epsilon, yeses=2, clear_by=12, threshold=0, sensitivity=sums)
    return [
        _pure("above-threshold", claim, first, Moving.TOGETHER),
        _pure("above-threshold-as-printed", claim, printed, Moving.EITHER_WAY),
        _pure("sparse-vector", claim, gap, Moving.TOGETHER),
        _pure("sparse-vector-bare", claim, bare, Moving.TOGETHER),
        _pure("sparse-vector-replace", claim, general, Moving.EITHER_WAY),
        _pure("sparse-vector-laplace", claim, laplace, Moving.EITHER_WAY),
        _pure("sparse-vector-number", claim, number, Moving.EITHER_WAY),
        _pure("adaptive-sparse", claim, adaptive, Moving.TOGETHER, noes=2, yeses=((0, 2), (2, 1))),
        _correlations(epsilon),
    ]


def variant_of(mechanism: Shipped, noise: Fraction = Fraction(1)) -> SparseVectorVariant:
    """Describe a stream to the oracle by its rule, with all its noise multiplied."""
    rule, step = mechanism.rule, mechanism.grid
    *clear, plain = rule.comparisons
    reveals = Reveals.GAP if rule.shows_gap else Reveals.BIT
    return SparseVectorVariant(
        threshold=law_of(rule.threshold_noise, step, noise),
        query=Shifted(law_of(plain.noise, step, noise), by=-plain.bar * step),
        yeses=mechanism.yeses,
        reveals=reveals | Reveals.NUMERIC if rule.fresh_noise else reveals,
        numeric=law_of(rule.fresh_noise, step, noise) if rule.fresh_noise else None,
        clear=_clear(clear[0], step, noise) if clear else None,
    )


def asker(mechanism: Shipped) -> Callable[[Sequence[int]], tuple[object, ...]]:
    """Return a function that asks a new stream about values and returns its whole output."""

    def ask(values: Sequence[int]) -> tuple[object, ...]:
        with mechanism.open() as stream:
            answers = [(one.above, one.price, one.gap, one.number) for one in stream.ask_many(list(values))]
            return tuple((above, *(None if one is None else float(one) for one in told)) for above, *told in answers)

    return ask


def _pure(
    name: str, claim: PureDP, mechanism: SparseVector | AdaptiveSparseVector, moving: Moving, **model: Any
) -> Suspect:
    asked_for = {"movement": moving, "noes": _NOES, **model}
    return Suspect(
        name=name,
        claim=claim,
        box=lambda noise: AuditedStream(variant=variant_of(mechanism, noise), sensitivity=_FAR, **asked_for),
        release=asker(mechanism),
        neighbours=_TOGETHER if moving is Moving.TOGETHER else _RISING,
    )


def gaussian_sparse(epsilon: Fraction, delta: Fraction) -> Suspect:
    """Return the Gaussian stream for this budget, or refuse one that is too small for it."""
    sums, noes = ValueSensitivity.of_sums(Adjacency.REPLACE, most=_FAR), _GAUSSIAN_NOES
    mechanism = GaussianSparseVector.for_budget(
        epsilon=epsilon, delta=delta, yeses=1, questions=noes + 1, threshold=0, sensitivity=sums
    )
    return Suspect(
        name="gaussian-sparse",
        claim=ApproximateDP(epsilon=epsilon, delta=delta),
        box=lambda noise: AuditedStream(variant=variant_of(mechanism, noise), sensitivity=_FAR, noes=noes),
        release=asker(mechanism),
        neighbours=_RISING,
    )


def _correlations(epsilon: Fraction) -> Suspect:
    screen = CorrelationScreen(at_least="0.5", resolution=2)
    moves, nothing = screen.sensitivity(Adjacency.ADD_REMOVE), YesReveals.NOTHING_MORE
    mechanism = SparseVector(epsilon=epsilon, yeses=1, threshold=0, sensitivity=moves, reveals=nothing)
    return Suspect(
        name="correlation-screen",
        claim=PureDP(epsilon=epsilon),
        box=lambda noise: CorrelationStream(
            variant=variant_of(mechanism, noise), at_least=screen.at_least, resolution=screen.resolution
        ),
        release=asker(mechanism),
        neighbours=([0] * 5, [*[24] * 4, -8]),
    )


def _clear(comparison: ThresholdComparison, step: Fraction, noise: Fraction) -> ClearYes:
    centred = Shifted(law_of(comparison.noise, step, noise), by=-comparison.centre * step)
    return ClearYes(centred, margin=(comparison.bar - comparison.centre) * step)
