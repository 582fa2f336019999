"""Why a piece of SQL is refused: one sentence, which names the nearest thing that is understood."""

import difflib
import re
from collections.abc import Iterable

from sqlglot import exp

from lapwing.queries.algebra.functions import FUNCTIONS
from lapwing.vocabulary.errors import BadQuestionError

_OWN_ROWS = (
    "for the first or the last day of each person group by the person: "
    "select year(first), count(*) from (select person, min(day) as first from visits group by person) group by 1"
)
_OF_EACH = (
    "group by the person: select count(*) from (select person, count(*) as n from visits group by person) where n >= 3"
)
_TOTALS = (
    "group by {all}, and beside each group tell the totals, which cost nothing more: sum(count(*)) over (partition by "
    "{x}), sum(count(*)) over ()"
)
_INSTEAD: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Div: ("division by 0", "divide by a number above or below 0, or by a column that is not 0 where it counts"),
    exp.Skewness: (
        "SKEWNESS",
        "ask for avg({x}), avg(power({x}, 2)) and avg(power({x}, 3)), and compute it from them, which costs nothing",
    ),
    exp.Kurtosis: ("KURTOSIS", "ask for the means of {x} and of its powers, and compute it from them"),
    exp.Overlaps: ("this OVERLAPS", "two times have two ends each; write (begun, ended) overlaps ({x}, {x} + 30)"),
    exp.Pow: (
        "POWER here",
        (
            "of a row in a statistic there are the powers 2, 3 and 4, as in avg(power({x}, 2)); a power of an answer "
            "is computed from it, which costs nothing"
        ),
    ),
    exp.IntDiv: ("// by what is no whole number above or below 0", "write {x} // 10"),
    exp.Extract: (
        "this part of a day",
        (
            "there are year, quarter, month, week, day and dow, and days have no hours; for a time write "
            "datediff('day', admitted, discharged)"
        ),
    ),
    exp.AnyValue: ("a value of somebody", "rows of people are never shown; count people by the column"),
    exp.First: ("a value of somebody", "rows of people are never shown; count people by the column"),
    exp.Last: ("a value of somebody", "rows of people are never shown; count people by the column"),
    exp.ArrayAgg: ("a list of values", "rows of people are never shown; count people by the column"),
    exp.TableSample: ("a sample", "ask about all rows, and pay with less epsilon where less will do"),
    exp.Rollup: ("ROLLUP", _TOTALS),
    exp.Cube: ("CUBE", _TOTALS),
    exp.GroupingSets: ("GROUPING SETS", _TOTALS),
    exp.Mod: ("% by what is no whole number above or below 0", "write {x} % 4"),
    exp.Cast: (
        "a cast to this type",
        (
            "a value that cannot be converted would fail; compare the column with a constant of its own type, and days "
            "with date '2023-01-01'"
        ),
    ),
    exp.RegrIntercept: (
        "the intercept of a line",
        "ask for regr_slope({all}) and both means: it is the first less the slope times the second, for nothing more",
    ),
    exp.DateFromParts: (
        "a day made of numbers",
        "group by date_trunc('month', {x}), or by year({x}), month({x}); a fixed day is date '2025-01-31'",
    ),
    exp.DayOfYear: ("the day of a year", "group by month({x}), day({x})"),
    exp.LastDay: ("the last day of a month", "group by date_trunc('month', {x})"),
    exp.Greatest: ("GREATEST here", "rows of people are never shown; ask for a statistic: avg(greatest({all}))"),
    exp.Least: ("LEAST here", "rows of people are never shown; ask for a statistic: avg(least({all}))"),
    exp.StrPosition: ("a place in a text", "write contains({x}, 'abc') or {x} like '%abc%'"),
    exp.Right: ("the end of a text", "write {x} like '%abc'; as groups there are first characters, left({x}, 3)"),
    exp.SplitPart: ("a part of a text", "write {x} like 'abc %'; as groups there are first characters, left({x}, 3)"),
    exp.LogicalOr: ("BOOL_OR", "count the rows: count(*) filter (where {inside})"),
    exp.LogicalAnd: ("BOOL_AND", "count the rows: count(*) filter (where not ({inside}))"),
    exp.TryCast: ("TRY_CAST", "compare the column with a constant of its own type"),
    exp.RegexpLike: (
        "a regular expression",
        "write starts_with(column, 'abc'), contains(column, 'abc') or like 'a_c%'",
    ),
    exp.Case: ("CASE", "ask one question for each case, with a where of its own, or group by bins"),
    exp.If: ("IF", "ask one question for each case, with a where of its own"),
    exp.Subquery: (
        "a subquery here",
        (
            "name it with WITH, or ask about people with person in (select person from ...); a share of all is "
            "count(*) filter (where ...) / count(*)"
        ),
    ),
    exp.Select: ("a SELECT here", "ask about people with person in (select person from ...)"),
    exp.Union: ("UNION", "join the two conditions with or"),
    exp.Except: ("EXCEPT", "join the two conditions with and not"),
    exp.Intersect: ("INTERSECT", "join the two conditions with and"),
    exp.Join: ("JOIN", "ask about rows of the same person with person in (select person from ...) or has(table, ...)"),
    exp.Star: ("*", "rows are never shown; ask for count(*)"),
    exp.Is: ("IS with anything but NULL, TRUE, FALSE and UNKNOWN", "compare the column with ="),
    exp.Min: ("MIN", "the extreme is one person's value; ask for a low quantile: quantile_cont(column, 0.01)"),
    exp.Max: ("MAX", "the extreme is one person's value; ask for a high quantile: quantile_cont(column, 0.99)"),
    exp.PercentileDisc: ("PERCENTILE_DISC", "write percentile_cont(0.9) within group (order by column)"),
    exp.Filter: ("FILTER", "ask one question for each filter, with a where of its own"),
    exp.CurrentDate: (
        "the current date",
        "write a day, as date '2025-01-31'; age(born) counts to the population's \"now\"",
    ),
    exp.CurrentTimestamp: ("the current time", "write a day, as date '2025-01-31'"),
    exp.Placeholder: ("a placeholder", "write the value itself"),
    exp.Parameter: ("a placeholder", "write the value itself"),
    exp.WidthBucket: ("WIDTH_BUCKET", "write the edges of the groups: bins(column, 0, 10, 20, 30)"),
    exp.GroupConcat: ("joining texts", "rows of people are never shown; count people by the column"),
    exp.Abs: ("ABS here", "compare it with a constant, as abs(x - 170) <= 10"),
    exp.Mul: ("arithmetic on answers", "compute with the answers instead, which costs nothing"),
    exp.Add: ("arithmetic on answers", "compute with the answers instead, which costs nothing"),
    exp.Sub: ("arithmetic on answers", "compute with the answers instead, which costs nothing"),
    exp.Sqrt: (
        "a square root here",
        "that of an answer stands by itself, sqrt(avg({x})), and costs nothing more; of a row write {x} as it is",
    ),
    exp.Round: ("ROUND here", "round the answers instead, which costs nothing"),
    exp.TimeToStr: (
        "a day as text",
        "group by date_trunc('month', day), by year(day), or by both year(day) and month(day)",
    ),
    exp.ToChar: (
        "a day as text",
        "group by date_trunc('month', day), by year(day), or by both year(day) and month(day)",
    ),
    exp.Rand: ("a random number", "the answers are random already"),
    exp.Concat: ("joining texts", "group by {all}, and compare each column by itself"),
    exp.Having: ("HAVING", "filter the answers instead, which costs nothing"),
    exp.Order: ("ORDER BY", "sort the answers instead; for the largest groups write order by count(*) desc limit 5"),
    exp.Limit: ("LIMIT", "take what you need of the answers; for the largest groups add order by count(*) desc"),
    exp.Distinct: ("DISTINCT", "write count(distinct column)"),
    exp.Literal: ("a constant here", "name a column"),
    exp.Tuple: ("a list here", "compare one column at a time"),
}
_INSTEAD_OF_NAMED = {
    "any": "of other rows of the person write has(visits, kind = 'ER')",
    "skewness": "ask for the means of the column and of its powers 2 and 3, and compute it from them",
    "kurtosis": "ask for the means of the column and of its powers, and compute it from them",
    "now": 'write current_date, the day that the population calls "now"',
    "histogram": "beside others and in groups count rows by bins: select bins(age, 10), count(*) ... group by 1",
}
_ARGUMENTS: dict[tuple[str, str], tuple[str, str]] = {
    ("Table", "db"): ("a schema", "write the name of the table alone, as it is registered"),
    ("Table", "joins"): ("JOIN", "ask about rows of the same person with has(table, ...)"),
    ("Select", "qualify"): ("QUALIFY", _OWN_ROWS),
    ("Group", "all"): ("GROUP BY ALL", "name what to group by"),
    ("Select", "group"): (
        "GROUP BY here",
        "for people with several rows write person in (select person from visits group by person having count(*) >= 2)",
    ),
}
_WORDS = (
    *(row.spelled.partition("(")[0] for row in FUNCTIONS.values() if row.spelled[0] != "("),
    *("between", "is null", "like", "ilike", "case", "coalesce", "nullif", "substr", "starts_with", "contains"),
    *("clip", "bins", "width_bucket", "has", "age", "dayofweek", "dayname", "monthname", "datediff", "mod"),
    *("number_of", "different_of", "first_of", "last_of", "sum_of", "mean_of"),
)
_PLAIN = "a row is asked about by its columns, + - *, case, and comparisons with constants; write {x} as it is"

