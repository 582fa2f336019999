"""Is a sparse vector the right tool? What the others would do at the same price, computed.

Every way is measured by one number: how far values must be from the threshold for all questions to be decided right.
Margins shrink about as 1/epsilon, so a way whose margin is twice as large costs about twice as much for the same one.
"""

import math
from collections.abc import Callable
from enum import Enum
from fractions import Fraction

import numpy as np

from lapwing.mechanisms.gaussian import smallest_variance
from lapwing.mechanisms.sparse_vector.gaussian_stream import GaussianSparseVector
from lapwing.mechanisms.sparse_vector.law_probabilities import Law, log_below, width
from lapwing.mechanisms.sparse_vector.pure import SparseVector
from lapwing.mechanisms.sparse_vector.rule import two_sided
from lapwing.mechanisms.sparse_vector.stream_mechanism import StreamParameters
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.noise.laws import RoundedGaussian
from lapwing.vocabulary.event import GaussianNoise
from lapwing.vocabulary.exact import Exact, as_int, exact, positive, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.loading import load_when_called
from lapwing.vocabulary.search import bisect_float

brentq, minimize_scalar = load_when_called("scipy.optimize", "brentq", "minimize_scalar")


class Way(Enum):
    """A way to find out which of many values are at least a threshold."""

    SPARSE_VECTOR = "a sparse vector: questions may be unlimited and chosen as one goes; only a yes is paid"
    GAUSSIAN_SPARSE_VECTOR = "a sparse vector with Gaussian noise: the number of questions is fixed, and all is paid"
    NOISE_ON_ALL = "Laplace noise on every value: the number of questions is fixed; it also shows every value"
    GAUSSIAN_ON_ALL = "Gaussian noise on every value: the number of questions is fixed; it also shows every value"
    SELECTION = "choosing the largest values one by one: all questions are known at the start, and no threshold is used"


@frozen()
class SparseVectorAdvice:
    """The ways that are open, best first, each with its margin at the same price."""

    margins: tuple[tuple[Way, float], ...]

    @property
    def best(self) -> Way:
        """The way with the smallest margin."""
        return self.margins[0][0]

    def times(self, way: Way) -> float:
        """Return how many times as large the margin of a way is as the best one: about as many times as dear."""
        best, margin = self.margins[0][1], dict(self.margins)[way]
        return margin / best if best else math.inf if margin else 1.0

    def __str__(self) -> str:
        return "\n".join(f"{self.times(way):6.2f}x  +-{margin:,.6g}  {way.value}" for way, margin in self.margins)


def advise(
    *,
    questions: int,
    yeses: int,
    epsilon: Exact,
    sensitivity: ValueSensitivity,
    grid: Exact = 1,
    delta: Exact | None = None,
    all_known: bool = False,
    confidence: Exact = "0.9",
) -> SparseVectorAdvice:
    """Return which way decides `questions` questions best at a price, if `yeses` of them deserve a yes.

    Without a delta, Gaussian noise is out; and selection, unless all questions are known before the first answer. With
    probability `confidence` all questions are to be decided right.

    >>> from lapwing.vocabulary.guarantee import Adjacency
    >>> counts = ValueSensitivity.of_counts(Adjacency.ADD_REMOVE)
    >>> few = advise(questions=1000, yeses=10, epsilon=1, sensitivity=counts)
    >>> few.best.name, round(few.times(Way.NOISE_ON_ALL))
    ('SPARSE_VECTOR', 105)
    >>> advise(questions=5, yeses=4, epsilon=1, sensitivity=ValueSensitivity.of_anything(sensitivity=1)).best.name
    'NOISE_ON_ALL'
    """
    asked = as_int("questions", questions, least=2)
    high = as_int("yeses", yeses, most=asked - 1)
    case = _Case(
        below=asked - high,
        above=high,
        epsilon=positive("epsilon", epsilon),
        delta=Fraction(0) if delta is None else probability("delta", delta),
        sensitivity=sensitivity,
        grid=exact("grid", grid),
        confidence=probability("confidence", confidence),
    )
    ways: dict[Way, Callable[[], float]] = {Way.SPARSE_VECTOR: case.sparse_vector, Way.NOISE_ON_ALL: case.noise_on_all}
    if delta is not None:
        ways |= {Way.GAUSSIAN_SPARSE_VECTOR: case.gaussian_sparse_vector, Way.GAUSSIAN_ON_ALL: case.gaussian_on_all}
    if all_known:
        ways[Way.SELECTION] = case.selection
    return SparseVectorAdvice(
        margins=tuple(sorted(((way, margin()) for way, margin in ways.items()), key=lambda one: one[1]))
    )


