"""Statistics, one file for each, and the one list of them that the SQL reader and the command line read.

A file holds its questions and their builders, how it bounds a person, its sensitivity, which mechanisms may release it,
what the released numbers mean with their bounds, and its words. To add one, write its file, and name it here.

Other spellings of statistics, of some of the rows, are read here: FILTER, COUNT_IF, CASE, NULLIF.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from lapwing.queries.language.expressions import And, Case, Condition, Literal, Missing, Not
from lapwing.queries.language.sql.nodes import name_of, only
from lapwing.queries.language.sql.refusals import refusal
from lapwing.queries.planning.planner import Question
from lapwing.queries.statistics import counts, distinct, funnel, moments, posterior_draw, quantiles, top, total
from lapwing.queries.statistics.counts import CountRows
from lapwing.queries.statistics.statistic import Selected, SqlWord, Statistic
from lapwing.queries.statistics.top import TopCategories
from lapwing.queries.statistics.total import Sum
from lapwing.vocabulary.errors import BadQuestionError

STATISTICS: Final[dict[str, Statistic]] = {
    one.name: one
    for file in (counts, distinct, total, moments, quantiles, top, funnel, posterior_draw)
    for one in file.STATISTICS
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


def read_filtered(selected: Selected, node: exp.Expr) -> tuple[str, Question]:
    """Return the question that one column of a SELECT asks, and a name for it."""
    match node:
        case exp.Filter():
            only(node, "this", "expression")
            only(node.expression, "this")
            return read_filtered(_among(selected, selected.reader.condition(node.expression.this)), node.this)
        case exp.CountIf():
            only(node, "this")
            return "count", _count(_among(selected, selected.reader.condition(node.this)))
        case exp.RegrCount():
            only(node, "this", "expression")
            both = (Not(Missing(selected.reader.value(side))) for side in (node.this, node.expression))
            return "count", _count(_among(selected, And(tuple(both))))
        case exp.Sum(this=exp.Case() | exp.If()):
            only(node, "this")
            return "sum", _of_case(selected, selected.reader.value(node.this))
        case exp.Count(this=exp.Case() | exp.If() | exp.Nullif()):
            only(node, "this", "big_int")
            return "count", _count_of_case(selected, selected.reader.value(node.this))
        case _:
            return _read_other_word(selected, node)


def _read_other_word(selected: Selected, node: exp.Expr) -> tuple[str, Question]:
    """Read a word that means what another one does."""
    match node:
        case exp.Stddev() | exp.StddevPop() | exp.StddevSamp():
            only(node, "this")
            return "stddev", read_statistic(selected, exp.VariancePop(this=node.this))[1]
        case exp.Variance():
            only(node, "this")
            return "var", read_statistic(selected, exp.VariancePop(this=node.this))[1]
        case exp.CovarSamp() | exp.RegrR2():
            only(node, "this", "expression")
            name, same = ("covar", exp.CovarPop) if isinstance(node, exp.CovarSamp) else ("r2", exp.Corr)
            return name, read_statistic(selected, same(this=node.this, expression=node.expression))[1]
        case exp.Mode():
            only(node, "this")
            return "mode", TopCategories(**selected.common, column=name_of(node.this), k=1)
        case exp.ApproxQuantile() | exp.Quantile():
            only(node, "this", "quantile")
            return read_statistic(selected, exp.PercentileCont(this=node.this, expression=node.args["quantile"]))
        case exp.WithinGroup():
            return _read_within_group(selected, node)
        case exp.ApproxDistinct():
            only(node, "this")
            return read_statistic(selected, exp.Count(this=exp.Distinct(expressions=[node.this])))
        case _:
            return read_statistic(selected, node)


def _read_within_group(selected: Selected, node: exp.WithinGroup) -> tuple[str, Question]:
    match node:
        case exp.WithinGroup(this=exp.Mode() as mode, expression=exp.Order(expressions=[exp.Ordered() as ordered])):
            only(node, "this", "expression")
            only(node.expression, "expressions")
            only(ordered, "this", "nulls_first")
            only(mode)
            return read_filtered(selected, exp.Mode(this=ordered.this))
        case exp.WithinGroup(this=exp.PercentileDisc() as place):
            only(node, "this", "expression")
            only(place, "this")
            return read_statistic(
                selected, exp.WithinGroup(this=exp.PercentileCont(this=place.this), expression=node.expression)
            )
        case _:
            return read_statistic(selected, node)


def is_root(node: exp.Expr) -> bool:
    """Say whether a column of a SELECT is the square root of what is asked: a standard deviation."""
    return isinstance(node.this if isinstance(node, exp.Filter) else node, exp.Stddev | exp.StddevPop | exp.StddevSamp)


def is_square(node: exp.Expr) -> bool:
    """Say whether a column of a SELECT is the square of what is asked: of a correlation."""
    return isinstance(node.this if isinstance(node, exp.Filter) else node, exp.RegrR2)


def is_of_sample(node: exp.Expr) -> bool:
    """Say whether a column of a SELECT is that of a sample: over one row less."""
    of_sample = exp.Stddev | exp.StddevSamp | exp.Variance | exp.CovarSamp
    return isinstance(node.this if isinstance(node, exp.Filter) else node, of_sample)


def _among(selected: Selected, condition: Condition) -> Selected:
    return replace(selected, kept=And((selected.kept, condition)))


def _count(selected: Selected) -> Question:
    return CountRows(**selected.common)


def _of_case(selected: Selected, value: object) -> Question:
    """Return the sum of a case: with one branch, and nothing otherwise, of the rows in that branch."""
    match value:
        case Case(branches=((condition, made),), otherwise=None | Literal(value=0 | None)):
            among = _among(selected, condition)
            is_one = isinstance(made, Literal) and made.value == 1
            return _count(among) if is_one else Sum(value=made, **among.common)
        case Case():
            return Sum(value=value, **selected.common)
        case _:
            raise TypeError(value)


def _count_of_case(selected: Selected, value: object) -> Question:
    match value:
        case Case(branches=((condition, Literal(value=made)),), otherwise=None | Literal(value=None)) if (
            made is not None
        ):
            return _count(_among(selected, condition))
        case Case(branches=((condition, made),), otherwise=None | Literal(value=None)) if not isinstance(made, Literal):
            return _count(_among(selected, And((condition, Not(Missing(made))))))
        case _:
            raise BadQuestionError(
                "a case that is counted gives a constant or nothing; write count(case when age >= 65 then 1 end), or "
                "count(*) filter (where age >= 65)"
            )
