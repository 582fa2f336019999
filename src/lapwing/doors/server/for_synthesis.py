"""Synthetic tables over the wire: preview, make, list, read again, and rows of made-up people.

A synthesis is a job of several stages: it is charged once under its key, before data is read, and one whose process
died goes on where it stopped when it is asked for again. Rows are made from what was released, when they are wanted.
"""

import csv
import io
from typing import Any, Final

import msgspec
from msgspec import UNSET

from lapwing.doors.server.calls import Reply, ServerCall
from lapwing.doors.server.for_analysts import foretell
from lapwing.doors.server.for_publishing import columns_of
from lapwing.doors.server.jobs import Job, JobName, JobState, ending_of, state_after
from lapwing.doors.server.memory import LEDGER
from lapwing.doors.server.problems import ProblemError, body_of
from lapwing.doors.server.wire import SynthesisBody
from lapwing.publishing.synthesis import SynthesisOffer
from lapwing.publishing.synthesis_again import (
    steps_done,
    synthesis_from,
    synthesis_meaning,
    synthesized_as,
    synthesized_before,
)
from lapwing.publishing.synthesize import SynthesisStep
from lapwing.publishing.synthetic_table import SyntheticTable
from lapwing.publishing.written_out import safe_cell
from lapwing.session import Session
from lapwing.vocabulary.errors import UnansweredError

SYNTHESIZE: Final = "synthesize"
"""What a synthesis is remembered as."""
CERTIFY: Final = "certify"
MOST_ROWS: Final = 1_000_000
ROWS: Final = {"rows": (1, MOST_ROWS), "seed": (0, 2**31), "weights": (0, 1)}


async def preview_synthesis(call: ServerCall) -> Reply:
    """Say what a synthetic table would cost, and what is known of it before. It is free."""
    return await foretell(call, _preview)


def _preview(call: ServerCall) -> bytes:
    session = call.session()
    told = session.preview_synthesize(**_words(call.body))
    meaning = synthesis_meaning(told.offer)
    call.require_meaning(lambda: [meaning])
    stopped = told.before.suspension
    record = {
        "means": meaning,
        "stored": synthesized_as(session, told.offer) is not None,
        "stopped": None if stopped is None else stopped.to_dict(),
    }
    return msgspec.json.encode({**told.to_dict(), **record})


async def synthesize(call: ServerCall) -> Reply:
    """Make a synthetic table of people, stage by stage, and pay for it, once under the key."""
    return await call.run(lambda job: _synthesize(call, job))


def _synthesize(call: ServerCall, job: Job) -> bytes:
    words = _words(call.body)
    offer = _offer(job.session, call.body)
    call.require_meaning(lambda: [synthesis_meaning(offer)])
    name = synthesized_as(job.session, offer)
    is_free = name is not None
    call.remember(LEDGER if name is None else call.reserved_entry(name))
    if (told := call.told_before()) is not None:
        return told
    made = synthesized_before(job.session, offer) if is_free else None
    if made is None:
        job.after_data = True

        def advance(step: SynthesisStep) -> None:
            job.advance(*steps_done(step))

        made = job.session.synthesize(**words, key=call.key, progress=advance)
    call.audit.update(price=str(made.price), free=is_free)
    call.server.state.synthetic.put((call.population, call.person.id, call.key), made)
    return call.end(_record(made, free=is_free))


def list_syntheses(call: ServerCall) -> Any:
    """List the synthetic tables that whoever calls has made here, the newest first."""
    return [
        {"key": one["key"], "at": one["at"], "table": one["body"]["table"], "body": one["body"]}
        for one in call.server.memory.of_kind(call.population, call.person.id, SYNTHESIZE)
    ]


def show_synthesis(call: ServerCall) -> Reply:
    """Return a synthetic table again: what was released, and what is known about its errors; it never charges."""
    record = msgspec.json.decode(msgspec.json.encode(_known(call)))
    return Reply(body=msgspec.json.encode({**record, "certificates": _certificates(call, record["model"])}))


def preview_certificate(call: ServerCall) -> Any:
    """Say what a certificate of a synthetic table would be about and cost, and what its noise would add. It is free."""
    made = table_under(call, call.path["key"])
    return call.session(_body_of(call)).preview_certify(made, **call.body.words()).to_dict()


async def certify(call: ServerCall) -> Reply:
    """Release how far off a synthetic table is at most over all boxes of a class, and pay for it, once under a key."""

    def work(job: Job) -> Any:
        made, words = table_under(call, call.path["key"]), call.body.words()
        session = call.session(_body_of(call))
        call.remember()
        if (told := call.told_before()) is not None:
            return told
        job.session, job.after_data = session, True
        certificate = session.certify(made, **words, key=call.key)
        call.audit["price"] = str(certificate.price)
        return call.end({"key": call.key, **certificate.to_dict()})

    return await call.run(work)


