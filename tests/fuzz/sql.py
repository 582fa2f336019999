"""SQL by grammar and by bytes: whatever is written is read or refused at once, and what is accepted means what it says.

- No text makes anything but a refusal, and none takes longer than a language with limits can.
- What is accepted is written in one canonical text, which reads back as the same plan.
- What any database understands as it is, DuckDB answers with the same numbers.

Texts that once broke something are kept in `corpus/sql`; they are tried first, and others are made from them.
"""

import math
import time
from collections import Counter
from datetime import date
from fractions import Fraction
from itertools import count, takewhile
from pathlib import Path
from random import Random

import duckdb

from engines.clinic import arrow_tables, clinic
from fuzz.select_statements import Statements
from lapwing.engines.duckdb import DuckDB
from lapwing.queries.algebra.aggregate import BinnedKey
from lapwing.queries.language.sql.reader import read_condition, read_value
from lapwing.queries.planning.plan import CanonicalQuestion
from lapwing.queries.planning.planner import plan_together
from lapwing.queries.statements.select import read_sql
from lapwing.queries.statistics.bernstein import Moment
from lapwing.queries.statistics.moments import Moments
from lapwing.queries.statistics.shared_releases import share
from lapwing.queries.statistics.total import Total
from lapwing.vocabulary.errors import LapwingError

CORPUS = Path(__file__).parent / "corpus" / "sql"
CLINIC = clinic()
SECONDS = 0.2
LOADED = 5
BOUNDS = {"max_rows": 4, "max_groups": 8}
"""As many as anybody has, so that nothing is bounded away."""
SIGNS = [b"(", b")", b"[", b"'", b'"', b"--", b"/*", b";", b"\\", b"$$", b"not "]


def run(seconds: float, seed: int, *, most: int | None = None) -> Counter[str]:
    """Try texts for so long, or so many; fail with the first that is answered wrongly, slowly, or not at all."""
    random, until = Random(seed), time.monotonic() + seconds
    tally = Counter(statements=0, answered=0, compared=0, mutations=0)
    corpus = kept()
    with Truth() as truth:
        statements = Statements(random)
        for _ in takewhile(lambda _: time.monotonic() < until, count() if most is None else range(most)):
            text = statements.statement()
            planned = examined(text)
            may_be = planned is not None or not statements.plain or refused_for_size(text)
            assert may_be, f"refused: {text}"
            if planned is not None and statements.plain:
                truth.check(text, planned)
            tally.update(statements=1, answered=planned is not None, compared=planned is not None and statements.plain)
            for _ in range(3):
                examined(mutated(random, random.choice([text, *corpus])))
                tally["mutations"] += 1
    return tally


def kept() -> list[str]:
    """Return the texts of the corpus."""
    return [path.read_text(encoding="utf-8") for path in sorted(CORPUS.iterdir())]


def examined(text: str) -> dict | None:
    """Read a text as a statement, a condition and a value; return the plans of the statement, or None if refused."""
    for read in (read_condition, read_value):
        timed(read, text)
    planned, shared = timed(_planned, text) or (None, [])
    for one in [*(planned or {}).values(), *(each.plan for each in shared)]:
        assert CanonicalQuestion.read(one.canonical) == one.question, f"does not read back: {text}"
    return planned


def _planned(text: str) -> tuple[dict, list]:
    """Return the plans of a statement, and what of it is released together."""
    asked = read_sql(text, **BOUNDS).questions
    plans = plan_together(asked, CLINIC)
    return plans, share(asked, plans, CLINIC)


def timed(work, text):
    """Return what `work` makes of a text, or None where it is refused; it must be quick, and fail in no other way."""
    took = []
    for _ in range(3):
        started = time.process_time()
        made = tried(work, text)
        took.append(time.process_time() - started)
        if took[-1] < SECONDS * LOADED:
            return made
    raise AssertionError(f"takes {min(took):.2f} s: {text[:2000]!r}")


