"""Signing in with an institution's own accounts: OpenID Connect, the authorization code flow with PKCE, and no other.

The provider says *who* it is: issuer and subject, never a mail address, which may change hands. What must hold: this
browser began it (the state), this token answers it (the nonce), a thief of the code cannot use it (the verifier), the
answer comes from the provider that was asked (`iss`, RFC 9207). All three secrets follow from one that the browser
keeps for ten minutes, and each is good once.
"""

import base64
import hashlib
import hmac
import http.client
import json
import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from lapwing.doors.server.roles import Role
from lapwing.doors.server.trusted_proxy import Unknown, read_secret
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.loading import load_extra
from lapwing.workspace.toml import Section

RETURN_PATH: Final = "/sign-in/return"
_KNOWN_FOR: Final = 300.0
_NEW_KEYS_AFTER: Final = 10.0
_PATIENCE: Final = 10.0
_MOST_BYTES: Final = 1 << 20
_OK: Final = 200
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


class NotSignedInError(Exception):
    """Why somebody could not be signed in; for the custodian's log. The page says only that it did not work."""


class Subject(NamedTuple):
    """An account at a provider: issuer and subject, its name, and the role that its claims give here."""

    issuer: str
    subject: str
    name: str
    role: Role | None


@frozen()
class Provider:
    """An OpenID Connect provider that signs people in.

    Parameters
    ----------
    name : what people call it, on the button
    issuer : its address, letter by letter as it writes it itself
    client, secret : how we are known there; without a secret, the verifier alone protects the code
    callback : where it sends people back to, as it is registered there
    unknown : the treatment of people who are not known here and whom no claim gives a role
    claim, roles : the claim with roles (`groups`, or `realm_access.roles` inside another claim), and which role each
        value gives; the first that is found counts
    scope : what is asked for
    authorities : the certificates to trust instead of the system's
    """

    name: str
    issuer: str
    client: str
    callback: str
    secret: str = ""
    unknown: Unknown = Unknown.REFUSED
    claim: str = "groups"
    roles: Mapping[str, Role] | None = None
    scope: str = "openid profile"
    authorities: Path | None = None

    def role_of(self, claims: Mapping[str, Any]) -> Role | None:
        """Return the role that the claims of a token give."""
        told: Any = claims
        for name in [self.claim] if self.claim in claims else self.claim.split("."):
            told = told.get(name) if isinstance(told, dict) else None
        values = [told] if isinstance(told, str) else told if isinstance(told, list) else []
        return next((role for value, role in (self.roles or {}).items() if value in values), None)


