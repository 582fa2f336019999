"""The largest groups with their counts: which way is taken follows from public numbers, and both tell the truth."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import duckdb
import numpy as np
import pytest

import lapwing as lw
from lapwing.answers.target import AtEpsilon, release_of
from lapwing.mechanisms.counted_top import CountedTop
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.queries.algebra.aggregate import CountPerPerson
from lapwing.queries.catalogue.column import Category, Column, Integer, Text
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.queries.planning.planner import plan
from lapwing.queries.statements.select import read_sql
from lapwing.queries.statistics.counts import People
from lapwing.queries.statistics.top import CountedTopMeaning, TopCounts, better_by_choice
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit, PureDP

KINDS = tuple(f"kind {i:03d}" for i in range(125))
VISITS = Table(
    name="visits",
    rows=RowsPerPerson.MANY_A_PERSON,
    columns=(Column(name="kind", type=Category(values=KINDS)), Column(name="note", type=Text())),
)
CLINIC = Population(name="clinic", unit=PrivacyUnit(person_key="patient_id"), tables=(VISITS,))
LARGEST = "select kind, count(distinct patient_id) n from visits group by kind order by n desc limit {}"


def of(k: int, max_groups: int | None = None, population: Population = CLINIC):
    return plan(lw.top("visits", "kind", k, counts=True, max_groups=max_groups), population)


@pytest.mark.parametrize(
    ("k", "max_groups", "chosen"),
    [
        (1, None, True),
        (1, 1, False),
        (10, None, True),
        (10, 1, False),
        (10, 5, False),
        (1, 20, True),
        (3, 60, True),
        (100, None, False),  # nearly all are wanted, so all are counted
        (125, None, False),
    ],
)
def test_the_way_follows_from_public_numbers(k, max_groups, chosen) -> None:
    planned = of(k, max_groups)
    assert isinstance(planned.meaning, CountedTopMeaning if chosen else People)
    assert planned.aggregate.bounding == CountPerPerson(max_cells=None if chosen else max_groups)


@pytest.mark.parametrize(("k", "groups", "chosen"), [(10, 5, False), (10, 30, True), (3, 2, False), (3, 12, True)])
def test_what_is_taken_has_the_smaller_error(k, groups, chosen) -> None:
    """Both ways on a histogram whose largest cells stand 100 people above the others, which are all alike."""
    assert isinstance(of(k, groups).meaning, CountedTopMeaning) is chosen
    counts = np.array([1100] * k + [1000] * (125 - k))
    some = CountedTop(
        k=k, cells=125, sensitivity=1, choosing="0.5", counting="0.5", monotone_under=Adjacency.ADD_REMOVE
    )
    every = GeometricMechanism(l1_sensitivity=groups, epsilon=1)

    def error(cells: np.ndarray, told: np.ndarray) -> int:
        left = np.delete(counts, cells)
        return max(left.max() - counts[cells].min(), np.abs(told - counts[cells]).max())

    by_choice, by_all = [], []
    for _ in range(60):
        released = np.array(some.release(counts.tolist()))
        by_choice.append(error(released[::2], released[1::2]))
        noisy = np.array(every.release(counts.tolist()))
        largest = np.argsort(-noisy)[:k]
        by_all.append(error(largest, noisy[largest]))
    assert (np.mean(by_choice) < np.mean(by_all)) is np.bool_(chosen)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_more_groups_of_a_person_speak_for_the_choice(adjacency) -> None:
    population = replace(CLINIC, unit=PrivacyUnit(person_key="patient_id", adjacency=adjacency))
    ways = [isinstance(of(5, groups, population).meaning, CountedTopMeaning) for groups in (1, 4, 16, 64, 125)]
    assert ways == sorted(ways)
    assert (ways[0], ways[-1]) == (False, True)


def test_how_far_counts_are_off_is_not_how_far_the_choice_is() -> None:
    budget = PureDP(epsilon=Fraction(10))
    release = release_of(of(10), AtEpsilon(epsilon=Fraction(1)), budget)
    assert isinstance(release.mechanism, CountedTop)
    told, chosen = release.margin("0.95"), release.margin_of_choice("0.95")
    assert (told, chosen) == (release.mechanism.margin("0.95"), release.mechanism.choice.margin("0.975"))
    assert chosen > told
    alone = release_of(plan(lw.top("visits", "kind", 10), CLINIC), AtEpsilon(epsilon=Fraction(1)), budget)
    assert alone.margin_of_choice("0.95") == alone.margin("0.95")


def test_the_largest_group_alone_is_one_value_and_with_its_count_a_row() -> None:
    assert [plan(lw.top("visits", "kind", k), CLINIC).has_one_value for k in (1, 2)] == [True, False]
    assert not of(1).has_one_value


def test_sql_asks_for_the_largest_groups() -> None:
    (asked,) = read_sql(LARGEST.format(10)).questions.values()
    assert isinstance(asked, TopCounts)
    assert plan(asked, CLINIC).canonical == of(10).canonical


@pytest.mark.parametrize(
    "text",
    [
        "select kind, count(distinct patient_id) n from visits group by kind order by n limit 3",
        "select kind, count(distinct patient_id) n from visits group by kind order by kind desc limit 3",
        "select kind, count(distinct patient_id) n from visits group by kind order by n desc",
        "select kind, count(distinct patient_id) n from visits group by kind having n > 3 order by n desc limit 3",
        "select kind, count(distinct patient_id) n from visits group by kind order by n desc limit 3 offset 1",
    ],
)
def test_other_orders_are_those_of_all_groups(text) -> None:
    (asked,) = read_sql(text, max_groups=2).questions.values()
    assert not isinstance(asked, TopCounts)


def test_rows_are_counted_in_all_groups() -> None:
    text = "select kind, count(*) n from visits group by kind order by n desc limit 3"
    (asked,) = read_sql(text, max_rows=2, max_groups=2).questions.values()
    assert not isinstance(plan(asked, CLINIC).meaning, CountedTopMeaning | People)


def test_groups_for_what_is_not_counted_mean_nothing() -> None:
    with pytest.raises(BadQuestionError, match="counts=True"):
        lw.top("visits", "kind", 3, counts=False, max_groups=2)


@pytest.fixture
def folder(quick_path):
    """Kind b is that of everybody whose number b + 2 divides, so the first kinds are the most common."""
    with duckdb.connect() as connection:
        connection.execute(
            "copy (select p as patient_id, format('kind {:03d}', b) as kind, 'note ' || b as note "
            "from range(4000) people(p), range(9) kinds(b) where p % (b + 2) = 0) "
            "to '" + str(quick_path / "visits.parquet") + "'"
        )
    listed = ", ".join(f'"{kind}"' for kind in KINDS)
    settings = f"""
    [populations.clinic]
    person_key = "patient_id"
    budget = {{ epsilon = "1000", delta = "1e-3" }}
    [populations.clinic.tables.visits]
    source = "visits.parquet"
    rows = "many"
    columns.kind = {{ type = "category", values = [{listed}] }}
    columns.note = {{ type = "text" }}
    """
    lw.create(quick_path, settings).close()
    return quick_path


def test_the_largest_groups_are_told_with_their_counts_and_bounds(folder) -> None:
    with lw.open(folder, analyst="ana") as clinic:
        answer = clinic.ask(LARGEST.format(3), epsilon=20)
        assert [row.key[0] for row in answer.rows] == list(KINDS[:3])
        truth = [2000, 1334, 1000]
        for row, count in zip(answer.rows, truth, strict=True):
            assert row.cells["n"].low - 5 <= count <= row.cells["n"].high + 5  # they hold at 95 %, and it must not fail
        assert [row["n"] for row in clinic.ask(LARGEST.format(3), epsilon=20).rows] == [row["n"] for row in answer.rows]
        python = clinic.ask(lw.top("visits", "kind", 3, counts=True), epsilon=20)
        assert python.free
        assert [row.key[0] for row in python.rows] == list(KINDS[:3])
        preview = clinic.preview(LARGEST.format(3), epsilon=1)
        assert preview.margin["n"] == next(preview.asked.several()).mechanism.margin("0.95")
        answer = clinic.ask(LARGEST.format(3), epsilon=1)
        told = {cell.high - cell.value for row in answer.rows for cell in row.cells.values()}
        assert told == {answer.margin()} == {clinic.preview(LARGEST.format(3), epsilon=1).margin["n"]}
        within = clinic.preview(LARGEST.format(3), within=30)
        assert within.margin["n"] <= 30


def test_the_price_of_counts_is_what_was_offered(folder) -> None:
    with lw.open(folder, analyst="ana") as clinic:
        assert str(clinic.ask(lw.top("visits", "kind", 7, counts=True), epsilon="0.7").price) == "epsilon 0.7"


def test_undeclared_values_are_told_where_a_delta_is_offered(folder) -> None:
    with lw.open(folder, analyst="ana") as clinic:
        question = lw.top("visits", "note", 3, counts=True, max_groups=9)
        answer = clinic.ask(question, epsilon=20, delta="1e-6")
        assert [row.key[0] for row in answer.rows] == ["note 0", "note 1", "note 2"]
        text = "select note, count(distinct patient_id) n from visits group by note order by n desc limit 3"
        assert [row["n"] for row in clinic.ask(text, epsilon=20, delta="1e-6", max_groups=9).rows] == [
            row["answer"] for row in answer.rows
        ]
        with pytest.raises(BadQuestionError, match="delta"):
            clinic.ask(question, epsilon=20)


@pytest.mark.parametrize(("max_groups", "chosen"), [(None, True), (1, False), (2, True)])
def test_the_larger_of_two_is_chosen_unless_a_person_counts_in_one(max_groups, chosen) -> None:
    two = replace(VISITS, columns=(Column(name="kind", type=Category(values=("a", "b")), nullable=False),))
    assert isinstance(of(1, max_groups, replace(CLINIC, tables=(two,))).meaning, CountedTopMeaning) is chosen


def test_a_narrower_range_makes_the_cells_of_a_quantile_finer_in_sql() -> None:
    costs = Column(name="cost", type=Integer(low=0, high=500_000))
    population = replace(CLINIC, tables=(replace(VISITS, columns=(costs,)),))
    texts = [f"select quantile_cont({of}, 0.5) from visits" for of in ("cost", "clip(cost, 0, 5000)")]  # noqa: S608 - made here
    asked = [read_sql(text, max_rows=1).questions.popitem()[1] for text in texts]
    assert [plan(one, population).meaning.scale.step for one in asked] == [100, 1]


@pytest.mark.parametrize(
    ("k", "cells", "groups", "monotone", "chosen"),
    [
        (1, 3, 1, True, False),
        (1, 3, 2, True, True),
        (
            1,
            3,
            3,
            False,
            True,
        ),  # only that the best may be left out speaks for it: 15 people, where counts are off by 14
        (1, 3, 2, False, False),
        (1, 4, 3, False, False),  # one of 3 pairs of cells may be swapped, and of 4 it would be chosen
        (2, 3, 3, True, False),
        (2, 4, 3, True, False),
        (3, 8, 5, True, False),
        (3, 3, 3, True, False),  # nothing is left out
    ],
)
def test_only_pairs_of_which_one_is_shown_can_be_swapped_by_noise(k, cells, groups, monotone, chosen) -> None:
    by_choice = SimpleNamespace(numbers=cells, sensitivity=SimpleNamespace(linf=1), monotone=monotone)
    everywhere = SimpleNamespace(sensitivity=SimpleNamespace(l1=groups))
    assert better_by_choice(by_choice, everywhere, k) is chosen
