"""Reads SQL text: conditions, values, and the rows that FROM and WITH name. SQLGlot parses, and an allow-list decides.

Default deny, as `nodes` says it: the parser adds and renames nodes and arguments from release to release. The text is
never used again.

    with er as (select person_id, count(*) as n from visits where kind = 'ER' group by person_id)
    select avg(n) from er

A SELECT in FROM or WITH gives a table to the one around it. `Given` says what it gives: some rows of a table and names
for what is computed from them. Which tables a person has many rows in only the catalogue knows, so joins are kept as
they are written (`Join`) for `joins` to give them a meaning.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial, reduce
from typing import Final

from sqlglot import exp

from lapwing.queries.algebra.functions import FUNCTIONS, Takes
from lapwing.queries.algebra.pattern import canonical, plain
from lapwing.queries.language.absence import Absence, Rows
from lapwing.queries.language.expressions import (
    FLIPPED,
    And,
    Applied,
    Arithmetic,
    By,
    Case,
    CastTo,
    Clip,
    Coalesce,
    Compare,
    Condition,
    Days,
    Is,
    Literal,
    Matches,
    Missing,
    Name,
    Not,
    OneOf,
    Or,
    TimeOf,
    Truth,
    TruthOf,
    Value,
    extreme,
)
from lapwing.queries.language.joined import (
    EVERYBODY,
    THE_ROW,
    Has,
    InConceptSet,
    Join,
    Joined,
    Link,
    PerPerson,
    PlaceOfRow,
    ScopedCondition,
    changed,
    joined_by_and,
    names_in,
)
from lapwing.queries.language.sql.clauses import Given, SelectItem, at_place, grouping, items_of, place_of_row
from lapwing.queries.language.sql.dates import read_call_about_days, read_days, seconds_of
from lapwing.queries.language.sql.nodes import (
    COMPARISONS,
    cast_kind,
    chain,
    check_all_read,
    concept_set_name,
    divisor,
    function_name,
    identifier,
    is_constant_divisor,
    is_count,
    is_date,
    literal,
    name_of,
    negative,
    only,
    parsed,
    power,
    split_at_and,
    table_name,
    times,
)
from lapwing.queries.language.sql.refusals import no_place, refusal
from lapwing.vocabulary.errors import BadQuestionError

_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}
_PARSED: Final = {row.parsed or row.name: row for row in FUNCTIONS.values() if row.takes is not Takes.DAY}
"""The functions of the table by what the parser calls them; those of days are in `dates`."""
_PER_PERSON = {
    "number_of": "count",
    "different_of": "distinct",
    "first_of": "first",
    "last_of": "last",
    "sum_of": "sum",
    "mean_of": "mean",
}
_OF_PERSON: Final = {exp.Sum: "sum", exp.Avg: "mean", exp.Min: "first", exp.Max: "last"}
_MOST_BUCKETS = 100
_MOST_CHARACTERS: Final = 100
_ONE_A_PERSON = (
    "a SELECT in FROM or WITH chooses rows and columns, or makes one row a person; write with t as (select * from "
    "visits where ...), or select person, count(*) as n from visits group by person"
)
_NAMED_NUMBERS = (
    "of one person's rows there are count(*), count(distinct column), sum(cost), avg(cost), min(day) and max(day), "
    "each with a name; write select person, count(*) as n from visits group by person"
)
_NUMBERS_OF_PERSON = (
    "of one person's rows there are count(*), count(distinct column), sum(cost), avg(cost), min(day) and max(day); to "
    "compare with an average of everybody ask for it first and write the number"
)
_PER_PERSON_BESIDE = (
    "beside a table of people, rows of one other table are counted, with conditions about them in ON; write select "
    "p.person, count(v.person) as n from people p left join visits v on v.person = p.person group by p.person"
)
_SIDES = {("", ""), ("", "INNER"), ("", "CROSS"), ("LEFT", ""), ("LEFT", "OUTER")}


def read_condition(text: str) -> Condition:
    """Return the condition that `text` writes. Parts that are joined by "and" are read once: most were written before.

    >>> read_condition("sex = 'M' and age between 20 and 30")
    And(parts=(Compare(operator='=', ...), And(parts=...)))
    >>> read_condition("age / 0 > 0.1")
    Traceback (most recent call last):
    ...
    lapwing.errors.BadQuestionError: division by 0 is not part of the language; divide by a number above or below 0, ...
    """
    if len(text) <= _SHORT:
        with suppress(BadQuestionError):  # the refusal of a part does not speak of the whole
            parts = tuple(_read_part(part) for part in split_at_and(text))
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


def read_group(text: str) -> By:
    """Return what `text` groups by.

    >>> read_group("bins(age(born), 0, 18, 65)").edges[1].value
    18
    """
    tree = parsed(text, exp.Condition)
    found = grouping(Reader({}).value, tree)
    check_all_read(tree)
    return found


class Reader:
    """Reads syntax trees into conditions, values and rows.

    `given` holds what WITH gave a name to, by its lower-case name, and `used` what was named; `seen` are the rows that
    may be named where it reads, the nearest last, and `person` those that are grouped by person there. `firsts` are the
    conditions that leave one row a person.
    """

    def __init__(self, given: Mapping[str, Given]) -> None:
        self.given = given
        self.used = set[str]()
        self.seen = list[Sequence[Given]]()
        self.person: Given | None = None
        self.firsts = list[tuple[str | None, Condition]]()

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
                value = self.value(node.this)
                ends = [_timed(value, self.value(node.args[end]))[1] for end in ("low", "high")]
                match value, ends:
                    case Applied("length", text), [Literal(int() as low), Literal(int() as high)]:
                        return And((_of_length(text, ">=", low), _of_length(text, "<=", high)))
                    case _:
                        return value.between(*ends)
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

    def _time(self, node: exp.Expr) -> tuple[Value, Value]:
        """Read a time as OVERLAPS has it: its two ends, or its beginning and how long it lasts."""
        if not isinstance(node, exp.Tuple) or len(node.expressions) != 2:  # noqa: PLR2004 - its two ends
            raise refusal(exp.Overlaps(this=node))
        only(node, "expressions")
        begin, end = (self.value(one) for one in node.expressions)
        return begin, Arithmetic("+", begin, end) if isinstance(end, Days) else end

    def _is(self, node: exp.Is) -> Condition:
        """Read IS NULL, IS TRUE, IS FALSE and IS UNKNOWN, which the parser takes for IS NULL."""
        only(node, "this", "expression")
        truth = literal(node.expression).value
        inner = node.this.unnest()
        stated = isinstance(inner, exp.Predicate | exp.Connector | exp.Not | exp.Exists | exp.Escape)
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
            case exp.Overlaps():
                only(node, "this", "expression")
                return _overlaps(*map(self._time, (node.this, node.expression)))
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

    def _comparison(self, node: exp.Expr) -> Condition:
        only(node, "this", "expression")
        operator, left, right = COMPARISONS[type(node)], node.this, node.expression
        if isinstance(right, exp.Subquery):
            operator, left, right = FLIPPED[operator], right, left
        if isinstance(left, exp.Subquery) and isinstance(right, exp.Literal) and _counts_rows(left):
            return self._read_count(left, operator, right)
        one, other = self.value(left), self.value(right)
        if isinstance(one, TimeOf) or isinstance(other, TimeOf):
            one, other = _timed(one, other)
        if isinstance(other, Applied) and other.function == "length":
            operator, one, other = FLIPPED[operator], other, one
        match one, other:
            case Applied("length", text), Literal(int() as number):
                return _of_length(text, operator, number)
            case _:
                pass
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
        if rows.table == EVERYBODY:
            raise _for_people()
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
        if rows.table == EVERYBODY:
            return _said_of(rows.where, outer)
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
        with self.seeing([rows]):
            function, column, said = self._number_made(made)
        if select.args.get("where") is None:
            raise BadQuestionError(
                f"a number of all rows of {rows.alias} is a question of its own; ask for it first and write the "
                "number here; a number of the same person's rows says so in its WHERE"
            )
        such = And((where, *said)) if said else where
        return _or_zero(
            made, PerPerson(function, rows.table, column, such, rows.alias, Link.IN_WHERE, rows.columns), where
        )

    def _number_of(self, node: exp.Expr, rows: Given) -> Value:
        """Return a number of the rows of a person, who are grouped by person."""
        function, column, said = self._number_made(node)
        link = (rows.key, Name(rows.key.name)) if rows.key is not None else (Name(""), Name(""))
        where = And((rows.where, *said)) if said else rows.where
        made = PerPerson(function, rows.table, column, where, rows.alias, link, rows.columns)
        return _or_zero(node, made, rows.where)

    def _number_made(self, node: exp.Expr) -> tuple[str, Value | None, tuple[Condition, ...]]:
        """Return which number a statistic makes of one person's rows, of which value, and of which of the rows."""
        before, self.person = self.person, None
        try:
            if not isinstance(node, exp.Filter):
                return self._made_of(node)
            only(node, "this", "expression")
            only(node.expression, "this")
            function, column, said = self._made_of(node.this)
            return function, column, (*said, self.condition(node.expression.this))
        finally:
            self.person = before

    def _made_of(self, node: exp.Expr) -> tuple[str, Value | None, tuple[Condition, ...]]:
        match node:
            case exp.Count() if is_count(node):
                return "count", None, ()
            case exp.Count(this=exp.Distinct(expressions=[one])):
                only(node, "this", "big_int")
                only(node.this, "expressions")
                return "distinct", name_of(one), ()
            case exp.Count(this=exp.Expr() as counted):
                only(node, "this", "big_int")
                return "count", None, _there(self.value(counted))
            case exp.CountIf():
                only(node, "this")
                return "count", None, (self.condition(node.this),)
            case exp.Sum() | exp.Avg() | exp.Min() | exp.Max():
                only(node, "this")
                function = _OF_PERSON[type(node)]
                value, said = _such(self.value(node.this), zero=isinstance(node, exp.Sum))
                is_one = function == "sum" and isinstance(value, Literal) and value.value == 1
                return ("count", None, said) if is_one else (function, value, said)
            case _:
                raise BadQuestionError(_NUMBERS_OF_PERSON)

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
        parts = tuple(joined_by_and(And((rows.said, where))))
        return Has(rows.table, parts[0] if len(parts) == 1 else And(parts), count, name, columns=rows.columns)

    def value(self, node: exp.Expr) -> Value:
        """Return the value that a node writes."""
        match node:
            case exp.Column():
                return self.column(node) if self.seen else name_of(node)
            case exp.Literal() | exp.Boolean() | exp.Null():
                return literal(node)
            case _:
                return self.computed(node)

    def computed(self, node: exp.Expr) -> Value:
        """Return what is neither a name nor a constant; where rows are grouped by person, a number of theirs."""
        match node:
            case _ if self.person is not None and (found := self._of_their_rows(node, self.person)) is not None:
                return found
            case exp.Paren():
                only(node, "this")
                return self.value(node.this)
            case exp.Neg():
                only(node, "this")
                return negative(self.value(node.this))
            case exp.Mul() if _is_floor(node.this) or _is_floor(node.expression):
                return self._step(node)
            case exp.Add() | exp.Sub() | exp.Mul():
                only(node, "this", "expression")
                return Arithmetic(_ARITHMETIC[type(node)], self.value(node.this), self.value(node.expression))
            case exp.Div():
                only(node, "this", "expression")
                return self._over(node)
            case exp.Pow():
                only(node, "this", "expression")
                value = self.value(node.this)
                return reduce(partial(Arithmetic, "*"), [value] * power(node))
            case _:
                return self._called(node)

    def _of_their_rows(self, node: exp.Expr, rows: Given) -> Value | None:
        """Return a number of the rows of a person, or one over how many there are: who is asked about has one."""
        match node:
            case exp.AggFunc() | exp.Filter():
                return self._number_of(node, rows)
            case exp.Div() if is_count(node.expression):
                only(node, "this", "expression")
                number = extreme("greatest", [self.value(node.expression), Literal(1)])
                return Applied("/", self.value(node.this), number)
            case _:
                return None

    def _over(self, node: exp.Div) -> Value:
        if is_constant_divisor(node):
            return Arithmetic("*", self.value(node.this), Literal(1 / divisor(node)))
        return Applied("/", self.value(node.this), self.value(node.expression))

    def _called(self, node: exp.Expr) -> Value:
        match node:
            case exp.Anonymous():
                return self._call(node)
            case exp.Subquery():
                return self.subquery(node)
            case exp.Case() | exp.If() | exp.WidthBucket():
                return self._width_bucket(node) if isinstance(node, exp.WidthBucket) else self._case(node)
            case exp.Nullif():
                only(node, "this", "expression")
                value = self.value(node.this)
                return Case(((Compare("<>", value, self.value(node.expression)), value),))
            case exp.Coalesce():
                return self._coalesce(node)
            case exp.Substring() | exp.Concat():
                return self._joined(node) if isinstance(node, exp.Concat) else self._left(node)
            case exp.Expr() if node.key in _PARSED:
                return self._applied(node)
            case _:
                return self._as_kind(node)

    def _as_kind(self, node: exp.Expr) -> Value:
        match node:
            case exp.Cast() if cast_kind(node) is not None and not is_date(node):
                only(node, "this", "to")
                only(node.to, "this")
                return CastTo(self.value(node.this), str(cast_kind(node)))
            case exp.Predicate() | exp.Connector() | exp.Not() | exp.StartsWith() | exp.EndsWith() | exp.Contains():
                return TruthOf(self.condition(node))
            case _:
                return read_days(node, self.value)

    def _call(self, node: exp.Anonymous) -> Value:
        only(node, "this", "expressions")
        arguments = node.expressions
        about_days = read_call_about_days(node, self.value)
        if about_days is not None:
            return about_days
        match function_name(node), len(arguments):
            case "clip", 3:
                value, low, high = (self.value(argument) for argument in arguments)
                return Clip(value, low, high)
            case "isnull", 2:
                return Coalesce(self.value(arguments[0]), self.value(arguments[1]))
            case name, 1 | 2 | 3 if name in _PER_PERSON:
                return self._per_person(_PER_PERSON[name], arguments)
            case _:
                raise refusal(node)

    def _per_person(self, function: str, arguments: list[exp.Expr]) -> Value:
        """Read number_of(visits, kind = 'ER', 20) and first_of(visits.day, kind = 'ER')."""
        column: Name | None = None
        if function == "count":
            table = table_name(arguments[0])
        else:
            column = name_of(arguments[0])
            if column.table is None:
                raise BadQuestionError(
                    f"{column.name!r} needs the table whose rows are meant; write first_of(visits.day, kind = 'ER')"
                )
            table = column.table
        rest = arguments[1:]
        said = bool(rest) and (isinstance(rest[-1], exp.Literal) or len(rest) > 1)  # the most that is counted
        most = self.value(rest.pop()) if said else None
        where = self.condition(rest[0]) if rest else And(())
        return PerPerson(function, table, column, where, table, most=most)

    def _extreme(self, node: exp.Expr) -> Value:
        """Read LEAST and GREATEST; LEAST(GREATEST(value, low), high), or the two the other way round, is a clip.

        Databases leave a missing value out, so that there the inner bound is the result.
        """
        only(node, "this", "expressions", "ignore_nulls")
        other = exp.Greatest if isinstance(node, exp.Least) else exp.Least
        inner = node.this
        if not isinstance(inner, other) or len(node.expressions) != 1 or len(inner.expressions) != 1:
            return extreme(node.key, [self.value(node.this), *(self.value(each) for each in node.expressions)])
        only(inner, "this", "expressions", "ignore_nulls")
        bounds = [self.value(inner.expressions[0]), self.value(node.expressions[0])]
        low, high = bounds if isinstance(node, exp.Least) else bounds[::-1]
        return Coalesce(Clip(self.value(inner.this), low, high), bounds[0])

    def _divided(self, node: exp.Expr) -> Value:
        """Read a whole number // or % a constant; of fractions databases have other ideas of //."""
        only(node, "this", "expression")
        width = divisor(node)
        # 2.0 is a fraction to a database, and what a SELECT computed elsewhere may have been one.
        literals = all(one.is_string or one.this.isdigit() for one in node.find_all(exp.Literal))
        plain = all(isinstance(self.value(one), Name | PerPerson) for one in node.this.find_all(exp.Column))
        cast = any(cast_kind(one) == "number" for one in node.this.find_all(exp.Cast))
        if width.denominator != 1 or cast or not (literals and plain):
            raise BadQuestionError(
                f"{_PARSED[node.key].name} is of whole numbers and a whole constant, for databases disagree about "
                "fractions; write floor(cost / 10), and of what a SELECT computed compute it there"
            )
        quotient = Applied(_PARSED[node.key].name, self.value(node.this), Literal(abs(int(width))))
        return -quotient if width < 0 and isinstance(node, exp.IntDiv) else quotient

    def _step(self, node: exp.Expr) -> Value:
        """Read FLOOR(value / width) * width."""
        only(node, "this", "expression")
        floor, width = (node.this, node.expression) if _is_floor(node.this) else (node.expression, node.this)
        only(floor, "this")
        only(floor.this, "this", "expression")
        widths = self.value(floor.this.expression), self.value(width)
        if not all(isinstance(each, Literal) for each in widths) or widths[0].value != widths[1].value:  # type: ignore[attr-defined]
            raise BadQuestionError("a step is as wide as its divisor, a constant; write floor(age / 10) * 10")
        return Applied("step", self.value(floor.this.this), widths[0])

    def _case(self, node: exp.Expr) -> Value:
        """Read CASE, with conditions or with the values of an expression, and IF(condition, value, value)."""
        if isinstance(node, exp.If):
            only(node, "this", "true", "false")
            ifs, default, compared = [node], node.args.get("false"), None
        else:
            only(node, "this", "ifs", "default")
            ifs, default, compared = node.args["ifs"], node.args.get("default"), node.args.get("this")
            for each in ifs:
                only(each, "this", "true")
        branches = []
        for each in ifs:
            if compared is None:
                when = self.condition(each.this)
            else:
                when = Compare("=", self.value(compared), self.value(each.this))
            branches.append((when, self.value(each.args["true"])))
        return Case(tuple(branches), None if default is None else self.value(default))

    def _width_bucket(self, node: exp.Expr) -> Value:
        """Read WIDTH_BUCKET(value, low, high, n): 1 to n between the two, 0 below, n + 1 from `high` on."""
        only(node, "this", "min_value", "max_value", "num_buckets")
        value, *given = (self.value(node.args[name]) for name in ("this", "min_value", "max_value", "num_buckets"))
        match given:
            case [
                Literal(int() | Fraction() as low),
                Literal(int() | Fraction() as high),
                Literal(int() as number),
            ] if low < high and 1 <= number <= _MOST_BUCKETS:
                edges = [low + Fraction(i * (high - low), number) for i in range(number + 1)]
            case _:
                raise BadQuestionError(
                    f"the buckets lie between two rising constants, and are 1 to {_MOST_BUCKETS}; write "
                    "width_bucket(age, 0, 100, 10)"
                )
        limits = [Literal(int(edge) if edge.denominator == 1 else edge) for edge in edges]
        below = [(Compare("<", value, limit), Literal(place)) for place, limit in enumerate(limits)]
        return Case((*below, (Compare(">=", value, limits[-1]), Literal(number + 1))))

    def _coalesce(self, node: exp.Expr) -> Value:
        only(node, "this", "expressions")
        value = self.value(node.this)
        for otherwise in node.expressions:
            value = Coalesce(value, self.value(otherwise))
        return value

    def _joined(self, node: exp.Concat) -> Value:
        """Read CONCAT, which takes what is missing for an empty text, where || is missing."""
        only(node, "expressions", "safe", "coalesce")
        first, *others = (self.value(part) for part in node.expressions)
        joined = _or_empty(first)
        for value in others:
            joined = Applied("||", joined, _or_empty(value))
        return joined

    def _left(self, node: exp.Expr) -> Value:
        """Read LEFT(text, n) and SUBSTRING(text, 1, n): the first characters of a text."""
        if isinstance(node, exp.Left):
            only(node, "this", "expression")
            bounds: list[Value] = [Literal(1), self.value(node.expression)]
        else:
            only(node, "this", "start", "length")
            parts = [node.args.get("start"), node.args.get("length")]
            bounds = [Literal(None) if part is None else self.value(part) for part in parts]
        match bounds:
            case Literal(1), Literal(int() as number):
                return Applied("left", self.value(node.this), Literal(number))
            case _:
                raise BadQuestionError("only the first characters of a text can be taken; write left(code, 3)")

    def _applied(self, node: exp.Expr) -> Value:
        """Read a function of the table."""
        row = _PARSED[node.key]
        match node:
            case exp.Least() | exp.Greatest():
                return self._extreme(node)
            case exp.Left():
                return self._left(node)
            case exp.IntDiv() | exp.Mod():
                return self._divided(node)
            case exp.Round():
                return self._rounded(node)
            case exp.DPipe():
                only(node, "this", "expression", "safe")
                return Applied(row.name, self.value(node.this), self.value(node.expression))
            case _:
                only(node, "this")
                return Applied(row.name, self.value(node.this))

    def _rounded(self, node: exp.Expr) -> Value:
        only(node, "this", "decimals")
        places = node.args.get("decimals")
        digits = Literal(0) if places is None else self.value(places)
        if not isinstance(digits, Literal) or type(digits.value) is not int:
            raise BadQuestionError("the places that a number is rounded to are a whole number; write round(column, 1)")
        return Applied("round", self.value(node.this), digits)

    def leaves_one(self, condition: Condition, alias: str) -> bool:
        """Say whether one of the rows of a person that are called `alias` is left: the first of them."""
        if isinstance(condition, ScopedCondition):
            return self.leaves_one(condition.where, condition.alias)
        if isinstance(condition, And):
            return any(self.leaves_one(part, alias) for part in condition.parts)
        return any(condition is first and row == alias for row, first in self.firsts)

    @contextmanager
    def seeing(self, rows: Sequence[Given]) -> Iterator[None]:
        """Read what stands in a SELECT whose FROM names these rows."""
        self.seen.append(rows)
        yield
        self.seen.pop()

    def column(self, node: exp.Expr) -> Value:
        """Return what a name stands for: a column, or what a SELECT in FROM computed under this name."""
        name = name_of(node)
        for rows in reversed(self.seen):
            for given in rows:
                made = given.computed(name)
                if made is not None:
                    return made
            if name.table is None:
                break  # a name alone is one of the nearest rows
        return name

    def called(self, name: str, alias: str) -> Given:
        """Return the rows called `name`, by WITH or in the catalogue, under an `alias`."""
        self.used.add(name.casefold())
        given = self.given.get(name.casefold(), Given(name, name, And(())))
        return replace(given, alias=alias)

    def check_all_used(self) -> None:
        """Refuse a name of WITH that nothing uses: its condition would be dropped in silence."""
        for name in self.given.keys() - self.used:
            raise BadQuestionError(f"WITH names {name!r}, and nothing uses it; leave it out")

    def tables(self, select: exp.Select) -> tuple[list[Given], tuple[Join, ...]]:
        """Return the rows that FROM names and, where it joins several tables, how."""
        source = select.args.get("from_")
        if not isinstance(source, exp.From):
            raise BadQuestionError("a SELECT here needs a FROM; write select ... from a table")
        only(source, "this")
        rows = [self._source(source.this)]
        joins = [rows[0].join()]
        for node in select.args.get("joins") or ():
            natural = node.args.get("method") == "NATURAL"
            only(node, "this", "on", "using", "side", "kind", *(["method"] * natural))
            side, kind = ((node.args.get(name) or "").upper() for name in ("side", "kind"))
            if (side, kind) not in _SIDES:
                raise BadQuestionError(
                    f"{side or kind} JOIN is not part of the language; write JOIN or LEFT JOIN, on the person of both"
                )
            rows.append(self._source(node.this))
            _check_aliases(rows)
            on = self._on(node, rows)
            joins.append(replace(rows[-1].join(on, left=side == "LEFT"), natural=natural))
            if side == "LEFT":
                rows[-1] = _where_found(rows[-1], on)
        if len(joins) > 1:
            return rows, tuple(joins)
        return ([replace(rows[0], inside="")], rows[0].joins) if rows[0].joins else (rows, ())

    def _on(self, join: exp.Expr, rows: list[Given]) -> Condition:
        on, using = join.args.get("on"), join.args.get("using") or ()
        ties = [Compare("=", *(Name(identifier(one), each.alias) for each in (rows[0], rows[-1]))) for one in using]
        if on is None:
            return And(tuple(ties))
        with self.seeing(rows):
            return And((*ties, self.condition(on)))

    def _source(self, node: exp.Expr) -> Given:
        alias = node.args.get("alias")
        if alias is not None:
            only(alias, "this")
        match node:
            case exp.Table():
                only(node, "this", "alias", "db")
                name = identifier(node.this)
                as_named = identifier(alias.this) if alias is not None else name
                if node.args.get("db"):  # the catalogue knows tables by their names alone, and WITH names no schema
                    identifier(node.args["db"])
                    return Given(name, as_named, And(()))
                return self.called(name, as_named)
            case exp.Subquery():
                only(node, "this", "alias")
                rows = self.rows(node.this)
                return replace(rows, alias=identifier(alias.this)) if alias is not None else rows
            case _:
                raise refusal(node)

    def chosen(self, select: exp.Select) -> tuple[list[Given], tuple[Join, ...], Condition]:
        """Return the rows that FROM names, how it joins them, and which of them WHERE leaves."""
        rows, joins = self.tables(select)
        where = select.args.get("where")
        if where is not None:
            only(where, "this")
            with self.seeing(rows):
                said = self.condition(where.this)
        else:
            said = And(())
        if not joins:
            return rows, joins, And((rows[0].said, said))
        return rows, joins, And((rows[0].where, said)) if len(rows) == 1 else said

    def rows(self, node: exp.Expr, *, alone: bool = True) -> Given:
        """Return what a SELECT gives to the one around it: rows and columns, people, or one row a person.

        It speaks about its own rows `alone` in FROM and WITH, and may name rows around it elsewhere.
        """
        match node:
            case exp.Select():
                only(node, "expressions", "from_", "joins", "where", "group", "having", "distinct")
                rows, joins, where = self.chosen(node)
                with self.seeing(rows):
                    if joins:
                        return self._made(node, rows, joins, where)
                    if alone:
                        return self._made(node, rows, (), ScopedCondition(where, rows[0].alias, rows[0].columns))
                    return replace(self._made(node, rows, (), where), columns=rows[0].columns)
            case exp.Union() | exp.Intersect() | exp.Except():
                return self._people_of_both(node)
            case _:
                raise refusal(node)

    def _made(self, select: exp.Select, rows: list[Given], joins: tuple[Join, ...], where: Condition) -> Given:
        base, items = rows[0], items_of(select)
        if joins:
            plain = Given(base.table, base.alias, where, joins=joins)
        else:
            plain = replace(base, where=where, at_least=1, values={}, inside=base.alias)
        if select.args.get("group") is not None:
            if joins:
                return self._grouped_beside(select, items, joins, where)
            if select.args.get("distinct"):
                raise BadQuestionError("GROUP BY leaves one row for each group; leave DISTINCT out")
            return self._grouped(select, items, plain)
        if select.args.get("having") is not None:
            raise refusal(select.args["having"])
        if select.args.get("distinct") is not None:
            only(select.args["distinct"])
            key = self._listed(items[0].node, rows) if len(items) == 1 else None
            if key is None:
                raise BadQuestionError(
                    "SELECT DISTINCT in FROM or WITH is for people; write select distinct person from visits where ..."
                )
            return replace(plain, key=key, columns=(key.name,))
        return self._with_columns(plain, rows, items)

    def _listed(self, node: exp.Expr, rows: list[Given]) -> Name | None:
        """Return a column that is only listed; None for anything else."""
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return None
        return rows[0].own(node) if len(rows) == 1 else name_of(node)

    def _with_columns(self, plain: Given, rows: list[Given], items: list[SelectItem]) -> Given:
        columns, values, everything = list[str](), dict[str, Value](), False
        for item in items:
            listed = self._listed(item.node, rows)
            if isinstance(item.node, exp.Star) or _is_star_of(item.node, rows):
                only(item.node if isinstance(item.node, exp.Star) else item.node.this)
                everything = True
            elif listed is not None and item.alias is None and not plain.joins:
                made = rows[0].computed(listed)
                columns.append(listed.name)
                values |= {} if made is None else {listed.name.casefold(): made}
            elif isinstance(item.node, exp.Window) and item.alias is not None and not plain.joins:
                values[item.alias.casefold()] = place_of_row(item.node, plain, rows[0])
            elif item.alias is not None or listed is not None:
                name = item.alias or (listed.name if listed is not None else "")
                values[name.casefold()] = self.value(item.node)
                columns.append(name)
            else:
                raise BadQuestionError(_ONE_A_PERSON)
        if everything and len(rows) == 1:
            before = {name: made for name in rows[0].values if (made := rows[0].computed(Name(name))) is not None}
            values = {**before, **values}
        kept = rows[0].columns if everything else tuple(columns)
        if plain.joins or kept is None:
            return replace(plain, columns=None, values=values, inside=rows[0].alias)
        used = {name for made in values.values() for name in names_in(made, rows[0].alias)}
        listed_only = [name for name in kept if name.casefold() not in values]
        return replace(plain, columns=(*listed_only, *sorted(used)), values=values, inside=rows[0].alias)

    def _grouped(self, select: exp.Select, items: list[SelectItem], plain: Given) -> Given:
        """Return one row a person: group by person, with numbers of their rows, and HAVING."""
        if plain.key is not None:
            raise BadQuestionError(f"{plain.alias} has one row a person already; leave its GROUP BY out")
        grouped_by, *others = _grouped_by(select, items)
        if others:
            raise BadQuestionError(
                "rows are grouped by person here, and a person may be in several other groups; write select person, "
                "count(*) as n from visits where kind = 'ER' group by person, once for each group"
            )
        key = Name(plain.own(grouped_by).name)
        grouped = replace(plain, key=key)
        self.person, before = grouped, self.person
        values = dict[str, Value]()
        for item in items:
            if isinstance(item.node, exp.Column) and plain.own(item.node).name.casefold() == key.name.casefold():
                continue
            if item.alias is None or not _is_of_rows(item.node):
                raise BadQuestionError(_NAMED_NUMBERS)
            values[item.alias.casefold()] = self.value(item.node)
        made = self._having(select.args.get("having"), grouped)
        self.person = before
        return replace(made, columns=(key.name,), values=values, inside=plain.alias)

    def _grouped_beside(
        self, select: exp.Select, items: list[SelectItem], joins: tuple[Join, ...], where: Condition
    ) -> Given:
        """Return one row a person of the first of two tables, with numbers of their rows in the second, 0 if none."""
        first, other = joins[0], joins[-1]
        key, *others = map(name_of, _grouped_by(select, items))
        if key.table == other.alias and not other.left:  # the other way round it is the same
            first, other = replace(other, on=And(())), replace(first, on=other.on)
        parts = list(joined_by_and(where))
        about = [part for part in parts if names_in(part, other.alias)]
        if not other.left:  # WHERE and ON say the same of rows that must be there
            where = And(tuple(part for part in parts if part not in about))
            other, about = replace(other, on=And((other.on, *about))), []
        owned = all(name.table == first.alias for name in (key, *others))
        if len(joins) != 2 or not owned or about or select.args.get("having"):  # noqa: PLR2004
            raise BadQuestionError(_PER_PERSON_BESIDE)
        values = dict[str, Value]()
        for item in items:
            listed = name_of(item.node) if isinstance(item.node, exp.Column) else None
            if listed is not None and listed.name.casefold() == key.name.casefold():
                continue
            if listed is not None and listed.name.casefold() in {name.name.casefold() for name in others}:
                values[(item.alias or listed.name).casefold()] = Name(listed.name, first.alias)
                continue
            if item.alias is None or not isinstance(item.node, exp.AggFunc | exp.Filter):
                raise BadQuestionError(_NAMED_NUMBERS)
            values[item.alias.casefold()] = self._number_beside(item.node, key, first, other)
        there = [] if other.left else [_number_of_rows(other, 1)]
        one_row = Joined((replace(first, single=True),), And((where, *there)))
        said = ScopedCondition(one_row, first.alias, first.columns)
        used = {name for made in values.values() for name in names_in(made, first.alias)}
        chosen = (key.name, *(name.name for name in others), *sorted(used))
        return Given(first.table, first.alias, said, chosen, key=Name(key.name), values=values, inside=first.alias)

    def _number_beside(self, node: exp.Expr, key: Name, first: Join, other: Join) -> Value:
        """Return a number of one person's rows of a table that is joined to theirs, or of these and theirs."""
        if is_count(node) and other.left:
            raise BadQuestionError(_PER_PERSON_BESIDE)
        function, value, such = self._number_made(node)
        if function == "count" and value is None and isinstance(node.this, exp.Column):
            counted = name_of(node.this)
            such = () if counted.name.casefold() == key.name.casefold() else such
            if counted.table != other.alias:
                raise BadQuestionError(_PER_PERSON_BESIDE)

        def of_rows(function: str, value: Value | None) -> PerPerson:
            if (_tables_in((value, such)) | {other.alias}) != {other.alias}:
                raise BadQuestionError(_PER_PERSON_BESIDE)
            said = And((other.on, other.said, *such))
            return PerPerson(function, other.table, value, said, other.alias, Link.IN_WHERE, other.columns)

        match function, value:
            case "first" | "last", Arithmetic("-" | "+" as sign, left, right) if _tables_in(right) == {first.alias}:
                return Arithmetic(sign, of_rows(function, left), right)
            case "first" | "last", Arithmetic("-", left, right) if _tables_in(left) == {first.alias}:
                return Arithmetic("-", left, of_rows("last" if function == "first" else "first", right))
            case _:
                return of_rows(function, value)

    def _having(self, having: exp.Expr | None, grouped: Given) -> Given:
        if having is None:
            return grouped
        only(having, "this")
        said = list[Condition]()
        for node in chain(having.this) if isinstance(having.this, exp.And) else [having.this]:
            if isinstance(node, exp.GTE | exp.GT) and is_count(node.this) and grouped.at_least == 1:
                only(node, "this", "expression")
                number = times(self.value(node.expression), least=0) + isinstance(node, exp.GT)
                grouped = replace(grouped, at_least=max(1, number))
            else:
                said.append(self.condition(node))
        if not said:
            return grouped
        where = And((grouped.several if grouped.at_least > 1 else grouped.where, *said))
        return replace(grouped, where=where, at_least=1)

    def _people_of_both(self, node: exp.Expr) -> Given:
        """Read SELECT person ... INTERSECT, EXCEPT or UNION SELECT person ...: a person counts once."""
        only(node, "this", "expression", "distinct")
        if not node.args.get("distinct"):
            raise BadQuestionError("UNION ALL would count people twice; write UNION")
        if isinstance(node, exp.Union):
            key, one, other = self._key_of(node.this), self.rows(node.this), self.rows(node.expression)
            same = one.table.casefold() == other.table.casefold() and not one.joins and not other.joins
            if same and self._key_of(node.expression).name.casefold() == key.name.casefold():
                either = [ScopedCondition(rows.said, rows.alias, rows.columns) for rows in (one, other)]
                return replace(one, where=Or(tuple(either)), at_least=1, key=Name(key.name))
            return Given(EVERYBODY, "people", self.person_in(Name(key.name), node), None, (), Name(key.name))
        first = self.rows(node.this)
        key = self._key_of(node.this)
        among = self.person_in(Name(key.name, first.alias), node.expression)
        if isinstance(node, exp.Except):
            among = Not(among)
        if first.joins:
            return replace(first, where=And((first.where, among)), key=key)
        where = ScopedCondition(And((first.said, among)), first.alias, first.columns)
        return replace(first, where=where, at_least=1, key=Name(key.name))

    def _key_of(self, node: exp.Expr) -> Name:
        """Return the one column that a SELECT, or the first of several, selects."""
        while isinstance(node, exp.Union | exp.Intersect | exp.Except | exp.Subquery):
            node = node.this
        columns = node.expressions if isinstance(node, exp.Select) else []
        if len(columns) != 1 or not isinstance(columns[0], exp.Column):
            raise BadQuestionError(
                "UNION, INTERSECT and EXCEPT are for people only; write select person from visits where ... union "
                "select person from codes where ..."
            )
        return name_of(columns[0])

    def both(self, outer: Name, node: exp.Expr) -> Condition:
        """Return that a person is in the first SELECT of a set operation, and in the second or not."""
        only(node, "this", "expression", "distinct")
        one, other = self.person_in(outer, node.this), self.person_in(outer, node.expression)
        match node:
            case exp.Union():
                return Or((one, other))
            case exp.Intersect():
                return And((one, other))
            case _:
                return And((one, Not(other)))


