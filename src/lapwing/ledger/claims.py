"""Whether what an entry claims is what follows from those before it: prices, steps and accounts, told a second time.

Residues are floats, and another build of a numerical library may find another last digit: what is claimed may be
smaller than what is found, and never larger.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from lapwing.accounting.filters.account import Account, Admission
from lapwing.accounting.filters.approximate import ApproximateFilter
from lapwing.ledger.entries import recall_digest
from lapwing.vocabulary.codec import from_record, parse, to_text
from lapwing.vocabulary.event import Composed, Event

Record = dict[str, Any]

_OTHER_BUILD: Final = 1 + 1e-9


class ReplayError(Exception):
    """What is wrong with an entry."""


def require(condition: object, otherwise: str) -> None:
    """Go on if the condition holds."""
    if not condition:
        raise ReplayError(otherwise)


def offered_event(question: str) -> Event | None:
    """Return the event that the text of a question says will happen; `None` for a text that says none."""
    try:
        parts: list[Event] = [from_record(Event, part["event"]) for part in parse(question)]
    except (ValueError, TypeError, KeyError):  # no question of a session
        return None
    return parts[0] if len(parts) == 1 else Composed(parts=tuple(parts))


def agreed_price(terms: str) -> Fraction | None:
    """Return what the terms of a stream say that it costs; `None` for terms that say nothing."""
    try:
        return from_record(Fraction, parse(terms)["epsilon"])
    except (ValueError, TypeError, KeyError):  # no terms of a session
        return None


def require_same_question(record: Record, asked: Record, scope: str) -> None:
    """Refuse an answer that would be found under another question, or other data, than was paid for."""
    require(record["recall"] == recall_digest(scope, asked["question"]), "answers a question that was not charged")
    require(record["versions"] == asked["versions"], "answers from other data versions")


def steps_agree(claimed: Admission, found: Any) -> bool:
    """Say whether an admission took at least what it had to, and is otherwise what is found now."""
    require(claimed.cost == found.cost and claimed.steps.keys() == found.steps.keys(), "was charged another price")
    for segment, step in claimed.steps.items():
        if not _no_larger(step.residue, found.steps[segment].residue):
            return False
    same = {segment: replace(step, residue=claimed.steps[segment].residue) for segment, step in found.steps.items()}
    return dict(claimed.steps) == same


def accounts_agree(claimed: Account, found: Account) -> bool:
    """Say whether two accounts are the same but for residues, and the claimed ones are no larger than those found."""
    filters = dict(found.filters)
    for segment, filter_ in claimed.filters.items():
        other = filters[segment]
        if isinstance(filter_, ApproximateFilter) and isinstance(other, ApproximateFilter):
            if not _no_larger(filter_.residue, other.residue):
                return False
            filters[segment] = replace(other, residue=filter_.residue)
    return to_text(claimed) == to_text(replace(found, filters=filters))


def _no_larger(claimed: float | None, found: float | None) -> bool:
    return claimed is None or (found is not None and claimed <= found * _OTHER_BUILD)
