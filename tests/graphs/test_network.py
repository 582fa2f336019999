"""Graphs at the door: one charge, one release, read back for nothing, over all kinds of budget and both adjacencies."""

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest

from graphs.friends import EDGES, PEOPLE, ROWS, population, town, town_ledger, town_tables
from lapwing.accounting.filters.charge import SingleRelease
from lapwing.graphs.graph_answers import _falling
from lapwing.graphs.pair_tables import plan_pairs, read_pair_table
from lapwing.ledger.replay import verify
from lapwing.mechanisms.gaussian import DiscreteGaussianMechanism
from lapwing.mechanisms.graphs.graph_releases import BoundedDegree, DegreeCounts, GraphCount, NoisyGraphCounts
from lapwing.mechanisms.graphs.simple_graph import SimpleGraph
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.vocabulary.errors import BadQuestionError, EngineError, ParameterError, RequestConflictError
from lapwing.vocabulary.event import DiscreteLaplaceNoise, ExponentialSelection
from lapwing.vocabulary.guarantee import Adjacency
from session.clinic import Broken

DEGREES = np.bincount(np.array(EDGES).ravel(), minlength=PEOPLE + 1)[1:]
TRIANGLES = sum({(i, j), (j, k), (i, k)} <= set(EDGES) for i, j, k in itertools.combinations(range(1, PEOPLE + 1), 3))
SURE = {"epsilon": "20"}
"""Next to no noise."""


@pytest.fixture(params=Adjacency, ids=lambda one: one.value)
def adjacency(request):
    return request.param


@pytest.fixture
def ledger(tmp_path, budget, adjacency):
    with town_ledger(tmp_path, budget.promise(300), adjacency=adjacency) as ledger:
        yield ledger


@pytest.fixture
def friends(ledger, adjacency):
    return town(ledger, town_tables(adjacency=adjacency), adjacency=adjacency).graph("friend", between=("one", "other"))


@pytest.mark.one_budget("the same is read for every price")
def test_a_graph_is_its_unordered_pairs_of_declared_people(friends) -> None:
    assert abs(friends.edges(**SURE).value - len(EDGES)) <= 3
    assert abs(friends.triangles(**SURE).value - TRIANGLES) <= 100
    expected = sum(math.comb(int(degree), 3) for degree in DEGREES)
    assert friends.stars(3, **SURE).value == pytest.approx(expected, rel=0.2)
    released = friends.degrees(20, **SURE).released
    assert max(abs(one - int((j <= DEGREES).sum())) for j, one in enumerate(released, 1)) <= 6


def test_each_question_is_one_charge_of_its_preview_and_reads_back_for_nothing(friends, ledger, adjacency) -> None:
    asked = {
        "edges": lambda one: one.edges(epsilon="0.5").value,
        "degrees": lambda one: one.degrees(epsilon="0.5").released,
        "triangles": lambda one: one.triangles(epsilon="0.5").value,
        "stars": lambda one: one.stars(2, epsilon="0.5").value,
    }
    unread = town(ledger, Broken(), adjacency=adjacency).graph("friend", between=("one", "other"))
    for number, (what, ask) in enumerate(asked.items(), 1):
        points = {"points": 2} if what == "stars" else {}
        preview = friends.preview(what, epsilon="0.5", **points)
        assert preview.affordable
        event = (
            preview.offer.mechanism.noise.event if what in {"edges", "degrees"} else ExponentialSelection(epsilon="1/2")
        )
        due = ledger.account("town").quote(SingleRelease(event=event))
        first = ask(friends)
        bookings = ledger.bookings("town", at_most=9)
        assert len(bookings) == number
        assert due.cost in [line.cost for line in bookings]
        assert ask(unread) == first, "no data is read again"
        assert len(ledger.bookings("town", at_most=9)) == number
    verify(ledger)


@pytest.mark.one_budget("the same is read for every price")
def test_an_answer_says_what_it_hides_and_what_not(friends, adjacency) -> None:
    told = friends.edges(epsilon=1)
    edges = "any one edge is" if adjacency is Adjacency.ADD_REMOVE else "any 2 edges are"
    assert edges in told.to_dict()["hides"]
    assert "a person with all their edges is not hidden" in str(told)
    bounded = friends.edges(epsilon=1, max_degree=5)
    assert "nobody has more than 5" in bounded.to_dict()["hides"]
    assert "all edges of" in str(bounded)
    assert "hides" in friends.triangles(epsilon=1).to_dict()


