"""The commands there are, and how a failure becomes a sentence and an exit code.

This module is all that `lapwing --help` loads: it must import nothing slower than click.
"""

import errno
import json
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import click

from lapwing.app.cli.failures import exit_code, failure_record, sentence_of
from lapwing.vocabulary.errors import LapwingError

COMMANDS: Final = {
    "demo": ("lapwing.app.cli.demo:demo", "Show what lapwing does, on a clinic that it makes up."),
    "tables": ("lapwing.app.cli.tables:tables", "Say what may be asked about: tables, columns, bounds."),
    "preview": ("lapwing.app.cli.preview:preview", "Say what a question would cost and how far off it would be."),
    "count": ("lapwing.app.cli.count:count", "Count people, in all or by groups."),
    "ask": ("lapwing.app.cli.ask:ask", "Ask for any statistic, or whether there are at least so many."),
    "sql": ("lapwing.app.cli.sql:sql", "Ask a SELECT of statistics."),
    "funnel": ("lapwing.app.cli.funnel:funnel", "Count who passes one condition after the other, for one price."),
    "stream": ("lapwing.app.cli.stream:stream", 'Ask "at least so many?" often, and pay for the yeses only.'),
    "budget": ("lapwing.app.cli.budget:budget", "Say what was spent, what is held, and what is left."),
    "init": ("lapwing.app.cli.init:init", "Make a workspace: settings, account and key."),
    "add": ("lapwing.app.cli.add:add", "Add a table: its place, its person key, its columns."),
    "update": ("lapwing.app.cli.update:update", "Bring the account to what lapwing.toml says after an edit."),
    "advance": ("lapwing.app.cli.advance:advance", "Say publicly that the data of a table changed."),
    "suspend": ("lapwing.app.cli.suspend:suspend", "Stop all spending, or one analyst's; or allow it again."),
    "recover": ("lapwing.app.cli.recover:recover", "Settle what a crash left behind."),
    "explain": ("lapwing.app.cli.explain:explain", "Say why a question costs what it costs, or what an epsilon means."),
    "ledger": ("lapwing.app.cli.ledger:ledger", "Show, check or export everything that was ever released."),
    "audit": ("lapwing.app.cli.audit:audit", "Compute what every mechanism really gives away; catch known liars."),
    "attack": ("lapwing.app.cli.attack:attack", "Attack exact answers, blurred answers and lapwing, and compare."),
    "completion": ("lapwing.app.cli.completion:completion", "Print what makes your shell complete commands."),
}
"""Where each command is, and what the list of commands says of it: help loads none of them."""

USERS: Final = {
    "To begin": ("demo", "completion"),
    "The analyst asks": ("tables", "preview", "count", "ask", "sql", "funnel", "stream", "budget"),
    "The custodian keeps": ("init", "add", "update", "advance", "suspend", "recover", "serve"),
    "The sceptic checks": ("explain", "ledger", "audit", "attack"),
}
"""Who uses which command. What is listed nowhere is shown at the end."""


class Commands(click.Group):
    """A group that loads a command when it is called, and tells failures in one sentence, or in one JSON object."""

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
                warnings.showwarning = _say  # a rounded price is told in a sentence, without a line of code
                code = super().main(given, *rest, **{**extra, "standalone_mode": False})
        except (LapwingError, click.ClickException, OSError) as failure:
            if isinstance(failure, OSError) and failure.errno == errno.EPIPE:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever was reading has left
                sys.exit(1)
            if "--json" in options:
                click.echo(json.dumps(failure_record(failure), ensure_ascii=False))
            click.echo(sentence_of(failure), err=True)
            sys.exit(exit_code(failure))
        except click.Abort:
            click.echo("lapwing: stopped; what was charged stays charged: see lapwing budget", err=True)
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


def _say(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"lapwing: {message}", err=True)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.version_option(package_name="lapwing")
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
