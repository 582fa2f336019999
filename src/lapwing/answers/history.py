"""The history of a population in sentences: who asked what, when and for how much, and what the custodian decided.

It is made from the entries of the ledger, which hold nothing secret. A question and its outcome are one act.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from lapwing.accounting.filters.account import Account, Budget
from lapwing.answers.answer import Answer
from lapwing.answers.budget import budget_words
from lapwing.answers.corridor_terms import CorridorTerms
from lapwing.answers.releases import Price, PricedPlan, PricedQuestion, Release, StoredAnswer
from lapwing.answers.stream_terms import StreamTerms, Verdict
from lapwing.answers.target import AtEpsilon, AtRho, Target, release_of
from lapwing.ledger.agreed import reserved_for
from lapwing.ledger.entries import Receipt, Record
from lapwing.ledger.export import charged_words, pays_by_yes
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.states import PopulationRecord
from lapwing.queries.algebra.aggregate import LastStepPerPerson, sensitivity
from lapwing.queries.planning.plan import CanonicalQuestion, Plan
from lapwing.queries.statistics.funnel import Steps
from lapwing.queries.statistics.shared_releases import PART
from lapwing.vocabulary.codec import from_record, from_text, parse
from lapwing.vocabulary.errors import LapwingError
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Guarantee, currency_of
from lapwing.vocabulary.results import Result
from lapwing.vocabulary.wording import several

_LONGEST = 300
_FEW = 3
"""How many questions that were asked together are listed one by one."""
_ACTS = frozenset({"population", "policy", "charge", "write-off", "recall", "opening", "intent", "closing", "note"})
_ACTS |= {"request"}
"""The kinds of entries that begin an act; the others are outcomes of one."""


@frozen(repr=False)
class Act(Result):
    """One act: the number of its entry, when it was, who did it, what it was, and what it cost in words."""

    entry: int
    at: str
    who: str
    kind: str
    said: str
    cost: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "entry": self.entry,
            "at": self.at,
            "who": self.who,
            "kind": self.kind,
            "said": str(self),
            "cost": self.cost,
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return when it was, and the sentence."""
        return [(self.at[:16].replace("T", " "), str(self))]

    def __repr__(self) -> str:
        return f"<act {self.entry}: {self}>"

    def __str__(self) -> str:
        return f"{self.who} {self.said}"


def acts_of(
    entries: Sequence[Record], *, analyst: str | None = None, last: int | None = None, ends: Sequence[Record] = ()
) -> list[Act]:
    """Return the acts in the entries of a population, in their order; all, or the last ones of an analyst.

    An act of the custodian about an analyst, such as an allowance, is one of that analyst too. `ends` are entries
    that settle others, and are shown with these only.
    """
    concerned = [
        entry for entry in entries if entry["kind"] in _ACTS and (analyst is None or entry.get("analyst") == analyst)
    ]
    everything = [*entries, *ends]
    settled = {entry["settles"]: entry for entry in everything if "settles" in entry}
    decided = {entry["budget_request"]: entry for entry in everything if "budget_request" in entry}
    shown = concerned if last is None else concerned[-last:]
    return [
        _act(one, decided[one["budget_request"]] if one["kind"] == "request" else settled.get(one["seq"]))
        for one in shown
    ]


@frozen()
class HistoryPage:
    """The last acts of an analyst before some entry, the newest first; no more is read than is shown.

    `entries` are those of the acts, and `ends` those of their outcomes.
    """

    acts: Sequence[Act]
    entries: Mapping[int, Record]
    ends: Sequence[Record]

    @staticmethod
    def read(ledger: Ledger, population: str, analyst: str, *, before: int | None, limit: int) -> "HistoryPage":
        """Read a page, however long the ledger is."""
        asked = ledger.entries(population, after=before, limit=limit, kinds=_ACTS, analyst=analyst, newest_first=True)
        ends = ledger.became(asked)
        return HistoryPage(acts=acts_of(asked, ends=ends), entries={one["seq"]: one for one in asked}, ends=ends)

    def end_of(self, act: Act) -> Record | None:
        """Return the entry that settles the question of an act, or the one that the act recalls."""
        recalled = self.entries[act.entry].get("recalls")
        found = (one for one in self.ends if one["seq"] == recalled or one.get("settles") == act.entry)
        return next(found, None)


def _act(entry: Record, end: Record | None) -> Act:
    said, cost = _TOLD[entry["kind"]](entry, end)
    kind = entry["kind"]
    who = (
        entry.get("by") or "the custodian"
        if kind in {"population", "policy", "write-off", "note"}
        else entry.get("analyst")
    )
    who = "the custodian" if who == "custodian" else who
    return Act(entry=entry["seq"], at=entry.get("at", ""), who=who or "somebody", kind=kind, said=said, cost=cost)


def _charge(entry: Record, end: Record | None) -> tuple[str, str | None]:
    cost = charged_words(entry)
    became = "it has no answer yet" if end is None else "it was lost" if end["kind"] == "lost" else "answered"
    return f"asked for {charged_for(entry)}, for {cost}: {became}", cost


