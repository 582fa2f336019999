"""Coming in by the provider of an institution: away to it, back from it, and out of it again."""

from typing import Final

from starlette.responses import RedirectResponse, Response

from lapwing.doors.server.identities import BEGUN_FOR
from lapwing.doors.server.pages.authentication import keep_sign_in
from lapwing.doors.server.pages.page_visit import PageRefusedError, PageVisit, own_path
from lapwing.doors.server.pages.signing_in import login_page
from lapwing.doors.server.passwords import fresh_secret
from lapwing.doors.server.sign_in_provider import NotSignedInError, SignInService

_UNREACHABLE: Final = 503
_REFUSED: Final = 401


async def begin(visit: PageVisit) -> Response:
    """Send a browser to the provider, with a secret by which it is known again."""
    service, goal, secret = _service(visit), own_path(visit.asked("next", "/")), fresh_secret()
    address = visit.request.client.host if visit.request.client else ""
    if visit.site.looks.take(f"from {address}"):  # nothing can be guessed here: it only must not flood the store
        raise PageRefusedError(429, {"code": "too_many"})

    def prepare() -> str:
        place = service.begin(secret)
        visit.site.identities.begin(secret, goal)
        return place

    try:
        answer = RedirectResponse(await visit.on_errand(prepare), 303)
    except NotSignedInError as failure:
        visit.server.state.log(failure)
        said = visit.say("login.unreachable", name=service.provider.name)
        return login_page(visit, _UNREACHABLE, goal=goal, problem=said)
    answer.set_cookie(
        _cookie(visit), secret, max_age=BEGUN_FOR, httponly=True, samesite="lax", secure=visit.site.secure, path="/"
    )
    return answer


async def come_back(visit: PageVisit) -> Response:
    """Sign in a person who comes back from the provider; whatever is wrong, the page says only that it did not work."""
    service = _service(visit)
    visit.request.scope["audit"]["always"] = True
    try:
        goal, person = await visit.on_errand(lambda: _person(visit, service))
    except NotSignedInError as failure:
        visit.server.state.log(failure)
        answer = login_page(visit, _REFUSED, problem=visit.say("login.failed", name=service.provider.name))
        answer.delete_cookie(_cookie(visit), path="/", secure=visit.site.secure, httponly=True, samesite="lax")
        return answer
    if person is None:
        raise PageRefusedError(403, {"code": "unknown_person"})
    visit.request.scope["audit"]["who"] = person
    await visit.in_thread(lambda: visit.server.people.sign_out(visit.secret))  # one browser is one person
    secret = await visit.in_thread(lambda: visit.server.people.sign_in(person))
    answer = keep_sign_in(RedirectResponse(goal, 303), visit.site, secret)
    answer.delete_cookie(_cookie(visit), path="/", secure=visit.site.secure, httponly=True, samesite="lax")
    return answer


async def leave(visit: PageVisit) -> Response:
    """Send a browser to where people sign out at the provider."""
    service = _service(visit)
    try:
        goal = await visit.on_errand(service.end)
    except NotSignedInError as failure:
        visit.server.state.log(failure)
        goal = ""
    return RedirectResponse(goal or "/login", 303)


def _person(visit: PageVisit, service: SignInService) -> tuple[str, str | None]:
    """Return the page that a person wants to see, and who they are; None if they may not sign in."""
    secret = visit.request.cookies.get(_cookie(visit), "")
    words = visit.request.query_params
    if any(len(words.getlist(name)) > 1 for name in ("state", "code", "iss", "error")):
        raise NotSignedInError("the answer says something twice")
    if not secret or not service.is_answer_to(secret, words.get("state", "")):
        raise NotSignedInError("this browser did not begin it")
    goal = visit.site.identities.take(secret)
    if goal is None:
        raise NotSignedInError("it came back before, or too late")
    if "error" in words or not words.get("code"):
        raise NotSignedInError("the provider refused")
    subject = service.finish(secret, words["code"], words.get("iss"))
    person = visit.site.identities.let_in(subject, service.provider)
    return goal, None if person is None else person.id


def _service(visit: PageVisit) -> SignInService:
    if visit.site.provider is None:
        raise PageRefusedError(404, {"code": "not_there"})
    return visit.site.provider


def _cookie(visit: PageVisit) -> str:
    return f"{visit.site.cookie}-begun"
