"""Synthesis at the door: one charge, stages in rounds, read back for nothing, over all budgets and adjacencies."""

import json
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from pyarrow import parquet

import lapwing as lw
from lapwing.accounting.filters.charge import SingleRelease
from lapwing.ledger.replay import verify
from lapwing.publishing.population_model import PopulationModel
from lapwing.publishing.saved_synthesis import replayed
from lapwing.publishing.stages import GaussianPlan, PurePlan
from lapwing.publishing.synthesis_again import synthesized_as
from lapwing.vocabulary.codec import digest, to_record
from lapwing.vocabulary.errors import (
    BadQuestionError,
    BudgetExceededError,
    EngineError,
    ParameterError,
    RequestConflictError,
    UnansweredError,
)
from lapwing.vocabulary.guarantee import Adjacency, PureDP
from publishing.odd_people import COLUMNS, odd_tables
from publishing.test_codes import by_hand
from publishing.test_publish import PATIENTS, SHAPE, offer
from session.clinic import Broken, door, new_ledger, same_ledger, spent

STAGES = ["single columns", "which pairs", "pairs", "which triples", "triples"]


BOTH = pytest.mark.parametrize("adjacency", list(Adjacency), indirect=True, ids=lambda one: one.value)


@pytest.fixture
def adjacency(request):
    return getattr(request, "param", Adjacency.ADD_REMOVE)


@pytest.fixture
def ledger(tmp_path, budget, adjacency):
    with new_ledger(tmp_path, budget.promise(5), adjacency=adjacency) as ledger:
        yield ledger


@pytest.fixture
def clinic(ledger, adjacency):
    return door(ledger, odd_tables(adjacency=adjacency), adjacency=adjacency)


@pytest.fixture
def people(clinic, budget):
    return clinic.synthesize(PATIENTS, COLUMNS, **offer(budget))


@BOTH
def test_all_stages_are_one_charge_and_its_tables_are_those_of_the_data(clinic, ledger, budget) -> None:
    preview = clinic.preview_synthesize(PATIENTS, COLUMNS, **offer(budget))
    assert preview.affordable
    due = ledger.account("clinic").quote(SingleRelease(event=preview.offer.plan.event))
    steps = list[str]()
    people = clinic.synthesize(
        PATIENTS, COLUMNS, progress=lambda one: steps.append(f"{one.about} {one.done}"), **offer(budget)
    )
    assert [line.cost for line in ledger.bookings("clinic", at_most=9)] == [due.cost]
    pure = budget.name == "epsilon"
    assert isinstance(people.offer.plan, PurePlan if pure else GaussianPlan)
    assert steps[:3] == ["single columns counting", "single columns measured", "single columns fitted"]
    found = [one.removesuffix(" fitted") for one in steps[2::3]]
    few = [*STAGES[:1], *STAGES[2:]]  # much is paid in rho: all pairs are measured at once
    assert found == (STAGES[:3] if pure else STAGES if budget.delta is not None else few)
    for names in (("sex",), ("age",), ("bmi",), ("survivor",)):
        truth = by_hand(names, [SHAPE[one] for one in names])
        off = np.abs(people.marginal(*names).values - truth).max()
        assert off <= 3 * preview.margin + 5, "the model follows what was measured"
    verify(ledger)


def test_the_same_synthesis_is_read_back_by_anybody_later_bit_for_bit(clinic, ledger, budget, tmp_path) -> None:
    first, left, head = clinic.synthesize(PATIENTS, COLUMNS, **offer(budget)), ledger.account("clinic"), ledger.head()
    again = clinic.synthesize(PATIENTS, COLUMNS, **offer(budget))
    with same_ledger(tmp_path) as later:
        other = door(later, Broken(), adjacency=clinic.population.unit.adjacency)
        read = other.synthesize(PATIENTS, COLUMNS, **offer(budget))
    for one in (again, read):
        assert (one.released, one.name, one.model.digest) == (first.released, first.name, first.model.digest)
        assert one.to_rows(50) == first.to_rows(50)
    assert (ledger.account("clinic"), ledger.head()) == (left, head), "and no data is read"
    clinic.synthesize(PATIENTS, COLUMNS[:2], **offer(budget))
    assert ledger.account("clinic") != left, "another one is charged"


