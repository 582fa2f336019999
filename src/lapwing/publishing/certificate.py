"""A certificate: how far off a model is, at most, about each question of a public class, in one released number.

It is about exactly the numbers that the model says (`PopulationModel.count`), from which the errors are computed when
it is made. So it ends with its model: one that was changed, if only by an answer that it learned, has none.

Proof: proofs/certificate.md
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Protocol

from lapwing.accounting.filters.charge import SingleRelease
from lapwing.answers.preview import Forecast
from lapwing.answers.releases import Price, charged_as
from lapwing.answers.target import plausible_price, share_of
from lapwing.mechanisms.sparse_vector.law_probabilities import reach
from lapwing.mechanisms.worst_error import ErrorStatistics
from lapwing.publishing.certificate_class import BoxClass
from lapwing.publishing.codes import CodedColumn, Passes, count_in_tables, read_tables, require_groupings
from lapwing.publishing.covers import cover
from lapwing.publishing.population_model import PopulationModel
from lapwing.queries.algebra.aggregate import tables_of
from lapwing.reserved import reserve_analysis
from lapwing.rounds import IfLost, ReservationKind, RoundReader
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.deadline import deadline
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_confidence, exact, float_below
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import currency_of
from lapwing.vocabulary.results import Interval, Result
from lapwing.vocabulary.wording import format_exact, format_short, percent, several

if TYPE_CHECKING:
    from lapwing.session import Session

KIND: Final = ReservationKind(name="certificate", if_lost=IfLost.ENDS)
_CONFIDENCE: Final = Fraction(95, 100)
_COUNTED: Final = 1 << 15
"""Cells of a table that is counted for a certificate: few wide tables are read sooner than many small ones."""
_MOST_RANKS: Final = 20


@frozen(eq=False)
class Modelled:
    """What can be certified and explored: a `model` of some columns of a table, made from these data `versions`."""

    table: str
    columns: tuple[CodedColumn, ...]
    model: PopulationModel
    versions: Mapping[str, int]

    @property
    def modelled(self) -> "Modelled":
        """Itself: whatever has a model says so in this way."""
        return self


class HasModel(Protocol):
    """A synthetic table, or what it is made of."""

    @property
    def modelled(self) -> Modelled:
        """The model, with what it is of."""


@frozen(repr=False)
class ModelCertificate(Result):
    """How far off a model is about all boxes of a class: the worst error, and other order statistics if asked for.

    `released` has a number for each of `ranks`, with noise; `bound` adds what that noise may have taken away. It is
    about the model with the digest `of`.
    """

    boxes: BoxClass
    ranks: tuple[Fraction, ...]
    released: tuple[int, ...]
    mechanism: ErrorStatistics
    of: str
    price: Price
    versions: Mapping[str, int]
    name: str

    def bound(self, confidence: Exact = _CONFIDENCE, rank: Exact = 1) -> int:
        """Return what the error of every box is at most, with this probability; of another rank, of so many boxes.

        `rank="0.5"` bounds the error of half of the boxes. It does not say of which half.
        """
        wanted = exact("rank", rank)
        if wanted not in self.ranks:
            there = ", ".join(format_exact(one) for one in self.ranks)
            raise BadQuestionError(f"the certificate has no rank {format_exact(wanted)}; it has {there}")
        below = reach(self.mechanism.mechanism.law, float_below(1 - as_confidence(confidence)))
        return max(0, self.released[self.ranks.index(wanted)] + below)

    def interval(
        self, model: PopulationModel, box: Mapping[int, Sequence[bool]], confidence: Exact = _CONFIDENCE
    ) -> Interval:
        """Return where the count in a box lies. All boxes of the class are in theirs, at once, with this probability.

        A box outside the class is refused, and so is another model than that which was certified.
        """
        self.require(model)
        self.boxes.require(box)
        said, off = model.count(box), self.bound(confidence)
        return Interval(max(0, said - off), max(0, said + off))

    def covering(
        self, model: PopulationModel, box: Mapping[int, Sequence[bool]], confidence: Exact = _CONFIDENCE
    ) -> Interval | None:
        """Return the same; None for a box outside the class, for another model, and without the worst error."""
        try:
            return self.interval(model, box, confidence)
        except BadQuestionError:
            return None

    def require(self, model: PopulationModel) -> None:
        """Refuse another model than that which was certified."""
        if model.digest != self.of:
            raise BadQuestionError(
                "the certificate is about another model, and ended when that was changed; certify this one"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "certificate": self.name,
            "columns": [one.name for one in self.boxes.columns],
            "up_to": self.boxes.up_to,
            "boxes": self.boxes.boxes,
            "model": self.of,
            "released": {format_exact(rank): one for rank, one in zip(self.ranks, self.released, strict=True)},
            "bounds": {format_exact(rank): self.bound(rank=rank) for rank in self.ranks},
            "confidence": format_exact(_CONFIDENCE),
            "price": self.price.to_dict(),
            "versions": dict(self.versions),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return it in words."""
        many = f"{self.boxes.boxes:,} boxes of up to {several(self.boxes.up_to, 'column')}"
        others = [
            (f"{percent(rank)} of them", f"off by {self.bound(rank=rank):,} at most")
            for rank in self.ranks
            if rank != 1
        ]
        worst = [("all of them", f"off by {self.bound():,} at most")] if 1 in self.ranks else []
        sure = f"each line by itself, with {percent(_CONFIDENCE)} confidence"
        return [("certified", many), *worst, *others, ("sure", sure), ("cost", str(self.price))]

    @property
    def words(self) -> str:
        """What it says, in one line."""
        many, off = f"{self.boxes.boxes:,} boxes", f"off by {self.bound(rank=self.ranks[0]):,} at most"
        of = "all" if self.ranks[0] == 1 else percent(self.ranks[0])
        return f"{of} of {many} of up to {several(self.boxes.up_to, 'column')} are {off}, with {percent(_CONFIDENCE)}"

    def __repr__(self) -> str:
        off = f"off by {self.bound(rank=self.ranks[0]):,} at most"
        return f"<certificate of {self.boxes.boxes:,} boxes: {off}, {self.price}>"


