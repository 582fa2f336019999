"""The page about SQL, read as it stands: its statements, what it says of each, and what a database says to the same.

`PYTHONPATH=tests python tests/queries/sql_page.py` writes what becomes of each statement anew. Read the difference
before it is committed: a statement that was answered and is not any more is a loss.
"""

import math
import re
import sys
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any

import duckdb

from engines.clinic import arrow_tables
from lapwing.answers.releases import PricedColumn, PricedQuestion, ReadColumn
from lapwing.answers.shown_groups import OfShown, ShownColumn, ShownGroups
from lapwing.answers.target import Target, parse_target, release_together
from lapwing.engines.engine import Engine
from lapwing.queries.algebra.aggregate import BinnedKey, GridKey
from lapwing.queries.catalogue.domains import DAYS, DOUBLES, double_at
from lapwing.queries.catalogue.population import Population
from lapwing.queries.language.sql.clauses import items_of
from lapwing.queries.language.sql.nodes import parsed
from lapwing.queries.planning.plan import BoundedValue, ChosenMeaning, Family, NoisyMeaning, Plan, Scale
from lapwing.queries.planning.planner import plan_together
from lapwing.queries.planning.presentation import Arrangement, Quotient
from lapwing.queries.statements.flattening import flatten, with_from
from lapwing.queries.statements.select import Selection, read_sql
from lapwing.queries.statistics import is_statistic
from lapwing.queries.statistics.postprocessing import RowsOfSums
from lapwing.queries.statistics.quantiles import QuantileOfGroups
from lapwing.queries.statistics.top import CountedTopMeaning
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.guarantee import ApproximateDP
from queries.omop import NOW, omop, rows

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
LINE = re.compile(
    r"^\| `(?P<text>[^`]+)` \| (?P<outcome>answered|refused: [^|]+?) \|(?: `(?P<plain>[^`]+)` \|)?$", re.MULTILINE
)
ANSWERED = "answered"
BUDGET = ApproximateDP(epsilon=Fraction(10), delta=Fraction(1, 1000))
"""With a delta, so that groups may be asked for whose values only the data knows."""
BOUNDS = {"max_groups": 12}
"""As many as anybody is in, so that nobody is left out of a group."""


@dataclass(frozen=True)
class Statement:
    """A line of the page: a statement, what becomes of it, and the same in plain SQL where it has words of lapwing."""

    text: str
    outcome: str
    plain: str
    close: float = 1e-6
    """How far the numbers may be apart, as a part of them: squares of large numbers are added up on a coarse grid."""


def statements(section: str = "") -> list[Statement]:
    """Return the statements of the page, or of one section of it."""
    page = PAGE.read_text(encoding="utf-8")
    found = LINE.finditer(page.partition(f"## {section}")[2].partition("\n## ")[0] if section else page)
    return [Statement(one["text"], one["outcome"], one["plain"] or one["text"]) for one in found]


def asked(text: str, population: Population | None = None) -> tuple[Selection, dict[str, PricedColumn]]:
    """Return what a statement asks, and how each of its columns is released."""
    population = population or omop()
    selection = read_sql(text, **BOUNDS)
    plans = plan_together(selection, population)
    releases = release_together(selection, plans, population, _price(plans), BUDGET)
    PricedQuestion(releases=releases, arrangement=selection.arrangement)
    return selection, releases


def _price(plans: dict[str, Plan]) -> Target:
    opened = any(plan.family in {Family.THRESHOLD, Family.SHOWN_KEYS} for plan in plans.values())
    return parse_target(epsilon=1, delta="1e-6") if opened else parse_target(epsilon=1)


def outcome(text: str, population: Population | None = None) -> str:
    """Return what becomes of a statement."""
    try:
        asked(text, population)
    except BadQuestionError as refused:
        return f"refused: {refused}".replace("|", "/").replace("\n", " ")
    return ANSWERED


def database() -> duckdb.DuckDBPyConnection:
    """Return DuckDB with the tables, and nothing of lapwing."""
    connection = filled(omop(), rows())
    connection.execute("create schema omop")
    for table in omop().tables:
        connection.execute(f"create view omop.{table.name} as from main.{table.name}")
    return connection


