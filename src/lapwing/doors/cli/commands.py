"""The commands there are, how what they found is shown, and how a failure becomes a sentence and an exit code.

This module is all that `lapwing --help` loads: it must import nothing slower than click. Tables are as wide as the
terminal where there is one (or as $COLUMNS says), and as wide as they like in a pipe.
"""

import errno
import io
import json
import os
import re
import shlex
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import click

from lapwing import __version__
from lapwing.vocabulary.errors import (
    BudgetError,
    EngineError,
    LapwingError,
    LedgerError,
    ParameterError,
    UnavailableError,
)
from lapwing.vocabulary.wording import Call, Message, Setting, escaped, escaped_lines, is_printable

Thing = TypeVar("Thing")

_NARROWEST: Final = 40
_UNBOUNDED: Final = 100_000
_BOLD: Final = re.compile(r"(\x1b\[[01]m)")
"""The escape sequences that begin and end bold letters: the only ones that are printed."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def say(text: object, *, err: bool = False) -> None:
    """Print a text: the one place that does. Unprintable characters are escaped, wherever the text comes from.

    A name in a file, a sentence of a server or the path of a folder moves no cursor here. Headers of tables stay bold.
    """
    pieces = _BOLD.split(str(text))
    click.echo("".join(one if _BOLD.fullmatch(one) else escaped_lines(one) for one in pieces), err=err)


def say_record(record: Mapping[str, Any]) -> None:
    """Print one JSON object on a line; what is not printable in its texts is written as JSON writes it."""
    line = json.dumps(record, ensure_ascii=False)
    say(line if is_printable(line) else "".join(one if is_printable(one) else json.dumps(one)[1:-1] for one in line))


def tell(record: dict[str, Any], *blocks: str, as_json: bool) -> None:
    """Print one JSON object, or blocks of text with a blank line between them."""
    if as_json:
        say_record(record)
    else:
        say("\n\n".join(block for block in blocks if block))


def facts(*pairs: tuple[str, object]) -> str:
    """Return one line a fact, its label in front; long ones are wrapped, and what has no value is left out.

    >>> print(facts(("cost", "epsilon 0.1"), ("error", None), ("receipt", "lapwing:1")))
    cost     epsilon 0.1
    receipt  lapwing:1
    """
    shown = [(label, escaped_lines(str(value))) for label, value in pairs if value is not None]
    indent = 2 + max((len(label) for label, _ in shown), default=0)
    return "\n".join(_wrapped(value, label.ljust(indent), " " * indent) for label, value in shown)


def paragraph(text: str) -> str:
    """Return a text wrapped to the terminal, line by line."""
    return "\n".join(_wrapped(escaped(line), "", "") for line in text.removesuffix("\n").split("\n"))


def _wrapped(text: str, first: str, others: str) -> str:
    return textwrap.fill(
        text,
        width=max(_width(natural=100), _NARROWEST),
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,  # a receipt is copied in one piece
        break_on_hyphens=False,
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return a table: the first `left` columns to the left, the others, which are numbers, to the right.

    >>> print(table(["sex", "people"], [["F", "5,012"], ["男", "87"]]))
    sex  people
    F     5,012
    男       87
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    coloured = sys.stdout.isatty()
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for place, name in enumerate(header):
        drawn.add_column(Text(escaped(name)), justify="left" if place < left else "right", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(escaped(cell)) for cell in row))
    paper = io.StringIO()
    console = Console(file=paper, width=_width(natural=_UNBOUNDED), force_terminal=coloured, legacy_windows=False)
    console.print(drawn)
    return "\n".join(line.rstrip() for line in paper.getvalue().split("\n")).strip("\n")


def _width(*, natural: int) -> int:
    if os.environ.get("COLUMNS", "").isdecimal() or sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return natural


@contextmanager
def waiting(sentence: str) -> Iterator[None]:
    """Say on a terminal that something is being done, and for how long, as long as it is.

    Nothing else is told of a question that is being read: how much of the tables has been would be about the data.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    shown = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*shown, console=Console(stderr=True), transient=True) as clock:
        clock.add_task(escaped(sentence), total=None)
        yield


