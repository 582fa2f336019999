"""Publishing at the door: one charge, one release, read back for nothing, over all kinds of budget and adjacencies."""

import itertools
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import lapwing as lw
from lapwing.accounting.filters.charge import SingleRelease
from lapwing.ledger.replay import verify
from lapwing.publishing.measurements import GaussianResiduals, GeometricCover
from lapwing.publishing.publish import published_before
from lapwing.queries.limits import MOST_NUMBERS
from lapwing.vocabulary.errors import (
    BadQuestionError,
    BudgetExceededError,
    EngineError,
    ParameterError,
    PolicyError,
    RequestConflictError,
)
from lapwing.vocabulary.guarantee import Adjacency
from publishing.odd_people import CODES, COLUMNS, odd_tables
from publishing.test_codes import by_hand
from session.clinic import Broken, door, new_ledger, same_ledger, spent

PATIENTS = "patients"
SHAPE = {"sex": 3, "age": 4, "bmi": 3, "survivor": 2}


def offer(budget, amount="1"):
    """Return a price as it is offered under a kind of budget: in rho where there is a delta, for Gaussian noise."""
    return budget.of(amount) if budget.delta is None else {"rho": str(Fraction(amount) / 50)}


@pytest.fixture(params=Adjacency, ids=lambda one: one.value)
def adjacency(request):
    return request.param


@pytest.fixture
def ledger(tmp_path, budget, adjacency):
    with new_ledger(tmp_path, budget.promise(5), adjacency=adjacency) as ledger:
        yield ledger


@pytest.fixture
def clinic(ledger, adjacency):
    return door(ledger, odd_tables(adjacency=adjacency), adjacency=adjacency)


def test_all_pairs_are_one_charge_and_one_release(clinic, ledger, budget) -> None:
    preview = clinic.preview_publish(PATIENTS, COLUMNS, **offer(budget))
    assert preview.affordable
    assert set(preview.sd) == set(itertools.combinations(SHAPE, 2))
    due = ledger.account("clinic").quote(SingleRelease(event=preview.offer.measurement.event))
    pairs = clinic.publish(PATIENTS, COLUMNS, **offer(budget))
    assert [line.cost for line in ledger.bookings("clinic", at_most=9)] == [due.cost]
    assert isinstance(pairs.offer.measurement, GeometricCover if budget.name == "epsilon" else GaussianResiduals)
    for names in itertools.combinations(SHAPE, 2):
        table = pairs[names]
        truth = by_hand(names, table.values.shape)
        assert table.sd == preview.sd[names]
        assert np.abs(table.values - truth).max() <= table.margin("0.99999999", together=True)
    verify(ledger)


def test_the_same_publication_is_read_back_by_anybody_later_and_costs_nothing(clinic, ledger, budget, tmp_path) -> None:
    first, left, head = clinic.publish(PATIENTS, COLUMNS, **offer(budget)), ledger.account("clinic"), ledger.head()
    again = clinic.publish(PATIENTS, COLUMNS, **offer(budget))
    with same_ledger(tmp_path) as later:
        other = door(later, Broken(), adjacency=clinic.population.unit.adjacency)
        assert other.publish(PATIENTS, COLUMNS, **offer(budget)).released == first.released, "and no data is read"
    assert (again.released, again.name) == (first.released, first.name)
    assert (ledger.account("clinic"), ledger.head()) == (left, head)
    clinic.publish(PATIENTS, COLUMNS, "all columns", **offer(budget))
    assert ledger.account("clinic") != left, "another one is charged"


def test_new_data_is_published_anew(clinic, ledger, budget) -> None:
    first = clinic.publish(PATIENTS, COLUMNS, **offer(budget))
    assert published_before(clinic, first.offer).released == first.released
    ledger.administration.advance_version("clinic", PATIENTS)
    assert published_before(clinic, first.offer) is None, "what is free is of the data as it is"
    second = clinic.publish(PATIENTS, COLUMNS, **offer(budget))
    assert second.name != first.name
    assert (first.versions[PATIENTS], second.versions[PATIENTS]) == (1, 2)


def test_a_key_stands_for_one_publication(clinic, budget) -> None:
    first = clinic.publish(PATIENTS, COLUMNS, key="k", **offer(budget))
    assert clinic.publish(PATIENTS, COLUMNS, key="k", **offer(budget)).released == first.released
    with pytest.raises(RequestConflictError):
        clinic.publish(PATIENTS, COLUMNS[:2], key="k", **offer(budget))


