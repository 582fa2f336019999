"""Events: one noun for every kind of release, in exact numbers; and the interface of its privacy loss.

A mechanism reports an event; accounting prices it. Events are stored in ledgers and must still mean the same in ten
years: the meaning of a tag and its fields never changes (see `codec`).

Sensitivities already include the adjacency: they bound how far one person (or one protected group) moves the value.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields
from fractions import Fraction
from functools import partial
from typing import Protocol, TypeAlias, get_args

from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int, coerce_fields, exact, positive, probability
from lapwing.vocabulary.guarantee import Adjacency


class _Noun:
    """Reads the fields of an event: whole numbers from 1 on, fractions above zero, and others by name (`_READERS`)."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for one in fields(self):  # type: ignore[arg-type] # what is stored is a dataclass
            read = _READERS.get(one.name) or _READERS.get(one.type)
            if read is not None:
                coerce_fields(self, read, one.name)


@stored("laplace-noise")
class LaplaceNoise(_Noun):
    """Continuous Laplace noise of scale `scale` on a vector of L1 sensitivity `l1_sensitivity`, maybe then rounded."""

    l1_sensitivity: Fraction
    scale: Fraction


@stored("discrete-laplace-noise")
class DiscreteLaplaceNoise(_Noun):
    """Two-sided geometric noise, P(x) ∝ e^(-|x|/scale), on integers of L1 sensitivity `l1_sensitivity`."""

    l1_sensitivity: int
    scale: Fraction


@stored("gaussian-noise")
class GaussianNoise(_Noun):
    """Continuous Gaussian noise on every coordinate, maybe then rounded. The L2 sensitivity's square is exact."""

    l2_sensitivity_squared: Fraction
    sigma_squared: Fraction


@stored("discrete-gaussian-noise")
class DiscreteGaussianNoise(_Noun):
    """P(x) ∝ e^(-x²/2σ²) on the integers, on each of `dimension` integer coordinates, all of them released at once.

    Coordinates that come one after the other, each moved as the noise before it suggests, are events of their own.
    """

    l2_sensitivity_squared: int
    sigma_squared: Fraction
    dimension: int = 1


@stored("pure-release")
class PureRelease(_Noun):
    """Anything that is epsilon-DP and about which no more is known: noisy max, permute-and-flip, a sparse vector."""

    epsilon: Fraction


@stored("approximate-release")
class ApproximateRelease(_Noun):
    """Anything that is (epsilon, delta)-DP and about which no more is known."""

    epsilon: Fraction
    delta: Fraction


@stored("exponential-selection")
class ExponentialSelection(_Noun):
    """The exponential mechanism: its loss lies in an interval of length `epsilon` (bounded range)."""

    epsilon: Fraction


@stored("randomized-response")
class RandomizedResponseRelease(_Noun):
    """One answer out of `categories`: the truth with probability e^ε/(e^ε + categories - 1), else any other, evenly."""

    epsilon: Fraction
    categories: int = 2


@stored("gaussian-sparse-vector")
class GaussianSparseVectorRelease(_Noun):
    """A sparse vector with Gaussian noise: threshold noise once, query noise each time, at most `yeses` of `questions`.

    `monotone` means that all questions of one pair of neighbours move the same way; `with_gap` that a yes came with
    its noisy distance from the threshold (which is not free with Gaussian noise).
    """

    sensitivity: Fraction
    threshold_sigma_squared: Fraction
    query_sigma_squared: Fraction
    questions: int
    yeses: int
    monotone: bool
    with_gap: bool = False


@stored("composed")
class Composed(_Noun):
    """All of `parts`, on the same people, with parameters fixed before the first answer."""

    parts: tuple["Event", ...]


@stored("repeated")
class Repeated(_Noun):
    """`part`, `times` times, on the same people."""

    part: "Event"
    times: int


@stored("in-parallel")
class InParallel(_Noun):
    """Each of `parts` on people of its own: public, disjoint partitions, so that one person meets only one of them."""

    parts: tuple["Event", ...]


@stored("poisson-sampled")
class PoissonSampled(_Noun):
    """`part` on a fresh secret sample that holds each person independently with probability `rate` (add/remove).

    `part` is priced for one person: the people of a group have a coin each, so the sensitivity of a group in it would
    be too cheap. Take `guarantee_for_group` of what comes out.
    """

    part: "Event"
    rate: Fraction


