"""The table of operations: all that a program may do here, and who may.

Routes, role checks, the description for programs (`openapi.py`), the page about it and the tests are made from this
table and from nothing else. To add an operation, write its handler, whose first sentence says what it does, and its
line: how it is called, its name, what does it, and what it takes.
"""

from functools import partial
from typing import Any, Final, TypeAlias

from lapwing.doors.server import (
    for_analysts,
    for_anybody,
    for_comparing,
    for_custodians,
    for_dashboards,
    for_explorers,
    for_jobs,
    for_overseers,
    for_publishing,
    for_regressions,
    for_saving,
    for_streams,
    for_studies,
    for_synthesis,
    for_tables,
    wire,
)
from lapwing.doors.server.calls import Operation
from lapwing.doors.server.metrics import OpenMetrics
from lapwing.doors.server.questions_wire import asking_many_type, asking_type, saving_type
from lapwing.doors.server.roles import ASKING, CUSTODIANS, OVERSEEING, Right

Records: TypeAlias = list[dict[str, Any]]

P: Final = "/populations/{population}"
_BODY: Final = (400, 413, 415, 422)
_PAGE: Final = {"limit": (1, 500), "before": (1, 2**62)}
_AFTER: Final = {"after": (0, 2**62), "limit": (1, 500)}

# What analysts see of their own, look at for nothing, and may be charged for
_own = partial(Operation, roles=ASKING, refusals=(503,))
_look = partial(Operation, roles=ASKING, right=Right.PREVIEW, refusals=(*_BODY, 402, 403, 409, 500, 503))
_spend = partial(
    Operation, roles=ASKING, right=Right.ASK, charges=True, refusals=(*_BODY, 402, 403, 409, 410, 500, 503)
)
# What auditors and custodians oversee
_oversee = partial(Operation, roles=OVERSEEING, refusals=(503,))
# What custodians see, decide by saying something, and do by naming it
_see = partial(Operation, roles=CUSTODIANS, right=Right.MANAGE, refusals=(503,))
_decide = partial(Operation, roles=CUSTODIANS, right=Right.MANAGE, refusals=(*_BODY, 403, 409, 503))
_act = partial(Operation, roles=CUSTODIANS, right=Right.MANAGE, refusals=(409, 422, 500, 503))

