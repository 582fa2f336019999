"""One-shot questions: charged before any data is read, then answered or lost. One charge has one end.

The order is: `charge` (durable), read data, add noise, `answer` (durable), and only then release. A charge that has no
end after a crash is lost: noise drawn again would be a second release for one price, and the crash may depend on the
first.

The same question, asked at the same moment by several analysts, is charged once and answered once, to all alike. The
first request holds the turn (a lock) from before the charge until the answer is in the ledger. A later one waits, and
then finds the answer there, for nothing. If the first failed there is no answer to find; those that waited for it fail
likewise, free of charge, and may ask (and pay) anew: noise is never drawn again silently. A turn ends with the process
that holds it, so the charge of a dead process blocks no other request.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final

from lapwing.accounting.filters.charge import SingleRelease
from lapwing.ledger.database import Holder
from lapwing.ledger.entries import Entry, Lookup, Lookups, Receipt, Record, name, recall_digest, standing, text
from lapwing.ledger.queue import PATIENCE, pauses
from lapwing.ledger.states import PopulationRecord, RefusedError
from lapwing.ledger.store import Store
from lapwing.ledger.transaction import Transaction
from lapwing.vocabulary.codec import digest, to_record
from lapwing.vocabulary.errors import (
    LapwingError,
    LedgerUnwritableError,
    ParameterError,
    RequestConflictError,
    UnansweredError,
    UnavailableError,
)
from lapwing.vocabulary.event import Composed
from lapwing.vocabulary.frozen import frozen

_SHOWN: Final = ("seq", "population", "analyst", "question", "at")


@frozen()
class Request:
    """A question as the ledger sees it: who asks, under which key, and what will happen.

    `fresh` is true if the key was drawn for this request and will not be used again; then a stored answer, which is
    free, leaves no entry: free questions must not make the ledger grow.

    `held` are the data versions that are held open for it, of all tables: if others are current, it is not charged but
    a `MovedOnError`. A caller that leaves it out must be able to answer about any version.

    `words` describe the question for people, where the plan does not: several columns may be read from one release.
    They are recorded in the entry, and decide nothing.

    `digest` is that of the content: two requests with the same key must have the same.
    """

    population: str
    analyst: str
    key: str  # the idempotency key, chosen by the caller: the same key returns the same answer, for ever
    question: str  # the canonical text of the plan; equal texts are the same question
    tables: frozenset[str]
    charge: SingleRelease
    fresh: bool = False
    held: Mapping[str, int] | None = None
    words: str | None = None
    digest: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        name("analyst", self.analyst)
        name("key", self.key)
        text("question", self.question)
        if self.words is not None:
            text("words", self.words)
        if not isinstance(self.charge, SingleRelease):
            raise ParameterError(
                "charge", self.charge, reason="is not a charge of a question", remedy="give a SingleRelease"
            )
        # before the request stands in line with others, where each of them would wait for it
        content = [self.question, sorted(self.tables), to_record(self.charge)]
        object.__setattr__(self, "digest", digest(content))

    @property
    def place(self) -> int:
        """The place of a gate where requests for the same question take turns."""
        return _turn_of(self.population, self.question)


@frozen()
class Charged:
    """A question that was charged and may now read data; `versions` are the data versions to answer it from."""

    seq: int
    versions: Mapping[str, int]
    receipt: Receipt


@frozen()
class Released:
    """An answer that is durable in the ledger and may be released, byte for byte."""

    answer: str
    receipt: Receipt


@frozen()
class Unsettled:
    """A question that was charged and has no end: in progress in some process, or left over from a crash."""

    seq: int
    population: str
    analyst: str
    key: str
    question: str
    at: str


class Questions:
    """Charging and answering one-shot questions, one at a time where several ask the same."""

    def __init__(self, store: Store) -> None:
        self._store, self._gate = store, store.gate

    def charge(self, request: Request) -> Charged | Released:
        """Charge a question, or return the answer it already has.

        An answer is free if this key, or this question about these data versions, was answered before. A key that was
        charged and has no answer is an `UnansweredError`; one that belongs to another request is refused.
        """
        try:
            return self._store.change(
                "charge", lambda transaction: charge_in(transaction, request), _lookups(request), only_appends=True
            )
        except RefusedError as refused:
            raise refused.explained() from None

    def charge_many(self, requests: Sequence[Request]) -> list[Charged | Released]:
        """Charge different questions in one transaction, or none of them; all else is as for `charge`.

        A refusal is of all together: its numbers are those of what has no answer yet.
        """
        if len(requests) == 1:
            return [self.charge(requests[0])]

        def charge(transaction: Transaction) -> list[Charged | Released]:
            transaction.look_up(tuple(asked for request in requests for asked in _lookups(request)))
            return [charge_in(transaction, request) for request in requests]

        try:
            return self._store.change("charge", charge)
        except RefusedError as refused:
            raise self._refused_together(requests, refused).explained() from None

    def _refused_together(self, requests: Sequence[Request], refused: RefusedError) -> RefusedError:
        """Return why many questions are refused that were put before the accounts one after the other."""
        with self._store.reading() as transaction:
            population = transaction.population(requests[0].population)
            new = [one for one in requests if _find_answer(transaction, population, one, one.digest) is None]
            whole = SingleRelease(
                event=Composed(parts=tuple(one.charge.event for one in new)), segments=refused.charge.segments
            )
            accounts = transaction.accounts(population, requests[0].analyst)
            try:
                accounts.write_off(whole)  # nothing is written where a transaction only reads
            except RefusedError as together:
                return together
        return refused

    def answer(self, seq: int, answer: str) -> Released:
        """Record the answer to charge `seq`, and return the one that is in the ledger: only that may be released.

        If the charge was given up meanwhile (`UnansweredError`), the answer must be forgotten.
        """
        return self.answer_many({seq: answer})[seq]

    def answer_many(self, answers: Mapping[int, str]) -> dict[int, Released]:
        """Write down the answers to charges, all in one transaction; all else is as for `answer`."""
        for answer in answers.values():
            text("answer", answer)

        lookups = _settling(answers)

        def settle(transaction: Transaction) -> dict[int, Released]:
            transaction.look_up(lookups)
            return {seq: _answer_in(transaction, seq, answer) for seq, answer in answers.items()}

        alone = len(answers) == 1  # the lookups of many are too long for one statement
        return self._store.change("answer", settle, lookups if alone else (), only_appends=alone)

    def lose(self, *charges: int) -> None:
        """Give charges up: they stay charged and will never be answered. An answer that came first stands."""

        def settle(transaction: Transaction) -> None:
            for seq in charges:
                charge = _charge_entry(transaction, seq)
                if not transaction.settlement(seq):
                    transaction.append("lost", population=charge["population"], settles=seq)

        alone = len(charges) == 1
        self._store.change("lose", settle, _settling(charges) if alone else (), only_appends=alone)

    def unsettled(self) -> list[Unsettled]:
        """Return every question that was charged and neither answered nor given up."""
        with self._store.reading() as transaction:
            records = [entry.record for entry in transaction.unsettled("charge")]
        return [Unsettled(key=record["request"], **{name: record[name] for name in _SHOWN}) for record in records]

    @contextmanager
    def turn(self, request: Request, patience: float = PATIENCE) -> Iterator[None]:
        """Hold the turn of a question, or wait until another request has answered it.

        It is an `UnavailableError` if the other request was charged and failed: this one was not charged.
        """
        place, holder = request.place, Holder()
        try:
            if not self._gate.enter(place, holder):
                self._wait(request, place, holder, patience)
            yield
        finally:
            self._gate.leave(place, holder)

    def lose_abandoned(self) -> int:
        """Give up every question that was charged and that no live process is working on; return how many.

        A process that works on a question holds its turn from before the charge until its end, and loses the turn with
        the process or the connection. So no timeout decides: a process without its turn cannot answer any more, or
        learns that the question was given up, and discards its answer.
        """
        lost = 0
        for one in self.unsettled():
            place, holder = _turn_of(one.population, one.question), Holder()
            try:
                if self._gate.enter(place, holder):
                    self.lose(one.seq)
                    lost += 1
            finally:
                self._gate.leave(place, holder)
        return lost

    def turns(self, requests: Sequence[Request]) -> AbstractContextManager[None]:
        """Hold the turns of different questions, taken in one order, so that there is no deadlock."""
        return self.turn(requests[0]) if len(requests) == 1 else self._turns(requests)

    @contextmanager
    def _turns(self, requests: Sequence[Request]) -> Iterator[None]:
        with ExitStack() as held:
            for request in sorted(requests, key=lambda one: one.place):
                held.enter_context(self.turn(request))
            yield

    def _wait(self, request: Request, place: int, holder: Holder, patience: float) -> None:
        """Return when the turn is ours, or when the question has its end in the ledger."""
        first = self._first_in_progress(request)
        for _ in pauses(patience):
            if self._gate.enter(place, holder):
                break
            if self._has_an_end(request):
                return
        else:
            if not self._gate.enter(place, holder):
                slow = "the same question is being answered for somebody else, and it takes too long"
                raise LedgerUnwritableError(f"{slow}; nothing was charged: ask again later")
        if not self._has_an_end(request) and self._was_lost(request, first):
            raise UnavailableError("the same question could not be answered for somebody else just now")

    def _has_an_end(self, request: Request) -> bool:
        """Return whether `charge` would return a stored answer, or refuse."""
        try:
            return self.stored(request) is not None
        except UnansweredError as unanswered:
            return unanswered.lost
        except LapwingError:
            return True

    def _first_in_progress(self, request: Request) -> int:
        with self._store.reading() as transaction:
            charges = transaction.unsettled("charge")
            left = [entry.seq for entry in charges if entry.record["question"] == request.question]
            return min(left, default=transaction.last + 1)

    def _was_lost(self, request: Request, first: int) -> bool:
        """Return whether a charge of the question, from that entry on, has no answer."""
        with self._store.reading() as transaction:
            versions = transaction.population(request.population).versions(request.tables)
            named = {"population": request.population, "question": request.question}
            same: Record = {"kind": "charge", "versions": versions, **named}
            for seq in range(first, transaction.last + 1):
                entry = transaction.entry(seq)
                record = entry.record if entry else {}
                if all(record.get(name) == value for name, value in same.items()):
                    end = transaction.settlement(seq)
                    if end is None or end.record["kind"] == "lost":
                        return True
            return False

    def stored(self, request: Request, *, entry: int | None = None) -> Released | None:
        """Return the answer that `charge` would give for nothing, if there is one, or fail as `charge` would.

        Nothing is written. If the key is not in the ledger, `entry` is the entry of its answer, of any data version;
        0, if it has none.
        """
        return self._store.read(lambda transaction: _stored_in(transaction, request, entry), _lookups(request))

    def find_stored(self, ways: Sequence[Request], *, entry: int | None = None) -> tuple[int, Released] | None:
        """Return the stored answer to a question that can be charged in several ways, with the index of its way."""

        def find(transaction: Transaction) -> tuple[int, Released] | None:
            conflict: RequestConflictError | None = None
            for place, request in enumerate(ways):
                try:
                    found = _stored_in(transaction, request, entry)
                except RequestConflictError as other:  # the key may have paid in another way
                    conflict = other
                    continue
                if found is not None:
                    return place, found
            if conflict is not None:
                raise conflict
            return None

        return self._store.read(find, tuple(dict.fromkeys(one for request in ways for one in _lookups(request))))


def _recall_of(population: str, question: str) -> str:
    """Return the digest under which the answers to a question about a population are found."""
    return recall_digest(f"population {population}", question)


def _turn_of(population: str, question: str) -> int:
    """Return the place of a gate at which requests for the same question take turns."""
    return int(_recall_of(population, question)[:15], 16)


def _lookups(request: Request) -> Lookups:
    """Return the lookups that a request needs, to be fetched in one round trip with the end of the chain."""
    population, analyst = request.population, request.analyst
    recall = _recall_of(population, request.question)
    used = (Lookup.REQUEST, (population, analyst, request.key))
    return (*standing(population, analyst), used, (Lookup.RECALL, (recall,)))


def _settling(charges: Collection[int]) -> Lookups:
    """Return the lookups that settling charges needs."""
    return tuple([(Lookup.SETTLES, (seq,)) for seq in charges])


def charge_in(transaction: Transaction, request: Request) -> Charged | Released:
    """Charge a question inside a transaction of the caller, who commits it."""
    population = transaction.population(request.population)
    asked = {"request": request.key, "digest": request.digest}
    known = _find_answer(transaction, population, request, asked["digest"])
    if isinstance(known, Released):
        return known
    if known is not None:
        if not request.fresh:
            population.require_spending(request.analyst)
            common = {"population": population.name, "analyst": request.analyst, **asked}
            transaction.append("recall", **common, recalls=known.seq)
        return read_answer(transaction, known)
    versions = population.versions(request.tables, request.held)
    changes = transaction.accounts(population, request.analyst)
    changes.admit(request.charge, request.tables)
    told = {} if request.words is None else {"words": request.words}
    entry = transaction.append_changes("charge", changes, **asked, question=request.question, **told, versions=versions)
    return Charged(seq=entry.seq, versions=MappingProxyType(versions), receipt=transaction.receipt_of(entry))


def _stored_in(transaction: Transaction, request: Request, entry: int | None) -> Released | None:
    population = transaction.population(request.population)
    found = _find_answer(transaction, population, request, request.digest, entry)
    return found if found is None or isinstance(found, Released) else read_answer(transaction, found)


def _find_answer(
    transaction: Transaction, population: PopulationRecord, request: Request, digest: str, entry: int | None = None
) -> Released | Entry | None:
    """Return the answer under this key, or else the entry that answers this question about the present data.

    If `entry` is given, the answer is that of this entry, or none.
    """
    population.require_admitted(request.analyst)
    population.require_tables(request.analyst, request.tables)
    if earlier := transaction.request(population.name, request.analyst, request=request.key, digest=digest):
        return _read_earlier(transaction, earlier)
    recall = _recall_of(population.name, request.question)
    if entry is not None:
        given = transaction.must(entry) if 0 < entry <= transaction.last else None
        return given if given is not None and given.record.get("recall") == recall else None
    return transaction.recall(recall, population.versions(request.tables))


def _answer_in(transaction: Transaction, seq: int, answer: str) -> Released:
    charge = _charge_entry(transaction, seq)
    if transaction.settlement(seq):
        return _read_earlier(transaction, charge)
    recall = _recall_of(charge["population"], charge["question"])
    told = {"recall": recall, "versions": charge["versions"], "answer": answer}
    entry = transaction.append("answer", population=charge["population"], settles=seq, **told)
    return Released(answer=answer, receipt=transaction.receipt_of(entry))


def read_answer(transaction: Transaction, entry: Entry) -> Released:
    """Return the answer that an entry holds."""
    return Released(answer=entry.record["answer"], receipt=transaction.receipt_of(entry))


def _read_earlier(transaction: Transaction, asked: Mapping[str, Any]) -> Released:
    end = transaction.must(asked["recalls"]) if asked["kind"] == "recall" else transaction.settlement(asked["seq"])
    if end is None or end.record["kind"] == "lost":
        raise UnansweredError(asked["request"], seq=asked["seq"], lost=end is not None)
    return read_answer(transaction, end)


def _charge_entry(transaction: Transaction, seq: int) -> Record:
    record = transaction.charge(seq)
    if record is None:
        remedy = "give the number `charge` returned"
        raise ParameterError("seq", seq, reason="is not a charge of a question", remedy=remedy)
    return record
