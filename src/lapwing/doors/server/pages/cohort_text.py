"""The condition that a cohort asks: an expression of declared names alone, and its text, which is priced and shown.

The text is written by the one speller of the language, so that what stands in quotes or in brackets is decided there.
"""

import re
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from typing import Final

from lapwing.doors.server.pages.cohort_document import (
    SAME,
    CohortDraft,
    CohortPanel,
    Criterion,
    Limit,
    Near,
    UnclearError,
)
from lapwing.doors.server.pages.dictionary import ANCESTORS, Dictionary, Field, Source
from lapwing.queries.language.builders import age, has
from lapwing.queries.language.expressions import And, Condition, Literal, Name, Or, Spelled, Value, condition
from lapwing.queries.language.speller import written

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_NUMBER: Final = re.compile(r"-?\d{1,15}(\.\d{1,10})?")
_DAYS: Final = re.compile(r"\d{1,5}")


def text_of(cohort: CohortDraft, dictionary: Dictionary) -> str:
    """Return the condition that is asked; nothing where there is no criterion."""
    return written(condition_of(cohort, dictionary)) if cohort.spoken else ""


def steps_of(cohort: CohortDraft, dictionary: Dictionary) -> list[str]:
    """Return the condition of each panel, in their order: the steps of a funnel."""
    return [written(_panel(panel, dictionary)) for panel in cohort.spoken]


def condition_of(cohort: CohortDraft, dictionary: Dictionary) -> Condition:
    """Return the condition of a cohort: the conjunction of its panels."""
    return _all([_panel(panel, dictionary) for panel in cohort.spoken])


def _all(parts: Sequence[Condition]) -> Condition:
    flat = [part for one in parts for part in (one.parts if isinstance(one, And) else (one,))]
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def _any(parts: Sequence[Condition]) -> Condition:
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _panel(panel: CohortPanel, dictionary: Dictionary) -> Condition:
    met = _any([_criterion(one, dictionary) for one in panel.criteria])
    # Who is not known to match is not left out: a comparison with a missing value is neither true nor false.
    return met if panel.include else _any([~met, *_unknown(panel, dictionary)])


def _unknown(panel: CohortPanel, dictionary: Dictionary) -> list[Condition]:
    """Return that a value is missing, for each column of a criterion which that would leave neither true nor false."""
    found = [(one, dictionary.field(one.of)) for one in panel.criteria if not one.is_event]
    nullable = {
        field.name: field
        for one, field in found
        if field is not None and field.nullable and not one.limit(field.name).unknown
    }
    return [field.value.is_null() for field in nullable.values()]


def _criterion(criterion: Criterion, dictionary: Dictionary) -> Condition:
    if not criterion.is_event:
        field = _known(dictionary.field(criterion.of), criterion.of)
        _require_columns(criterion.limits, (field,))
        return _limited(field, criterion.limit(field.name), field.value)
    source = _event(dictionary, criterion.of)
    _require_columns(criterion.limits, source.fields)
    given = [(field, criterion.limit(field.name)) for field in source.fields]
    parts = [_limited(field, one, field.value) for field, one in given if not one.is_empty]
    if criterion.age_low or criterion.age_high:
        parts.append(_at_age(criterion, source, dictionary))
    if criterion.near is not None:
        parts.append(_near(criterion.near, source, dictionary))
    return has(source.name, _all(parts), at_least=criterion.times)


def _at_age(criterion: Criterion, source: Source, dictionary: Dictionary) -> Condition:
    happened, born, person = source.happened, dictionary.born, dictionary.person
    if happened is None or born is None or person is None:
        raise UnclearError("cohort.unclear.no_age", table=source.title)
    years = age(Name(born.name, person.name), happened.value)
    return _between(years, *_numbers("", criterion.age_low, criterion.age_high))


def _near(near: Near, source: Source, dictionary: Dictionary) -> Condition:
    other = _event(dictionary, near.of)
    same = dictionary.same(source, other) if near.order == SAME else None
    if other is source or (near.order == SAME and same is None):
        raise UnclearError("cohort.unclear.no_same", table=source.title, other=other.title)
    _require_columns(near.limits, other.fields)
    given = [(field, near.limit(field.name)) for field in other.fields]
    parts = [_limited(field, one, Name(field.name, other.name)) for field, one in given if not one.is_empty]
    if same is not None:
        parts.append(Name(same[0], other.name) == Name(same[0], source.name))
    else:
        parts += _window(near, source, other)
    return has(other.name, _all(parts))


