"""What JOIN means: rows of the same person beside one another, and never a person's rows times each other.

    select count(distinct p.pid) from patients p join visits v on v.pid = p.pid where p.sex = 'F' and v.kind = 'ER'

asks about patients, one row a person, `where sex = 'F' and has(visits, kind = 'ER')`. One of the tables stays, and is
what the question is about: the *base*. The others become conditions about it, `has(...)`, or `not has(...)` for a LEFT
JOIN whose rows must be missing. Columns of a table with one row a person are looked up.

Whoever has many rows in two tables would count once for each pair. Of such a join people can be counted, who stay one
however many rows they have; anything else is refused, unless all but one of the tables are joined by the column that
tells their rows apart: a row then has at most one of them beside it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, Protocol, TypeVar

from lapwing.queries.catalogue import Population, RowsPerPerson, Table
from lapwing.queries.expressions import (
    And,
    By,
    Compare,
    Condition,
    Missing,
    Name,
    Not,
    Or,
)
from lapwing.queries.joined import Has, Join, PerPerson, ScopedCondition
from lapwing.queries.renaming import changed
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import check_most
from lapwing.vocabulary.wording import Setting


class _Question(Protocol):
    """What a join needs to know of a question; `planning` has the noun."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def joins(self) -> tuple[Join, ...]: ...
    @property
    def where(self) -> Condition: ...
    @property
    def kept(self) -> Condition: ...
    @property
    def by(self) -> tuple[By, ...]: ...
    @property
    def max_rows(self) -> int | None: ...
    def distinct_column(self) -> Name | None:
        """Return the column whose different values are counted, if that is asked."""


Asked = TypeVar("Asked", bound=_Question)
_MOST_CASES = 50
_ROWS = {"table", "alias", "columns", "joins", "where", "kept", "max_rows", "max_groups"}


def resolve_joins(question: Asked, population: Population) -> Asked:
    """Return the question about one table that means the same, or refuse it and say what to ask instead."""
    if not question.joins:
        return replace(question, table=_everybody(population).name)
    return _Joins(question.joins, question.where, population).resolved(question)


def beside(joins: Sequence[Join], where: Condition, population: Population) -> Condition:
    """Return that the row of the first of `joins` has rows of the others beside it for which `where` is true."""
    found = _Joins(joins, where, population)
    return found.said_of(found.sides[0])


@dataclass(frozen=True, slots=True)
class _Side:
    """One table of a join."""

    alias: str
    table: Table
    key: str
    join: Join

    @property
    def single(self) -> bool:
        """Whether a person has at most one row here."""
        return self.table.rows is RowsPerPerson.ONE_A_PERSON or self.join.key is not None

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

    def is_row_key(self, name: Name) -> bool:
        """Say whether a column of it tells the rows of a person apart."""
        return self.table.row_key is not None and name.name.casefold() == self.table.row_key.casefold()


