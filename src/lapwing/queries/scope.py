"""Which row a name means: the row a question is about, or one of the rows of the same person around it."""

from collections.abc import Iterator
from dataclasses import dataclass

from lapwing.queries.catalogue import Population, Table
from lapwing.queries.column import Column
from lapwing.queries.expressions import Name, Spelled, Value
from lapwing.vocabulary.errors import BadQuestionError


@dataclass(frozen=True, slots=True)
class Scope:
    """A table whose rows are asked about, under the name that the question gives it; `outer` is what is around it.

    `columns` are those that may be named, where not all of the table may.
    """

    population: Population
    table: Table
    alias: str
    outer: "Scope | None" = None
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for column in self.columns or ():
            if column.casefold() not in self._in_table:
                raise self._unknown(Name(column))

    @property
    def person_key(self) -> str:
        """The column that says whose row it is."""
        return self.population.person_key(self.table)

    def find(self, name: Name) -> "tuple[int, Scope]":
        """Return how many rows further out `name` is, and the scope there; without a table it is the nearest."""
        for up, scope in enumerate(self.outwards()):
            if scope.owns(name):
                return up, scope
        raise self._unknown(name)

    def spelled(self, value: Value) -> Value:
        """Return what a text stands for: the column of this row that is called so, or what it reads as."""
        if not isinstance(value, Spelled):
            return value
        if self.owns(Name(value.text)):
            return Name(value.text)
        if value.value is None:
            raise BadQuestionError(value.refusal)
        return value.value

    def outwards(self) -> "Iterator[Scope]":
        """Yield this scope and those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def column(self, name: Name) -> Column:
        """Return a column of this row; one of another row is refused."""
        up, scope = self.find(name)
        if scope.is_person_key(name):
            raise BadQuestionError(
                f"{name.name!r} tells people apart and cannot be asked about; ask about what people have in common"
            )
        if up:
            raise BadQuestionError(
                f"{scope.alias}.{name.name} belongs to {scope.table.name}, outside the condition about "
                f"{self.table.name}; move it out of the parentheses"
            )
        return scope.table.column(name.name)

    def is_person_key(self, name: Name) -> bool:
        """Say whether `name` is the person key of this row."""
        return self._called(name) and name.name.casefold() == self.person_key.casefold()

    def _called(self, name: Name) -> bool:
        chosen = self.columns is None or name.name.casefold() in {column.casefold() for column in self.columns}
        return chosen and (name.table is None or name.table.casefold() == self.alias.casefold())

    def owns(self, name: Name) -> bool:
        """Say whether `name` is the person key or a column of this row."""
        return self._called(name) and name.name.casefold() in self._in_table

    @property
    def _in_table(self) -> set[str]:
        return {c.name.casefold() for c in self.table.columns} | {self.person_key.casefold()}

    def _unknown(self, name: Name) -> BadQuestionError:
        scopes = list(self.outwards())
        if name.table is not None and name.table.casefold() not in {s.alias.casefold() for s in scopes}:
            there = ", ".join(s.alias for s in scopes)
            return BadQuestionError(f"there is no table {name.table!r} here for column {name.name!r}; there is {there}")
        if self.columns is not None and name.name.casefold() in self._in_table:
            return BadQuestionError(
                f"{self.alias} has no column {name.name!r}, only {', '.join(self.columns)}; let WITH select it too"
            )
        columns = ", ".join(c.name for c in self.table.columns) or "none"
        elsewhere = [
            f"; {t.name} has it: write has({t.name}, ...)"
            for t in self.population.tables
            if t is not self.table and name.name.casefold() in {c.name.casefold() for c in t.columns}
        ]
        text = f"; to mean the text, write '{name.name}' in single quotes" if name.table is None else ""
        hint = elsewhere[0] if elsewhere else text
        return BadQuestionError(f"table {self.table.name} has no column {name.name!r}; it has {columns}{hint}")
