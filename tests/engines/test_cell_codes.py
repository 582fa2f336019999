"""Cells as numbers: in the order of their keys, told alike to ranks, and read again; bins by halving."""

import math
from datetime import date
from itertools import pairwise

import duckdb
import pyarrow as pa
import pytest

import lapwing as ask
from engines.clinic import clinic
from engines.rows_in_memory import RowsInMemory
from lapwing.engines.cell_codes import MOST_CODED, cell_codes
from lapwing.engines.derived_sql import widened_relation
from lapwing.engines.dialect import Writer
from lapwing.engines.duckdb import DuckDB
from lapwing.engines.emitter import emit
from lapwing.engines.expression_sql import bin_sql, cell_columns
from lapwing.engines.files import DUCKDB
from lapwing.engines.postgres import POSTGRES
from lapwing.queries.algebra.aggregate import BinnedKey, DeclaredKey, GridKey, PrivateKey
from lapwing.queries.algebra.term import OnGrid
from lapwing.queries.catalogue.column import Boolean, Category, Column, Date, Integer, Real
from lapwing.queries.catalogue.domains import DAYS, DOUBLES, INTEGERS, Domain, day_number, double_at, double_rank
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.guarantee import PrivacyUnit

TEXTS = ("b", "B", "é", "a", "", "\U0001f426", "aa")
COLUMNS = (
    Column(name="kind", type=Category(values=TEXTS), nullable=True),
    Column(name="ward", type=Category(values=(7, -3, 2**63 - 1)), nullable=True),
    Column(name="row", type=Category(values=tuple(range(-5, 60)))),
    Column(name="ill", type=Boolean(), nullable=True),
    Column(name="age", type=Integer(low=0, high=120), nullable=True),
)
EVENTS = Population(
    name="events",
    unit=PrivacyUnit(person_key="pid"),
    tables=(Table(name="events", columns=COLUMNS, rows=RowsPerPerson.MANY_A_PERSON),),
)
KEYS = {
    "kind": DeclaredKey(column="kind", values=TEXTS, missing=True),
    "ward": DeclaredKey(column="ward", values=(7, -3, 2**63 - 1), missing=True),
    "row": DeclaredKey(column="row", values=tuple(range(-5, 60)), missing=False),
    "ill": DeclaredKey(column="ill", values=(False, True), missing=True),
    "age": BinnedKey(column="age", domain=INTEGERS, bins=((0, 17), (18, 64), (70, 120)), missing=True),
}
GRID = GridKey(term=OnGrid(column="age", bits=0, low=0, high=120), width=7)
ROWS = [
    (n, kind, ward, row, ill, age)
    for n, (kind, ward, row, ill, age) in enumerate(
        zip(
            [*TEXTS, None] * 60,
            [7, None, -3, 2**63 - 1, 7] * 96,
            [n * 7 % 65 - 5 for n in range(480)],
            [True, None, False] * 160,
            [n * 11 % 75 if n % 9 else None for n in range(480)],
            strict=True,
        )
    )
    if age is None or not 65 <= age < 70
]


def of_rows(keys):
    """Each row with what the steps before see of its cell, and with its number and all that is read from it."""
    writer = Writer(DUCKDB, EVENTS, {"events": "events"}, widened_relation)
    row = writer.row_of("events", ())
    cells = cell_columns(writer, row, keys)
    codes = cell_codes(writer, keys, cells)
    names = [f"c{i}" for i in range(len(keys))]
    places = ", ".join(f"{place} AS {name}" for place, name in zip(codes.places(), names, strict=True))
    told = ", ".join(f"CAST({one} AS BIGINT)" for one in (*(cell.number for cell in cells), *codes.numbers(names)))
    selected = ", ".join(f"{cell.select} AS {cell.name}" for cell in cells)
    counted = f"SELECT {selected} FROM events AS r0"  # noqa: S608
    order = ", ".join(cell.order for cell in cells)
    shown = ", ".join(f"CAST({name} AS VARCHAR)" for name in codes.names)
    again = ", ".join(codes.values("code"))
    ranked = f"*, {codes.code(names)} AS code, dense_rank() OVER (ORDER BY {order}) AS place"
    coded = f"SELECT {ranked} FROM (SELECT *, {places} FROM ({counted}))"  # noqa: S608
    read = f"SELECT [{shown}] FROM (SELECT {again})"  # noqa: S608
    text = f"SELECT [{shown}], ({read}), [{told}], code, place FROM ({coded})"  # noqa: S608
    columns = ["pid", *(column.name for column in COLUMNS)]
    with duckdb.connect() as connection:
        connection.register("events", pa.table(dict(zip(columns, map(list, zip(*ROWS, strict=True)), strict=True))))
        return codes, connection.execute(text, writer.parameters).fetchall()


