"""A form of columns that shows its price after every change, and is paid by one button: publish, synthesize, explore.

What the button does is what the price was shown for, or nothing: the form carries a mark of it.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Final, Protocol
from urllib.parse import urlencode

import msgspec
from starlette.responses import Response

from lapwing.doors.server.pages.asking import key_of, spare
from lapwing.doors.server.pages.cohort_document import UnclearError
from lapwing.doors.server.pages.drafts import dictionary_for, has_delta
from lapwing.doors.server.pages.page_visit import Page, PageRefusedError, PageVisit
from lapwing.doors.server.pages.published_columns import CONDITIONS, edges_text
from lapwing.noise.randomness import fresh_name
from lapwing.vocabulary.frozen import frozen

_LONGEST_LINK: Final = 6000


class FormDraft(Protocol):
    """What a form holds."""

    def words(self) -> dict[str, Any]:
        """Return what is filled in, as an address has it."""

    def body(self, visit: PageVisit) -> dict[str, Any]:
        """Return the body of the request to the API."""


@frozen()
class PaidForm:
    """A form, its preview and its button.

    Parameters
    ----------
    place : its address below that of the population
    page : its template, of which `_part` is what changes
    read : returns what the form, or its address, holds
    preview, pay, listed : the operations that price it, do it and list what was done before
    result : where what was paid for is shown, below the population
    beside : what else the page shows
    look : returns the body of the preview, where what is shown has guesses in it that nothing is paid for
    """

    place: str
    page: str
    read: Callable[[PageVisit], FormDraft]
    preview: str
    pay: str
    listed: str
    result: str
    beside: Mapping[str, Any] | Callable[[PageVisit], Mapping[str, Any]]
    look: Callable[[Any, PageVisit], dict[str, Any]] | None = None

    def pages(self, path: str) -> tuple[Page, ...]:
        """Return its rows: the form, the form after a change, and its button."""
        return (
            Page(path=path, show=self.show, operation=self.preview),
            Page(path=f"{path}/draft", show=self.redraw, method="POST", operation=self.preview),
            Page(path=path, show=self.press, method="POST", operation=self.pay),
        )

    async def show(self, visit: PageVisit) -> Response:
        """Show the form, with what the address says."""
        return visit.show(f"{self.page}.html", **await self._shown(visit, self.read(visit)), unclear="")

    async def redraw(self, visit: PageVisit) -> Response:
        """Show the price after a change, as a page or as the part of it that changes; it spends nothing."""
        shown = await self._shown(visit, self.read(visit))
        if "x-part" in visit.request.headers:
            return visit.show(f"{self.page}_part.html", headers={"X-Link": shown["link"]}, **shown)
        return visit.show(f"{self.page}.html", **shown, unclear="")

    async def press(self, visit: PageVisit) -> Response:
        """Do it, and pay; the key is that of the form. What was changed after its price was shown is shown again."""
        draft, key = self.read(visit), key_of(visit)
        if not key:
            return visit.go(f"/{self.place}")
        try:
            body = draft.body(visit)
        except UnclearError as unclear:
            said = str(visit.say(unclear.message, **unclear.values))
            raise PageRefusedError(422, {"code": "bad_question", "message": said}) from None
        if visit.field("shown") != mark_of_body(body):
            changed = visit.say("ask.changed")
            return visit.show(f"{self.page}.html", 409, **await self._shown(visit, draft), unclear=changed)
        await spare(visit)
        await visit.do(self.pay, body, key=key)
        return visit.go(f"/{self.result}/{key}")

    async def _shown(self, visit: PageVisit, draft: FormDraft) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "draft": draft,
            "dictionary": dictionary_for(visit),
            "edges_text": edges_text,
            "rooms": range(CONDITIONS),
            "has_delta": has_delta(visit),
            "key": fresh_name(),
            "link": self._link(visit, draft.words()),
            "before": await visit.do(self.listed),
            "preview": None,
            "mark": "",
            "problem": "",
            **(self.beside(visit) if callable(self.beside) else self.beside),
        }
        try:
            body = draft.body(visit)
            looked = body if self.look is None else self.look(draft, visit)
            shown["preview"], shown["mark"] = await visit.do(self.preview, looked), mark_of_body(body)
        except UnclearError as unclear:
            shown["problem"] = visit.say(unclear.message, **unclear.values)
        except PageRefusedError as refused:
            shown["problem"] = refused.sentence
        return shown

    def _link(self, visit: PageVisit, words: dict[str, Any]) -> str:
        """Return the address of the form as it is filled in, if it is not too long for one."""
        link = f"{visit.base}/{self.place}?{urlencode(words, doseq=True)}"
        return link if len(link) <= _LONGEST_LINK else f"{visit.base}/{self.place}"


def mark_of_body(body: dict[str, Any]) -> str:
    """Return a digest of what a price was shown for: the button does that, or nothing."""
    return sha256(msgspec.json.encode(body, order="deterministic")).hexdigest()[:32]
