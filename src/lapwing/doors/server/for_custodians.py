"""What custodians do: people and invitations, stopping and resuming, new data, requests, and what went wrong."""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from msgspec import UNSET

from lapwing.accounting.interpretation import budget_concerns
from lapwing.answers.budget import budget_record, request_record
from lapwing.doors.server.calls import ServerCall
from lapwing.doors.server.problems import ProblemError
from lapwing.doors.server.roles import Role
from lapwing.ledger.budget_requests import RequestState
from lapwing.vocabulary.errors import LedgerError, ParameterError, SettingsError
from lapwing.workspace.agreement import LOG
from lapwing.workspace.changing import decide, grant

_LINES = 200
_NUMBER: Final = re.compile("[0-9]{1,18}")
_FAILURE = re.compile(r"(?P<at>\d{4}-\d\d-\d\dT[\d:]+\+00:00) (?P<kind>\w+): ")


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
    return {"id": body.id, "role": body.role, **_link(call, secret)}


def renew_link(call: ServerCall) -> Any:
    """Make a link by which somebody who is known chooses a new password: it is told this once.

    It is made by somebody who is signed in. A token that may manage, and nothing else, would become anybody by it.
    """
    if call.person.token is not None:
        raise ProblemError(
            403,
            "forbidden",
            "a link for somebody who is known is made on the page People, or by: lapwing people invite ID",
        )
    _require_known(call)
    secret = call.server.people.link(call.path["person"], by=call.person.id)
    return {"id": call.path["person"], **_link(call, secret)}


def _link(call: ServerCall, secret: str) -> dict[str, str]:
    return {"secret": secret, "link": f"{call.server.address}/invitations/{secret}"}


def list_invitations(call: ServerCall) -> Any:
    """List who is invited and has not come yet."""
    return call.server.people.invitations()


def suspend(call: ServerCall) -> Any:
    """Stop the spending of everybody or of one analyst, or allow it again."""
    administration, words = call.server.state.ledger.administration, call.body.words()
    switch = administration.suspend if words.pop("suspended") else administration.resume
    receipt = switch(call.population, words.get("analyst"), by=call.person.id)
    return {"receipt": str(receipt)}


def change_policy(call: ServerCall) -> Any:
    """Change what holds for everybody, in lapwing.toml and in the ledger."""
    words, entries = call.body.words(), dict[tuple[str, ...], Any]()
    if "budget" in words:
        entries["budget",] = words["budget"].entry()
    if "unnamed_analysts" in words:
        entries["unnamed_analysts",] = "allowed" if words["unnamed_analysts"] else "refused"
    if "most" in words:
        entries["policy", "most"] = None if words["most"] is None else words["most"].entry()
    if "noes_a_day" in words:
        entries["policy", "noes_a_day"] = words["noes_a_day"]
    return _decide(call, entries)


def change_analyst(call: ServerCall) -> Any:
    """Say what an analyst may spend, about which tables, and how much for one question."""
    body = call.body
    limits = {} if body.tables is UNSET else {"tables": body.tables}
    most = {} if body.most is UNSET else {"most": body.most.entry()}
    return _decide(call, {("analysts", call.path["analyst"]): {**body.allowance.entry(), **limits, **most}})


def forget_analyst(call: ServerCall) -> Any:
    """Take away what was said about an analyst."""
    if call.path["analyst"] not in call.server.state.workspace.settings.declared(call.population).analysts:
        raise ProblemError.not_there()
    return _decide(call, {("analysts", call.path["analyst"]): None})


def _decide(call: ServerCall, entries: dict[tuple[str, ...], Any]) -> Any:
    state = call.server.state
    with sentences():
        decide(state.workspace, call.population, entries, by=call.person.id)
    state.renew()
    return show_policy(call)


@contextmanager
def sentences() -> Iterator[None]:
    """Say why settings are refused, to whoever decides them; the file and the line are the workspace's own."""
    try:
        yield
    except SettingsError as refused:
        raise ProblemError(422, refused.code, f"{refused.reason}; {refused.remedy}") from None