def filled(population: Population, tables: dict[str, list[dict]]) -> duckdb.DuckDBPyConnection:
    """Return DuckDB with rows of a population."""
    connection = duckdb.connect(config={"threads": 1})
    for name, arrow in arrow_tables(population, tables).items():
        connection.register("incoming", arrow)
        connection.execute(f"create table {name} as from incoming")
        connection.unregister("incoming")
    for table in population.tables:
        for column in (one for one in table.columns if one.time_of):
            of = column.time_of
            moments = f"select * exclude ({of}, {column.name}), {of} + to_seconds({column.name}) as {of}"
            connection.execute(f"create or replace table {table.name} as {moments} from {table.name}")
    return connection


def disagreement(
    statement: Statement, engine: Engine, truth: duckdb.DuckDBPyConnection, population: Population | None = None
) -> str | None:
    """Return where the numbers of an engine, before noise, are not those of a database; None where they all agree."""
    selection, releases = asked(statement.text, population)
    plans = {name: one.plan for name, one in releases.items()}
    now = NOW if population is None else population.now
    told = truth.execute(statement.plain.replace("current_date", f"date '{now}'")).fetchall()
    if selection.arrangement.labelled is not None:
        return _unlike_union(selection.arrangement, releases, engine, told)
    is_number = _are_numbers(statement)
    chosen = {name: plan for name, plan in plans.items() if isinstance(plan.meaning, ChosenMeaning)}
    if not any(is_number) or not chosen:
        return None if chosen else _unlike_numbers(statement, selection, releases, engine, told)
    if selection.key_names and isinstance(plan := next(iter(chosen.values())).meaning, CountedTopMeaning):
        return _unlike_top(next(iter(chosen.values())), plan.k, engine, told)
    if selection.key_names:
        unlike = [_unlike_groups(plan, engine, told, list(plans).index(name)) for name, plan in chosen.items()]
        return next((one for one in unlike if one is not None), None)
    numbers = [part for part, number in zip(told[0], is_number, strict=True) if number]
    unlike = [_unlike_choice(plan, engine, numbers[list(plans).index(name)]) for name, plan in chosen.items()]
    return next((one for one in unlike if one is not None), None)


def _unlike_union(
    arrangement: Arrangement, releases: dict[str, PricedColumn], engine: Engine, told: list[tuple]
) -> str | None:
    """Compare the rows of a UNION ALL, labels first, with those of a database."""
    assert arrangement.labelled is not None
    exact = {name: next(iter(_estimates(release, engine).values())) for name, release in releases.items()}
    row = {name: BoundedValue(key=(), value=value, low=None, high=None) for name, value in exact.items()}
    row |= {name: _quotient(made, row) for name, made in arrangement.made.items()}
    cells = arrangement.labelled.table(row)
    ours = [(*key, *(cell.value for cell in cells[key].values())) for key in arrangement.shown(cells, list(cells))]
    for mine, theirs in zip(ours, told, strict=True):
        for one, other in zip(mine, theirs, strict=True):
            if one != other and not _is_same(one, other):
                return f"{mine} is not {theirs}"
    return None


def _are_numbers(statement: Statement) -> list[bool]:
    """Say of each column whether it is a number, and no key."""
    return [is_statistic(item.node) for item in items_of(flatten(with_from(parsed(statement.plain))))]  # type: ignore[arg-type]


def _unlike_numbers(
    statement: Statement, selection: Selection, releases: dict[str, PricedColumn], engine: Engine, told: list[tuple]
) -> str | None:
    is_number = _are_numbers(statement)
    first = next(iter(releases.values())).plan
    cells: dict[Any, dict[str, BoundedValue]] = {}
    for name, release in releases.items():
        for key, value in _estimates(release, engine).items():
            rows = _rows(release, engine).get(key) if name in selection.arrangement.samples else None
            of_sample = value if rows is None else value * rows / (rows - 1)
            exact = BoundedValue(key=key, value=of_sample, low=None, high=None)
            cells.setdefault(key, {})[name] = selection.arrangement.told(name, exact)
    for name in selection.arrangement.beside:  # one number, in each group
        alone = cells[()].pop(name)
        for row in cells.values():
            row[name] = alone
    cells = {key: row for key, row in cells.items() if key or not selection.arrangement.beside}
    columns = selection.arrangement.columns or tuple(releases)
    shown = _computed(selection.arrangement, cells, first)
    as_days = "date_trunc" in statement.text
    ours = {_labels(first, key, as_days=as_days): [cells[key][name].value for name in columns] for key in shown}
    theirs = {
        tuple(_plain(part) for part, number in zip(row, is_number, strict=True) if not number): [
            part for part, number in zip(row, is_number, strict=True) if number
        ]
        for row in told
    }
    if first.aggregate.cell_count is not None and not theirs.keys() <= ours.keys():
        return f"groups are missing: {sorted(theirs.keys() - ours.keys(), key=str)} of {sorted(ours, key=str)}"
    for key, numbers in ours.items():
        for number, other in zip(numbers, theirs.get(key, [None] * len(numbers)), strict=True):
            if not _is_same(number, other, statement.close):
                return f"{key}: {number} is not {other}"
    order = [key for key in ours if key in theirs]
    if selection.arrangement.order and order != list(theirs) and len(selection.arrangement.order) > 1:
        return f"{order} is in another order than {list(theirs)}"
    return None


