"""The verbs: what an explorer would cost and how exact it would be, and opening one.

An explorer is two charges, both before any data is read for them: the model (a synthesis), and then its checks, as one
reservation with all that they can ever cost. If the second is refused, the model stands, and can be given to `explorer`
again.
"""

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

from lapwing.accounting.filters.charge import SingleRelease, StreamClosing
from lapwing.accounting.filters.remaining import Refusal
from lapwing.answers.budget import BudgetStatus
from lapwing.answers.corridor_terms import CorridorTerms
from lapwing.answers.preview import Forecast
from lapwing.answers.target import AtEpsilon, AtRho, Target, parse_target, plausible_price
from lapwing.publishing.certificate import HasModel, Modelled, require_data_version
from lapwing.publishing.codes import Columns, read_columns
from lapwing.publishing.explorer import Explorer
from lapwing.publishing.explorer_terms import YESES, ExplorerSplit, corridor_for, expected_yeses, typical_error
from lapwing.publishing.synthesize import declared_columns, preview_synthesize, synthesize
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.deadline import deadline
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_confidence, float_above
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import shows_words
from lapwing.vocabulary.wording import format_exact, format_short, percent, several

if TYPE_CHECKING:
    from lapwing.session import Session

_CONFIDENCE: Final = Fraction(95, 100)
_PREVIEWED: Final = "an explorer that is being previewed"