def _timed(one: Value, other: Value) -> tuple[Value, Value]:
    """Return two values, of which a text beside a time of day is one: started::time >= '08:30'."""
    match one, other:
        case TimeOf("time"), Literal(str() as text):
            return one, Literal(seconds_of(text))
        case Literal(str() as text), TimeOf("time"):
            return Literal(seconds_of(text)), other
        case _:
            return one, other


def _overlaps(one: tuple[Value, Value], other: tuple[Value, Value]) -> Condition:
    """Return whether two times have a moment in common: ends do not belong to them, unless a time is one moment.

    Which of the two ends comes first does not matter, as in PostgreSQL.
    """
    cases = list[Condition]()
    for a, b in (one, one[::-1]):
        for c, d in (other, other[::-1]):
            ordered = (Compare("<=", a, b), Compare("<=", c, d))
            first, second = Compare("<", a, c), Compare("<", c, a)
            met = Or((And((first, Compare("<", c, b))), And((second, Compare("<", a, d))), Compare("=", a, c)))
            cases.append(And((*ordered, met)))
    return Or(tuple(cases))


def _of_length(text: Value, operator: str, number: int) -> Condition:
    """Return that a text has so many characters: a pattern of as many, and of whatever follows."""
    if not 0 <= number <= _MOST_CHARACTERS:
        raise BadQuestionError(f"lengths are compared with numbers from 0 to {_MOST_CHARACTERS}, and {number} is not")

    def at_least(characters: int) -> Condition:
        return Matches(text, canonical("_" * characters + "%", None))

    exactly = Matches(text, canonical("_" * number, None))
    match operator:
        case ">=":
            return at_least(number)
        case ">":
            return at_least(number + 1)
        case "<":
            return Not(at_least(number))
        case "<=":
            return Not(at_least(number + 1))
        case _:
            return exactly if operator == "=" else Not(exactly)


