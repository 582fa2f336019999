"""Whether anything was decided about any population since the last look: two statements, however many there are.

A server must not open every chain each second, for it keeps the connections of a few. So the ends of all are fetched
together, and of those that have grown the number of the last decision. Neither is checked: they tell that it is time to
read the settings again, and what is then compared with them is read from chains that are checked.
"""

from lapwing.ledger.chains import ChainEnd
from lapwing.ledger.ledger import Ledger


class DecisionWatch:
    """The last decisions about all populations, by the numbers of their chains."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._ends: dict[str, ChainEnd] = {}
        self._decided: dict[int, int] = {}

    def look(self) -> dict[int, int]:
        """Return the entries of the last decisions; a chain that is not there any more is left out."""
        ends = self._ledger.ends()
        grown = [end.number for name, end in ends.items() if self._ends.get(name) != end]
        found = self._decided | (self._ledger.last_decisions(grown) if grown else {})
        self._decided = {end.number: found.get(end.number, 0) for end in ends.values()}
        self._ends = ends
        return self._decided
