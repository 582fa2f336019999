"""Authentication of a page's request: by the cookie of a sign-in, or by the trusted proxy in front."""

from typing import Final, NamedTuple

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from lapwing.doors.server.pages.page_visit import PageRefusedError, Site
from lapwing.doors.server.people import Person

_VOUCHED: Final = "v~"
"""Prefix of the cookie of somebody whom the proxy vouched for: it is valid only together with the proxy's header."""


class Authenticated(NamedTuple):
    """A person, the secret of their sign-in, and whether that sign-in begins now."""

    person: Person | None
    secret: str
    is_new: bool = False


async def authenticate(site: Site, request: Request) -> Authenticated:
    """Return whose request it is. The proxy's header overrules a cookie: the browser may be somebody else's by now."""
    secret, vouched = secret_of(site, request), request.scope["vouched"]
    person = site.server.people.by_sign_in(secret) if secret else None
    if not vouched or (person is not None and person.id == vouched):
        return Authenticated(person, secret)
    return await to_thread.run_sync(_let_in, site, vouched, limiter=site.server.threads)


def secret_of(site: Site, request: Request) -> str:
    """Return the secret of a sign-in that a request carries, if it is worth something now."""
    secret = request.cookies.get(site.cookie, "")
    return "" if secret.startswith(_VOUCHED) and not request.scope["vouched"] else secret


def _let_in(site: Site, vouched: str) -> Authenticated:
    """Begin a sign-in of somebody whom the proxy vouches for; refuse a person who is not known, or not any more."""
    people = site.server.people
    person = people.vouched_for(vouched, adds_guests=site.adds_guests)
    if person is None:
        raise PageRefusedError(403, {"code": "unknown_person"})
    return Authenticated(person, people.sign_in(person.id, prefix=_VOUCHED), is_new=True)


def keep_sign_in(answer: Response, site: Site, secret: str) -> Response:
    """Let a browser keep the secret of a sign-in.

    The cookie is lax, and not strict: who follows a link from a mail, or comes back from a provider, stays signed in,
    and every change is a form with a token.
    """
    answer.set_cookie(site.cookie, secret, httponly=True, samesite="lax", secure=site.secure, path="/")
    return answer
