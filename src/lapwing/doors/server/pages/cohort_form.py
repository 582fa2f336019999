"""A cohort as the inputs of a form, `p0.c1.age.low` and so on, and what the buttons of the builder do to it."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from lapwing.doors.server.pages.cohort_document import (
    MOST_CRITERIA,
    MOST_PANELS,
    MOST_TIMES,
    MOST_VALUES,
    ORDERS,
    SAME,
    CohortDraft,
    CohortPanel,
    Criterion,
    Limit,
    Near,
)
from lapwing.doors.server.pages.dictionary import Dictionary, Field, Source

Inputs = Mapping[str, list[str]]

_INPUT: Final = re.compile(r"p(\d{1,2})\.(?:include|c(\d{1,2})\.(.+))")


def from_form(fields: Inputs, dictionary: Dictionary) -> CohortDraft:
    """Return the cohort that the inputs of the builder hold."""
    panels: dict[int, dict[int, dict[str, list[str]]]] = {}
    include: dict[int, bool] = {}
    for name, values in fields.items():
        if found := _INPUT.fullmatch(name):
            panel = int(found[1])
            mine = panels.setdefault(panel, {})
            if found[2] is None:
                include[panel] = values[-1] != "out"
            else:
                mine.setdefault(int(found[2]), {})[found[3]] = values
    return CohortDraft(
        panels=tuple(
            CohortPanel(include=include.get(place, True), criteria=_criteria(panels[place], dictionary))
            for place in sorted(panels)[:MOST_PANELS]
        )
    )


def _criteria(inputs: Mapping[int, Inputs], dictionary: Dictionary) -> tuple[Criterion, ...]:
    found = (_criterion(inputs[place], dictionary) for place in sorted(inputs)[:MOST_CRITERIA])
    return tuple(one for one in found if one is not None)


def _criterion(inputs: Inputs, dictionary: Dictionary) -> Criterion | None:
    of = _last(inputs, "of")
    field, source = dictionary.field(of), dictionary.source(of)
    if field is not None:
        return Criterion(of=of, limits=_limits(inputs, (field,)))
    if source is None or source.is_person:
        return None
    times = _last(inputs, "times")
    return Criterion(
        of=of,
        limits=_limits(inputs, source.fields),
        times=min(max(int(times), 1), MOST_TIMES) if times.isdecimal() and len(times) < 6 else 1,  # noqa: PLR2004
        age_low=_last(inputs, "age.low"),
        age_high=_last(inputs, "age.high"),
        near=_near(inputs, source, dictionary),
    )


def _near(inputs: Inputs, source: Source, dictionary: Dictionary) -> Near | None:
    other = dictionary.source(_last(inputs, "near.of"))
    if other is None or other.is_person or other is source:
        return None
    order = _last(inputs, "near.order")
    order = order if order in ORDERS and (order != SAME or dictionary.same(source, other)) else ORDERS[0]
    prefixed = {name.removeprefix("near."): values for name, values in inputs.items() if name.startswith("near.")}
    return Near(
        of=other.name,
        days="" if order == SAME else _last(inputs, "near.days") or "90",
        order=order,
        limits=_limits(prefixed, other.categories[:1]),
    )


def _limits(inputs: Inputs, fields: tuple[Field, ...]) -> tuple[Limit, ...]:
    found = (_limit(inputs, field) for field in fields)
    return tuple(one for one in found if not one.is_empty)


def _limit(inputs: Inputs, field: Field) -> Limit:
    given = [value for value in inputs.get(f"{field.name}.in", []) if value]
    return Limit(
        column=field.name,
        values=tuple(dict.fromkeys(given))[:MOST_VALUES],
        kinds=bool(given) and field.has_kinds and _last(inputs, f"{field.name}.kinds") == "on",
        low=_last(inputs, f"{field.name}.low"),
        high=_last(inputs, f"{field.name}.high"),
        unknown=_last(inputs, f"{field.name}.unknown") == "on",
    )


def _last(inputs: Inputs, name: str) -> str:
    return (inputs.get(name) or [""])[-1].strip()


def act(cohort: CohortDraft, do: str, dictionary: Dictionary) -> CohortDraft:
    """Return the cohort after a button: add-panel, drop:P, drop:P:C, add:P:OF|COLUMN|VALUE, or values of a criterion.

    `value:P:C:COLUMN|VALUE` adds a value, and `values:P:C:COLUMN|TEXT` all values that are found by a text, where they
    are few enough; `near.COLUMN` is a column of the event combined with it.
    """
    verb, _, rest = do.partition(":")
    panels = list(cohort.panels)
    if verb == "add-panel" and len(panels) < MOST_PANELS:
        panels = [*(panels or [CohortPanel()]), CohortPanel()]
    elif verb == "drop":
        panels = _without(panels, rest)
    elif verb == "add":
        place, _, what = rest.partition(":")
        panels = _with(panels, place, what, dictionary)
    elif verb in {"value", "values"}:
        panels = _with_values(panels, rest, dictionary, is_search=verb == "values")
    return CohortDraft(panels=tuple(panels))


def _without(panels: list[CohortPanel], which: str) -> list[CohortPanel]:
    place, _, criterion = which.partition(":")
    if not place.isdecimal() or int(place) >= len(panels):
        return panels
    panel = panels[int(place)]
    left = tuple(one for number, one in enumerate(panel.criteria) if str(number) != criterion)
    if not criterion or (not left and len(panels) > 1):
        return [one for number, one in enumerate(panels) if number != int(place)]
    return [replace(one, criteria=left) if one is panel else one for one in panels]


def _with(panels: list[CohortPanel], place: str, what: str, dictionary: Dictionary) -> list[CohortPanel]:
    of, column, value = [*what.split("|", 2), "", ""][:3]
    fresh = _fresh(of, column, value, dictionary)
    if fresh is None or not place.isdecimal() or int(place) >= MOST_PANELS:
        return panels
    number = int(place)
    panels = panels + [CohortPanel() for _ in range(number + 1 - len(panels))]
    if len(panels[number].criteria) < MOST_CRITERIA:
        panels[number] = replace(panels[number], criteria=(*panels[number].criteria, fresh))
    return panels


def _fresh(of: str, column: str, value: str, dictionary: Dictionary) -> Criterion | None:
    """Return a criterion as it is when it was added: with the value that was found, and a truth value as true."""
    field, source = dictionary.field(of), dictionary.source(of)
    if field is None and (source is None or source.is_person):
        return None
    if field is not None and field.kind == "boolean" and not value:
        value = "true"
    limits = (Limit(column=column, values=(value,)),) if value and column else ()
    return Criterion(of=of, limits=limits)


def _with_values(panels: list[CohortPanel], rest: str, dictionary: Dictionary, *, is_search: bool) -> list[CohortPanel]:
    place, _, what = rest.partition(":")
    number, _, what = what.partition(":")
    path, _, text = what.partition("|")
    if not (place.isdecimal() and number.isdecimal()) or int(place) >= len(panels):
        return panels
    panel, at = panels[int(place)], int(number)
    if at >= len(panel.criteria):
        return panels
    criteria = list(panel.criteria)
    criteria[at] = _richer(criteria[at], path, text, dictionary, is_search=is_search)
    return [replace(one, criteria=tuple(criteria)) if one is panel else one for one in panels]


def _richer(criterion: Criterion, path: str, text: str, dictionary: Dictionary, *, is_search: bool) -> Criterion:
    """Return a criterion with more values of a column; what is not declared, or too much, changes nothing."""
    near, column = path.startswith("near."), path.removeprefix("near.")
    holder: Criterion | Near | None = criterion.near if near else criterion
    if holder is None:
        return criterion
    field = dictionary.field(holder.of) or dictionary.field(f"{holder.of}.{column}")
    if field is None or field.name != column:
        return criterion
    found = [value for value, _ in field.search(text, MOST_VALUES + 1)] if is_search else [text] * (text in field.names)
    limit = holder.limit(column)
    values = tuple(dict.fromkeys([*limit.values, *found]))
    if len(values) > MOST_VALUES:
        return criterion
    fresh = replace(limit, values=values)
    limits = (*(one for one in holder.limits if one.column != column), fresh)
    return (
        replace(criterion, near=replace(criterion.near, limits=limits))
        if near and criterion.near
        else replace(criterion, limits=limits)
    )
