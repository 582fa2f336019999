"""Estimates of any function: one charge, chunks in processes of their own, and what is refused before it."""

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from analyses import chunk_functions as functions
from lapwing.analyses.chunk_function import ChunkFunction
from lapwing.analyses.chunk_processes import chunk_processes
from lapwing.analyses.simulated_draws import draws_from
from lapwing.ledger.replay import verify
from lapwing.vocabulary.errors import BadQuestionError, LapwingError, ParameterError
from lapwing.vocabulary.guarantee import Adjacency
from session.clinic import Broken, door, new_ledger, population, same_ledger
from session.real_tables import Tables, visits

PEOPLE = 3000
ASKED = {"low": 0, "high": 100, "chunks": 25}
CHUNKS = 25


def table():
    random = draws_from(5)
    age = random.integers(20, 80, PEOPLE).tolist()
    age[::50] = [None] * len(age[::50])
    return pa.table(
        {
            "id": pa.array(range(PEOPLE), pa.int64()),
            "sex": pa.array(np.where(random.random(PEOPLE) < 0.3, "M", "F").tolist(), pa.string()),
            "age": pa.array(age, pa.int64()),
            "bmi": pa.array((random.random(PEOPLE) * 20 + 20).tolist(), pa.float64()),
            "survivor": pa.array((random.random(PEOPLE) < 0.5).tolist(), pa.bool_()),
            "city": pa.array(["here"] * PEOPLE, pa.string()),
        }
    )


TABLE = table()


@pytest.fixture(params=Adjacency, ids=lambda one: one.value)
def adjacency(request):
    return request.param


@pytest.fixture
def ledger(quick_path, budget, adjacency):
    with new_ledger(quick_path, budget.promise(20), adjacency=adjacency) as ledger:
        yield ledger


@pytest.fixture
def clinic(ledger, adjacency):
    return door(
        ledger,
        Tables(sources={"patients": TABLE, "visits": visits(100)}, population=population(adjacency=adjacency)),
        adjacency=adjacency,
    )


def test_an_estimate_is_one_charge_and_is_read_back_for_nothing(clinic, ledger, quick_path) -> None:
    preview = clinic.preview_estimate(functions.ratio, "patients", ["age", "sex"], epsilon=2, **ASKED)
    assert not ledger.bookings("clinic", at_most=9)
    found = clinic.estimate(functions.ratio, "patients", ["age", "sex"], epsilon=2, **ASKED)
    assert found.price == preview.price
    assert abs(found.value - 50) < 15, "men and women are as old: ranks of 25 chunks at epsilon 2"
    assert len(ledger.bookings("clinic", at_most=9)) == 1
    assert "lie on each side of it" in str(found) or "any number could come out" in str(found)
    with same_ledger(quick_path) as later:
        other = door(later, Broken(), adjacency=clinic.population.unit.adjacency)
        again = other.estimate(functions.ratio, "patients", ["age", "sex"], epsilon=2, **ASKED)
    assert again == found
    assert len(ledger.bookings("clinic", at_most=9)) == 1
    verify(ledger)


def test_a_mean_and_a_smooth_median_are_paid_by_what_can_pay_them(quiet, budget) -> None:
    clinic = quiet
    middle = clinic.estimate(np.median, "patients", ["age"], epsilon=4, **ASKED | {"aggregate": "mean"})
    assert abs(middle.value - 50) < 12  # 100/25/4 is a scale of one
    words = {"epsilon": 2, "delta": "1e-7", **ASKED, "aggregate": "smooth median"}
    if budget.name == "delta":
        found = clinic.estimate(np.median, "patients", ["age"], **words)
        assert 0 <= found.value <= 100
        assert found.noise is None, "how far it reaches only the data know"
        return
    before = clinic.budget().to_dict()
    with pytest.raises(LapwingError):
        clinic.estimate(np.median, "patients", ["age"], **words)
    assert clinic.budget().to_dict() == before


@pytest.fixture
def quiet(quick_path, budget):
    with new_ledger(quick_path, budget.promise(20)) as ledger:
        yield door(ledger, Tables(sources={"patients": TABLE, "visits": visits(100)}, population=population()))


