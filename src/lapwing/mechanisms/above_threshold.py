"""AboveThreshold: a stream that ends with its first yes.

Proof: proofs/sparse_vector.md
"""

from dataclasses import dataclass, field
from fractions import Fraction

from lapwing.mechanisms.sparse_vector.pure import SparseVector, SparseVectorNoise, YesReveals
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.vocabulary.exact import Exact


@dataclass(frozen=True, slots=True, init=False)
class AboveThreshold(SparseVector):
    """Answers no until the first yes, and then halts: a `SparseVector` with one yes.

    Parameters
    ----------
    epsilon : what it costs with its yes
    threshold, moves, grid, noise, tells, threshold_share, number_share, shift, questions : as for `SparseVector`

    Examples
    --------
    >>> from lapwing.vocabulary.guarantee import Adjacency
    >>> first = AboveThreshold(epsilon="0.5", threshold=10, moves=ValueSensitivity.of_counts(Adjacency.REPLACE))
    >>> with first.open() as stream:
    ...     [bool(answer) for answer in stream.ask_many([-10_000, -10_000, 10_000, 10_000])]
    [False, False, True]

    As the textbooks print it, with noise of the scales 2/epsilon and 4/epsilon:

    >>> printed = AboveThreshold.as_printed(epsilon=1, threshold=10, sensitivity=1)
    >>> printed.rule.threshold_noise, printed.rule.comparisons[0].noise
    (DiscreteLaplace(scale=Fraction(2, 1)), DiscreteLaplace(scale=Fraction(4, 1)))

    References
    ----------
    C. Dwork, A. Roth: The Algorithmic Foundations of Differential Privacy (2014), Algorithm 1 and Theorem 3.23.

    Proof: proofs/sparse_vector.md
    """

    yeses: int = field(default=1, init=False)

    def __init__(
        self,
        *,
        epsilon: Exact,
        threshold: Exact,
        moves: ValueSensitivity,
        grid: Exact = 1,
        noise: SparseVectorNoise = SparseVectorNoise.GEOMETRIC,
        tells: YesReveals = YesReveals.GAP,
        threshold_share: Exact | None = None,
        number_share: Exact | None = None,
        shift: Exact = 0,
        questions: int | None = None,
    ) -> None:
        SparseVector.__init__(  # a dataclass with slots is a new class, which super() without arguments does not know
            self,
            epsilon=epsilon,
            yeses=1,
            threshold=threshold,
            moves=moves,
            grid=grid,
            noise=noise,
            tells=tells,
            threshold_share=threshold_share,
            number_share=number_share,
            shift=shift,
            questions=questions,
        )

    @classmethod
    def as_printed(cls, *, epsilon: Exact, threshold: Exact, sensitivity: Exact, grid: Exact = 1) -> "AboveThreshold":
        """Return the textbook's variant: two-sided noise, half of epsilon for the threshold, a bare yes."""
        return cls(
            epsilon=epsilon,
            threshold=threshold,
            moves=ValueSensitivity.of_anything(sensitivity=sensitivity),
            grid=grid,
            noise=SparseVectorNoise.LAPLACE,
            tells=YesReveals.NOTHING_MORE,
            threshold_share=Fraction(1, 2),
        )
