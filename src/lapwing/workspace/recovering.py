"""Settling what dead processes left in flight, one population after the other.

A population whose end has not moved since nothing was in flight in it has nothing in flight now: it is not opened. One
that cannot be read keeps nobody from settling what is left in the others.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import field

from lapwing.ledger.chains import ChainEnd
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.reservation_states import STREAM, Intent
from lapwing.vocabulary.errors import LapwingError, LedgerError
from lapwing.vocabulary.frozen import frozen

Resume = Callable[[Ledger, Intent], object]


@frozen()
class Recovery:
    """Result of a recovery.

    How many questions and rounds were settled, the streams that still wait, with why, and the populations that could
    not be read, with why.
    """

    settled: int
    unsettled: Mapping[str, LapwingError]
    unread: Mapping[str, LedgerError] = field(default_factory=dict)


class Recovering:
    """Settles what is in flight in a ledger, and knows where nothing is; `resume` decides a question of a stream."""

    def __init__(self, ledger: Ledger, resume: Resume) -> None:
        self._ledger, self._resume = ledger, resume
        self._quiet: dict[str, ChainEnd] = {}

    def candidates(self) -> dict[str, ChainEnd]:
        """Return the populations that may have something in flight, with their ends."""
        return {name: end for name, end in self._ledger.ends().items() if self._quiet.get(name) != end}

    def recover(self, also: Collection[str] = ()) -> Recovery:
        """Settle what no live process works on; look in any case at those populations that are named."""
        for name in also:
            self._quiet.pop(name, None)
        settled, unsettled, unread = 0, dict[str, LapwingError](), self._lost()
        for name, end in self.candidates().items():
            try:
                if _is_quiet(one := self._ledger.of(name)):
                    self._quiet[name] = end  # whatever has grown since has another end
                    continue
                settled += one.questions.lose_abandoned() + one.reservations.lose_abandoned()
                decided, waiting = self._decide(one)
            except LedgerError as failure:
                unread[name] = failure
            else:
                settled, unsettled = settled + decided, unsettled | waiting
        return Recovery(settled=settled, unsettled=unsettled, unread=unread)

    def _lost(self) -> dict[str, LedgerError]:
        """Return the populations that had entries and have none any more, by their heads, with what that means."""
        lost: dict[str, LedgerError] = {}
        for name in self._ledger.emptied():
            try:
                self._ledger.has(name)
            except LedgerError as failure:
                lost[name] = failure
        return lost

    def _decide(self, one: Ledger) -> tuple[int, dict[str, LapwingError]]:
        """Decide questions of streams; return how many, and the streams that still wait, with why."""
        intents, failures = one.reservations.unsettled(STREAM), dict[str, LapwingError]()
        for intent in intents:
            try:
                self._resume(one, intent)
            except LedgerError:
                raise
            except LapwingError as failure:  # mostly it is lost now, or its stream is closed: settled as well
                failures[intent.reservation] = failure
        left = {intent.reservation for intent in one.reservations.unsettled(STREAM)} if intents else set()
        decided = sum(intent.reservation not in left for intent in intents)
        return decided, {name: reason for name, reason in failures.items() if name in left}


def _is_quiet(one: Ledger) -> bool:
    """Return whether nothing is in flight in a population: no process works on anything there, dead or alive."""
    return not one.questions.unsettled() and not one.reservations.unsettled()