def test_what_was_published_under_a_key_is_free_without_it(clinic, ledger, budget) -> None:
    first = clinic.publish(PATIENTS, COLUMNS, key="k", **offer(budget))
    left = ledger.account("clinic")
    assert clinic.publish(PATIENTS, COLUMNS, **offer(budget)).released == first.released
    assert ledger.account("clinic") == left


def test_tables_agree_with_each_other_and_boxes_with_tables(clinic, budget) -> None:
    pairs = clinic.publish(PATIENTS, COLUMNS, **offer(budget))
    for name in SHAPE:
        for other in SHAPE.keys() - {name}:
            summed = pairs[name, other].values.sum(axis=1)
            assert np.allclose(summed, pairs[name].values, atol=1e-6)
    women = pairs.count("sex = 'F' and age >= 18", confidence="0.9999999")
    assert women.people == pytest.approx(pairs["sex", "age"].values[0, 1:3].sum())
    assert pairs.count().people == pytest.approx(pairs["sex"].values.sum())
    assert women.interval.low <= by_hand(("sex", "age"), (3, 4))[0, 1:3].sum() <= women.interval.high


def test_a_table_has_its_columns_in_the_order_asked(clinic, budget) -> None:
    pairs = clinic.publish(PATIENTS, COLUMNS, **offer(budget))
    for shaped in (False, True):
        one = pairs.table("sex", "age", non_negative=shaped, whole=shaped)
        other = pairs.table("AGE", "sex", non_negative=shaped, whole=shaped)
        assert other.names == ("age", "sex")
        assert other.values.shape == (SHAPE["age"], SHAPE["sex"])
        assert np.array_equal(other.values, one.values.T)
        assert (other.sd, other.margin("0.9")) == (one.sd, one.margin("0.9"))
        assert next(iter(other.to_rows()[0])).startswith("age")
        rows = [{tuple(sorted(map(str, row.items()))) for row in table.to_rows()} for table in (one, other)]
        assert rows[0] == rows[1], "the same cells with the same numbers"
    triple = clinic.publish(PATIENTS, COLUMNS, [("sex", "age", "survivor")], **offer(budget))
    turned = triple["age", "survivor", "sex"].values
    assert np.array_equal(turned, triple["sex", "age", "survivor"].values.transpose(1, 2, 0))


@pytest.mark.one_budget("nothing is drawn but once")
def test_a_publication_goes_through_its_tables(clinic, budget) -> None:
    pairs = clinic.publish(PATIENTS, COLUMNS, **offer(budget))
    assert list(pairs) == list(itertools.combinations(SHAPE, 2))
    assert len(pairs) == 6
    assert all(names in pairs for names in pairs)
    assert ("age", "sex") in pairs
    assert "sex" in pairs, "a table of fewer columns"
    for other in (("sex", "age", "bmi"), "shoe", ("sex", 3), None):
        assert other not in pairs


@pytest.mark.one_budget("nothing is drawn but once")
def test_a_notebook_shows_the_numbers_of_a_table_with_their_intervals(clinic, budget) -> None:
    table = clinic.publish(PATIENTS, COLUMNS, **offer(budget))["age", "sex"]
    shown = table._repr_html_()
    assert "<th>age</th><th>sex</th><th>people</th><th>95 % interval</th>" in shown
    lines = re.findall(r"<td>([^<]*)</td><td>([^<]*)</td><td>([-\d.,]+)</td><td>([\d.,]+) to ([\d.,]+)</td>", shown)
    assert len(lines) == table.values.size
    for (_, sex, *numbers), row in zip(lines, table.to_rows(), strict=True):
        people, low, high = (float(one.replace(",", "")) for one in numbers)
        assert sex == (row["sex"] or "other or missing")
        assert people == pytest.approx(row["people"], abs=0.6)
        assert low <= row["low"]
        assert row["high"] <= high
    columns = {**dict(zip(SHAPE, COLUMNS, strict=True)), "seen": lw.has("visits", "kind = 'ER'")}
    whole = clinic.publish(PATIENTS, columns, [tuple(columns)], **offer(budget))[tuple(columns)]
    assert "and 44 cells more" in whole._repr_html_(), "of 144, a hundred are shown"


