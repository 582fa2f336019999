"""How far the protected people move the scores of a quantile: over all neighbours of small tables, and no less."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest
from scipy.stats import binom

from lapwing import quantiles
from lapwing.accounting import pricing
from lapwing.answers.target import AtEpsilon, release_of, share_of
from lapwing.mechanisms.enclosed_quantiles import EnclosedQuantiles
from lapwing.mechanisms.histogram_selection import ranks
from lapwing.queries.catalogue.column import Category, Column, Integer, Real
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.queries.planning.plan import Scale
from lapwing.queries.planning.planner import plan, plan_together
from lapwing.queries.statistics.quantiles import round_width, score_sensitivity
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.guarantee import Adjacency, ConcentratedDP, PrivacyUnit, PureDP
from statistical.goodness import FALSE_ALARM

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


def scores(histogram, fraction, shift=0):
    return ranks([sum(histogram[:i]) for i in range(CELLS + 1)], fraction, shift)


def check_noise(release, moved) -> None:
    """A choice at an eighth of epsilon 4 has noise of four times what a score may move."""
    (chooser,) = release.mechanism.choosers
    assert moved <= chooser.lattice.scale / 4 <= moved * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("people", [1, 2, 3])
@pytest.mark.parametrize("adjacency", list(Adjacency), ids=str)
@pytest.mark.parametrize("fraction", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)], ids=str)
def test_scores_move_by_what_is_claimed_and_no_less(fraction, adjacency, people) -> None:
    unit = PrivacyUnit(person_key="id", adjacency=adjacency, protects_groups_of=people)
    tables = {(added(base, one), added(base, other)) for one, other in neighbours(unit) for base in BASES}
    moved = [
        max(
            abs(a - b)
            for one, other in tables
            for a, b in zip(scores(one, fraction, shift), scores(other, fraction, shift), strict=True)
        )
        for shift in (0, -7, 7)
    ]
    assert moved[0] == max(moved) == score_sensitivity(fraction, MAX_ROWS, unit), "also where ends are looked for"
    asked = plan(quantiles("visits", "nights", fraction, cells=CELLS), clinic(unit))
    check_noise(release_of(asked, AtEpsilon(epsilon=Fraction(4)), PureDP(epsilon=Fraction(9))), moved[0])


GROUPS = 2
PARTS = [(0,) * CELLS, (9, 0, 0), (7, 7, 7), (0, 0, 9)]
SPREAD = [
    rows for rows in product(range(MAX_ROWS + 1), repeat=CELLS * GROUPS) if sum(rows) <= MAX_ROWS
]  # one person's rows, in all groups together


def grouped_clinic(unit) -> Population:
    columns = (
        Column(name="nights", type=Integer(low=0, high=CELLS - 1)),
        Column(name="kind", type=Category(values=("ER", "GP"))),
    )
    visits = Table(name="visits", rows=RowsPerPerson.MANY_A_PERSON, max_rows=MAX_ROWS, columns=columns)
    return Population(name="clinic", unit=unit, tables=(visits,))


def moved_in_all(one, other, fraction):
    """How far scores move in each group, added up over the groups."""
    parts = [slice(CELLS * i, CELLS * (i + 1)) for i in range(GROUPS)]
    pairs = [(scores(one[part], fraction), scores(other[part], fraction)) for part in parts]
    return sum(max(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in pairs)


@pytest.mark.parametrize("adjacency", list(Adjacency), ids=str)
@pytest.mark.parametrize("fraction", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)], ids=str)
def test_scores_of_all_groups_together_move_by_what_is_claimed_and_no_less(fraction, adjacency) -> None:
    unit = PrivacyUnit(person_key="id", adjacency=adjacency)
    before = SPREAD if adjacency is Adjacency.REPLACE else [(0,) * CELLS * GROUPS]
    bases = [one + other for one, other in product(PARTS, PARTS)]
    moved = max(
        moved_in_all(added(base, one), added(base, other), fraction)
        for one, other in product(before, SPREAD)
        for base in bases
    )
    assert moved == score_sensitivity(fraction, MAX_ROWS, unit, groups=GROUPS)
    asked = plan(quantiles("visits", "nights", fraction, by="kind", cells=CELLS), grouped_clinic(unit))
    check_noise(release_of(asked, AtEpsilon(epsilon=Fraction(4)), PureDP(epsilon=Fraction(9))), moved)


@pytest.mark.parametrize("budget", [PureDP(epsilon=Fraction(9)), ConcentratedDP(rho=Fraction(9))], ids=str)
def test_all_groups_are_paid_once(budget) -> None:
    unit = PrivacyUnit(person_key="id")
    alone = plan(quantiles("visits", "nights", "0.5", cells=CELLS), grouped_clinic(unit))
    grouped = plan(quantiles("visits", "nights", "0.5", by="kind", cells=CELLS), grouped_clinic(unit))
    offered = AtEpsilon(epsilon=Fraction(1))
    assert release_of(grouped, offered, budget).event == release_of(alone, offered, budget).event


@pytest.mark.parametrize(("interval", "parts"), [(None, 71), ("0.95", 8 * 71)])
def test_quantiles_share_a_price_in_equal_parts_of_few_digits(interval, parts) -> None:
    at = [Fraction(i, 72) for i in range(1, 72)]
    asked = plan(quantiles("visits", "nights", at, interval=interval), clinic(PrivacyUnit(person_key="id")))
    release = release_of(asked, AtEpsilon(epsilon=Fraction(1)), PureDP(epsilon=Fraction(9)))
    charged = pricing.price(release.event).pure_epsilon
    assert (asked.meaning.choices, charged) == (parts, parts * share_of("epsilon", Fraction(1), parts))
    assert charged < 1


@pytest.mark.parametrize("adjacency", list(Adjacency), ids=str)
def test_the_laws_of_all_groups_together_are_as_private_as_is_charged(adjacency) -> None:
    """The exact probabilities of the exponential mechanism, for one person's rows in one group, the other, or both."""
    unit, fraction, epsilon = PrivacyUnit(person_key="id", adjacency=adjacency), Fraction(1, 4), 1.0
    moved = score_sensitivity(fraction, MAX_ROWS, unit, groups=GROUPS)

    def law(table):
        chances = [1.0]
        for group in range(GROUPS):
            weights = [
                math.exp(epsilon * score / (2 * moved))
                for score in scores(table[CELLS * group : CELLS * (group + 1)], fraction)
            ]
            chances = [chance * weight / sum(weights) for chance in chances for weight in weights]
        return chances

    before = SPREAD if adjacency is Adjacency.REPLACE else [(0,) * CELLS * GROUPS]
    worst = max(
        abs(math.log(p / q))
        for one, other in product(before, SPREAD)
        for base in ((0, 9, 0, 0, 9, 0), (5, 0, 5, 0, 0, 0))
        for p, q in zip(law(added(base, one)), law(added(base, other)), strict=True)
    )
    assert 0.4 < worst <= epsilon + 1e-9


