"""Names that a shell can complete: cheap to find, public, and none at all where the workspace cannot be read."""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click

from lapwing.app.settings import Settings, read_settings
from lapwing.vocabulary.errors import LapwingError


def populations(ctx: click.Context) -> list[str]:
    """Return the populations of the workspace."""
    return _of_settings(ctx, lambda settings: list(settings.populations))


def tables(ctx: click.Context) -> list[str]:
    """Return the tables of all populations of the workspace."""
    return _of_settings(
        ctx, lambda settings: [t.name for one in settings.populations.values() for t in one.population.tables]
    )


def streams(ctx: click.Context) -> list[str]:
    """Return the streams that a ledger in a file has had; one in a database is not asked while somebody types."""

    def names(settings: Settings) -> list[str]:
        place = Path(settings.ledger)
        if not place.is_file():
            return []
        with sqlite3.connect(f"{place.absolute().as_uri()}?mode=ro", uri=True) as connection:
            rows = connection.execute("select record ->> 'stream' from entries where record ->> 'kind' = 'opening'")
            return [str(name) for (name,) in rows]

    return _of_settings(ctx, names)


def _of_settings(ctx: click.Context, names: Callable[[Settings], list[str]]) -> list[str]:
    with suppress(LapwingError, OSError, sqlite3.Error):
        return names(read_settings(Path(ctx.params.get("folder") or ".")))
    return []