def tried(work, text):
    """Return what `work` makes of a text, or None where it is refused in a sentence that can be read."""
    try:
        return work(text)
    except LapwingError as refused:
        said = str(refused)
    except BaseException as failure:
        raise AssertionError(f"{type(failure).__name__} ({failure}): {text[:2000]!r}") from failure
    assert len(said) < 2_000, f"a refusal of {len(said)} characters: {text[:200]}"
    return None


def refused_for_size(text: str) -> bool:
    """Say whether a statement of the language is refused for the noise it would take, which only its bounds decide."""
    try:
        plan_together(read_sql(text, **BOUNDS).questions, CLINIC)
    except LapwingError as refused:
        reasons = ("leaves none of the groups", "is always", "steps of the coarsest grid", "more than")
        return any(reason in str(refused) for reason in reasons)
    return False


def mutated(random: Random, text: str) -> str:
    """Return a text with a few bytes or words changed."""
    words = text.split(" ")
    if random.random() < 0.5:
        for _ in range(random.randint(1, 3)):
            here, there = random.randrange(len(words)), random.randrange(len(words))
            match random.randrange(4):
                case 0:
                    words[here], words[there] = words[there], words[here]
                case 1:
                    words.insert(here, words[there])
                case 2:
                    words[here] = ""
                case _:
                    low, high = sorted((here, there))
                    words = words[:high] + words[low:high] * random.choice([1, 2, 50]) + words[high:]
        return " ".join(words)[:40_000]
    data = bytearray(text.encode())
    for _ in range(random.randint(1, 8)):
        place = random.randrange(len(data) + 1)
        match random.randrange(4):
            case 0:
                data[place : place + 1] = bytes([random.randrange(256)])
            case 1:
                data[place:place] = random.choice(SIGNS)
            case 2:
                del data[place : place + random.randint(1, 10)]
            case _:
                data[place:place] = data[place : place + 30] * random.choice([1, 3, 100])
    return bytes(data[:40_000]).decode(errors=random.choice(["replace", "surrogateescape", "ignore"]))


class Truth:
    """DuckDB on small tables, by itself and behind the engine."""

    def __enter__(self):
        tables = arrow_tables(CLINIC, made_up(Random(7)))
        self._engine = DuckDB(CLINIC, tables, threads=1)
        self._database = duckdb.connect(config={"threads": 1})
        self._database.execute("pragma disable_optimizer")  # it fails at outer joins whose rows must be there
        for name, table in tables.items():
            self._database.register("incoming", table)
            self._database.execute(f"create table {name} as from incoming")
            self._database.unregister("incoming")
        self._database.execute(
            "create macro clip(x, low, high) as case when x is null then null else least(greatest(x, low), high) end"
        )
        return self

    def __exit__(self, *_):
        self._engine.close()
        self._database.close()

    def check(self, text, planned):
        """Compare every number of a statement with what DuckDB says to the same text, and with what is shared."""
        keys = next(iter(planned.values())).aggregate.keys
        rows = self._database.execute(text).fetchall()
        selection = read_sql(text, **BOUNDS)
        shown = selection.arrangement.columns or tuple(planned)
        width = len(rows[0]) - len(shown) if rows else 0
        told = {row[:width]: row[width:] for row in rows}
        exact = {name: self._estimates(one) for name, one in planned.items()}
        self._check_shared(text, selection, planned, exact)
        for column, name in enumerate(shown):
            made = selection.arrangement.made.get(name)
            ours = {named(keys, cell): value for cell, value in (divided(made, exact) if made else exact[name]).items()}
            assert width == 0 or told.keys() <= ours.keys(), f"groups are missing: {text}"
            of = [planned[each] for each in (made.names if made else (name,))]
            for cell, value in ours.items():
                theirs = told[cell][column] if cell in told else None
                assert all(agree(one, text, value, theirs, made=made) for one in of), (
                    f"{cell}: {value} is not {theirs}: {text}"
                )

    def _estimates(self, one):
        return one.meaning.estimates(one, self._engine.vector(one.aggregate).open_for_release())

    def _check_shared(self, text, selection, planned, exact):
        """See that what is read from a release that others are read from is what it is alone."""
        for one in share(selection.questions, planned, CLINIC):
            released = self._engine.vector(one.plan.aggregate).open_for_release()
            for name, reading in one.readings.items():
                ours = reading.estimates(one.plan, released)
                assert ours == exact[name] or coarse(planned[name], text), f"{name} is {ours} where shared: {text}"


