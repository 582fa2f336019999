"""One server and one token: requests that are sent again, under their key, until they have an end.

The token goes to this one host and nowhere else: no redirection is followed, no proxy of the surroundings is asked, and
over a network it goes through TLS or not at all. What comes back is data, whole or not at all, of limited size, within
a limited time, and nothing in it is run.
"""

import http.client
import io
import ipaddress
import json
import re
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, quote, urlsplit

from lapwing import __version__
from lapwing.doors.client.decode_errors import error_of
from lapwing.noise.randomness import fresh_name
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.errors import LapwingError, ParameterError, ServerError
from lapwing.vocabulary.lifetime import closing_on_failure

API: Final = "/api/v1"
_KEY: Final = re.compile(r"[A-Za-z0-9._~-]{8,128}")
_TOKEN: Final = re.compile(r"[\x21-\x7e]{1,400}")
_MOST: Final = 40 * 1024 * 1024
"""Bytes of an answer: 100,000 numbers with their bounds have 13 million, and a vocabulary at most 32."""
_MOST_VALUES: Final = 4_000_000
"""Commas and brackets in one: what it becomes in memory grows with them, and 100,000 numbers have 2 million."""
_WAITS: Final = 20
"""Seconds after which a server replies that a question takes longer; then the client polls."""
_TOO_MANY: Final = 429
_UNAVAILABLE: Final = 503
_TRIES: Final = 5
"""How often a request is sent to a server that is busy or unavailable."""
_LONGER: Final = 202
_REFUSED: Final = 400
_LEAST_WAIT: Final = 0.25
"""The least number of seconds between two polls of a server that answered at once."""
_PAUSES: Final = (0.0, 0.1, 0.3, 1.0)
"""Seconds before the next tries where the connection was lost: one that was idle for long is opened anew at once."""

Progress = Callable[[int, int], object]


class HttpReply(NamedTuple):
    """A reply of the server: the status, how long to wait, and the JSON value."""

    status: int
    wait: float
    told: Any


class VocabularyFile(NamedTuple):
    """The bytes of a vocabulary: no JSON, and not parsed before their digest is checked."""

    suffix: str
    data: bytes


class _UntilThen(io.RawIOBase):
    """A stream of a socket with one deadline for all reads, however slowly the bytes come."""

    def __init__(self, said: io.RawIOBase, line: socket.socket, then: float) -> None:
        self._said, self._line, self._then = said, line, then

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        left = self._then - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._line.settimeout(left)
        return self._said.readinto(buffer)

    def close(self) -> None:
        self._said.close()
        super().close()


class _TimelyResponse(http.client.HTTPResponse):
    """An answer that is there, from its first byte to its last, within some seconds."""

    def __init__(self, line: socket.socket, *words: Any, seconds: float, **more: Any) -> None:
        super().__init__(line, *words, **more)
        said = self.fp.detach()  # the raw stream under the buffer that was made there
        self.fp = io.BufferedReader(_UntilThen(said, line, time.monotonic() + seconds))