@frozen(repr=False)
class CertificatePreview(Forecast):
    """A certificate before it is paid for: its class, its price, and how much its noise will add to every bound."""

    boxes: BoxClass
    mechanism: ErrorStatistics
    tables_counted: int
    price: Price

    @property
    def margin(self) -> int:
        """How much is added to what is released, for a bound with this confidence."""
        return reach(self.mechanism.mechanism.law, float_below(1 - self.confidence))

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON values."""
        refusal = self.refusal
        return {
            "boxes": self.boxes.boxes,
            "up_to": self.boxes.up_to,
            "tables_counted": self.tables_counted,
            "price": self.price.to_dict(),
            "margin": self.margin,
            "confidence": format_exact(self.confidence),
            "affordable": self.affordable,
            "refusal": None if refusal is None else refusal.to_dict(),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the preview in words."""
        many = f"{self.boxes.boxes:,} boxes of up to {several(self.boxes.up_to, 'column')}"
        added = f"{format_short(self.margin)} is added to each error, with {percent(self.confidence)} confidence"
        refusal = self.refusal
        return [
            ("certified", many),
            ("cost", str(self.price)),
            ("noise", added),
            ("left then", str(self.after) if refusal is None else f"it would be refused now: {refusal}"),
            ("paid", "nothing: this is a preview, and no data was read"),
        ]

    def __repr__(self) -> str:
        can = "affordable" if self.affordable else "refused now"
        return f"<preview of a certificate of {self.boxes.boxes:,} boxes: {self.price}, {can}>"


@frozen()
class _Offer:
    boxes: BoxClass
    mechanism: ErrorStatistics
    plans: Passes


def preview_certify(
    session: "Session",
    people: HasModel,
    *,
    up_to: int = 4,
    epsilon: Exact,
    ranks: Sequence[Exact] = (1,),
    confidence: Exact = _CONFIDENCE,
) -> CertificatePreview:
    """Say what a certificate would be about and cost, and how much its noise would add. It is free."""
    offer, before = _offered(session, people.modelled, up_to, epsilon, ranks), session.budget()
    event = charged_as(offer.mechanism.event)
    return CertificatePreview(
        boxes=offer.boxes,
        mechanism=offer.mechanism,
        tables_counted=sum(len(sets) for sets, _ in offer.plans),
        price=Price.of(event, currency_of(before.account.budget)),
        confidence=as_confidence(confidence),
        before=before,
        after=before.after(SingleRelease(event=event)),
    )


