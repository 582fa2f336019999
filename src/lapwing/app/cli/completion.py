"""`lapwing completion`."""

import click
from click.shell_completion import get_completion_class

from lapwing.app.cli.options import json_option
from lapwing.app.cli.showing import tell
from lapwing.vocabulary.errors import ParameterError

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
