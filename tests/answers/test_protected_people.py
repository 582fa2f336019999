"""Whoever is protected, one person or a group, added or replaced: what the door builds hides them, by its exact law.

The mechanisms are asked, not their claims: each is built from a question as the door builds it, its choices are read
off its own lattice, and its losses are found over all that the protected people can do to a small table.
"""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import pytest

from lapwing import count, quantiles, top
from lapwing.answers.target import AtEpsilon, release_of
from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.queries.catalogue.column import Category, Column, Integer, Text
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, ConcentratedDP, PrivacyUnit, PureDP

PURE, CONCENTRATED = PureDP(epsilon=Fraction(9)), ConcentratedDP(rho=Fraction(9))
BOTH = ApproximateDP(epsilon=Fraction(99), delta=Fraction(1, 2))
EPSILON = Fraction(1)
UNITS = [(adjacency, people) for adjacency in Adjacency for people in (1, 2, 3)]
BASES = [(0, 0, 0), (9, 0, 0), (0, 9, 0), (0, 0, 9), (9, 0, 9), (9, 9, 0), (7, 7, 7), (40, 0, 0), (0, 40, 40)]
CELLS = 3


def clinic(adjacency, people) -> Population:
    return Population(
        name="clinic",
        unit=PrivacyUnit(person_key="id", adjacency=adjacency, protects_groups_of=people),
        tables=(
            Table(
                name="visits",
                rows=RowsPerPerson.MANY_A_PERSON,
                max_rows=2,
                columns=(
                    Column(name="nights", type=Integer(low=0, high=2)),
                    Column(name="kind", type=Category(values=("a", "b", "c"))),
                    Column(name="city", type=Text()),
                ),
            ),
        ),
    )


ROWS = [one for one in product(range(3), repeat=CELLS) if sum(one) <= 2]  # of one person, at most two


def changes(adjacency, people, alone):
    """All that a protected group can add to a histogram before and after; `alone` is what one person can add."""
    sums = {
        size: {tuple(map(sum, zip(*chosen, strict=True))) for chosen in combinations_with_replacement(alone, size)}
        for size in range(1, people + 1)
    } | {0: {(0,) * CELLS}}
    if adjacency is Adjacency.REPLACE:
        return set(product(sums[people], sums[people]))
    return {pair for gone in range(people + 1) for pair in product(sums[gone], sums[people - gone])}


def chances(chooser, scores):
    """The law of one choice, from the lattice of the mechanism and the definition of its kind."""
    lattice = chooser.lattice
    weights = [math.exp(offset / 2**lattice.unit_bits) for offset in lattice.offsets(scores).tolist()]
    if isinstance(chooser, ExponentialMechanism):
        return [weight / sum(weights) for weight in weights]
    law = [0.0] * len(weights)
    for order in permutations(range(len(weights))):
        reached = 1 / math.factorial(len(weights))
        for one in order:
            law[one] += reached * weights[one]
            reached *= 1 - weights[one]
    return law


def log_chance_of(release, counts, outcome, monkeypatch):
    """ln P(the release chooses `outcome`): its own code computes the scores, and is told what was drawn."""
    total, drawn = 0.0, iter(outcome)

    def told(chooser, scores) -> int:
        nonlocal total
        one = next(drawn)
        total += math.log(chances(chooser, scores)[one])
        return one

    for kind in (PermuteAndFlip, ExponentialMechanism):
        monkeypatch.setattr(kind, "release", told)
    release.release(counts)
    return total


def worst_loss(release, pairs, outcomes, monkeypatch) -> float:
    known = {}

    def log_chance(counts, outcome) -> float:
        if (counts, outcome) not in known:
            known[counts, outcome] = log_chance_of(release, counts, outcome, monkeypatch)
        return known[counts, outcome]

    tables = {tuple(tuple(map(sum, zip(base, part, strict=True))) for part in pair) for base in BASES for pair in pairs}
    return max(abs(log_chance(a, o) - log_chance(b, o)) for a, b in tables for o in outcomes)


@pytest.mark.parametrize("budget", [PURE, CONCENTRATED, BOTH], ids=["pure", "rho", "epsilon and delta"])
@pytest.mark.parametrize(("adjacency", "people"), UNITS, ids=str)
@pytest.mark.parametrize("at", [["0.5"], ["0.1"], ["0.75"]], ids=str)
def test_a_quantile_hides_whoever_is_protected(budget, adjacency, people, at, monkeypatch) -> None:
    asked = plan(quantiles("visits", "nights", at, cells=CELLS, interval=None), clinic(adjacency, people))
    release = release_of(asked, AtEpsilon(epsilon=EPSILON), budget)
    found = worst_loss(release, changes(adjacency, people, ROWS), [(i,) for i in range(CELLS)], monkeypatch)
    assert found <= EPSILON * (1 + Fraction(1, 10**9))
    assert found > EPSILON / 3, "so that noise that is too small by a factor of three or more is seen at least"