def _recall(entry: Record, _: Record | None) -> tuple[str, str | None]:
    return f"was given the answer of entry {entry['recalls']} again, for nothing", None


def _opening(entry: Record, _: Record | None) -> tuple[str, str | None]:
    cost = charged_words(entry)
    if "reserves" in entry:
        return f"reserved {several(entry['questions'], 'round')} of {reserved_for(entry)}, for {cost}", cost
    try:
        terms = StreamTerms.read(entry["terms"])
        if isinstance(terms, CorridorTerms):
            return f"opened the checks of an explorer of {terms.table}, {entry['stream']}, for {cost}", cost
        asks = f', "{terms.asks}" in {terms.table}, up to {several(terms.yeses, "yes")}'
    except LapwingError:
        asks = ""
    return f"opened stream {entry['stream']}{asks}, for {cost}", cost


_CORRIDOR = {
    Verdict.INSIDE.value: "inside the corridor that ends there",
    Verdict.OUTSIDE.value: "outside the corridor that ends there",
}


def _told(outcome: str, answer: str | None) -> str:
    """Return an outcome in words: of a corridor, whose number is its upper end, whether the count is inside."""
    with suppress(ValueError, AttributeError):  # no answer, or none of a session
        return _CORRIDOR.get(parse(answer or "").get("verdict", ""), outcome)
    return outcome


def _intent(entry: Record, end: Record | None) -> tuple[str, str | None]:
    if "reserves" in entry:
        became = "it has no outcome yet" if end is None else end.get("outcome", "lost")
        return f"drew round {entry['number']} of {entry['reserves']}: {became}", None
    questions = entry["questions"] if "questions" in entry else [entry["question"]]
    asked = f"{len(questions):,} questions" if len(questions) > _FEW else "; ".join(map(asked_words, questions))
    if end is None:
        return f"asked stream {entry['stream']} {asked}: it has no answer yet", None
    ends = end["answers"] if "answers" in end else [[end.get("outcome", "lost"), end.get("answer")]]
    answers = [outcome for outcome, _ in ends]
    by_yes = "account" not in end or pays_by_yes(end)
    paid = "at the price of its yeses" if by_yes else "which was paid when the stream was opened"
    paid = "for nothing" if set(answers) == {"no"} else paid
    told = ", ".join(_told(*one) for one in ends)
    if len(answers) > _FEW:
        told = f"{answers.count('yes'):,} yes, {answers.count('no'):,} no"
    return f"asked stream {entry['stream']} {asked}: {told}, {paid}", None


def _closing(entry: Record, _: Record | None) -> tuple[str, str | None]:
    full = " at its full price, because its key was not there" if entry["forfeit"] else ""
    closed = f"{entry['reserves']} after round {entry['asked']}" if "reserves" in entry else f"stream {entry['stream']}"
    return f"closed {closed}{full}", None


def _write_off(entry: Record, _: Record | None) -> tuple[str, str | None]:
    cost = charged_words(entry)
    whose = f" of {entry['analyst']}" if "analyst" in entry else ""
    return f"wrote off {cost}{whose}: {entry['reason']}", cost


def _population(entry: Record, _: Record | None) -> tuple[str, str | None]:
    return f"opened the account, with a budget of {_budget(entry)}", None


def _policy(entry: Record, _: Record | None) -> tuple[str, str | None]:
    decided, whose = from_record(PopulationRecord, entry["policy"]), entry.get("analyst")
    match entry["change"]:
        case "table":
            return f"added table {entry['table']}", None
        case "version":
            return f"said that table {entry['table']} has new data, version {entry['version']}", None
        case "budget":
            return f"raised the budget to {_budget(entry)}", None
        case "correction" if "table" in entry:
            return f"corrected the person key of table {entry['table']} to {decided.keys[entry['table']][0]}", None
        case "correction":
            key = decided.unit.person_key
            return f"corrected who is protected: person key {key}, a budget of {_budget(entry)}", None
        case "admission" | "limits" as change:
            admitted = f"{'refused' if decided.only_named else 'admitted'} analysts without an allowance"
            return admitted if change == "admission" else _limits(decided, whose), None
        case "allowance":
            allowance = decided.analyst(whose or "").allowance
            given = "took away the allowance of" if allowance is None else f"allowed {budget_words(allowance)} to"
            return f"{given} {whose}", None
        case change:
            stopped = decided.suspended if whose is None else decided.analyst(whose).suspended
            spending = f"{'stopped' if stopped else 'allowed'} the spending of {whose or 'everybody'}"
            return _MOVES.get(change, spending), None


_MOVES: Final = {"moved": "moved the population to another ledger", "arrival": "went on with what moved to this ledger"}


