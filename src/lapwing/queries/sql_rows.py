"""Reads FROM and WITH: tables, joins, and what a SELECT makes of them: rows, people, or one row a person with numbers.

    with er as (select person_id, count(*) as n from visits where kind = 'ER' group by person_id)
    select avg(n) from er

A SELECT in FROM or WITH gives a table to the one around it. `Given` says what it gives: some rows of a table and names
for what is computed from them. Which tables a person has many rows in only the catalogue knows, so joins are kept as
they are written (`Join`) for `joins` to give them a meaning.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from sqlglot import exp

from lapwing.queries.expressions import (
    And,
    Compare,
    Condition,
    Missing,
    Name,
    Not,
    Or,
    Value,
)
from lapwing.queries.joined import Has, Join, Joined, Link, PerPerson, ScopedCondition, joined_by_and, names_in
from lapwing.queries.sql_clauses import EVERYBODY, Given, SelectItem, at_place, items_of, place_of_row
from lapwing.queries.sql_nodes import chain, identifier, is_count, name_of, only, times
from lapwing.queries.sql_refusals import refusal
from lapwing.queries.sql_values import ValueReader
from lapwing.vocabulary.errors import BadQuestionError

_ONE_A_PERSON = (
    "a SELECT in FROM or WITH chooses rows and columns, or makes one row a person; write with t as (select * from "
    "visits where ...), or select person, count(*) as n from visits group by person"
)
_NAMED_NUMBERS = (
    "of one person's rows there are count(*), count(distinct column), min(day) and max(day), each with a name; write "
    "select person, count(*) as n from visits group by person"
)
_PER_PERSON_BESIDE = (
    "beside a table of people, rows of one other table are counted, with conditions about them in ON; write select "
    "p.person, count(v.person) as n from people p left join visits v on v.person = p.person group by p.person"
)
_SIDES = {("", ""), ("", "INNER"), ("", "CROSS"), ("LEFT", ""), ("LEFT", "OUTER")}


class RowsReader(ValueReader):
    """Reads what FROM and WITH name.

    `given` holds what WITH gave a name to, and `used` what was named; `seen` are the rows that may be named where it
    reads, the nearest last, and `person` those that are grouped by person there. `firsts` are the conditions that leave
    one row a person.
    """

    given: Mapping[str, Given]
    used: set[str]
    seen: list[Sequence[Given]]
    person: Given | None
    firsts: list[tuple[str | None, Condition]]

    def leaves_one(self, condition: Condition, alias: str) -> bool:
        """Say whether one of the rows of a person that are called `alias` is left: the first of them."""
        if isinstance(condition, ScopedCondition):
            return self.leaves_one(condition.where, condition.alias)
        if isinstance(condition, And):
            return any(self.leaves_one(part, alias) for part in condition.parts)
        return any(condition is first and row == alias for row, first in self.firsts)

    @abstractmethod
    def person_in(self, outer: Name, node: exp.Expr) -> Condition:
        """Return that the person of a row is one whom a SELECT gives."""

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

    def computed(self, node: exp.Expr) -> Value:
        """Return what is neither a name nor a constant; where rows are grouped by person, a number of theirs."""
        if self.person is None or not isinstance(node, exp.AggFunc):
            return super().computed(node)
        rows, (function, column) = self.person, per_person(node)
        link = (rows.key, Name(rows.key.name)) if rows.key is not None else (Name(""), Name(""))
        return PerPerson(function, rows.table, column, rows.where, rows.alias, link, rows.columns)

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
            if node.args.get("method"):
                raise BadQuestionError(
                    f"{node.args['method']} JOIN is not part of the language; write what joins: on p.person = v.person"
                )
            only(node, "this", "on", "using", "side", "kind")
            side, kind = ((node.args.get(name) or "").upper() for name in ("side", "kind"))
            if (side, kind) not in _SIDES:
                raise BadQuestionError(
                    f"{side or kind} JOIN is not part of the language; write JOIN or LEFT JOIN, on the person of both"
                )
            rows.append(self._source(node.this))
            _check_aliases(rows)
            on = self._on(node, rows)
            joins.append(rows[-1].join(on, left=side == "LEFT"))
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
            if item.alias is None or not isinstance(item.node, exp.AggFunc):
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
            if item.alias is None or not isinstance(item.node, exp.AggFunc):
                raise BadQuestionError(_NAMED_NUMBERS)
            values[item.alias.casefold()] = _number_beside(item.node, key, other)
        there = [] if other.left else [_number_of_rows(other, 1)]
        one_row = Joined((replace(first, single=True),), And((where, *there)))
        said = ScopedCondition(one_row, first.alias, first.columns)
        chosen = (key.name, *(name.name for name in others))
        return Given(first.table, first.alias, said, chosen, key=Name(key.name), values=values, inside=first.alias)

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


def _is_star_of(node: exp.Expr, rows: list[Given]) -> bool:
    """Say whether a node is all columns of one of the rows: v.*."""
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Star):
        return False
    only(node, "this", "table")
    return identifier(node.args.get("table")).casefold() in {given.alias.casefold() for given in rows}


def _grouped_by(select: exp.Select, items: list[SelectItem]) -> list[exp.Expr]:
    """Return the columns that GROUP BY names: the person's, and others that a person has one of."""
    group = select.args["group"]
    only(group, "expressions")
    nodes = [item.node if (item := at_place(node, items, "GROUP BY")) else node for node in group.expressions]
    if not nodes or not all(isinstance(node, exp.Column) for node in nodes):
        raise BadQuestionError(
            "rows are grouped by person here; write select person, count(*) as n from visits group by person"
        )
    return nodes


def _number_of_rows(other: Join, least: int) -> Condition:
    return Has(other.table, And((other.on, other.said)), least, other.alias, Link.IN_WHERE, other.columns)


def _number_beside(node: exp.Expr, key: Name, other: Join) -> Value:
    """Return a number of one person's rows of a table that is joined to theirs."""
    said: list[Condition] = [other.on, other.said]
    column: Name | None
    match node:
        case exp.Count(this=exp.Column() as counted):
            only(node, "this", "big_int")
            function, column = "count", name_of(counted)
            said += [] if column.name.casefold() == key.name.casefold() else [Not(Missing(column))]
        case _:
            function, column = per_person(node) if not (is_count(node) and other.left) else ("", key)
    if column is not None and column.table != other.alias:
        raise BadQuestionError(_PER_PERSON_BESIDE)
    of = None if function == "count" else column
    return PerPerson(function, other.table, of, And(tuple(said)), other.alias, Link.IN_WHERE, other.columns)


def per_person(node: exp.Expr) -> tuple[str, Name | None]:
    """Return what a statistic of one person's rows makes: a number or a day, and of which column."""
    match node:
        case exp.Count() if is_count(node):
            return "count", None
        case exp.Count(this=exp.Distinct(expressions=[one])):
            only(node, "this", "big_int")
            only(node.this, "expressions")
            return "distinct", name_of(one)
        case exp.Min() | exp.Max():
            only(node, "this")
            return "first" if isinstance(node, exp.Min) else "last", name_of(node.this)
        case _:
            raise BadQuestionError(
                "of one person's rows there are count(*), count(distinct column), min(day) and max(day); for the mean "
                "of people's sums write sum(cost) / count(distinct person), and to compare with an average of "
                "everybody ask for it first and write the number"
            )


def _check_aliases(rows: list[Given]) -> None:
    new = rows[-1].alias.casefold()
    if any(given.alias.casefold() == new for given in rows[:-1]):
        raise BadQuestionError(f"two tables are called {rows[-1].alias!r}; give each a name: visits v join codes c")
