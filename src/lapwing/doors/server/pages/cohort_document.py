"""A cohort: panels that must all hold, each met by any of its criteria. One document for pages, links and programs.

The document becomes one text of the asking language (`cohort_text`), and that text is what is priced, asked and shown:
there is no second way from a page to a question. An unknown name refuses the whole document; nothing is left out.
"""

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from lapwing.vocabulary.frozen import frozen

T = TypeVar("T")

MOST_PANELS: Final = 12
MOST_CRITERIA: Final = 12
MOST_VALUES: Final = 200
MOST_TIMES: Final = 99
SAME: Final = "same"
ORDERS: Final = ("around", "after", "before", SAME)
_LONGEST_LINK: Final = 12_000


class UnclearError(ValueError):
    """A part of a cohort has no meaning: the name of the message about it, and its values."""

    def __init__(self, message: str, **values: Any) -> None:
        self.message, self.values = message, values
        super().__init__(message)


@frozen()
class Limit:
    """A condition on a column: one of some values (with `kinds` or a kind of one), from a low to a high, or unknown."""

    column: str
    values: tuple[str, ...] = ()
    kinds: bool = False
    low: str = ""
    high: str = ""
    unknown: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether it is no condition."""
        return not (self.values or self.low or self.high or self.unknown)


@frozen()
class Near:
    """Another event within some days, around, before or after the first one; or in the same visit (`SAME`)."""

    of: str
    days: str = ""
    order: str = "around"
    limits: tuple[Limit, ...] = ()

    def limit(self, column: str) -> Limit:
        """Return the condition on a column."""
        return next((one for one in self.limits if one.column == column), Limit(column=column))


@frozen()
class Criterion:
    """Something about the person (`of` is a column), or something that happened (`of` is a table)."""

    of: str
    limits: tuple[Limit, ...] = ()
    times: int = 1
    age_low: str = ""
    age_high: str = ""
    near: Near | None = None

    @property
    def is_event(self) -> bool:
        """Whether it is about something that happened."""
        return "." not in self.of

    def limit(self, column: str) -> Limit:
        """Return the condition on a column."""
        return next((one for one in self.limits if one.column == column), Limit(column=column))


@frozen()
class CohortPanel:
    """Criteria of which any is enough; `include` is whether people who meet one are in or out."""

    include: bool = True
    criteria: tuple[Criterion, ...] = ()


@frozen()
class CohortDraft:
    """Panels that must all hold."""

    panels: tuple[CohortPanel, ...] = ()

    @property
    def spoken(self) -> tuple[CohortPanel, ...]:
        """The panels that are not empty."""
        return tuple(panel for panel in self.panels if panel.criteria)


def to_document(cohort: CohortDraft) -> dict[str, Any]:
    """Return the document of a cohort.

    >>> asthma = Criterion(of="condition", limits=(Limit(column="concept", values=("asthma",)),), times=2)
    >>> to_document(CohortDraft(panels=(CohortPanel(criteria=(asthma,)),)))["panels"][0]["any"]
    [{'of': 'condition', 'where': [{'column': 'concept', 'in': ['asthma']}], 'times': 2}]
    """
    return {
        "panels": [
            {"include": panel.include, "any": [_criterion_document(one) for one in panel.criteria]}
            for panel in cohort.panels
        ]
    }


def _criterion_document(criterion: Criterion) -> dict[str, Any]:
    told: dict[str, Any] = {"of": criterion.of, **_limits_document(criterion.limits)}
    if criterion.times != 1:
        told["times"] = criterion.times
    told |= {"age_from": criterion.age_low} if criterion.age_low else {}
    told |= {"age_to": criterion.age_high} if criterion.age_high else {}
    if (near := criterion.near) is not None:
        told["near"] = {"of": near.of, "within": near.days, "order": near.order, **_limits_document(near.limits)}
    return told


def _limits_document(limits: tuple[Limit, ...]) -> dict[str, Any]:
    told = [_limit_document(one) for one in limits if not one.is_empty]
    return {"where": told} if told else {}


def _limit_document(limit: Limit) -> dict[str, Any]:
    told: dict[str, Any] = {"column": limit.column}
    told |= {"in": list(limit.values)} if limit.values else {}
    told |= {"kinds": True} if limit.kinds else {}
    told |= {"from": limit.low} if limit.low else {}
    told |= {"to": limit.high} if limit.high else {}
    return told | ({"unknown": True} if limit.unknown else {})


def from_document(document: Any) -> CohortDraft:
    """Return the cohort of a document."""
    told = _take(document, {"panels": list}, {})
    return CohortDraft(panels=_each(told["panels"], _panel, MOST_PANELS))


def _panel(given: Any) -> CohortPanel:
    told = _take(given, {"any": list}, {"include": bool})
    return CohortPanel(include=told.get("include", True), criteria=_each(told["any"], _criterion, MOST_CRITERIA))


def _criterion(given: Any) -> Criterion:
    options = {"where": list, "times": int, "age_from": str, "age_to": str, "near": dict}
    told = _take(given, {"of": str}, options)
    times = told.get("times", 1)
    if not 1 <= times <= MOST_TIMES:
        raise UnclearError("cohort.unclear.document")
    return Criterion(
        of=told["of"],
        limits=_each(told.get("where", []), _limit, MOST_VALUES),
        times=times,
        age_low=told.get("age_from", ""),
        age_high=told.get("age_to", ""),
        near=_near(told["near"]) if "near" in told else None,
    )


def _near(given: Any) -> Near:
    told = _take(given, {"of": str, "within": str, "order": str}, {"where": list})
    if told["order"] not in ORDERS:
        raise UnclearError("cohort.unclear.document")
    limits = _each(told.get("where", []), _limit, MOST_VALUES)
    return Near(of=told["of"], days=told["within"], order=told["order"], limits=limits)


def _limit(given: Any) -> Limit:
    told = _take(given, {"column": str}, {"in": list, "kinds": bool, "from": str, "to": str, "unknown": bool})
    values = _each(told.get("in", []), _text, MOST_VALUES)
    return Limit(
        column=told["column"],
        values=values,
        kinds=told.get("kinds", False),
        low=told.get("from", ""),
        high=told.get("to", ""),
        unknown=told.get("unknown", False),
    )


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise UnclearError("cohort.unclear.document")
    return given


def _each(given: list[Any], read: Callable[[Any], T], most: int) -> tuple[T, ...]:
    if len(given) > most:
        raise UnclearError("cohort.unclear.too_many", n=most)
    return tuple(map(read, given))


def _take(given: Any, required: Mapping[str, type], optional: Mapping[str, type]) -> dict[str, Any]:
    kinds = {**required, **optional}
    if not isinstance(given, dict) or not set(required) <= set(given) <= set(kinds):
        raise UnclearError("cohort.unclear.document")
    if any(type(value) is not kinds[name] for name, value in given.items()):
        raise UnclearError("cohort.unclear.document")
    return given


def to_link(cohort: CohortDraft) -> str:
    """Return a cohort as it stands in an address, so that reload, back, bookmarks and mails keep it."""
    text = json.dumps(to_document(cohort), separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def from_link(text: str) -> CohortDraft:
    """Return the cohort of an address.

    >>> from_link(to_link(CohortDraft(panels=(CohortPanel(include=False),)))).panels[0].include
    False
    """
    if len(text) > _LONGEST_LINK:
        raise UnclearError("cohort.unclear.document")
    try:
        return from_document(json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))))
    except UnclearError:
        raise
    except (ValueError, RecursionError):
        raise UnclearError("cohort.unclear.document") from None
