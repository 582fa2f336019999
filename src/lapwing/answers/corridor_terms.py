"""The terms of a corridor: a stream of guesses that are checked, of which those that are far off are answered.

Under these terms `at_least` of a question is the upper end of its corridor, the guess plus `half_width`. So a question
is word for word one of a stream, and the same guess about the same people and data has the answer that it had.
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Final

from lapwing.answers.stream_terms import StoredVerdict, StreamAnswer, StreamTerms, Verdict
from lapwing.answers.target import FINEST
from lapwing.mechanisms.sparse_vector.corridor import Corridor
from lapwing.mechanisms.sparse_vector.rule import SparseVectorAnswer as Decided
from lapwing.queries.catalogue.population import Population
from lapwing.vocabulary.codec import stored, to_text
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact, as_int, positive

MOST_YESES: Final = 10_000
WIDEST: Final = 2**40
_NUMBERS: Final = Fraction(2, 5)
_USUAL: Final = 0.95


@stored("corridor-terms")
class CorridorTerms(StreamTerms):
    """The terms of a corridor, fixed when it is opened.

    Parameters
    ----------
    half_width : how far from the guess a count is near it
    number : the epsilon of the number that comes with an answer that is paid for
    """

    half_width: int
    number: Fraction

    @staticmethod
    def around(
        population: Population, table: str, *, epsilon: Exact, yeses: int, questions: int, half_width: int
    ) -> "CorridorTerms":
        """Return the terms of a corridor that costs `epsilon` when all its yeses are given.

        Two fifths of it are for numbers. The rest is divided between the openings and the yeses such that free answers
        of this many questions have the shortest intervals; what is divided has few digits.
        """
        whole, many = positive("epsilon", epsilon), as_int("yeses", yeses, most=MOST_YESES)
        unit = population.unit
        terms = CorridorTerms(
            table=population.table(table).name,
            at_least=as_int("half_width", half_width, most=WIDEST),
            yeses=many,
            epsilon=whole,
            adjacency=unit.adjacency,
            people=unit.protects_groups_of,
            half_width=half_width,
            number=Fraction(0),
        )
        rise, span = terms.sensitivity.in_steps(Fraction(1))
        once = math.sqrt(rise * math.log(4 / (1 - _USUAL)) / 2)
        each = math.sqrt(span * math.log(10 * as_int("questions", questions)) / many)
        number = _few_digits(whole * _NUMBERS / many)
        yes = _few_digits((whole - many * number) * Fraction(each / (2 * once + many * each)).limit_denominator(1000))
        if not number or not yes:
            remedy = "offer more, or fewer yeses"
            raise ParameterError("epsilon", whole, reason=f"is too little for {many} yeses", remedy=remedy)
        return replace(terms, opening=whole - many * (number + yes), number=number)

    @property
    def mechanism(self) -> Corridor:
        """The two sparse vectors that decide."""
        return _corridor_of(self)

    def guess_of(self, answer: StreamAnswer) -> int:
        """Return the guess that was checked."""
        return int(answer.threshold) - self.half_width

    def margin(self, confidence: Exact = "0.95", *, questions: int = 1) -> int:  # noqa: ARG002 - it holds for any number
        """Return how far counts are from their guesses at most where answers were free, all of them at once."""
        return self.mechanism.reach(confidence)

    def write_answer(self, answer: Decided) -> str:
        """Return an answer as the ledger keeps it."""
        return _inside(int(answer.threshold)) if not answer else _outside(answer)


def _few_digits(amount: Fraction) -> Fraction:
    return math.floor(amount / FINEST) * FINEST


@lru_cache(maxsize=64)  # every question wants it
def _corridor_of(terms: CorridorTerms) -> Corridor:
    if terms.opening is None:
        raise ParameterError("opening", None, reason="is not agreed", remedy="say what the opening costs")
    return Corridor(
        half_width=terms.half_width,
        yeses=terms.yeses,
        opening=terms.opening,
        yes=(terms.epsilon - terms.opening) / terms.yeses - terms.number,
        number=terms.number,
        sensitivity=terms.sensitivity,
    )


@lru_cache(maxsize=4096)  # noes to the same guess are alike
def _inside(threshold: int) -> str:
    return to_text(StoredVerdict(verdict=Verdict.INSIDE, threshold=threshold, gap=None, price=Fraction(0)))


def _outside(answer: Decided) -> str:
    if answer.gap is None:
        raise AssertionError  # pragma: no cover - a yes of a corridor has one
    threshold, gap = int(answer.threshold), int(answer.gap)
    return to_text(StoredVerdict(verdict=Verdict.OUTSIDE, threshold=threshold, gap=gap, price=answer.price))