def _not_distinct(left: Value, right: Value) -> Condition:
    """Return that two values are equal or both missing, which is never unknown."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Literal):
            return Missing(other) if one.value is None else Is(Compare("=", other, one), truth=True)
    return Or((Is(Compare("=", left, right), truth=True), And((Missing(left), Missing(right)))))


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


def _said_of(part: Condition, outer: Name) -> Condition:
    """Return what is said about people of several tables as it is said of the person of a row."""
    match part:
        case And(parts) | Or(parts):
            return replace(part, parts=tuple(_said_of(each, outer) for each in parts))
        case Not(inner):
            return Not(_said_of(inner, outer))
        case ScopedCondition(where):
            return _said_of(where, outer)
        case Has(link=(Name() as key, _)):
            return replace(part, link=(key, outer))
        case _:
            return part


def _is_floor(node: exp.Expr) -> bool:
    return isinstance(node, exp.Floor) and isinstance(node.this, exp.Div)


def _where_found(given: Given, on: Condition) -> Given:
    """Return rows of a LEFT JOIN with what a SELECT computed missing where none is found, however it is computed."""
    inside = given.inside or given.alias
    tied = all(isinstance(part, Compare) for part in joined_by_and(on)) and len(list(joined_by_and(on))) == 1

    def own(name: Name, around: Rows) -> bool:
        return not around and (name.table is None or name.table.casefold() == inside.casefold())

    absent = Absence(own)

    def found(made: Value) -> Value:
        match made:
            case PlaceOfRow():
                return made
            case PerPerson("first" | "last") if made.where is given.where and given.at_least == 1 and tied:
                return made  # without rows there is none
            case _ if absent.lacks(made):
                return made
            case _:
                return Case(((Not(Missing(Name(THE_ROW, inside))), made),))

    return replace(given, values={name: found(made) for name, made in given.values.items()})


def _is_star_of(node: exp.Expr, rows: list[Given]) -> bool:
    """Say whether a node is all columns of one of the rows: v.*."""
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Star):
        return False
    only(node, "this", "table")
    return identifier(node.args.get("table")).casefold() in {given.alias.casefold() for given in rows}


def _grouped_by(select: exp.Select, items: list[SelectItem]) -> list[exp.Expr]:
    """Return the columns that GROUP BY names: the person's, and others that a person has one of."""
    group = select.args["group"]
    if group.args.get("all"):
        only(group, "all")
        nodes = [item.node for item in items if not isinstance(item.node, exp.AggFunc)]
    else:
        only(group, "expressions")
        nodes = [item.node if (item := at_place(node, items, "GROUP BY")) else node for node in group.expressions]
    if not nodes or not all(isinstance(node, exp.Column) for node in nodes):
        raise BadQuestionError(
            "rows are grouped by person here; write select person, count(*) as n from visits group by person"
        )
    return nodes


