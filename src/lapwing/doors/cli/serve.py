"""The server from the command line: `lapwing serve`, and `lapwing people` for those who may come in."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click

from lapwing.doors.cli.commands import facts, json_option, progress, say, table, tell
from lapwing.doors.cli.options import demo_budget_option, folder_option
from lapwing.vocabulary.errors import MissingExtraError, ParameterError
from lapwing.vocabulary.wording import several

if TYPE_CHECKING:
    from lapwing.doors.server.door_file import Listening
    from lapwing.doors.server.door_store import DoorStore
    from lapwing.doors.server.people import Directory

ROLES: Final = ("guest", "analyst", "custodian", "auditor")
_DEMO_PEOPLE: Final = 20_000
_MORE: Final[dict[str, dict[str, str]]] = {
    "epsilon": {"epsilon": "1"},
    "delta": {"epsilon": "1", "delta": "1e-7"},
    "rho": {"rho": "0.1"},
}
_ALL_ADDRESSES: Final = ("0.0.0.0", "::")  # noqa: S104 - they are recognised, and not used


@click.command()
@click.option("--listen", "address", metavar="HOST:PORT", help="Where to listen.  [default: 127.0.0.1:8431]")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="How many processes serve.")
@click.option("--certificate", type=click.Path(path_type=Path), help="The certificate to speak TLS with, as PEM.")
@click.option("--key", type=click.Path(path_type=Path), help="The key of the certificate, as PEM.")
@click.option("--plain", is_flag=True, help="Speak plain HTTP where others can reach it: behind a proxy with TLS only.")
@click.option("--demo", is_flag=True, help="Serve a clinic that is made up, with people who are signed in.")
@demo_budget_option
@folder_option
def serve(
    folder: Path,
    *,
    kind: str,
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
    lapwing serve --demo --budget delta
    lapwing serve --listen 127.0.0.1:8431 --workers 2
    lapwing serve --listen 0.0.0.0:443 --certificate fullchain.pem --key privkey.pem

    It costs nothing. What is asked through it costs what it costs everywhere.
    """
    _require_server()
    from lapwing.doors.server.door_file import Certificate, Listening, parse_address, read_door

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
            _make_demo(place, kind)
            _serve(place, listening, workers=workers, tokens=_demo_people(place))
    else:
        _serve(folder, listening, workers=workers, tokens={})


def _serve(folder: Path, listening: "Listening", *, workers: int, tokens: dict[str, str]) -> None:
    from lapwing.doors.server.running import listen
    from lapwing.doors.server.running import serve as run
    from lapwing.workspace.workspace import open_workspace

    open_workspace(folder).close()  # a bad workspace is refused here, once
    with listen(listening) as bound:
        listening = replace(listening, port=bound.getsockname()[1])
        say(f"lapwing serves {folder.name} at {listening.address} ({several(workers, 'process')}); Ctrl+C ends it.")
        if listening.host in _ALL_ADDRESSES and not listening.has_a_name:
            say('It has no name that clients could call it by: write hosts = ["clinic.example.org"] into door.toml.')
        _say_how_to_come_in(folder, listening, tokens)
        run(folder, listening, bound, workers=workers)


def _say_how_to_come_in(folder: Path, listening: "Listening", tokens: dict[str, str]) -> None:
    from lapwing.doors.server.people import FIRST_LINK_FOR
    from lapwing.doors.server.roles import Role

    with _directory(folder) as people:
        others = listening.door.provider is not None or listening.door.proxy is not None  # who let people in, too
        known, first = people.everybody(), people.custodian_to_come()
        if first is not None and not (known and others):
            by = "the start of the server"
            is_new = all(one.id != first for one in known)
            secret = (
                people.invite(first, first.capitalize(), Role.CUSTODIAN, by=by, seconds=FIRST_LINK_FOR)
                if is_new
                else people.link(first, by=by, seconds=FIRST_LINK_FOR)
            )
            who = "No custodian has a password yet" if known else "Nobody can come in yet"
            say(f"{who}. For {first}, once and within {FIRST_LINK_FOR // 60} minutes:")
            say(f"  {_link(listening, secret)}")
            if is_new:  # who is known has a token already
                say(
                    f"  curl {listening.address}/api/v1/acceptances -H 'Content-Type: application/json' "
                    f'-d \'{{"secret": "{secret}"}}\''
                )
    for who, token in tokens.items():
        say(f"  {who}: {token}")
    if tokens:
        first = next(iter(tokens.values()))
        say(f"  curl {listening.address}/api/v1/me -H 'Authorization: Bearer {first}'")
        say(f'  clinic = lapwing.connect("{listening.address}", "{first}")  # in Python')


def _link(listening: "Listening", secret: str) -> str:
    return f"{listening.address}/invitations/{secret}"