@pytest.mark.one_budget("keys are those of reservations, under any")
def test_a_key_stands_for_one_synthesis_and_new_data_for_another(clinic, ledger, budget) -> None:
    first = clinic.synthesize(PATIENTS, COLUMNS, key="k", **offer(budget, "0.5"))
    assert clinic.synthesize(PATIENTS, COLUMNS, key="k", **offer(budget, "0.5")).released == first.released
    with pytest.raises(RequestConflictError):
        clinic.synthesize(PATIENTS, COLUMNS[:2], key="k", **offer(budget, "0.5"))
    plain = clinic.synthesize(PATIENTS, COLUMNS, **offer(budget, "0.5"))
    asked = clinic.preview_synthesize(PATIENTS, COLUMNS, **offer(budget, "0.5")).offer
    assert synthesized_as(clinic, asked) in {first.name, plain.name}
    ledger.administration.advance_version("clinic", PATIENTS)
    assert synthesized_as(clinic, asked) is None, "what is free is of the data as it is"
    second = clinic.synthesize(PATIENTS, COLUMNS, **offer(budget, "0.5"))
    assert second.name != plain.name
    assert (plain.versions[PATIENTS], second.versions[PATIENTS]) == (1, 2)


def test_one_column_and_two_are_synthesized_as_well(clinic, budget) -> None:
    one = clinic.synthesize(PATIENTS, ["sex"], **offer(budget, "0.5"))
    assert one.marginal("sex").values.shape == (3,)
    two = clinic.synthesize(PATIENTS, COLUMNS[:2], **offer(budget, "0.5"))
    assert two.marginal("age", "sex").values.shape == (4, 3)
    assert two.quality.of("SEX", "age").basis == "measured"
    pairs = clinic.synthesize(PATIENTS, COLUMNS, up_to=2, planned_for="cohorts", **offer(budget, "0.5"))
    assert pairs.offer.plan.degree == 2
    assert not pairs.measured.pool.of_size(3)


@BOTH
def test_what_a_failure_leaves_behind(ledger, budget, adjacency, tmp_path) -> None:
    """Lost in the first stage it is charged anew, under a key never. Lost after the pairs, these stand."""
    broken = door(ledger, Broken(), adjacency=adjacency)
    with pytest.raises(EngineError):
        broken.synthesize(PATIENTS, COLUMNS, key="k", **offer(budget, "0.3"))
    with pytest.raises(UnansweredError):
        broken.synthesize(PATIENTS, COLUMNS, key="k", **offer(budget, "0.3"))
    with pytest.raises(EngineError):
        broken.synthesize(PATIENTS, COLUMNS, **offer(budget, "0.5"))
    lost, working = ledger.account("clinic"), door(ledger, odd_tables(adjacency=adjacency), adjacency=adjacency)
    whole = working.synthesize(PATIENTS, COLUMNS, **offer(budget, "0.5"))
    assert ledger.account("clinic") != lost, "it is charged a second time"
    assert whole.remark is None
    if budget.name != "epsilon":
        reads = iter([None, None, None])
        failing = door(ledger, odd_tables(adjacency=adjacency, on_read=lambda: next(reads)), adjacency=adjacency)
        with pytest.raises(EngineError):
            failing.synthesize(PATIENTS, COLUMNS, **offer(budget, "0.6"))
        left = ledger.account("clinic")
        rest = working.synthesize(PATIENTS, COLUMNS, **offer(budget, "0.6"))
        assert "stage 4, " in str(rest.remark)
        assert "triples, was lost" in str(rest.remark)
        assert ledger.account("clinic") == left, "it is not charged again"
        assert not rest.measured.pool.of_size(3)
        _signed_anew(rest, tmp_path / "rest.json", remark=None)
        assert "stage 4 was lost" in str(working.load_synthetic(tmp_path / "rest.json").remark)
    verify(ledger)


