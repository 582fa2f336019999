"""Names that a shell can complete: public, found without loading anything slow; none where there is no workspace."""

import sqlite3
import tomllib
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import click

_ELSEWHERE = "elsewhere"  # as in lapwing.queries.segments, which is slow to load
_OPENED = "select record ->> 'stream' from entries where record ->> 'kind' = 'opening'"


def populations(ctx: click.Context) -> list[str]:
    """Return the populations of the workspace."""
    return list(_section(_settings(ctx), "populations"))


def tables(ctx: click.Context) -> list[str]:
    """Return the tables of all populations of the workspace."""
    declared = _section(_settings(ctx), "populations")
    return [table for name in declared for table in _section(_section(declared, name), "tables")]


def cells(ctx: click.Context) -> list[str]:
    """Return the cells of all populations of the workspace, and the one of everybody who is in none of them."""
    declared = _section(_settings(ctx), "populations")
    found = [cell for name in declared for cell in _section(_section(declared, name), "cells")]
    return [*found, _ELSEWHERE] if found else []


def streams(ctx: click.Context) -> list[str]:
    """Return the streams that a ledger in a file has had; one in a database is not asked while somebody types."""
    place = _folder(ctx) / str(_settings(ctx).get("ledger", "ledger.db"))
    address = f"{place.absolute().as_uri()}?mode=ro"
    with suppress(OSError, sqlite3.Error), closing(sqlite3.connect(address, uri=True)) as ledger:
        return [str(name) for (name,) in ledger.execute(_OPENED)]
    return []


def _folder(ctx: click.Context) -> Path:
    return Path(ctx.params.get("folder") or ".")


def _settings(ctx: click.Context) -> Mapping[str, Any]:
    with suppress(OSError, ValueError):
        return tomllib.loads((_folder(ctx) / "lapwing.toml").read_text(encoding="utf-8"))
    return {}


def _section(outer: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    inner = outer.get(name)
    return inner if isinstance(inner, dict) else {}
