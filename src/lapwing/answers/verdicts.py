"""What a stream tells: a verdict, and on a yes how far above it was, after noise."""

import json
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

from lapwing.ledger.entries import Receipt
from lapwing.ledger.stream_records import Decision
from lapwing.mechanisms.sparse_vector.rule import SparseVectorAnswer as Decided
from lapwing.vocabulary.codec import from_text, stored, to_text


class Verdict(Enum):
    """What a stream says."""

    BELOW = "below"
    ABOVE = "above"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamAnswer:
    """Whether there are, after noise, at least so many people.

    Parameters
    ----------
    verdict : BELOW, or ABOVE
    threshold : how many people were asked for
    gap : on a yes, a noisy distance from the threshold. A yes was given for a large one, so it errs upwards
    price : what this answer cost when it was given; a no costs nothing beyond the opening of the stream
    question : which question of the stream it was, counting from 1
    yeses_left : how many yeses the stream can still give
    receipt : the proof that it is in the ledger
    free : whether it had been given before, so that nothing was charged this time
    """

    verdict: Verdict
    threshold: int
    gap: int | None
    price: Fraction
    question: int
    yeses_left: int
    receipt: Receipt
    free: bool = field(default=False, compare=False)

    def __bool__(self) -> bool:
        return self.verdict is Verdict.ABOVE

    def __str__(self) -> str:
        return "BELOW" if self.gap is None else f"ABOVE, by about {self.gap}"

    def to_json(self) -> str:
        """Return the answer as JSON."""
        record = {
            "verdict": self.verdict.value,
            "at_least": self.threshold,
            "gap": self.gap,
            "price": str(self.price),
            "free": self.free,
            "question": self.question,
            "yeses_left": self.yeses_left,
            "receipt": str(self.receipt),
        }
        return json.dumps(record)


def decided(answer: StreamAnswer) -> Decided:
    """Return what was told as the mechanism decided it."""
    return Decided(
        above=bool(answer),
        question=answer.question,
        threshold=Fraction(answer.threshold),
        price=answer.price,
        gap=None if answer.gap is None else Fraction(answer.gap),
    )


@stored("verdict")
@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVerdict:
    """What was decided, as the ledger keeps it."""

    verdict: Verdict
    threshold: int
    gap: int | None
    price: Fraction


def written(answer: Decided) -> str:
    """Return what was decided as the ledger keeps it."""
    return to_text(
        StoredVerdict(
            verdict=Verdict.ABOVE if answer else Verdict.BELOW,
            threshold=int(answer.threshold),
            gap=None if answer.gap is None else int(answer.gap),
            price=answer.price,
        )
    )


def read(told: str, decision: Decision, yeses_left: int, *, free: bool = False) -> StreamAnswer:
    """Return what the ledger keeps as it is told; `free` if it was told before."""
    kept = from_text(StoredVerdict, told)
    return StreamAnswer(
        verdict=kept.verdict,
        threshold=kept.threshold,
        gap=kept.gap,
        price=kept.price,
        question=decision.number,
        yeses_left=yeses_left,
        receipt=decision.receipt,
        free=free,
    )
