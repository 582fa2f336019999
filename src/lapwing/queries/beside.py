"""What is said about rows beside one another, as a condition about one of them.

    visits v join codes c on c.pid = v.pid where v.kind = 'ER' and c.day > v.day

says of a row of visits `kind = 'ER' and has(codes, codes.day > visits.day)`. Each part stands as far outside as it can
be read. An OR about several tables is one case or the other, and a row of a LEFT JOIN that must be missing is
`not has(...)`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final

from lapwing.queries.catalogue import Population, RowsPerPerson, Table
from lapwing.queries.column import written_name
from lapwing.queries.expressions import (
    Age,
    And,
    Arithmetic,
    CastTo,
    Compare,
    Condition,
    DatePart,
    DateTrunc,
    Days,
    Literal,
    Matches,
    Missing,
    Name,
    Not,
    Now,
    NumberOf,
    OneOf,
    Or,
    Step,
    TextOf,
    Truth,
    Value,
)
from lapwing.queries.joined import Has, Join, Joined, Link, PerPerson, ScopedCondition, changed, joined_by_and
from lapwing.queries.scope import Scope
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import check_most
from lapwing.vocabulary.frozen import frozen

_MOST_CASES = 50
ROWS: Final = frozenset({"table", "alias", "columns", "joins", "where", "kept", "max_rows", "max_groups"})
"""What a question says about which rows there are; the rest is what it asks of them."""


def beside(joins: Sequence[Join], where: Condition, population: Population) -> Condition:
    """Return that the row of the first of `joins` has rows of the others beside it for which `where` is true."""
    found = Joins(joins, where, population)
    return found.said_of(found.sides[0])


@frozen(kw_only=False)
class Side:
    """One table of a join."""

    alias: str
    table: Table
    key: str
    join: Join

    @property
    def single(self) -> bool:
        """Whether a person has at most one row here."""
        return self.has_columns or self.join.key is not None

    @property
    def has_columns(self) -> bool:
        """Whether a person has one row here whose columns can be looked up."""
        return self.table.rows is RowsPerPerson.ONE_A_PERSON and not self.join.repeats

    def owns(self, name: Name) -> bool:
        """Say whether a name may be one of its columns."""
        if name.table is not None:
            return name.table.casefold() == self.alias
        columns = {*(column.name.casefold() for column in self.table.columns), self.key.casefold()}
        chosen = columns if self.join.columns is None else {column.casefold() for column in self.join.columns}
        return name.name.casefold() in columns & chosen

    def is_key(self, name: Name) -> bool:
        """Say whether a column of it is the person key."""
        return name.name.casefold() == self.key.casefold()

    def always_has(self, name: Name) -> bool:
        """Say whether every row has this column: it is missing only where a LEFT JOIN finds no row."""
        return self.is_key(name) or not self.table.column(name.name).nullable

    def is_row_key(self, name: Name) -> bool:
        """Say whether a column of it tells the rows of a person apart."""
        return self.table.row_key is not None and name.name.casefold() == self.table.row_key.casefold()


class Joins:
    """The tables of a FROM, and what is said about them together."""

    def __init__(self, joins: Sequence[Join], where: Condition, population: Population) -> None:
        self.population = population
        self.sides = [self._side(join) for join in joins]
        self.tied: list[set[str]] = [{side.alias} for side in self.sides]
        self.by_row_key: set[str] = set()
        self.counted: Name | None = None
        self.left = {side.alias for side in self.sides if side.join.left}
        self.on = {side.alias: self._untied(side.join.on, side) for side in self.sides}
        pool = self._untied(where, None)
        self.left -= self._there(pool)
        self.pool = [
            *(part for side in self.sides if side.alias not in self.left for part in self.on[side.alias]),
            *pool,
        ]
        if len(self.tied) > 1:
            one, other = (self.called(min(group)) for group in self.tied[:2])
            keys = " = ".join(f"{side.join.alias}.{written_name(side.key)}" for side in (one, other))
            raise BadQuestionError(
                f"{one.join.alias} and {other.join.alias} are joined by nobody; rows of the same person belong "
                f"together, write on {keys}"
            )

    def _side(self, join: Join) -> Side:
        table = self.population.table(join.table) if join.table else everybody(self.population)
        key = self.population.person_key(table)
        if join.key is not None and join.key.name.casefold() != key.casefold():
            raise BadQuestionError(
                f"{join.alias} has one row for each {join.key.name!r}, and not one a person; group by {key}"
            )
        side = Side(join.alias.casefold(), table, key, join)
        if join.single and not side.single:
            raise BadQuestionError(
                f"a person has many rows in {table.name}, and beside each of them all of the others would be counted; "
                "group one table by person, or begin with a table that has one row a person"
            )
        return side

    def _untied(self, said: Condition, of: Side | None) -> list[Condition]:
        """Return the parts of an ON or of WHERE but for those that tie rows to a person.

        Whatever but its own ON says that a row of a LEFT JOIN is somebody's, it says that there is one.
        """
        rest = list[Condition]()
        for part in conjuncts(said):
            beyond = (self.mentioned(part) & self.left) - ({of.alias} if of is not None else set())
            if of is not None and of.alias in self.left and beyond:
                raise BadQuestionError(
                    f"{of.join.alias} is joined to rows that may be missing; join it to a table that is joined with "
                    "JOIN, by the person of both"
                )
            if self._ties(part):
                self.left -= beyond
            else:
                rest.append(part)
        return rest

    def called(self, alias: str) -> Side:
        """Return the table of this name."""
        return next(side for side in self.sides if side.alias == alias)

    def owner(self, name: Name) -> Side | None:
        """Return the table whose column a name is; None for a name of rows around."""
        owners = [side for side in self.sides if side.owns(name)]
        if len(owners) > 1 and not all(side.is_key(name) for side in owners):
            there = " or ".join(f"{side.join.alias}.{name.name}" for side in owners)
            raise BadQuestionError(f"{name.name!r} is a column of several tables; write {there}")
        return owners[0] if owners else None

    def _ties(self, part: Condition) -> bool:
        """Say whether a part only says that two rows are the same person's; remember whom it ties together."""
        match part:
            case Compare("=", Name() as one, Name() as other):
                pass
            case _:
                return False
        left, right = self.owner(one), self.owner(other)
        if left is None or right is None or left is right:
            return False
        if left.is_key(one) is not right.is_key(other):
            return False
        for side, name in ((left, one), (right, other)):
            if side.is_row_key(name):
                self.by_row_key.add(side.alias)
        met = [group for group in self.tied if group & {left.alias, right.alias}]
        if left.is_key(one) or self.by_row_key & {left.alias, right.alias}:
            self.tied = [set().union(*met), *(group for group in self.tied if group not in met)]
        return left.is_key(one)

    def mentioned(self, part: object, inside: tuple[Side, ...] = ()) -> frozenset[str]:
        """Return the tables whose columns are named."""
        match part:
            case Name() if part is self.counted:
                return frozenset()  # people are counted, whichever of their rows names them
            case Name():
                hidden = any(side.owns(part) for side in inside)
                owner = None if hidden else self.owner(part)
                return frozenset() if owner is None else frozenset({owner.alias})
            case ScopedCondition():
                return frozenset()
            case Has() | PerPerson():
                table = self.population.table(part.table)
                alias = (part.alias or table.name).casefold()
                rows = Side(alias, table, self.population.person_key(table), Join(part.table, alias, And(())))
                outer = part.link[1] if isinstance(part.link, tuple) else ()
                return self.mentioned(part.where, (*inside, rows)) | self.mentioned(outer, inside)
            case tuple():
                return frozenset().union(*(self.mentioned(each, inside) for each in part))
            case _ if is_dataclass(part):
                # Of a question inside of another, which is about the same rows, only what it asks of them is new.
                held = [one.name for one in fields(part) if not (hasattr(part, "joins") and one.name in ROWS)]
                return self.mentioned(tuple(getattr(part, name) for name in held), inside)
            case _:
                return frozenset()

    def said_of(self, base: Side) -> Condition:
        """Return what is said about a row of `base`."""
        return And((base.join.said, *self.cases(base, tuple(self.pool))))

    def cases(self, base: Side, pool: tuple[Condition, ...], cases: int = 1) -> list[Condition]:
        """Return the conditions about a row of `base`; an OR about several tables is one or the other case."""
        parts = tuple(part for said in pool for part in conjuncts(said))
        for part in parts:
            split = self._split(part, base, parts)
            if split:
                check_most("cases of its OR over several tables", cases * len(split), _MOST_CASES)
                rest = tuple(other for other in parts if other is not part)
                cases *= len(split)
                return [Or(tuple(And(tuple(self.cases(base, (*rest, one), cases))) for one in split))]
        return self._conditions(base, parts)

    def _split(self, part: Condition, base: Side, parts: tuple[Condition, ...]) -> tuple[Condition, ...]:
        beyond = self.mentioned(part) - {base.alias}
        match part:
            case Or(parts) if beyond and len(self.mentioned(part)) > 1:
                return parts
            case Or(parts) if beyond & self.left:
                return parts
            case Missing(Name() as name) if beyond & (self.left - self._there(parts)) and not self.called(
                min(beyond)
            ).always_has(name):
                gone = Missing(Name(self.called(min(beyond)).key, self.called(min(beyond)).join.alias))
                return gone, And((Not(gone), part))
            case _:
                return ()

    def _there(self, parts: Iterable[Condition]) -> set[str]:
        """Return the tables of which the parts say that there is a row: its person is not missing."""
        return {side.alias for part in parts if (side := self._of_presence(part)) is not None}

    def _of_presence(self, part: Condition) -> Side | None:
        match part:
            case Not(Missing(Name() as name)):
                side = self.owner(name)
                return side if side is not None and side.always_has(name) else None
            case _:
                return None

    def _conditions(self, base: Side, pool: tuple[Condition, ...]) -> list[Condition]:
        missing = [alias for alias in self.left if any(self.is_gone(part, alias) for part in pool)]
        there = self._there(pool)
        parts = [
            part
            for part in pool
            if self._of_presence(part) is None and not any(self.is_gone(part, alias) for alias in self.left)
        ]
        unsure = self.left - there
        for part in parts:
            if self.mentioned(part) & unsure and not _needs_values(part):
                raise BadQuestionError(
                    "this condition may hold for rows that a LEFT JOIN does not find; write JOIN, or say with has(...) "
                    "or not has(...) which rows there must be"
                )
        looked_up = [self._looked_up(part, base) for part in parts]
        needed = there.union(*(self.mentioned(part) for part in looked_up))
        inner = [
            side for side in self.sides if side is not base and (side.alias not in self.left or side.alias in needed)
        ]
        if any(side.alias in missing for side in inner):
            return [Truth(Literal(value=False))]  # a row of a LEFT JOIN is not both missing and there
        for side in inner:
            if side.alias in self.left:
                looked_up += [self._looked_up(part, base) for part in self.on[side.alias]]
        gone = [
            Not(_has(self.called(alias), [self._looked_up(part, base) for part in self.on[alias]])) for alias in missing
        ]
        return [*self._nested(inner, looked_up, {base.alias}), *gone]

    def is_gone(self, part: Condition, alias: str) -> bool:
        """Say whether a part says that there is no row of a LEFT JOIN."""
        match part:
            case Missing(Name() as name):
                owner = self.owner(name)
                return owner is not None and owner.alias == alias and owner.always_has(name)
            case _:
                return False

    def _looked_up(self, part: Condition, base: Side) -> Condition:
        """Return a condition about several tables with the columns of those with one row a person looked up."""
        singles = {
            side.alias
            for side in self.sides
            if side is not base and side.alias in self.mentioned(part) and side.has_columns
        }
        if not singles or len(self.mentioned(part)) == 1:
            return part

        def seen(name: Name) -> Name:
            owner = self.owner(name)
            return name if owner is None or owner.alias not in singles else Name(name.name, owner.table.name)

        def inside(rows: Any) -> Callable[[Name], Name]:
            table = self.population.table(rows.table)
            columns = {*(column.name.casefold() for column in table.columns)}
            return lambda name: name if name.table is None and name.name.casefold() in columns else seen(name)

        return changed(part, seen, inside)

    def _nested(self, sides: Sequence[Side], pool: Sequence[Condition], around: set[str]) -> list[Condition]:
        """Return `pool` and that rows of all `sides` are there, each condition as far outside as it can be read."""
        inside = {side.alias for side in sides}
        here = [part for part in pool if not self.mentioned(part) & inside]
        rest = [part for part in pool if self.mentioned(part) & inside]
        for group in _components(sides, [self.mentioned(part) & inside for part in rest]):
            names = {side.alias for side in group}
            about = [part for part in rest if self.mentioned(part) & names]
            first, others = group[0], group[1:]
            here.append(_has(first, self._nested(others, about, around | {first.alias})))
        return here