def test_what_is_within_a_margin_costs_the_least_that_gives_it(clinic, budget) -> None:
    near = clinic.preview_synthesize(PATIENTS, COLUMNS, within=150)
    assert 140 < near.margin <= 150
    wider = clinic.preview_synthesize(PATIENTS, COLUMNS, within=300)
    assert wider.price.rho < near.price.rho
    if budget.name != "epsilon":  # there are geometric draws that are zero almost always
        with pytest.raises(ParameterError, match="out of reach"):
            clinic.preview_synthesize(PATIENTS, COLUMNS, within="1e-30")


def test_counts_are_those_of_the_model_and_have_intervals_where_all_was_measured(people) -> None:
    women = people.count("sex = 'F' and age >= 18", confidence="0.9999999")
    box = people.box("sex = 'F' and age >= 18")
    assert women.people == people.model.count(box) == people.count_many(["sex = 'F' and age >= 18", box])[1]
    assert people.count("sex = 'F'", codes={"age": ["from 18 to 64", "from 65 to 99"]}).people == women.people
    truth = by_hand(("sex", "age"), (3, 4))[0, 1:3].sum()
    if women.interval is not None:
        assert women.interval.low <= truth <= women.interval.high
    alone = people.count("sex = 'F'", confidence="0.9999999")
    assert alone.interval.low <= by_hand(("sex",), (3,))[0] <= alone.interval.high
    assert people.count().people == people.people == int(people.count())
    whole = people.marginal(*SHAPE)
    assert whole.values.sum() == pytest.approx(people.people)
    assert np.allclose(people["age", "sex"].values, people["sex", "age"].values.T)


@pytest.mark.one_budget("rows cost nothing")
def test_rows_are_those_of_the_model_in_every_frame(people, tmp_path) -> None:
    frame = people.to_pandas()
    assert len(frame) == people.people
    assert list(frame.columns) == ["sex", "age_low", "age_high", "bmi_low", "bmi_high", "survivor"]
    assert abs((frame["sex"] == "F").sum() - people.marginal("sex").values[0]) <= 36, "one for each run of equal rows"
    assert people.to_polars(100).height == people.to_arrow(100).num_rows == 100
    assert b"nobody" in people.to_arrow(5).schema.metadata[b"lapwing"]
    weighted = people.to_pandas(weights=True)
    assert weighted["weight"].sum() == pytest.approx(people.people)
    assert weighted.loc[weighted["sex"] == "M", "weight"].sum() == pytest.approx(people.marginal("sex").values[1])
    assert set(people.to_pandas(200, labels=True)["sex"]) <= {"F", "M", "other or missing"}
    assert people.to_rows(20) == people.to_rows(20)
    assert people.to_rows(20) != people.to_rows(20, seed=1)
    people.to_parquet(tmp_path / "people.parquet", rows=30)
    assert parquet.read_table(tmp_path / "people.parquet").num_rows == 30
    with pytest.raises(BadQuestionError, match="leave rows= out"):
        people.to_rows(5, weights=True)


def test_a_saved_table_is_the_same_when_it_is_loaded(people, clinic, ledger, tmp_path) -> None:
    path = tmp_path / "people.json"
    people.save(path)
    head = ledger.head()
    again = clinic.load_synthetic(path)
    assert ledger.head() == head
    assert (again.model.digest, again.name, str(again.price)) == (people.model.digest, people.name, str(people.price))
    assert again.to_rows(40) == people.to_rows(40)
    asked = "sex = 'F' and age >= 18"
    assert again.count(asked) == people.count(asked)
    assert again.remark is None
    assert again.quality.to_dict() == people.quality.to_dict()
    ledger.administration.advance_version("clinic", PATIENTS)
    assert "version 1 of patients" in str(clinic.load_synthetic(path).remark)


