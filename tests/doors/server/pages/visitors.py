"""A server with a small clinic of people, visits and diagnoses, and somebody of every role who looks at its pages."""

import html
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

import lapwing as lw
from budgets import KindOfBudget
from doors.server.doors import AUTHORITIES, UNLIMITED, Door, serving
from lapwing.doors.server.application import DoorSettings
from lapwing.doors.server.door_store import open_store
from lapwing.doors.server.people import Directory
from lapwing.doors.server.roles import Role
from lapwing.made_up.clinic_files import make_clinic
from lapwing.workspace.settings import FILE
from postgres_server import where_there_is_room

P = "/populations/clinic"
PASSWORD = "four plain old words"  # noqa: S105 - of people who do not exist
PEOPLE = {
    "ana": Role.ANALYST,
    "ben": Role.ANALYST,
    "cleo": Role.CUSTODIAN,
    "otto": Role.AUDITOR,
    "gina": Role.GUEST,
}
MEN = {"p0.include": "in", "p0.c0.of": "patient.sex", "p0.c0.sex.in": "M"}
"""The inputs of the builder for all men."""


@dataclass
class Pages:
    """A running server, seen by a browser without a script."""

    door: Door
    cookies: dict[str, str]
    clients: list[httpx.Client] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.door.port}"

    def browser(self, who: str | None = None) -> "Browser":
        cookies = {"lapwing": self.cookies[who]} if who else {}
        client = httpx.Client(
            base_url=self.address,
            cookies=cookies,
            timeout=60,
            trust_env=False,
            headers={"Accept": "text/html"},
            verify=AUTHORITIES,
        )
        self.clients.append(client)
        return Browser(client)


@dataclass
class Browser:
    """Somebody who looks at pages and sends their forms."""

    client: httpx.Client

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.client.get(path, **more)

    def token(self) -> str:
        return field_of(self.get("/epsilon"), "csrf")

    def post(self, path: str, fields: dict[str, Any] | None = None, **more: Any) -> httpx.Response:
        return self.client.post(path, data={"csrf": self.token(), **(fields or {})}, **more)

    def draft(self, fields: dict[str, Any], **more: Any) -> httpx.Response:
        return self.post(f"{P}/ask/draft", fields, **more)

    def ask(self, fields: dict[str, Any]) -> httpx.Response:
        """Look at the price of a question, and press the button."""
        drawn = self.draft(fields)
        return self.post(f"{P}/ask", {**fields, **pressed(drawn)})

    def answer(self, fields: dict[str, Any]) -> httpx.Response:
        asked = self.ask(fields)
        assert asked.status_code == 303, text_of(asked)
        return self.get(asked.headers["location"])


def pressed(page: httpx.Response) -> dict[str, str]:
    """Return what the button of a drawn page sends besides the fields: its key, and what it showed."""
    return {name: field_of(page, name) for name in ("key", "shown")}


def field_of(page: httpx.Response, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page.text)
    assert found is not None, (name, page.status_code, text_of(page)[:500])
    return html.unescape(found[1])


def text_of(page: httpx.Response) -> str:
    """Return what a reader sees of a page."""
    plain = re.sub(r"<[^>]*>", " ", page.text)
    return re.sub(r"\s+", " ", html.unescape(plain))


def title_of(page: httpx.Response) -> str:
    found = re.search(r"<h1>(.*?)</h1>", page.text, re.DOTALL)
    return "" if found is None else html.unescape(found[1])


def with_budget(declared: str, budget: KindOfBudget, amount: str) -> str:
    """Return what a lapwing.toml declares, with another budget."""
    changed, times = re.subn(r"(?m)^budget = .*$", f"budget = {budget.toml(amount)}", declared)
    assert times == 1
    return changed


@contextmanager
def pages_of(
    folder: Path,
    budget: KindOfBudget,
    amount: str = "10",
    *,
    people: int = 400,
    settings: DoorSettings | None = None,
    declared: Callable[[str], str] = str,
) -> Iterator[Pages]:
    """Serve a clinic; `declared` may change what its lapwing.toml declares."""
    place = make_clinic(folder / "clinic", people)
    (place / FILE).write_text(declared(with_budget((place / FILE).read_text(), budget, amount)))
    lw.create(place).close()
    store = open_store(place)
    directory = Directory(store)
    for id_, role in PEOPLE.items():
        directory.add(id_, id_.capitalize(), role, password=PASSWORD if id_ in {"ana", "cleo"} else None)
    chosen = settings or DoorSettings(limits=UNLIMITED, tick=0.02)
    with serving(place, replace(chosen), tokens={}) as door:
        pages = Pages(door, {id_: directory.sign_in(id_) for id_ in PEOPLE})
        try:
            yield pages
        finally:
            for client in pages.clients:
                client.close()
    store.close()


@contextmanager
def clinic_door(budget: KindOfBudget, amount: str = "19", *, people: int = 3000) -> Iterator[Door]:
    """Serve a clinic to programs, with enough people and money for a regression to tell something."""
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as folder:
        place = make_clinic(Path(folder) / "clinic", people)
        declared = with_budget((place / FILE).read_text(), budget, amount)
        (place / FILE).write_text(with_enrolled(place, declared))
        lw.create(place).close()
        with serving(place) as door:
            yield door


def with_enrolled(place: Path, declared: str) -> str:
    """Write a table of 300 people who came, of whom half left, and declare it beside the others."""
    rows = [f"{one},2024-0{one % 6 + 1}-10,{'2024-08-05' if one % 2 else ''}" for one in range(300)]
    (place / "enrolled.csv").write_text("\n".join(["person_id,joined,quit", *rows]), encoding="utf-8")
    day = 'type = "date", first = 2020-01-01, last = 2025-01-01, fixed = true'
    return (
        f'{declared}\n[populations.clinic.tables.enrolled]\nsource = "enrolled.csv"\nrows = "one"\n'
        f"columns.joined = {{ {day} }}\ncolumns.quit = {{ {day}, nullable = true }}\n"
    )


def gaussian(budget: KindOfBudget) -> dict[str, str]:
    """Return a price that pays for Gaussian noise, where the budget has any."""
    return {"rho": "2"} if budget.name == "rho" else {"epsilon": "4", "delta": "1e-7"}
