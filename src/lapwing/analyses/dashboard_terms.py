"""What a dashboard agrees on at its opening, and what of it stands in the ledger: nothing of it ever changes."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any, Final

from lapwing.accounting.filters.charge import priced
from lapwing.analyses.dashboard_estimates import largest_margin
from lapwing.analyses.dashboard_grid import PeriodGrid
from lapwing.answers.target import AtEpsilon, AtRho, Target
from lapwing.mechanisms.gaussian import smallest_variance
from lapwing.mechanisms.running_counts import (
    CountingScheme,
    EveryPrefix,
    RootOfSumming,
    RunningCounts,
    TreeOfBlocks,
    best_tree,
)
from lapwing.queries.algebra.aggregate import Aggregate, BinnedKey, DeclaredKey, tables_of
from lapwing.queries.algebra.derived import ExtremeOfPerson, columns_read
from lapwing.queries.algebra.predicate import HasRows, LacksRows
from lapwing.queries.catalogue.column import Column, Date, DerivedColumn
from lapwing.queries.catalogue.population import Population, RowsPerPerson
from lapwing.queries.language.builders import bins, first_of
from lapwing.queries.language.expressions import EVERYONE, Value, col
from lapwing.queries.limits import MOST_NUMBERS
from lapwing.queries.planning.plan import CellKey, Plan
from lapwing.queries.planning.planner import Question, plan
from lapwing.queries.statistics.counts import CountPeople
from lapwing.vocabulary.codec import from_record, to_record
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.event import GaussianNoise, PureRelease
from lapwing.vocabulary.exact import check_most, float_below
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import ConcentratedDP, Guarantee, PrivacyUnit, PureDP

_JUDGED_AT: Final = Fraction(95, 100)
"""The confidence at which two kinds of noise are compared."""
_ONLY_PEOPLE: Final = "a dashboard counts people; write count('visit', ...), and see docs/dashboards.md"
_LONGEST: Final = 100
_FEW: Final = 24
"""Releases at which the errors of two ways to pay are compared; the last is among them, where they are largest."""


@frozen()
class DashboardTerms:
    """What is counted, in which periods and groups, and with which noise."""

    name: str
    grid: PeriodGrid
    aggregate: Aggregate
    by: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    counts: RunningCounts
    left: Aggregate | None = None
    """Who left, where people leave: then cumulative counts are stocks, of those who are in."""

    @property
    def tables(self) -> list[str]:
        """The tables that are read."""
        return sorted(tables_of(self.aggregate))

    def written(self) -> dict[str, Any]:
        """Return them as they stand in the ledger."""
        leaving = {} if self.left is None else {"left": to_record(self.left)}
        return {
            **leaving,
            "name": self.name,
            "every": self.grid.every,
            "first": str(self.grid.first),
            "releases": self.grid.releases,
            "aggregate": to_record(self.aggregate),
            "by": list(self.by),
            "groups": [list(group) for group in self.groups],
            "scheme": _written_scheme(self.counts.scheme),
            "unit": to_record(self.counts.unit),
        }

    @staticmethod
    def read(written: Mapping[str, Any], event: object) -> "DashboardTerms":
        """Return the terms that stand in the ledger, with the event that was charged."""
        releases, groups = written["releases"], tuple(tuple(group) for group in written["groups"])
        left = written.get("left")
        return DashboardTerms(
            name=written["name"],
            grid=PeriodGrid(every=written["every"], first=date.fromisoformat(written["first"]), releases=releases),
            aggregate=from_record(Aggregate, written["aggregate"]),
            by=tuple(written["by"]),
            groups=groups,
            counts=RunningCounts(
                scheme=_scheme(written["scheme"], releases),
                groups=len(groups),
                unit=from_record(PrivacyUnit, written["unit"]),
                event=from_record(GaussianNoise | PureRelease, event),
                stocks=left is not None,
            ),
            left=None if left is None else from_record(Aggregate, left),
        )


def _written_scheme(scheme: CountingScheme) -> list[Any]:
    match scheme:
        case RootOfSumming():
            return ["root"]
        case TreeOfBlocks(width=width, levels=levels):
            return ["tree", width, levels]
        case _:
            return ["every prefix"]


def _scheme(written: Sequence[Any], releases: int) -> CountingScheme:
    match written:
        case ["root"]:
            return RootOfSumming(releases=releases)
        case ["tree", width, levels]:
            return TreeOfBlocks(releases=releases, width=width, levels=levels)
        case _:
            return EveryPrefix(releases=releases)


def agree(
    name: str,
    question: Question,
    grid: PeriodGrid,
    period: str | Value,
    until: str | None = None,
    *,
    population: Population,
    target: Target,
    budget: Guarantee,
) -> DashboardTerms:
    """Return the terms of a dashboard, or refuse what cannot be one. No data is read."""
    _require_words(name, period)
    if until is None:
        planned, gone = _plan(question, grid.edges, period, population), None
    else:
        planned, gone = _who_came_and_left(question, grid, period, until, population)
        _require_periods(until, gone.aggregate, grid, population)
    aggregate = planned.aggregate
    _require_periods(period, aggregate, grid, population)
    others = aggregate.keys[:-1]
    if aggregate.cells is None:
        raise BadQuestionError("groups of a dashboard are declared values or bins; let the custodian declare them")
    check_most("cells", len(aggregate.cells), MOST_NUMBERS, "take fewer releases, or fewer groups")
    groups = _groups_of(aggregate)
    if gone is not None and _groups_of(gone.aggregate) != groups:
        raise AssertionError("whoever leaves is in the group in which they came")
    shown = tuple(tuple(map(_called, planned.shown(group, {}))) for group in groups)
    fixed = not any(key.missing for key in others if isinstance(key, DeclaredKey | BinnedKey)) and all(
        isinstance(key, DeclaredKey | BinnedKey) and _is_fixed(key, one.aggregate, population)
        for one in (planned, gone)
        if one is not None
        for key in one.aggregate.keys
    )
    return DashboardTerms(
        name=name,
        grid=grid,
        aggregate=aggregate,
        by=planned.titled(planned.group_names[: len(others)]),
        groups=shown,
        counts=_cheapest(
            CountedCells(releases=grid.releases, groups=len(groups), fixed=fixed, stocks=gone is not None),
            unit=population.unit,
            target=target,
            budget=budget,
        ),
        left=None if gone is None else gone.aggregate,
    )


def _groups_of(aggregate: Aggregate) -> list[CellKey]:
    """Return the groups in the order of their cells: behind the periods of each there may be a cell for no day."""
    return list(dict.fromkeys(cell[:-1] for cell in aggregate.cells or ()))


def _called(label: object) -> str:
    return "(missing)" if label is None else str(label)


def _require_words(name: object, period: object) -> None:
    """Refuse what is no name, and no day."""
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST or not name.isprintable():
        remedy = f"write 1 to {_LONGEST} printable characters"
        raise ParameterError("name", str(name)[:_LONGEST], reason="is no name of a dashboard", remedy=remedy)
    if not isinstance(period, str | Value):
        remedy = "name the column with the day on which a row counts"
        raise ParameterError("period", period, reason="is no column", remedy=remedy)


def _who_came_and_left(
    question: Question, grid: PeriodGrid, period: object, until: object, population: Population
) -> tuple[Plan, Plan]:
    """Plan two counts of people: of those who came, and of those of them who left, not before they came.

    Whoever came before the first period counts in it, so that a stock is of all who are in.
    """
    if not isinstance(question, CountPeople):
        raise BadQuestionError(_ONLY_PEOPLE)
    came, left = (_day_of_person(*each, question, population) for each in (("period", period), ("until", until)))
    if left == came:
        remedy = "name the column with the day on which a person leaves"
        raise ParameterError("until", until, reason="is the day on which people come", remedy=remedy)
    opens = min(grid.first, came.type.first or grid.first) if isinstance(came.type, Date) else grid.first
    edges = [opens, *grid.edges[1:]]
    both = (col(left.name) >= col(came.name)) & (col(came.name) >= opens)
    gone = replace(question, where=both if question.where == EVERYONE else question.where & both)
    return _plan(question, edges, came.name, population), _plan(gone, edges, left.name, population)


def _day_of_person(word: str, given: object, question: Question, population: Population) -> Column:
    """Return the column of days that is meant, or refuse: who comes and leaves has one row, with both days."""
    table = population.table(question.table)
    if table.rows is not RowsPerPerson.ONE_A_PERSON:
        raise BadQuestionError(
            f"{table.name!r} has many rows a person, who may come and leave again and again; until= is for tables with "
            "one row a person, so leave it out, or let the custodian make such a table"
        )
    found = population.table(question.table).column(given) if isinstance(given, str) else None
    if found is None or not isinstance(found.type, Date):
        remedy = "name the column with the day on which a person comes, or leaves"
        raise ParameterError(word, given, reason="is no column of days", remedy=remedy)
    return found


def _plan(question: Question, edges: Sequence[date], period: str | Value, population: Population) -> Plan:
    """Plan a count of people by groups and periods. Of somebody with many rows the first day counts, once."""
    if not isinstance(question, CountPeople):
        raise BadQuestionError(_ONLY_PEOPLE)
    if question.max_groups not in {None, 1}:
        raise BadQuestionError("a person counts once on a dashboard: leave max_groups out")
    day: str | Value = period
    table = population.table(question.table)
    many = table.rows is RowsPerPerson.MANY_A_PERSON
    known = [one for one in table.columns if isinstance(period, str) and period.casefold() == one.name.casefold()]
    if known and not isinstance(known[0].type, Date):
        raise BadQuestionError(f"{period!r} is no column of days; name the day on which a row counts")
    if many and known:
        day = first_of(f"{question.table}.{period}", question.where)
    asked = replace(question, by=(*question.by, bins(day, edges)), max_groups=1 if many else None)
    return plan(asked, population)


def _require_periods(told: object, aggregate: Aggregate, grid: PeriodGrid, population: Population) -> None:
    """Refuse what is no column of days, and a grid that goes beyond the days that are declared: nobody is there."""
    key = aggregate.keys[-1]
    if not isinstance(key, BinnedKey) or len(key.bins) != grid.releases:
        raise BadQuestionError(f"{told!r} is no column of days; name the day on which a row counts")
    source = _source(key, aggregate, population)
    if source is None or not isinstance(source.type, Date):
        return
    if source.type.last is not None and source.type.last < grid.last:
        raise BadQuestionError(
            f"{source.name!r} is declared until {source.type.last}, and the periods end on {grid.last}; let the "
            "custodian declare a later last day, or take fewer releases"
        )


def _source(key: DeclaredKey | BinnedKey, aggregate: Aggregate, population: Population) -> Column | None:
    """Return the declared column that a key is about, itself or as the first of a person's; None where it is none."""
    match _derived(key, aggregate):
        case None:
            table, column = population.table(aggregate.table), key.column
        case ExtremeOfPerson(rows=rows, column=column, last=False):
            table = population.table(rows.table)
        case _:
            return None
    return next((one for one in table.columns if one.name == column), None)


