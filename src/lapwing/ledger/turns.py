"""Turns: the same question, asked at the same moment by several, is charged once and answered once, to all alike.

Whoever comes first holds the turn from before the charge until the answer is in the ledger. Whoever comes later waits,
and then finds the answer there, for nothing. If the first one failed there is no answer to find; whoever waited for it
fails likewise, free of charge, and may ask (and pay) anew: noise is not drawn again behind anybody's back. A turn ends
with the process that holds it, so a charge that a dead one left behind keeps nobody waiting.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from lapwing.ledger.canonical import Record
from lapwing.ledger.chronicle import Chronicle
from lapwing.ledger.gates import Gate
from lapwing.ledger.questions import Questions, Request
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.errors import EngineError, LapwingError, LedgerUnwritableError, UnansweredError

PATIENCE: Final = 900.0
"""Seconds to wait for somebody else's answer: longer than any database is given for it."""
_SHORTEST, _LONGEST = 0.002, 0.1


class Turns:
    """Lets one at a time work on a question.

    Parameters
    ----------
    gate : where turns are held, among all processes
    questions, chronicle : where answers are found
    """

    def __init__(self, gate: Gate, questions: Questions, chronicle: Chronicle) -> None:
        self._gate, self._questions, self._chronicle = gate, questions, chronicle

    @contextmanager
    def taken(self, request: Request, patience: float = PATIENCE) -> Iterator[None]:
        """Hold the turn of a question, or wait until somebody else has answered it.

        Raises
        ------
        EngineError : somebody else asked first, and was charged for a failure
        LedgerUnwritableError : somebody else has been at it for too long, or the gate fails; nothing was charged
        """
        place = int(digest(["turn", request.population, request.question])[:15], 16)
        holder = object()
        try:
            if not self._gate.enter(place, holder):
                self._wait(request, place, holder, patience)
            yield
        finally:
            self._gate.leave(place, holder)

    def close(self) -> None:
        """Let go of files and connections."""
        self._gate.close()

    def _wait(self, request: Request, place: int, holder: object, patience: float) -> None:
        """Return when the turn is ours, or when the question has its end in the ledger."""
        first, pause, end = self._first_in_progress(request), _SHORTEST, time.monotonic() + patience
        while not self._gate.enter(place, holder):
            if self._has_an_end(request):
                return
            if time.monotonic() > end:
                raise LedgerUnwritableError(
                    "the same question is being answered for somebody else, and it takes too long; nothing was "
                    "charged: ask again later"
                )
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST)
        if not self._has_an_end(request) and self._was_lost(request, first):
            raise EngineError

    def _has_an_end(self, request: Request) -> bool:
        """Say whether `charge` would answer for nothing, or refuse."""
        try:
            return self._questions.stored(request) is not None
        except UnansweredError as unanswered:
            return unanswered.lost
        except LapwingError:
            return True

    def _first_in_progress(self, request: Request) -> int:
        """Return the first entry that can be the charge of whoever has the turn."""
        with self._chronicle.reading() as book:
            left = [entry.seq for entry in book.unsettled_charges() if entry.record["question"] == request.question]
            return min(left, default=book.last + 1)

    def _was_lost(self, request: Request, first: int) -> bool:
        """Say whether a charge of the question, from that entry on, has no answer."""
        with self._chronicle.reading() as book:
            versions = book.population(request.population).versions(request.tables)
            same: Record = {
                "kind": "charge",
                "population": request.population,
                "question": request.question,
                "versions": versions,
            }
            for seq in range(first, book.last + 1):
                entry = book.entry(seq)
                record = entry.record if entry else {}
                if all(record.get(name) == value for name, value in same.items()):
                    end = book.settlement(seq)
                    if end is None or end.record["kind"] == "lost":
                        return True
            return False
