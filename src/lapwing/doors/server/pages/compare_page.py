"""The page that compares two groups: outcome, groups, and how likely a difference would be seen, before it is paid."""

import json
from typing import Any, Final

from starlette.responses import Response

from lapwing.doors.server.pages.analysis_form import analysis_offer, number_of, said, share_of, text_of_field
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
from lapwing.show.panels import Panel, draw_panel
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import named

P: Final = "/populations/{population}/compare"
_ONE: Final = "/populations/{population}/comparisons/{key}"
METHODS: Final = ("", "proportions", "t", "rank", "chi-square")
GUESSES: Final = ("people", "shares", "means", "deviations")


@frozen()
class CompareDraft:
    """All that the form says, as it was typed; `guesses` are two texts for each of `GUESSES`."""

    outcome: str
    condition: str
    by: str
    groups: str
    where: str
    method: str
    guesses: dict[str, tuple[str, str]]
    offer: PublishOffer

    def words(self) -> dict[str, Any]:
        """Return the words of an address that show this draft."""
        own = said(
            outcome=self.outcome,
            condition=self.condition,
            by=self.by,
            groups=self.groups,
            where=self.where,
            method=self.method,
        )
        guessed = {f"{name}.{n}": one for name, two in self.guesses.items() for n, one in enumerate(two) if one}
        return {**own, **guessed, **self.offer.words()}

    def body(self, visit: PageVisit) -> dict[str, Any]:
        """Return the body of the request to the API; what is guessed is no part of what is paid for."""
        dictionary = dictionary_for(visit)
        if dictionary.person is None:
            raise UnclearError("cohort.unclear.no_person")
        by = dictionary.person.field(self.by)
        outcome = self.condition or self._column(dictionary)
        chosen = [one.strip() for one in self.groups.split(",") if one.strip()]
        groups: list[Any] = [_value(one, by) for one in chosen]
        beside = said(where=self.where, method=self.method, groups=groups or None)
        return {
            "table": dictionary.person.name,
            "outcome": outcome,
            "by": self.by if by is None else by.written,
            **beside,
            "price": self.offer.body(),
        }

    def foreseen(self, visit: PageVisit) -> dict[str, Any]:
        """Return the body of its preview: with what is guessed about both groups, where anything is."""
        assumed = {name: self._two(name) for name, two in self.guesses.items() if any(two)}
        return {**self.body(visit), **({"assume": assumed} if assumed else {})}

    def _column(self, dictionary: Dictionary) -> str:
        field = None if dictionary.person is None else dictionary.person.field(self.outcome)
        if field is None:
            raise UnclearError("compare.unclear.outcome")
        return field.written

    def _two(self, name: str) -> list[str]:
        two = self.guesses[name]
        if not all(two):
            raise UnclearError("compare.unclear.half", of=name)
        return [share_of(one, name) if name == "shares" else number_of(one, name) for one in two]


def _value(given: str, by: Field | None) -> Any:
    """Return a group as the declared value that it is: a number, true or false, or a text."""
    if by is not None and by.kind == "boolean":
        return {"true": True, "false": False}.get(given.casefold(), given)
    return int(given) if by is not None and by.numbers and given.lstrip("-").isdecimal() else given


async def show_comparison(visit: PageVisit) -> Response:
    """Show a comparison: groups with their intervals, the difference, and a p-value; it never charges."""
    key = visit.part("key")
    if is_running(visit, key):
        return visit.show_running(key)
    record = await settled(visit, "comparison")
    known = visit.server.memory.recall(visit.population, visit.person.id, key)
    body = {} if known is None else known["body"]
    return visit.show(
        "comparison.html",
        record=record,
        key=key,
        at=None if known is None else known["at"],
        where=body.get("where", ""),
        picture=_picture(record),
        python=f"{opening_lines(address_of(visit), visit.population)}{comparing_call(body)}",
        proofs=proofs_of(record["question"]),
    )


async def save_comparison(visit: PageVisit) -> Response:
    """Save a comparison as JSON, with all numbers that were released."""
    text = json.dumps(await settled(visit, "comparison"), indent=1, ensure_ascii=False)
    return file_of(text, "application/json", f"comparison-{visit.part('key')[:8]}.json")


def _picture(record: dict[str, Any]) -> Any:
    groups = record["groups"]
    if not groups:
        return None
    percent = 100 if record["method"] == "proportions" else 1
    values, lows, highs = ([round(percent * one[word], 3) for one in groups] for word in ("value", "low", "high"))
    labels = [named(one["group"]) for one in groups]
    return draw_panel(
        Panel(record["outcome"], labels, values, lows, highs, from_zero=False, over_time=False), record["outcome"]
    )


def comparing_call(body: dict[str, Any]) -> str:
    """Return the call of `compare` that a body stands for.

    >>> comparing_call({"table": "patient", "outcome": "diabetes", "by": "sex", "price": {"epsilon": "0.5"}})
    'found = session.compare("patient", "diabetes", by="sex", epsilon="0.5")'
    """
    first = [json.dumps(body[name], ensure_ascii=False) for name in ("table", "outcome") if name in body]
    rest = [
        f"{name}={json.dumps(body[name], ensure_ascii=False)}" for name in ("by", "where", "method") if name in body
    ]
    rest += [f"groups={body['groups']!r}"] if "groups" in body else []
    paid = [f'{name}="{given}"' for name, given in body.get("price", {}).items()]
    return f"found = session.compare({', '.join([*first, *rest, *paid])})"


def _draft(visit: PageVisit) -> CompareDraft:
    values, dictionary = values_of(visit), dictionary_for(visit)
    two_valued = next((one.name for one in dictionary.groupings if len(one.values) == 2), "")  # noqa: PLR2004
    yes_no = [one.name for one in dictionary.groupings if one.kind == "boolean" and one.name != two_valued]
    method = text_of_field(values, "method")
    return CompareDraft(
        outcome=text_of_field(values, "outcome", yes_no[0] if yes_no else ""),
        condition=text_of_field(values, "condition"),
        by=text_of_field(values, "by", two_valued),
        groups=text_of_field(values, "groups"),
        where=text_of_field(values, "where"),
        method=method if method in METHODS else "",
        guesses={name: (text_of_field(values, f"{name}.0"), text_of_field(values, f"{name}.1")) for name in GUESSES},
        offer=analysis_offer(visit, values, epsilon="0.5", rho="0.02"),
    )


def _beside(visit: PageVisit) -> dict[str, Any]:
    dictionary = dictionary_for(visit)
    own = () if dictionary.person is None else dictionary.person.fields
    outcomes = [one for one in own if one.kind in {"category", "boolean"} or (one.low and one.kind != "date")]
    return {"outcomes": outcomes, "methods": METHODS, "guesses": GUESSES}


PAGES: Final[tuple[Page, ...]] = (
    *PaidForm(
        place="compare",
        page="compare",
        read=_draft,
        preview="preview_comparison",
        pay="compare",
        listed="comparisons",
        result="comparisons",
        beside=_beside,
        look=CompareDraft.foreseen,
    ).pages(P),
    Page(path=_ONE, show=show_comparison, operation="comparison"),
    Page(path=f"{_ONE}/json", show=save_comparison, operation="comparison"),
)
