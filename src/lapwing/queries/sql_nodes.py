"""The small pieces of SQL text: parsing it without surprises, names, constants, chains, and why a piece is refused.

Default deny, twice: whoever reads a node calls `only` with the arguments that it uses, and `check_all_read` at the end
finds what the parser understood and nobody read. A refusal names the nearest thing that is understood.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from fractions import Fraction

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

from lapwing.queries.column import check_text
from lapwing.queries.expressions import Literal, Name, Value
from lapwing.queries.limits import LONGEST_TEXT, MOST_BRACKETS, MOST_DEPTH, MOST_NODES, MOST_TOKENS
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import as_int, check_most, exact

COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_INSTEAD: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Div: ("division", "it fails where a row divides by zero; divide the answers instead, which costs nothing"),
    exp.IntDiv: ("division", "it fails where a row divides by zero; divide the answers instead, which costs nothing"),
    exp.Mod: ("the remainder", "it fails where a row divides by zero; compare the column with ranges"),
    exp.Cast: (
        "a cast to this type",
        "a value that cannot be converted would fail; compare the column with a constant of its own type",
    ),
    exp.TryCast: ("TRY_CAST", "compare the column with a constant of its own type"),
    exp.RegexpLike: (
        "a regular expression",
        "write starts_with(column, 'abc'), contains(column, 'abc') or like 'a_c%'",
    ),
    exp.Case: ("CASE", "ask one question for each case, with a where of its own, or group by bins"),
    exp.If: ("IF", "ask one question for each case, with a where of its own"),
    exp.Window: ("a window function", "ask for a count, a sum or a quantile over people"),
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
    exp.WidthBucket: ("WIDTH_BUCKET", "write the edges of the groups: bins(column, 0, 10, 20, 30)"),
    exp.GroupConcat: ("joining texts", "rows of people are never shown; count people by the column"),
    exp.Abs: ("ABS here", "compare it with a constant, as abs(x - 170) <= 10"),
    exp.Mul: ("arithmetic on answers", "compute with the answers instead, which costs nothing"),
    exp.Add: ("arithmetic on answers", "compute with the answers instead, which costs nothing"),
    exp.Sub: ("arithmetic on answers", "compute with the answers instead, which costs nothing"),
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
    exp.DPipe: ("joining texts", "compare each column by itself"),
    exp.Having: ("HAVING", "filter the answers instead, which costs nothing"),
    exp.Order: ("ORDER BY", "sort the answers instead; for the largest groups write order by count(*) desc limit 5"),
    exp.Limit: ("LIMIT", "take what you need of the answers; for the largest groups add order by count(*) desc"),
    exp.Distinct: ("DISTINCT", "write count(distinct column)"),
    exp.Literal: ("a constant here", "name a column"),
    exp.Tuple: ("a list here", "compare one column at a time"),
}
_INSTEAD_OF_NAMED = {
    "now": 'write current_date, the day that the population calls "now"',
    "histogram": "count rows by bins: select bins(age, 0, 10, 20), count(*) ... group by 1, or by the column itself",
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
    "there are comparisons, between, in, is null, and, or, not, like, case, coalesce, lower, trim, left, year, month, "
    "date_trunc, datediff, age, has, clip, + - *"
)

_WITH_STAR = {"except_": "EXCLUDE", "replace": "REPLACE", "rename": "RENAME"}
_PLAIN_STAR = "write select * from visits where ..., and compute in the statistic"
_READ = "read by lapwing"


def refusal(node: object, statistics: Iterable[str] = ()) -> BadQuestionError:
    """Return the refusal of a node that is not part of the language; `statistics` are those that it could have been."""
    named = ", ".join(statistics)
    language = f"{_LANGUAGE}, and the statistics {named}" if named else _LANGUAGE
    if isinstance(node, exp.Anonymous):
        instead = _INSTEAD_OF_NAMED.get(function_name(node))
        if instead is not None:
            return BadQuestionError(f"{function_name(node)} is not part of the language; {instead}")
        return BadQuestionError(f"there is no function {node.this!r} here; {language}")
    for kind, (what, instead) in _INSTEAD.items():
        if isinstance(node, kind):
            return BadQuestionError(f"{what} is not part of the language; {instead}")
    return BadQuestionError(f"{_words(type(node).__name__)} is not part of the language; {language}")


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


MOST_DAYS = 10**7
_LONGEST_WORD = 30
_MOST_STEPS = 4 * MOST_TOKENS
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END}
_PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.INTERVAL}
_PARSING: ContextVar[bool] = ContextVar("parsing", default=False)

logging.getLogger("sqlglot").addFilter(lambda _: not _PARSING.get())  # it would log what analysts write


class _Parser(DuckDBParser):
    """SQLGlot's parser, which stops after a number of steps, forwards and back, whatever it is trying."""

    steps = 0

    def _advance(self, times: int = 1) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise BadQuestionError(f"the text takes more than {_MOST_STEPS} steps to read; write it more simply")
        super()._advance(times)