@pytest.mark.one_budget("nothing is charged for a file")
def test_a_saved_table_that_was_changed_is_refused(people, clinic, tmp_path) -> None:
    path = tmp_path / "people.json"
    people.save(path)
    text = path.read_text(encoding="utf-8")
    changed = json.loads(text)
    changed["released"][0][0][0] += 1

    def signed(content):
        rest = {word: value for word, value in content.items() if word != "digest"}
        return {**rest, "digest": digest(rest)}

    for lie, refusal in (
        (text[:-20], "changed, or damaged"),
        (text.replace("patients", "patientz", 1), "changed, or damaged"),
        ("[]", "changed, or damaged"),
        (json.dumps(changed), "changed, or damaged"),
        (json.dumps(signed(changed)), "other numbers than the ledger"),
        (json.dumps(signed({**changed, "name": "0" * 32})), "another model"),
        (json.dumps(signed({**json.loads(text), "population": "elsewhere"})), "is of 'elsewhere'"),
        (json.dumps(signed({**json.loads(text), "released": []})), "other numbers than the ledger"),
        (json.dumps(signed({**json.loads(text), "columns": []})), "changed, or damaged"),
        ("[" * 100_000, "changed, or damaged"),
    ):
        path.write_text(lie, encoding="utf-8")
        with pytest.raises(BadQuestionError, match=refusal):
            clinic.load_synthetic(path)
    with pytest.raises(BadQuestionError, match="there is no file"):
        clinic.load_synthetic(tmp_path / "none.json")


def _put(*path):
    *way, last, value = path

    def lie(content):
        for step in way:
            content = content[step]
        content[last] = value

    return lie


def _elsewhere(lie):
    def both(content):
        content["name"] = "0" * 32  # a synthesis that the ledger here does not know
        lie(content)

    return both


@pytest.mark.one_budget("nothing is charged for a file")
@pytest.mark.parametrize(
    ("lie", "refusal"),
    [
        (_put("columns", 0, "called", ["M", "F", "other or missing"]), "other columns than the ledger"),
        (_put("columns", 0, "shown", 0, 2, ["M", "F", None]), "other columns than the ledger"),
        (_put("columns", 0, "name", "gender"), "other columns than the ledger"),
        (_put("table", "visits"), "another table than the ledger"),
        (lambda content: content["released"].pop(), "other numbers than the ledger"),
        (_put("versions", {}), "other versions than the ledger"),
        (_put("versions", [1]), "changed, or damaged"),
        (_put("plan", "seed", "another"), "another plan than the ledger"),
        (_elsewhere(_put("released", 0, 0, 0, 10**400)), "changed, or damaged"),
        (_elsewhere(lambda content: content["columns"].extend(content["columns"] * 30)), "more than 40; synthesize"),
        (_put("name", ["x"]), "changed, or damaged"),
        (_put("remark", {"by": 1}), "changed, or damaged"),
    ],
    ids=[
        *("codes are called otherwise", "codes are shown otherwise", "a column is called otherwise", "another table"),
        *("a stage is left out", "no versions", "versions of another kind", "another seed", "a number beyond doubles"),
        *("very many columns", "a name of another kind", "a remark of another kind"),
    ],
)
def test_a_saved_table_that_was_signed_anew_is_held_against_the_ledger(people, clinic, tmp_path, lie, refusal) -> None:
    path = tmp_path / "people.json"
    people.save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    lie(content)
    content.pop("digest")
    path.write_text(json.dumps({**content, "digest": digest(content)}), encoding="utf-8")
    with pytest.raises(BadQuestionError, match=refusal):
        clinic.load_synthetic(path)


def _signed_anew(table, path, **lies):
    table.save(path)
    content = json.loads(path.read_text(encoding="utf-8")) | lies
    content.pop("digest")
    path.write_text(json.dumps({**content, "digest": digest(content)}), encoding="utf-8")


