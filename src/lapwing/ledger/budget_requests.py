"""Requests for more budget: an analyst asks, the custodian says yes or no, and both stand in the ledger.

A yes is the decision itself: the entry that raises the analyst's allowance (or, where the analyst has none and only the
budget limits them, that budget) has the number of the request that it grants, so a granted request cannot stay without
effect. A no is an entry that changes nothing. Each request is decided once.
"""

from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final, NamedTuple

from lapwing.accounting.filters.account import Budget, raised_by
from lapwing.ledger.administration import allow_in, raise_in
from lapwing.ledger.chains import Chains
from lapwing.ledger.entries import Receipt, Record, text
from lapwing.ledger.entries import name as named
from lapwing.ledger.transaction import Transaction
from lapwing.vocabulary.codec import from_record, to_record
from lapwing.vocabulary.errors import ParameterError, PolicyError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Guarantee
from lapwing.vocabulary.wording import several

MOST_OPEN: Final = 3
"""Requests of one analyst that wait for the custodian: they cost nothing, and must not make the ledger grow."""
_LONGEST: Final = 2000
_ABOUT: Final = "where record ->> 'population' = ? and record ->> 'budget_request' is not null order by seq"


class RequestState(StrEnum):
    """The state of a request."""

    OPEN = "open"
    GRANTED = "granted"
    REFUSED = "refused"


@frozen()
class BudgetRequest:
    """Who wants how much more, and what for; and who decided what, when, and for which reason."""

    number: int
    population: str
    analyst: str
    more: Budget
    purpose: str
    at: str
    state: RequestState = RequestState.OPEN
    by: str | None = None
    decided: str | None = None
    reason: str = ""


class Raise(NamedTuple):
    """The effect of a yes: a larger allowance of the analyst, or a larger budget where the analyst has none."""

    analyst: str | None
    before: Guarantee
    after: Guarantee


class BudgetRequests:
    """The requests of all analysts of a ledger."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    def make(self, population: str, analyst: str, more: Budget, *, purpose: str) -> BudgetRequest:
        """Ask for more than there is, in the same currency. It costs nothing."""
        named("analyst", analyst)
        if not text("purpose", purpose).strip() or len(purpose) > _LONGEST:
            reason, remedy = "does not say what for", f"write a sentence, of at most {_LONGEST:,} characters"
            raise ParameterError("purpose", purpose[:60], reason=reason, remedy=remedy)
        with self._chains.store(population).writing("request") as transaction:
            transaction.population(population).require_admitted(analyst)
            _raise(transaction, population, analyst, more)
            known = _requests(transaction, population)
            waiting = [one for one in known.values() if _is_open(one, analyst)]
            if len(waiting) >= MOST_OPEN:
                reason = f"{several(len(waiting), 'request')} of {analyst!r} wait for the custodian already"
                raise PolicyError("requests", reason=reason, remedy="wait for a yes or a no to one of them")
            said = {"more": to_record(more), "purpose": purpose, "budget_request": len(known) + 1}
            entry = transaction.append("request", population=population, analyst=analyst, **said)
            return _read(transaction.said(entry))

    def all(self, population: str, *, analyst: str | None = None) -> list[BudgetRequest]:
        """Return the requests about a population, of everybody or of one analyst, the newest first."""
        with self._chains.store(population).reading() as transaction:
            transaction.population(population)
            found = _requests(transaction, population)
        return [one for _, one in sorted(found.items(), reverse=True) if analyst in {None, one.analyst}]

    def find(self, population: str, number: int) -> BudgetRequest:
        """Return a request by its number: those about a population are counted from 1."""
        with self._chains.store(population).reading() as transaction:
            return _find(transaction, population, number)

    def effect_of(self, request: BudgetRequest) -> Raise | None:
        """Return the raise that a yes to a request would be now; None if it can change nothing any more."""
        if request.state is not RequestState.OPEN:
            return None
        store = self._chains.store(request.population)
        with store.reading() as transaction, suppress(ParameterError):  # the account may count otherwise by now
            return _raise(transaction, request.population, request.analyst, request.more)
        return None

    def grant(self, population: str, number: int, *, effect: Raise | None = None, by: str = "custodian") -> Receipt:
        """Grant an open request, and raise the allowance or budget, in one entry.

        `effect` is the raise that the custodian was shown: if it is a different one by now, nothing is granted.
        """
        with self._chains.store(population).writing("policy") as transaction:
            request = _open(transaction, population, number)
            due = _raise(transaction, population, request.analyst, request.more)
            if effect is not None and effect != due:
                reason = "would raise something else by now than when it was looked at"
                raise ParameterError("request", number, reason=reason, remedy="look at it again")
            known = transaction.population(population)
            if due.analyst is None:
                return raise_in(transaction, known, due.after, by, budget_request=number)
            return allow_in(transaction, known, due.analyst, allowance=due.after, by=by, budget_request=number)

    def refuse(self, population: str, number: int, *, reason: str = "", by: str = "custodian") -> Receipt:
        """Refuse an open request; nothing else changes."""
        with self._chains.store(population).writing("policy") as transaction:
            request = _open(transaction, population, number)
            said = {"by": named("by", by), "reason": text("reason", reason)[:_LONGEST], "budget_request": number}
            entry = transaction.append("refusal", population=population, analyst=request.analyst, **said)
            return transaction.receipt_of(entry)


def _raise(transaction: Transaction, population: str, analyst: str, more: Budget) -> Raise:
    own = transaction.population(population).analyst(analyst).allowance
    before = transaction.account(population).budget if own is None else own
    return Raise(None if own is None else analyst, before, raised_by(before, more))


def _requests(transaction: Transaction, population: str) -> dict[int, BudgetRequest]:
    found: dict[int, BudgetRequest] = {}
    for record in (entry.record for entry in transaction.some(_ABOUT, population)):
        known = found.get(record["budget_request"])
        found[record["budget_request"]] = _read(record) if known is None else _decided(known, record)
    return found


def _find(transaction: Transaction, population: str, number: int) -> BudgetRequest:
    transaction.population(population)
    found = _requests(transaction, population).get(number)
    if found is None:
        reason, remedy = f"is no request about population {population!r}", "look at the list of them"
        raise ParameterError("request", number, reason=reason, remedy=remedy)
    return found


def _open(transaction: Transaction, population: str, number: int) -> BudgetRequest:
    found = _find(transaction, population, number)
    if found.state is not RequestState.OPEN:
        reason = f"was {found.state} by {found.by} before"
        raise ParameterError("request", number, reason=reason, remedy="what was decided stays; a new one can be made")
    return found


def _is_open(request: BudgetRequest, analyst: str) -> bool:
    return request.analyst == analyst and request.state is RequestState.OPEN


def _read(record: Record) -> BudgetRequest:
    said: dict[str, Any] = {word: record[word] for word in ("population", "analyst", "purpose", "at")}
    return BudgetRequest(number=record["budget_request"], more=from_record(Budget, record["more"]), **said)


def _decided(request: BudgetRequest, record: Record) -> BudgetRequest:
    state = RequestState.REFUSED if record["kind"] == "refusal" else RequestState.GRANTED
    said = {"by": record["by"], "decided": record["at"], "reason": record.get("reason", "")}
    return replace(request, state=state, **said)
