"""The verbs: what publishing tables of a population would cost and give, and publishing them.

A publication is a reservation of one round. What it charges, what it counts and how much noise each number gets follow
from what is declared and what is paid; the round counts, adds noise and is committed, once. The same publication of the
same data is read back, for nothing.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Unpack

from lapwing.accounting.filters.charge import SingleRelease
from lapwing.answers.releases import Price, charged_as
from lapwing.answers.target import TargetWords, parse_target
from lapwing.mechanisms.residual_basis import Axes
from lapwing.publishing.codes import (
    MOST_COLUMNS,
    CodedColumn,
    Columns,
    Passes,
    count_in_tables,
    count_rows_in_tables,
    read_columns,
    read_columns_of_rows,
    read_row_tables,
    read_tables,
)
from lapwing.publishing.measurements import GaussianResiduals
from lapwing.publishing.noise_for_target import measurement_for
from lapwing.publishing.publication import Publication, PublicationOffer
from lapwing.publishing.publication_preview import PublicationPreview
from lapwing.publishing.row_strata import RowStrata, read_caps
from lapwing.queries.algebra.aggregate import tables_of
from lapwing.queries.limits import MOST_KEYS, MOST_NUMBERS
from lapwing.reserved import reserve_analysis
from lapwing.rounds import IfLost, Receipt, ReservationKind, RoundReader
from lapwing.vocabulary.codec import canonical, digest, parse, to_record
from lapwing.vocabulary.deadline import deadline
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import as_confidence, check_most
from lapwing.vocabulary.guarantee import currency_of
from lapwing.vocabulary.results import shows_words

if TYPE_CHECKING:
    from lapwing.session import AskingSession, Session

Marginals: TypeAlias = str | Sequence[str | Sequence[str]]
"""Which sets of columns: all of one size, by these words, or a list of names, and of several names together."""

KIND: Final = ReservationKind(name="publication", if_lost=IfLost.ENDS)
_SIZES: Final = {"all columns": 1, "all pairs": 2, "all triples": 3}
_MOST_SETS: Final = 10_000


@shows_words(TargetWords, confidence="0.95")
def preview_publish(
    session: "AskingSession",
    table: str,
    columns: Columns,
    marginals: Marginals = "all pairs",
    *,
    rows: Sequence[int] | None = None,
    **target: Unpack[TargetWords],
) -> PublicationPreview:
    """Say what a publication would cost, how exact each of its tables would be, and what would be left. It is free.

    The words are those of `publish`.
    """
    offer = offer_of(session, table, columns, marginals, rows, **target)
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
    columns: Columns,
    marginals: Marginals = "all pairs",
    *,
    rows: Sequence[int] | None = None,
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
    table : one with one row a person; or, with `rows`, one with many
    columns : names of columns with declared values, `bins(...)` of others, or conditions such as `has(...)`; as a
        mapping, under names of your own
    marginals : "all columns", "all pairs", "all triples", or a list of which columns are wanted together
    rows : the most rows of a person in each stratum, such as [1, 2, 5, 10]: rows are published, of everybody who has no
        more than the last of them; noise grows with the number of rows, and is least for those who have few
    non_negative, whole : whether tables are shown as counts, which makes the estimates biased
    key : the idempotency key
    target : `epsilon=`, `epsilon=` with `delta=`, or `rho=`; or `within=`, how far off all cells may be at a
        `confidence=`, for the smallest price that gives it
    """
    offer = offer_of(session, table, columns, marginals, rows, **target)
    shape = {"non_negative": non_negative, "whole": whole}
    if key is None and (before := published_before(session, offer, **shape)) is not None:
        return before
    plans, event = _plans(offer), charged_as(offer.measurement.event)
    terms = _terms(offer, plans)
    tables = sorted(set[str]().union(*(tables_of(one.aggregate) for _, one in plans)))

    def draw(reader: RoundReader) -> dict[str, Any]:
        read = read_row_tables if offer.rows else read_tables
        released = offer.measurement.release(read(reader, plans))
        return {"released": released, "versions": dict(reader.versions)}

    rounds = reserve_analysis(session, KIND, event=event, rounds=1, terms=terms, tables=tables, key=key)
    with rounds:
        outcome = rounds.round({"sets": len(offer.measurement.variances)}, draw)
    receipt = rounds.receipts[-1]
    return read_publication(session, offer, outcome, name=rounds.name, receipt=receipt, **shape)


def published_before(
    session: "Session", offer: PublicationOffer, *, non_negative: bool = False, whole: bool = False
) -> Publication | None:
    """Return the same publication of the same data, under any key of this analyst; None if there is none.

    It charges nothing and reads no data.
    """
    ledger, population, plans = session.ledger, session.population, _plans(offer)
    agreed = canonical({"event": to_record(charged_as(offer.measurement.event)), "terms": _terms(offer, plans)})
    now = ledger.population(population.name).tables
    for one in ledger.reservations.all(population.name, kind=KIND, analyst=session.analyst):
        told = ledger.reservations.outcomes(one.name) if one.terms == agreed else []
        if told and told[0].answer is not None:
            outcome = parse(told[0].answer)
            if all(now.get(name) == version for name, version in outcome["versions"].items()):
                shape = {"non_negative": non_negative, "whole": whole}
                return read_publication(session, offer, outcome, name=one.name, receipt=told[0].receipt, **shape)
    return None