OPERATIONS: Final[tuple[Operation, ...]] = (
    _look("POST", P + "/previews", "preview", for_analysts.preview, body=asking_type()),
    _spend("POST", P + "/questions", "ask", for_analysts.ask, body=asking_type()),
    _spend("POST", P + "/batches", "ask_many", for_analysts.ask_many, body=asking_many_type()),
    _look("POST", P + "/batch-previews", "preview_many", for_analysts.preview_many, body=asking_many_type()),
    _look("POST", P + "/rehearsals", "rehearse", for_analysts.rehearse, body=asking_type()),
    _look(
        "POST",
        P + "/stored-answers",
        "stored_answer",
        for_analysts.show_stored,
        body=asking_type(),
        answer=dict[str, Any] | None,
        right=Right.ASK,
        refusals=(*_BODY, 402, 403, 409, 410, 500, 503),
    ),
    _own("GET", P + "/budget", "budget", for_analysts.show_budget),
    _look("POST", P + "/planned-totals", "planned_total", for_analysts.show_planned_total, body=wire.PlannedDelta),
    _own("GET", P + "/jobs/{key}", "job", for_jobs.show_job),
    _own("DELETE", P + "/jobs/{key}", "cancel_job", for_jobs.cancel_job, right=Right.ASK, refusals=()),
    _own("GET", P + "/answers", "answers", for_analysts.list_answers, answer=Records, query=_PAGE, refusals=(422,)),
    _own("GET", P + "/answers/{key}", "answer", for_analysts.show_answer, refusals=(409, 410, 422, 503)),
    _own("GET", P + "/history", "history", for_analysts.show_history, answer=Records, query=_PAGE, refusals=(422, 503)),
    _look("POST", P + "/stream-previews", "preview_stream", for_streams.preview_stream, body=wire.StreamOfferBody),
    _own("GET", P + "/streams", "streams", for_streams.list_streams, answer=Records),
    _spend("POST", P + "/streams", "open_stream", for_streams.open_stream, body=wire.StreamOfferBody),
    _own("GET", P + "/streams/{stream}", "stream", for_streams.show_stream),
    _spend("POST", P + "/streams/{stream}/questions", "ask_stream", for_streams.ask_stream, body=wire.StreamQuestion),
    _spend(
        "POST", P + "/streams/{stream}/batches", "ask_stream_many", for_streams.ask_stream_many, body=wire.StreamBatch
    ),
    _spend("DELETE", P + "/streams/{stream}", "close_stream", for_streams.close_stream),
    _look(
        "POST",
        P + "/publication-previews",
        "preview_publication",
        for_publishing.preview_publication,
        body=wire.PublicationBody,
    ),
    _own("GET", P + "/publications", "publications", for_publishing.list_publications, answer=Records),
    _spend("POST", P + "/publications", "publish", for_publishing.publish, body=wire.PublicationBody),
    _own("GET", P + "/publications/{key}", "publication", for_publishing.show_publication, refusals=(409, 410, 503)),
    _look(
        "POST", P + "/synthesis-previews", "preview_synthesis", for_synthesis.preview_synthesis, body=wire.SynthesisBody
    ),
    _own("GET", P + "/syntheses", "syntheses", for_synthesis.list_syntheses, answer=Records),
    _spend("POST", P + "/syntheses", "synthesize", for_synthesis.synthesize, body=wire.SynthesisBody),
    _own("GET", P + "/syntheses/{key}", "synthesis", for_synthesis.show_synthesis, refusals=(409, 410, 503)),
    _own(
        "GET",
        P + "/syntheses/{key}/rows",
        "synthetic_rows",
        for_synthesis.show_rows,
        answer=str,
        query=for_synthesis.ROWS,
        refusals=(409, 410, 422, 503),
    ),
    _own(
        "GET",
        P + "/syntheses/{key}/quality",
        "synthetic_quality",
        for_synthesis.show_quality,
        answer=str,
        refusals=(409, 410, 503),
    ),
    _look(
        "POST",
        P + "/syntheses/{key}/certificate-previews",
        "preview_certificate",
        for_synthesis.preview_certificate,
        body=wire.CertificateBody,
    ),
    _spend("POST", P + "/syntheses/{key}/certificates", "certify", for_synthesis.certify, body=wire.CertificateBody),
    _look("POST", P + "/explorer-previews", "preview_explorer", for_explorers.preview_explorer, body=wire.ExplorerBody),
    _own("GET", P + "/explorers", "explorers", for_explorers.list_explorers, answer=Records),
    _spend("POST", P + "/explorers", "open_explorer", for_explorers.open_explorer, body=wire.ExplorerBody),
    _own("GET", P + "/explorers/{key}", "explorer", for_explorers.show_explorer, refusals=(409, 410, 503)),
    _look(
        "POST",
        P + "/explorers/{key}/guesses",
        "guess_explorer",
        for_explorers.guess,
        body=wire.ExplorerQuestions,
        right=Right.ASK,
    ),
    _spend("POST", P + "/explorers/{key}/counts", "ask_explorer", for_explorers.count, body=wire.ExplorerQuestions),
    _spend("DELETE", P + "/explorers/{key}", "close_explorer", for_explorers.close_explorer),
    _look(
        "POST",
        P + "/comparison-previews",
        "preview_comparison",
        for_comparing.preview_comparison,
        body=wire.ComparisonBody,
    ),
    _own("GET", P + "/comparisons", "comparisons", for_comparing.list_comparisons, answer=Records),
    _spend("POST", P + "/comparisons", "compare", for_comparing.compare, body=wire.ComparisonBody),
    _own("GET", P + "/comparisons/{key}", "comparison", for_comparing.show_comparison, refusals=(409, 410, 422, 503)),
    _look("POST", P + "/survival-previews", "preview_survival", for_comparing.preview_survival, body=wire.SurvivalBody),
    _own("GET", P + "/survivals", "survivals", for_comparing.list_survivals, answer=Records),
    _spend("POST", P + "/survivals", "estimate_survival", for_comparing.estimate_survival, body=wire.SurvivalBody),
    _own("GET", P + "/survivals/{key}", "survival", for_comparing.show_survival, refusals=(409, 410, 422, 503)),
    _look("POST", P + "/rows-a-person-previews", "preview_rows", for_comparing.preview_rows, body=wire.RowsBody),
    _own("GET", P + "/rows-a-person", "all_rows", for_comparing.list_counted_rows, answer=Records),
    _spend("POST", P + "/rows-a-person", "rows_a_person", for_comparing.rows_a_person, body=wire.RowsBody),
    _own("GET", P + "/rows-a-person/{key}", "rows", for_comparing.show_rows_again, refusals=(409, 410, 422, 503)),
    _look(
        "POST",
        P + "/regression-previews",
        "preview_regression",
        for_regressions.preview_regression,
        body=wire.RegressionBody,
    ),
    _own("GET", P + "/regressions", "regressions", for_regressions.list_regressions, answer=Records),
    _spend("POST", P + "/regressions", "regress", for_regressions.regress, body=wire.RegressionBody),
    _own("GET", P + "/regressions/{key}", "regression", for_regressions.show_regression, refusals=(409, 410, 422, 503)),
    _look(
        "POST",
        P + "/dashboard-previews",
        "preview_dashboard",
        for_dashboards.preview_dashboard,
        body=wire.DashboardBody,
    ),
    _own("GET", P + "/dashboards", "dashboards", for_dashboards.list_dashboards, answer=Records),
    _spend("POST", P + "/dashboards", "open_dashboard", for_dashboards.open_dashboard, body=wire.DashboardBody),
    _own("GET", P + "/dashboards/{dashboard}", "dashboard", for_dashboards.show_dashboard),
    _spend(
        "POST",
        P + "/dashboards/{dashboard}/releases",
        "publish_release",
        for_dashboards.publish_release,
        body=wire.DashboardRelease,
    ),
    _look("POST", P + "/study-previews", "preview_study", for_studies.preview_study, body=wire.StudyBody),
    _own("GET", P + "/studies", "studies", for_studies.list_studies, answer=Records),
    _spend("POST", P + "/studies", "study", for_studies.study, body=wire.StudyBody),
    _own("GET", P + "/studies/{key}", "study_again", for_studies.show_study, refusals=(409, 410, 503)),
    _own("GET", P + "/saved-questions", "saved_questions", for_saving.list_saved, answer=Records),
    _look(
        "POST",
        P + "/saved-questions",
        "save_question",
        for_saving.save_question,
        body=saving_type(),
        refusals=(*_BODY, 403, 409, 503),
    ),
    _own(
        "DELETE",
        P + "/saved-questions/{saved}",
        "forget_saved",
        for_saving.forget_saved,
        right=Right.PREVIEW,
        refusals=(503,),
    ),
    _own("GET", P + "/requests", "own_requests", for_analysts.list_requests, answer=Records, refusals=()),
    _look(
        "POST",
        P + "/requests",
        "request_budget",
        for_analysts.make_request,
        body=wire.BudgetRequestBody,
        refusals=(*_BODY, 403),
    ),
    Operation("GET", "/health", "health", for_anybody.health, roles=None),
    Operation("GET", "/me", "me", for_anybody.me),
    Operation(
        "POST",
        "/acceptances",
        "accept_invitation",
        for_anybody.accept_invitation,
        body=wire.Acceptance,
        roles=None,
        refusals=(*_BODY, 404),
    ),
    Operation("GET", "/tokens", "tokens", for_anybody.list_tokens, answer=Records),
    Operation("POST", "/tokens", "make_token", for_anybody.make_token, body=wire.NewToken, refusals=_BODY),
    Operation("DELETE", "/tokens/{token}", "revoke_token", for_anybody.revoke_token),
    Operation("GET", "/populations", "populations", for_anybody.list_populations, answer=Records, refusals=(503,)),
    Operation("GET", P, "population", for_anybody.show_population, refusals=(304, 503)),
    _look(
        "GET", P + "/vocabularies/{vocabulary}", "vocabulary", for_anybody.show_vocabulary, answer=str, refusals=(422,)
    ),
    Operation("GET", "/receipts/{receipt}", "receipt", for_analysts.check_receipt, refusals=(404, 422, 503)),
    _oversee("GET", P + "/account", "account", for_overseers.show_account),
    _oversee("GET", P + "/all-requests", "all_requests", for_analysts.list_requests, answer=Records),
    _oversee(
        "GET",
        "/ledger/entries",
        "ledger_entries",
        for_overseers.list_entries,
        answer=Records,
        query=_AFTER | {"chain": (1, 2**31 - 1)},
        refusals=(422, 503),
    ),
    _oversee("GET", "/metrics", "metrics", for_overseers.show_metrics, answer=OpenMetrics, refusals=()),
    _oversee("GET", "/ledger/head", "ledger_head", for_overseers.show_head),
    _oversee(
        "POST",
        "/ledger/verifications",
        "verify_ledger",
        for_overseers.verify_ledger,
        body=wire.ReceiptList,
        refusals=(*_BODY, 503),
    ),
    _oversee("GET", "/ledger/export", "export_ledger", for_overseers.export_ledger, answer=bytes),
    _see("GET", "/people", "people", for_custodians.list_people, answer=Records),
    _decide("PATCH", "/people/{person}", "change_person", for_custodians.change_person, body=wire.PersonChange),
    _act("DELETE", "/people/{person}/tokens", "revoke_tokens", for_custodians.revoke_tokens),
    _act("POST", "/people/{person}/links", "renew_link", for_custodians.renew_link, refusals=(403, 422, 500, 503)),
    _see("GET", "/invitations", "invitations", for_custodians.list_invitations, answer=Records),
    _decide("POST", "/invitations", "invite", for_custodians.invite, body=wire.NewInvitation),
    Operation("GET", P + "/policy", "policy", for_custodians.show_policy, refusals=(503,)),
    _decide("PATCH", P + "/policy", "change_policy", for_custodians.change_policy, body=wire.PolicyChange),
    _decide("PUT", P + "/analysts/{analyst}", "change_analyst", for_custodians.change_analyst, body=wire.AnalystChange),
    _act("DELETE", P + "/analysts/{analyst}", "forget_analyst", for_custodians.forget_analyst),
    _decide("POST", P + "/suspension", "suspend", for_custodians.suspend, body=wire.Suspension),
    _act("POST", P + "/tables/{table}/versions", "advance_version", for_custodians.advance_version),
    _see("GET", P + "/sources", "sources", for_tables.list_sources),
    _decide("POST", P + "/source-columns", "source_columns", for_tables.show_columns, body=wire.TablePlace),
    _decide("POST", P + "/tables", "add_table", for_tables.add, body=wire.NewTableBody),
    _see("GET", "/sources", "all_sources", for_tables.list_all_sources),
    _decide("POST", "/source-columns", "new_source_columns", for_tables.show_new_columns, body=wire.TablePlace),
    _decide("POST", "/populations", "create_population", for_tables.create, body=wire.NewPopulationBody),
    _see("GET", P + "/changes", "changes", for_custodians.show_changes),
    _decide(
        "POST",
        P + "/requests/{request}/decision",
        "decide_request",
        for_custodians.decide_request,
        body=wire.RequestDecision,
    ),
    _see("GET", "/failures", "failures", for_custodians.show_failures),
    _see("GET", "/unsettled", "unsettled", for_custodians.list_unsettled, answer=Records),
    _act("POST", "/recoveries", "recover", for_custodians.recover),
)

LARGER: Final = frozenset(
    {
        *("batches", "batch-previews", "questions", "previews", "rehearsals", "stored-answers", "saved-questions"),
        *("publication-previews", "publications", "synthesis-previews", "syntheses"),
        *("study-previews", "studies"),
        *("explorer-previews", "explorers", "guesses", "counts"),
        *("comparison-previews", "comparisons", "survival-previews", "survivals"),
        *("rows-a-person-previews", "rows-a-person"),
        *("regression-previews", "regressions", "dashboard-previews", "dashboards"),
    }
)
"""The last parts of paths whose bodies may be larger than others."""