def _computed(arrangement: Arrangement, cells: dict[Any, dict[str, BoundedValue]], plan: Plan) -> list[Any]:
    """Add the columns that are computed from others, and return the rows that are shown."""
    kept = arrangement.kept(cells, plan.in_order(list(cells)), plan.grouped_by)
    for name, window in arrangement.windows.items():
        for key, held in window.groups(cells, kept).items():
            cells[key][name] = window.sums({each: cells[each][window.column] for each in held}, {key: held})[key]
    for name, ranked in arrangement.ranks.items():
        for place in ranked.places(cells, kept):
            cells[place.key][name] = place
    for name, made in arrangement.made.items():
        for row in cells.values():
            row[name] = _quotient(made, row)
    return arrangement.shown(cells, kept)


def _quotient(made: Quotient, row: dict[str, BoundedValue]) -> BoundedValue:
    if any(row[name].value is None for name in made.names):  # no group before the first
        return BoundedValue(key=(), value=None, low=None, high=None)
    above, below = (sum(w * row[name].value for name, w in parts) for parts in (made.above, made.below))  # type: ignore[operator]
    value = above if not made.below else Fraction(above) / Fraction(below) if below else 0
    return made.told(BoundedValue(key=(), value=value, low=None, high=None))


def _estimates(release: PricedColumn, engine: Engine) -> dict:
    plan = release.plan
    if isinstance(release, ShownColumn) and isinstance(release.meaning, OfShown):
        return release.meaning.estimates(plan, _of_all_groups(release.groups, engine))
    if isinstance(release, ShownColumn):
        return {key: count for key, (count,) in engine.keyed(release.groups.plan.aggregate).open_for_release().items()}
    if isinstance(release, ReadColumn):
        source = release.source.plan
        return release.meaning.estimates(source, engine.vector(source.aggregate).open_for_release())
    assert isinstance(plan.meaning, NoisyMeaning)
    if plan.aggregate.cells is None:
        return {key: value for key, (value, *_) in engine.keyed(plan.aggregate).open_for_release().items()}
    return plan.meaning.estimates(plan, engine.vector(plan.aggregate).open_for_release())


def _of_all_groups(groups: ShownGroups, engine: Engine) -> list:
    """Return what would be released if every group were shown, without noise."""
    people, *numbers = (engine.keyed(one).open_for_release() for one in groups.reads)
    keys = [*people]
    assert all(part.keys() <= people.keys() for part in numbers), "rows of nobody"
    terms = [part.plan.aggregate.terms for part in groups.parts]
    told = [part.get(key, (0,) * many) for part, many in zip(numbers, terms, strict=True) for key in keys]
    return [*([list(key), people[key][0]] for key in keys), *(number for some in told for number in some)]


def _rows(release: PricedColumn, engine: Engine) -> dict:
    if isinstance(release, ShownColumn) and isinstance(release.meaning, OfShown):
        reading = replace(release.meaning, reading=RowsOfSums())
        return reading.estimates(release.plan, _of_all_groups(release.groups, engine))
    source = release.source.plan
    return RowsOfSums().estimates(source, engine.vector(source.aggregate).open_for_release())


def _labels(plan: Plan, key: tuple, *, as_days: bool) -> tuple:
    kinds = [kind for kind in plan.aggregate.keys if not isinstance(kind, GridKey)]
    pairs = zip(kinds, key, strict=False)
    return tuple(_label(kind, label, as_days=as_days) for kind, label in pairs) if len(kinds) == len(key) else ()


