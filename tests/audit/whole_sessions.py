"""A whole session as one mechanism: from two neighbouring tables to everything that an analyst gets to see.

What is real: planning, pricing, the ledger with its chain (in a folder in memory), DuckDB, bounding, noise, answers,
previews, refusals, failures. What is skipped, and said here so that nobody is misled:

- the engine is asked once for each aggregate and table, then its integer is remembered (that it is the same integer
  every time is invariant 4, and tested with the engines);
- the draws of a table share one ledger with a budget that never ends, and the custodian advances all data versions
  before each, so that no draw is answered from an earlier one. Versions and standings are told relative to the start;
- the hash of a receipt is left out: it is a fingerprint of the past of the ledger, which other draws wrote;
- time is not seen.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import zip_longest
from statistics import median_grouped
from typing import Any

import pyarrow as pa

from lapwing import count, mean, median, total
from lapwing.answers.stream_terms import StreamAnswer
from lapwing.engines.duckdb import DuckDB
from lapwing.ledger.ledger import Ledger
from lapwing.session import Session
from lapwing.streams import QuestionStream
from lapwing.vocabulary.errors import StreamError
from lapwing.vocabulary.exact import Sensitive
from session.clinic import KEY, population

HOSTILE = {"id": 99, "sex": "M", "age": 10**6, "bmi": math.inf, "survivor": True, "city": "Atlantis"}
"""A person who means harm: values out of all bounds, very many rows, and a city that nobody else lives in."""

HARMLESS = [
    {"id": i, "sex": "FM"[i % 2], "age": 20 + i, "bmi": 20.0 + i, "survivor": i % 2 == 0, "city": "Bern"}
    for i in range(1, 5)
]
TYPES = {"id": pa.int64(), "sex": pa.string(), "age": pa.int64(), "bmi": pa.float64(), "survivor": pa.bool_()}
VISITS = 1000


class Tables:
    """The clinic with or without the hostile person, whose integers are read once and remembered."""

    copies = 1  # of the harmless people

    def __init__(self, *, hostile: bool) -> None:
        self.hostile = hostile
        harmless = [{**one, "id": 100 * copy + one["id"]} for copy in range(self.copies) for one in HARMLESS]
        self.rows = rows = [*harmless, *([HOSTILE] if hostile else [])]
        ids = [1, 2, 2, *([99] * VISITS if hostile else [])]
        patients = {name: pa.array([row[name] for row in rows], TYPES.get(name, pa.string())) for name in HOSTILE}
        visits = {
            "id": pa.array(ids, pa.int64()),
            "kind": pa.array(["ER"] * len(ids)),
            "ward": pa.array([7] * len(ids)),
        }
        sources = {"patients": pa.table(patients), "visits": pa.table(visits)}
        self._engine = DuckDB(population(), sources, threads=1)
        self._known: dict[tuple[str, str], Sensitive[Any]] = {}

    def engine(self, versions: Mapping[str, int]) -> "Tables":
        del versions
        return self

    @contextmanager
    def lease(self, versions: Mapping[str, int]) -> Iterator["Tables"]:
        del versions
        yield self

    @contextmanager
    def hold(self, versions: Mapping[str, int], *, reads: bool = False) -> Iterator[None]:  # noqa: ARG002 - it is here
        del versions  # it answers about any
        yield

    def number(self, aggregate: Any) -> Sensitive[int]:
        return self.read("number", aggregate)

    def vector(self, aggregate: Any) -> Sensitive[tuple[int, ...]]:
        return self.read("vector", aggregate)

    def keyed(self, aggregate: Any) -> Sensitive[Any]:
        return self.read("keyed", aggregate)

    def numbers(self, aggregates: Sequence[Any], *, versions: Mapping[str, int]) -> list[Sensitive[int]]:
        del versions  # the tables are what they are; a new version is only said to be one
        return [self.read("cohort", aggregate) for aggregate in aggregates]

    def cohort(self, aggregate: Any) -> Sensitive[int]:
        (number,) = self._engine.numbers([aggregate], versions={})
        return number

    def read(self, what: str, aggregate: Any) -> Sensitive[Any]:
        place = what, repr(aggregate)
        if place not in self._known:
            self._known[place] = getattr(self if what == "cohort" else self._engine, what)(aggregate)
        return self._known[place]

    def rehearsal(self) -> "Tables":
        return self

    def close(self) -> None:
        self._engine.close()


class Visit:
    """One analyst at the door, and the custodian behind it."""

    def __init__(self, ledger: Ledger, data: Any, make: Callable[..., Session] = Session) -> None:
        self.ledger, self.data = ledger, data
        self.again = lambda: make(population(), ledger, data, analyst="ana", key=KEY)
        self.session = self.again()
        self.start = {table: ledger.administration.advance_version("clinic", table) for table in ("patients", "visits")}

    def refresh(self) -> None:
        """Say that the data may have changed: for everybody and always, never because it did."""
        self.ledger.administration.advance_version("clinic", "patients")

    def left(self) -> Fraction:
        return self.session.budget().left or Fraction(0)

    def shown(self, answer: Any) -> list[Any]:
        """Everything an answer shows, in its order; its text and its JSON are made of this."""
        rows = [
            (row.key, [(name, cell.value, cell.low, cell.high) for name, cell in row.cells.items()])
            for row in answer.rows
        ]
        versions = {table: version - self.start[table] for table, version in answer.versions.items()}
        return [rows, answer.keys, answer.columns, answer.price, answer.asked.words, answer.free, versions]


def twice(visit: Visit) -> list[Any]:
    """Look at the price, ask, ask the same again, and again when the data may have changed."""
    session, men = visit.session, count("patients", "sex = 'M'")
    preview, before = session.preview(men, epsilon="2/5"), visit.left()
    seen: list[Any] = [str(preview.price), preview.margin, preview.affordable]
    first, again = (session.ask(men, epsilon="2/5") for _ in range(2))
    visit.refresh()
    anew = session.ask(men, epsilon="2/5")
    seen += [*map(visit.shown, (first, again, anew)), first.margin()]
    return [*seen, before - visit.left()]


def numbers(visit: Visit) -> list[Any]:
    questions = (mean("patients", "bmi"), total("visits", "ward", max_rows=2))
    return [visit.shown(visit.session.ask(question, epsilon="2/5")) for question in questions]


def groups(visit: Visit) -> list[Any]:
    text = "select sex, count(*) from patients group by sex"
    return visit.shown(visit.session.sql(text, epsilon="4/5"))


def rare_groups(visit: Visit) -> list[Any]:
    """Groups among people of whom there may be none."""
    text = "select survivor, count(*) from patients where city = 'Atlantis' group by survivor"
    return visit.shown(visit.session.sql(text, epsilon="4/5"))


def quantile(visit: Visit) -> list[Any]:
    return visit.shown(visit.session.ask(median("patients", "age"), epsilon="4/5"))


def keys_from_data(visit: Visit) -> list[Any]:
    return visit.shown(visit.session.ask(count("patients", by="city"), epsilon="4/5", delta="1e-4"))


def stream(visit: Visit) -> list[Any]:
    """Ask until it halts, and once more."""
    seen: list[Any] = []
    with visit.session.stream(table="patients", at_least=3, yeses=1, epsilon="4/5") as opened:
        for where in ("sex = 'M'", "survivor", "age >= 20", "sex = 'F'"):
            try:
                answer = opened.ask(where)
                seen.append((answer.verdict.value, answer.gap, answer.price, answer.yeses_left, answer.question))
            except StreamError as refused:
                seen.append(str(refused).replace(opened.name, "it"))
        seen.append(opened.spent)
    return seen


OF_THE_BATCH = ("sex = 'M'", "age >= 20", "survivor", "sex = 'M'", "has(visits, ward = 7)", "sex = 'F'")


def told(answers: Iterable[StreamAnswer | None]) -> list[Any]:
    """Everything that the answers of a batch show; nothing, where it halted before."""
    return [None if one is None else _shown(one) for one in answers]


def _shown(answer: StreamAnswer) -> tuple[Any, ...]:
    return answer.verdict.value, answer.gap, answer.price, answer.yeses_left, answer.question, answer.free


def batch(visit: Visit) -> list[Any]:
    """Ask many at once, with one that is there twice; some of them again, and more, until it halts."""
    with visit.session.stream(table="patients", at_least=3, yeses=2, epsilon="4/5") as opened:
        seen = told(opened.ask_many(OF_THE_BATCH))
        try:
            seen += told(opened.ask_many([*OF_THE_BATCH[:2], "age < 90", "city = 'Bern'"], at_least=2))
        except StreamError as refused:
            seen.append(str(refused).replace(opened.name, "it"))
        return [*seen, opened.spent]


def interrupted_batch(visit: Visit, interrupts: int = 5, epsilon: str = "4/5") -> list[Any]:
    """See what is decided about a batch and interrupt it before it is stored, over and over; then let it be told.

    One question is about the hostile person and one is not. Whatever is decided anew each time tells their difference
    ever more exactly, the noise of the threshold notwithstanding, which is the same for both: here by medians.
    """
    decided, decide = list[list[int]](), QuestionStream._read_and_decide

    def decide_often(self: QuestionStream, intent: Any, questions: Any, people: Any) -> Any:
        values = self._read(intent, questions)
        for _ in range(interrupts):
            opened, source = self._unseal(intent)
            decided.append([int(one.gap) if one else 0 for one in opened.ask_many(values, people, source=source)])
        return decide(self, intent, questions, people)

    with visit.session.stream(table="patients", at_least=1, yeses=2, epsilon=epsilon) as opened:
        QuestionStream._read_and_decide = decide_often  # type: ignore[method-assign]
        try:
            stands = told(opened.ask_many(["sex = 'F'", "sex = 'M' or city = 'Atlantis'"]))
        finally:
            QuestionStream._read_and_decide = decide  # type: ignore[method-assign]
        without, with_them = (median_grouped(gaps) for gaps in zip_longest(*decided, fillvalue=0))
        return [with_them - without, stands, opened.spent]


SCRIPTS: dict[str, Callable[[Visit], list[Any]]] = {
    script.__name__: script
    for script in (twice, numbers, groups, rare_groups, quantile, keys_from_data, stream, batch, interrupted_batch)
}
