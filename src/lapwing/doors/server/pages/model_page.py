"""The page that fits a regression: a formula, what it would cost and tell, rounds as a job, and the forest plot."""

import json
from typing import Any, Final

from starlette.responses import Response

from lapwing.doors.server.pages.analysis_form import analysis_offer, number_of, said, share_of, text_of_field
from lapwing.doors.server.pages.answer_code import opening_lines
from lapwing.doors.server.pages.cohort_document import UnclearError
from lapwing.doors.server.pages.drafts import dictionary_for, has_delta
from lapwing.doors.server.pages.page_visit import Page, PageVisit
from lapwing.doors.server.pages.paid_form import PaidForm
from lapwing.doors.server.pages.proof_pages import proofs_of
from lapwing.doors.server.pages.publication_page import file_of, is_running, settled
from lapwing.doors.server.pages.published_columns import PublishOffer, values_of
from lapwing.doors.server.pages.showing import address_of
from lapwing.show.panels import Panel, draw_panel
from lapwing.show.strokes import Drawing
from lapwing.vocabulary.frozen import frozen

P: Final = "/populations/{population}/model"
_ONE: Final = "/populations/{population}/regressions/{key}"
MODELS: Final = ("linear", "logistic", "poisson")
_FEW: Final = 3


@frozen()
class ModelDraft:
    """All that the form says, as it was typed; `people` and `events` are guesses."""

    formula: str
    model: str
    where: str
    people: str
    events: str
    offer: PublishOffer

    def words(self) -> dict[str, Any]:
        """Return the words of an address that show this draft."""
        own = said(formula=self.formula, model=self.model, where=self.where, people=self.people, events=self.events)
        return {**own, **self.offer.words()}

    def body(self, visit: PageVisit) -> dict[str, Any]:
        """Return the body of the request to the API; with guesses, what would say nothing is refused."""
        person = dictionary_for(visit).person
        if person is None:
            raise UnclearError("cohort.unclear.no_person")
        if not self.formula:
            raise UnclearError("model.unclear.formula")
        body: dict[str, Any] = {"table": person.name, "formula": self.formula, "model": self.model}
        body |= said(where=self.where)
        if self.people:
            events = {} if self.model == "linear" else {"events": self._events()}
            body["assume"] = {"people": number_of(self.people, "people"), **events}
        return {**body, "price": self.offer.body()}

    def _events(self) -> str:
        """Return the guess about the outcome: of a logistic model a share, typed in per cent, or the mean of counts."""
        if not self.events:
            raise UnclearError("model.unclear.events")
        return share_of(self.events, "events") if self.model == "logistic" else number_of(self.events, "events")


async def show_regression(visit: PageVisit) -> Response:
    """Show a regression: its table, the forest plot, and how much of each interval is noise; it never charges."""
    key = visit.part("key")
    if is_running(visit, key):
        told = await visit.do("job", path={"key": key})
        return visit.show_running(key, progress=told["progress"])
    record = await settled(visit, "regression")
    known = visit.server.memory.recall(visit.population, visit.person.id, key)
    body = {} if known is None else known["body"]
    return visit.show(
        "regression.html",
        record=record,
        key=key,
        at=None if known is None else known["at"],
        where=body.get("where", ""),
        word=record["ratio"].replace(" ", "_"),
        names=_shown(record),
        percent=f"{100 * record['confidence']:g}",
        picture=forest(record),
        python=f"{opening_lines(address_of(visit), visit.population)}{fitting_call(body)}",
        proofs=proofs_of("", "regression"),
    )


async def save_regression(visit: PageVisit) -> Response:
    """Save a regression as JSON, with all that its rounds have released."""
    text = json.dumps(await settled(visit, "regression"), indent=1, ensure_ascii=False)
    return file_of(text, "application/json", f"regression-{visit.part('key')[:8]}.json")


def forest(record: dict[str, Any]) -> Drawing:
    """Draw every coefficient but the intercept with its interval: ratios where the model has any."""
    names = _shown(record)
    rows = [one for one in record["coefficients"][1:] if None not in (one[name] for name in names)]
    values, lows, highs = ([float(f"{one[name]:.4g}") for one in rows] for name in names)
    panel = Panel(
        record["ratio"] or record["formula"],
        [one["term"] for one in rows],
        values,
        lows,
        highs,
        from_zero=False,
        over_time=False,
        no_effect=1.0 if record["ratio"] else 0.0,
    )
    return draw_panel(panel, record["formula"])


def _shown(record: dict[str, Any]) -> tuple[str, str, str]:
    """Return what a row is told by: a ratio where the model has any, or the coefficient, and its ends."""
    word = record["ratio"].replace(" ", "_")
    return (word, f"{word}_low", f"{word}_high") if word else ("estimate", "low", "high")


def fitting_call(body: dict[str, Any]) -> str:
    """Return the call of `regress` that a body stands for.

    >>> fitting_call({"table": "patient", "formula": "bmi ~ age", "model": "linear", "price": {"rho": "0.1"}})
    'model = session.regress("patient", "bmi ~ age", model="linear", rho="0.1")'
    """
    first = [json.dumps(body[name], ensure_ascii=False) for name in ("table", "formula") if name in body]
    rest = [f"{name}={json.dumps(body[name], ensure_ascii=False)}" for name in ("model", "where") if name in body]
    paid = [f'{name}="{given}"' for name, given in body.get("price", {}).items()]
    return f"model = session.regress({', '.join([*first, *rest, *paid])})"


def _draft(visit: PageVisit) -> ModelDraft:
    values = values_of(visit)
    model = text_of_field(values, "model", "linear")
    delta = "1e-8" if has_delta(visit) else ""
    return ModelDraft(
        formula=text_of_field(values, "formula", "" if values("chosen") else _proposed(visit)),
        model=model if model in MODELS else "linear",
        where=text_of_field(values, "where"),
        people=text_of_field(values, "people"),
        events=text_of_field(values, "events"),
        offer=analysis_offer(visit, values, epsilon="1", rho="0.05", delta=delta),
    )


def _proposed(visit: PageVisit) -> str:
    """Return a formula to begin with: a number by a few columns with few values."""
    dictionary = dictionary_for(visit)
    own = () if dictionary.person is None else dictionary.person.fields
    numbers = [one for one in own if one.kind in {"integer", "real"} and one.low and not one.computed]
    outcome = next((one for one in numbers if one.kind == "real"), numbers[-1] if numbers else None)
    others = [one for one in numbers if one is not outcome][:1]
    others += [one for one in own if one.kind == "boolean" or len(one.values) == 2][: _FEW - len(others)]  # noqa: PLR2004
    return "" if outcome is None else f"{outcome.name} ~ {' + '.join(one.name for one in others)}"


def _beside(visit: PageVisit) -> dict[str, Any]:
    dictionary = dictionary_for(visit)
    own = () if dictionary.person is None else dictionary.person.fields
    usable = [one for one in own if one.kind in {"category", "boolean"} or (one.low and one.kind != "date")]
    return {"models": MODELS, "usable": usable, "is_pure": visit.currency == "epsilon" and not has_delta(visit)}


PAGES: Final[tuple[Page, ...]] = (
    *PaidForm(
        place="model",
        page="model",
        read=_draft,
        preview="preview_regression",
        pay="regress",
        listed="regressions",
        result="regressions",
        beside=_beside,
    ).pages(P),
    Page(path=_ONE, show=show_regression, operation="regression"),
    Page(path=f"{_ONE}/json", show=save_regression, operation="regression"),
)
