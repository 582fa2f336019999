"""Comparisons of two columns: of one row, or of a row and one around it that the same person has."""

from lapwing.queries.expressions import Days, Literal, Value
from lapwing.queries.predicate import Compared, Predicate, Ref, atom
from lapwing.queries.scope import Scope
from lapwing.queries.simplifying import kind_of
from lapwing.vocabulary.errors import BadQuestionError

_SIGNS = {"=": (0,), "<>": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}
_NUMBERS = {"integer", "number"}


def compare_columns(operator: str, left: Value, right: Value, scope: Scope, *, wanted: bool) -> Predicate:
    """Return where the comparison is true if `wanted`, and where it is false otherwise."""
    if isinstance(left, Literal | Days) or isinstance(right, Literal | Days):
        raise BadQuestionError("a column is compared with a constant of its own kind, or with another column")
    (one, first), (other, second) = scope.seen(left), scope.seen(right)
    kinds = {kind_of(first), kind_of(second)}
    if len(kinds) > 1 and kinds != _NUMBERS:
        raise BadQuestionError(
            f"{first.name!r} and {second.name!r} cannot be compared: one holds what is a {kind_of(first)}, the other "
            f"what is a {kind_of(second)}; compare each with a constant"
        )
    if operator not in {"=", "<>"} and not kinds <= _NUMBERS:
        raise BadQuestionError(
            f"{first.name!r} and {second.name!r} have no order that all databases agree on; compare them with = or <>"
        )
    signs = _SIGNS[operator] if wanted else tuple(sign for sign in (-1, 0, 1) if sign not in _SIGNS[operator])
    return atom(Compared(left=Ref(column=first.name, up=one), right=Ref(column=second.name, up=other), signs=signs))
