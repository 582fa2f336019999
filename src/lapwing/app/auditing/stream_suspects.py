"""Suspects that are streams: the sparse vector in every variant that is shipped, seen by the numbers of its rule."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

from lapwing.app.auditing.suspect import Suspect
from lapwing.auditor import noise_laws
from lapwing.auditor.noise_laws import NoiseLaw
from lapwing.auditor.sparse_vector_oracle import ClearYes, Reveals, SparseVectorVariant
from lapwing.auditor.streams import CorrelationStream, Stream
from lapwing.auditor.worst_pairs import Movement as Moving
from lapwing.mechanisms.above_threshold import AboveThreshold
from lapwing.mechanisms.sparse_vector.adaptive import AdaptiveSparse
from lapwing.mechanisms.sparse_vector.correlation import CorrelationScreen
from lapwing.mechanisms.sparse_vector.gaussian import GaussianSparse
from lapwing.mechanisms.sparse_vector.movement import Movement
from lapwing.mechanisms.sparse_vector.pure import SparseVector, StreamNoise, YesTells
from lapwing.mechanisms.sparse_vector.rule import Comparison
from lapwing.noise.laws import DiscreteLaplace, Geometric, RoundedGaussian
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.guarantee import ApproximateDP, PureDP

Shipped: TypeAlias = SparseVector | AdaptiveSparse | GaussianSparse

_NOES = 6
_GAUSSIAN_NOES = 12
_RISING = ([0] * 5, [*[1] * 4, -1])
_TOGETHER = ([0] * 5, [*[1] * 4, 0])


def stream_suspects(epsilon: Fraction, delta: Fraction) -> list[Suspect]:
    """Return the streams, at this price."""
    counts, others = Movement.of_counts(Adjacency.ADD_REMOVE), Movement.of_counts(Adjacency.REPLACE)
    printed = AboveThreshold.as_printed(epsilon=epsilon, threshold=0, sensitivity=1)
    first = AboveThreshold(epsilon=epsilon, threshold=0, moves=counts)
    bare = SparseVector(epsilon=epsilon, yeses=3, threshold=0, moves=counts, tells=YesTells.NOTHING_MORE)
    gap = SparseVector(epsilon=epsilon, yeses=2, threshold=0, moves=counts)
    general = SparseVector(epsilon=epsilon, yeses=2, threshold=0, moves=others)
    laplace = SparseVector(epsilon=epsilon, yeses=2, threshold=0, moves=others, noise=StreamNoise.LAPLACE)
    number = SparseVector(epsilon=epsilon, yeses=2, threshold=0, moves=others, tells=YesTells.NUMBER)
    adaptive = AdaptiveSparse(epsilon=epsilon, yeses=2, clear_by=12, threshold=0, moves=counts)
    return [
        _pure("above-threshold", first, Moving.TOGETHER),
        _pure("above-threshold-as-printed", printed, Moving.EITHER_WAY),
        _pure("sparse-vector", gap, Moving.TOGETHER),
        _pure("sparse-vector-bare", bare, Moving.TOGETHER),
        _pure("sparse-vector-replace", general, Moving.EITHER_WAY),
        _pure("sparse-vector-laplace", laplace, Moving.EITHER_WAY),
        _pure("sparse-vector-number", number, Moving.EITHER_WAY),
        _pure("adaptive-sparse", adaptive, Moving.TOGETHER, noes=2, yeses=((0, 2), (2, 1))),
        *_gaussian(epsilon, delta, others),
        _correlations(epsilon),
    ]


def variant_of(mechanism: Shipped, noise: Fraction = Fraction(1)) -> SparseVectorVariant:
    """Describe a stream to the oracle by its rule, with all its noise multiplied."""
    rule, step = mechanism.rule, mechanism.grid
    *clear, plain = rule.comparisons
    reveals = Reveals.GAP if rule.shows_gap else Reveals.BIT
    return SparseVectorVariant(
        threshold=_law(rule.threshold_noise, step, noise),
        query=noise_laws.Shifted(_law(plain.noise, step, noise), by=-plain.bar * step),
        yeses=mechanism.yeses,
        reveals=reveals | Reveals.NUMERIC if rule.fresh_noise else reveals,
        numeric=_law(rule.fresh_noise, step, noise) if rule.fresh_noise else None,
        clear=_clear(clear[0], step, noise) if clear else None,
    )


def asked(mechanism: Shipped) -> Callable[[Sequence[int]], tuple[object, ...]]:
    """Return what asks a new stream about these values and returns all it says."""

    def ask(values: Sequence[int]) -> tuple[object, ...]:
        with mechanism.open() as stream:
            return tuple(
                (bool(answer), float(answer.gap) if answer.gap is not None else None)
                for answer in stream.ask_many(list(values))
            )

    return ask


def _pure(
    name: str,
    mechanism: SparseVector | AdaptiveSparse,
    movement: Moving,
    *,
    noes: int = _NOES,
    yeses: tuple[tuple[int, int | None], ...] = ((0, None),),
) -> Suspect:
    return Suspect(
        name=name,
        claim=PureDP(epsilon=mechanism.epsilon),
        box=lambda noise: Stream(variant=variant_of(mechanism, noise), movement=movement, noes=noes, yeses=yeses),
        release=asked(mechanism),
        neighbours=_TOGETHER if movement is Moving.TOGETHER else _RISING,
    )


def _gaussian(epsilon: Fraction, delta: Fraction, moves: Movement) -> list[Suspect]:
    """Return the Gaussian stream for this budget, unless the budget is too small for one."""
    try:
        mechanism = GaussianSparse.for_budget(
            epsilon=epsilon, delta=delta, yeses=1, questions=_GAUSSIAN_NOES + 1, threshold=0, moves=moves
        )
    except ParameterError:
        return []
    return [
        Suspect(
            name="gaussian-sparse",
            claim=ApproximateDP(epsilon=epsilon, delta=delta),
            box=lambda noise: Stream(variant=variant_of(mechanism, noise), noes=_GAUSSIAN_NOES),
            release=asked(mechanism),
            neighbours=_RISING,
        )
    ]


def _correlations(epsilon: Fraction) -> Suspect:
    screen = CorrelationScreen(at_least="0.5", resolution=2)
    mechanism = SparseVector(
        epsilon=epsilon,
        yeses=1,
        threshold=0,
        moves=screen.moves(Adjacency.ADD_REMOVE),
        tells=YesTells.NOTHING_MORE,
    )
    return Suspect(
        name="correlation-screen",
        claim=PureDP(epsilon=epsilon),
        box=lambda noise: CorrelationStream(
            variant=variant_of(mechanism, noise), at_least=screen.at_least, resolution=screen.resolution
        ),
        release=asked(mechanism),
        neighbours=([0] * 5, [*[24] * 4, -8]),
    )


def _clear(comparison: Comparison, step: Fraction, noise: Fraction) -> ClearYes:
    centred = noise_laws.Shifted(_law(comparison.noise, step, noise), by=-comparison.centre * step)
    return ClearYes(centred, margin=(comparison.bar - comparison.centre) * step)


def _law(law: object, step: Fraction, noise: Fraction) -> NoiseLaw:
    match law:
        case Geometric():
            return noise_laws.Geometric(float(law.scale * noise * step), step=step)
        case DiscreteLaplace():
            return noise_laws.DiscreteLaplace(float(law.scale * noise * step), step=step)
        case RoundedGaussian():
            return noise_laws.RoundedGaussian(float(law.sigma_used * noise * step), step=step)
        case _:
            raise TypeError(law)
