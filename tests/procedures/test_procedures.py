"""Procedures on noisy sums: as NumPy has them where there is next to no noise, and one charge for all rounds."""

import itertools
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import lapwing as lw
from lapwing.ledger.replay import verify
from lapwing.procedures.decision_tree import CountInLeaf, _told_by
from lapwing.procedures.k_means import _offered, cells_of, first_centres, moved
from lapwing.procedures.principal_components import read_components
from lapwing.procedures.scaled_columns import STEPS, plan_sums, read_scaled
from lapwing.publishing.codes import read_columns
from lapwing.queries.catalogue.column import Column, Real
from lapwing.queries.catalogue.population import Table
from lapwing.queries.language.expressions import EVERYONE
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import BadQuestionError, EngineError, LapwingError, ParameterError
from lapwing.vocabulary.guarantee import Adjacency
from session.clinic import Broken, door, new_ledger, population
from session.real_tables import Tables, patients, visits

PEOPLE = 6000
SURE = {"epsilon": "20"}
BY = ["age", "bmi"]
TREE = {"columns": ["sex", lw.bins("age", [0, 30, 60, 99])], "depth": 2}


@pytest.fixture(params=Adjacency, ids=lambda one: one.value)
def adjacency(request):
    return request.param


@pytest.fixture
def ledger(tmp_path, budget, adjacency):
    with new_ledger(tmp_path, budget.promise(400), adjacency=adjacency) as ledger:
        yield ledger


@pytest.fixture
def clinic(ledger, adjacency):
    tables = Tables(people=PEOPLE, population=population(adjacency=adjacency))
    return door(ledger, tables, adjacency=adjacency)


ROWS = patients(PEOPLE).to_pandas()
POINTS = np.column_stack([ROWS.age / 99, (ROWS.bmi - 10) / 50])
"""In units of their declared ranges."""


def plain_k_means(points, centres, rounds):
    """Return what k-means finds without noise."""
    for _ in range(rounds):
        near = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        centres = np.array([points[near == one].mean(axis=0) for one in range(len(centres))])
    return centres, np.bincount(near, minlength=len(centres))


@pytest.mark.one_budget("next to no noise is drawn")
def test_k_means_is_that_of_numpy_where_there_is_next_to_no_noise(clinic) -> None:
    found = clinic.k_means("patients", BY, 2, rounds=3, **SURE)
    scaled = read_scaled("patients", BY, clinic.population)
    begun = np.array(first_centres(scaled, 2)) / [one.extent for one in scaled]
    centres, sizes = plain_k_means(POINTS, begun, 3)
    ours = (np.array(found.centres) - [0, 10]) / [99, 50]
    assert np.abs(ours - centres).max() < 0.02
    assert np.abs(np.array(found.people) - sizes).max() < 250
    assert found.nearest(*found.centres[1]) == 1
    assert [tuple(row.values()) for row in found.to_rows()] == [
        (people, *centre) for people, centre in zip(found.people, found.centres, strict=True)
    ]
    assert (list(found.to_pandas().columns), found.price) == (["people", *BY], found.receipt.price)


@pytest.mark.one_budget("next to no noise is drawn")
def test_components_are_those_of_numpy_where_there_is_next_to_no_noise(clinic) -> None:
    found = clinic.principal_components("patients", BY, **SURE)
    values, vectors = np.linalg.eigh(np.cov(POINTS.T, bias=True))
    assert found.variances == pytest.approx(values[::-1], abs=0.004)
    for ours, theirs in zip(found.directions, vectors.T[::-1], strict=True):
        assert abs(ours @ theirs) == pytest.approx(1, abs=0.02)
    assert found.means == pytest.approx((ROWS.age.mean(), ROWS.bmi.mean()), abs=1)
    assert sum(found.shares) == pytest.approx(1)
    frame = found.to_pandas()
    assert list(frame.columns) == ["share", *BY]
    assert frame[BY].to_numpy() == pytest.approx(found.directions)


