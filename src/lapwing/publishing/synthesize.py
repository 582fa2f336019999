"""The verbs: what a synthetic table would cost and give, making it, and reading one that was saved.

A synthesis is one reservation: one charge, before data is read, for all of its stages, each of which is a round. What a
stage measures follows from what the stages before it have released. The same synthesis of the same data is read back,
for nothing, and one whose process died goes on where it stopped.
"""

import itertools
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, Unpack

from lapwing.accounting.filters.charge import SingleRelease, priced
from lapwing.answers.releases import Price
from lapwing.answers.target import AtEpsilon, AtRho, Target, TargetWords, Within, parse_target
from lapwing.publishing.codes import (
    MOST_COLUMNS,
    CodedColumn,
    Columns,
    count_in_codes,
    count_in_tables,
    read_columns,
    read_tables,
)
from lapwing.publishing.noise_for_target import rho_for
from lapwing.publishing.saved_synthesis import KnownSynthesis, columns_digest, read_synthesis
from lapwing.publishing.stages import (
    MOST_STAGES,
    GaussianPlan,
    Measured,
    PurePlan,
    StageLost,
    Stages,
    SynthesisPlan,
    SynthesisStage,
)
from lapwing.publishing.synthesis import Synthesis, SynthesisOffer, check_size, shown_columns
from lapwing.publishing.synthesis_preview import SynthesisPreview
from lapwing.publishing.synthetic_table import SyntheticTable
from lapwing.queries.algebra.aggregate import tables_of
from lapwing.queries.catalogue.population import Population
from lapwing.rounds import IfLost, ReservationKind, RoundReader, Rounds
from lapwing.vocabulary.codec import digest, parse, to_record
from lapwing.vocabulary.deadline import deadline, spend
from lapwing.vocabulary.errors import BadQuestionError, LapwingError, ParameterError, UnansweredError
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.exact import as_confidence, as_int, check_most, float_below
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import ConcentratedDP, Guarantee, PrivacyUnit, PureDP, currency_of
from lapwing.vocabulary.results import shows_words
from lapwing.vocabulary.search import decimals

if TYPE_CHECKING:
    from lapwing.session import AskingSession, Session

KIND: Final = ReservationKind(name="synthesis", if_lost=IfLost.ENDS)
_MOST_TRIPLES: Final = 1000
_PLANNED_FOR: Final = ("tables", "cohorts")
_DIGITS: Final = 4
_STEPS: Final = 200


class PlanWords(TypedDict):
    """What plans of both kinds are made from."""

    codes: tuple[int, ...]
    unit: PrivacyUnit
    ordered: tuple[bool, ...] | None


@frozen()
class SynthesisStep:
    """How far a synthesis is: in which of at most so many stages, and whether it is counting, measured or fitted."""

    stage: int
    stages: int
    about: str
    done: str

    def __str__(self) -> str:
        return f"stage {self.stage} of at most {self.stages}, {self.about}: {self.done}"


Progress: TypeAlias = Callable[[SynthesisStep], None] | bool
"""Called with every step; or True, for a line on the standard error that tells it."""


@shows_words(TargetWords, confidence="0.95")
def preview_synthesize(
    session: "AskingSession",
    table: str,
    columns: Columns | None = None,
    *,
    up_to: int | None = None,
    planned_for: str = "tables",
    **target: Unpack[TargetWords],
) -> SynthesisPreview:
    """Say what a synthetic table would cost, what is known of it before, and what would be left. It is free.

    The words are those of `synthesize`.
    """
    offer = _offered(session, table, columns, up_to, planned_for, **target)
    event, before = offer.plan.event, session.budget()
    return SynthesisPreview(
        offer=offer,
        price=Price.of(event, currency_of(before.account.budget)),
        confidence=as_confidence(target.get("confidence", "0.95")),
        before=before,
        after=before.after(SingleRelease(event=event)),
    )