def _is_fixed(key: DeclaredKey | BinnedKey, aggregate: Aggregate, population: Population) -> bool:
    """Say whether the cell of a person along a key can never change, by what the custodian promises.

    A column of a table with one row a person must be fixed itself. The first of a person's values must be of a fixed
    column, among rows that a condition on fixed columns chooses. Everything else may change.
    """
    source = _source(key, aggregate, population)
    if source is None or not source.fixed:
        return False
    derived = _derived(key, aggregate)
    if isinstance(derived, ExtremeOfPerson):
        columns = population.table(derived.rows.table).columns
        known = {one.name: one.fixed and not one.nullable for one in columns}  # what is filled in later is a change
        where = derived.rows.where
        looks_elsewhere = derived.rows.derived or _has_rows(where)
        return not looks_elsewhere and all(known.get(one, False) for one in (derived.column, *columns_read(where)))
    return population.table(aggregate.table).rows is RowsPerPerson.ONE_A_PERSON


def _has_rows(part: object) -> bool:
    """Say whether a predicate asks for other rows, which may come and go."""
    if isinstance(part, HasRows | LacksRows):
        return True
    if isinstance(part, tuple):
        return any(map(_has_rows, part))
    return is_dataclass(part) and any(_has_rows(getattr(part, one.name)) for one in fields(part))


