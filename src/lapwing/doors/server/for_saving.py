"""What analysts keep for later: questions with a name, in folders. Nothing here asks or charges."""

from typing import Any

import msgspec

from lapwing.doors.server.calls import ServerCall
from lapwing.doors.server.problems import ProblemError


def list_saved(call: ServerCall) -> Any:
    """List the questions that whoever calls has saved, with their prices as they were written, and no answers."""
    return [one.to_dict() for one in call.server.saved.of(call.population, call.person.id)]


def save_question(call: ServerCall) -> Any:
    """Save a question under a name, in a folder; the one that had the name there is replaced. Nothing is asked."""
    call.session()  # who may not see the population has nothing to save
    body = call.body
    kept = call.server.saved.save(
        call.population,
        call.person.id,
        name=_plain(body.name),
        folder=_plain(body.folder),
        body={"question": msgspec.to_builtins(body.question), "price": msgspec.to_builtins(body.price)},
        page=body.page,
        words=body.words,
    )
    return kept.to_dict()


def forget_saved(call: ServerCall) -> Any:
    """Delete a saved question."""
    if not call.server.saved.forget(call.population, call.person.id, call.path["saved"]):
        raise ProblemError.not_there()
    return {"deleted": call.path["saved"]}


def _plain(name: str) -> str:
    """Return a name on one line, without blanks around it."""
    told = " ".join(name.split())
    if name and not told:
        raise ProblemError(422, "invalid", "a name has at least one character that can be seen")
    return told