def _number_of_rows(other: Join, least: int) -> Condition:
    return Has(other.table, And((other.on, other.said)), least, other.alias, Link.IN_WHERE, other.columns)


def _tables_in(part: object) -> set[str | None]:
    """Return the tables that are named in a value or a condition; none where a column stands without its table."""
    found = set[str | None]()

    def note(name: Name) -> Name:
        found.add(name.table)
        return name

    changed(part, note, lambda _: lambda name: name)
    return found


def _is_of_rows(node: exp.Expr) -> bool:
    """Say whether all columns that are named stand inside of statistics, of which there is one at least."""
    inside = all(one.find_ancestor(exp.AggFunc, exp.Filter) is not None for one in node.find_all(exp.Column))
    return inside and node.find(exp.AggFunc) is not None


def _such(value: Value, *, zero: bool) -> tuple[Value, tuple[Condition, ...]]:
    """Return a value that is missing but where a condition is true, or is 0 there, as the value and the condition."""
    match value:
        case Case(((where, made),), None | Literal(None)):
            return made, (where,)
        case Case(((where, made),), Literal(0)) if zero:
            return made, (where,)
        case _:
            return value, ()


def _there(value: Value) -> tuple[Condition, ...]:
    """Return that a value is not missing, or is not made so by its condition."""
    match value:
        case Case(((where, Literal(made)),), None | Literal(None)) if made is not None:
            return (where,)
        case Literal(made) if made is not None:
            return ()
        case _:
            return (Not(Missing(value)),)