def _label(kind: object, label: Any, *, as_days: bool) -> Any:
    """Return the lower end of a bin: a year, a day or a number."""
    if not isinstance(kind, BinnedKey) or label is None:
        return label
    if kind.domain == DOUBLES:
        return double_at(label[0])
    if kind.domain != DAYS:
        return label[0]
    first, last = (date(1970, 1, 1) + timedelta(days=day) for day in label)
    return first.year if (last - first).days > 360 and not as_days else first


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.date()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_same(ours: Any, theirs: Any, close: float = 1e-6) -> bool:
    if theirs is None or (isinstance(theirs, float) and math.isnan(theirs)):
        return ours is None or ours == 0 or isinstance(ours, Fraction | float)
    return ours is not None and math.isclose(ours, theirs, rel_tol=close, abs_tol=1e-6)


def _unlike_choice(plan: Plan, engine: Engine, told: Any) -> str | None:
    """Compare a choice with what would be chosen without noise: quantiles within a cell, or a category."""
    numbers = engine.vector(plan.aggregate).open_for_release()
    scale = getattr(plan.meaning, "scale", None)
    if scale is None:
        largest = [
            cell[0] for cell, count in zip(plan.aggregate.cells or (), numbers, strict=True) if count == max(numbers)
        ]
        return None if told in largest else f"{told} is not one of {largest}"
    at: tuple[Fraction, ...] = plan.meaning.at  # type: ignore[attr-defined]
    return _unlike_quantiles(numbers, scale, at, told if isinstance(told, list) else [told])


def _unlike_groups(plan: Plan, engine: Engine, told: list[tuple], place: int) -> str | None:
    """Compare the quantile of each group, whose keys come first, with what would be chosen without noise."""
    meaning = plan.meaning
    assert isinstance(meaning, QuantileOfGroups)
    numbers, cells = engine.vector(plan.aggregate).open_for_release(), meaning.scale.extent + 1
    groups = list(dict.fromkeys(cell[:-1] for cell in plan.aggregate.cells or ()))
    known = {tuple(row[: len(groups[0])]): row[len(groups[0]) + place] for row in told}
    for i, group in enumerate(groups):
        rows = numbers[i * cells : (i + 1) * cells]
        theirs = known.get(_labels(plan, group, as_days=False))
        if (theirs is None) != (sum(rows) == 0):
            return f"{group} has {sum(rows)} rows"
        unlike = None if theirs is None else _unlike_quantiles(rows, meaning.scale, (meaning.at,), [theirs])
        if unlike:
            return f"{group}: {unlike}"
    return None


def _unlike_quantiles(numbers: Any, scale: Scale, at: tuple[Fraction, ...], told: list) -> str | None:
    below = list(accumulate(numbers))
    for fraction, theirs in zip(at, sorted(told), strict=True):
        low = next(i for i, total in enumerate(below) if total >= fraction * below[-1] * Fraction(99, 100))
        before = fraction * (below[-1] - 1)  # what lies between two rows is between the values of both
        last = min(max(before * Fraction(101, 100), fraction * below[-1], math.floor(before) + 1), below[-1] - 1)
        high = next(i for i, total in enumerate(below) if total > last)
        ends = [scale.low + (low - 2) * scale.step, scale.low + (high + 2) * scale.step]
        if not ends[0] <= theirs <= ends[1]:
            return f"{theirs} is not between {float(ends[0])} and {float(ends[1])}"
    return None


def _unlike_top(plan: Plan, k: int, engine: Engine, told: list[tuple]) -> str | None:
    """Compare the largest groups, and how many each has, with those of a database."""
    numbers = engine.vector(plan.aggregate).open_for_release()
    counts = {cell[0]: count for cell, count in zip(plan.aggregate.cells or (), numbers, strict=True)}
    largest = sorted(counts.values(), reverse=True)[:k]
    as_told = [counts.get(key) for key, _ in told] == [count for _, count in told] == largest
    return None if as_told else f"{told} is not {counts}"


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    for one in statements():
        line = f"| `{one.text}` | {one.outcome} |"
        page = page.replace(line, f"| `{one.text}` | {outcome(one.text)} |")
    PAGE.write_text(page, encoding="utf-8")
    found = statements()
    sys.stdout.write(f"{sum(one.outcome == ANSWERED for one in found)} of {len(found)} are answered\n")