def divided(made, exact):
    """Return a quotient, or a weighted sum, of exact numbers in each group; None where there is nothing below."""

    def total(parts, cell):
        return sum(weight * Fraction(exact[name].get(cell, 0)) for name, weight in parts)

    cells = dict.fromkeys(cell for name in made.names for cell in exact[name])
    found = {cell: (total(made.above, cell), total(made.below, cell) if made.below else 1) for cell in cells}
    return {cell: above / below if below else None for cell, (above, below) in found.items()}


def named(keys, cell):
    """Return the key of a cell as DuckDB tells it."""
    if len(cell) != len(keys):
        return cell
    return tuple(
        date.fromordinal(date(1970, 1, 1).toordinal() + label[0]).year
        if isinstance(key, BinnedKey) and label is not None
        else label
        for key, label in zip(keys, cell, strict=True)
    )


def coarse(one, text):
    """Say whether a value, or a product of values, is rounded to a coarser grid than that of the rows."""
    if isinstance(one.meaning, Moments):
        degree = 1 if one.meaning.moment in {Moment.MEAN, Moment.COVARIANCE} else 2
        whole = math.prod(scale.extent**degree for scale in one.meaning.scales)
        if one.aggregate.bounding.most != whole:
            return True
    steps = [scale.step for scale in one.meaning.scales] if isinstance(one.meaning, Moments) else []
    steps += [one.meaning.step] if isinstance(one.meaning, Total) else []
    return any(step > (Fraction(1, 64) if "bmi" in text else 1) for step in steps)


def agree(one, text, value, theirs, *, made=None):
    """Say whether a number without noise is DuckDB's, where it is not rounded to a coarser grid."""
    if coarse(one, text):
        return True
    if isinstance(one.meaning, Moments) or made:
        nothing = value is None or theirs is None or math.isnan(theirs) or math.isinf(theirs)
        return nothing or math.isclose(value, theirs, rel_tol=1e-6, abs_tol=1e-6)
    return Fraction(theirs or 0) == value


def made_up(random: Random):
    """Rows within what is declared: any database counts them alike."""

    def some(*values):
        return random.choice([*values, None])

    patients = [
        {
            "pid": pid,
            "sex": some("F", "M", "é"),
            "ward": random.choice([1, 2, 3, -7]),
            "age": some(*range(0, 121, 7)),
            "bmi": some(10.0, 20.5, 27.25, 31.015625, 60.0),
            "smoker": some(*[True, False]),
            "city": some("Bern", "Chur", "", "O'Neil", "%", "bern"),
            "born": some(date(1950, 5, 5), date(1999, 12, 31), date(2000, 2, 29)),
        }
        for pid in range(60)
    ]
    visits = [
        {
            "pid": random.choice([pid, pid, 100 + pid]),
            "kind": random.choice(["surgery", "ER", "other"]),
            "day": some(date(2000, 2, 29), date(2010, 1, 1), date(2020, 6, 1), date(2024, 3, 1)),
            "left": some(date(2010, 1, 5), date(2020, 6, 1), date(2021, 6, 1)),
            "nights": some(0, 1, 2, 7, 30),
            "cost": some(-50.0, 0.0, 3.0, 999.0, 1000.0),
            "note": some("a", "A", "a "),
        }
        for pid in range(50)
        for _ in range(random.randint(0, 2))
    ]
    return {"patients": patients, "visits": visits, "codes": []}
