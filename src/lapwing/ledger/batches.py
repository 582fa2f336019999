"""Questions of a stream that are asked together: one intent with one sealed seed, one outcome with all answers.

The protocol is that of `streams`, for an ordered list instead of one question. What was asked before keeps its answer;
the others are numbered in their order, decided up to the one that halts the stream, and paid for in one entry.

Proof: proofs/stream_recovery.md
"""

from collections.abc import Mapping, Sequence

from lapwing.ledger.entries import Entry, Record, name, text
from lapwing.ledger.store import Store
from lapwing.ledger.stream_states import Decision, Intent, StreamOutcome, StreamRecord, StreamStatus, require_sealed
from lapwing.ledger.streams import (
    asked_today,
    decision_in,
    intended,
    intent_in,
    keep_secret,
    recall_of,
    recalled,
    require_held,
    require_next,
    require_stream,
    settle,
    settlement,
    state_fields,
    stream_lookups,
    versions_of,
)
from lapwing.ledger.transaction import Recalled, Transaction
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.errors import ParameterError, StreamError
from lapwing.vocabulary.exact import as_int


class Batches:
    """Asking and deciding questions of a stream together."""

    def __init__(self, store: Store) -> None:
        self._store = store

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
        """Store questions together, in their order, and return the decisions that some of them already have.

        The intent is of the others, from question `number` on, with one sealed seed for the noise of all; `None` where
        there are no others. The words are those of `intend`; no question may come twice.
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

        return self._store.change("intend", change, stream_lookups(self._store, stream, key))

    def decide(
        self, stream: str, *, number: int, answers: Sequence[tuple[StreamOutcome, str]] | None, sealed: bytes
    ) -> dict[str, Decision]:
        """Store the outcomes of questions that were intended together, with the yeses they cost and the halt.

        Return the outcomes that stand, by question: those that were stored first.

        Parameters
        ----------
        stream, number : the questions in flight, by the number of the first
        answers : how each ended and what will be told, in order, up to the one that halts the stream; `None` where all
            are lost, which costs as much as if each of them had been a yes, as far as the stream has yeses left
        sealed : the new state of the stream, sealed
        """
        require_sealed(sealed)

        def change(transaction: Transaction) -> tuple[dict[str, Decision], bool]:
            decisions = _decide(transaction, require_stream(transaction, stream), number, answers, sealed)
            return decisions, require_stream(transaction, stream).status is not StreamStatus.OPEN

        decisions, halted = self._store.change("decide", change, stream_lookups(self._store, stream))
        if halted:
            self._store.shred()
        return decisions


def _intend(
    transaction: Transaction,
    stream: StreamRecord,
    number: int,
    key: str,
    questions: tuple[str, ...],
    *,
    sealed: bytes,
    fresh: bool,
) -> tuple[Intent | None, dict[str, Decision]]:
    population = transaction.population(stream.population)
    asked = {"request": key, "digest": digest([stream.name, *questions])}
    if earlier := transaction.request(stream.population, stream.analyst, **asked):
        return None, recalled(transaction, stream, questions, versions_of(transaction, stream, earlier))
    versions = population.versions(stream.tables)
    common = {"population": stream.population, "analyst": stream.analyst, **asked}
    known = recalled(transaction, stream, questions, versions)
    new = [question for question in questions if question not in known]
    if not new:
        if not fresh:
            population.require_spending(stream.analyst)
            transaction.append("recall", **common, recalls=max(one.receipt.seq for one in known.values()))
        return None, known
    if stream.status is StreamStatus.HALTED:
        return None, known
    if stream.dearest > 1:
        raise StreamError(f"yeses of stream {stream.name!r} have different prices; ask its questions one at a time")
    require_next(population, stream, number, len(new))
    today = asked_today(transaction, stream, len(new))
    said = {"questions": new, "versions": versions, "number": number, **today}
    keep_secret(transaction, stream.name, number, sealed)
    entry = transaction.append("intent", **common, **said, **state_fields(stream, asked=number + len(new) - 1))
    return intent_in(transaction, transaction.said(entry)), known


def _decide(
    transaction: Transaction,
    stream: StreamRecord,
    number: int,
    answers: Sequence[tuple[StreamOutcome, str]] | None,
    sealed: bytes,
) -> dict[str, Decision]:
    intent = intended(transaction, stream, number, "questions")
    questions: list[str] = intent["questions"]
    if (stands := settlement(transaction, stream, intent)) is None:
        if answers is None:
            lost = min(len(questions), stream.units_left // stream.dearest)
            last, taken = number + len(questions) - 1, lost * stream.dearest
            stands = settle(
                transaction, stream, intent, last=last, taken=taken, sealed=sealed, outcome=StreamOutcome.LOST.value
            )
        else:
            stands = _settle_answers(transaction, stream, intent, answers, sealed)
    after, record = require_stream(transaction, stream.name), transaction.said(stands)
    answered = questions[: len(record.get("answers", ()))]
    return {
        question: decision_in(transaction, Recalled(stands, record, place), after)
        for place, question in enumerate(answered)
    }


def _settle_answers(
    transaction: Transaction,
    stream: StreamRecord,
    intent: Record,
    answers: Sequence[tuple[StreamOutcome, str]],
    sealed: bytes,
) -> Entry:
    """Write the outcomes of a batch, up to the question that halts the stream."""
    taken = sum(outcome is StreamOutcome.YES for outcome, _ in answers)
    halts = stream.units - stream.used - taken < stream.dearest
    if (
        not answers
        or len(answers) > len(intent["questions"])
        or (len(answers) < len(intent["questions"]) and not halts)
    ):
        raise ParameterError(
            "answers",
            len(answers),
            reason=f"is not the number of questions, {len(intent['questions'])}",
            remedy="decide all of them, or all up to the one that halts the stream",
        )
    recalls = [recall_of(stream, question) for question, _ in zip(intent["questions"], answers, strict=False)]
    told = {"answers": [[outcome.value, answer] for outcome, answer in answers], "recalls": recalls}
    last = intent["number"] + len(answers) - 1
    entry = settle(
        transaction, stream, intent, last=last, taken=taken, sealed=sealed, **told, versions=intent["versions"]
    )
    transaction.keep_recalls(entry, recalls)
    return entry
