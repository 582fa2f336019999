"""What custodians do: people and invitations, stopping and resuming, new data, requests, and what went wrong."""

from typing import Any

from lapwing.app.server.calls import ServerCall
from lapwing.app.server.problems import ProblemError
from lapwing.app.server.roles import Role
from lapwing.vocabulary.errors import ParameterError
from lapwing.workspace.agreement import LOG

_LINES = 200


def list_people(call: ServerCall) -> Any:
    """List everybody."""
    return [person.to_dict() for person in call.server.people.everybody()]


def change_person(call: ServerCall) -> Any:
    """Change the name or the role of a person, or whether they may come in."""
    words = call.body.words()
    if "role" in words:
        words["role"] = role_of(words["role"])
    _require_known(call)
    return call.server.people.change(call.path["person"], **words).to_dict()


def revoke_tokens(call: ServerCall) -> Any:
    """End all tokens of a person."""
    _require_known(call)
    return {"revoked": call.server.people.revoke_tokens(call.path["person"])}


def invite(call: ServerCall) -> Any:
    """Invite somebody: the secret, and the link with it, are told this once."""
    body = call.body
    secret = call.server.people.invite(body.id, body.name, role_of(body.role), by=call.person.id)
    return {"id": body.id, "role": body.role, "secret": secret, "link": f"{call.server.address}/invitations/{secret}"}


def list_invitations(call: ServerCall) -> Any:
    """List who is invited and has not come yet."""
    return call.server.people.invitations()


def suspend(call: ServerCall) -> Any:
    """Stop the spending of everybody or of one analyst, or allow it again."""
    administration, words = call.server.house.ledger.administration, call.body.words()
    switch = administration.suspend if words.pop("suspended") else administration.resume
    receipt = switch(call.population, words.get("analyst"), by=call.person.id)
    return {"receipt": str(receipt)}


def advance_version(call: ServerCall) -> Any:
    """Say publicly that the data of a table changed."""
    house, table = call.server.house, call.path["table"]
    if table not in house.ledger.population(call.population).tables:
        raise ProblemError.not_there()
    version = house.ledger.administration.advance_version(call.population, table, by=call.person.id)
    return {"table": table, "version": version}


def show_changes(call: ServerCall) -> Any:
    """Say which tables changed while their version did not, and whether new settings wait for an update."""
    house = call.server.house
    return {"changed": house.workspace.changed(call.population), "settings": house.trouble}


def decide_request(call: ServerCall) -> Any:
    """Say yes or no to a request for more budget; the allowance itself is changed in lapwing.toml."""
    requests, id_ = call.server.requests, call.path["request"]
    if requests.find(call.population, id_) is None:
        raise ProblemError.not_there()
    state = "granted" if call.body.granted else "refused"
    if not requests.decide(call.population, id_, state=state, by=call.person.id):
        raise ProblemError(409, "decided", "this request was decided before")
    return requests.find(call.population, id_)


def show_failures(call: ServerCall) -> Any:
    """Return the last lines of the custodian's log. They may hold data, so they are for custodians alone."""
    path = call.server.house.folder / LOG
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    return {"lines": lines[-_LINES:]}


def list_unsettled(call: ServerCall) -> Any:
    """List what was charged and has no end."""
    ledger = call.server.house.ledger
    questions = [
        {"entry": one.seq, "population": one.population, "analyst": one.analyst, "at": one.at, "stream": None}
        for one in ledger.questions.unsettled()
    ]
    intents = [
        {"entry": one.seq, "population": None, "analyst": None, "at": None, "stream": one.stream}
        for one in ledger.streams.unsettled()
    ]
    return questions + intents


def recover(call: ServerCall) -> Any:
    """Settle what dead processes left behind."""
    found = call.server.house.workspace.recover()
    return {"settled": found.settled, "unsettled": sorted(found.unsettled)}


def role_of(given: str) -> Role:
    """Return a role by its name."""
    try:
        return Role(given)
    except ValueError:
        remedy = f"name one of {', '.join(Role)}"
        raise ParameterError("role", given[:60], reason="is not a role", remedy=remedy) from None


def _require_known(call: ServerCall) -> None:
    if call.path["person"] not in {person.id for person in call.server.people.everybody()}:
        raise ProblemError.not_there()