def parsed(text: str, into: type[exp.Expr] | None = None) -> exp.Expr:
    """Return the syntax tree of one condition or statement, or refuse it; no text makes the parser fail otherwise."""
    trees, where = _trees(text, into)
    tree = trees[0] if len(trees) == 1 else None
    if tree is None:
        what = (
            "one condition, such as sex = 'M' and age < 30"
            if into
            else "one query, such as select count(*) from visits"
        )
        raise BadQuestionError(f"this cannot be read as SQL{where}; write {what}")
    for number, (_, depth) in enumerate(_walk(tree), start=1):
        check_most("parts", number, MOST_NODES)
        if depth > MOST_DEPTH:
            raise BadQuestionError(f"the text is nested {depth} levels deep, more than {MOST_DEPTH}; write it flatter")
    return tree


def _trees(text: str, into: type[exp.Expr] | None) -> tuple[Sequence[exp.Expr | None], str]:
    """Return what the parser makes of a text, and at which word it gave up, if it did."""
    check_most("characters", len(text), LONGEST_TEXT)
    check_text("text", text)
    silence = _PARSING.set(True)
    try:
        dialect = DuckDB()
        tokens = dialect.tokenize(text)
        _check_tokens(tokens)
        parser = _Parser(dialect=dialect)
        return (parser.parse_into(into, tokens, text) if into else parser.parse(tokens, text)), ""
    except ParseError as failure:
        return [], _place(failure, text)
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, IndexError, KeyError) as failure:
        if isinstance(failure, BadQuestionError):
            raise
        return [], ""
    finally:
        _PARSING.reset(silence)


def as_written(text: str) -> list[str]:
    """Return the columns of the outermost SELECT of a text, each as it is written.

    >>> as_written("with v as (select 1) select age >= 65, count(*) as n from v")
    ['age >= 65', 'count(*) as n']
    """
    columns, depth, start = list[str](), 0, -1
    for token in DuckDB().tokenize(text):
        kind = token.token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        if depth == 0 and kind is TokenType.SELECT:
            start = token.end + 1
        elif depth == 0 and start >= 0 and kind in {TokenType.COMMA, TokenType.FROM}:
            columns.append(text[start : token.start].strip())
            start = token.end + 1
            if kind is TokenType.FROM:
                break
    return columns


def conjuncts(text: str) -> list[str]:
    """Return the parts of a condition that are joined by "and" outside all brackets, each as it is written.

    Where "or" stands outside brackets, or a SELECT anywhere, all of it is one part.

    >>> conjuncts("sex = 'M' and age between 20 and 30 and (smoker or visits > 3)")
    ["sex = 'M'", 'age between 20 and 30', '(smoker or visits > 3)']
    """
    parts, depth, start, ranges = list[str](), 0, 0, 0
    try:
        tokens = DuckDB().tokenize(text)
    except SqlglotError:
        return [text]
    for token in tokens:
        kind = token.token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        if kind in {TokenType.SELECT, TokenType.SEMICOLON} or (depth == 0 and kind in {TokenType.OR, TokenType.XOR}):
            return [text]
        if depth == 0 and kind is TokenType.BETWEEN:
            ranges += 1
        elif depth == 0 and kind is TokenType.AND:
            if ranges:  # the "and" of a "between"
                ranges -= 1
            else:
                parts.append(text[start : token.start].strip())
                start = token.end + 1
    return [*parts, text[start:].strip()]


def _check_tokens(tokens: Sequence[Token]) -> None:
    """Refuse a text that is long or nested deeply, or has brackets that mean nothing here, before it is parsed."""
    check_most("words and signs", len(tokens), MOST_TOKENS)
    opened = prefixes = 0
    before: TokenType | None = None
    for token in tokens:
        kind = token.token_type
        prefixes = prefixes + 1 if kind in _PREFIXES else 0
        opened += (kind in _OPENING) - (kind in _CLOSING)
        if opened + prefixes > MOST_BRACKETS:
            raise BadQuestionError(
                f"more than {MOST_BRACKETS} brackets or signs stand within one another; write it with fewer"
            )
        # A list of quantiles stands behind a comma; behind a value, a bracket would take a part of it.
        if kind is TokenType.L_BRACE or (kind is TokenType.L_BRACKET and before is not TokenType.COMMA):
            raise BadQuestionError(
                f"{token.text} has no meaning here; lists stand in quantile_cont(column, [0.25, 0.75]) only"
            )
        before = kind


def _place(failure: ParseError, text: str) -> str:
    """Say at which word of the text the parser gave up, if it knows; its columns count to the end of a word."""
    found = failure.errors[0] if failure.errors else {}
    word, line, end = found.get("highlight"), found.get("line"), found.get("col")
    if not isinstance(word, str) or not isinstance(line, int) or not isinstance(end, int):
        return ""
    column = max(end - len(word) + 1, 1)
    shown = word if len(word) <= _LONGEST_WORD else f"{word[:_LONGEST_WORD]}..."
    place = f"column {column}" if "\n" not in text else f"line {line}, column {column}"
    return f", at {shown!r} ({place})"


