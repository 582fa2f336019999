"""What is done with the numbers after they were released: ORDER BY, LIMIT, HAVING, arithmetic with answers."""

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import TypeAlias

from sqlglot import exp

from lapwing.queries.language.expressions import FLIPPED, Literal
from lapwing.queries.language.sql.clauses import SelectItem, at_place, called, is_same
from lapwing.queries.language.sql.nodes import COMPARISONS, chain, is_constant_divisor, literal, only
from lapwing.queries.language.sql.reader import Reader
from lapwing.queries.planning.presentation import Arrangement, Kept
from lapwing.queries.planning.windows import Place, Sorting
from lapwing.queries.statements.window_clauses import Find
from lapwing.queries.statistics import is_statistic
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import as_int, exact
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import format_exact


@frozen(kw_only=False)
class AnswerColumn:
    """What an answer tells: a key or a number, and how the SELECT wrote it."""

    item: SelectItem
    by: Place
    name: str
    heading: str | None = None
    """What a key is called where its column is called otherwise."""


def read_arrangement(
    select: exp.Query, reader: Reader, items: list[SelectItem], told: Sequence[AnswerColumn], find: Find | None = None
) -> Arrangement:
    """Return how the rows of the answer are shown; `find` asks for what only HAVING or ORDER BY name."""
    names = {one.by: one.heading for one in told if isinstance(one.by, int)}
    order, having = select.args.get("order"), select.args.get("having")
    if order is not None:
        only(order, "expressions")
    limit, offset = (_number(reader, select.args.get(name)) for name in ("limit", "offset"))
    return Arrangement(
        names=tuple(names.get(place) for place in range(max(names, default=-1) + 1)),
        having=() if having is None else tuple(_kept(reader, having, items, told, find)),
        order=()
        if order is None
        else tuple(one for node in order.expressions for one in _sorting(node, items, told, find)),
        first=limit,
        skipped=offset or 0,
    )


def _number(reader: Reader, node: exp.Expr | None) -> int | None:
    if node is None:
        return None
    if isinstance(node, exp.Fetch):  # FETCH FIRST 10 ROWS ONLY
        only(node, "direction", "count", "limit_options")
        for part in node.args["limit_options"].walk():
            only(part, "rows")  # and neither PERCENT nor WITH TIES
        return 1 if node.args.get("count") is None else as_int("limit", literal(node.args["count"]).value, least=0)
    only(node, "expression")
    most = reader.value(node.expression)
    return as_int("limit", exact("number", most.value if isinstance(most, Literal) else most), least=0)


def _sorting(node: exp.Expr, items: list[SelectItem], told: Sequence[AnswerColumn], find: Find | None) -> list[Sorting]:
    """Return what the rows are ordered by: a column, or with ALL every one, from the left to the right."""
    only(node, "this", "desc", "nulls_first")
    everything = isinstance(node.this, exp.Var) and str(node.this.this).casefold() == "all"
    if everything:
        only(node.this, "this")
    chosen = told if everything else [_told(node.this, items, told, "ORDER BY", find)]
    falling, gaps_first = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
    return [Sorting(one.by, one.name, falling, gaps_first) for one in chosen]


def _told(
    node: exp.Expr, items: list[SelectItem], told: Sequence[AnswerColumn], clause: str, find: Find | None
) -> AnswerColumn:
    item = at_place(node, items, clause) or called(node, items)
    for one in told:
        if one.item is item or (item is None and is_same(one.item.node, node)):
            for part in node.walk():  # the same stands in the SELECT, where it was read
                only(part, *part.args)
            return one
    if item is None and find is not None and is_statistic(node):
        place, name = find(node)
        return AnswerColumn(SelectItem(None, node), place, name)
    raise BadQuestionError(
        f"{clause} sees released numbers only, so it names what the SELECT tells; select it as well, or name a column "
        "of the SELECT by its place"
    )