@pytest.mark.parametrize(
    "names", [["kind"], ["ward"], ["row"], ["ill"], ["age"], ["kind", "ill"], ["age", "ward", "row"]], ids="-".join
)
def test_a_number_has_the_order_of_its_cell_and_tells_all_of_it(names) -> None:
    keys = [KEYS[name] for name in names]
    codes, rows = of_rows(keys)
    assert len(rows) == len(ROWS)
    for cell, again, told, code, _ in rows:
        assert cell == again
        assert told[: len(keys)] == told[len(keys) :], "a rank is told the same"
        assert 0 <= code < codes.cells
    ranked = sorted({(place, code) for *_, code, place in rows})
    assert [code for _, code in ranked] == sorted({code for _, code in ranked}), "in the order of the keys"
    assert len(ranked) == len({tuple(cell) for cell, *_ in rows}) > 1


def test_cells_of_a_grid_are_numbered_too() -> None:
    codes, rows = of_rows([GRID])
    present = [row for row in rows if row[3] is not None]
    assert len(present) > 400
    assert all(cell == again and 0 <= code < codes.cells for cell, again, _, code, _ in present)


def test_what_is_not_public_or_too_much_to_write_has_no_numbers() -> None:
    def codes(*keys):
        writer = Writer(DUCKDB, EVENTS, {"events": "events"}, widened_relation)
        return cell_codes(writer, keys, [])

    far = GridKey(term=OnGrid(column="age", bits=0, low=0, high=2_000), width=1)
    many = DeclaredKey(column="kind", values=tuple(map(str, range(50))), missing=False)
    assert 2_001**3 > MOST_CODED > 2_001**2
    asked = [(far, far, far), (many,), (PrivateKey(column="kind", missing=False),)]
    assert [codes(*keys) for keys in asked] == [None] * 3
    assert codes(KEYS["row"]) is not None


BINS = {
    "ages": (INTEGERS, [(0, 17), (18, 64), (65, 120)], [-1, 0, 17, 18, 64, 65, 120, 121, None, 2**63 - 1]),
    "gaps": (INTEGERS, [(5, 9), (20, 20), (22, 30), (-4, 2)], [*range(-6, 33), None]),
    "one": (INTEGERS, [(3, 3)], [2, 3, 4, None]),
    "everything": (INTEGERS, [(INTEGERS.lowest, -1), (0, INTEGERS.highest)], [-(2**63), -1, 0, 2**63 - 1, None]),
    "days": (
        DAYS,
        [(day_number(date(2020, 1, 1)), day_number(date(2020, 1, 31))), (day_number(date(2020, 3, 1)), DAYS.highest)],
        ["infinity", "-infinity", "2020-01-31", "2020-02-01", "2020-03-01", "9999-12-31", None],
    ),
}


def at(domain: Domain, value) -> int | None:
    if value is None or "inf" in str(value):
        return None
    return day_number(date.fromisoformat(value)) if domain is DAYS else value


