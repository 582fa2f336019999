"""door.toml: where and how a workspace is served. It is in the folder of lapwing.toml, and optional.

listen = "127.0.0.1:8431"                       # loopback, if it is not said; other addresses need tls
hosts = ["clinic.example.org"]                  # the names by which clients call it
tick = "0.1"                                    # seconds: answers leave at multiples of it
tls = { certificate = "fullchain.pem", key = "privkey.pem" }

[limits]                                        # for each person
looks = { burst = 60, a_second = 30 }           # previews, and whatever else is free
asks = { burst = 20, a_second = 4 }             # whatever may spend
at_once = 2                                     # questions under way, and as many looks; more wait
waiting = 64                                    # questions under way and waiting, of everybody
"""

import ipaddress
import ssl
from dataclasses import field, replace
from pathlib import Path
from typing import Final

from lapwing.doors.server.application import LOOPBACK, DoorSettings
from lapwing.doors.server.rates import Limits, Rate
from lapwing.doors.server.sign_in_provider import read_provider
from lapwing.doors.server.trusted_proxy import read_proxy
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int, as_written, positive
from lapwing.vocabulary.frozen import frozen
from lapwing.workspace.toml import Document, Section

FILE: Final = "door.toml"
HOST: Final = "127.0.0.1"
PORT: Final = 8431
_NUMBER: Final = (str, int, float)


@frozen()
class Certificate:
    """The files that TLS is spoken with."""

    certificate: Path
    key: Path

    def require_good(self) -> None:
        """Refuse files that cannot be read, are not PEM, or do not belong together, before anything listens."""
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key, password="")
        except (OSError, ssl.SSLError, ValueError) as failure:
            remedy = "give a certificate and its own key, without a password, as two PEM files"
            reason = f"cannot be used ({type(failure).__name__})"
            raise ParameterError("certificate", str(self.certificate), reason=reason, remedy=remedy) from None


@frozen()
class Listening:
    """The address that a server listens on, and its settings."""

    host: str = HOST
    port: int = PORT
    tls: Certificate | None = None
    plain: bool = False
    door: DoorSettings = field(default_factory=DoorSettings)

    def require_safe(self) -> None:
        """Refuse to speak plain HTTP where others can listen: tokens and answers would be there to be read."""
        if self.tls is None and not self.plain and not is_loopback(self.host):
            remedy = "give --certificate and --key, or --plain behind a proxy that speaks TLS"
            raise ParameterError("listen", self.host, reason="can be reached by others, and has no TLS", remedy=remedy)
        if self.tls is not None:
            self.tls.require_good()

    @property
    def address(self) -> str:
        """The URL of the server for clients."""
        named = sorted(self.door.hosts - LOOPBACK)
        host = named[0] if named else f"[{self.host}]" if ":" in self.host else self.host
        port = "" if named and self.plain else f":{self.port}"
        return f"{'https' if self.is_secure else 'http'}://{host}{port}"

    @property
    def has_a_name(self) -> bool:
        """Whether door.toml has a host name for clients on other machines."""
        return bool(self.door.hosts - LOOPBACK)

    @property
    def is_secure(self) -> bool:
        """Whether clients come by TLS, to here or to the proxy in front."""
        return self.tls is not None or self.plain

    def shown(self) -> DoorSettings:
        """Return how the server shows itself, now that it is known where it listens."""
        names = {self.host, f"[{self.host}]"} if not is_loopback(self.host) else set()
        return replace(self.door, hosts=self.door.hosts | names, address=self.address, secure=self.is_secure)


def is_loopback(host: str) -> bool:
    """Say whether an address can be reached from this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_door(folder: Path) -> Listening:
    """Return the settings in the door.toml of a folder; defaults for those that are missing, or without a file."""
    path = folder / FILE
    if not path.exists():
        return Listening()
    top = Document.read(path).section()
    with top.blamed("listen"):
        host, port = parse_address(top.take("listen", str, f"{HOST}:{PORT}"))
    hosts = top.take("hosts", list, [])
    with top.blamed("tick"):
        tick = positive("tick", as_written(top.take("tick", _NUMBER, "0.1")))
    tls, limits = _certificate(top.section("tls", {}), folder), _limits(top.section("limits", {}))
    proxy = read_proxy(top.section("proxy"), folder) if "proxy" in top.entries else None
    known = LOOPBACK | {str(name).casefold() for name in hosts}
    provider = read_provider(top.section("sign_in"), folder, known) if "sign_in" in top.entries else None
    top.done()
    door = DoorSettings(hosts=known, tick=float(tick), limits=limits, proxy=proxy, provider=provider)
    return Listening(host=host, port=port, tls=tls, door=door)


def _certificate(given: Section, folder: Path) -> Certificate | None:
    if not given.entries:
        return None
    found = Certificate(certificate=folder / given.take("certificate", str), key=folder / given.take("key", str))
    given.done()
    return found


def parse_address(given: str) -> tuple[str, int]:
    """Return the host and the port of an address.

    >>> parse_address("127.0.0.1:8431"), parse_address("[::1]:80")
    (('127.0.0.1', 8431), ('::1', 80))
    """
    host, colon, port = given.rpartition(":")
    if not colon or not host:
        raise ParameterError("listen", given, reason="has no host and port", remedy=f"write {HOST}:{PORT}")
    return host.strip("[]"), as_int("port", port, least=0, most=65535)


def _limits(section: Section) -> Limits:
    usual = Limits()
    with section.blamed():
        found = Limits(
            looks=_rate(section, "looks", usual.looks),
            asks=_rate(section, "asks", usual.asks),
            wrong_tokens=_rate(section, "wrong_tokens", usual.wrong_tokens),
            sign_ins=_rate(section, "sign_ins", usual.sign_ins),
            **{
                name: as_int(name, section.take(name, int, getattr(usual, name)))
                for name in ("at_once", "waiting", "tokens", "connections")
            },
        )
    section.done()
    return found


def _rate(outer: Section, name: str, usual: Rate) -> Rate:
    section = outer.section(name, {})
    burst, a_second = section.take("burst", _NUMBER, usual.burst), section.take("a_second", _NUMBER, usual.a_second)
    section.done()
    with section.blamed():
        return Rate(
            burst=float(positive("burst", as_written(burst))),
            a_second=float(positive("a_second", as_written(a_second))),
        )
