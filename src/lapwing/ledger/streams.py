"""Questions of streams: the rounds of a reservation that answer yes or no, and take a unit for each yes.

The protocol is that of `reservations`. A stream adds four things:

- The intent holds the sealed seed of its noise, so that what a crash left in flight is decided again *with the same
  seed*. Where that cannot be it is `LOST`, which costs as much as a yes, as far as there are yeses left.
- Questions may be asked together: one intent with one seed, decided in their order up to the one that halts the stream.
  One question is a list of one.
- A question that was asked before, about the same data, has the answer that it had.
- A no is free, so an analyst may be allowed only so many questions a day.

Proof: proofs/stream_recovery.md
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lapwing.ledger.entries import Entry, Record, name, recall_digest, text
from lapwing.ledger.reservation_states import (
    Decision,
    Intent,
    ReservationRecord,
    ReservationStatus,
    RoundOutcome,
    require_sealed,
)
from lapwing.ledger.reservations import (
    decision_in,
    intend_in,
    intended,
    lookups_of,
    require_allowed,
    require_held,
    require_next,
    require_reservation,
    settle_in,
    settlement,
)
from lapwing.ledger.store import Store
from lapwing.ledger.transaction import Recalled, Transaction
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.errors import ParameterError, StreamBusyError, StreamError, UnansweredError
from lapwing.vocabulary.exact import as_int

_LAST_INTENT: Final = """select max(seq) from entries where record ->> 'kind' = 'intent'
    and record ->> 'reserves' is null and record ->> 'population' = ? and record ->> 'analyst' = ?"""


class Streams:
    """Asking and deciding questions of streams."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def recalled(self, stream: str, questions: Sequence[str]) -> dict[str, Decision]:
        """Return what a stream has decided about some of these questions, from the present data. Nothing is written."""
        with self._store.reading() as transaction:
            known = require_reservation(transaction, stream)
            population = transaction.population(known.population)
            require_allowed(population, known)
            return _recalled(transaction, known, questions, population.versions(known.tables))

    def intend(
        self,
        stream: str,
        *,
        number: int,
        key: str,
        questions: Sequence[str],
        sealed: bytes,
        fresh: bool = False,
        held: Mapping[str, int] | None = None,
    ) -> tuple[Intent | None, dict[str, Decision]]:
        """Store questions in their order, before data is read, and return the decisions that some already have.

        The intent is of the others, from question `number` on, one more than the last; `None` where there are no
        others, or the stream has halted. `sealed` is the seed of all their noise, whose seal is bound to the number.
        All else is as for a `Request`, `held` included. No question may come twice.
        """
        as_int("number", number)
        name("key", key)
        for question in questions:
            text("question", question)
        require_sealed(sealed)
        asked = tuple(questions)

        def change(transaction: Transaction) -> tuple[Intent | None, dict[str, Decision]]:
            known = require_held(transaction, stream, held)
            return _intend(transaction, known, number, key, asked, sealed=sealed, fresh=fresh)

        return self._store.change("intend", change, lookups_of(self._store, stream, key))

    def decide(
        self,
        stream: str,
        *,
        number: int,
        answers: Sequence[tuple[RoundOutcome, str]] | None,
        units: int = 1,
        sealed: bytes | None = None,
    ) -> dict[str, Decision]:
        """Store the outcomes of questions that were intended, with the yeses they cost and the halt.

        Return the outcomes that stand, by question: those that were stored first, here or by another process; none, if
        they were lost.

        Parameters
        ----------
        stream, number : the questions in flight, by the number of the first
        answers : the outcome and the answer of each, in order, up to the one that halts the stream; `None` where all
            are lost, which costs as much as if each of them had been a yes, as far as the stream has yeses left
        units : what a yes takes, where one question was asked alone (a lost one takes those of the dearest yes)
        sealed : the new state of the stream, if it changes, as long as the one before
        """
        for outcome, answer in answers or ():
            if outcome not in {RoundOutcome.YES, RoundOutcome.NO}:
                raise ParameterError("answer", outcome, reason="is neither yes nor no", remedy="a lost one has none")
            text("answer", answer)
        as_int("units", units)
        if sealed is not None:
            require_sealed(sealed)

        def change(transaction: Transaction) -> tuple[dict[str, Decision], bool]:
            known = require_reservation(transaction, stream)
            decisions = _decide(transaction, known, number, answers, units=units, sealed=sealed)
            return decisions, require_reservation(transaction, stream).status is not ReservationStatus.OPEN

        decisions, has_ended = self._store.change("decide", change, lookups_of(self._store, stream))
        if has_ended:
            self._store.shred()
        return decisions


def _intend(
    transaction: Transaction,
    stream: ReservationRecord,
    number: int,
    key: str,
    questions: tuple[str, ...],
    *,
    sealed: bytes,
    fresh: bool,
) -> tuple[Intent | None, dict[str, Decision]]:
    population = transaction.population(stream.population)
    require_allowed(population, stream)
    asked = {"request": key, "digest": digest([stream.name, *questions])}
    if earlier := transaction.request(stream.population, stream.analyst, **asked):
        return None, _recalled(transaction, stream, questions, _versions_of(transaction, stream, earlier))
    known = _recalled(transaction, stream, questions, population.versions(stream.tables))
    new = [question for question in questions if question not in known]
    if not new:
        if not fresh:
            population.require_spending(stream.analyst)
            last = max(one.receipt.seq for one in known.values())
            transaction.append("recall", population=population.name, analyst=stream.analyst, **asked, recalls=last)
        return None, known
    if known and stream.status is ReservationStatus.HALTED:
        return None, known
    if stream.dearest > 1 and len(new) > 1:
        raise StreamError(f"yeses of stream {stream.name!r} have different prices; ask its questions one at a time")
    require_next(population, stream, number, len(new))
    today = _asked_today(transaction, stream, len(new))
    return intend_in(transaction, stream, number, new, sealed=sealed, **asked, **today), known


