"""Reads questions from SQL: SELECT statistics FROM one table WHERE ... GROUP BY ..., with aliases and WITH.

    select sex, count(*) as n, avg(age) from patients where age >= 18 group by sex

becomes one question for each statistic, the same that its builder makes in Python. Joins are conditions about the same
person: `person in (select person from visits where ...)`, `exists (...)`, `has(visits, ...)`.
"""

import itertools
from collections.abc import Container
from dataclasses import dataclass

from sqlglot import exp

from lapwing.queries.expressions import By, DatePart, Literal, Name, ScopedCondition
from lapwing.queries.limits import MOST_NAMED, MOST_STATISTICS
from lapwing.queries.planning import Question
from lapwing.queries.questions import Selected
from lapwing.queries.sql_conditions import Given, Reader
from lapwing.queries.sql_nodes import check_all_read, identifier, name_of, only, parsed, refusal
from lapwing.queries.statistics import read_statistic
from lapwing.queries.statistics.top import TopCategories
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import as_int, check_most, exact


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Selection:
    """What one SELECT asks: its questions by the names of their columns, all grouped by the same `keys`."""

    questions: dict[str, Question]
    keys: tuple[str, ...]


def read_sql(text: str, *, max_rows: int | None = None, max_groups: int | None = None) -> Selection:
    """Return the questions of a SELECT.

    Parameters
    ----------
    text : one SELECT
    max_rows : how many rows of one person count, for tables with many rows a person
    max_groups : in how many groups one person counts, for such tables

    >>> asked = read_sql("select sex, count(*) as n, avg(age) from patients where age >= 18 group by sex")
    >>> list(asked.questions), asked.keys
    (['n', 'avg'], ('sex',))
    >>> read_sql("select max(age) from patients")
    Traceback (most recent call last):
    ...
    lapwing.errors.BadQuestionError: MAX is not part of the language; the extreme is one person's value; ...
    """
    tree = parsed(text)
    if not isinstance(tree, exp.Select):
        raise refusal(tree)
    select = _Select(tree, max_rows, max_groups)
    selection = select.selection()
    check_all_read(tree)
    select.reader.check_all_used()
    return selection


