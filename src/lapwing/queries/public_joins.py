"""JOIN with a vocabulary: a list of values, and names for groups.

    from condition_occurrence c join concept k on k.concept_id = c.condition_concept_id where k.concept_name = 'Stroke'

says of a row of condition_occurrence that its concept is in `(select concept_id from concept where concept_name =
'Stroke')`. A row stays one row, however many rows of the vocabulary fit it. Nothing else of a vocabulary can be asked
for, but `group by k.concept_name` means the groups of the column that has its names from there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from lapwing.queries.catalogue import Population
from lapwing.queries.column import Category
from lapwing.queries.expressions import And, By, Compare, Condition, Name
from lapwing.queries.joined import Has, Join
from lapwing.queries.public_tables import Vocabulary
from lapwing.vocabulary.errors import BadQuestionError

_ROWS = frozenset({"table", "alias", "columns", "joins", "where", "by"})


def without_public_joins(question: Any, population: Population) -> Any:
    """Return a question without its joins with vocabularies, which its condition then holds as lists of values."""
    public = [join for join in question.joins if population.vocabulary(join.table) is not None]
    return _PublicJoins(question, public, population).resolved() if public else question


@dataclass(slots=True)
class _PublicJoins:
    question: Any
    public: list[Join]
    population: Population

    def resolved(self) -> Any:
        rest = [join for join in self.question.joins if join not in self.public]
        if not rest:
            raise BadQuestionError(
                f"{self.public[0].table} is a vocabulary, with nobody in it; name a table of people, too"
            )
        parts = [
            part for join in self.question.joins if not join.left or join in self.public for part in _conjuncts(join.on)
        ]
        parts += _conjuncts(self.question.where)
        ties, left = {}, list(self.public)
        while left:
            join = next((one for one in left if self._is_outermost(one, parts)), left[0])
            parts, ties[join.alias.casefold()] = self._list(join, parts)
            left.remove(join)
        rest = [join if join.left else replace(join, on=And(())) for join in rest]
        by = tuple(self._grouped(one, ties) for one in self.question.by)
        asked = {one.name: getattr(self.question, one.name) for one in fields(self.question) if one.name not in _ROWS}
        for name, value in asked.items():
            if getattr(value, "joins", ()):  # a question within this one, about the same rows
                asked[name] = without_public_joins(value, self.population)
            else:
                self._refuse_names(value)
        first = replace(rest[0], on=And(()), left=False)
        rows = {"table": first.table, "alias": first.alias, "joins": (first, *rest[1:]), "where": And(tuple(parts))}
        return replace(self.question, **asked, **rows, by=by)

    def _vocabulary(self, join: Join) -> Vocabulary:
        found = self.population.vocabulary(join.table)
        if found is None:  # pragma: no cover - only such joins come here
            raise AssertionError
        return found

    def _owner(self, name: Name) -> Join | None:
        """Return the vocabulary that a name speaks of, if it is one."""
        if name.table is not None:
            return next((join for join in self.public if join.alias.casefold() == name.table.casefold()), None)
        wanted = name.name.casefold()
        for join in self.question.joins:
            if join not in self.public:
                table = self.population.table(join.table) if join.table else None
                known = [] if table is None else [*table.columns]
                key = "" if table is None else self.population.person_key(table).casefold()
                if wanted == key or wanted in {column.name.casefold() for column in known}:
                    return None
        for join in self.public:
            if wanted in {column.casefold() for column in self._vocabulary(join).column_names}:
                return join
        return None

    def _owners(self, part: object) -> set[str]:
        """Return the aliases of the vocabularies that a part speaks of, and "" if it speaks of anything else."""
        owners = (self._owner(name) for name in _outer_names(part))
        return {"" if owner is None else owner.alias.casefold() for owner in owners}

    def _is_outermost(self, join: Join, parts: list[Condition]) -> bool:
        """Say whether a vocabulary is tied to one thing alone."""
        own = join.alias.casefold()
        return sum(own in owners and len(owners) > 1 for owners in map(self._owners, parts)) == 1

    def _list(self, join: Join, parts: list[Condition]) -> tuple[list[Condition], Name]:
        """Return the parts with a list in the place of all that is said about a vocabulary, and what is looked up."""
        own = join.alias.casefold()
        about = [part for part in parts if own in self._owners(part)]
        inner = [part for part in about if self._owners(part) == {own}]
        ties = [part for part in about if part not in inner]
        if len(ties) != 1 or not isinstance(ties[0], Compare) or ties[0].operator != "=":
            raise self._untied(join)
        one, other = ties[0].left, ties[0].right
        if not isinstance(one, Name) or not isinstance(other, Name):
            raise self._untied(join)
        mine, looked_up = (one, other) if self._owner(one) is join else (other, one)
        rest = [part for part in parts if part not in about]
        if join.left and not inner:
            return rest, looked_up  # a row stays, whether the vocabulary knows it or not
        listed = Has(join.table, And((join.said, *inner)), 1, join.alias, (mine, looked_up), join.columns)
        return [*rest, listed], looked_up

    def _untied(self, join: Join) -> BadQuestionError:
        column = f"{join.alias}.{self._vocabulary(join).column_names[0]}"
        return BadQuestionError(
            f"{join.table} is a vocabulary: join it by one column, such as on {column} = ..., and compare its other "
            "columns with constants"
        )

    def _grouped(self, by: By, ties: dict[str, Name]) -> By:
        """Return the groups of the column whose names stand in a column of a vocabulary, where that is grouped by."""
        owner = self._owner(by.column) if isinstance(by.column, Name) else None
        if owner is None or not isinstance(by.column, Name):
            self._refuse_names(by)
            return by
        column = ties[owner.alias.casefold()]
        tables = [
            self.population.table(join.table)
            for join in self.question.joins
            if join not in self.public and column.table in {None, join.alias} and join.table
        ]
        kinds = [one.type for table in tables for one in table.columns if one.name.casefold() == column.name.casefold()]
        named = {kind.label_name.casefold() for kind in kinds if isinstance(kind, Category) and kind.labels}
        if by.column.name.casefold() not in named:
            raise BadQuestionError(
                f"{column.name!r} does not have its names from {by.column.name!r}; group by {column.name}, or let the "
                f'custodian declare it with label = "{by.column.name}"'
            )
        return replace(by, column=column)

    def _refuse_names(self, part: object) -> None:
        for name in _outer_names(part):
            owner = self._owner(name)
            if owner is not None:
                raise BadQuestionError(
                    f"{name.name!r} is a column of the vocabulary {owner.table}; it can be compared and grouped by, "
                    "and nothing else"
                )


def _conjuncts(condition: Condition) -> Iterator[Condition]:
    if isinstance(condition, And):
        for part in condition.parts:
            yield from _conjuncts(part)
    else:
        yield condition


def _outer_names(part: object) -> Iterator[Name]:
    """Yield the names in a part; of rows inside of it, what ties them to it."""
    stack = [part]
    while stack:
        one = stack.pop()
        if isinstance(one, Name):
            yield one
        elif isinstance(one, Has) and isinstance(one.link, tuple):
            stack.append(one.link[1])
        elif isinstance(one, tuple):
            stack += one
        elif is_dataclass(one) and not isinstance(one, Has):
            stack += [getattr(one, field.name) for field in fields(one)]
