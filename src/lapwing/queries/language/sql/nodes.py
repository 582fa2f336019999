"""The small pieces of SQL text: parsing it without surprises, names, constants and chains.

Default deny, twice: whoever reads a node calls `only` with the arguments that it uses, and `check_all_read` at the end
finds what the parser understood and nobody read.
"""

import logging
import re
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from fractions import Fraction

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

from lapwing.queries.catalogue.column import check_text
from lapwing.queries.language.expressions import Literal, Name, Value
from lapwing.queries.language.sql.refusals import refusal, refused_argument
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
_READ = "read by lapwing"


def only(node: exp.Expr, *allowed: str) -> None:
    """Refuse a node that has an argument which is not `allowed`; remember that the others were read."""
    node.meta[_READ] = True
    for name, argument in node.args.items():
        if name not in allowed and argument not in (None, False, [], ""):
            raise refused_argument(node, name, argument)


def check_all_read(tree: exp.Expr) -> None:
    """Refuse a tree with a node that nobody read: what was written there would be dropped in silence."""
    for node in tree.walk():
        if _READ not in node.meta:
            raise refusal(node)


_TOP = re.compile(r"\s*select\s+top\b", re.IGNORECASE)
MOST_DAYS = 10**7
_LONGEST_WORD = 30
_POWERS = (2, 3, 4)
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
        if _TOP.match(text):
            what = "limit 5 at the end, as in select sex, count(*) from people group by sex order by 2 desc limit 5"
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


def split_at_and(text: str) -> list[str]:
    """Return the parts of a condition that are joined by "and" outside all brackets, each as it is written.

    Where "or" stands outside brackets, or a SELECT anywhere, all of it is one part.

    >>> split_at_and("sex = 'M' and age between 20 and 30 and (smoker or visits > 3)")
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


def is_constant_divisor(node: exp.Expr) -> bool:
    """Say whether a division is by a number that is written there."""
    below = node.expression.unnest()
    return isinstance(below.this.unnest() if isinstance(below, exp.Neg) else below, exp.Literal)


def divisor(node: exp.Expr) -> Fraction:
    """Return the constant that a division divides by: no row can make it zero."""
    below, sign = node.expression.unnest(), 1
    if isinstance(below, exp.Neg):
        below, sign = below.this.unnest(), -1
    number = literal(below).value if isinstance(below, exp.Literal) and not below.is_string else None
    if not number or not isinstance(number, int | Fraction):
        raise refusal(node)
    for part in node.expression.walk():
        only(part, *part.args)
    return sign * Fraction(number)


def power(node: exp.Expr) -> int:
    """Return to which power a number is raised: a small whole constant, so that it is a product of few."""
    raised = node.expression.unnest()
    number = literal(raised).value if isinstance(raised, exp.Literal) and not raised.is_string else None
    if type(number) is not int or number not in _POWERS:
        raise refusal(node)
    for part in node.expression.walk():
        only(part, *part.args)
    return number


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
    if isinstance(node, exp.Neg | exp.Paren):
        only(node, "this")
        return number_of_days(node.this) * (-1 if isinstance(node, exp.Neg) else 1)
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
    """Say whether a node is a day, written DATE '2025-01-31', or as a moment of it, TIMESTAMP '2025-01-31 00:00:00'."""
    kinds = ("date", "timestamp", "timestampntz", "datetime")
    return isinstance(node.this, exp.Literal) and node.this.is_string and node.to.is_type(*kinds)


def upper_text(node: object) -> str:
    """Return the word of a node in capitals, or nothing."""
    return str(node.this).upper() if isinstance(node, exp.Expr) else ""
