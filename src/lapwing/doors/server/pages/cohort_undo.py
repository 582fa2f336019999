"""Steps back in the builder: a form carries the cohorts that were there before, so that no script is needed for it."""

from dataclasses import replace
from itertools import pairwise
from typing import Final

from lapwing.doors.server.pages.cohort_document import CohortDraft, UnclearError, from_link, to_link
from lapwing.doors.server.pages.page_visit import PageVisit
from lapwing.vocabulary.frozen import frozen

UNDO: Final = "undo"
_MOST: Final = 12


@frozen()
class UndoHistory:
    """The undo stack: links of the cohorts before, the newest last, and of the one that the form was drawn from."""

    before: tuple[str, ...] = ()
    drawn: str = ""


def past_of(visit: PageVisit) -> UndoHistory:
    """Return the undo history that a form carries."""
    return UndoHistory(before=tuple(visit.fields.get("before", [])[-_MOST:]), drawn=visit.field("drawn"))


def go_on(past: UndoHistory, now: CohortDraft, after: CohortDraft) -> UndoHistory:
    """Return the past of `after`, which a button made of `now`; what was typed since the form was drawn is a step too.

    >>> from lapwing.doors.server.pages.cohort_document import CohortPanel
    >>> nothing, one = CohortDraft(), CohortDraft(panels=(CohortPanel(),))
    >>> [from_link(link) == nothing for link in go_on(UndoHistory(drawn=to_link(nothing)), nothing, one).before]
    [True]
    """
    links = (past.drawn or to_link(now), to_link(now), to_link(after))
    steps = [first for first, second in pairwise(links) if first != second]
    return UndoHistory(before=(*past.before, *steps)[-_MOST:], drawn=links[-1])


def go_back(past: UndoHistory, now: CohortDraft) -> tuple[CohortDraft, UndoHistory]:
    """Return the cohort before, and its past: first what was typed goes, then what a button did."""
    if past.drawn and past.drawn != to_link(now):
        past = replace(past, before=(*past.before, past.drawn))
    if not past.before:
        return now, replace(past, drawn=to_link(now))
    *rest, last = past.before
    try:
        return from_link(last), UndoHistory(before=tuple(rest), drawn=last)
    except UnclearError:
        return now, UndoHistory(drawn=to_link(now))
