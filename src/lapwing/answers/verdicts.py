"""What a stream answers: a verdict, and on a yes how far above it was, after noise."""

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Any

from lapwing.answers.stream_terms import StreamTerms
from lapwing.ledger.entries import Receipt
from lapwing.ledger.stream_records import Decision
from lapwing.mechanisms.sparse_vector.rule import SparseVectorAnswer as Decided
from lapwing.mechanisms.sparse_vector.stream_accuracy import Interval
from lapwing.vocabulary.codec import from_text, stored, to_text
from lapwing.vocabulary.exact import Exact
from lapwing.vocabulary.results import Result
from lapwing.vocabulary.wording import format_exact, format_short


class Verdict(Enum):
    """What a stream says."""

    BELOW = "below"
    ABOVE = "above"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StreamAnswer(Result):
    """Whether there are, after noise, at least the number of people asked for.

    Parameters
    ----------
    gap : on a yes, a noisy distance from the threshold. A yes was given for a large one, so it errs upwards
    price : what this answer cost when it was given; a no costs nothing beyond the opening of the stream
    question : which question of the stream it was, counting from 1
    free : whether it had been given before, so that nothing was charged this time
    """

    verdict: Verdict
    threshold: int
    gap: int | None
    price: Fraction
    question: int
    yeses_left: int
    receipt: Receipt
    stream: str
    terms: StreamTerms = field(compare=False)
    free: bool = field(default=False, compare=False)

    def __bool__(self) -> bool:
        return self.verdict is Verdict.ABOVE

    def __str__(self) -> str:
        return "BELOW" if self.gap is None else f"ABOVE, by about {self.gap}"

    def __repr__(self) -> str:
        paid = "free" if self.free or not self.price else f"epsilon {format_short(self.price)}"
        return f"<stream answer: {self}, {paid}>"

    def interval(self, confidence: Exact = "0.95") -> Interval | None:
        """Return where the count of a yes lies; None for a no. It is free.

        All intervals of the stream hold at once with this probability, so that it does not matter which of them is
        looked at; they are much wider than the noise of one answer, because a yes was given *for* a large gap.
        """
        decided = Decided(
            above=bool(self),
            question=self.question,
            threshold=Fraction(self.threshold),
            price=self.price,
            gap=None if self.gap is None else Fraction(self.gap),
        )
        return self.terms.mechanism.interval(decided, confidence)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values, with the interval that holds with 95 % confidence."""
        lies = self.interval()
        return {
            "stream": self.stream,
            "verdict": self.verdict.value,
            "at_least": self.threshold,
            "gap": self.gap,
            "interval": None if lies is None else {"low": format_exact(lies.low), "high": format_exact(lies.high)},
            "price": format_exact(self.price),
            "free": self.free,
            "question": self.question,
            "yeses_left": self.yeses_left,
            "receipt": str(self.receipt),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the verdict in words, and where the count of a yes lies."""
        told = f"YES, at least {self.threshold:,}" if self else f"NO, fewer than {self.threshold:,}"
        return [("answer", f"{told} (after noise)"), ("people", self._whereabouts)]

    @property
    def _whereabouts(self) -> str | None:
        """Say where the count of a yes lies; a stream of one yes has no others to speak of."""
        lies = self.interval()
        if lies is None:
            return None
        all_of_them = "" if self.terms.yeses == 1 else ": all yeses of the stream at once"
        return f"from {format_short(lies.low)} to {format_short(lies.high)}{all_of_them}, with 95 % confidence"


@stored("verdict")
class StoredVerdict:
    """What was decided, as the ledger keeps it."""

    verdict: Verdict
    threshold: int
    gap: int | None
    price: Fraction


def verdict_text(answer: Decided) -> str:
    """Return what was decided as the ledger keeps it."""
    return to_text(
        StoredVerdict(
            verdict=Verdict.ABOVE if answer else Verdict.BELOW,
            threshold=int(answer.threshold),
            gap=None if answer.gap is None else int(answer.gap),
            price=answer.price,
        )
    )


def read(told: str, decision: Decision, terms: StreamTerms, *, free: bool = False) -> StreamAnswer:
    """Return what the ledger keeps as an answer; `free` if it was given before."""
    kept = from_text(StoredVerdict, told)
    return StreamAnswer(
        verdict=kept.verdict,
        threshold=kept.threshold,
        gap=kept.gap,
        price=kept.price,
        question=decision.number,
        yeses_left=decision.units_left,
        receipt=decision.receipt,
        stream=decision.stream,
        terms=terms,
        free=free,
    )
