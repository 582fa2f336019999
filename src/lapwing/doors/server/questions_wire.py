"""Questions over the wire: one type for each statistic of the registry, made from what the registry says of it.

A statistic that is added to `lapwing.queries.statistics` can be asked here without another line. Its columns have the
names that its builder gives them, its options are those that it takes, and `ask` is its name.
"""

import inspect
from collections.abc import Iterable
from functools import cache
from typing import Annotated, Any, Final, Literal, Union

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from lapwing.answers.preview import QuestionLike
from lapwing.doors.server.wire import ConceptSets, Meanings, Name, Number, Offer, Strict, Text, Whole
from lapwing.queries.language.builders import Grouping, bins
from lapwing.queries.planning.planner import Question
from lapwing.queries.statements.select import read_each
from lapwing.queries.statistics import STATISTICS
from lapwing.queries.statistics.best import best_of
from lapwing.queries.statistics.statistic import Statistic
from lapwing.session import MOST_TOGETHER
from lapwing.vocabulary.exact import as_written, check_most

_MOST_EDGES: Final = 10_000
_LONGEST_NAME: Final = 100


class Bins(Strict):
    """A column, or a value such as "age(born)", grouped between rising edges: numbers, or days as text."""

    column: Text
    edges: Annotated[list[Number], Meta(min_length=2, max_length=1000)]


_OPTIONS: Final[dict[str, Any]] = {
    "where": Text,
    "by": Annotated[list[Text | Bins], Meta(max_length=8)],
    "at": Annotated[list[Number], Meta(min_length=1, max_length=100)],
    "steps": Annotated[list[Text], Meta(min_length=1, max_length=30)],
}
"""How options are written; one that is not here is a number, a truth value or a text, as its builder says."""


_BESIDE: Final[list[Any]] = [
    ("means", Meanings | UnsetType, UNSET),
    ("concept_sets", ConceptSets | UnsetType, UNSET),
    ("segment", Name | UnsetType, UNSET),
]
"""Fields that may go with questions: the meaning that the client expects, values that their text has names for, and
the one segment of the public partition that they are about."""


class Sql(Strict, tag_field="ask", tag="sql"):
    """One SELECT of statistics; for tables with many rows a person, how many rows and groups of one count."""

    text: Text
    max_rows: Whole | UnsetType = UNSET
    max_groups: Whole | UnsetType = UNSET


def type_of(statistic: Statistic) -> type[Struct]:
    """Return the type of the questions that ask for a statistic.

    >>> type_of(STATISTICS["quantiles"]).__struct_fields__
    ('table', 'of', 'at', 'by', 'cells', 'interval', 'max_rows', 'where')
    """
    several = Text | Annotated[list[Text], Meta(min_length=1, max_length=8)]
    fields: list[Any] = [("table", Name)]
    fields += [(column, several if statistic.takes_several(column) else Text) for column in statistic.names]
    fields += [(name, _option(statistic, name)) for name in sorted(statistic.needs)]
    for name in sorted(statistic.options.keys() - set(statistic.needs)):
        fields.append((name, _option(statistic, name) | UnsetType, UNSET))
    said = (inspect.getdoc(statistic.ask) or "").partition("\n\n")[0].replace("\n", " ")
    title = "".join(part.capitalize() for part in statistic.name.split("_"))
    asked: type[Struct] = defstruct(
        f"Ask{title}", fields, bases=(Strict,), tag_field="ask", tag=statistic.name, namespace={"__doc__": said}
    )
    return asked


def _option(statistic: Statistic, name: str) -> Any:
    if name in _OPTIONS:
        return _OPTIONS[name]
    return bool if statistic.options[name] is bool else Whole if statistic.is_whole(name) else Text


@cache
def statistic_types() -> tuple[type[Struct], ...]:
    """Return the types of the questions that ask for one statistic each."""
    return tuple(type_of(one) for one in STATISTICS.values())


@cache
def together_type() -> type[Struct]:
    """Return the type of several questions, by the names of their columns, that are charged as one."""
    each: Any = Union[statistic_types()]  # noqa: UP007 - made when it runs
    fields: list[Any] = [("questions", Annotated[dict[Name, each], Meta(min_length=1, max_length=20)])]
    doc = "Several questions with the names of their columns, which are charged as one."
    made: type[Struct] = defstruct(
        "AskTogether", fields, bases=(Strict,), tag_field="ask", tag="together", namespace={"__doc__": doc}
    )
    return made