def _walk(tree: exp.Expr) -> Iterator[tuple[exp.Expr, int]]:
    stack = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        # A chain of AND or OR leans to the left as deep as it is long; it is read without recursion.
        chained = isinstance(node, exp.And | exp.Or)
        stack += [
            (child, depth if chained and type(child) is type(node) else depth + 1) for child in node.iter_expressions()
        ]


def name_of(node: exp.Expr) -> Name:
    """Return a column, perhaps with its table."""
    if not isinstance(node, exp.Column):
        raise refusal(node)
    only(node, "this", "table")
    table = node.args.get("table")
    return Name(identifier(node.this), identifier(table) if table else None)


def identifier(node: object) -> str:
    """Return a plain name."""
    if not isinstance(node, exp.Identifier):
        raise refusal(node)
    only(node, "this", "quoted")
    return str(node.this)


def chain(node: exp.Expr) -> list[exp.Expr]:
    """Return the parts of a chain of AND or of OR, from left to right."""
    parts, kind = [], type(node)
    while type(node) is kind:
        only(node, "this", "expression")
        parts.append(node.expression)
        node = node.this
    return [node, *reversed(parts)]


def literal(node: exp.Expr) -> Literal:
    """Return a constant; numbers are taken exactly."""
    only(node, "this", "is_string")
    match node:
        case exp.Null():
            return Literal(None)
        case exp.Boolean():
            return Literal(bool(node.this))
        case _ if node.is_string:
            return Literal(check_text("text", str(node.this)))
        case _:
            number = exact("number", str(node.this))
            return Literal(int(number) if number.denominator == 1 else number)


def negative(value: Value) -> Value:
    """Return a value with the other sign."""
    if isinstance(value, Literal) and isinstance(value.value, int | Fraction) and not isinstance(value.value, bool):
        return Literal(-value.value)
    return -value


def times(value: Value, least: int = 1) -> int:
    """Return a constant as a number of times."""
    return as_int("times", value.value if isinstance(value, Literal) else value, least=least, most=2**20)


def number_of_days(node: exp.Expr) -> int:
    """Return how many days an interval has: a constant, written with quotes or without."""
    if not isinstance(node, exp.Literal):
        raise BadQuestionError("an interval has a constant number of days; write day + interval 30 day")
    return as_int("interval", exact("interval", str(literal(node).value)), least=-MOST_DAYS, most=MOST_DAYS)


def concept_set_name(node: exp.Expr) -> str:
    """Return the name in concept_set('name')."""
    if not isinstance(node, exp.Anonymous) or function_name(node) != "concept_set" or len(node.expressions) != 1:
        raise BadQuestionError("IN takes a list or a concept set; write in (1, 2, 3) or in concept_set('diabetes')")
    only(node, "this", "expressions")
    name = literal(node.expressions[0]).value
    if not isinstance(name, str):
        raise BadQuestionError("a concept set has a name, in quotes; write in concept_set('diabetes')")
    return name


def table_name(node: exp.Expr) -> str:
    """Return the name of a table that stands where a value could, as a plain name or as a text."""
    if isinstance(node, exp.Literal) and node.is_string:
        return str(literal(node).value)
    name = name_of(node)
    if name.table is not None:
        raise BadQuestionError(f"{name.table}.{name.name} is not a table; write its name alone, as has(visits)")
    return name.name


def function_name(node: exp.Anonymous) -> str:
    """Return the name of a function that the parser does not know."""
    return str(node.this).casefold()


def is_count(node: exp.Expr) -> bool:
    """Say whether a node is COUNT(*)."""
    if not isinstance(node, exp.Count) or not isinstance(node.this, exp.Star):
        return False
    only(node, "this", "big_int")
    only(node.this)
    return True


_CASTS = {
    "integer": ("TINYINT", "SMALLINT", "INT", "BIGINT"),
    "number": ("FLOAT", "DOUBLE", "DECIMAL"),
    "text": ("TEXT", "VARCHAR"),
    "day": ("DATE",),
    "truth value": ("BOOLEAN",),
}


def cast_kind(node: exp.Cast) -> str | None:
    """Return to what a cast is, as one of `CASTS`; a type with a length or digits is none, for it would cut values."""
    kind = node.to
    if not isinstance(kind, exp.DataType) or not isinstance(kind.this, exp.DType):
        return None
    return next((ours for ours, theirs in _CASTS.items() if kind.this.value in theirs), None)


def is_date(node: exp.Cast) -> bool:
    """Say whether a node is a day, written DATE '2025-01-31'."""
    return isinstance(node.this, exp.Literal) and node.this.is_string and node.to.is_type("date")


def upper_text(node: object) -> str:
    """Return the word of a node in capitals, or nothing."""
    return str(node.this).upper() if isinstance(node, exp.Expr) else ""
