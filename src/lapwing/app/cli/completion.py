"""What a shell completes: `lapwing completion`, and the names that are public, found without loading anything slow."""

import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from lapwing.app.cli.commands import json_option, tell
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


_ELSEWHERE = "elsewhere"  # as in lapwing.queries.catalogue, which is slow to load


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
