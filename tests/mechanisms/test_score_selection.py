from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.permute_and_flip import NoisyMaxWithGap, PermuteAndFlip
from lapwing.mechanisms.score_selection import ScoreLattice
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import Adjacency
from mechanisms import choices_by_hand

LATTICE = ScoreLattice(candidates=3, multiplier=7, floor=5, unit_bits=40)


def test_offsets_are_distances_from_the_best_down_to_the_floor() -> None:
    assert LATTICE.offsets([10, 8, -100]).tolist() == [0, -14, -35]
    assert LATTICE.offsets(Sensitive(np.array([2**63 - 1, 2**63 - 1, -(2**63)]))).tolist() == [0, 0, -35]


SCORES = st.lists(st.integers(-12, 12), min_size=3, max_size=3)


@given(scores=SCORES, moves=st.lists(st.integers(-2, 2), min_size=3, max_size=3))
def test_no_two_candidates_move_apart_by_more_than_twice_the_sensitivity(scores, moves) -> None:
    before, after = LATTICE.offsets(scores), LATTICE.offsets([s + m for s, m in zip(scores, moves, strict=True)])
    apart = np.subtract.outer(before, before) - np.subtract.outer(after, after)
    assert np.abs(apart).max() <= 2 * 2 * LATTICE.multiplier


@given(scores=SCORES, moves=st.lists(st.integers(0, 2), min_size=3, max_size=3))
def test_monotone_scores_move_apart_by_at_most_the_sensitivity(scores, moves) -> None:
    before, after = LATTICE.offsets(scores), LATTICE.offsets([s + m for s, m in zip(scores, moves, strict=True)])
    apart = np.subtract.outer(before, before) - np.subtract.outer(after, after)
    assert np.abs(apart).max() <= 2 * LATTICE.multiplier


@pytest.mark.parametrize("selector", [PermuteAndFlip, ExponentialMechanism])
def test_rounding_real_scores_is_paid_for(selector) -> None:
    """Halves that are rounded to even can be two steps apart after moving by one and a bit: here they never are."""
    mechanism = selector(sensitivity="0.3", candidates=2, epsilon=1, grid="1/4")
    lattice = mechanism.lattice
    assert lattice.scale == pytest.approx(1.0)  # 2Δ/ε with Δ = 2 steps of 1/4
    for low in np.linspace(0, 1, 41):
        there, back = (lattice.offsets([score, 50.0])[0] for score in (low, low + 0.3))
        assert abs(int(back) - int(there)) <= 2 * lattice.multiplier


def test_only_whole_scores_need_no_grid() -> None:
    whole = PermuteAndFlip(sensitivity=1, candidates=2, epsilon=1)
    with pytest.raises(ParameterError, match="hand in an integer for every candidate, or give a grid"):
        whole.release(Sensitive(np.array([0.5, 1.0])))
    with pytest.raises(ParameterError, match=r"sensitivity = 0\.5 is not a whole number"):
        PermuteAndFlip(sensitivity=0.5, candidates=2, epsilon=1)


def test_a_step_of_score_is_rounded_towards_more_noise() -> None:
    lattice = PermuteAndFlip(sensitivity=3, candidates=2, epsilon="0.7").lattice
    assert lattice.scale >= Fraction(6) / Fraction("0.7")
    assert lattice.scale <= Fraction(6) / Fraction("0.7") * (1 + Fraction(1, 2**36))


def test_monotone_scores_get_half_the_noise_and_only_under_add_remove() -> None:
    general, monotone = (
        PermuteAndFlip(sensitivity=1, candidates=2, epsilon=1, monotone_under=adjacency).lattice.scale
        for adjacency in (None, Adjacency.ADD_REMOVE)
    )
    assert general == 2 * monotone == 2
    with pytest.raises(ParameterError, match="if a person is replaced, one may rise while another falls"):
        PermuteAndFlip(sensitivity=1, candidates=2, epsilon=1, monotone_under=Adjacency.REPLACE)


@pytest.mark.parametrize("epsilon", ["1e-20", "1000"])
def test_an_epsilon_beyond_the_lattice_is_refused(epsilon) -> None:
    with pytest.raises(ParameterError, match="is out of range for this sensitivity"):
        PermuteAndFlip(sensitivity=1, candidates=2, epsilon=epsilon)


@pytest.mark.parametrize("scores", [[1, 2], [[1, 2, 3]], 5, [1, 2, 3, 4]], ids=["few", "nested", "one", "many"])
def test_the_number_of_scores_is_that_of_the_candidates(scores) -> None:
    with pytest.raises(
        ParameterError, match=r"holds something that is not an integer|one score for each of the candidates"
    ):
        LATTICE.offsets(scores)


@pytest.mark.parametrize("given", [True, "add-remove", 1], ids=repr)
def test_what_is_no_adjacency_is_refused_as_such(given) -> None:
    with pytest.raises(ParameterError, match=r"is not an adjacency; write Adjacency\.ADD_REMOVE, or leave it out"):
        PermuteAndFlip(sensitivity=1, candidates=2, epsilon=1, monotone_under=given)


SELECTORS = [PermuteAndFlip, ExponentialMechanism, NoisyMaxWithGap]


@pytest.mark.parametrize("selector", SELECTORS)
def test_margins_cover_what_the_grid_rounds_away(selector) -> None:
    """The scores 0.5 and 1.49 are 0.99 apart, and both are read as 1: either wins about half the time."""
    mechanism = selector(sensitivity=1, candidates=2, epsilon=20, grid=1, monotone_under=Adjacency.ADD_REMOVE)
    assert mechanism.margin("0.99") >= 1
    assert mechanism.confidence("0.99") <= 0.5
    assert mechanism.confidence(mechanism.margin("0.99")) >= 0.99 - 1e-9


@pytest.mark.parametrize("selector", SELECTORS)
def test_margins_with_a_grid_hold_for_scores_between_its_points(selector) -> None:
    """The chance of a choice below the margin is computed from the offsets, for all scores on a much finer grid."""
    mechanism = selector(sensitivity="1/2", candidates=2, epsilon=4, grid="1/2")
    choose = (
        choices_by_hand.exponential_weights if selector is ExponentialMechanism else choices_by_hand.permute_and_flip
    )
    lattice = mechanism.lattice
    for best in np.linspace(0, 0.5, 9):
        for behind in np.linspace(0, 3, 25):
            chances = choose([int(o) for o in lattice.offsets([best, best - behind])], 2**lattice.unit_bits)
            assert mechanism.confidence(behind * (1 - 1e-9) - 1e-9) <= chances[0]


@pytest.mark.parametrize("selector", SELECTORS)
def test_an_accuracy_leaves_room_for_the_grid(selector) -> None:
    wanted = {"sensitivity": 1, "candidates": 2, "confidence": "0.99", "grid": 1}
    assert 2.9 < selector(**wanted, within=3).margin("0.99") <= 3
    for within in ("0.5", 1):
        with pytest.raises(ParameterError, match="is not above the step of the grid"):
            selector(**wanted, within=within)


def test_the_lemma_leaves_room_for_the_grid() -> None:
    whole, rounded = (ExponentialMechanism(sensitivity=1, candidates=9, epsilon=1, grid=grid) for grid in (None, 1))
    assert rounded.utility(3) == pytest.approx(whole.utility(3) + 1)
