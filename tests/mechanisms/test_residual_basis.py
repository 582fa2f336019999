"""Residuals in whole numbers: how far people move them, by brute force, and what the mechanism refuses to draw."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, chi2

from lapwing.mechanisms.residual_basis import ResidualMechanism, squared_move, squared_mu, whole_residual
from lapwing.vocabulary.errors import ParameterError, SecrecyError
from lapwing.vocabulary.event import GaussianNoise
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

SHAPES = [(2,), (3,), (5,), (2, 2), (2, 3), (3, 4), (2, 3, 4), (3, 3, 2), (2, 2, 2, 2)]
UNIT = PrivacyUnit(person_key="id")


def unit(adjacency=Adjacency.ADD_REMOVE, people=1):
    return PrivacyUnit(person_key="id", adjacency=adjacency, protects_groups_of=people)


def alone(shape):
    """Return the residual of each table with one person in it."""
    size = math.prod(shape)
    return [whole_residual(np.eye(1, size, k, dtype=np.int64).reshape(shape)) for k in range(size)]


@pytest.mark.parametrize("shape", SHAPES)
def test_everybody_moves_a_residual_as_far_as_is_said(shape) -> None:
    moves = {int((one**2).sum()) for one in alone(shape)}
    assert moves == {squared_move(shape, UNIT)} == {math.prod(n * (n - 1) for n in shape)}


@pytest.mark.parametrize("shape", SHAPES)
def test_no_exchange_moves_it_further_than_is_said_and_one_does(shape) -> None:
    people = alone(shape)
    exchanged = max(int(((one - other) ** 2).sum()) for one, other in itertools.combinations(people, 2))
    said = squared_move(shape, unit(Adjacency.REPLACE))
    assert exchanged == said
    assert max(int((one**2).sum()) for one in people) <= said, "and somebody may have no row in the table"


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("shape", [(2,), (3,), (2, 2), (2, 3)])
def test_groups_of_two_move_it_by_four_times_as_much_at_most(shape, adjacency) -> None:
    people, nobody = alone(shape), np.zeros(shape, np.int64)
    befores = [nobody] if adjacency is Adjacency.ADD_REMOVE else [nobody, *people]
    moves = [after - before for after in people for before in befores]
    worst = max(int(((one + other) ** 2).sum()) for one, other in itertools.product(moves, repeat=2))
    assert worst == squared_move(shape, unit(adjacency, people=2))


@pytest.mark.parametrize("people", [1, 2])
@pytest.mark.parametrize("codes", [(2, 2), (2, 3), (3, 3), (4, 3, 2), (2, 2, 3)])
def test_no_exchange_moves_all_residuals_together_further_than_is_said_and_one_does(codes, people) -> None:
    """All pairs of people, over sets of columns with sigmas that favour one pattern or another."""
    cells = list(itertools.product(*map(range, codes)))
    sets = [axes for size in range(len(codes) + 1) for axes in itertools.combinations(range(len(codes)), size)]
    for seed in range(4):
        drawn = np.random.default_rng(seed).integers(1, 40, len(sets))
        sigmas = {axes: Fraction(int(one)) for axes, one in zip(sets, drawn, strict=True)}
        people_ = [
            np.concatenate([moves(codes, axes, cell) / float(s) for axes, s in sigmas.items()]) for cell in cells
        ]
        exchanged = max(float(((one - other) ** 2).sum()) for one, other in itertools.combinations(people_, 2))
        alone = max(float((one**2).sum()) for one in people_)
        said = float(squared_mu(codes, sigmas, unit(Adjacency.REPLACE, people)))
        assert said == pytest.approx(people**2 * max(exchanged, alone), rel=1e-11)
        assert float(squared_mu(codes, sigmas, unit(people=people))) == pytest.approx(people**2 * alone, rel=1e-11)


def moves(codes, axes, cell):
    """Return what one person in a cell adds to the whole residual of some columns."""
    table = np.zeros([codes[a] for a in axes], np.int64)
    table[tuple(cell[a] for a in axes)] = 1
    return whole_residual(table).ravel()


def test_of_many_columns_each_residual_is_taken_at_its_worst() -> None:
    sigmas, replaced = {(a,): Fraction(5) for a in range(21)}, unit(Adjacency.REPLACE)
    assert squared_mu((3,) * 21, sigmas, replaced) == 21 * Fraction(squared_move((3,), replaced), 25)
    fewer = {(a,): Fraction(5) for a in range(20)}
    assert float(squared_mu((3,) * 20, fewer, replaced)) == pytest.approx(20 * squared_move((3,), replaced) / 25)


def test_the_number_of_people_in_a_table_moves_by_one_also_where_people_are_exchanged() -> None:
    assert squared_move((), unit(Adjacency.REPLACE)) == 1, "who comes instead may have no row in it"


def test_a_table_is_the_sum_of_its_residuals() -> None:
    shape = (2, 3, 4)
    table = np.random.default_rng(1).integers(0, 100, shape)
    total = np.zeros(shape, object)
    for axes in itertools.chain.from_iterable(itertools.combinations(range(3), k) for k in range(4)):
        others = tuple(a for a in range(3) if a not in axes)
        residual = whole_residual(table.sum(axis=others))
        spread = Fraction(1, math.prod(shape[a] for a in axes) * math.prod(shape[a] for a in others))
        total = total + spread * residual.reshape([shape[a] if a in axes else 1 for a in range(3)])
    assert (total == table).all()


def paid(mu_squared):
    return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=1 / Fraction(mu_squared))


def test_what_costs_more_than_is_paid_is_refused_in_fractions() -> None:
    codes, sigmas = (2, 3), {(): Fraction(2), (0,): Fraction(3), (1,): Fraction(5), (0, 1): Fraction(7)}
    exactly = Fraction(1, 4) + Fraction(2, 9) + Fraction(6, 25) + Fraction(12, 49)
    basis = ResidualMechanism(codes=codes, sigmas=sigmas, unit=UNIT, event=paid(exactly))
    assert basis.loss.gaussian_mu_squared == exactly
    with pytest.raises(ParameterError, match="raise the sigmas"):
        ResidualMechanism(codes=codes, sigmas=sigmas, unit=UNIT, event=paid(exactly - Fraction(1, 10**30)))
    with pytest.raises(ParameterError, match="raise the sigmas"):
        ResidualMechanism(codes=codes, sigmas=sigmas, unit=unit(people=2), event=paid(exactly))
    with pytest.raises(ParameterError, match="raise the sigmas"):
        ResidualMechanism(codes=codes, sigmas=sigmas, unit=unit(Adjacency.REPLACE), event=paid(exactly))


@pytest.mark.parametrize("lie", ["of the residual in people", "rounded down"])
def test_sigmas_that_are_too_small_by_a_plausible_mistake_are_refused(lie) -> None:
    """The sigma of the residual itself, where whole numbers are n times as large; and the next smaller one."""
    honest = Fraction(math.isqrt(20 * 19 * 100 - 1) + 1)  # sigma² >= 20 * 19 / mu², mu² = 1/100
    ResidualMechanism(codes=(20,), sigmas={(0,): honest}, unit=UNIT, event=paid("1/100"))
    sigma = honest / 20 if lie == "of the residual in people" else honest - 1
    with pytest.raises(ParameterError, match="above the 1/100 that is paid for"):
        ResidualMechanism(codes=(20,), sigmas={(0,): sigma}, unit=UNIT, event=paid("1/100"))


def test_a_column_with_one_code_has_no_residual() -> None:
    with pytest.raises(ParameterError, match="two codes or more"):
        ResidualMechanism(codes=(2, 1), sigmas={(0,): Fraction(9)}, unit=UNIT, event=paid(1))
    with pytest.raises(ParameterError, match="two codes or more"):
        ResidualMechanism(codes=(2,), sigmas={}, unit=UNIT, event=paid(1))


@pytest.fixture
def basis():
    return ResidualMechanism(codes=(2, 3), sigmas={(): Fraction(4), (0, 1): Fraction(9)}, unit=UNIT, event=paid(1))


def test_noise_is_on_the_residual_of_the_table_and_has_its_own_sigma(basis) -> None:
    table = np.arange(6).reshape(2, 3) * 100
    drawn = [basis.release({(0, 1): Sensitive(tuple(map(int, table.ravel())))}) for _ in range(2000)]
    totals = np.array([one[0] for one in drawn]).ravel() - table.sum()
    cells = np.array([one[1] for one in drawn]) - whole_residual(table).ravel()
    for noise, sigma in ((totals, 4), (cells.ravel(), 9)):
        squares, many = float((noise**2).sum()), noise.size
        low, high = (chi2.ppf(chance, many) for chance in (5e-7, 1 - 5e-7))
        assert low < squares / (sigma**2 + 1 / 12) < high
        assert not low < squares / (sigma * 0.8) ** 2 < high, "a smaller sigma would be seen"
    above = int((cells > 0).sum()) + int((cells == 0).sum()) // 2
    assert abs(above - cells.size / 2) < binom.isf(5e-7, cells.size, 0.5) - cells.size / 2


def test_counts_of_any_size_are_released(basis) -> None:
    """Nobody's table makes it fail, or wrap around: what is beyond 64 bits ends there."""
    released = basis.release({(0, 1): [2**63 - 1] * 6})
    assert 0 <= 2**63 - 1 - released[0][0] < 100
    assert all(abs(one) < 200 for one in released[1])


def test_a_table_of_another_size_is_refused_without_a_word_about_it(basis) -> None:
    with pytest.raises(ParameterError, match="6 coordinates") as refused:
        basis.release({(0, 1): Sensitive((1, 2, 987_654))})
    assert "987" not in str(refused.value)
    with pytest.raises(SecrecyError):
        len(Sensitive((1, 2)))
