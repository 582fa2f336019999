"""A custodian opens an account for new people: their first table, who is protected, and the budget, all at once.

What `lapwing init` asks at a terminal is asked here: over names, types and what is declared, and never over data.
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from starlette.responses import RedirectResponse, Response

from lapwing.accounting.interpretation import budget_concerns
from lapwing.answers.budget import read_budget
from lapwing.doors.server.pages.frame import budget_text
from lapwing.doors.server.pages.page_visit import Page, PageRefusedError, PageVisit
from lapwing.doors.server.pages.policy import meaning_for_one
from lapwing.doors.server.pages.registering import PLACE, TableForm, place_of
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.guarantee import Adjacency

P: Final = "/custody/new"
CURRENCIES: Final = ("epsilon", "delta", "rho")
"""The kinds of budget: by epsilon alone, with a delta, or by rho."""
_LONGEST: Final = 10
_TERMS: Final = {"people": "", "currency": "epsilon", "amount": "1", "delta": "1e-6", "adjacency": "", "groups_of": "1"}


async def show_new(visit: PageVisit) -> Response:
    """Ask what the people are called and where their first table is; then show its columns, to be declared."""
    given = {name: visit.asked(name)[:200] for name in PLACE}
    people = visit.asked("people")[:200]
    if not (people and given["name"] and given["source"]):
        return await _begin(visit, given, people)
    try:
        stored = await _stored(visit, given)
    except PageRefusedError as refused:
        return await _begin(visit, given, people, problem=refused.sentence, status=refused.status)
    terms = {**_TERMS, "people": people, "members": "on"}
    return _declare(visit, TableForm.new(given, stored, _likely_key(stored)), terms)


async def draft(visit: PageVisit) -> Response:
    """Draw what a budget means, while it is typed."""
    return visit.show("policy_means.html", **_means(visit, _terms(visit)))


async def create(visit: PageVisit) -> Response:
    """Open the account; a refusal is shown above the form, which keeps its input."""
    given, terms = {name: visit.field(name)[:200] for name in PLACE}, _terms(visit)
    form = TableForm.sent(visit, given, await _stored(visit, given))
    if visit.field("do") == "look":
        return _declare(visit, form, terms)
    groups = terms["groups_of"]
    if not (groups.isdecimal() and groups.isascii() and len(groups) < _LONGEST):
        said: Any = visit.say("founding.groups_whole", given=groups[:40])
        return _declare(visit, form, terms, problem=said, status=422)
    if said := form.missing(visit):
        return _declare(visit, form, terms, problem=said, status=422)
    try:
        await visit.do("create_population", _body(form, terms))
    except PageRefusedError as refused:
        return _declare(visit, form, terms, problem=refused.sentence, status=refused.status)
    goal = f"/populations/{quote(terms['people'])}/custody/tables"
    return RedirectResponse(f"{goal}?{urlencode({'added': given['name']})}", 303)


async def _begin(
    visit: PageVisit, given: Mapping[str, str], people: str, *, problem: str = "", status: int = 200
) -> Response:
    sources = await visit.do("all_sources")
    return visit.show("new_population.html", status, given=given, people=people, sources=sources, problem=problem)


def _declare(
    visit: PageVisit, form: TableForm, terms: Mapping[str, str], *, problem: object = "", status: int = 200
) -> Response:
    return visit.show(
        "new_account.html",
        status,
        form=form,
        terms=terms,
        currencies=CURRENCIES,
        adjacencies=[one.value for one in Adjacency],
        problem=problem,
        **_means(visit, terms),
    )


async def _stored(visit: PageVisit, given: Mapping[str, str]) -> dict[str, str | None]:
    found: dict[str, str | None] = (await visit.do("new_source_columns", place_of(given)))["columns"]
    return found


def _likely_key(stored: Mapping[str, str | None]) -> str:
    """Return the column that is chosen by default: the first whose name ends like that of a key.

    >>> _likely_key({"day": "date", "person_id": "integer"}), _likely_key({"a": "text", "b": "text"})
    ('person_id', 'a')
    """
    return next((name for name in stored if name.lower().endswith("id")), next(iter(stored), ""))


def _terms(visit: PageVisit) -> dict[str, str]:
    found = {name: visit.field(name, usual)[:200] for name, usual in _TERMS.items()}
    return {**found, "members": visit.field("members")}


def _budget(terms: Mapping[str, str]) -> dict[str, str]:
    match terms["currency"]:
        case "rho":
            return {"rho": terms["amount"]}
        case "delta":
            return {"epsilon": terms["amount"], "delta": terms["delta"]}
        case _:
            return {"epsilon": terms["amount"]}


def _body(form: TableForm, terms: Mapping[str, str]) -> dict[str, Any]:
    key = form.whose["person_key"]
    return {
        "name": terms["people"],
        "table": form.body(usual=key),
        "person_key": key,
        "budget": _budget(terms),
        "adjacency": terms["adjacency"] or Adjacency.ADD_REMOVE.value,
        "groups_of": int(terms["groups_of"]),
        "unnamed_analysts": terms["members"] != "on",
    }


def _means(visit: PageVisit, terms: Mapping[str, str]) -> dict[str, Any]:
    """Return the meaning of a budget for one person, and concerns about it; only the refusal of what is no budget."""
    try:
        budget = read_budget(**_budget(terms))
    except ParameterError as refused:
        return {"shown": terms["amount"][:20], "concerns": (str(refused),)}
    told: dict[str, Any] = {"shown": budget_text(_budget(terms)), "concerns": budget_concerns(budget)}
    return told | meaning_for_one(visit, budget)


PAGES: Final = (
    Page(path=P, show=show_new, operation="all_sources"),
    Page(path=P, show=create, method="POST", operation="create_population"),
    Page(path=f"{P}/draft", show=draft, method="POST", operation="create_population"),
)