class Tick(Protocol):
    """A callback of progress: how much is done, and of how much if that was not known before."""

    def __call__(self, done: int, of: int | None = None, /) -> None:
        """Move the bar."""


@contextmanager
def progress(sentence: str, total: int | None = None) -> Iterator[Tick]:
    """Show a bar on a terminal, for what takes a while."""
    if not sys.stderr.isatty():
        yield lambda _, of=None: None  # noqa: ARG005 - there is no terminal
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(sentence, total=total)
        yield lambda done, of=None: bar.update(task, completed=done, total=of or total)


def each(things: Sequence[Thing], sentence: str) -> Iterator[Thing]:
    """Go through things that take a while each, with a bar."""
    with progress(sentence, len(things)) as tick:
        for done, thing in enumerate(things, start=1):
            yield thing
            tick(done)


EXIT_CODES: Final[dict[type[LapwingError], int]] = {BudgetError: 3, EngineError: 4, LedgerError: 5}
"""Exit codes of failures; one that is not listed is a bad question, or a bad setting: 2."""


Failure: TypeAlias = LapwingError | click.ClickException | OSError
"""Failures that are printed as a sentence. An `OSError` names a file that we could not write; none is an engine's."""


def exit_code(failure: Failure) -> int:
    """Return the exit code of a failure: 2 question, 3 budget, 4 engine, 5 ledger.

    >>> from lapwing.vocabulary.errors import SuspendedError
    >>> exit_code(SuspendedError("clinic"))
    3
    """
    return next((code for kind, code in EXIT_CODES.items() if isinstance(failure, kind)), 2)


def sentence_of(failure: Failure) -> str:
    """Return the sentence about a failure for people."""
    if isinstance(failure, UnavailableError):
        return f"lapwing: {failure}, in failures.log"
    if isinstance(failure, EngineError):
        return f"lapwing: {failure}, in failures.log; lapwing budget says whether it was charged"
    if isinstance(failure, LapwingError):
        return f"lapwing: {message_of(failure)}"
    if isinstance(failure, OSError):
        return f"lapwing: {failure.filename or 'this'} cannot be used: {failure.strerror}"
    hint = ""
    if isinstance(failure, click.UsageError) and failure.ctx is not None:
        if isinstance(failure, click.exceptions.NoArgsIsHelpError):
            return failure.ctx.get_help()
        hint = f"\nTry: {failure.ctx.command_path} --help"
        conditions = {"where", "steps"} & {parameter.name for parameter in failure.ctx.command.params}
        if conditions and "unexpected extra argument" in failure.format_message():
            hint = f'\nPut a condition in quotes: --where "age > 3"{hint}'
    return f"lapwing: {failure.format_message()}{hint}"


def failure_record(failure: Failure) -> dict[str, Any]:
    """Return the record of a failure for programs: a code, the exit code, the sentence, and the numbers in it.

    >>> from lapwing.vocabulary.errors import SuspendedError
    >>> told = failure_record(SuspendedError("clinic"))["error"]
    >>> told["code"], told["exit"], told["who"]
    ('suspended', 3, 'clinic')
    """
    if isinstance(failure, LapwingError):
        told = failure.to_dict(as_typed)
        return {"error": {"code": told.pop("code"), "exit": exit_code(failure), **told, "message": message_of(failure)}}
    if isinstance(failure, OSError):
        return {"error": {"code": "system", "exit": exit_code(failure), "message": sentence_of(failure)}}
    return {"error": {"code": "usage", "exit": exit_code(failure), "message": failure.format_message()}}