REFUSED = {
    "a function that fails": ((functions.fails, ["age"]), {}, "gave no number for 40 made-up rows"),
    "two numbers": ((functions.two_numbers, ["age", "bmi"]), {}, "let it return one number"),
    "no end": ((functions.stuck, ["age"]), {"seconds": "0.2"}, "within its seconds"),
    "a lambda": ((lambda rows: rows.mean(), ["age"]), {}, "def name"),
    "no such file": (("nowhere.py:mean", ["age"]), {}, "is no file that can be read"),
    "no columns": ((np.median, []), {}, r"write \[.age., .sbp.\]"),
    "a text": ((np.median, "age"), {}, "is no list of columns"),
    "no such column": ((np.median, ["height"]), {}, "height"),
    "a column of texts": ((np.median, ["city"]), {}, "neither numbers nor declared values"),
    "ends the wrong way round": ((np.median, ["age"]), {"low": 9, "high": 3}, "is not above low"),
    "too few chunks": ((np.median, ["age"]), {"chunks": 2}, "chunks"),
    "another aggregate": ((np.median, ["age"]), {"aggregate": "mode"}, "write one of median"),
    "a rho": ((np.median, ["age"]), {"epsilon": None, "rho": 1}, "offer an epsilon"),
    "an accuracy": ((np.median, ["age"]), {"epsilon": None, "within": 3}, "offer an epsilon"),
    "hours": ((np.median, ["age"]), {"seconds": 10**6}, "at most 3600"),
}


@pytest.mark.one_budget("what is refused is refused before a price is looked at")
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_estimated_is_refused_before_the_charge(quiet, case) -> None:
    (function, columns), words, told = REFUSED[case]
    offered = {name: one for name, one in {"epsilon": 1, **ASKED, **words}.items() if one is not None}
    with pytest.raises((ParameterError, BadQuestionError), match=told):
        quiet.estimate(function, "patients", columns, **offered)
    assert not quiet.ledger.bookings("clinic", at_most=9)


@pytest.mark.one_budget("no budget is there")
def test_a_process_of_a_chunk_sees_its_rows_and_nothing_else() -> None:
    with chunk_processes(ChunkFunction.of(functions.what_it_sees), 10) as processes:
        seen = processes.numbers([np.ones((7, 2)), np.ones((9, 2))])
    assert seen == [pytest.approx(0.007), pytest.approx(0.009)]
    with chunk_processes(ChunkFunction.of(functions.counts_calls), 10) as processes:
        assert processes.numbers([np.ones((7, 2)), np.ones((9, 2)), np.ones((0, 2))]) == [7, 9, 0]


@pytest.mark.one_budget("no budget is there")
def test_what_a_chunk_has_started_is_ended_before_the_next_one() -> None:
    with chunk_processes(ChunkFunction.of(functions.leaves_somebody_behind), 10) as processes:
        child = int(processes.number(np.ones((1, 1))))
        until = time.monotonic() + 20
        while _lives(child) and time.monotonic() < until:
            time.sleep(0.01)
        assert not _lives(child)


def _lives(process):
    try:
        told = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
        return told.rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


@pytest.mark.one_budget("no budget is there")
def test_what_fails_dies_or_never_ends_is_no_number_and_the_next_chunk_is_computed() -> None:
    with chunk_processes(ChunkFunction.of(functions.odd), 0.3) as processes:
        told = processes.numbers([np.ones((size, 1)) for size in (1, 2, 3, 4, 5, 6)])
    assert np.isnan([told[0], told[1], told[2], told[4]]).all()
    assert (told[3], told[5]) == (float("inf"), 42)


@pytest.mark.one_budget("no budget is there")
def test_a_function_goes_by_its_name_its_source_or_its_file(tmp_path) -> None:
    assert ChunkFunction.of(np.median).source is None
    assert ChunkFunction.of(functions.ratio).module == "analyses.chunk_functions"
    (tmp_path / "ours.py").write_text("import numpy as np\nK = 2\ndef twice(rows):\n    return K * np.mean(rows)\n")
    with chunk_processes(ChunkFunction.of(f"{tmp_path}/ours.py:twice"), 10) as processes:
        assert processes.number(np.full((3, 1), 4.0)) == 8
    with (
        pytest.raises(BadQuestionError, match="cannot be loaded"),
        chunk_processes(ChunkFunction.of(f"{tmp_path}/ours.py:thrice"), 10),
    ):
        pass
    (tmp_path / "ours.py").write_text("def twice(rows):\n    return 3\n")
    assert ChunkFunction.of(f"{tmp_path}/ours.py:twice").identity != ChunkFunction.of(np.mean).identity

    def inner(rows):
        return float(np.mean(rows)) + CHUNKS

    with pytest.raises(BadQuestionError, match="uses CHUNKS from around it"):
        ChunkFunction.of(inner)

    def fine(rows):
        return float(np.mean(rows)) + 1

    with chunk_processes(ChunkFunction.of(fine), 10) as processes:
        assert processes.number(np.full((3, 1), 4.0)) == 5
