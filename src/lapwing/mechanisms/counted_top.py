"""The cells of a histogram with the most people, and how many each has: chosen first, then counted.

A histogram with noise on every cell answers the same question, with noise that grows with how many cells one person is
in. Here noise grows with how many cells are released: `better_by_choice` in `queries.statistics.top` compares the two.

Proof: proofs/counted_top.md
"""

from fractions import Fraction

from lapwing.mechanisms.histogram_selection import Selector, TopK
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.noise_mechanism import Integers, Priced, integers, wrong_size
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.vocabulary.event import Composed, Event
from lapwing.vocabulary.exact import Exact, as_int, fill, positive, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency


@frozen(kw_only=False, init=False)
class CountedTop(Priced[Event]):
    """Chooses the `k` largest cells one after the other, and counts those that were chosen with noise of their own.

    Parameters
    ----------
    k : how many cells
    cells : how many there are to choose from
    sensitivity : how far the protected people move the count of one cell
    choosing, counting : the prices of the choices together, and of the counts together
    monotone_under : the adjacency, if all counts move the same way whenever people are added
    selector : the mechanism that chooses

    >>> CountedTop(k=2, cells=4, sensitivity=1, choosing=20, counting=40).release([1000, 0, 9000, 0])
    (2, 9000, 0, 1000)

    Proof: proofs/counted_top.md
    """

    choice: TopK
    counts: GeometricMechanism

    def __init__(
        self,
        *,
        k: int,
        cells: int,
        sensitivity: int,
        choosing: Exact,
        counting: Exact,
        monotone_under: Adjacency | None = None,
        selector: Selector = PermuteAndFlip,
    ) -> None:
        choice = TopK(
            k=k,
            cells=cells,
            sensitivity=sensitivity,
            epsilon=positive("choosing", choosing),
            monotone_under=monotone_under,
            selector=selector,
        )
        moved = as_int("k", k) * as_int("sensitivity", sensitivity)
        counts = GeometricMechanism(l1_sensitivity=moved, epsilon=positive("counting", counting), dimension=k)
        event = Composed(parts=(*(one.event for one in choice.selectors), counts.event))
        fill(self, event=event, choice=choice, counts=counts)

    def release(self, value: Integers) -> tuple[int, ...]:
        """Return the number of each chosen cell and its count, in the order in which they were chosen."""
        chosen = self.choice.release(value)
        opened = integers(value)
        if isinstance(opened, int):  # pragma: no cover - the choice has refused it
            raise wrong_size(self.choice.cells)
        counts = [int(opened[cell]) for cell in chosen]
        del opened
        noisy = self.counts.release(counts)
        return tuple(number for pair in zip(chosen, map(int, noisy), strict=True) for number in pair)

    def margin(self, confidence: Exact) -> int:
        """Return m such that all released counts are off by at most m, and `margin_of_choice` holds as well."""
        return self.counts.margin(_of_each(confidence), values=len(self.choice.selectors))

    def margin_of_choice(self, confidence: Exact) -> float:
        """Return m such that no cell that is left out has over m people more, and `margin` holds as well."""
        return self.choice.margin(_of_each(confidence))


def _of_each(confidence: Exact) -> Fraction:
    """Return the confidence of each of two bounds that both hold with this one."""
    return 1 - (1 - Fraction(probability("confidence", confidence))) / 2
