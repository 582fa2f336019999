"""The arguments of a question, for the commands that take any."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lapwing.app.cli.options import where_option
from lapwing.vocabulary.errors import ParameterError

if TYPE_CHECKING:
    from lapwing.app.cli.asking import Questions

Command = TypeVar("Command", bound=Callable[..., Any])

by_option = click.option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="Group by a column, bins(age, 0, 18, 65, 120) or year(born). Repeatable.",
)
max_rows_option = click.option(
    "--max-rows", metavar="N", help="How many rows of one person count, in tables of events."
)
max_groups_option = click.option("--max-groups", metavar="N", help="In how many groups one person counts, there.")
steps_option = click.option(
    "--step", "steps", multiple=True, metavar="CONDITION", help="A condition of the funnel. Repeatable, in order."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A question as it stands at the command line, not read yet."""

    words: tuple[str, ...]
    options: Mapping[str, Any]

    def question(self) -> "Questions":
        """Read it, or refuse it."""
        self.require("nothing is asked; name a statistic and a table, or write a SELECT in quotes.")
        from lapwing.app.cli.asking import question_of

        return question_of(self.words, **self.options)

    def table(self) -> str:
        """Return the table, where there is nothing but one and perhaps a condition."""
        self.require("no table is named.")
        others = [name for name, given in self.options.items() if given not in {None, ()} and name != "where"]
        if len(self.words) != 1 or others:
            raise ParameterError(
                "question",
                " ".join(self.words),
                reason="is more than a table and a condition",
                remedy="write --at-least N TABLE --where CONDITION",
            )
        return self.words[0]

    def require(self, otherwise: str) -> None:
        """Refuse to go on without any words."""
        if not self.words:
            raise click.UsageError(otherwise, click.get_current_context())


def any_question(command: Command) -> Command:
    """Give a command the words and the options of a question, as one `asked`."""

    @click.argument("words", nargs=-1, metavar="STATISTIC TABLE [COLUMN]... | SELECT")
    @where_option
    @by_option
    @max_rows_option
    @max_groups_option
    @steps_option
    @click.option("--at", metavar="LIST", help="Which quantiles, such as 0.25,0.5,0.75.")
    @click.option("-k", metavar="N", help="How many of the top categories.")
    @functools.wraps(command)
    def with_question(**given: Any) -> Any:
        names = ("where", "by", "max_rows", "max_groups", "steps", "at", "k")
        options = {name: given.pop(name) for name in names}
        return command(asked=Words(words=given.pop("words"), options=options), **given)

    return with_question  # type: ignore[return-value]  # it takes other parameters, which click fills in
