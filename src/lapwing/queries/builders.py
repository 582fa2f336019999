"""The words for asking in Python. Each returns a question; nothing is looked up, priced or run yet.

Conditions are SQL text or built with `col`, `&`, `|` and `~`; values are column names or arithmetic on columns.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from typing import TypeAlias

from lapwing.queries.catalogue import LONGEST_NAME
from lapwing.queries.expressions import (
    EVERYONE,
    Condition,
    Has,
    Literal,
    Name,
    Spelled,
    Value,
    Year,
    col,
    condition,
    value,
)
from lapwing.queries.plan import Moment
from lapwing.queries.questions import (
    Average,
    By,
    CountDistinct,
    CountPeople,
    CountRows,
    EnoughPeople,
    Funnel,
    Ranks,
    Sum,
    TopCategories,
)
from lapwing.queries.sql_conditions import read_condition, read_value
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_int, exact, probability

ConditionLike: TypeAlias = str | Condition | Value | None
ValueLike: TypeAlias = str | Value
Grouping: TypeAlias = str | Name | Year | By
_MOST_GRID_CELLS = 10_000


def count(
    table: str,
    where: ConditionLike = None,
    *,
    by: Grouping | Iterable[Grouping] = (),
    max_groups: int | None = None,
) -> CountPeople:
    """Ask how many people have a row in `table` for which `where` is true; each person counts once.

    Parameters
    ----------
    table : the table to look in
    where : which rows, as SQL text or built with `col`
    by : columns to group by
    max_groups : in how many groups one person may count, for tables with many rows a person

    Examples
    --------
    >>> count("patients", "sex = 'M' and age between 20 and 30").table
    'patients'
    """
    return CountPeople(table=table, where=_where(where), by=_by(by), max_groups=max_groups)


def count_rows(
    table: str,
    where: ConditionLike = None,
    *,
    by: Grouping | Iterable[Grouping] = (),
    max_rows: int | None = None,
    max_groups: int | None = None,
) -> CountRows:
    """Ask how many rows there are for which `where` is true, counting at most `max_rows` of one person in a group."""
    return CountRows(table=table, where=_where(where), by=_by(by), max_rows=max_rows, max_groups=max_groups)


def total(
    table: str,
    of: ValueLike,
    where: ConditionLike = None,
    *,
    by: Grouping | Iterable[Grouping] = (),
    max_rows: int | None = None,
    max_groups: int | None = None,
) -> Sum:
    """Ask for the total of a value. A person's part in a group is clipped to `max_rows` times the value's bounds.

    >>> total("visits", "clip(cost, 0, 500)", "kind = 'ER'", max_rows=3).max_rows
    3
    """
    where, groups = _where(where), _by(by)
    return Sum(table=table, value=_what(of), where=where, by=groups, max_rows=max_rows, max_groups=max_groups)


def mean(
    table: str,
    of: ValueLike,
    where: ConditionLike = None,
    *,
    by: Grouping | Iterable[Grouping] = (),
    max_rows: int | None = None,
    max_groups: int | None = None,
) -> Average:
    """Ask for the mean of a value over rows, at most `max_rows` of one person in a group."""
    return _average(Moment.MEAN, (of,), table, where, by, max_rows, max_groups)


def variance(
    table: str,
    of: ValueLike,
    where: ConditionLike = None,
    *,
    by: Grouping | Iterable[Grouping] = (),
    max_rows: int | None = None,
    max_groups: int | None = None,
) -> Average:
    """Ask for the variance of a value over rows; the mean and the number of rows come with it."""
    return _average(Moment.VARIANCE, (of,), table, where, by, max_rows, max_groups)


def covariance(
    table: str,
    of: ValueLike,
    and_: ValueLike,
    where: ConditionLike = None,
    *,
    by: Grouping | Iterable[Grouping] = (),
    max_rows: int | None = None,
    max_groups: int | None = None,
) -> Average:
    """Ask for the covariance of two values over rows."""
    return _average(Moment.COVARIANCE, (of, and_), table, where, by, max_rows, max_groups)


def correlation(
    table: str,
    of: ValueLike,
    and_: ValueLike,
    where: ConditionLike = None,
    *,
    by: Grouping | Iterable[Grouping] = (),
    max_rows: int | None = None,
    max_groups: int | None = None,
) -> Average:
    """Ask for the correlation of two values over rows."""
    return _average(Moment.CORRELATION, (of, and_), table, where, by, max_rows, max_groups)


def quantiles(
    table: str,
    of: ValueLike,
    at: Exact | Sequence[Exact],
    where: ConditionLike = None,
    *,
    max_rows: int | None = None,
    cells: int = 1000,
) -> Ranks:
    """Ask below which value the fractions `at` of the rows lie; the answers are edges of `cells` cells of its range.

    >>> quantiles("visits", "nights", ["0.25", "0.5", "0.75"], max_rows=3).at
    (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
    """
    fractions = [at] if isinstance(at, str) or not isinstance(at, Sequence) else list(at)
    return Ranks(
        table=table,
        value=_what(of),
        at=tuple(sorted({probability("at", fraction) for fraction in fractions})),
        where=_where(where),
        max_rows=max_rows,
        cells=as_int("cells", cells, least=2, most=_MOST_GRID_CELLS),
    )


def median(
    table: str, of: ValueLike, where: ConditionLike = None, *, max_rows: int | None = None, cells: int = 1000
) -> Ranks:
    """Ask for the value in the middle."""
    return quantiles(table, of, "0.5", where, max_rows=max_rows, cells=cells)


def top(table: str, column: str | Name, k: int, where: ConditionLike = None) -> TopCategories:
    """Ask which `k` categories of a column have the most people."""
    return TopCategories(table=table, column=_name(column), k=as_int("k", k), where=_where(where))


def funnel(table: str, steps: Sequence[ConditionLike], where: ConditionLike = None) -> Funnel:
    """Ask how many people pass the first of `steps`, the first two, and so on, at the price of one count.

    >>> funnel("patients", ["sex = 'M'", "age between 20 and 30", "cancer_survivor"]).names
    ("sex = 'M'", 'age between 20 and 30', 'cancer_survivor')
    """
    names: list[str] = []
    for number, step in enumerate(steps, start=1):
        name = step if isinstance(step, str) else f"step {number}"
        names.append(f"{name} (step {number})" if name in names else name)
    return Funnel(table=table, steps=tuple(_where(step) for step in steps), names=tuple(names), where=_where(where))


def count_distinct(
    table: str, column: str | Name, where: ConditionLike = None, *, max_groups: int | None = None
) -> CountDistinct:
    """Ask how many different values a column holds, counting at most `max_groups` of one person."""
    return CountDistinct(table=table, column=_name(column), where=_where(where), max_groups=max_groups)


def at_least(people: int, table: str, where: ConditionLike = None) -> EnoughPeople:
    """Ask whether at least `people` people have a row for which `where` is true, in a stream."""
    return EnoughPeople(people=as_int("people", people, least=0, most=2**62), table=table, where=_where(where))


def has(table: str, where: ConditionLike = None, *, at_least: int = 1) -> Has:
    """Say that the same person has at least `at_least` rows in `table` for which `where` is true.

    >>> count("patients", has("visits", "kind = 'ER'", at_least=2) & (col("sex") == "F")).table
    'patients'
    """
    return Has(table, _where(where), as_int("at_least", at_least, most=2**20))


def bins(column: str | Name, edges: Sequence[Exact | date]) -> By:
    """Group a column into bins between rising `edges`: each holds its lower edge, the last both.

    >>> bins("age", [0, 18, 65, 120]).edges[1].value
    18
    """
    return By(column=_name(column), edges=tuple(_edge(edge) for edge in edges))


def by_year(column: str | Name) -> By:
    """Group a column of days by calendar year."""
    return By(column=Year(_name(column)))


def _edge(given: Exact | date) -> Literal:
    # A text is a decimal, as everywhere; where it is none, it may be a day.
    is_day = isinstance(given, date) or (isinstance(given, str) and given.count("-") == len("--"))
    edge = value(given) if is_day else value(exact("edge", given))
    if not isinstance(edge, Literal):
        raise BadQuestionError("the edges of bins are constants; write numbers or days")
    return edge


def _average(  # noqa: PLR0917 - the four functions above in one
    moment: Moment,
    of: tuple[ValueLike, ...],
    table: str,
    where: ConditionLike,
    by: Grouping | Iterable[Grouping],
    max_rows: int | None,
    max_groups: int | None,
) -> Average:
    return Average(
        moment=moment,
        values=tuple(_what(each) for each in of),
        table=table,
        where=_where(where),
        by=_by(by),
        max_rows=max_rows,
        max_groups=max_groups,
    )


def _where(given: ConditionLike) -> Condition:
    if given is None:
        return EVERYONE
    return read_condition(given) if isinstance(given, str) else condition(given)


def _what(given: ValueLike) -> Value:
    if not isinstance(given, str):
        return given
    try:
        return Spelled(given, read_value(given))
    except BadQuestionError as refused:
        if len(given) > LONGEST_NAME:
            raise
        return Spelled(given, None, str(refused))


def _name(given: str | Name) -> Name:
    return col(given) if isinstance(given, str) else given


def _by(given: Grouping | Iterable[Grouping]) -> tuple[By, ...]:
    several = [given] if isinstance(given, str | Name | Year | By) else list(given)
    return tuple(_grouping(each) for each in several)


def _grouping(given: Grouping) -> By:
    match given:
        case By():
            return given
        case Name() | Year():
            return By(column=given)
        case str():
            return By(column=col(given))
        case _:
            raise BadQuestionError(
                f"a {type(given).__name__} is nothing to group by; write a column's name or bins(...)"
            )
