"""A session at a distance: the methods of `Session`, asked of a server over HTTP.

The client plans and prices every question by itself, from the public dictionary. It refuses a server that means
something else by the same words, before anything is asked: what is paid for is what was meant. Answers, previews and
errors are the same objects as at home. Each question has an idempotency key, so that a lost connection is tried again
and charged once.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Unpack
from urllib.parse import quote

from lapwing.accounting.composition import MOST_BOOKINGS, PlannedTotal
from lapwing.accounting.filters.account import Account
from lapwing.answers.answer import Answer
from lapwing.answers.budget import BudgetStatus
from lapwing.answers.history import Act
from lapwing.answers.preview import Preview, Pricing, QuestionLike, QuestionWords
from lapwing.answers.releases import CONFIDENCE, PricedQuestion, meanings_of
from lapwing.answers.stream_preview import StreamPreview
from lapwing.answers.stream_terms import StreamOffer, StreamTerms
from lapwing.answers.target import TargetWords, in_each_way
from lapwing.doors.client.connection import PopulationDoor, ServerConnection, key_of
from lapwing.doors.client.decode_answers import ReadAnswer, told_answer, told_for_nothing, told_rehearsal
from lapwing.doors.client.decode_errors import disagreement, readable, told_refusal
from lapwing.doors.client.decode_population import (
    RemoteVocabulary,
    as_told,
    read_population,
    told_list,
    told_name,
    told_number,
)
from lapwing.doors.client.question_bodies import given, question_body, with_sets
from lapwing.doors.client.remote_stream import RemoteStream
from lapwing.guests import STUDIES, AskingGuests
from lapwing.queries.language.speller import ValueSets
from lapwing.session import AskingSession, at_once, price_under
from lapwing.streams import name_of_key
from lapwing.vocabulary.codec import from_record
from lapwing.vocabulary.errors import BudgetError, LapwingError, ParameterError, ServerError
from lapwing.vocabulary.exact import Exact, as_int, probability
from lapwing.vocabulary.guarantee import Guarantee
from lapwing.vocabulary.lifetime import Lifetime, closing_on_failure
from lapwing.vocabulary.results import shows_words

if TYPE_CHECKING:
    from datetime import date

    from lapwing.analyses.dashboard import DashboardPreview
    from lapwing.analyses.regress import Progress as RoundProgress
    from lapwing.analyses.regression import Regression
    from lapwing.analyses.regression_preview import RegressionPreview
    from lapwing.doors.client.remote_analyses import RemoteDashboard
    from lapwing.doors.client.remote_explorer import RemoteExplorer
    from lapwing.publishing.certificate import HasModel
    from lapwing.publishing.codes import Columns
    from lapwing.publishing.explorer_opening import ExplorerPreview
    from lapwing.publishing.publication import Publication
    from lapwing.publishing.publication_preview import PublicationPreview
    from lapwing.publishing.publish import Marginals
    from lapwing.publishing.synthesis_preview import SynthesisPreview
    from lapwing.publishing.synthesize import Progress
    from lapwing.publishing.synthetic_table import SyntheticTable
    from lapwing.queries.language.builders import ConditionLike
    from lapwing.queries.language.expressions import Value
    from lapwing.queries.planning.planner import Question

_CHECKED: Final = 10_000
_SURE: Final = Fraction(95, 100)
_NOT_THERE: Final = 404


class RemoteSession(AskingSession, AskingGuests):
    """One analyst at the door of a population of a server, with the methods of `Session`; `lapwing.connect` makes one.

    `population.tables` say what may be asked.
    """

    def __init__(self, door: PopulationDoor, analyst: str) -> None:
        self._door, self.analyst = door, analyst
        self.population = read_population(door.get(), door.get)
        if self.population.name != door.population:
            raise disagreement(f"it tells of {self.population.name!r}, and {door.population!r} was asked for")
        if door.segment is not None:
            self.population = self.population.within(door.segment)
        self._budget: Guarantee = self._status(None).account.budget
        self._pricing = Pricing()
        self._agreed: set[str] = set()
        self._lifetime = Lifetime("this session", remedy="connect again")

    @shows_words(QuestionWords, confidence="0.95")
    def preview(self, question: QuestionLike, **words: Unpack[QuestionWords]) -> Preview:
        """Say what a question would cost, how far off its answer would be, and what would be left. It is free."""
        (ways,) = self._ways([question], **words)
        told = self._check(question, ways, words)
        asked = next(one for one in ways if one.text == told["question"])
        refused = as_told("a preview", lambda: told_refusal(told["stopped"]))
        status, sure = self._status(self.population.touched, refused), words.get("confidence", CONFIDENCE)
        rows = None if words.get("rows") is None else as_int("rows", words.get("rows"))
        preview = Preview.of(asked, status, sure, rows)
        own = {**preview.offer(), "asked": told.get("asked")}  # in words, lists of values may have other names
        for name, value in own.items():
            if value != told.get(name):
                raise disagreement(f"it says {name} {told.get(name)!r}, and it is {value!r}")
        return preview

    @shows_words(QuestionWords, confidence="0.95")
    def ask(self, question: QuestionLike, *, key: str | None = None, **words: Unpack[QuestionWords]) -> Answer:
        """Ask a question, and pay for it. See `Session.ask`."""
        (ways,) = self._ways([question], **words)
        if not self._agreed.issuperset(one.text for one in ways):
            self._check(question, ways, words)
        body = {**self._body(question, words), "means": meanings_of([one] for one in ways)}
        return self._answer(ways, self._door.charge("/questions", body, key=key), told_answer)

    @shows_words(QuestionWords, confidence="0.95")
    def ask_many(
        self, questions: Iterable[QuestionLike], *, key: str | None = None, **words: Unpack[QuestionWords]
    ) -> list[Answer]:
        """Ask different questions together, and pay for all of them, or for none. See `Session.ask_many`."""
        asked = at_once(questions)
        if not asked:
            return []
        ways = self._ways(asked, **words)
        sets: ValueSets = {}
        bodies = [question_body(one, self.population, _beside(words), sets) for one in asked]
        body = {"questions": bodies, "price": _price(words), **with_sets(sets), "means": meanings_of(in_each_way(ways))}
        told = self._door.charge("/batches", body, key=key)
        answers = as_told("answers", lambda: told_list(told["answers"]))
        if len(answers) != len(asked):
            raise disagreement(f"it tells {len(answers)} answers to {len(asked)} questions")
        return [self._answer(each, one, told_answer) for each, one in zip(ways, answers, strict=True)]

    @shows_words(QuestionWords, confidence="0.95")
    def stored(
        self, question: QuestionLike, *, key: str | None = None, **words: Unpack[QuestionWords]
    ) -> Answer | None:
        """Return the answer that `ask` would give for nothing, or None if it would charge. See `Session.stored`."""
        (ways,) = self._ways([question], **words)
        body = {**self._body(question, words), "means": meanings_of([one] for one in ways)}
        told = self._door.post("/stored-answers", body, key=key)
        return None if told is None else self._answer(ways, told, told_for_nothing)

    @shows_words(QuestionWords, confidence="0.95")
    def rehearse(self, question: QuestionLike, **words: Unpack[QuestionWords]) -> Answer:
        """Answer a question from rows that the server makes up: free, and about no person. See `Session.rehearse`."""
        (ways,) = self._ways([question], **words)
        told = self._door.post("/rehearsals", self._body(question, words))
        return self._answer(ways, told, told_rehearsal)

    @shows_words(StreamOffer, confidence="0.95")
    def preview_stream(self, **terms: Unpack[StreamOffer]) -> StreamPreview:
        """Say what a stream would cost, how sure its verdicts would be, and what would be left. It is free."""
        self._lifetime.require()
        agreed = StreamTerms.of(self.population, **terms)
        told = self._door.post("/stream-previews", _sent(terms, agreed))
        if as_told("the terms of a stream", lambda: told["terms"]) != agreed.to_text():
            raise disagreement("it would open another stream")
        status = self._status(None, told_refusal(told.get("stopped")))
        return StreamPreview.of(agreed, status, terms.get("confidence", CONFIDENCE), terms.get("questions", 1))

    @shows_words(StreamOffer, confidence="0.95")
    def stream(self, *, name: str | None = None, key: str | None = None, **terms: Unpack[StreamOffer]) -> RemoteStream:
        """Open a stream of "at least N people?" questions that is paid per yes. See `Session.stream`.

        A server identifies a stream by its idempotency key. A `name` is turned into a key, so that the same name with
        the same terms is the same stream.
        """
        agreed = self.preview_stream(**terms).terms
        opened = _key_of_name(name) if key is None and name is not None else key
        title = {} if name is None else {"title": name}
        stream = self._stream(self._door.charge("/streams", {**_sent(terms, agreed), **title}, key=opened), name)
        if stream.terms != agreed:
            raise disagreement("it opened another stream")
        return stream

    def resume(self, name: str) -> RemoteStream:
        """Go on with a stream of this analyst that was opened before, by its name."""
        self._lifetime.require()
        derived = name_of_key(self.population.name, self.analyst, key_of(_key_of_name(name)))
        for one in (name, derived):
            try:
                return self._stream(self._door.get(f"/streams/{quote(one, safe='')}"), name)
            except ServerError as refused:
                if refused.status != _NOT_THERE:
                    raise
        raise ParameterError("stream", name, reason="is not in this ledger", remedy="open it first")

    @shows_words(TargetWords, confidence="0.95")
    def preview_publish(
        self,
        table: str,
        columns: "Columns",
        marginals: "Marginals" = "all pairs",
        *,
        rows: Sequence[int] | None = None,
        **target: Unpack[TargetWords],
    ) -> "PublicationPreview":
        """Say what a publication would cost, and how exact each of its tables would be. It is free."""
        from lapwing.doors.client import remote_publishing  # noqa: PLC0415 - NumPy is slow to load

        self._lifetime.require()
        return remote_publishing.preview_publication(self, self._door, table, columns, marginals, rows=rows, **target)

    @shows_words(TargetWords, confidence="0.95")
    def publish(
        self,
        table: str,
        columns: "Columns",
        marginals: "Marginals" = "all pairs",
        *,
        rows: Sequence[int] | None = None,
        non_negative: bool = False,
        whole: bool = False,
        key: str | None = None,
        **target: Unpack[TargetWords],
    ) -> "Publication":
        """Publish tables of people by some columns, all in one release, and pay for them. See `Session.publish`."""
        from lapwing.doors.client import remote_publishing  # noqa: PLC0415 - NumPy is slow to load

        self._lifetime.require()
        shape = {"non_negative": non_negative, "whole": whole}
        return remote_publishing.publish(
            self, self._door, table, columns, marginals, rows=rows, key=key, shape=shape, **target
        )

    @shows_words(TargetWords, confidence="0.95")
    def preview_synthesize(
        self,
        table: str,
        columns: "Columns | None" = None,
        *,
        up_to: int | None = None,
        planned_for: str = "tables",
        **target: Unpack[TargetWords],
    ) -> "SynthesisPreview":
        """Say what a synthetic table would cost, and what is known of it before. It is free."""
        from lapwing.doors.client import remote_publishing  # noqa: PLC0415 - NumPy is slow to load

        self._lifetime.require()
        words = {"up_to": up_to, "planned_for": planned_for, **target}
        return remote_publishing.preview_synthesis(self, self._door, table, columns, **words)

    @shows_words(TargetWords, confidence="0.95")
    def synthesize(
        self,
        table: str,
        columns: "Columns | None" = None,
        *,
        up_to: int | None = None,
        planned_for: str = "tables",
        key: str | None = None,
        progress: "Progress" = False,
        **target: Unpack[TargetWords],
    ) -> "SyntheticTable":
        """Make a synthetic table of people by some columns, and pay for it. See `Session.synthesize`."""
        from lapwing.doors.client import remote_publishing  # noqa: PLC0415 - NumPy is slow to load

        self._lifetime.require()
        words = {"up_to": up_to, "planned_for": planned_for, **target}
        return remote_publishing.synthesize(self, self._door, table, columns, key=key, progress=progress, **words)

    @shows_words(TargetWords, confidence="0.95")
    def preview_regress(
        self,
        table: str,
        formula: str,
        *,
        model: str = "linear",
        where: "ConditionLike" = None,
        assume: Mapping[str, Any] | None = None,
        **target: Unpack[TargetWords],
    ) -> "RegressionPreview":
        """Say what a regression would cost, and how wide its intervals would be. It is free."""
        from lapwing.doors.client import remote_analyses  # noqa: PLC0415 - NumPy is slow to load

        self._lifetime.require()
        words = {"model": model, "where": where, "assume": assume, **target}
        return remote_analyses.preview_fit(self, self._door, table, formula, **words)  # type: ignore[arg-type]

    @shows_words(TargetWords, confidence="0.95")
    def regress(
        self,
        table: str,
        formula: str,
        *,
        model: str = "linear",
        where: "ConditionLike" = None,
        assume: Mapping[str, Any] | None = None,
        key: str | None = None,
        progress: "RoundProgress | None" = None,
        **target: Unpack[TargetWords],
    ) -> "Regression":
        """Fit a regression in five rounds, and pay for all of them at once. See `Session.regress`."""
        from lapwing.doors.client import remote_analyses  # noqa: PLC0415 - NumPy is slow to load

        self._lifetime.require()
        words = {"model": model, "where": where, "assume": assume, "key": key, "progress": progress, **target}
        return remote_analyses.fit(self, self._door, table, formula, **words)  # type: ignore[arg-type]

    @shows_words(TargetWords, confidence="0.95")
    def preview_dashboard(
        self,
        question: "Question",
        *,
        period: "str | Value",
        first: "str | date",
        every: str = "month",
        releases: int | None = None,
        last: "str | date | None" = None,
        until: str | None = None,
        name: str = "dashboard",
        **target: Unpack[TargetWords],
    ) -> "DashboardPreview":
        """Say what a dashboard would cost, and how far off its counts will be, release by release. It is free."""
        from lapwing.doors.client import remote_analyses  # noqa: PLC0415 - NumPy is slow to load

        self._lifetime.require()
        grid = {"first": first, "every": every, "releases": releases, "last": last, "until": until, "name": name}
        return remote_analyses.preview_opening(self, self._door, question, period, **grid, **target)

    @shows_words(TargetWords, confidence="0.95")
    def dashboard(
        self,
        question: "Question | None" = None,
        *,
        name: str,
        period: "str | Value | None" = None,
        first: "str | date | None" = None,
        every: str = "month",
        releases: int | None = None,
        last: "str | date | None" = None,
        until: str | None = None,
        **target: Unpack[TargetWords],
    ) -> "RemoteDashboard":
        """Open a dashboard, and pay for all of its releases; or, by its name alone, go on. See `Session.dashboard`."""
        from lapwing.analyses.dashboard import is_by_name  # noqa: PLC0415 - NumPy is slow to load
        from lapwing.doors.client import remote_analyses  # noqa: PLC0415

        self._lifetime.require()
        if is_by_name(question, period=period, first=first, releases=releases, last=last, until=until, target=target):
            return remote_analyses.find_dashboard(self, self._door, name)
        assert question is not None and period is not None and first is not None  # noqa: PT018, S101 - it was looked at
        grid = {"first": first, "every": every, "releases": releases, "last": last, "until": until, "name": name}
        return remote_analyses.open_dashboard(self, self._door, question, period, **grid, **target)

    def preview_explorer(
        self,
        table: str | None = None,
        columns: "Columns | None" = None,
        *,
        confidence: Exact = _SURE,
        questions: int | None = None,
        model: "HasModel | None" = None,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        checks: Exact | None = None,
        yeses: int | None = None,
        half_width: int | None = None,
    ) -> "ExplorerPreview":
        """Say how an explorer would divide its price, and how exact its answers would be. It is free."""
        from lapwing.doors.client import remote_explorer  # noqa: PLC0415 - NumPy is slow to load

        self._lifetime.require()
        words = {"questions": questions, "model": model, "epsilon": epsilon, "delta": delta, "rho": rho}
        words |= {"checks": checks, "yeses": yeses, "half_width": half_width}
        chosen = {name: one for name, one in words.items() if one is not None}
        return remote_explorer.preview_exploring(self, self._door, table, columns, confidence=confidence, **chosen)

    def explorer(
        self,
        table: str | None = None,
        columns: "Columns | None" = None,
        *,
        key: str | None = None,
        questions: int | None = None,
        model: "HasModel | None" = None,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        checks: Exact | None = None,
        yeses: int | None = None,
        half_width: int | None = None,
    ) -> "RemoteExplorer":
        """Open an explorer: counts that are free as long as a model is right about them. See `Session.explorer`."""
        from lapwing.doors.client import remote_explorer  # noqa: PLC0415 - NumPy is slow to load

        self._lifetime.require()
        words = {"questions": questions, "model": model, "epsilon": epsilon, "delta": delta, "rho": rho}
        words |= {"checks": checks, "yeses": yeses, "half_width": half_width}
        chosen = {name: one for name, one in words.items() if one is not None}
        return remote_explorer.open_explorer(self, self._door, table, columns, key=key, **chosen)

    def __getattr__(self, name: str) -> Any:
        """Return a verb of a room: those that only ask, and studies, which are planned here and drawn there."""
        if name.removeprefix("preview_") not in STUDIES:
            return super().__getattr__(name)  # type: ignore[misc] # the stub lists the verbs
        from lapwing.doors.client import remote_studies  # noqa: PLC0415 - NumPy is slow to load

        self._lifetime.require()
        if name == "graph":
            return partial(remote_studies.read_graph, self, self._door)
        return remote_studies.bind_verb(self, self._door, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *STUDIES, *(f"preview_{name}" for name in STUDIES - {"graph"})})

    def budget(self) -> BudgetStatus:
        """Return the remaining budget, for everybody and for this analyst."""
        self._lifetime.require()
        return self._status(self.population.touched)

    def planned_total(self, *, delta: Exact | None = None) -> PlannedTotal:
        """Return what all releases so far would cost together, had everything been fixed in advance. It gates nothing.

        The server computes it, for the client does not know what others asked. See `Session.planned_total`.
        """
        self._lifetime.require()
        told = self._door.post("/planned-totals", given({"delta": delta}))
        return as_told("a planned total", lambda: _read_total(told))

    def history(self, last: int = 50) -> list[Act]:
        """Return the last acts of this analyst, from any interface, the oldest first."""
        self._lifetime.require()
        told = self._door.get(f"/history?limit={min(max(last, 1), 500)}")
        return as_told("a history", lambda: [_act(one) for one in reversed(told_list(told))])

    def cancel(self) -> None:
        """Stop every question of this session that is under way, from any thread. What was charged stays charged."""
        self._door.cancel()

    def close(self) -> None:
        """End the session: it asks nothing any more."""
        self._lifetime.end()
        for one in self.population.vocabularies:
            if isinstance(one, RemoteVocabulary):
                one.forget()
        self._door.connection.close()

    def __repr__(self) -> str:
        tables = ", ".join(table.name for table in self.population.tables) or "no tables"
        return f"<session of {self.analyst} at {self.population.name} of {self._door.connection.url}: {tables}>"

    def _ways(self, questions: Sequence[QuestionLike], **words: Unpack[QuestionWords]) -> list[list[PricedQuestion]]:
        """Plan and price questions here."""
        self._lifetime.require()
        return price_under(self._budget, questions, self.population, self._pricing, **words)

    def _check(self, question: QuestionLike, ways: Sequence[PricedQuestion], words: Mapping[str, Any]) -> Any:
        """Compare the server's canonical text of a question with the one planned here; refuse another."""
        body = {**self._body(question, words), "means": meanings_of([one] for one in ways)}
        told = self._door.post("/previews", body)
        text = as_told("a preview", lambda: str(told["question"]))
        if text not in {one.text for one in ways}:
            raise disagreement("it understands another question, or asks another price")
        if len(self._agreed) >= _CHECKED:
            self._agreed.clear()
        self._agreed.update(one.text for one in ways)
        return told

    def _answer(self, ways: Sequence[PricedQuestion], told: Any, read: ReadAnswer) -> Answer:
        """Return the answer in a reply, if it is to one of the questions that were priced here."""
        text = as_told("an answer", lambda: str(told["question"]))
        asked = next((one for one in ways if one.text == text), None)
        if asked is None:
            raise disagreement("it answered another question")
        return as_told("an answer", lambda: read(asked, told))

    def _body(self, question: QuestionLike, words: Mapping[str, Any]) -> dict[str, Any]:
        sets: ValueSets = {}
        body = question_body(question, self.population, _beside(words), sets)
        return {"question": body, "price": _price(words), **with_sets(sets)}

    def _stream(self, told: Any, name: str | None) -> RemoteStream:
        return as_told("a stream", lambda: RemoteStream(self._door, self.population, told, self._lifetime, name=name))

    def _status(self, segments: frozenset[str] | None, refused: LapwingError | None = None) -> BudgetStatus:
        """Return the status of the account of these segments (or of all), and why this analyst may not spend, if so."""
        told = self._door.get("/budget")

        def read() -> BudgetStatus:
            own, stopped = told["own_account"], told_refusal(told["refusal"]) if refused is None else refused
            status = BudgetStatus(
                account=from_record(Account, told["account"]).within(segments),
                allowance=None if own is None else from_record(Account, own).within(segments),
                suspension=stopped if isinstance(stopped, BudgetError) else None,
            )
            _ = status.to_dict()  # what cannot be shown is no account
            return status

        return as_told("the account", read)


