"""What the forms of *Compare*, *Model* and *Over time* share: the price that is offered, and how fields are read."""

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from lapwing.doors.server.pages.cohort_document import UnclearError
from lapwing.doors.server.pages.page_visit import PageVisit
from lapwing.doors.server.pages.published_columns import PublishOffer, Values, last_of, offer_of

_NUMBER: Final = re.compile(r"-?\d{1,12}(\.\d{1,9})?")
_LONGEST: Final = 4000


def analysis_offer(visit: PageVisit, values: Values, *, epsilon: str, rho: str, delta: str = "") -> PublishOffer:
    """Return the price that is offered, with defaults in the currency of the account: an analysis has no one margin."""
    offer = offer_of(values)
    pay = offer.pay if offer.pay != "within" else ("rho" if visit.currency == "rho" else "epsilon")
    if not values("epsilon") and not values("rho"):
        return replace(offer, pay=pay, epsilon=epsilon, rho=rho, delta=delta)
    return replace(offer, pay=pay)


def text_of_field(values: Values, name: str, default: str = "") -> str:
    """Return what was typed, or chosen."""
    return last_of(values, name, default)[:_LONGEST]


def said(**words: Any) -> dict[str, Any]:
    """Return the words that say something."""
    return {name: given for name, given in words.items() if given is not None and given != ""}


def number_of(given: str, of: str) -> str:
    """Return a number that was typed, as text."""
    plain = given.replace(",", "").strip()
    if not _NUMBER.fullmatch(plain):
        raise UnclearError("analyses.unclear.number", given=given[:40], of=of)
    return plain


def share_of(given: str, of: str) -> str:
    """Return a share that was typed in per cent, as a share.

    >>> share_of("12.5", "events")
    '0.125'
    """
    return str(float(Fraction(number_of(given.replace("%", ""), of)) / 100))