class _Joins:
    """The tables of a FROM, and what is said about them together."""

    def __init__(self, joins: Sequence[Join], where: Condition, population: Population) -> None:
        self.population = population
        self.sides = [self._side(join) for join in joins]
        self.tied: list[set[str]] = [{side.alias} for side in self.sides]
        self.by_row_key: set[str] = set()
        self.counted: Name | None = None
        self.left = {side.alias for side in self.sides if side.join.left}
        self.on = {
            side.alias: [part for part in _conjuncts(side.join.on) if not self._ties(part)] for side in self.sides
        }
        pool = [part for part in _conjuncts(where) if not self._ties(part)]
        self.pool = [*(part for side in self.sides if not side.join.left for part in self.on[side.alias]), *pool]
        if len(self.tied) > 1:
            one, other = (self._named(min(group)) for group in self.tied[:2])
            raise BadQuestionError(
                f"{one.join.alias} and {other.join.alias} are joined by nobody; rows of the same person belong "
                f"together, write on {one.join.alias}.{one.key} = {other.join.alias}.{other.key}"
            )

    def _side(self, join: Join) -> _Side:
        table = self.population.table(join.table) if join.table else _everybody(self.population)
        key = self.population.person_key(table)
        if join.key is not None and join.key.name.casefold() != key.casefold():
            raise BadQuestionError(
                f"{join.alias} has one row for each {join.key.name!r}, and not one a person; group by {key}"
            )
        return _Side(join.alias.casefold(), table, key, join)

    def _named(self, alias: str) -> _Side:
        return next(side for side in self.sides if side.alias == alias)

    def owner(self, name: Name) -> _Side | None:
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

    def mentioned(self, part: object, inside: tuple[_Side, ...] = ()) -> frozenset[str]:
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
                rows = _Side(alias, table, self.population.person_key(table), Join(part.table, alias, And(())))
                outer = part.link[1] if isinstance(part.link, tuple) else ()
                return self.mentioned(part.where, (*inside, rows)) | self.mentioned(outer, inside)
            case tuple():
                return frozenset().union(*(self.mentioned(each, inside) for each in part))
            case _ if is_dataclass(part):
                # Of a question inside of another, which is about the same rows, only what it asks of them is new.
                held = [one.name for one in fields(part) if not (hasattr(part, "joins") and one.name in _ROWS)]
                return self.mentioned(tuple(getattr(part, name) for name in held), inside)
            case _:
                return frozenset()

    def resolved(self, question: Asked) -> Asked:
        """Return the question about one of the tables."""
        counted = question.distinct_column()
        whose = None if counted is None else self.owner(counted)
        people = counted is not None and whose is not None and whose.is_key(counted)
        if people and whose is not None and whose.alias in self.left:
            self.left -= {whose.alias}  # who has no row there has no key there, and is not counted
            self.pool += self.on[whose.alias]
        asked = [getattr(question, one.name) for one in fields(question) if one.name not in _ROWS]
        self.counted = counted if people else None
        named = self.mentioned(tuple(asked))
        many = [side for side in self.sides if side.alias in named and not side.single]
        if len(many) > 1:
            raise self._times(many[0], many[1])
        base = self._base_of_people(many) if people else self._base_of_rows(many)
        if base.alias in self.left and not self._is_presence(question):
            raise BadQuestionError(
                f"who has no row in {base.join.alias} would count as a row of it; write JOIN instead of LEFT JOIN, or "
                f"count({base.join.alias}.{base.key})"
            )
        self.left -= {base.alias}
        self.pool += self.on[base.alias] if base.join.left else []
        return self._about(question, base)

    def _is_presence(self, question: _Question) -> bool:
        """Say whether a row without values changes nothing: all but count(*) are about values."""
        return bool(
            self.mentioned(tuple(getattr(question, n) for n in ("present", "value", "values") if hasattr(question, n)))
        )

    def _base_of_people(self, many: list[_Side]) -> _Side:
        if many:
            return many[0]
        inner = [side for side in self.sides if side.alias not in self.left]
        several = [side for side in inner if not side.single]
        mixed = any(
            {self._named(alias).single for alias in self.mentioned(part)} == {True, False} for part in self.pool
        )
        if mixed and len(several) == 1:
            return several[0]
        return next((side for side in inner if side.table.rows is RowsPerPerson.ONE_A_PERSON), inner[0])

    def _base_of_rows(self, many: list[_Side]) -> _Side:
        gone = {alias for alias in self.left if any(self._is_gone(part, alias) for part in self.pool)}
        several = [side for side in self.sides if not side.single and side.alias not in gone]
        if len(several) <= 1:
            return several[0] if several else self.sides[0]
        rows = many or [side for side in several if side.alias not in self.by_row_key]
        others = [side for side in several if side not in rows]
        if len(rows) != 1 or not all(side.alias in self.by_row_key for side in others):
            raise self._times(several[0], several[1])
        return rows[0]

    def _times(self, one: _Side, other: _Side) -> BadQuestionError:
        a, b = one.join.alias, other.join.alias
        return BadQuestionError(
            f"every row of {a} beside every row of {b} would count a person's rows times each other; ask for "
            f"count(distinct {a}.{one.key}), or about {a} alone, with has({other.table.name}, ...) in its WHERE"
        )

    def _about(self, question: Asked, base: _Side) -> Asked:
        def seen_from(name: Name) -> Name:
            owner = self.owner(name)
            if owner is None:
                return name
            if owner.is_key(name):
                return Name(base.key, base.join.alias)
            return Name(name.name, base.join.alias) if owner is base else Name(name.name, owner.table.name)

        held: dict[str, Any] = {
            one.name: changed(getattr(question, one.name), seen_from, lambda _: lambda name: name)
            for one in fields(question)
            if one.name not in _ROWS
        }
        where = And((*self._present(question, base), self.said_of(base)))
        kept = tuple(_conjuncts(question.kept))
        rows: dict[str, Any] = {"max_rows": self._rows(question, base)}
        if hasattr(question, "each") and base.single and base.table.rows is RowsPerPerson.MANY_A_PERSON:
            rows["each"] = Name(base.key, base.join.alias)
        return replace(
            question,
            **{**held, **rows},
            table=base.table.name,
            alias=base.join.alias,
            columns=base.join.columns,
            joins=(),
            where=where,
            kept=And(tuple(self._cases(base, (*self.pool, *kept)))) if kept else question.kept,
        )

    def _rows(self, question: _Question, base: _Side) -> int | None:
        """Return how many rows of a person count: as many as elsewhere, also where all values are of the person."""
        if question.max_rows is not None or base.single or question.distinct_column() is not None:
            return question.max_rows
        if base.table.max_rows is None:
            raise BadQuestionError(
                f"a person may have any number of rows in {base.table.name}; say how many count: ",
                Setting("max_rows", 3),
            )
        return base.table.max_rows

    def _present(self, question: _Question, base: _Side) -> Iterator[Condition]:
        """Say that what is looked up for a group is there, where the table declares that it always is."""
        for by in question.by:
            if isinstance(by.column, Name):
                owner = self.owner(by.column)
                if owner is not None and owner is not base and owner.alias not in self.left:
                    column = owner.table.column(by.column.name)
                    if not column.nullable:
                        yield Not(Missing(Name(column.name, owner.table.name)))

    def said_of(self, base: _Side) -> Condition:
        """Return what is said about a row of `base`."""
        return And((base.join.said, *self._cases(base, tuple(self.pool))))

    def _cases(self, base: _Side, pool: tuple[Condition, ...], cases: int = 1) -> list[Condition]:
        """Return the conditions about a row of `base`; an OR about several tables is one or the other case."""
        for part in pool:
            split = self._split(part, base)
            if split:
                check_most("cases of its OR over several tables", cases * len(split), _MOST_CASES)
                rest = tuple(other for other in pool if other is not part)
                cases *= len(split)
                return [Or(tuple(And(tuple(self._cases(base, (*rest, one), cases))) for one in split))]
        return self._conditions(base, pool)

    def _split(self, part: Condition, base: _Side) -> tuple[Condition, ...]:
        beyond = self.mentioned(part) - {base.alias}
        match part:
            case Or(parts) if beyond and len(self.mentioned(part)) > 1:
                return parts
            case Or(parts) if beyond & self.left:
                return parts
            case Missing(Name() as name) if beyond & self.left and not self._named(min(beyond)).is_key(name):
                gone = Missing(Name(self._named(min(beyond)).key, self._named(min(beyond)).join.alias))
                return gone, And((Not(gone), part))
            case _:
                return ()

    def _conditions(self, base: _Side, pool: tuple[Condition, ...]) -> list[Condition]:
        missing = [alias for alias in self.left if any(self._is_gone(part, alias) for part in _flat(pool))]
        parts = [part for part in _flat(pool) if not any(self._is_gone(part, alias) for alias in self.left)]
        looked_up = [self._looked_up(part, base) for part in parts]
        needed = frozenset().union(*(self.mentioned(part) for part in looked_up))
        inner = [
            side for side in self.sides if side is not base and (side.alias not in self.left or side.alias in needed)
        ]
        if any(side.alias in missing for side in inner):
            raise BadQuestionError(
                "a row of a LEFT JOIN cannot be missing and have values; leave one of the two conditions out"
            )
        for side in inner:
            if side.alias in self.left:
                looked_up += [self._looked_up(part, base) for part in self.on[side.alias]]
        gone = [
            Not(_has(self._named(alias), [self._looked_up(part, base) for part in self.on[alias]])) for alias in missing
        ]
        return [*self._nested(inner, looked_up, {base.alias}), *gone]

    def _is_gone(self, part: Condition, alias: str) -> bool:
        match part:
            case Missing(Name() as name):
                owner = self.owner(name)
                return owner is not None and owner.alias == alias and owner.is_key(name)
            case _:
                return False

    def _looked_up(self, part: Condition, base: _Side) -> Condition:
        """Return a condition about several tables with the columns of those with one row a person looked up."""
        singles = {
            side.alias
            for side in self.sides
            if side is not base and side.alias in self.mentioned(part) and side.table.rows is RowsPerPerson.ONE_A_PERSON
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

    def _nested(self, sides: Sequence[_Side], pool: Sequence[Condition], around: set[str]) -> list[Condition]:
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


def _has(side: _Side, where: Iterable[Condition]) -> Condition:
    said = And((side.join.said, *where))
    return Has(side.table.name, said, 1, side.join.alias, columns=side.join.columns)


def _components(sides: Sequence[_Side], together: Sequence[frozenset[str]]) -> list[list[_Side]]:
    """Return the tables in groups about which nothing is said together, in the order in which they are joined."""
    groups = [{side.alias} for side in sides]
    for aliases in together:
        met = [group for group in groups if group & aliases]
        groups = [set().union(*met), *(group for group in groups if group not in met)] if met else groups
    made = [[side for side in sides if side.alias in group] for group in groups]
    return sorted(made, key=lambda group: sides.index(group[0]))


def _conjuncts(condition: Condition) -> Iterator[Condition]:
    match condition:
        case And(parts):
            for part in parts:
                yield from _conjuncts(part)
        case Not(Not(part)):
            yield from _conjuncts(part)
        case Not(Or(parts)):
            for part in parts:
                yield from _conjuncts(Not(part))
        case Not(And(parts)) if len(parts) > 1:
            yield Or(tuple(Not(part) for part in parts))
        case Not(And((part,))):
            yield from _conjuncts(Not(part))
        case Or((part,)):
            yield from _conjuncts(part)
        case _:
            yield condition


def _flat(pool: Iterable[Condition]) -> list[Condition]:
    return [part for condition in pool for part in _conjuncts(condition)]


def _everybody(population: Population) -> Table:
    """Return the table with one row a person."""
    tables = [table for table in population.tables if table.rows is RowsPerPerson.ONE_A_PERSON]
    if len(tables) != 1:
        raise BadQuestionError(
            "of a UNION people are counted in the one table with a row a person, and there is none here; write select "
            "count(*) from a table where person in (select person from ...) or person in (select ...)"
        )
    return tables[0]
