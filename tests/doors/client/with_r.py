"""The client in R against real servers, `make test-r`: its package is built, checked and tested by Debian's R.

Servers of all three kinds of budget run on this machine, and between R and one of them stands somebody who lies. R gets
their addresses in LAPWING_SERVERS and LAPWING_LIES; the tests stand in clients/r/tests, and the vignette runs too.

    PYTHONPATH=src:tests .venv/bin/python -m pytest -q --noconftest -o addopts= tests/doors/client/with_r.py
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import budgets
from doors.client.between import between
from doors.server.doors import serving

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "clients" / "r"
PAGE = ROOT / "docs" / "r.md"
R = shutil.which("R")
KINDS = [kind for kind in vars(budgets).values() if isinstance(kind, budgets.KindOfBudget)]
SETTINGS = """
[populations.clinic]
person_key = "patient_id"
budget = BUDGET
[populations.clinic.tables.patient]
source = "patient.csv"
[populations.clinic.tables.patient.columns]
sex = { type = "category", values = ["F", "M"] }
age = { type = "integer", low = 0, high = 120 }
[populations.clinic.tables.visit]
source = "visit.csv"
rows = "many"
max_rows = 2
[populations.clinic.tables.visit.columns]
kind = { type = "category", values = ["ER", "ward"] }
day = { type = "date", first = 2024-01-01, last = 2024-12-31 }
"""


def changed(told: Any, *path: Any, to: Any) -> Any:
    """Return what was told, with one part of it changed."""
    if not path:
        return to(told) if callable(to) else to
    copied: Any = list(told) if isinstance(told, list) else dict(told)
    copied[path[0]] = changed(told[path[0]], *path[1:], to=to)
    return copied


# A lie: on which path, in which part of what is told, and what stands there instead.
LIES: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "another name": ("clinic", ("population",), "others"),
    "the neighbours": ("clinic", ("unit", "adjacency"), "replace"),
    "groups of two": ("clinic", ("unit", "protects_groups_of"), 2),
    "another salt": ("clinic", ("salt",), 1),
    "no unit": ("clinic", ("unit",), None),
    "who it is": ("me", ("id",), "\x1b]0;owned\x07"),
    "a question": ("previews", ("question",), lambda text: text.replace('"clinic"', '"others"')),
    "a price before": ("previews", ("price", "epsilon"), "0.001"),
    "a table": ("previews", ("question",), lambda text: text.replace('"table":"patient"', '"table":"visit"')),
    "its noise": ("previews", ("question",), lambda text: text.replace('"scale":"', '"scale":"7')),
    "no text": ("previews", ("question",), None),
    "an error": ("previews", ("margin", "answer"), 10**6),
    "no list": ("previews", (), []),
    "deep": ("previews", (), b"[" * 100_000),
    "no JSON": ("previews", (), b"<html>"),
    "a NaN": ("previews", (), b'{"question": NaN}'),
    "a meaning": ("previews", ("question",), lambda text: text.replace('"kind":"people"', '"kind":"rows"')),
    "another question": ("questions", ("question",), "[]"),
    "another price": ("questions", ("answer", "price", "epsilon"), "0.001"),
    "another error": ("questions", ("answer", "margin", "answer"), 1),
    "made up": ("questions", ("answer", "rehearsal"), True),
    "no receipt": ("questions", ("answer", "receipt"), None),
    "other tables": ("questions", ("answer", "versions"), {"nobody": 1}),
    "a version": ("questions", ("answer", "versions"), {"patient": 0}),
    "no truth": ("questions", ("answer", "free"), "yes"),
    "outside": ("questions", ("answer", "rows", 0, "values", "answer", "high"), -(10**6)),
    "a huge number": ("questions", ("released", 0, 0), 10**400),
    "about people": ("rehearsals", ("answer", "rehearsal"), False),
    "fewer": ("batches", ("answers",), lambda told: told[:1]),
    "exchanged": ("batches", ("answers",), lambda told: told[::-1]),
    "another stream": ("stream-previews", ("terms",), lambda text: text.replace('"yeses":2', '"yeses":3')),
    "opened another": ("streams", ("terms",), lambda text: text.replace('"yeses":2', '"yeses":3')),
    "another threshold": ("stream-question", ("at_least",), 21),
    "a yes for nothing": ("stream-question", ("price",), "0"),
    "no gap": ("stream-question", ("gap",), None),
    "as many left": ("stream-question", ("yeses_left",), 2),
    "a no with a gap": ("stream-question", ("verdict",), "below"),
    "another publication": ("publications", ("means",), "0" * 64),
    "narrower": ("publications", ("tables", 0, "high"), lambda told: [one - 1 for one in told]),
    "another sd": ("publications", ("tables", 0, "sd"), 0.1),
    "a comparison of others": ("comparison-previews", ("question",), lambda text: text.replace('"clinic"', '"others"')),
    "a cheap comparison": ("comparisons", ("price", "epsilon"), "0.001"),
    "beyond its bounds": ("comparisons", ("groups", 0, "low"), 2),
    "more than all": ("rows-a-person", ("cuts", 0, "high"), 2),
    "another synthesis": ("syntheses", ("means",), "0" * 64),
    "more answers": ("counts", ("paid_answers_left",), 7),
    "fewer cells": ("publications", ("tables", 0, "people"), lambda told: told[1:]),
}


def lie_on(place: str, path: tuple[Any, ...], to: Any) -> Callable[[str, Any], Any]:
    """Return what changes replies of one path."""

    def change(asked: str, told: Any) -> Any:
        in_stream = "/streams/" in asked and asked.endswith("/questions")
        last = "stream-question" if in_stream else asked.rpartition("/")[2]
        is_answer = isinstance(told, dict) and "error" not in told
        return changed(told, *path, to=to) if last == place and is_answer else told

    return change


def make_folder(folder: Path, kind: budgets.KindOfBudget) -> Path:
    """Make a clinic with people and visits."""
    import lapwing as lw  # noqa: PLC0415 - what needs no server needs it not

    folder.mkdir()
    people = range(1, 401)
    rows = "".join(f"{i},{'FM'[i % 2]},{i % 100}\n" for i in people)
    (folder / "patient.csv").write_text(f"patient_id,sex,age\n{rows}")
    visits = "".join(
        f"{i},{('ER', 'ward')[(i + n) % 2]},2024-0{1 + i % 6}-1{n}\n" for i in people for n in range(i % 4)
    )
    (folder / "visit.csv").write_text(f"patient_id,kind,day\n{visits}")
    lw.create(folder, SETTINGS.replace("BUDGET", kind.toml(60))).close()
    return folder


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Servers of every kind, and liars before the first of them, as R is told of them."""
    if R is None:
        pytest.fail("there is no R here: apt-get install r-base-core r-cran-httr2 r-cran-jsonlite r-cran-testthat")
    with ExitStack() as stack:
        servers, lies = {}, {}
        for kind in KINDS:
            folder = make_folder(tmp_path_factory.mktemp("clinics") / kind.name, kind)
            door = stack.enter_context(serving(folder))
            servers[kind.name] = {"url": door.url, "token": door.tokens["ana"]}
            if kind is KINDS[0]:
                for name, lie in LIES.items():
                    way = stack.enter_context(between(door.port))
                    way.change = lie_on(*lie)
                    lies[name] = way.url
                away = stack.enter_context(between(door.port))
                away.elsewhere = "http://127.0.0.1:1/elsewhere"
                lies["elsewhere"] = away.url
        first = servers[KINDS[0].name]
        own = {
            "LAPWING_SERVERS": json.dumps(servers),
            "LAPWING_LIES": json.dumps(lies),
            "LAPWING_URL": first["url"],
            "LAPWING_TOKEN": first["token"],
            "LANG": "C.UTF-8",
            "_R_CHECK_SYSTEM_CLOCK_": "0",
            "_R_CHECK_FORCE_SUGGESTS_": "false",
        }
        yield {**os.environ, **own}


