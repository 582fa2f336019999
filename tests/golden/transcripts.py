"""What lapwing answers, refuses and prints, with the same noise in every run: what moves inside moves nothing here.

`python tests/golden/transcripts.py` writes `transcripts.json` anew. Do that only where an answer is meant to change,
and read the difference before it is committed.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import shake_256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner

import lapwing as lw
from lapwing.doors.cli import main
from lapwing.noise import laws, randomness
from lapwing.noise.randomness import SYSTEM

KEPT = Path(__file__).with_name("transcripts.json")
_RECEIPT = re.compile(r"lapwing:[0-9a-f]+(?:/\d+)?:\d+:[0-9a-f]{64}")
_LAST_DIGITS = re.compile(r"\b\d+\.\d{13,}\b")  # processors round otherwise

SETTINGS = """
[populations.clinic]
person_key = "pid"
budget = {budget}
now = 2026-01-01

[populations.clinic.tables.patient]
source = "patient.csv"
columns.sex = {{ type = "category", values = ["F", "M"] }}
columns.age = {{ type = "integer", low = 0, high = 120 }}
columns.bmi = {{ type = "real", low = 10, high = 60, nullable = true }}
columns.born = {{ type = "date", first = 1900-01-01, last = 2025-12-31 }}
columns.smoker = {{ type = "boolean" }}
columns.city = {{ type = "text" }}

