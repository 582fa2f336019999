"""The page that publishes tables: columns, which of them together, and the error of every table before it is paid."""

from typing import Any, Final

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


@frozen()
class PublishDraft:
    """All that the form says: columns, which of them together, the offer, and how the numbers are to look."""

    columns: ChosenColumns
    offer: PublishOffer
    marginals: str
    non_negative: bool
    whole: bool

    def words(self) -> dict[str, Any]:
        """Return the words of an address that show this draft."""
        shaped = {name: "on" for name in ("non_negative", "whole") if getattr(self, name)}
        return {**self.columns.words(), **self.offer.words(), "sets": self.marginals, **shaped}

    def body(self, visit: PageVisit) -> dict[str, Any]:
        """Return the body of the request to the API."""
        return {
            **self.columns.body(dictionary_for(visit)),
            "price": self.offer.body(),
            "marginals": self.marginals,
            "non_negative": self.non_negative,
            "whole": self.whole,
        }


def _draft(visit: PageVisit) -> PublishDraft:
    values = values_of(visit)
    sets = last_of(values, "sets", "all pairs")
    return PublishDraft(
        columns=chosen_columns(values, dictionary_for(visit)),
        offer=offer_of(values),
        marginals=sets if sets in SETS else "all pairs",
        non_negative=last_of(values, "non_negative") == "on",
        whole=last_of(values, "whole") == "on",
    )


def _beside(visit: PageVisit) -> dict[str, Any]:
    return {"sets": SETS, "titles": {one.name: one.title for one in dictionary_for(visit).groupings}}


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
