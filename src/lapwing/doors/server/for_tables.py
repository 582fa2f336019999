"""How custodians add tables and people: from names and types of columns, and what they declare; no row is shown."""

from typing import Any

from lapwing.doors.server.calls import ServerCall
from lapwing.doors.server.for_custodians import sentences
from lapwing.doors.server.problems import ProblemError
from lapwing.vocabulary.errors import LapwingError, RegistrationError
from lapwing.workspace.changing import (
    NewTable,
    add_table,
    columns_there,
    create_population,
    databases_of,
    files_of,
)
from lapwing.workspace.declaration import TABLE_OPTIONS, Declaration
from lapwing.workspace.declaring import ColumnInput
from lapwing.workspace.draft import Draft


def list_sources(call: ServerCall) -> Any:
    """Return the files that may become tables, and the tables beside which there may be others."""
    workspace = call.server.state.workspace
    return {"files": files_of(workspace), "beside": databases_of(workspace, call.population)}


def list_all_sources(call: ServerCall) -> Any:
    """Return the files that may become the first table of new people, and the tables beside which there may be one."""
    workspace = call.server.state.workspace
    return {"files": files_of(workspace), "beside": databases_of(workspace, None)}


def show_columns(call: ServerCall) -> Any:
    """Return the columns of a table that may be added: their names, and their types where those are known."""
    return {"columns": _readable(lambda: columns_there(call.server.state.workspace, call.population, _new(call.body)))}


def show_new_columns(call: ServerCall) -> Any:
    """Return the columns of a table that may be the first one of new people, in the same way."""
    return {"columns": _readable(lambda: columns_there(call.server.state.workspace, None, _new(call.body)))}


def add(call: ServerCall) -> Any:
    """Add a table, in lapwing.toml and in the ledger."""
    state, new = call.server.state, _new(call.body)
    with sentences():
        found = _readable(lambda: add_table(state.workspace, call.population, new, by=call.person.id))
    state.renew()
    return _added(call, call.population, found)


def create(call: ServerCall) -> Any:
    """Open an account for new people, with their first table and their budget, in lapwing.toml and in the ledger."""
    state, body, table = call.server.state, call.body, _new(call.body.table)
    draft = Draft(
        population=body.name,
        person_key=body.person_key,
        budget=body.budget.entry(),
        adjacency=body.adjacency,
        groups_of=body.groups_of,
        only_named=not body.unnamed_analysts,
    )
    with sentences():
        found = _readable(lambda: create_population(state.workspace, draft, table, by=call.person.id))
    state.renew()
    return {"population": body.name, **_added(call, body.name, found)}


def _added(call: ServerCall, population: str, found: Declaration) -> dict[str, Any]:
    return {
        "table": found.name,
        "columns": found.columns_record(),
        "left_out": dict(found.left_out),
        "waits": _waits(call, population),
    }


def _readable(work: Any) -> Any:
    """Do something with a table that may not be readable, and say to the custodian why not."""
    try:
        return work()
    except RegistrationError as refused:
        raise ProblemError(422, refused.code, f"table {refused.table} {refused.reason}; {refused.remedy}") from None


def _waits(call: ServerCall, population: str) -> str | None:
    """Take down what the new table holds; return why questions have to wait, where another table changed meanwhile."""
    try:
        call.server.state.workspace.check(population)
    except LapwingError as failure:
        return str(failure)
    return None


def _new(body: Any) -> NewTable:
    words = body.words()
    options = {option.word: words.pop(option.word) for option in TABLE_OPTIONS if option.word in words}
    columns = {name: _said(one) for name, one in words.pop("columns", {}).items()}
    return NewTable(**words, options=options, columns=columns)


def _said(body: Any) -> ColumnInput:
    words = body.words()
    return ColumnInput(type=words.pop("type"), values=words.pop("values"), options=words)
