"""Questions and verdicts of a stream, read from the entries of the ledger: outcomes in order, and a verdict by key."""

from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Final

from lapwing.answers.stream_terms import StreamAnswer, StreamTerms, Verdict, answer_of, stored_verdict, told_amount
from lapwing.ledger.entries import Receipt, Record
from lapwing.ledger.ledger import Ledger
from lapwing.vocabulary.frozen import frozen

LOST: Final = "lost"
MOST_SHOWN: Final = 500
"""How many of the last answers of a stream are drawn."""
_ENDS: Final = ("outcome", "closing")


@frozen()
class ToldVerdict:
    """A verdict with when it was asked; no answer where the question was lost or has no end yet."""

    at: str
    stream: str
    answer: StreamAnswer | None
    is_lost: bool = False


def outcomes_of(ledger: Ledger, population: str, stream: str) -> list[str]:
    """Return the last outcomes of a stream, in order: yes, no, or lost."""
    ends = ledger.entries(population, stream=stream, kinds=_ENDS, newest_first=True, limit=MOST_SHOWN)
    found: list[str] = []
    for entry in reversed(ends):
        if "answers" in entry:
            found += [outcome for outcome, _ in entry["answers"]]
        elif "settles" in entry:
            found.append(entry.get("outcome", LOST))
    return found[-MOST_SHOWN:]


def verdict_of(ledger: Ledger, population: str, *, analyst: str, key: str) -> ToldVerdict | None:
    """Return the verdict of a stream to an analyst under a key."""
    asked = ledger.request(population, analyst, key)
    if asked is None or asked["kind"] not in {"intent", "recall"}:
        return None
    is_recall, end = asked["kind"] == "recall", next(iter(ledger.became([asked])), None)
    if end is None:
        return ToldVerdict(at=asked["at"], stream=asked.get("stream", ""), answer=None)
    if "answer" not in end:
        return ToldVerdict(at=asked["at"], stream=end["stream"], answer=None, is_lost=True)
    return ToldVerdict(at=asked["at"], stream=end["stream"], answer=_answer(ledger, end, is_free=is_recall))


def _answer(ledger: Ledger, end: Record, *, is_free: bool) -> StreamAnswer:
    ledger = ledger.of(end["population"])
    record = ledger.reservations.find(end["stream"])
    return answer_of(
        stored_verdict(end["answer"]),
        StreamTerms.read(record.terms),
        question=end["number"],
        yeses_left=record.units - end["used"],
        receipt=ledger.receipt(end["seq"]),
        stream=record.name,
        free=is_free,
    )


def verdict_told(ledger: Ledger, told: Mapping[str, Any], at: int) -> ToldVerdict:
    """Return a free verdict under a key that the ledger does not have, given at this second."""
    record = ledger.reservations.find(told["stream"])
    answer = StreamAnswer(
        verdict=Verdict(told["verdict"]),
        threshold=told_amount(told["at_least"]) or 0,
        gap=told_amount(told["gap"]),
        number=told_amount(told.get("number")),
        price=Fraction(told["price"]),
        question=told["question"],
        yeses_left=told["yeses_left"],
        receipt=Receipt.parse(told["receipt"]),
        stream=record.name,
        terms=StreamTerms.read(record.terms),
        free=True,
    )
    return ToldVerdict(at=datetime.fromtimestamp(at, UTC).isoformat(), stream=record.name, answer=answer)
