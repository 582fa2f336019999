"""How much a bound of rows leaves out is estimated from one count: near the truth, within its bounds, at its price."""

import numpy as np
import pytest

import lapwing as lw
from lapwing.analyses.rows_a_person import RowsAPerson
from lapwing.vocabulary.errors import ParameterError

ROWS = np.minimum(np.random.default_rng(8).geometric(0.2, 4000), 40)
CUT = {limit: float(np.maximum(ROWS - limit, 0).sum() / ROWS.sum()) for limit in (1, 3, 8, 20)}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory, budget):
    folder = tmp_path_factory.mktemp("visits")
    lines = "".join(f"{person},{'AB'[person % 2]}\n" * rows for person, rows in enumerate(ROWS.tolist()))
    (folder / "visits.csv").write_text(f"id,kind\n{lines}")
    budget_line = ", ".join(f'{name} = "{amount}"' for name, amount in budget.of("15").items())
    (folder / "lapwing.toml").write_text(f"""
[populations.clinic]
person_key = "id"
budget = {{ {budget_line} }}
[populations.clinic.tables.visits]
source = "visits.csv"
rows = "many"
max_rows = 5
columns = {{ kind = {{ type = "category", values = ["A", "B"] }} }}
""")
    with lw.create(folder) as workspace:
        yield workspace.session()


@pytest.fixture(scope="module")
def found(clinic) -> RowsAPerson:
    return clinic.rows_a_person("visits", up_to=40, within=3)


@pytest.mark.parametrize(("limit", "truth"), CUT.items())
def test_the_estimate_is_near_the_truth_and_its_bounds_hold(found, limit, truth) -> None:
    assert found.cut(limit).share == pytest.approx(truth, abs=0.08)
    told = found.cut(limit, confidence="0.999999999")
    assert told.low <= truth <= told.high
    assert told.high - told.low < 0.6


def test_it_advises_the_least_that_leaves_out_so_little(found) -> None:
    assert found.enough("0.1") in range(8, 16), "the truth is 11"
    assert found.enough("0.5") < found.enough("0.2") < found.enough("0.02")
    assert str(found).startswith("of the rows in visits, up to 40 of each person: max_rows=1 leaves out about ")


def test_it_costs_what_a_count_of_people_costs(clinic, budget) -> None:
    offer = budget.of("0.5")
    found, counted = clinic.rows_a_person("visits", **offer), clinic.preview(lw.count("visits"), **offer)
    assert str(found.answer.price) == str(counted.price)
    assert clinic.rows_a_person("visits", **offer).answer.free, "the same question is answered as before"


def test_a_condition_counts_the_rows_it_leaves_and_four_times_the_usual_number(clinic) -> None:
    found = clinic.rows_a_person("visits", "kind = 'A'", within=60)
    assert found.most == 20
    assert found.spans == ((1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 20))


def test_a_preview_has_the_price_and_the_error_and_is_free(clinic, budget) -> None:
    before, preview = str(clinic.budget()), clinic.preview_rows_a_person("visits", up_to=9, **budget.of("0.4"))
    assert preview.affordable
    assert preview.margin["answer"] is not None
    assert str(clinic.budget()) == before
    found = clinic.rows_a_person("visits", up_to=9, **budget.of("0.4"))
    assert str(found.answer.price) == str(preview.price)
    told = found.to_dict(also=[6])
    assert [one["people"] for one in told["spans"]] == [row.cells["answer"].value for row in found.answer.rows]
    assert 6 in [one["max_rows"] for one in told["cuts"]]


def test_a_cut_number_names_the_table_that_says_how_much(clinic, budget) -> None:
    cut = clinic.ask(lw.count_rows("visits"), **budget.of("0.3"))
    assert (cut.asked.cut_table, cut.to_dict()["cut_table"]) == ("visits", "visits")
    assert 'rows_a_person("visits")' in dict(cut.facts())["cut"]
    whole = clinic.ask(lw.count("visits"), **budget.of("0.3"))
    assert (whole.asked.cut_table, dict(whole.facts())["cut"]) == (None, None)


def test_a_number_of_rows_is_at_least_two(clinic) -> None:
    with pytest.raises(ParameterError, match="up_to"):
        clinic.rows_a_person("visits", up_to=1, within=60)