@shows_words(TargetWords, confidence="0.95")
def synthesize(
    session: "Session",
    table: str,
    columns: Columns | None = None,
    *,
    up_to: int | None = None,
    planned_for: str = "tables",
    key: str | None = None,
    progress: Progress = False,
    **target: Unpack[TargetWords],
) -> SyntheticTable:
    """Make a synthetic table of people by some columns, and pay for it.

    Rows, weights, the table of any columns and the count in any box then cost nothing. The same synthesis of the same
    data at the same price is free, and so is the same `key`, for ever.

    Parameters
    ----------
    table : one with one row a person
    columns : names of columns with declared values, `bins(...)` of others, or conditions such as `has(...)`; as a
        mapping, under names of your own. By default all columns of the table whose values are declared
    up_to : of how many columns tables are measured at most, 2 or 3; by default 3, and 2 where there are very many
    planned_for : "tables", the cells of tables count, or "cohorts", the ranges that conditions take of bins do
    key : the idempotency key
    progress : called with a `SynthesisStep` before each stage is counted, and after it was measured, and fitted to; or
        True. It is called between stages only, so that nothing is lost if it fails
    target : `epsilon=`, `epsilon=` with `delta=`, or `rho=`; or `within=`, how far off all cells of measured pairs may
        be at a `confidence=`, for the smallest price that gives it
    """
    offer = _offered(session, table, columns, up_to, planned_for, **target)
    counting = {
        (place,): count_in_codes(offer.table, [one], offer.population) for place, one in enumerate(_coded(offer))
    }
    read = sorted(set[str]().union(*(tables_of(one.aggregate) for one in counting.values())))
    terms = _terms(offer, digest([one.canonical for one in counting.values()]))
    steps = _Steps(progress)
    for given in [key] if key is not None else _keys(session, terms, offer, read):
        rounds = session.reserve(KIND, event=offer.plan.event, rounds=MOST_STAGES, terms=terms, tables=read, key=given)
        known = len(rounds.committed)
        try:
            return SyntheticTable(_run(session, offer, rounds, steps), session)
        except UnansweredError:
            if key is not None or len(rounds.committed) > known:
                raise  # it is lost now; one that was lost before is charged anew
    raise AssertionError("there is always another key")  # pragma: no cover


def load_synthetic(session: "Session", path: str | Path) -> SyntheticTable:
    """Read a synthetic table that was saved, and make the same rows of it again. It is free.

    A file that was changed, or that does not say what the ledger here says, is refused. Where the ledger does not know
    it, or the data has another version by now, the table says so.
    """
    made = read_synthesis(Path(path), session.population, _known(session), _versions(session))
    return SyntheticTable(made, session)


class _Steps:
    """Tells how far a synthesis is, if anybody wants to know."""

    def __init__(self, progress: object) -> None:
        self.stage, self._tell = 0, _line if progress is True else progress
        if progress is not False and not callable(self._tell):
            remedy = "hand in a function that takes a step, or True"
            raise ParameterError("progress", progress, reason="cannot be called", remedy=remedy)

    def done(self, about: str, done: str) -> None:
        if callable(self._tell):
            self._tell(SynthesisStep(stage=self.stage, stages=MOST_STAGES, about=about, done=done))


def _line(step: SynthesisStep) -> None:
    sys.stderr.write(f"{step}\n")


def _run(session: "Session", offer: SynthesisOffer, rounds: Rounds, steps: _Steps) -> Synthesis:
    """Draw one stage after the other, or read it back, and return what comes of them."""
    stages, outcomes, remark = offer.plan.stages(), list[dict[str, Any]](), None
    stage, measured, steps.stage = next(stages), None, 0
    with rounds:
        while measured is None:
            steps.stage += 1
            try:
                steps.done(stage.name, "counting")
                outcomes.append(rounds.round(stage.parameters, _drawing(offer, stage)))
            except UnansweredError:
                measured = _without(stages)
                remark = f"its stage {steps.stage}, {stage.name}, was lost: it rests on the stages before"
                continue
            steps.done(stage.name, "measured")
            about = stage.name
            try:
                stage = stages.send(outcomes[-1]["released"])
            except StopIteration as end:
                measured = end.value
            steps.done(about, "fitted")
    versions = [one["versions"] for one in outcomes]
    if any(one != versions[0] for one in versions):
        remark = "; ".join([*([remark] if remark else []), "the data got another version while it was made"])
    return Synthesis(
        offer=offer,
        measured=measured,
        released=[one["released"] for one in outcomes],
        price=Price.of(offer.plan.event, currency_of(session.budget().account.budget)),
        versions=versions[-1],
        name=rounds.name,
        remark=remark,
    )