_PLACES = {"rownumber", "rank", "denserank", "percentrank", "cumedist", "ntile"}
_SHARES = "the share of each group is count(*) / sum(count(*)) over (), which costs nothing more than the counts"

_LONGEST_NAME = 100
_WITH_STAR = {"except_": "EXCLUDE", "replace": "REPLACE", "rename": "RENAME"}
_PLAIN_STAR = "write select * from visits where ..., and compute in the statistic"


def refusal(node: object, statistics: Iterable[str] = ()) -> BadQuestionError:
    """Return the refusal of a node that is not part of the language; `statistics` are those that it could have been."""
    if isinstance(node, exp.Anonymous):
        name = str(node.this).casefold()
        instead = _INSTEAD_OF_NAMED.get(name)
        if instead is not None:
            return BadQuestionError(f"{name} is not part of the language; {instead}")
        return BadQuestionError(f"there is no function {node.this!r} here; {_nearest(node, name, statistics)}")
    if isinstance(node, exp.Window):
        return _window(node)
    if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
        return refusal(node.this, statistics)
    for kind, (what, instead) in _INSTEAD.items():
        if isinstance(node, kind):
            return BadQuestionError(f"{what} is not part of the language; {_about(node, instead)}")
    what = _words(type(node).__name__)
    return BadQuestionError(f"{what} is not part of the language; {_nearest(node, what, statistics)}")


