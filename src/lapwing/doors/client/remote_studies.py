"""Studies at a distance: planned and priced here, drawn there, and read from the rounds that come back.

The client finds by itself what a study would reserve, and sends a digest of it: a server to which the same words mean
another study refuses before anything is charged. Of what comes back only the outcomes of the rounds are taken;
clusters, trees, models and intervals are computed here.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Unpack

from lapwing.answers.target import TargetWords
from lapwing.doors.client.connection import PopulationDoor
from lapwing.doors.client.decode_errors import disagreement
from lapwing.doors.client.decode_population import as_told, told_list, told_name
from lapwing.doors.client.question_bodies import condition_text, given, with_sets
from lapwing.doors.client.remote_publishing import sent_column, sent_columns
from lapwing.doors.studies import PlannedStudy, ReadBack, plan_study, preview_of, read_study
from lapwing.guests import VERBS
from lapwing.queries.catalogue.population import Population
from lapwing.queries.language.builders import as_groups
from lapwing.queries.language.speller import ValueSets
from lapwing.rounds import Receipt
from lapwing.session import AskingSession
from lapwing.vocabulary.codec import canonical, parse
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Result, shows_words

if TYPE_CHECKING:
    from lapwing.graphs.graph_answers import DegreeAnswer, GraphAnswer, GraphPreview

_PRICE: Final = frozenset(TargetWords.__annotations__)
_COLUMNS: Final = {"decision_tree": ("columns", "outcome"), "train": ("features", "target")}
"""Of which study what is a list of columns, and what is one of them; elsewhere columns are names."""


def preview_study(session: AskingSession, door: PopulationDoor, name: str, words: Mapping[str, Any]) -> Any:
    """Say what a study would cost and how exact it would be, if the server says the same."""
    _require_words(words)
    told, planned = preview_of(session, name, words), plan_study(session, name, words)
    theirs = door.post("/study-previews", _body(session.population, planned, name, words))
    if as_told("a study", lambda: (theirs["means"], theirs["price"])) != (planned.meaning, told.to_dict()["price"]):
        raise disagreement("it would study something else, or asks another price")
    return told


def ask_study(
    session: AskingSession, door: PopulationDoor, name: str, words: Mapping[str, Any], key: str | None
) -> Any:
    """Let the server draw the rounds of what was planned here, and return what follows from them."""
    _require_words(words)
    planned = plan_study(session, name, words)
    told = door.charge("/studies", _body(session.population, planned, name, words), key=key)
    drawn = as_told("a study", lambda: _read(planned, told))
    return as_told("a study", lambda: read_study(session, name, words, lambda _: drawn))


def bind_verb(session: AskingSession, door: PopulationDoor, name: str) -> Callable[..., Any]:
    """Return a verb of a session as it is asked here: with the same words, and the same signature."""
    verb = getattr(import_module(VERBS[name]), name)
    takes = inspect.signature(verb)

    @wraps(verb)
    def ask(*places: Any, **named: Any) -> Any:
        bound = dict(takes.bind(session, *places, **named).arguments)
        words = {word: one for word, one in bound.items() if word not in {"session", "key"}}
        words |= words.pop(_rest_of(takes), {})
        if name.startswith("preview_"):
            return preview_study(session, door, name.removeprefix("preview_"), words)
        return ask_study(session, door, name, words, bound.get("key"))

    own = [one for one in takes.parameters.values() if one.name != "session"]
    ask.__signature__ = takes.replace(parameters=own)  # type: ignore[attr-defined] # where `inspect` looks
    return ask


def _rest_of(takes: inspect.Signature) -> str:
    return next((one.name for one in takes.parameters.values() if one.kind is one.VAR_KEYWORD), "")


@frozen(repr=False, eq=False)
class RemoteNetwork(Result):
    """A graph that can be asked at a distance; see `Network`."""

    session: AskingSession
    door: PopulationDoor
    about: Mapping[str, Any]

    @shows_words(TargetWords, confidence="0.95")
    def edges(
        self, *, max_degree: int | None = None, key: str | None = None, **target: Unpack[TargetWords]
    ) -> "GraphAnswer":
        """Ask how many edges there are. See `Network.edges`."""
        return self._ask("edges", key, max_degree=max_degree, **target)  # type: ignore[no-any-return]

    @shows_words(TargetWords, confidence="0.95")
    def degrees(
        self,
        up_to: int | None = None,
        *,
        max_degree: int | None = None,
        key: str | None = None,
        **target: Unpack[TargetWords],
    ) -> "DegreeAnswer":
        """Ask how many people have how many edges. See `Network.degrees`."""
        return self._ask("degrees", key, up_to=up_to, max_degree=max_degree, **target)  # type: ignore[no-any-return]

    @shows_words(TargetWords, confidence="0.95")
    def triangles(self, *, key: str | None = None, **target: Unpack[TargetWords]) -> "GraphAnswer":
        """Ask how many triangles there are. See `Network.triangles`."""
        return self._ask("triangles", key, **target)  # type: ignore[no-any-return]

    @shows_words(TargetWords, confidence="0.95")
    def stars(self, points: int, *, key: str | None = None, **target: Unpack[TargetWords]) -> "GraphAnswer":
        """Ask how many stars there are. See `Network.stars`."""
        return self._ask("stars", key, points=points, **target)  # type: ignore[no-any-return]

    @shows_words(TargetWords, confidence="0.95")
    def preview(
        self,
        what: str,
        *,
        points: int | None = None,
        up_to: int | None = None,
        max_degree: int | None = None,
        **target: Unpack[TargetWords],
    ) -> "GraphPreview":
        """Say what "edges", "degrees", "triangles" or "stars" would cost, and how exact they would be. It is free."""
        words = {"points": points, "up_to": up_to, "max_degree": max_degree, **target}
        told = {word: one for word, one in words.items() if one is not None}
        return preview_study(self.session, self.door, what, {**self.about, **told})  # type: ignore[no-any-return]

    def _ask(self, what: str, key: str | None, **words: Any) -> Any:
        told = {word: one for word, one in words.items() if one is not None}
        return ask_study(self.session, self.door, what, {**self.about, **told}, key)

    def to_dict(self) -> dict[str, Any]:
        """Return what is public about it as JSON values."""
        return self._here().to_dict()  # type: ignore[no-any-return]

    def facts(self) -> list[tuple[str, str | None]]:
        """Return what is public about it, in words."""
        return self._here().facts()  # type: ignore[no-any-return]

    def _here(self) -> Any:
        return import_module(VERBS["graph"]).graph(self.session, **self.about)

    def __repr__(self) -> str:
        return repr(self._here())


def read_graph(session: AskingSession, door: PopulationDoor, *places: Any, **named: Any) -> RemoteNetwork:
    """Return a table of pairs as a graph, to ask about at a distance; refuse what is none."""
    verb = import_module(VERBS["graph"]).graph
    bound = inspect.signature(verb).bind(session, *places, **named).arguments
    about = {word: one for word, one in bound.items() if word != "session" and one is not None}
    verb(session, **about)
    return RemoteNetwork(session=session, door=door, about=about)


def _read(planned: PlannedStudy, told: Any) -> ReadBack:
    if told["means"] != planned.meaning:
        raise disagreement("it studied something else, or at another price")
    outcomes = [parse(canonical(one)) for one in told_list(told["outcomes"])]  # what a ledger could not hold is none
    receipts = [Receipt.parse(one) for one in told_list(told["receipts"])]
    if not len(outcomes) == len(receipts) == planned.rounds:
        raise disagreement(f"it tells {len(outcomes)} rounds of {planned.rounds}")
    return ReadBack(told_name(told["study"]), outcomes, receipts)


def _body(population: Population, planned: PlannedStudy, name: str, words: Mapping[str, Any]) -> dict[str, Any]:
    sets: ValueSets = {}
    asked: dict[str, Any] = {"of": name}
    price = {word: one for word, one in words.items() if word in _PRICE}
    several, single = _COLUMNS.get(name, ("", ""))
    table = population.table(words["table"]).name
    for word, one in words.items():
        if one is None or word in _PRICE:
            continue
        if word == "where":
            asked[word] = condition_text(one, population, table, sets)
        elif word == several:
            asked[word] = sent_columns(population, table, one, sets)
        elif word == single:
            asked[word] = sent_column(as_groups(one)[0], population, table, sets)
        elif word in {"columns", "between"}:
            asked[word] = list(one)
        else:
            asked |= given({word: one})
    return {"study": asked, "price": given(price), **with_sets(sets), "means": [planned.meaning]}


def _require_words(words: Mapping[str, Any]) -> None:
    """Refuse what cannot be sent."""
    if words.get("device") is not None:
        raise BadQuestionError("where a training is computed is for the server to say; leave device= out")
    if not isinstance(words.get("model", ""), str | None):
        raise BadQuestionError("a module cannot be sent: it is code; name a model, such as model='dense(64, 32)'")
