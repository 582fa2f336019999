"""Publications over the wire: preview, publish, list, and read again.

A publication is a job: it is charged once under its key, and what was released is kept under it, written out, for every
process to find. The same publication of the same data is free under any key.
"""

from typing import Any

import msgspec
from msgspec import UNSET

from lapwing.doors.server.calls import Reply, ServerCall
from lapwing.doors.server.for_analysts import foretell
from lapwing.doors.server.jobs import Job, JobName, JobState, ending_of, state_after
from lapwing.doors.server.memory import LEDGER
from lapwing.doors.server.problems import ProblemError, body_of
from lapwing.doors.server.wire import PublicationBody, PublishedColumn
from lapwing.publishing.codes import Columns
from lapwing.publishing.publication import Publication
from lapwing.publishing.publish import meaning_of, offer_of, published_before
from lapwing.publishing.written_out import publication_record
from lapwing.vocabulary.errors import BadQuestionError, UnansweredError

PUBLISH = "publish"
"""What a publication is remembered as."""


async def preview_publication(call: ServerCall) -> Reply:
    """Say what a publication would cost, and the standard deviation of a cell of every table. It is free."""
    return await foretell(call, _preview)


def _preview(call: ServerCall) -> bytes:
    session = call.session()
    told = session.preview_publish(**_words(call.body), **_price(call.body))
    call.require_meaning(lambda: [meaning_of(told.offer)])
    stopped = told.before.suspension
    record = {
        "columns": [{"name": one.name, "codes": len(one)} for one in told.offer.columns],
        "means": meaning_of(told.offer),
        "stored": published_before(session, told.offer) is not None,
        "stopped": None if stopped is None else stopped.to_dict(),
    }
    return msgspec.json.encode({**told.to_dict(), **record})


async def publish(call: ServerCall) -> Reply:
    """Publish tables of people in one release, and pay for them, once under the key."""
    return await call.run(lambda job: _publish(call, job))


def _publish(call: ServerCall, job: Job) -> bytes:
    words, price = _words(call.body), _price(call.body)
    offer = offer_of(job.session, **words, **price)
    call.require_meaning(lambda: [meaning_of(offer)])
    before = published_before(job.session, offer, **_shape(call.body))
    call.remember(LEDGER if before is None else call.reserved_entry(before.name))
    if (told := call.told_before()) is not None:
        return told
    published = before
    if published is None:
        job.after_data = True
        published = job.session.publish(**words, **price, **_shape(call.body), key=call.key)
    call.audit.update(price=str(published.price), free=before is not None)
    return call.end(_record(call.body, published, free=before is not None))


def list_publications(call: ServerCall) -> Any:
    """List what whoever calls has published here, the newest first."""
    return [
        {"key": one["key"], "at": one["at"], "table": one["body"]["table"], "body": one["body"]}
        for one in call.server.memory.of_kind(call.population, call.person.id, PUBLISH)
    ]


def show_publication(call: ServerCall) -> Reply:
    """Return a publication again, as it was made; it never charges, and needs no database."""
    key = call.path["key"]
    known = call.server.memory.recall(call.population, call.person.id, key)
    job = call.server.jobs.find(JobName(call.population, call.person.id, key))
    if known is None or known["kind"] != PUBLISH or (job is not None and ending_of(job) is None):
        raise ProblemError.not_there()  # it may stand in the ledger before its tick
    found = publication_under(call, key, known)
    if found is None or found[0] is not JobState.ANSWERED:
        raise ProblemError.not_there()
    return Reply(body=msgspec.json.encode(found[1]))


def publication_under(call: ServerCall, key: str, known: dict[str, Any]) -> tuple[JobState, Any] | None:
    """Say what became of a publication under a key: what is kept of it, or what the ledger has; None if it has nothing.

    Nothing is drawn here: a publication that was charged and whose process died before it drew is said to be stopped.
    """
    ended = call.server.memory.ending(call.population, call.person.id, key)
    if ended is not None:
        return state_after(ended[0]), msgspec.Raw(ended[1])
    ledger = call.ledger
    opened = ledger.request(call.population, call.person.id, key)
    if opened is None:
        return None
    if call.is_worked_on(key):
        return JobState.RUNNING, None
    told = ledger.reservations.outcomes(opened["stream"])
    if not told:
        stopped = "it was stopped after it was charged; ask again under this key: it is not charged again"
        return JobState.CANCELLED, ProblemError(409, "cancelled", stopped).body()
    if told[0].answer is None:
        return JobState.LOST, body_of(UnansweredError(key, seq=opened["seq"], lost=True))
    body = msgspec.convert(known["body"], PublicationBody)
    session = call.session(body)
    published = session.publish(**_words(body), **_price(body), **_shape(body), key=key)
    return JobState.ANSWERED, _record(body, published, free=False)


def _record(body: PublicationBody, published: Publication, *, free: bool) -> dict[str, Any]:
    confidence = {"confidence": body.price.confidence} if body.price.confidence is not UNSET else {}
    return {**publication_record(published, **confidence), "means": meaning_of(published.offer), "free": free}


def _shape(body: PublicationBody) -> dict[str, Any]:
    return {"non_negative": body.non_negative, "whole": body.whole}


def _words(body: PublicationBody) -> dict[str, Any]:
    """Return the words of a session's `publish`, without those of its price and of how its tables look."""
    rows = None if body.rows is UNSET else body.rows
    return {"table": body.table, "columns": columns_of(body.columns), "marginals": body.marginals, "rows": rows}


def _price(body: PublicationBody) -> dict[str, Any]:
    """Return the words of its price, of which `rows`, which is about means, is none."""
    words = body.price.words()
    if "rows" in words:
        raise BadQuestionError(
            "price.rows is about means; for tables of rows write rows beside table, such as [1, 2, 5]"
        )
    return words


def columns_of(given: list[PublishedColumn]) -> Columns:
    """Return the columns of a body as a session takes them: in a list, or under names where all have one."""
    names = [one.name for one in given if one.name is not UNSET]
    if not names:
        return [one.by for one in given]
    if len(names) != len(given) or len(set(names)) != len(names):
        raise BadQuestionError("name every column of a publication, each by another name, or none")
    return dict(zip(names, (one.by for one in given), strict=True))