def _or_zero(node: exp.Expr, made: PerPerson, where: Condition) -> Value:
    """Return a sum that is 0 and not missing where no row of it is: SUM(CASE WHEN ... THEN cost ELSE 0 END).

    Of somebody all of whose rows have a missing cost it is missing.
    """
    of_case = isinstance(node, exp.Sum) and isinstance(node.this.unnest(), exp.Case | exp.If)
    if not of_case or made.function != "sum" or made.column is None or made.where is where:
        return made
    default = node.this.unnest().args.get("false" if isinstance(node.this.unnest(), exp.If) else "default")
    if default is None or isinstance(default, exp.Null):
        return made
    (*_, such) = made.where.parts if isinstance(made.where, And) else (made.where,)
    known = And((where, Not(Is(And((such, Missing(made.column))), truth=True))))
    has = Has(made.table, known, 1, made.alias, made.link, made.columns)
    return Case(((has, Coalesce(made, Literal(0))),))


def _check_aliases(rows: list[Given]) -> None:
    new = rows[-1].alias.casefold()
    if any(given.alias.casefold() == new for given in rows[:-1]):
        raise BadQuestionError(f"two tables are called {rows[-1].alias!r}; give each a name: visits v join codes c")


def _or_empty(value: Value) -> Value:
    """Return a text, and an empty one where it is missing."""
    return value if isinstance(value, Literal) else Coalesce(Applied("||", value, Literal("")), Literal(""))
