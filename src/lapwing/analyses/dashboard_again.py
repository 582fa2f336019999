"""Dashboards as they stand in the ledger: their terms, and all that they have published. No data is read here."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lapwing.analyses.dashboard_board import KIND, PublishedCounts
from lapwing.analyses.dashboard_terms import DashboardTerms
from lapwing.vocabulary.codec import digest, parse, to_record
from lapwing.vocabulary.errors import PolicyError

if TYPE_CHECKING:
    from lapwing.session import Session


def dashboard_meaning(terms: DashboardTerms) -> str:
    """Return a digest of what is counted and of what is paid: two that agree on it mean the same."""
    return digest([terms.written(), to_record(terms.counts.event)])


class WrittenDashboard(PublishedCounts):
    """A dashboard as it was written down: what it publishes next, it publishes elsewhere."""

    def __init__(self, id_: str, terms: DashboardTerms, committed: Sequence[Any]) -> None:
        super().__init__(terms)
        self.id, self._committed = id_, tuple(committed)

    @property
    def committed(self) -> Sequence[Any]:
        """What each release so far has released; None for one that was lost."""
        return self._committed


def dashboards_of(session: "Session") -> list[WrittenDashboard]:
    """Return the dashboards of an analyst; those whose tables they may not ask about any more are not there."""
    reservations, found = session.ledger.reservations, list[WrittenDashboard]()
    for one in reservations.all(session.population.name, kind=KIND, analyst=session.analyst):
        try:
            content, outcomes = parse(one.terms), reservations.outcomes(one.name)
        except PolicyError:
            continue
        committed = [None if each.answer is None else parse(each.answer) for each in outcomes]
        found.append(WrittenDashboard(one.name, DashboardTerms.read(content["terms"], content["event"]), committed))
    return found
