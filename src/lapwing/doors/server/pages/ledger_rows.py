"""The ledger in rows: when, who did it, what it was, about whom, what was asked or decided, and what it cost."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from lapwing.accounting.filters.account import Account, Budget
from lapwing.answers.budget import budget_record
from lapwing.answers.corridor_terms import CorridorTerms
from lapwing.answers.history import asked_words, charged_for
from lapwing.answers.stream_terms import StreamTerms, stored_verdict
from lapwing.doors.server.pages.frame import above, budget_text, price_text
from lapwing.doors.server.pages.page_visit import PageVisit
from lapwing.doors.server.pages.page_words import Messages
from lapwing.ledger.agreed import reserved_for
from lapwing.ledger.entries import Record
from lapwing.ledger.states import PopulationRecord
from lapwing.vocabulary.codec import from_record
from lapwing.vocabulary.errors import LapwingError
from lapwing.vocabulary.frozen import frozen

_FEW: Final = 3
"""How many questions that were asked together are listed one by one."""
_LEADING: Final = frozenset({"charge", "recall", "intent", "opening"})
WITH_PAGE: Final = frozenset(
    {
        *("ask", "ask_stream", "ask_stream_many", "publish", "synthesize", "open_explorer"),
        *("compare", "estimate_survival", "rows_a_person", "regress", "open_dashboard", "study"),
    }
)
"""The operations whose answers have a page."""
MODEL: Final = " model"
"""What the key of an explorer's model has behind that of the explorer."""


@frozen()
class LedgerRow:
    """One entry; `about` says whom a decision of the custodian is about, or whose request it decides.

    `said` is the question or the decision in words, `follows` the entry that it settles or recalls, and `key` that of
    an answer which the viewer may see, because it is their own. `analyst` is who asked.
    """

    number: int
    at: str
    who: str
    analyst: str
    what: str
    about: str
    said: str
    population: str
    price: str
    follows: int | None
    key: str | None


def ledger_rows(visit: PageVisit, entries: Sequence[Record]) -> list[LedgerRow]:
    """Return entries as rows."""
    ledger, requests = visit.server.state.ledger, visit.server.state.ledger.budget_requests
    named = {one["population"] for one in entries if "budget_request" in one}
    about = {name for name in named if ledger.has(name)}
    asked = {(name, one.number): one.analyst for name in about for one in requests.all(name)}
    return [_row(visit, entry, asked) for entry in entries]


def _row(visit: PageVisit, entry: Record, asked: Mapping[tuple[str, int], str]) -> LedgerRow:
    say, who, analyst, name = visit.say, entry.get("by"), entry.get("analyst"), entry_name(entry)
    about = f"({analyst or entry.get('table')})" if who and (analyst or entry.get("table")) else ""
    if (number := entry.get("budget_request")) is not None:
        whose = asked.get((entry["population"], number), analyst or "")
        about = str(say("ledger.request_of", number=str(number), who=whose))
    return LedgerRow(
        number=entry["seq"],
        at=entry.get("at") or "",
        who=who or analyst or "",
        analyst="" if who else analyst or "",
        what=say(name) if say.has(name) else entry["kind"],
        about=about,
        said=_said(entry, say),
        population=entry.get("population") or "",
        price=entry_price(entry, say),
        follows=entry.get("settles") or entry.get("recalls"),
        key=_own_key(visit, entry),
    )


def _own_key(visit: PageVisit, entry: Record) -> str | None:
    """Return the key of an answer that has a page, if the viewer asked the question; None for others' answers."""
    if entry["kind"] not in _LEADING or entry.get("analyst") != visit.person.id or not visit.may("answer"):
        return None
    under = entry.get("request", "").removesuffix(MODEL)
    known = visit.server.memory.recall(entry["population"], visit.person.id, under)
    return None if known is None or known["kind"] not in WITH_PAGE else str(known["key"])


def _said(entry: Record, say: Messages) -> str:
    """Return the question or the decision in words; nothing where the kind of the entry is all of it."""
    told = _TOLD.get(entry["kind"])
    return "" if told is None else told(entry, say)


def _charged(entry: Record, _: Messages) -> str:
    return charged_for(entry)


def _intended(entry: Record, say: Messages) -> str:
    if "reserves" in entry:
        return str(say("ledger.round", number=str(entry["number"]), kind=entry["reserves"]))
    asked = entry.get("questions") or [entry["question"]]
    return str(say("ledger.questions", n=len(asked))) if len(asked) > _FEW else "; ".join(map(asked_words, asked))


def _decided_in_stream(entry: Record, say: Messages) -> str:
    if "answer" in entry and "reserves" in entry:
        return str(say("ledger.round", number=str(entry["number"]), kind=entry["reserves"]))
    told = [outcome for outcome, _ in entry["answers"]] if "answers" in entry else [entry.get("outcome", "lost")]
    if len(told) > 1:
        return str(say("ask.yes_no", yes=told.count("yes"), no=told.count("no")))
    return str(say({"yes": "answer.yes", "no": "answer.no"}.get(told[0], "history.lost")))


def _wanted(entry: Record, _: Messages) -> str:
    return f"{budget_text(budget_record(from_record(Budget, entry['more'])))}: {entry['purpose']}"


