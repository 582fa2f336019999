"""Everything that somebody asked, wherever it was: acts of the ledger, and free answers under keys of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from lapwing.answers.history import Act, acts_of
from lapwing.answers.stream_terms import StoredVerdict, Verdict
from lapwing.app.server.pages.answer_code import kind_of, sql_text
from lapwing.app.server.pages.answer_pages import cohort_of
from lapwing.app.server.pages.cohort_document import CohortDraft, to_link
from lapwing.app.server.pages.cohort_words import sentence_of
from lapwing.app.server.pages.drafts import dictionary_for
from lapwing.app.server.pages.frame import people, price_text
from lapwing.app.server.pages.showing import link_of
from lapwing.app.server.pages.visits import Visit
from lapwing.app.server.questions_wire import asking_type, read_question
from lapwing.ledger.entries import Record
from lapwing.vocabulary.codec import from_text
from lapwing.vocabulary.errors import LapwingError

_ASKED: Final = frozenset({"charge", "intent", "recall", "opening", "closing", "write-off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """One line of a history; `key` is there where there is a page about it, and `link` where it can be cloned."""

    at: str
    kind: str
    said: Any
    told: str = ""
    cost: str | None = None
    key: str | None = None
    link: str | None = None


class Past:
    """The entries of a population: by their numbers, and what ended which."""

    def __init__(self, entries: Sequence[Record]) -> None:
        self.by_number = {one["seq"]: one for one in entries}
        self._ends = {one["settles"]: one for one in entries if "settles" in one}

    def end_of(self, entry: Record) -> Record | None:
        """Return what became of a question, or what was told again."""
        if entry["kind"] == "recall":
            return self.by_number.get(entry["recalls"])
        return self._ends.get(entry["seq"])


def history_of(visit: Visit, *, most: int, skip: int = 0, holding: str = "") -> list[HistoryRow]:
    """Return what somebody asked, the newest first."""
    entries = visit.server.house.ledger.history(visit.population)
    remembered = visit.server.memory.listed(visit.population, visit.person.id, before=None, limit=5000)
    put = {one["key"]: one for one in remembered}
    past = Past(entries)
    words = holding.casefold().split()
    rows, seen = list[tuple[str, HistoryRow]](), set[str]()
    for act in acts_of(entries, analyst=visit.person.id):
        if act.kind in _ASKED:
            key = past.by_number[act.entry].get("request", "")
            seen.add(key)
            rows.append((act.at, _row(visit, act, past, put.get(key))))
    for key, one in put.items():
        if key not in seen and one["kind"] == "ask":
            at = datetime.fromtimestamp(one["at"], UTC).isoformat()
            rows.append((at, _free(visit, one, at)))
    rows.sort(key=lambda row: row[0], reverse=True)
    found = [row for _, row in rows if all(word in str(row.said).casefold() for word in words)]
    return found[skip : skip + most]


def _row(visit: Visit, act: Act, past: Past, put: dict[str, Any] | None) -> HistoryRow:
    at, kind, entry = act.at, act.kind, past.by_number[act.entry]
    key = None if put is None or put["kind"] not in {"ask", "ask_stream"} else put["key"]
    shown = _said(visit, put if key else None, act.said)
    if kind == "intent" or (kind == "recall" and put is not None and put["kind"] == "ask_stream"):
        told, paid = _verdict(visit, past.end_of(entry))
        return HistoryRow(at=at, kind="enough", told=told, cost=paid if kind == "intent" else None, key=key, **shown)
    if key is not None and put is not None:
        told, price = _number(visit, put)
        name = kind_of(put["body"]["question"])
        return HistoryRow(at=at, kind=name, told=told, cost=None if kind == "recall" else price, key=key, **shown)
    return HistoryRow(at=at, kind=kind if kind in {"opening", "closing"} else "other", cost=act.cost, key=key, **shown)


def _free(visit: Visit, put: dict[str, Any], at: str) -> HistoryRow:
    told, _ = _number(visit, put)
    return HistoryRow(
        at=at,
        kind=kind_of(put["body"]["question"]),
        told=told,
        key=put["key"] if told else None,
        **_said(visit, put, sql_text(put["body"]["question"])),
    )


def _said(visit: Visit, put: dict[str, Any] | None, otherwise: str) -> dict[str, Any]:
    """Say who was meant, and where it can be cloned: what was built here as it was built, and SQL as it was written."""
    cohort = None if put is None else cohort_of(visit, put["key"])
    link = _link(visit, put, cohort)
    if cohort is None:
        return {"said": f"{otherwise[:1].upper()}{otherwise[1:]}.", "link": link}
    return {"said": sentence_of(cohort, dictionary_for(visit), visit.say).striptags(), "link": link}


def _link(visit: Visit, put: dict[str, Any] | None, cohort: CohortDraft | None) -> str | None:
    if put is None:
        return None
    if put["kind"] == "ask":
        return link_of(visit, put["body"]["question"], cohort)
    return None if cohort is None else f"{visit.base}/ask?c={to_link(cohort)}&kind=enough"


def _verdict(visit: Visit, end: Record | None) -> tuple[str, str | None]:
    if end is None or "answer" not in end:
        return "" if end is None or "answers" in end else str(visit.say("history.lost")), None
    kept = from_text(StoredVerdict, end["answer"])
    told = visit.say("answer.Yes" if kept.verdict is Verdict.ABOVE else "answer.No")
    paid = {"epsilon": kept.price, "delta": 0}
    return str(told), price_text(paid) if kept.price else None


def _number(visit: Visit, put: dict[str, Any]) -> tuple[str, str | None]:
    """Return an answer in short, with its error, and what it cost; nothing of one that has none."""
    try:
        asked: Any = msgspec.convert(put["body"], asking_type())
        question, words = read_question(asked.question)
        entry = visit.server.memory.entry(visit.population, visit.person.id, put["key"])
        answer = visit.session().stored(question, key=put["key"], entry=entry, **asked.price.words(), **words)
    except LapwingError:
        return str(visit.say("history.lost")), None
    if answer is None:
        return "", None
    margin = answer.margin()
    off = "" if margin is None else f" ± {people(margin)}"
    rows = answer.rows
    told = (
        f"{people(answer.value)}{off}"
        if len(rows) == 1 and not answer.keys
        else f"{visit.say('count.rows', n=len(rows))}{off}"
    )
    return told, price_text(answer.price.to_dict())
