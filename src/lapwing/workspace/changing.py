"""Changes by custodians: entries of lapwing.toml, decisions on requests, new tables and new populations.

The ledger is updated each time: both are changed, or neither.

A custodian at a server need not own its machine. So a new table is a file in a folder where the workspace has
its data already, or stands in a database that it uses already; for others there is `lapwing add`.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Final

from lapwing.answers.budget import budget_record
from lapwing.ledger.budget_requests import BudgetRequest, Raise
from lapwing.queries.catalogue.population import Population
from lapwing.sources import DATABASES, FILES, FileSource, Source, named_source
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.frozen import frozen
from lapwing.workspace.declaration import Declaration
from lapwing.workspace.declaring import ColumnInput, declare
from lapwing.workspace.draft import Draft
from lapwing.workspace.settings import FILE
from lapwing.workspace.toml import with_entry, without_section
from lapwing.workspace.workspace import Workspace

_SUFFIXES: Final = (*FILES, DATABASES[0])
_MOST_FILES: Final = 1000


@frozen()
class NewTable:
    """A table to be added.

    Parameters
    ----------
    name : what it will be called
    file : one of the files of `files_of`
    beside : instead of a file: a table that is declared, in whose database the new one is; see `databases_of`
    inner : what it is called there, if it is another name
    schema : its schema there, if that is PostgreSQL
    options : what is declared of the table, by the words of `TABLE_OPTIONS`
    columns : what is declared of its columns; the others are left out
    """

    name: str
    file: str | None = None
    beside: str | None = None
    inner: str | None = None
    schema: str = "public"
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, ColumnInput] = field(default_factory=dict)


def decide(workspace: Workspace, population: str, entries: Mapping[tuple[str, ...], Any], *, by: str) -> None:
    """Change entries of a population in lapwing.toml, and bring the ledger along: both or neither.

    None takes an entry away. What `update` would refuse is refused, and so are what a program cannot change for sure,
    and settings that do not agree with the ledger: an edit that waits for an update is not brought along.
    """
    file = str(workspace.folder / FILE)

    def change(text: str) -> str:
        for entry, given in entries.items():
            text = with_entry(file, text, ("populations", population, *entry), given)
        return text

    workspace.rewrite(population, change, by=by)


def grant(workspace: Workspace, population: str, number: int, *, by: str = "custodian") -> BudgetRequest:
    """Raise the allowance of the analyst who asked, or the budget if there is none: in both places, or in neither.

    Settings that do not agree with the ledger are refused first: an update, on purpose, comes before a yes.
    """
    requests, due = workspace.ledger.budget_requests, list[Raise]()

    def change(text: str) -> str:  # under the lock: no other decision comes between
        request = requests.find(population, number)
        effect = requests.effect_of(request)
        if effect is None:
            reason = f"is {request.state}" if request.by else "is in another currency than the account"
            raise ParameterError("request", number, reason=reason, remedy="refuse it, or ask for a new one")
        due.append(effect)
        path: tuple[str, ...] = ("budget",) if effect.analyst is None else ("analysts", effect.analyst)
        written = tomllib.loads(text)["populations"][population]
        for name in path:
            written = written[name]
        entry = {**written, **budget_record(effect.after)}  # with the tables and the most of the analyst, if any
        return with_entry(str(workspace.folder / FILE), text, ("populations", population, *path), entry)

    workspace.rewrite(population, change, by=by, act=lambda: requests.grant(population, number, effect=due[-1], by=by))
    return requests.find(population, number)


def files_of(workspace: Workspace) -> list[str]:
    """Return the files that may become tables, as lapwing.toml names them: from its folder and the folders of its data.

    Those that are tables already come last.
    """
    declared = workspace.settings.populations.values()
    sources = [one for people in declared for one in people.sources.values() if isinstance(one, FileSource)]
    taken = {(workspace.folder / one.path).resolve() for one in sources}
    found = {name: path.resolve() in taken for name, path in _files(workspace).items()}
    return sorted(found, key=lambda name: (found[name], name))[:_MOST_FILES]


def _files(workspace: Workspace) -> dict[str, Path]:
    folder = workspace.folder
    places = {folder.resolve()}
    for declared in workspace.settings.populations.values():
        for source in declared.sources.values():
            if source.file is not None:
                places.add((folder / source.file).resolve().parent)
    found = {}
    for place in sorted(places):
        for path in place.iterdir() if place.is_dir() else ():
            if path.suffix in _SUFFIXES and path.is_file() and not path.name.startswith("."):
                found[FileSource(path=path).entry(folder)] = path
    return found


def databases_of(workspace: Workspace, population: str | None) -> list[str]:
    """Return the declared tables that stand in a database, where more tables may be.

    For a population that does not exist yet (None) they are those of all populations, as "clinic.patients".
    """
    return sorted(name for name, one in _sources(workspace, population).items() if one.neighbour(name, "public"))


def _sources(workspace: Workspace, population: str | None) -> Mapping[str, Source]:
    if population is not None:
        return workspace.settings.declared(population).sources
    everybody = workspace.settings.populations.items()
    return {f"{name}.{table}": source for name, one in everybody for table, source in one.sources.items()}


def columns_there(workspace: Workspace, population: str | None, new: NewTable) -> dict[str, str | None]:
    """Return the columns of a table that may be added, each with its kind where that is known; no row is read."""
    return _place(workspace, population, new).columns(new.name)


def add_table(workspace: Workspace, population: str, new: NewTable, *, by: str) -> Declaration:
    """Add a table to lapwing.toml and to the ledger: both or neither. What `lapwing add` would refuse is refused."""
    people = workspace.settings.declared(population).population
    if any(known.name == new.name for known in people.tables):
        raise BadQuestionError(f"table {new.name} is declared already; edit {FILE}, then lapwing update")
    table = _declared(new, _place(workspace, population, new), people.unit.person_key, people)
    text = table.text(workspace.folder, population)
    workspace.rewrite(population, lambda before: _with(before, text), by=by)
    return table


def remove_table(workspace: Workspace, population: str, table: str, *, by: str = "custodian") -> None:
    """Take a table out of lapwing.toml. What was asked about it stays in the ledger, and what it cost stays spent."""
    known = workspace.settings.declared(population).population.table(table).name
    file, path = str(workspace.folder / FILE), ("populations", population, "tables", known)
    workspace.rewrite(population, lambda text: without_section(file, text, path), by=by)


def create_population(workspace: Workspace, draft: Draft, new: NewTable, *, by: str) -> Declaration:
    """Open an account for the people of a draft, with their first table, in lapwing.toml and in the ledger: or neither.

    What `lapwing init` and `lapwing update` would refuse is refused: also data of another population, whose people
    would have two budgets.
    """
    name = draft.population or ""
    if name in workspace.settings.populations:
        remedy = "give it another name, or add a table to it"
        raise ParameterError("population", name[:200], reason="is there already", remedy=remedy)
    if "/" in name or name in {".", ".."}:  # its pages could not be reached, and its account would stay
        reason, remedy = "cannot be a part of an address", "write it without /, and not as . or .."
        raise ParameterError("population", name[:200], reason=reason, remedy=remedy)
    if _has_an_account(workspace, name):  # an update would raise its budget, and take its allowances away
        reason, remedy = f"has an account in the ledger, though {FILE} does not name it", "give it another name"
        raise ParameterError("population", name[:200], reason=reason, remedy=f"{remedy}, or write it into {FILE}")
    table = _declared(new, _place(workspace, None, new), str(draft.person_key), None)
    text = replace(draft, folder=workspace.folder, tables=(table,)).sections()
    workspace.rewrite(name, lambda before: _with(before, text), by=by)
    return table


def _has_an_account(workspace: Workspace, name: str) -> bool:
    """Say whether people of this name are protected already; without a table, an attempt ended half-way."""
    ledger = workspace.ledger
    return ledger.has(name) and bool(ledger.population(name).tables)


def _with(before: str, text: str) -> str:
    return before.rstrip("\n") + "\n" + text


def _declared(new: NewTable, source: Source, usual: str, people: Population | None) -> Declaration:
    """Return a table as lapwing.toml will have it; without people it is their first one."""
    stored = source.columns(new.name)
    known = stored.get(new.options.get("person_key") or usual)
    options = {**new.options, "key_type": None if known else new.options.get("key_type")}
    return declare(new.name, source, stored, options=options, columns=new.columns, usual=usual, people=people)


def _place(workspace: Workspace, population: str | None, new: NewTable) -> Source:
    if (new.file is None) == (new.beside is None):
        raise BadQuestionError("a new table is in a file, or beside another table in its database: name one of the two")
    inner = new.inner or new.name
    if new.file is not None:
        known = _files(workspace)
        if new.file not in known:
            remedy = "name a .csv, .parquet or .duckdb file beside lapwing.toml or its data; for others: lapwing add"
            raise ParameterError("file", new.file[:200], reason="is not there", remedy=remedy)
        return named_source(new.name, source=known[new.file], name=inner)
    source = _sources(workspace, population).get(new.beside or "")
    found = source and source.neighbour(inner, new.schema)
    if found is None:
        remedy = "name a table that is declared and stands in a database"
        raise ParameterError("beside", str(new.beside)[:200], reason="is in no database", remedy=remedy)
    return found
