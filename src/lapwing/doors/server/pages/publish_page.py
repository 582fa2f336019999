"""The page that publishes tables: columns, which of them together, and the error of every table before it is paid."""

import re
from typing import Any, Final

from lapwing.doors.server.pages.cohort_document import UnclearError
from lapwing.doors.server.pages.drafts import dictionary_for
from lapwing.doors.server.pages.page_visit import Page, PageVisit
from lapwing.doors.server.pages.paid_form import PaidForm
from lapwing.doors.server.pages.published_columns import (
    ChosenColumns,
    PublishOffer,
    chosen_columns,
    last_of,
    offer_of,
    values_of,
)
from lapwing.vocabulary.frozen import frozen

P: Final = "/populations/{population}/publish"
SETS: Final = ("all columns", "all pairs", "all triples")
_STRATA: Final = re.compile(r"\s*[1-9]\d{0,8}(\s*[,;]\s*[1-9]\d{0,8}){0,99}\s*")


@frozen()
class PublishDraft:
    """All that the form says: columns, which of them together, the offer, and how the numbers are to look.

    `rows` are the most rows of a person in each stratum, as typed, where rows and not people are published.
    """

    columns: ChosenColumns
    offer: PublishOffer
    marginals: str
    rows: str
    non_negative: bool
    whole: bool

    def words(self) -> dict[str, Any]:
        """Return the words of an address that show this draft."""
        shaped = {name: "on" for name in ("non_negative", "whole") if getattr(self, name)}
        strata = {"rows": self.rows} if self.columns.table else {}
        return {**self.columns.words(), **self.offer.words(), "sets": self.marginals, **strata, **shaped}

    def body(self, visit: PageVisit) -> dict[str, Any]:
        """Return the body of the request to the API."""
        return {
            **self.columns.body(dictionary_for(visit)),
            "price": self.offer.body(),
            "marginals": self.marginals,
            **({"rows": self._strata()} if self.columns.table else {}),
            "non_negative": self.non_negative,
            "whole": self.whole,
        }

    def _strata(self) -> list[int]:
        if not _STRATA.fullmatch(self.rows):
            raise UnclearError("publish.unclear.strata", given=self.rows[:40])
        return [int(one) for one in re.split("[,;]", self.rows)]


def _draft(visit: PageVisit) -> PublishDraft:
    values, dictionary = values_of(visit), dictionary_for(visit)
    table = last_of(values, "table")
    table = table if table in {one.name for one in dictionary.events} else ""
    sets = last_of(values, "sets", "all pairs")
    return PublishDraft(
        columns=chosen_columns(values, dictionary, table),
        offer=offer_of(values),
        rows=last_of(values, "rows", "1, 2, 5, 10")[:200],
        marginals=sets if sets in SETS else "all pairs",
        non_negative=last_of(values, "non_negative") == "on",
        whole=last_of(values, "whole") == "on",
    )


def _beside(visit: PageVisit) -> dict[str, Any]:
    dictionary, table = dictionary_for(visit), _draft(visit).columns.table
    groupings = dictionary.groupings_of(table) if table else dictionary.groupings
    titles = {one.name: one.title for one in groupings}
    return {"sets": SETS, "titles": titles, "groupings": groupings, "events": dictionary.events}


PAGES: Final[tuple[Page, ...]] = PaidForm(
    place="publish",
    page="publish",
    read=_draft,
    preview="preview_publication",
    pay="publish",
    listed="publications",
    result="publications",
    beside=_beside,
).pages(P)