@frozen(repr=False)
class ExplorerPreview(Forecast):
    """An explorer before it is opened: how its price is divided, and how exact its answers would be.

    `after` is with its model paid and its checks open, and `at_best` after it was closed and nothing was far from its
    guess: where they are alike, closing gives nothing back. `typical` is the error of the model that was reckoned with.
    """

    terms: CorridorTerms
    model: Target | None
    questions: int
    typical: float | None
    at_best: BudgetStatus | Refusal

    @property
    def free_reach(self) -> int:
        """How far off free answers would be at most, all of them at once, with the confidence."""
        return self.terms.mechanism.reach(self.confidence)

    @property
    def number_reach(self) -> int:
        """How far off answers that are paid for would be at most."""
        return self.terms.mechanism.number_reach(self.confidence)

    @property
    def expected_free(self) -> float | None:
        """How many of the questions would be answered for nothing, if the error of the model is as it is reckoned."""
        if self.typical is None:
            return None
        return self.questions - min(self.questions, expected_yeses(self.terms, self.questions, self.typical))

    @property
    def gives_back(self) -> bool:
        """Whether closing gives back what no answer has used: where epsilons are added up, and nowhere else."""
        match self.after, self.at_best:
            case BudgetStatus(account=after), BudgetStatus(account=at_best):
                return dict(after.filters) != dict(at_best.filters)
            case _:
                return False

    @property
    def split(self) -> dict[str, str]:
        """What is paid for what."""
        mechanism, terms = self.terms.mechanism, self.terms
        yes = mechanism.yes_price - mechanism.number_price
        return {
            "model": "made already" if self.model is None else _target_words(self.model),
            "checks": f"epsilon {format_short(terms.epsilon)}",
            "of it for opening": f"epsilon {format_short(mechanism.threshold_epsilon)}",
            "of it for each answer that is far from its guess": f"epsilon {format_short(yes)}",
            "and for its number": f"epsilon {format_short(mechanism.number_price)}",
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON values."""
        refusal = self.refusal
        return {
            "split": self.split,
            "half_width": self.terms.half_width,
            "paid_answers": self.terms.yeses,
            "questions": self.questions,
            "expected_free": self.expected_free,
            "free_reach": self.free_reach,
            "number_reach": self.number_reach,
            "confidence": format_exact(self.confidence),
            "gives_back": self.gives_back,
            "affordable": self.affordable,
            "left": self.before.to_dict(),
            "refusal": None if refusal is None else refusal.to_dict(),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the preview in words."""
        free, refusal = self.expected_free, self.refusal
        back = "goes back to the account" if self.gives_back else "stays inside, for `buy` before it is closed"
        expected = None if free is None else f"about {format_short(round(free, 1))} of {self.questions:,} questions"
        sure = f"all at once, with {percent(self.confidence)} confidence"
        return [
            *((label, text) for label, text in self.split.items()),
            ("corridor", f"{self.terms.half_width:,} to either side of a guess"),
            ("free", expected),
            ("free answers", f"off by {self.free_reach:,} at most, {sure}"),
            ("paid answers", f"{several(self.terms.yeses, 'answer')}, off by {self.number_reach:,} at most"),
            ("not used", f"what no answer has used {back}"),
            ("left then", str(self.after) if refusal is None else f"it would be refused now: {refusal}"),
            ("paid", "nothing: this is a preview, and no data was read"),
        ]

    def __repr__(self) -> str:
        can = "affordable" if self.affordable else "refused now"
        return f"<preview of an explorer of {self.terms.table}: free answers within {self.free_reach:,}, {can}>"


class ExplorerWords(TypedDict, total=False):
    """The words of an explorer besides its table and columns; `explorer` explains them."""

    questions: int
    model: HasModel | None
    epsilon: Exact | None
    delta: Exact | None
    rho: Exact | None
    checks: Exact | None
    yeses: int
    half_width: int | None


@shows_words(ExplorerWords)
def preview_explorer(
    session: "Session",
    table: str | None = None,
    columns: Columns | None = None,
    *,
    confidence: Exact = _CONFIDENCE,
    **words: Unpack[ExplorerWords],
) -> ExplorerPreview:
    """Say how an explorer would divide its price, how wide its corridor and how exact its answers would be. It is free.

    The words are those of `explorer`.
    """
    offer, before = _offered(session, table, columns, **words), session.budget()
    after = _after(session, offer, before)
    return ExplorerPreview(
        terms=offer.terms,
        model=None if offer.split is None else offer.split.model,
        questions=offer.questions,
        typical=offer.typical,
        confidence=as_confidence(confidence),
        before=before,
        after=after,
        at_best=after if isinstance(after, Refusal) else after.booked(StreamClosing(stream=_PREVIEWED)),
    )


@shows_words(ExplorerWords)
def explorer(
    session: "Session",
    table: str | None = None,
    columns: Columns | None = None,
    *,
    key: str | None = None,
    **words: Unpack[ExplorerWords],
) -> Explorer:
    """Open an explorer: counts of cohorts that are free as long as a model is right about them.

    Use it in a `with`, or close it. The same `key` goes on with the same explorer, in this process or another.

    Parameters
    ----------
    table : one with one row a person; or, in place of it, `model=`
    columns : of the model, as for `synthesize`; by default all that have declared values
    key : the idempotency key
    questions : how many it is placed for, 10,000 by default; more may be asked
    model : one that was made before; then `checks=` is all that is paid
    epsilon, delta, rho : what is paid for model and checks together
    checks : the part of it for checks, in epsilon; by default a sixth of an epsilon, or a third of a rho
    yeses : how many answers it can give that are not near their guess, 2 by default
    half_width : how far from its guess a count is near; by default as little as noise allows
    """
    offer = _offered(session, table, columns, **words)
    if offer.split is not None and not _is_known(session, key):  # a model that cannot be checked is not made
        refused = _after(session, offer, session.budget())
        if isinstance(refused, Refusal):
            raise refused.error()
    people = offer.model or _made(session, offer, key)
    require_data_version(session, people)
    own = None if key is None else f"explorer {digest([key, people.model.digest])[:32]}"
    stream = session.open_stream(offer.terms, key=own)
    stream.recover()
    return Explorer(session, people, stream, offer.terms)


@frozen(eq=False)
class _Offer:
    terms: CorridorTerms
    split: ExplorerSplit | None
    questions: int
    typical: float | None
    model: Modelled | None
    table: str
    columns: Columns | None


def _offered(
    session: "Session",
    table: str | None,
    columns: Columns | None,
    *,
    questions: int = 10_000,
    model: HasModel | None = None,
    epsilon: Exact | None = None,
    delta: Exact | None = None,
    rho: Exact | None = None,
    checks: Exact | None = None,
    yeses: int = YESES,
    half_width: int | None = None,
) -> _Offer:
    """Divide the price and place the corridor; refuse before anything is charged."""
    population, budget = session.population, session.budget().account.budget
    if population.segment is not None:
        raise BadQuestionError("an explorer is of a whole population; open it in a session of all segments")
    with deadline():
        if model is not None:
            if table is not None or columns is not None or (epsilon, delta, rho) != (None, None, None):
                raise BadQuestionError("a model is of its own table and columns, and was paid; give checks= with it")
            if checks is None:
                raise BadQuestionError("say what the checks of the model may cost, such as checks='0.25'")
            require_data_version(session, model.modelled)
            part, split, typical, about = plausible_price("checks", checks), None, None, model.modelled.table
        elif table is None:
            raise BadQuestionError("name the table to explore, or give a model of one: model=")
        else:
            words = {"epsilon": epsilon, "delta": delta, "rho": rho}
            target = parse_target(**{name: one for name, one in words.items() if one is not None})
            split, about = ExplorerSplit.of(target, checks), population.table(table).name
            part = plausible_price("checks", split.checks)
            coded = read_columns(table, declared_columns(table, population) if columns is None else columns, population)
            typical = typical_error(coded, split.model, population, budget)
        terms = corridor_for(
            population,
            about,
            checks=part,
            yeses=yeses,
            questions=questions,
            half_width=half_width,
            typical=typical,
        )
    return _Offer(
        terms=terms,
        split=split,
        questions=questions,
        typical=typical,
        model=None if model is None else model.modelled,
        table=about,
        columns=columns,
    )


def _after(session: "Session", offer: _Offer, before: BudgetStatus) -> BudgetStatus | Refusal:
    """Return what would be left with the model paid, if it is to be made, and the checks open; or the refusal."""
    paid: BudgetStatus | Refusal = before
    if offer.split is not None:
        words = offer.split.words
        made = preview_synthesize(session, offer.table, offer.columns, planned_for="cohorts", **words).offer
        paid = before.after(SingleRelease(event=made.plan.event, segments=session.population.touched))
    return paid if isinstance(paid, Refusal) else paid.after(offer.terms.reservation(_PREVIEWED))


def _is_known(session: "Session", key: str | None) -> bool:
    """Say whether something was paid under this key before: going on with it may cost nothing."""
    asked = None if key is None else session.ledger.request(session.population.name, session.analyst, _model_key(key))
    return asked is not None


def _model_key(key: str) -> str:
    return f"{key} model"


def _made(session: "Session", offer: _Offer, key: str | None) -> Modelled:
    """Make the model, or read it back: what an explorer is about is planned for cohorts, not for cells of tables."""
    if offer.split is None:
        raise AssertionError  # pragma: no cover - without a model there is a price for one
    own = None if key is None else _model_key(key)
    made = synthesize(session, offer.table, offer.columns, planned_for="cohorts", key=own, **offer.split.words)
    return made.modelled


def _target_words(target: Target) -> str:
    match target:
        case AtEpsilon(epsilon=epsilon, delta=None):
            return f"epsilon {format_short(epsilon)}"
        case AtEpsilon(epsilon=epsilon, delta=Fraction() as delta):
            return f"epsilon {format_short(epsilon)} and delta {float_above(delta):.3g}"
        case AtRho(rho=rho):
            return f"rho {format_short(rho)}"
        case _:
            raise AssertionError  # pragma: no cover - it was divided
