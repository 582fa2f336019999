"""Statistics, one file for each, and the one list of them that the SQL reader and the command line read.

A file holds its questions and their builders, how it bounds a person, its sensitivity, which mechanisms may release it,
what the released numbers mean with their bounds, and its words. To add one, write its file, and name it here.
"""

from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp

from lapwing.queries.planning import Question
from lapwing.queries.questions import Selected, SqlWord, Statistic
from lapwing.queries.sql_refusals import refusal
from lapwing.queries.statistics import counts, distinct, funnel, moments, quantiles, top, total

STATISTICS: Final[dict[str, Statistic]] = {
    one.name: one for file in (counts, distinct, total, moments, quantiles, top, funnel) for one in file.STATISTICS
}
"""By their names at the command line, in the order in which they are told."""


def read_statistic(selected: Selected, node: exp.Expr) -> tuple[str, Question]:
    """Return the question that one column of a SELECT asks, and a name for it; refuse what is not a statistic."""
    words = _words()
    if _word(node) not in words:
        raise refusal(node, statistic_names())
    name, read = words[_word(node)]
    return name, read(selected, node)


def is_statistic(node: exp.Expr) -> bool:
    """Say whether a column of a SELECT asks for a statistic, of the language or not; else it is what rows hold."""
    words = _words()
    return any(
        isinstance(part, exp.AggFunc | exp.Filter | exp.Window) or _word(part) in words
        for part in node.walk(prune=lambda part: isinstance(part, exp.Subquery))
        if not isinstance(part, exp.Subquery)
    )


def statistic_names() -> list[str]:
    """Return the statistics as they are written in SQL."""
    return [written for word, (name, _) in _words().items() if (written := _written(word, name))]


def _words() -> "dict[SqlWord, tuple[str, Callable[[Selected, Any], Question]]]":
    return {word: read for statistic in STATISTICS.values() for word, read in statistic.sql.items()}


def _written(word: SqlWord, column: str) -> str | None:
    """Return how a function of SQL is written: as its column is called, where that is one of its names."""
    if isinstance(word, str) or not issubclass(word, exp.Func):
        return word if isinstance(word, str) else None
    return column if column.upper() in word.sql_names() else word.sql_name().lower()


def _word(node: exp.Expr) -> SqlWord:
    match node:
        case exp.Anonymous():
            return str(node.this).casefold()
        case exp.Count(this=exp.Distinct()):
            return exp.Distinct
        case _:
            return type(node)
