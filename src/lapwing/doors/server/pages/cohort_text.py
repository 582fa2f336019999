"""The text that a cohort asks: conditions of the asking language, from declared names alone."""

import re
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
from lapwing.queries.catalogue.column import written_name

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_NUMBER: Final = re.compile(r"-?\d{1,15}(\.\d{1,10})?")
_DAYS: Final = re.compile(r"\d{1,5}")


def text_of(cohort: CohortDraft, dictionary: Dictionary) -> str:
    """Return the condition that is asked; nothing where there is no criterion."""
    return " and ".join(steps_of(cohort, dictionary))


def steps_of(cohort: CohortDraft, dictionary: Dictionary) -> list[str]:
    """Return the condition of each panel, in their order: the steps of a funnel."""
    return [_panel_text(panel, dictionary) for panel in cohort.spoken]


def _panel_text(panel: CohortPanel, dictionary: Dictionary) -> str:
    parts = [_criterion_text(one, dictionary) for one in panel.criteria]
    joined = parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"
    if panel.include:
        return joined
    out = f"not {joined}" if len(parts) > 1 or joined.startswith("has(") else f"not ({joined})"
    unknown = [f"{field.written} is null" for field in _may_be_unknown(panel, dictionary)]
    # Who is not known to match is not left out: a comparison with a missing value is neither true nor false.
    return f"({' or '.join([out, *dict.fromkeys(unknown)])})" if unknown else out


def _may_be_unknown(panel: CohortPanel, dictionary: Dictionary) -> list[Field]:
    found = [(one, dictionary.field(one.of)) for one in panel.criteria if not one.is_event]
    return [field for one, field in found if field is not None and field.nullable and not one.limit(field.name).unknown]


def _criterion_text(criterion: Criterion, dictionary: Dictionary) -> str:
    if not criterion.is_event:
        field = _known(dictionary.field(criterion.of), criterion.of)
        _require_columns(criterion.limits, (field,))
        return _limit_text(field, criterion.limit(field.name), field.written)
    source = _event(dictionary, criterion.of)
    _require_columns(criterion.limits, source.fields)
    given = [(field, criterion.limit(field.name)) for field in source.fields]
    parts = [_limit_text(field, one, field.written) for field, one in given if not one.is_empty]
    if criterion.age_low or criterion.age_high:
        parts.append(_age_text(criterion, source, dictionary))
    if criterion.near is not None:
        parts.append(_near_text(criterion.near, source, dictionary))
    inside = [source.written, *([" and ".join(parts)] if parts else [])]
    if criterion.times > 1:
        inside = [source.written, " and ".join(parts) or "true", str(criterion.times)]
    return f"has({', '.join(inside)})"


def _age_text(criterion: Criterion, source: Source, dictionary: Dictionary) -> str:
    happened, born, person = source.happened, dictionary.born, dictionary.person
    if happened is None or born is None or person is None:
        raise UnclearError("cohort.unclear.no_age", table=source.title)
    age = f"age({person.written}.{born.written}, {happened.written})"
    low, high = _numbers("", criterion.age_low, criterion.age_high)
    return _range(age, low, high)


def _near_text(near: Near, source: Source, dictionary: Dictionary) -> str:
    other = _event(dictionary, near.of)
    same = dictionary.same(source, other) if near.order == SAME else None
    if other is source or (near.order == SAME and same is None):
        raise UnclearError("cohort.unclear.no_same", table=source.title, other=other.title)
    _require_columns(near.limits, other.fields)
    given = [(field, near.limit(field.name)) for field in other.fields]
    names = {field.name: f"{other.written}.{field.written}" for field in other.fields}
    parts = [_limit_text(field, one, names[field.name]) for field, one in given if not one.is_empty]
    if same is not None:
        column = written_name(same[0])
        parts.append(f"{other.written}.{column} = {source.written}.{column}")
    else:
        parts.append(_window(near, source, other))
    return f"has({other.written}, {' and '.join(parts)})"


def _window(near: Near, source: Source, other: Source) -> str:
    if source.happened is None or other.happened is None:
        raise UnclearError("cohort.unclear.no_day", table=(source if source.happened is None else other).title)
    if not _DAYS.fullmatch(near.days):
        raise UnclearError("cohort.unclear.days", given=near.days)
    mine = f"{source.written}.{source.happened.written}"
    first = mine if near.order == "before" else f"{mine} - {int(near.days)}"
    last = mine if near.order == "after" else f"{mine} + {int(near.days)}"
    return f"{other.written}.{other.happened.written} between {first} and {last}"


def _limit_text(field: Field, limit: Limit, written: str) -> str:
    parts: list[str] = []
    match field.kind:
        case "category" | "text" if limit.values:
            listed = [_one_of(written, [quoted(field, value) for value in limit.values])]
            parts += [*listed, *_kinds_text(field, limit, written)]
        case "boolean" if limit.values:
            wanted = {"true": written, "false": f"not {written}"}
            if not set(limit.values) <= set(wanted):
                raise UnclearError("cohort.unclear.document")
            parts += [wanted[value] for value in limit.values]
        case "date" if limit.low or limit.high:
            low, high = _days(field, limit)
            parts.append(_range(written, low and f"date '{low}'", high and f"date '{high}'"))
        case "integer" | "real" if limit.low or limit.high:
            parts.append(_range(written, *_numbers(field.title, limit.low, limit.high)))
    if limit.unknown:
        parts.append(f"{written} is null")
    if not parts:
        raise UnclearError("cohort.unclear.say", column=field.title)
    return parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"


def _one_of(what: str, values: list[str]) -> str:
    return f"{what} = {values[0]}" if len(values) == 1 else f"{what} in ({', '.join(values)})"


def _kinds_text(field: Field, limit: Limit, written: str) -> list[str]:
    """Return the condition for what is a kind of a value, by the public table that says so."""
    if not limit.kinds:
        return []
    if not field.has_kinds:
        raise UnclearError("cohort.unclear.no_kinds", column=field.title)
    above = _one_of("ancestor_concept_id", [quoted(field, value) for value in limit.values])
    return [f"{written} in (select descendant_concept_id from {ANCESTORS} where {above})"]  # noqa: S608 - declared names


def _range(what: str, low: str, high: str) -> str:
    if low and high:
        return f"{what} between {low} and {high}" if low != high else f"{what} = {low}"
    return f"{what} >= {low}" if low else f"{what} <= {high}"


def _numbers(what: str, low: str, high: str) -> tuple[str, str]:
    for given in (low, high):
        if given and not _NUMBER.fullmatch(given):
            raise UnclearError("cohort.unclear.number", column=what, given=given)
    if low and high and Fraction(low) > Fraction(high):
        raise UnclearError("cohort.unclear.order", column=what, low=low, high=high)
    return low, high


def _days(field: Field, limit: Limit) -> tuple[str, str]:
    for given in (limit.low, limit.high):
        if given and not _DAY.fullmatch(given):
            raise UnclearError("cohort.unclear.day", column=field.title, given=given)
    if limit.low and limit.high and limit.low > limit.high:
        raise UnclearError("cohort.unclear.order", column=field.title, low=limit.low, high=limit.high)
    return limit.low, limit.high


def quoted(field: Field, value: str) -> str:
    """Return a value of a column as a condition writes it."""
    if field.numbers:
        if value not in field.names:
            raise UnclearError("cohort.unclear.number", column=field.title, given=value)
        return value
    doubled = value.replace("'", "''")
    return f"'{doubled}'"


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
