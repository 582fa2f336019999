"""Questions as bodies of requests: readable text, which a server reads into a question that plans alike.

The law: reading a body gives a question with the same canonical text. What has no such text is refused.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from lapwing.answers.preview import QuestionLike
from lapwing.queries.catalogue.population import Population
from lapwing.queries.language.builders import ConditionLike
from lapwing.queries.language.expressions import EVERYONE, By, Condition, Name, Spelled
from lapwing.queries.language.speller import Speller, ValueSets
from lapwing.queries.planning.planner import Question
from lapwing.queries.planning.public_values import with_public_values
from lapwing.queries.statistics.best import BestOf
from lapwing.queries.statistics.counts import at_least
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.wording import format_exact


def question_body(
    question: QuestionLike, population: Population, words: Mapping[str, Any], sets: ValueSets
) -> dict[str, Any]:
    """Return the JSON body of a question, with the keyword arguments of a SELECT.

    Long lists of values are added to `sets`, by the names that the text has for them.
    """
    if isinstance(question, str):
        sets |= _named(population, question)
        return {"ask": "sql", "text": question, **given(words)}
    if isinstance(question, Mapping):
        several = {name: _alone(one, population, sets) for name, one in question.items()}
        return {"ask": "together", "questions": several}
    if isinstance(question, BestOf):
        named = zip(question.names, question.candidates, strict=True)
        return {"ask": "best_of", "questions": {name: _alone(one, population, sets) for name, one in named}}
    return _alone(question, population, sets)


def condition_text(where: ConditionLike | Condition, population: Population, table: str, sets: ValueSets) -> str:
    """Return which people are meant as text; one that was given stays as it is.

    Long lists of values are added to `sets`, by the names that the text has for them.
    """
    if where is None or isinstance(where, str):
        sets |= _named(population, where or "")
        return where or ""
    asked = _looked_up(at_least(1, table, where), population)
    return Speller(population, population.table(table), sets).part(asked.where)


def with_sets(sets: ValueSets) -> dict[str, Any]:
    """Return the values that texts have names for, as they are sent with them."""
    return {"concept_sets": {name: list(values) for name, values in sets.items()}} if sets else {}


def _named(population: Population, text: str) -> ValueSets:
    return {one.name: one.values for one in population.concept_sets if one.name in text}


def _looked_up(question: Question, population: Population) -> Question:
    """Return a question with the values that it takes from vocabularies, where there are any."""
    if not population.vocabularies:
        return question
    looked_up: Question = with_public_values(question, population)
    return looked_up


def given(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words that were given, with exact numbers as text."""
    return {name: _plain(value) for name, value in words.items() if value is not None}


def _alone(question: Question, population: Population, sets: ValueSets) -> dict[str, Any]:
    if not isinstance(question, Question):
        raise BadQuestionError("this is not a question; write one with count(...), mean(...) or in SQL")
    sql_only = (question.joins, question.columns, question.each, getattr(question, "present", None))
    if any(part for part in sql_only) or question.kept is not EVERYONE or question.alias is not None:
        raise BadQuestionError("what was read from SQL is sent as it was written; ask the SELECT itself")
    question = _looked_up(question, population)
    name, words = question.called()
    speller = Speller(population, population.table(question.table), sets)
    body: dict[str, Any] = {"ask": name, "table": question.table}
    if question.where is not EVERYONE:
        body["where"] = grouping_text(question.where, speller)
    if question.by and "column" not in words:
        body["by"] = [grouping_text(by, speller) for by in question.by]
    body |= given({"max_rows": question.max_rows, "max_groups": question.max_groups})
    return body | {word: _word(value, speller) for word, value in words.items() if value is not None}


def _word(value: Any, speller: Speller) -> Any:
    match value:
        case Name(name, table):
            return f"{table}.{name}" if table else name
        case bool() | int() | str():
            return value
        case tuple() if all(isinstance(one, Fraction) for one in value):
            return [format_exact(one) for one in value]
        case tuple():
            return [_word(one, speller) for one in value]
        case _:
            return grouping_text(value, speller)


def grouping_text(part: Any, speller: Speller) -> str:
    """Return a part as text; a text that names a column, or a value, stays as it was written."""
    match part:
        case Spelled(text=text) | By(column=Spelled(text=text), edges=None):
            return text
        case _:
            return speller.part(part)


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return format_exact(value)
    return value if isinstance(value, bool | int | str) else str(value)
