"""Syntheses that were made before: found by what was agreed, and made again from what they have released.

It is what doors need besides the verbs: a digest by which two of them see that they mean the same, the same synthesis
under another key, and a synthetic table from numbers that came from a server.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from lapwing.answers.releases import Price
from lapwing.publishing.saved_synthesis import replayed
from lapwing.publishing.stages import Released
from lapwing.publishing.synthesis import Synthesis, SynthesisOffer
from lapwing.publishing.synthesize import KIND, SynthesisStep, agreed_terms
from lapwing.publishing.synthetic_table import SyntheticTable
from lapwing.vocabulary.codec import canonical, digest, parse, to_record
from lapwing.vocabulary.guarantee import currency_of

if TYPE_CHECKING:
    from lapwing.session import AskingSession, Session


_STEPS: Final = ("counting", "measured", "fitted")


def steps_done(step: SynthesisStep) -> tuple[int, int]:
    """Return how many steps of how many at most a synthesis has come to, for a bar.

    >>> steps_done(SynthesisStep(stage=2, stages=5, about="pairs", done="measured"))
    (5, 15)
    """
    return len(_STEPS) * (step.stage - 1) + _STEPS.index(step.done) + 1, len(_STEPS) * step.stages


def step_at(done: int, of: int) -> SynthesisStep:
    """Return the step that so many steps of so many are, where a server tells no more."""
    stage, step = divmod(max(0, done - 1), len(_STEPS))
    return SynthesisStep(stage=stage + 1, stages=of // len(_STEPS), about="at the server", done=_STEPS[step])


def synthesis_meaning(offer: SynthesisOffer) -> str:
    """Return a digest of what is counted, how it is planned and what is paid."""
    return digest([agreed_terms(offer), to_record(offer.plan.event)])


def synthesized_as(session: "Session", offer: SynthesisOffer) -> str | None:
    """Return the name of the same synthesis of the same data, made before under any key of this analyst, if any."""
    found = _found(session, offer)
    return None if found is None else found[0]


def synthesized_before(session: "Session", offer: SynthesisOffer) -> SyntheticTable | None:
    """Return the same synthesis of the same data, under any key of this analyst; None if there is none.

    It charges nothing and reads no data.
    """
    found = _found(session, offer)
    if found is None:
        return None
    name, outcomes = found
    released = [one["released"] for one in outcomes]
    return synthesis_from(session, offer, released, versions=outcomes[-1]["versions"], name=name, certifies=session)


def _found(session: "Session", offer: SynthesisOffer) -> tuple[str, list[dict[str, Any]]] | None:
    """Return the name of a whole synthesis with the same terms, and what its stages have released.

    One that is open was not finished; one that lost a stage is less than was paid for, and is found by its key alone.
    """
    ledger, name = session.ledger, session.population.name
    agreed = canonical({"event": to_record(offer.plan.event), "terms": agreed_terms(offer)})
    now = ledger.population(name).tables
    for one in ledger.reservations.all(name, kind=KIND, analyst=session.analyst):
        if one.terms != agreed or one.status.value == "open":
            continue
        told = ledger.reservations.outcomes(one.name)
        outcomes = [parse(each.answer) for each in told if each.answer is not None]
        is_now = all(now.get(table) == version for each in outcomes for table, version in each["versions"].items())
        if outcomes and len(outcomes) == len(told) and is_now:
            return one.name, outcomes
    return None


def synthesis_from(
    session: "AskingSession",
    offer: SynthesisOffer,
    released: Sequence[Released],
    *,
    versions: Mapping[str, int],
    name: str,
    remark: str | None = None,
    certifies: "Session | None" = None,
) -> SyntheticTable:
    """Return the synthetic table of an offer whose stages have released these numbers.

    `certifies` is the session that pays for its certificates; at a distance there is none.
    """
    return SyntheticTable(
        Synthesis(
            offer=offer,
            measured=replayed(offer.plan.stages(), list(released)),
            released=list(released),
            price=Price.of(offer.plan.event, currency_of(session.budget().account.budget)),
            versions=versions,
            name=name,
            remark=remark,
        ),
        certifies,
    )
