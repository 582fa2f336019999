"""The page that asks in SQL: what it asks, price and error before the button; then the way of every question."""

from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlencode

from starlette.responses import Response

from lapwing.doors.server.pages.asking import key_of, spare
from lapwing.doors.server.pages.cohort_document import UnclearError
from lapwing.doors.server.pages.dictionary import Dictionary
from lapwing.doors.server.pages.drafts import AMOUNT, DELTA, dictionary_for, has_delta, whole
from lapwing.doors.server.pages.page_visit import Page, PageRefusedError, PageVisit, Show
from lapwing.doors.server.pages.showing import errors_of, show_answer_page
from lapwing.noise.randomness import fresh_name
from lapwing.queries.statements.catalogue_statements import read_catalogue
from lapwing.queries.statistics import statistic_names
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen

LONGEST: Final = 8000
_PAYS: Final = ("within", "epsilon", "rho")
_LIMITS: Final = ("max_rows", "max_groups")
_LONGEST_LINK: Final = 6000
_WORDS: Final = ("select", "from", "where", "group by", "order by", "between", "has", "age", "bins", "distinct", "date")


@frozen()
class SqlDraft:
    """A statement and what is offered for it, as they were written."""

    text: str
    pay: str
    within: str
    epsilon: str
    delta: str
    rho: str
    max_rows: str
    max_groups: str

    @property
    def mark(self) -> str:
        """A digest of the statement and its terms, for which a price was shown."""
        told = [self.text, self.pay, *self.offered.values(), self.max_rows, self.max_groups]
        return sha256("\0".join(told).encode()).hexdigest()[:32]

    @property
    def offered(self) -> dict[str, str]:
        """The target in the words of the address: a margin or a price, with a delta where one was written."""
        beside = {"delta": self.delta} if self.pay == "epsilon" and self.delta else {}
        return {self.pay: str(getattr(self, self.pay)), **beside}

    @property
    def body(self) -> dict[str, Any]:
        """The body of the request to the API."""
        if len(self.text) > LONGEST:
            raise UnclearError("sql.unclear.long", n=len(self.text), most=LONGEST)
        limits = {name: whole(name, given) for name in _LIMITS if (given := getattr(self, name))}
        if self.pay == "within":
            whole("within", self.within)
        for name, given in self.offered.items():
            if name != "within" and not (DELTA if name == "delta" else AMOUNT).fullmatch(given):
                raise UnclearError(f"sql.unclear.{name}", given=given[:40])
        return {"question": {"ask": "sql", "text": self.text, **limits}, "price": self.offered}


def draft_of(one: Any) -> SqlDraft:
    """Return the draft of a form; `one` gives a field, or a word of the address, by its name."""
    return SqlDraft(
        text=one("q", "").replace("\r\n", "\n").strip(),
        pay=pay if (pay := one("pay", "within")) in _PAYS else "within",
        within=one("within", "30"),
        epsilon=one("epsilon", "0.1"),
        delta=one("delta", ""),
        rho=one("rho", "0.005"),
        max_rows=one("max_rows", ""),
        max_groups=one("max_groups", ""),
    )


async def show_sql(visit: PageVisit) -> Response:
    """Show the page, with the statement that the address holds."""
    return visit.show("sql.html", **await _shown(visit, draft_of(visit.asked)), unclear="")


async def redraw(visit: PageVisit) -> Response:
    """Show the price after a change, as a page or as the part of it that changes; it spends nothing."""
    shown = await _shown(visit, draft_of(visit.field))
    if "x-part" in visit.request.headers:
        return visit.show("sql_part.html", headers={"X-Link": shown["link"]}, **shown)
    return visit.show("sql.html", **shown, unclear="")


async def ask(visit: PageVisit) -> Response:
    """Ask, and pay; the key is that of the form. What was changed after its price was shown is shown again instead."""
    draft, key = draft_of(visit.field), key_of(visit)
    if not key or not draft.text:
        return visit.go("/sql")
    if visit.field("shown") != draft.mark:
        return visit.show("sql.html", 409, **await _shown(visit, draft), unclear=visit.say("ask.changed"))
    await spare(visit)
    await visit.do("ask", _body(visit, draft), key=key)
    return visit.go(f"/answers/{key}")


