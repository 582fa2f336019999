"""Counting people of a secret sample, and saying that it does not pay.

Document 001 has the idea to run a private algorithm on a random part of the people. The price falls with the part, and
so does what is left to count: for counts, everybody at the same price is at least as exact.

Proof: proofs/sampled_counts.md
"""

from math import sinh, sqrt
from typing import TYPE_CHECKING, Any, Final, Unpack

from lapwing.accounting.filters.charge import SingleRelease
from lapwing.answers.preview import Forecast
from lapwing.answers.releases import Price
from lapwing.answers.target import AtEpsilon, TargetWords, parse_target
from lapwing.mechanisms.sampled_counts import SampledCounts
from lapwing.queries.algebra.aggregate import tables_of
from lapwing.queries.language.builders import ConditionLike
from lapwing.queries.planning.plan import Plan
from lapwing.queries.planning.planner import plan
from lapwing.queries.statistics.counts import count
from lapwing.reserved import reserve_analysis
from lapwing.rounds import IfLost, ReservationKind, RoundReader
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.deadline import deadline
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.exact import Exact, as_confidence, as_written, positive
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, currency_of
from lapwing.vocabulary.results import Result, shows_words
from lapwing.vocabulary.wording import format_exact, format_short

if TYPE_CHECKING:
    from lapwing.session import Session

KIND: Final = ReservationKind(name="sample", if_lost=IfLost.ENDS)
_MANY: Final = 10_000


@frozen(repr=False)
class SampledPreview(Forecast):
    """A count on a sample before it is paid for, beside the count of everybody at the same price."""

    mechanism: SampledCounts
    price: Price

    @property
    def sd_of_all(self) -> float:
        """The standard deviation of a count of everybody at the same price."""
        return sqrt(0.5) / sinh(float(self.mechanism.event.epsilon) / 2)

    def sd_if(self, people: int) -> float:
        """Return the standard deviation of the estimate if there are so many people."""
        return self.mechanism.sd_if(people)

    @property
    def advice(self) -> str:
        """Whether the sample pays: it never does for a count."""
        return (
            f"does not pay: everybody at the same price has an error of {format_short(round(self.sd_of_all, 1))}, the "
            f"sample {format_short(round(self.sd_if(0), 1))} if there is nobody, and "
            f"{format_short(round(self.sd_if(_MANY), 1))} if there are {_MANY:,} people (standard deviations)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON values."""
        return {
            "price": self.price.to_dict(),
            "rate": format_exact(self.mechanism.rate),
            "inner_epsilon": format_exact(self.mechanism.inner),
            "advice": self.advice,
            "sd": {"everybody": self.sd_of_all, "nobody": self.sd_if(0), "many": self.sd_if(_MANY)},
            "affordable": self.affordable,
            "refusal": None if self.refusal is None else self.refusal.to_dict(),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the preview in words."""
        return [
            (
                "sample",
                f"everybody is in it with probability {format_exact(self.mechanism.rate)}, by a coin of their own",
            ),
            ("cost", f"{self.price}; noise is that of epsilon {format_exact(self.mechanism.inner)}"),
            ("advice", self.advice),
            ("paid", "nothing: this is a preview, and no data was read"),
        ]


@frozen(repr=False)
class SampledAnswer(Result):
    """The number of people in a secret sample, with noise; and the estimate for all, which is that over the rate."""

    mechanism: SampledCounts
    released: int
    price: Price
    name: str

    @property
    def people(self) -> float:
        """The estimate for everybody: unbiased."""
        return float(self.released / self.mechanism.rate)

    @property
    def sd(self) -> float:
        """The standard deviation of the estimate, if there are about as many people as it says."""
        return self.mechanism.sd_if(max(0, round(self.people)))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        rate = format_exact(self.mechanism.rate)
        return {
            "released": self.released,
            "rate": rate,
            "people": self.people,
            "sd": self.sd,
            "price": self.price.to_dict(),
            "name": self.name,
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return it in words."""
        return [
            ("people", f"about {round(self.people):,}"),
            ("error", f"standard deviation {format_short(round(self.sd, 1))}, of the sample and of the noise"),
            ("cost", str(self.price)),
        ]

    def __repr__(self) -> str:
        return f"<about {round(self.people):,} people by a sample of {format_exact(self.mechanism.rate)}: {self.price}>"


@shows_words(TargetWords, confidence="0.95")
def preview_sample_count(
    session: "Session", table: str, where: ConditionLike = None, *, rate: Exact, **target: Unpack[TargetWords]
) -> SampledPreview:
    """Say what a count on a sample would cost, and how much better a count of everybody would be. It is free."""
    mechanism, _ = _offered(session, table, where, rate, target)
    before = session.budget()
    return SampledPreview(
        mechanism=mechanism,
        price=Price.of(mechanism.event, currency_of(before.account.budget)),
        confidence=as_confidence(target.get("confidence", "0.95")),
        before=before,
        after=before.after(SingleRelease(event=mechanism.event)),
    )


@shows_words(TargetWords, confidence="0.95")
def sample_count(
    session: "Session",
    table: str,
    where: ConditionLike = None,
    *,
    rate: Exact,
    key: str | None = None,
    **target: Unpack[TargetWords],
) -> SampledAnswer:
    """Count people of a secret sample, in which everybody is with a public probability `rate`, and pay for it.

    Parameters
    ----------
    table : the table to look in
    where : which rows, as SQL text or built with `col`
    rate : the probability, such as "1/10"
    key : the idempotency key
    target : `epsilon=`, which is the price after the sample has brought it down
    """
    mechanism, planned = _offered(session, table, where, rate, target)

    def draw(reader: RoundReader) -> dict[str, Any]:
        return {"released": mechanism.release(reader.vector(planned.aggregate))}

    terms = {"rate": str(mechanism.rate), "inner": str(mechanism.inner), "plan": digest(planned.canonical)}
    read = sorted(tables_of(planned.aggregate))
    reserved = reserve_analysis(session, KIND, event=mechanism.event, rounds=1, terms=terms, tables=read, key=key)
    with reserved as rounds:
        outcome = rounds.round({"rate": str(mechanism.rate)}, draw)
    price = Price.of(mechanism.event, currency_of(session.budget().account.budget))
    return SampledAnswer(mechanism=mechanism, released=outcome["released"][0], price=price, name=reserved.name)


def _offered(
    session: "Session", table: str, where: ConditionLike, rate: Exact, target: TargetWords
) -> tuple[SampledCounts, Plan]:
    """Read what is asked for; refuse what no sample pays for, before anything is charged."""
    unit = session.population.unit
    if unit.adjacency is not Adjacency.ADD_REMOVE:
        raise BadQuestionError(
            "this population protects people who are replaced by others, and a sample by coins is for people who are "
            "added or removed; count everybody"
        )
    if unit.protects_groups_of > 1:
        raise BadQuestionError(
            f"this population protects groups of {unit.protects_groups_of}, and the people of a group have a coin "
            "each, so that a sample brings no price down for them; count everybody"
        )
    match parse_target(**target):
        case AtEpsilon(epsilon=epsilon, delta=None):
            mechanism = SampledCounts(rate=positive("rate", as_written(rate)), epsilon=epsilon)
        case _:
            given = ", ".join(name for name in target if name != "confidence")
            reason, remedy = "cannot pay for a sample", "offer an epsilon alone; any account is charged for it"
            raise ParameterError("price", given, reason=reason, remedy=remedy)
    with deadline():
        return mechanism, plan(count(table, where), session.population)