@pytest.mark.one_budget("next to no noise is drawn")
def test_a_tree_counts_people_and_splits_by_what_tells_most(clinic) -> None:
    tree = clinic.decision_tree("patients", "survivor", ["sex", lw.bins("age", [0, 30, 60, 99])], depth=2, **SURE)
    assert {one.path for one in tree.nodes if len(one.path) == 1}
    for one in tree.leaves:
        if len(one.path) < 2:
            continue
        mask = np.ones(PEOPLE, bool)
        for column, code in one.path:
            if tree.columns[column].name == "sex":
                mask &= (ROWS.sex == ["F", "M", None][code]).to_numpy()
            else:
                ends = [(0, 29), (30, 59), (60, 99)]
                mask &= ROWS.age.between(*ends[code]).to_numpy() if code < 3 else np.zeros(PEOPLE, bool)
        exact = [int((mask & ~ROWS.survivor).sum()), int((mask & ROWS.survivor).sum())]
        assert np.abs(np.array(one.people) - exact).max() <= 12
    assert tree.predict({"sex": "F", "age": 40}) == "False"
    said = {(step[0], step[1]) for leaf in tree.to_dict()["leaves"] for step in leaf["path"]}
    assert {("sex", "F"), ("sex", "M"), ("age", "from 0 to 29")} <= said
    with pytest.raises(BadQuestionError, match="asks for"):
        tree.leaf_of({})
    rows = tree.to_rows()
    assert len(rows) == len(tree.leaves) == len(tree.to_pandas())
    deep = next(row for row in rows if (row["sex"], row["age"]) == ("F", "from 0 to 29"))
    leaf = tree.leaf_of({"sex": "F", "age": 20})
    assert [deep[f"survivor {code}"] for code in tree.outcome.called] == list(leaf.people)


@pytest.mark.one_budget("next to no noise is drawn")
def test_an_outcome_that_is_true_of_everybody_is_told(clinic) -> None:
    tree = clinic.decision_tree("patients", "age >= 0", ["sex"], depth=1, **SURE)
    assert len(tree.outcome) == len(tree.outcome.codes) == 2  # it is never missing
    assert tree.predict({"sex": "F"}) == "True"


@pytest.mark.one_budget("nothing is charged")
def test_a_column_that_decides_tells_more_than_one_that_does_not(budget) -> None:
    del budget
    assert _told_by(np.array([[50, 0], [0, 50]])) > _told_by(np.array([[30, 20], [20, 30]])) > 49
    assert _told_by(np.array([[-3, 0], [0, -5]])) == 0


ASK = {
    "k-means": lambda one, **price: one.k_means("patients", BY, 3, rounds=2, **price),
    "components": lambda one, **price: one.principal_components("patients", BY, **price),
    "tree": lambda one, **price: one.decision_tree("patients", "survivor", **TREE, **price),
}
PREVIEW = {
    "k-means": lambda one, **price: one.preview_k_means("patients", BY, 3, rounds=2, **price),
    "components": lambda one, **price: one.preview_principal_components("patients", BY, **price),
    "tree": lambda one, **price: one.preview_decision_tree("patients", "survivor", **TREE, **price),
}


@pytest.mark.parametrize("name", ASK)
def test_a_procedure_is_one_charge_of_its_preview_and_is_read_back_for_nothing(name, clinic, ledger, adjacency) -> None:
    preview = PREVIEW[name](clinic, epsilon="0.5")
    assert preview.affordable
    assert preview.price.epsilon == Fraction(1, 2)
    first = ASK[name](clinic, epsilon="0.5")
    assert len(ledger.bookings("clinic", at_most=9)) == 1
    assert first.receipt.price == preview.price
    again = ASK[name](door(ledger, Broken(), adjacency=adjacency), epsilon="0.5")
    assert again.to_dict() == first.to_dict(), "no data is read again"
    assert len(ledger.bookings("clinic", at_most=9)) == 1
    assert first.facts()
    verify(ledger)
    ledger.administration.advance_version("clinic", "patients")
    assert ASK[name](clinic, epsilon="0.5").receipt.name != first.receipt.name, "of new data it is another one"