def catalogue_refusal() -> BadQuestionError:
    """Return the refusal of a text that asks which tables or columns there are: that is public, and told elsewhere."""
    return BadQuestionError(
        "which tables and columns there are is public and has no price, so there is nothing to preview or to ask "
        "with others; write it alone, in session.sql(...), `lapwing sql` or on the page SQL, where it is free"
    )


def _nearest(node: object, name: str, statistics: Iterable[str]) -> str:
    """Return what to write instead of a function: the word that is nearest, or the statistics that there are."""
    known = tuple(statistics)
    if name.replace(" ", "_") in _WORDS:
        return _about(node, "it cannot stand here; write {x} as it is")
    near = difflib.get_close_matches(name.replace(" ", "_"), [*_WORDS, *known], n=1, cutoff=0.8)
    if near:
        return f"the nearest is {near[0]}"
    return f"the statistics are {', '.join(known)}" if known else _about(node, _PLAIN)


def _about(node: object, instead: str) -> str:
    """Return an advice about the columns that were written, or about a column that anybody may have."""
    found = node.find_all(exp.Column, bfs=False) if isinstance(node, exp.Expr) else ()
    named = dict.fromkeys(each.sql("duckdb") for each in found)
    names = [name for name in named if len(name) <= _LONGEST_NAME] or ["column"]
    inside = node.this.sql("duckdb") if isinstance(node, exp.Expr) and isinstance(node.this, exp.Expr) else ""
    written = {"x": names[0], "all": ", ".join(names), "inside": inside if len(inside) <= _LONGEST_NAME else names[0]}
    for word, told in written.items():
        instead = instead.replace(f"{{{word}}}", told)
    return instead


