"""Columns of an answer that are computed from others: sums, quotients, windows over its rows, places in an order.

All of it is post-processing of released numbers and the law of their noise, so it costs nothing.

Proof: proofs/quotients.md
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from lapwing.answers.releases import Numbers, PricedQuestion
from lapwing.queries.planning.plan import BoundedValue, CellKey, Family
from lapwing.queries.planning.presentation import AS_IT_IS, Arrangement, Quotient
from lapwing.queries.planning.windows import Cells, Groups


def computed_columns(
    asked: PricedQuestion, numbers: Mapping[str, Numbers], table: Cells, keys: Sequence[CellKey], confidence: Fraction
) -> Iterator[tuple[str, list[BoundedValue]]]:
    """Go through the columns that are computed, in an order in which each is known where it is needed.

    As in SQL, HAVING comes before windows: they see the rows that it keeps. `table` grows while this is read.
    """
    arrangement = asked.arrangement or AS_IT_IS
    over_rows = {name: made for name, made in arrangement.made.items() if {*made.names} & {*arrangement.windows}}
    for name, made in arrangement.made.items():
        if name not in over_rows:
            yield name, quotient(asked, made, numbers, confidence, keys=keys)
    if not over_rows and not arrangement.ranks:
        return
    kept = arrangement.kept(table, keys, next(asked.several()).plan.grouped_by)
    for name, made in over_rows.items():
        groups = {one: arrangement.windows[one].groups(table, kept) for one in made.names if one in arrangement.windows}
        found = {cell.key: cell for cell in quotient(asked, made, numbers, confidence, groups=groups, keys=keys)}
        missing = (BoundedValue(key=key, value=None, low=None, high=None) for key in kept)  # no row before the first
        yield name, [found.get(cell.key, cell) for cell in missing]
    for name, ranked in arrangement.ranks.items():
        places = ranked.places(table, kept)
        yield name, [_unbounded(cell) for cell in places] if _is_open(asked, arrangement, name) else places


def quotient(
    asked: PricedQuestion,
    made: Quotient,
    numbers: Mapping[str, Numbers],
    confidence: Fraction,
    *,
    groups: Mapping[str, Groups] | None = None,
    keys: Sequence[CellKey] = (),
) -> list[BoundedValue]:
    """Return quotients of columns, with bounds from the law of their common noise, or from the bounds of each column.

    `groups` are the rows that each of its windows holds, and `keys` those of all groups.

    Proof: proofs/quotients.md
    """
    from lapwing.queries.statistics.postprocessing import quotient_of_boxes, quotient_of_sums  # noqa: PLC0415 - few divide answers

    groups, arrangement = groups or {}, asked.arrangement or AS_IT_IS
    windows, beside = arrangement.windows, arrangement.beside
    released = {name: windows[name].column if name in groups else name for name in made.names}
    columns = {name: asked.releases[name] for name in released.values()}
    source = next(iter(columns.values())).source
    read = {name: one.meaning.forms(source.plan) for name, one in columns.items() if one.source is source}
    forms = {name: form for name, form in read.items() if form}
    if len(forms) == len(columns) and _are_public(asked, groups) and not beside & columns.keys():
        spread = {
            name: windows[name].forms(forms[column], groups[name]) if name in groups else forms[column]
            for name, column in released.items()
        }
        told, noise = numbers[next(iter(columns))], source.mechanism
        return quotient_of_sums(
            made, spread, source.plan, numbers=told, noise=noise, confidence=confidence, overlap=bool(groups)
        )
    each, alone = 1 - (1 - confidence) / len(columns), asked.in_one_row
    of_each = {name: asked.values(name, numbers[name], each) for name in columns}
    boxes = {name: {() if alone else one.key: one for one in cells} for name, cells in of_each.items()}
    for name in beside & boxes.keys():  # its bounds hold once for all groups
        (of_all,) = boxes[name].values()
        boxes[name] = {key: replace(of_all, key=key) for key in keys}
    if groups and any(one.plan.family is Family.THRESHOLD for one in columns.values()):  # each has bounds for itself
        boxes = {name: {key: _unbounded(one) for key, one in cells.items()} for name, cells in boxes.items()}
    named = {
        name: windows[name].sums(boxes[column], groups[name]) if name in groups else boxes[column]
        for name, column in released.items()
    }
    return quotient_of_boxes(made, named)


def _are_public(asked: PricedQuestion, groups: Mapping[str, Groups]) -> bool:
    """Say whether the rows that windows hold are known before anything is released."""
    arrangement = asked.arrangement or AS_IT_IS
    return not groups or (not arrangement.having and all(arrangement.windows[name].is_public for name in groups))


def _is_open(asked: PricedQuestion, arrangement: Arrangement, name: str) -> bool:
    """Say whether a column is computed from one of which each number has its bounds for itself."""
    return any(asked.releases[one].plan.family is Family.THRESHOLD for one in arrangement.sources(name))


def _unbounded(cell: BoundedValue) -> BoundedValue:
    return replace(cell, low=None, high=None)