@pytest.mark.one_budget("the price is in epsilon")
@pytest.mark.parametrize("name", ASK)
def test_a_round_that_fails_is_lost_and_charged_anew(name, ledger, adjacency, clinic, budget) -> None:
    del budget
    with pytest.raises(EngineError):
        ASK[name](door(ledger, Broken(), adjacency=adjacency), epsilon="0.5")
    assert len(ledger.bookings("clinic", at_most=9)) == 1
    ASK[name](clinic, epsilon="0.5")
    assert len(ledger.bookings("clinic", at_most=9)) == 2


WRONG = {
    "names no columns": lambda one: one.k_means("patients", [], 2, epsilon=1),
    "no numbers with declared bounds": lambda one: one.k_means("patients", ["sex"], 2, epsilon=1),
    "is there twice": lambda one: one.k_means("patients", ["age", "AGE"], 2, epsilon=1),
    "clusters = 1": lambda one: one.k_means("patients", BY, 1, epsilon=1),
    "many rows a person": lambda one: one.k_means("visits", ["ward"], 2, epsilon=1),
    "cannot pay for a procedure": lambda one: one.principal_components("patients", BY, within=3),
    "one direction": lambda one: one.principal_components("patients", ["age"], epsilon=1),
    "is the outcome": lambda one: one.decision_tree("patients", "sex", ["sex"], depth=1, epsilon=1),
    "more columns than there are": lambda one: one.decision_tree("patients", "survivor", ["sex"], depth=2, epsilon=1),
    "say what to pay": lambda one: one.decision_tree("patients", "survivor", ["sex"], depth=1),
}


@pytest.mark.one_budget("it is refused before anything is charged")
@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_is_refused_and_costs_nothing(tmp_path, budget, words) -> None:
    with new_ledger(tmp_path, budget.promise(9)) as ledger:
        with pytest.raises((BadQuestionError, ParameterError), match=words):
            WRONG[words](door(ledger, Tables(people=3)))
        assert ledger.bookings("clinic", at_most=9) == []


def exact(plans, rows):
    with Tables(sources={"patients": rows, "visits": visits(1)}, population=population()).lease({}) as engine:
        return np.concatenate([engine.vector(one.aggregate).open_for_release() for one in plans])


@pytest.fixture(scope="module")
def odd_rows():
    """People at the ends of the declared ranges, beyond them, and without values."""
    rows = patients(40).to_pylist()
    for place, (age, bmi) in enumerate(
        itertools.product((-5, 0, 50, 99, 400, None), (0.0, 10.0, 35.0, 60.0, 1e9, None))
    ):
        rows[place] |= {"age": age, "bmi": bmi}
    return patients(40).from_pylist(rows, schema=patients(40).schema)


@pytest.mark.one_budget("no noise is drawn")
@pytest.mark.parametrize(
    "centres",
    [
        ((0, 0), (1024, 800)),
        ((5, 5), (5, 5), (500, 3)),
        ((700, 30), (3, 20), (512, 400)),
        ((400, 400), (600, 600)),  # somebody is as near to the one as to the other
    ],
)
def test_nobody_is_in_two_cells_and_one_person_moves_no_more_than_is_paid_for(budget, centres, odd_rows) -> None:
    del budget
    people = population()
    scaled = read_scaled("patients", BY, people)
    plans = [plan_sums("patients", scaled, people, cell) for cell in cells_of(centres, scaled, EVERYONE)]
    everybody = plan_sums("patients", scaled, people, None)
    paid, whole = everybody.sensitivity.l1, exact(plans, odd_rows)
    assert whole.reshape(len(plans), -1)[:, 0].sum() == exact([everybody], odd_rows)[0]
    for left_out in range(0, 40, 7):
        fewer = odd_rows.filter([place != left_out for place in range(40)])
        assert np.abs(whole - exact(plans, fewer)).sum() <= paid


@pytest.mark.one_budget("no noise is drawn")
def test_cells_that_overlapped_would_be_seen(budget, odd_rows) -> None:
    """The plausible mistake: at least as near to one centre, and at least as near to the other."""
    del budget
    people = population()
    scaled = read_scaled("patients", BY, people)
    both = ["age <= 50", "age >= 50"]
    plans = [plan_sums("patients", scaled, people, cell) for cell in both]
    everybody = plan_sums("patients", scaled, people, None)
    assert exact(plans, odd_rows).reshape(2, -1)[:, 0].sum() > exact([everybody], odd_rows)[0]


