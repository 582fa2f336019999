"""Reads values from SQL text: columns, constants, arithmetic, days and their parts, cases, a person's own numbers."""

from abc import ABC, abstractmethod
from fractions import Fraction

from sqlglot import exp

from lapwing.queries.expressions import (
    And,
    Arithmetic,
    Case,
    CastTo,
    Clip,
    Coalesce,
    Compare,
    Condition,
    LeftOf,
    Literal,
    Name,
    NumberOf,
    Step,
    TextOf,
    TruthOf,
    Value,
)
from lapwing.queries.joined import PerPerson
from lapwing.queries.sql_days import read_call_about_days, read_days
from lapwing.queries.sql_nodes import (
    cast_kind,
    function_name,
    is_date,
    name_of,
    negative,
    only,
    refusal,
    table_name,
)
from lapwing.vocabulary.errors import BadQuestionError

_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}
_TEXTS: dict[type[exp.Expr], str] = {exp.Lower: "lower", exp.Upper: "upper", exp.Trim: "trim"}
_PER_PERSON = {"number_of": "count", "different_of": "distinct", "first_of": "first", "last_of": "last"}
_MOST_BUCKETS = 100


class ValueReader(ABC):
    """Reads the syntax trees of values."""

    @abstractmethod
    def condition(self, node: exp.Expr) -> Condition:
        """Return the condition that a node writes."""

    @abstractmethod
    def subquery(self, node: exp.Subquery) -> Value:
        """Return the value that a SELECT about the same person's rows makes."""

    @abstractmethod
    def value(self, node: exp.Expr) -> Value:
        """Return the value that a node writes: a name, a constant, or what is `computed` from them."""

    def computed(self, node: exp.Expr) -> Value:
        """Return what is neither a name nor a constant."""
        match node:
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
            case _:
                return self._called(node)

    def _called(self, node: exp.Expr) -> Value:
        match node:
            case exp.Anonymous():
                return self._call(node)
            case exp.Subquery():
                return self.subquery(node)
            case exp.Least() | exp.Greatest():
                return self._clip(node)
            case exp.Case() | exp.If() | exp.WidthBucket():
                return self._width_bucket(node) if isinstance(node, exp.WidthBucket) else self._case(node)
            case exp.Coalesce() | exp.Lower() | exp.Upper() | exp.Trim() | exp.Left() | exp.Substring():
                return self._with_texts(node)
            case exp.Abs() | exp.Floor() | exp.Ceil() | exp.Round():
                return self._number_of(node)
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

    def _clip(self, node: exp.Expr) -> Value:
        """Read LEAST(GREATEST(value, low), high), or the two the other way round."""
        only(node, "this", "expressions", "ignore_nulls")
        other = exp.Greatest if isinstance(node, exp.Least) else exp.Least
        inner = node.this
        if not isinstance(inner, other) or len(node.expressions) != 1 or len(inner.expressions) != 1:
            raise refusal(node)
        only(inner, "this", "expressions", "ignore_nulls")
        bounds = [self.value(inner.expressions[0]), self.value(node.expressions[0])]
        low, high = bounds if isinstance(node, exp.Least) else bounds[::-1]
        return Clip(self.value(inner.this), low, high)

    def _step(self, node: exp.Expr) -> Value:
        """Read FLOOR(value / width) * width."""
        only(node, "this", "expression")
        floor, width = (node.this, node.expression) if _is_floor(node.this) else (node.expression, node.this)
        only(floor, "this")
        only(floor.this, "this", "expression", "typed", "safe")
        widths = self.value(floor.this.expression), self.value(width)
        if not all(isinstance(each, Literal) for each in widths) or widths[0].value != widths[1].value:  # type: ignore[attr-defined]
            raise BadQuestionError("a step is as wide as its divisor, a constant; write floor(age / 10) * 10")
        return Step(self.value(floor.this.this), widths[0])

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

    def _with_texts(self, node: exp.Expr) -> Value:
        if isinstance(node, exp.Left | exp.Substring):
            return self._left(node)
        if not isinstance(node, exp.Coalesce):
            only(node, "this")
            return TextOf(_TEXTS[type(node)], self.value(node.this))
        only(node, "this", "expressions")
        value = self.value(node.this)
        for otherwise in node.expressions:
            value = Coalesce(value, self.value(otherwise))
        return value

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
                return LeftOf(self.value(node.this), number)
            case _:
                raise BadQuestionError("only the first characters of a text can be taken; write left(code, 3)")

    def _number_of(self, node: exp.Expr) -> Value:
        only(node, "this", "decimals")
        places = node.args.get("decimals")
        digits = Literal(0) if places is None else self.value(places)
        if not isinstance(digits, Literal) or type(digits.value) is not int:
            raise BadQuestionError("the places that a number is rounded to are a whole number; write round(column, 1)")
        return NumberOf(type(node).__name__.lower(), self.value(node.this), digits.value)


def _is_floor(node: exp.Expr) -> bool:
    return isinstance(node, exp.Floor) and isinstance(node.this, exp.Div)
