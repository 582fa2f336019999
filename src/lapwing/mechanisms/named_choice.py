"""The best of several numbers that were computed apart: the candidates have names, and no histogram holds them all."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from lapwing.mechanisms.histogram_selection import Selector
from lapwing.mechanisms.noise_mechanism import Integers, Priced, integers, wrong_size
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.mechanisms.score_selection import ScoreSelection
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.exact import Exact, as_int, fill, positive
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency

_FARTHEST: Final = 1 << 60


@frozen(kw_only=False, init=False)
class NamedChoice(Priced[Event]):
    """Chooses one of several numbers, each with about the largest being likely.

    A number is counted in steps of its own, `factors` of which are the common one; one of those stands for `step`.
    `sensitivity` is how far the protected people move any of them, in common steps.

    >>> largest = NamedChoice(factors=(1, 2), sensitivity=2, epsilon=20)
    >>> largest.release([[4000], [3000]])
    (1,)

    Proof: proofs/named_choice.md
    """

    factors: tuple[int, ...]
    step: Fraction
    selector: ScoreSelection[Event]  # type: ignore[type-var]  # of whichever event

    def __init__(
        self,
        *,
        factors: Sequence[int],
        sensitivity: int,
        epsilon: Exact,
        step: Exact = 1,
        monotone_under: Adjacency | None = None,
        selector: Selector = PermuteAndFlip,
    ) -> None:
        chooser = selector(
            sensitivity=sensitivity, candidates=len(factors), epsilon=epsilon, monotone_under=monotone_under
        )
        fill(
            self,
            event=chooser.event,
            factors=tuple(as_int("factors", one) for one in factors),
            step=positive("step", step),
            selector=chooser,
        )

    def release(self, value: Sequence[Integers]) -> tuple[int]:
        """Return the place of the chosen number, counting from 0; each number comes as a vector of one."""
        scores = list[int]()
        for factor, one in zip(self.factors, value, strict=True):
            opened = integers(one)
            if isinstance(opened, int) or opened.size != 1:
                del opened
                raise wrong_size(1)
            scores.append(max(-_FARTHEST, min(_FARTHEST, factor * int(opened[0]))))
        return (int(self.selector.release(scores)),)  # type: ignore[call-overload]  # an index

    def margin(self, confidence: Exact) -> float:
        """Return m such that the chosen number is at most m below the largest, with probability `confidence`."""
        return self.selector.margin(confidence) * float(self.step)
