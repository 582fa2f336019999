"""Rows of the same person in another table: how a condition says that they are the same person's."""

from lapwing.queries.beside import beside
from lapwing.queries.expressions import And, Compare, Condition, Name
from lapwing.queries.joined import Has, Joined, Link, PerPerson, joined_by_and
from lapwing.queries.scope import Scope
from lapwing.vocabulary.errors import BadQuestionError


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
            pairs = ((one, other), (other, one))
            return any(_is_key_of(a, inner, inner) and _is_key_of(b, inner, outer) for a, b in pairs)
        case _:
            return False


def _is_key_of(name: Name, read_in: Scope, owner: Scope) -> bool:
    """Say whether `name`, read in one scope, means the person key of another."""
    found = read_in.find(name)
    return found is not None and found[1] is owner and owner.is_person_key(name)


def _untied(inner: Scope, outer: Scope) -> BadQuestionError:
    return BadQuestionError(
        f"rows of {inner.table.name} are joined to the same person only; write "
        f"{inner.alias}.{inner.person_key} = {outer.alias}.{outer.person_key}, or has({inner.table.name}, ...)"
    )
