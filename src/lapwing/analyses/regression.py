"""A regression as it is shown: coefficients with intervals and p-values, ratios, predictions and contrasts, a picture.

Everything here is computed from what the rounds released, so predictions and contrasts cost nothing.
"""

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.special import ndtr, ndtri

from lapwing.analyses.regression_design import Design, DesignColumn
from lapwing.analyses.regression_fit import Estimates
from lapwing.analyses.regression_models import MODELS, Reals
from lapwing.answers.releases import Price
from lapwing.queries.catalogue.column import Boolean, Category
from lapwing.queries.catalogue.population import Population
from lapwing.show.canvas import checked_path
from lapwing.show.panels import Panel, draw_panel
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Interval, Result, html_table
from lapwing.vocabulary.wording import format_short

INTERCEPT: Final = "(intercept)"
UNSETTLED: Final = (
    "the fit did not settle: these intervals are not to be trusted; ask at a higher price, or name fewer columns, if "
    "some nearly follow from others"
)
CAPPED: Final = (
    "a larger one counts as that, against its mean under a Poisson law; where counts vary more, intervals are wider"
)
_MOST_RATIO: Final = 1e6


@frozen()
class Coefficient:
    """One row of a regression: how far the outcome goes up, on the scale of the model, for `per` units of a column.

    `noise_share` is the part of its variance that the noise has; the rest is that of sampling people.
    """

    term: str
    estimate: float
    low: float
    high: float
    p: float
    noise_share: float

    def ratio(self) -> tuple[float, float, float]:
        """Return the odds or rate ratio, with the ends of its interval."""
        told = [math.exp(min(one, math.log(_MOST_RATIO))) for one in (self.estimate, self.low, self.high)]
        return told[0], told[1], told[2]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "term": self.term,
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "p": self.p,
            "noise_share": self.noise_share,
        }


@frozen()
class Prediction:
    """What a model expects of somebody: the mean outcome, or the chance or rate, with its interval."""

    value: float
    interval: Interval

    def __str__(self) -> str:
        low, high = self.interval
        return f"{_short(self.value)} ({_short(low)} to {_short(high)})"