def _make_demo(folder: Path, kind: str) -> None:
    from lapwing.answers.budget import read_budget
    from lapwing.made_up.clinic_files import BUDGETS, make_clinic
    from lapwing.workspace.creating import create

    with progress("Making up a clinic", _DEMO_PEOPLE) as tick:
        workspace = create(make_clinic(folder, _DEMO_PEOPLE, **BUDGETS[kind], progress=tick))
    with workspace:  # so that the custodian has something to decide
        requests, population = workspace.ledger.budget_requests, workspace.ledger.populations()[0]
        requests.make(population, "ana", read_budget(**_MORE[kind]), purpose="Asthma by site, for the yearly report")


def _demo_people(folder: Path) -> dict[str, str]:
    from lapwing.doors.server.passwords import fresh_secret
    from lapwing.doors.server.roles import Role

    cast = {"ana": Role.ANALYST, "cleo": Role.CUSTODIAN, "otto": Role.AUDITOR}
    tokens, password = {}, fresh_secret(96)
    with _directory(folder) as people:
        for name, role in cast.items():
            person = people.add(name, name.capitalize(), role, password=password)
            tokens[f"{name} ({role.value})"], _ = people.make_token(person, "the demo", days=1)
    say(f"In a browser, sign in as ana, cleo or otto, with the password {password}")
    return tokens


@click.group()
def people() -> None:
    """Say who may come in to the server of a workspace.

    \b
    lapwing people invite ana --name "Ana Li" --role analyst
    lapwing people add night-job --role analyst
    lapwing people list
    lapwing people disable night-job

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

    A token is for programs. To sign in to the pages they need a password, which they choose by a link; it is made
    with lapwing people invite.

    \b
    lapwing people add ana --name "Ana Li" --role analyst

    It costs nothing.
    """
    from lapwing.doors.server.roles import Role

    with _directory(folder) as known:
        person = known.add(id_, name or id_, Role(role))
        token, _ = known.make_token(person, "lapwing people add", days=days)
    tell(
        {**person.to_dict(), "token": token},
        facts(("added", f"{person.name} ({person.id}), {person.role.value}"), ("token", token)),
        as_json=as_json,
    )


@people.command("invite")
@click.argument("id_", metavar="ID")
@click.option("--name", help="What to call somebody who is new here.  [default: their id]")
@click.option("--role", type=click.Choice(ROLES), help="What somebody who is new here may do.  [default: analyst]")
@click.option("--address", metavar="URL", help="Where the server is reached.  [default: as door.toml says]")
@folder_option
@json_option
def invite_person(
    id_: str, *, name: str | None, role: str | None, address: str | None, folder: Path, as_json: bool
) -> None:
    """Print a link by which somebody chooses a password for the pages: it works once, and for a day.

    Somebody who is new becomes known by it. Who is known already, because they were added here or because they forgot
    their password, keeps their id, role and allowance; older links of theirs end.

    \b
    lapwing people invite ana --name "Ana Li" --role analyst
    lapwing people invite ana

    It costs nothing.
    """
    _require_server()
    from lapwing.doors.server.door_file import read_door
    from lapwing.doors.server.people import INVITED_FOR
    from lapwing.doors.server.roles import Role

    by = "lapwing people invite"
    with _directory(folder) as known:
        here = next((one for one in known.everybody() if one.id == id_), None)
        if here is not None:
            if name is not None or role is not None:
                remedy = f"leave --name and --role out: lapwing people invite {id_}"
                raise ParameterError("id", id_, reason="is known here already, and keeps name and role", remedy=remedy)
            secret = known.link(id_, by=by)
        else:
            secret = known.invite(id_, name or id_, Role(role or "analyst"), by=by)
    is_new, may = here is None, Role(role or "analyst") if here is None else here.role
    listening = read_door(folder)
    link = f"{address.rstrip('/')}/invitations/{secret}" if address else _link(listening, secret)
    tell(
        {"id": id_, "role": may.value, "new": is_new, "secret": secret, "link": link},
        facts(
            ("who", f"{id_}, {'new here' if is_new else 'known here'}"),
            ("role", may.value),
            ("link", link),
            ("good", f"once, within {INVITED_FOR // 3600} hours"),
        ),
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
        everybody, invited = known.everybody(), [one for one in known.invitations() if not one["known"]]
    rows = [[one.id, one.name, one.role.value, "no" if one.disabled else "yes"] for one in everybody]
    rows += [[one["id"], one["name"], one["role"], "invited, has not come yet"] for one in invited]
    shown = table(["id", "name", "role", "may come in"], rows, left=4) if rows else "Nobody yet: lapwing people add ID"
    tell({"people": [one.to_dict() for one in everybody], "invited": invited}, shown, as_json=as_json)


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
    from lapwing.doors.server.door_file import read_door
    from lapwing.doors.server.identities import Identities
    from lapwing.doors.server.people import Directory

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
        from lapwing.doors.server.people import Directory

        yield Directory(store)


@contextmanager
def _store(folder: Path) -> "Iterator[DoorStore]":
    _require_server()
    from lapwing.doors.server.door_store import open_store
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
