"""The clinic on disk: its tables as Parquet files, and the lapwing.toml that declares them.

Rows are written a batch at a time: what is in memory is one batch, however many people there are.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final, Self, TypedDict

import duckdb
from numpy.typing import NDArray

from lapwing.answers.budget import budget_record, read_budget
from lapwing.engines.dialect import literal
from lapwing.made_up.made_up_people import (
    BLOCK,
    CONDITIONS,
    MEASUREMENTS,
    MOST_VISITS,
    OLDEST,
    PROCEDURES,
    SERVICES,
    SEXES,
    SITES,
    TODAY,
    VISITS,
    YEARS_OF_VISITS,
    Named,
    Values,
    make_block,
)
from lapwing.vocabulary.errors import ParameterError, SettingsError
from lapwing.vocabulary.exact import Exact, as_int, positive
from lapwing.vocabulary.wording import format_exact
from lapwing.workspace.settings import FILE

TABLES: Final = ("person", "condition", "visit", "procedure", "measurement", "patient")
SEED: Final = 1
_EPSILON: Final = 10


class BudgetWords(TypedDict, total=False):
    """A budget in words: `epsilon`, `epsilon` with `delta`, or `rho`."""

    epsilon: Exact
    delta: Exact
    rho: Exact


BUDGETS: Final[Mapping[str, BudgetWords]] = MappingProxyType(
    {"epsilon": {"epsilon": _EPSILON}, "delta": {"epsilon": 5, "delta": "1e-6"}, "rho": {"rho": 1}}
)
"""A budget of each kind, to try things on."""
_MOST_PEOPLE: Final = 10**9
_NOBODY: Final[Mapping[str, Exact]] = MappingProxyType({})
_NAME = re.compile("[a-z_][a-z0-9_]*")
_MEMORY = "256MB"  # what the database may use; the rest is on disk until the files are written


def make_clinic(
    folder: str | Path,
    people: int = 100_000,
    *,
    seed: int = SEED,
    epsilon: Exact | None = None,
    delta: Exact | None = None,
    rho: Exact | None = None,
    allowances: Mapping[str, Exact] = _NOBODY,
    progress: Callable[[int], None] = lambda _: None,
) -> Path:
    """Make a clinic: its tables, and a lapwing.toml with which `lapwing.create(folder)` opens an account for it.

    The folder need not be there, and is returned. The first people of a large clinic are those of a small one with the
    same seed. The budget is `epsilon`, 10 if none is named, `epsilon` with a `delta`, or `rho`; of it each analyst may
    spend an allowance, in epsilon or in rho. From time to time `progress` is called with the number of people written.

    >>> import tempfile
    >>> import lapwing as lw
    >>> folder = make_clinic(Path(tempfile.mkdtemp()) / "clinic", people=1000)
    >>> with lw.create(folder) as workspace:
    ...     sorted(table.name for table in workspace.session().population.tables)
    ['condition', 'measurement', 'patient', 'procedure', 'visit']
    """
    place = Path(folder)
    if (place / FILE).exists():
        remedy = "make the clinic in a folder of its own"
        raise SettingsError(str(place / FILE), 0, reason="is there already", remedy=remedy)
    settings = clinic_settings(epsilon, delta=delta, rho=rho, allowances=allowances)
    write_tables(place, people, seed=seed, progress=progress)
    (place / FILE).write_text(settings, encoding="utf-8")
    return place


def write_tables(
    folder: str | Path, people: int = 100_000, *, seed: int = SEED, progress: Callable[[int], None] = lambda _: None
) -> Path:
    """Write the tables of a clinic alone, `person.parquet` to `patient.parquet`, and return the folder."""
    count, seed = as_int("people", people, most=_MOST_PEOPLE), as_int("seed", seed, least=0, most=2**63)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    with ParquetFiles(place) as files:
        for first in range(0, count, BLOCK):
            block = make_block(seed, first // BLOCK, min(BLOCK, count - first))
            for table in TABLES:
                files.add(table, block[table])
            progress(min(first + BLOCK, count))
    return place


def clinic_settings(
    epsilon: Exact | None = None,
    *,
    delta: Exact | None = None,
    rho: Exact | None = None,
    allowances: Mapping[str, Exact] = _NOBODY,
) -> str:
    """Return a lapwing.toml for a clinic, with this budget and what each analyst may spend of it.

    >>> print(clinic_settings(rho="0.5").split("budget = ")[1].split("#")[0])
    { rho = "0.5" }
    """
    whole = _EPSILON if epsilon is None and rho is None else epsilon
    said = budget_record(read_budget(epsilon=whole, delta=delta, rho=rho))
    words = ", ".join(f'{word} = "{amount}"' for word, amount in said.items())
    budget = f"budget = {{ {words} }}"
    currency = "rho" if rho is not None else "epsilon"
    each = "".join(
        f'{name} = {{ {currency} = "{format_exact(positive(name, most))}" }}\n' for name, most in allowances.items()
    )
    section = f"[populations.clinic.analysts]           # and each of them not more than\n{each}\n" if each else ""
    return _SETTINGS.replace("BUDGET", f"{budget:<40}# for good, over all analysts").replace("ANALYSTS", section)


def _values(names: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


class ParquetFiles:
    """A folder into which a `table.parquet` is written for each table, complete when it is left without an error.

    >>> import numpy as np
    >>> with TemporaryDirectory() as folder:
    ...     with ParquetFiles(folder) as files:
    ...         files.add("visit", {"person_id": np.arange(3), "kind": Named(np.array([0, 1, 0]), ("home", "clinic"))})
    ...         files.add("visit", {"person_id": np.arange(9), "kind": Named(np.zeros(9, int), ("home", "clinic"))})
    ...     with duckdb.connect() as read:
    ...         read.sql(f"SELECT kind, count(*) FROM '{folder}/visit.parquet' GROUP BY kind ORDER BY kind").fetchall()
    [('clinic', 1), ('home', 11)]
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._scratch = TemporaryDirectory(prefix="lapwing-", dir=self._folder)
        place = Path(self._scratch.name)
        limits: dict[str, Any] = {"memory_limit": _MEMORY, "temp_directory": str(place / "spilled")}
        self._database = duckdb.connect(place / "rows.duckdb", config=limits)
        self._tables: list[str] = []

    def add(self, table: str, columns: Mapping[str, Values]) -> None:
        """Add rows at the end of a table; the first ones decide what its columns are."""
        for name in (table, *columns):
            if not _NAME.fullmatch(name):
                raise ParameterError("name", name, reason="is not a plain name", remedy="use small letters and _")
        self._database.register("incoming", {name: _raw(column) for name, column in columns.items()})
        select = f"SELECT {', '.join(_read(name, column) for name, column in columns.items())} FROM incoming"
        if table in self._tables:
            self._database.execute(f"INSERT INTO {table} {select}")
        else:
            self._database.execute(f"CREATE TABLE {table} AS {select}")
            self._tables.append(table)
        self._database.unregister("incoming")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                for table in self._tables:
                    fresh = Path(self._scratch.name) / f"{table}.parquet"
                    self._database.execute(f"COPY {table} TO {literal(str(fresh))} (COMPRESSION zstd)").fetchall()
                    fresh.replace(self._folder / fresh.name)
        finally:
            self._database.close()
            self._scratch.cleanup()