@pytest.mark.parametrize("case", BINS)
def test_a_value_is_in_the_bin_that_holds_it(case) -> None:
    domain, bins, values = BINS[case]
    writer = Writer(DUCKDB, EVENTS, {}, widened_relation)
    text = bin_sql(writer, "x", domain, bins)
    kind = "DATE" if domain is DAYS else "BIGINT"
    listed = ", ".join(f"(CAST({'NULL' if v is None else repr(str(v))} AS {kind}))" for v in values)
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT {text} FROM (VALUES {listed}) AS t(x)", writer.parameters).fetchall()  # noqa: S608
    places = [at(domain, value) for value in values]
    wanted = [next((i for i, (a, b) in enumerate(bins) if p is not None and a <= p <= b), None) for p in places]
    assert [row[0] for row in found] == wanted


def test_a_thousand_bins_of_reals_are_ten_comparisons_deep_and_exact_at_every_edge() -> None:
    edges = [double_rank(i * 0.37) for i in range(1001)]
    bins = [(a, b - 1) for a, b in pairwise(edges)]
    writer = Writer(DUCKDB, EVENTS, {}, widened_relation)
    text = bin_sql(writer, "x", DOUBLES, bins)
    near = [double_at(place + off) for place in edges for off in (-1, 0, 1)]
    values = [*near, math.inf, -math.inf, math.nan, -0.0, None]
    with duckdb.connect() as connection:
        connection.register("given", pa.table({"x": pa.array(values, pa.float64(), from_pandas=False)}))
        told = [row[0] for row in connection.execute(f"SELECT {text} FROM given", writer.parameters).fetchall()]  # noqa: S608
    number = [None if v is None or math.isnan(v) else double_rank(v) for v in values]
    assert told == [next((i for i, (a, b) in enumerate(bins) if n is not None and a <= n <= b), None) for n in number]
    deep = [text.count("CASE", 0, place) - text.count("END", 0, place) for place in range(0, len(text), 50)]
    assert max(deep) <= 12
    assert len(writer.parameters) <= 2 * len(bins)


CLINIC = clinic()
VISITS = Population(
    name="visits",
    unit=PrivacyUnit(person_key="pid"),
    tables=(
        Table(
            name="visits",
            columns=(
                Column(name="kind", type=Category(values=TEXTS), nullable=True),
                Column(name="cost", type=Real(low=0, high=100)),
                Column(name="seen", type=Date()),
            ),
            rows=RowsPerPerson.MANY_A_PERSON,
        ),
    ),
)
ASKED = [
    ask.count("visits", by="kind", max_groups=1),
    ask.count("visits", by=["kind", ask.bins("cost", [0, 10, 50, 100])], max_groups=1),
    ask.total("visits", "cost", by="kind", max_groups=1, max_rows=2),
    ask.mean("visits", "cost", by="kind", max_groups=1, max_rows=3),
    ask.count_distinct("visits", "kind", max_groups=1),
]


@pytest.mark.parametrize("question", ASKED, ids=range(len(ASKED)))
def test_the_one_cell_of_a_person_is_that_of_plain_rows(question) -> None:
    rows = [
        {
            "pid": None if n % 41 == 0 else n * 7919 % 130,
            "kind": [*TEXTS, None][n * n % 8],
            "cost": n * 0.37 % 100,
            "seen": date(2020, 1, 1),
        }
        for n in range(700)
    ]
    table = {"pid": [r["pid"] for r in rows], "kind": [r["kind"] for r in rows]}
    table |= {"cost": [r["cost"] for r in rows], "seen": [r["seen"] for r in rows]}
    aggregate = plan(question, VISITS).aggregate
    for dialect in (DUCKDB, POSTGRES):
        assert "ROW_NUMBER() OVER (PARTITION BY p ORDER BY r" not in emit(
            aggregate, VISITS, dialect, {"visits": "v"}
        ).text or (dialect is POSTGRES and "cost" in str(question))
    with DuckDB(VISITS, {"visits": pa.table(table)}) as engine:
        told = engine.vector(aggregate).open_for_release()
    assert told == RowsInMemory(VISITS, {"visits": rows}).vector(aggregate).open_for_release()
    assert sum(map(bool, told)) > 1 or len(told) == 1