def show_policy(call: ServerCall) -> Any:
    """Return what holds for everybody, and for whoever calls."""
    ledger = call.server.state.ledger
    record, account = ledger.population(call.population), ledger.account(call.population)
    own = record.analyst(call.person.id)
    return {
        "population": call.population,
        "person_key": record.unit.person_key,
        "adjacency": record.unit.adjacency.value,
        "protects_groups_of": record.unit.protects_groups_of,
        "budget": budget_record(account.budget),
        "advice": list(budget_concerns(account.budget)),
        "unnamed_analysts": not record.only_named,
        "most": None if record.most is None else budget_record(record.most),
        "noes_a_day": record.noes_a_day,
        "you": {
            "allowance": None if own.allowance is None else budget_record(own.allowance),
            "tables": None if own.tables is None else sorted(own.tables),
            "most": None if own.most is None else budget_record(own.most),
            "suspended": own.suspended,
        },
    }


def advance_version(call: ServerCall) -> Any:
    """Say publicly that the data of a table changed."""
    state, table = call.server.state, call.path["table"]
    if table not in state.ledger.population(call.population).tables:
        raise ProblemError.not_there()
    version = state.ledger.administration.advance_version(call.population, table, by=call.person.id)
    return {"table": table, "version": version}


def show_changes(call: ServerCall) -> Any:
    """Say which tables changed while their version did not, and whether new settings wait for an update."""
    state = call.server.state
    return {"changed": state.workspace.changed(call.population), "settings": state.trouble}


def decide_request(call: ServerCall) -> Any:
    """Say yes or no to a request for more budget; a yes raises what it asks for, in lapwing.toml and in the ledger."""
    state, given = call.server.state, call.path["request"]
    requests, number = state.ledger.budget_requests, int(given) if _NUMBER.fullmatch(given) else 0
    known = {one.number: one for one in requests.all(call.population)}.get(number)
    if known is None:
        raise ProblemError.not_there()
    try:
        _decide_request(call, number)
    except ParameterError:
        if requests.find(call.population, number).state is known.state is RequestState.OPEN:
            raise
        said = "this request was decided before" if known.by else "somebody else decided meanwhile; look again"
        raise ProblemError(409, "decided", said) from None
    return request_record(requests.find(call.population, number))


def _decide_request(call: ServerCall, number: int) -> None:
    state = call.server.state
    if not call.body.granted:
        state.ledger.budget_requests.refuse(call.population, number, reason=call.body.reason, by=call.person.id)
        return
    with sentences():
        grant(state.workspace, call.population, number, by=call.person.id)
    state.renew()


def show_failures(call: ServerCall) -> Any:
    """Return the last lines of the custodian's log, failures by kind, what cannot be read, and how full the disk is.

    Lines of the log may hold data, so they are for custodians alone.
    """
    folder = call.server.state.folder
    path = folder / LOG
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    found = [line for line in map(_FAILURE.match, lines) if line is not None]
    usage = shutil.disk_usage(folder)
    files = {one.name: one.stat().st_size for one in sorted(folder.glob("*.db")) if one.is_file()}
    return {
        "lines": lines[-_LINES:],
        "kinds": [{"kind": kind, "times": times, "last": last} for kind, times, last in _by_kind(found)],
        "damaged": [{"population": name, "why": why} for name, why in sorted(call.server.state.damaged.items())],
        "disk": {"total": usage.total, "free": usage.free, "files": files},
    }


def _by_kind(lines: list[re.Match[str]]) -> list[tuple[str, int, str]]:
    """Return each kind of failure, how often it was and when it was last, the most frequent first."""
    times, last = Counter(line["kind"] for line in lines), {line["kind"]: line["at"] for line in lines}
    return [(kind, number, last[kind]) for kind, number in times.most_common()]


def list_unsettled(call: ServerCall) -> Any:
    """List what was charged and has no end, in populations that can be read."""
    questions, intents = list[dict[str, Any]](), list[dict[str, Any]]()
    for name in call.server.state.workspace.maybe_in_flight():
        ledger = call.server.state.ledger.of(name)
        with suppress(LedgerError):  # the page about failures names those that cannot be read
            asked, drawn = ledger.questions.unsettled(), ledger.reservations.unsettled()
            questions += [
                {"entry": one.seq, "population": one.population, "analyst": one.analyst, "at": one.at, "stream": None}
                for one in asked
            ]
            intents += [
                {"entry": one.seq, "population": None, "analyst": None, "at": None, "stream": one.reservation}
                for one in drawn
            ]
    return questions + intents


def recover(call: ServerCall) -> Any:
    """Settle what dead processes left behind."""
    found = call.server.state.recover()
    return {"settled": found.settled, "unsettled": sorted(found.unsettled), "unread": sorted(found.unread)}


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