def _window(near: Near, source: Source, other: Source) -> list[Condition]:
    if source.happened is None or other.happened is None:
        raise UnclearError("cohort.unclear.no_day", table=(source if source.happened is None else other).title)
    if not _DAYS.fullmatch(near.days):
        raise UnclearError("cohort.unclear.days", given=near.days)
    mine, theirs = Name(source.happened.name, source.name), Name(other.happened.name, other.name)
    first = mine if near.order == "before" else mine - int(near.days)
    last = mine if near.order == "after" else mine + int(near.days)
    return [theirs >= first, theirs <= last]


def _limited(field: Field, limit: Limit, value: Value) -> Condition:
    parts: list[Condition] = []
    match field.kind:
        case "category" | "text" if limit.values:
            parts += [_one_of(value, field, limit), *_kinds(field, limit, value)]
        case "boolean" if limit.values:
            wanted = {"true": condition(value), "false": ~value}
            if not set(limit.values) <= set(wanted):
                raise UnclearError("cohort.unclear.document")
            parts += [wanted[one] for one in limit.values]
        case "date" if limit.low or limit.high:
            parts.append(_between(value, *_days(field, limit)))
        case "integer" | "real" if limit.low or limit.high:
            parts.append(_between(value, *_numbers(field.title, limit.low, limit.high)))
    if limit.unknown:
        parts.append(value.is_null())
    if not parts:
        raise UnclearError("cohort.unclear.say", column=field.title)
    return _any(parts)


def _one_of(value: Value, field: Field, limit: Limit) -> Condition:
    constants = tuple(constant_of(field, one) for one in limit.values)
    return value == constants[0] if len(constants) == 1 else value.is_in(constants)


def _kinds(field: Field, limit: Limit, value: Value) -> list[Condition]:
    """Return the condition for what is a kind of a value, by the public table that says so."""
    if not limit.kinds:
        return []
    if not field.has_kinds:
        raise UnclearError("cohort.unclear.no_kinds", column=field.title)
    above = written(_one_of(Name("ancestor_concept_id"), field, limit))
    kinds = f"{written(value)} in (select descendant_concept_id from {ANCESTORS} where {above})"  # noqa: S608 - declared names
    return [condition(Spelled(kinds, None))]


def _between(value: Value, low: Fraction | date | None, high: Fraction | date | None) -> Condition:
    if low is not None and low == high:
        return value == low
    return _all([*([] if low is None else [value >= low]), *([] if high is None else [value <= high])])


def _numbers(what: str, low: str, high: str) -> tuple[Fraction | None, Fraction | None]:
    for given in (low, high):
        if given and not _NUMBER.fullmatch(given):
            raise UnclearError("cohort.unclear.number", column=what, given=given)
    least, most = (Fraction(given) if given else None for given in (low, high))
    if least is not None and most is not None and least > most:
        raise UnclearError("cohort.unclear.order", column=what, low=low, high=high)
    return least, most


def _days(field: Field, limit: Limit) -> tuple[date | None, date | None]:
    first, last = (_day(field, given) if given else None for given in (limit.low, limit.high))
    if first is not None and last is not None and first > last:
        raise UnclearError("cohort.unclear.order", column=field.title, low=limit.low, high=limit.high)
    return first, last


def _day(field: Field, given: str) -> date:
    try:
        if _DAY.fullmatch(given):
            return date.fromisoformat(given)
    except ValueError:  # no such day
        pass
    raise UnclearError("cohort.unclear.day", column=field.title, given=given)


def constant_of(field: Field, value: str) -> Literal:
    """Return a value of a column as a condition has it."""
    if field.numbers and value not in field.names:
        raise UnclearError("cohort.unclear.number", column=field.title, given=value)
    return Literal(int(value) if field.numbers else value)


def _event(dictionary: Dictionary, name: str) -> Source:
    source = dictionary.source(name)
    if source is None or source.is_person:
        raise UnclearError("cohort.unclear.unknown", name=name)
    return source


def _known(field: Field | None, name: str) -> Field:
    if field is None:
        raise UnclearError("cohort.unclear.unknown", name=name)
    return field


def _require_columns(limits: tuple[Limit, ...], fields: tuple[Field, ...]) -> None:
    """Refuse a limit on a column that is not there: nothing of a document may be left out in silence."""
    known = {field.name for field in fields}
    for limit in limits:
        if limit.column not in known:
            raise UnclearError("cohort.unclear.unknown", name=limit.column)
