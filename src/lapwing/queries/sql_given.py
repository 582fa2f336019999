"""What a SELECT in FROM or WITH gives to the one around it: rows of a table under a name, some of them."""

from collections.abc import Mapping
from dataclasses import field

from sqlglot import exp

from lapwing.queries.expressions import EVERYONE, Condition, Name, Value
from lapwing.queries.joined import Has, Join, Joined, ScopedCondition, renamed
from lapwing.queries.sql_nodes import name_of
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen

EVERYBODY = ""
"""Stands for the table with one row a person, which the catalogue knows."""


@frozen(kw_only=False)
class Given:
    """Rows of a table under a name, some of them: what FROM names, or what WITH gave a name to.

    Parameters
    ----------
    table : whose rows they are
    alias : what they are called
    where : which of them
    columns : those that may be named, where a SELECT chose some
    joins : the tables of a FROM with several, this one first
    key : the column for each of whose values DISTINCT or GROUP BY left one row
    at_least : how many rows there must be for it
    values : what a SELECT computed, by lower-case names, in which the row is called `inside`
    """

    table: str
    alias: str
    where: Condition
    columns: tuple[str, ...] | None = None
    joins: tuple[Join, ...] = ()
    key: Name | None = None
    at_least: int = 1
    values: Mapping[str, Value] = field(default_factory=dict)
    inside: str = ""

    def own(self, node: exp.Expr) -> Name:
        """Return a column of these rows that is only listed, so that nobody looks it up."""
        name = name_of(node)
        if name.table is not None and name.table.casefold() != self.alias.casefold():
            raise BadQuestionError(f"{name.table}.{name.name} is not a column of {self.alias}; write {name.name}")
        if self.columns is not None and name.name.casefold() not in {
            *(column.casefold() for column in self.columns),
            *self.values,
        }:
            raise BadQuestionError(f"{self.alias} has no column {name.name!r}; it has {', '.join(self.columns)}")
        return name

    def computed(self, name: Name) -> Value | None:
        """Return what a SELECT computed under this name, if it did, as it is said of these rows."""
        if name.table is not None and name.table.casefold() != self.alias.casefold():
            return None
        made = self.values.get(name.name.casefold())
        if not self.inside:  # its FROM is the one around it
            return Name(name.name) if made is None and self.joins and name.table is not None else made
        return None if made is None else renamed(made, self.inside, self.alias)

    @property
    def said(self) -> Condition:
        """What is said about each of the rows."""
        if self.joins:
            return ScopedCondition(Joined(self.joins, self.where), self.joins[0].alias)
        return self.several if self.key is not None and self.at_least > 1 else self.where

    @property
    def several(self) -> Condition:
        """That the person of a row has as many such rows as HAVING asks for."""
        link = (self.key, Name(self.key.name)) if self.key is not None else (Name(""), Name(""))
        return Has(self.table, self.where, self.at_least, self.alias, link, self.columns)

    def join(self, on: Condition = EVERYONE, *, left: bool = False) -> Join:
        """Return these rows as a table of a FROM with several."""
        repeats = bool(self.joins) and self.key is None
        return Join(self.table, self.alias, on, left, self.columns, self.said, self.key, repeats=repeats)
