"""The verbs: what publishing tables of a population would cost and give, and publishing them.

A publication is a reservation of one round. What it charges, what it counts and how much noise each number gets follow
from what is declared and what is paid; the round counts, adds noise and is committed, once. The same publication of the
same data is read back, for nothing.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Unpack

from lapwing.accounting.filters.charge import SingleRelease, priced
from lapwing.answers.preview import Forecast
from lapwing.answers.releases import Price, charged_as
from lapwing.answers.target import (
    AtEpsilon,
    AtRho,
    Target,
    TargetWords,
    Within,
    parse_target,
)
from lapwing.mechanisms.gaussian import smallest_variance
from lapwing.mechanisms.residual_basis import Axes
from lapwing.publishing.codes import CodedColumn, count_in_codes, read_columns
from lapwing.publishing.measurements import GaussianResiduals, Measurement, gaussian_residuals, geometric_cover
from lapwing.publishing.publication import Offer, Publication
from lapwing.queries.algebra.aggregate import tables_of
from lapwing.queries.language.builders import Groupings
from lapwing.queries.limits import MOST_NUMBERS
from lapwing.queries.planning.plan import Plan
from lapwing.rounds import IfLost, ReservationKind, RoundReader
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.deadline import deadline, spend
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.event import Event, GaussianNoise
from lapwing.vocabulary.exact import as_confidence, ceil_to_grid, check_most, float_below
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import ConcentratedDP, Guarantee, PrivacyUnit, PureDP, currency_of
from lapwing.vocabulary.results import shows_words
from lapwing.vocabulary.search import decimals
from lapwing.vocabulary.wording import format_exact, format_short, percent, several

if TYPE_CHECKING:
    from lapwing.session import Session

Marginals: TypeAlias = str | Sequence[str | Sequence[str]]
"""Which sets of columns: all of one size, by these words, or a list of names, and of several names together."""

KIND: Final = ReservationKind(name="publication", if_lost=IfLost.ENDS)
_SIZES: Final = {"all columns": 1, "all pairs": 2, "all triples": 3}
_MOST_COLUMNS: Final = 40
_MOST_SETS: Final = 10_000
_FINEST: Final = Fraction(1, 10**12)
_DIGITS: Final = 4
_STEPS: Final = 50
"""Steps of work that trying one price counts as, for each hundred of the wanted tables."""


@frozen(repr=False)
class PublicationPreview(Forecast):
    """A publication before it is paid for: its price, how exact each table would be, and what would be left."""

    offer: Offer
    price: Price

    @property
    def sd(self) -> dict[tuple[str, ...], float]:
        """The standard deviation of a cell of every wanted table, by the names of its columns."""
        measured = self.offer.measurement
        return {self.offer.names(axes): sqrt(measured.variance(axes, (1,) * len(axes))) for axes in self.offer.wanted}

    @property
    def margin(self) -> float:
        """How far off all cells of all wanted tables are at most, together, with the confidence."""
        return _margin(self.offer.measurement, self.offer.wanted, self.confidence)

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON values."""
        refusal = self.refusal
        return {
            "table": self.offer.table,
            "price": self.price.to_dict(),
            "sets": [{"columns": list(names), "sd": sd} for names, sd in self.sd.items()],
            "cells": self.offer.cells,
            "numbers": self.offer.measurement.numbers,
            "tables_counted": len(self.offer.measurement.counted),
            "confidence": format_exact(self.confidence),
            "margin": self.margin,
            "affordable": self.affordable,
            "left": self.before.to_dict(),
            "refusal": None if refusal is None else refusal.to_dict(),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the preview in words."""
        deviations, refusal = sorted(self.sd.values()), self.refusal
        middle, worst = (format_short(round(deviations[place], 1)) for place in (len(deviations) // 2, -1))
        together = f"all {self.offer.cells:,} cells within {format_short(math.ceil(self.margin))}"
        return [
            ("published", f"{several(len(deviations), 'table')} of {self.offer.table}"),
            ("cost", str(self.price)),
            ("error", f"standard deviation of a cell {middle} in the middle table, {worst} in the worst"),
            ("together", f"{together} with {percent(self.confidence)} confidence"),
            ("left then", str(self.after) if refusal is None else f"it would be refused now: {refusal}"),
            ("paid", "nothing: this is a preview, and no data was read"),
        ]

    def __repr__(self) -> str:
        return (
            f"<preview of {several(len(self.offer.wanted), 'table')} of {self.offer.table}: {self.price}, {self._can}>"
        )


@shows_words(TargetWords, confidence="0.95")
def preview_publish(
    session: "Session",
    table: str,
    columns: Groupings,
    marginals: Marginals = "all pairs",
    **target: Unpack[TargetWords],
) -> PublicationPreview:
    """Say what a publication would cost, how exact each of its tables would be, and what would be left. It is free.

    The words are those of `publish`.
    """
    offer = _offered(session, table, columns, marginals, **target)
    event, before = charged_as(offer.measurement.event), session.budget()
    return PublicationPreview(
        offer=offer,
        price=Price.of(event, currency_of(before.account.budget)),
        confidence=as_confidence(target.get("confidence", "0.95")),
        before=before,
        after=before.after(SingleRelease(event=event)),
    )


@shows_words(TargetWords, confidence="0.95")
def publish(
    session: "Session",
    table: str,
    columns: Groupings,
    marginals: Marginals = "all pairs",
    *,
    non_negative: bool = False,
    whole: bool = False,
    key: str | None = None,
    **target: Unpack[TargetWords],
) -> Publication:
    """Publish tables of people by some columns, all in one release, and pay for them.

    Every cell and every box of published columns then comes with its own interval, and tables agree with each other.
    The same publication of the same data at the same price is free, and so is the same `key`, for ever.

    Parameters
    ----------
    table : one with one row a person
    columns : names of columns with declared values, `bins(...)` of others, or conditions such as `has(...)`
    marginals : "all columns", "all pairs", "all triples", or a list of which columns are wanted together
    non_negative, whole : whether tables are shown as counts, which makes the estimates biased
    key : the idempotency key
    target : `epsilon=`, `epsilon=` with `delta=`, or `rho=`; or `within=`, how far off all cells may be at a
        `confidence=`, for the smallest price that gives it
    """
    offer = _offered(session, table, columns, marginals, **target)
    plans, event = _plans(offer), charged_as(offer.measurement.event)
    terms = _terms(offer, plans)
    read = sorted(set[str]().union(*(tables_of(one.aggregate) for one in plans.values())))

    def draw(reader: RoundReader) -> dict[str, Any]:
        counted = {axes: reader.vector(one.aggregate) for axes, one in plans.items()}
        return {"released": offer.measurement.release(counted), "versions": dict(reader.versions)}

    keys = [key] if key is not None else _keys(session, terms, event, read)
    for given in keys:
        rounds = session.reserve(KIND, event=event, rounds=1, terms=terms, tables=read, key=given)
        if rounds.committed != [None] or key is not None:
            break  # the first that was not lost: a charge that was lost before stays, and is not drawn from again
    with rounds:
        outcome = rounds.round({"sets": len(offer.measurement.variances)}, draw)
    return Publication(
        offer,
        outcome["released"],
        price=Price.of(event, currency_of(session.budget().account.budget)),
        versions=outcome["versions"],
        name=rounds.name,
        non_negative=non_negative,
        whole=whole,
    )


def _offered(
    session: "Session", table: str, columns: Groupings, marginals: Marginals, **target: Unpack[TargetWords]
) -> Offer:
    """Read what is asked for, and choose the noise; refuse before anything is charged."""
    population, budget, wanted_at = session.population, session.budget().account.budget, parse_target(**target)
    with deadline():
        coded = read_columns(table, columns, population)
        check_most("columns", len(coded), _MOST_COLUMNS, "publish fewer")
        wanted = _wanted(marginals, coded)
        codes = tuple(len(one) for one in coded)
        measured = _measurement(codes, wanted, population.unit, wanted_at, budget)
        check_most("numbers to release", measured.numbers, MOST_NUMBERS, "publish fewer sets, or name wider bins")
    name = population.table(table).name
    return Offer(population=population, table=name, columns=tuple(coded), wanted=wanted, measurement=measured)


def _wanted(marginals: Marginals, columns: Sequence[CodedColumn]) -> tuple[Axes, ...]:
    """Return the sets of columns that are wanted, each once, none too large to be released."""
    if isinstance(marginals, str):
        if marginals not in _SIZES:
            words = ", ".join(f'"{one}"' for one in _SIZES)
            raise BadQuestionError(f"marginals={marginals!r} is not known; write {words}, or a list of sets of columns")
        sets = list(itertools.combinations(range(len(columns)), min(_SIZES[marginals], len(columns))))
    else:
        sets = [_places([one] if isinstance(one, str) else one, columns) for one in marginals]
    if not sets:
        raise BadQuestionError("no set of columns is wanted; write marginals=[('sex', 'age')], or \"all pairs\"")
    check_most("sets of columns", len(sets), _MOST_SETS, "publish fewer")
    for axes in sets:
        cells = math.prod(len(columns[a]) for a in axes)
        if cells > MOST_NUMBERS:
            names = ", ".join(columns[a].name for a in axes)
            raise BadQuestionError(f"({names}) have {cells:,} cells, more than {MOST_NUMBERS:,}; name wider bins")
    return tuple(dict.fromkeys(sets))


def _places(names: Sequence[str], columns: Sequence[CodedColumn]) -> Axes:
    known = {one.name.casefold(): place for place, one in enumerate(columns)}
    for name in names:
        if not isinstance(name, str) or name.casefold() not in known:
            there = ", ".join(one.name for one in columns)
            raise BadQuestionError(f"marginals name {name!r}, which is none of the columns; these are {there}")
    return tuple(sorted({known[name.casefold()] for name in names}))


def _measurement(
    codes: tuple[int, ...], wanted: Sequence[Axes], unit: PrivacyUnit, target: Target, budget: Guarantee
) -> Measurement:
    """Return the measurement with the least noise among those that the target pays for under this kind of budget."""

    def gaussian(variance: Fraction) -> Measurement:
        return gaussian_residuals(codes, wanted, unit, _unit_move(variance))

    def geometric(epsilon: Fraction) -> Measurement:
        return geometric_cover(codes, wanted, unit, epsilon)

    pure = isinstance(budget, PureDP)
    ways = list[Measurement]()
    match target:
        case Within() if pure:
            ways = [_within(target, wanted, lambda size: geometric(ceil_to_grid(1 / size, _FINEST)))]
        case Within():
            ways = [_within(target, wanted, gaussian)]
        case AtEpsilon(epsilon=epsilon, delta=None):
            ways = [geometric(epsilon)]
            same = priced(charged_as(ways[0].event)).rho
            if isinstance(budget, ConcentratedDP) and same is not None:
                ways.append(gaussian(1 / (2 * Fraction(float_below(same)))))
        case AtEpsilon(epsilon=epsilon, delta=delta) if not pure:
            ways = [geometric(epsilon), gaussian(smallest_variance(_unit_move, epsilon=epsilon, delta=delta))]
        case AtRho(rho=rho) if not pure:
            ways = [gaussian(1 / (2 * rho))]
        case AtEpsilon() | AtRho():
            name, given = ("rho", target.rho) if isinstance(target, AtRho) else ("delta", target.delta)
            remedy = "offer an epsilon alone, or let the custodian open a budget with a delta"
            raise ParameterError(name, str(given), reason="cannot be paid from a pure budget", remedy=remedy)
    return min(ways, key=lambda one: one.cells)


def _unit_move(variance: Fraction) -> GaussianNoise:
    return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=variance)


def _within(target: Within, wanted: Sequence[Axes], at: Callable[[Fraction], Measurement]) -> Measurement:
    """Return the measurement with the most noise, of four digits, that keeps all cells within a margin."""
    search = decimals(digits=_DIGITS)
    try:
        while search.open:
            spend(_STEPS * (1 + len(wanted) // 100))
            search.tell(_margin(at(search.guess), wanted, target.confidence) > target.margin)
        return at(search.below)
    except (OverflowError, ParameterError):
        raise ParameterError(
            "within", target.margin, reason="is out of reach at this confidence", remedy="change one of the two"
        ) from None


def _margin(measured: Measurement, wanted: Sequence[Axes], confidence: Fraction) -> float:
    """Return how far off all cells of the wanted tables are at most, together: each has its share of the chance."""
    cells = sum(math.prod(measured.codes[a] for a in axes) for axes in wanted)
    chance = float_below((1 - confidence) / cells)
    return max(measured.reach(axes, (1,) * len(axes), chance) for axes in wanted)


def _plans(offer: Offer) -> dict[Axes, Plan]:
    """Return what is counted: one statement for each table of the cover."""
    with deadline():
        return {
            axes: count_in_codes(offer.table, [offer.columns[a] for a in axes], offer.population)
            for axes in offer.measurement.counted
        }


def _terms(offer: Offer, plans: dict[Axes, Plan]) -> dict[str, Any]:
    """Return what is agreed, as it stands in the ledger: what is counted and wanted, and how much noise there is."""
    measured = offer.measurement
    sigmas = measured.mechanism.sigmas if isinstance(measured, GaussianResiduals) else {}
    return {
        "table": offer.table,
        "columns": [one.name for one in offer.columns],
        "codes": [list(one.called) for one in offer.columns],
        "sets": [list(axes) for axes in offer.wanted],
        "counted": [list(axes) for axes in measured.counted],
        "plans": digest([one.canonical for one in plans.values()]),
        "sigmas": [[list(axes), str(sigma)] for axes, sigma in sigmas.items()],
    }


def _keys(session: "Session", terms: dict[str, Any], event: Event, tables: Sequence[str]) -> Iterator[str]:
    """Yield names for the same publication of the same data: the first, and one more for each time that it was lost."""
    versions = session.ledger.population(session.population.name).tables
    whole = digest([terms, repr(event), {name: versions.get(name) for name in tables}, session.population.segment])
    return (f"publication {whole[:32]} {number}" for number in itertools.count(1))