@pytest.mark.parametrize("budget", [PURE, CONCENTRATED], ids=["pure", "rho"])
@pytest.mark.parametrize("adjacency", list(Adjacency), ids=str)
def test_a_quantile_with_its_interval_hides_whoever_is_protected(budget, adjacency, monkeypatch) -> None:
    """Both choices and the counts together: there are rows enough for cells between the first and the last."""
    asked = plan(quantiles("visits", "nights", "0.25", cells=CELLS, interval="0.1"), clinic(adjacency, 1))
    release = release_of(asked, AtEpsilon(epsilon=EPSILON), budget)
    counted = []
    monkeypatch.setattr(GeometricMechanism, "release", lambda _, exact: counted.append(exact) or exact)
    known = {}

    def told(counts, outcome):
        if (counts, outcome) not in known:
            known[counts, outcome] = log_chance_of(release, counts, outcome, monkeypatch), counted[-1]
        return known[counts, outcome]

    def loss(counts, others, outcome) -> float:
        (here, numbers), (there, moved) = told(counts, outcome), told(others, outcome)
        apart = sum(abs(a - b) for a, b in zip(numbers, moved, strict=True))
        return abs(here - there) + float(apart / release.mechanism.counting.law.scale)  # of some of their noise

    bases = [(0, 0, 0), (90, 20, 800), (300, 600, 100), (70, 70, 70)]
    pairs = product(bases, changes(adjacency, 1, ROWS))
    tables = {tuple(tuple(map(sum, zip(base, part, strict=True))) for part in pair) for base, pair in pairs}
    found = max(loss(*pair, outcome) for pair in tables for outcome in product(range(CELLS), repeat=2))
    assert found <= EPSILON * (1 + Fraction(1, 10**9))
    assert found > EPSILON * Fraction(17, 20), "more than the counts may lose, and one of the choices"


@pytest.mark.parametrize("budget", [PURE, CONCENTRATED], ids=["pure", "rho"])
@pytest.mark.parametrize(("adjacency", "people"), UNITS, ids=str)
@pytest.mark.parametrize("k", [1, 2])
def test_the_top_categories_hide_whoever_is_protected(budget, adjacency, people, k, monkeypatch) -> None:
    asked = plan(top("visits", "kind", k), clinic(adjacency, people))
    release = release_of(asked, AtEpsilon(epsilon=EPSILON), budget)
    alone = [one for one in product(range(2), repeat=CELLS) if sum(one) <= 2]
    outcomes = [(i,) for i in range(CELLS)] if k == 1 else list(product(range(CELLS), range(CELLS - 1)))
    found = worst_loss(release, changes(adjacency, people, alone), outcomes, monkeypatch)
    assert found <= EPSILON * (1 + Fraction(1, 10**9))
    assert found > EPSILON / 3


@pytest.mark.parametrize(("adjacency", "people"), UNITS, ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(24)], ids=str)
def test_keys_that_only_a_protected_group_has_are_shown_with_probability_delta_at_most(
    adjacency, people, epsilon
) -> None:
    """Without the group these keys are never shown, so that all of this probability is a failure."""
    delta = Fraction(1, 10**4)
    asked = plan(count("visits", by="city", max_groups=2), clinic(adjacency, people))
    mechanism = release_of(asked, AtEpsilon(epsilon=epsilon, delta=delta), BOTH).mechanism
    r = math.exp(-1 / mechanism.law.scale)

    def shown(many: int) -> float:
        """P(many + noise >= threshold), from the geometric series of discrete Laplace noise."""
        lift = mechanism.threshold - many
        assert lift > 0
        return r**lift / (1 + r)

    together = 2 * people  # keys a person, all of one number of people or spread over more keys
    worst = max(1 - (1 - shown(many)) ** (together // many) for many in range(1, people + 1))
    assert worst <= delta
    assert worst > delta / 20


def test_counts_of_a_group_are_moved_by_no_more_than_the_noise_allows() -> None:
    """A group of three, each of whom is replaced: both of a count's neighbours in six cells at most."""
    asked = plan(count("visits", by="city", max_groups=2), clinic(Adjacency.REPLACE, 3))
    mechanism = release_of(asked, AtEpsilon(epsilon=EPSILON, delta=Fraction(1, 10**4)), BOTH).mechanism
    moved = 2 * 2 * 3  # six memberships are lost, and six are won elsewhere
    assert moved / mechanism.law.scale == EPSILON
