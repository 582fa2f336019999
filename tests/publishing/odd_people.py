"""People whose values are missing, not declared, out of range or not a number: all of them are to be counted."""

import math
from typing import Any

import pyarrow as pa

import lapwing as lw
from lapwing.vocabulary.guarantee import Adjacency
from session.clinic import population
from session.real_tables import Tables, visits

SEXES = ["F", "M", "F", "X", None, "m", "M"]
AGES = [0, 17, 18, 64, 65, 99, 150, -3, None, 40, 41]
BMIS = [20.0, 25.0, 30.0, math.nan, None, -1.0, 1e9, 24.99]
SURVIVORS = [True, False, None, False, False]

COLUMNS = ["sex", lw.bins("age", [0, 18, 65, 99]), lw.bins("bmi", [10, 25, 60]), "survivor"]
CODES = {
    "sex": "case when sex = 'F' then 0 when sex = 'M' then 1 else 2 end",
    "age": "case when age between 0 and 17 then 0 when age between 18 and 64 then 1 "
    "when age between 65 and 99 then 2 else 3 end",
    "bmi": "case when bmi is null or isnan(bmi) then 2 when bmi >= 10 and bmi < 25 then 0 "
    "when bmi >= 25 and bmi <= 60 then 1 else 2 end",
    "survivor": "case when survivor then 1 else 0 end",
}
"""The same codes in plain SQL, written down a second time."""


def odd_patients(people: int = 3000) -> pa.Table:
    places = range(people)
    return pa.table(
        {
            "id": pa.array(list(places), pa.int64()),
            "sex": pa.array([SEXES[(i * i) % len(SEXES)] for i in places], pa.string()),
            "age": pa.array([AGES[(i * 7 + i // 13) % len(AGES)] for i in places], pa.int64()),
            "bmi": pa.array([BMIS[(i // 3) % len(BMIS)] for i in places], pa.float64()),
            "survivor": pa.array([SURVIVORS[(i // 5) % len(SURVIVORS)] for i in places], pa.bool_()),
            "city": pa.array(["here"] * people, pa.string()),
        }
    )


def odd_tables(people: int = 3000, adjacency: Adjacency = Adjacency.ADD_REMOVE, **more: Any) -> Tables:
    sources = {"patients": odd_patients(people), "visits": visits(people)}
    return Tables(sources=sources, population=population(adjacency=adjacency), **more)
