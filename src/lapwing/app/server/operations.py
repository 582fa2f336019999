"""The table of operations: all that a program may do here, and who may.

Routes, role checks, the description for programs (`openapi.py`), the page about it and the tests are made from this
table and from nothing else. To add an operation, write its handler and its line.
"""

from typing import Any, Final, TypeAlias

from lapwing.app.server import for_analysts, for_anybody, for_custodians, for_overseers, for_streams, for_tables, wire
from lapwing.app.server.calls import Operation
from lapwing.app.server.questions_wire import asking_many_type, asking_type
from lapwing.app.server.roles import ASKING, CUSTODIANS, OVERSEEING, Right

Record: TypeAlias = dict[str, Any]
Records: TypeAlias = list[dict[str, Any]]

P: Final = "/populations/{population}"
_BODY: Final = (400, 413, 415, 422)
_PAGE: Final = {"limit": (1, 500), "before": (1, 2**62)}
_CHARGED: Final = (*_BODY, 402, 403, 409, 410, 500, 503)
_DECIDED: Final = (*_BODY, 403, 409, 503)


def _look(path: str, name: str, summary: str, handler: Any, body: Any) -> Operation:
    """Return an operation of analysts that is free and reads no data."""
    return Operation(
        method="POST",
        path=P + path,
        name=name,
        summary=summary,
        handler=handler,
        answer=Record,
        body=body,
        right=Right.PREVIEW,
        roles=ASKING,
        refusals=(*_BODY, 402, 403, 500, 503),
    )


def _spend(path: str, name: str, summary: str, handler: Any, body: Any = None) -> Operation:
    """Return an operation of analysts that may charge; one without a body ends something."""
    return Operation(
        method="DELETE" if body is None else "POST",
        path=P + path,
        name=name,
        summary=summary,
        handler=handler,
        answer=Record,
        body=body,
        right=Right.ASK,
        roles=ASKING,
        charges=True,
        refusals=_CHARGED,
    )


def _own(path: str, name: str, summary: str, handler: Any, answer: Any = Record, **more: Any) -> Operation:
    """Return an operation with which analysts see what is theirs."""
    return Operation(
        method="GET", path=P + path, name=name, summary=summary, handler=handler, answer=answer, roles=ASKING, **more
    )


def _oversee(path: str, name: str, summary: str, handler: Any, answer: Any = Record, **more: Any) -> Operation:
    """Return an operation of auditors and custodians."""
    more = {"method": "GET", "refusals": (503,), **more}
    return Operation(path=path, name=name, summary=summary, handler=handler, answer=answer, roles=OVERSEEING, **more)


def _manage(
    method: str, path: str, name: str, summary: str, handler: Any, *, body: Any = None, answer: Any = Record
) -> Operation:
    """Return an operation of custodians."""
    return Operation(
        method=method,
        path=path,
        name=name,
        summary=summary,
        handler=handler,
        answer=answer,
        body=body,
        right=Right.MANAGE,
        roles=CUSTODIANS,
        refusals=(503,) if method == "GET" else _DECIDED if body is not None else (409, 422, 500, 503),
    )