def refusal_record(refusal: LapwingError | None) -> dict[str, Any] | None:
    """Return the refusal in a preview, as the same failure is reported when it happens."""
    told: dict[str, Any] | None = None if refusal is None else failure_record(refusal)["error"]
    return told


_OPTIONS: Final = {
    **{name: f"--{name}" for name in ("epsilon", "delta", "rho", "within", "confidence", "where", "by", "at")},
    **{
        name: f"--{name}"
        for name in (
            "yeses",
            "questions",
            "population",
            "plot",
            "rehearse",
            "prior",
            "name",
            "analyst",
            "counts",
            "table",
            "cells",
        )
    },
    **{
        name: f"--{name.replace('_', '-')}"
        for name in ("max_rows", "max_groups", "person_key", "at_least", "up_to", "half_width", "checks", "key")
    },
    "steps": "--step",
    "k": "-k",
}
"""Options of the command line, by parameters of Python."""

_VERBS: Final = {"stream": "lapwing stream open", "lw.create": "lapwing init FOLDER", "lw.open": "-w FOLDER"}
"""Commands, by functions of Python."""


def as_typed(piece: Setting | Call) -> str:
    """Return a parameter as an option, and a call as a command, or as it stands in an option.

    >>> as_typed(Setting("max_rows", 3)), as_typed(Setting("table"))
    ('--max-rows 3', '--table')
    >>> as_typed(Call("bins", ("age", [0, 18, 65]))), as_typed(Call("stream", (Setting("at_least", 200), ...)))
    ('bins(age, 0, 18, 65)', 'lapwing stream open --at-least 200')
    """
    if isinstance(piece, Setting):
        said = "" if piece.value is None or piece.value is True else f" {piece.value}"
        return f"{_OPTIONS.get(piece.name, piece.name)}{said}"
    if piece.name in _VERBS:
        return " ".join([_VERBS[piece.name], *(as_typed(one) for one in piece.arguments if isinstance(one, Setting))])
    first, *rest = piece.arguments
    edges = (edge for one in rest if isinstance(one, list) for edge in one)
    return f"{piece.name}({', '.join([str(first), *('...' if edge is ... else repr(edge) for edge in edges)])})"


def message_of(failure: LapwingError) -> str:
    """Return the message and the remedy of a failure, with options in place of parameters."""
    if not isinstance(failure, ParameterError):
        return failure.spelled(as_typed)
    names = failure.name.split(", ")
    if not all(name in _OPTIONS or name.startswith("-") for name in names):
        return failure.spelled(as_typed)
    given = (
        ""
        if failure.given in (None, True) or len(names) > 1
        else f" {str(failure.given).strip() or repr(failure.given)}"
    )
    given = given if len(given) <= _LINE else f"{given[: _LINE - 3]}..."
    typed = ", ".join(_OPTIONS.get(name, name) for name in names)
    return f"{typed}{given} {Message(failure.reason, '; ', failure.remedy).spelled(as_typed)}"


_LINE: Final = 60


