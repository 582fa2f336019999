"""What the statistics share: the words for asking in Python and in SQL, and what the registry holds of each.

Conditions are SQL text or built with `col`, `&`, `|` and `~`; values are column names or arithmetic on columns.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import date
from typing import Any, Final, TypeAlias, TypedDict

from sqlglot import exp

from lapwing.queries.catalogue import LONGEST_NAME
from lapwing.queries.expressions import (
    EVERYONE,
    Age,
    By,
    Condition,
    DatePart,
    Literal,
    Name,
    Spelled,
    TruthOf,
    Value,
    col,
    condition,
    value,
)
from lapwing.queries.joined import Has, Join, PerPerson
from lapwing.queries.planning import Question
from lapwing.queries.sql_conditions import Reader, read_condition, read_group, read_value
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_int, exact, require_words
from lapwing.vocabulary.frozen import frozen

ConditionLike: TypeAlias = str | Condition | Value | None
ValueLike: TypeAlias = str | Value | Condition
Grouping: TypeAlias = str | Value | Condition | By
Groupings: TypeAlias = Grouping | Iterable[Grouping]


class GroupWords(TypedDict, total=False):
    """The words for groups: what to group by, and how many rows and groups of one person count."""

    by: Groupings
    max_rows: int | None
    max_groups: int | None


def rows_of(
    table: str,
    where: ConditionLike,
    *,
    by: Groupings = (),
    max_rows: int | None = None,
    max_groups: int | None = None,
    **others: object,
) -> dict[str, Any]:
    """Return what all questions have, as the keywords of their nouns: which rows, and how to group them.

    >>> rows_of("visits", None, max_row=3)
    Traceback (most recent call last):
    ...
    lapwing.errors.BadQuestionError: there is no max_row= here; write max_rows=
    """
    require_words(others, ["where", *GroupWords.__annotations__])
    given = {"max_rows": max_rows, "max_groups": max_groups}
    return {"table": table, "where": as_condition(where), "by": as_groups(by), **given}


def has(table: str, where: ConditionLike = None, *, at_least: int = 1) -> Has:
    """Say that the same person has at least `at_least` rows in `table` for which `where` is true.

    >>> from lapwing.queries.statistics.counts import count
    >>> count("patients", has("visits", "kind = 'ER'", at_least=2) & (col("sex") == "F")).table
    'patients'
    """
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


def by_year(column: str | Name) -> By:
    """Group a column of days by calendar year."""
    return By(column=DatePart("year", as_name(column)))


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
WHERE: Final = frozenset({"where"})
GROUPED: Final = WHERE | {"by", "max_rows", "max_groups"}


@frozen()
class Selected:
    """What the statistics of one SELECT are about: its rows and its groups, and the reader of what they name."""

    reader: Reader
    table: str
    alias: str
    columns: tuple[str, ...] | None
    joins: tuple[Join, ...]
    each: Name | None
    """The column for each of whose values DISTINCT or GROUP BY left one row: the person's, or it is refused."""
    where: Condition
    by: tuple[By, ...]
    max_rows: int | None
    max_groups: int | None
    kept: Condition = EVERYONE

    @property
    def common(self) -> dict[str, Any]:
        """What all questions have, as keywords."""
        names = ("table", "alias", "columns", "joins", "where", "kept", "by", "max_rows", "max_groups", "each")
        return {name: getattr(self, name) for name in names}


SqlWord: TypeAlias = type[exp.Expr] | str
"""A function of SQL: the node that the parser makes of it, or its name where the parser does not know it.

`exp.Distinct` stands for count(distinct ...).
"""


@frozen()
class Statistic:
    """A statistic that can be named.

    Parameters
    ----------
    name : what the command line calls it
    ask : its builder, which takes a table, then columns, then options by name
    result : the name of the column of its answer
    other_results : that name, where its builder returns one of these questions
    columns : how many columns follow its table
    options : which of where, by, max_rows, max_groups, at, k and steps it takes
    needs : an option that it cannot do without, as it is written
    sql : its words in SQL, each with a name for the column and what reads it
    """

    name: str
    ask: Callable[..., Question]
    result: str
    other_results: Mapping[type[Question], str] = field(default_factory=dict)
    columns: int = 0
    options: frozenset[str] = GROUPED
    needs: Mapping[str, str] = field(default_factory=dict)
    sql: Mapping[SqlWord, tuple[str, Callable[[Selected, Any], Question]]] = field(default_factory=dict)

    def result_of(self, question: Question) -> str:
        """Return the name of the column in which a question of this statistic is answered."""
        return self.other_results.get(type(question), self.result)

    @property
    def shape(self) -> str:
        """How it is asked for at the command line."""
        return " ".join([self.name, "TABLE", *["COLUMN"] * self.columns])
