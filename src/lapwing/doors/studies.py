"""Studies: analyses in rounds that can be asked from afar, because all their words are plain and one reservation pays.

A study plans and prices all that it may do before it reserves. So what it would reserve is what it means, and that can
be found where no data is: a client and a server that come to the same reservation mean the same study. Whatever is
shown follows from the outcomes of its rounds, and so it can be read back from them anywhere.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple, NoReturn, Self

from lapwing.guests import STUDIES, VERBS
from lapwing.rounds import Receipt, ReservationKind, Rounds
from lapwing.session import AskingSession, Session
from lapwing.vocabulary.codec import canonical, digest, to_record
from lapwing.vocabulary.errors import UnansweredError
from lapwing.vocabulary.event import Event

OF_GRAPHS: Final = ("edges", "degrees", "triangles", "stars")
NAMES: Final = (*OF_GRAPHS, *sorted(STUDIES - {"graph"}))
"""What can be studied: questions about a graph, and verbs of a session."""
_OF_A_GRAPH: Final = ("table", "between", "where")


class PlannedStudy(NamedTuple):
    """What a study would reserve: all that it can do, and all that it is charged for."""

    kind: ReservationKind
    event: Event
    rounds: int
    terms: Mapping[str, Any]
    tables: Sequence[str]

    @property
    def agreed(self) -> str:
        """The terms as they stand in a ledger."""
        return canonical({"event": to_record(self.event), "terms": self.terms})

    @property
    def meaning(self) -> str:
        """A digest of it: two that have the same mean the same, and cost the same."""
        return digest([self.kind.name, self.agreed, self.rounds, sorted(self.tables)])

    def reserve(self, session: Session, key: str) -> Rounds:
        """Charge it, or find it, under an idempotency key."""
        return session.reserve(
            self.kind, event=self.event, rounds=self.rounds, terms=self.terms, tables=self.tables, key=key
        )


class ReadBack:
    """Rounds that were drawn before, or elsewhere: their outcomes are read, and nothing is drawn."""

    def __init__(self, name: str, outcomes: Sequence[Any], receipts: Sequence[Receipt]) -> None:
        self.name, self.committed, self.receipts = name, list(outcomes), list(receipts)
        self._next = 1

    def round(self, parameters: object, draw: object, *, number: int | None = None) -> Any:  # noqa: ARG002 - a Rounds
        """Return the outcome of the next round."""
        asked = self._next if number is None else number
        self._next = asked + 1
        outcome = self.committed[asked - 1]
        if outcome is None:
            raise UnansweredError(f"round {asked} of {self.name}", seq=self.receipts[asked - 1].seq, lost=True)
        return outcome

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class StudySession:
    """What a study sees of a session: whom it is about, the account, and what `reserve` gives it."""

    def __init__(self, session: AskingSession, reserve: Callable[[PlannedStudy], Any]) -> None:
        self.population, self.budget, self._reserve = session.population, session.budget, reserve

    def reserve(self, kind: ReservationKind, *, key: str, **planned: Any) -> Any:  # noqa: ARG002 - whoever reserves has it
        """Return the rounds of a study, as `Session.reserve` does."""
        return self._reserve(PlannedStudy(kind=kind, **planned))


class _ReachedError(Exception):
    """A study came to where it would reserve."""

    def __init__(self, planned: PlannedStudy) -> None:
        self.planned = planned


def preview_of(session: AskingSession, name: str, words: Mapping[str, Any]) -> Any:
    """Say what a study would cost and how exact it would be. It is free."""
    if name in OF_GRAPHS:
        graph, others = _graph_of(session, words)
        return graph.preview(name, **others)
    return _verb(f"preview_{name}")(session, **words)


def plan_study(session: AskingSession, name: str, words: Mapping[str, Any]) -> PlannedStudy:
    """Return what a study would reserve; refuse it as asking would."""

    def reach(planned: PlannedStudy) -> NoReturn:
        raise _ReachedError(planned)

    try:
        read_study(session, name, words, reach)
    except _ReachedError as reached:
        return reached.planned
    raise AssertionError(f"{name} reserves nothing")


def read_study(
    session: AskingSession, name: str, words: Mapping[str, Any], reserve: Callable[[PlannedStudy], Any]
) -> Any:
    """Return the result of a study whose rounds are what `reserve` returns: drawn there, or read back."""
    seen: Any = StudySession(session, reserve)
    if name in OF_GRAPHS:
        graph, others = _graph_of(seen, words)
        return getattr(graph, name)(key=_SOME_KEY, **others)
    return _verb(name)(seen, key=_SOME_KEY, **words)


_SOME_KEY: Final = "of whoever reserves"
"""A study that has a key takes it as it is; under which one is reserved, `reserve` knows."""


def _graph_of(session: Any, words: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    about = {name: one for name, one in words.items() if name in _OF_A_GRAPH}
    return _verb("graph")(session, **about), {name: one for name, one in words.items() if name not in about}


def _verb(name: str) -> Any:
    return getattr(import_module(VERBS[name]), name)
