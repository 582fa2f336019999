"""Why a piece of SQL is refused, by its name, with the nearest thing that is understood.

Default deny, twice: whoever reads a node calls `only` with the arguments that it uses, and `check_all_read` at the end
finds what the parser understood and nobody read.
"""

import re

from sqlglot import exp

from lapwing.vocabulary.errors import BadQuestionError

_INSTEAD: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Div: ("division", "it fails where a row divides by zero; divide the answers instead, which costs nothing"),
    exp.IntDiv: ("division", "it fails where a row divides by zero; divide the answers instead, which costs nothing"),
    exp.Mod: ("the remainder", "it fails where a row divides by zero; compare the column with ranges"),
    exp.Cast: ("a cast", "a value that cannot be converted would fail; write the constant in the column's own type"),
    exp.TryCast: ("a cast", "write the constant in the column's own type"),
    exp.Like: ("LIKE", "write starts_with(column, 'abc') for a beginning, or in (...) for whole values"),
    exp.ILike: ("ILIKE", "case counts; list the values with in (...)"),
    exp.RegexpLike: ("a regular expression", "write starts_with(column, 'abc'), or in (...) for whole values"),
    exp.Case: ("CASE", "ask one question for each case, with a where of its own, or group by bins"),
    exp.If: ("IF", "ask one question for each case, with a where of its own"),
    exp.Coalesce: ("COALESCE", "ask about missing values with is null"),
    exp.Window: ("a window function", "ask for a count, a sum or a quantile over people"),
    exp.Subquery: ("a subquery here", "name it with WITH, or ask about people with person in (select person from ...)"),
    exp.Select: ("a SELECT here", "ask about people with person in (select person from ...)"),
    exp.Union: ("UNION", "join the two conditions with or"),
    exp.Except: ("EXCEPT", "join the two conditions with and not"),
    exp.Intersect: ("INTERSECT", "join the two conditions with and"),
    exp.Join: ("JOIN", "ask about rows of the same person with person in (select person from ...) or has(table, ...)"),
    exp.Star: ("*", "rows are never shown; ask for count(*)"),
    exp.Is: ("IS with anything but NULL", "write the column by itself, or not column"),
    exp.NullSafeEQ: ("IS NOT DISTINCT FROM", "write column = value or column is null"),
    exp.NullSafeNEQ: ("IS DISTINCT FROM", "write column <> value or column is null"),
    exp.Min: ("MIN", "the extreme is one person's value; ask for a low quantile: quantile_cont(column, 0.01)"),
    exp.Max: ("MAX", "the extreme is one person's value; ask for a high quantile: quantile_cont(column, 0.99)"),
    exp.Variance: ("the sample variance", "write var_pop(column)"),
    exp.Stddev: ("the standard deviation", "ask for var_pop(column) and take the root of the answer"),
    exp.StddevPop: ("the standard deviation", "ask for var_pop(column) and take the root of the answer"),
    exp.StddevSamp: ("the standard deviation", "ask for var_pop(column) and take the root of the answer"),
    exp.CovarSamp: ("the sample covariance", "write covar_pop(x, y)"),
    exp.PercentileDisc: ("PERCENTILE_DISC", "write percentile_cont(0.9) within group (order by column)"),
    exp.Filter: ("FILTER", "ask one question for each filter, with a where of its own"),
    exp.CurrentDate: (
        "the current date",
        "write a day, as date '2025-01-31'; age(born) counts to the population's \"now\"",
    ),
    exp.CurrentTimestamp: ("the current time", "write a day, as date '2025-01-31'"),
    exp.Placeholder: ("a placeholder", "write the value itself"),
    exp.Parameter: ("a placeholder", "write the value itself"),
    exp.Rand: ("a random number", "the answers are random already"),
    exp.DPipe: ("joining texts", "compare each column by itself"),
    exp.Having: ("HAVING", "filter the answers instead, which costs nothing"),
    exp.Order: ("ORDER BY", "sort the answers instead; for the largest groups write order by count(*) desc limit 5"),
    exp.Limit: ("LIMIT", "take what you need of the answers; for the largest groups add order by count(*) desc"),
    exp.Distinct: ("DISTINCT", "write count(distinct column)"),
    exp.Literal: ("a constant here", "name a column"),
    exp.Tuple: ("a list here", "compare one column at a time"),
}
_ARGUMENTS: dict[tuple[str, str], tuple[str, str]] = {
    ("Table", "db"): ("a schema", "write the name of the table alone, as it is registered"),
    ("Table", "joins"): ("JOIN", "ask about rows of the same person with has(table, ...)"),
    ("Group", "all"): ("GROUP BY ALL", "name what to group by"),
    ("Select", "group"): (
        "GROUP BY here",
        "for people with several rows write person in (select person from visits group by person having count(*) >= 2)",
    ),
}
_LANGUAGE = (
    "there are comparisons, between, in, is null, and, or, not, starts_with, age, has, clip, + - *, and the statistics "
    "count, sum, avg, var_pop, median, quantile_cont, covar_pop, corr"
)

_WITH_STAR = {"except_": "EXCLUDE", "replace": "REPLACE", "rename": "RENAME"}
_PLAIN_STAR = "write select * from visits where ..., and compute in the statistic"
_READ = "read by lapwing"


def refusal(node: object) -> BadQuestionError:
    """Return the refusal of a node that is not part of the language."""
    if isinstance(node, exp.Anonymous):
        return BadQuestionError(f"there is no function {node.this!r} here; {_LANGUAGE}")
    for kind, (what, instead) in _INSTEAD.items():
        if isinstance(node, kind):
            return BadQuestionError(f"{what} is not part of the language; {instead}")
    return BadQuestionError(f"{_words(type(node).__name__)} is not part of the language; {_LANGUAGE}")


def only(node: exp.Expr, *allowed: str) -> None:
    """Refuse a node that has an argument which is not `allowed`; remember that the others were read."""
    node.meta[_READ] = True
    for name, argument in node.args.items():
        if name in allowed or argument in (None, False, [], ""):
            continue
        if isinstance(node, exp.Star):
            raise BadQuestionError(f"* with {_WITH_STAR.get(name, name)} is not part of the language; {_PLAIN_STAR}")
        part = argument[0] if isinstance(argument, list) else argument
        if type(part) in _INSTEAD:
            raise refusal(part)
        if (type(node).__name__, name) in _ARGUMENTS:
            what, instead = _ARGUMENTS[type(node).__name__, name]
            raise BadQuestionError(f"{what} is not part of the language; {instead}")
        what = f"{_words(name.rstrip('_'))} of {_words(type(node).__name__)}"
        raise BadQuestionError(f"{what} is not part of the language; {_LANGUAGE}")


def check_all_read(tree: exp.Expr) -> None:
    """Refuse a tree with a node that nobody read: what was written there would be dropped in silence."""
    for node in tree.walk():
        if _READ not in node.meta:
            raise refusal(node)


def _words(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").lower()