def test_several_quantiles_by_group_are_columns() -> None:
    asked = quantiles("visits", "nights", ["0.25", "0.5"], by="kind")
    assert list(plan_together({"nights": asked}, grouped_clinic(PrivacyUnit(person_key="id")))) == [
        "nights_0.25",
        "nights_0.5",
    ]


@pytest.mark.parametrize(
    ("high", "told"),
    [
        (8399, "values clipped to 0..8399"),
        (26_999, "values clipped to 0..26999 and rounded down to steps of 5 from there"),
    ],
)
@pytest.mark.parametrize("by", [(), "kind"])
def test_the_grid_is_told_where_it_is_coarser_than_the_value(high, told, by) -> None:
    days = Column(name="days", type=Integer(low=0, high=high))
    kind = Column(name="kind", type=Category(values=("ER", "other")))
    visits = Table(name="visits", rows=RowsPerPerson.MANY_A_PERSON, max_rows=2, columns=(days, kind))
    population = Population(name="clinic", unit=PrivacyUnit(person_key="id"), tables=(visits,))
    planned = plan(quantiles("visits", "days", "0.5", by=by), population)
    assert planned.meaning.bounds_away(planned)[-1] == told


def test_a_float_is_the_decimal_that_it_is_written_as() -> None:
    assert quantiles("visits", "nights", [0.1, 0.9]).at == (Fraction(1, 10), Fraction(9, 10))


