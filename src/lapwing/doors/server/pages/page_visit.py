"""One visit of a page: a signed-in person and a form; how it becomes an operation, a page, or a problem."""

import hmac
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from hashlib import sha256
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import parse_qs, quote, urlencode

import msgspec
from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from lapwing.doors.server.authority import admit, may_call, perform
from lapwing.doors.server.calls import Operation, Reply, Server
from lapwing.doors.server.identities import Identities
from lapwing.doors.server.jobs import JobName
from lapwing.doors.server.lru_cache import LruCache
from lapwing.doors.server.operations import OPERATIONS
from lapwing.doors.server.pages.asked_cohorts import AskedCohorts
from lapwing.doors.server.pages.dictionary import Dictionary
from lapwing.doors.server.pages.frame import templates
from lapwing.doors.server.pages.library_words import in_language
from lapwing.doors.server.pages.page_words import ENGLISH, Messages, language_for, words_of
from lapwing.doors.server.pages.stream_prices import StreamPrices
from lapwing.doors.server.people import Person
from lapwing.doors.server.problems import ProblemError, body_of, status_of
from lapwing.doors.server.rates import Buckets
from lapwing.doors.server.reports import Reports
from lapwing.doors.server.sign_in_provider import SignInService
from lapwing.doors.server.trusted_proxy import TrustedProxy, Unknown
from lapwing.queries.catalogue.population import Population
from lapwing.session import Session
from lapwing.vocabulary.errors import LapwingError, ParameterError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import ConcentratedDP
from lapwing.vocabulary.wording import Call, Message, Setting

T = TypeVar("T")
Fields: TypeAlias = Mapping[str, list[str]]

_BY_NAME: Final[dict[str, Operation]] = {one.name: one for one in OPERATIONS}
_OWN_PATH: Final = re.compile(r"/[A-Za-z0-9/_.~?=&%+-]*")
_MOST_FIELDS: Final = 3000
_REFUSED: Final = 400
_MANY: Final = 20
_ACCEPTED: Final = 202
THEMES: Final = frozenset({"light", "dark"})


class PageRefusedError(Exception):
    """A refusal of a page: a status, and the body of the error."""

    def __init__(self, status: int, told: Mapping[str, Any]) -> None:
        self.status, self.told = status, dict(told)
        super().__init__(str(told.get("message", "")))

    @property
    def code(self) -> str:
        """The error code of the API."""
        return str(self.told.get("code", ""))

    @property
    def sentence(self) -> str:
        """The message, as a sentence."""
        message = str(self.told.get("message", ""))
        return f"{message[:1].upper()}{message[1:]}{'' if message.endswith(('.', '!', '?')) else '.'}"


@frozen()
class Site:
    """Everything that pages share, one for a process."""

    server: Server
    asked_cohorts: AskedCohorts
    reports: Reports
    secure: bool
    looks: Buckets
    identities: Identities
    proxy: TrustedProxy | None = None
    provider: SignInService | None = None
    errands: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(4))
    dictionaries: LruCache[str, tuple[Population, Dictionary]] = field(default_factory=LruCache)

    @property
    def adds_guests(self) -> bool:
        """Whether somebody whom the proxy vouches for, and who is not known, is added as a guest."""
        return self.proxy is not None and self.proxy.unknown is Unknown.GUEST

    @property
    def cookie(self) -> str:
        """The name of the session cookie; with TLS, one that only this host can have set."""
        return "__Host-lapwing" if self.secure else "lapwing"

    @property
    def known_cookie(self) -> str:
        """The name of the cookie of a browser in which somebody signed in before."""
        return f"{self.cookie}-known"