@pytest.mark.one_budget("no noise is drawn")
def test_leaves_of_a_level_share_nobody(budget, odd_rows) -> None:
    del budget
    people = population()
    sex, age = read_columns("patients", TREE["columns"], people)
    (outcome,) = read_columns("patients", ["survivor"], people)
    plans = [
        plan(CountInLeaf(table="patients", by=(sex.by, age.by, outcome.by), codes=(code,)), people)
        for code in range(len(sex))
    ]
    assert exact(plans, odd_rows).sum() == 40
    for left_out in (0, 7, 39):
        fewer = odd_rows.filter([place != left_out for place in range(40)])
        assert np.abs(exact(plans, odd_rows) - exact(plans, fewer)).sum() == plans[0].sensitivity.l1 == 1


@pytest.mark.one_budget("no noise is drawn")
def test_sums_of_products_are_never_more_than_is_paid_for(budget, odd_rows) -> None:
    del budget
    people = population()
    scaled = read_scaled("patients", BY, people)
    planned = plan_sums("patients", scaled, people, None, squared=True)
    largest = 0
    for place in (0, 14, 21, 28, 35):
        alone = exact([planned], odd_rows.slice(place, 1))
        assert (alone >= 0).all()
        largest = max(largest, int(alone.sum()))
    assert largest == planned.sensitivity.l1, "somebody at the upper ends of both attains it"


@pytest.mark.one_budget("no noise is drawn")
def test_a_centre_without_people_stays_and_others_stay_inside(budget) -> None:
    del budget
    scaled = read_scaled("patients", BY, population())
    after = moved(((5, 5), (7, 7)), [[3, 10**9, 10**9], [10 * STEPS, 10**9, -4]], scaled, 1000.0)
    assert after == ((5, 5), (scaled[0].extent, 0))


@pytest.mark.one_budget("no noise is drawn")
def test_components_of_nobody_are_numbers_all_the_same(budget) -> None:
    del budget
    scaled = read_scaled("patients", BY, population())
    found = read_components(scaled, [-50, 3, -7, 5, 1, -9], None)
    assert np.isfinite(found.directions).all()
    assert (found.variances >= 0).all()


class Interrupted(BaseException):
    """A process that ends."""


@pytest.mark.one_budget("rounds are the same under every kind of budget")
@pytest.mark.usefixtures("budget")
def test_a_procedure_whose_process_ended_between_rounds_goes_on_under_its_key(clinic, ledger, monkeypatch) -> None:
    calls = []

    def ends(*given, **words):
        calls.append(given)
        if len(calls) == 3:  # the two cells of the first round were planned, and one of the second
            raise Interrupted
        return plan_sums(*given, **words)

    offer = _offered(clinic, "patients", BY, clusters=2, rounds=2, where=None, target={"epsilon": 1})
    with monkeypatch.context() as patch:
        patch.setattr("lapwing.procedures.k_means._offered", lambda *_, **__: offer)
        patch.setattr("lapwing.procedures.k_means.plan_sums", ends)
        with pytest.raises(Interrupted):
            clinic.k_means("patients", BY, 2, rounds=2, key="k", epsilon=1)
    assert len(ledger.bookings("clinic", at_most=9)) == 1
    after = clinic.k_means("patients", BY, 2, rounds=2, key="k", epsilon=1)
    assert len(after.receipt.rounds) == 2
    assert len(ledger.bookings("clinic", at_most=9)) == 1, "it was charged once"


