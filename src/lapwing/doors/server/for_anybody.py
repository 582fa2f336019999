"""What everybody who is signed in may do: see who they are, what there is to ask about, and keep tokens."""

from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from lapwing import __version__
from lapwing.doors.server.calls import Reply, ServerCall
from lapwing.doors.server.passwords import digest_of
from lapwing.doors.server.problems import ProblemError
from lapwing.doors.server.roles import RIGHTS, Right
from lapwing.vocabulary.codec import FORMAT, to_record
from lapwing.vocabulary.errors import BadQuestionError, ParameterError

PARQUET: Final = "application/vnd.apache.parquet"
_LARGEST: Final = 32 * 1024 * 1024
"""Bytes of a vocabulary that is sent."""


def health(call: ServerCall) -> Any:
    """Say that the server is there, and nothing else."""
    del call
    return {"ok": True}


def me(call: ServerCall) -> Any:
    """Say who calls, what they may do, and with which version of lapwing they speak."""
    rights = sorted(right.value for right in call.person.rights)
    return {**call.person.to_dict(), "rights": rights, "lapwing": __version__, "format": FORMAT}


def accept_invitation(call: ServerCall) -> Any:
    """Make the person of an invitation, and their first token; who is known chooses a password, and gets no token."""
    accepted = call.server.people.accept(call.body.secret, password=call.body.words().get("password"))
    if accepted is None:
        raise ProblemError.not_there()
    person, is_new = accepted
    call.audit.update(always=True, who=person.id)
    if not is_new:
        return {"person": person.to_dict()}
    secret, token = call.server.people.make_token(person, "made when the invitation was accepted")
    return {"person": person.to_dict(), "token": {**token, "secret": secret}}


def list_tokens(call: ServerCall) -> Any:
    """List the tokens of whoever calls."""
    return call.server.people.tokens(call.person.id)


def make_token(call: ServerCall) -> Any:
    """Make a token; its secret is told this once."""
    words = call.body.words()
    if "may" in words:
        words["may"] = [_right(one) for one in words["may"]]
    call.audit["always"] = True
    secret, token = call.server.people.make_token(call.person, words.pop("name"), **words)
    return {**token, "secret": secret}


def revoke_token(call: ServerCall) -> Any:
    """End a token of whoever calls; one token ends another only if that may do no more than it."""
    tokens, rights = call.server.people.tokens(call.person.id), RIGHTS[call.person.role]
    may: list[str] = next((one["may"] for one in tokens if one["id"] == call.path["token"]), [])
    if not {Right(one) for one in may} & rights <= call.person.rights:
        raise ProblemError.not_there()
    if not call.server.people.revoke_token(call.person.id, call.path["token"]):
        raise ProblemError.not_there()
    call.audit["always"] = True
    return {"revoked": True}


def list_populations(call: ServerCall) -> Any:
    """List the populations that whoever calls may see."""
    state = call.server.state
    known = [name for name in state.populations() if state.may_know(name, call.person)]
    return [{"population": name, "tables": [table.name for table in _tables(call, name)]} for name in known]


def _tables(call: ServerCall, name: str) -> Any:
    return call.server.state.workspace.settings.declared(name).population.tables


def show_population(call: ServerCall) -> Reply:
    """Return the dictionary of a population: what is declared, and the versions of its tables; never data."""
    session = call.session()
    record = session.ledger.population(call.population)
    people = session.population
    tables, files = session.tables().to_dict(), call.server.state.workspace.settings.vocabularies
    for one in tables["vocabularies"]:
        one["digest"] = _digest(files[one["vocabulary"]])
    declared = {
        **tables,
        "versions": dict(record.tables),
        "unit": to_record(people.unit),
        "now": None if people.now is None else people.now.isoformat(),
        "salt": people.salt,
        "segments": [{"name": one.name, "first": one.first, "last": one.last} for one in people.segments],
    }
    told = msgspec.json.encode(declared, order="sorted")
    tag = f'"{digest_of(told.decode())[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if call.headers.get("if-none-match") == tag:
        return Reply(body=b"", status=304, headers=headers)
    return Reply(body=told, headers=headers)


def show_vocabulary(call: ServerCall) -> Reply:
    """Return a vocabulary as it is, a public table with nobody in it, for those who plan by themselves."""
    name, settings = call.path["vocabulary"], call.server.state.workspace.settings
    if name not in {one.name for one in settings.declared(call.population).population.vocabularies}:
        raise ProblemError.not_there()
    place = settings.vocabularies[name]
    if _digest(place) is None:
        raise BadQuestionError(
            f"a vocabulary is sent only if it is a file of at most {_LARGEST:,} bytes, and "
            f"{name} is not; write the values themselves into the question"
        )
    return Reply(body=place.read_bytes(), media_type=PARQUET if place.suffix == ".parquet" else "text/plain")


def _digest(place: Path) -> str | None:
    """Return the hash of the bytes of a vocabulary; None if it cannot be sent."""
    try:
        found = place.stat()
    except OSError:
        return None
    if not place.is_file() or found.st_size > _LARGEST:
        return None
    return _digest_of(place, (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino))


@lru_cache(maxsize=256)
def _digest_of(place: Path, stat: tuple[int, ...]) -> str:
    del stat
    return sha256(place.read_bytes()).hexdigest()


def _right(given: str) -> Right:
    try:
        return Right(given)
    except ValueError:
        remedy = f"name some of {', '.join(Right)}"
        raise ParameterError("may", given[:60], reason="is not a right", remedy=remedy) from None