@frozen(repr=False)
class Regression(Result):
    """A linear, logistic or Poisson regression, made of five rounds under one charge.

    Intervals are for people like these, and have both in them: sampling people, and the noise. The p-value of a
    coefficient is that of its interval: the level at which an end would touch 0.

    Parameters
    ----------
    model : "linear", "logistic" or "poisson"
    coefficients : a row for each term, the intercept first
    people : about how many people had a row with nothing missing
    cap : of a Poisson model, up to which number counts are looked at
    settled : whether the fit came to rest; intervals of one that did not are not to be trusted
    price, name, versions : what was paid, under which reservation, and which versions of the tables were read
    """

    design: Design
    population: Population
    model: str
    coefficients: tuple[Coefficient, ...]
    covariance: Reals
    people: float
    cap: int | None
    settled: bool
    confidence: float
    price: Price
    name: str
    versions: Mapping[str, int]

    @property
    def formula(self) -> str:
        """The formula, as it was read."""
        return str(self.design.formula)

    @property
    def ratio(self) -> str:
        """What the exponential of a coefficient is called: "odds ratio", "rate ratio", or nothing."""
        return MODELS[self.model].ratio

    @property
    def table(self) -> list[dict[str, Any]]:
        """The rows of the table: term, estimate, low, high, p and noise_share; with ratios where the model has any."""
        rows = []
        for one in self.coefficients:
            row = one.to_dict()
            if self.ratio:
                word = self.ratio.replace(" ", "_")
                row |= dict(zip((word, f"{word}_low", f"{word}_high"), one.ratio(), strict=True))
            rows.append(row)
        return rows

    def __getitem__(self, term: str) -> Coefficient:
        for one in self.coefficients:
            if one.term.casefold() == term.casefold():
                return one
        raise BadQuestionError(f"{term!r} is no term of this regression; it has {', '.join(self._terms)}")

    @property
    def _terms(self) -> list[str]:
        return [one.term for one in self.coefficients]

    def predict(self, values: Mapping[str, Any]) -> Prediction:
        """Return what the model expects of somebody with these values of the columns. It is free."""
        way = np.array([1.0, *(self._value(one, values) / float(one.per) for one in self.design.columns)])
        needed = {name.casefold() for one in self.design.columns for name, _ in one.made_of}
        for name in values:
            if name.casefold() not in needed:
                raise BadQuestionError(f"{name!r} is no column of this regression; it has {', '.join(sorted(needed))}")
        eta, low, high = self._along(way)
        told = {"linear": lambda x: x, "logistic": lambda x: 1 / (1 + math.exp(-x)), "poisson": _exp}[self.model]
        return Prediction(value=told(eta), interval=Interval(told(low), told(high)))

    def contrast(self, text: str) -> Coefficient:
        """Return a sum or difference of terms, such as "sex[M] - sex[F]", with its interval and p-value. It is free.

        The first declared value of a category is what the others are compared with: its own coefficient is 0.
        """
        if not isinstance(text, str):
            raise BadQuestionError(f'{text!r} is no contrast; write one such as "sex[M] - sex[F]"')
        way = np.zeros(len(self.coefficients))
        zeros = {f"{name}[{value}]".casefold() for name, value in self.design.references}
        parts = re.split(r"\s*([+-])\s+|\s+([+-])\s*", f"+ {text.strip()}")
        words = [part for part in parts if part]
        if len(words) < 2 or len(words) % 2:  # noqa: PLR2004 - a sign and a term
            raise BadQuestionError(f"{text!r} is no contrast; write terms with + and - between them, such as a - b")
        for sign, term in zip(words[::2], words[1::2], strict=True):
            if term.casefold() not in zeros:
                way[self._terms.index(self[term].term)] += 1 if sign == "+" else -1
        eta, low, high = self._along(way)
        se = math.sqrt(float(way @ self.covariance @ way))
        return Coefficient(term=text, estimate=eta, low=low, high=high, p=_p_value(eta, se), noise_share=math.nan)

    def _along(self, way: Reals) -> tuple[float, float, float]:
        eta = float(way @ np.array([one.estimate for one in self.coefficients]))
        far = float(ndtri((1 + self.confidence) / 2)) * math.sqrt(float(way @ self.covariance @ way))
        return eta, eta - far, eta + far

    def _value(self, column: DesignColumn, values: Mapping[str, Any]) -> float:
        """Return what a column is for somebody; refuse what is not said, and what a category does not have."""
        given = {name.casefold(): value for name, value in values.items()}
        told = 1.0
        for name, value in column.made_of:
            if name.casefold() not in given:
                raise BadQuestionError(f"{name!r} is not said; a prediction needs all columns of the regression")
            kind, mine = self.population.table(self.design.table).column(name).type, given[name.casefold()]
            if isinstance(kind, Category):
                if mine not in kind.values:
                    raise BadQuestionError(f"{name!r} has no value {mine!r}; it has {', '.join(map(str, kind.values))}")
                told *= mine == value
            elif isinstance(kind, Boolean) is not isinstance(mine, bool):
                raise BadQuestionError(f"{name!r} cannot be {mine!r}; write a value that the column may hold")
            else:
                told *= _number(name, mine)
        return told

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "formula": self.formula,
            "table": self.design.table,
            "model": self.model,
            "coefficients": self.table,
            "people": self.people,
            "cap": self.cap,
            "settled": self.settled,
            "confidence": self.confidence,
            "price": self.price.to_dict(),
            "reservation": self.name,
            "versions": dict(self.versions),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the regression in words."""
        lines = [(one.term, self._told(one)) for one in self.coefficients]
        against = ", ".join(f"{name} {value}" for name, value in self.design.references)
        return [
            ("model", f"{self.model}: {self.formula}"),
            ("outcome", self._event),
            ("people", f"about {format_short(round(self.people))} with nothing missing"),
            *lines,
            ("compared with", against or None),
            ("counts", None if self.cap is None else f"up to {self.cap}: {CAPPED}"),
            ("warning", None if self.settled else UNSETTLED),
            ("cost", str(self.price)),
        ]

    def _told(self, one: Coefficient) -> str:
        share = f"p {_p_words(one.p)}, {100 * one.noise_share:.0f} % of its variance is noise"
        told = f"{_short(one.estimate)} ({_short(one.low)} to {_short(one.high)})"
        if self.ratio and one.term != INTERCEPT:
            ratio, low, high = one.ratio()
            told = f"{self.ratio} {_short(ratio)} ({_short(low)} to {_short(high)})"
        return f"{told}, {share}"

    @property
    def _event(self) -> str | None:
        """What stands for 1, where the outcome is a category with two values."""
        kind = self.population.table(self.design.table).column(self.design.formula.outcome).type
        return f"that {self.design.formula.outcome} is {kind.values[1]}" if isinstance(kind, Category) else None

    def panel(self) -> Panel:
        """Return the forest plot: a row for each term but the intercept, ratios where there are any."""
        shown = self.coefficients[1:]
        told = [one.ratio() if self.ratio else (one.estimate, one.low, one.high) for one in shown]
        labels, title = [one.term for one in shown], self.ratio or "coefficient"
        values, lows, highs = (list(column) for column in zip(*told, strict=True))
        none = 1.0 if self.ratio else 0.0
        return Panel(title, labels, values, lows, highs, from_zero=False, over_time=False, no_effect=none)

    def forest(self, path: str | Path | None = None) -> Any:
        """Draw the coefficients with their intervals; it needs matplotlib: pip install 'lapwing[plots]'."""
        from lapwing.show.figures import draw_panels  # noqa: PLC0415 - half a second, and an extra

        file = None if path is None else checked_path(path)
        sure = f"{self.ratio or 'coefficients'} for people like these, with {100 * self.confidence:g} % confidence"
        caption = sure if self.settled else f"{sure}; {UNSETTLED}"
        return draw_panels([self.panel()], title=self.formula, caption=caption, path=file)

    def _repr_html_(self) -> str:
        table = html_table((), [(label, told) for label, told in self.facts() if told is not None], self.formula)
        return table + draw_panel(self.panel(), self.formula).coloured

    def __str__(self) -> str:
        return "\n".join(f"{label}: {told}" for label, told in self.facts() if told is not None)

    def __repr__(self) -> str:
        return f"<{self.model} regression {self.formula}: {'' if self.settled else 'not settled, '}{self.price}>"


def coefficients_of(
    design: Design, found: Estimates, model: str, confidence: float
) -> tuple[tuple[Coefficient, ...], Reals]:
    """Return the rows of a regression in the units of its columns, and their covariance.

    A column x on [-1, 1] is 2(v - low)/width - 1 of its values v, and so is the outcome of a linear model.
    """
    *columns, outcome = design.scales
    widths = np.array([float(one.width) for one in columns])
    lows = np.array([float(one.low) for one in columns])
    per = np.array([float(one.per) for one in design.columns])
    height = float(outcome.width) / 2 if model == "linear" else 1.0
    base = float(outcome.low) + float(outcome.width) / 2 if model == "linear" else 0.0
    way = np.zeros((len(found.beta), len(found.beta)))
    way[0, 0], way[0, 1:] = height, -height * (1 + 2 * lows / widths)
    way[1:, 1:] = np.diag(height * 2 / widths * per)
    covariance = way @ found.covariance @ way.T
    estimates, far = way @ found.beta, float(ndtri((1 + confidence) / 2))
    estimates[0] += base
    first = math.sqrt(float(covariance[0, 0]))
    rows = [
        Coefficient(
            term=INTERCEPT,
            estimate=float(estimates[0]),
            low=float(estimates[0]) - far * first,
            high=float(estimates[0]) + far * first,
            p=_p_value(float(estimates[0]), first),
            noise_share=float(found.noise_share[0]),
        )
    ]
    for j, column in enumerate(design.columns, start=1):
        size = way[j, j]
        rows.append(
            Coefficient(
                term=column.name,
                estimate=float(estimates[j]),
                low=float(size * found.low[j]),
                high=float(size * found.high[j]),
                p=_p_value(float(found.beta[j]), float(found.toward_zero[j])),
                noise_share=float(found.noise_share[j]),
            )
        )
    return tuple(rows), covariance


def _p_value(estimate: float, error: float) -> float:
    return float(2 * ndtr(-abs(estimate) / max(error, 1e-300)))


def _p_words(p: float) -> str:
    return "below 0.001" if p < 0.001 else f"{p:.2g}"  # noqa: PLR2004


def _short(number: float) -> str:
    return format_short(float(f"{number:.3g}"))


def _exp(number: float) -> float:
    return math.exp(min(number, math.log(_MOST_RATIO)))


def _number(name: str, given: Any) -> float:
    if not isinstance(given, Real | Decimal) or not math.isfinite(given):
        raise BadQuestionError(f"{name!r} cannot be {given!r}; write a number")
    return float(given)