def connect(
    url: str,
    token: str,
    population: str | None = None,
    *,
    segment: str | None = None,
    timeout: float = 60,
    authorities: str | None = None,
) -> RemoteSession:
    """Open a session about a population at a server, for the owner of the token.

    Parameters
    ----------
    url : where the server is, such as "https://clinic.example.org"; only to this machine itself http:// is allowed
    token : what the custodian gave, lw_...; it is sent to that server alone, and never shown
    population : which one is asked about, where there are several
    segment : of a population with a public partition, whose people alone are asked about; its budget pays for them
    timeout : for how many seconds a server is tried again that does not answer, or only says that it takes longer
    authorities : a file with certificates that are trusted besides those of the system
    """
    connection = ServerConnection(url, token, timeout=timeout, authorities=authorities)
    with closing_on_failure(connection):
        me = connection.get("/me")
        door = PopulationDoor(connection, population or _only_population(connection), segment)
        return RemoteSession(door, as_told("who this is", lambda: told_name(me["id"])))


def _only_population(connection: ServerConnection) -> str:
    told = connection.get("/populations")
    names = as_told("its populations", lambda: [told_name(one["population"]) for one in told_list(told)])
    if len(names) != 1:
        remedy = f"name one of those that you may see: {', '.join(names) or 'there is none'}"
        raise ParameterError("population", None, reason="is not clear", remedy=remedy)
    return names[0]