@pytest.mark.one_budget("nothing is drawn but once")
def test_bounds_are_cut_at_zero_and_unbiased_estimates_are_not(clinic, budget) -> None:
    table = clinic.publish(PATIENTS, COLUMNS, "all columns", **offer(budget, "0.01"))["bmi"]
    low = replace(table, values=table.values - 1e6, estimates=table.estimates - 1e6)
    assert all((row["low"], row["high"]) == (0, 0) and row["people"] < -1000 for row in low.to_rows())


def test_columns_have_names_of_ones_own_and_boxes_are_said_by_codes(clinic, budget) -> None:
    columns = {"gender": "sex", "seen": lw.has("visits", "kind = 'ER'"), "age": COLUMNS[1]}
    pairs = clinic.publish(PATIENTS, columns, **offer(budget))
    table = pairs["gender", "seen"]
    assert table.names == ("gender", "seen")
    assert list(table.to_pandas().columns) == ["gender", "seen", "people", "low", "high"]
    seen = pairs.count("sex = 'F'", codes={"seen": True})
    assert seen.people == pytest.approx(table.values[0, 1])
    both = pairs.count(codes={"gender": ["F", "other or missing"], "seen": [False, True]})
    assert both.people == pytest.approx(table.values[[0, 2], :2].sum())
    assert pairs.count("sex = 'F'", codes={"gender": "M"}).people == 0, "nobody is both"
    with pytest.raises(BadQuestionError, match="'gender' has no code 'X'; it has F, M, other or missing"):
        pairs.count(codes={"gender": "X"})
    with pytest.raises(BadQuestionError, match="not a column of this publication"):
        pairs.count(codes={"sex": "F"})


@pytest.mark.usefixtures("budget")
def test_what_is_within_a_margin_costs_the_least_that_gives_it(clinic) -> None:
    near = clinic.preview_publish(PATIENTS, COLUMNS, within=100)
    assert 98 < near.margin <= 100
    wider = clinic.preview_publish(PATIENTS, COLUMNS, within=200)
    assert wider.price.rho < near.price.rho
    pairs = clinic.publish(PATIENTS, COLUMNS, within=100)
    assert str(pairs.price) == str(near.price)
    with pytest.raises(ParameterError, match="out of reach"):
        clinic.preview_publish(PATIENTS, COLUMNS, within="1e-30")


def test_a_failure_after_the_charge_is_lost_and_never_drawn_again(ledger, budget, adjacency) -> None:
    broken = door(ledger, Broken(), adjacency=adjacency)
    with pytest.raises(EngineError):
        broken.publish(PATIENTS, COLUMNS, **offer(budget, "0.5"))
    lost = ledger.account("clinic")
    working = door(ledger, odd_tables(adjacency=adjacency), adjacency=adjacency)
    working.publish(PATIENTS, COLUMNS, **offer(budget, "0.5"))
    assert ledger.account("clinic") != lost, "it is charged a second time"
    again = working.publish(PATIENTS, COLUMNS, **offer(budget, "0.5"))
    assert again.name == working.publish(PATIENTS, COLUMNS, **offer(budget, "0.5")).name
    verify(ledger)


def test_what_does_not_fit_is_refused_and_nothing_is_read(ledger, budget, adjacency) -> None:
    poor, head = door(ledger, Broken(), adjacency=adjacency), ledger.head()
    much = offer(budget, "10" if budget.delta is None else "500")
    assert not poor.preview_publish(PATIENTS, COLUMNS, **much).affordable
    with pytest.raises(BudgetExceededError, match="is left"):
        poor.publish(PATIENTS, COLUMNS, **much)
    assert ledger.head() == head