def _reason(entry: Record, _: Messages) -> str:
    return str(entry.get("reason") or "")


def _opened(entry: Record, say: Messages) -> str:
    if "reserves" in entry:
        return say("ledger.rounds", n=entry["questions"], kind=reserved_for(entry)).unescape()
    try:
        terms = StreamTerms.read(entry["terms"])
    except LapwingError:  # of a ledger that was not written by a session
        return ""
    if isinstance(terms, CorridorTerms):
        return say("history.checks_opening", table=terms.table).unescape()
    if terms.streamed is not None:
        return say("history.opened_of", asks=terms.streamed.asks, n=terms.yeses).unescape()
    return str(say("history.opened", at_least=terms.at_least, n=terms.yeses))


def _decided(entry: Record, say: Messages) -> str:
    """Say what a decision of the custodian set, in the signs of budgets."""
    decided, whose = from_record(PopulationRecord, entry["policy"]), entry.get("analyst")
    match entry["change"]:
        case "budget":
            return _budget(entry, say)
        case "version":
            return str(say("answer.version", table=entry["table"], version=entry["version"]))
        case "allowance":
            given = decided.analyst(whose or "").allowance
            return str(say("ledger.none")) if given is None else budget_text(budget_record(given))
        case "limits":
            return _limits(decided, whose, say)
        case "admission":
            return str(say("ledger.members" if decided.only_named else "ledger.everybody"))
        case _:
            return ""


def _limits(decided: PopulationRecord, whose: str | None, say: Messages) -> str:
    one = decided.analyst(whose or "")
    most, daily = (decided.most, decided.noes_a_day) if whose is None else (one.most, None)
    told = [
        None if most is None else say("ledger.most", most=budget_text(budget_record(most))),
        None if daily is None else say("ledger.daily", n=daily),
        None if whose is None or one.tables is None else ", ".join(one.tables),
    ]
    return "; ".join(str(each) for each in told if each is not None) or str(say("ledger.none"))


def _budget(entry: Record, _: Messages) -> str:
    return budget_text(budget_record(from_record(Account, entry["account"]["after"]).budget))


_TOLD: Final[Mapping[str, Callable[[Record, Messages], str]]] = {
    "charge": _charged,
    "intent": _intended,
    "outcome": _decided_in_stream,
    "opening": _opened,
    "write-off": _reason,
    "refusal": _reason,
    "note": lambda entry, _: entry["remark"],
    "request": _wanted,
    "population": _budget,
    "policy": _decided,
}


def entry_name(entry: Record) -> str:
    """Return the name of the message for the kind of an entry.

    >>> entry_name({"kind": "policy", "change": "table"}), entry_name({"kind": "write-off"})
    ('entry.policy_table', 'entry.write_off')
    """
    kind: str = entry["kind"]
    if "reserves" in entry:
        kind = f"reserved_{kind}"
    if kind == "policy":
        kind = f"policy_{entry.get('change')}"
    if kind == "policy_suspension":
        decided, whose = from_record(PopulationRecord, entry["policy"]), entry.get("analyst")
        stopped = decided.suspended if whose is None else decided.analyst(whose).suspended
        kind = "policy_stopped" if stopped else "policy_resumed"
    return f"entry.{kind.replace('-', '_')}"


def entry_price(entry: Record, say: Messages) -> str:
    """Return the price of an entry; a yes is paid from the reservation of its stream, if there is one."""
    if entry["kind"] == "outcome" and "reserves" in entry:
        return ""  # all was paid when it was reserved
    if entry["kind"] == "outcome":
        told = [answer for _, answer in entry["answers"]] if "answers" in entry else [entry.get("answer")]
        paid = sum((stored_verdict(one).price for one in told if one), Fraction(0))
        return say("ledger.from_aside", price=f"ε {above(paid)}") if paid and _sums(entry) else ""
    if entry["kind"] not in {"charge", "opening", "write-off"}:
        return ""
    cost = entry["account"]["lines"][0]["cost"]
    is_sum, is_rho = _sums(entry), _currency(entry) == "rho"
    has_epsilon = cost["epsilon"] is not None  # Gaussian noise has none
    if entry["kind"] == "opening" and has_epsilon and not (is_sum or is_rho):  # paid whole, and not yes by yes
        return f"ε {above(Fraction(cost['epsilon']) + Fraction(cost['reserved']))}"
    price, reserved = price_text(cost, _currency(entry)), Fraction(cost["reserved"])
    return say("ledger.and_aside", price=price, held=f"ε {above(reserved)}") if reserved and is_sum else price


def _filters(entry: Record) -> list[dict[str, Any]]:
    return list(entry.get("account", {}).get("after", {}).get("filters", {}).values())


def _currency(entry: Record) -> str:
    """Return in which currency the account of an entry is kept."""
    return "rho" if any(one["kind"] == "concentrated-filter" for one in _filters(entry)) else "epsilon"


def _sums(entry: Record) -> bool:
    """Say whether the account of an entry adds epsilons up, so that a stream is paid yes by yes."""
    return all(
        one["kind"] == "pure-filter" or (one["kind"] == "approximate-filter" and one["pure"] is not None)
        for one in _filters(entry)
    )
