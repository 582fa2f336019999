"""Reads a SELECT over the groups of another SELECT as one: all that it computes, it computes from released numbers.

    with by_kind as (select kind, count(*) as n from visits group by kind)
    select kind, n, n / sum(n) over () from by_kind where n >= 20

means select kind, count(*) as n, count(*) / sum(count(*)) over () from visits group by kind having count(*) >= 20.
"""

from collections.abc import Iterator, Mapping

from sqlglot import exp

from lapwing.queries.language.sql.clauses import group_nodes, items_of
from lapwing.queries.limits import MOST_NODES
from lapwing.queries.statistics import is_statistic
from lapwing.vocabulary.exact import check_most

_OUTSIDE = {"expressions", "from_", "where", "order", "limit", "offset", "with_"}
_ONE_NUMBER = {"expressions", "from_", "joins", "where"}
_INSIDE = {"expressions", "from_", "joins", "where", "group", "having"}


def flatten(tree: exp.Select) -> exp.Select:
    """Return a SELECT over the groups of another as one SELECT, and any other as it is."""
    inside = _groups_of(tree)
    if inside is None or _given(tree) - _OUTSIDE or _given(inside) - _INSIDE:
        return tree
    items = items_of(inside)
    columns = {(item.alias or item.node.name).casefold(): item.node for item in items}
    outer = list(_unfolded(tree, inside))
    own = {node.alias.casefold(): exp.column(node.args["alias"].copy()) for node in outer if node.alias}
    clauses = [(node, {**columns, **own} if clause == "order" else columns) for clause, node in _clauses(tree)]
    named = [*((node, columns) for node in outer), *clauses]
    if len(columns) < len(items) or not all(_can_be_told(node, known) for node, known in named):
        return tree
    nodes = group_nodes(inside.args["group"].copy(), items, [item for item in items if is_statistic(item.node)])
    flat = inside.copy()
    flat.set("expressions", [_renamed(node, columns) for node in outer])
    flat.set("group", exp.Group(expressions=[node.copy() for node in nodes]))
    for clause in ("order", "limit", "offset"):
        flat.set(clause, None if (node := tree.args.get(clause)) is None else _replaced(node, {**columns, **own}))
    if (where := tree.args.get("where")) is not None:
        said, having = _replaced(where.this, columns), inside.args.get("having")
        flat.set(
            "having", exp.Having(this=said if having is None else exp.And(this=having.this.copy(), expression=said))
        )
    if (others := _others(tree)) is not None:
        flat.set("with_", others)
    for number, _ in enumerate(flat.walk(), start=1):
        check_most("parts", number, MOST_NODES)
    return flat


def with_from(tree: exp.Select) -> exp.Select:
    """Return a SELECT of numbers that are SELECTs themselves as one about the table of the first of them.

    select (select count(*) from a where x) / (select count(*) from b) means select count(*) / (select count(*) from b)
    from a where x: neither sees a row of the other.
    """
    found = tree.find(exp.Subquery)
    inside = None if found is None else found.this
    if tree.args.get("from_") is not None or not isinstance(inside, exp.Select) or _given(inside) - _ONE_NUMBER:
        return tree
    if len(inside.expressions) != 1 or not is_statistic(inside.expressions[0]) or _given(tree) - {"expressions"}:
        return tree
    about = inside.copy()
    number = about.expressions[0].unalias()

    def taken(node: exp.Expr) -> exp.Expr:
        return exp.Paren(this=number) if node is found else node

    about.set("expressions", [_named_as(node.transform(taken, copy=False)) for node in tree.expressions])
    return about


def _named_as(node: exp.Expr) -> exp.Expr:
    """Return a column without the brackets that stood around all of it."""
    inner = node.unalias()
    while isinstance(inner, exp.Paren):
        inner = inner.this
    return exp.Alias(this=inner, alias=node.args["alias"]) if isinstance(node, exp.Alias) else inner


def _clauses(tree: exp.Select) -> list[tuple[str, exp.Expr]]:
    return [(clause, node) for clause in ("where", "order") if (node := tree.args.get(clause)) is not None]


def _given(node: exp.Expr) -> set[str]:
    return {name for name, argument in node.args.items() if argument not in (None, False, [], "")}


def _groups_of(tree: exp.Select) -> exp.Select | None:
    """Return the SELECT with groups that another one is over; None if it is over something else."""
    from_, found = tree.args.get("from_"), None
    match None if from_ is None else from_.this:
        case exp.Subquery(this=select):
            found = select
        case exp.Table() as table if not table.args.get("db"):
            named = [one for one in _named(tree) if one.alias.casefold() == table.name.casefold()]
            found = named[0].this if named else None
        case _:
            return None
    if not isinstance(found, exp.Select):
        return None
    has_numbers = found.args.get("group") and any(map(is_statistic, found.expressions))
    return found if has_numbers else None


def _named(tree: exp.Select) -> list[exp.Expr]:
    with_ = tree.args.get("with_")
    return [] if with_ is None else with_.expressions


def _others(tree: exp.Select) -> exp.Expr | None:
    """Return what WITH names besides the SELECT that is read as part of the other; None if it names nothing."""
    table = tree.args["from_"].this
    over = table.name.casefold() if isinstance(table, exp.Table) else None
    others = [one.copy() for one in _named(tree) if one.alias.casefold() != over]
    return exp.With(expressions=others) if others else None


def _unfolded(tree: exp.Select, inside: exp.Select) -> Iterator[exp.Expr]:
    """Go through the columns; a star is all of those of the SELECT inside."""
    for node in tree.expressions:
        if isinstance(node, exp.Star) and not _given(node):
            for each in inside.expressions:
                yield exp.column(exp.to_identifier(each.alias or each.name, quoted=True))
        else:
            yield node


def _can_be_told(node: exp.Expr, columns: Mapping[str, exp.Expr]) -> bool:
    """Say whether a column names groups and numbers of the SELECT inside, and asks for no statistic of its own."""
    known = all(column.name.casefold() in columns for column in node.find_all(exp.Column))
    own = [part for part in node.find_all(exp.AggFunc) if part.find_ancestor(exp.Window) is None]
    return known and not own and node.find(exp.Subquery) is None


def _renamed(node: exp.Expr, columns: Mapping[str, exp.Expr]) -> exp.Expr:
    name = node.args.get("alias") or (node.this if isinstance(node, exp.Column) else None)
    told = _replaced(node.unalias(), columns)
    return told if name is None else exp.Alias(this=told, alias=name.copy())


def _replaced(node: exp.Expr, columns: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return a copy in which columns of the SELECT inside are what they are there."""

    def inside(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, exp.Column):
            return part
        found = columns[part.name.casefold()].copy()
        return exp.Paren(this=found) if isinstance(found, exp.Binary) else found

    return node.copy().transform(inside)
