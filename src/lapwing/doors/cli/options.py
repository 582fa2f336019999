"""Options that many commands share, the door they lead to, and what a shell completes of them.

One spelling and one explanation for each. Completing finds names that are public, without loading anything slow.
"""

import functools
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import get_completion_class

from lapwing.doors.cli.commands import json_option, tell
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.frozen import frozen

if TYPE_CHECKING:
    from lapwing.session import Session
    from lapwing.workspace.workspace import Workspace


_HOW = {
    "bash": 'eval "$(lapwing completion bash)"',
    "zsh": 'eval "$(lapwing completion zsh)"',
    "fish": "lapwing completion fish | source",
}


@click.command()
@click.argument("shell", type=click.Choice(list(_HOW)))
@json_option
@click.pass_context
def completion(ctx: click.Context, shell: str, *, as_json: bool) -> None:
    """Print what makes your shell complete commands, tables and streams.

    Put one of these lines into the start-up file of your shell:

    \b
    eval "$(lapwing completion bash)"
    eval "$(lapwing completion zsh)"
    lapwing completion fish | source

    It costs nothing, and completes only what is declared publicly.
    """
    kind = get_completion_class(shell)
    if kind is None:  # pragma: no cover - click has all three
        raise ParameterError("shell", shell, reason="is unknown", remedy="write bash, zsh or fish")
    script = kind(ctx.find_root().command, {}, "lapwing", "_LAPWING_COMPLETE").source()
    tell({"shell": shell, "script": script, "how": _HOW[shell]}, script, as_json=as_json)


_ELSEWHERE = "elsewhere"  # as in lapwing.queries.catalogue.population, which is slow to load


def _completing(find: Callable[[click.Context], list[str]]) -> Any:
    """Return a function that completes names of the workspace; an unusable workspace completes nothing."""
    return lambda ctx, _, incomplete: [name for name in find(ctx) if name.startswith(incomplete)]


@_completing
def complete_populations(ctx: click.Context) -> list[str]:
    """Return the populations of the workspace."""
    return list(_populations(ctx))


@_completing
def complete_tables(ctx: click.Context) -> list[str]:
    """Return the tables of all populations of the workspace."""
    return [table for one in _populations(ctx).values() for table in _section(one, "tables")]


@_completing
def complete_segments(ctx: click.Context) -> list[str]:
    """Return the segments of all populations of the workspace, and the one of everybody who is in none of them."""
    found = [segment for one in _populations(ctx).values() for segment in _section(one, "segments")]
    return [*found, _ELSEWHERE] if found else []


@_completing
def complete_streams(ctx: click.Context) -> list[str]:
    """Return the streams that a ledger in a file has had; one in a database is not asked while somebody types."""
    from lapwing.ledger.sqlite import stream_names

    return stream_names(_folder(ctx) / str(_settings(ctx).get("ledger", "ledger.db")))


def _folder(ctx: click.Context) -> Path:
    return Path(ctx.params.get("folder") or ".")


def _settings(ctx: click.Context) -> Mapping[str, Any]:
    with suppress(OSError, ValueError):
        return tomllib.loads((_folder(ctx) / "lapwing.toml").read_text(encoding="utf-8"))
    return {}


def _populations(ctx: click.Context) -> Mapping[str, Mapping[str, Any]]:
    declared = _section(_settings(ctx), "populations")
    return {name: _section(declared, name) for name in declared}


