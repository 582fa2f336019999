"""Reads conditions and values from SQL text: SQLGlot parses, an allow-list decides, and the text is never used again.

Default deny, as `sql_nodes` says it: the parser adds and renames nodes and arguments from release to release.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Final

from sqlglot import exp

from lapwing.queries.days import FLIPPED
from lapwing.queries.expressions import (
    And,
    By,
    Compare,
    Condition,
    Is,
    Literal,
    Matches,
    Missing,
    Name,
    Not,
    OneOf,
    Or,
    Truth,
    Value,
)
from lapwing.queries.joined import Has, InConceptSet, Joined, Link, PerPerson, PlaceOfRow
from lapwing.queries.pattern import canonical, plain
from lapwing.queries.sql_clauses import Given, grouping
from lapwing.queries.sql_nodes import (
    COMPARISONS,
    chain,
    check_all_read,
    concept_set_name,
    conjuncts,
    function_name,
    is_count,
    literal,
    name_of,
    only,
    parsed,
    table_name,
    times,
)
from lapwing.queries.sql_refusals import no_place, refusal
from lapwing.queries.sql_rows import RowsReader, per_person
from lapwing.vocabulary.errors import BadQuestionError


def read_condition(text: str) -> Condition:
    """Return the condition that `text` writes. Parts that are joined by "and" are read once: most were written before.

    >>> read_condition("sex = 'M' and age between 20 and 30")
    And(parts=(Compare(operator='=', ...), And(parts=...)))
    >>> read_condition("1/age > 0.1")
    Traceback (most recent call last):
    ...
    lapwing.errors.BadQuestionError: division by what is no constant is not part of the language; it fails where ...
    """
    if len(text) <= _SHORT:
        with suppress(BadQuestionError):  # the refusal of a part does not speak of the whole
            parts = tuple(_read_part(part) for part in conjuncts(text))
            return And(parts) if len(parts) > 1 else parts[0]
    return _read_alone(text)


def _read_alone(text: str) -> Condition:
    tree = parsed(text, exp.Condition)
    condition = Reader({}).condition(tree)
    check_all_read(tree)
    return condition


_SHORT: Final = 1000
"""Characters of a text that is read part by part: far below every limit of the language."""
_read_part: Final = lru_cache(maxsize=10_000)(_read_alone)


def read_value(text: str) -> Value:
    """Return the value that `text` writes.

    >>> read_value("2 * cost + 1")
    Arithmetic(operator='+', left=Arithmetic(...), right=Literal(value=1))
    """
    tree = parsed(text, exp.Condition)
    value = Reader({}).value(tree)
    check_all_read(tree)
    return value


def _not_distinct(left: Value, right: Value) -> Condition:
    """Return that two values are equal or both missing, which is never unknown."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Literal):
            return Missing(other) if one.value is None else Is(Compare("=", other, one), truth=True)
    return Or((Is(Compare("=", left, right), truth=True), And((Missing(left), Missing(right)))))


def read_group(text: str) -> By:
    """Return what `text` groups by.

    >>> read_group("bins(age(born), 0, 18, 65)").edges[1].value
    18
    """
    tree = parsed(text, exp.Condition)
    found = grouping(Reader({}), tree)
    check_all_read(tree)
    return found