def read_publication(
    session: "AskingSession",
    offer: PublicationOffer,
    outcome: Mapping[str, Any],
    *,
    name: str,
    receipt: Receipt | str,
    non_negative: bool = False,
    whole: bool = False,
) -> Publication:
    """Return the publication of an offer whose numbers were released before; `session` may be at a distance."""
    return Publication(
        offer,
        outcome["released"],
        price=Price.of(charged_as(offer.measurement.event), currency_of(session.budget().account.budget)),
        versions=outcome["versions"],
        name=name,
        receipt=receipt,
        non_negative=non_negative,
        whole=whole,
    )


def meaning_of(offer: PublicationOffer) -> str:
    """Return a digest of what is counted, what is wanted and what is paid: two that agree on it mean the same."""
    agreed = _terms(offer, _plans(offer))
    return digest([agreed, to_record(charged_as(offer.measurement.event))])


def offer_of(
    session: "AskingSession",
    table: str,
    columns: Columns,
    marginals: Marginals,
    rows: Sequence[int] | None = None,
    **target: Unpack[TargetWords],
) -> PublicationOffer:
    """Read what is asked for, and choose the noise; refuse before anything is charged."""
    population, budget, wanted_at = session.population, session.budget().account.budget, parse_target(**target)
    with deadline():
        caps = None if rows is None else read_caps(rows)
        read = read_columns if caps is None else read_columns_of_rows
        coded = read(table, columns, population)
        check_most("columns", len(coded), MOST_COLUMNS, "publish fewer")
        wanted = _wanted(marginals, coded)
        codes = tuple(len(one) for one in coded)
        measured = measurement_for(codes, wanted, population.unit, wanted_at, budget, rows=caps)
        check_most("numbers to release", measured.numbers, MOST_NUMBERS, "publish fewer sets, or name wider bins")
    name = population.table(table).name
    return PublicationOffer(
        population=population, table=name, columns=tuple(coded), wanted=wanted, measurement=measured, rows=caps or ()
    )


def _wanted(marginals: Marginals, columns: Sequence[CodedColumn]) -> tuple[Axes, ...]:
    """Return the sets of columns that are wanted, each once, none too large to be released."""
    if isinstance(marginals, str):
        if marginals not in _SIZES:
            words = ", ".join(f'"{one}"' for one in _SIZES)
            raise BadQuestionError(f"marginals={marginals!r} is not known; write {words}, or a list of sets of columns")
        size, there = _SIZES[marginals], len(columns)
        if size > there:
            fits = next(words for words in reversed(_SIZES) if _SIZES[words] <= there)
            raise BadQuestionError(
                f"marginals={marginals!r} are tables of {size} columns, and {there} {'is' if there == 1 else 'are'} "
                f'given; give {size - there} more, or write marginals="{fits}"'
            )
        sets = list(itertools.combinations(range(there), size))
    else:
        sets = [_places([one] if isinstance(one, str) else one, columns) for one in marginals]
    if not sets:
        raise BadQuestionError("no set of columns is wanted; write marginals=[('sex', 'age')], or \"all pairs\"")
    check_most("sets of columns", len(sets), _MOST_SETS, "publish fewer")
    check_most("columns in one table", max(map(len, sets)), MOST_KEYS, "publish tables of fewer columns")
    each = {axes: math.prod(len(columns[a]) for a in axes) for axes in sets}
    for axes, cells in each.items():
        if cells > MOST_NUMBERS:
            names = ", ".join(columns[a].name for a in axes)
            raise BadQuestionError(f"({names}) have {cells:,} cells, more than {MOST_NUMBERS:,}; name wider bins")
    check_most("cells in all its tables", sum(each.values()), MOST_NUMBERS, "publish fewer sets, or name wider bins")
    return tuple(each)


def _places(names: Sequence[str], columns: Sequence[CodedColumn]) -> Axes:
    known = {one.name.casefold(): place for place, one in enumerate(columns)}
    for name in names:
        if not isinstance(name, str) or name.casefold() not in known:
            there = ", ".join(one.name for one in columns)
            raise BadQuestionError(f"marginals name {name!r}, which is none of the columns; these are {there}")
    return tuple(sorted({known[name.casefold()] for name in names}))


def _plans(offer: PublicationOffer) -> Passes:
    """Return what is counted: the tables of the cover, in one statement, or a few if they have many cells."""
    with deadline():
        about = (offer.table, offer.columns, offer.measurement.counted, offer.population)
        return count_rows_in_tables(*about, offer.rows) if offer.rows else count_in_tables(*about)


def _terms(offer: PublicationOffer, plans: Passes) -> dict[str, Any]:
    """Return what is agreed, as it stands in the ledger: what is counted and wanted, and how much noise there is."""
    measured = offer.measurement.strata[0] if isinstance(offer.measurement, RowStrata) else offer.measurement
    sigmas = measured.mechanism.sigmas if isinstance(measured, GaussianResiduals) else {}
    return {
        "table": offer.table,
        "columns": [one.name for one in offer.columns],
        "codes": [list(one.called) for one in offer.columns],
        "sets": [list(axes) for axes in offer.wanted],
        "counted": [list(axes) for axes in measured.counted],
        "plans": digest([one.canonical for _, one in plans]),
        "rows": list(offer.rows),
        "sigmas": [[list(axes), str(sigma)] for axes, sigma in sigmas.items()],
    }