def _kept(
    reader: Reader, having: exp.Expr, items: list[SelectItem], told: Sequence[AnswerColumn], find: Find | None
) -> list[Kept]:
    only(having, "this")
    kept = list[Kept]()
    for node in chain(having.this) if isinstance(having.this, exp.And) else [having.this]:
        match node:
            case exp.Between():
                only(node, "this", "low", "high")
                pairs = [(">=", node.this, node.args["low"]), ("<=", node.this, node.args["high"])]
            case _ if type(node) in COMPARISONS:
                only(node, "this", "expression")
                pairs = [(COMPARISONS[type(node)], node.this, node.expression)]
            case _:
                raise BadQuestionError(
                    "HAVING compares released numbers with constants, joined by and; write having count(*) >= 20"
                )
        for comparison, left, right in pairs:
            if isinstance(left, exp.Literal | exp.Neg):
                comparison, left, right = FLIPPED[comparison], right, left  # noqa: PLW2901 - the same, read from the right
            one = _told(left, items, told, "HAVING", find)
            limit = reader.value(right)
            number = limit.value if isinstance(limit, Literal) else None
            if not isinstance(number, int | Fraction | str) or isinstance(number, bool):
                raise BadQuestionError("HAVING compares with a constant; write having count(*) >= 20")
            kept.append(Kept(one.by, one.name, comparison, number))
    return kept


AnswerFraction: TypeAlias = tuple[dict[str, Fraction], dict[str, Fraction]]
"""What stands above and below the line: the factor of each answer, by name, and of no answer under an empty name."""


_ONLY_QUOTIENTS = (
    "answers are added, taken from one another, multiplied by numbers, and one is divided by another; compute the rest "
    "with the answers, which costs nothing"
)


def _number_alone(part: AnswerFraction) -> Fraction | None:
    """Return the number that a part is, if it holds no answer."""
    above, below = part
    return above[""] if set(above) == {""} and not below else None


def scaled_inside(node: exp.Expr) -> exp.Expr | None:
    """Return avg(x + y / 3) as avg(3 * x + y) / 3, and a sum so: the answer is scaled, and no row rounded. Else None.

    Constants that are on the grid of some power of two stay where they are, unless all of it is divided by one.
    """
    inner = node.this.unnest() if isinstance(node, exp.Avg | exp.Sum) and isinstance(node.this, exp.Expr) else None
    if not isinstance(inner, exp.Div | exp.Mul | exp.Add | exp.Sub | exp.Pow):
        return None
    found, scale = _without_fractions(inner)
    if scale == 1 or not (_is_off_grid(scale) or isinstance(inner, exp.Div)):
        return None
    for part in node.this.walk():  # its constants were read, and the others are read where they are now
        if isinstance(part, exp.Literal | exp.Mul | exp.Div | exp.Add | exp.Sub | exp.Pow | exp.Paren | exp.Neg):
            only(part, *part.args)
    scaled: exp.Expr = type(node)(this=found)
    if scale.numerator != 1:
        scaled = exp.Mul(this=scaled, expression=exp.Literal.number(scale.numerator))
    return exp.Div(this=scaled, expression=exp.Literal.number(scale.denominator)) if scale.denominator != 1 else scaled


def _without_fractions(node: exp.Expr) -> tuple[exp.Expr, Fraction]:
    """Return what a value is a multiple of whose constants are on the grid of a power of two, and which multiple."""
    match node:
        case exp.Paren():
            found, scale = _without_fractions(node.this)
            return (exp.Paren(this=found) if isinstance(found, exp.Binary) else found), scale
        case exp.Neg():
            found, scale = _without_fractions(node.this)
            return exp.Neg(this=found), scale
        case exp.Literal() if not node.is_string:
            number = Fraction(exact("number", str(node.this)))
            odd = number.denominator // (number.denominator & -number.denominator)
            return _constant(number * odd), Fraction(1, odd)
        case exp.Add() | exp.Sub():
            return _without_fractions_of_sum(node)
        case _:
            return _without_fractions_of_product(node)


