"""Checks that the claims of an entry follow from the entries before it: prices, steps and accounts, recomputed.

Residues are floats, and so are the rhos of some releases; another processor, or another build of a numerical library,
may find another last digit. A claimed residue may be smaller than the recomputed one, and never larger; a price may
differ in the ninth digit.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from lapwing.accounting.filters.account import Account, Admission, Budget, raised_by
from lapwing.accounting.filters.approximate import ApproximateFilter
from lapwing.accounting.filters.charge import Cost
from lapwing.ledger.entries import recall_digest
from lapwing.ledger.states import PopulationRecord
from lapwing.vocabulary.codec import from_record, parse, to_text
from lapwing.vocabulary.event import Composed, Event
from lapwing.vocabulary.guarantee import Guarantee

Record = dict[str, Any]

_OTHER_BUILD: Final = 1 + 1e-9

_STATE: Final = "population analyst stream reserves status asked used seals"
_FIELDS: Final = {
    "population": "at by population policy account",
    "policy": "at by population policy change analyst table version budget_request account allowance",
    "charge": "at population analyst request digest question words versions account allowance",
    "write-off": "at by population analyst reason lost rest_of account allowance",
    "answer": "population settles recall versions answer",
    "lost": "population settles",
    "recall": "at population analyst request digest recalls",
    "opening": f"at {_STATE} request digest if_lost terms tables units dearest questions account allowance",
    "intent": f"at {_STATE} request digest number question questions versions today",
    "outcome": f"{_STATE} settles number units outcome answer answers recall recalls versions account allowance",
    "closing": f"at {_STATE} settles number forfeit outcome account allowance",
    "founding": "at founds chain since",
    "heads": "at heads root",
    "note": "at by remark lost_until lost_head",
    "request": "at population analyst budget_request more purpose",
    "refusal": "at by population analyst budget_request reason",
}
FIELDS: Final = {kind: frozenset({"kind", "seq", *fields.split()}) for kind, fields in _FIELDS.items()}
"""All fields that an entry of a kind may have. Entries are found by their fields, whatever their kind."""


class ReplayError(Exception):
    """An entry that does not follow from those before it; the message is the reason."""


def require(condition: object, otherwise: str) -> None:
    """Refuse an entry if a condition does not hold; `otherwise` is the reason."""
    if not condition:
        raise ReplayError(otherwise)


def require_fields(record: Record) -> None:
    """Refuse an entry with a field that no entry of its kind has: a lookup would find it as a state that it is not."""
    others = sorted(record.keys() - FIELDS[record["kind"]])
    require(not others, f"has what no entry of the kind {record['kind']!r} has: {', '.join(others)}")


def require_told(record: Record, *, is_stream: bool, many: bool) -> None:
    """Refuse an outcome that lacks a part of what was decided, or has a part of another kind of outcome."""
    due = {"outcome", "answer", "versions"} | ({"recall"} if is_stream else set())
    if record.get("outcome") == "lost":
        due = {"outcome"}
    elif many:
        due = {"answers", "recalls", "versions"}
    told = record.keys() & {"outcome", "answer", "answers", "recall", "recalls", "versions"}
    require(told == due, f"tells {', '.join(sorted(told))}, and not {', '.join(sorted(due))}")


def units_of_one(record: Record, dearest: int) -> int:
    """Return the units that the outcome of one question takes."""
    require((record["outcome"] == "lost") != ("answer" in record), "holds an answer and is lost, or neither")
    units: int = record["units"]
    least, most = {"yes": (1, dearest), "no": (0, 0), "lost": (dearest, dearest)}[record["outcome"]]
    require(least <= units <= most, f"takes {units} units for a {record['outcome']}")
    return units


def units_of_round(record: Record) -> int:
    """Return the units that the outcome of a round takes which is no question of a stream: none, all is paid."""
    require(record["outcome"] in {"released", "lost"}, "has an outcome that there is not")
    held = {"answer", "versions"} & record.keys()
    require(len(held) == (0 if record["outcome"] == "lost" else 2), "holds an answer and is lost, or neither")
    return 0


class OpenRequests:
    """Requests for more budget that wait for a yes or a no; each is decided once, and a yes gives what it asks for."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], Record] = {}
        self._made: Counter[str] = Counter()

    def add(self, record: Record, population: PopulationRecord) -> None:
        """Follow a request: those about a population are counted."""
        population.require_admitted(record["analyst"])
        self._made[population.name] += 1
        require(record["budget_request"] == self._made[population.name], "has the number of another request")
        require(isinstance(record["purpose"], str), "does not say what for")
        from_record(Budget, record["more"])
        self._open[population.name, record["budget_request"]] = record

    def refuse(self, record: Record) -> None:
        """Follow a no."""
        require(isinstance(record["reason"], str) and isinstance(record["by"], str), "refuses without a word")
        require(self._decided(record)["analyst"] == record["analyst"], "refuses a request of somebody else")

    def grant(self, record: Record, population: PopulationRecord, budget: Guarantee) -> None:
        """Check a yes: it raises the allowance of the analyst who asked, or the `budget` where they have none."""
        request = self._decided(record)
        own = population.analyst(request["analyst"]).allowance
        changed = ("budget", None) if own is None else ("allowance", request["analyst"])
        require((record["change"], record.get("analyst")) == changed, "grants something to somebody else")
        due = raised_by(own or budget, from_record(Budget, request["more"]))
        after = from_record(Account, record["account" if own is None else "allowance"]["after"]).budget
        require(after == due, "grants something else than was asked for")

    def _decided(self, record: Record) -> Record:
        which = record["population"], record["budget_request"]
        require(which in self._open, "decides what nobody asked for, or for the second time")
        return self._open.pop(which)


