"""What is said about rows beside one another, as a condition about one of them.

    visits v join codes c on c.pid = v.pid where v.kind = 'ER' and c.day > v.day

says of a row of visits `kind = 'ER' and has(codes, codes.day > visits.day)`. Each part stands as far outside as it can
be read. An OR about several tables is one case or the other, and a row of a LEFT JOIN that must be missing is
`not has(...)`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from lapwing.queries.catalogue.column import Boolean, Category, Integer, written_name
from lapwing.queries.catalogue.population import PeopleOf, Population, RowsPerPerson, Table
from lapwing.queries.language.absence import FALSE, Absence, is_never_true
from lapwing.queries.language.expressions import (
    Among,
    And,
    Case,
    Compare,
    Condition,
    Is,
    Literal,
    Missing,
    Name,
    Not,
    Or,
    Value,
)
from lapwing.queries.language.joined import (
    EVERYBODY,
    THE_ROW,
    Has,
    Join,
    Joined,
    Link,
    PerPerson,
    ScopedCondition,
    changed,
    joined_by_and,
)
from lapwing.queries.planning.scope import Scope
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import check_most
from lapwing.vocabulary.frozen import frozen

_MOST_CASES = 50
_MOST_VALUES: Final = 100
"""Of a column of another row of the person, each of which is a condition."""
ROWS: Final = frozenset({"table", "alias", "columns", "joins", "where", "kept", "max_rows", "max_groups"})
"""What a question says about which rows there are; the rest is what it asks of them."""


def as_semijoins(joins: Sequence[Join], where: Condition, population: Population) -> Condition:
    """Return a join as semijoins: the row of the first table has rows of the others for which `where` is true."""
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
        one = self.table.rows is RowsPerPerson.ONE_A_PERSON and not isinstance(self.table, PeopleOf)
        return one and not self.join.repeats

    def owns(self, name: Name) -> bool:
        """Say whether a name may be one of its columns."""
        if name.table is not None:
            return name.table.casefold() == self.alias
        columns = {*(column.name.casefold() for column in self.table.columns), *self._keys}
        chosen = columns if self.join.columns is None else {column.casefold() for column in self.join.columns}
        return name.name.casefold() in columns & chosen

    def is_key(self, name: Name) -> bool:
        """Say whether a column of it is the person key, or stands for the row."""
        return name.name.casefold() in {*self._keys, THE_ROW}

    @property
    def _keys(self) -> set[str]:
        """What the person key is called: people of several tables have it under the name that a SELECT gave it."""
        given = self.join.key if isinstance(self.table, PeopleOf) else None
        return {self.key.casefold(), *([] if given is None else [given.name.casefold()])}

    def always_has(self, name: Name) -> bool:
        """Say whether every row has this column: it is missing only where a LEFT JOIN finds no row."""
        return self.is_key(name) or not self.table.column(name.name).nullable

    def is_row_key(self, name: Name) -> bool:
        """Say whether a column of it tells the rows of a person apart."""
        return self.table.row_key is not None and name.name.casefold() == self.table.row_key.casefold()

    @property
    def says_nothing(self) -> bool:
        """Whether the table was joined with all of its rows."""
        return _says_nothing(self.join.said)


class Joins:
    """The tables of a FROM, and what is said about them together."""

    def __init__(self, joins: Sequence[Join], where: Condition, population: Population) -> None:
        self.population = population
        self.sides = list(map(self._side, joins))
        self.sides = [self._alike(side, self.sides[:place]) for place, side in enumerate(self.sides)]
        self.tied: list[set[str]] = [{side.alias} for side in self.sides]
        self.by_row_key: set[str] = set()
        self.counted: Name | None = None
        self.found: dict[tuple[str, str], Condition] = {}
        self.left = {side.alias for side in self.sides if side.join.left}
        self.on = {side.alias: self._untied(side.join.on, side) for side in self.sides}
        pool = self._untied(where, None)
        self.left -= self._there(pool).union(*map(self._needed, pool))
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
        if join.table != EVERYBODY:
            table = self.population.table(join.table)
        else:
            said, tables = _of_person(join.said, self.population)
            join = replace(join, said=said)
            self.population, table = _everybody(tables, self.population)
        key = self.population.person_key(table)
        if join.key is not None and join.key.name.casefold() != key.casefold() and join.table != EVERYBODY:
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

    def _alike(self, side: Side, before: Sequence[Side]) -> Side:
        """Return a table of a NATURAL JOIN with an ON that says what it means: what is called alike is equal."""
        if not side.join.natural:
            return side
        ties = list[Condition]()
        for name in (side.key, *(column.name for column in side.table.columns)):
            other = next((one for one in before if side.owns(Name(name)) and one.owns(Name(name))), None)
            if other is not None:
                ties.append(Compare("=", Name(name, other.join.alias), Name(name, side.join.alias)))
        return replace(side, join=replace(side.join, on=And((*ties, side.join.on))))

    def _untied(self, said: Condition, of: Side | None) -> list[Condition]:
        """Return the parts of an ON or of WHERE but for those that tie rows to a person.

        Whatever but its own ON says that a row of a LEFT JOIN is somebody's, it says that there is one.
        """
        rest = list[Condition]()
        for part in all_true_parts(said):
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
        spend()
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
                outer = part.link[1] if isinstance(part.link, tuple) else ()
                return self.mentioned(part.where, (*inside, self._inside(part))) | self.mentioned(outer, inside)
            case tuple():
                return frozenset().union(*(self.mentioned(each, inside) for each in part))
            case _ if is_dataclass(part):
                # Of a question inside of another, which is about the same rows, only what it asks of them is new.
                held = [one.name for one in fields(part) if not (hasattr(part, "joins") and one.name in ROWS)]
                return self.mentioned(tuple(getattr(part, name) for name in held), inside)
            case _:
                return frozenset()

    def _inside(self, rows: Has | PerPerson) -> Side:
        table = self.population.table(rows.table)
        alias = (rows.alias or table.name).casefold()
        return Side(alias, table, self.population.person_key(table), Join(rows.table, alias, And(())))

    def said_of(self, base: Side) -> Condition:
        """Return what is said about a row of `base`."""
        return And((base.join.said, *self.cases(base, tuple(self.pool))))

    def cases(self, base: Side, pool: tuple[Condition, ...], cases: int = 1) -> list[Condition]:
        """Return the conditions about a row of `base`; an OR about several tables is one or the other case."""
        parts = tuple(part for said in pool for part in all_true_parts(said))
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
            case Or(either) if beyond and len(self.mentioned(part)) > 1:
                return either
            case Or(either) if beyond & self.left:
                return either
            case _:
                unsure = sorted(beyond & (self.left - self._there(parts)))
                return next(filter(None, (self._with_and_without(part, self.called(alias)) for alias in unsure)), ())

    def _with_and_without(self, part: Condition, side: Side) -> tuple[Condition, ...]:
        """Return what a part says where a LEFT JOIN finds no row, and where it finds one; nothing if it needs a row.

        A column that is looked up is missing by itself where there is no row.
        """
        gone = Missing(Name(side.key, side.join.alias))
        if self.is_gone(part, side.alias) or (side.single and not isinstance(part, Missing)):
            return ()
        without = self._without(side).said(part)
        if is_never_true(without) or side.alias in self.mentioned(without):
            return ()
        return And((gone, without)), And((Not(gone), part))

    def _without(self, side: Side) -> Absence:
        """Return what it is that a LEFT JOIN finds no row of `side`."""
        return Absence(lambda name, inside: side.alias in self.mentioned(name, tuple(map(self._inside, inside))))

    def is_missing_without(self, side: Side, value: Value) -> bool:
        """Say whether a value is missing where a LEFT JOIN finds no row of `side`."""
        return self._without(side).lacks(value)

    def _there(self, parts: Iterable[Condition]) -> set[str]:
        """Return the tables of which the parts say that there is a row: its person is not missing."""
        return {side.alias for part in parts if (side := self._of_presence(part)) is not None}

    def _needed(self, part: Condition) -> frozenset[str]:
        """Return tables without a row of which a part is not true: a LEFT JOIN of them is a JOIN."""
        match part:
            case Has(link=(_, Name() as whose)):  # nobody is among people
                return self.mentioned(whose)
            case _:
                unsure = (self.called(alias) for alias in self.mentioned(part) & self.left)
                return frozenset(side.alias for side in unsure if self._without(side).needs_row(part))

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
        certain = there | ({side.alias for side in self.sides} - self.left)
        parts = [self._settled(self._with_rows(part, certain), base, self.left - there) for part in parts]
        looked_up = [self._looked_up(part, base) for part in parts]
        needed = there.union(*(self.mentioned(part) for part in looked_up))
        needed |= {alias for part in parts for alias in self.mentioned(part) & self.left if self._is_narrowed(alias)}
        inner = [
            side for side in self.sides if side is not base and (side.alias not in self.left or side.alias in needed)
        ]
        if any(side.alias in missing for side in inner):
            return [FALSE]  # a row of a LEFT JOIN is not both missing and there
        for side in inner:
            if side.alias in self.left:
                looked_up += [self._looked_up(part, base) for part in self.on[side.alias]]
        gone = [self._gone(self.called(alias), base) for alias in missing]
        return [*self._nested(inner, looked_up, {base.alias}), *gone]

    def _settled(self, part: Condition, base: Side, unsure: set[str]) -> Condition:
        """Return a condition that may hold for rows that a LEFT JOIN does not find as one about a row of `base`."""
        perhaps = (self.mentioned(part) & unsure) - self._needed(part)
        if not perhaps:
            return part if not _names_row(part) else self._with_values(part, base, self.mentioned(part) - unsure)
        if not all(self.called(alias).single for alias in perhaps):
            raise BadQuestionError(
                "this condition may hold for rows that a LEFT JOIN does not find; write JOIN, or say with has(...) "
                "or not has(...) which rows there must be"
            )
        return self._with_values(part, base, perhaps)

    def _with_rows(self, part: Any, there: set[str]) -> Any:
        """Return what is said of tables of which there are rows: the person of none of them is missing."""
        match part:
            case Missing(Name() as name):
                owner = self.owner(name)
                return FALSE if owner is not None and owner.alias in there and owner.is_key(name) else part
            case tuple():
                several = tuple(self._with_rows(each, there) for each in part)
                return several if any(one is not other for one, other in zip(several, part, strict=True)) else part
            case Has() | PerPerson() | ScopedCondition() | Joined() | Among():
                return part
            case _ if is_dataclass(part):
                spend()
                held = {one.name: getattr(part, one.name) for one in fields(part)}
                made = {name: self._with_rows(each, there) for name, each in held.items()}
                whole: Any = part
                return part if all(made[name] is each for name, each in held.items()) else replace(whole, **made)
            case _:
                return part

    def _is_narrowed(self, alias: str) -> bool:
        """Say whether a LEFT JOIN finds some rows only: its ON says more than whose they are, or a SELECT chose."""
        return bool(self.on[alias]) or not self.called(alias).says_nothing

    def value_beside(self, name: Name, owner: Side, base: Side) -> Value:
        """Return what a row of `base` has in a column of another table with one row a person; the person's own value.

        Where a LEFT JOIN finds no row, it is missing.
        """
        if not owner.single and owner is not base and owner.alias in self.by_row_key:
            return self._of_the_row(name, owner, base)
        if owner is base or owner.alias not in self.left:
            own = Name(base.key, base.join.alias) if owner.is_key(name) else Name(name.name, owner.table.name)
            return Literal(1) if name.name == THE_ROW else own
        value: Value = Literal(1) if owner.is_key(name) else Name(name.name, owner.table.name)
        if not owner.is_key(name) and not self._is_narrowed(owner.alias):
            return value
        return Case(((self._found(owner, base), value),))

    def _of_the_row(self, name: Name, owner: Side, base: Side) -> Value:
        """Return the declared value of the one row of `owner` that is joined to a row of `base` by its row key."""
        ties = [part for part in (*self.pool, *self.on[owner.alias]) if self._is_tie_of_rows(part, owner, base)]
        column = owner.table.column(name.name)
        match column.type:
            case Category(values=values):
                known: tuple[str | int, ...] = values
            case Boolean():
                known = (False, True)
            case Integer(low=int() as low, high=int() as high) if high - low < _MOST_VALUES:
                known = tuple(range(low, high + 1))
            case _:
                known = ()
        if not ties or not 1 <= len(known) <= _MOST_VALUES:
            raise BadQuestionError(
                f"{owner.join.alias}.{column.name} is that of another row of the person, and beside rows of "
                f"{base.join.alias} only columns with at most {_MOST_VALUES} declared values can stand; ask about "
                f"{owner.join.alias} alone, with has({base.table.name}, ...) in its WHERE"
            )
        own = Name(column.name, owner.join.alias)
        cases = ((_has(owner, [*ties, Compare("=", own, Literal(value))]), Literal(value)) for value in known)
        return Case(tuple(cases))

    def _is_tie_of_rows(self, part: Condition, owner: Side, base: Side) -> bool:
        """Say whether a part says that a row of `owner`, by its row key, is the one that a row of `base` names."""
        match part:
            case Compare("=", Name() as one, Name() as other):
                sides = {side.alias: name for name in (one, other) if (side := self.owner(name)) is not None}
                return sides.keys() == {owner.alias, base.alias} and owner.is_row_key(sides[owner.alias])
            case _:
                return False

    def _found(self, side: Side, base: Side) -> Condition:
        """Return that a LEFT JOIN finds a row of `side` for one of `base`: what its ON says of both is true.

        However many columns are named, it is one condition, which is made and bound once.
        """
        known = self.found.get((side.alias, base.alias))
        if known is None:
            on = [self._looked_up(part, base) for part in self.on[side.alias]]
            known = And(tuple(self._nested([side], on, {base.alias})))
            self.found[side.alias, base.alias] = known
        return known

    def _gone(self, side: Side, base: Side) -> Condition:
        on = [self._looked_up(part, base) for part in self.on[side.alias]]
        if base.has_columns or all(side.alias in self.mentioned(part) for part in on):
            return Not(_has(side, on))
        return Not(Is(self._found(side, base), truth=True))

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

        return self._renamed(part, singles, lambda name, owner: Name(name.name, owner.table.name))

    def _with_values(self, part: Condition, base: Side, sides: Iterable[str]) -> Condition:
        """Return a condition with the columns of some tables as a row of `base` sees them."""
        return self._renamed(part, set(sides), lambda name, owner: self.value_beside(name, owner, base))

    def _renamed(self, part: Condition, sides: set[str], change: Callable[[Name, Side], Value]) -> Condition:
        """Return a condition with the names of columns of some tables changed."""

        def seen(name: Name) -> Value:
            owner = self.owner(name)
            return name if owner is None or owner.alias not in sides else change(name, owner)

        def inside(rows: Any) -> Callable[[Name], Value]:
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


def _says_nothing(said: Condition) -> bool:
    match said:
        case And(parts):
            return all(_says_nothing(part) for part in parts)
        case ScopedCondition(where):
            return _says_nothing(where)
        case _:
            return False


def _names_row(part: object) -> bool:
    """Say whether it is asked whether a LEFT JOIN finds a row."""
    found = list[Name]()

    def note(name: Name) -> Name:
        found.extend([name] if name.name == THE_ROW else [])
        return name

    changed(part, note, lambda _: note)
    return bool(found)


def _has(side: Side, where: Iterable[Condition]) -> Condition:
    said = And((side.join.said, *where))
    if isinstance(side.table, PeopleOf):
        return said
    return Has(side.table.name, said, 1, side.join.alias, columns=side.join.columns)


def _components(sides: Sequence[Side], together: Sequence[frozenset[str]]) -> list[list[Side]]:
    """Return the tables in groups about which nothing is said together, in the order in which they are joined."""
    groups = [{side.alias} for side in sides]
    for aliases in together:
        met = [group for group in groups if group & aliases]
        groups = [set().union(*met), *(group for group in groups if group not in met)] if met else groups
    made = [[side for side in sides if side.alias in group] for group in groups]
    return sorted(made, key=lambda group: sides.index(group[0]))


def all_true_parts(condition: Condition) -> Iterator[Condition]:
    """Go through the parts that must all be true."""
    match condition:
        case And(parts):
            for part in parts:
                yield from all_true_parts(part)
        case Not(Not(part)):
            yield from all_true_parts(part)
        case Not(Or(parts)):
            for part in parts:
                yield from all_true_parts(Not(part))
        case Not(And(parts)) if len(parts) > 1:
            yield Or(tuple(Not(part) for part in parts))
        case Not(And((part,))):
            yield from all_true_parts(Not(part))
        case Or((part,)):
            yield from all_true_parts(part)
        case _:
            yield condition


def _everybody(tables: Sequence[str], population: Population) -> tuple[Population, Table]:
    """Return the table of the people who are in any of these, and the population that has it."""
    if not tables:
        raise BadQuestionError("of a UNION people are counted who are in one of its tables, and it names none")
    if len(tables) == 1 and population.table(tables[0]).rows is RowsPerPerson.ONE_A_PERSON:
        return population, population.table(tables[0])
    return population.with_people_of(tables)


def _of_person(said: Condition, population: Population) -> tuple[Condition, list[str]]:
    """Return what is said about a person, whichever of their rows it is said of, and the tables that it names."""
    tables = set[str]()

    def made(part: Condition) -> Condition:
        match part:
            case And(parts) | Or(parts):
                return replace(part, parts=tuple(map(made, parts)))
            case Not(inner):
                return Not(made(inner))
            case ScopedCondition(where):
                return replace(part, where=made(where))
            case Has(link=(Name() as key, _)):
                table = population.table(part.table)
                if key.name.casefold() != population.person_key(table).casefold():
                    raise BadQuestionError(
                        f"UNION, INTERSECT and EXCEPT are for people, and {key.name!r} of {table.name} does not tell "
                        f"them apart; select {population.person_key(table)}"
                    )
                tables.add(table.name)
                return replace(part, link=Link.IMPLIED)
            case _:
                raise BadQuestionError(
                    "of a UNION people are counted, and nothing else is known of them; say in each of its SELECTs "
                    "which people are meant"
                )

    found = made(said)
    return found, sorted(tables)


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
        where = as_semijoins(where.joins, where.where, inner.population)
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