def test_whole_numbers_have_a_cell_each_where_they_are_few_enough() -> None:
    """A range of years in days is not rounded to steps of several days, which no margin would tell."""
    people = clinic(PrivacyUnit(person_key="id"))

    def grid(high, **cells):
        return plan(quantiles("visits", f"clip(nights, 0, {high})", "0.5", **cells), people).aggregate.keys[0]

    assert (grid(9000).width, grid(9000).cells) == (1, 9001)
    assert (grid(20_000).width, grid(20_000).cells) == (5, 4001)
    assert (grid(500_000).width, grid(500_000).cells) == (100, 5001)
    assert (grid(35_000_000).width, grid(35_000_000).cells) == (5000, 7001)
    assert grid(9000, cells=10).cells == 10
    assert (grid(500_000, cells=100_000).width, grid(500_000, cells=100_000).cells) == (6, 83_334)


def test_parts_of_a_whole_have_a_cell_each_where_they_are_few_enough() -> None:
    cost = Column(name="cost", type=Real(low=0, high=70, step="1/128"))
    visits = Table(name="visits", rows=RowsPerPerson.MANY_A_PERSON, max_rows=2, columns=(cost,))
    population = Population(name="clinic", unit=PrivacyUnit(person_key="id"), tables=(visits,))
    assert plan(quantiles("visits", "cost", "0.5"), population).aggregate.keys[0].cells == 70 * 128 + 1


@pytest.mark.parametrize("extent", [1, 9_999, 10_000, 10_001, 123_456, 10**6, 10**9, 10**15])
@pytest.mark.parametrize("step", ["1", "1/100", "1/1024", "1/3", "7"])
def test_a_grid_has_at_most_so_many_cells_and_no_fewer_than_two_fifths_of_them(extent, step) -> None:
    for most in (2, 100, 10_000):
        width = round_width(Scale(low=Fraction(0), step=Fraction(step), extent=extent), most)
        cells = extent // width + 1
        assert cells <= most
        assert width == 1 or cells * 2.5 >= most - 2


def test_the_work_of_many_quantiles_stays_bounded() -> None:
    people = clinic(PrivacyUnit(person_key="id"))
    fractions = [Fraction(i, 101) for i in range(1, 101)]
    value = "clip(nights, 0, 5000000)"
    (key,) = plan(quantiles("visits", value, fractions), people).aggregate.keys
    assert key.cells * 100 <= 300_000
    with pytest.raises(BadQuestionError, match="10000000 cells of all its quantiles, more than 1000000; ask for fewer"):
        plan(quantiles("visits", value, fractions, cells=100_000), people)


def test_an_interval_on_a_fine_grid_holds_as_often_as_it_says() -> None:
    """Ten thousand cells, and rows in two of them; intervals that said nothing would be as wide as the range."""
    rows = [0] * 10_000
    rows[4_000], rows[4_001] = 600, 600
    chooser = EnclosedQuantiles(at=["0.5"], cells=10_000, sensitivities=[1], l1_sensitivity=1, epsilon=1)
    ends = [chooser.ends(*chooser.spans(chooser.release(rows)), "0.95") for _ in range(60)]
    held = sum(low <= 4_000 <= high for low, high in ends)
    assert held >= binom.ppf(FALSE_ALARM, 60, 0.95)
    assert sum(high - low < 9_000 for low, high in ends) > 50