@pytest.mark.one_budget("nothing is charged")
def test_noise_is_for_all_that_a_group_moves_in_each_round(tmp_path, budget, adjacency) -> None:
    unit = {"adjacency": adjacency, "protects_groups_of": 3}
    with new_ledger(tmp_path, budget.promise(9), **unit) as ledger:
        clinic = door(ledger, Tables(population=population(**unit)), **unit)
        scaled = read_scaled("patients", BY, clinic.population)
        often = 3 * (2 if adjacency is Adjacency.REPLACE else 1)
        sums = STEPS + sum(one.extent for one in scaled)
        products = sum(
            (one.extent * other.extent + STEPS // 2) // STEPS
            for one, other in itertools.combinations_with_replacement(scaled, 2)
        )
        expected = {
            "k-means": [often * sums] * 2,
            "components": [often * (sums + products)],
            "tree": [often * 2, often],  # two columns are left at first, and then one
        }
        for name, moved_by in expected.items():
            offer = PREVIEW[name](clinic, epsilon="0.6").offer
            assert [one.event.l1_sensitivity for one in offer.noise] == moved_by
            assert [one.epsilon for one in offer.noise] == [Fraction(6, 10) / len(moved_by)] * len(moved_by)


@pytest.mark.one_budget("it is free")
def test_a_preview_that_cannot_be_paid_says_so(tmp_path, budget) -> None:
    with new_ledger(tmp_path, budget.promise(1)) as ledger:
        preview = PREVIEW["tree"](door(ledger, Tables(people=3)), epsilon=2)
        assert not preview.affordable
        assert preview.to_dict()["refusal"]
        assert "refused now" in repr(preview)


@pytest.mark.one_budget("nothing is charged")
def test_gini_counts_squares_over_people(budget) -> None:
    del budget
    assert _told_by(np.array([[3, 1], [2, 2]])) == pytest.approx(10 / 4 + 8 / 4)


@pytest.mark.one_budget("it is refused before anything is charged")
@pytest.mark.parametrize(
    "ask",
    [
        lambda clinic: clinic.k_means("patients", BY, 2, where="has(visits, ward > 3)", **SURE),
        lambda clinic: clinic.principal_components("patients", BY, where="has(visits, ward > 3)", **SURE),
        lambda clinic: clinic.decision_tree("patients", "survivor", ["sex", "has(visits, ward > 3)"], depth=1, **SURE),
        lambda clinic: clinic.decision_tree("patients", "has(visits, ward > 3)", ["sex"], depth=1, **SURE),
    ],
    ids=["k-means", "components", "tree by it", "tree of it"],
)
def test_a_table_that_is_looked_into_is_one_that_is_asked_about(ledger, clinic, ask) -> None:
    ledger.administration.limit_analyst("clinic", "ana", tables=["patients"], most=None)
    with pytest.raises(LapwingError, match="visits"):
        ask(clinic)
    assert ledger.bookings("clinic", at_most=9) == []
    ledger.administration.limit_analyst("clinic", "ana", tables=["patients", "visits"], most=None)
    assert set(ask(clinic).receipt.versions) == {"patients", "visits"}


def many_columns(number):
    """Return people with so many columns of numbers, and a session of theirs that can be asked what it is of."""
    kinds = [Real(low=0, high=1000 + 37 * place, step="1/64") for place in range(number)]
    columns = tuple(Column(name=f"c{place}", type=kind) for place, kind in enumerate(kinds))
    return SimpleNamespace(population=replace(population(), tables=(Table(name="many", columns=columns),)))


@pytest.mark.one_budget("nothing is charged")
@pytest.mark.parametrize(("columns", "clusters"), [(8, 6), (8, 12), (20, 3)])
def test_more_than_a_round_can_compute_is_refused_before_the_charge(budget, columns, clusters) -> None:
    del budget
    names, said = [f"c{place}" for place in range(columns)], f"{clusters} clusters by {columns} columns"
    with pytest.raises(BadQuestionError, match=said):
        _offered(many_columns(columns), "many", names, clusters=clusters, rounds=1, where=None, target=SURE)


@pytest.mark.one_budget("nothing is charged")
@pytest.mark.parametrize(("columns", "clusters"), [(2, 12), (4, 5)])
def test_what_is_not_refused_is_computed_wherever_the_centres_are(budget, columns, clusters) -> None:
    del budget
    session, names = many_columns(columns), [f"c{place}" for place in range(columns)]
    _, scaled = _offered(session, "many", names, clusters=clusters, rounds=1, where=None, target=SURE)
    random = np.random.default_rng(5)
    centres = tuple(tuple(int(random.integers(0, one.extent + 1)) for one in scaled) for _ in range(clusters))
    assert [plan_sums("many", scaled, session.population, cell) for cell in cells_of(centres, scaled, EVERYONE)]