class Reader(RowsReader):
    """Reads syntax trees into conditions and values; `given` holds what WITH gave a name to, by its lower-case name."""

    def __init__(self, given: Mapping[str, Given]) -> None:
        self.given, self.used, self.seen, self.person, self.firsts = given, set(), [], None, []

    def beside(self) -> "Reader":
        """Return a reader of another SELECT, which knows what WITH names and nothing of the rows here."""
        other = Reader(self.given)
        other.used = self.used
        return other

    def condition(self, node: exp.Expr) -> Condition:
        """Return the condition that a node writes."""
        match node:
            case exp.Paren():
                only(node, "this")
                return self.condition(node.this)
            case exp.And() | exp.Or():
                parts = tuple(self.condition(part) for part in chain(node))
                return And(parts) if isinstance(node, exp.And) else Or(parts)
            case exp.Not():
                only(node, "this")
                return Not(self.condition(node.this))
            case exp.Column() | exp.Boolean() | exp.Coalesce():
                return Truth(self.value(node))
            case exp.Exists():
                only(node, "this")
                return self._exists(node.this)
            case exp.Anonymous() if function_name(node) == "has":
                return self._has(node)
            case _ if type(node) in COMPARISONS:
                return self._comparison(node)
            case _:
                return self._about_value(node)

    def _about_value(self, node: exp.Expr) -> Condition:
        match node:
            case exp.Between():
                only(node, "this", "low", "high")
                return self.value(node.this).between(self.value(node.args["low"]), self.value(node.args["high"]))
            case exp.In() if node.args.get("query"):
                only(node, "this", "query")
                return self._in_query(node)
            case exp.In() if node.args.get("field"):
                only(node, "this", "field")
                return InConceptSet(self.value(node.this), concept_set_name(node.args["field"]))
            case exp.In():
                only(node, "this", "expressions")
                return OneOf(self.value(node.this), tuple(self.value(each) for each in node.expressions))
            case exp.Is() if isinstance(node.expression, exp.Null | exp.Boolean):
                return self._is(node)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                only(node, "this", "expression")
                same = _not_distinct(self.value(node.this), self.value(node.expression))
                return same if isinstance(node, exp.NullSafeEQ) else Not(same)
            case _:
                return self._about_text(node)

    def _is(self, node: exp.Is) -> Condition:
        """Read IS NULL, IS TRUE, IS FALSE and IS UNKNOWN, which the parser takes for IS NULL."""
        only(node, "this", "expression")
        truth = literal(node.expression).value
        inner = node.this.unnest()
        stated = isinstance(inner, exp.Predicate | exp.Connector | exp.Not | exp.Exists)
        if truth is None and not stated:
            return Missing(self.value(node.this))
        return Is(self.condition(node.this), truth)  # type: ignore[arg-type] # a truth value, or none

    def _about_text(self, node: exp.Expr) -> Condition:
        match node:
            case exp.StartsWith() | exp.EndsWith() | exp.Contains():
                only(node, "this", "expression")
                before = "" if isinstance(node, exp.StartsWith) else "%"
                after = "" if isinstance(node, exp.EndsWith) else "%"
                return Matches(self.value(node.this), before + plain(self._text(node.expression)) + after)
            case exp.Escape(this=exp.Like() | exp.ILike() as like):
                only(node, "this", "expression")
                escape = self._text(node.expression)
                if len(escape) != 1:
                    raise BadQuestionError(f"{escape!r} is not one character; write like '50!%' escape '!'")
                return self._like(like, escape)
            case exp.Like() | exp.ILike():
                return self._like(node, None)
            case _:
                raise refusal(node)

    def _like(self, node: exp.Expr, escape: str | None) -> Condition:
        only(node, "this", "expression", "negate")
        pattern = canonical(self._text(node.expression), escape)
        found = Matches(self.value(node.this), pattern, isinstance(node, exp.ILike))
        return Not(found) if node.args.get("negate") else found

    def _text(self, node: exp.Expr) -> str:
        given = self.value(node)
        if not isinstance(given, Literal) or not isinstance(given.value, str):
            raise BadQuestionError("a text is looked for that stands in quotes; write contains(column, 'text')")
        return given.value

    def value(self, node: exp.Expr) -> Value:
        """Return the value that a node writes."""
        match node:
            case exp.Column():
                return self.column(node) if self.seen else name_of(node)
            case exp.Literal() | exp.Boolean() | exp.Null():
                return literal(node)
            case _:
                return self.computed(node)

    def _comparison(self, node: exp.Expr) -> Condition:
        only(node, "this", "expression")
        operator, left, right = COMPARISONS[type(node)], node.this, node.expression
        if isinstance(right, exp.Subquery):
            operator, left, right = FLIPPED[operator], right, left
        if isinstance(left, exp.Subquery) and isinstance(right, exp.Literal) and _counts_rows(left):
            return self._read_count(left, operator, right)
        one, other = self.value(left), self.value(right)
        return self._at_place(one, operator, other) if isinstance(one, PlaceOfRow) else Compare(operator, one, other)

    def _at_place(self, place: PlaceOfRow, operator: str, limit: Value) -> Condition:
        number = limit.value if isinstance(limit, Literal) else None
        if (operator, number) not in {("=", 1), ("<=", 1), ("<", 2)}:
            raise no_place()
        if place.alone:
            self.firsts.append((place.by.table, place.first))
        return place.first

    def _inner(self, node: exp.Expr) -> tuple[exp.Select, Given, Condition]:
        """Return a SELECT about other rows of the person, the rows it names, and which of them it leaves."""
        select = node.this if isinstance(node, exp.Subquery) else node
        if isinstance(node, exp.Subquery):
            only(node, "this")
        if not isinstance(select, exp.Select):
            raise refusal(select)
        only(select, "expressions", "from_", "joins", "where")
        rows, joins, where = self.chosen(select)
        return select, rows[0], Joined(joins, where) if joins else where

    def _exists(self, node: exp.Expr) -> Condition:
        select, rows, where = self._inner(node)
        for column in select.expressions:
            match column:
                case exp.Star():
                    only(column)
                case exp.Literal():
                    literal(column)
                case _:
                    rows.own(column)
        return Has(rows.table, where, 1, rows.alias, Link.IN_WHERE, rows.columns)

    def _in_query(self, node: exp.In) -> Condition:
        outer = self.value(node.this)
        if not isinstance(outer, Name):
            raise _for_people()
        return self.person_in(outer, node.args["query"])

    def person_in(self, outer: Name, node: exp.Expr) -> Condition:
        """Return that the person of a row is one whom a SELECT gives: several rows of them with HAVING."""
        match node:
            case exp.Subquery():
                only(node, "this")
                return self.person_in(outer, node.this)
            case exp.Union() | exp.Intersect() | exp.Except():
                return self.both(outer, node)
            case exp.Select(expressions=[exp.Column() as column]):
                rows, key = self.rows(node, alone=False), name_of(column)
            case _:
                raise _for_people()
        if not rows.joins:
            return Has(rows.table, rows.where, rows.at_least, rows.alias, (key, outer), rows.columns)
        first = [join for join in rows.joins if (key.table or "").casefold() == join.alias.casefold() and not join.left]
        joins = (*first, *(join for join in rows.joins if join not in first))
        where = Joined(joins, rows.where)
        return Has(joins[0].table, where, 1, joins[0].alias, (Name(key.name), outer), joins[0].columns)

    def _read_count(self, subquery: exp.Subquery, operator: str, limit: exp.Expr) -> Condition:
        """Read (SELECT COUNT(*) FROM ... WHERE same person ...) >= n, and the other comparisons with n."""
        select, rows, where = self._inner(subquery)
        _check_countable(rows, where)
        is_count(select.expressions[0])

        def at_least(n: int) -> Condition:
            if n < 1:
                return Truth(Literal(value=True))
            return Has(rows.table, where, n, rows.alias, Link.IN_WHERE, rows.columns)

        count = times(self.value(limit), least=0)
        match operator:
            case ">=":
                return at_least(count)
            case ">":
                return at_least(count + 1)
            case "<":
                return Not(at_least(count))
            case "<=":
                return Not(at_least(count + 1))
            case _:
                exactly = And((at_least(count), Not(at_least(count + 1))))
                return exactly if operator == "=" else Not(exactly)

    def subquery(self, node: exp.Subquery) -> Value:
        """Read (SELECT COUNT(*), COUNT(DISTINCT x), MIN(day) or MAX(day) FROM ... WHERE same person ...)."""
        select, rows, where = self._inner(node)
        _check_countable(rows, where)
        made = select.expressions[0] if len(select.expressions) == 1 else select
        function, column = per_person(made)
        return PerPerson(function, rows.table, column, where, rows.alias, Link.IN_WHERE, rows.columns)

    def _has(self, node: exp.Anonymous) -> Condition:
        only(node, "this", "expressions")
        arguments = node.expressions
        if not 1 <= len(arguments) <= 3:  # noqa: PLR2004 - has(table, condition, times)
            raise BadQuestionError(
                "has takes a table, a condition and a number of times; write has(visits, kind = 'ER', 2)"
            )
        name = table_name(arguments[0])
        rows = self.called(name, name)
        with self.seeing([rows]):
            where = self.condition(arguments[1]) if len(arguments) > 1 else And(())
        count = times(self.value(arguments[2])) if len(arguments) > 2 else 1  # noqa: PLR2004 - see above
        if count > 1:
            _check_countable(rows, where)
        return Has(rows.table, And((rows.said, where)), count, name, columns=rows.columns)


def _counts_rows(subquery: exp.Subquery) -> bool:
    select = subquery.this
    return isinstance(select, exp.Select) and len(select.expressions) == 1 and is_count(select.expressions[0])


def _check_countable(rows: Given, where: Condition) -> None:
    """Refuse to count rows that are not those of one table: of a join, or people."""
    if isinstance(where, Joined) or rows.joins or rows.key is not None:
        raise BadQuestionError(
            f"rows of one table are counted for each person, and {rows.alias} is not that; count rows of a table, with "
            "exists (...) or has(...) for others"
        )


def _for_people() -> BadQuestionError:
    return BadQuestionError("IN (SELECT ...) is for people only; write person in (select person from visits where ...)")