def _has(side: Side, where: Iterable[Condition]) -> Condition:
    said = And((side.join.said, *where))
    return Has(side.table.name, said, 1, side.join.alias, columns=side.join.columns)


def _components(sides: Sequence[Side], together: Sequence[frozenset[str]]) -> list[list[Side]]:
    """Return the tables in groups about which nothing is said together, in the order in which they are joined."""
    groups = [{side.alias} for side in sides]
    for aliases in together:
        met = [group for group in groups if group & aliases]
        groups = [set().union(*met), *(group for group in groups if group not in met)] if met else groups
    made = [[side for side in sides if side.alias in group] for group in groups]
    return sorted(made, key=lambda group: sides.index(group[0]))


def conjuncts(condition: Condition) -> Iterator[Condition]:
    """Go through the parts that must all be true."""
    match condition:
        case And(parts):
            for part in parts:
                yield from conjuncts(part)
        case Not(Not(part)):
            yield from conjuncts(part)
        case Not(Or(parts)):
            for part in parts:
                yield from conjuncts(Not(part))
        case Not(And(parts)) if len(parts) > 1:
            yield Or(tuple(Not(part) for part in parts))
        case Not(And((part,))):
            yield from conjuncts(Not(part))
        case Or((part,)):
            yield from conjuncts(part)
        case _:
            yield condition