async def rehearse(visit: PageVisit) -> Response:
    """Answer from made-up rows, and say so all over the page."""
    draft = draft_of(visit.field)
    if not draft.text:
        return visit.go("/sql")
    body = _body(visit, draft)
    return await show_answer_page(visit, await visit.do("rehearse", body), body, None, at=None)


def built_statement(visit: PageVisit) -> tuple[str, dict[str, Any]]:
    """Return the address of the statement that the form holds, and its body."""
    draft = draft_of(visit.field)
    if not draft.text:
        raise PageRefusedError(422, {"code": "bad_question", "message": str(visit.say("saved.no_question"))})
    return _link(visit, draft), _body(visit, draft)


def _link(visit: PageVisit, draft: SqlDraft) -> str:
    """Return the address of a statement with its terms, if it is not too long for one."""
    chosen = {"q": draft.text, "pay": draft.pay, **draft.offered}
    limits = {name: given for name in _LIMITS if (given := getattr(draft, name))}
    link = f"{visit.base}/sql" + (f"?{urlencode({**chosen, **limits})}" if draft.text else "")
    return link if len(link) <= _LONGEST_LINK else f"{visit.base}/sql"


def _body(visit: PageVisit, draft: SqlDraft) -> dict[str, Any]:
    try:
        return draft.body
    except UnclearError as unclear:
        sentence = str(visit.say(unclear.message, **unclear.values))
        raise PageRefusedError(422, {"code": "bad_question", "message": sentence}) from None


async def _shown(visit: PageVisit, draft: SqlDraft) -> dict[str, Any]:
    dictionary = dictionary_for(visit)
    shown: dict[str, Any] = {
        "draft": draft,
        "dictionary": dictionary,
        "examples": examples_of(dictionary),
        "has_delta": has_delta(visit),
        "words": [*_WORDS, *statistic_names()],
        "key": fresh_name(),
        "link": _link(visit, draft),
        "price": None,
        "problem": "",
        "wants_epsilon": False,
        "errors": [],
        "catalogue": None,
    }
    if not draft.text:
        return shown
    try:
        shown["catalogue"] = read_catalogue(draft.text, visit.session().population)
    except BadQuestionError as refused:
        shown["problem"] = str(refused)
    if shown["catalogue"] or shown["problem"]:
        return shown
    try:
        shown["price"] = price = await visit.do("preview", draft.body)
        shown["errors"] = errors_of(visit.say, price)
    except UnclearError as unclear:
        shown["problem"] = visit.say(unclear.message, **unclear.values)
    except PageRefusedError as refused:
        shown["problem"] = refused.sentence
        shown["wants_epsilon"] = draft.pay != "epsilon" and refused.code == "parameter"
    return shown


def examples_of(dictionary: Dictionary) -> list[dict[str, str]]:
    """Return statements to begin with, about tables that are declared, each as words of an address."""
    return [{"q": text, "pay": "epsilon" if "avg" in text else "within"} for text in _statements(dictionary)]


def _statements(dictionary: Dictionary) -> list[str]:
    person, events = dictionary.person, dictionary.events
    if person is None:
        return [_select("count(*)", events[0].written)] if events else []
    found = [_select("count(*)", person.written)]
    group = next(iter(person.categories), None)
    if group is not None:
        found.append(_select(f"{group.written}, count(*)", person.written, f"group by {group.written}"))
    value = next((one for one in person.fields if one.kind in {"real", "integer"} and one.low), None)
    if value is not None:
        found.append(_select(f"avg({value.written}), median({value.written})", person.written))
    event = next((one for one in events if one.categories), None)
    if event is not None:
        column = event.categories[0]
        first = column.values[0][0] if column.numbers else f"'{column.values[0][0]}'"
        found.append(_select("count(*)", person.written, f"where has({event.written}, {column.written} = {first})"))
    return found


def _select(what: str, table: str, *more: str) -> str:
    return "\n".join([f"select {what}", f"from {table}", *more])


def _page(path: str, show: Show, method: str, operation: str) -> Page:
    return Page(path="/populations/{population}/sql" + path, show=show, method=method, operation=operation)


PAGES: Final[tuple[Page, ...]] = (
    _page("", show_sql, "GET", "preview"),
    _page("/draft", redraw, "POST", "preview"),
    _page("/rehearsal", rehearse, "POST", "rehearse"),
    _page("", ask, "POST", "ask"),
)