def _without(stages: Stages) -> Measured:
    """Return what stands without the stage that was lost, if that is a table; otherwise the loss is raised on."""
    try:
        stages.throw(StageLost())
    except StopIteration as end:
        found: Measured = end.value
        return found
    except StageLost:
        pass
    raise  # noqa: PLE0704 - the loss, which the caller is handling


def _drawing(offer: SynthesisOffer, stage: SynthesisStage) -> Callable[[RoundReader], dict[str, Any]]:
    plans = count_in_tables(offer.table, _coded(offer), stage.counted, offer.population)

    def draw(reader: RoundReader) -> dict[str, Any]:
        return {"released": stage.release(read_tables(reader, plans)), "versions": dict(reader.versions)}

    return draw


def _coded(offer: SynthesisOffer) -> list[CodedColumn]:
    return [one.coded for one in offer.columns]


def _offered(
    session: "AskingSession",
    table: str,
    columns: Columns | None,
    up_to: int | None,
    planned_for: str,
    **target: Unpack[TargetWords],
) -> SynthesisOffer:
    """Read what is asked for, and plan it; refuse before anything is charged."""
    population, budget, wanted_at = session.population, session.budget().account.budget, parse_target(**target)
    if planned_for not in _PLANNED_FOR:
        raise BadQuestionError(f'planned_for={planned_for!r} is not known; write "tables" or "cohorts"')
    with deadline():
        coded = read_columns(table, declared_columns(table, population) if columns is None else columns, population)
        check_most("columns", len(coded), MOST_COLUMNS, "synthesize fewer")
        codes, degree = tuple(len(one) for one in coded), _degree(up_to, len(coded))
        ordered = tuple(one.ordered for one in coded) if planned_for == "cohorts" else None
        plan = _plan_for(wanted_at, budget, degree, codes=codes, unit=population.unit, ordered=ordered)
        check_size(plan, coded)
        plan.check()
        name = population.table(table).name
        shown = tuple(shown_columns(name, one, population) for one in coded)
    return SynthesisOffer(population=population, table=name, columns=shown, plan=plan)


def declared_columns(table: str, population: Population) -> list[str]:
    """Return the columns of a table whose values are declared and not too many; refuse a table that has none."""
    found, refused = list[str](), ""
    for column in population.table(table).columns:
        try:
            read_columns(table, [column.name], population)
        except BadQuestionError as error:
            refused = refused or str(error)
        else:
            found.append(column.name)
    if not found:
        raise BadQuestionError(f"no column of {table} has declared values that are few enough: {refused}")
    return found


def _degree(up_to: int | None, columns: int) -> int:
    if up_to is not None:
        return min(as_int("up_to", up_to, least=2, most=3), columns)
    return min(3 if math.comb(columns, 3) <= _MOST_TRIPLES else 2, columns)


def _plan_for(target: Target, budget: Guarantee, degree: int, **said: Unpack[PlanWords]) -> SynthesisPlan:
    """Return the plan that the target pays for under this kind of budget: Gaussian, but where epsilon alone is paid."""

    def gaussian(rho: Fraction) -> SynthesisPlan:
        return GaussianPlan(**said, degree=degree, mu_squared=2 * rho)

    def geometric(epsilon: Fraction) -> SynthesisPlan:
        return PurePlan(**said, degree=min(degree, 2), epsilon=epsilon)

    pure = isinstance(budget, PureDP)
    match target:
        case Within():
            return _within(target, geometric if pure else gaussian)
        case AtEpsilon(epsilon=epsilon, delta=None):
            same = priced(PureRelease(epsilon=epsilon)).rho
            if isinstance(budget, ConcentratedDP) and same is not None:
                return gaussian(Fraction(float_below(same)))
            return geometric(epsilon)
        case AtEpsilon(epsilon=epsilon, delta=delta) if not pure:
            return gaussian(rho_for(epsilon, delta))
        case AtRho(rho=rho) if not pure:
            return gaussian(rho)
        case _:
            name, given = ("rho", target.rho) if isinstance(target, AtRho) else ("delta", target.delta)
            remedy = "offer an epsilon alone, about twice as noisy, or let the custodian open a budget with a delta"
            raise ParameterError(name, str(given), reason="cannot be paid from a pure budget", remedy=remedy)


