"""No transcript of a stream costs more than it says, by an oracle that shares no code with it."""

import math
from fractions import Fraction

import numpy as np
import pytest

from auditor.exact_laws import privacy_loss
from lapwing.auditor.outcomes import NO, YES, AuditedYes, Level
from lapwing.auditor.worst_pairs import AuditedMovement as Moving
from lapwing.auditor.worst_pairs import NeighbouringPair, every_beginning, worst_loss
from lapwing.mechanisms.sparse_vector.pure import AdaptiveSparseVector, SparseVector
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.vocabulary.guarantee import Adjacency
from mechanisms.sparse_vector.suspects import COUNTS, NAMES, REALS, REPLACED, shipped, variant_of

EXACT = 1e-6
SETTINGS = {
    "counts, add-remove": (COUNTS, 1, Moving.TOGETHER, 1),
    "counts, replace": (REPLACED, 1, Moving.EITHER_WAY, 1),
    "reals on a grid": (REALS, "1/4", Moving.EITHER_WAY, "0.5"),
}


def most_found(mechanism, sensitivity, moving, **told):
    return worst_loss(variant_of(mechanism), sensitivity=sensitivity, movement=moving, **told).loss


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", [name for name in NAMES if "adaptive" not in name])
def test_a_stream_attains_at_most_its_epsilon(setting, name) -> None:
    moves, grid, moving, sensitivity = SETTINGS[setting]
    found = most_found(shipped(moves, grid=grid)[name], sensitivity, moving, noes=6)
    assert found <= 1 + EXACT
    if (setting, name) != ("counts, add-remove", "number"):  # there a person cannot push decision and number at once
        assert found >= 1 - EXACT  # so that nothing is wasted, and the search has power


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", [name for name in NAMES if "adaptive" in name])
@pytest.mark.parametrize(("clear", "ordinary"), [(1, 0), (0, 1)], ids=["clear", "ordinary"])
def test_an_adaptive_stream_attains_the_price_of_either_yes(setting, name, clear, ordinary) -> None:
    moves, grid, moving, sensitivity = SETTINGS[setting]
    mechanism = shipped(moves, grid=grid)[name]
    found = most_found(mechanism, sensitivity, moving, noes=2, clear_yeses=clear, yeses=ordinary)
    claim = mechanism.threshold_epsilon + mechanism.yes_price * (Fraction(clear, 2) + ordinary)
    assert abs(found - float(claim)) <= EXACT


def test_the_scale_for_counts_is_refuted_where_people_are_replaced() -> None:
    cheap = shipped(COUNTS)["bare"]
    assert most_found(cheap, 1, Moving.EITHER_WAY, noes=6) > 1.6


@pytest.mark.parametrize("name", ["above threshold", "two-sided"])
def test_noise_that_is_a_tenth_too_small_is_refuted(name) -> None:
    mechanism = shipped(REPLACED)[name]
    thin = variant_of(mechanism, times=Fraction(9, 10))
    assert worst_loss(thin, noes=6).loss > 1.05


def outcomes_looked_at(mechanism):
    """A few values of what comes with a yes: the law of the rest is between them."""
    gaps = (0, 1, 4) if mechanism.rule.shows_gap else (None,)
    numbers = (-3, 2) if mechanism.rule.fresh_noise else (None,)
    plain = [AuditedYes(gap=gap, numeric=number) for gap in gaps for number in numbers]
    return [*plain, AuditedYes(gap=15, level=Level.CLEAR)] if isinstance(mechanism, AdaptiveSparseVector) else plain


def price_of(mechanism, transcript):
    half = sum(isinstance(outcome, AuditedYes) and outcome.level is Level.CLEAR for outcome in transcript)
    whole = sum(isinstance(outcome, AuditedYes) for outcome in transcript) - half
    return mechanism.threshold_epsilon + mechanism.yes_price * (whole + Fraction(half, 2))


def random_analyst(rng, moves):
    """Two tables and somebody whose next question depends on the answers so far."""
    here, step = {}, {}

    def on(table):
        def value(answers):
            if answers not in here:
                here[answers] = int(rng.integers(-8, 9))
                step[answers] = int(rng.integers(-moves.down, moves.up + 1))
            return here[answers] + (step[answers] if table else 0)

        return value

    return NeighbouringPair(here=on(0), there=on(1))


@pytest.mark.parametrize(
    "moves",
    [COUNTS, REPLACED, ValueSensitivity.of_arrivals(Adjacency.ADD_REMOVE, up=1, down=3)],
    ids=["counts", "replaced", "lopsided"],
)
@pytest.mark.parametrize("name", ["bare", "shifted", "number", "adaptive"])
def test_every_prefix_of_every_adaptive_transcript_costs_at_most_what_was_spent(name, moves) -> None:
    mechanism, rng, worst = shipped(moves)[name], np.random.default_rng(5), -math.inf
    variant = variant_of(mechanism)
    for _ in range(2):
        pair = random_analyst(rng, moves)
        for transcript in every_beginning(variant, 3, above=outcomes_looked_at(mechanism)):
            for order in (pair, NeighbouringPair(here=pair.there, there=pair.here)):
                loss = privacy_loss(variant, order, transcript)
                worst = max(worst, loss - float(price_of(mechanism, transcript)))
    assert -0.5 < worst <= 1e-9


def test_a_lopsided_movement_pays_for_its_two_sides_and_no_more() -> None:
    moves = ValueSensitivity.of_arrivals(Adjacency.ADD_REMOVE, up=1, down=3)
    variant = variant_of(SparseVector(epsilon=1, yeses=1, threshold=0, sensitivity=moves))
    transcript = (*(NO,) * 10, YES)
    leaving = NeighbouringPair(here=[*[40] * 10, -40], there=[*[43] * 10, -41])  # up where it is a no, down at the yes
    assert 1 - EXACT <= privacy_loss(variant, leaving, transcript) <= 1 + EXACT
    too_far = NeighbouringPair(here=[*[40] * 10, -40], there=[*[43] * 10, -43])
    assert privacy_loss(variant, too_far, transcript) > 1.2


def test_a_group_of_people_is_protected_together() -> None:
    moves = ValueSensitivity.of_counts(Adjacency.ADD_REMOVE, people=3)
    mechanism = SparseVector(epsilon=1, yeses=1, threshold=0, sensitivity=moves)
    mixed = NeighbouringPair(here=[*[40] * 10, -40], there=[*[42] * 10, -41])  # two came and one left
    assert 0.5 < privacy_loss(variant_of(mechanism), mixed, (*(NO,) * 10, YES)) <= 1 + EXACT
    assert abs(most_found(mechanism, 3, Moving.TOGETHER) - 1) <= EXACT