def _asked_today(transaction: Transaction, stream: ReservationRecord, questions: int) -> dict[str, Any]:
    """Return the day and how many questions an analyst has then asked of streams in it, where that has a limit.

    The clock decides nothing else here: a no is free, and only makes the ledger grow.
    """
    population = transaction.population(stream.population)
    if population.noes_a_day is None:
        return {}
    (seq,) = transaction.one(_LAST_INTENT, stream.population, stream.analyst) or (None,)
    last, day = transaction.entry(seq) if seq else None, transaction.day
    known, before = last.record.get("today", ["", 0]) if last else ("", 0)
    before = before if known == day else 0
    population.require_noes(stream.analyst, day, before + questions)
    return {"today": [day, before + questions]}


def _recalled(
    transaction: Transaction, stream: ReservationRecord, questions: Sequence[str], versions: Mapping[str, int]
) -> dict[str, Decision]:
    """Return what this stream has decided about some of these questions, from these data versions."""
    digests = {_recall_of(stream, question): question for question in questions}
    found = transaction.recalls(list(digests), versions)
    return {digests[digest]: decision_in(transaction, one, stream) for digest, one in found.items()}


def _recall_of(stream: ReservationRecord, question: str) -> str:
    """Return the digest under which the answer to a question of a stream is found."""
    return recall_digest(f"stream {stream.name}", question)


def _versions_of(transaction: Transaction, stream: ReservationRecord, asked: Record) -> Mapping[str, int]:
    """Return the data versions that a request was about when it was first made; refuse it if it was lost."""
    end = transaction.entry(asked["recalls"]) if asked["kind"] == "recall" else transaction.settlement(asked["seq"])
    if end is None:
        raise StreamBusyError(stream.name, number=asked["number"])
    versions: Mapping[str, int] | None = end.record.get("versions")
    if versions is None:
        raise UnansweredError(asked["request"], seq=asked["seq"], lost=True)
    return versions


def _decide(
    transaction: Transaction,
    stream: ReservationRecord,
    number: int,
    answers: Sequence[tuple[RoundOutcome, str]] | None,
    *,
    units: int,
    sealed: bytes | None,
) -> dict[str, Decision]:
    intent = intended(transaction, stream, number)
    questions: list[str] = intent["questions"] if "questions" in intent else [intent["question"]]
    stands = settlement(transaction, stream, intent)
    if stands is None and answers is None:
        lost = min(len(questions), stream.units_left // stream.dearest)
        last, taken = number + len(questions) - 1, lost * stream.dearest
        outcome = RoundOutcome.LOST.value
        stands = settle_in(transaction, stream, intent, last=last, taken=taken, sealed=sealed, outcome=outcome)
    elif stands is None and answers is not None:
        stands = _settle_answers(transaction, stream, intent, questions, answers, units=units, sealed=sealed)
    if stands is None:
        raise AssertionError  # pragma: no cover - one of the two has settled it
    after, record = require_reservation(transaction, stream.name), transaction.said(stands)
    places = range(len(record["answers"])) if "answers" in record else [None] if "answer" in record else []
    return {
        question: decision_in(transaction, Recalled(stands, record, place), after)
        for question, place in zip(questions, places, strict=False)
    }


def _settle_answers(
    transaction: Transaction,
    stream: ReservationRecord,
    intent: Record,
    questions: Sequence[str],
    answers: Sequence[tuple[RoundOutcome, str]],
    *,
    units: int,
    sealed: bytes | None,
) -> Entry:
    """Write the outcomes of questions, up to the one that halts the stream; in a list, if they were asked in one."""
    if units > stream.dearest:
        reason = f"is more than the dearest yes of the stream, {stream.dearest}"
        raise ParameterError("units", units, reason=reason, remedy="take fewer")
    taken = units * sum(outcome is RoundOutcome.YES for outcome, _ in answers)
    halts = stream.units - stream.used - taken < stream.dearest
    if not answers or len(answers) > len(questions) or (len(answers) < len(questions) and not halts):
        reason = f"is not the number of questions, {len(questions)}"
        remedy = "decide all of them, or all up to the one that halts the stream"
        raise ParameterError("answers", len(answers), reason=reason, remedy=remedy)
    recalls = [_recall_of(stream, question) for question, _ in zip(questions, answers, strict=False)]
    told: dict[str, Any]
    if "questions" in intent:
        told = {"answers": [[outcome.value, answer] for outcome, answer in answers], "recalls": recalls}
    else:
        told = {"outcome": answers[0][0].value, "answer": answers[0][1], "recall": recalls[0]}
    last = intent["number"] + len(answers) - 1
    told["versions"] = intent["versions"]
    entry = settle_in(transaction, stream, intent, last=last, taken=taken, sealed=sealed, **told)
    if "questions" in intent:
        transaction.keep_recalls(entry, recalls)
    return entry
