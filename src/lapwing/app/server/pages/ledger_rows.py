"""The ledger in rows: when, who did it, what it was, about whom, and what it cost."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from lapwing.answers.stream_terms import StoredVerdict
from lapwing.app.server.pages.frame import above, price_text
from lapwing.app.server.pages.page_words import Messages
from lapwing.app.server.pages.visits import Visit
from lapwing.ledger.entries import Record
from lapwing.vocabulary.codec import from_text
from lapwing.vocabulary.frozen import frozen


@frozen()
class LedgerRow:
    """One entry; `about` says whom a decision of the custodian is about, or whose request it decides."""

    number: int
    at: str
    who: str
    what: str
    about: str
    population: str
    price: str


def ledger_rows(visit: Visit, entries: Sequence[Record]) -> list[LedgerRow]:
    """Return entries as rows."""
    requests, populations = visit.server.house.ledger.budget_requests, visit.server.house.ledger.populations()
    about = {one["population"] for one in entries if "budget_request" in one and one["population"] in populations}
    asked = {(name, one.number): one.analyst for name in about for one in requests.all(name)}
    return [_row(entry, asked, visit.say) for entry in entries]


def _row(entry: Record, asked: Mapping[tuple[str, int], str], say: Messages) -> LedgerRow:
    who, analyst, name = entry.get("by"), entry.get("analyst"), entry_name(entry)
    about = f"({analyst or entry.get('table')})" if who and (analyst or entry.get("table")) else ""
    if (number := entry.get("budget_request")) is not None:
        whose = asked.get((entry["population"], number), analyst or "")
        about = str(say("ledger.request_of", number=str(number), who=whose))
    return LedgerRow(
        number=entry["seq"],
        at=entry.get("at") or "",
        who=who or analyst or "",
        what=say(name) if say.has(name) else entry["kind"],
        about=about,
        population=entry.get("population") or "",
        price=entry_price(entry, say),
    )


def entry_name(entry: Record) -> str:
    """Return which message says what an entry of the ledger is.

    >>> entry_name({"kind": "policy", "change": "table"}), entry_name({"kind": "write-off"})
    ('entry.policy_table', 'entry.write_off')
    """
    kind = f"policy_{entry.get('change')}" if entry["kind"] == "policy" else entry["kind"]
    return f"entry.{kind.replace('-', '_')}"


def entry_price(entry: Record, say: Messages) -> str:
    """Return what an entry has charged; a yes of a stream is paid from what the stream has set aside."""
    if entry["kind"] == "outcome":
        told = [answer for _, answer in entry["answers"]] if "answers" in entry else [entry.get("answer")]
        paid = sum((from_text(StoredVerdict, one).price for one in told if one), Fraction(0))
        return say("ledger.from_aside", price=f"ε {above(paid)}") if paid else ""
    if entry["kind"] not in {"charge", "opening", "write-off"}:
        return ""
    cost = entry["account"]["lines"][0]["cost"]
    price, reserved = price_text(cost), Fraction(cost["reserved"])
    return say("ledger.and_aside", price=price, held=f"ε {above(reserved)}") if reserved else price