class _Select:
    """One SELECT on its way to questions."""

    def __init__(self, tree: exp.Select, max_rows: int | None, max_groups: int | None) -> None:
        only(tree, "expressions", "from_", "where", "group", "with_", "order", "limit")
        self.tree = tree
        self.reader = _read_with(tree.args.get("with_"))
        rows, condition = self.reader.rows_and_where(tree)
        group = tree.args.get("group")
        if group is not None:
            only(group, "expressions")
        self.group: list[exp.Expr] = [] if group is None else [self.unnamed(node) for node in group.expressions]
        self.selected = Selected(
            reader=self.reader,
            table=rows.table,
            alias=rows.alias,
            columns=rows.columns,
            where=condition,
            by=tuple(self.grouping(node) for node in self.group),
            max_rows=max_rows,
            max_groups=max_groups,
        )

    def unnamed(self, node: exp.Expr) -> exp.Expr:
        """Return what a group is made by, where GROUP BY names years or bins as the SELECT does."""
        for selected in self.tree.expressions:
            alias, inner = _unaliased(selected)
            made = isinstance(inner, exp.Year | exp.Extract | exp.Anonymous)  # what else is named may be a statistic
            if alias is not None and made and isinstance(node, exp.Column):
                named = name_of(node)
                if named.table is None and named.name.casefold() == alias.casefold():
                    return inner
        return node

    def selection(self) -> Selection:
        keys, questions = list[str](), dict[str, Question]()
        for node in self.tree.expressions:
            alias, inner = _unaliased(node)
            if inner in self.group:
                self.grouping(inner)
                made = inner.name if isinstance(inner, exp.Column) else f"{type(inner).__name__.lower()}({inner.name})"
                keys.append(alias or made)
            elif isinstance(inner, exp.Column):
                raise BadQuestionError(
                    f"{inner.name!r} stands alone in the SELECT; group by it, or ask for a statistic of it"
                )
            else:
                check_most("statistics", len(questions) + 1, MOST_STATISTICS)
                name, question = read_statistic(self.selected, inner)
                questions[_fresh(alias or name, questions)] = question
        if self.tree.args.get("order") or self.tree.args.get("limit"):
            return self.top(keys, questions)
        if not questions:
            raise BadQuestionError("nothing is asked; select a statistic such as count(*)")
        return Selection(questions=questions, keys=tuple(keys))

    def top(self, keys: list[str], questions: dict[str, Question]) -> Selection:
        """Read select column ... group by column order by count(*) desc limit k."""
        order, limit = self.tree.args.get("order"), self.tree.args.get("limit")
        if questions:
            raise BadQuestionError(
                "an answer is either counts of all groups, without ORDER BY and LIMIT, or which groups are on top, "
                "without their counts; write select kind from visits group by kind order by count(*) desc limit 5"
            )
        column = self.group[0] if len(self.group) == 1 else None
        ordered = order.expressions[0] if order is not None and len(order.expressions) == 1 else None
        if order is None or limit is None or ordered is None or not isinstance(column, exp.Column) or not keys:
            raise refusal(order or limit)
        only(order, "expressions")
        only(ordered, "this", "desc", "nulls_first")
        only(limit, "expression")
        counted = ordered.this.this if isinstance(ordered.this, exp.Count) else None
        if not isinstance(counted, exp.Star | exp.Distinct) or not ordered.args.get("desc"):
            raise refusal(order)
        _, ranked_by = read_statistic(self.selected, ordered.this)
        most = self.reader.value(limit.expression)
        k = as_int("limit", exact("number", most.value if isinstance(most, Literal) else most))
        top = TopCategories(**{**self.selected.common, "by": ()}, column=name_of(column), k=k, ranked_by=ranked_by)
        return Selection(questions={keys[0]: top}, keys=())

    def grouping(self, node: exp.Expr) -> By:
        """Return what GROUP BY names: a column, the year of one, or bins(column, edge, edge, ...)."""
        match node:
            case exp.Column():
                return By(column=name_of(node))
            case exp.Year() | exp.Extract():
                year = self.reader.value(node)
                if isinstance(year, DatePart):
                    return By(column=year)
            case exp.Anonymous() if str(node.this).casefold() == "bins" and len(node.expressions) > 1:
                only(node, "this", "expressions")
                column, *edges = (self.reader.value(each) for each in node.expressions)
                constants = tuple(edge for edge in edges if isinstance(edge, Literal))
                if isinstance(column, Name) and len(constants) == len(edges):
                    return By(column=column, edges=constants)
            case _:
                pass
        raise BadQuestionError(
            "groups are made by columns, and the edges of bins are constants; write group by column, year(day), or "
            "bins(column, 0, 18, 65, 120)"
        )


def _read_with(with_: exp.Expr | None) -> Reader:
    """Return a reader that knows what WITH names: rows of one table or of an earlier name, with a condition."""
    given: dict[str, Given] = {}
    reader = Reader(given)
    if with_ is None:
        return reader
    only(with_, "expressions")
    check_most("names in its WITH", len(with_.expressions), MOST_NAMED)
    for named in with_.expressions:
        only(named, "this", "alias")
        only(named.args["alias"], "this")
        name = identifier(named.args["alias"].this)
        if name.casefold() in given:
            raise BadQuestionError(f"WITH names {name!r} twice; give each a name of its own")
        given[name.casefold()] = _named_rows(reader, named.this)
    return reader


def _named_rows(reader: Reader, select: exp.Expr) -> Given:
    """Return what one SELECT of a WITH gives: rows, their columns or some of them, and a condition about them alone."""
    if not isinstance(select, exp.Select):
        raise refusal(select)
    only(select, "expressions", "from_", "where")
    rows, condition = reader.rows_and_where(select)
    columns, everything = list[str](), False
    for column in select.expressions:
        match column:
            case exp.Star():
                only(column)
                everything = True
            case exp.Column() if not isinstance(column.this, exp.Star):
                columns.append(rows.own(column).name)
            case _:
                raise BadQuestionError(
                    "WITH may only choose rows and columns; write with some as (select * from visits where ...)"
                )
    chosen = rows.columns if everything else tuple(columns)
    return Given(rows.table, rows.alias, ScopedCondition(condition, rows.alias, rows.columns), chosen)


def _unaliased(node: exp.Expr) -> tuple[str | None, exp.Expr]:
    if not isinstance(node, exp.Alias):
        return None, node
    only(node, "this", "alias")
    return identifier(node.args["alias"]), node.this


def _fresh(name: str, taken: Container[str]) -> str:
    names = itertools.chain([name], (f"{name}_{i}" for i in itertools.count(2)))
    return next(candidate for candidate in names if candidate not in taken)
