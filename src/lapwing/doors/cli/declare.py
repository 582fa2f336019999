"""Commands that declare a workspace (`lapwing init`) and its tables (`lapwing add`, `lapwing remove`).

A workspace is made from options or, at a terminal, from questions, which end with the options that say the same.
The columns of a table are options as well: --integer age=0..120 --category sex=F,M.
"""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import click

from lapwing.accounting.interpretation import budget_concerns
from lapwing.doors.cli.commands import facts, json_option, say, tell, waiting
from lapwing.doors.cli.options import Door, complete_tables, for_the_custodian
from lapwing.doors.cli.overview import hints
from lapwing.sources import named_source, require_no_password
from lapwing.vocabulary.errors import BadQuestionError, LapwingError, ParameterError, SettingsError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency
from lapwing.workspace.changing import remove_table
from lapwing.workspace.creating import create
from lapwing.workspace.declaration import COLUMN_OPTIONS, KINDS, TABLE_OPTIONS, Declaration, Option
from lapwing.workspace.declaring import declare, read_option, read_options, write_option, written_values
from lapwing.workspace.draft import Draft, require_new
from lapwing.workspace.misfits import Misfit
from lapwing.workspace.settings import FILE, read_settings
from lapwing.workspace.toml import without_section
from lapwing.workspace.workspace import Workspace, open_workspace


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
@click.option(
    "--now", metavar="DAY", callback=lambda *given: _day(given[2]), help='The day that "age" is meant on: 2025-01-01.'
)
@click.option("--ledger", metavar="ADDRESS", help="Keep the account in PostgreSQL: postgresql://...")
@click.option(
    "--answers",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Ask nothing: take the answers, tables included, from a TOML or JSON file.",
)
@click.option("--template", is_flag=True, help="Ask nothing: write a lapwing.toml with comments, to be filled in.")
@json_option
def init(
    *,
    folder: Path | None,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    allow: tuple[str, ...],
    answers: Path | None,
    template: bool,
    as_json: bool,
    **said: Any,
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
    lapwing init trial --person-key id --epsilon 1 --now 2025-01-01
    lapwing init --answers answers.toml
    lapwing init clinic --template

    It costs nothing. The budget can be raised later, and never lowered.
    """
    budget = {"epsilon": epsilon, "delta": delta, "rho": rho}
    decided = {word: text for word, text in budget.items() if text is not None}
    draft = Draft(folder=folder, budget=decided, analysts=dict(map(_allowance, allow)), **said)
    if folder is not None:
        require_new(folder)
    if answers is not None:
        from lapwing.doors.cli.wizard import answered

        draft = answered(answers, draft)
    require_no_password("ledger", draft.ledger or "")
    if template:
        _write_template(draft, as_json=as_json)
    elif not draft.missing:
        _make(draft, as_json=as_json)
    elif answers or as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        where = "The file of answers is not all of it" if answers else "There is no terminal to ask at"
        raise click.UsageError(
            f"{where}, and these are missing: {', '.join(draft.missing)}. Write them, or write --template for a "
            "lapwing.toml to be filled in by hand.",
            click.get_current_context(),
        )
    else:
        _make_by_questions(draft)


def _day(given: str | None) -> date | None:
    try:
        return None if given is None else date.fromisoformat(given)
    except ValueError:
        raise ParameterError("--now", given, reason="is no day", remedy="write --now 2025-01-01") from None


def _allowance(given: str) -> tuple[str, dict[str, str]]:
    analyst, _, epsilon = given.rpartition("=")
    if not analyst:
        raise ParameterError("allow", given, reason="is not NAME=EPSILON", remedy="write --allow ana=1")
    return analyst, {"epsilon": epsilon}


def _make_by_questions(draft: Draft) -> None:
    """Ask at the terminal, show what would be written, and write it after a yes."""
    from lapwing.doors.cli.wizard import complete, confirm

    try:
        whole = complete(draft)
        agreed = confirm(whole)
    except click.Abort:
        say("\nlapwing: stopped; nothing was written", err=True)
        click.get_current_context().exit(130)
    if not agreed:
        say("Nothing was written. The same, without questions:\n\n" + _without_questions(whole))
        return
    try:
        _make(whole, as_json=False)
    except Exception:
        say("No workspace was made. To say all of it again, corrected:\n\n" + _without_questions(whole) + "\n")
        raise
    say("\nThe same, without questions:\n\n" + _without_questions(whole))


def _without_questions(draft: Draft) -> str:
    """Return the commands that do the same without a question."""
    budget = [word for name, text in draft.budget.items() for word in (f"--{name}", text)]
    words = ["lapwing", "init", str(draft.place), "--population", draft.name]
    words += ["--person-key", str(draft.person_key), *budget]
    others = {"--adjacency": draft.adjacency, "--groups-of": draft.groups_of, "--ledger": draft.ledger}
    words += [word for name, given in others.items() if given is not None for word in (name, str(given))]
    words += [word for who, part in draft.analysts.items() for word in ("--allow", f"{who}={part['epsilon']}")]
    return "\n".join([shlex.join(words), *(shlex.join(_addition(draft, one)) for one in draft.tables)])


def _addition(draft: Draft, table: Declaration) -> list[str]:
    told = [(option, table.options.get(option.word)) for option in TABLE_OPTIONS]
    options = {option.on_the_line: None if entry is None else write_option(option, entry) for option, entry in told}
    given = {**table.source.options(table.name), **options}
    words = [word for name, entry in given.items() if entry is not None for word in (name, str(entry))]
    for name, column in table.columns.items():
        said = written_values(column)
        words += [f"--{column['type']}", f"{name}={said}" if said else name]
    for option in COLUMN_OPTIONS:
        declared = {name: one[option.word] for name, one in table.columns.items() if option.word in one}
        words += _option_words(option, declared)
    return ["lapwing", "add", table.name, *words, "-w", str(draft.place)]


def _option_words(option: Option, declared: Mapping[str, Any]) -> list[str]:
    """Return an option of columns as `lapwing add` takes it."""
    if option.is_flag:
        return [option.on_the_line, ",".join(declared)] if declared else []
    texts = [f"{name}={write_option(option, one)}" for name, one in declared.items()]
    return [word for text in texts for word in (option.on_the_line, text)]


def _make(draft: Draft, *, as_json: bool) -> None:
    with create(draft.place, draft.text()) as made:
        advice = budget_concerns(made.settings.declared().budget, draft.people)
        odd = made.misfits() if draft.tables else []
    first = draft.tables[0].name if draft.tables else None
    after = f"lapwing preview count {first} --epsilon 0.1" if first else "lapwing add TABLE --source FILE"
    _tell_made(draft, advice, made="the ledger, and the key of its streams", odd=odd, after=after, as_json=as_json)


def _write_template(draft: Draft, *, as_json: bool) -> None:
    """Write what is known, and the rest as comments; the account is made by `lapwing update`."""
    if draft.folder is None:
        raise click.UsageError("Missing argument 'FOLDER'.", click.get_current_context())
    draft.place.mkdir(parents=True, exist_ok=True)
    (draft.place / FILE).write_text(draft.text(), encoding="utf-8")
    after = f"edit {draft.place / FILE}, then lapwing update"
    _tell_made(draft, None, made="no account yet: fill in the settings first", after=after, as_json=as_json)


def _tell_made(
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
    lines = [("wrote", settings), ("made", made), *(("advice", one) for one in advice or ()), *hints(odd, draft.place)]
    tell(record, facts(*lines, ("next", f"{after} -w {draft.place}")), as_json=as_json)


def _declared(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a table, of the types of columns, and of columns."""
    many = {"multiple": True}
    types = [
        (f"--{name}", f"is_{name}", {"metavar": one.metavar, "help": one.help} | many) for name, one in KINDS.items()
    ]
    rows = [(one.on_the_line, f"table_{one.word}", _shown(one)) for one in TABLE_OPTIONS]
    rows += types + [(one.on_the_line, f"column_{one.word}", _shown(one) | many) for one in COLUMN_OPTIONS]
    for flag, name, words in reversed(rows):
        command = click.option(flag, name, **words)(command)
    return command


def _shown(option: Option) -> dict[str, Any]:
    kind = click.Choice([*option.choices]) if option.choices else click.IntRange(1) if option.kind is int else None
    return {"type": kind, "metavar": option.metavar, "help": option.help}


def _lists_read(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a table with lists for what is written as one."""
    lists = {option.word: option for option in TABLE_OPTIONS if option.kind is list}
    return {name: read_option(lists[name], said) if name in lists and said else said for name, said in given.items()}


def _under(prefix: str, said: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(prefix): given for name, given in said.items() if name.startswith(prefix)}


@click.command()
@click.argument("table")
@click.option("--source", type=click.Path(path_type=Path), help="A .parquet, .csv or .duckdb file.")
@click.option("--postgres", metavar="ADDRESS", help="A PostgreSQL database instead: postgresql://...")
@click.option("--name", "inner", metavar="NAME", help="The table's name there, if it is another.")
@click.option("--schema", default="public", show_default=True, help="Its schema in PostgreSQL.")
@_declared
@click.option("--number", multiple=True, hidden=True)
@click.option("--take-all", is_flag=True, help="All other columns too, with the type the file says, without bounds.")
@click.option("--replace", is_flag=True, help="Declare anew a table that is declared: what is not said again is gone.")
@for_the_custodian
def add(
    door: Door,
    *,
    table: str,
    source: Path | None,
    postgres: str | None,
    inner: str | None,
    schema: str,
    number: tuple[str, ...],
    take_all: bool,
    replace: bool,
    **said: Any,
) -> None:
    """Add a table: its place, its person key, its columns.

    Analysts see the columns that you declare, and no others. lapwing reads the names and types of the columns, never a
    row: bounds and categories that were looked up in the data would tell about the people in it. Choose bounds that you
    would have chosen without looking. Columns that you do not declare are written down as comments, for later.

    \b
    lapwing add patients --source patients.csv --integer age=0..120 \\
        --category sex=F,M --boolean cancer_survivor

    It costs nothing. Tables of one population share its budget.
    """
    settings = read_settings(door.folder)
    population = settings.declared(door.population)
    path = (*population.section.path, "tables", table)
    if replace:
        population.population.table(table)  # refuses one that is not there
    elif any(known.name == table for known in population.population.tables):
        line = population.section.document.line((*path, "columns"))
        raise BadQuestionError(
            f"table {table} is declared already; its columns are at line {line} of {FILE}: edit them, then "
            "lapwing update, or declare it anew with --replace"
        )
    for text in number:
        remedy = f"write --integer {text} for whole numbers, or --real {text}"
        raise click.UsageError(f"There is no option --number: {remedy}.", click.get_current_context())
    place = named_source(table, source=source, postgres=postgres, name=inner, schema=schema)
    stored = place.columns(table)
    found = declare(
        table,
        place,
        stored,
        options=_lists_read(_under("table_", said)),
        columns=read_options(_under("is_", said) | _under("column_", said)),
        usual=population.population.unit.person_key,
        people=population.population,
        take_all=take_all,
    )
    text = found.text(door.folder, population.population.name)
    written = _write(door.folder / FILE, text, population.population.name, table, out=path if replace else None)
    _tell_added(door, table, population.population.name, found, written)


@frozen(kw_only=False)
class _Written:
    """Failures of other tables, and misfits of the new one."""

    others: list[LapwingError]
    odd: list[Misfit]


def _write(place: Path, text: str, population: str, table: str, *, out: tuple[str, ...] | None) -> _Written:
    """Try the table, append it to lapwing.toml and bring the ledger along; a refusal leaves all as it was.

    The section that it comes instead of is taken `out`.
    """
    before = place.read_text(encoding="utf-8")
    kept = before if out is None else without_section(str(place), before, out)
    after = kept.rstrip("\n") + "\n" + text
    with _open_as_written(place.parent, after, table) as workspace:
        with waiting("opening the data"):
            found = workspace.try_update()
        place.write_text(after, encoding="utf-8")
        try:
            workspace.update_as_tried()
        except LapwingError:
            place.write_text(before, encoding="utf-8")
            raise
        odd = [] if found else workspace.misfits(population, table=table)
        return _Written(list(found.values()) or _unannounced(workspace, population), odd)


def _open_as_written(folder: Path, text: str, table: str) -> Workspace:
    """Open the workspace as it would be; a refusal names the table, because the line is in no file yet."""
    try:
        return open_workspace(folder, text)
    except SettingsError as refused:
        raise SettingsError(f"table {table}", 0, reason=refused.reason, remedy=refused.remedy) from None


def _unannounced(workspace: Workspace, population: str) -> list[LapwingError]:
    """Take down what the new table holds, and return what changed of the others."""
    try:
        workspace.check(population)
    except LapwingError as failure:
        return [failure]
    return []


def _tell_added(door: Door, table: str, population: str, found: Declaration, written: _Written) -> None:
    where = "" if door.folder == Path() else f" -w {door.folder}"
    rest = ", ".join(f"{name} ({kind or 'unknown type'})" for name, kind in found.left_out.items())
    door.tell(
        {
            "table": table,
            "population": population,
            "columns": found.columns_record(),
            "left_out": dict(found.left_out),
            "readable": True,
            "several_rows": any(one.kind == "several_rows" for one in written.odd),
            "findings": [one.to_dict() for one in written.odd],
            "others": [str(failure) for failure in written.others],
        },
        facts(
            ("added", f"{table}, to population {population}"),
            ("columns", ", ".join(found.columns) or "none: people can be counted, and nothing else"),
            ("left out", f"{rest}: comments in {FILE}; fill them in, then lapwing update" if rest else None),
            *hints(written.odd, door.folder),
            ("next", None if written.others else f"lapwing preview count {table} --epsilon 0.1{where}"),
            *(("but", f"no question is answered: {failure}") for failure in written.others),
        ),
    )


@click.command()
@click.argument("table", shell_complete=complete_tables)
@for_the_custodian
def remove(door: Door, *, table: str) -> None:
    """Take a table out of lapwing.toml, with its columns.

    Nobody can ask about it any more. Its data is left alone, and what was asked about it stays in the ledger. Under the
    same name it can be added again, with the person key that it had.

    \b
    lapwing remove patients

    It costs nothing, and gives nothing back: what it cost stays spent.
    """
    with door.workspace() as workspace:
        people = workspace.settings.declared(door.population).population
        known = people.table(table).name
        remove_table(workspace, people.name, known)
        left = [one.name for one in workspace.settings.declared(people.name).population.tables]
    door.tell(
        {"table": known, "population": people.name, "tables": left},
        facts(
            ("removed", f"{known}, from population {people.name}"),
            ("left", ", ".join(left) or "no table"),
            ("spent", "what it cost stays spent"),
        ),
    )