[populations.clinic.tables.visit]
source = "visit.csv"
rows = "many"
max_rows = 4
columns.ward = {{ type = "integer", low = 1, high = 9 }}
columns.cost = {{ type = "real", low = 0, high = 1000 }}
columns.day = {{ type = "date", first = 2015-01-01, last = 2024-12-31 }}
"""
BUDGETS = {
    "pure": '{ epsilon = "1000" }',
    "approximate": '{ epsilon = "8", delta = "1e-5" }',
    "concentrated": '{ rho = "50" }',
}
QUESTIONS: dict[str, Callable[[], Any]] = {
    "count": lambda: lw.count("patient", "sex = 'M' and age between 20 and 30"),
    "count by sex": lambda: lw.count("patient", by="sex"),
    "count by bins": lambda: lw.count("patient", by=lw.bins("age", [0, 18, 65, 120])),
    "count by year": lambda: lw.count("visit", "ward < 5", by=lw.by_year("day"), max_groups=2),
    "has": lambda: lw.count("patient", "has(visit, ward = 3 and cost > 100) and not smoker"),
    "age": lambda: lw.count("patient", "age(born) >= 40"),
    "rows": lambda: lw.count_rows("visit", "ward > 2"),
    "total": lambda: lw.total("visit", "cost", max_rows=2),
    "mean": lambda: lw.mean("patient", "bmi", by="sex"),
    "variance": lambda: lw.variance("patient", "age"),
    "covariance": lambda: lw.covariance("patient", "age", "bmi"),
    "correlation": lambda: lw.correlation("patient", "age", "bmi"),
    "distinct": lambda: lw.count_distinct("visit", "ward", max_groups=2),
    "funnel": lambda: lw.funnel("patient", ["sex = 'M'", "age > 40", "smoker"]),
    "a select": lambda: "select sex, count(*) as people, avg(age) from patient where smoker group by sex",
    "together": lambda: {"women": lw.count("patient", "sex = 'F'"), "old": lw.count("patient", "age > 70")},
}
CHOICES: dict[str, Callable[[], Any]] = {
    "median": lambda: lw.median("patient", "age"),
    "quantiles": lambda: lw.quantiles("visit", "cost", ["0.1", "0.5", "0.9"]),
    "top": lambda: lw.top("patient", "sex", 1),
}
REFUSED: dict[str, Callable[[lw.Session], Any]] = {
    "no such column": lambda s: s.ask(lw.count("patient", "height > 3"), epsilon=1),
    "no such table": lambda s: s.ask(lw.count("people"), epsilon=1),
    "an extreme": lambda s: s.sql("select max(age) from patient", epsilon=1),
    "rows of people": lambda s: s.sql("select * from patient", epsilon=1),
    "no price": lambda s: s.ask(lw.count("patient")),
    "a negative price": lambda s: s.ask(lw.count("patient"), epsilon=-1),
    "too dear": lambda s: s.ask(lw.count("patient"), epsilon=10**6),
    "text as number": lambda s: s.ask(lw.mean("patient", "city"), epsilon=1),
    "a stream of nothing": lambda s: s.stream(at_least=0, yeses=0, epsilon=1),
}
COMMANDS = (
    "tables",
    "budget",
    "count patient --where smoker --epsilon 1",
    "count patient --where smoker --epsilon 1",
    "count patient --by sex --within 20",
    "ask mean patient bmi --epsilon 1",
    "ask quantiles patient age --at 0.25,0.5 --epsilon 1",
    "preview count patient --epsilon 0.1",
    "funnel patient --step smoker --step age>40 --epsilon 1",
    "stream open --at-least 200 --yeses 2 --epsilon 1 --name big --table patient",
    "stream ask big age>119",
    "stream ask big smoker",
    "stream list",
    "stream close big",
    "explain count patient --where smoker",
    "explain epsilon 1",
    "count patient --where nonsense>3 --epsilon 1",
    "count patient --epsilon 100000",
    "ledger verify",
)


@contextmanager
def same_noise(title: str) -> Iterator[None]:
    """Give all noise the same bytes in every run, whatever else draws bytes of other lengths in between."""
    taken: Counter[int] = Counter()

    def take(count: int) -> bytes:
        taken[count] += 1
        return shake_256(f"{title} {count} {taken[count]}".encode()).digest(count)

    randomness._forget_all()
    laws._drawn.clear()
    SYSTEM.take = take  # type: ignore[method-assign]
    try:
        yield
    finally:
        del SYSTEM.take  # type: ignore[method-assign]
        randomness._forget_all()


def transcripts() -> dict[str, Any]:
    """Return everything that is compared."""
    with TemporaryDirectory(prefix="lapwing-") as scratch:
        told: dict[str, Any] = {}
        for name, budget in BUDGETS.items():
            folder = Path(scratch) / name
            _make(folder, budget)
            with lw.open(folder, analyst="ana") as session:
                told[name] = dict(_answers(session, name))
                told[f"{name}, refused"] = dict(_refusals(session))
                told[f"{name}, in a stream"] = _stream(session, name)
        shell = Path(scratch) / "shell"
        _make(shell, BUDGETS["pure"])
        told["at the command line"] = [_typed(shell, words) for words in COMMANDS]
    return told


def _make(folder: Path, budget: str) -> None:
    folder.mkdir()
    people = "".join(
        f"{i},{'FM'[i % 2]},{i % 97},{'' if i % 13 == 0 else 15 + i % 37},{1930 + i % 90}-0{1 + i % 9}-11,"
        f"{i % 3 == 0},{'Bern' if i % 4 else 'Oslo'}\n"
        for i in range(2000)
    )
    visits = "".join(
        f"{i % 1500},{1 + i % 9},{(i * 37) % 1000}.5,{2015 + i % 10}-0{1 + i % 9}-0{1 + i % 9}\n" for i in range(5000)
    )
    (folder / "patient.csv").write_text("pid,sex,age,bmi,born,smoker,city\n" + people)
    (folder / "visit.csv").write_text("pid,ward,cost,day\n" + visits)
    with same_noise("make"):
        lw.create(folder, SETTINGS.format(budget=budget)).close()


def _answers(session: lw.Session, budget: str) -> Iterator[tuple[str, Any]]:
    asked = {**QUESTIONS, **({} if budget == "concentrated" else CHOICES)}
    price = {"rho": "1/10"} if budget == "concentrated" else {"epsilon": "1/10"}
    for name, make in asked.items():
        with same_noise(name):
            preview = session.preview(make(), **price)
            answer = session.ask(make(), **price)
            again = session.ask(make(), **price)
        yield (
            name,
            {
                "preview": [str(preview.price), str(preview.margin), str(preview.after)],
                "answer": str(answer).splitlines(),
                "numbers": json.loads(_masked(answer.to_json())),
                "again": again.free,
            },
        )
    if budget == "approximate":
        with same_noise("cities"):
            yield "cities", str(session.ask(lw.count("patient", by="city"), epsilon=1, delta="1e-7")).splitlines()


def _refusals(session: lw.Session) -> Iterator[tuple[str, list[str]]]:
    for name, ask in REFUSED.items():
        try:
            ask(session)
        except lw.LapwingError as refused:
            yield name, [type(refused).__name__, str(refused)]


def _stream(session: lw.Session, budget: str) -> list[str]:
    with same_noise(f"{budget} stream"):
        terms = {"at_least": 300, "yeses": 2, "epsilon": "1/2", "table": "patient"}
        preview = session.preview_stream(**terms)
        told = [str(preview)] if type(preview).__str__ is not object.__str__ else []
        with session.stream(**terms) as stream:
            told += [str(stream.ask(where)) for where in ("age > 200", "sex = 'M'", "age = 5", "smoker")]
            told.append(str(stream.spent))
    return told


def _typed(folder: Path, words: str) -> list[Any]:
    env = {"LAPWING_WORKSPACE": str(folder), "LAPWING_ANALYST": "ana", "COLUMNS": "80"}
    with same_noise(words):
        spoken = CliRunner().invoke(main, words.split(), env=env, prog_name="lapwing")
    with same_noise(words):
        written = CliRunner().invoke(main, [*words.split(), "--json"], env=env, prog_name="lapwing")
    said = _masked(spoken.output).replace(str(folder), "FOLDER").splitlines()
    return [words, spoken.exit_code, said, _masked(written.output).replace(str(folder), "FOLDER")]


def _masked(text: str) -> str:
    """Return a text without what each run or each machine writes otherwise: receipts, and last digits of floats."""
    return _LAST_DIGITS.sub(lambda found: f"{float(found[0]):.12g}", _RECEIPT.sub("RECEIPT", text))


if __name__ == "__main__":
    KEPT.write_text(json.dumps(transcripts(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(f"{KEPT.name} is written\n")
