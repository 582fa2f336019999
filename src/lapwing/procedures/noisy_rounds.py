"""What procedures share: rounds of noisy sums of one price each, reserved together, and the preview of them.

A round releases vectors of whole numbers with the same noise. Which people are in which vector depends on what was
released before; that a person is in one of them only, or how many, is for each procedure to say.

Proof: proofs/procedures.md
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Unpack

import numpy as np

from lapwing.accounting.filters.charge import SingleRelease
from lapwing.answers.preview import Forecast
from lapwing.answers.releases import Price, charged_as
from lapwing.answers.target import AtEpsilon, TargetWords, parse_target, share_of
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.queries.planning.plan import Plan
from lapwing.reserved import reserve_analysis
from lapwing.rounds import IfLost, ReservationKind, RoundReader
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Composed, Event
from lapwing.vocabulary.exact import as_confidence
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import currency_of
from lapwing.vocabulary.results import Result
from lapwing.vocabulary.wording import format_exact, format_short, percent, several

if TYPE_CHECKING:
    from lapwing.session import Session

KIND: Final = ReservationKind(name="procedure", if_lost=IfLost.ENDS)
Round: TypeAlias = Callable[[list[Any]], tuple[object, Sequence[Plan]]]
"""From all that the rounds before released: what is public about the next one, and what it adds up."""


@frozen()
class NoisyRounds:
    """A procedure before it is run: the noise of each round, and what it is of, in words.

    `reads` are all tables that its rounds look into: its own, and those that conditions are about.
    """

    asks: str
    table: str
    reads: tuple[str, ...]
    terms: dict[str, Any]
    noise: tuple[GeometricMechanism, ...]
    unit: int  # a person counts as so many

    @property
    def event(self) -> Event:
        """What is charged: all rounds together, whatever they release."""
        parts = tuple(charged_as(one.event) for one in self.noise)
        return parts[0] if len(parts) == 1 else Composed(parts=parts)

    def margin(self, confidence: Fraction) -> float:
        """Return how far off one number of people is at most, in the round with the most noise."""
        return max(one.margin(confidence) for one in self.noise) / self.unit


@frozen(repr=False)
class ProcedurePreview(Forecast):
    """A procedure before it is paid for. No data was read."""

    offer: NoisyRounds
    price: Price

    @property
    def margin(self) -> float:
        """How far off one number of people in a round is at most, with the confidence."""
        return self.offer.margin(self.confidence)

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON values."""
        refusal = self.refusal
        return {
            "asks": self.offer.asks,
            "table": self.offer.table,
            "price": self.price.to_dict(),
            "rounds": len(self.offer.noise),
            "margin": self.margin,
            "confidence": format_exact(self.confidence),
            "affordable": self.affordable,
            "refusal": None if refusal is None else refusal.to_dict(),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the preview in words."""
        refusal, rounds = self.refusal, len(self.offer.noise)
        off = f"±{format_short(round(self.margin, 1))} people with {percent(self.confidence)} confidence"
        return [
            ("asked", f"{self.offer.asks} of {self.offer.table}"),
            ("cost", f"{self.price}, in {several(rounds, 'round')}"),
            ("error", f"each number of people that it goes by: {off}"),
            ("left then", str(self.after) if refusal is None else f"it would be refused now: {refusal}"),
            ("paid", "nothing: this is a preview, and no data was read"),
        ]

    def __repr__(self) -> str:
        can = "affordable" if self.affordable else "refused now"
        return f"<preview of {self.offer.asks} of {self.offer.table}: {self.price}, {can}>"


@frozen()
class ProcedureReceipt(Result):
    """What a procedure cost, of which data, and under which name it stands in the ledger."""

    price: Price
    versions: Mapping[str, int]
    name: str
    rounds: tuple[Any, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; the released rounds are in it."""
        return {
            "price": self.price.to_dict(),
            "versions": dict(self.versions),
            "name": self.name,
            "rounds": list(self.rounds),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return it in words."""
        return [("cost", str(self.price)), ("rounds", str(len(self.rounds))), ("in the ledger", self.name)]


def noise_of_rounds(sensitivities: Sequence[int], target: TargetWords) -> tuple[GeometricMechanism, ...]:
    """Return the noise of rounds that one person moves so far, each for an equal share of the price."""
    match parse_target(**target):
        case AtEpsilon(epsilon=epsilon, delta=None):
            each = share_of("epsilon", epsilon, len(sensitivities))
            return tuple(GeometricMechanism(l1_sensitivity=moved, epsilon=each) for moved in sensitivities)
        case _:
            given = ", ".join(name for name in target if name != "confidence")
            reason, remedy = "cannot pay for a procedure", "offer an epsilon alone; any account is charged for it"
            raise ParameterError("price", given, reason=reason, remedy=remedy)


def preview_rounds(session: "Session", offer: NoisyRounds, **target: Unpack[TargetWords]) -> ProcedurePreview:
    """Return what a procedure would cost, and what would be left."""
    before = session.budget()
    return ProcedurePreview(
        offer=offer,
        price=Price.of(offer.event, currency_of(before.account.budget)),
        confidence=as_confidence(target.get("confidence", "0.95")),
        before=before,
        after=before.after(SingleRelease(event=offer.event)),
    )


def run_rounds(session: "Session", offer: NoisyRounds, begin: Round, key: str | None) -> ProcedureReceipt:
    """Charge, and then draw each round from what those before released; or read back what was committed."""
    reserved = reserve_analysis(
        session, KIND, event=offer.event, rounds=len(offer.noise), terms=offer.terms, tables=offer.reads, key=key
    )
    released = list[Any]()
    versions = dict[str, int]()
    with reserved as rounds:
        for noise in offer.noise:
            parameters, plans = begin(released)

            def draw(
                reader: RoundReader, plans: Sequence[Plan] = plans, noise: GeometricMechanism = noise
            ) -> dict[str, Any]:
                numbers = [np.asarray(noise.release(reader.vector(one.aggregate))).tolist() for one in plans]
                return {"released": numbers, "versions": dict(reader.versions)}

            outcome = rounds.round(parameters, draw)
            released.append(outcome["released"])
            versions = outcome["versions"]
    price = Price.of(offer.event, currency_of(session.budget().account.budget))
    return ProcedureReceipt(price=price, versions=versions, name=reserved.name, rounds=tuple(released))