@stored("sampled-without-replacement")
class SampledWithoutReplacement:
    """`part` on a fresh secret sample of `sample_size` out of `population_size` people (replace).

    `part` is priced for one person, as in `PoissonSampled`.
    """

    part: "Event"
    sample_size: int
    population_size: int

    def __post_init__(self) -> None:
        checked_event(self.part)
        coerce_fields(self, as_int, "population_size")
        coerce_fields(self, partial(as_int, most=self.population_size), "sample_size")


Event: TypeAlias = (
    LaplaceNoise
    | DiscreteLaplaceNoise
    | GaussianNoise
    | DiscreteGaussianNoise
    | PureRelease
    | ApproximateRelease
    | ExponentialSelection
    | RandomizedResponseRelease
    | GaussianSparseVectorRelease
    | Composed
    | Repeated
    | InParallel
    | PoissonSampled
    | SampledWithoutReplacement
)


def checked_event(given: object) -> Event:
    """Return `given` if it is an event; a mechanism, for one, is none, but has one.

    >>> checked_event("noise")
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: event = 'noise' is not an event; give what happened: the event of a mechanism
    """
    if isinstance(given, get_args(Event)):
        return given  # type: ignore[no-any-return]
    remedy = "give its .event" if hasattr(given, "event") else "give what happened: the event of a mechanism"
    raise ParameterError("event", given, reason="is not an event", remedy=remedy)


def required_adjacency(event: Event, population: Adjacency | None = None) -> Adjacency | None:
    """Return the adjacency that `event` needs, None if it is good for both; refuse what needs two.

    Where the adjacency of the population is known, an event that needs the other one is refused, too.

    >>> required_adjacency(PoissonSampled(part=PureRelease(epsilon=Fraction(1)), rate=Fraction(1, 10)))
    <Adjacency.ADD_REMOVE: 'add-remove'>
    """
    needed = population
    for part in _parts(event):
        if type(part) not in _NEEDS:
            continue
        needs, remedy = _NEEDS[type(part)]
        if needed is not None and needs is not needed:
            reason = f"needs the adjacency {needs.value}, but {needed.value} is in force"
            raise ParameterError("event", type(part).__name__, reason=reason, remedy=remedy)
        needed = needs
    return needed


_NEEDS: dict[type[Event], tuple[Adjacency, str]] = {
    PoissonSampled: (Adjacency.ADD_REMOVE, "draw a sample of fixed size, or protect the number of people too"),
    SampledWithoutReplacement: (Adjacency.REPLACE, "sample each person independently, or make the number public"),
    InParallel: (Adjacency.ADD_REMOVE, "a replaced person may move between partitions: charge the two worst, Composed"),
}


def _parts(event: Event) -> Iterator[Event]:
    yield event
    match event:
        case Composed(parts=parts) | InParallel(parts=parts):
            for part in parts:
                yield from _parts(part)
        case Repeated(part=part) | PoissonSampled(part=part) | SampledWithoutReplacement(part=part):
            yield from _parts(part)
        case _:
            return


def _events(name: str, given: object) -> tuple[Event, ...]:
    if not isinstance(given, tuple) or not given:
        raise ParameterError(name, given, reason="is not a tuple of events", remedy="write at least one, in a tuple")
    return tuple(checked_event(part) for part in given)


def _rate(name: str, given: object) -> Fraction:
    rate = exact(name, given)
    if not 0 < rate <= 1:
        remedy = "write a number above 0 and at most 1"
        raise ParameterError(name, given, reason="is not a sampling rate", remedy=remedy)
    return rate


_READERS: dict[object, Callable[[str, object], object]] = {
    int: as_int,
    Fraction: positive,
    "categories": partial(as_int, least=2),
    "delta": probability,
    "part": lambda _, given: checked_event(given),
    "parts": _events,
    "rate": _rate,
}


class Loss(Protocol):
    """The privacy loss of one release between neighbouring tables.

    Every number returned is an upper bound, rounded towards more cost. A currency in which no finite bound is known
    answers with infinity (or `None` where the answer is an exact fraction).
    """

    @property
    def pure_epsilon(self) -> Fraction | None:
        """The exact epsilon for which the release is (epsilon, 0)-differentially private, if there is one."""

    @property
    def rho(self) -> Fraction | None:
        """A rho for which the release is rho-zero-concentrated differentially private, if one is known."""

    def delta(self, epsilon: float) -> float:
        """Return a delta for which the release is (epsilon, delta)-differentially private."""

    def epsilon(self, delta: float) -> float:
        """Return an epsilon for which the release is (epsilon, delta)-differentially private."""

    def renyi(self, alpha: float) -> float:
        """Return a bound on the Renyi divergence of order `alpha` > 1, in both directions."""
