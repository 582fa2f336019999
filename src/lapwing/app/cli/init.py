"""`lapwing init`."""

from pathlib import Path

import click

from lapwing.accounting.advice import advise
from lapwing.app.cli.options import json_option
from lapwing.app.cli.showing import facts, tell
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.errors import LapwingError, ParameterError, SettingsError
from lapwing.workspace.addresses import require_no_password
from lapwing.workspace.settings import FILE, read_settings
from lapwing.workspace.settings_text import opening_text
from lapwing.workspace.workspace import create_workspace


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--population", help="What to call the people.  [default: the name of the folder]")
@click.option("--person-key", metavar="COLUMN", help="The column that tells people apart, in every table.")
@click.option("--epsilon", metavar="NUMBER", help="The budget: the lifetime cap of all answers to all analysts.")
@click.option("--delta", metavar="NUMBER", help="With --epsilon: an (epsilon, delta) budget.")
@click.option("--rho", metavar="NUMBER", help="A zero-concentrated budget instead.")
@click.option(
    "--allow", multiple=True, metavar="ANALYST=EPSILON", help="An analyst's part of a pure budget. Repeatable."
)
@click.option(
    "--adjacency", type=click.Choice([one.value for one in Adjacency]), help="Who is hidden among neighbours."
)
@click.option("--groups-of", metavar="N", type=click.IntRange(1), help="Protect groups of N, such as families.")
@click.option("--people", metavar="N", type=click.IntRange(1), help="About how many there are, for advice only.")
@click.option("--ledger", metavar="ADDRESS", help="Keep the account in PostgreSQL: postgresql://...")
@json_option
def init(
    folder: Path,
    *,
    population: str | None,
    person_key: str | None,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    allow: tuple[str, ...],
    adjacency: str | None,
    groups_of: int | None,
    people: int | None,
    ledger: str | None,
    as_json: bool,
) -> None:
    """Make a workspace: a folder with settings, an account and a key.

    A workspace protects a population: people who may be in several tables, under one budget that never comes back.
    Small budgets protect better: all answers together are at most 2.7 times as likely with one person's data as without
    it at epsilon 1, and 22,000 times at epsilon 10 (see lapwing explain epsilon 1). Without a budget it only writes a
    lapwing.toml with comments, to be filled in; then say lapwing update.

    \b
    lapwing init clinic --person-key patient_id --epsilon 3
    lapwing init clinic

    It costs nothing. The budget can be raised later, and never lowered.
    """
    place = folder / FILE
    if place.exists():
        raise SettingsError(
            str(place), 0, reason="is there already", remedy=f"edit it, then lapwing update -w {folder}"
        )
    require_no_password("ledger", ledger or "")
    budget = {word: text for word, text in (("epsilon", epsilon), ("delta", delta), ("rho", rho)) if text is not None}
    name = population or folder.resolve().name or "people"
    text = opening_text(
        name,
        person_key=person_key,
        budget=budget or None,
        adjacency=adjacency,
        groups_of=groups_of,
        ledger=ledger,
        analysts=dict(map(_allowance, allow)),
    )
    complete, advice = bool(budget) and person_key is not None, list[str]()
    folder.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
    if complete:
        try:
            settings = read_settings(folder)
        except LapwingError:
            place.unlink()
            raise
        create_workspace(folder).close()
        advice = [str(one) for one in advise(settings.declared().budget, people)]
    after = "lapwing add TABLE --source FILE" if complete else f"edit {place}, then lapwing update"
    tell(
        {"workspace": str(folder), "population": name, "settings": str(place), "created": complete, "advice": advice},
        facts(
            ("wrote", str(place)),
            ("made", "the ledger, and the key of its streams" if complete else "no account yet: there is no budget"),
            *(("advice", one) for one in advice),
            ("next", f"{after} -w {folder}"),
        ),
        as_json=as_json,
    )


def _allowance(given: str) -> tuple[str, dict[str, str]]:
    analyst, _, epsilon = given.rpartition("=")
    if not analyst:
        raise ParameterError("allow", given, reason="says no allowance", remedy="write --allow ana=1")
    return analyst, {"epsilon": epsilon}
