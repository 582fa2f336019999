"""What the registry holds of each statistic: its name and arguments at the command line, and its words in SQL."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from sqlglot import exp

from lapwing.queries.expressions import Condition
from lapwing.queries.planning import Question
from lapwing.queries.questions import By
from lapwing.queries.sql_conditions import Reader

WHERE: Final = frozenset({"where"})
GROUPED: Final = WHERE | {"by", "max_rows", "max_groups"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """What the statistics of one SELECT are about: its rows and its groups, and the reader of what they name."""

    reader: Reader
    table: str
    alias: str
    columns: tuple[str, ...] | None
    where: Condition
    by: tuple[By, ...]
    max_rows: int | None
    max_groups: int | None

    @property
    def common(self) -> dict[str, Any]:
        """What all questions have, as keywords."""
        names = ("table", "alias", "columns", "where", "by", "max_rows", "max_groups")
        return {name: getattr(self, name) for name in names}


SqlWord: TypeAlias = type[exp.Expr] | str
"""A function of SQL: the node that the parser makes of it, or its name where the parser does not know it.

`exp.Distinct` stands for count(distinct ...).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """A statistic that can be named.

    Parameters
    ----------
    name : what the command line calls it
    ask : its builder, which takes a table, then columns, then options by name
    tells : the name of the column of its answer
    columns : how many columns follow its table
    options : which of where, by, max_rows, max_groups, at, k and steps it takes
    needs : an option that it cannot do without, as it is written
    sql : its words in SQL, each with a name for the column and what reads it
    """

    name: str
    ask: Callable[..., Question]
    tells: str
    columns: int = 0
    options: frozenset[str] = GROUPED
    needs: Mapping[str, str] = field(default_factory=dict)
    sql: Mapping[SqlWord, tuple[str, Callable[[Selected, Any], Question]]] = field(default_factory=dict)
