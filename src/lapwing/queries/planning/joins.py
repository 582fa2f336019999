"""What JOIN means: rows of the same person beside one another, and never a person's rows times each other.

    select count(distinct p.pid) from patients p join visits v on v.pid = p.pid where p.sex = 'F' and v.kind = 'ER'

asks about patients, one row a person, `where sex = 'F' and has(visits, kind = 'ER')`. One of the tables stays, and is
what the question is about: the *base*. The others become conditions about it, `has(...)`, or `not has(...)` for a LEFT
JOIN whose rows must be missing. Columns of a table with one row a person are looked up.

Whoever has many rows in two tables would count once for each pair. Of such a join people can be counted, who stay one
however many rows they have; anything else is refused, unless all but one of the tables are joined by the column that
tells their rows apart: a row then has at most one of them beside it.
"""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, ClassVar, Protocol, TypeVar

from lapwing.queries.catalogue.population import PeopleOf, Population
from lapwing.queries.language.expressions import EVERYONE, And, By, Condition, Missing, Name, Not, Value
from lapwing.queries.language.joined import EVERYBODY, THE_ROW, Join, changed
from lapwing.queries.planning.semijoins import ROWS, Joins, Side, all_true_parts
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.wording import Setting


class _Question(Protocol):
    """What a join needs to know of a question; `planning` has the noun."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def alias(self) -> str | None: ...
    @property
    def each(self) -> Name | None: ...
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


def resolve_joins(question: Asked, population: Population) -> tuple[Asked, Population]:
    """Return the question about one table that means the same, or refuse it and say what to ask instead.

    The population comes with it: where people of several tables are asked about, they are one more table.
    """
    joins, where = question.joins, question.where
    if not joins:
        joins = (Join(EVERYBODY, question.alias or EVERYBODY, EVERYONE, said=where, key=question.each),)
        where = EVERYONE
    rows = Joins(joins, where, population)
    return _Resolution(rows).resolved(question), rows.population


class _Resolution:
    """A question about several tables on its way to one about one of them; `rows` says what is known of their rows."""

    def __init__(self, rows: Joins) -> None:
        self.rows = rows

    def resolved(self, question: Asked) -> Asked:
        """Return the question about one of the tables."""
        counted = question.distinct_column()
        whose = None if counted is None else self.rows.owner(counted)
        people = counted is not None and whose is not None and whose.is_key(counted)
        if people and whose is not None and whose.alias in self.rows.left:
            self.rows.left -= {whose.alias}  # who has no row there has no key there, and is not counted
            self.rows.pool += self.rows.on[whose.alias]
        asked = [getattr(question, one.name) for one in fields(question) if one.name not in ROWS]
        self.rows.counted = counted if people else None
        named = self.rows.mentioned(tuple(asked))
        many = [side for side in self.rows.sides if side.alias in named and not side.single]
        if len(many) > 1:  # of tables that are joined by their row key, a row has one row beside it
            of_rows = [side for side in many if side.alias not in self.rows.by_row_key] or many[:1]
            if len(of_rows) > 1:
                raise self._times(of_rows[0], of_rows[1])
            many = of_rows
        base = self._base_of_people(many) if people else self._base_of_rows(many)
        if base.alias in self.rows.left and not self._is_presence(question, base):
            raise BadQuestionError(
                f"who has no row in {base.join.alias} would count as a row of it; write JOIN instead of LEFT JOIN, or "
                f"count({base.join.alias}.{base.key})"
            )
        self.rows.left -= {base.alias}
        self.rows.pool += self.rows.on[base.alias] if base.join.left else []
        return self._about(question, base)

    def _is_presence(self, question: _Question, base: Side) -> bool:
        """Say whether a row that is not there changes nothing: what is asked is about values, and has none there."""
        values = [getattr(question, name, None) for name in ("present", "value")]
        asked = [*values, *getattr(question, "values", ())]
        return any(
            base.alias in self.rows.mentioned(value) and self.rows.is_missing_without(base, value)
            for value in asked
            if value is not None
        )

    def _base_of_people(self, many: list[Side]) -> Side:
        if many:
            return many[0]
        inner = [side for side in self.rows.sides if side.alias not in self.rows.left]
        several = [side for side in inner if not side.single]
        mixed = any(
            {self.rows.called(alias).single for alias in self.rows.mentioned(part)} == {True, False}
            for part in self.rows.pool
        )
        if mixed and len(several) == 1:
            return several[0]
        return next((side for side in inner if side.has_columns), inner[0])

    def _base_of_rows(self, many: list[Side]) -> Side:
        gone = {alias for alias in self.rows.left if any(self.rows.is_gone(part, alias) for part in self.rows.pool)}
        several = [side for side in self.rows.sides if not side.single and side.alias not in gone]
        repeated = next((side for side in several if side.join.repeats), None)
        if repeated is not None:
            raise self._times(repeated, next(side for side in self.rows.sides if side is not repeated))
        if not several:
            ones = [side for side in self.rows.sides if side.has_columns and side.alias not in self.rows.left]
            return ones[0] if ones and isinstance(self.rows.sides[0].table, PeopleOf) else self.rows.sides[0]
        if len(several) == 1:
            return several[0]
        rows = [side for side in several if side.alias not in self.rows.by_row_key] or many or several[:1]
        others = [side for side in several if side not in rows]
        if len(rows) != 1 or not all(side.alias in self.rows.by_row_key for side in others):
            raise self._times(several[0], several[1])
        return rows[0]

    def _times(self, one: Side, other: Side) -> BadQuestionError:
        a, b = one.join.alias, other.join.alias
        return BadQuestionError(
            f"every row of {a} beside every row of {b} would count a person's rows times each other; ask for "
            f"count(distinct {a}.{one.key}), or about {a} alone, with has({other.table.name}, ...) in its WHERE"
        )

    def _about(self, question: Asked, base: Side) -> Asked:
        def seen_from(name: Name) -> Value:
            owner = self.rows.owner(name)
            if owner is None:
                return name
            if owner is not base or name.name == THE_ROW:
                return self.rows.value_beside(name, owner, base)
            return Name(base.key if owner.is_key(name) else name.name, base.join.alias)

        held: dict[str, Any] = {
            one.name: changed(getattr(question, one.name), seen_from, lambda _: lambda name: name)
            for one in fields(question)
            if one.name not in ROWS
        }
        where = And((*self._present(question, base), self.rows.said_of(base)))
        kept = tuple(all_true_parts(question.kept))
        rows: dict[str, Any] = {"max_rows": self._rows(question, base)}
        if base.join.once:
            rows["once"] = True
        if base.join.key is not None:
            rows["each"] = Name(base.key, base.join.alias)
        return replace(
            question,
            **{**held, **rows},
            table=base.table.name,
            alias=base.join.alias,
            columns=base.join.columns,
            joins=(),
            where=where,
            kept=And(tuple(self.rows.cases(base, (*self.rows.pool, *kept)))) if kept else question.kept,
        )

    def _rows(self, question: _Question, base: Side) -> int | None:
        """Return how many rows of a person count: as many as elsewhere, also where all values are of the person."""
        if base.join.once and question.distinct_column() is None:
            return 1
        if question.max_rows is not None or base.single or question.distinct_column() is not None:
            return question.max_rows
        if base.table.max_rows is None:
            raise BadQuestionError(
                f"a person may have any number of rows in {base.table.name}; say how many count: ",
                Setting("max_rows", 3),
            )
        return base.table.max_rows

    def _present(self, question: _Question, base: Side) -> Iterator[Condition]:
        """Say that what is looked up for a group is there, where the table declares that it always is."""
        for by in question.by:
            if isinstance(by.column, Name):
                owner = self.rows.owner(by.column)
                if owner is not None and owner is not base and owner.alias not in self.rows.left:
                    column = owner.table.column(by.column.name)
                    if not column.nullable:
                        yield Not(Missing(self.rows.value_beside(by.column, owner, base)))
