"""The verbs: counts over time, paid once at the opening, each count with a band that is known in advance.

A dashboard is one reservation with a round for each period. What a period is, who is counted and how much noise there
is are fixed at the opening and stand in the ledger; a release is committed before it is shown, and never drawn again.
"""

from datetime import date
from typing import TYPE_CHECKING, Any, Unpack

from lapwing.accounting.filters.charge import SingleRelease
from lapwing.analyses.dashboard_board import KIND, Dashboard
from lapwing.analyses.dashboard_estimates import combinations, prefixes
from lapwing.analyses.dashboard_grid import PeriodGrid
from lapwing.analyses.dashboard_terms import DashboardTerms, agree, shown_releases
from lapwing.answers.preview import Forecast
from lapwing.answers.releases import Price
from lapwing.answers.target import TargetWords, parse_target
from lapwing.queries.language.expressions import Value
from lapwing.queries.planning.planner import Question
from lapwing.vocabulary.codec import parse
from lapwing.vocabulary.deadline import deadline
from lapwing.vocabulary.errors import BadQuestionError, ParameterError, RequestConflictError
from lapwing.vocabulary.exact import as_confidence
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import currency_of
from lapwing.vocabulary.results import shows_words
from lapwing.vocabulary.wording import format_exact, format_short, percent, several

if TYPE_CHECKING:
    from lapwing.session import AskingSession, Session


@frozen(repr=False)
class DashboardPreview(Forecast):
    """A dashboard before it is opened: its price, and how far off its counts will be, release by release.

    `cumulative` and `periods` say by the label of a period how far off a count is when that period is published.
    """

    terms: DashboardTerms
    price: Price
    cumulative: dict[str, float]
    periods: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON values."""
        refusal = self.refusal
        return {
            "dashboard": self.terms.name,
            "periods": str(self.terms.grid),
            "fixed": self.terms.counts.scheme.fixed,
            "stocks": self.terms.counts.stocks,
            "price": self.price.to_dict(),
            "confidence": format_exact(self.confidence),
            "cumulative": self.cumulative,
            "single": self.periods,
            "affordable": self.affordable,
            "left": self.before.to_dict(),
            "refusal": None if refusal is None else refusal.to_dict(),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the preview in words."""
        refusal, sure = self.refusal, f"with {percent(self.confidence)} confidence each"
        far = "; ".join(f"{format_short(round(margin, 1))} until {label}" for label, margin in _ends(self.cumulative))
        single = format_short(round(max(self.periods.values()), 1))
        moving = None
        if not self.terms.counts.scheme.fixed:
            moving = (
                "people may change their period or group, so that each release is paid as a count of its own; columns "
                "that the custodian declares fixed = true make it cheaper"
            )
        return [
            ("published", f"{self.terms.grid}, {several(self.terms.counts.groups, 'group')}"),
            ("cost", f"{self.price}, once, at the opening"),
            (
                "people who are in" if self.terms.left is not None else "cumulative counts",
                f"off by at most {far}, {sure}",
            ),
            ("single periods", f"off by at most {single}"),
            ("mind", moving),
            ("left then", str(self.after) if refusal is None else f"it would be refused now: {refusal}"),
            ("paid", "nothing: this is a preview, and no data was read"),
        ]

    def __repr__(self) -> str:
        can = "affordable" if self.affordable else "refused now"
        return f"<preview of dashboard {self.terms.name!r}: {self.price}, {can}>"


