"""What may be asked: one noun for each statistic, as it was put, before any name is looked up.

`planning` turns a question into a plan, or refuses it. `asking` has the words for putting them in Python, `sql` reads
them from SQL.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from lapwing.queries.expressions import EVERYONE, Condition, Literal, Name, Value, Year
from lapwing.queries.plan import Moment


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class By:
    """What to group by: the declared values of a column, its years, or its bins between `edges`.

    Edges rise; a bin holds its lower edge and not its upper, but the last holds both.
    """

    column: Name | Year
    edges: tuple[Literal, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuestionBase:
    """What every question has: a table, which of its rows, and how to group them.

    `alias` is what it calls the row, and `columns` are those it may name, where WITH chose some.
    """

    table: str
    alias: str | None = None
    columns: tuple[str, ...] | None = None
    where: Condition = EVERYONE
    by: tuple[By, ...] = ()
    max_rows: int | None = None
    max_groups: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountPeople(QuestionBase):
    """The number of people who have such a row."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountRows(QuestionBase):
    """The number of such rows, counting at most `max_rows` of a person; of those with a value in `present` only.

    Unlike a condition, `present` says nothing about the groups: beside it, others may be counted.
    """

    present: Name | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sum(QuestionBase):
    """The total of a value, a person's part clipped to `max_rows` times its bounds."""

    value: Value


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Average(QuestionBase):
    """The mean, variance, covariance or correlation of one or two values."""

    moment: Moment
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranks(QuestionBase):
    """The values below which these fractions of the rows lie."""

    value: Value
    at: tuple[Fraction, ...]
    cells: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TopCategories(QuestionBase):
    """The `k` categories with the most people; `ranked_by` is what SQL ranks them by, which must count people too."""

    column: Name
    k: int
    ranked_by: "CountRows | CountDistinct | None" = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Funnel(QuestionBase):
    """The number of people who pass the first step, the first two, ... and all of them."""

    steps: tuple[Condition, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountDistinct(QuestionBase):
    """The number of different values in a column."""

    column: Name


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EnoughPeople(QuestionBase):
    """Whether at least `people` people have such a row."""

    people: int


Question: TypeAlias = (
    CountPeople | CountRows | Sum | Average | Ranks | TopCategories | Funnel | CountDistinct | EnoughPeople
)
