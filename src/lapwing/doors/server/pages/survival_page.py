"""The page of survival curves: time, event and periods, the error of every cell before, and the curves with bands."""

import json
import re
from typing import Any, Final

from starlette.responses import Response

from lapwing.doors.server.pages.analysis_form import analysis_offer, said, text_of_field
from lapwing.doors.server.pages.answer_code import opening_lines
from lapwing.doors.server.pages.cohort_document import UnclearError
from lapwing.doors.server.pages.dictionary import Dictionary, Field
from lapwing.doors.server.pages.drafts import dictionary_for
from lapwing.doors.server.pages.page_visit import Page, PageVisit
from lapwing.doors.server.pages.paid_form import PaidForm
from lapwing.doors.server.pages.proof_pages import proofs_of
from lapwing.doors.server.pages.publication_page import file_of, is_running, settled
from lapwing.doors.server.pages.published_columns import PublishOffer, values_of
from lapwing.doors.server.pages.showing import address_of
from lapwing.show.strokes import WIDTH, Drawing, axis, line, path, percent, short, svg, text
from lapwing.vocabulary.frozen import frozen

P: Final = "/populations/{population}/survival"
_ONE: Final = "/populations/{population}/survivals/{key}"
_PERIODS: Final = 10
_MOST_TICKS: Final = 8
_ENDS: Final = re.compile(r"\s*-?\d{1,15}(\s*[,;]\s*-?\d{1,15})+\s*")


@frozen()
class SurvivalDraft:
    """All that the form says, as it was typed."""

    time: str
    event: str
    condition: str
    grid: str
    by: str
    where: str
    offer: PublishOffer

    def words(self) -> dict[str, Any]:
        """Return the words of an address that show this draft."""
        own = said(
            time=self.time, event=self.event, condition=self.condition, grid=self.grid, by=self.by, where=self.where
        )
        return {**own, **self.offer.words()}

    def body(self, visit: PageVisit) -> dict[str, Any]:
        """Return the body of the request to the API."""
        dictionary = dictionary_for(visit)
        if dictionary.person is None:
            raise UnclearError("cohort.unclear.no_person")
        time, event = (dictionary.person.field(name) for name in (self.time, self.event))
        if time is None or (event is None and not self.condition):
            raise UnclearError("survival.unclear.columns")
        by = dictionary.person.field(self.by)
        return {
            "table": dictionary.person.name,
            "time": time.written,
            "event": self.condition or ("" if event is None else event.written),
            "grid": self._ends(),
            **said(by=None if by is None else by.written, where=self.where),
            "price": self.offer.body(),
        }

    def _ends(self) -> list[int]:
        if not _ENDS.fullmatch(self.grid):
            raise UnclearError("survival.unclear.grid", given=self.grid[:40])
        return [int(one) for one in re.split("[,;]", self.grid)]


async def show_survival(visit: PageVisit) -> Response:
    """Show survival curves with their bands, and the test of two arms; it never charges."""
    key = visit.part("key")
    if is_running(visit, key):
        return visit.show_running(key)
    record = await settled(visit, "survival")
    known = visit.server.memory.recall(visit.population, visit.person.id, key)
    body = {} if known is None else known["body"]
    return visit.show(
        "survived.html",
        record=record,
        key=key,
        at=None if known is None else known["at"],
        where=body.get("where", ""),
        pictures=[(one, steps(one, record["grid"], record["event"])) for one in record["curves"]],
        python=f"{opening_lines(address_of(visit), visit.population)}{surviving_call(body)}",
        proofs=proofs_of(record["question"]),
    )


async def save_survival(visit: PageVisit) -> Response:
    """Save survival curves as JSON, with all numbers that were released."""
    told = json.dumps(await settled(visit, "survival"), indent=1, ensure_ascii=False)
    return file_of(told, "application/json", f"survival-{visit.part('key')[:8]}.json")