def test_a_saved_table_does_not_say_that_others_were_protected(people, clinic, tmp_path) -> None:
    """Noise that hides three people is three times as large: with another unit the same numbers have other margins."""
    unit, model = replace(people.offer.plan.unit, protects_groups_of=3), people.model.digest
    with suppress(ValueError):  # under some budgets, other tables would have been measured
        model = replayed(replace(people.offer.plan, unit=unit).stages(), list(people.released)).model.digest
    _signed_anew(people, tmp_path / "people.json", unit=to_record(unit), model=model)
    with pytest.raises(BadQuestionError, match="another unit of privacy than the ledger"):
        clinic.load_synthetic(tmp_path / "people.json")


@pytest.mark.one_budget("nothing is charged for a file")
def test_a_table_that_the_ledger_does_not_know_says_so(people, clinic, tmp_path) -> None:
    path = tmp_path / "people.json"
    people.save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["name"] = "0" * 32
    content.pop("digest")
    path.write_text(json.dumps({**content, "digest": digest(content)}), encoding="utf-8")
    assert "the ledger here does not know it" in str(clinic.load_synthetic(path).remark)


def test_what_does_not_fit_is_refused_and_nothing_is_read(ledger, budget, adjacency) -> None:
    poor, head = door(ledger, Broken(), adjacency=adjacency), ledger.head()
    much = offer(budget, "10" if budget.delta is None else "500")
    assert not poor.preview_synthesize(PATIENTS, COLUMNS, **much).affordable
    with pytest.raises(BudgetExceededError, match="is left"):
        poor.synthesize(PATIENTS, COLUMNS, **much)
    assert ledger.head() == head


@pytest.mark.one_budget("nothing is charged here")
@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ({"table": "visits"}, "many rows a person"),
        ({"columns": ["city"]}, "no declared values"),
        ({"columns": []}, "no column is named"),
        ({"columns": ["sex", "sex"]}, "there twice"),
        ({"columns": [lw.bins("bmi", 300)]}, "300 codes, more than 200; name wider bins"),
        (
            {"columns": {f"c{i}": lw.bins("bmi", 60) for i in range(12)}},
            "numbers in its pairs of columns, more than 100000; name wider bins, for instance of 'c0', which has 61",
        ),
        ({"columns": {f"c{i}": "sex" for i in range(41)}}, "41 columns, more than 40"),
        ({"rho": "0.1", "epsilon": None}, "rho.*pure budget; offer an epsilon alone, about twice as noisy"),
        ({"delta": "1e-9"}, "delta.*pure budget"),
        ({"epsilon": None}, "say what to pay"),
        ({"epsilon": "1e-9"}, "too small|is noise"),
        ({"up_to": 4}, "up_to"),
        ({"planned_for": "me"}, "planned_for"),
        ({"epsilon": None, "within": "0.01"}, "within = 1/100 is out of reach"),
    ],
)
def test_bad_input_gets_a_sentence_before_the_charge(clinic, ledger, words, refusal) -> None:
    said = {"table": PATIENTS, "columns": COLUMNS, "epsilon": "1"} | words
    for verb in (clinic.preview_synthesize, clinic.synthesize):
        with pytest.raises(BadQuestionError, match=refusal):
            verb(**said)
    assert spent(ledger) == 0


def test_triples_that_do_not_fit_memory_are_refused_with_what_fits(tmp_path, budget) -> None:
    with new_ledger(tmp_path, budget.promise(5)) as ledger:
        clinic = door(ledger, Broken())
        columns = {f"c{i}": lw.bins("bmi", 20) for i in range(17)}
        if isinstance(budget.promise(5), PureDP):
            preview = clinic.preview_synthesize(PATIENTS, columns, epsilon="1")
            assert (preview.is_pure, preview.offer.plan.degree) == (True, 2), "a pure budget measures pairs at most"
            return
        for verb in (clinic.preview_synthesize, clinic.synthesize):
            with pytest.raises(BadQuestionError, match=r"cells in the tables that are looked at.*take up_to=2, .*bins"):
                verb(PATIENTS, columns, rho="0.1")
        assert clinic.preview_synthesize(PATIENTS, columns, up_to=2, rho="0.1").offer.plan.degree == 2
        assert ledger.bookings("clinic", at_most=1) == []


