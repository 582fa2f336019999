"""Fitting: what was measured comes out again, on all cells or on drawn rows, and the same bits each time."""

import itertools
import math

import numpy as np
import pytest

from lapwing.publishing.block_fitting import FitTarget, fit_tree, step_of_block
from lapwing.publishing.junction_trees import cells_of_tree, junction_tree
from lapwing.publishing.model_fitting import fit_model, one_by_one
from lapwing.publishing.public_draws import PublicDraws
from lapwing.publishing.residual_pool import ResidualPool
from lapwing.publishing.weighted_rows import rows_of_tree
from publishing.small_world import SmallWorld

WORLD = SmallWorld((3, 4, 2, 5, 3))


@pytest.fixture(scope="module")
def pool():
    return WORLD.measured(sd=10)


def test_a_model_has_the_tables_that_were_measured(pool) -> None:
    model = fit_model(pool)
    assert model.rows.shape[1] == math.prod(WORLD.codes), "so few cells are all there"
    assert abs(model.people - WORLD.people) < 60
    independent = [
        0.5 * np.abs(WORLD.marginal(axes) / WORLD.people - one_by_one(pool)(axes)).sum()
        for axes in itertools.combinations(range(5), 2)
    ]
    assert WORLD.distance(model, 1) < 0.002
    assert WORLD.distance(model, 2) < 0.004 < np.mean(independent) / 10


def test_rows_that_are_drawn_are_as_good_as_all_cells(pool) -> None:
    model = fit_model(pool, rows=300)
    assert model.rows.shape[1] == 300
    assert WORLD.distance(model, 2) < 0.02
    other = fit_model(pool, rows=300, seed="another")
    assert other.digest != model.digest
    assert WORLD.distance(other, 2) < 0.02


def test_the_same_numbers_make_the_same_model_bit_for_bit(pool) -> None:
    again = WORLD.measured(sd=10)
    assert fit_model(pool, rows=300).digest == fit_model(again, rows=300).digest
    assert fit_model(pool).digest == fit_model(again).digest
    assert fit_model(pool).digest != fit_model(WORLD.measured(sd=10, seed=3)).digest


def test_triples_are_fitted_where_they_are_more_than_noise() -> None:
    codes, drawn = (2, 2, 2), np.random.default_rng(3)
    first, second = drawn.integers(0, 2, (2, 20_000))
    world = SmallWorld(codes)
    world.rows = np.stack([first, second, first ^ second])  # pairwise independent
    pairs, triples = fit_model(world.measured(sd=10)), fit_model(world.measured(sd=10, most=3))
    assert world.distance(pairs, 3) > 0.4
    assert world.distance(triples, 3) < 0.01
    world.rows = np.stack([first, second, drawn.integers(0, 2, 20_000)])
    assert world.distance(fit_model(world.measured(sd=10, most=3)), 3) < 0.01


def test_noise_alone_makes_a_model_still() -> None:
    nobody = SmallWorld((3, 4))
    nobody.rows, nobody.people = nobody.rows[:, :0], 0
    model = fit_model(nobody.measured(sd=200))
    assert model.people >= 1
    assert (model.weights >= 0).all()


def test_what_is_measured_twice_is_averaged_by_precision() -> None:
    rough, fine = WORLD.measured(sd=50, seed=4), WORLD.measured(sd=10, seed=5)
    both = ResidualPool(WORLD.codes)
    axes = (0, 1)
    for one in (rough, fine):
        both._add(axes, one.residual(axes), one.precision[axes])
    assert both.precision[axes] == rough.precision[axes] + fine.precision[axes]
    expected = (rough.residual(axes) + 25 * fine.residual(axes)) / 26
    assert np.allclose(both.residual(axes), expected, atol=0.05)


def test_whole_tables_say_what_their_residuals_do() -> None:
    pool = ResidualPool((3, 4))
    table = SmallWorld((3, 4)).marginal((0, 1))
    pool.add_tables([(0, 1)], [table.ravel().tolist()], variance=8.0)
    assert np.allclose(pool.marginal((0, 1)), table)
    assert pool.variance((0, 1)) == pytest.approx(8.0)
    assert pool.variance((0,)) == pytest.approx(32.0)
    assert pool.total == pytest.approx(table.sum())


def test_a_step_solves_its_equation() -> None:
    drawn = np.random.default_rng(8)
    now, wanted = drawn.dirichlet(np.ones(12)), drawn.dirichlet(np.ones(12)) - 0.01
    potential, sd = drawn.normal(0, 0.3, 12), 0.02
    change = step_of_block(now, wanted, potential, sd)
    moved = now * np.exp(change)
    left = moved / moved.sum() - wanted + 0.05 * sd * (potential + change)
    assert np.abs(left - left.mean()).max() < 1e-9, "up to what makes no difference: a constant in the potential"


def test_a_tree_holds_what_is_wanted_and_hangs_together() -> None:
    wanted = [(0, 1), (1, 2), (2, 3), (0, 3), (4, 5), (6,)]
    tree = junction_tree((2, 3, 2, 3, 4, 2, 2), wanted)
    for axes in wanted:
        assert set(axes) <= set(tree.cliques[tree.home(axes)])
    before = set()
    for clique, parent, separator in zip(tree.cliques, tree.parents, tree.separators, strict=True):
        assert set(clique) & before == set(separator) <= set(tree.cliques[parent] if parent >= 0 else ()), (
            "running intersection"
        )
        before |= set(clique)
    assert set(tree.walk()) == set(range(len(tree.cliques)))
    assert cells_of_tree((2, 3, 2, 3), [(0, 1), (2, 3)]) == 12


def test_rows_of_a_tree_have_its_tables() -> None:
    chain = [(0, 1), (1, 3), (3, 4)]
    tree = junction_tree(WORLD.codes, [*chain, (2,)])
    targets = [FitTarget(axes=axes, shares=WORLD.marginal(axes) / WORLD.people, sd=1e-4) for axes in (*chain, (2,))]
    beliefs = fit_tree(tree, targets, 6)
    for count in (10**6, 350):
        rows = rows_of_tree(tree, beliefs, count, PublicDraws("0"))
        for one in targets:
            off = 0.5 * np.abs(rows.marginal(one.axes) - one.shares).sum()
            assert off < (1e-4 if count > 350 else 0.03), (count, one.axes)


def test_public_draws_are_uniform_and_follow_from_the_seed() -> None:
    first = PublicDraws("a").take(10_000)
    assert (first == PublicDraws("a").take(10_000)).all()
    assert (first != PublicDraws("b").take(10_000)).any()
    assert abs(first.mean() - 0.5) < 0.02
    draws = PublicDraws("a")
    assert (draws.take(5) != draws.take(5)).all()
    assert sorted(draws.order(9).tolist()) == list(range(9))
