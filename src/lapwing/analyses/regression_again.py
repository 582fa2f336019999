"""A regression from what its rounds have released: now, or read back from the ledger, here or at a distance.

Everything that is shown follows from what is asked for and from these whole numbers. So a regression that was paid for
is found again under any key, and one that a server fitted is computed where it was asked for.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from lapwing.analyses.regression import Regression, coefficients_of
from lapwing.analyses.regression_course import ROUNDS, Ask, At, Build, Course
from lapwing.analyses.regression_design import Design
from lapwing.analyses.regression_models import PoissonModel
from lapwing.answers.releases import Price
from lapwing.rounds import IfLost, ReservationKind
from lapwing.vocabulary.codec import canonical, digest, parse, to_record
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import currency_of

if TYPE_CHECKING:
    from lapwing.session import AskingSession, Session

_SUMS: Final = 2
"""Which sums rounds release: what was released with others is never read as these."""
KIND: Final = ReservationKind(name="regression", if_lost=IfLost.ENDS)


@frozen()
class AskedRegression:
    """A regression that is asked for: its columns, its rounds, and the confidence of its intervals."""

    design: Design
    course: Course
    model: str
    confidence: Fraction

    @property
    def terms(self) -> dict[str, Any]:
        """What is agreed, as it stands in the ledger."""
        return {
            "table": self.design.table,
            "formula": str(self.design.formula),
            "model": self.model,
            "plan": digest(self.design.plan.canonical),
            "columns": [one.name for one in self.design.columns],
            "rho": str(self.course.rho),
            "sums": _SUMS,
        }

    @property
    def meaning(self) -> str:
        """A digest of what is fitted and of what is paid: two that agree on it mean the same."""
        return digest([self.terms, to_record(self.course.event)])


def regression_from(session: "AskingSession", asked: AskedRegression, ask: Ask, *, name: str) -> Regression:
    """Return a regression whose rounds `ask` draws, or reads back; `session` may be at a distance."""
    versions = dict[str, int]()

    def told(number: int, at: At, build: Build) -> Mapping[str, Any]:
        drawn = ask(number, at, build)
        versions.update(drawn["versions"])
        return drawn

    confidence = float(asked.confidence)
    found, fitted = asked.course.run(told, confidence)
    rows, covariance = coefficients_of(asked.design, found, asked.model, confidence)
    return Regression(
        design=asked.design,
        population=session.population,
        model=asked.model,
        coefficients=rows,
        covariance=covariance,
        people=found.people,
        cap=fitted.cap if isinstance(fitted, PoissonModel) else None,
        settled=found.settled,
        confidence=confidence,
        price=Price.of(asked.course.event, currency_of(session.budget().account.budget)),
        name=name,
        versions=versions,
    )


def regression_of_rounds(
    session: "AskingSession", asked: AskedRegression, rounds: Sequence[Mapping[str, Any]], *, name: str
) -> Regression:
    """Return the regression of rounds that were drawn before."""
    return regression_from(session, asked, lambda number, at, build: rounds[number - 1], name=name)  # noqa: ARG005


def drawn_before(session: "Session", asked: AskedRegression) -> tuple[str, list[dict[str, Any]]] | None:
    """Return the name and the rounds of the same regression of the same data, under any key of this analyst.

    It charges nothing and reads no data.
    """
    reservations, population = session.ledger.reservations, session.population.name
    agreed = canonical({"event": to_record(asked.course.event), "terms": asked.terms})
    now = session.ledger.population(population).tables
    for one in reservations.all(population, kind=KIND, analyst=session.analyst):
        told = reservations.outcomes(one.name) if one.terms == agreed else []
        rounds = [parse(each.answer) for each in told if each.answer is not None]
        versions = (item for each in rounds for item in each["versions"].items())
        if len(rounds) == ROUNDS and all(now.get(table) == version for table, version in versions):
            return one.name, rounds
    return None
