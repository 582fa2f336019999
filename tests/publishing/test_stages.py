"""Stages: what they cost together, in fractions; that they see released numbers only; and that intervals hold."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from lapwing.mechanisms.residual_basis import whole_residual
from lapwing.mechanisms.screening import moved_distance
from lapwing.publishing.measurements import moved_in_one_table
from lapwing.publishing.residual_pool import ResidualPool
from lapwing.publishing.saved_synthesis import replayed
from lapwing.publishing.stages import (
    GaussianPlan,
    MeasuringStage,
    PurePlan,
    Purse,
    ScreeningStage,
    StageLost,
    TablesStage,
)
from lapwing.publishing.water_filling import Worth, water_fill
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit
from publishing.small_world import SmallWorld

WORLD = SmallWorld((3, 4, 2, 3, 5), people=2000)
UNITS = [
    PrivacyUnit(person_key="id", adjacency=adjacency, protects_groups_of=group)
    for adjacency, group in itertools.product(Adjacency, (1, 2))
]
UNIT = UNITS[0]


def gaussian(paid, unit=UNIT, **more):
    return GaussianPlan(codes=WORLD.codes, unit=unit, degree=more.pop("degree", 3), mu_squared=Fraction(paid), **more)


def pure(epsilon, unit=UNIT, **more):
    return PurePlan(codes=WORLD.codes, unit=unit, degree=2, epsilon=Fraction(epsilon), **more)


def drawn(plan, world=WORLD):
    """Return the stages that were run, what they released, and what came out."""
    stages, ran, released = plan.stages(), [], []
    stage = next(stages)
    try:
        while True:
            counted = {axes: [int(one) for one in world.marginal(axes).ravel()] for axes in stage.counted}
            ran.append(stage)
            released.append(stage.release(counted))
            stage = stages.send(released[-1])
    except StopIteration as end:
        return ran, released, end.value


def farthest(codes, sigmas, unit):
    """Return how far one person, or one who is exchanged for any other one, moves residuals over their sigmas."""
    people = list(itertools.product(*(range(min(2, n)) for n in codes)))  # all codes but one are alike
    nobody, moves = dict.fromkeys(sigmas, 0), {}
    for codes_of in people:
        ones = {axes: np.zeros([codes[a] for a in axes], int) for axes in sigmas}
        for axes, table in ones.items():
            table[tuple(codes_of[a] for a in axes)] = 1
        moves[codes_of] = {axes: whole_residual(table) for axes, table in ones.items()}
    others = [nobody] if unit.adjacency is Adjacency.ADD_REMOVE else [nobody, *moves.values()]
    found = max(
        sum(Fraction(int(((moves[people[0]][axes] - other[axes]) ** 2).sum())) / sigmas[axes] ** 2 for axes in sigmas)
        for other in others
    )
    return found * unit.protects_groups_of**2


def spent(stage, unit):
    """Return what a stage costs, worked out from what it draws: a squared mu, or an epsilon."""
    match stage:
        case MeasuringStage(mechanism=mechanism):
            return farthest(mechanism.codes, mechanism.sigmas, unit)
        case ScreeningStage(mechanism=mechanism) if hasattr(mechanism.event, "sigma_squared"):
            return len(stage.sets) * Fraction(moved_distance(unit)) ** 2 / mechanism.noise**2
        case ScreeningStage(mechanism=mechanism):
            return len(stage.sets) * moved_distance(unit) / mechanism.noise
        case TablesStage(mechanism=mechanism):
            return len(stage.tables) * moved_in_one_table(unit) / mechanism.event.scale


@pytest.mark.parametrize("unit", UNITS, ids=lambda one: f"{one.adjacency.value} {one.protects_groups_of}")
@pytest.mark.parametrize(("kind", "paid"), [(gaussian, "0.05"), (gaussian, "2"), (pure, "1")])
def test_no_path_costs_more_than_was_charged(unit, kind, paid) -> None:
    plan = kind(paid, unit)
    plan.check()
    whole = Fraction(paid)
    for _ in range(2):
        ran, _, _ = drawn(plan)
        each = [spent(stage, unit) for stage in ran]
        assert all(cost <= stage.share * whole for cost, stage in zip(each, ran, strict=True)), "in fractions"
        assert sum(stage.share for stage in ran) <= 1
        assert Fraction(9, 10) * whole < sum(each) <= whole, "and nearly all of it is used"


def test_a_purse_gives_no_more_than_it_holds() -> None:
    purse = Purse()
    purse.take(Fraction(2, 3))
    for share in (Fraction(1, 2), Fraction(0), Fraction(-1)):
        with pytest.raises(ParameterError, match="1/3 left"):
            purse.take(share)
    purse.take(Fraction(1, 3))
    assert purse.left == 0


@pytest.mark.parametrize(("kind", "paid"), [(gaussian, "0.05"), (gaussian, "2"), (pure, "1")])
def test_what_a_stage_does_follows_from_what_was_released_and_from_nothing_else(kind, paid) -> None:
    """Run again with the numbers of the first run, on other people or none, all is the same."""
    ran, released, measured = drawn(kind(paid))
    again, stages = [], kind(paid).stages()
    again.append(next(stages))
    again.extend(stages.send(numbers) for numbers in released[:-1])
    assert [one.parameters for one in again] == [one.parameters for one in ran]
    assert replayed(kind(paid).stages(), released).model.digest == measured.model.digest


def test_a_stage_that_is_lost_leaves_the_pairs_or_nothing() -> None:
    _, released, measured = drawn(gaussian(2))
    assert len(released) == 4, "all pairs at once, as noise in them is small"
    for kept in (2, 3):
        rest = replayed(gaussian(2).stages(), released[:kept])
        assert not rest.pool.of_size(3)
        assert len(rest.pool.of_size(2)) == 10
    assert rest.model.digest != measured.model.digest
    with pytest.raises(StageLost):
        replayed(gaussian(2).stages(), released[:1])


def test_pairs_are_screened_where_measuring_all_would_be_noisy() -> None:
    assert [stage.name for stage in drawn(gaussian(2))[0]][:2] == ["single columns", "pairs"]
    names = [stage.name for stage in drawn(gaussian("0.02"))[0]]
    assert names == ["single columns", "which pairs", "pairs", "which triples", "triples"]
    pairs = drawn(gaussian("0.02", degree=2))[0]
    assert [stage.name for stage in pairs] == names[:3]
    assert sum(stage.share for stage in pairs) == 1


def test_more_is_measured_of_what_the_model_gets_wrong() -> None:
    """Two columns of five are the same: a screen finds that pair among noise."""
    world = SmallWorld((4, 4, 3, 3, 3), people=4000)
    rng = np.random.default_rng(4)
    world.rows = np.stack([rng.integers(0, c, 4000) for c in world.codes])
    world.rows[1] = world.rows[0]
    for plan in (
        GaussianPlan(codes=world.codes, unit=UNIT, degree=2, mu_squared=Fraction(1, 50)),
        PurePlan(codes=world.codes, unit=UNIT, degree=2, epsilon=Fraction(1, 2)),
    ):
        _, _, measured = drawn(plan, world)
        assert (0, 1) in measured.pool.precision
        assert len(measured.pool.of_size(2)) < 10


@pytest.mark.parametrize(("kind", "paid"), [(gaussian, "0.5"), (pure, "2")])
def test_intervals_hold_as_often_as_they_say(kind, paid) -> None:
    """Of boxes that were fixed beforehand: at 80 %, over releases; an eighth of the interval is too short."""
    boxes, many, misses, shorter, told = [((0,), (1,)), ((1, 4), (2, 3)), ((0, 3), (1, 1))], 40, 0, 0, 0
    for _ in range(many):
        _, _, measured = drawn(kind(paid, rows=400))
        for axes, widths in boxes:
            if measured.pool.has(axes):
                inside = np.ix_(*(np.arange(WORLD.codes[a]) < m for a, m in zip(axes, widths, strict=True)))
                error = abs(float((measured.pool.unbiased(axes) - WORLD.marginal(axes))[inside].sum()))
                reach = measured.pool.reach(axes, widths, 0.2)
                told, misses, shorter = told + 1, misses + (error > reach), shorter + (error > reach / 8)
    assert told >= many
    assert misses <= binom.isf(1e-6, told, 0.2)
    assert shorter > binom.isf(1e-6, told, 0.2), "an eighth of it would not do"


def test_what_is_said_before_the_charge_is_no_less_than_what_comes() -> None:
    for plan in (gaussian("0.05"), gaussian(2), gaussian("0.02", degree=2)):
        margin, chance = plan.margin(Fraction(95, 100)), 0.05 / sum(plan.cells(axes) for axes in plan.pairs)
        ran, released, _ = drawn(plan)
        pool, place = ResidualPool(WORLD.codes), [stage.name for stage in ran].index("pairs")
        for stage, numbers in list(zip(ran, released, strict=True))[: place + 1]:
            if isinstance(stage, MeasuringStage):
                pool.add_residuals(stage.mechanism.sigmas, numbers)
        for axes in pool.of_size(2):
            assert pool.reach(axes, (1, 1), chance) <= margin * 1.001
            assert np.abs(pool.unbiased(axes) - WORLD.marginal(axes)).max() <= 2 * margin


def test_water_is_filled_where_it_counts_and_costs_what_is_paid() -> None:
    worth = Worth(codes=WORLD.codes, workload=tuple(itertools.combinations(range(5), 3)), unit=UNIT)
    gains = {(0, 1): math.inf, (1, 2): math.inf, (2, 3): 0.0}
    found = water_fill(worth, {}, gains, 0.5)
    assert set(found) == {(0, 1), (1, 2)}, "nothing is to be gained of the third"
    assert sum(worth.moves[axes] * x for axes, x in found.items()) == pytest.approx(0.5)
    ratio = found[(0, 1)] / found[(1, 2)]
    best = math.sqrt(worth.curvature[(0, 1)] / worth.moves[(0, 1)]) / math.sqrt(
        worth.curvature[(1, 2)] / worth.moves[(1, 2)]
    )
    assert ratio == pytest.approx(best)
    again = water_fill(worth, found, {}, 0.5)
    assert again == pytest.approx(found), "what is known is measured again in the same shares"
    ranges = Worth(codes=WORLD.codes, workload=worth.workload, unit=UNIT, ordered=(True,) * 5)
    assert ranges.curvature[(0,)] / ranges.curvature[(0, 1, 2)] > worth.curvature[(0,)] / worth.curvature[(0, 1, 2)]


def test_cohorts_are_planned_for_by_all_their_ranges_and_those_with_most_noise_count_most() -> None:
    """The last code is for what is not declared, and no range goes over it."""
    worth = Worth(codes=(5, 3), workload=((0, 1),), unit=UNIT, ordered=(True, False))
    boxes = [np.isin(np.arange(5), range(min(i, j), max(i, j) + 1)) for i in range(4) for j in range(4)]
    centred, mean = (np.mean([f(one) for one in boxes]) for f in (lambda b: ((b - b.mean()) ** 2).sum(), np.mean))
    flat = np.mean([box.mean() ** 2 for box in boxes])
    assert mean < 0.6
    assert worth.curvature[(0,)] / worth.curvature[()] == pytest.approx(centred / flat)
    assert worth.curvature[(0, 1)] / worth.curvature[()] == pytest.approx(centred * 6 / flat)
    both = Worth(codes=(5, 3, 2, 2), workload=((0, 1), (2, 3)), unit=UNIT, ordered=(True, False, False, False))
    alone = centred * 2 / 3 / (1 / 4)  # of the one pair and of the other, did all cohorts count alike
    assert both.curvature[(0, 1)] / both.curvature[(2, 3)] > 1.2 * alone


def test_a_price_at_which_nothing_could_be_drawn_is_refused_before() -> None:
    for plan in (gaussian("1e-24"), pure("1e-12")):
        with pytest.raises(ParameterError, match="small"):
            plan.check()


@pytest.mark.parametrize("plan", [gaussian("1e-8"), gaussian("1e-3"), pure("1e-4"), pure(15)])
def test_whatever_noise_comes_there_is_a_model(plan) -> None:
    plan.check()
    _, _, measured = drawn(plan)
    weights = measured.model.weights
    assert (weights >= 0).all()
    assert measured.model.people == round(measured.pool.total) >= 1
    assert weights.sum() == 1024 * measured.model.people
