"""Reads questions from SQL: SELECT statistics FROM one table WHERE ... GROUP BY ..., with aliases and WITH.

    select sex, count(*) as n, avg(age) from patients where age >= 18 group by sex

becomes one question for each statistic, the same that its builder makes in Python. Joins are conditions about the same
person: `person in (select person from visits where ...)`, `exists (...)`, `has(visits, ...)`.

FILTER (WHERE ...), SUM(CASE WHEN ... THEN 1 ELSE 0 END) and COUNT_IF are other spellings of statistics, of some of the
rows. They leave the groups of the SELECT as they are, so that they can stand beside others.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Final

from sqlglot import exp

from lapwing.queries.language.expressions import And, By, Condition, Literal, Name
from lapwing.queries.language.joined import Join
from lapwing.queries.language.sql.clauses import Given, at_place, called, group_nodes, grouping, is_same, items_of
from lapwing.queries.language.sql.nodes import check_all_read, identifier, literal, name_of, only, parsed
from lapwing.queries.language.sql.reader import Reader
from lapwing.queries.language.sql.refusals import catalogue_refusal, refusal
from lapwing.queries.limits import MOST_NAMED, MOST_STATISTICS
from lapwing.queries.planning.planner import Question
from lapwing.queries.planning.presentation import AS_IT_IS, Arrangement, LabelledRows, Quotient
from lapwing.queries.planning.windows import AnswerWindow, Place, PlaceInOrder
from lapwing.queries.statements.catalogue_statements import asks_for_catalogue
from lapwing.queries.statements.flattening import flatten, with_from
from lapwing.queries.statements.result_clauses import (
    AnswerColumn,
    AnswerFraction,
    combined,
    read_arrangement,
    scaled_inside,
    scaled_weights,
)
from lapwing.queries.statements.window_clauses import Find, is_of_answers, is_rank, read_rank, read_window
from lapwing.queries.statistics import (
    is_of_sample,
    is_root,
    is_square,
    is_statistic,
    read_filtered,
    read_statistic,
    statistic_names,
)
from lapwing.queries.statistics.statistic import Selected
from lapwing.queries.statistics.top import TopCategories, TopCounts
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import as_int, check_most, exact
from lapwing.vocabulary.frozen import frozen

EXAMPLE: Final = "select count(*) from visits"


@frozen(eq=False)
class Selection(Mapping[str, Question]):
    """What one SELECT asks: its questions by the names of their columns, all grouped by the same keys.

    `arrangement` says how the rows of the answer are shown, which changes nothing that is asked.
    """

    questions: dict[str, Question]
    key_names: tuple[str, ...]
    arrangement: Arrangement = AS_IT_IS

    def __getitem__(self, name: str) -> Question:
        return self.questions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)


def read_each(questions: Mapping[str, Question | str], **limits: int | None) -> dict[str, Question]:
    """Return questions by their names, of which some may be SELECTs of one statistic."""
    if not isinstance(questions, Mapping):
        raise BadQuestionError("questions to choose from come by their names; write {'young': count(...), ...}")
    read = dict[str, Question]()
    for name, one in questions.items():
        if not isinstance(one, str):
            read[name] = one
            continue
        columns = read_sql(one, **limits)
        if len(columns) != 1:
            raise BadQuestionError(f"{name!r} selects {len(columns)} statistics; select one, such as count(*)")
        read[name] = next(iter(columns.values()))
    return read


def read_sql(text: str, *, max_rows: int | None = None, max_groups: int | None = None) -> Selection:
    """Return the questions of a SELECT.

    Parameters
    ----------
    text : one SELECT
    max_rows : how many rows of one person count, for tables with many rows a person
    max_groups : in how many groups one person counts, for such tables

    >>> asked = read_sql("select sex, count(*) as n, avg(age) from patients where age >= 18 group by sex")
    >>> list(asked.questions), asked.key_names
    (['n', 'avg'], ('sex',))
    >>> read_sql("select max(age) from patients")
    Traceback (most recent call last):
    ...
    lapwing.errors.BadQuestionError: MAX is not part of the language; the extreme is one person's value; ...
    """
    tree = parsed(text)
    if isinstance(tree, exp.Union):
        return _read_union(tree, max_rows, max_groups)
    if not isinstance(tree, exp.Select):
        raise _no_select(tree)
    if asks_for_catalogue(tree):
        raise catalogue_refusal()
    tree = with_from(tree)
    flat = flatten(tree)
    select = _Select(_without_histogram(flat), text if flat is tree else "", max_rows, max_groups)
    selection = select.selection()
    check_all_read(select.tree)
    select.reader.check_all_used()
    return selection


def _without_histogram(tree: exp.Select) -> exp.Select:
    """Return SELECT HISTOGRAM(x) or HISTOGRAM(x, 10) as a count of rows by x, or by bins of it."""
    asked = [node.unalias() for node in tree.expressions]
    found = asked[0] if len(asked) == 1 else None
    if not isinstance(found, exp.Anonymous) or str(found.this).casefold() != "histogram" or tree.args.get("group"):
        return tree
    only(found, "this", "expressions")
    match found.expressions:
        case [value]:
            by = value
        case [value, exp.Literal() as number] if number.is_int:
            by = exp.Anonymous(this="bins", expressions=[value, number])
        case _:
            raise BadQuestionError(
                "the bins of a histogram are a number of them; write histogram(age, 10), or give their edges: select "
                "bins(age, 0, 18, 65, 120), count(*) ... group by 1"
            )
    key = exp.alias_(by, tree.expressions[0].alias) if tree.expressions[0].alias else by
    counted = tree.select(key, exp.Count(this=exp.Star()), append=False).group_by(by)
    return counted.where(exp.Not(this=exp.Is(this=value.copy(), expression=exp.null())))


class _Select:
    """One SELECT on its way to questions."""

    def __init__(
        self, tree: exp.Select, text: str, max_rows: int | None, max_groups: int | None, around: Reader | None = None
    ) -> None:
        if tree.args.get("distinct"):
            raise BadQuestionError(
                "SELECT DISTINCT would show which values people have; count them, with count(distinct column), or how "
                "many people have each: select column, count(*) ... group by column"
            )
        only(tree, "expressions", "from_", "joins", "where", "group", "having", "with_", "order", "limit", "offset")
        self.tree, self.windows = tree, dict[str, AnswerWindow]()
        self.roots, self.squares, self.samples = set[str](), set[str](), set[str]()
        self.beside = set[str]()
        self.items = items_of(tree, text)
        self.statistics = [item for item in self.items if is_statistic(item.node)]
        self.limits = max_rows, max_groups
        self.reader = _read_with(tree.args.get("with_")) if around is None else around.beside()
        rows, joins, condition = self.reader.chosen(tree)
        base = rows[0]
        self.reader.seen.append(rows)
        joins = tuple(
            replace(join, once=self.reader.leaves_one(And((join.said, condition)), join.alias)) for join in joins
        )
        self.group = group_nodes(tree.args.get("group"), self.items, self.statistics)
        self.selected = Selected(
            reader=self.reader,
            table=base.table,
            alias=base.alias,
            columns=base.columns,
            joins=joins,
            each=base.key if len(rows) == 1 else None,
            where=condition,
            by=tuple(grouping(self.reader.value, node) for node in self.group),
            max_rows=self.most_rows(max_rows, rows, joins, condition),
            max_groups=max_groups,
            once=not joins and self.reader.leaves_one(condition, base.alias),
        )

    def most_rows(
        self, asked: int | None, rows: Sequence[Given], joins: Sequence[Join], condition: Condition
    ) -> int | None:
        """Return how many rows of a person count, where it is said; a join says it of each of its tables."""
        if rows[0].key is not None and len(rows) == 1:
            return None
        return 1 if not joins and self.reader.leaves_one(condition, rows[0].alias) else asked

    def selection(self) -> Selection:
        told, questions, made = list[AnswerColumn](), dict[str, Question](), dict[str, Quotient]()
        ranks = dict[str, PlaceInOrder]()
        aliases = {item.alias for item in self.items if item.alias is not None}
        for item in self.items:
            places = [place for place, node in enumerate(self.group) if is_same(item.node, node)]
            if places:
                self.check_known(item.node)
                if item.node is not self.group[places[0]]:
                    grouping(self.reader.value, item.node)
                heading = item.heading or _renamed(item.node, self.selected.by[places[0]])
                told.append(AnswerColumn(item, places[0], heading or _made(item.node), heading))
            elif is_rank(item.node):
                name = _fresh(
                    item.alias or item.node.this.sql_name().lower(),
                    {*questions, *aliases, *made, *ranks} - {item.alias},
                )
                ranks[name] = read_rank(item.node, self.finding(questions, aliases))
                told.append(AnswerColumn(item, name, name))
            elif is_computed(item.node):
                called_so = item.alias or _called(item.node)
                name = _fresh(called_so, {*questions, *aliases, *made, *ranks} - {item.alias})
                made[name] = self.computed(item.node, questions, aliases)
                told.append(AnswerColumn(item, name, name))
            elif item in self.statistics:
                name = self.asked(item.node, questions, item.alias)
                told.append(AnswerColumn(item, name, name))
            else:
                raise _alone(item.node)
        keys = tuple(one.name for one in told if isinstance(one.by, int))
        if not questions:
            return self.top(keys)
        shown = tuple(one.by for one in told if isinstance(one.by, str))
        arrangement = read_arrangement(
            self.tree, self.reader, self.items, told, self.finding_also(questions, made, aliases)
        )
        columns = shown if made or ranks or questions.keys() - {*shown} else ()
        arrangement = replace(
            arrangement,
            roots=frozenset(self.roots),
            squares=frozenset(self.squares),
            samples=frozenset(self.samples),
            columns=columns,
            made=made,
            windows=self.windows,
            ranks=ranks,
            beside=frozenset(self.beside),
        )
        questions = dict(
            sorted(questions.items(), key=lambda one: one[0] in self.beside)
        )  # groups are those of the first
        if arrangement.having and not self.group:
            raise BadQuestionError(
                "HAVING is about groups, and there are none; compare the answer yourself, it is free"
            )
        return Selection(questions=_largest(questions, arrangement), key_names=keys, arrangement=arrangement)

    def labelled(
        self, questions: dict[str, Question], made: dict[str, Quotient], taken: Iterable[str]
    ) -> tuple[tuple[str | int, ...], tuple[str, ...]]:
        """Add what one SELECT of a union asks, and return its labels and the names of its numbers."""
        label, names = list[str | int](), list[str]()
        for item in self.items:
            if isinstance(item.node, exp.Literal):
                label.append(_label(item.node))
            elif is_computed(item.node):
                name = _fresh("ratio", {*questions, *made, *taken})
                made[name] = self.computed(item.node, questions, {*made, *taken})
                names.append(name)
            elif item in self.statistics:
                names.append(self.asked(item.node, questions, None, {*made, *taken}))
            else:
                raise _alone(item.node)
        return tuple(label), tuple(names)

    def asked(
        self,
        node: exp.Expr,
        questions: dict[str, Question],
        alias: str | None,
        taken: Iterable[str] = (),
        *,
        hidden: bool = False,
    ) -> str:
        """Add the question of a statistic, and return the name of its column."""
        check_most("statistics", len(questions) + 1, MOST_STATISTICS)
        name, question = read_filtered(self.selected, node)
        if hidden and isinstance(question, TopCategories):
            raise BadQuestionError(
                f"{node.sql('duckdb').lower()} is a category, and nothing is computed with it; select it by itself"
            )
        told = (is_root(node), is_square(node), is_of_sample(node))
        known = [
            known
            for known, other in questions.items()
            if other == question and told == (known in self.roots, known in self.squares, known in self.samples)
        ]
        if known and hidden:
            return known[0]
        name = _fresh(alias or name, {*questions, *taken})
        questions[name] = question
        if is_root(node):
            self.roots.add(name)
        if is_square(node):
            self.squares.add(name)
        if is_of_sample(node):
            self.samples.add(name)
        return name

    def computed(self, node: exp.Expr, questions: dict[str, Question], taken: Iterable[str]) -> Quotient:
        """Read arithmetic on statistics: a weighted sum of them, or one over another, or the root of that."""
        node, digits = _rounded(node)
        node, is_rooted = _under_root(node)
        above, below = self.fraction(node, questions, taken)
        if "" in above or "" in below or not above:
            raise BadQuestionError(
                "a constant beside answers has no noise to tell of; write a multiple of an answer, or one answer over "
                "another, such as 100.0 * count(*) filter (where smoker) / count(*)"
            )
        return Quotient(tuple(above.items()), tuple(below.items()), digits, is_rooted)

    def fraction(self, node: exp.Expr, questions: dict[str, Question], taken: Iterable[str]) -> AnswerFraction:
        """Return the weights of the statistics above and below; a constant has the name ""."""
        same = _as_arithmetic(node)
        if same is not None:
            return self.fraction(same, questions, taken)
        match node:
            case exp.Neg():
                only(node, "this")
                above, below = self.fraction(node.this, questions, taken)
                return scaled_weights(above, -1), below
            case exp.Subquery(this=exp.Select() as select):
                only(node, "this")
                return {self.asked_beside(select, questions, taken): Fraction(1)}, {}
            case exp.Literal() if not node.is_string:
                return {"": Fraction(exact("number", literal(node).value))}, {}
            case exp.Window() if is_of_answers(node) and self.group:
                window = read_window(node, self.finding(questions, taken))
                return {self.window_named(window): Fraction(1)}, {}
            case exp.Mul() | exp.Div() | exp.Add() | exp.Sub():
                only(node, "this", "expression")
                sides = (self.fraction(side, questions, taken) for side in (node.this, node.expression))
                return combined(type(node), *sides)
            case _:
                return {self.asked(node, questions, None, taken, hidden=True): Fraction(1)}, {}

    def window_named(self, window: AnswerWindow) -> str:
        """Return the name of a window, which is the same for the same one."""
        for name, known in self.windows.items():
            if known == window:
                return name
        name = f"window {len(self.windows) + 1}"
        self.windows[name] = window
        return name

    def finding(self, questions: dict[str, Question], taken: Iterable[str]) -> Find:
        """Return what looks up the key or the number that a window names, and asks for the number if nobody does."""

        def find(node: exp.Expr) -> tuple[Place, str]:
            item = at_place(node, self.items, "OVER") or called(node, self.items)
            node = node if item is None else item.node
            for place, group in enumerate(self.group):
                if is_same(node, group):
                    grouping(self.reader.value, node)
                    return place, node.name if isinstance(node, exp.Column) else _made(node)
            if not is_statistic(node) or is_computed(node) or node.find(exp.Window) is not None:
                raise BadQuestionError(
                    "a window names groups and statistics of the SELECT; write sum(count(*)) over (order by 1)"
                )
            name = self.asked(node, questions, None, taken, hidden=True)
            return name, name

        return find

    def finding_also(self, questions: dict[str, Question], made: dict[str, Quotient], taken: Iterable[str]) -> Find:
        """Return what looks up what only HAVING or ORDER BY name: it is asked for, and not shown."""
        find = self.finding(questions, taken)

        def find_also(node: exp.Expr) -> tuple[Place, str]:
            if not is_computed(node):
                return find(node)
            name = _fresh(_called(node), {*questions, *made, *taken})
            made[name] = self.computed(node, questions, taken)
            return name, name

        return find_also

    def asked_beside(self, select: exp.Select, questions: dict[str, Question], taken: Iterable[str]) -> str:
        """Add the question of another SELECT that gives one number, as in a share of all."""
        other = _Select(select, "", *self.limits, around=self.reader)
        if other.group or len(other.statistics) != 1 or len(other.items) != 1 or select.args.get("with_"):
            raise refusal(exp.Subquery())
        name = other.asked(other.items[0].node, questions, None, taken, hidden=True)
        if self.group:
            self.beside.add(name)
        self.roots |= other.roots
        self.squares |= other.squares
        self.samples |= other.samples
        return name

    def check_known(self, node: exp.Expr) -> None:
        """Refuse a column of a table that is not here, where it looks like one that is grouped by."""
        table = node.args.get("table") if isinstance(node, exp.Column) else None
        known = [self.selected.alias, *(join.alias for join in self.selected.joins)]
        if table is not None and identifier(table).casefold() not in {alias.casefold() for alias in known}:
            there = ", ".join(dict.fromkeys(known))
            raise BadQuestionError(f"there is no table {table.name!r} here; there is {there}")

    def top(self, keys: tuple[str, ...]) -> Selection:
        """Read select column ... group by column order by count(*) desc limit k."""
        order, limit = self.tree.args.get("order"), self.tree.args.get("limit")
        if order is None and limit is None:
            raise BadQuestionError("nothing is asked; select a statistic such as count(*)")
        for unread in ("having", "offset"):
            if self.tree.args.get(unread):
                raise refusal(self.tree.args[unread])
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
        return Selection(questions={keys[0]: top}, key_names=())


def _as_arithmetic(node: exp.Expr) -> exp.Expr | None:
    """Return what means the same of released numbers and is simpler, or None where nothing is."""
    match node:
        case exp.Paren(this=exp.Expr() as inner):
            only(node, "this")
            return inner
        case exp.Cast(this=exp.Expr() as inner) if node.args["to"].this in exp.DataType.NUMERIC_TYPES:
            only(node, "this", "to")
            for part in node.args["to"].walk():
                only(part, *part.args)
            return inner
        case exp.Nullif(this=exp.Expr() as inner, expression=exp.Literal(this="0")):
            only(node, "this", "expression")
            only(node.expression, "this")
            return inner
        case exp.Avg() | exp.Sum() if (scale := scaled_inside(node)) is not None:
            only(node, "this")
            return scale
        case exp.RegrSlope(this=y, expression=x):  # of the rows that have both
            only(node, "this", "expression")
            there = exp.Where(this=exp.Not(this=exp.Is(this=y.copy(), expression=exp.null())))
            around = exp.Filter(this=exp.VariancePop(this=x.copy()), expression=there)
            return exp.Div(this=exp.CovarPop(this=y, expression=x), expression=around)
        case _:
            return None


def is_computed(node: exp.Expr) -> bool:
    """Say whether a column of a SELECT computes with statistics."""
    kinds = exp.Paren | exp.Neg | exp.Mul | exp.Div | exp.Add | exp.Sub | exp.Round | exp.Sqrt | exp.Cast | exp.Nullif
    if isinstance(node, exp.RegrSlope) or is_of_answers(node):
        return True
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select):  # a number of its own
        return len(node.this.expressions) == 1 and is_statistic(node.this.expressions[0])
    return (isinstance(node, kinds) and is_statistic(node)) or scaled_inside(node) is not None


def _rounded(node: exp.Expr) -> tuple[exp.Expr, int | None]:
    """Return what is rounded, by ROUND or by a cast to fewer digits, and to how many; None if it is not rounded."""
    match node:
        case exp.Round():
            only(node, "this", "decimals")
            places = node.args.get("decimals")
            return node.this, 0 if places is None else as_int("digits", literal(places).value, least=0, most=12)
        case exp.Cast(to=exp.DataType(this=kind)) if kind in exp.DataType.INTEGER_TYPES:
            return node, 0
        case exp.Cast(to=exp.DataType(expressions=[_, exp.DataTypeParam(this=places)])):
            return node, as_int("digits", literal(places).value, least=0, most=12)
        case _:
            return node, None


def _called(node: exp.Expr) -> str:
    """Return what a column is called that computes with statistics and was given no name."""
    if isinstance(node, exp.Window):
        return str(node.this.key)
    return "root" if isinstance(node, exp.Sqrt) else "ratio"


def _under_root(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """Return what a square root is of, and whether there is one."""
    inner = _as_arithmetic(node)
    if inner is not None:
        return _under_root(inner)
    if isinstance(node, exp.Sqrt):
        only(node, "this")
        return node.this, True
    return node, False


def _read_union(tree: exp.Union, max_rows: int | None, max_groups: int | None) -> Selection:
    """Read SELECTs of numbers with labels, one below the other: select 'A' as cohort, count(*) ... union all ..."""
    selects = list[exp.Select]()
    _add_selects(tree, selects)
    check_most("SELECTs", len(selects), MOST_STATISTICS)
    reader = _read_with(tree.args.get("with_"))
    questions, made = dict[str, Question](), dict[str, Quotient]()
    roots, squares, samples = set[str](), set[str](), set[str]()
    rows = list[tuple[tuple[str | int, ...], tuple[str, ...]]]()
    items = items_of(selects[0])
    keys = [item for item in items if isinstance(item.node, exp.Literal)]
    numbers = [item for item in items if item not in keys]
    columns = tuple(item.alias or f"n{place + 1 if place else ''}" for place, item in enumerate(numbers))
    for select in selects:
        one = _Select(select, "", max_rows, max_groups, around=reader)
        label, names = one.labelled(questions, made, columns)
        rows.append((label, names))
        roots |= one.roots
        squares |= one.squares
        samples |= one.samples
    if len({(len(label), len(names)) for label, names in rows}) > 1 or not rows[0][0]:
        raise _no_select(tree)
    if len({label for label, _ in rows}) < len(rows):
        raise BadQuestionError("two of these SELECTs have the same label; give each one of its own, such as 'smokers'")
    key_names = tuple(item.alias or ("label" if not place else f"label_{place + 1}") for place, item in enumerate(keys))
    told = [
        *(
            AnswerColumn(item, place, name, name)
            for place, (item, name) in enumerate(zip(keys, key_names, strict=True))
        ),
        *(AnswerColumn(item, name, name) for item, name in zip(numbers, columns, strict=True)),
    ]
    arrangement = replace(
        read_arrangement(tree, reader, items, told),
        names=(),
        roots=frozenset(roots),
        squares=frozenset(squares),
        samples=frozenset(samples),
        made=made,
        labelled=LabelledRows(key_names, columns, tuple(rows)),
    )
    check_all_read(tree)
    reader.check_all_used()
    return Selection(questions=questions, key_names=key_names, arrangement=arrangement)


def _add_selects(node: exp.Expr, found: list[exp.Select]) -> None:
    """Add the SELECTs of a union, from the first to the last."""
    match node:
        case exp.Union():
            only(node, "this", "expression", "distinct", "with_", "order", "limit", "offset")
            if found and (node.args.get("order") or node.args.get("limit")):
                raise _no_select(node)
            _add_selects(node.this, found)
            _add_selects(node.expression, found)
        case exp.Subquery(this=exp.Expr() as inner) if not node.alias:
            only(node, "this")
            _add_selects(inner, found)
        case exp.Select() if not any(node.args.get(name) for name in ("group", "with_", "order", "limit", "having")):
            found.append(node)
        case _:
            raise _no_select(exp.Union())


def _no_select(tree: exp.Expr) -> BadQuestionError:
    """Return the refusal of a text that is no SELECT."""
    changes: dict[type[exp.Expr], str] = {
        exp.Update: "nothing here changes data",
        exp.Insert: "nothing here changes data",
        exp.Delete: "nothing here changes data",
        exp.Drop: "nothing here changes tables",
        exp.Create: "nothing here makes tables",
    }
    if asks_for_catalogue(tree):
        return catalogue_refusal()
    what = changes.get(type(tree), "this is not a SELECT")
    if isinstance(tree, exp.Union | exp.Intersect | exp.Except):
        return BadQuestionError(
            "two SELECTs are two questions; give each a label, as in select 'A' as cohort, count(*) from visits union "
            "all select 'B', count(*) from codes, or select people from both in FROM: select count(*) from (select "
            "person from visits union select person from codes)"
        )
    return BadQuestionError(f"{what}; write a SELECT: {EXAMPLE}")


def _largest(questions: dict[str, Question], arrangement: Arrangement) -> dict[str, Question]:
    """Return one count of which the largest groups are shown, and nothing else, as the question that asks for these."""
    computed = arrangement.windows or arrangement.ranks  # of all groups, and not only of the first
    if len(questions) != 1 or arrangement.first is None or arrangement.skipped or arrangement.having or computed:
        return questions
    ((name, counted),) = questions.items()
    if len(counted.columns_of(name, alone=True)) > 1:  # several quantiles, which have columns of their own
        return questions
    if len(arrangement.order) != 1 or arrangement.order[0].by != name or not arrangement.order[0].falling:
        return questions
    common = {field.name: getattr(counted, field.name) for field in fields(Question)}
    return {name: TopCounts(**common, k=arrangement.first, counted=counted)}


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
        given[name.casefold()] = reader.rows(named.this)
    return reader


def _label(node: exp.Literal) -> str | int:
    """Return a label of a row: a text or a whole number."""
    value = literal(node).value
    return value if isinstance(value, str | int) else str(node.this)


def _renamed(node: exp.Expr, by: By) -> str | None:
    """Return what WITH calls a value that is grouped by; None where it is a column by its own name."""
    if not isinstance(node, exp.Column):
        return None
    own = isinstance(by.column, Name) and by.column.name.casefold() == node.name.casefold()
    return None if own else node.name


def _made(node: exp.Expr) -> str:
    """Return the name of a group that was given none."""
    return node.name if isinstance(node, exp.Column) else f"{type(node).__name__.lower()}({node.name})"


def _alone(node: exp.Expr) -> BadQuestionError:
    """Return the refusal of what is selected and neither grouped by nor a statistic."""
    match node:
        case exp.Column() if not isinstance(node.this, exp.Star):
            return BadQuestionError(
                f"{node.name!r} stands alone in the SELECT, and rows of people are never shown; group by it, or ask "
                f"for a statistic of it, such as count(distinct {node.name})"
            )
        case exp.Star() | exp.Column():
            return BadQuestionError("rows of people are never shown; select a statistic such as count(*)")
        case exp.Literal() | exp.Boolean() | exp.Null():
            return BadQuestionError("a constant is no statistic; select a statistic such as count(*)")
        case _:
            return refusal(node, statistic_names())


def _fresh(name: str, taken: Iterable[str]) -> str:
    names = itertools.chain([name], (f"{name}_{i}" for i in itertools.count(2)))
    return next(candidate for candidate in names if candidate not in taken)