def _ends(margins: dict[str, float]) -> list[tuple[str, float]]:
    labels = list(margins)
    return [(label, margins[label]) for label in dict.fromkeys((labels[0], labels[len(labels) // 2], labels[-1]))]


@shows_words(TargetWords, confidence="0.95")
def preview_dashboard(
    session: "AskingSession",
    question: Question,
    *,
    period: str | Value,
    first: str | date,
    every: str = "month",
    releases: int | None = None,
    last: str | date | None = None,
    until: str | None = None,
    name: str = "dashboard",
    **target: Unpack[TargetWords],
) -> DashboardPreview:
    """Say what a dashboard would cost, how far off its counts will be, and what would be left. It is free.

    The words are those of `dashboard`.
    """
    grid = PeriodGrid.of(every, first, releases, last)
    terms, before = _agreed(session, name, question, grid, (period, until), **target), session.budget()
    event, confidence = terms.counts.event, as_confidence(target.get("confidence", "0.95"))
    cumulative, periods = dict[str, float](), dict[str, float]()
    for t in shown_releases(terms.grid.releases):
        sums = prefixes(t)[-1:]
        single = sums.copy()
        single[0, :-1] = 0
        for margins, wanted in ((cumulative, sums), (periods, single)):
            for weights in combinations(terms.counts.scheme, t, (), wanted):
                if weights is not None:
                    margins[terms.grid.label(t)] = terms.counts.reach(weights, confidence)
    return DashboardPreview(
        terms=terms,
        price=Price.of(event, currency_of(before.account.budget)),
        cumulative=cumulative,
        periods=periods,
        confidence=confidence,
        before=before,
        after=before.after(SingleRelease(event=event, segments=session.population.touched)),
    )


@shows_words(TargetWords, confidence="0.95")
def dashboard(
    session: "Session",
    question: Question | None = None,
    *,
    name: str,
    period: str | Value | None = None,
    first: str | date | None = None,
    every: str = "month",
    releases: int | None = None,
    last: str | date | None = None,
    until: str | None = None,
    **target: Unpack[TargetWords],
) -> Dashboard:
    """Open a dashboard, and pay for all of its releases; or, by its name alone, go on with one that is open.

    A person counts once: in the period of their row, or of the first of their rows; with `until=`, until they leave. A
    dashboard belongs to the analyst
    who opened it, in any process, for ever. The same words open the same dashboard again, and other words under its
    name are refused: what a period is never changes.

    Parameters
    ----------
    question : whom to count, `count(table, where, by=...)`, by declared columns
    name : what it is called
    period : the column with the day on which a row counts, or a day such as `first_of("visit.day")`
    first : the first day of the first period
    every : "day", "week", "month", "quarter" or "year"
    releases : how many periods there will be; or in place of it `last=`, the last day of the last one
    until : in a table with one row a person the column with the day on which somebody leaves; then cumulative counts
        are of those who are in at the end of each period. Who leaves on a day was in until that day
    target : `epsilon=`, `epsilon=` with `delta=`, or `rho=`
    """
    if is_by_name(question, period=period, first=first, releases=releases, last=last, until=until, target=target):
        return _opened_before(session, name)
    assert question is not None and period is not None and first is not None  # noqa: PT018, S101 - it was looked at
    terms = _agreed(session, name, question, PeriodGrid.of(every, first, releases, last), (period, until), **target)
    return _reserved(session, terms)


def is_by_name(question: Question | None, *, period: object, first: object, target: object, **ends: object) -> bool:
    """Say whether a dashboard is asked for by its name alone; refuse half of its terms."""
    if question is None:
        if period is not None or first is not None or target or any(one is not None for one in ends.values()):
            raise BadQuestionError("a dashboard that is open has its terms already; give its name alone")
        return True
    if period is None or first is None:
        word = "period" if period is None else "first"
        remedy = 'write period="recorded_on", first="2024-01-01"'
        raise ParameterError(word, None, reason="is missing: the periods are fixed at the opening", remedy=remedy)
    return False


def _agreed(
    session: "AskingSession",
    name: str,
    question: Question,
    grid: PeriodGrid,
    days: tuple[str | Value, str | None],
    **target: Unpack[TargetWords],
) -> DashboardTerms:
    if session.population.segment is not None:
        raise BadQuestionError("a dashboard is of a whole population; open it in a session of all segments")
    with deadline():
        return agree(
            name,
            question,
            grid,
            *days,
            population=session.population,
            target=parse_target(**target),
            budget=session.budget().account.budget,
        )


def _reserved(session: "Session", terms: DashboardTerms) -> Dashboard:
    try:
        rounds = session.reserve(
            KIND,
            event=terms.counts.event,
            rounds=terms.grid.releases,
            terms=terms.written(),
            tables=terms.tables,
            key=f"dashboard {terms.name}",
        )
    except RequestConflictError:
        raise BadQuestionError(
            f"dashboard {terms.name!r} was opened with other terms, which never change: its periods, people, groups "
            "and price; give its name alone to go on with it, or choose another name"
        ) from None
    rounds.recover()
    return Dashboard(session, terms, rounds)


def _opened_before(session: "Session", name: str) -> Dashboard:
    """Go on with a dashboard by the terms that stand in the ledger."""
    records = session.ledger.reservations.all(session.population.name, kind=KIND, analyst=session.analyst)
    for record in records:
        content = parse(record.terms)
        if content["terms"]["name"] == name:
            return _reserved(session, DashboardTerms.read(content["terms"], content["event"]))
    known = ", ".join(repr(parse(one.terms)["terms"]["name"]) for one in records) or "none"
    reason = f"is no dashboard of {session.analyst} here; there are: {known}"
    raise ParameterError("name", name, reason=reason, remedy="open it with a question, period= and first=")
