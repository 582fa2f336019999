"""Spark Connect: a Spark that runs elsewhere, reached over gRPC.

An address names the server, and no secret: its token is in a file. What is sent there are statements about people, and
what comes back are their exact numbers, so it is refused without TLS, but on this machine.

Nothing is known here of how the server reads a table but what it says of its plan: `files_read` takes the formats of
files and the names of folders from there.
"""

import re
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from stat import S_IMODE
from typing import Any, Final
from urllib.parse import unquote

from lapwing.vocabulary.errors import ParameterError, RegistrationError
from lapwing.vocabulary.frozen import frozen

WRITTEN: Final = "sc://HOST:PORT/;use_ssl=true;token_file=FILE"
_ADDRESS = re.compile(r"sc://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?/?((?:;[^;]*)*)")
_PORT = 15002
_SCAN = re.compile(r"\b(?:FileScan|BatchScan|Scan) (\w+)")
_FOLDER = re.compile(r"/([^/=]+)=[^/]*(?=/)")
_TRIES = 6
"""How often a request is sent again where the server is away: for about a minute, and not for ten as by itself."""


@frozen()
class RemoteSpark:
    """The address of a server, without its secrets.

    >>> RemoteSpark.read("sc://spark.example.org:443/;use_ssl=true;token_file=spark.token").host
    'spark.example.org'
    """

    host: str
    port: int
    parameters: tuple[tuple[str, str], ...]

    @classmethod
    def read(cls, address: str) -> "RemoteSpark":
        """Read an address; one that holds a secret, or sends what is secret in the clear, is refused unrepeated."""
        found = _ADDRESS.fullmatch(address)
        pairs = [] if found is None else [part.partition("=") for part in found[3].split(";")[1:]]
        if found is None or not all(name and sign for name, sign, _ in pairs):
            raise _refused("is not one of Spark Connect", f'write "{WRITTEN}"')
        given = {name.lower(): unquote(value) for name, _, value in pairs}
        remote = RemoteSpark(
            host=found[1].lower(), port=int(found[2] or _PORT), parameters=tuple(sorted(given.items()))
        )
        unknown = [name for name in given if name not in {"use_ssl", "token_file", "user_id"} and name[:2] != "x-"]
        if unknown:
            held = {"token", "password"} & set(unknown)
            reason = "holds a secret, for all to see who read the file" if held else f"says {', '.join(unknown)}"
            raise _refused(
                reason, "say use_ssl, token_file and user_id there; keep a token in a file that token_file names"
            )
        if given.get("use_ssl", "false").lower() != "true" and not remote.on_this_machine:
            raise _refused("would send exact numbers in the clear", "write use_ssl=true; only this machine needs none")
        return remote

    @property
    def on_this_machine(self) -> bool:
        """Whether what is sent there stays here."""
        try:
            return ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def place(self) -> str:
        """The server, in one spelling."""
        return f"{self.host}:{self.port}"

    def address(self, token: str | None) -> str:
        """Return the address as PySpark takes it, with the token in it: it is never shown."""
        said = [f"{name}={value}" for name, value in self.parameters if name != "token_file"]
        return ";".join([f"sc://{self.place}/", *said, *([] if token is None else [f"token={token}"])])


def _refused(reason: str, remedy: str) -> ParameterError:
    return ParameterError("remote", "an address", reason=reason, remedy=remedy)


def session_at(population: str, address: str) -> Any:
    """Return a session of its own on a server of Spark Connect."""
    remote, failed = RemoteSpark.read(address), "cannot be reached"
    token = _token(population, dict(remote.parameters).get("token_file"))
    try:
        from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415 - it needs packages of its own

        session = SparkSession.builder.remote(remote.address(token)).create()
        if hasattr(session, "newSession"):
            impatient(session)
            return session
        failed = "needs PySpark 4.3 or newer"
    except ImportError:
        failed = "needs packages of its own: pip install 'lapwing[spark-connect]'"
    except Exception as failure:  # noqa: BLE001 - gRPC fails in its own ways, and may repeat the address
        failed = f"cannot be reached: {type(failure).__name__}"
    raise RegistrationError(
        population, reason=f"is on Spark Connect at {remote.place}, which {failed}", remedy="mend it"
    )


def _token(population: str, file: str | None) -> str | None:
    if file is None:
        return None
    try:
        mode, text = Path(file).stat().st_mode, Path(file).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        reason, remedy = f"has no token in {file} that can be read", "put it there, and nothing else"
        raise RegistrationError(population, reason=reason, remedy=remedy) from None
    if S_IMODE(mode) & 0o077 or not text or ";" in text:
        reason = f"has a token in {file} that others may read, or that is none"
        raise RegistrationError(population, reason=reason, remedy=f"chmod 600 {file}, and put the token there")
    return text


def is_remote(session: Any) -> bool:
    """Return whether a session is one of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def impatient(session: Any) -> None:
    """Let a session give a server up that is away, within about a minute."""
    from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415 - as above

    session.client.set_retry_policies([DefaultPolicy(max_retries=_TRIES, max_backoff=20_000)])


@frozen(kw_only=False)
class FilesRead:
    """Files that a table is read from: their format, the columns inside of them, and those in names of folders."""

    form: str
    inside: frozenset[str]
    folders: frozenset[str]


def files_read(session: Any, place: str) -> Iterator[FilesRead]:
    """Yield what the plan of a table tells of its files."""
    plan = session.sql(f"EXPLAIN EXTENDED SELECT * FROM {place}").collect()[0][0]
    files = session.table(place).inputFiles()
    folders = {unquote(name) for file in files for name in _FOLDER.findall(file)}
    inside = set[str]()
    if folders:
        inside = set(session.read.parquet(unquote(files[0])).columns)  # a single file has no names of folders
    for form in set(_SCAN.findall(plan)) or ({"files"} if files else set()):
        yield FilesRead(form, frozenset(inside), frozenset(folders))