@cache
def best_type() -> type[Struct]:
    """Return the type of a choice among several questions, by their names."""
    each: Any = Union[(*statistic_types(), Sql)]
    fields: list[Any] = [("questions", Annotated[dict[Name, each], Meta(min_length=2, max_length=1000)])]
    doc = "Which of several questions, by their names, has about the largest answer: counts, or totals, of one kind."
    made: type[Struct] = defstruct(
        "AskBestOf", fields, bases=(Strict,), tag_field="ask", tag="best_of", namespace={"__doc__": doc}
    )
    return made


@cache
def asking_type() -> type[Struct]:
    """Return the type of the body that asks: a question, and what to pay for it."""
    every: Any = Union[(*statistic_types(), Sql, together_type(), best_type())]
    doc = "A question, and its price or how exact its answer must be."
    fields: list[Any] = [("question", every), ("price", Offer), *_BESIDE]
    made: type[Struct] = defstruct("Asking", fields, bases=(Strict,), namespace={"__doc__": doc})
    return made


@cache
def asking_many_type() -> type[Struct]:
    """Return the type of the body that asks many questions, each at the same price or at a price of its own."""
    every: Any = Union[(*statistic_types(), Sql, together_type(), best_type())]
    several: Any = Annotated[list[every], Meta(min_length=1, max_length=MOST_TOGETHER)]
    each_price: Any = Annotated[list[Offer], Meta(min_length=1, max_length=MOST_TOGETHER)]
    fields: list[Any] = [("questions", several), ("price", Offer | UnsetType, UNSET)]
    fields += [("prices", each_price | UnsetType, UNSET), *_BESIDE]
    doc = "Questions that are charged together, all or none; the `price` of each, or `prices`, one for each."
    made: type[Struct] = defstruct("AskingMany", fields, bases=(Strict,), namespace={"__doc__": doc})
    return made


@cache
def saving_type() -> type[Struct]:
    """Return the type of the body that saves a question: its name, its folder, and what would be asked."""
    every: Any = Union[(*statistic_types(), Sql, together_type(), best_type())]
    fields: list[Any] = [
        ("name", Annotated[str, Meta(min_length=1, max_length=_LONGEST_NAME)]),
        ("question", every),
        ("price", Offer),
        ("folder", Annotated[str, Meta(max_length=_LONGEST_NAME)], ""),
        ("page", Literal["", "ask", "sql"], ""),
        ("words", Annotated[str, Meta(max_length=6000, pattern=r"^[\w%&=+.*~-]*$")], ""),
    ]
    doc = "A question to keep under a name, with its price; `page` and `words` are where a page shows it."
    made: type[Struct] = defstruct("SavedQuestionBody", fields, bases=(Strict,), namespace={"__doc__": doc})
    return made


def read_question(given: Any) -> tuple[QuestionLike, dict[str, Any]]:
    """Return the question of a body as a session takes it, and the keyword arguments of a SELECT."""
    if isinstance(given, Sql):
        words = given.words()
        return words.pop("text"), words
    if isinstance(given, together_type()):
        asked: Any = given
        _check_edges(asked.questions.values())
        return {name: _alone(one) for name, one in asked.questions.items()}, {}
    if isinstance(given, best_type()):
        several: Any = given
        return best_of({name: _candidate(name, one) for name, one in several.questions.items()}), {}
    return _alone(given), {}


def _candidate(name: str, given: Any) -> Question:
    if not isinstance(given, Sql):
        return _alone(given)
    words = given.words()
    return read_each({name: words.pop("text")}, **words)[name]


def _check_edges(questions: Iterable[Any]) -> None:
    """Refuse more edges than any answer has numbers to show for, before each is read as an exact number."""
    several = [one for question in questions for one in getattr(question, "by", None) or () if isinstance(one, Bins)]
    check_most("edges of bins", sum(len(one.edges) for one in several), _MOST_EDGES)


def _alone(given: Any) -> Question:
    statistic = STATISTICS[given.__struct_config__.tag]
    words = given.words()
    if "by" in words:
        words["by"] = [_grouping(one) for one in words["by"]]
    if "at" in words:
        words["at"] = _as_written(words["at"])
    columns = [words.pop(name) for name in ("table", *statistic.names)]
    if not words.get("where", "x").strip():
        del words["where"]
    return statistic.ask(*columns, **words)


def _grouping(given: str | Bins) -> Grouping:
    return given if isinstance(given, str) else bins(given.column, _as_written(given.edges))


def _as_written(numbers: list[Any]) -> list[Any]:
    return [as_written(one) for one in numbers]