OPERATIONS: Final[tuple[Operation, ...]] = (
    _look(
        "/previews",
        "preview",
        "Price and error of a question. Free; reads no data.",
        for_analysts.preview,
        asking_type(),
    ),
    _spend(
        "/questions",
        "ask",
        "Ask a question, and pay for it, once under its key.",
        for_analysts.ask,
        asking_type(),
    ),
    _spend(
        "/batches",
        "ask_many",
        "Ask many questions, charged together, all or none.",
        for_analysts.ask_many,
        asking_many_type(),
    ),
    _look(
        "/rehearsals",
        "rehearse",
        "Answer from made-up rows. Free, and about nobody.",
        for_analysts.rehearse,
        asking_type(),
    ),
    _own("/budget", "budget", "What is left, for everybody and for you.", for_analysts.show_budget, refusals=(503,)),
    _own(
        "/jobs/{key}",
        "job",
        "How far a job of yours has come, and its outcome.",
        for_analysts.show_job,
        refusals=(503,),
    ),
    Operation(
        method="DELETE",
        path=P + "/jobs/{key}",
        name="cancel_job",
        summary="Stop a job of yours. What was charged stays charged, and its answer is lost.",
        handler=for_analysts.cancel_job,
        answer=Record,
        right=Right.ASK,
        roles=ASKING,
    ),
    _own(
        "/answers",
        "answers",
        "What you asked, as it was put, the newest first.",
        for_analysts.list_answers,
        Records,
        query=_PAGE,
        refusals=(422,),
    ),
    _own(
        "/answers/{key}",
        "answer",
        "An answer of yours again. Free; needs no database.",
        for_analysts.show_answer,
        refusals=(409, 410, 422, 503),
    ),
    _own(
        "/history",
        "history",
        "What you did, in sentences, the newest first.",
        for_analysts.show_history,
        Records,
        query=_PAGE,
        refusals=(422, 503),
    ),
    _look(
        "/stream-previews",
        "preview_stream",
        "Price and error of a stream. Free.",
        for_streams.preview_stream,
        wire.StreamOfferBody,
    ),
    _own("/streams", "streams", "Your streams.", for_streams.list_streams, Records, refusals=(503,)),
    _spend(
        "/streams",
        "open_stream",
        "Open a stream; all of it is set aside.",
        for_streams.open_stream,
        wire.StreamOfferBody,
    ),
    _own("/streams/{stream}", "stream", "A stream of yours.", for_streams.show_stream, refusals=(503,)),
    _spend(
        "/streams/{stream}/questions",
        "ask_stream",
        "Ask a stream: a no is free, a yes is paid.",
        for_streams.ask_stream,
        wire.StreamQuestion,
    ),
    _spend(
        "/streams/{stream}/batches",
        "ask_stream_many",
        "Ask a stream many questions as one.",
        for_streams.ask_stream_many,
        wire.StreamBatch,
    ),
    _spend(
        "/streams/{stream}",
        "close_stream",
        "Close a stream; what no yes has used comes back.",
        for_streams.close_stream,
    ),
    _own("/requests", "own_requests", "Your requests for more budget.", for_analysts.list_requests, Records),
    Operation(
        method="POST",
        path=P + "/requests",
        name="request_budget",
        summary="Ask the custodian for more budget.",
        handler=for_analysts.make_request,
        answer=Record,
        body=wire.BudgetRequestBody,
        right=Right.PREVIEW,
        roles=ASKING,
        refusals=(*_BODY, 403),
    ),
    Operation(
        method="GET",
        path="/health",
        name="health",
        summary="Whether the server is there.",
        handler=for_anybody.health,
        answer=Record,
        roles=None,
    ),
    Operation(
        method="GET",
        path="/me",
        name="me",
        summary="Who you are here, and what you may do.",
        handler=for_anybody.me,
        answer=Record,
    ),
    Operation(
        method="POST",
        path="/acceptances",
        name="accept_invitation",
        summary="Accept an invitation, with its secret; the first token is told this once.",
        handler=for_anybody.accept_invitation,
        answer=Record,
        body=wire.Acceptance,
        roles=None,
        refusals=(*_BODY, 404),
    ),
    Operation(
        method="GET",
        path="/tokens",
        name="tokens",
        summary="Your tokens, without their secrets.",
        handler=for_anybody.list_tokens,
        answer=Records,
    ),
    Operation(
        method="POST",
        path="/tokens",
        name="make_token",
        summary="Make a token; its secret is told this once.",
        handler=for_anybody.make_token,
        answer=Record,
        body=wire.NewToken,
        refusals=_BODY,
    ),
    Operation(
        method="DELETE",
        path="/tokens/{token}",
        name="revoke_token",
        summary="End a token of yours.",
        handler=for_anybody.revoke_token,
        answer=Record,
    ),
    Operation(
        method="GET",
        path="/populations",
        name="populations",
        summary="The populations that you may see.",
        handler=for_anybody.list_populations,
        answer=Records,
        refusals=(503,),
    ),
    Operation(
        method="GET",
        path=P,
        name="population",
        summary="The dictionary of a population; it has an ETag.",
        handler=for_anybody.show_population,
        answer=Record,
        refusals=(304, 503),
    ),
    Operation(
        method="GET",
        path="/receipts/{receipt}",
        name="receipt",
        summary="Whether the ledger agrees with a receipt.",
        handler=for_analysts.check_receipt,
        answer=Record,
        refusals=(404, 422, 503),
    ),
    _oversee(P + "/account", "account", "The whole account, with each analyst's part.", for_overseers.show_account),
    _oversee(
        P + "/all-requests",
        "all_requests",
        "Everybody's requests for more budget.",
        for_analysts.list_requests,
        Records,
    ),
    _oversee(
        "/ledger/entries",
        "ledger_entries",
        "Entries of the ledger, in order.",
        for_overseers.list_entries,
        Records,
        query={"after": (0, 2**62), "limit": (1, 500)},
        refusals=(422, 503),
    ),
    _oversee("/ledger/head", "ledger_head", "The end of the ledger, to be kept elsewhere.", for_overseers.show_head),
    _oversee(
        "/ledger/verifications",
        "verify_ledger",
        "Check every hash, every rule and every sum.",
        for_overseers.verify_ledger,
        method="POST",
        body=wire.ReceiptList,
        refusals=(*_BODY, 503),
    ),
    _oversee(
        "/ledger/export",
        "export_ledger",
        "All entries as JSON lines, which anybody can check.",
        for_overseers.export_ledger,
        bytes,
    ),
    _manage("GET", "/people", "people", "Everybody who may come in.", for_custodians.list_people, answer=Records),
    _manage(
        "PATCH",
        "/people/{person}",
        "change_person",
        "Change a name, a role, or whether somebody may come in.",
        for_custodians.change_person,
        body=wire.PersonChange,
    ),
    _manage(
        "DELETE",
        "/people/{person}/tokens",
        "revoke_tokens",
        "End all tokens of a person.",
        for_custodians.revoke_tokens,
    ),
    _manage(
        "GET",
        "/invitations",
        "invitations",
        "Who is invited and has not come.",
        for_custodians.list_invitations,
        answer=Records,
    ),
    _manage(
        "POST",
        "/invitations",
        "invite",
        "Invite somebody; the link is told this once.",
        for_custodians.invite,
        body=wire.NewInvitation,
    ),
    Operation(
        method="GET",
        path=P + "/policy",
        name="policy",
        summary="What holds for everybody, and for you: budget, the most of a question, noes a day.",
        handler=for_custodians.show_policy,
        answer=Record,
        refusals=(503,),
    ),
    _manage(
        "PATCH",
        P + "/policy",
        "change_policy",
        "Change what holds for everybody, in lapwing.toml and in the ledger. A budget can rise only.",
        for_custodians.change_policy,
        body=wire.PolicyChange,
    ),
    _manage(
        "PUT",
        P + "/analysts/{analyst}",
        "change_analyst",
        "Say what an analyst may spend, about which tables, and how much for one question.",
        for_custodians.change_analyst,
        body=wire.AnalystChange,
    ),
    _manage(
        "DELETE",
        P + "/analysts/{analyst}",
        "forget_analyst",
        "Take away what was said about an analyst.",
        for_custodians.forget_analyst,
    ),
    _manage(
        "POST",
        P + "/suspension",
        "suspend",
        "Stop spending, or allow it again.",
        for_custodians.suspend,
        body=wire.Suspension,
    ),
    _manage(
        "POST",
        P + "/tables/{table}/versions",
        "advance_version",
        "Say publicly that the data of a table changed.",
        for_custodians.advance_version,
    ),
    _manage("GET", P + "/sources", "sources", "Files and databases that may hold new tables.", for_tables.list_sources),
    _manage(
        "POST",
        P + "/source-columns",
        "source_columns",
        "Names and types of the columns of a table that may be added. No row is read.",
        for_tables.show_columns,
        body=wire.TablePlace,
    ),
    _manage(
        "POST",
        P + "/tables",
        "add_table",
        "Add a table, in lapwing.toml and in the ledger, with its columns as they are declared.",
        for_tables.add,
        body=wire.NewTableBody,
    ),
    _manage("GET", P + "/changes", "changes", "What changed and was not announced.", for_custodians.show_changes),
    _manage(
        "POST",
        P + "/requests/{request}/decision",
        "decide_request",
        "Say yes or no to a request for more budget.",
        for_custodians.decide_request,
        body=wire.RequestDecision,
    ),
    _manage(
        "GET",
        "/failures",
        "failures",
        "The last lines of the custodian's log, which may hold data.",
        for_custodians.show_failures,
    ),
    _manage(
        "GET",
        "/unsettled",
        "unsettled",
        "What was charged and has no end.",
        for_custodians.list_unsettled,
        answer=Records,
    ),
    _manage("POST", "/recoveries", "recover", "Settle what dead processes left behind.", for_custodians.recover),
)

LARGER: Final = frozenset({"batches", "questions", "previews", "rehearsals"})
"""The last parts of paths whose bodies may be larger than others."""