@frozen()
class PageVisit:
    """One request of a page by a person, `NOBODY` before sign-in; `secret` is that of the session cookie."""

    site: Site
    request: Request
    person: Person
    secret: str
    fields: Fields

    @property
    def server(self) -> Server:
        """The server behind the pages."""
        return self.site.server

    @property
    def population(self) -> str:
        """The population in the path; none on pages about none."""
        return str(self.request.path_params.get("population", ""))

    @property
    def base(self) -> str:
        """The path of the pages of the population."""
        return f"/populations/{quote(self.population)}" if self.population else ""

    @property
    def around(self) -> str:
        """The population whose pages are linked to: that in the path, or the only one that is for this person."""
        known = self.server.state.populations() if self.person.id and not self.population else []
        may_know = self.server.state.may_know
        found = [name for name in known if may_know(name, self.person)] if len(known) < _MANY else []
        return found[0] if len(found) == 1 else self.population

    @property
    def currency(self) -> str:
        """The currency of the population's budget, "epsilon" or "rho"; on pages about no population, "epsilon"."""
        declared = self.server.state.workspace.settings.populations.get(self.population)
        return "rho" if declared is not None and isinstance(declared.budget, ConcentratedDP) else "epsilon"

    @property
    def say(self) -> Messages:
        """The words of the language that the browser asks for."""
        return words_of(language_for(self.request.headers.get("accept-language", "")))

    @property
    def address(self) -> str:
        """From where the request comes."""
        return self.request.client.host if self.request.client else ""

    def part(self, name: str) -> str:
        """Return a part of the path."""
        return str(self.request.path_params[name])

    def asked(self, name: str, default: str = "") -> str:
        """Return a word of the address."""
        return self.request.query_params.get(name, default)

    def field(self, name: str, default: str = "") -> str:
        """Return the last value of a field of the form, without blanks around it."""
        return (self.fields.get(name) or [default])[-1].strip() or default

    @property
    def token(self) -> str:
        """The CSRF token that every form carries; it is derived from the secret of the sign-in."""
        return form_token(self.secret) if self.secret else ""

    def may(self, operation: str) -> bool:
        """Say whether the person may do something."""
        return may_call(_BY_NAME[operation], self.person)

    def session(self, body: Any = None) -> Session:
        """Return a session of the person at the population in the path, for what came with a request before, if any."""
        return self.server.state.session(self.population, self.person, body)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run work that computes or reads a disk in a thread, so that it does not block the event loop."""
        with refusals():
            return await self.server.look(self.person, work)

    async def on_errand(self, work: Callable[[], T]) -> T:
        """Do work that waits for another server, with threads that no question is waiting for."""
        return await to_thread.run_sync(work, limiter=self.site.errands)

    async def do(
        self,
        name: str,
        body: Any = None,
        *,
        key: str = "",
        path: Mapping[str, str] | None = None,
        query: Mapping[str, int] | None = None,
    ) -> Any:
        """Call an operation as the person of the visit, and return the reply of the API, as JSON values.

        Its path has the parts of the page's own, and `path`. A refusal is a `PageRefusedError`; a call that takes too
        long returns None, and is found by its key.
        """
        operation = _BY_NAME[name]
        own = {name: value for name, value in self.request.path_params.items() if name in operation.parts}
        with refusals(self.say.language):
            admitted = admit(self.server, operation, self.person, {**own, **(path or {})}, key)
            typed = None if operation.body is None else _typed(body, operation)
            raw = b"" if operation.body is None else msgspec.json.encode(body)
            told = await perform(admitted.call(self.request, query=query or {}, body=typed, raw=raw, headers={}))
        if not isinstance(told, Reply):
            return told
        if told.status == _ACCEPTED:
            return None
        if told.media_type != "application/json":
            return told
        found = msgspec.json.decode(told.body)
        if told.status >= _REFUSED:
            raise PageRefusedError(told.status, _said(found["error"], self.say.language))
        return found

    def show(
        self, template: str, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
    ) -> Response:
        """Return a page."""
        theme = self.request.cookies.get("theme", "")
        text = (
            templates()
            .get_template(template)
            .render(
                t=self.say,
                visit=self,
                person=self.person,
                population=self.population,
                base=self.base,
                currency=self.currency,
                stream_prices=StreamPrices.of,
                sign={"epsilon": "ε", "rho": "ρ"}[self.currency],
                path=self.request.url.path,
                theme=theme if theme in THEMES else "",
                csrf=self.token,
                **values,
            )
        )
        return Response(text, status, dict(headers or {}), "text/html; charset=utf-8")

    def show_running(self, key: str, *, progress: Mapping[str, Any] | None = None) -> Response:
        """Return the page of a job that is not at its end: how long ago it was asked, which any clock tells.

        How much of the tables was read is not told: that would be about the data, and would be free.
        """
        job = self.server.jobs.find(JobName(self.population, self.person.id, key))
        waited = None if job is None else int(time.perf_counter() - job.begun)
        return self.show("running.html", headers={"Refresh": "2"}, key=key, progress=progress, waited=waited)

    def go(self, place: str, **words: str) -> Response:
        """Send the browser to another page of the population."""
        return RedirectResponse(f"{self.base}{place}" + (f"?{urlencode(words)}" if words else ""), 303)


Show: TypeAlias = Callable[[PageVisit], Awaitable[Response]]


@frozen()
class Page:
    """One page, or what one of its forms does.

    Parameters
    ----------
    path, show : where it is, and what draws it
    method : GET, which changes nothing, or POST
    operation : those who may call this may see the page; None: everybody who is signed in
    open : whether it is there for those who have not signed in
    """

    path: str
    show: Show
    method: str = "GET"
    operation: str | None = None
    open: bool = False


@contextmanager
def refusals(language: str = ENGLISH) -> Iterator[None]:
    """Turn what an operation refuses into what a page shows of it, in its language where there are words for it."""
    try:
        yield
    except ProblemError as problem:
        raise PageRefusedError(problem.status, _said(problem.body()["error"], language)) from None
    except LapwingError as failure:
        raise PageRefusedError(status_of(failure), _said(_refusal(failure), language)) from None


Then: TypeAlias = str | Callable[[PageVisit, Any], Awaitable[Response]]


@frozen()
class FormAct:
    """The action of a button of a form: one operation, with the fields of the form, and a page afterwards.

    Parameters
    ----------
    operation : its name in the table of operations; its path has the parts of the page's own, and `parts`
    then : where the browser goes, or what shows the result of the operation
    body, key, parts : what the operation takes, from the form: its body, its idempotency key, more parts of its path
    refused : what shows the page of the form again, given `problem` and `status`; None: the page of problems
    """

    operation: str
    then: Then
    body: Callable[[PageVisit], Any] = lambda _: None
    key: Callable[[PageVisit], str] = lambda _: ""
    parts: Callable[[PageVisit], Mapping[str, str]] = lambda _: {}
    refused: Callable[..., Awaitable[Response]] | None = None

    async def perform(self, visit: PageVisit) -> Response:
        """Do it as the person who sent the form, and return what is shown next."""
        try:
            told = await visit.do(self.operation, self.body(visit), key=self.key(visit), path=self.parts(visit))
        except PageRefusedError as refused:
            if self.refused is None:
                raise
            return await self.refused(visit, problem=refused.sentence, status=refused.status)
        return visit.go(self.then) if isinstance(self.then, str) else await self.then(visit, told)


def act(path: str, operation: str, *, then: Then, **how: Any) -> Page:
    """Return a form with one button; see `FormAct`."""
    pressed = FormAct(operation=operation, then=then, **how)
    return Page(path=path, show=pressed.perform, method="POST", operation=operation)


def acts(path: str, operation: str, buttons: Mapping[str, FormAct]) -> Page:
    """Return a form with several buttons, by the value of `do`, for those who may call `operation`."""

    async def show(visit: PageVisit) -> Response:
        if (pressed := buttons.get(visit.field("do"))) is None:
            raise ProblemError.not_there()
        return await pressed.perform(visit)

    return Page(path=path, show=show, method="POST", operation=operation)


def _typed(body: Any, operation: Operation) -> Any:
    try:
        return msgspec.convert(body, operation.body)
    except msgspec.ValidationError as wrong:
        raise ProblemError(422, "invalid", str(wrong)[:300]) from None


def _refusal(failure: LapwingError) -> dict[str, Any]:
    """Return the error of a failure in the words of a page: a parameter of the API is a field here."""
    told: dict[str, Any] = body_of(failure, as_on_page)["error"]
    if isinstance(failure, ParameterError) and failure.for_analysts and failure.given is None:
        told["message"] = Message(f"{failure.name} ", failure.reason, "; ", failure.remedy).spelled(as_on_page)
    return told


def _said(told: dict[str, Any], language: str) -> dict[str, Any]:
    """Return an error with its message in a language."""
    return {**told, "message": in_language(language, str(told.get("message", "")))}


def as_on_page(piece: Setting | Call) -> str:
    """Return a parameter and what is proposed for it, as a reader of a page finds it there.

    >>> as_on_page(Setting("epsilon", "0.1")), as_on_page(Setting("max_rows", 3))
    ('epsilon 0.1', 'rows 3')
    """
    if isinstance(piece, Call):
        return str(piece)
    name = piece.name.removeprefix("max_").replace("_", " ")
    return name if piece.value is None else f"{name} {piece.value}"


def form_token(secret: str) -> str:
    """Return the token of all forms of one sign-in.

    >>> form_token("a") == form_token("a"), form_token("a") == form_token("b")
    (True, False)
    """
    return hmac.new(secret.encode("utf-8", "replace"), b"lapwing form", sha256).hexdigest()


def fields_of(request: Request) -> dict[str, list[str]]:
    """Return the fields of a form; there are no uploads, so this is all that is read."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return {}
    try:
        body: bytes = request.scope["body"]
        return parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return {}


def own_path(given: str) -> str:
    r"""Return a place of this server to go to; home, where something else was given.

    >>> [own_path(one) for one in ("/ask", "//evil.example", "/\\evil", "https://evil.example", "")]
    ['/ask', '/', '/', '/', '/']
    """
    return given if _OWN_PATH.fullmatch(given) and not given.startswith("//") else "/"
