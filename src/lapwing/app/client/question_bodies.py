"""Questions as bodies of requests: readable text, which a server reads into a question that plans alike.

The law: reading a body gives a question with the same canonical text. What has no such text is refused.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from lapwing.answers.preview import QuestionLike
from lapwing.queries.catalogue import Population
from lapwing.queries.expressions import EVERYONE, By, Name, Spelled
from lapwing.queries.planning import Question
from lapwing.queries.written import Speller
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.wording import format_exact


def question_body(question: QuestionLike, population: Population, words: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question as the wire has it, with the words that go beside a SELECT."""
    if isinstance(question, str):
        return {"ask": "sql", "text": question, **given(words)}
    if isinstance(question, Mapping):
        return {"ask": "together", "questions": {name: _alone(one, population) for name, one in question.items()}}
    return _alone(question, population)


def condition_text(where: Any, population: Population, table: str) -> str:
    """Return a condition about rows of a table as text."""
    return _text(where, Speller(population, population.table(table)))


def given(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words that were given, with exact numbers as text."""
    return {name: _plain(value) for name, value in words.items() if value is not None}


def _alone(question: Question, population: Population) -> dict[str, Any]:
    if not isinstance(question, Question):
        raise BadQuestionError("this is not a question; write one with count(...), mean(...) or in SQL")
    sql_only = (question.joins, question.columns, question.each, getattr(question, "present", None))
    if any(part for part in sql_only) or question.kept is not EVERYONE or question.alias is not None:
        raise BadQuestionError("what was read from SQL is sent as it was written; ask the SELECT itself")
    name, words = question.called()
    speller = Speller(population, population.table(question.table))
    body: dict[str, Any] = {"ask": name, "table": question.table}
    if question.where is not EVERYONE:
        body["where"] = _text(question.where, speller)
    if question.by and "column" not in words:
        body["by"] = [_text(by, speller) for by in question.by]
    body |= given({"max_rows": question.max_rows, "max_groups": question.max_groups})
    return body | {word: _word(value, speller) for word, value in words.items() if value is not None}


def _word(value: Any, speller: Speller) -> Any:
    match value:
        case Name(name, table):
            return f"{table}.{name}" if table else name
        case bool() | int():
            return value
        case tuple() if all(isinstance(one, Fraction) for one in value):
            return [format_exact(one) for one in value]
        case tuple():
            return [_text(one, speller) for one in value]
        case _:
            return _text(value, speller)


def _text(part: Any, speller: Speller) -> str:
    """Return a part as text; a text that names a column, or a value, stays as it was written."""
    match part:
        case Spelled(text=text) | By(column=Spelled(text=text), edges=None):
            return text
        case _:
            text = speller.part(part)
    if speller.sets:
        raise BadQuestionError("a list of so many values is sent as a concept set; name it: concept_set('name', ids)")
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return format_exact(value)
    return value if isinstance(value, bool | int | str) else str(value)


def texts_of(ways: Iterable[Iterable[Any]]) -> list[list[str]]:
    """Return the canonical texts of what is asked together, in each way to pay for it."""
    several = [list(each) for each in ways]
    return [[one[min(way, len(one) - 1)].text for one in several] for way in range(max(map(len, several)))]