class ServerConnection:
    """The way to one server, for as many threads as one likes.

    Parameters
    ----------
    url : where the server is, such as https://clinic.example.org
    token : the bearer token; it is sent to that server alone, and never shown
    timeout : for how many seconds a server is tried that does not answer, or says at once that it takes longer; an
        answer, once it is asked for, has as many and those that a server may work on it
    authorities : a file with certificates that are trusted besides those of the system
    """

    def __init__(self, url: str, token: str, *, timeout: float = 60, authorities: str | None = None) -> None:
        place = _checked(url)
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise ParameterError("token", "...", reason="is not a token", remedy="paste it as it was shown: lw_...")
        self.url, self._place, self._timeout = f"{place.scheme}://{place.netloc}{place.path}", place, timeout
        self._tls = ssl.create_default_context(cafile=authorities) if place.scheme == "https" else None
        if self._tls is not None and authorities is not None:
            self._tls.load_default_certs()
        self._waits = max(1, min(_WAITS, int(timeout / 2)))
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json",
            "User-Agent": f"lapwing/{__version__}",
            "Prefer": f"wait={self._waits}",
        }
        self._idle, self._is_known = deque[http.client.HTTPConnection](), False

    def __repr__(self) -> str:
        return f"<connection to {self.url}>"

    def get(self, path: str) -> Any:
        """Return the JSON value at a path."""
        return self._until_told("GET", path, None, {}, None)

    def post(self, path: str, body: Mapping[str, Any], *, key: str | None = None) -> Any:
        """Return the reply to a request that charges nothing, but may have an idempotency key."""
        return self._until_told("POST", path, body, {} if key is None else {"Idempotency-Key": key}, None)

    def charge(self, path: str, body: Mapping[str, Any] | None, *, key: str, progress: Progress | None = None) -> Any:
        """Return the reply to a request that may charge, once under its idempotency key; without a body, a DELETE."""
        method = "DELETE" if body is None else "POST"
        return self._until_told(method, path, body, {"Idempotency-Key": key}, progress)

    def cancel(self, path: str) -> None:
        """Stop something; if it is gone already, that is well."""
        self._send("DELETE", path, None, {})

    def close(self) -> None:
        """Hang up; the next request would connect again."""
        while self._idle:
            self._idle.pop().close()

    def _until_told(
        self, method: str, path: str, body: Mapping[str, Any] | None, more: Mapping[str, str], progress: Progress | None
    ) -> Any:
        """Send a request, and again while the server is away, is busy, or works on it."""
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        lost, busy, since = 0, 0, time.monotonic()
        while True:
            sent = time.monotonic()
            try:
                reply = self._send(method, path, data, more)
            except (OSError, http.client.HTTPException) as failure:
                self._give_up(failure, since)
                time.sleep(_PAUSES[min(lost, len(_PAUSES) - 1)])
                lost += 1
                continue
            patient = time.monotonic() - since < self._timeout
            if reply.status == _LONGER:  # it goes on: a request with its key waits for the same end
                lost = 0
                _tell(progress, reply.told)
                if time.monotonic() - sent >= self._waits / 2:  # it worked for as long as it was asked to
                    since = time.monotonic()
                elif patient:
                    time.sleep(max(reply.wait, _LEAST_WAIT))
                else:
                    raise _never_done(self.url)
            elif patient and (reply.status == _TOO_MANY or (reply.status == _UNAVAILABLE and busy < _TRIES)):
                busy += reply.status == _UNAVAILABLE
                time.sleep(max(reply.wait, _LEAST_WAIT))
            elif reply.status >= _REFUSED or not self._is_answer(reply):
                raise error_of(reply.status, reply.told)
            else:
                return reply.told

    @staticmethod
    def _is_answer(reply: HttpReply) -> bool:
        return reply.status == http.client.OK and reply.told is not _NO_JSON

    def _give_up(self, failure: Exception, since: float) -> None:
        """Raise where a retry is of no use: the server never answered, is not trusted, or takes too long."""
        if isinstance(failure, ssl.SSLCertVerificationError):
            remedy = "ask the custodian, and name the file of its authority: authorities='hospital.pem'"
            raise ServerError(f"the certificate of {self._place.hostname} is not trusted", remedy=remedy) from None
        if not self._is_known or time.monotonic() - since >= self._timeout:
            raise _not_reached(self.url, failure) from None

    def _send(self, method: str, path: str, data: bytes | None, more: Mapping[str, str]) -> HttpReply:
        line = self._line()
        typed = {} if data is None else {"Content-Type": "application/json"}
        with closing_on_failure(line):
            if line.sock is not None:
                line.sock.settimeout(self._timeout)
            line.request(method, f"{self._place.path}{API}{path}", data, {**self._headers, **typed, **more})
            answer = line.getresponse()
            self._is_known = True
            told = _read(answer, self.url)
        self._idle.append(line)  # where the server hung up, it connects anew by itself
        return HttpReply(answer.status, _seconds(answer.headers.get("Retry-After")), told)

    def _line(self) -> http.client.HTTPConnection:
        with suppress(IndexError):  # of another thread
            return self._idle.pop()
        return self._connected()

    def _connected(self) -> http.client.HTTPConnection:
        host, port = self._place.hostname or "", self._place.port
        line = http.client.HTTPConnection(host, port, timeout=self._timeout)
        if self._tls is not None:
            line = http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._tls)
        line.response_class = partial(_TimelyResponse, seconds=self._waits + self._timeout)  # type: ignore[assignment]
        return line


