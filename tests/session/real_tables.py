"""Tables of the small clinic on a real engine."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lapwing.engines.duckdb import DuckDB
from lapwing.engines.rehearsal import rehearsal_engine
from lapwing.queries.catalogue.population import Population
from session.clinic import population

PEOPLE = 400


def patients(people: int = PEOPLE) -> pa.Table:
    ids = list(range(1, people + 1))
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "sex": pa.array(["FM"[i % 2] for i in ids], pa.string()),
            "age": pa.array([i % 100 for i in ids], pa.int64()),
            "bmi": pa.array([20 + i % 40 / 4 for i in ids], pa.float64()),
            "survivor": pa.array([i % 5 == 0 for i in ids], pa.bool_()),
            "city": pa.array([f"city {i % 3}" for i in ids], pa.string()),
        }
    )


def visits(people: int = PEOPLE) -> pa.Table:
    ids = [i for i in range(1, people + 1) for _ in range(i % 4)]
    kinds = ["ER" if i % 3 else "other" for i in ids]
    wards = [1 + i % 20 for i in ids]
    return pa.table(
        {"id": pa.array(ids, pa.int64()), "kind": pa.array(kinds, pa.string()), "ward": pa.array(wards, pa.int64())}
    )


@dataclass
class Tables:
    """Data that is there, or fails, or is counted on."""

    on_read: Callable[[], None] = lambda: None
    people: int = PEOPLE
    sources: Mapping[str, pa.Table] | None = None
    population: Population = field(default_factory=population)
    _engines: list[DuckDB] = field(default_factory=list)
    _rehearsals: list[DuckDB] = field(default_factory=list)

    def __post_init__(self) -> None:
        OPENED.append(self)

    def engine(self, versions: Mapping[str, int]) -> Any:
        del versions
        self.on_read()
        if not self._engines:
            sources = self.sources or {"patients": patients(self.people), "visits": visits(self.people)}
            self._engines.append(DuckDB(self.population, sources, threads=1))
        return self._engines[0]

    @contextmanager
    def hold(self, versions: Mapping[str, int], *, reads: bool = False) -> Iterator[None]:  # noqa: ARG002 - it is here
        del versions  # it answers about any
        yield

    @contextmanager
    def lease(self, versions: Mapping[str, int]) -> Iterator[Any]:
        yield self.engine(versions)

    def rehearsal(self) -> Any:
        self._rehearsals.append(rehearsal_engine(self.population, people=200))
        return self._rehearsals[-1]

    def close(self) -> None:
        for engines in (self._engines, self._rehearsals):
            while engines:
                engines.pop().close()


OPENED: list[Tables] = []
"""What a test has opened; it is closed after it."""
