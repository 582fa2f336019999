"""`lapwing update`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from lapwing.app.cli.declaring import several_rows
from lapwing.app.cli.options import folder_option, json_option
from lapwing.app.cli.showing import facts, tell, waiting
from lapwing.app.cli.telling import budget_words
from lapwing.ledger.ledger import Ledger
from lapwing.vocabulary.errors import LapwingError
from lapwing.workspace.settings import read_settings
from lapwing.workspace.workspace import KEY_FILE, Workspace, create_workspace, open_workspace

_REMOVAL = "delete its section in lapwing.toml, then lapwing update; the account goes on as it stands"


@click.command()
@folder_option
@json_option
def update(folder: Path, *, as_json: bool) -> None:
    """Bring the account to what lapwing.toml says after an edit.

    Nothing changes by itself: until you say so, a lapwing.toml that differs from the ledger answers no questions. New
    populations and tables are added, budgets rise, allowances change. What was spent stays spent, and who is protected
    never changes. The first time it makes the ledger and the key. Every table is opened: a new one that cannot be read
    is refused. A table whose section you delete can no longer be asked about, and what it cost stays spent.

    \b
    lapwing update

    It costs nothing.
    """
    settings = read_settings(folder)
    fresh = not (folder / KEY_FILE).exists() and not Path(settings.ledger).exists()
    before: dict[tuple[str, ...], str] = {}
    with _opened(folder, fresh=fresh) as workspace:
        with waiting("opening the data"):
            unreadable = {name: workspace.unreadable(name) for name in settings.populations}
            crowded = [table for name, found in unreadable.items() if not found for table in workspace.crowded(name)]
        if not fresh:
            _require_readable(workspace.ledger, unreadable)
            before = _standing(workspace.ledger)
            workspace.update()
        after = _standing(workspace.ledger)
    changes = [
        {"what": " ".join(what), "from": before.get(what), "to": after.get(what)}
        for what in {**before, **after}
        if before.get(what) != after.get(what)
    ]
    lines = [(str(one["what"]), _spoken(one)) for one in changes]
    failures = [str(failure) for found in unreadable.values() for failure in found.values()]
    but = [("but", f"no question is answered: {failure}. To do without it: {_REMOVAL}") for failure in failures]
    tell(
        {"created": fresh, "changes": changes, "unreadable": failures, "several_rows": crowded},
        facts(*lines) if lines else "Nothing to do: the ledger is as lapwing.toml says.",
        facts(*(("note", several_rows(table)) for table in crowded)) if crowded else "",
        facts(*but) if but else "",
        as_json=as_json,
    )


def _opened(folder: Path, *, fresh: bool) -> Workspace:
    return create_workspace(folder) if fresh else open_workspace(folder)


def _require_readable(ledger: Ledger, unreadable: Mapping[str, Mapping[str, LapwingError]]) -> None:
    """Refuse a new table that cannot be read: it would stop the questions about all others."""
    for population, found in unreadable.items():
        known = ledger.population(population).tables if population in ledger.populations() else {}
        for table, failure in found.items():
            if table not in known:
                raise failure


def _standing(ledger: Ledger) -> dict[tuple[str, ...], str]:
    """Return what the custodian has decided, in words."""
    standing: dict[tuple[str, ...], str] = {}
    for name in ledger.populations():
        decided = ledger.population(name)
        standing["population", name] = budget_words(ledger.account(name).budget)
        standing |= {("table", f"{name}.{table}"): f"version {version}" for table, version in decided.tables.items()}
        standing |= {
            ("analyst", f"{name}.{analyst}"): budget_words(one.allowance)
            for analyst, one in decided.analysts.items()
            if one.allowance
        }
    return standing


def _spoken(change: dict[str, Any]) -> str:
    if change["from"] is None:
        return f"new: {change['to']}"
    return f"{change['from']}, now {change['to'] or 'none'}"