def certify(
    session: "Session",
    people: HasModel,
    *,
    up_to: int = 4,
    epsilon: Exact,
    ranks: Sequence[Exact] = (1,),
    key: str | None = None,
) -> ModelCertificate:
    """Certify a model: release how far off it is at most about all boxes of up to so many columns, and pay for it.

    The same certificate of the same model and data is free.

    Parameters
    ----------
    people : a synthetic table; what it says about boxes of codes is what is certified
    up_to : of how many columns boxes may be
    epsilon : what it costs in all; it is pure, and every kind of budget can pay it
    ranks : 1 for the worst error, "0.99" for one that 99 % of the boxes do not exceed; they share epsilon evenly
    key : the idempotency key
    """
    of = people.modelled
    offer = _offered(session, of, up_to, epsilon, ranks)
    event, model = charged_as(offer.mechanism.event), of.model
    terms = _terms(of, offer)
    model.prepare(offer.boxes.sets)
    read = sorted(set[str]().union(*(tables_of(one.aggregate) for _, one in offer.plans)))

    def draw(reader: RoundReader) -> dict[str, Any]:
        counted = read_tables(reader, offer.plans)
        released = offer.mechanism.release(counted, lambda axes: offer.boxes.guesses(model, axes))
        return {"released": released, "versions": dict(reader.versions)}

    rounds = reserve_analysis(session, KIND, event=event, rounds=1, terms=terms, tables=read, key=key)
    with rounds:
        outcome = rounds.round({"boxes": offer.boxes.boxes}, draw)
    return ModelCertificate(
        boxes=offer.boxes,
        ranks=offer.mechanism.ranks,
        released=tuple(outcome["released"]),
        mechanism=offer.mechanism,
        of=model.digest,
        price=Price.of(event, currency_of(session.budget().account.budget)),
        versions=outcome["versions"],
        name=rounds.name,
    )


def _offered(session: "Session", people: Modelled, up_to: object, epsilon: Exact, ranks: Sequence[Exact]) -> _Offer:
    """Read what is asked for; refuse before anything is charged."""
    require_data_version(session, people)
    if isinstance(ranks, str) or not isinstance(ranks, Sequence):
        raise BadQuestionError("ranks are a list, such as ranks=[1] for the worst error or ranks=[1, '0.99']")
    if not 0 < len(ranks) <= _MOST_RANKS:
        raise BadQuestionError(f"{len(ranks)} ranks are asked for; name from 1 to {_MOST_RANKS}, such as ranks=[1]")
    require_groupings(people.table, people.columns, session.population)
    each = share_of("epsilon", plausible_price("epsilon", epsilon), len(ranks))
    with deadline():
        boxes = BoxClass.over(people.columns, up_to)
        codes = tuple(len(one) for one in boxes.columns)
        mechanism = ErrorStatistics(
            codes=codes, choices=boxes.choices, sets=boxes.sets, epsilon=each, unit=session.population.unit, ranks=ranks
        )
        largest = [axes for axes in boxes.sets if len(axes) == boxes.up_to]
        wide = cover(codes, largest, _COUNTED)
        plans = count_in_tables(people.table, boxes.columns, wide, session.population)
    return _Offer(boxes=boxes, mechanism=mechanism, plans=plans)


def require_data_version(session: "Session", people: Modelled) -> None:
    """Refuse a model of data that has changed since: what is counted now is something else."""
    now = session.ledger.population(session.population.name).tables
    for table, version in people.versions.items():
        if now.get(table) != version:
            raise BadQuestionError(
                f"this model was made from version {version} of {table}, which has version {now.get(table)} now; make "
                "a model of the data as it is"
            )


def _terms(people: Modelled, offer: _Offer) -> dict[str, Any]:
    """Return what is agreed, as it stands in the ledger: the class, the model, and what is counted."""
    return {
        "table": people.table,
        "columns": [one.name for one in offer.boxes.columns],
        "codes": [list(one.called) for one in offer.boxes.columns],
        "up_to": offer.boxes.up_to,
        "ranks": [str(rank) for rank in offer.mechanism.ranks],
        "model": people.model.digest,
        "plans": digest([one.canonical for _, one in offer.plans]),
    }