def _certificates(call: ServerCall, model: str) -> list[dict[str, Any]]:
    """Return the certificates that the caller has of a model, the newest first."""
    memory, found = call.server.memory, list[dict[str, Any]]()
    for one in memory.of_kind(call.population, call.person.id, CERTIFY):
        ended = memory.ending(call.population, call.person.id, one["key"])
        if ended is not None and state_after(ended[0]) is JobState.ANSWERED:
            found.append(msgspec.json.decode(ended[1]))
    return [one for one in found if one["model"] == model]


def show_rows(call: ServerCall) -> Reply:
    """Return made-up rows of a synthetic table as CSV: as many as people were measured, or as are wanted; free."""
    made = table_under(call, call.path["key"])
    rows = None if call.query.get("weights") else call.query.get("rows", min(made.people, MOST_ROWS))
    told = made.rows(rows, weights=bool(call.query.get("weights")), labels=True, seed=call.query.get("seed", 0))
    columns = told.frame_columns("0.95")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([safe_cell(one.name) for one in columns])
    writer.writerows(zip(*([safe_cell(value) for value in one.values] for one in columns), strict=True))
    headers = {"Content-Disposition": 'attachment; filename="synthetic.csv"'}
    return Reply(body=out.getvalue().encode(), headers=headers, media_type="text/csv; charset=utf-8")


def show_quality(call: ServerCall) -> Reply:
    """Return what is known about the errors of a synthetic table, as a page in one file to give away with its rows."""
    page = table_under(call, call.path["key"]).quality.page()
    headers = {"Content-Disposition": 'attachment; filename="quality.html"'}
    return Reply(body=page.encode(), headers=headers, media_type="text/html; charset=utf-8")


def synthesis_under(call: ServerCall, key: str, known: dict[str, Any]) -> tuple[JobState, Any] | None:
    """Say what became of a synthesis under a key: what is kept of it, or what the ledger has; None if it has nothing.

    Nothing is drawn here: one whose process died between two stages is said to be stopped, and goes on when it is asked
    for again.
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
    if ledger.reservations.find(opened["stream"]).status.value == "open":
        stopped = "it was stopped between two stages; ask again under this key: it goes on, and is not charged again"
        return JobState.CANCELLED, ProblemError(409, "cancelled", stopped).body()
    body = msgspec.convert(known["body"], SynthesisBody)
    try:
        made = call.session(body).synthesize(**_words(body), key=key)
    except UnansweredError as unanswered:
        return JobState.LOST, body_of(unanswered)
    return JobState.ANSWERED, _record(made, free=False)


def table_under(call: ServerCall, key: str) -> SyntheticTable:
    """Return the synthetic table under a key of the caller, made again from what it has released."""
    cached, name = call.server.state.synthetic, (call.population, call.person.id, key)
    if (found := cached.get(name)) is not None:
        return found
    record = msgspec.json.decode(msgspec.json.encode(_known(call)))
    body = _body_of(call)
    session = call.session(body)
    offer = _offer(session, body)
    if synthesis_meaning(offer) != record["means"]:
        changed = "what is declared has changed since this table was made; take the rows that were saved then"
        raise ProblemError(409, "changed", changed)
    made = synthesis_from(
        session,
        offer,
        record["released"],
        versions=record["versions"],
        name=record["synthesis"],
        remark=record["remark"],
        certifies=session,
    )
    cached.put(name, made)
    return made


def _known(call: ServerCall) -> Any:
    """Return the record of a synthesis of the caller; what is not there, or not whole, is not there."""
    key = call.path["key"]
    job = call.server.jobs.find(JobName(call.population, call.person.id, key))
    if job is not None and ending_of(job) is None:
        raise ProblemError.not_there()  # it may stand in the ledger before its tick
    found = synthesis_under(call, key, _recalled(call))
    if found is None or found[0] is not JobState.ANSWERED:
        raise ProblemError.not_there()
    return found[1]


def _body_of(call: ServerCall) -> SynthesisBody:
    return msgspec.convert(_recalled(call)["body"], SynthesisBody)


def _recalled(call: ServerCall) -> dict[str, Any]:
    known = call.server.memory.recall(call.population, call.person.id, call.path["key"])
    if known is None or known["kind"] != SYNTHESIZE:
        raise ProblemError.not_there()
    return known


def _offer(session: Session, body: SynthesisBody) -> SynthesisOffer:
    return session.preview_synthesize(**_words(body)).offer


def _words(body: SynthesisBody) -> dict[str, Any]:
    """Return the words of a session's `synthesize`."""
    given = {name: value for name, value in body.words().items() if name in {"up_to", "planned_for"}}
    columns = None if body.columns is UNSET else columns_of(body.columns)
    return {"table": body.table, "columns": columns, **given, **body.price.words()}


def _record(made: SyntheticTable, *, free: bool) -> dict[str, Any]:
    quality = made.quality
    return {
        **made.to_dict(),
        "quality": {
            **quality.to_dict(),
            "ones": [
                {
                    "column": one.name,
                    "codes": list(one.labels),
                    "people": list(one.values),
                    "low": list(one.lows),
                    "high": list(one.highs),
                }
                for one in quality.ones
            ],
        },
        "means": synthesis_meaning(made.offer),
        "free": free,
    }
