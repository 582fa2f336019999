"""The pages of explorers: opening one, and building cohorts whose counts are free as long as its model is right.

What the model guesses is shown under every change. A check may use one of the answers that were paid for, and nobody
knows before whether it does: so it is asked for, once by a button, or for all that follows by a box that is ticked.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from starlette.responses import Response

from lapwing.doors.server.pages.answer_code import opening_lines
from lapwing.doors.server.pages.asking import key_of, spare
from lapwing.doors.server.pages.cohort_document import CohortDraft, UnclearError, from_link, to_link
from lapwing.doors.server.pages.cohort_form import act, from_form
from lapwing.doors.server.pages.cohort_text import text_of
from lapwing.doors.server.pages.cohort_undo import UNDO, UndoHistory, go_back, go_on, past_of
from lapwing.doors.server.pages.cohort_words import sentence_of
from lapwing.doors.server.pages.dictionary import Dictionary
from lapwing.doors.server.pages.drafts import dictionary_for, whole
from lapwing.doors.server.pages.gauge import Gauge
from lapwing.doors.server.pages.own_pages import found_in
from lapwing.doors.server.pages.page_visit import Page, PageRefusedError, PageVisit
from lapwing.doors.server.pages.page_visit import act as form
from lapwing.doors.server.pages.paid_form import PaidForm
from lapwing.doors.server.pages.publication_page import call_of, code_names, is_running, settled
from lapwing.doors.server.pages.published_columns import (
    ChosenColumns,
    PublishOffer,
    chosen_columns,
    last_of,
    offer_of,
    values_of,
)
from lapwing.doors.server.pages.showing import address_of
from lapwing.noise.randomness import fresh_name
from lapwing.vocabulary.frozen import frozen

P: Final = "/populations/{population}/explore"
_ONE: Final = "/populations/{population}/explorers/{key}"
_PARTS: Final = ("panels", "outcome")
_MOST_PAID: Final = 100
_MOST_QUESTIONS: Final = 100_000


@frozen()
class ExplorerDraft:
    """All that the form says: columns, the price of model and checks together, and how many questions it is for."""

    columns: ChosenColumns
    offer: PublishOffer
    yeses: str
    questions: str

    def words(self) -> dict[str, Any]:
        """Return the words of an address that show this draft."""
        return {**self.columns.words(), **self.offer.words(), "yeses": self.yeses, "questions": self.questions}

    def body(self, visit: PageVisit) -> dict[str, Any]:
        """Return the body of the request to the API."""
        return {
            **self.columns.body(dictionary_for(visit)),
            **self.offer.body(),
            "yeses": whole("yeses", self.yeses, _MOST_PAID),
            "questions": whole("questions", self.questions, _MOST_QUESTIONS),
        }


async def show_explorer(visit: PageVisit) -> Response:
    """Show the builder, with the cohort that the address holds, and what the model guesses about it."""
    if is_running(visit, visit.part("key")):
        return visit.show_running(visit.part("key"))
    try:
        cohort = from_link(visit.asked("c")) if visit.asked("c") else CohortDraft()
    except UnclearError:
        cohort = CohortDraft()
    return visit.show("explorer.html", **await _explored(visit, cohort, pay=False))


async def redraw_cohort(visit: PageVisit) -> Response:
    """Show the builder after a change, whole or in parts: what the model guesses, or a check where that is wanted."""
    dictionary, past = _dictionary(visit), past_of(visit)
    now = from_form(visit.fields, dictionary)
    if visit.field("do") == UNDO:
        cohort, past = go_back(past, now)
    else:
        cohort = act(now, visit.field("do"), dictionary)
        past = go_on(past, now, cohort)
    shown = await _explored(visit, cohort, pay=visit.field("check") == "on", past=past)
    parts = visit.request.headers.get("x-part")
    if parts is None:
        return visit.show("explorer.html", **shown)
    wanted = [part for part in parts.split() if part in _PARTS]
    return visit.show("explorer_parts.html", headers={"X-Link": shown["link"]}, parts=wanted, **shown)


async def check(visit: PageVisit) -> Response:
    """Check what the model guesses: it is free where that is near enough, and uses a paid answer where it is not."""
    cohort = from_form(visit.fields, _dictionary(visit))
    return visit.show("explorer.html", **await _explored(visit, cohort, pay=True))


async def search_known(visit: PageVisit) -> Response:
    """Return the columns of the explorer that match a search, as buttons that add them."""
    return found_in(visit, _dictionary(visit))


def _dictionary(visit: PageVisit) -> Dictionary:
    """Return what a cohort of the explorer can be built of: its columns, and all there is where some are conditions."""
    everything = dictionary_for(visit)
    known = visit.server.memory.recall(visit.population, visit.person.id, visit.part("key"))
    given = [] if known is None else known["body"].get("columns", [])
    names = {one.get("name", one["by"]) for one in given}
    is_plain = names and names <= {one.name for one in everything.groupings}
    return Dictionary(visit.session().population, names) if is_plain else everything


async def _explored(
    visit: PageVisit, cohort: CohortDraft, *, pay: bool, past: UndoHistory | None = None
) -> dict[str, Any]:
    """Return the variables of the explorer's template, with the answer about a cohort."""
    dictionary, explorer = _dictionary(visit), await settled(visit, "explorer")
    known = visit.server.memory.recall(visit.population, visit.person.id, visit.part("key"))
    ledger = visit.server.state.ledger
    body = {} if known is None else known["body"]
    place = f"{visit.base}/explorers/{visit.part('key')}"
    price = {name: body[name] for name in ("epsilon", "delta", "rho") if name in body}
    shown: dict[str, Any] = {
        "cohort": cohort,
        "past": past or UndoHistory(drawn=to_link(cohort)),
        "dictionary": dictionary,
        "search_in": f"{place}/search",
        "explorer": explorer,
        "ranges": {name: code_names(explorer["codes"][name], visit.say) for name in _binned(body, explorer["codes"])},
        "place": place,
        "checks_all": visit.field("check") == "on",
        "sentence": sentence_of(cohort, dictionary, visit.say),
        "key": fresh_name(),
        "link": f"{place}?c={to_link(cohort)}" if cohort.spoken else place,
        "answer": None,
        "problem": "",
        "left": await visit.in_thread(lambda: Gauge.of(ledger.account(visit.population)).words["left"]),
        "where": "",
        "python": f"{opening_lines(address_of(visit), visit.population)}"
        f"{call_of('explorer', {**body, 'price': price})}",
    }
    if not cohort.spoken or explorer["status"] == "closed":
        return shown
    try:
        shown["where"] = text_of(cohort, dictionary)
        asked = {"wheres": [shown["where"]]}
        if pay:
            await spare(visit)
            told = await visit.do("ask_explorer", asked, key=_key_for(visit, shown["where"]))
            shown["explorer"] = await settled(visit, "explorer")
        else:
            told = await visit.do("guess_explorer", asked)
        shown["answer"] = None if told is None else told["answers"][0]
    except UnclearError as unclear:
        shown["problem"] = visit.say(unclear.message, **unclear.values)
    except PageRefusedError as refused:
        shown["problem"] = refused.sentence
    return shown