def refused_value(node: exp.Expr) -> BadQuestionError:
    """Return the refusal of a node that stands where a value of one row is asked for: a statistic is of many."""
    inner = node.this if isinstance(node, exp.Filter | exp.WithinGroup) else node
    if not isinstance(inner, exp.AggFunc):
        return refusal(node)
    named = inner.sql("duckdb").partition("(")[0].lower()
    return BadQuestionError(
        f"{named} is a statistic of many rows, and here stands what one row says; filter the answers with having, "
        f"which costs nothing; for a value of each person {_OF_EACH}"
    )


def refused_argument(node: exp.Expr, name: str, argument: object) -> BadQuestionError:
    """Return the refusal of a node that is part of the language, for an argument that is not."""
    if isinstance(node, exp.Star):
        return BadQuestionError(f"* with {_WITH_STAR.get(name, name)} is not part of the language; {_PLAIN_STAR}")
    part = argument[0] if isinstance(argument, list) else argument
    if isinstance(part, exp.Window) or type(part) in _INSTEAD:
        return refusal(part)
    if (type(node).__name__, name) in _ARGUMENTS:
        what, instead = _ARGUMENTS[type(node).__name__, name]
        return BadQuestionError(f"{what} is not part of the language; {instead}")
    what = f"{_words(name.rstrip('_'))} of {_words(type(node).__name__)}"
    return BadQuestionError(f"{what} is not part of the language; leave it out")


def no_place() -> BadQuestionError:
    """Return the refusal of a place of a row that is not the first."""
    return BadQuestionError(
        "of the rows of a person only the first can be chosen; write row_number = 1, or for people with several rows "
        f"{_OF_EACH}"
    )


def _window(window: exp.Window) -> BadQuestionError:
    """Return the refusal of a window function, with how to get what it is mostly written for."""
    function, order, among = window.this, window.args.get("order"), window.args.get("partition_by")
    name = function.name if isinstance(function, exp.Anonymous) else function.key
    if name.casefold().replace("_", "") in _PLACES:
        of_answers = order is not None and order.find(exp.AggFunc) is not None
        instead = "write rank() over (order by count(*) desc)" if of_answers else _OWN_ROWS
        return BadQuestionError(f"this place in an order is not part of the language; {instead}")
    if name.casefold() in {"lag", "lead"}:
        return BadQuestionError(
            "the row before or after another is not part of the language; write from visits v where exists (select 1 "
            "from visits w where w.person = v.person and w.day > v.day and w.day <= v.day + 30)"
        )
    inside = function.this if isinstance(function, exp.AggFunc) else function
    if isinstance(inside, exp.Expr) and inside.find(exp.AggFunc) is not None:
        return BadQuestionError(
            "this window over the answers is not part of the language; there are sum, avg, lag and lead of a statistic "
            "by groups: sum(count(*)) over (order by 1)"
        )
    instead = "name the groups in GROUP BY" if among else "leave OVER out, which asks for the statistic of all rows"
    return BadQuestionError(f"a window over rows, which are never shown, is not part of the language; {instead}")


def _words(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").lower()
