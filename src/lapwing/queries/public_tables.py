"""What is public and holds nobody: vocabularies, and sets of values under a name."""

from dataclasses import dataclass
from typing import Any, Protocol

from lapwing.queries.column import Column
from lapwing.queries.predicate import Predicate


@dataclass(frozen=True, slots=True)
class ConceptSet:
    """Values under a name, all whole numbers or all texts; a sentence tells their name and number, and none of them.

    >>> ConceptSet(name="diabetes", values=(201826, 443238)).told
    "the 2 values of 'diabetes'"
    """

    name: str
    values: tuple[int, ...] | tuple[str, ...]

    @property
    def told(self) -> str:
        """What it is called in a sentence."""
        return f"the {len(self.values):,} values of {self.name!r}"

    def __repr__(self) -> str:
        return f"<concept set {self.name!r}: {len(self.values):,} values>"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptItem:
    """A concept that belongs to a set, or is `excluded` from it, alone or with all `descendants`: the kinds of it."""

    concept: int
    descendants: bool = False
    excluded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptExpression:
    """A set of concepts that a vocabulary spells out: some with the kinds of them, without others."""

    name: str
    items: tuple[ConceptItem, ...]

    @property
    def included(self) -> bool:
        """Whether it has any concept."""
        return any(not item.excluded for item in self.items)


class Vocabulary(Protocol):
    """A public table, with nobody in it: what diagnoses are called, which ones are kinds of others.

    Whatever is selected from it is as public as the table itself, so conditions use it for nothing.
    """

    @property
    def name(self) -> str:
        """What questions call it."""

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns that it has."""

    def columns(self, named: frozenset[str]) -> tuple[Column, ...]:
        """Return its columns; those that are named, in small letters, have their types, and the others are text."""

    def select(self, columns: tuple[Column, ...], names: tuple[str, ...], where: Predicate) -> list[tuple[Any, ...]]:
        """Return the different rows of what is named, of these columns, for which `where` is true."""