@pytest.mark.one_budget("what is asked of a table costs nothing")
def test_what_is_no_box_and_no_column_is_refused(people) -> None:
    with pytest.raises(BadQuestionError, match="in a part of"):
        people.count("age >= 20")
    with pytest.raises(BadQuestionError, match="no column of this synthetic table"):
        people.marginal("shoe")
    with pytest.raises(BadQuestionError, match="name a column"):
        people.marginal()
    with pytest.raises(BadQuestionError, match="has no code 'X'"):
        people.count(codes={"sex": "X"})


@pytest.mark.one_budget("nothing is charged here")
def test_what_cannot_be_called_is_refused_before_the_charge(clinic, ledger) -> None:
    with pytest.raises(ParameterError, match="progress = 'yes' cannot be called"):
        clinic.synthesize(PATIENTS, COLUMNS, epsilon="1", progress="yes")
    assert spent(ledger) == 0


def test_columns_that_are_declared_are_taken_by_default(clinic, budget) -> None:
    assert clinic.preview_synthesize(PATIENTS, **offer(budget)).offer.names == ["sex", "age", "survivor"]


@pytest.mark.one_budget("two populations are compared under one")
def test_the_plan_says_nothing_about_anybody(clinic, ledger) -> None:
    """Neither a value that only one person has, nor how many people there are, changes what is agreed and charged."""
    unit = {"adjacency": clinic.population.unit.adjacency}
    few = door(ledger, odd_tables(people=7, **unit), **unit)
    said = [one.preview_synthesize(PATIENTS, COLUMNS, epsilon="1").to_dict() for one in (clinic, few)]
    assert said[0] == said[1]
    made = few.synthesize(PATIENTS, COLUMNS, epsilon="1")
    assert made.offer.columns[0].coded.called == ("F", "M", "other or missing"), "somebody has X, and nobody sees it"


def test_a_table_and_its_preview_tell_all_of_themselves(people, clinic, budget) -> None:
    preview = clinic.preview_synthesize(PATIENTS, COLUMNS, **offer(budget))
    for one in (people, preview, people.marginal("sex"), people.count("survivor"), people.quality, people.rows(5)):
        assert all(isinstance(label, str) for label, _ in one.facts())
        assert one.to_json()
        assert one._repr_html_()
    assert "synthetic table of patients" in repr(people) + repr(preview)
    assert preview.is_pure == (budget.name == "epsilon")
    assert isinstance(people.model, PopulationModel)
    assert Fraction(0) < preview.price.rho


def test_each_way_to_pay_buys_its_plan_under_each_kind_of_budget(clinic, budget) -> None:
    kinds = {
        "epsilon": {"epsilon": PurePlan, "delta": ParameterError, "rho": ParameterError},
        "delta": {"epsilon": PurePlan, "delta": GaussianPlan, "rho": GaussianPlan},
        "rho": {"epsilon": GaussianPlan, "delta": GaussianPlan, "rho": GaussianPlan},
    }
    ways = {"epsilon": {"epsilon": "0.5"}, "delta": {"epsilon": "0.5", "delta": "1e-9"}, "rho": {"rho": "0.02"}}
    for way, price in ways.items():
        expected = kinds[budget.name][way]
        if expected is ParameterError:
            with pytest.raises(ParameterError, match="pure budget"):
                clinic.preview_synthesize(PATIENTS, COLUMNS, **price)
        else:
            preview = clinic.preview_synthesize(PATIENTS, COLUMNS, **price)
            assert type(preview.offer.plan) is expected
            assert any("twice the error" in str(text) for _, text in preview.facts()) == (expected is PurePlan)
