from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pytest

import lapwing as lw
from budgets import KindOfBudget
from doors.server.doors import Door, serving
from postgres_server import where_there_is_room

SETTINGS = """
[vocabularies]
kinds = "kinds.csv"
packed = "packed.parquet"
[populations.clinic]
person_key = "patient_id"
now = 2025-06-30
budget = BUDGET
[populations.clinic.tables.patient]
source = "patient.csv"
[populations.clinic.tables.patient.columns]
sex = { type = "category", values = { file = "sexes.csv", value = "id", label = "name" } }
age = { type = "integer", low = 0, high = 120 }
bmi = { type = "real", low = 10, high = 60, step = "1/64", nullable = true }
born = { type = "date", first = 1900-01-01, last = 2025-01-01 }
[populations.clinic.tables.visit]
source = "visit.csv"
rows = "many"
max_rows = 3
[populations.clinic.tables.visit.columns]
visit_id = { type = "integer" }
kind = { type = "category", values = ["ER", "ward"] }
code = { type = "integer" }
"""


@pytest.fixture(scope="module")
def folder(budget: KindOfBudget) -> Iterator[Path]:
    """A clinic with people and their visits."""
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as place:
        people = range(1, 401)
        (Path(place) / "kinds.csv").write_text("of,code\n" + "".join(f"{n % 3},{n}\n" for n in range(1, 900)))
        packed = duckdb.connect().sql("select i as code, i % 3 as kind from range(1, 900) t(i)")
        packed.write_parquet(f"{place}/packed.parquet")
        (Path(place) / "sexes.csv").write_text("id,name\n8507,Male\n8532,Female\n")
        rows = "".join(
            f"{i},{(8507, 8532)[i % 2]},{i % 100},{20 + i % 20},{1920 + i % 100}-03-0{1 + i % 9}\n" for i in people
        )
        (Path(place) / "patient.csv").write_text(f"patient_id,sex,age,bmi,born\n{rows}")
        visits = "".join(
            f"{i},{10 * i + n},{('ER', 'ward')[(i + n) % 2]},{i % 50}\n" for i in people for n in range(i % 4)
        )
        (Path(place) / "visit.csv").write_text(f"patient_id,visit_id,kind,code\n{visits}")
        lw.create(place, SETTINGS.replace("BUDGET", budget.toml(60 if budget.delta else 19))).close()
        yield Path(place)


@pytest.fixture(scope="module")
def door(folder: Path) -> Iterator[Door]:
    with serving(folder) as door:
        yield door