@pytest.mark.one_budget("noise is built before it is paid")
def test_noise_is_for_what_an_edge_or_a_person_moves_times_those_hidden_together(tmp_path, budget, adjacency) -> None:
    with town_ledger(tmp_path, budget.promise(9), adjacency=adjacency, protects_groups_of=3) as ledger:
        door = town(ledger, town_tables(), adjacency=adjacency, protects_groups_of=3)
        friends = door.graph("friend", between=("one", "other"))
        units = 3 if adjacency is Adjacency.ADD_REMOVE else 6
        offers = {
            1: friends.preview("edges", epsilon=1),
            2: friends.preview("degrees", epsilon=1),
            7: friends.preview("edges", epsilon=1, max_degree=7),
            14: friends.preview("degrees", epsilon=1, max_degree=7),
        }
        for moved, preview in offers.items():
            event = preview.offer.mechanism.noise.event
            assert event == DiscreteLaplaceNoise(l1_sensitivity=moved * units, scale=Fraction(moved * units))
        assert friends.preview("triangles", epsilon=1).offer.mechanism.rate == Fraction(1, 2 * units)


@pytest.mark.one_budget("it is refused before anything is charged")
def test_noise_for_less_than_is_moved_is_not_built(budget) -> None:
    del budget
    little = GeometricMechanism(l1_sensitivity=1, epsilon=1)
    with pytest.raises(ValueError, match="too little"):
        NoisyGraphCounts(counted=DegreeCounts(up_to=2), people=9, noise=little)
    with pytest.raises(ValueError, match="too little"):
        NoisyGraphCounts(counted=GraphCount(), people=9, noise=little, bounded=BoundedDegree(most=2))
    gaussian = DiscreteGaussianMechanism(l2_sensitivity_squared=3, rho=1)
    with pytest.raises(ValueError, match="too little"):
        NoisyGraphCounts(counted=GraphCount(), people=9, noise=gaussian, units=2)


@pytest.mark.one_budget("the same is read for every price")
def test_a_condition_says_which_rows_are_edges(ledger, adjacency) -> None:
    door = town(ledger, town_tables(adjacency=adjacency), adjacency=adjacency)
    young = door.graph("friend", between=("one", "other"), where="year >= 2010")
    pairs = {
        tuple(sorted(pair))
        for place, pair in enumerate(ROWS)
        if place % 20 >= 10 and None not in pair and pair[0] != pair[1] and {*pair} <= set(range(1, PEOPLE + 1))
    }
    assert abs(young.edges(**SURE).value - len(pairs)) <= 3


@pytest.mark.one_budget("the same is read for every price")
def test_a_truncated_graph_is_counted_where_people_are_protected(friends) -> None:
    kept = SimpleGraph.of_pairs(EDGES, PEOPLE).truncated(4, 0)
    answer = friends.edges(**SURE, max_degree=4)
    assert abs(answer.value - kept.edges) <= 12
    assert len(friends.degrees(**SURE, max_degree=4).released) == 4


@pytest.mark.one_budget("the same is read for every price")
def test_degrees_fall_and_have_bounds_and_a_picture(friends, tmp_path) -> None:
    answer = friends.degrees(20, epsilon=1)
    assert list(answer.at_least) == sorted(answer.at_least, reverse=True)
    assert sum(answer.people) == pytest.approx(PEOPLE)
    rows = answer.to_rows("0.99999999999")
    for row in rows[1:]:
        truth = int((row["edges"] <= DEGREES).sum())
        assert row["at_least_low"] <= truth <= row["at_least_high"]
    assert "at least 1" in answer.picture()
    assert answer.plot(tmp_path / "degrees.svg").stat().st_size > 1000
    assert "<svg" in answer._repr_html_()
    assert answer.to_dict()["released"] == list(answer.released)


@pytest.mark.one_budget("nothing is charged")
def test_falling_numbers_are_the_nearest_in_squares(budget) -> None:
    del budget
    assert _falling([5, 3, 4, 4, 9, 0]) == [5, 5, 5, 5, 5, 0]
    assert _falling([9, 2, 4, 1]) == [9, 3, 3, 1]


def test_accuracy_buys_edges_and_degrees_and_is_refused_for_shapes(friends) -> None:
    preview = friends.preview("degrees", up_to=10, within=30)
    assert 25 <= preview.margin <= 30
    assert friends.edges(within=50).margin() <= 50
    with pytest.raises(ParameterError, match="depends on the graph"):
        friends.triangles(within=10)


def test_rho_buys_gaussian_noise_where_the_budget_has_it(friends, budget) -> None:
    with pytest.raises(ParameterError, match="cannot pay for a ladder"):
        friends.triangles(rho=1)
    if budget.name == "epsilon":
        with pytest.raises(ParameterError, match="pure budget"):
            friends.edges(rho=1)
    else:
        preview = friends.preview("degrees", up_to=4, rho="0.5")
        assert isinstance(preview.offer.mechanism.noise, DiscreteGaussianMechanism)
        assert abs(friends.degrees(4, rho=20).released[0] - int((DEGREES >= 1).sum())) <= 10