def _binned(body: Mapping[str, Any], codes: Mapping[str, Any]) -> list[str]:
    """Return the columns of an explorer of which it knows bins: a condition takes whole ones."""
    given = zip(body.get("columns", []), codes, strict=False)  # without columns it knows those that need no bins
    return [name for one, name in given if one["by"].startswith("bins(")]


def _key_for(visit: PageVisit, where: str) -> str:
    """Return the key of a check: pressed twice it is one, and about another cohort it is another."""
    return sha256(f"{key_of(visit) or fresh_name()}\0{where}".encode()).hexdigest()[:32]


def _draft(visit: PageVisit) -> ExplorerDraft:
    values = values_of(visit)
    offer = offer_of(values)
    if offer.pay == "within":  # an explorer is opened for a price
        first = "rho" if visit.currency == "rho" else "epsilon"
        offer = PublishOffer(pay=first, within="", epsilon=offer.epsilon, delta=offer.delta, rho=offer.rho)
    if not values("epsilon") and not values("rho"):
        offer = PublishOffer(pay=offer.pay, within="", epsilon="2", delta=offer.delta, rho="0.5")
    return ExplorerDraft(
        columns=chosen_columns(values, dictionary_for(visit)),
        offer=offer,
        yeses=last_of(values, "yeses", "2"),
        questions=last_of(values, "questions", "1000"),
    )


FORM: Final = PaidForm(
    place="explore",
    page="explore",
    read=_draft,
    preview="preview_explorer",
    pay="open_explorer",
    listed="explorers",
    result="explorers",
    beside={},
)
PAGES: Final[tuple[Page, ...]] = (
    *FORM.pages(P),
    Page(path=_ONE, show=show_explorer, operation="explorer"),
    Page(path=f"{_ONE}/search", show=search_known, operation="explorer"),
    Page(path=f"{_ONE}/draft", show=redraw_cohort, method="POST", operation="ask_explorer"),
    Page(path=f"{_ONE}/check", show=check, method="POST", operation="ask_explorer"),
    form(
        f"{_ONE}/close",
        "close_explorer",
        key=lambda visit: f"{visit.field('key') or fresh_name()}-closes",
        then="/explore",
    ),
)
