"""An explorer at a distance: its price and its corridor are computed here, its model and its checks are at the server.

It is opened with a digest of what it is of and what it costs, as they are computed here. Of each answer it is checked
that it has the interval and the price that the terms say.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Self, cast

from lapwing.answers.corridor_terms import CorridorTerms
from lapwing.doors.client.connection import PopulationDoor, key_of
from lapwing.doors.client.decode_errors import disagreement
from lapwing.doors.client.decode_population import as_told, told_list, told_name, told_number, told_truth
from lapwing.doors.client.question_bodies import condition_text, given, with_sets
from lapwing.doors.client.remote_publishing import sent_columns
from lapwing.publishing.codes import Columns
from lapwing.publishing.explorer import ExplorerCount
from lapwing.publishing.explorer_meaning import explorer_meaning, preview_model
from lapwing.publishing.explorer_opening import ExplorerPreview, preview_explorer
from lapwing.queries.language.builders import ConditionLike
from lapwing.queries.language.speller import ValueSets
from lapwing.queries.statistics.cohort_grid import Cohort
from lapwing.session import AskingSession
from lapwing.vocabulary.errors import BadQuestionError, StreamHaltedError
from lapwing.vocabulary.exact import Exact, as_confidence, exact
from lapwing.vocabulary.results import Interval

if TYPE_CHECKING:
    from lapwing.session import Session

_CONFIDENCE: Final = Fraction(95, 100)
_MOST_PEOPLE: Final = 2**53
_TOGETHER: Final = 2000
_WORDS: Final = ("epsilon", "delta", "rho", "checks", "yeses", "questions", "half_width")


class RemoteExplorer:
    """An explorer at the door of a server, with the methods of `Explorer`; its model is there."""

    def __init__(self, session: AskingSession, door: PopulationDoor, told: Any, terms: CorridorTerms) -> None:
        self._session, self._door, self.terms = session, door, terms
        self.key, self.name = told_name(told["key"]), told_name(told["explorer"])
        self._path = f"/explorers/{key_of(self.key)}"
        if (told["half_width"], told["paid_answers"]) != (terms.half_width, terms.yeses):
            raise disagreement("it opened another explorer")

    @property
    def paid_answers_left(self) -> int:
        """How many answers it can still pay for."""
        told = self._door.get(self._path)
        return as_told("an explorer", lambda: told_number(told["paid_answers_left"], least=0, most=self.terms.yeses))

    def reach(self, confidence: Exact = _CONFIDENCE) -> int:
        """Return how far free answers are from the truth at most, all of them at once."""
        return self.terms.mechanism.reach(as_confidence(confidence))

    def count(
        self,
        where: ConditionLike = None,
        *,
        guess: int | None = None,
        pay: bool = True,
        confidence: Exact = _CONFIDENCE,
    ) -> ExplorerCount:
        """Return how many people there are for whom `where` is true. See `Explorer.count`."""
        guesses = None if guess is None else [guess]
        (counted,) = self.count_many([where], guesses=guesses, pay=pay, confidence=confidence)
        if counted is None:
            raise StreamHaltedError(yeses=self.terms.yeses)
        return counted

    def count_many(
        self,
        wheres: "Iterable[ConditionLike | Cohort]",
        *,
        guesses: Sequence[int] | None = None,
        pay: bool = True,
        confidence: Exact = _CONFIDENCE,
    ) -> list[ExplorerCount | None]:
        """Return the same for many cohorts, in their order. See `Explorer.count_many`."""
        sets: ValueSets = {}
        asked = [one.where if isinstance(one, Cohort) else one for one in wheres]
        texts = [condition_text(one, self._session.population, self.terms.table, sets) for one in asked]
        if guesses is not None and len(guesses) != len(texts):
            raise BadQuestionError(f"there are {len(guesses)} guesses for {len(texts)} questions; give one for each")
        told = list[ExplorerCount | None]()
        for start in range(0, len(texts), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            body = {"wheres": texts[part], "confidence": str(as_confidence(confidence)), **with_sets(sets)}
            body |= {} if guesses is None else {"guesses": list(guesses[part])}
            told += self._asked(body, pay=pay, confidence=confidence)
        return told

    def buy(self, where: ConditionLike = None, *, confidence: Exact = _CONFIDENCE) -> ExplorerCount:
        """Return the count of a cohort with fresh noise, for one of the answers that were paid for."""
        sets: ValueSets = {}
        text = condition_text(where, self._session.population, self.terms.table, sets)
        body = {"wheres": [text], "buy": True, "confidence": str(as_confidence(confidence)), **with_sets(sets)}
        (counted,) = self._asked(body, pay=True, confidence=confidence)
        if counted is None:
            raise StreamHaltedError(yeses=self.terms.yeses)
        return counted

    def close(self) -> None:
        """End it. Where epsilons are added up, what was not used goes back to the account; elsewhere nothing does."""
        self._door.charge(self._path, None, key=None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<explorer of {self.terms.table}: free answers within {self.reach():,}>"

    def _asked(self, body: dict[str, Any], *, pay: bool, confidence: Exact) -> list[ExplorerCount | None]:
        path = f"{self._path}/{'counts' if pay else 'guesses'}"
        told = self._door.charge(path, body, key=None) if pay else self._door.post(path, body)
        answers = as_told("answers of an explorer", lambda: told_list(told["answers"]))
        if len(answers) != len(body["wheres"]):
            raise disagreement(f"it tells {len(answers)} answers to {len(body['wheres'])} cohorts")
        return [None if one is None else self._read(one, as_confidence(confidence)) for one in answers]

    def _read(self, told: Any, sure: Fraction) -> ExplorerCount:
        """Return an answer, if it has the price and the interval that the terms say."""

        def read() -> ExplorerCount:
            bounds = None
            if told_truth(told["checked"]):
                low, high = (told_number(told[end], least=0, most=2 * _MOST_PEOPLE) for end in ("low", "high"))
                bounds = Interval(low, high)
            return ExplorerCount(
                people=told_number(told["people"], least=0, most=_MOST_PEOPLE),
                interval=bounds,
                confidence=sure,
                price=exact("price", told["price"]),
                checked=told_truth(told["checked"]),
                guess=told_number(told["guess"], least=0, most=_MOST_PEOPLE),
            )

        answer, mechanism = as_told("an answer of an explorer", read), self.terms.mechanism
        if answer.price not in {0, mechanism.yes_price}:
            raise disagreement("it charged another price than the terms say")
        reaches = (mechanism.reach(sure), mechanism.number_reach(sure))
        if answer.interval is not None and not any(_fits(answer.people, answer.interval, off) for off in reaches):
            raise disagreement("it tells an interval that the terms do not give")
        return answer


def _fits(people: int, told: Interval, off: int) -> bool:
    """Say whether an interval is that of a number which is off by so much at most; a negative one is told as 0."""
    return told.low == max(0, people - off) and (told.high == people + off or (not people and told.high <= off))


def preview_exploring(
    session: AskingSession,
    door: PopulationDoor,
    table: str | None,
    columns: Columns | None,
    *,
    confidence: Exact,
    **words: Any,
) -> ExplorerPreview:
    """Say how an explorer would divide its price and how exact it would be, if the server means the same."""
    told, body = _agreed(session, table, columns, confidence, words)
    theirs = door.post("/explorer-previews", body)
    if [as_told("a preview", lambda: theirs["means"])] != body["means"]:
        raise disagreement("it would open another explorer, or asks another price")
    return told


def open_explorer(
    session: AskingSession,
    door: PopulationDoor,
    table: str | None,
    columns: Columns | None,
    *,
    key: str | None,
    **words: Any,
) -> RemoteExplorer:
    """Open an explorer at the server, if it means the same there."""
    agreed, body = _agreed(session, table, columns, _CONFIDENCE, words)
    told = door.charge("/explorers", body, key=key_of(key))
    if [as_told("an explorer", lambda: told["means"])] != body["means"]:
        raise disagreement("it opened another explorer, or at another price")
    return as_told("an explorer", lambda: RemoteExplorer(session, door, told, agreed.terms))


def _agreed(
    session: AskingSession, table: str | None, columns: Columns | None, confidence: Exact, words: dict[str, Any]
) -> tuple[ExplorerPreview, dict[str, Any]]:
    """Return the preview of an explorer as it is computed here, and the body that asks for it."""
    if table is None or words.get("model") is not None:
        raise BadQuestionError("at a distance an explorer makes its own model; name the table and what is paid")
    told = preview_explorer(
        cast("Session", session), table, columns, confidence=confidence, **words
    )  # no ledger is read
    sets: ValueSets = {}
    sent = {} if columns is None else {"columns": sent_columns(session.population, told.terms.table, columns, sets)}
    means = explorer_meaning(preview_model(session, table, columns, told), told)
    chosen = given({name: words[name] for name in _WORDS if words.get(name) is not None})
    return told, {"table": told.terms.table, **sent, **chosen, **with_sets(sets), "means": [means]}
