"""What was told under a key is not told again while its table is forbidden, whoever keeps it; and is, afterwards."""

from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

import lapwing as lw
from doors.server.doors import SETTINGS, P, code_of, count, serving
from lapwing.doors.server.door_store import open_store
from lapwing.doors.server.people import Directory
from postgres_server import where_there_is_room

COLUMNS = [{"by": "sex", "name": "sex"}, {"by": "age >= 90", "name": "old"}]
TWO = {"questions": [count()["question"], count("age > 3")["question"]], "price": {"epsilon": "0.1"}}

VISIT = """
[populations.clinic.tables.visit]
source = "visit.csv"
[populations.clinic.tables.visit.columns]
kind = { type = "category", values = ["emergency", "planned"] }
"""


@pytest.fixture(scope="module")
def door(budget):
    """A clinic with another table, which somebody may ask about when they may not ask about people."""
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as place:
        folder = Path(place)
        (folder / "patient.csv").write_text(
            "patient_id,sex,age\n" + "".join(f"{i},{'FM'[i % 2]},{i % 100}\n" for i in range(400))
        )
        (folder / "visit.csv").write_text("patient_id,kind\n" + "".join(f"{i},planned\n" for i in range(400)))
        lw.create(folder, SETTINGS.format(budget=budget.toml("40"), ledger="") + VISIT).close()
        with serving(folder) as door:
            yield door


def asked(door, budget) -> list[tuple[str, str, dict]]:
    """Return requests that were answered: where they were put, under which key, and the body."""
    price = {"epsilon": "0.2", **({"delta": "1e-7"} if budget.delta else {})}
    published = {"table": "patient", "columns": COLUMNS, "price": price}
    stream = {"table": "patient", "at_least": 40, "yeses": 2, "epsilon": "0.2"}
    name = door.call("ana", "POST", f"{P}/streams", stream, key="the-stream").json()["stream"]
    explorer = {"table": "patient", "columns": COLUMNS, "epsilon": "1"}
    if budget.currency == "rho":
        explorer = {"table": "patient", "columns": COLUMNS, "rho": "0.5"}
    compared = {"table": "patient", "outcome": "age >= 50", "by": "sex", "price": {"epsilon": "0.1"}}
    sampled = {"study": {"of": "sample_count", "table": "patient", "rate": "1/10"}, "price": {"epsilon": "0.1"}}
    return [
        (f"{P}/questions", "the-question", count()),
        (f"{P}/questions", "free-question", count()),
        (f"{P}/batches", "the-batch", TWO),
        (f"{P}/batches", "free-batch", TWO),
        (f"{P}/publications", "the-publication", published),
        (f"{P}/publications", "free-publication", published),
        (f"{P}/syntheses", "the-synthesis", published),
        (f"{P}/syntheses", "free-synthesis", published),
        (f"{P}/streams/{name}/questions", "stream-question", {"where": "age = 7"}),
        (f"{P}/streams/{name}/questions", "free-in-stream", {"where": "age = 7"}),
        (f"{P}/explorers", "the-explorer", explorer),
        (f"{P}/explorers/the-explorer/counts", "explorer-count", {"wheres": ["sex = 'F'"]}),
        (f"{P}/explorers/the-explorer/guesses", "", {"wheres": ["sex = 'M'"]}),
        (f"{P}/comparisons", "the-comparison", compared),
        (f"{P}/studies", "the-sample", sampled),
        (f"{P}/studies", "free-sample", sampled),
    ]


def looks(requests):
    """Return where each of them can be looked at again."""
    found = []
    for place, key, _ in requests:
        kind = place.removeprefix(P).split("/")[1]
        if key and kind in {"publications", "syntheses", "comparisons", "studies"}:
            found.append(f"{P}/{kind}/{key}")
        found += [f"{P}/answers/{key}"] * (kind == "questions")
        found += [f"{P}/jobs/{key}"] * bool(key)
    return [*found, f"{P}/syntheses/the-synthesis/rows"]


def pages(door) -> dict[str, int]:
    """Return what a browser gets of the pages about what was asked."""
    store = open_store(door.folder)
    cookie = {"lapwing": Directory(store).sign_in("ana")}
    shown = (
        "answers/the-question",
        "publications/the-publication",
        "syntheses/the-synthesis",
        "explorers/the-explorer",
    )
    with httpx.Client(base_url=door.url, cookies=cookie, trust_env=False) as browser:
        found = {page: browser.get(f"/populations/clinic/{page}").status_code for page in shown}
    store.close()
    return found


def limit(door, budget, **tables) -> None:
    told = door.call("cleo", "PUT", f"{P}/analysts/ana", {"allowance": budget.of(39), **tables})
    assert told.status_code == 200, told.text


def test_what_is_kept_is_not_told_while_its_table_is_forbidden_and_is_told_afterwards(door, budget) -> None:
    requests = asked(door, budget)
    first = [door.call("ana", "POST", place, body, key=key or None) for place, key, body in requests]
    assert [one.text[:300] for one in first if one.status_code != 200] == []
    seen = [door.get("ana", place) for place in looks(requests)]
    assert [one.status_code for one in seen] == [200] * len(seen)
    limit(door, budget, tables=["visit"])
    again = [door.call("ana", "POST", place, body, key=key or None) for place, key, body in requests]
    unseen = [door.get("ana", place) for place in looks(requests)]
    told = [*zip([place for place, *_ in requests], again, strict=True), *zip(looks(requests), unseen, strict=True)]
    assert [(place, one.status_code, one.text[:200]) for place, one in told if one.status_code != 403] == []
    assert {code_of(one) for _, one in told} == {"policy"}
    assert {page: status for page, status in pages(door).items() if status != 403} == {}
    limit(door, budget)
    assert {page: status for page, status in pages(door).items() if status != 200} == {}
    assert [one.status_code for one in (door.get("ana", place) for place in looks(requests))] == [200] * len(seen)
    once_more = [door.call("ana", "POST", place, body, key=key or None) for place, key, body in requests]
    assert [one.json() for one in once_more] == [one.json() for one in first]


@pytest.mark.one_budget("what is free is free under any")
def test_limits_that_leave_the_table_keep_nothing_back(door, budget) -> None:
    body = count("age = 11")
    first = door.call("ana", "POST", f"{P}/questions", body, key="of-a-table")
    limit(door, budget, tables=["patient"])
    assert door.call("ana", "POST", f"{P}/questions", body, key="of-a-table").json() == first.json()
    free = [
        door.call("ana", "POST", f"{P}/batches", {**TWO, "questions": [body["question"]]}, key="free-too") for _ in "ab"
    ]
    assert [one.status_code for one in free] == [200, 200]
    limit(door, budget)
