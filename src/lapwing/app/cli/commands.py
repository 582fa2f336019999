"""The commands there are, and how a failure becomes a sentence and an exit code."""

import sys
from importlib import import_module
from typing import Any, Final

import click

from lapwing.vocabulary.errors import BudgetError, EngineError, LapwingError, LedgerError

COMMANDS: Final = {
    "demo": ("lapwing.app.cli.demo:demo", "Show what lapwing does, on a clinic that it makes up."),
}
"""Where each command is, and what the list of commands says of it: help loads none of them."""

EXIT_CODES: Final[dict[type[LapwingError], int]] = {BudgetError: 3, EngineError: 4, LedgerError: 5}
"""What a script can tell failures apart by; whatever is not listed was a bad question, or a bad setting: 2."""


class Commands(click.Group):
    """A group that loads a command when it is called, and tells failures in one sentence."""

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
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, sentence) for name, (_, sentence) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a failure is a sentence on standard error and an exit code."""
        try:
            return super().invoke(ctx)
        except LapwingError as failure:
            click.echo(f"lapwing: {failure}", err=True)
            sys.exit(exit_code(failure))


def exit_code(failure: LapwingError) -> int:
    """Return what the process ends with: 2 question, 3 budget, 4 engine, 5 ledger."""
    return next((code for kind, code in EXIT_CODES.items() if isinstance(failure, kind)), 2)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lapwing")
def main() -> None:
    """Ask a table of people questions, with differential privacy."""