@frozen()
class _Case:
    below: int
    above: int
    epsilon: Fraction
    delta: Fraction
    sensitivity: ValueSensitivity
    grid: Fraction
    confidence: Fraction

    @property
    def questions(self) -> int:
        return self.below + self.above

    @property
    def values(self) -> StreamParameters:
        return {"threshold": 0, "sensitivity": self.sensitivity, "grid": self.grid}

    def sparse_vector(self) -> float:
        stream = SparseVector(epsilon=self.epsilon, yeses=self.above, **self.values)
        return float(stream.placed_for(self.questions, self.confidence).margin(self.confidence))

    def gaussian_sparse_vector(self) -> float:
        stream = GaussianSparseVector.for_budget(
            epsilon=self.epsilon, delta=self.delta, yeses=self.above, questions=self.questions, **self.values
        )
        return float(stream.placed_for(self.confidence).margin(self.confidence))

    def noise_on_all(self) -> float:
        rise, _ = self.sensitivity.in_steps(self.grid)
        return self._margin_of(two_sided(self.questions * rise, self.epsilon))

    def gaussian_on_all(self) -> float:
        rise, _ = self.sensitivity.in_steps(self.grid)
        square = Fraction(self.questions * rise**2)

        def noise(variance: Fraction) -> GaussianNoise:
            return GaussianNoise(l2_sensitivity_squared=square, sigma_squared=variance)

        variance = smallest_variance(noise, epsilon=self.epsilon, delta=self.delta)
        return self._margin_of(RoundedGaussian(Fraction(math.sqrt(variance))))

    def selection(self) -> float:
        """Use the exponential mechanism once for every yes: take the largest `above` values after Gumbel noise."""
        _, span = self.sensitivity.in_steps(self.grid)
        scale = self.above * span / float(self.epsilon)
        largest_below = np.linspace(-8.0, 45.0, 20_001)  # of the noise on the values below, less its median
        log_density = -largest_below - np.exp(-largest_below)

        def chance(margin: float) -> float:
            noise = largest_below + math.log(self.below) - 2 * margin / scale
            all_above = -np.expm1(-np.exp(-np.maximum(noise, -700.0)))
            return float(np.trapezoid(np.exp(log_density) * all_above**self.above, largest_below))

        wanted = float(self.confidence)
        if chance(0.0) >= wanted:
            return 0.0
        return bisect_float(lambda at: chance(at) >= wanted, high=scale, relative=1e-9)[1] * float(self.grid)

    def _margin_of(self, law: Law) -> float:
        """Noise of a symmetric law on every value, and the best threshold for the noisy values."""
        wanted, scale = math.log(self.confidence), width(law)

        def log_within(at: float) -> float:
            return float(log_below(law, np.array([at]))[0])

        def above_if(upwards: float) -> float:
            """How far above the threshold values must be where those below may err upwards by this."""
            left = (wanted - self.below * log_within(upwards)) / self.above
            if left >= 0:
                return math.inf
            return float(brentq(lambda at: max(log_within(at), -1e4) - left, -60 * scale, 1e3 * scale))

        least = float(brentq(lambda at: self.below * max(log_within(at), -1e4) - wanted, -60 * scale, 1e3 * scale))
        found = minimize_scalar(
            lambda extra: min(least + extra + above_if(least + extra), 1e9 * scale),
            bounds=(1e-6 * scale, 20 * scale),
            method="bounded",
            options={"xatol": 1e-3 * scale},
        )
        return float(found.fun) / 2 * float(self.grid)
