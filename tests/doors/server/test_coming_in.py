"""The page about the first server is followed line by line, from an empty folder to a colleague's first answer."""

import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from click.testing import CliRunner

from doors.server.doors import make_folder
from doors.server.test_serving import command, lines_of, wait_for
from lapwing.doors.cli import main
from lapwing.doors.server.door_store import open_store
from lapwing.doors.server.people import Directory
from lapwing.doors.server.roles import Role
from lapwing.vocabulary.errors import ParameterError

pytestmark = pytest.mark.one_budget("people come in alike; the lines of the page are followed with every kind")

PAGE = Path(__file__).parents[3] / "docs" / "first_server.md"
PASSWORD = "four words are better"  # noqa: S105 - people of this file have it
BUDGETS = {"pure": "--epsilon 3 --allow ana=1", "delta": "--epsilon 3 --delta 1e-6", "rho": "--rho 0.5"}


def blocks_of(language: str) -> list[str]:
    """Return the blocks of the page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def printed_lines(budget: str) -> list[str]:
    """Return the lines of the page, with another kind of budget in the place of its own."""
    lines = blocks_of("sh")[2].splitlines()
    assert BUDGETS["pure"] in lines[0]
    return [line.replace(BUDGETS["pure"], budget) for line in lines]


def typed(line: str, folder: Path) -> str:
    words = [sys.executable, "-m", *shlex.split(line)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def browser(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, follow_redirects=True, trust_env=False, timeout=60) as one:
        yield one


def key_of(page: httpx.Response) -> str:
    return re.search(r'name="csrf" value="([^"]+)"', page.text).group(1)


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
def test_the_printed_lines_lead_from_an_empty_folder_to_a_colleagues_first_answer(quick_path, budget) -> None:
    subprocess.run(["sh", "-ec", blocks_of("sh")[1]], cwd=quick_path, check=True)  # noqa: S607 - as it is typed
    *before, serve = printed_lines(budget)
    told = "".join(typed(line, quick_path) for line in before)
    hers = re.search(r"\S+/invitations/\S+", told).group()
    assert serve == "lapwing serve -w clinic"
    with command("serve", "--listen", "127.0.0.1:0", "-w", str(quick_path / "clinic")) as process:
        said = lines_of(process, "curl")
        assert "No" in said
        address, his = re.search(r"(http://127.0.0.1:\d+)(/invitations/\S+)", said).groups()
        wait_for(f"{address}/api/v1/me", "x")
        with browser(address) as custodian:
            inside = custodian.post(his, data={"password": PASSWORD, "again": PASSWORD})
            assert inside.status_code == 200
            assert "Ana Li" in custodian.get("/custody/people").text
        with browser(address) as ana:
            assert ana.post(urlsplit(hers).path, data={"password": PASSWORD, "again": PASSWORD}).status_code == 200
            account = "/populations/clinic/account"
            made = ana.post(f"{account}/tokens", data={"csrf": key_of(ana.get(account)), "name": "notebook"})
            token = re.search(r"lw_[\w-]{20,}", made.text).group()
        told = io.StringIO()
        with redirect_stdout(told):
            (python,) = blocks_of("python")
            exec(python.replace("http://127.0.0.1:8431", address).replace("lw_...", token), names := {})  # noqa: S102
        (value,) = re.findall(r": ([\d,]+), within", told.getvalue())
        assert abs(int(value.replace(",", "")) - 1000) < 1000
        assert names["clinic"].analyst == "ana"
        names["clinic"].close()


def test_the_link_of_the_first_custodian_is_printed_until_one_has_a_password(quick_path, budget) -> None:
    folder = make_folder(quick_path / "clinic", budget)
    CliRunner().invoke(main, ["people", "add", "cus", "--role", "custodian", "-w", str(folder)])
    CliRunner().invoke(main, ["people", "add", "ana", "-w", str(folder)])
    with command("serve", "--listen", "127.0.0.1:0", "-w", str(folder)) as process:
        assert "No custodian has a password yet. For cus," in lines_of(process, "/invitations/")  # and nobody uses it
    with command("serve", "--listen", "127.0.0.1:0", "-w", str(folder)) as process:
        told = lines_of(process, "/invitations/")
        address, link = re.search(r"(http://\S+)(/invitations/\S+)", told).groups()
        wait_for(f"{address}/api/v1/me", "x")
        with browser(address) as cus:
            assert cus.post(link, data={"password": PASSWORD, "again": PASSWORD}).status_code == 200
    with people(folder) as known:
        assert known.custodian_to_come() is None
        assert known.by_password("cus", PASSWORD).role is Role.CUSTODIAN


@contextmanager
def people(folder: Path) -> Iterator[Directory]:
    store = open_store(folder)
    yield Directory(store)
    store.close()


def test_somebody_who_is_known_keeps_everything_but_the_password(quick_path, budget) -> None:
    folder = make_folder(quick_path / "clinic", budget)
    with people(folder) as known:
        ana = known.add("ana", "Ana", Role.ANALYST, password="forgotten words here")  # noqa: S106 - as above
        token, _ = known.make_token(ana, "notebook")
        seen = known.sign_in("ana")
        old, new = known.link("ana", by="cleo"), known.link("ana", by="cleo")
        assert known.invited(old) is None
        assert known.invited(new) == "ana"
        assert [(one["id"], one["known"], one["made_by"]) for one in known.invitations()] == [("ana", True, "cleo")]
        assert known.accept(old, password=PASSWORD) is None
        with pytest.raises(ParameterError, match="is what this link is for"):
            known.accept(new)
        assert known.accept(new, password=PASSWORD) == (ana, False)
        assert known.accept(new, password=PASSWORD) is None
        assert known.by_password("ana", "forgotten words here") is None
        assert known.by_password("ana", PASSWORD) == ana
        assert known.by_sign_in(seen) is None
        assert known.by_token(token) == ana


def test_a_token_that_may_manage_becomes_nobody_else_by_a_link(door) -> None:
    made = door.call("cleo", "POST", "/api/v1/tokens", {"name": "night", "may": ["manage"], "days": 1}).json()
    door.tokens["night"] = made["secret"]
    for who in ("night", "cleo"):  # also all that a token can be
        told = door.call(who, "POST", "/api/v1/people/ana/links")
        assert (told.status_code, "on the page People" in told.text) == (403, True)
    assert door.call("cleo", "GET", "/api/v1/invitations").json() == []
    store = open_store(door.folder)
    link = Directory(store).link("ana", by="the prompt")
    store.close()
    assert door.call(None, "POST", "/api/v1/acceptances", {"secret": link}).status_code == 422
    accepted = door.call(None, "POST", "/api/v1/acceptances", {"secret": link, "password": PASSWORD}).json()
    assert set(accepted) == {"person"}  # and no token of hers


@pytest.mark.parametrize("decided", [{"disabled": True}, {"role": Role.AUDITOR}], ids=str)
def test_what_is_decided_about_somebody_ends_the_links_to_them(quick_path, budget, decided) -> None:
    with people(make_folder(quick_path / "clinic", budget)) as known:
        known.add("ana", "Ana", Role.ANALYST)
        link = known.link("ana", by="cleo")
        known.change("ana", **decided)
        assert known.accept(link, password=PASSWORD) is None
        assert known.by_password("ana", PASSWORD) is None


def test_a_link_to_somebody_who_may_not_come_in_is_refused(quick_path, budget) -> None:
    with people(make_folder(quick_path / "clinic", budget)) as known:
        known.add("ana", "Ana", Role.ANALYST)
        known.change("ana", disabled=True)
        with pytest.raises(ParameterError, match="may not come in; let them in again first"):
            known.link("ana", by="cleo")


def test_an_invitation_ends_when_its_name_is_given_to_somebody_else(quick_path, budget) -> None:
    with people(make_folder(quick_path / "clinic", budget)) as known:
        link = known.invite("ana", "Ana", Role.CUSTODIAN, by="cleo")
        known.add("ana", "Another Ana", Role.ANALYST)
        assert known.accept(link, password=PASSWORD) is None


def test_people_are_invited_at_the_prompt_and_again_when_they_forgot_their_password(quick_path, budget) -> None:
    folder = make_folder(quick_path / "clinic", budget)

    def invite(*words: str) -> str:
        return CliRunner().invoke(main, ["people", "invite", *words, "-w", str(folder)]).output

    told = invite("ana", "--role", "auditor")
    assert "ana, new here" in told
    assert re.search(r"role +auditor", told)
    first = re.search(r"http://127.0.0.1:8431/invitations/(\S+)", told).group(1)
    listed = CliRunner().invoke(main, ["people", "list", "-w", str(folder)]).output
    assert re.search(r"ana +ana +auditor +invited, has not come yet", listed)
    with people(folder) as known:
        assert known.accept(first, password=PASSWORD)[0].role is Role.AUDITOR
    assert "keeps name and role" in invite("ana", "--role", "custodian")
    there = invite("ana", "--address", "https://clinic.example.org/")
    assert "ana, known here" in there
    again = re.search(r"https://clinic.example.org/invitations/(\S+)", there).group(1)
    with people(folder) as known:
        assert known.accept(again, password=PASSWORD[::-1])[0].role is Role.AUDITOR