class SignInService:
    """The way to a provider and back; the provider's metadata is fetched, and kept for five minutes."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self._tokens = load_extra("lapwing.doors.server.id_tokens", extra="sign-in")
        self._lock = Lock()
        self._about: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, Any] | None = None

    def begin(self, secret: str) -> str:
        """Return where to send the browser that keeps this secret."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(_part(secret, "verifier").encode()).digest())
        query = {
            "response_type": "code",
            "client_id": self.provider.client,
            "redirect_uri": self.provider.callback,
            "scope": self.provider.scope,
            "state": _part(secret, "state"),
            "nonce": _part(secret, "nonce"),
            "code_challenge": challenge.decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        return _with_query(self._endpoint("authorization_endpoint"), query)

    @staticmethod
    def is_answer_to(secret: str, state: str) -> bool:
        """Say whether a state is the one that this browser was sent away with."""
        return hmac.compare_digest(state.encode("utf-8", "replace"), _part(secret, "state").encode())

    def finish(self, secret: str, code: str, issuer: str | None) -> Subject:
        """Return who came back with this code, or refuse."""
        about = self._described()
        if issuer is None and about.get("authorization_response_iss_parameter_supported") is True:
            raise NotSignedInError("the provider always says who it is, and this answer does not")
        if issuer not in {None, self.provider.issuer}:
            raise NotSignedInError("another provider answered")
        told = self._redeem(code, _part(secret, "verifier"))
        claims = self._claims(str(told.get("id_token", "")), _part(secret, "nonce"))
        name = next(claims[one] for one in ("name", "preferred_username", "sub") if isinstance(claims.get(one), str))
        shown = "".join(letter for letter in name if letter.isprintable())[:200].strip()
        return Subject(self.provider.issuer, claims["sub"], shown or claims["sub"], self.provider.role_of(claims))

    def end(self) -> str:
        """Return the address to sign out at the provider; "" where it has none."""
        if not isinstance(self._described().get("end_session_endpoint"), str):
            return ""
        parts = urlsplit(self.provider.callback)
        back = f"{parts.scheme}://{parts.netloc}/login"
        query = {"client_id": self.provider.client, "post_logout_redirect_uri": back}
        return _with_query(self._endpoint("end_session_endpoint"), query)

    def _redeem(self, code: str, verifier: str) -> dict[str, Any]:
        """Return the provider's tokens for a code; the client authenticates by a method that the provider supports."""
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.provider.callback,
            "code_verifier": verifier,
        }
        ways = self._described().get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        headers = {}
        if self.provider.secret and "client_secret_basic" in ways:
            pair = f"{quote(self.provider.client, safe='')}:{quote(self.provider.secret, safe='')}"
            headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        else:
            fields["client_id"] = self.provider.client
            if self.provider.secret:
                fields["client_secret"] = self.provider.secret
        return self._fetch(self._endpoint("token_endpoint"), fields=fields, headers=headers)

    def _claims(self, token: str, nonce: str) -> dict[str, Any]:
        wanted = {"issuer": self.provider.issuer, "client": self.provider.client, "nonce": nonce}
        try:
            try:
                claims = self._tokens.claims_of(token, self._published(), **wanted)
            except self._tokens.UnknownKeyError:
                claims = self._tokens.claims_of(token, self._published(after=_NEW_KEYS_AFTER), **wanted)
        except self._tokens.BadTokenError as wrong:
            raise NotSignedInError(f"the token of the provider: {wrong}") from None
        return dict(claims)

    def _published(self, after: float = _KNOWN_FOR) -> Any:
        """Return the keys of the provider; they are looked up anew when they are older than `after` seconds."""
        with self._lock:
            if self._keys is None or time.monotonic() - self._keys[0] > after:
                keys = self._tokens.keys_of(self._fetch(self._endpoint("jwks_uri")))
                self._keys = (time.monotonic(), keys)
            return self._keys[1]

    def _described(self) -> dict[str, Any]:
        if self._about is None or time.monotonic() - self._about[0] > _KNOWN_FOR:
            about = self._fetch(f"{self.provider.issuer.rstrip('/')}/.well-known/openid-configuration")
            if about.get("issuer") != self.provider.issuer:
                raise NotSignedInError("the provider calls itself something else")
            self._about = (time.monotonic(), about)
        return self._about[1]

    def _endpoint(self, name: str) -> str:
        given = self._described().get(name)
        if not isinstance(given, str) or not is_safe(given):
            raise NotSignedInError(f"the provider has no {name} that can be reached safely")
        return given

    def _fetch(
        self, url: str, *, fields: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Return the JSON at an address; no redirect is followed, and the size is limited."""
        parts = urlsplit(url)
        if parts.scheme == "https":
            trusted = ssl.create_default_context(cafile=self.provider.authorities)
            line: http.client.HTTPConnection = http.client.HTTPSConnection(
                parts.netloc, timeout=_PATIENCE, context=trusted
            )
        else:
            line = http.client.HTTPConnection(parts.netloc, timeout=_PATIENCE)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        sent = {"Accept": "application/json", **(headers or {})}
        try:
            if fields is None:
                line.request("GET", path, headers=sent)
            else:
                sent["Content-Type"] = "application/x-www-form-urlencoded"
                line.request("POST", path, urlencode(fields), sent)
            reply = line.getresponse()
            text = reply.read(_MOST_BYTES)
            if reply.status != _OK:
                raise NotSignedInError(f"the provider answered {reply.status} at {parts.path}")
            told = json.loads(text)
        except (OSError, ValueError, RecursionError, http.client.HTTPException) as failure:
            raise NotSignedInError(f"the provider cannot be understood ({type(failure).__name__})") from None
        finally:
            line.close()
        if not isinstance(told, dict):
            raise NotSignedInError(f"the provider said something else at {parts.path}")
        return told


def is_safe(url: str) -> bool:
    """Say whether an address is reached by TLS, or on this machine.

    >>> [is_safe(one) for one in ("https://login.example.org/a", "http://login.example.org", "http://127.0.0.1:1/a")]
    [True, False, True]
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return bool(parts.hostname) and (
        parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    )


def read_provider(section: Section, folder: Path, hosts: frozenset[str]) -> Provider:
    """Return the provider that a section of door.toml declares."""
    load_extra("joserfc", extra="sign-in")  # a missing package is refused at the start, not at the first sign-in
    secret, authorities = section.take("secret_file", str, ""), section.take("authorities", str, "")
    with section.blamed():
        roles = section.section("roles", {})
        provider = Provider(
            name=section.take("name", str),
            issuer=_safe("issuer", section.take("issuer", str)),
            client=section.take("client", str),
            callback=_own_callback(section.take("callback", str), hosts),
            secret=read_secret(folder / secret, shortest=1) if secret else "",
            unknown=section.one_of("unknown", {one.value: one for one in Unknown}, Unknown.REFUSED),
            claim=section.take("claim", str, "groups"),
            roles={value: roles.one_of(value, {one.value: one for one in Role}) for value in roles.entries} or None,
            scope=section.take("scope", str, "openid profile"),
            authorities=_trusted(folder / authorities) if authorities else None,
        )
    section.done()
    if "openid" not in provider.scope.split():
        raise section.error(("scope",), f"scope = {provider.scope!r} asks for no identity", "write openid profile")
    return provider


def _safe(name: str, given: str) -> str:
    if not is_safe(given):
        raise ParameterError(name, given, reason="is not reached by https", remedy="write an address with https://")
    return given


def _trusted(path: Path) -> Path:
    try:
        ssl.create_default_context(cafile=path)
    except OSError:  # of which errors of certificates are a kind
        remedy = "name a PEM file with the certificates of those who may vouch for the provider"
        raise ParameterError("authorities", path.name, reason="holds no certificates", remedy=remedy) from None
    return path


def _own_callback(given: str, hosts: frozenset[str]) -> str:
    parts = urlsplit(_safe("callback", given))
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    if host not in hosts or parts.path != RETURN_PATH or parts.query or parts.fragment or "@" in parts.netloc:
        remedy = f"write https://, one of hosts, and {RETURN_PATH}"
        raise ParameterError("callback", given, reason="is not a place of this server", remedy=remedy)
    return given


def _part(secret: str, name: str) -> str:
    """Return one of the secrets that are derived from the browser's; none reveals another."""
    return hmac.new(secret.encode("utf-8", "replace"), f"lapwing sign-in {name}".encode(), hashlib.sha256).hexdigest()


def _with_query(url: str, query: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(query)}"
