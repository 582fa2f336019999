"""How far the protected people move the scores of a quantile: over all neighbours of small tables, and no less."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from lapwing import quantiles
from lapwing.answers.releases import release_of
from lapwing.answers.target import AtEpsilon
from lapwing.mechanisms.histogram_selection import _ranks
from lapwing.queries.catalogue import Population, RowsPerPerson, Table
from lapwing.queries.column import Column, Integer
from lapwing.queries.planning import plan
from lapwing.queries.statistics.quantiles import score_sensitivity
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit, PureDP

CELLS, MAX_ROWS = 3, 2
BASES = [(0, 0, 0), (9, 0, 0), (0, 9, 0), (0, 0, 9), (7, 7, 7), (9, 0, 9)]
ONE_PERSON = [rows for rows in product(range(MAX_ROWS + 1), repeat=CELLS) if sum(rows) <= MAX_ROWS]


def clinic(unit) -> Population:
    nights = Column(name="nights", type=Integer(low=0, high=CELLS - 1))
    visits = Table(name="visits", rows=RowsPerPerson.MANY_A_PERSON, max_rows=MAX_ROWS, columns=(nights,))
    return Population(name="clinic", unit=unit, tables=(visits,))


def added(*histograms):
    return tuple(map(sum, zip(*histograms, strict=True)))


def of_people(number):
    """All histograms of the rows of this many people."""
    return {added((0,) * CELLS, *people) for people in combinations_with_replacement(ONE_PERSON, number)}


def neighbours(unit):
    """All pairs of what a protected group may add to a table, before and after."""
    size = unit.protects_groups_of
    if unit.adjacency is Adjacency.REPLACE:
        return product(of_people(size), of_people(size))
    return (pair for gone in range(size + 1) for pair in product(of_people(gone), of_people(size - gone)))


def scores(histogram, fraction):
    return _ranks([sum(histogram[:i]) for i in range(CELLS + 1)], fraction)


@pytest.mark.parametrize("people", [1, 2, 3])
@pytest.mark.parametrize("adjacency", list(Adjacency), ids=str)
@pytest.mark.parametrize("fraction", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)], ids=str)
def test_scores_move_by_what_is_claimed_and_no_less(fraction, adjacency, people) -> None:
    unit = PrivacyUnit(person_key="id", adjacency=adjacency, protects_groups_of=people)
    tables = {(added(base, one), added(base, other)) for one, other in neighbours(unit) for base in BASES}
    moved = max(
        abs(a - b) for one, other in tables for a, b in zip(scores(one, fraction), scores(other, fraction), strict=True)
    )
    assert moved == score_sensitivity(fraction, MAX_ROWS, unit)
    asked = plan(quantiles("visits", "nights", fraction, cells=CELLS), clinic(unit))
    release = release_of(asked, AtEpsilon(epsilon=Fraction(1)), PureDP(epsilon=Fraction(9)))
    (chooser,) = release.mechanism.selectors
    noise = chooser.lattice.scale / 2  # the noise of a choice at epsilon 1 is twice what a score may move
    assert moved <= noise <= moved * (1 + Fraction(1, 10**9))