COMMANDS: Final = {
    "demo": ("lapwing.doors.cli.demo:demo", "Show what lapwing does, on a clinic that it makes up."),
    "tables": ("lapwing.doors.cli.overview:tables", "Say what may be asked about: tables, columns, bounds."),
    "preview": ("lapwing.doors.cli.ask:preview", "Say what a question would cost and how far off it would be."),
    "count": ("lapwing.doors.cli.ask:count", "Count people, in all or by groups."),
    "ask": ("lapwing.doors.cli.ask:ask", "Ask for any statistic, or whether there are at least N people."),
    "sql": ("lapwing.doors.cli.ask:sql", "Ask a SELECT of statistics."),
    "funnel": ("lapwing.doors.cli.ask:funnel", "Count who passes one condition after the other, for one price."),
    "choose": ("lapwing.doors.cli.ask:choose", "Say which of several named counts or totals is the largest."),
    "compare": ("lapwing.doors.cli.analysing:compare", "Compare two groups, with a p-value that knows the noise."),
    "survival": ("lapwing.doors.cli.analysing:survival", "Draw survival curves by arm, with the log-rank test."),
    "rows-a-person": (
        "lapwing.doors.cli.counting_rows:rows_a_person",
        "Say how many rows people have, and what max_rows cuts.",
    ),
    "regress": ("lapwing.doors.cli.regressing:regress", "Fit a linear, logistic or Poisson regression."),
    "estimate": ("lapwing.doors.cli.estimating:estimate", "Estimate any function of the custodian's own."),
    "graph": (
        "lapwing.doors.cli.graph:graph",
        "Count in a graph: edges, degrees, triangles or stars of a table of pairs.",
    ),
    "procedure": (
        "lapwing.doors.cli.procedures:procedure",
        "Find clusters, components or a tree from noisy sums.",
    ),
    "publish": ("lapwing.doors.cli.publishing:publish", "Publish many tables of people in one release."),
    "synthesize": ("lapwing.doors.cli.synthesizing:synthesize", "Make a table of made-up people from noisy tables."),
    "explore": ("lapwing.doors.cli.exploring:explore", "Count cohorts, free as long as a model is right about them."),
    "dashboard": ("lapwing.doors.cli.dashboards:dashboard", "Count people over time, and pay once."),
    "stream": ("lapwing.doors.cli.streams:stream", 'Ask "at least N people?" often, and pay for the yeses only.'),
    "train": ("lapwing.doors.cli.training:train", "Train a model of people by private gradient descent."),
    "survey": ("lapwing.doors.cli.surveying:survey", "Ask people whose own devices add the noise."),
    "budget": ("lapwing.doors.cli.overview:budget", "Say what was spent, what is reserved, and what is left."),
    "init": ("lapwing.doors.cli.declare:init", "Make a workspace: settings, account and key."),
    "join": ("lapwing.doors.cli.ledger:join", "Make a workspace on a second host, for a ledger in PostgreSQL."),
    "add": ("lapwing.doors.cli.declare:add", "Add a table: its place, its person key, its columns."),
    "remove": ("lapwing.doors.cli.declare:remove", "Take a table out; what it cost stays spent."),
    "check": ("lapwing.doors.cli.overview:check", "Tell what does not fit in the tables. Not private."),
    "update": ("lapwing.doors.cli.custodian:update", "Bring the account to what lapwing.toml says after an edit."),
    "requests": ("lapwing.doors.cli.requests:requests", "Ask for more budget, and see and decide who asked."),
    "advance": ("lapwing.doors.cli.custodian:advance", "Say publicly that the data of a table changed."),
    "suspend": ("lapwing.doors.cli.custodian:suspend", "Stop all spending, or one analyst's; or allow it again."),
    "recover": ("lapwing.doors.cli.custodian:recover", "Settle what a crash left behind."),
    "write-off": ("lapwing.doors.cli.custodian:write_off", "Charge what was released and is not in the ledger."),
    "board": ("lapwing.doors.cli.board:board", "State for an ethics board what is promised here, to print and sign."),
    "serve": ("lapwing.doors.cli.serve:serve", "Serve a workspace over HTTP, to people with roles."),
    "people": ("lapwing.doors.cli.serve:people", "Say who may come in to the server."),
    "history": ("lapwing.doors.cli.ledger:history", "Tell who asked what, when, and for how much."),
    "explain": (
        "lapwing.doors.cli.sceptic:explain",
        "Say why a question costs what it costs, or what an epsilon means.",
    ),
    "ledger": ("lapwing.doors.cli.ledger:ledger", "Show, check or export everything that was ever released."),
    "audit": ("lapwing.doors.cli.audit:audit", "Compute what every mechanism really gives away; catch known liars."),
    "attack": ("lapwing.doors.cli.sceptic:attack", "Attack exact answers, blurred answers and lapwing, and compare."),
    "completion": ("lapwing.doors.cli.options:completion", "Print what makes your shell complete commands."),
}
"""Where each command is, and what the list of commands says of it: help loads none of them."""

