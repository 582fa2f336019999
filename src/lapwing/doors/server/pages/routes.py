"""The table of pages: where each is, and who may see it. Routes and tests are made from it."""

import hmac
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlencode

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from lapwing.doors.server.authority import NOBODY, require_keys
from lapwing.doors.server.calls import API, Server
from lapwing.doors.server.door_store import DoorStore
from lapwing.doors.server.identities import Identities
from lapwing.doors.server.pages import (
    answer_pages,
    asking,
    choose_page,
    compare_page,
    custody,
    explorer_page,
    model_page,
    new_population,
    over_time_page,
    own_pages,
    policy,
    proof_pages,
    publication_page,
    publish_page,
    registering,
    rows_page,
    saved_pages,
    sceptic_pages,
    signing_in,
    signing_in_elsewhere,
    sql_page,
    study_page,
    survey_page,
    survival_page,
    synthetic_page,
)
from lapwing.doors.server.pages.asked_cohorts import AskedCohorts
from lapwing.doors.server.pages.authentication import Authenticated, authenticate, keep_sign_in, secret_of
from lapwing.doors.server.pages.frame import show_static
from lapwing.doors.server.pages.page_visit import (
    Page,
    PageRefusedError,
    PageVisit,
    Site,
    act,
    fields_of,
    form_token,
    refusals,
)
from lapwing.doors.server.people import Person
from lapwing.doors.server.problems import AFTER_DATA, ProblemError
from lapwing.doors.server.rates import Buckets
from lapwing.doors.server.reports import Reports
from lapwing.doors.server.sign_in_provider import RETURN_PATH, Provider, SignInService
from lapwing.doors.server.trusted_proxy import TrustedProxy

P: Final = "/populations/{population}"

PAGES: Final[tuple[Page, ...]] = (
    Page(path="/login", show=signing_in.show_login, open=True),
    Page(path="/login", show=signing_in.sign_in, method="POST", open=True),
    Page(path="/sign-in", show=signing_in_elsewhere.begin, open=True),
    Page(path=RETURN_PATH, show=signing_in_elsewhere.come_back, open=True),
    Page(path="/sign-in/out", show=signing_in_elsewhere.leave, open=True),
    Page(path="/invitations/{secret}", show=signing_in.show_invitation, open=True),
    Page(path="/invitations/{secret}", show=signing_in.accept_invitation, method="POST", open=True),
    Page(path="/theme", show=signing_in.choose_theme, method="POST", open=True),
    Page(path="/logout", show=signing_in.sign_out, method="POST"),
    *own_pages.PAGES,
    Page(path=P + "/ask", show=asking.show_ask, operation="preview"),
    Page(path=P + "/ask/draft", show=asking.redraw, method="POST", operation="preview"),
    Page(path=P + "/ask/rehearsal", show=asking.rehearse, method="POST", operation="rehearse"),
    Page(path=P + "/ask", show=asking.ask, method="POST", operation="ask"),
    *sql_page.PAGES,
    *publish_page.PAGES,
    *publication_page.PAGES,
    *synthetic_page.PAGES,
    *explorer_page.PAGES,
    *compare_page.PAGES,
    *model_page.PAGES,
    *over_time_page.PAGES,
    *study_page.PAGES,
    *survival_page.PAGES,
    *rows_page.PAGES,
    *saved_pages.PAGES,
    *choose_page.PAGES,
    Page(path=P + "/answers/{key}", show=answer_pages.show_answer, operation="answer"),
    Page(path=P + "/answers/{key}/csv", show=answer_pages.save_csv, operation="answer"),
    Page(path=P + "/answers/{key}/json", show=answer_pages.save_json, operation="answer"),
    act(P + "/answers/{key}/stop", "cancel_job", then="/history"),
    *custody.PAGES,
    *registering.PAGES,
    *new_population.PAGES,
    *policy.PAGES,
    *sceptic_pages.PAGES,
    *survey_page.PAGES,
    *proof_pages.PAGES,
)


def make_site(
    server: Server,
    store: DoorStore,
    *,
    secure: bool,
    proxy: TrustedProxy | None = None,
    provider: Provider | None = None,
) -> Site:
    """Return the state that pages share."""
    return Site(
        server=server,
        asked_cohorts=AskedCohorts(store),
        reports=Reports(server.state.folder),
        secure=secure,
        looks=Buckets(server.limits.looks),
        identities=Identities(store, server.people),
        proxy=proxy,
        provider=None if provider is None else SignInService(provider),
    )


