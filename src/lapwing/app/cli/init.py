"""`lapwing init`: a workspace, from options or, at a terminal, from questions."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from lapwing.accounting.interpretation import budget_concerns
from lapwing.app.cli.commands import facts, json_option, tell
from lapwing.app.cli.overview import hints
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.guarantee import Adjacency
from lapwing.workspace.declaring import Draft, require_new
from lapwing.workspace.misfits import Misfit
from lapwing.workspace.settings import FILE, require_no_password
from lapwing.workspace.workspace import create


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), required=False)
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
@click.option("--template", is_flag=True, help="Ask nothing: write a lapwing.toml with comments, to be filled in.")
@json_option
def init(
    *,
    folder: Path | None,
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
    template: bool,
    as_json: bool,
) -> None:
    """Make a workspace: a folder with settings, an account and a key.

    A workspace protects a population: people who may be in several tables, under one budget that never comes back.
    Small budgets protect better: all answers together are at most 2.7 times as likely with one person's data as without
    it at epsilon 1, and 22,000 times at epsilon 10 (see lapwing explain epsilon 1).

    What is not said is asked at a terminal: where the tables are, what their columns hold, who is protected, the
    budget. The names and types of columns are read for it, and never a row. The lapwing.toml is shown before it is
    written. Where there is no terminal nothing is asked, and what is missing is named.

    \b
    lapwing init clinic --person-key patient_id --epsilon 3
    lapwing init clinic --template

    It costs nothing. The budget can be raised later, and never lowered.
    """
    budget = {"epsilon": epsilon, "delta": delta, "rho": rho}
    draft = Draft(
        folder=folder,
        population=population,
        person_key=person_key,
        budget={word: text for word, text in budget.items() if text is not None},
        adjacency=adjacency,
        groups_of=groups_of,
        people=people,
        ledger=ledger,
        analysts=dict(map(_allowance, allow)),
    )
    if folder is not None:
        require_new(folder)
    require_no_password("ledger", ledger or "")
    if template:
        _write_template(draft, as_json=as_json)
    elif not draft.missing:
        _make(draft, as_json=as_json)
    elif as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(
            f"There is no terminal to ask at, and these are missing: {', '.join(draft.missing)}. Write them, or write "
            "--template for a lapwing.toml to be filled in by hand.",
            click.get_current_context(),
        )
    else:
        _make_by_questions(draft)


def _allowance(given: str) -> tuple[str, dict[str, str]]:
    analyst, _, epsilon = given.rpartition("=")
    if not analyst:
        raise ParameterError("allow", given, reason="is not NAME=EPSILON", remedy="write --allow ana=1")
    return analyst, {"epsilon": epsilon}


def _make_by_questions(draft: Draft) -> None:
    """Ask at the terminal, show what would be written, and write it after a yes."""
    from lapwing.app.cli.wizard import complete, confirm, without_questions

    try:
        whole = complete(draft)
        agreed = confirm(whole)
    except click.Abort:
        click.echo("\nlapwing: stopped; nothing was written", err=True)
        click.get_current_context().exit(130)
    if not agreed:
        click.echo("Nothing was written. The same, without questions:\n\n" + without_questions(whole))
        return
    try:
        _make(whole, as_json=False)
    except Exception:
        click.echo("No workspace was made. To say all of it again, corrected:\n\n" + without_questions(whole) + "\n")
        raise
    click.echo("\nThe same, without questions:\n\n" + without_questions(whole))


def _make(draft: Draft, *, as_json: bool) -> None:
    with create(draft.place, draft.text()) as made:
        advice = budget_concerns(made.settings.declared().budget, draft.people)
        odd = made.misfits() if draft.tables else []
    first = draft.tables[0].name if draft.tables else None
    after = f"lapwing preview count {first} --epsilon 0.1" if first else "lapwing add TABLE --source FILE"
    _tell(draft, advice, made="the ledger, and the key of its streams", odd=odd, after=after, as_json=as_json)


def _write_template(draft: Draft, *, as_json: bool) -> None:
    """Write what is known, and the rest as comments; the account is made by `lapwing update`."""
    if draft.folder is None:
        raise click.UsageError("Missing argument 'FOLDER'.", click.get_current_context())
    draft.place.mkdir(parents=True, exist_ok=True)
    (draft.place / FILE).write_text(draft.text(), encoding="utf-8")
    after = f"edit {draft.place / FILE}, then lapwing update"
    _tell(draft, None, made="no account yet: fill in the settings first", after=after, as_json=as_json)


def _tell(
    draft: Draft,
    advice: tuple[str, ...] | None,
    *,
    made: str,
    after: str,
    odd: Sequence[Misfit] = (),
    as_json: bool,
) -> None:
    settings = draft.place / FILE
    record = {
        "workspace": str(draft.place),
        "population": draft.name,
        "settings": str(settings),
        "created": advice is not None,
        "advice": list(advice or ()),
    }
    lines = [("wrote", settings), ("made", made), *(("advice", one) for one in advice or ()), *hints(odd)]
    tell(record, facts(*lines, ("next", f"{after} -w {draft.place}")), as_json=as_json)