def _without_fractions_of_product(node: exp.Expr) -> tuple[exp.Expr, Fraction]:
    match node:
        case (
            exp.Mul(this=exp.Literal() as factor, expression=value)
            | exp.Mul(this=value, expression=exp.Literal() as factor)
        ) if not factor.is_string and _is_off_grid(Fraction(exact("number", str(factor.this)))):
            found, scale = _without_fractions(value)
            return found, scale * Fraction(exact("number", str(factor.this)))
        case exp.Mul():
            (left, one), (right, other) = (_without_fractions(side) for side in (node.this, node.expression))
            return exp.Mul(this=left, expression=right), one * other
        case exp.Div(expression=exp.Literal() as below) if not below.is_string and exact("number", str(below.this)):
            found, scale = _without_fractions(node.this)
            return found, scale / Fraction(exact("number", str(below.this)))
        case exp.Div(this=above, expression=below) if not is_constant_divisor(node):
            (left, one), (right, other) = _without_fractions(above), _without_fractions(below)
            return exp.Div(this=_bracketed(left), expression=_bracketed(right)), one / other
        case exp.Pow(expression=exp.Literal(this=("2" | "3" | "4") as raised, is_string=False)):
            found, scale = _without_fractions(node.this)
            return exp.Pow(this=_bracketed(found), expression=exp.Literal.number(raised)), scale ** int(raised)
        case _:
            return node, Fraction(1)


def _is_off_grid(number: Fraction) -> bool:
    """Say whether a constant is no multiple of a power of two."""
    return number.denominator.bit_count() > 1


def _without_fractions_of_sum(node: exp.Expr) -> tuple[exp.Expr, Fraction]:
    (left, one), (right, other) = (_without_fractions(side) for side in (node.this, node.expression))
    both = lcm(one.denominator, other.denominator)
    common = Fraction(gcd(int(one * both), int(other * both)), both)
    sides = [_times(side, scale / common) for side, scale in ((left, one), (right, other))]
    return type(node)(this=sides[0], expression=sides[1]), common


def _times(node: exp.Expr, factor: Fraction) -> exp.Expr:
    return node if factor == 1 else exp.Mul(this=_bracketed(node), expression=_constant(factor))


def _bracketed(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node) if isinstance(node, exp.Binary) else node


def _constant(number: Fraction) -> exp.Expr:
    """Return a constant on the grid of a power of two, as SQL writes it."""
    return exp.Literal.number(format_exact(number))


def scaled_weights(weights: dict[str, Fraction], times: Fraction | int) -> dict[str, Fraction]:
    """Return the factors of all answers, multiplied."""
    return {name: weight * times for name, weight in weights.items()}


def combined(kind: type[exp.Expr], left: AnswerFraction, right: AnswerFraction) -> AnswerFraction:
    """Return what two parts make; a product of two answers, or a quotient of quotients, is refused."""
    (above, below), (right_above, right_below) = left, right
    left_number, right_number = (_number_alone(part) for part in (left, right))
    if kind is exp.Mul and right_number is not None:
        return scaled_weights(above, right_number), below
    if kind is exp.Mul and left_number is not None:
        return scaled_weights(right_above, left_number), right_below
    if kind is exp.Div and right_number:
        return scaled_weights(above, 1 / right_number), below
    if kind is exp.Div and not below and not right_below and right_number is None:
        return above, right_above
    if kind in (exp.Add, exp.Sub):
        sign = 1 if kind is exp.Add else -1
        if right_number is not None and below:
            right_above, right_below = scaled_weights(below, right_number), below
        if left_number is not None and right_below:
            above, below = scaled_weights(right_below, left_number), right_below
        if below == right_below:
            names = dict.fromkeys([*above, *right_above])
            return {name: above.get(name, Fraction(0)) + sign * right_above.get(name, 0) for name in names}, below
    raise BadQuestionError(_ONLY_QUOTIENTS)