def page_routes(site: Site) -> list[Route]:
    """Return the routes of all pages, and of the files that go with them."""
    found = [Route(one.path, _endpoint(site, one), methods=[one.method]) for one in PAGES]
    return [*found, Route("/static/{name}", show_static, methods=["GET"])]


def _endpoint(site: Site, page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return await _visit(site, page, request)

    return endpoint


async def _visit(site: Site, page: Page, request: Request) -> Response:
    """Show a page or refuse it; a person who is not signed in is redirected to sign in, and back."""
    request.scope["audit"]["operation"] = page.path
    try:
        came = await authenticate(site, request)
    except PageRefusedError as refused:
        return problem_page(_visit_of(site, request, None, ""), refused)
    if came.is_new:
        request.scope["audit"]["always"] = True
    answer = await _shown(site, page, request, came)
    is_kept = site.cookie in answer.headers.get("set-cookie", "")  # who signs out here keeps nothing
    return keep_sign_in(answer, site, came.secret) if came.is_new and not is_kept else answer


async def _shown(site: Site, page: Page, request: Request, came: Authenticated) -> Response:
    person, secret = came.person, came.secret
    visit = _visit_of(site, request, person, secret)
    if person is None and not page.open:
        return _to_login(request, ended=bool(secret))
    if person is not None:
        request.scope["audit"]["who"] = person.id
    try:
        with refusals():
            _require(visit, page)
            if page.method == "GET" and visit.person.id and {"population", "key"} <= request.path_params.keys():
                await to_thread.run_sync(_require_key, visit, limiter=visit.server.threads)
            return await page.show(visit)
    except PageRefusedError as refused:
        return problem_page(visit, refused)


def _visit_of(site: Site, request: Request, person: Person | None, secret: str) -> PageVisit:
    fields = fields_of(request) if request.method == "POST" else {}
    return PageVisit(
        site=site, request=request, person=person or NOBODY, secret=secret if person is not None else "", fields=fields
    )


def _to_login(request: Request, *, ended: bool) -> Response:
    """Redirect to the sign-in page; a request for a part of a page gets a 401, and its script redirects."""
    if "x-part" in request.headers:
        return Response(status_code=401)
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    words = {"next": wanted} if request.method == "GET" and wanted != "/" else {}
    words |= {"ended": "1"} if ended else {}
    return RedirectResponse("/login" + (f"?{urlencode(words)}" if words else ""), 303)


def _require(visit: PageVisit, page: Page) -> None:
    """Refuse what is not for this role, a form without the right CSRF token, and requests above the rate limit."""
    if page.operation is not None and not visit.may(page.operation):
        raise ProblemError.not_there()
    if page.method == "POST" and visit.person.id:
        given = visit.field("csrf")
        if not hmac.compare_digest(given.encode(), form_token(visit.secret).encode()) and page.path != "/theme":
            raise PageRefusedError(403, {"code": "form"})
    if visit.person.id and visit.site.looks.take(visit.person.id):
        raise PageRefusedError(429, {"code": "too_many"})


def _require_key(visit: PageVisit) -> None:
    """Refuse a page about what stands under a key to whom its tables are forbidden by now."""
    last = visit.server.state.require_population(visit.population, visit.person)
    require_keys(visit.server, visit.population, visit.person, last, visit.part("key"))


def problem_page(visit: PageVisit, refused: PageRefusedError) -> Response:
    """Show what went wrong: a refusal in its own words, and a failure in words that are always the same."""
    known = visit.say.has(f"problem.{refused.code}.title")
    code = refused.code if known else f"status_{refused.status}"
    if not visit.say.has(f"problem.{code}.title"):
        code = AFTER_DATA[1]
    words = visit.say(f"problem.{code}.words") if visit.say.has(f"problem.{code}.words") else refused.sentence
    headers = {"Retry-After": "2"} if refused.status in {429, 503} else {}
    return visit.show("problem.html", refused.status, headers, code=code, words=words)


def lost_page(site: Site, request: Request) -> Response:
    """Show that there is no such page."""
    secret = secret_of(site, request)
    person = site.server.people.by_sign_in(secret) if secret else None
    return problem_page(_visit_of(site, request, person, secret), PageRefusedError(404, {"code": "not_there"}))


def is_for_people(request: Request) -> bool:
    """Say whether a request is one of a browser that shows pages, and not of a program."""
    return not request.url.path.startswith(API) and "text/html" in request.headers.get("accept", "")
