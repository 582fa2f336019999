"""What the statistics share: the words for asking in Python and in SQL, and what the registry holds of each.

Conditions are SQL text or built with `col`, `&`, `|` and `~`; values are column names or arithmetic on columns.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final, TypeAlias

from lapwing.queries.catalogue.population import LONGEST_NAME
from lapwing.queries.language.expressions import (
    EVERYONE,
    Age,
    Applied,
    By,
    Condition,
    Literal,
    Name,
    Spelled,
    TruthOf,
    Value,
    col,
    condition,
    value,
)
from lapwing.queries.language.joined import Has, PerPerson, check_table_name
from lapwing.queries.language.sql.reader import read_condition, read_group, read_value
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_int, exact

ConditionLike: TypeAlias = str | Condition | Value | None
ValueLike: TypeAlias = str | Value | Condition
Grouping: TypeAlias = str | Value | Condition | By
Groupings: TypeAlias = Grouping | Iterable[Grouping]


def has(table: str, where: ConditionLike = None, *, at_least: int = 1) -> Has:
    """Say that the same person has at least `at_least` rows in `table` for which `where` is true.

    >>> from lapwing.queries.statistics.counts import count
    >>> count("patients", has("visits", "kind = 'ER'", at_least=2) & (col("sex") == "F")).table
    'patients'
    """
    check_table_name(table)
    return Has(table, as_condition(where), as_int("at_least", at_least, most=2**20))


def age(born: "str | Value", at: "str | Value | date | None" = None) -> Age:
    """Return the completed years from the day `born` to the day `at`, both columns by name; "now" where not given."""
    when = col(at) if isinstance(at, str) else None if at is None else value(at)
    return Age(col(born) if isinstance(born, str) else born, when)


def number_of(table: str, where: ConditionLike = None, *, most: int | None = None) -> PerPerson:
    """Return how many rows in `table` the same person has for which `where` is true, at most `most`.

    Without `most` it is the number of rows that count in the table. It stands wherever a column does.

    >>> from lapwing.queries.statistics.counts import count
    >>> count("patients", by=number_of("visits", "kind = 'ER'", most=3)).table
    'patients'
    """
    check_table_name(table)
    return PerPerson("count", table, None, as_condition(where), table, most=_most(most))


def different_of(column: str | Name, where: ConditionLike = None, *, most: int | None = None) -> PerPerson:
    """Return how many different values the same person has in a column of another table, such as "visits.kind".

    `where` says in which rows, and more than `most` are not counted.
    """
    name = _of_table(column)
    return PerPerson("distinct", name.table or "", name, as_condition(where), name.table, most=_most(most))


def first_of(column: str | Name, where: ConditionLike = None) -> PerPerson:
    """Return the first day, or the least number, that the same person has in a column such as "visits.day"."""
    name = _of_table(column)
    return PerPerson("first", name.table or "", name, as_condition(where), name.table)


def last_of(column: str | Name, where: ConditionLike = None) -> PerPerson:
    """Return the last day, or the greatest number, that the same person has in a column such as "visits.day"."""
    name = _of_table(column)
    return PerPerson("last", name.table or "", name, as_condition(where), name.table)


def sum_of(column: str | Name, where: ConditionLike = None) -> PerPerson:
    """Return what the same person's rows add up to in a column such as "visits.cost"; each is clipped as declared.

    A condition compares the whole sum. A statistic of it takes the sum of as many rows as count in the table, or says
    its bounds: `clip(sum_of(visits.cost), 0, 5000)`.

    >>> from lapwing.queries.statistics.counts import count
    >>> count("patients", sum_of("visits.cost", "kind = 'ER'") >= 1000).table
    'patients'
    """
    name = _of_table(column)
    return PerPerson("sum", name.table or "", name, as_condition(where), name.table)


def mean_of(column: str | Name, where: ConditionLike = None) -> PerPerson:
    """Return the mean of the same person's rows in a column such as "visits.cost"; each is clipped as declared.

    >>> from lapwing.queries.statistics.counts import count
    >>> count("patients", mean_of("visits.cost", "kind = 'ER'") >= 100).table
    'patients'
    """
    name = _of_table(column)
    return PerPerson("mean", name.table or "", name, as_condition(where), name.table)


def _of_table(column: str | Name) -> Name:
    name = as_name(column)
    if name.table is None:
        raise BadQuestionError(f"{name.name!r} needs the table whose rows are meant; write visits.{name.name}")
    return name


def _most(given: int | None) -> Literal | None:
    return None if given is None else Literal(as_int("most", given, most=2**20))


def bins(column: str | Value, edges: Sequence[Exact | date] | int) -> By:
    """Group a column, or a value such as "age(born)", into bins between rising `edges`.

    Each holds its lower edge, the last both. A number stands for so many bins of the same width between the declared
    bounds, or between those that the condition leaves.

    >>> bins("age", [0, 18, 65, 120]).edges[1].value
    18
    """
    if isinstance(edges, int):
        return By(column=as_value(column), edges=(Literal(edges),))
    if len(edges) == 1:
        raise BadQuestionError("one edge makes no bin: edges must rise; write [0, 18, 65], or 3 for so many bins")
    return By(column=as_value(column), edges=tuple(_edge(edge) for edge in edges))


def by_year(column: str | Value) -> By:
    """Group a column of days, or a day such as `last_of("visits.day")`, by calendar year."""
    return By(column=Applied("year", column if isinstance(column, Value) else as_name(column)))


def as_condition(given: ConditionLike) -> Condition:
    """Return which rows are meant."""
    if given is None:
        return EVERYONE
    return read_condition(given) if isinstance(given, str) else condition(given)


def as_value(given: ValueLike) -> Value:
    """Return which value is meant; a text may be the name of a column, which the catalogue will know."""
    if not isinstance(given, str):
        return TruthOf(given) if isinstance(given, Condition) else given
    try:
        return Spelled(given, read_value(given))
    except BadQuestionError as refused:
        if len(given) > LONGEST_NAME:
            raise
        return Spelled(given, None, str(refused))


def as_name(given: str | Name) -> Name:
    """Return which column is meant."""
    if not isinstance(given, str | Name):
        raise BadQuestionError(f"a {type(given).__name__} is no column; write the column's name, or col(...)")
    return col(given) if isinstance(given, str) else given


def as_groups(given: Groupings) -> tuple[By, ...]:
    """Return what to group by."""
    several = [given] if isinstance(given, str | Value | Condition | By) else list(given)
    return tuple(_grouping(each) for each in several)


def _grouping(given: Grouping) -> By:
    match given:
        case By():
            return given
        case Value():
            return By(column=given)
        case Condition():
            return By(column=TruthOf(given))
        case str() if _BINS.match(given):
            return read_group(given)
        case str():
            return By(column=as_value(given))
        case _:
            raise BadQuestionError(
                f"a {type(given).__name__} is nothing to group by; write a column's name or bins(...)"
            )


def _edge(given: Exact | date) -> Literal:
    # A text is a decimal, as everywhere; where it is none, it may be a day.
    is_day = isinstance(given, date) or (isinstance(given, str) and given.count("-") == len("--"))
    edge = value(given) if is_day else value(exact("edge", given))
    if not isinstance(edge, Literal):
        raise BadQuestionError("the edges of bins are constants; write numbers or days")
    return edge


_BINS: Final = re.compile(r"\s*bins\s*\(", re.IGNORECASE)