class PopulationDoor:
    """The operations of a server about one population; what is under way there can be cancelled from any thread.

    With a `segment`, all that is asked is about its people.
    """

    def __init__(self, connection: ServerConnection, population: str, segment: str | None = None) -> None:
        self.connection, self.population, self.segment = connection, population, segment
        self._running: set[str] = set()
        self._lock = threading.Lock()

    def get(self, path: str = "") -> Any:
        """Return the JSON value at a path."""
        return self.connection.get(self._path(path))

    def post(self, path: str, body: Mapping[str, Any], *, key: str | None = None) -> Any:
        """Return the reply to a request that charges nothing, but may have an idempotency key."""
        return self.connection.post(self._path(path), self._about(body), key=None if key is None else key_of(key))

    def charge(
        self, path: str, body: Mapping[str, Any] | None, *, key: str | None, progress: Progress | None = None
    ) -> Any:
        """Return the reply to a request that may charge, once under its idempotency key; without a body, a DELETE."""
        chosen = key_of(key)
        with self._lock:
            self._running.add(chosen)
        try:
            about = None if body is None else self._about(body)
            return self.connection.charge(self._path(path), about, key=chosen, progress=progress)
        finally:
            with self._lock:
                self._running.discard(chosen)

    def cancel(self) -> None:
        """Stop what is under way."""
        with self._lock:
            keys = tuple(self._running)
        for key in keys:
            self.connection.cancel(self._path(f"/jobs/{key}"))

    def _about(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return body if self.segment is None else {**body, "segment": self.segment}

    def _path(self, path: str) -> str:
        return f"/populations/{quote(self.population, safe='')}{path}"


def key_of(given: str | None) -> str:
    """Return an idempotency key as servers take it: a fresh one, the given one, or its digest.

    >>> key_of("asthma-study-17"), len(key_of("week 3")), key_of("week 3") == key_of("week 3")
    ('asthma-study-17', 64, True)
    """
    if given is None:
        return fresh_name()
    return given if _KEY.fullmatch(given) else digest(["key", given])


def _checked(url: str) -> SplitResult:
    place = urlsplit(url) if isinstance(url, str) else SplitResult("", "", "", "", "")
    try:
        is_whole = place.scheme in {"http", "https"} and place.hostname and (place.port is None or place.port)
    except ValueError:
        is_whole = False
    if not is_whole or place.username is not None or place.query or place.fragment:
        shown = f"{place.scheme}://{place.hostname or ''}"  # without a password that was written into it
        remedy = "write https://clinic.example.org, and give the token by itself"
        raise ParameterError("url", shown, reason="is not the address of a server", remedy=remedy)
    if place.scheme == "http" and not _is_loopback(place.hostname or ""):
        remedy = "write https://"
        raise ParameterError("url", url, reason="would show the token to everybody on the way", remedy=remedy)
    return SplitResult(place.scheme, place.netloc, place.path.rstrip("/").removesuffix(API), "", "")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _not_reached(url: str, failure: Exception) -> LapwingError:
    again = "what was asked under a key can be asked again, and is charged once"
    if isinstance(failure, http.client.IncompleteRead):
        remedy = f"look at the way to it; {again}"
        return ServerError(f"what {url} answers does not arrive whole", remedy=remedy)
    slow = " in time" if isinstance(failure, TimeoutError) else ""
    remedy = f"look whether it runs{', or connect with a longer timeout' if slow else ''}; {again}"
    return ServerError(f"no server is reached at {url}{slow}", remedy=remedy)


def _read(answer: http.client.HTTPResponse, url: str) -> Any:
    """Return the content of an answer, or fail as a lost connection does where it is incomplete.

    `http.client` does not report missing bytes when a number of bytes is read. An answer that has neither a length nor
    chunks ends where the connection does: it is complete if it is a JSON value, and else that cannot be known.
    """
    kind, is_measured = answer.headers.get_content_type(), answer.length is not None or bool(answer.chunked)
    body = b"" if answer.length is not None and answer.length > _MOST else answer.read(_MOST + 1)
    if len(body) > _MOST or (answer.length or 0) > _MOST:
        answer.close()
        raise ServerError(f"an answer of {url} has more than {_MOST:,} bytes", remedy="ask for less at once")
    told = VocabularyFile(_VOCABULARIES[kind], body) if kind in _VOCABULARIES else _json(body)
    if answer.length or (not is_measured and (told is _NO_JSON or kind in _VOCABULARIES)):
        raise http.client.IncompleteRead(body, answer.length)
    return told


def _never_done(url: str) -> LapwingError:
    remedy = "ask again later under the same key, which is charged once, or connect with a longer timeout"
    return ServerError(f"{url} only says, without working on it, that it takes longer", remedy=remedy, status=_LONGER)


_NO_JSON: Final = object()
"""Stands for what no server of lapwing sends."""


def _json(body: bytes) -> Any:
    """Return the value of a body, if it is JSON as servers write it, without NaN, and not of too many values."""
    if not body or sum(map(body.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        return _NO_JSON
    try:
        return json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return _NO_JSON


def _no_number(given: str) -> Any:
    raise ValueError(given)


_VOCABULARIES: Final = {"text/plain": ".csv", "application/vnd.apache.parquet": ".parquet"}
"""Suffixes of vocabularies, which are sent as files and not as JSON, by their content types."""


def _seconds(given: str | None) -> float:
    return min(float(given), 10.0) if given is not None and given.isascii() and given.isdecimal() else 1.0


def _tell(progress: Progress | None, told: Any) -> None:
    match told:
        case {"progress": {"done": int() as done, "of": int() as of}} if progress is not None:
            progress(done, of)