def run_r(*words: str, folder: Path, surroundings: dict[str, str]) -> str:
    """Run R, and return what it says; fail with all of it where it fails."""
    done = subprocess.run(words, cwd=folder, env=surroundings, capture_output=True, text=True, timeout=550, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, surroundings: dict[str, str]) -> dict[str, str]:
    """The package, built and checked and installed: the surroundings of whoever uses it."""
    place = tmp_path_factory.mktemp("r")
    run_r("R", "CMD", "build", str(PACKAGE), folder=place, surroundings=surroundings)
    (package,) = place.glob("lapwing_*.tar.gz")
    said = run_r("R", "CMD", "check", "--no-manual", package.name, folder=place, surroundings=surroundings)
    tested = (place / "lapwing.Rcheck" / "tests" / "testthat.Rout").read_text(encoding="utf-8")
    surroundings = {**surroundings, "SAID": said, "TESTED": tested}
    (place / "library").mkdir()
    run_r(
        "R", "CMD", "INSTALL", f"--library={place / 'library'}", package.name, folder=place, surroundings=surroundings
    )
    return {**surroundings, "R_LIBS": str(place / "library")}


def test_the_package_is_built_checked_and_tested_without_a_word_of_complaint(library: dict[str, str]) -> None:
    """Its tests meet every lie, every kind of budget; its vignette asks a real server."""
    assert re.search(r"^Status: OK$", library["SAID"], re.MULTILINE), library["SAID"]
    passed = re.search(r"\[ FAIL 0 \| WARN 0 \| SKIP 0 \| PASS (\d+) \]", library["TESTED"])
    assert passed is not None, library["TESTED"]
    assert int(passed[1]) > len(LIES)


def test_the_page_about_r_runs_as_it_is_printed(library: dict[str, str], tmp_path: Path) -> None:
    script = "\n".join(re.findall(r"^```r\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    (tmp_path / "page.R").write_text(script)
    said = run_r("Rscript", "page.R", folder=tmp_path, surroundings=library)
    assert "receipt lapwing:" in said