def _within(target: Within, at: Callable[[Fraction], SynthesisPlan]) -> SynthesisPlan:
    """Return the cheapest plan, of four digits, that keeps all cells of measured pairs within a margin."""
    search = decimals(digits=_DIGITS)
    try:
        while search.open:
            spend(_STEPS)
            search.tell(_keeps(at, search.guess, target))
        found = at(search.above)
        found.check()
        if found.margin(target.confidence) <= target.margin:
            return found
    except (OverflowError, ParameterError):
        pass
    reason, remedy = "is out of reach at this confidence", "change one of the two"
    raise ParameterError("within", target.margin, reason=reason, remedy=remedy)


def _keeps(at: Callable[[Fraction], SynthesisPlan], price: Fraction, target: Within) -> bool:
    try:
        return at(price).margin(target.confidence) <= target.margin
    except ParameterError:  # no noise is drawn so large, or so small
        return price > 1


def agreed_terms(offer: SynthesisOffer) -> dict[str, Any]:
    """Return what is agreed by a synthesis, as it stands in the ledger."""
    counting = [count_in_codes(offer.table, [one], offer.population) for one in _coded(offer)]
    return _terms(offer, digest([one.canonical for one in counting]))


def _terms(offer: SynthesisOffer, counted: str) -> dict[str, Any]:
    """Return what is agreed, as it stands in the ledger."""
    return {
        "table": offer.table,
        "columns": offer.names,
        "codes": [list(one.called) for one in _coded(offer)],
        "shown": columns_digest(offer),
        "plans": counted,
        **offer.plan.terms(),
    }


def _keys(session: "Session", terms: dict[str, Any], offer: SynthesisOffer, tables: Sequence[str]) -> Iterator[str]:
    """Yield names for the same synthesis of the same data: the first, and one more for each time that it was lost."""
    versions = _versions(session)
    about = {name: versions.get(name) for name in tables}
    whole = digest([terms, to_record(offer.plan.event), about, session.population.segment])
    return (f"synthesis {whole[:32]} {number}" for number in itertools.count(1))


def _versions(session: "Session") -> Mapping[str, int]:
    return session.ledger.population(session.population.name).tables


def _known(session: "Session") -> Callable[[str], KnownSynthesis | None]:
    """Return a function that looks up what the ledger here has of a synthesis; None if it has none."""

    def known(name: str) -> KnownSynthesis | None:
        try:
            agreed = parse(session.ledger.reservations.find(name).terms)
            told = session.ledger.reservations.outcomes(name)
        except LapwingError:
            return None
        outcomes = [parse(one.answer) for one in told if one.answer is not None]
        if "codes" not in agreed["terms"] or not outcomes:
            return None  # a reservation of another kind
        return KnownSynthesis(
            event=agreed["event"],
            terms=agreed["terms"],
            released=[one["released"] for one in outcomes],
            versions=outcomes[-1]["versions"],
            remark=_remark_of([one.answer is not None for one in told], [one["versions"] for one in outcomes]),
        )

    return known


def _remark_of(kept: Sequence[bool], versions: Sequence[Mapping[str, int]]) -> str | None:
    """Return what the ledger says of a synthesis that lost a stage, or in which the data changed."""
    lost = [] if all(kept) else [f"its stage {kept.index(False) + 1} was lost: it rests on the stages before"]
    changed = ["the data got another version while it was made"] if any(one != versions[0] for one in versions) else []
    return "; ".join([*lost, *changed]) or None