def steps(curve: dict[str, Any], grid: list[int], title: str) -> Drawing:
    """Draw the part of the people without the event as a step at the end of each period, with the band around it."""
    base, top, left = 190.0, 14.0, 58.0
    beyond = grid[-1] + (grid[-1] - grid[-2]) / 2  # so that the last step is seen
    x, y = axis(grid[0], beyond, left, WIDTH - 20), axis(0, 1, base, top)
    times = [grid[0], *curve["times"], beyond]

    def stairs(word: str) -> list[tuple[float, float]]:
        heights = [1.0, *curve[word]]
        ends = zip(heights, times, times[1:], strict=False)
        return [point for height, begin, end in ends for point in ((x(begin), y(height)), (x(end), y(height)))]

    every = -(-len(grid) // _MOST_TICKS)
    body = [
        *(line(left, y(share), WIDTH - 20, y(share), "c-grid") for share in (0, 0.25, 0.5, 0.75, 1)),
        *(text(left - 6, y(share) + 4, percent(share, 0), "quiet", "end") for share in (0, 0.5, 1)),
        path([*stairs("low"), *reversed(stairs("high"))], "c-area", closed=True),
        path(stairs("survived"), "c-line"),
        *(text(x(end), base + 18, short(end), "quiet") for end in grid[::every]),
    ]
    return svg(base + 28, title, body)


def surviving_call(body: dict[str, Any]) -> str:
    """Return the call of `survival` that a body stands for.

    >>> surviving_call({"table": "p", "time": "days", "event": "died", "grid": [0, 30, 60], "price": {"epsilon": "1"}})
    'curves = session.survival("p", time="days", event="died", grid=[0, 30, 60], epsilon="1")'
    """
    first = [json.dumps(body["table"], ensure_ascii=False)] if body else []
    rest = [
        f"{name}={json.dumps(body[name], ensure_ascii=False)}"
        for name in ("time", "event", "grid", "by", "where")
        if name in body
    ]
    paid = [f'{name}="{given}"' for name, given in body.get("price", {}).items()]
    return f"curves = session.survival({', '.join([*first, *rest, *paid])})"


def _times(dictionary: Dictionary) -> list[Field]:
    own = () if dictionary.person is None else dictionary.person.fields
    return [one for one in own if one.kind == "integer" and one.low and one.high]


def _events(dictionary: Dictionary) -> list[Field]:
    own = () if dictionary.person is None else dictionary.person.fields
    return [one for one in own if one.kind == "boolean"]


def _proposed(field: Field | None) -> str:
    """Return ends of about ten periods, from the lowest value to the highest that are declared."""
    if field is None:
        return ""
    low, high = int(field.low), int(field.high)
    step = max(1, -(-(high - low) // _PERIODS))
    return ", ".join(str(one) for one in range(low, high + step, step))


def _draft(visit: PageVisit) -> SurvivalDraft:
    values, dictionary = values_of(visit), dictionary_for(visit)
    times, events = _times(dictionary), _events(dictionary)
    time = text_of_field(values, "time", times[0].name if times else "")
    chosen = next((one for one in times if one.name == time), None)
    return SurvivalDraft(
        time=time,
        event=text_of_field(values, "event", events[0].name if events else ""),
        condition=text_of_field(values, "condition"),
        grid=text_of_field(values, "grid", _proposed(chosen)),
        by=text_of_field(values, "by"),
        where=text_of_field(values, "where"),
        offer=analysis_offer(visit, values, epsilon="1", rho="0.05"),
    )


def _beside(visit: PageVisit) -> dict[str, Any]:
    dictionary = dictionary_for(visit)
    arms = [one for one in dictionary.groupings if one.values and not one.is_long]
    return {"times": _times(dictionary), "events": _events(dictionary), "arms": arms}


PAGES: Final[tuple[Page, ...]] = (
    *PaidForm(
        place="survival",
        page="survival",
        read=_draft,
        preview="preview_survival",
        pay="estimate_survival",
        listed="survivals",
        result="survivals",
        beside=_beside,
    ).pages(P),
    Page(path=_ONE, show=show_survival, operation="survival"),
    Page(path=f"{_ONE}/json", show=save_survival, operation="survival"),
)