def _beside(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words that a SELECT is sent with."""
    return {name: words[name] for name in ("max_rows", "max_groups") if words.get(name) is not None}


def _price(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the target as it is sent."""
    return given({name: value for name, value in words.items() if name in {*TargetWords.__annotations__, "rows"}})


def _sent(terms: StreamOffer, agreed: StreamTerms) -> dict[str, Any]:
    """Return the terms of a stream as they are sent: a value that was built, as its text."""
    of = agreed.streamed
    return given(terms) | ({} if of is None else {of.statistic.value: of.value})


def _key_of_name(name: str) -> str:
    return f"the stream that is called {name}"  # which no key of eight letters and more is


def _read_total(told: Any) -> PlannedTotal:
    epsilon = None if told["epsilon"] is None else float(told["epsilon"])
    if epsilon is not None and not epsilon >= 0:
        raise ValueError
    streams = told_number(told["streams"], least=0, most=MOST_BOOKINGS)
    return PlannedTotal(epsilon=epsilon, delta=probability("delta", told["delta"]), streams=streams)


def _act(told: Mapping[str, Any]) -> Act:
    who, kind, at, said = (readable(told[name]) for name in ("who", "kind", "at", "said"))
    cost = None if told["cost"] is None else readable(told["cost"])
    return Act(
        entry=told_number(told["entry"], least=1, most=2**62),
        at=at,
        who=who,
        kind=kind,
        said=said.removeprefix(f"{who} "),
        cost=cost,
    )