def _raw(column: Values) -> NDArray[Any]:
    values = column.codes if isinstance(column, Named) else column
    return values.astype("datetime64[s]") if values.dtype.kind == "M" else values


def _read(name: str, column: Values) -> str:
    if isinstance(column, Named):
        return f"([{', '.join(map(literal, column.names))}])[{name} + 1] AS {name}"
    return f"CAST({name} AS DATE) AS {name}" if column.dtype.kind == "M" else name


_SETTINGS: Final = f"""\
# A made-up clinic. What is declared here is public; nothing of it was looked up in the data.

[populations.clinic]
person_key = "person_id"                # one person is protected, across all tables
BUDGET
now = {TODAY}                        # the day on which age(born) is meant

ANALYSTS[populations.clinic.tables.patient]     # one row a person
source = "patient.parquet"

[populations.clinic.tables.patient.columns]
sex = {{ type = "category", values = {_values(SEXES)} }}
born = {{ type = "date", first = {TODAY.year - OLDEST - 1}-01-01, last = {TODAY}, nullable = true }}
age = {{ type = "integer", low = 0, high = {OLDEST}, nullable = true }}
site = {{ type = "category", values = {_values(SITES)} }}
smoker = {{ type = "boolean", nullable = true }}
bmi = {{ type = "real", low = 10, high = 60, step = "1/64", nullable = true, title = "body mass index" }}
hypertension = {{ type = "boolean" }}
diabetes = {{ type = "boolean" }}
cancer_survivor = {{ type = "boolean" }}
admitted_for_surgery = {{ type = "boolean" }}
admissions = {{ type = "integer", low = 0, high = {MOST_VISITS} }}
visits = {{ type = "integer", low = 0, high = {MOST_VISITS} }}

[populations.clinic.tables.condition]   # many rows a person: what they were diagnosed with
source = "condition.parquet"
rows = "many"
max_rows = 4                            # of a person that count, where rows are counted or added up

[populations.clinic.tables.condition.columns]
concept = {{ type = "category", values = {_values(tuple(one.name for one in CONDITIONS))} }}
day = {{ type = "date", first = {TODAY.year - 20}-01-01, last = {TODAY} }}

[populations.clinic.tables.visit]       # the last {YEARS_OF_VISITS} years
source = "visit.parquet"
rows = "many"
row_key = "visit_id"
max_rows = 5

[populations.clinic.tables.visit.columns]
visit_id = {{ type = "integer" }}
kind = {{ type = "category", values = {_values(VISITS)} }}
service = {{ type = "category", values = {_values(SERVICES)}, nullable = true }}
day = {{ type = "date", first = {TODAY.year - YEARS_OF_VISITS}-01-01, last = {TODAY} }}
nights = {{ type = "integer", low = 0, high = 60 }}

[populations.clinic.tables.procedure]
source = "procedure.parquet"
rows = "many"
max_rows = 3

[populations.clinic.tables.procedure.columns]
visit_id = {{ type = "integer" }}
concept = {{ type = "category", values = {_values(PROCEDURES)} }}
day = {{ type = "date", first = {TODAY.year - YEARS_OF_VISITS}-01-01, last = {TODAY} }}

[populations.clinic.tables.measurement]
source = "measurement.parquet"
rows = "many"
max_rows = 5

[populations.clinic.tables.measurement.columns]
concept = {{ type = "category", values = {_values(MEASUREMENTS)} }}
value = {{ type = "real", low = 0, high = 256, step = "1/64" }}
day = {{ type = "date", first = {TODAY.year - YEARS_OF_VISITS}-01-01, last = {TODAY} }}
"""