def _needs_values(part: Condition) -> bool:
    """Say whether a condition is never true where the values in it are missing."""
    match part:
        case Not(Missing(value)):
            return _is_missing_with(value)
        case Not(inner) if not isinstance(inner, Missing):
            return _needs_values(inner)
        case Compare(left=left, right=right):
            return _is_missing_with(left) and _is_missing_with(right)
        case OneOf(value) | Matches(value) | Truth(value):
            return _is_missing_with(value)
        case _:
            return False


def _is_missing_with(value: Value) -> bool:
    """Say whether a value is missing where a column of it is."""
    match value:
        case Name() | Literal() | Days() | Now():
            return True
        case Arithmetic(left=left, right=right):
            return _is_missing_with(left) and _is_missing_with(right)
        case Age(born, at):
            return _is_missing_with(born) and (at is None or _is_missing_with(at))
        case DatePart(day=day) | DateTrunc(day=day):
            return _is_missing_with(day)
        case NumberOf(value=inner) | Step(value=inner) | TextOf(value=inner) | CastTo(value=inner):
            return _is_missing_with(inner)
        case _:
            return False


def everybody(population: Population) -> Table:
    """Return the table with one row a person."""
    tables = [table for table in population.tables if table.rows is RowsPerPerson.ONE_A_PERSON]
    if len(tables) != 1:
        raise BadQuestionError(
            "of a UNION people are counted in the one table with a row a person, and there is none here; write select "
            "count(*) from a table where person in (select person from ...) or person in (select ...)"
        )
    return tables[0]