def _limits(decided: PopulationRecord, whose: str | None) -> str:
    """Say what a question may cost, and who may ask about what."""
    one = decided.analyst(whose or "")
    most = decided.most if whose is None else one.most
    cost = "anything" if most is None else budget_words(most)
    if whose is None:
        daily = "any number of" if decided.noes_a_day is None else f"{decided.noes_a_day:,}"
        return f"let one question cost {cost} at most, and an analyst ask streams {daily} questions a day"
    about = "all tables" if one.tables is None else ", ".join(one.tables) or "no table"
    return f"let {whose} ask about {about}, and one question cost {cost} at most"


def _request(entry: Record, end: Record | None) -> tuple[str, str | None]:
    more = budget_words(from_record(Budget, entry["more"]))
    became = "nobody has decided yet"
    if end is not None and end is not entry:
        became = f"{'refused' if end['kind'] == 'refusal' else 'granted'} by {end['by']}"
        became += f", {end['reason']}" if end.get("reason") else ""
    return f"asked the custodian for {more} more, {entry['purpose']}: {became}", None


def _note(entry: Record, _: Record | None) -> tuple[str, str | None]:
    return f"noted: {entry['remark']}", None


_TOLD = {
    "population": _population,
    "policy": _policy,
    "charge": _charge,
    "write-off": _write_off,
    "recall": _recall,
    "opening": _opening,
    "intent": _intent,
    "closing": _closing,
    "note": _note,
    "request": _request,
}


def _budget(entry: Mapping[str, Any]) -> str:
    """Return the budget of the account after an entry."""
    return budget_words(from_record(Account, entry["account"]["after"]).budget)


def charged_for(entry: Record) -> str:
    """Return the purpose of a charge in plain English: the questions of its columns, whichever release they share."""
    return _shortened(entry["words"]) if "words" in entry else asked_words(entry["question"])


def asked_words(question: str) -> str:
    """Return a question of the ledger in plain English; its text if it cannot be read as a question."""
    try:
        told = "; ".join(dict.fromkeys(plan.asked for plan in _plans(question)))
    except LapwingError:
        told = repr(question)
    return _shortened(told)


def _shortened(told: str) -> str:
    return told if len(told) <= _LONGEST else f"{told[: _LONGEST - 3]}..."


def _plans(question: str) -> Iterator[Plan]:
    """Go through what was asked, as plans, of which the words are wanted."""
    try:
        asked = [one.question for one in from_text(tuple[PricedPlan, ...], question)]
    except LapwingError:
        asked = [from_text(CanonicalQuestion, question)]
    yield from map(_plan, asked)


def _plan(asked: CanonicalQuestion) -> Plan:
    return Plan(
        population=asked.population,
        unit=asked.unit,
        aggregate=asked.aggregate,
        meaning=asked.meaning,
        family=asked.meaning.family,
        sensitivity=sensitivity(asked.aggregate, asked.unit),
    )


def read_back(charge: Record, end: Record, receipt: Receipt, budget: Guarantee) -> Answer | None:
    """Return an answer from the entries of its charge and its outcome alone, under generic names.

    The entries have the question and the released numbers, and the mechanism follows from the price. Where several
    statistics share one release, their columns are in no entry: then the result is None.
    """
    parts = from_text(tuple[PricedPlan, ...], charge["question"])
    releases = [_released(_named(_plan(part.question)), part.event, budget) for part in parts]
    names = ["answer"] if len(parts) == 1 else [f"answer {number}" for number in range(1, len(parts) + 1)]
    found = {name: release for name, release in zip(names, releases, strict=True) if release is not None}
    shared = any(_is_of_parts(one.plan) for one in found.values())
    if len(found) < len(parts) or shared or "answer" not in end:
        return None
    asked, stored = PricedQuestion(releases=found, currency=currency_of(budget)), from_text(StoredAnswer, end["answer"])
    numbers = asked.by_column(stored.released)
    return Answer(asked=asked, numbers=numbers, receipt=receipt, versions=stored.versions)


def _is_of_parts(plan: Plan) -> bool:
    """Say whether several counts were read from one that is grouped by the part a row is in."""
    return bool(plan.aggregate.derived) and any(name.startswith(PART) for name in plan.key_names)


def _named(plan: Plan) -> Plan:
    """Return a plan with names for the steps of a funnel, which are no part of what is asked and charged."""
    if not isinstance(plan.aggregate.bounding, LastStepPerPerson):
        return plan
    steps = range(1, len(plan.aggregate.bounding.steps) + 1)
    return replace(plan, meaning=Steps(names=tuple(f"step {number}" for number in steps)))


def _released(plan: Plan, event: Event, budget: Guarantee) -> Release | None:
    """Return how a plan was released, if it was released as it would be today."""
    price = Price.of(event)
    offers: list[Target] = []
    if price.epsilon is not None:
        offers.append(AtEpsilon(epsilon=price.epsilon, delta=price.delta or None))
    if price.rho is not None:
        offers.append(AtRho(rho=Fraction(price.rho)))
    for offer in offers:
        with suppress(LapwingError):
            release = release_of(plan, offer, budget)
            if release.event == event:
                return release
    return None