def _section(outer: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    inner = outer.get(name)
    return inner if isinstance(inner, dict) else {}


Command = TypeVar("Command", bound=Callable[..., Any])


@frozen()
class Door:
    """The workspace, population and analyst of a command, and the format of its output."""

    folder: Path
    population: str | None
    analyst: str | None
    segment: str | None = None
    as_json: bool
    concept_sets: tuple[str, ...] = ()

    @contextmanager
    def session(self) -> "Iterator[Session]":
        """Open the door for an analyst."""
        from lapwing.workspace.workspace import open as open_door

        with open_door(self.folder, self.population, analyst=self.analyst, segment=self.segment) as session:
            for given in self.concept_sets:
                name, _, file = given.partition("=")
                if not file:
                    reason, remedy = "names no file", "write --concept-set diabetes=ids.csv"
                    raise ParameterError("concept_set", given, reason=reason, remedy=remedy)
                session.concept_set(name, file)
            yield session

    @contextmanager
    def sessions(self) -> "Iterator[list[Session]]":
        """Open the door to the population that is named, or to all of them."""
        with self.workspace() as opened:
            names = [self.population] if self.population is not None else list(opened.settings.populations)
            yield [opened.session(name, analyst=self.analyst, segment=self.segment) for name in names]

    @contextmanager
    def workspace(self) -> "Iterator[Workspace]":
        """Open the workspace for its custodian."""
        from lapwing.workspace.workspace import open_workspace

        with open_workspace(self.folder) as opened:
            yield opened

    def tell(self, record: dict[str, Any], *blocks: str) -> None:
        """Print one JSON object, or the blocks for a person to read."""
        tell(record, *blocks, as_json=self.as_json)

    def tell_each(self, records: list[dict[str, Any]], *blocks: str) -> None:
        """Tell about populations: of one as itself, of several in a list."""
        self.tell(records[0] if len(records) == 1 else {"populations": records}, *blocks)


demo_budget_option = click.option(
    "--budget",
    "kind",
    type=click.Choice(["epsilon", "delta", "rho"]),
    default="epsilon",
    show_default=True,
    help="Of which kind the budget of the made-up clinic is: epsilon, epsilon with a delta, or rho.",
)
folder_option = click.option(
    "--workspace",
    "-w",
    "folder",
    envvar="LAPWING_WORKSPACE",
    default=".",
    type=click.Path(path_type=Path),
    help="The folder with lapwing.toml.  [default: $LAPWING_WORKSPACE, else the current folder]",
)
population_option = click.option(
    "--population",
    shell_complete=complete_populations,
    help="Which people are asked about, where the workspace has several populations.",
)
analyst_option = click.option("--analyst", envvar="LAPWING_ANALYST", help="Who asks.  [default: who is logged in]")
segment_option = click.option(
    "--segment",
    shell_complete=complete_segments,
    help="Ask about one segment of the population's public partition. Its budget pays; for a stream, all do.",
)


def at_the_door(command: Command) -> Command:
    """Give a command the options for workspace, population and analyst, as one `door`."""

    @folder_option
    @population_option
    @analyst_option
    @segment_option
    @json_option
    @functools.wraps(command)
    def with_door(
        *, folder: Path, population: str | None, analyst: str | None, segment: str | None, as_json: bool, **rest: Any
    ) -> Any:
        door = Door(folder=folder, population=population, analyst=analyst, segment=segment, as_json=as_json)
        return command(door=door, **rest)

    return with_door  # type: ignore[return-value]  # it takes other parameters, which click fills in


def for_the_custodian(command: Command) -> Command:
    """Give a command the options for workspace and population, as one `door`; it asks nothing, so has no analyst."""

    @folder_option
    @population_option
    @json_option
    @functools.wraps(command)
    def with_door(*, folder: Path, population: str | None, as_json: bool, **rest: Any) -> Any:
        return command(door=Door(folder=folder, population=population, analyst=None, as_json=as_json), **rest)

    return with_door  # type: ignore[return-value]  # see at_the_door


def priced(command: Command) -> Command:
    """Give a command the options of a target, as one `offer` for `Session.ask` and its like."""

    @click.option(
        "--epsilon", metavar="NUMBER", help="What to pay: 0.01 is little, 1 is a lot. Twice is twice as exact."
    )
    @click.option("--delta", metavar="NUMBER", help="With --epsilon, under a budget that has a delta, such as 1e-6.")
    @click.option(
        "--rho", metavar="NUMBER", help="Pay in rho, with Gaussian noise, under a budget that has rho or delta."
    )
    @click.option("--within", metavar="NUMBER", help="Pay as little as it takes to be off by at most this.")
    @click.option("--confidence", metavar="NUMBER", default="0.95", show_default=True, help="How sure of the error.")
    @functools.wraps(command)
    def with_offer(**given: Any) -> Any:
        words = ("epsilon", "delta", "rho", "within", "confidence")
        offer = {word: given.pop(word) for word in words}
        return command(offer={word: value for word, value in offer.items() if value is not None}, **given)

    return with_offer  # type: ignore[return-value]  # see at_the_door


def of_rows(command: Command) -> Command:
    """Give a command with an offer the number of rows that is supposed, for a mean within a margin."""

    @click.option("--rows", metavar="N", help="Of a mean --within a margin: about how many rows there are.")
    @functools.wraps(command)
    def with_rows(*, offer: Any, rows: str | None, **given: Any) -> Any:
        return command(offer=offer if rows is None else {**offer, "rows": rows}, **given)

    return with_rows  # type: ignore[return-value]  # see at_the_door


def with_concept_sets(command: Command) -> Command:
    """Give a command concept sets, which its `door` then knows."""

    @click.option(
        "--concept-set",
        "concept_sets",
        multiple=True,
        metavar="NAME=FILE",
        help="A file with one id a line, for conditions: concept in concept_set('NAME'). Repeatable.",
    )
    @functools.wraps(command)
    def with_sets(*, door: Door, concept_sets: tuple[str, ...], **rest: Any) -> Any:
        return command(door=replace(door, concept_sets=concept_sets), **rest)

    return with_sets  # type: ignore[return-value]  # see at_the_door


def answered(command: Command) -> Command:
    """Give a command the options of a question: a key, a rehearsal, a preview, a picture."""
    options = (
        click.option("--key", help="An idempotency key: the same key brings back the same answer, free, for ever."),
        click.option("--rehearse", is_flag=True, help="Answer from made-up rows: free, and about nobody."),
        click.option("--dry-run", is_flag=True, help="Say price and error, and ask nothing: free."),
        click.option("--csv", is_flag=True, hidden=True, expose_value=False, callback=_no_csv),
        plot_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


def _no_csv(_: click.Context, __: click.Parameter, given: bool) -> None:  # noqa: FBT001 - as click calls it
    """Name what there is in the place of a guess."""
    if given:
        raise click.UsageError("there is no --csv; write --json, or in Python answer.to_pandas().to_csv('answer.csv')")


def _drawable(_: click.Context, __: click.Parameter, plot: Path | None) -> Path | None:
    """Refuse a picture that could not be drawn before any work is done."""
    from lapwing.show.canvas import checked_path

    return None if plot is None else checked_path(plot)


plot_option = click.option(
    "--plot",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=_drawable,
    help="Draw it, too, into a .svg or .png file.",
)
where_option = click.option(
    "--where", metavar="CONDITION", help="Which people or rows, as in SQL. See docs/questions.md."
)


by_option = click.option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="Group by a column, bins(age, 0, 18, 65, 120) or year(born). Repeatable.",
)
max_rows_option = click.option(
    "--max-rows", metavar="N", help="How many rows of one person count, in tables of events."
)
max_groups_option = click.option(
    "--max-groups", metavar="N", help="In how many groups one person counts in tables of events."
)
steps_option = click.option(
    "--step", "steps", multiple=True, metavar="CONDITION", help="A condition of the funnel. Repeatable, in order."
)


@frozen()
class Words:
    """A question as typed at the command line, not parsed yet."""

    words: tuple[str, ...]
    options: Mapping[str, Any]

    def given(self) -> tuple[str, ...]:
        """Return the words, or refuse to go on without any."""
        self._require("nothing is asked; name a statistic and a table, or write a SELECT in quotes.")
        return self.words

    def table(self) -> str:
        """Return the table, where there is nothing but one and perhaps a condition."""
        self._require("no table is named.")
        others = [name for name, given in self.options.items() if given not in {None, ()} and name != "where"]
        if len(self.words) != 1 or others:
            raise ParameterError(
                "question",
                " ".join(self.words),
                reason="is more than a table and a condition",
                remedy="write --at-least N TABLE --where CONDITION",
            )
        return self.words[0]

    def _require(self, otherwise: str) -> None:
        if not self.words:
            raise click.UsageError(otherwise, click.get_current_context())


@click.command()
@where_option
@by_option
@max_rows_option
@max_groups_option
@steps_option
@click.option("--at", metavar="LIST", help="Which quantiles, such as 0.25,0.5,0.75.")
@click.option("--cells", metavar="N", help="How fine the grid of a quantile is: cells of the declared range.")
@click.option("--sketch", metavar="N", help="Count different values by the marks that they make in N buckets.")
@click.option("-k", metavar="N", help="How many of the top categories.")
@click.option("--counts", flag_value=True, default=None, help="The top categories with how many people they have.")
def _of_questions(**_: Any) -> None:
    """Hold the options of questions, which statistics take by these names (`Statistic.options`)."""


def any_question(command: Command) -> Command:
    """Give a command the words and the options of a question, as one `asked`."""

    @functools.wraps(command)
    def with_question(*, words: tuple[str, ...], **given: Any) -> Any:
        options = {str(option.name): given.pop(str(option.name)) for option in _of_questions.params}
        return command(asked=Words(words=words, options=options), **given)

    with_question.__dict__.setdefault("__click_params__", []).extend(reversed(_of_questions.params))
    return click.argument("words", nargs=-1, metavar="STATISTIC TABLE [COLUMN]... | SELECT")(with_question)  # type: ignore[return-value]  # it takes other parameters, which click fills in