def untied_where(rows: Has | PerPerson, inner: Scope, outer: Scope) -> Condition:
    """Return which rows of the same person are meant, without what says that they are the same person's."""
    match rows.link:
        case Link.IN_WHERE:
            return _without_tie(rows.where, inner, outer)
        case (Name() as one, Name() as other):
            if not (_is_key_of(one, inner, inner) and _is_key_of(other, outer, outer)):
                raise _untied(inner, outer)
            return rows.where
        case _:
            return rows.where


def _without_tie(where: Condition, inner: Scope, outer: Scope) -> Condition:
    """Return `where` without the part that says "the same person"; there must be one."""
    if isinstance(where, Joined):
        where = beside(where.joins, where.where, inner.population)
    parts = list(joined_by_and(where))
    rest = [part for part in parts if not _is_tie(part, inner, outer)]
    if len(rest) == len(parts):
        raise _untied(inner, outer)
    return And(tuple(rest))


def _is_tie(part: Condition, inner: Scope, outer: Scope) -> bool:
    match part:
        case Compare("=", Name() as one, Name() as other):
            # Every row around is one of the same person, so the tie may name any of them.
            around, pairs = tuple(outer.outwards()), ((one, other), (other, one))
            return any(
                _is_key_of(a, inner, inner) and any(_is_key_of(b, inner, each) for each in around) for a, b in pairs
            )
        case _:
            return False


def _is_key_of(name: Name, read_in: Scope, owner: Scope) -> bool:
    """Say whether `name`, read in one scope, means the person key of another."""
    found = read_in.find(name)
    return found is not None and found[1] is owner and owner.is_person_key(name)


def _untied(inner: Scope, outer: Scope) -> BadQuestionError:
    key, table = inner.person_key, inner.table.name
    return BadQuestionError(
        f"rows of {table} are joined to the same person only; write {key} in (select {key} from {table} where ...), "  # noqa: S608 - a sentence
        f"or exists with {inner.alias}.{key} = {outer.alias}.{outer.person_key}"
    )
