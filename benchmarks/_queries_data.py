"""The tables of the queries benchmark: events with a heavy tail of rows a person, and people with many attributes."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GROUPS = 100
FLAGS = 30


def generator(seed: int):
    return np.random.Generator(np.random.Philox(seed))  # noqa: TID251 - the same tables in every run


def events(path: Path, rows: int) -> None:
    """Write a tenth as many people as rows; most have a few rows, some have tens of thousands."""
    draw, people = generator(7), rows // 10
    weights = np.cumsum(draw.pareto(1.5, people) + 0.3)
    person = np.searchsorted(weights, draw.random(rows) * weights[-1]).clip(0, people - 1) + 1
    value = np.round(draw.lognormal(3.0, 1.0, rows), 2)
    value[draw.random(rows) < 0.001] *= 1000
    columns = {
        "person_id": person,
        "grp": np.minimum((draw.pareto(1.2, rows) * 8).astype(np.int64), GROUPS - 1),
        "value": value,
        "age": person * 2_654_435_761 % 80 + 10,
        "sex": person * 40_503 % 2,
        "region": person * 97 % 50,
        "score": draw.integers(0, 1000, rows),
    }
    pq.write_table(pa.table(columns), path, row_group_size=1_000_000)


def people(path: Path, rows: int) -> None:
    """Write one row a person."""
    draw = generator(11)
    columns = {
        "person_id": np.arange(rows),
        "sex": draw.integers(0, 2, rows),
        "age": draw.integers(0, 90, rows),
        "region": draw.zipf(1.5, rows) % 50,
        "race": draw.choice(5, rows, p=[0.6, 0.15, 0.12, 0.08, 0.05]),
        "decile": draw.integers(0, 10, rows),
    }
    columns |= {f"c{i}": draw.random(rows) < 0.3 / (i + 1) + 0.01 for i in range(FLAGS)}
    pq.write_table(pa.table(columns), path, row_group_size=1_000_000)


def prepared(rows: int) -> tuple[Path, Path]:
    """Return the files of both tables, written once and kept for the next run."""
    folder = Path(__file__).parent.parent / ".bench" / f"{rows}"
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "events.parquet", folder / "people.parquet"
    for path, write, count in zip(paths, (events, people), (rows, rows // 10), strict=True):
        if not path.exists():
            half = path.with_suffix(".half")
            write(half, count)
            half.rename(path)
    return paths
