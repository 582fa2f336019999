"""Regressions and counts over time at a distance: planned and priced here, drawn there.

Each is sent with a digest of what is read and what it costs, as they are computed here; a server to which the same
words mean something else refuses it before anything is charged. Of what comes back only what the rounds released, and
the data versions, are taken: coefficients, intervals, counts and bands are computed here.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

from lapwing.analyses.dashboard import DashboardPreview, preview_dashboard
from lapwing.analyses.dashboard_again import dashboard_meaning
from lapwing.analyses.dashboard_board import CountsOverTime, PublishedCounts
from lapwing.analyses.dashboard_terms import DashboardTerms
from lapwing.analyses.regress import Progress, asked_regression, preview_regress
from lapwing.analyses.regression import Regression
from lapwing.analyses.regression_again import AskedRegression, regression_of_rounds
from lapwing.analyses.regression_course import ROUNDS
from lapwing.analyses.regression_preview import RegressionPreview, assumed_of, refuse_hopeless
from lapwing.answers.target import TargetWords
from lapwing.doors.client.connection import PopulationDoor
from lapwing.doors.client.decode_errors import disagreement
from lapwing.doors.client.decode_population import as_told, told_list, told_name, told_number
from lapwing.doors.client.question_bodies import condition_text, given, question_body, with_sets
from lapwing.queries.catalogue.population import Population
from lapwing.queries.language.builders import ConditionLike
from lapwing.queries.language.expressions import Value
from lapwing.queries.language.speller import Speller, ValueSets
from lapwing.queries.planning.planner import Question
from lapwing.session import AskingSession
from lapwing.vocabulary.errors import BadQuestionError, ParameterError

_LARGEST: Final = 2**160
_MOST_VERSIONS: Final = 2**62


def preview_fit(
    session: AskingSession,
    door: PopulationDoor,
    table: str,
    formula: str,
    *,
    model: str,
    where: ConditionLike,
    assume: Mapping[str, Any] | None,
    **target: Any,
) -> RegressionPreview:
    """Say what a regression would cost, if the server says the same."""
    told = preview_regress(session, table, formula, model=model, where=where, assume=assume, **target)
    asked = asked_regression(session, table, formula, model, where, **target)
    theirs = door.post("/regression-previews", _regression_body(session.population, asked, formula, where, target))
    if as_told("a preview", lambda: (theirs["means"], theirs["price"])) != (asked.meaning, told.price.to_dict()):
        raise disagreement("it would fit something else, or asks another price")
    return told


def fit(
    session: AskingSession,
    door: PopulationDoor,
    table: str,
    formula: str,
    *,
    model: str,
    where: ConditionLike,
    assume: Mapping[str, Any] | None,
    key: str | None,
    progress: Progress | None,
    **target: Any,
) -> Regression:
    """Let the server draw the rounds of a regression, and return what follows from them."""
    asked = asked_regression(session, table, formula, model, where, **target)
    if assume is not None:
        refuse_hopeless(assumed_of(asked.course, assume), assume)
    body = _regression_body(session.population, asked, formula, where, target)
    told = door.charge("/regressions", body, key=key, progress=progress)
    if as_told("a regression", lambda: told["means"]) != asked.meaning:
        raise disagreement("it fitted something else")
    return as_told("a regression", lambda: _read_fit(session, asked, told))


def _read_fit(session: AskingSession, asked: AskedRegression, told: Any) -> Regression:
    rounds = [
        {"at": dict(one["at"]), "released": _whole(one["released"]), "versions": _versions(one["versions"])}
        for one in told_list(told["rounds"])
    ]
    if len(rounds) != ROUNDS:
        raise ValueError
    found = regression_of_rounds(session, asked, rounds, name=told_name(told["reservation"]))
    _ = found.facts()  # what cannot be shown is no regression
    return found


def _regression_body(
    population: Population, asked: AskedRegression, formula: str, where: ConditionLike, target: Mapping[str, Any]
) -> dict[str, Any]:
    sets: ValueSets = {}
    table = asked.design.table
    who = {} if where is None else {"where": condition_text(where, population, table, sets)}
    words = {"table": table, "formula": formula, "model": asked.model, **who}
    return {**words, "price": _price(target), **with_sets(sets), "means": [asked.meaning]}


class RemoteDashboard(PublishedCounts):
    """A dashboard at a distance: it is published there, and its counts are computed here."""

    def __init__(self, door: PopulationDoor, terms: DashboardTerms, told: Any) -> None:
        super().__init__(terms)
        self._door = door
        self.id, self._committed = as_told("a dashboard", lambda: self._read(told))

    @property
    def committed(self) -> Sequence[Any]:
        """What each release so far has released; None for one that was lost."""
        return self._committed

    def publish(self, today: str | date | None = None) -> CountsOverTime:
        """Publish the periods that are over and were not published; return all counts. See `Dashboard.publish`."""
        body = {} if today is None else {"today": str(today)}
        told = self._door.charge(f"/dashboards/{self.id}/releases", body, key=None)
        self.id, self._committed = as_told("a dashboard", lambda: self._read(told))
        return self.cumulative()

    def _read(self, told: Any) -> tuple[str, list[Any]]:
        if told["means"] != dashboard_meaning(self.terms):
            raise disagreement("it tells of another dashboard")
        rounds, lost = list[Any](), list[int]()
        for number, one in enumerate(told_list(told["rounds"]), 1):
            rounds.append(None if one is None else self._release(one, number, lost))
            lost += [number] if one is None else []
        if len(rounds) > self.grid.releases:
            raise ValueError
        return told_name(told["id"]), rounds

    def _release(self, told: Any, number: int, lost: Sequence[int]) -> dict[str, Any]:
        """Return what a release released, if it has as many numbers as this one has, for each group."""
        released = _whole(told["released"])
        rows = self.terms.counts.scheme.rows(number, lost)
        if len(released) != self.terms.counts.groups or any(len(one) != len(rows) for one in released):
            raise ValueError
        over = told_number(told["over"], least=1, most=self.grid.releases)
        return {"released": released, "versions": _versions(told["versions"]), "over": over}


def preview_opening(
    session: AskingSession, door: PopulationDoor, question: Question, period: str | Value, **words: Any
) -> DashboardPreview:
    """Say what a dashboard would cost, and how far off its counts will be, if the server says the same."""
    told = preview_dashboard(session, question, period=period, **words)
    body = _dashboard_body(session.population, question, period, told.terms, words)
    theirs = door.post("/dashboard-previews", body)
    mine = dashboard_meaning(told.terms), told.price.to_dict()
    if as_told("a preview", lambda: (theirs["means"], theirs["price"])) != mine:
        raise disagreement("it would count something else, or asks another price")
    return told


def open_dashboard(
    session: AskingSession, door: PopulationDoor, question: Question, period: str | Value, **words: Any
) -> RemoteDashboard:
    """Open a dashboard there, and pay for all of its releases; or find the one of this name."""
    terms = preview_dashboard(session, question, period=period, **words).terms
    body = _dashboard_body(session.population, question, period, terms, words)
    return RemoteDashboard(door, terms, door.charge("/dashboards", body, key=None))


def find_dashboard(session: AskingSession, door: PopulationDoor, name: str) -> RemoteDashboard:
    """Go on with a dashboard of this analyst, by its name."""
    known = as_told(
        "dashboards", lambda: [(told_name(one["dashboard"]), told_name(one["id"])) for one in door.get("/dashboards")]
    )
    id_ = dict(known).get(name)
    if id_ is None:
        listed = ", ".join(repr(called) for called, _ in reversed(known)) or "none"
        reason = f"is no dashboard of {session.analyst} here; there are: {listed}"
        raise ParameterError("name", name, reason=reason, remedy="open it with a question, period= and first=")
    told = door.get(f"/dashboards/{id_}")
    terms = as_told("a dashboard", lambda: DashboardTerms.read(told["terms"], told["event"]))
    if terms.name != name or terms.counts.unit != session.population.unit:
        raise disagreement("it tells of another dashboard")
    return RemoteDashboard(door, terms, told)


def _dashboard_body(
    population: Population, question: Question, period: str | Value, terms: DashboardTerms, words: Mapping[str, Any]
) -> dict[str, Any]:
    sets: ValueSets = {}
    asked = question_body(question, population, {}, sets)
    if not set(asked) <= {"ask", "table", "where", "by"}:
        raise BadQuestionError("over HTTP a dashboard takes count(table, where, by=...), and nothing else")
    table = population.table(question.table)
    day = period if isinstance(period, str) else Speller(population, table, sets).part(period)
    grid = {"every": terms.grid.every, "first": str(terms.grid.first), "releases": terms.grid.releases}
    who: dict[str, Any] = {word: told for word, told in asked.items() if word != "ask"}
    leaving = {} if words.get("until") is None else {"until": words["until"]}
    body = {"name": terms.name, **who, "period": day, **leaving, **grid, "price": _price(words)}
    return {**body, **with_sets(sets), "means": [dashboard_meaning(terms)]}


def _price(target: Mapping[str, Any]) -> dict[str, Any]:
    return given({name: value for name, value in target.items() if name in TargetWords.__annotations__})


def _versions(told: Any) -> dict[str, int]:
    return {told_name(name): told_number(one, least=1, most=_MOST_VERSIONS) for name, one in told.items()}


def _whole(told: Any) -> list[list[int]]:
    """Return lists of whole numbers, or refuse what is none."""
    return [[told_number(one, least=-_LARGEST, most=_LARGEST) for one in told_list(part)] for part in told_list(told)]
