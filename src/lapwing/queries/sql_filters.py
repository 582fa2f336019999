"""Reads other spellings of statistics: of some of the rows, with FILTER or CASE, and words that mean the same here.

FILTER (WHERE ...), SUM(CASE WHEN ... THEN 1 ELSE 0 END) and COUNT_IF leave the groups of the SELECT as they are, so
that they can stand beside others.
"""

from dataclasses import replace

from sqlglot import exp

from lapwing.queries.expressions import And, Case, Condition, Literal
from lapwing.queries.planning import Question
from lapwing.queries.questions import Selected
from lapwing.queries.sql_nodes import name_of, only
from lapwing.queries.statistics import read_statistic
from lapwing.queries.statistics.counts import CountRows
from lapwing.queries.statistics.top import TopCategories
from lapwing.queries.statistics.total import Sum
from lapwing.vocabulary.errors import BadQuestionError


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
        case exp.Sum(this=exp.Case() | exp.If()):
            only(node, "this")
            return "sum", _of_case(selected, selected.reader.value(node.this))
        case exp.Count(this=exp.Case() | exp.If()):
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
        case exp.Variance():  # by the number of rows, or by one less: noise hides far more than that
            only(node, "this")
            return "var", read_statistic(selected, exp.VariancePop(this=node.this))[1]
        case exp.Mode():
            only(node, "this")
            return "mode", TopCategories(**selected.common, column=name_of(node.this), k=1)
        case exp.ApproxQuantile():
            only(node, "this", "quantile")
            return read_statistic(selected, exp.PercentileCont(this=node.this, expression=node.args["quantile"]))
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
        case _:
            raise BadQuestionError(
                "a case that is counted gives a constant or nothing; write count(case when age >= 65 then 1 end), or "
                "count(*) filter (where age >= 65)"
            )