def offered_event(question: str) -> Event | None:
    """Return the event that the text of a question declares; `None` for a text that declares none."""
    try:
        parts: list[Event] = [from_record(Event, part["event"]) for part in parse(question)]
    except (ValueError, TypeError, KeyError):  # no question of a session
        return None
    return parts[0] if len(parts) == 1 else Composed(parts=tuple(parts))


def agreed_price(terms: str) -> Fraction | None:
    """Return the price of a stream by its terms; `None` for terms without a price."""
    try:
        return from_record(Fraction, parse(terms)["epsilon"])
    except (ValueError, TypeError, KeyError):  # no terms of a session
        return None


def agreed_event(terms: str) -> Event | None:
    """Return the event of all rounds of a reservation by its terms; `None` for terms without an event."""
    try:
        event: Event = from_record(Event, parse(terms)["event"])
    except (ValueError, TypeError, KeyError):  # no terms of a session
        return None
    return event


def require_same_question(record: Record, asked: Record, scope: str) -> None:
    """Refuse an answer that would be found under another question, or other data, than was paid for."""
    require(record["recall"] == recall_digest(scope, asked["question"]), "answers a question that was not charged")
    require(record["versions"] == asked["versions"], "answers from other data versions")


def prices_agree(claimed: Cost, found: Cost) -> bool:
    """Return whether a price equals the recomputed one, but for the last digits of a rho: hosts may differ."""
    if claimed.rho is None or found.rho is None:
        return claimed == found
    same, digits = replace(claimed, rho=found.rho) == found, Fraction(_OTHER_BUILD)
    return same and claimed.rho <= found.rho * digits and found.rho <= claimed.rho * digits


def steps_agree(claimed: Admission, found: Admission) -> bool:
    """Return whether an admission took at least the recomputed amount, and is otherwise equal to the recomputed one."""
    require(claimed.steps.keys() == found.steps.keys(), "was charged to other people")
    for segment, step in claimed.steps.items():
        if not _no_larger(step.residue, found.steps[segment].residue):
            return False
    same = {segment: replace(step, residue=claimed.steps[segment].residue) for segment, step in found.steps.items()}
    return dict(claimed.steps) == same


def accounts_agree(claimed: Account, found: Account) -> bool:
    """Return whether two accounts are equal but for residues, and no claimed residue is larger than the found one."""
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
