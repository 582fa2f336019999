"""`lapwing update`."""

from pathlib import Path
from typing import Any

import click

from lapwing.app.cli.options import folder_option, json_option
from lapwing.app.cli.showing import facts, tell
from lapwing.app.cli.telling import budget_words
from lapwing.app.settings import read_settings
from lapwing.app.workspace import KEY_FILE, Workspace, create_workspace, open_workspace
from lapwing.ledger.ledger import Ledger


@click.command()
@folder_option
@json_option
def update(folder: Path, *, as_json: bool) -> None:
    """Bring the account to what lapwing.toml says after an edit.

    Nothing changes by itself: until you say so, a lapwing.toml that differs from the ledger answers no questions. New
    populations and tables are added, budgets rise, allowances change. What was spent stays spent, and who is protected
    never changes. The first time it makes the ledger and the key.

    \b
    lapwing update

    It costs nothing.
    """
    settings = read_settings(folder)
    fresh = not (folder / KEY_FILE).exists() and not Path(settings.ledger).exists()
    before: dict[tuple[str, ...], str] = {}
    with _opened(folder, fresh=fresh) as workspace:
        if not fresh:
            before = _standing(workspace.ledger)
            workspace.update()
        after = _standing(workspace.ledger)
    changes = [
        {"what": " ".join(what), "from": before.get(what), "to": after.get(what)}
        for what in {**before, **after}
        if before.get(what) != after.get(what)
    ]
    lines = [(str(one["what"]), _spoken(one)) for one in changes]
    tell(
        {"created": fresh, "changes": changes},
        facts(*lines) if lines else "Nothing to do: the ledger is as lapwing.toml says.",
        as_json=as_json,
    )


def _opened(folder: Path, *, fresh: bool) -> Workspace:
    return create_workspace(folder) if fresh else open_workspace(folder)


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