@pytest.mark.one_budget("nothing is charged here")
@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ({"table": "visits"}, "many rows a person"),
        ({"columns": ["city"]}, "no declared values"),
        ({"marginals": "all fives"}, "all pairs"),
        ({"marginals": [("sex", "shoe")]}, "'shoe', which is none of the columns"),
        ({"marginals": []}, "no set of columns is wanted"),
        (
            {"columns": [f"age > {year}" for year in range(11)], "marginals": [tuple(f"age > {i}" for i in range(11))]},
            "none of the columns|11 columns in one table, more than 10",
        ),
        (
            {
                "columns": [lw.bins("bmi", 190), "age", "sex", "survivor"],
                "marginals": [("bmi", "age", "sex"), ("bmi", "age", "survivor"), ("bmi", "age")],
            },
            "115746 cells in all its tables",
        ),
        (
            {
                "columns": [lw.bins("bmi", 199), lw.bins("age", [0, *range(1, 99)]), *COLUMNS[3:], "sex"],
                "marginals": [("bmi", "age", "sex", "survivor")],
            },
            f"more than {MOST_NUMBERS:,}; name wider bins",
        ),
        (
            {"columns": ["sex", "age"], "marginals": "all triples"},
            r'tables of 3 columns, and 2 are given; give 1 more, or write marginals="all pairs"',
        ),
        ({"columns": ["sex"]}, r'tables of 2 columns, and 1 is given; give 1 more, or write marginals="all columns"'),
        ({"rho": "0.1", "epsilon": None}, "rho.*pure budget"),
        ({"delta": "1e-9"}, "delta.*pure budget"),
        ({"epsilon": None}, "say what to pay"),
        ({"epsilo": "1"}, "write epsilon="),
    ],
)
def test_bad_input_gets_a_sentence_before_the_charge(clinic, ledger, words, refusal) -> None:
    said = {"table": PATIENTS, "columns": COLUMNS, "marginals": "all pairs", "epsilon": "1"} | words
    for verb in (clinic.preview_publish, clinic.publish):
        with pytest.raises(BadQuestionError, match=refusal):
            verb(**said)
    assert spent(ledger) == 0


@pytest.mark.one_budget("what is asked of a publication costs nothing")
@pytest.mark.parametrize(
    ("asked", "refusal"),
    [
        ("age >= 20", "in a part of 'from 18 to 64' of 'age' only"),
        ("city = 'here'", "'city' was not published"),
        ("sex = 'F' or survivor", "no box of codes"),
        ("sex = 'F' and survivor and age >= 18", "were not published together"),
        ("sex is null", "no box of codes"),
        ("shoe = 3", "has no column 'shoe'; it has"),
        ("sex = 'Q'", "'sex' has no category 'Q'; it has 'F', 'M'"),
    ],
)
def test_what_is_no_box_of_published_columns_is_refused(clinic, asked, refusal) -> None:
    pairs = clinic.publish(PATIENTS, COLUMNS, epsilon="1")
    with pytest.raises(BadQuestionError, match=refusal):
        pairs.count(asked)
    with pytest.raises(BadQuestionError, match="were not published together"):
        pairs["sex", "age", "survivor"]
    with pytest.raises(BadQuestionError, match="not a column of this publication"):
        _ = pairs["shoe"]


@pytest.mark.one_budget("what is made of released numbers costs nothing")
def test_tables_that_look_like_counts_say_what_was_done_to_them(clinic) -> None:
    pairs = clinic.publish(PATIENTS, COLUMNS, epsilon="0.05", non_negative=True, whole=True)
    table = pairs["sex", "survivor"]
    assert "biased" in str(table.remark)
    assert (table.values >= 0).all()
    assert (table.values == np.rint(table.values)).all()
    assert table.values.sum() == round(float(table.estimates.sum()))
    plain = pairs.table("sex", "survivor", non_negative=False, whole=False)
    assert plain.remark is None
    assert (plain.values == table.estimates).all()


def test_tables_go_into_data_frames_with_their_bounds(clinic, budget) -> None:
    table = clinic.publish(PATIENTS, COLUMNS, **offer(budget))["age", "sex"]
    frame = table.to_pandas()
    assert list(frame.columns) == ["age_low", "age_high", "sex", "people", "low", "high"]
    assert len(frame) == 12
    assert frame.attrs["sd"] == table.sd
    assert table.to_arrow().num_rows == 12
    assert table.to_rows()[0]["sex"] == "F"
    assert frame["sex"].isna().sum() == 4, "the code for all else has no value"


@pytest.mark.one_budget("what is asked of a publication costs nothing")
def test_a_condition_by_a_name_of_ones_own_is_told_to_say_codes(clinic) -> None:
    named = clinic.publish(PATIENTS, {"lived": "survivor", "old": lw.bins("age", [0, 65, 120])}, epsilon="1")
    for asked in ("lived", "lived = true and old", "old > 3"):
        with pytest.raises(BadQuestionError, match=r"is a name of this publication.*codes=\{'(lived|old)': '"):
            named.count(asked)
    assert named.count("age >= 65").sd > 0


def test_a_publication_names_the_receipt_of_what_was_released(clinic, ledger, budget) -> None:
    pairs = clinic.publish(PATIENTS, COLUMNS, **offer(budget))
    assert pairs.to_dict()["receipt"] == str(pairs.receipt) == dict(pairs.facts())["receipt"]
    assert clinic.publish(PATIENTS, COLUMNS, **offer(budget)).receipt == pairs.receipt
    assert ledger.receipt(pairs.receipt.seq) == pairs.receipt