def test_a_failure_after_the_charge_is_lost_and_charged_anew(ledger, adjacency, friends) -> None:
    broken = town(ledger, Broken(), adjacency=adjacency).graph("friend", between=("one", "other"))
    with pytest.raises(EngineError):
        broken.edges(epsilon="0.5")
    lost = ledger.account("town")
    friends.edges(epsilon="0.5")
    assert ledger.account("town") != lost


@pytest.mark.one_budget("the same is read for every price")
def test_a_key_stands_for_one_question(friends) -> None:
    first = friends.edges(epsilon=1, key="k")
    assert friends.edges(epsilon=1, key="k").value == first.value
    with pytest.raises(RequestConflictError):
        friends.triangles(epsilon=1, key="k")


WRONG = {
    "has 3 columns of whole numbers": lambda door: door.graph("friend"),
    "names 'one' twice": lambda door: door.graph("friend", between=("one", "ONE")),
    "does not name two columns": lambda door: door.graph("friend", between="one"),
    "between=('one', 3)": lambda door: door.graph("friend", between=("one", 3)),
    "up_to = 0 is out of range": lambda door: door.graph("friend", between=("one", "other")).degrees(0, epsilon=1),
    "one row for each edge": lambda door: door.graph("call"),
    "declared from 1 to 5 and 'other' from 1 to 6": lambda door: door.graph("odd", between=("one", "other")),
    "no whole numbers with declared bounds": lambda door: door.graph("odd", between=("one", "third")),
    "'squares' is not counted": lambda door: door.graph("friend", between=("one", "other")).preview("squares", rho=1),
    "max_degree squared": lambda door: door.graph("friend", between=("one", "other")).preview(
        "triangles", max_degree=3, epsilon=1
    ),
    "take no points": lambda door: door.graph("friend", between=("one", "other")).preview("edges", points=3, epsilon=1),
    "how many points": lambda door: door.graph("friend", between=("one", "other")).preview("stars", epsilon=1),
    "say what to pay": lambda door: door.graph("friend", between=("one", "other")).edges(),
    "is not needed": lambda door: door.graph("friend", between=("one", "other")).edges(epsilon=1, delta="1e-6"),
}


@pytest.mark.one_budget("it is refused before anything is charged")
@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_is_refused_with_a_remedy_and_costs_nothing(tmp_path, budget, words) -> None:
    with town_ledger(tmp_path, budget.promise(9)) as ledger:
        with pytest.raises((BadQuestionError, ParameterError), match=re.escape(words)):
            WRONG[words](town(ledger, town_tables()))
        assert ledger.bookings("town", at_most=9) == []


@pytest.mark.one_budget("no noise is drawn")
def test_one_key_more_or_less_is_one_edge_at_most(budget) -> None:
    """Also where a key has several pairs by mistake: one of them is picked, by the key's own rows alone."""
    del budget
    people = population()
    aggregate = plan_pairs(people, read_pair_table(people, "friend", ("one", "other"))).aggregate

    def edges(tables):
        with tables.lease({}) as engine:
            return {frozenset(pair) for pair in engine.keyed(aggregate).open_for_release()}

    whole = edges(town_tables())
    assert whole == {frozenset(pair) for pair in EDGES}
    for left_out in (0, 3, len(EDGES), len(ROWS) - 1):
        fewer = [pair for place, pair in enumerate(ROWS) if place != left_out]
        assert len(whole ^ edges(town_tables(fewer))) <= 1


@pytest.mark.one_budget("it is free")
def test_a_preview_says_how_exact_shapes_are_in_graphs_that_are_assumed(friends, budget) -> None:
    del budget
    preview = friends.preview("triangles", epsilon=1)
    assert preview.margin is None
    assert preview.margin_if(0) < preview.margin_if(5) < preview.margin_if(30)
    said = dict(preview.facts())["error"]
    assert f"{preview.margin_if(5):,} if no two people have more than 5 neighbours in common" in said
    stars = friends.preview("stars", points=3, epsilon=1)
    assert f"{stars.margin_if(20):,} if nobody has more than 20 edges" in dict(stars.facts())["error"]


@pytest.mark.one_budget("it is free")
def test_the_assumed_margin_holds_as_often_as_it_says(friends, budget) -> None:
    del budget
    graph = SimpleGraph.of_pairs(EDGES, PEOPLE)
    shared = max(int(common.max(initial=0)) for common, _, _ in graph.common())
    mechanism = friends.preview("triangles", epsilon=1).offer.mechanism
    margin = mechanism.margin_if(shared, "0.9")
    off = [abs(mechanism.release(EDGES) - TRIANGLES) for _ in range(300)]
    assert sum(one <= margin for one in off) >= 225  # of 300, at least 90 % each: fewer has a chance below 1e-9