def _derived(key: DeclaredKey | BinnedKey, aggregate: Aggregate) -> DerivedColumn | None:
    return next((one for one in aggregate.derived if one.name == key.column), None)


@frozen()
class CountedCells:
    """The cells of a dashboard: how many periods and groups, whether people stay in theirs, and whether they leave."""

    releases: int
    groups: int
    fixed: bool
    stocks: bool


def _cheapest(cells: CountedCells, *, unit: PrivacyUnit, target: Target, budget: Guarantee) -> RunningCounts:
    """Return the scheme with the least error among those that the target pays for under this kind of budget."""
    releases, fixed = cells.releases, cells.fixed
    gaussian_scheme: CountingScheme = RootOfSumming(releases=releases) if fixed else EveryPrefix(releases=releases)
    pure_scheme: CountingScheme = best_tree(releases) if fixed else EveryPrefix(releases=releases)

    def counting(scheme: CountingScheme, event: GaussianNoise | PureRelease) -> RunningCounts:
        return RunningCounts(scheme=scheme, groups=cells.groups, unit=unit, event=event, stocks=cells.stocks)

    def gaussian(variance: Fraction) -> RunningCounts:
        return counting(gaussian_scheme, _noise_at_one(variance))

    def pure(epsilon: Fraction) -> RunningCounts:
        return counting(pure_scheme, PureRelease(epsilon=epsilon))

    match target:
        case AtEpsilon(epsilon=epsilon, delta=None):
            ways = [pure(epsilon)]
            same = priced(ways[0].event).rho
            if isinstance(budget, ConcentratedDP) and same is not None:
                ways.append(gaussian(1 / (2 * Fraction(float_below(same)))))
        case AtEpsilon(epsilon=epsilon, delta=delta) if not isinstance(budget, PureDP):
            ways = [pure(epsilon), gaussian(smallest_variance(_noise_at_one, epsilon=epsilon, delta=delta))]
        case AtRho(rho=rho) if not isinstance(budget, PureDP):
            ways = [gaussian(1 / (2 * rho))]
        case AtEpsilon() | AtRho():
            name, given = ("rho", target.rho) if isinstance(target, AtRho) else ("delta", target.delta)
            remedy = "offer an epsilon alone, or let the custodian open a budget with a delta"
            raise ParameterError(name, str(given), reason="cannot be paid from a pure budget", remedy=remedy)
        case _:
            remedy = "offer epsilon=, epsilon= with delta=, or rho=, and see in the preview how far off counts are"
            raise ParameterError("within", "...", reason="is not one number on a dashboard", remedy=remedy)
    if len(ways) == 1:
        return ways[0]
    return min(ways, key=lambda one: largest_margin(one, shown_releases(releases), _JUDGED_AT))


def shown_releases(releases: int) -> list[int]:
    """Return a few releases from the first to the last."""
    return sorted({max(1, releases * part // _FEW) for part in range(1, _FEW + 1)})


def _noise_at_one(variance: Fraction) -> GaussianNoise:
    return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=variance)