def test_a_publication_tells_all_of_itself(clinic, budget) -> None:
    pairs = clinic.publish(PATIENTS, COLUMNS, **offer(budget))
    preview = clinic.preview_publish(PATIENTS, COLUMNS, **offer(budget))
    assert pairs.to_dict()["sets"][0] == ["sex", "age"]
    assert preview.to_dict()["cells"] == 53
    assert len(preview.to_dict()["sets"]) == 6
    for one in (pairs, preview, pairs["sex"], pairs.count("survivor")):
        assert all(isinstance(label, str) for label, _ in one.facts())
        assert one.to_json()
    assert "6 tables of patients" in repr(pairs) + repr(preview)


@pytest.mark.one_budget("two populations are compared under one")
def test_the_codes_and_the_size_of_a_publication_say_nothing_about_anybody(clinic, ledger) -> None:
    """Neither a value that only one person has, nor how many people there are, changes what is agreed and charged."""
    unit = {"adjacency": clinic.population.unit.adjacency}
    few = door(ledger, odd_tables(people=7, **unit), **unit)
    terms = [one.preview_publish(PATIENTS, COLUMNS, epsilon="1").to_dict() for one in (clinic, few)]
    assert terms[0] == terms[1]
    released = few.publish(PATIENTS, COLUMNS, epsilon="1")
    assert released.offer.columns[0].called == ("F", "M", "other or missing"), "somebody has X, and nobody sees it"


@pytest.mark.one_budget("each kind of noise has its own test of this")
def test_intervals_hold_over_many_releases(tmp_path, budget) -> None:
    """One box of each of 100 releases, at 80 %: as often as they say; a third of the interval is too short."""
    many, misses, shorter = 100, 0, 0
    truth = by_hand(("sex", "age"), (3, 4))
    with new_ledger(tmp_path, budget.promise(5)) as ledger:
        clinic = door(ledger, odd_tables())
        for number in range(many):
            pairs = clinic.publish(PATIENTS, COLUMNS[:2], key=f"{number}", **offer(budget, "0.01"))
            box = pairs.count("sex = 'M' and age < 65", confidence="0.8")
            error, reach = abs(box.people - truth[1, :2].sum()), pairs.offer.measurement.reach((0, 1), (1, 2), 0.2)
            misses, shorter = misses + (error > reach), shorter + (error > reach / 3)
    assert misses <= binom.isf(1e-6, many, 0.2)
    assert shorter > binom.isf(1e-6, many, 0.2)


def test_every_column_is_counted(clinic, budget) -> None:
    tables = clinic.publish(PATIENTS, COLUMNS, "all columns", **offer(budget))
    assert list(tables.offer.wanted) == [(0,), (1,), (2,), (3,)]
    assert set(CODES) == {one.name for one in tables.offer.columns}


def test_the_people_of_a_segment_are_published_and_its_budget_pays(tmp_path, budget) -> None:
    folder = lw.make_clinic(tmp_path / "clinic", people=500, **budget.of(4))
    settings = folder / "lapwing.toml"
    north, patient = (
        "[populations.clinic.segments.north]\nfirst = 1\nlast = 200\n",
        "[populations.clinic.tables.patient]",
    )
    settings.write_text(
        settings.read_text(encoding="utf-8").replace(patient, f"{north}\n{patient}", 1), encoding="utf-8"
    )
    with lw.create(folder) as workspace:
        people = workspace.session(segment="north")
        before = str(workspace.session(segment="elsewhere").budget())
        price = {"epsilon": "3"} if budget.name == "epsilon" else {"rho": "0.2"}
        everybody = people.publish("patient", ["sex", "diabetes"], **price).count(confidence="0.999999")
        assert everybody.interval.low <= 200 <= everybody.interval.high < 300
        assert str(workspace.session(segment="elsewhere").budget()) == before
        assert str(people.budget()) != before


def test_whoever_may_not_ask_about_a_table_publishes_nothing_of_it(clinic, ledger, budget) -> None:
    ledger.administration.limit_analyst("clinic", "ana", tables=["visits"], most=None)
    head = ledger.head()
    with pytest.raises(PolicyError):
        clinic.publish(PATIENTS, COLUMNS, **offer(budget))
    assert ledger.head() == head
