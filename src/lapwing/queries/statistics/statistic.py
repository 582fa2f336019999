"""What the statistics share: the words for groups, the rows of a SELECT, and what the registry holds of each."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Any, TypeAlias, TypedDict, get_args, get_origin, get_type_hints

from sqlglot import exp

from lapwing.queries.language.builders import ConditionLike, Groupings, as_condition, as_groups
from lapwing.queries.language.expressions import EVERYONE, By, Condition, Name
from lapwing.queries.language.joined import Join
from lapwing.queries.language.sql.reader import Reader
from lapwing.queries.planning.planner import Question
from lapwing.vocabulary.exact import require_words
from lapwing.vocabulary.frozen import frozen


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


@cache
def words_of(builder: Callable[..., Question]) -> dict[str, Any]:
    """Return the parameters of a builder in their order, with their types; `**grouped` stands for the words for groups.

    A parameter whose type is not said has that of the word for groups of its name, or Any.
    """
    hints = get_type_hints(GroupWords) | get_type_hints(builder)
    words: dict[str, Any] = {}
    for name, parameter in inspect.signature(builder).parameters.items():
        several = parameter.kind is parameter.VAR_KEYWORD
        words |= {word: hints.get(word, Any) for word in (GroupWords.__annotations__ if several else [name])}
    return words


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
    once: bool = False

    @property
    def common(self) -> dict[str, Any]:
        """What all questions have, as keywords."""
        names = ("table", "alias", "columns", "joins", "where", "kept", "by", "max_rows", "max_groups", "each", "once")
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
    needs : an option that it cannot do without, as it is written
    sql : its words in SQL, each with a name for the column and what reads it
    """

    name: str
    ask: Callable[..., Question]
    result: str
    other_results: Mapping[type[Question], str] = field(default_factory=dict)
    columns: int = 0
    needs: Mapping[str, str] = field(default_factory=dict)
    sql: Mapping[SqlWord, tuple[str, Callable[[Selected, Any], Question]]] = field(default_factory=dict)

    def result_of(self, question: Question) -> str:
        """Return the name of the column in which a question of this statistic is answered."""
        return self.other_results.get(type(question), self.result)

    @property
    def names(self) -> tuple[str, ...]:
        """What its builder calls its columns.

        >>> from lapwing.queries.statistics import STATISTICS
        >>> STATISTICS["correlation"].names, STATISTICS["count"].names
        (('x', 'y'), ())
        """
        return tuple(words_of(self.ask))[1 : 1 + self.columns]

    def takes_several(self, name: str) -> bool:
        """Return whether several columns may stand where its builder takes the one of this name.

        >>> from lapwing.queries.statistics import STATISTICS
        >>> STATISTICS["distinct"].takes_several("column"), STATISTICS["mean"].takes_several("of")
        (True, False)
        """
        return any(get_origin(one) is Sequence for one in get_args(words_of(self.ask)[name]))

    @property
    def options(self) -> dict[str, Any]:
        """The words that its builder takes beside the table and the columns, with their types.

        >>> from lapwing.queries.statistics import STATISTICS
        >>> sorted(STATISTICS["top"].options), STATISTICS["top"].options["k"]
        (['counts', 'k', 'max_groups', 'where'], <class 'int'>)
        """
        return dict(list(words_of(self.ask).items())[1 + self.columns :])

    def is_whole(self, option: str) -> bool:
        """Say whether an option is a whole number."""
        return self.options[option] in {int, int | None}

    @property
    def shape(self) -> str:
        """How it is asked for at the command line."""
        return " ".join([self.name, "TABLE", *["COLUMN"] * self.columns])
