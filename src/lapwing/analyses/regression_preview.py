"""A regression before it is paid for: its price, and how wide an interval would be under what is assumed.

It is public arithmetic: of the price, of the number of columns, and of numbers that somebody assumes.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

from scipy.special import ndtri

from lapwing.analyses.regression_course import Course
from lapwing.analyses.regression_design import Design
from lapwing.analyses.regression_rounds import ROUND_SHARES, WHITE, radius_squared
from lapwing.answers.preview import Forecast
from lapwing.answers.releases import Price
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import format_exact, format_short, several

_MOST_UNKNOWN: Final = 3.0
_MOST_ERROR: Final = 1.0
_VARIES: Final = 0.5
"""How much scaled columns vary in the direction in which they vary least, where they are not nearly the same."""
_LEAST_CURVED: Final = {"linear": 1.0, "logistic": 0.25, "poisson": 0.25}
"""How much of the usual curvature there is where there is least: of a rare group in which events are rare, too."""
_FEW: Final = 300.0
"""Of fewer people with and without the outcome, a rare group has next to none of either: no fit comes to rest there."""
_WORDS: Final = {"linear": {"people"}, "logistic": {"people", "events"}, "poisson": {"people", "events"}}


@frozen()
class Assumed:
    """What is expected of the fit of one column, for one standard deviation of it, if people are as assumed.

    The unit is a residual spread in a linear model, the log-odds or the log rate in the others.
    """

    error: float
    of_noise: float
    curvature_unknown: float
    worst_unknown: float
    columns_unknown: float
    events: float = math.inf
    """About how many people with the outcome, or without it, tell anything."""

    @property
    def doubtful(self) -> bool:
        """Whether a fit will often say that it did not settle: curvature or columns are noise, or events are few."""
        return max(self.worst_unknown, 2 * self.columns_unknown) > 1 or self.events < _FEW

    @property
    def hopeless(self) -> bool:
        """Whether an interval would say nothing: the curvature is noise, and so is the coefficient."""
        return self.curvature_unknown > _MOST_UNKNOWN and self.error > _MOST_ERROR


def assumed_of(course: Course, assume: Mapping[str, Any]) -> Assumed:
    """Return how exact a coefficient would be: sampling and noise, as the study of the method predicts it."""
    wanted = _WORDS[course.model]
    if set(assume) != wanted:
        written = ", ".join(f'"{word}": ...' for word in sorted(wanted))
        reason = f"does not fit a {course.model} model"
        raise ParameterError("assume", dict(assume), reason=reason, remedy=f"write {{{written}}}")
    people, rate = _positive("people", assume["people"]), _positive("events", assume.get("events", 1))
    if course.model == "logistic" and rate >= 1:
        raise ParameterError("events", assume["events"], reason="is not a share below 1", remedy="write 0.05 for 5 %")
    information = people * {"linear": 1.0, "logistic": rate * (1 - rate), "poisson": rate}[course.model]
    clip = {"linear": 2.0, "logistic": 1.0, "poisson": max(1.0, rate + 2 * math.sqrt(rate))}[course.model]
    largest = {"linear": 1.0, "logistic": 0.25, "poisson": max(1.0, rate)}[course.model]
    many = len(course.grid.extents)
    radius = math.sqrt(radius_squared(many)) / WHITE
    gradient, curvature, _ = (1 / math.sqrt(2 * float(share * course.rho)) for share in ROUND_SHARES[-1])
    doubled = course.noise_factor
    of_noise = radius * clip * gradient * doubled / information
    unknown = radius**2 * largest * curvature * doubled * math.sqrt(many / 2) / information
    edge = (radius**2 + 1) * doubled * math.sqrt(2 * many / (2 * float(ROUND_SHARES[1][0] * course.rho)))
    return Assumed(
        error=math.hypot(1 / math.sqrt(information), of_noise),
        of_noise=of_noise,
        curvature_unknown=unknown,
        worst_unknown=unknown / _LEAST_CURVED[course.model],
        columns_unknown=0.75 * edge / (_VARIES * people),
        events=math.inf if course.model == "linear" else information,
    )


def _positive(name: str, given: Any) -> float:
    try:
        number = float(given)
    except (TypeError, ValueError):
        number = math.nan
    if not (number > 0 and math.isfinite(number)):
        raise ParameterError(name, given, reason="is not a number above 0", remedy="write what you expect")
    return number


def refuse_hopeless(assumed: Assumed, assume: Mapping[str, Any]) -> None:
    """Refuse a regression whose intervals would say nothing if people are as assumed; nothing was charged."""
    if assumed.hopeless:
        told = ", ".join(f"{word} {given}" for word, given in assume.items())
        raise BadQuestionError(
            f"with {told} an interval would reach {2 * assumed.error:.2g} to each side for one standard deviation of a "
            "column, and say nothing; nothing was charged: offer more, name fewer columns, or ask about more people"
        )


@frozen(repr=False)
class RegressionPreview(Forecast):
    """A regression before it is paid for: its price, what it would tell if people are as assumed, and what is left."""

    design: Design
    model: str
    price: Price
    assume: Mapping[str, Any]
    assumed: Assumed | None

    @property
    def half_width(self) -> float | None:
        """Half of an interval, for one standard deviation of a column, if people are as assumed."""
        return None if self.assumed is None else float(ndtri((1 + float(self.confidence)) / 2)) * self.assumed.error

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON values."""
        refusal = self.refusal
        return {
            "formula": str(self.design.formula),
            "table": self.design.table,
            "model": self.model,
            "columns": [one.name for one in self.design.columns],
            "price": self.price.to_dict(),
            "confidence": format_exact(self.confidence),
            "assume": {word: str(given) for word, given in self.assume.items()},
            "half_width": self.half_width,
            "noise": None if self.assumed is None else self.assumed.of_noise,
            "hopeless": None if self.assumed is None else self.assumed.hopeless,
            "doubtful": None if self.assumed is None else self.assumed.doubtful,
            "affordable": self.affordable,
            "left": self.before.to_dict(),
            "refusal": None if refusal is None else refusal.to_dict(),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the preview in words."""
        told, refusal = None, self.refusal
        if self.assumed is not None and self.half_width is not None:
            unit = {"linear": "residual spreads", "logistic": "in log-odds", "poisson": "in log rates"}[self.model]
            share = (self.assumed.of_noise / self.assumed.error) ** 2
            told = (
                f"±{format_short(float(f'{self.half_width:.2g}'))} {unit} for one standard deviation of a column, "
                f"{100 * share:.0f} % of its variance noise"
            )
            if self.assumed.hopeless:
                told += "; that says nothing, and would be refused"
            elif self.assumed.doubtful:
                few = self.assumed.events < _FEW
                remedy = "there are few events, so name no rare group" if few else "offer more, or name fewer columns"
                told += f"; it may well not settle: {remedy}"
        return [
            ("model", f"{self.model}: {self.design.formula}, {several(len(self.design.columns), 'column')}"),
            ("expected", told),
            ("cost", str(self.price)),
            ("left then", str(self.after) if refusal is None else f"it would be refused now: {refusal}"),
            ("paid", "nothing: this is a preview, and no data was read"),
        ]

    def __repr__(self) -> str:
        can = "affordable" if self.affordable else "refused now"
        return f"<preview of a {self.model} regression {self.design.formula}: {self.price}, {can}>"
