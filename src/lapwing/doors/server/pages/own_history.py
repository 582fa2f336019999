"""Everything that somebody asked, wherever it was: acts of the ledger, and free answers under keys of their own."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from heapq import merge
from itertools import islice
from typing import Any, Final
from urllib.parse import quote

import msgspec

from lapwing.answers.answer import Answer
from lapwing.answers.corridor_terms import CorridorTerms
from lapwing.answers.history import Act, HistoryPage, asked_words, charged_for, read_back
from lapwing.answers.stream_terms import StoredNumber, StreamTerms, paid_by_yes, stored_verdict
from lapwing.doors.server.pages.answer_code import kind_of, words_of_question
from lapwing.doors.server.pages.answer_pages import cohort_of
from lapwing.doors.server.pages.cohort_document import CohortDraft, to_link
from lapwing.doors.server.pages.cohort_words import sentence_of
from lapwing.doors.server.pages.drafts import dictionary_for
from lapwing.doors.server.pages.frame import above, number, people, price_text
from lapwing.doors.server.pages.ledger_rows import MODEL, WITH_PAGE, entry_price
from lapwing.doors.server.pages.page_visit import PageVisit
from lapwing.doors.server.pages.showing import RANKS, between_text, built_as, link_of, off_by
from lapwing.doors.server.questions_wire import asking_type, read_question
from lapwing.ledger.agreed import agreed_words, reserved_for
from lapwing.ledger.entries import Record
from lapwing.vocabulary.errors import LapwingError
from lapwing.vocabulary.frozen import frozen

_ASKED: Final = frozenset({"charge", "intent", "recall", "opening", "closing", "write-off"})
_PAGE: Final = 50
_QUESTION: Final = "ask"
_NAMED: Final = frozenset(
    {
        *("publication", "synthesis", "certificate", "explorer", "regression", "dashboard"),
        *("procedure", "sample", "graph", "training", "estimate"),
    }
)
"""Rounds that have a name of their own here; of others their kind is told."""


@frozen()
class HistoryRow:
    """One line of a history; `page` is there where there is one about it, and `link` where it can be cloned."""

    at: str
    kind: str
    said: Any
    told: str = ""
    cost: str | None = None
    page: str | None = None
    link: str | None = None


@frozen()
class _Found:
    """One act, or one free answer, before its answer is looked up: its words decide whether it is shown."""

    at: str
    shown: dict[str, Any]
    row: Callable[[], HistoryRow]


def history_of(visit: PageVisit, *, most: int, skip: int = 0, holding: str = "") -> list[HistoryRow]:
    """Return the questions of the person, the newest first; no more is read than needed."""
    words = holding.casefold().split()
    both = merge(_acts(visit), _free_answers(visit), key=lambda one: one.at, reverse=True)
    found = (one for one in both if all(word in str(one.shown["said"]).casefold() for word in words))
    return [one.row() for one in islice(found, skip, skip + most)]


def _acts(visit: PageVisit) -> Iterator[_Found]:
    """Yield the acts of the person in the ledger, page by page."""
    before, ledger, at = None, visit.server.state.ledger, ""
    while True:
        page = HistoryPage.read(ledger, visit.population, visit.person.id, before=before, limit=_PAGE)
        for act in page.acts:
            at = act.at or at  # what settles a question has no time
            if act.kind in _ASKED and not _is_inside(page.entries[act.entry], page.end_of(act)):
                yield _act(visit, act, page, at)
        if len(page.acts) < _PAGE:
            return
        before = page.acts[-1].entry


def _is_inside(entry: Record, end: Record | None) -> bool:
    """Say whether an entry is a step of rounds that went well: their opening tells of all of them."""
    if "reserves" not in entry or entry["kind"] == "opening":
        return False
    return entry["kind"] == "closing" or (end is not None and "answer" in end)


def _free_answers(visit: PageVisit) -> Iterator[_Found]:
    """Go through what was answered for nothing under keys of their own, page by page."""
    before: int | None = None
    while page := visit.server.memory.listed(visit.population, visit.person.id, before=before, limit=_PAGE, free=True):
        for put in (one for one in page if one["kind"] == _QUESTION):
            at = datetime.fromtimestamp(put["at"], UTC).isoformat()
            shown = _said(visit, put, words_of_question(put["body"]["question"]))
            yield _Found(at=at, shown=shown, row=partial(_free, visit, put, at, shown))
        before = page[-1]["number"]


def _act(visit: PageVisit, act: Act, page: HistoryPage, at: str) -> _Found:
    entry = page.entries[act.entry]
    under = entry.get("request", "").removesuffix(MODEL)
    put = visit.server.memory.recall(visit.population, visit.person.id, under)
    key = None if put is None or put["kind"] not in WITH_PAGE else put["key"]
    shown = _said(visit, put if key else None, _words(visit, entry, act))
    return _Found(at=at, shown=shown, row=partial(_row, visit, act, (entry, page.end_of(act)), put, shown))


def _row(
    visit: PageVisit,
    act: Act,
    entries: tuple[Record, Record | None],
    put: dict[str, Any] | None,
    shown: dict[str, Any],
) -> HistoryRow:
    entry, end = entries
    at, kind = act.at, act.kind
    key = None if put is None or put["kind"] not in WITH_PAGE else put["key"]
    page = None if key is None else f"{visit.base}/answers/{quote(key)}"
    if "reserves" in entry:
        if page is None and entry["reserves"] == "dashboard":  # it is found by its name, under any key
            page = f"{visit.base}/dashboards/{quote(entry['stream'])}"
        lost = end is not None and "answer" not in end
        told = str(visit.say("history.lost")) if lost else ""
        cost = entry_price(entry, visit.say) or None
        return HistoryRow(at=at, kind=_kind_of_rounds(entry), told=told, cost=cost, page=page, **shown)
    if _explored(visit, entry) is not None:
        told, paid = ("", entry_price(entry, visit.say)) if kind == "opening" else _checked(visit, end)
        return HistoryRow(at=at, kind="explorer", told=told, cost=paid or None, **shown)
    if kind == "intent" or (kind == "recall" and put is not None and put["kind"] != "ask"):
        told, paid = _verdict(visit, end)
        return HistoryRow(at=at, kind="enough", told=told, cost=paid if kind == "intent" else None, page=page, **shown)
    if key is not None and put is not None and put["kind"] == _QUESTION:
        told, price = _number(visit, put)
        name = kind_of(put["body"]["question"])
        return HistoryRow(at=at, kind=name, told=told, cost=None if kind == "recall" else price, page=page, **shown)
    told = _read_back(visit, entry, end) if kind == "charge" and end is not None else ""
    name = kind if kind in {"opening", "closing"} else "other"
    cost = entry_price(entry, visit.say) or None
    return HistoryRow(at=at, kind=name, told=told, cost=cost, page=page, **shown)


def _kind_of_rounds(entry: Record) -> str:
    """Return the name of the message for what rounds were reserved for."""
    kind = "explorer" if entry.get("request", "").endswith(MODEL) else str(entry["reserves"])
    return kind if kind in _NAMED else "other"


def _explored(visit: PageVisit, entry: Record) -> CorridorTerms | None:
    """Return the terms of the checks of an explorer, if an entry is of them."""
    if entry["kind"] not in {"opening", "intent", "closing"} or "stream" not in entry:
        return None
    try:
        terms = StreamTerms.read(
            visit.server.state.ledger.of(visit.population).reservations.find(entry["stream"]).terms
        )
    except LapwingError:
        return None
    return terms if isinstance(terms, CorridorTerms) else None


def _of_explorer(visit: PageVisit, entry: Record, table: str) -> str:
    """Say whom an explorer was asked about, or that its checks were opened or closed."""
    if entry["kind"] != "intent":
        return visit.say(f"history.checks_{entry['kind']}", table=table).unescape()
    asked = entry.get("questions") or [entry["question"]]
    if len(asked) > 1:
        return visit.say("history.cohorts", n=len(asked), table=table).unescape()
    whom = asked_words(asked[0]).partition(", in ")[2]  # "whether there are at least N" is not what was wanted
    return visit.say("history.people_in", whom=whom).unescape()


def _checked(visit: PageVisit, end: Record | None) -> tuple[str, str | None]:
    """Say what checks told: that the guess was near, for nothing, or a number that was paid at the opening."""
    if end is None or not (texts := _texts(end)):
        return ("", None) if end is None else (str(visit.say("history.lost")), None)
    kept = [stored_verdict(text) for text in texts]
    paid = [one for one in kept if isinstance(one, StoredNumber)]
    if len(kept) == 1:
        told = people(paid[0].number) if paid else visit.say("history.near")
    else:
        told = visit.say("history.checked", near=len(kept) - len(paid), far=len(paid))
    return str(told), str(visit.say("price.paid_before")) if paid else None


def _words(visit: PageVisit, entry: Record, act: Act) -> str:
    """Say what was asked, or what a stream was opened for; what it cost, and what came of it, have their own places."""
    if act.kind == "charge":
        return charged_for(entry)
    if act.kind == "opening" and "reserves" in entry:
        return _reserved(visit, entry)
    if (explored := _explored(visit, entry)) is not None:
        return _of_explorer(visit, entry, explored.table)
    if act.kind == "intent" and "question" in entry and "reserves" not in entry:
        return asked_words(entry["question"])
    if act.kind != "opening":
        return act.said
    try:
        terms = StreamTerms.read(entry["terms"])
    except LapwingError:
        return act.said
    if terms.streamed is not None:
        return visit.say("history.opened_of", asks=terms.streamed.asks, n=terms.yeses).unescape()
    return str(visit.say("history.opened", at_least=terms.at_least, n=terms.yeses))


def _reserved(visit: PageVisit, entry: Record) -> str:
    """Say what rounds were reserved for."""
    if (kind := _kind_of_rounds(entry)) == "other":
        return reserved_for(entry)
    return visit.say("history.rounds", kind=visit.say(f"kind.{kind}"), about=agreed_words(entry)).unescape()


def _read_back(visit: PageVisit, charge: Record, end: Record) -> str:
    """Return an answer in short that was given in Python or at the command line."""
    ledger = visit.server.state.ledger
    if end["kind"] == "lost":
        return str(visit.say("history.lost"))
    answer = read_back(
        charge, end, ledger.of(visit.population).receipt(end["seq"]), ledger.account(visit.population).budget
    )
    return "" if answer is None else _short(visit, answer)


def _free(visit: PageVisit, put: dict[str, Any], at: str, shown: dict[str, Any]) -> HistoryRow:
    told, _ = _number(visit, put)
    return HistoryRow(
        at=at,
        kind=kind_of(put["body"]["question"]),
        told=told,
        page=f"{visit.base}/answers/{quote(put['key'])}" if told else None,
        **shown,
    )


def _said(visit: PageVisit, put: dict[str, Any] | None, otherwise: str) -> dict[str, Any]:
    """Say who was meant, and where it can be cloned: what was built here as it was built, and SQL as it was written."""
    built = None if put is None else built_as(visit, put["key"])
    if built is not None:
        return {"said": _sentence(otherwise), "link": built["link"]}
    cohort = None if put is None else cohort_of(visit, put["key"])
    link = _link(visit, put, cohort)
    if cohort is None:
        return {"said": _sentence(otherwise), "link": link}
    return {"said": sentence_of(cohort, dictionary_for(visit), visit.say).striptags(), "link": link}


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}".rstrip(".") + "."


def _link(visit: PageVisit, put: dict[str, Any] | None, cohort: CohortDraft | None) -> str | None:
    if put is None:
        return None
    if put["kind"] == _QUESTION:
        return link_of(visit, put["body"], cohort)
    return None if cohort is None else f"{visit.base}/ask?c={to_link(cohort)}&kind=enough"


def _texts(end: Record) -> list[str]:
    """Return the answers that an outcome holds; none where they were lost."""
    return [text for _, text in end["answers"]] if "answers" in end else [end["answer"]] if "answer" in end else []


def _verdict(visit: PageVisit, end: Record | None) -> tuple[str, str | None]:
    if end is None:
        return "", None
    texts = _texts(end)
    if not texts:
        return str(visit.say("history.lost")), None
    kept = [stored_verdict(text) for text in texts]
    yeses, price = sum(one.verdict.is_yes for one in kept), sum(one.price for one in kept)
    one_told = visit.say("answer.Yes" if yeses else "answer.No")
    told = one_told if "answer" in end else visit.say("ask.yes_no", yes=yeses, no=len(kept) - yeses)
    by_yes = paid_by_yes(visit.server.state.ledger.account(visit.population))
    return str(told), f"ε {above(price)}" if price and by_yes else None


def _number(visit: PageVisit, put: dict[str, Any]) -> tuple[str, str | None]:
    """Return an answer in short, with its error, and what it cost; nothing of one that has none."""
    try:
        asked: Any = msgspec.convert(put["body"], asking_type())
        question, words = read_question(asked.question)
        entry = visit.server.memory.entry(visit.population, visit.person.id, put["key"])
        answer = visit.session(asked).stored(question, key=put["key"], entry=entry, **asked.price.words(), **words)
    except LapwingError:
        return str(visit.say("history.lost")), None
    return ("", None) if answer is None else (_short(visit, answer), price_text(answer.price.to_dict(), visit.currency))


def _short(visit: PageVisit, answer: Answer) -> str:
    margin, rows = answer.margin() if len(answer.columns) == 1 else None, answer.rows
    unit = answer.asked.units[answer.columns[0]]
    is_single = len(rows) == 1 and len(answer.columns) == 1
    if is_single and unit == RANKS:
        cell = rows[0].cells[answer.columns[0]]
        between = between_text(visit.say, cell.low, cell.high)
        return f"{people(answer.value)}, {between or off_by(visit.say, margin, unit)}"
    is_number = not isinstance(answer.value, str) if is_single else True  # a name that was chosen is off by nothing
    off = "" if margin is None or not is_number else f" {off_by(visit.say, margin, unit)}"
    if is_single and not answer.keys:
        return f"{number(answer.value) or '–'}{off}"
    return f"{visit.say('count.rows', n=len(rows))}{off}"
