"""How the price of an explorer is divided, and how wide its corridor is: all of it before any data is read.

Most is for the model. What checks it is pure, under every kind of budget, and set apart: a fence, inside which what was
not used may be used later, and from which nothing comes out (proofs/explorer.md). The corridor is as narrow as it can
be with few false alarms: errors of the model are taken for normal, as large as the noise that its pairs would have.
"""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.answers.corridor_terms import CorridorTerms
from lapwing.answers.target import FINEST, AtEpsilon, AtRho, Target, TargetWords
from lapwing.publishing.codes import CodedColumn
from lapwing.publishing.noise_for_target import measurement_for
from lapwing.queries.catalogue.population import Population
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.exact import Exact, as_int, positive
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Guarantee
from lapwing.vocabulary.search import integers
from lapwing.vocabulary.wording import format_exact

MOST_QUESTIONS: Final = 100_000
"""As many as one stream answers in its life."""
YESES: Final = 2
_CHECKS: Final = Fraction(1, 6)
_CHECKS_OF_RHO: Final = Fraction(1, 3)
_FALSE_ALARMS: Final = 0.1
"""How many of the answers that it can pay for an explorer expects to lose to noise, at most."""
_PLACES: Final = (np.arange(41) - 20) / 4
_WEIGHTS: Final = np.exp(-(_PLACES**2) / 2) / np.exp(-(_PLACES**2) / 2).sum()


@frozen()
class ExplorerSplit:
    """What is paid for the model, and the pure epsilon of what checks it."""

    model: Target
    checks: Fraction

    @staticmethod
    def of(target: Target, checks: Exact | None = None) -> "ExplorerSplit":
        """Divide a price: a sixth of an epsilon is for the checks, or of a rho a third, unless it is said."""
        match target:
            case AtEpsilon(epsilon=epsilon, delta=delta):
                part = _short(epsilon * _CHECKS) if checks is None else positive("checks", checks)
                if part >= epsilon:
                    remedy = "leave something for the model"
                    raise ParameterError("checks", format_exact(part), reason="is all of the price", remedy=remedy)
                return ExplorerSplit(model=AtEpsilon(epsilon=epsilon - part, delta=delta), checks=part)
            case AtRho(rho=rho):
                # What is epsilon-DP has a rho of at most half the square of epsilon.
                most = Fraction(math.isqrt(int(2 * rho * _CHECKS_OF_RHO * 10**12)), 10**6)
                part = _short(most) if checks is None else positive("checks", checks)
                left = rho - part**2 / 2
                if left <= 0:
                    remedy = "leave something for the model"
                    raise ParameterError("checks", format_exact(part), reason="is all of the price", remedy=remedy)
                return ExplorerSplit(model=AtRho(rho=_short(left)), checks=part)
            case _:
                raise BadQuestionError(
                    "an explorer is opened for a price; write epsilon=, epsilon= with delta=, or rho=, and see "
                    "preview_explorer(...) for how exact it is"
                )

    @property
    def words(self) -> TargetWords:
        """What the model is asked for with."""
        match self.model:
            case AtEpsilon(epsilon=epsilon, delta=None):
                return {"epsilon": epsilon}
            case AtEpsilon(epsilon=epsilon, delta=Fraction() as delta):
                return {"epsilon": epsilon, "delta": delta}
            case AtRho(rho=rho):
                return {"rho": rho}
            case _:
                raise AssertionError  # pragma: no cover - it was divided


def corridor_for(
    population: Population,
    table: str,
    *,
    checks: Fraction,
    yeses: int,
    questions: int,
    half_width: int | None,
    typical: float | None,
) -> CorridorTerms:
    """Return the terms of the checks: as wide as given, or the narrowest with few false alarms at a typical error."""
    as_int("questions", questions, most=MOST_QUESTIONS)

    def of(width: int) -> CorridorTerms:
        return CorridorTerms.around(
            population, table, epsilon=checks, yeses=yeses, questions=questions, half_width=width
        )

    if half_width is not None:
        return of(half_width)
    if typical is None:
        raise BadQuestionError(
            "how far a guess may be off is not said; write half_width=, such as the bound of a certificate of the model"
        )
    search = integers()
    while search.open:
        width = max(1, search.guess)
        search.tell(expected_yeses(of(width), questions, typical) <= _FALSE_ALARMS * yeses)
    return of(max(1, search.above))


def expected_yeses(terms: CorridorTerms, questions: int, typical: float) -> float:
    """Return how many of so many questions are answered at a price, if errors are normal and of this size."""
    chance = sum(
        weight * terms.mechanism.chance_of_yes(round(place * typical), terms.half_width)
        for place, weight in zip(_PLACES.tolist(), _WEIGHTS.tolist(), strict=True)
    )
    return questions * float(chance)


def typical_error(columns: Sequence[CodedColumn], target: Target, population: Population, budget: Guarantee) -> float:
    """Return the standard deviation of a cohort of half the codes of two columns, were all pairs measured: the largest.

    A model knows more than that about most cohorts of more columns, and less about some.
    """
    codes = tuple(len(one) for one in columns)
    size = min(2, len(codes))
    wanted = list(itertools.combinations(range(len(codes)), size))
    measured = measurement_for(codes, wanted, population.unit, target, budget)
    return max(math.sqrt(measured.variance(axes, [codes[a] // 2 for a in axes])) for axes in wanted)


def _short(amount: Fraction) -> Fraction:
    return math.floor(amount / FINEST) * FINEST
