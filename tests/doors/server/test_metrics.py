"""Metrics: a monitor can read them, and nothing in them depends on rows, names or words of a question."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import lapwing as lw
from doors.server.doors import UNLIMITED, Door, P, make_folder, serving
from lapwing.doors.server import metrics as module
from lapwing.doors.server.application import DoorSettings
from lapwing.doors.server.calls import API
from lapwing.doors.server.metrics import COARSE, FINE, MEDIA_TYPE, PERIOD, Metrics
from lapwing.doors.server.operations import OPERATIONS
from lapwing.doors.server.pages.routes import PAGES

pytestmark = pytest.mark.one_budget("counts of requests know no budget")

SAMPLE = re.compile(r'(lapwing_[a-z_]+)(?:\{([a-z]+="[^"\\]*"(?:,[a-z]+="[^"\\]*")*)\})? ([0-9]+)')


@pytest.fixture
def door(quick_path: Path, budget, monkeypatch) -> Iterator[Door]:
    monkeypatch.setattr(module, "PERIOD", 0.0)
    with serving(make_folder(quick_path / "clinic", budget), DoorSettings(limits=UNLIMITED, tick=0.02)) as door:
        yield door


def read(door: Door, who: str = "otto") -> dict[str, int]:
    """Read the metrics as a strict monitor would, and return each sample by its name and labels."""
    told = door.get(who, "/api/v1/metrics")
    assert (told.status_code, told.headers["content-type"]) == (200, MEDIA_TYPE)
    *lines, end = told.text.splitlines()
    assert end == "# EOF"
    found, kinds = {}, {}
    for line in lines:
        if line.startswith("# "):
            _, word, name, says = line.split(" ", 3)
            kinds |= {name: says} if word == "TYPE" else {}
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, line
        name = sample[1]
        family = next(one for one in (name, *(name.removesuffix(end) for end in SUFFIXES)) if one in kinds)
        assert name.removeprefix(family) == {"counter": "_total", "histogram": "_bucket", "info": "_info"}.get(
            kinds[family], ""
        )
        assert line.rpartition(" ")[0] not in found
        found[line.rpartition(" ")[0]] = int(sample[3])
    return found


SUFFIXES = ("_total", "_bucket", "_info")


def test_they_count_what_was_done(door) -> None:
    before = read(door)
    for i in range(3):
        assert door.ask("ana", f"age > {i}", "0.01").status_code == 200
    assert door.ask("ana", "age > 1", "12").status_code == 402
    assert door.get("ana", "/no/such/place").status_code == 404
    after = read(door)
    asked = f'operation="POST {API}/populations/{{population}}/questions"'
    assert after[f'lapwing_requests_total{{{asked},status="2xx"}}'] == 3
    assert after[f'lapwing_requests_total{{{asked},status="4xx"}}'] == 1
    assert after['lapwing_requests_total{operation="other",status="4xx"}'] == 1
    assert after[f'lapwing_request_seconds_bucket{{{asked},le="+Inf"}}'] == 4
    assert after['lapwing_jobs_ended_total{state="answered"}'] == 3
    assert after['lapwing_jobs{state="running"}'] == after['lapwing_jobs{state="queued"}'] == 0
    changes = "lapwing_ledger_changes_total"
    assert after[changes] - before[changes] == 6, "a charge and an answer each"
    assert after['lapwing_ledger_append_seconds_bucket{le="+Inf"}'] <= after[changes]


def test_every_label_is_one_that_the_source_names(door) -> None:
    """No request can bring a label in: else a name, a condition or a key would be told, or memory be filled."""
    door.ask("ana", "age > 17", "0.01", key="a-key-of-somebody")
    for path in (f"{P}/answers/a-key-of-somebody", "/populations/clinic/history", "/static/x.css", "/secret-word"):
        door.get("ana", path)
    door.call("ana", "BREW", "/secret-word")
    door.call("ana", "POST", "/login", b"name=secret-word")
    written = {f"{one.method} {API}{one.path}" for one in OPERATIONS} | {f"{one.method} {one.path}" for one in PAGES}
    for sample in read(door):
        for name, value in re.findall(r'([a-z]+)="([^"]*)"', sample):
            match name:
                case "operation":
                    assert value in written | {"other"}
                case "le":
                    assert value == "+Inf" or "operation" not in sample or float(value) in {*FINE, *COARSE}
                case "state":
                    assert value in {"queued", "running", "answered", "refused", "lost", "cancelled"}
                case "status":
                    assert re.fullmatch("[1-5]xx", value)
                case _:
                    assert (name, value) == ("version", lw.__version__)


def test_two_tables_that_differ_in_everybody_have_the_same_metrics(quick_path, budget, monkeypatch) -> None:
    """The same requests to an empty hospital and to a full one; only buckets of time may differ, by the machine."""
    monkeypatch.setattr(module, "PERIOD", 0.0)
    told = []
    for people in (1, 4000):
        folder = make_folder(quick_path / f"clinic-{people}", budget, people=people)
        with serving(folder, DoorSettings(limits=UNLIMITED, tick=0.02)) as door:
            for i, epsilon in enumerate(["0.1", "0.1", "12", "x"]):
                door.ask("ana", f"age > {i}", epsilon)
            body = {"at_least": 5, "yeses": 1, "epsilon": "0.1"}
            stream = door.call("ana", "POST", f"{P}/streams", body, key="a-stream-1").json()["stream"]
            asked = {"wheres": ["age >= 0"] * 3}
            door.call("ana", "POST", f"{P}/streams/{stream}/batches", asked, key="a-batch-1")
            found = read(door)
            told.append({name: value for name, value in found.items() if 'le="' not in name or "+Inf" in name})
    assert told[0].keys() == told[1].keys()
    timed = {name for name in told[0] if told[0][name] != told[1][name]}
    assert timed <= {"lapwing_ledger_changes_total", 'lapwing_ledger_append_seconds_bucket{le="+Inf"}'}


def test_what_may_read_data_is_timed_in_whole_seconds(door) -> None:
    door.ask("ana", "age > 1", "0.01")
    door.get("ana", f"{P}/budget")
    edges: dict[str, set[str]] = {}
    for operation, edge in re.findall(r'seconds_bucket\{operation="([^"]*)",le="([^"]*)"\}', "\n".join(read(door))):
        edges.setdefault(operation, set()).add(edge)
    may_read = {f"{one.method} {API}{one.path}" for one in OPERATIONS if one.charges}
    asked, looked = f"POST {API}/populations/{{population}}/questions", f"GET {API}/populations/{{population}}/budget"
    assert {edge for name in may_read & edges.keys() for edge in edges[name]} == {"1.0", "5.0", "20.0", "60.0", "+Inf"}
    assert (asked in edges, "0.01" in edges[looked]) == (True, True)


def test_nothing_moves_within_a_period() -> None:
    now = [0.0]
    metrics = Metrics(clock=lambda: now[0])
    first = metrics.text()
    metrics.count_request("GET /", 200, 0.1)
    now[0] = PERIOD - 0.01
    assert metrics.text() == first
    now[0] = PERIOD
    assert b'lapwing_requests_total{operation="GET /",status="2xx"} 1\n' in metrics.text()
