"""Privacy amplification: what a secret sample is worth, and which sampling goes with which adjacency.

The sample must be secret, fresh for each release, and drawn as the event says. Batches cut from a shuffled list are
neither of the two samplings.

Proof: proofs/amplification_by_sampling.md
"""

from collections.abc import Iterator
from fractions import Fraction

from lapwing.accounting.losses.sampled import amplified_epsilon
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Composed, Event, InParallel, PoissonSampled, Repeated, SampledWithoutReplacement
from lapwing.vocabulary.exact import positive
from lapwing.vocabulary.guarantee import ApproximateDP, Guarantee, PureDP


def amplified(guarantee: Guarantee, rate: Fraction) -> PureDP | ApproximateDP:
    """Return what a guarantee becomes on a sample of `rate` of the people, rounded up.

    It holds for Poisson sampling when a person is added or removed, and for sampling without replacement when one is
    replaced: epsilon' = log(1 + rate (e^epsilon - 1)) and delta' = rate delta (Balle, Barthe and Gaboardi 2018). No
    better epsilon' is true of all mechanisms.

    Examples
    --------
    >>> tenth = Fraction(1, 10)
    >>> amplified(ApproximateDP(epsilon=tenth, delta=Fraction(1, 10**6)), tenth).delta
    Fraction(1, 10000000)
    """
    share = positive("rate", rate)
    if share > 1:
        raise ParameterError("rate", rate, reason="is above 1", remedy="write the share of people that is sampled")
    match guarantee:
        case PureDP(epsilon=epsilon):
            return PureDP(epsilon=amplified_epsilon(epsilon, share))
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return ApproximateDP(epsilon=amplified_epsilon(epsilon, share), delta=share * delta)
        case _:
            raise ParameterError(
                "guarantee", guarantee, reason="is not amplified by sampling", remedy="price the sampled event instead"
            )


def required_adjacency(event: Event, population: Adjacency | None = None) -> Adjacency | None:
    """Return the adjacency that `event` needs, None if it is good for both; refuse what needs two.

    Parameters
    ----------
    event : what happened, or is planned
    population : the adjacency that is in force, if known; an event that needs the other one is refused

    Examples
    --------
    >>> from lapwing.vocabulary.event import PureRelease
    >>> required_adjacency(PoissonSampled(part=PureRelease(epsilon=Fraction(1)), rate=Fraction(1, 10)))
    <Adjacency.ADD_REMOVE: 'add-remove'>
    """
    needed = population
    for part in _walk(event):
        if type(part) not in _NEEDS:
            continue
        needs, remedy = _NEEDS[type(part)]
        if needed is not None and needs is not needed:
            raise ParameterError(
                "event",
                type(part).__name__,
                reason=f"needs the adjacency {needs.value}, but {needed.value} is in force",
                remedy=remedy,
            )
        needed = needs
    return needed


_NEEDS: dict[type[Event], tuple[Adjacency, str]] = {
    PoissonSampled: (Adjacency.ADD_REMOVE, "draw a sample of fixed size, or protect the number of people too"),
    SampledWithoutReplacement: (Adjacency.REPLACE, "sample each person independently, or make the number public"),
    InParallel: (Adjacency.ADD_REMOVE, "a replaced person may move between partitions: charge the two worst, Composed"),
}


def _walk(event: Event) -> Iterator[Event]:
    yield event
    match event:
        case Composed(parts=parts) | InParallel(parts=parts):
            for part in parts:
                yield from _walk(part)
        case Repeated(part=part) | PoissonSampled(part=part) | SampledWithoutReplacement(part=part):
            yield from _walk(part)
        case _:
            return