USERS: Final = {
    "To begin": ("demo", "completion"),
    "The analyst asks": (
        "tables",
        "preview",
        "count",
        "ask",
        "sql",
        "funnel",
        "choose",
        "compare",
        "survival",
        "rows-a-person",
        "regress",
        "estimate",
        "graph",
        "procedure",
        "publish",
        "synthesize",
        "explore",
        "dashboard",
        "stream",
        "train",
        "survey",
        "budget",
    ),
    "The custodian keeps": (
        "init",
        "join",
        "add",
        "remove",
        "check",
        "update",
        "advance",
        "history",
        "requests",
        "suspend",
        "recover",
        "write-off",
        "board",
        "serve",
        "people",
    ),
    "The sceptic checks": ("explain", "ledger", "audit", "attack"),
}
"""Who uses which command. What is listed nowhere is shown at the end."""


class Commands(click.Group):
    """A group that loads a command when it is called, and prints failures as one sentence, or as one JSON object."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click asks so
        """Return the commands in the order in which they are used."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click asks so
        """Load a command."""
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was typed; where there is none, say which may be meant."""
        if args[0] in COMMANDS or args[0].startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        raise click.UsageError(f"No such command {args[0]!r}.{_meant(args)}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click asks so
        """List the commands by who uses them, without loading them."""
        listed = {name for names in USERS.values() for name in names}
        rest = tuple(name for name in COMMANDS if name not in listed)
        for user, names in {**USERS, "More": rest}.items():
            lines = [(name, COMMANDS[name][1]) for name in names if name in COMMANDS]
            if lines:
                with formatter.section(user):
                    formatter.write_dl(lines)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run a command and end the process: 0, or 2 question, 3 budget, 4 engine, 5 ledger.

        A failure is a sentence on standard error; with `--json`, also one object on standard output.
        """
        given = list(sys.argv[1:] if args is None else args)
        options = given[: given.index("--")] if "--" in given else given
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _say  # a rounded price is reported in a sentence, without a line of code
                if any("\0" in word for word in given):
                    raise click.UsageError("there is a NUL in what was typed, which no file and no name has")
                code = super().main(given, *rest, **{**extra, "standalone_mode": False})
        except (LapwingError, click.ClickException, OSError) as failure:
            if isinstance(failure, OSError) and failure.errno == errno.EPIPE:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has closed the pipe
                sys.exit(1)
            if "--json" in options:
                say_record(failure_record(failure))
            say(sentence_of(failure), err=True)
            sys.exit(exit_code(failure))
        except click.Abort:
            say("lapwing: stopped; what was charged stays charged: see lapwing budget", err=True)
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


def _meant(words: Sequence[str]) -> str:
    """Return a suggestion for words that begin with no command: a statistic, or the nearest command."""
    from difflib import get_close_matches

    from lapwing.queries.statistics import STATISTICS

    if words[0] in STATISTICS:
        return f" A statistic is asked for with: lapwing ask {shlex.join(words)}"
    return "".join(f" Did you mean {near}?" for near in get_close_matches(words[0], COMMANDS, n=1))


def _say(message: Warning | str, *_: object, **__: object) -> None:
    say(f"lapwing: {message}", err=True)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.version_option(__version__)
def main() -> None:
    """Ask a table of people questions, with differential privacy.

    Every answer carries a little noise, so that it says (almost) the same whether or not any one person is in the
    table. Less noise costs more, and all costs add up to one budget for ever. You see price and error before you ask.

    \b
    lapwing preview count patients --where "age >= 65" --epsilon 0.1
    lapwing count patients --where "age >= 65" --epsilon 0.1

    Each command explains itself: lapwing count --help. They work on the workspace in the current folder, or in
    --workspace FOLDER, or in $LAPWING_WORKSPACE.
    """
