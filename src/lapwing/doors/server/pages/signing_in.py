"""Coming in by password or by invitation, going out again, and the colours of pages."""

from collections.abc import Mapping

from starlette.responses import RedirectResponse, Response

from lapwing.doors.server.pages.authentication import keep_sign_in
from lapwing.doors.server.pages.page_visit import THEMES, PageVisit, own_path
from lapwing.doors.server.passwords import LONGEST, SHORTEST
from lapwing.doors.server.people import Person
from lapwing.doors.server.roles import Role

_YEAR = 365 * 24 * 3600


async def show_login(visit: PageVisit) -> Response:
    """Show where one signs in."""
    goal = own_path(visit.asked("next", "/"))
    if visit.person.id:
        return RedirectResponse(goal, 303)
    return login_page(visit, 200, goal=goal)


def login_page(
    visit: PageVisit, status: int, *, goal: str = "/", name: str = "", problem: str = "", wait: int = 0
) -> Response:
    """Return the page where one signs in; `wait` is for how many seconds not to try again."""
    service = visit.site.provider
    return visit.show(
        "login.html",
        status,
        {"Retry-After": str(wait)} if wait else {},
        goal=goal,
        name=name,
        problem=problem,
        ended=bool(visit.asked("ended")),
        left=bool(visit.asked("left")),
        provider=None if service is None else service.provider,
    )


async def sign_in(visit: PageVisit) -> Response:
    """Sign somebody in whose password is right; the reply to a wrong password and to an unknown name is the same."""
    name, goal = visit.field("name").casefold()[:200], own_path(visit.field("next", "/"))
    visit.request.scope["audit"]["always"] = True
    browser = await _known_browser(visit, name)
    limits, tried = visit.server.rates.sign_ins, {"name": name, "browser": browser}
    if wait := _seconds(await visit.in_thread(lambda: limits.wait(visit.address, **tried))):
        return login_page(visit, 429, goal=goal, name=name, problem=visit.say("login.too_many", n=wait), wait=wait)
    password = (visit.fields.get("password") or [""])[-1][:LONGEST]
    person = await visit.in_thread(lambda: visit.server.people.by_password(name, password))
    if person is None:
        return login_page(visit, 401, goal=goal, name=name, problem=visit.say("login.wrong"))
    await visit.in_thread(lambda: limits.give_back(visit.address, **tried))
    return await _let_in(visit, person, goal)


async def sign_out(visit: PageVisit) -> Response:
    """End a sign-in, here and in the store."""
    await visit.in_thread(lambda: visit.server.people.sign_out(visit.secret))
    proxy = visit.site.proxy
    goal = "/login" if visit.site.provider is None else "/login?left=1"
    if proxy is not None and proxy.sign_out and visit.request.scope["vouched"]:
        goal = proxy.sign_out
    answer = RedirectResponse(goal, 303, {"Clear-Site-Data": '"cache"'})
    answer.delete_cookie(visit.site.cookie, path="/", secure=visit.site.secure, httponly=True, samesite="lax")
    return answer


async def show_invitation(visit: PageVisit) -> Response:
    """Show where one chooses a password, to come in with from now on; the link is used up by the form alone."""
    return await _invitation(visit)


async def accept_invitation(visit: PageVisit) -> Response:
    """Make the person of an invitation, once, and let them in."""
    if wait := _seconds(await visit.in_thread(lambda: visit.server.rates.sign_ins.wait(visit.address))):
        said = visit.say("login.too_many", n=wait)
        return await _invitation(visit, 429, {"Retry-After": str(wait)}, problem=said)
    password, again = ((visit.fields.get(name) or [""])[-1] for name in ("password", "again"))
    visit.request.scope["audit"]["always"] = True
    if not SHORTEST <= len(password) <= LONGEST or password != again:
        name = "invitation.differ" if password != again else "invitation.length"
        said = visit.say(name, shortest=SHORTEST, longest=LONGEST)
        return await _invitation(visit, 422, problem=said)
    secret = visit.part("secret")
    accepted = await visit.in_thread(lambda: visit.server.people.accept(secret, password=password))
    if accepted is None:  # it was used meanwhile, or is too old by now
        return await _invitation(visit, 404)
    person, _ = accepted
    return await _let_in(visit, person, "/custody" if person.role is Role.CUSTODIAN else "/")


async def _invitation(
    visit: PageVisit, status: int = 200, headers: Mapping[str, str] | None = None, *, problem: object = ""
) -> Response:
    secret = visit.part("secret")
    name = await visit.in_thread(lambda: visit.server.people.invited(secret))
    return visit.show("invitation.html", status, headers, problem=problem, shortest=SHORTEST, name=name)


async def choose_theme(visit: PageVisit) -> Response:
    """Remember the chosen colours in a cookie; without a choice they are those of the system."""
    chosen = visit.field("theme")
    answer = RedirectResponse(own_path(visit.field("back", "/")), 303)
    if chosen in THEMES:
        answer.set_cookie("theme", chosen, max_age=_YEAR, samesite="lax", path="/", secure=visit.site.secure)
    else:
        answer.delete_cookie("theme", path="/")
    return answer


async def _let_in(visit: PageVisit, person: Person, goal: str) -> Response:
    visit.request.scope["audit"]["who"] = person.id
    secret = await visit.in_thread(lambda: visit.server.people.sign_in(person.id))
    answer = keep_sign_in(RedirectResponse(goal, 303), visit.site, secret)
    known = await visit.in_thread(lambda: visit.server.people.know_browser(person.id))
    answer.set_cookie(
        visit.site.known_cookie, known, max_age=_YEAR, httponly=True, samesite="lax", secure=visit.site.secure, path="/"
    )
    return answer


async def _known_browser(visit: PageVisit, name: str) -> str:
    """Return the name of a browser in which this person signed in before; "" otherwise."""
    given = visit.request.cookies.get(visit.site.known_cookie, "")
    return await visit.in_thread(lambda: visit.server.people.browser_of(name, given)) if given else ""


def _seconds(wait: float) -> int:
    """Return for how many whole seconds to wait before another try."""
    return int(wait) + 1 if wait else 0
