"""Whole laws of short interactions: adaptive analysts, Renyi divergences, and where they stay below their bounds."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import log_ndtr
from scipy.stats import norm

from auditor.exact_laws import hockey_stick, renyi_divergence, transcript_probabilities
from lapwing.auditor.noise_laws import AuditedGeometric, Exponential, Gaussian, Laplace, NoNoise
from lapwing.auditor.outcomes import ABORT, NO, YES, AuditedYes, gap_bins
from lapwing.auditor.sparse_vector_oracle import Halting, Reveals, SparseVectorVariant
from lapwing.auditor.worst_pairs import NeighbouringPair, every_beginning, every_transcript, witness_of


class RandomAnalyst:
    """A tree of questions on two neighbouring tables: after each beginning, a value and by how much it moves."""

    def __init__(self, rng, moves) -> None:
        self.rng, self.moves, self.tree = rng, moves, {}
        self.centre, self.spread = int(rng.integers(-3, 4)), int(rng.choice([1, 5, 20]))

    def ask(self, answers):
        if answers not in self.tree:
            value = self.centre + int(self.rng.integers(-self.spread, self.spread + 1))
            self.tree[answers] = value, value + int(self.rng.choice(self.moves))
        return self.tree[answers]

    def pair(self):
        return NeighbouringPair(here=lambda said: self.ask(said)[0], there=lambda said: self.ask(said)[1])


MOVES = {"either way": (-1, 0, 1), "up": (0, 1), "down": (-1, 0)}


@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize("reveals", [Reveals.BIT, Reveals.GAP], ids=str)
def test_no_transcript_of_any_analyst_loses_more_than_the_yeses_it_holds(reveals, moves) -> None:
    """Every beginning of every interaction, on the integers: at most epsilon_1 + j epsilon_2 / c, which is attained."""
    rng = np.random.default_rng([len(moves), 1])
    width, excess = (2 if moves == "either way" else 1), []
    told = [AuditedYes(gap=gap) for gap in (1, 3, 9)] if reveals is Reveals.GAP else None
    for c, length in ((1, 4), (2, 4), (3, 3)):
        variant = SparseVectorVariant(
            threshold=AuditedGeometric(1 / 0.4),
            query=AuditedGeometric(c * width / 0.6),
            yeses=c,
            reveals=reveals,
        )
        for _ in range(3 if told else 12):
            pair = RandomAnalyst(rng, MOVES[moves]).pair()
            for said in every_beginning(variant, length, above=told):
                price = 0.4 + sum(outcome != NO for outcome in said) * 0.6 / c
                excess.append(witness_of(variant, pair, said).loss - price)
    assert len(excess) > 400
    assert max(excess) < 1e-9
    assert max(excess) > (-1e-9 if moves != "down" else -0.5)


def test_the_scale_for_counts_fails_an_analyst_whose_questions_move_both_ways() -> None:
    """With eps_1 = .4 and eps_2 = .6 it loses up to eps_1 + 2 eps_2 = 1.6."""
    rng = np.random.default_rng(1)
    variant = SparseVectorVariant(threshold=AuditedGeometric(1 / 0.4), query=AuditedGeometric(1 / 0.6), yeses=1)
    pairs = [RandomAnalyst(rng, MOVES["either way"]).pair() for _ in range(30)]
    losses = [witness_of(variant, pair, said).loss for pair in pairs for said in every_beginning(variant, 4)]
    assert max(losses) == pytest.approx(1.6, abs=1e-9)


def test_transcripts_are_listed_once_each_and_end_where_the_variant_halts() -> None:
    late = SparseVectorVariant(threshold=Laplace(2), query=Laplace(2), yeses=1, halting=Halting.ONE_YES_LATE)
    said = list(every_transcript(late, 3))
    assert sorted(map(str, said)) == sorted(
        map(
            str,
            [
                (NO, NO, NO),
                (NO, NO, YES),
                (NO, YES, NO),
                (NO, YES, ABORT),
                (YES, NO, NO),
                (YES, NO, ABORT),
                (YES, ABORT),
            ],
        )
    )
    assert set(said) < set(every_beginning(late, 3))


# Adaptive trees for Gaussian noise, found by climbing: {answers so far (0 no, 1 yes): (value, move)}.
THREE_QUESTIONS = {"": (0.873, 1), "0": (0.999, 1), "00": (-1.288, -1)}
FOUR_QUESTIONS = {
    "": (1.671, 1),
    "0": (-1.573, -1),
    "1": (0.972, 1),
    "00": (-0.414, -1),
    "01": (2.393, 1),
    "10": (0.442, 1),
    "000": (-1.537, -1),
    "001": (2.165, 1),
    "010": (-1.498, -1),
    "100": (-2.484, -1),
}
TREES = [(THREE_QUESTIONS, 3, 1, 0.8054, 3.9502), (FOUR_QUESTIONS, 4, 2, 1.1979, 5.7700)]
SIGMAS, ORDER = (1, 2), 4


def tree_pair(tree):
    def node(said):
        return tree["".join("01"[outcome == YES] for outcome in said)]

    return NeighbouringPair(here=lambda said: node(said)[0], there=lambda said: sum(node(said)))


def log_v(sigma, questions, yeses, order, width):
    """Return ln V of the Renyi bound: the supremum over arguments x of the tree recursion, on a wide, fine grid."""
    x = np.linspace(-8 * sigma, order * width + 12 * sigma, 6000)
    yes = order * log_ndtr((width - x) / sigma) + (1 - order) * log_ndtr(-x / sigma)
    no = order * log_ndtr((x - width) / sigma) + (1 - order) * log_ndtr(x / sigma)
    logs = np.zeros(yeses + 1)
    for _ in range(questions):
        best = [np.logaddexp(yes + logs[j - 1], no + logs[j]).max() for j in range(1, yeses + 1)]
        logs[1:] = np.maximum(logs[1:], best)
    return float(logs[-1])


@pytest.mark.parametrize(("tree", "questions", "yeses", "divergence", "bound"), TREES, ids=["three", "four"])
def test_the_renyi_divergence_of_an_adaptive_gaussian_sparse_vector(tree, questions, yeses, divergence, bound) -> None:
    variant = SparseVectorVariant(threshold=Gaussian(SIGMAS[0]), query=Gaussian(SIGMAS[1]), yeses=yeses)
    found = renyi_divergence(variant, tree_pair(tree), ORDER, length=questions)
    assert found == pytest.approx(divergence, abs=5e-5)
    v_bound = ORDER / (2 * SIGMAS[0] ** 2) + log_v(SIGMAS[1], questions, yeses, ORDER, 2) / (ORDER - 1)
    assert v_bound == pytest.approx(bound, abs=5e-4)
    assert found < v_bound


@pytest.mark.parametrize(
    ("questions", "base", "moves", "divergence"),
    [
        (1, -60, "fall", 0.00036),
        (1, 0, "rise", 0.00505),
        (5, -30, "alternate", 0.01075),
        (5, 0, "last falls", 0.01168),
        (20, -30, "alternate", 0.02332),
        (20, -60, "fall", 0.00522),
    ],
)
def test_renyi_divergences_of_fixed_gaussian_pairs(questions, base, moves, divergence) -> None:
    change = {
        "rise": [1] * questions,
        "fall": [-1] * questions,
        "alternate": [1 if i % 2 else -1 for i in range(questions)],
        "last falls": [1] * (questions - 1) + [-1],
    }[moves]
    pair = NeighbouringPair(here=[base] * questions, there=[base + move for move in change])
    variant = SparseVectorVariant(threshold=Gaussian(10), query=Gaussian(20), yeses=1)
    found = renyi_divergence(variant, pair, 8)
    assert found == pytest.approx(divergence, abs=6e-6)
    assert found < 8 / (2 * 10**2) + log_v(20, questions, 1, 8, 2) / 7


def test_finer_gaps_tell_more_and_bits_tell_least() -> None:
    variant = SparseVectorVariant(threshold=Gaussian(1), query=Gaussian(2), yeses=1, reveals=Reveals.GAP)
    pair = NeighbouringPair(here=[0, 1], there=[1, 0])
    edges = [(0, math.inf), (0, 2, math.inf), (0, 1, 2, 4, math.inf), (*np.arange(0, 12, 0.5).tolist(), math.inf)]
    found = [renyi_divergence(variant, pair, 4, above=gap_bins(*edge)) for edge in edges]
    assert all(coarse < fine for coarse, fine in itertools.pairwise(found))


def test_a_single_gaussian_question_is_the_gaussian_mechanism_seen_through_one_bit() -> None:
    variant = SparseVectorVariant(threshold=Gaussian(3), query=Gaussian(4), yeses=1)
    here, there = norm.cdf([0, 1], scale=5)
    pair = NeighbouringPair(here=[0], there=[1])
    order = 3.5
    expected = math.log(sum(p**order * q ** (1 - order) for p, q in ((here, there), (1 - here, 1 - there)))) / 2.5
    assert renyi_divergence(variant, pair, order) == pytest.approx(expected, abs=1e-13)
    assert hockey_stick(variant, pair, 0.0) == pytest.approx(there - here, abs=1e-14)
    assert hockey_stick(variant, pair, 10.0) == 0.0


def test_a_pure_claim_bounds_the_divergence_of_every_order_and_leaves_no_delta() -> None:
    variant = SparseVectorVariant(threshold=AuditedGeometric(2), query=AuditedGeometric(4), yeses=1)
    pair = NeighbouringPair(here=[0, 2, 0], there=[1, 3, -1])
    assert renyi_divergence(variant, pair, 1000) <= 1
    assert hockey_stick(variant, pair, 1.0) == 0.0
    assert hockey_stick(variant, pair, 0.9) > 0


def test_what_cannot_happen_there_has_infinite_divergence() -> None:
    one_sided = SparseVectorVariant(threshold=Exponential(1), query=Exponential(1), yeses=1)
    shifted = NeighbouringPair(here=[0], there=[1])
    assert renyi_divergence(one_sided, shifted, 2) < math.inf
    sure = SparseVectorVariant(threshold=AuditedGeometric(1), query=AuditedGeometric(1), yeses=1, reveals=Reveals.GAP)
    pair = NeighbouringPair(here=[1], there=[1.5])
    assert renyi_divergence(sure, pair, 2, above=[AuditedYes(gap=0)]) == math.inf


def test_the_law_of_independent_answers_is_a_product() -> None:
    """Without threshold noise the answers are coins."""
    coins = SparseVectorVariant(threshold=NoNoise(), query=Laplace(1), yeses=3)
    law = transcript_probabilities(coins, [0, 0, 0])
    assert len(law) == 8
    assert all(p == pytest.approx(1 / 8, abs=1e-15) for p in law.values())
