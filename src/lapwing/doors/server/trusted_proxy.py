"""Identity that a proxy vouches for: believed from a declared address and with a shared secret, and never otherwise.

Who comes by a proxy that signs people in (Kerberos, SAML, an access gateway) is named in a header. Anybody can write
headers, so a request that carries one of ours without both proofs is refused and not ignored: somebody tries something,
or the proxy is set up wrongly, and both should be seen.
"""

import hmac
import ipaddress
import re
from collections.abc import MutableMapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from lapwing.doors.server.people import PERSON_ID
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.frozen import frozen
from lapwing.workspace.toml import Section

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

SHORTEST_SECRET: Final = 32
_FORWARDED: Final = b"x-forwarded-for"
_HEADER: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,59}")
_SECRET: Final = re.compile(r"[!-~]+")
_TAKEN: Final = frozenset({"host", "cookie", "authorization", "origin", "content-type", "content-length"})


class Unknown(StrEnum):
    """The treatment of somebody who is vouched for and is not known here."""

    REFUSED = "refused"
    GUEST = "guest"  # they are added, and may do nothing before a custodian gives them a role


class Vouched(NamedTuple):
    """The person and the address of a request that a proxy vouches for; "" where it does not."""

    person: str = ""
    address: str = ""


class NotVouchedError(Exception):
    """A request that carries the headers of the proxy and is not from it, or that carries them badly."""


@frozen()
class TrustedProxy:
    """The proxy in front, and the headers in which it names the person.

    Parameters
    ----------
    peers : the addresses from which it connects
    secret : what it sends with every request
    identity_header, secret_header : where it says who comes, and where it sends the secret; in small letters
    unknown : what becomes of people who are not known here
    fold_case : whether `Ana` is `ana`: only where no two people at the proxy differ in case alone
    sign_out : where people sign out at the proxy; "" where they cannot
    """

    peers: tuple[Network, ...]
    secret: str
    identity_header: str = "x-remote-user"
    secret_header: str = "x-lapwing-proxy"  # noqa: S105 - the name of a header
    unknown: Unknown = Unknown.REFUSED
    fold_case: bool = False
    sign_out: str = ""

    def read(self, scope: MutableMapping[str, Any]) -> Vouched:
        """Return the person and the address that the proxy vouches for, and remove its headers from the request.

        Raises
        ------
        NotVouchedError : the headers are there, and the proxy did not write them, or wrote what cannot be
        """
        ours = {self.identity_header.encode(), self.secret_header.encode()}
        found = {name: [value for key, value in scope["headers"] if key == name] for name in (*ours, _FORWARDED)}
        scope["headers"] = [pair for pair in scope["headers"] if pair[0] not in ours]
        if not any(found[name] for name in ours):
            return Vouched()
        if any(len(found[name]) > 1 for name in ours):
            raise NotVouchedError("a header of the proxy came twice")
        secret = b"".join(found[self.secret_header.encode()])
        right = hmac.compare_digest(secret, self.secret.encode())
        if not self._is_peer(scope) or not right:
            raise NotVouchedError("only the proxy may say who somebody is")
        named = found[self.identity_header.encode()]
        return Vouched(self._person(named[0]) if named else "", _client(found[_FORWARDED]))

    def _is_peer(self, scope: MutableMapping[str, Any]) -> bool:
        address = _parsed((scope.get("client") or ("",))[0])
        return address is not None and any(address in peer for peer in self.peers)

    def _person(self, given: bytes) -> str:
        """Return the id in a header; nothing is trimmed, decoded or guessed."""
        name = given.decode("latin-1")
        name = name.lower() if self.fold_case and name.isascii() else name
        if not PERSON_ID.fullmatch(name):
            raise NotVouchedError("the proxy named nobody who could be known here")
        return name


def read_proxy(section: Section, folder: Path) -> TrustedProxy:
    """Return the proxy that a section of door.toml declares."""
    with section.blamed("peers"):
        peers = tuple(_network(str(one)) for one in section.take("peers", list))
    if not peers:
        raise section.error(("peers",), "peers is empty", 'write the address of the proxy, ["10.0.0.5"]')
    with section.blamed("secret_file"):
        secret = read_secret(folder / section.take("secret_file", str))
    headers: dict[str, str] = {}
    for name, usual in (("identity_header", "X-Remote-User"), ("secret_header", "X-Lapwing-Proxy")):
        given = section.take(name, str, usual)
        if not _HEADER.fullmatch(given) or given.lower() in _TAKEN | set(headers.values()):
            raise section.error((name,), f"{name} = {given!r} cannot be used", f"write {usual}")
        headers[name] = given.lower()
    sign_out = section.take("sign_out", str, "")
    if sign_out and not (sign_out.startswith("/") and not sign_out.startswith("//")):
        raise section.error(("sign_out",), f"{sign_out!r} is not a path of this server", "write /oauth2/sign_out")
    proxy = TrustedProxy(
        peers=peers,
        secret=secret,
        unknown=section.one_of("unknown", {one.value: one for one in Unknown}, Unknown.REFUSED),
        fold_case=section.take("fold_case", bool, default=False),
        sign_out=sign_out,
        **headers,
    )
    section.done()
    return proxy


def read_secret(path: Path, *, shortest: int = SHORTEST_SECRET) -> str:
    """Return the secret in a file: one line, of characters that a header may have."""
    remedy = f"write {shortest} characters or more into it, such as openssl rand -hex 32 makes"
    try:
        secret = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise ParameterError("secret_file", path.name, reason="cannot be read", remedy=remedy) from None
    if len(secret) < shortest or not _SECRET.fullmatch(secret):
        raise ParameterError("secret_file", path.name, reason="holds no good secret", remedy=remedy)
    return secret


def _network(given: str) -> Network:
    try:
        return ipaddress.ip_network(given)
    except ValueError:
        remedy = "write an address such as 10.0.0.5, or a network such as 10.0.0.0/28"
        raise ParameterError("peers", given, reason="is no address", remedy=remedy) from None


def _parsed(given: str) -> Address | None:
    """Return an address; one of IPv4 as such, also where it comes in the clothes of IPv6.

    >>> str(_parsed("::ffff:10.0.0.5")), _parsed("10.0.0.5, 10.0.0.6")
    ('10.0.0.5', None)
    """
    try:
        address = ipaddress.ip_address(given)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _client(forwarded: list[bytes]) -> str:
    """Return the address that the proxy itself saw: the last one, for those before it are the client's own words.

    >>> _client([b"1.2.3.4", b"5.6.7.8, 192.0.2.7"]), _client([b"unknown"]), _client([])
    ('192.0.2.7', '', '')
    """
    last = forwarded[-1].decode("latin-1").rpartition(",")[2].strip() if forwarded else ""
    found = _parsed(last)
    return "" if found is None else str(found)
