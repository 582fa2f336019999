"""What conditions take from vocabularies and concept sets: values, looked up before a question has a meaning.

    condition in (select descendant_concept_id from concept_ancestor where ancestor_concept_id = 201826)
    condition in concept_set('diabetes')

become lists of values here. A vocabulary holds nobody, and nothing but the question decides what is looked up in it, so
this is free, and it is the same whatever the tables of people hold. A condition inside a vocabulary can name its own
columns and other vocabularies, never a table of people: there is no population around it in which one could be found.

The canonical question holds the values and not where they came from, so the same values by another way are the same
question. Sentences say where they came from and how many there are.

JOIN with a vocabulary is a list of values, and names for groups.

    from condition_occurrence c join concept k on k.concept_id = c.condition_concept_id where k.concept_name = 'Stroke'

says of a row of condition_occurrence that its concept is in `(select concept_id from concept where concept_name =
'Stroke')`. A row stays one row, however many rows of the vocabulary fit it. Nothing else of a vocabulary can be asked
for, but `group by k.concept_name` means the groups of the column that has its names from there.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

from lapwing.queries.algebra.predicate import ALWAYS, Predicate
from lapwing.queries.algebra.words import words
from lapwing.queries.catalogue.column import Category
from lapwing.queries.catalogue.domains import INTEGERS
from lapwing.queries.catalogue.population import Population, public_population
from lapwing.queries.catalogue.public_tables import ConceptExpression, ConceptSet, Vocabulary
from lapwing.queries.language.expressions import (
    EVERYONE,
    Among,
    And,
    By,
    Compare,
    Condition,
    Literal,
    Name,
    Truth,
    Value,
)
from lapwing.queries.language.joined import Has, InConcepts, InConceptSet, Join, Link, joined_by_and
from lapwing.queries.planning.binding import bind
from lapwing.queries.planning.scope import Scope
from lapwing.vocabulary.errors import BadQuestionError, ParameterError

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
            part
            for join in self.question.joins
            if not join.left or join in self.public
            for part in joined_by_and(join.on)
        ]
        parts += joined_by_and(self.question.where)
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


T = TypeVar("T")
Values = tuple[int, ...] | tuple[str, ...]


def with_public_values(asked: T, population: Population) -> T:
    """Return a question, or any part of one, with values in the place of vocabularies and concept sets."""
    joined = without_public_joins(asked, population) if getattr(asked, "joins", ()) else asked
    return _resolved(joined, population)  # type: ignore[no-any-return]


def told_values(asked: object) -> dict[object, str]:
    """Return what the lists in a question are called, by what predicates hold of them."""
    lists = (part for part in _walk(asked) if isinstance(part, Among))
    return {_held(one.values): one.told for one in lists if len(one.values) > 1}  # one value is told by itself


def labelled_values(
    vocabulary: Vocabulary, value: str, label: str | None, where: Condition = EVERYONE
) -> tuple[Values, tuple[str, ...]]:
    """Return the values of a column of a vocabulary, in order, and what they are called in another column, if in one.

    A value without a label, or with several, is called by itself, or by the first of them.
    """
    wanted = (value,) if label is None else (value, label)
    _, _, rows = _select(vocabulary, wanted, where)
    labels: dict[Any, str] = {}
    for one, *told in sorted(rows, key=lambda row: tuple(str(part) for part in row), reverse=True):
        if one is not None:
            labels[one] = str(told[0]) if told and told[0] is not None else str(one)
    values = _one_kind(vocabulary, value, labels)
    return values, tuple(labels[one] for one in values) if label is not None else ()


def _resolved(part: Any, population: Population) -> Any:
    match part:
        case InConceptSet(value=value, name=name):
            return _of_set(value, name, population)
        case InConcepts(value=value, concepts=concepts):
            return _of_concepts(value, concepts, population)
        case Has(table=table) if (vocabulary := population.vocabulary(table)) is not None:
            return _of_vocabulary(part, vocabulary, population)
        case tuple():
            several = tuple(_resolved(one, population) for one in part)
            return part if all(a is b for a, b in zip(several, part, strict=True)) else several
        case Among():
            return part
        case _ if is_dataclass(part) and not isinstance(part, type):
            parts = {field.name: getattr(part, field.name) for field in fields(part)}
            changed = {name: one for name, old in parts.items() if (one := _resolved(old, population)) is not old}
            return replace(part, **changed) if changed else part
        case _:
            return part


def _of_set(value: Value, name: str, population: Population) -> Condition:
    known = {one.name: one for one in population.concept_sets}
    if name not in known:
        there = f"there is {', '.join(map(repr, known))}; " if known else ""
        raise BadQuestionError(
            f"there is no concept set {name!r}; {there}give it first: clinic.concept_set({name!r}, ids), or at the "
            f"command line --concept-set {name}=ids.csv"
        )
    return value.is_in(known[name])


def _of_concepts(value: Value, concepts: ConceptExpression, population: Population) -> Condition:
    """Return that a value is one of a set of concepts; a set that is empty has none."""
    sets = {wanted: {one for one in concepts.items if one.excluded is not wanted} for wanted in (True, False)}
    chosen = {wanted: {one.concept for one in items} for wanted, items in sets.items()}
    for wanted, items in sets.items():
        above = sorted(one.concept for one in items if one.descendants)
        chosen[wanted] |= _descendants(above, concepts, population) if above else set()
    values = tuple(sorted(chosen[True] - chosen[False]))
    if not values:
        return Truth(Literal(value=False))
    return value.is_in(ConceptSet(name=concepts.name, values=values))


def _descendants(above: list[int], concepts: ConceptExpression, population: Population) -> set[int]:
    vocabulary = population.vocabulary("concept_ancestor")
    if vocabulary is None:
        raise BadQuestionError(
            f"the concept set {concepts.name!r} has descendants, and there is no vocabulary concept_ancestor; let the "
            "custodian name it in [vocabularies], or leave the descendants out"
        )
    ancestors = Among(Name("ancestor_concept_id"), tuple(above), "ancestors")
    _, _, rows = _select(vocabulary, ("descendant_concept_id",), ancestors)
    return {int(one) for (one,) in rows if one is not None}


def _of_vocabulary(has: Has, vocabulary: Vocabulary, population: Population) -> Condition:
    """Return that a value is among those that a SELECT from a vocabulary gives."""
    if has.at_least != 1:
        raise BadQuestionError(f"rows of {vocabulary.name} are those of nobody; leave out how many there must be")
    inner, outer, where = _tie(has, vocabulary)
    condition = _resolved(where, population)
    (column,), predicate, rows = _select(vocabulary, (inner.name,), condition, has)
    values = _one_kind(vocabulary, column, (value for (value,) in rows if value is not None))
    such = "" if predicate == ALWAYS else f" where {words(predicate, told_values(condition))}"
    told = f"{column} in {vocabulary.name}{such}"
    if not values:
        raise BadQuestionError(f"there is no {told}, so nothing would be counted; mend the condition")
    return Among(outer, values, f"the {len(values):,} values of {told}")


def _select(
    vocabulary: Vocabulary, columns: tuple[str, ...], where: Condition, has: Has | None = None
) -> tuple[tuple[str, ...], Predicate, list[tuple[Any, ...]]]:
    """Return columns as the vocabulary writes them, the meaning of a condition about its rows, and what it selects."""
    named = {part.name.casefold() for part in _walk(where) if isinstance(part, Name)}
    for part in _walk(where):
        if isinstance(part, Has):
            raise BadQuestionError(
                f"{vocabulary.name} is public, and a condition in it cannot ask about people ({part.table}); ask about "
                "them outside of it"
            )
    there = vocabulary.columns(frozenset(named | {name.casefold() for name in columns}))
    alone = public_population(vocabulary.name, there)
    alias, chosen = (vocabulary.name, None) if has is None else (has.alias or vocabulary.name, has.columns)
    scope = Scope(alone, alone.tables[0], alias, columns=chosen)
    found = tuple(scope.column(Name(name)).name for name in columns)
    predicate = bind(where, scope)
    return found, predicate, vocabulary.select(there, found, predicate)


def _one_kind(vocabulary: Vocabulary, column: str, found: Any) -> Values:
    """Return values in order, if they are all whole numbers or all texts."""
    values = set(found)
    if not {type(value) for value in values} <= {int} and not {type(value) for value in values} <= {str}:
        raise ParameterError(
            "column",
            column,
            reason=f"of {vocabulary.name} holds neither whole numbers nor texts",
            remedy="name one that does",
        )
    return tuple(sorted(values))


def _tie(has: Has, vocabulary: Vocabulary) -> tuple[Name, Value, Condition]:
    """Return the column of the vocabulary, the value that is looked for in it, and the rest of the condition."""
    if isinstance(has.link, tuple):
        return has.link[0], has.link[1], has.where
    own = {name.casefold() for name in vocabulary.column_names}
    alias = (has.alias or has.table).casefold()

    def is_inner(name: Name) -> bool:
        return name.table.casefold() == alias if name.table is not None else name.name.casefold() in own

    parts = list(joined_by_and(has.where))
    ties = [] if has.link is Link.IMPLIED else [tied for part in parts for tied in _tied(part, is_inner)]
    if len(ties) != 1:
        raise BadQuestionError(
            f"{vocabulary.name} is a vocabulary, with nobody in it; write it as a list: column in (select ...)"
        )
    inner, outer, tie = ties[0]
    return inner, outer, And(tuple(part for part in parts if part is not tie))


def _tied(part: Condition, is_inner: Callable[[Name], bool]) -> Iterator[tuple[Name, Name, Condition]]:
    """Yield a column of the vocabulary, one outside, and the condition that says they are equal, if it does."""
    match part:
        case Compare("=", Name() as one, Name() as other) if is_inner(one) != is_inner(other):
            yield (one, other, part) if is_inner(one) else (other, one, part)
        case _:
            pass


def _held(values: Values) -> object:
    """Return values as a predicate holds them."""
    numbers = [(value, value) for value in values if isinstance(value, int)]
    return INTEGERS.union(numbers) if numbers else tuple(sorted(set(map(str, values))))


def _walk(part: object) -> Iterator[object]:
    """Go through all parts; the values of a list are none."""
    stack = [part]
    while stack:
        one = stack.pop()
        if isinstance(one, Among):
            yield one
            stack.append(one.value)
        elif isinstance(one, tuple):
            stack += one
        elif is_dataclass(one):
            yield one
            stack += [getattr(one, field.name) for field in fields(one)]
