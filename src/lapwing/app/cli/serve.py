"""The server from the command line: `lapwing serve`, and `lapwing people` for those who may come in."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click

from lapwing.app.cli.commands import facts, json_option, progress, table, tell
from lapwing.app.cli.options import folder_option
from lapwing.vocabulary.errors import MissingExtraError, ParameterError
from lapwing.vocabulary.wording import several

if TYPE_CHECKING:
    from lapwing.app.server.door_file import Listening
    from lapwing.app.server.door_store import DoorStore
    from lapwing.app.server.people import Directory

ROLES: Final = ("guest", "analyst", "custodian", "auditor")
_DEMO_PEOPLE: Final = 20_000
_ALL_ADDRESSES: Final = ("0.0.0.0", "::")  # noqa: S104 - they are recognised, and not used


@click.command()
@click.option("--listen", "address", metavar="HOST:PORT", help="Where to listen.  [default: 127.0.0.1:8431]")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="How many processes serve.")
@click.option("--certificate", type=click.Path(path_type=Path), help="The certificate to speak TLS with, as PEM.")
@click.option("--key", type=click.Path(path_type=Path), help="The key of the certificate, as PEM.")
@click.option("--plain", is_flag=True, help="Speak plain HTTP where others can reach it: behind a proxy with TLS only.")
@click.option("--demo", is_flag=True, help="Serve a clinic that is made up, with people who are signed in.")
@folder_option
def serve(
    folder: Path,
    *,
    address: str | None,
    workers: int,
    certificate: Path | None,
    key: Path | None,
    plain: bool,
    demo: bool,
) -> None:
    """Serve a workspace over HTTP, for analysts, custodians and auditors.

    It listens on this machine only; other addresses need a certificate, here or in door.toml, or --plain behind a
    proxy that speaks TLS. The first time, it prints a link with which the first custodian comes in; add others with
    lapwing people. See docs/server.md and docs/operations.md.

    \b
    lapwing serve --demo
    lapwing serve --listen 127.0.0.1:8431 --workers 2
    lapwing serve --listen 0.0.0.0:443 --certificate fullchain.pem --key privkey.pem

    It costs nothing. What is asked through it costs what it costs everywhere.
    """
    _require_server()
    from lapwing.app.server.door_file import Certificate, Listening, parse_address, read_door

    listening = Listening() if demo else read_door(folder)
    if address is not None:
        host, port = parse_address(address)
        listening = replace(listening, host=host, port=port)
    if certificate is not None or key is not None:
        if certificate is None or key is None:
            remedy = "give both: --certificate fullchain.pem --key privkey.pem"
            raise ParameterError("certificate", str(certificate or key), reason="is one of two files", remedy=remedy)
        listening = replace(listening, tls=Certificate(certificate=certificate, key=key))
    listening = replace(listening, plain=plain)
    listening.require_safe()
    if demo:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that its folder goes, however it is ended
        with TemporaryDirectory(prefix="lapwing-") as made:
            place = Path(made) / "clinic"
            _make_demo(place)
            _serve(place, listening, workers=workers, tokens=_demo_people(place))
    else:
        _serve(folder, listening, workers=workers, tokens={})


def _serve(folder: Path, listening: "Listening", *, workers: int, tokens: dict[str, str]) -> None:
    from lapwing.app.server.running import listen
    from lapwing.app.server.running import serve as run
    from lapwing.workspace.workspace import open_workspace

    open_workspace(folder).close()  # what is wrong with it is said here, once
    with listen(listening) as bound:
        listening = replace(listening, port=bound.getsockname()[1])
        click.echo(
            f"lapwing serves {folder.name} at {listening.address} ({several(workers, 'process')}); Ctrl+C ends it."
        )
        if listening.host in _ALL_ADDRESSES and not listening.has_a_name:
            click.echo(
                'It has no name that clients could call it by: write hosts = ["clinic.example.org"] into door.toml.'
            )
        _say_how_to_come_in(folder, listening, tokens)
        run(folder, listening, bound, workers=workers)


def _say_how_to_come_in(folder: Path, listening: "Listening", tokens: dict[str, str]) -> None:
    from lapwing.app.server.people import FIRST_LINK_FOR
    from lapwing.app.server.roles import Role

    with _directory(folder) as people:
        if people.is_empty:
            role, by = Role.CUSTODIAN, "the first start"
            secret = people.invite("custodian", "Custodian", role, by=by, seconds=FIRST_LINK_FOR)
            click.echo(
                f"Nobody can come in yet. For the first custodian, once and within {FIRST_LINK_FOR // 60} minutes:"
            )
            click.echo(f"  {listening.address}/invitations/{secret}")
            click.echo(
                f"  curl {listening.address}/api/v1/acceptances -H 'Content-Type: application/json' "
                f'-d \'{{"secret": "{secret}"}}\''
            )
    for who, token in tokens.items():
        click.echo(f"  {who}: {token}")
    if tokens:
        first = next(iter(tokens.values()))
        click.echo(f"  curl {listening.address}/api/v1/me -H 'Authorization: Bearer {first}'")
        click.echo(f'  clinic = lapwing.connect("{listening.address}", "{first}")  # in Python')


def _make_demo(folder: Path) -> None:
    from lapwing.app.clinic.clinic_files import make_clinic
    from lapwing.vocabulary.guarantee import PureDP
    from lapwing.workspace.creating import create

    with progress("Making up a clinic", _DEMO_PEOPLE) as tick:
        workspace = create(make_clinic(folder, _DEMO_PEOPLE, progress=tick))
    with workspace:  # so that the custodian has something to decide
        requests, population = workspace.ledger.budget_requests, workspace.ledger.populations()[0]
        requests.make(population, "ana", PureDP(epsilon=Fraction(1)), purpose="Asthma by site, for the yearly report")


def _demo_people(folder: Path) -> dict[str, str]:
    from lapwing.app.server.passwords import fresh_secret
    from lapwing.app.server.roles import Role

    cast = {"ana": Role.ANALYST, "cleo": Role.CUSTODIAN, "otto": Role.AUDITOR}
    tokens, password = {}, fresh_secret(96)
    with _directory(folder) as people:
        for name, role in cast.items():
            person = people.add(name, name.capitalize(), role, password=password)
            tokens[f"{name} ({role.value})"], _ = people.make_token(person, "the demo", days=1)
    click.echo(f"In a browser, sign in as ana, cleo or otto, with the password {password}")
    return tokens


@click.group()
def people() -> None:
    """Say who may come in to the server of a workspace.

    \b
    lapwing people add ana --name "Ana Li" --role analyst
    lapwing people list
    lapwing people disable ana

    It costs nothing: what they may spend is an allowance in lapwing.toml.
    """


@people.command("add")
@click.argument("id_", metavar="ID")
@click.option("--name", help="What to call them.  [default: their id]")
@click.option("--role", type=click.Choice(ROLES), default="analyst", show_default=True, help="What they may do.")
@click.option(
    "--days", type=click.IntRange(1, 365), default=90, show_default=True, help="For how long the token is good."
)
@folder_option
@json_option
def add_person(id_: str, *, name: str | None, role: str, days: int, folder: Path, as_json: bool) -> None:
    """Add a person, and print their first token: it is shown this once, and kept as a hash only.

    \b
    lapwing people add ana --name "Ana Li" --role analyst

    It costs nothing.
    """
    from lapwing.app.server.roles import Role

    with _directory(folder) as known:
        person = known.add(id_, name or id_, Role(role))
        token, _ = known.make_token(person, "lapwing people add", days=days)
    tell(
        {**person.to_dict(), "token": token},
        facts(("added", f"{person.name} ({person.id}), {person.role.value}"), ("token", token)),
        as_json=as_json,
    )


@people.command("list")
@folder_option
@json_option
def list_people(folder: Path, *, as_json: bool) -> None:
    """List everybody who may come in.

    \b
    lapwing people list

    It costs nothing.
    """
    with _directory(folder) as known:
        everybody = known.everybody()
    rows = [[one.id, one.name, one.role.value, "no" if one.disabled else "yes"] for one in everybody]
    shown = table(["id", "name", "role", "may come in"], rows, left=4) if rows else "Nobody yet: lapwing people add ID"
    tell({"people": [one.to_dict() for one in everybody]}, shown, as_json=as_json)


@people.command("disable")
@click.argument("id_", metavar="ID")
@click.option("--again", is_flag=True, help="Let them come in again.")
@folder_option
@json_option
def disable_person(id_: str, *, again: bool, folder: Path, as_json: bool) -> None:
    """Let a person come in no more; their tokens and sign-ins end with their next request.

    \b
    lapwing people disable ana
    lapwing people disable ana --again

    It costs nothing. What they asked stays charged and in the ledger.
    """
    with _directory(folder) as known:
        person = known.change(id_, disabled=not again)
    tell(person.to_dict(), facts(("may come in", "yes" if again else "no"), ("who", person.id)), as_json=as_json)


@people.command("link")
@click.argument("id_", metavar="ID")
@click.argument("subject")
@folder_option
@json_option
def link_person(id_: str, *, subject: str, folder: Path, as_json: bool) -> None:
    """Say who a person is at the provider that signs people in: their subject there, letter by letter.

    It is for providers where people are known before they come. The subject is the claim "sub" of their identity, and
    never a mail address, which may change hands. See docs/server.md.

    \b
    lapwing people link ana 4f1c6a2e-90b7-4f4e-8f53-2f9d1c2b7a10

    It costs nothing.
    """
    _require_server()
    from lapwing.app.server.door_file import read_door
    from lapwing.app.server.identities import Identities
    from lapwing.app.server.people import Directory

    provider = read_door(folder).door.provider
    if provider is None:
        remedy = "declare the provider in [sign_in] of door.toml first"
        raise ParameterError("subject", subject, reason="is at no provider", remedy=remedy)
    with _store(folder) as store:
        Identities(store, Directory(store)).link(id_, provider.issuer, subject)
    told = {"id": id_, "issuer": provider.issuer, "subject": subject}
    tell(told, facts(("who", id_), ("at", provider.name), ("is", subject)), as_json=as_json)


@contextmanager
def _directory(folder: Path) -> "Iterator[Directory]":
    with _store(folder) as store:
        from lapwing.app.server.people import Directory

        yield Directory(store)


@contextmanager
def _store(folder: Path) -> "Iterator[DoorStore]":
    _require_server()
    from lapwing.app.server.door_store import open_store
    from lapwing.workspace.settings import FILE

    if not (folder / FILE).exists():
        remedy = "name the folder of a workspace with -w"
        raise ParameterError("workspace", str(folder), reason=f"has no {FILE}", remedy=remedy)
    store = open_store(folder)
    try:
        yield store
    finally:
        store.close()


def _require_server() -> None:
    """Refuse to go on where what serves is not installed."""
    try:
        import msgspec  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as missing:
        raise MissingExtraError(missing.name or "starlette", extra="server") from None
